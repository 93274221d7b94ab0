/* test/simulate/emit/pictures.c - see pictures.h */
#define _GNU_SOURCE /* memmem */
#include "test/simulate/emit/pictures.h"

#include <stdio.h>
#include <string.h>

#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "test/simulate/totals.h"

struct picture picture[PICTURES];
unsigned pictures;

void pictures_reset(void)
{
	pictures = 0;
}

void pictures_add(uint64_t session, uint64_t seq)
{
	picture[pictures++] = (struct picture){ .session = session, .seq = seq };
}

void pictures_draw(float *pixels, uint64_t session, uint64_t seq)
{
	for (unsigned n = 0; n < PICTURE_PIXELS; n++)
		pixels[n] = (float)((session * 7 + seq * 131 + n) % 8191);
}

void pictures_step(float *out, const float *pixels)
{
	for (unsigned n = 0; n < PICTURE_PIXELS; n++)
		out[n] = -0.25f - pixels[n];
}

unsigned pictures_seen(uint64_t seq, const float *pixels)
{
	float want[PICTURE_PIXELS];

	for (unsigned i = pictures; i-- > 0;) {
		pictures_draw(want, picture[i].session, picture[i].seq);
		if (picture[i].seq == seq && memcmp(want, pixels, sizeof(want)) == 0)
			return i;
	}
	return PICTURES;
}

/* "": it passed no step. */
static void verdict_of(char verdict[8], const char *attributes, size_t len)
{
	static const char name[] = "boreside_step_verdict</name><value>";
	const char *at = memmem(attributes, len, name, sizeof(name) - 1);

	verdict[0] = '\0';
	if (at != NULL)
		(void)sscanf(at + sizeof(name) - 1, "%7[a-z]", verdict);
}

bool pictures_are(unsigned i, const float *pixels, const char *attributes, size_t len)
{
	struct picture *p = &picture[i];
	float want[PICTURE_PIXELS];
	char verdict[8];

	verdict_of(verdict, attributes, len);
	pictures_draw(want, p->session, p->seq);
	if (strcmp(verdict, "used") == 0)
		pictures_step(want, want);
	if (memcmp(want, pixels, sizeof(want)) != 0)
		return false;
	if (p->verdict[0] != '\0' && strcmp(p->verdict, verdict) != 0)
		sim_broken("image %u leaves as %s and as %s", i, p->verdict, verdict);
	memcpy(p->verdict, verdict, sizeof(verdict));
	return true;
}

unsigned pictures_find(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_mrd_image head;
	struct bs_fail why;
	struct bs_wire w;
	float pixels[PICTURE_PIXELS];
	size_t attr_at;
	size_t pixels_at;

	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0 || w.kind != BS_WIRE_IMAGE ||
	    bs_mrd_parse_image(&head, &attr_at, &pixels_at, payload, (size_t)w.payload_len, &why) !=
		    0 ||
	    w.payload_len - pixels_at != sizeof(pixels))
		return PICTURES;
	memcpy(pixels, payload + pixels_at, sizeof(pixels));
	for (unsigned i = 0; i < pictures; i++)
		if (picture[i].session == w.session && picture[i].seq == w.seq)
			return pictures_are(i, pixels, (const char *)payload + attr_at,
					    pixels_at - attr_at)
				       ? i
				       : PICTURES;
	return PICTURES;
}

void pictures_has(unsigned taker, unsigned i, bool twice)
{
	uint8_t *mark;

	if (i >= pictures) {
		sim_broken("taker %u has an image that nobody made", taker);
		return;
	}
	SAY("taker %u has image %u", taker, i);
	mark = &picture[i].mark[taker];
	if ((*mark & PICTURE_HAS) != 0) {
		sim_saw(SEEN_IMAGES_TWICE);
		if (!twice && (*mark & PICTURE_EXCUSED) == 0)
			sim_broken("taker %u has image %u twice", taker, i);
	} else {
		sim_saw(SEEN_IMAGES_TAKEN);
	}
	*mark |= PICTURE_HAS;
}

void pictures_stored(const unsigned char *msg, size_t len, uint64_t number)
{
	const unsigned i = pictures_find(msg, len);

	if (i == PICTURES) {
		sim_broken("an image is stored that nobody made");
		return;
	}
	if (picture[i].number != 0 && picture[i].number != number)
		sim_broken("image %u is stored as %llu and as %llu", i,
			   (unsigned long long)picture[i].number, (unsigned long long)number);
	for (unsigned n = 0; n < pictures; n++)
		if (n != i && picture[n].number == number)
			sim_broken("images %u and %u are stored as %llu", n, i,
				   (unsigned long long)number);
	if (picture[i].number == 0)
		sim_saw(SEEN_IMAGES_STORED);
	picture[i].mark[PICTURE_STORE] |= PICTURE_HAS;
	picture[i].number = number;
	SAY("image %u is stored as %llx", i, (unsigned long long)number);
}

void pictures_memory_gone(unsigned taker, bool spills, bool once)
{
	for (unsigned i = 0; i < pictures; i++) {
		bool has = (picture[i].mark[taker] & PICTURE_HAS) != 0;

		if (has ? !once : !spills || picture[i].number == 0)
			picture[i].mark[taker] |= PICTURE_EXCUSED;
	}
}

void pictures_power_lost(void)
{
	for (unsigned i = 0; i < pictures; i++) {
		picture[i].unsafe = true;
		for (unsigned t = 0; t < PICTURE_ASK; t++)
			picture[i].mark[t] |= PICTURE_EXCUSED;
	}
}

unsigned pictures_lacks(unsigned taker, unsigned *first)
{
	unsigned n = 0;

	for (unsigned i = pictures; i-- > 0;) {
		const struct picture *p = &picture[i];

		if ((p->mark[taker] & (PICTURE_HAS | PICTURE_EXCUSED)) != 0 ||
		    (taker >= PICTURE_ASK && (p->number == 0 || p->unsafe)))
			continue;
		*first = i;
		n++;
	}
	return n;
}
