/*
 * test/support/step/unruly.c - a step that does as its arguments say, image after image
 *
 *     unruly WORD...   the i-th image gets the i-th word, the last word all that follow
 *     unruly random SEED   each image gets a word by lot
 *
 * An image of no scan gets identity, but where the first word is slow (late) or wild (hang); with
 * the first word load it never gets ready.
 * identity, invert, number (numbers alone), late (answers after 60 ms), hang (never answers), die,
 * size, many (numbers), nan (a pixel), odd (a number), stale (an answer not asked); not by lot:
 * ahead (an answer, and 60 ms later the next one, which was not asked yet)
 */
#define _GNU_SOURCE
#include "ipc/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const words[] = { "identity", "invert", "number", "late", "hang", "die",
				     "size",     "many",   "nan",    "odd",  "stale" };
#define WORDS (sizeof(words) / sizeof(words[0]))

static void work(struct bs_step_memory *m, int fd, const char *word)
{
	char byte;
	const size_t n = (size_t)(m->in.bytes / sizeof(float));
	const float *in = (const float *)(const void *)((const char *)m + m->in_at);
	float *out = (float *)(void *)((char *)m + m->out_at);
	const struct timespec late = { 0, 60000000 };

	if (strcmp(word, "die") == 0)
		_exit(7);
	if (strcmp(word, "late") == 0)
		(void)nanosleep(&late, NULL);
	while (strcmp(word, "hang") == 0)
		(void)pause();
	memcpy(out, in, n * sizeof(float));
	for (size_t i = 0; strcmp(word, "invert") == 0 && i < n; i++)
		out[i] = -out[i];
	if (strcmp(word, "nan") == 0 && n > 0)
		out[n - 1] = NAN;
	m->out.what = strcmp(word, "number") == 0 ? BS_STEP_NUMBERS_ALONE : BS_STEP_PIXELS;
	m->out.bytes = strcmp(word, "number") == 0 ? 0 : m->in.bytes;
	m->out.bytes -= strcmp(word, "size") == 0 ? 4 : 0;
	m->out.numbers = strcmp(word, "many") == 0 ? BS_STEP_NUMBERS + 1 : 2;
	m->out.number[0] = strcmp(word, "odd") == 0 ? (double)INFINITY : (double)m->in.image;
	m->out.number[1] = n > 0 ? (double)in[n / 2] : 0.0;
	bs_step_store(&m->answered, m->asked + (strcmp(word, "stale") == 0 ? 5 : 0));
	if (strcmp(word, "ahead") == 0) {
		(void)nanosleep(&late, NULL);
		bs_step_store(&m->answered, m->answered + 1);
		(void)recv(fd, &byte, 1, 0);
	}
	if (strcmp(word, "stale") == 0) /* a good answer right after it might be the one seen */
		(void)recv(fd, &byte, 1, 0);
}

int main(int argc, char **argv)
{
	const char *path = getenv(BS_STEP_SOCKET);
	const int lot = argc == 3 && strcmp(argv[1], "random") == 0;
	int fd = -1;
	struct bs_step_memory *m = path != NULL ? bs_step_open(path, &fd) : NULL;

	if (m == NULL || argc < 2)
		return 1;
	/* each process of a row of them draws others */
	srandom((unsigned)(lot ? atoi(argv[2]) + getpid() : 0));
	while (strcmp(argv[1], "load") == 0)
		(void)pause();
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	for (int i = 1; bs_step_wait(m, fd);) {
		const int trial = m->in.scan == 0;

		if (strcmp(argv[1], "slow") == 0)
			work(m, fd, "late");
		else if (trial)
			work(m, fd, strcmp(argv[1], "wild") == 0 ? "hang" : "identity");
		else
			work(m, fd, lot ? words[(size_t)random() % WORDS] : argv[i]);
		i += !trial && i + 1 < argc;
	}
	return 0;
}
