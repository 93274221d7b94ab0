/* Lists of addresses, who is in them, and where a bridge listens: test_peers.c of core/peers.c */
#include "core/peers.h"

#include <string.h>

#include "test/support/check.h"

#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

int main(void)
{
	static const char *const bad[] = { "10",         "10.0.0",    "10.0.0.256",  "10.0.0.1/33",
					   "10.0.0.1/",  "10.0.0.1x", "a.b.c.d",     "1.2.3.4;",
					   "0x1.2.3.4",  "-1.2.3.4",  "1.2.3.4/-1",  "::1",
					   "1234.1.1.1", "1.2.3.4.5", "1.2.3.4 /24", "1..2.3" };
	static const char *const urls[] = { "tcp://127.0.0.1",   "tcp://127.0.0.1:",
					    "tcp://*:9002",      "tcp://1.2.3:9002",
					    "ipc:///x",          "",
					    "tcp://::1:9002",    "tcp://1.2.3.4:65536",
					    "tcp://1.2.3.4:1 2", "tcp://1.2.3.4:9002/x" };
	struct bs_peers p;
	struct bs_fail why;
	uint32_t address = 0;
	uint16_t port = 0;
	bool good;

	CHECK(bs_peers_read(&p, "", &why) == 0 && p.count == 0 &&
		      bs_peers_has(&p, IP(127, 0, 0, 1)) && bs_peers_has(&p, IP(127, 9, 9, 9)) &&
		      !bs_peers_has(&p, IP(10, 0, 0, 1)) && !bs_peers_has(&p, 0),
	      "none: loopback alone");
	CHECK(bs_peers_read(&p, " 192.168.2.1, 10.1.2.3/16 172.16.0.0/12,", &why) == 0 &&
		      p.count == 3,
	      "three, with commas and spaces");
	CHECK(bs_peers_has(&p, IP(192, 168, 2, 1)) && !bs_peers_has(&p, IP(192, 168, 2, 2)) &&
		      bs_peers_has(&p, IP(10, 1, 255, 255)) && !bs_peers_has(&p, IP(10, 2, 0, 0)) &&
		      bs_peers_has(&p, IP(172, 31, 0, 1)) && !bs_peers_has(&p, IP(172, 32, 0, 1)),
	      "an address, and prefixes of 16 and 12 bits");
	CHECK(bs_peers_read(&p, "0.0.0.0/0", &why) == 0 && bs_peers_has(&p, IP(8, 8, 8, 8)), "all");
	good = true;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		good = good && bs_peers_read(&p, bad[i], &why) == BS_ERR_CONFIG;
		if (!good)
			printf("# '%s' is taken\n", bad[i]);
	}
	CHECK(good, "what is no address is refused: %s", why.text);
	CHECK(bs_peers_read(&p,
			    "1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 "
			    "1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 "
			    "1.1.1.1",
			    &why) == BS_ERR_CONFIG &&
		      strstr(why.text, "more than 16") != NULL,
	      "seventeen are too many");
	CHECK(bs_peers_url(&address, &port, "tcp://192.168.2.1:9002", &why) == 0 &&
		      address == IP(192, 168, 2, 1) && port == 9002,
	      "where it listens");
	CHECK(bs_peers_url(&address, &port, "tcp://127.0.0.1:0", &why) == 0 && port == 0,
	      "a free port");
	good = true;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		good = good && bs_peers_url(&address, &port, urls[i], &why) == BS_ERR_CONFIG;
		if (!good)
			printf("# '%s' is taken\n", urls[i]);
	}
	CHECK(good, "what is no URL is refused: %s", why.text);
	return check_done();
}
