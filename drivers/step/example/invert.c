/*
 * drivers/step/example/invert.c - a step from ipc/step.h alone: each image inverted, its largest
 * value becoming 0, and two numbers, its mean and its largest value
 *
 *     cc -O2 -o invert invert.c
 *     steps = ( { name = "invert"; on = "PROTOCOL"; command = "/usr/local/bin/invert";
 *                 budget_ms = 20.0; } );
 */
#define _GNU_SOURCE
#include "ipc/step.h" /* installed: <boreside/step.h> */

#include <stdio.h>
#include <stdlib.h>

/* Inverts n floats. Returns how many numbers it has set. */
static uint32_t invert(float *to, const float *from, size_t n, double number[2])
{
	float most = 0.0f;
	double sum = 0.0;

	for (size_t i = 0; i < n; i++) {
		most = from[i] > most ? from[i] : most;
		sum += (double)from[i];
	}
	for (size_t i = 0; i < n; i++)
		to[i] = most - from[i];
	number[0] = n > 0 ? sum / (double)n : 0.0;
	number[1] = (double)most;
	return 2;
}

int main(void)
{
	const char *path = getenv(BS_STEP_SOCKET);
	int fd = -1;
	struct bs_step_memory *m = path != NULL ? bs_step_open(path, &fd) : NULL;

	if (m == NULL) {
		(void)fprintf(stderr, "invert: no service at %s\n", path != NULL ? path : "?");
		return 1;
	}
	/* what takes long, a network or tables, is loaded here */
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	while (bs_step_wait(m, fd)) {
		const float *in = (const float *)(const void *)((const char *)m + m->in_at);
		float *out = (float *)(void *)((char *)m + m->out_at);

		m->out.numbers =
			invert(out, in, (size_t)(m->in.bytes / sizeof(float)), m->out.number);
		m->out.what = BS_STEP_PIXELS;
		m->out.bytes = m->in.bytes;
		bs_step_store(&m->answered, m->asked);
	}
	return 0; /* the service has closed the socket; who started this step starts it again */
}
