/* test/simulate/emit/puller.c - the archive that is sent to; see takers.h */
#include <string.h>

#include "test/simulate/emit/pictures.h"
#include "test/simulate/emit/sockets.h"
#include "test/simulate/emit/takers.h"
#include "test/simulate/emit/emit.h"

#define CONNECT_NS (20 * MS)

static bool there;
static bool has; /* one that its socket has read ahead */
static unsigned own;
static int64_t away_until_ns, next_ns;

void puller_reset(bool is_there)
{
	there = is_there;
	has = false;
	away_until_ns = next_ns = 0;
	if (there && sim_chance(200))
		away_until_ns = sim_now + (int64_t)sim_spread(12) * MS;
}

int64_t puller_due(void)
{
	int64_t at = INT64_MAX;

	if (!there)
		return at;
	if (has || sockets_waits() || !sockets_connected())
		at = next_ns;
	return at < away_until_ns ? away_until_ns : at;
}

bool puller_turn(void)
{
	const unsigned char *msg;
	size_t len;

	if (puller_due() > sim_now)
		return false;
	next_ns = sim_now + (sim_chance(800) ? 0 : (int64_t)sim_spread(5) * MS);
	if (has) {
		pictures_has(PICTURE_ARCHIVE, own, true);
		has = false;
	} else if (sockets_waits()) {
		msg = sockets_pull(&len);
		own = pictures_find(msg, len);
		if (own == PICTURES)
			sim_broken("the archive is sent an image that nobody made");
		has = own != PICTURES;
	} else if (!sockets_connect()) {
		next_ns = sim_now + CONNECT_NS;
	}
	return true;
}

void puller_calm(void)
{
	away_until_ns = 0;
}

bool puller_rests(void)
{
	return !there || (!has && !sockets_waits() && sockets_connected());
}

bool puller_stop(int64_t until_ns)
{
	away_until_ns = until_ns;
	return there;
}

bool puller_killed(int64_t until_ns)
{
	if (!there)
		return false;
	if (has)
		picture[own].mark[PICTURE_ARCHIVE] |= PICTURE_EXCUSED;
	has = false;
	emit_connection_breaks();
	sockets_break();
	away_until_ns = until_ns;
	return true;
}
