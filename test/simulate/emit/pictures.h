/*
 * test/simulate/emit/pictures.h - the books of a schedule of images: which were made, and which of
 * its takers has each
 *
 * An image is known by its scan's session and its number there; its pixels follow from both, and
 * those that a step makes of it. Of an
 * image that a taker lacks in the end the service must have said so to that taker or counted it
 * (named), but where a promise excuses it: the memory or the power that it lay in is gone.
 */
#ifndef BS_TEST_SIMULATE_EMIT_PICTURES_H
#define BS_TEST_SIMULATE_EMIT_PICTURES_H

#include "test/simulate/simulate.h"

#define PICTURES        200u /* of a schedule */
#define PICTURES_MADE   180u /* of these before the calm */
#define PICTURE_PIXELS  128u
#define PICTURE_SINKS   2u
#define PICTURE_ASKERS  2u
#define PICTURE_ARCHIVE PICTURE_SINKS          /* takers: sinks, the archive that is sent to, */
#define PICTURE_STORE   (PICTURE_ARCHIVE + 1u) /* the store, */
#define PICTURE_ASK     (PICTURE_STORE + 1u)   /* those that ask */
#define PICTURE_TAKERS  (PICTURE_ASK + PICTURE_ASKERS)

enum picture_mark {
	PICTURE_HAS = 1,
	PICTURE_EXCUSED = 2, /* it may lack it, and it may come twice */
	PICTURE_OWED = 4,    /* of one that asks: the service knew it when it stored this image */
	PICTURE_TOLD = 8,    /* and it was told that this one is not there any more */
};

struct picture {
	uint64_t session, seq;
	uint64_t number; /* in the store's line; 0: it is not known to be stored */
	bool unsafe;     /* the power went when it was stored */
	unsigned asked;  /* its step was, by this process of the service, from 1; 0: by none */
	char verdict[8]; /* of its step, as it leaves; "": it has not, or the site has no step */
	uint8_t mark[PICTURE_TAKERS];
};

extern struct picture picture[PICTURES];
extern unsigned pictures; /* that recon has handed on */

void pictures_reset(void);
void pictures_add(uint64_t session, uint64_t seq);
void pictures_draw(float *pixels, uint64_t session, uint64_t seq);
/* The step's pixels of an image. */
void pictures_step(float *out, const float *pixels);
/* The step gets this image, number seq of its scan. PICTURES: it is none that was made. */
unsigned pictures_seen(uint64_t seq, const float *pixels);
/*
 * Does image i leave with these pixels and attributes? Its pixels are the step's where its verdict
 * is that they were used, else those that were made; and whoever has it has the same.
 */
bool pictures_are(unsigned i, const float *pixels, const char *attributes, size_t len);
/* Which one this IMAGE message is. PICTURES: none that was made. */
unsigned pictures_find(const unsigned char *msg, size_t len);
/* The taker has it. twice: it may have had it. */
void pictures_has(unsigned taker, unsigned i, bool twice);
/* It was stored, with this number. */
void pictures_stored(const unsigned char *msg, size_t len, uint64_t number);

/* The memory is gone. spills: the taker gets what is stored; once: and nothing that it has. */
void pictures_memory_gone(unsigned taker, bool spills, bool once);
void pictures_power_lost(void);
/* So many times a taker is without one that nothing excuses. */
unsigned pictures_lacks(unsigned taker, unsigned *first);

#endif
