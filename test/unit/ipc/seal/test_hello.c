/*
 * test/unit/ipc/seal/test_hello.c - the example of ipc/WIRE.md, byte for byte; every answer to a
 * hello
 */
/* Holds: W23, W25, W26, S3, S4 */
#include "ipc/seal/hello.h"

#include <stdlib.h>
#include <string.h>

#include "test/support/check.h"

#define ROW 16u

static struct bs_seal_keys service, client;

static void draw(struct bs_ik_pair *p, uint8_t seed)
{
	memset(p->secret, seed, sizeof(p->secret));
	bs_ik_public(p->pub, p->secret);
}

static void make_keys(void)
{
	draw(&service.own, 1);
	draw(&client.own, 2);
	service.suite = client.suite = BS_SUITE_CHACHAPOLY;
	(void)snprintf(service.peer[0].name, sizeof(service.peer[0].name), "mr1");
	memcpy(service.peer[0].key, client.own.pub, BS_IK_KEY);
	service.peer[0].roles = BS_ROLE_SCANNER;
	service.peers = client.peers = 1;
	memcpy(client.peer[0].key, service.own.pub, BS_IK_KEY);
}

/* Is it in the page, as a dump of ROW bytes a line, or in one piece (row 0)? */
static bool written(const char *page, const uint8_t *at, size_t n, size_t row)
{
	char text[1024];
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (row > 0 && i % row == 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%04zx  ",
						i > 0 ? "\n" : "", i);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%02x",
					row > 0 && i % row > 0 ? " " : "", at[i]);
	}
	if (strstr(page, text) != NULL)
		return true;
	printf("# the page lacks:\n%s\n", text);
	return false;
}

static void example(const char *page)
{
	uint8_t first[8 + BS_HELLO_FIRST] = { [7] = BS_HELLO_FIRST, [8] = BS_SUITE_CHACHAPOLY };
	uint8_t second[8 + BS_IK_SECOND] = { [7] = BS_IK_SECOND };
	uint8_t message[8 + 5 + BS_SEAL_TAG] = { [7] = 5 + BS_SEAL_TAG };
	struct bs_hello_answer said;
	struct bs_seal out[2], in[2];
	uint8_t e[BS_IK_KEY];
	struct bs_ik a, b;

	bs_ik_start(&a, BS_SUITE_CHACHAPOLY, "boreside 1 kspace", &client.own, service.own.pub);
	bs_ik_start(&b, BS_SUITE_CHACHAPOLY, "boreside 1 kspace", &service.own, NULL);
	memset(e, 3, sizeof(e));
	bs_ik_set_ephemeral(&a, e);
	memset(e, 4, sizeof(e));
	bs_ik_set_ephemeral(&b, e);
	if (bs_ik_first(&a, first + 9, NULL, 0) != 0 ||
	    bs_ik_read_first(&b, first + 9, BS_IK_FIRST) != 0 ||
	    bs_ik_read_rest(&b, first + 9, BS_IK_FIRST, NULL) != 0 ||
	    bs_ik_second(&b, second + 8, NULL, 0) != 0 ||
	    bs_ik_read_second(&a, second + 8, BS_IK_SECOND, NULL) != 0)
		abort();
	bs_ik_split(&a, &out[0], &in[0]);
	bs_ik_split(&b, &out[1], &in[1]);
	memcpy(message + 8, "hello", 5);
	(void)bs_seal_close(&out[0], message + 8, 5);
	CHECK(written(page, client.own.pub, 32, 0) && written(page, service.own.pub, 32, 0),
	      "ipc/WIRE.md: the public keys");
	CHECK(written(page, first, sizeof(first), ROW), "ipc/WIRE.md: the client's hello");
	CHECK(written(page, second, sizeof(second), ROW), "ipc/WIRE.md: the service's welcome");
	CHECK(written(page, message, sizeof(message), ROW), "ipc/WIRE.md: the first message");
	CHECK(bs_seal_open(&in[1], message + 8, 5 + BS_SEAL_TAG) &&
		      memcmp(message + 8, "hello", 5) == 0,
	      "which opens");
	CHECK(bs_hello_answer(&said, &service, "kspace", BS_ROLE_SCANNER, first + 8, BS_HELLO_FIRST,
			      NULL) == 0 &&
		      said.len == BS_IK_SECOND,
	      "ipc/WIRE.md: the service welcomes that hello");
}

static int answer(const uint8_t *hello, size_t len, const char *endpoint, uint32_t roles,
		  uint8_t out[BS_HELLO_SECOND], size_t *out_len, struct bs_fail *why)
{
	struct bs_hello_answer a;
	int rc = bs_hello_answer(&a, &service, endpoint, roles, hello, len, why);

	memcpy(out, a.bytes, a.len);
	*out_len = a.len;
	return rc;
}

static void answers(void)
{
	uint8_t hello[BS_HELLO_FIRST + 1], said[BS_HELLO_SECOND];
	struct bs_seal out, in;
	struct bs_fail why = { 0 };
	struct bs_ik n;
	unsigned welcome = 0;
	size_t len;

	bs_hello_say(&n, &client, "kspace", BS_SUITE_CHACHAPOLY, hello);
	CHECK(answer(hello, BS_HELLO_FIRST, "kspace", BS_ROLE_SCANNER, said, &len, &why) == 0 &&
		      len == BS_IK_SECOND && bs_hello_hear(&n, said, len, &out, &in, &why) == 0,
	      "a welcome %s", why.text);
	bs_hello_say(&n, &client, "kspace", BS_SUITE_CHACHAPOLY, hello);
	CHECK(answer(hello, BS_HELLO_FIRST, "kspace", BS_ROLE_ARCHIVE, said, &len, &why) ==
			      BS_ERR_KEY &&
		      bs_hello_hear(&n, said, len, &out, &in, &why) == BS_ERR_KEY,
	      "another role: %s", why.text);
	bs_hello_say(&n, &client, "kspace", BS_SUITE_CHACHAPOLY, hello);
	CHECK(answer(hello, BS_HELLO_FIRST, "images", BS_ROLE_SCANNER, said, &len, &why) ==
			      BS_ERR_KEY &&
		      len == 0,
	      "another endpoint: %s", why.text);
	for (size_t n_ = 0; n_ <= BS_HELLO_FIRST + 1; n_++)
		welcome += n_ != BS_HELLO_FIRST &&
			   (answer(hello, n_, "kspace", BS_ROLE_SCANNER, said, &len, &why) == 0 ||
			    len != 0);
	CHECK(welcome == 0, "a hello of another length: %s", why.text);
	for (unsigned suite = 0; suite < 256; suite++) {
		hello[0] = (uint8_t)suite;
		welcome += suite != BS_SUITE_CHACHAPOLY &&
			   answer(hello, BS_HELLO_FIRST, "kspace", BS_ROLE_SCANNER, said, &len,
				  &why) != (suite == BS_SUITE_AESGCM ? BS_HELLO_AGAIN : BS_ERR_KEY);
	}
	CHECK(welcome == 0, "another suite");
	draw(&client.own, 5);
	bs_hello_say(&n, &client, "kspace", BS_SUITE_CHACHAPOLY, hello);
	CHECK(answer(hello, BS_HELLO_FIRST, "kspace", BS_ROLE_SCANNER, said, &len, &why) ==
			      BS_ERR_KEY &&
		      len == 0,
	      "another key than the one that is known has no answer: %s", why.text);
	service.peers = 0;
	hello[0] = BS_SUITE_CHACHAPOLY;
	CHECK(answer(hello, BS_HELLO_FIRST, "kspace", BS_ROLE_SCANNER, said, &len, &why) ==
			      BS_ERR_KEY &&
		      len == 0,
	      "a key that is not known has no answer: %s", why.text);
}

int main(void)
{
	static char page[200000];
	FILE *f = fopen("ipc/WIRE.md", "r");
	size_t n = f != NULL ? fread(page, 1, sizeof(page) - 1, f) : 0;

	if (f != NULL)
		(void)fclose(f);
	(void)bs_suite_best();
	make_keys();
	if (n > 0)
		example(page);
	else
		SKIP("ipc/WIRE.md: not in this folder");
	answers();
	return check_done();
}
