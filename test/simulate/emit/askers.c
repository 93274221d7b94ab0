/* test/simulate/emit/askers.c - archives that ask; see takers.h */
#include <string.h>

#include "ipc/wire/wire.h"
#include "test/simulate/emit/pictures.h"
#include "test/simulate/emit/sockets.h"
#include "test/simulate/emit/takers.h"
#include "test/simulate/faults.h"
#include "test/simulate/totals.h"

#define ANSWER       16384u
#define ASK_AGAIN_NS (1000 * MS)
#define EMPTY_NS     (5 * MS)
#define REFUSED_NS   (100 * MS)

static struct asker {
	uint64_t cursor;   /* that it keeps on its disk */
	uint64_t asked;    /* the question that waits for an answer; 0: none does */
	uint64_t after;    /* of that question */
	unsigned asked_at; /* changes, then */
	int64_t asked_ns, away_until_ns, next_ns;
	enum { IDLE, GOT, SAVED } hand;
	uint64_t got, got_previous; /* of the image in hand */
	unsigned got_picture;
	bool known;     /* it was answered: what is stored from now on, it gets */
	bool satisfied; /* nothing follows what it has */
	bool comes;     /* an answer is on its way, */
	bool knows;     /* of a service that knows it */
	int64_t comes_ns;
	size_t len;
	unsigned char answer[ANSWER];
} asker[PICTURE_ASKERS];
static unsigned askers, changes;
static uint64_t ids;
static bool twice, loses;

void askers_reset(unsigned number)
{
	askers = number;
	changes = 0;
	ids = 0;
	twice = loses = false;
	for (unsigned a = 0; a < askers; a++) {
		memset(&asker[a], 0, offsetof(struct asker, answer));
		if (a > 0 && sim_chance(300)) /* one that comes late */
			asker[a].away_until_ns = sim_now + (int64_t)sim_spread(12) * MS;
		sockets_asker_connects(a, true);
	}
}

void askers_more(void)
{
	changes++;
	for (unsigned a = 0; a < askers; a++)
		asker[a].satisfied = false;
}

void askers_stored(unsigned i)
{
	for (unsigned a = 0; a < askers; a++)
		if (asker[a].known)
			picture[i].mark[PICTURE_ASK + a] |= PICTURE_OWED;
	askers_more();
}

void askers_forgotten(void)
{
	for (unsigned a = 0; a < askers; a++)
		asker[a].known = asker[a].knows = false;
	askers_more();
}

static void ask(struct asker *t)
{
	const unsigned a = (unsigned)(t - asker);

	t->asked = 0;
	t->next_ns = sim_now + EMPTY_NS;
	if (!sockets_ask(a, ids + 1, t->cursor))
		return;
	t->asked = ++ids;
	t->after = t->cursor;
	t->asked_at = changes;
	t->asked_ns = sim_now;
	if (twice && sockets_ask(a, ids, t->cursor)) {
		twice = false;
		faults_strike(FAULT_TAKER_REPEATS);
	}
}

void askers_hear(unsigned a, uint64_t id, const unsigned char *msg, size_t len)
{
	struct asker *t = &asker[a];

	if (loses) {
		faults_strike(FAULT_ANSWER_LOST);
		loses = false;
		return;
	}
	if (id != t->asked || t->comes)
		return;
	t->comes = t->knows = true;
	t->comes_ns = sim_now + 20000 + sim_below(200000);
	t->len = len;
	memcpy(t->answer, msg, len);
}

static void judge_stored(struct asker *t, const struct bs_wire *w, const unsigned char *payload)
{
	const unsigned char *image;
	struct bs_fail why;
	size_t len;
	unsigned i;

	if (bs_wire_get_stored(&t->got_previous, &image, &len, payload, (size_t)w->payload_len,
			       &why) != 0) {
		sim_broken("STORED is none: %s", why.text);
		return;
	}
	i = pictures_find(image, len);
	if (i == PICTURES) {
		sim_broken("asker %u has an image that nobody made", (unsigned)(t - asker));
		return;
	}
	if (w->seq <= t->after || w->seq <= t->cursor)
		sim_broken("number %llx follows %llx", (unsigned long long)w->seq,
			   (unsigned long long)t->after);
	if (picture[i].number == 0) { /* emit was killed when it had stored it: others may have */
		pictures_stored(image, len, w->seq); /* been told that it is gone */
		picture[i].unsafe = true;
	}
	if (picture[i].number != w->seq)
		sim_broken("image %u has two numbers, %llx and %llx", i,
			   (unsigned long long)picture[i].number, (unsigned long long)w->seq);
	t->hand = GOT;
	t->got = w->seq;
	t->got_picture = i;
}

static void hear(struct asker *t)
{
	const unsigned char *payload;
	struct bs_fail why;
	struct bs_wire w;

	t->comes = false;
	t->asked = 0;
	if (bs_wire_decode(&w, t->answer, t->len, &payload, &why) != 0) {
		sim_broken("an answer that is none: %s", why.text);
		return;
	}
	if (w.kind == BS_WIRE_REFUSE) {
		t->next_ns = sim_now + REFUSED_NS;
		return;
	}
	t->known = t->known || t->knows;
	if (w.kind == BS_WIRE_NONE) {
		t->satisfied = t->asked_at == changes;
		t->next_ns = sim_now + EMPTY_NS;
	} else {
		judge_stored(t, &w, payload);
	}
}

/* What the answer says is not there any more. */
static void told(const struct asker *t)
{
	bool any = false;

	for (unsigned i = 0; i < pictures; i++)
		if (picture[i].number > t->cursor && picture[i].number <= t->got_previous) {
			picture[i].mark[PICTURE_ASK + (t - asker)] |= PICTURE_TOLD;
			any = true;
		}
	if (any)
		sim_saw(SEEN_IMAGES_TOLD);
}

/* One of its steps: between any two it may die. */
static void turn(struct asker *t)
{
	const unsigned a = (unsigned)(t - asker);

	switch (t->hand) {
	case GOT: /* the image is on its disk, in a file of its number */
		if ((picture[t->got_picture].mark[PICTURE_ASK + a] & PICTURE_HAS) == 0)
			pictures_has(PICTURE_ASK + a, t->got_picture, false);
		t->hand = SAVED;
		break;
	case SAVED:
		told(t);
		t->cursor = t->got;
		t->hand = IDLE;
		break;
	default:
		if (t->comes)
			hear(t);
		else
			ask(t);
	}
}

static int64_t due(const struct asker *t)
{
	int64_t at = t->asked != 0 ? t->asked_ns + ASK_AGAIN_NS : t->next_ns;

	if (t->hand != IDLE)
		at = 0;
	else if (t->comes)
		at = t->comes_ns;
	return at < t->away_until_ns ? t->away_until_ns : at;
}

bool askers_turn(void)
{
	const unsigned first = sim_below(PICTURE_ASKERS);

	for (unsigned i = 0; i < askers; i++) {
		struct asker *t = &asker[(first + i) % askers];

		sockets_asker_connects((unsigned)(t - asker), sim_now >= t->away_until_ns);
		if (due(t) > sim_now)
			continue;
		turn(t);
		return true;
	}
	return false;
}

int64_t askers_due(void)
{
	int64_t at = INT64_MAX;

	for (unsigned a = 0; a < askers; a++)
		at = due(&asker[a]) < at ? due(&asker[a]) : at;
	return at;
}

void askers_calm(void)
{
	twice = loses = false;
	for (unsigned a = 0; a < askers; a++)
		asker[a].away_until_ns = 0;
}

bool askers_rest(void)
{
	for (unsigned a = 0; a < askers; a++)
		if (!asker[a].satisfied || asker[a].hand != IDLE)
			return false;
	return true;
}

void askers_judge(uint64_t named)
{
	uint64_t lacks = 0;

	for (unsigned a = 0; a < askers; a++)
		for (unsigned i = 0; i < pictures; i++) {
			const struct picture *p = &picture[i];
			const uint8_t mark = p->mark[PICTURE_ASK + a];

			if (p->number == 0 || p->unsafe || (mark & PICTURE_HAS) != 0)
				continue;
			if ((mark & PICTURE_TOLD) == 0)
				sim_broken("asker %u lacks image %u, number %llx, and was not told "
					   "so; it is at %llx",
					   a, i, (unsigned long long)p->number,
					   (unsigned long long)asker[a].cursor);
			lacks += (mark & PICTURE_OWED) != 0;
		}
	if (lacks > named)
		sim_broken("those that ask lack %llu images, %llu were counted",
			   (unsigned long long)lacks, (unsigned long long)named);
}

/* ---- faults ---- */

bool askers_ask_twice(void)
{
	if (askers == 0 || twice)
		return false;
	twice = true;
	return true;
}

bool askers_lose_answer(void)
{
	if (askers == 0 || loses)
		return false;
	loses = true;
	return true;
}

bool askers_stop(int64_t until_ns)
{
	if (askers == 0)
		return false;
	asker[sim_below(askers)].away_until_ns = until_ns;
	return true;
}

bool askers_killed(int64_t until_ns)
{
	struct asker *t;

	if (askers == 0)
		return false;
	t = &asker[sim_below(askers)];
	t->hand = IDLE;
	t->asked = 0;
	t->comes = t->satisfied = false;
	t->away_until_ns = until_ns;
	return true;
}
