/* core/peers.c - see peers.h */
#include "core/peers.h"

#include <stdlib.h>
#include <string.h>

/*
 * Reads digits from *at on, at most `digits` of them and a number of at most `most`; *at moves
 * behind them. False: there are none, or more.
 */
static bool decimal(const char **at, unsigned digits, uint32_t most, uint32_t *out)
{
	const size_t n = strspn(*at, "0123456789");

	if (n == 0 || n > digits)
		return false;
	*out = (uint32_t)strtoul(*at, NULL, 10);
	*at += n;
	return *out <= most;
}

static bool quad(const char **at, uint32_t *out)
{
	uint32_t octet;

	*out = 0;
	for (int i = 0; i < 4; i++) {
		if ((i > 0 && *(*at)++ != '.') || !decimal(at, 3, 255, &octet))
			return false;
		*out = *out << 8 | octet;
	}
	return true;
}

int bs_peers_read(struct bs_peers *p, const char *list, struct bs_fail *why)
{
	const char *at = list + strspn(list, ", ");

	memset(p, 0, sizeof(*p));
	while (*at != '\0') {
		const char *start = at;
		uint32_t bits = 32;
		uint32_t address;

		if (!quad(&at, &address) || (*at == '/' && (at++, !decimal(&at, 2, 32, &bits))) ||
		    (*at != '\0' && *at != ',' && *at != ' '))
			return bs_fail(why, BS_ERR_CONFIG,
				       "'%.40s' begins with no IPv4 address (192.168.2.1) nor "
				       "prefix (10.1.0.0/16)",
				       start);
		if (p->count == BS_PEERS_MAX)
			return bs_fail(why, BS_ERR_CONFIG, "more than %u addresses", BS_PEERS_MAX);
		p->of[p->count].mask = bits == 0 ? 0 : UINT32_MAX << (32 - bits);
		p->of[p->count].address = address & p->of[p->count].mask;
		p->count++;
		at += strspn(at, ", ");
	}
	return 0;
}

bool bs_peers_has(const struct bs_peers *p, uint32_t address)
{
	if (address >> 24 == 127)
		return true;
	for (uint32_t i = 0; i < p->count; i++)
		if ((address & p->of[i].mask) == p->of[i].address)
			return true;
	return false;
}

bool bs_peers_wide(const struct bs_peers *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->of[i].mask < UINT32_C(255) << 24)
			return true;
	return false;
}

int bs_peers_url(uint32_t *address, uint16_t *port, const char *url, struct bs_fail *why)
{
	const char *at = url + 6;
	uint32_t n = 0;

	if (strncmp(url, "tcp://", 6) != 0 || !quad(&at, address) || *at++ != ':' ||
	    !decimal(&at, 5, 65535, &n) || *at != '\0')
		return bs_fail(why, BS_ERR_CONFIG, "%s: not tcp://ADDRESS:PORT (an IPv4 address)",
			       url);
	*port = (uint16_t)n;
	return 0;
}
