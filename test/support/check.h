/*
 * test/support/check.h - the few words that every test program uses
 *
 * CHECK(condition, "what was expected, with %figures") counts one pass or one failure and goes on.
 * A test that cannot run here calls SKIP("why"). main ends with return check_done().
 * Each program prints "ok|not ok|skip what" lines; test/run.sh adds them up.
 */
#ifndef BS_TEST_SUPPORT_CHECK_H
#define BS_TEST_SUPPORT_CHECK_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* 1 where a sanitizer's own run time takes the place of malloc and of page faults */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_SANITIZED 1
#endif
#endif
#ifndef CHECK_SANITIZED
#define CHECK_SANITIZED 0
#endif
/* CUDA's libraries run beside our code, and take memory when they like. */
#define CHECK_GPU (BS_GPU && access("/dev/nvidiactl", F_OK) == 0)

static int check_failed;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		int check_ok = !!(cond);                                                           \
		check_failed += !check_ok;                                                         \
		printf("%s ", check_ok ? "ok" : "not ok");                                         \
		printf(__VA_ARGS__);                                                               \
		if (!check_ok)                                                                     \
			printf(" [%s:%d: %s]", __FILE__, __LINE__, #cond);                         \
		printf("\n");                                                                      \
		(void)fflush(stdout);                                                              \
	} while (0)

#define SKIP(...)                                                                                  \
	do {                                                                                       \
		printf("skip ");                                                                   \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
	} while (0)

static inline int check_done(void)
{
	return check_failed != 0;
}

/* xorshift64*: the same numbers everywhere; uniform in [0, 1). */
static inline double check_uniform(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)((*state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-53;
}

/* ||a - b|| / ||b||, in double; NaN when anything is not finite. */
static inline double check_rel(const float *a, const float *b, size_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < n; i++) {
		double d = (double)a[i] - b[i];

		e += d * d;
		r += (double)b[i] * b[i];
	}
	return r > 0.0 ? sqrt(e / r) : sqrt(e);
}

#endif
