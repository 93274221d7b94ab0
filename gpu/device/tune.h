/*
 * gpu/device/tune.h - choices that are measured once on a device, and kept on disk
 *
 * A kind names its fields and the range of each; a choice gives each a value, 0 meaning what the
 * code would take by itself. search starts from all zeros and goes through the stages in order:
 * each tries the values of one field with the others as they are best so far. The two run in
 * turns, so that a clock that changes meets both; the new one is kept when it is at least 1 %
 * faster in 16 of 21 pairs of runs (two equal ones pass that once in 75 times). Pairs that cannot
 * change that any more are not run, nor any after three in which it took a fifth longer. The time
 * is looked at between trials, of 42 runs at most: where a run takes long, the search ends that
 * much later. A choice never changes what is asked for (accuracy, sizes), only how it is computed:
 * other choices round differently, the same choice gives the same bytes.
 * What was found, with every time that was measured, is kept in cache_dir/tune-HASH.txt: text, a
 * checksum in its last line, under a name and a first line that hold all that it depends on (key:
 * device, driver, sizes). A file that is damaged, of another key, or holds a value out of range is
 * refused with the reason logged, and the measuring is done again.
 * Host code; load and save touch files: at arm only. Test: test/unit/gpu/test_tune.c
 */
#ifndef BS_GPU_DEVICE_TUNE_H
#define BS_GPU_DEVICE_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

#define BS_TUNE_FIELDS 13u
#define BS_TUNE_TRIALS 96u
#define BS_TUNE_VALUES 6u
#define BS_TUNE_TEXT   200u
#define BS_TUNE_RUNS   21
#define BS_TUNE_FEW    6 /* that decide of the direction that does not */

struct bs_tune_kind {
	const char *name;
	uint32_t fields;
	struct {
		const char *name; /* one word */
		uint32_t least, most;
	} field[BS_TUNE_FIELDS];
};

struct bs_tune {
	uint32_t v[BS_TUNE_FIELDS]; /* by field; 0: not chosen */
};

struct bs_tune_trial {
	struct bs_tune tune;
	/* median, each direction; 0 where it was not measured: fault says why; one alone: the other
	 * had decided against it */
	double ms[2];
	char fault[80];
};

struct bs_tuning {
	const struct bs_tune_kind *kind;
	uint32_t trials, best; /* trial 0 is the one without choices */
	struct bs_tune_trial trial[BS_TUNE_TRIALS];
	bool from_disk;
	bool cut; /* the time was up before the search was through */
};

struct bs_tune_stage {
	uint32_t field;
	int direction; /* whose time decides: 0, 1; the other may not be 3 % worse, as surely */
	uint32_t value[BS_TUNE_VALUES]; /* 0 ends them */
};

struct bs_tune_runs {
	double ms[2][BS_TUNE_RUNS]; /* each direction, in the order of measuring */
	int n[2];                   /* runs of each */
};

/* A choice beside its rival, the best so far, run by run. */
struct bs_tune_match {
	int direction; /* whose time decides: that one is measured first */
	struct bs_tune_runs own, against;
};

/*
 * Sets own, in turns with the runs of the rival (NULL: there is none), which go to against. That
 * comes in as the runs by which the rival became the best, BS_TUNE_RUNS of them (fewer are
 * repeated); they stay where memory does not hold both.
 * 0; 1: the same as one that was measured; negative: not possible, with the reason.
 */
typedef int (*bs_tune_measure)(void *arg, const struct bs_tune *tune, const struct bs_tune *rival,
			       struct bs_tune_match *match, struct bs_fail *why);
/* For measure: whether so many pairs of a direction say what all would. */
bool bs_tune_settled(const struct bs_tune_match *match, int direction, int pairs);
/* The direction that decides has been measured, and the other one need not be: own.n is 0 there. */
bool bs_tune_lost(const struct bs_tune_match *match);
/* It is faster in the one, and not slower in the other. */
bool bs_tune_won(const struct bs_tune_match *match);
/* Of a direction's runs, in ms; 0: there are none. */
double bs_tune_median(const struct bs_tune_runs *runs, int direction);
/* Runs of a choice without a rival, of a direction: what later ones need beside theirs. */
static inline int bs_tune_alone(int direction)
{
	return direction == 0 ? BS_TUNE_RUNS : BS_TUNE_FEW;
}

/* Measures until the stages are through (rounds times) or seconds have passed. The first trial must
 * succeed: its error is returned. */
int bs_tune_search(struct bs_tuning *t, const struct bs_tune_kind *kind,
		   const struct bs_tune_stage *stage, uint32_t stages, uint32_t rounds,
		   double seconds, bs_tune_measure measure, void *arg, struct bs_fail *why);

/* "taps 5 run 256", or "default". Returns to. */
char *bs_tune_text(char to[BS_TUNE_TEXT], const struct bs_tune_kind *kind,
		   const struct bs_tune *tune);

/* key: one line. false: not there, or refused; t is then undefined. */
bool bs_tune_load(struct bs_tuning *t, const struct bs_tune_kind *kind, const char *key,
		  const char *cache_dir);
/* The same from text (for load and the fuzzer of a test): NULL, or what is wrong with it. */
const char *bs_tune_parse(struct bs_tuning *t, const struct bs_tune_kind *kind, const char *key,
			  char *text, size_t size);
/* Failure costs the next start some seconds: it is logged. */
void bs_tune_save(const struct bs_tuning *t, const char *key, const char *cache_dir);

BS_C_END
#endif
