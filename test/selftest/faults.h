/*
 * test/selftest/faults.h - which planted fault is in force; each source that faults.awk has changed
 * is compiled with it
 *
 * PLANTED in the environment is its number; 0, or none: every source is as it was.
 */
#ifndef BS_TEST_FAULTS_H
#define BS_TEST_FAULTS_H

#define FLIP(n)  (bs_planted == (n) ? -1 : 1) /* a sign */
#define TWICE(n) (bs_planted == (n) ? 2 : 1)  /* a weight */
#define UNLESS(n)                                                                                  \
	if (bs_planted == (n)) { /* what is not made, or not cleared, anew */                      \
	} else

/* Not from stdlib.h: the source says first which of its names it wants. */
extern char *getenv(const char *);
extern int atoi(const char *);

__attribute__((weak)) int bs_planted;

__attribute__((constructor, weak)) void bs_planted_read(void);
__attribute__((constructor, weak)) void bs_planted_read(void)
{
	const char *number = getenv("PLANTED");

	bs_planted = number != (void *)0 ? atoi(number) : 0;
}

#endif
