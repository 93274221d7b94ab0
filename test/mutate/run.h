/*
 * test/mutate/run.h - a scan through boreside init and recon, or through a service of its own
 *
 * run_open makes a folder to work in. For each scan: run_recon, and perhaps run_serve after it, or
 * after run_init of another scan, since it takes the site file that init made there; answer_free.
 * run_close removes the folder.
 */
#ifndef BS_TEST_MUTATE_RUN_H
#define BS_TEST_MUTATE_RUN_H

#include "test/mutate/scan.h"

#define SAID 16384u

struct image {
	ISMRMRD_ImageHeader head;
	char *attributes;
	float *pixels; /* [z][y][x], magnitude */
};

enum ended { ENDED_WELL, ENDED_REFUSED, ENDED_BADLY };

/* What was said and given of a scan. */
struct answer {
	enum ended init, scan;
	char said[SAID]; /* by init, and by recon or in OUTCOME */
	char why[640];   /* the reason of a refusal */
	struct image *images;
	uint32_t count;
	uint64_t rejected; /* readouts, by OUTCOME */
};

bool run_open(void);
void run_close(void);
bool run_recon(struct answer *a, const struct scan *s);
/* init alone: the protocol that another scan is then served by. */
bool run_init(struct answer *a, const struct scan *s);
bool run_serve(struct answer *a, const struct scan *s);
void answer_free(struct answer *a);
/* The value of an attribute, "" where there is none. */
const char *image_word(const struct image *i, const char *name, char *to, size_t cap);

#endif
