/*
 * gpu/device/tune.h - choices that are measured once on a device, and kept on disk
 *
 * A kind names its fields and the range of each. A choice gives each field a value; 0 means what
 * the code would take by itself. search starts from all zeros and goes through the stages in order.
 * A stage tries the values of one field, with the other fields as they are best so far. A new
 * choice and the best one so far run in turns, so that a changing clock meets both. The new choice
 * becomes the best when it is at least 1 % faster in 16 of 21 pairs of runs (two equal choices
 * pass that once in 75 times). The pairs end early once they cannot change the outcome, or when
 * the new choice took a fifth longer in each of the first three. The time limit is checked between
 * trials of at most 42 runs each: where a run takes long, the search ends that much later. A
 * choice never changes the accuracy or the sizes that are asked for, only how the result is
 * computed: different choices round differently, the same choice gives the same bytes.
 * The result, with every time that was measured, is kept in cache_dir/tune-HASH.txt: text with a
 * checksum in its last line. The name and the first line hold the key, all that the result depends
 * on: device, driver, sizes. A file that is damaged, has another key or holds a value out of range
 * is refused with the reason logged, and the search is done again.
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
#define BS_TUNE_FEW    6 /* pairs in which the time that does not decide must not be worse */

struct bs_tune_kind {
	const char *name;
	uint32_t fields;
	struct {
		const char *name; /* name of the field: one word */
		uint32_t least, most;
	} field[BS_TUNE_FIELDS];
};

struct bs_tune {
	uint32_t v[BS_TUNE_FIELDS]; /* value of each field; 0: not chosen */
};

struct bs_tune_trial {
	struct bs_tune tune;
	/*
	 * Median time of each direction, in ms; 0: not measured. fault says why when both are 0.
	 * When one is 0, the other direction's time had ruled the choice out.
	 */
	double ms[2];
	char fault[80];
};

struct bs_tuning {
	const struct bs_tune_kind *kind;
	/* number of trials; index of the best. Trial 0 is the one with all fields 0. */
	uint32_t trials, best;
	struct bs_tune_trial trial[BS_TUNE_TRIALS];
	bool from_disk;
	bool cut; /* the search ended because its time was up */
};

struct bs_tune_stage {
	uint32_t field;
	/*
	 * the direction (0, 1) whose time decides; the other's may not be 3 % worse in BS_TUNE_FEW
	 * pairs
	 */
	int direction;
	uint32_t value[BS_TUNE_VALUES]; /* values to try; a 0 ends them */
};

struct bs_tune_runs {
	double ms[2][BS_TUNE_RUNS]; /* run times of each direction, ms, in the order of measuring */
	int n[2];                   /* number of runs of each direction */
};

/*
 * The runs of a choice and of its rival, the best choice so far; run i of one pairs with run i of
 * the other.
 */
struct bs_tune_match {
	int direction; /* the direction whose time decides; it is measured first */
	struct bs_tune_runs own, against;
};

/*
 * Measures `tune` in turns with `rival` (NULL: no rival) and sets match->own and match->against,
 * the rival's runs. On entry match->against holds the BS_TUNE_RUNS runs by which the rival became
 * the best (repeated where there were fewer); they stay there where memory does not hold both
 * choices. Returns 0; 1 when `tune` does the same as a choice that was measured; negative, with the
 * reason, when `tune` is not possible.
 */
typedef int (*bs_tune_measure)(void *arg, const struct bs_tune *tune, const struct bs_tune *rival,
			       struct bs_tune_match *match, struct bs_fail *why);
/* Returns true to a measure function when this many pairs of a direction already
 * settle the outcome. */
bool bs_tune_settled(const struct bs_tune_match *match, int direction, int pairs);
/*
 * Returns what bs_tune_settled does, for a stopwatch (gpu/device/stopwatch.h); arg: a struct
 * bs_tune_turns.
 */
struct bs_tune_turns {
	struct bs_tune_match *match;
	int direction;
};
bool bs_tune_turns_settled(void *arg, int pairs);
/*
 * Returns true to a measure function when the deciding direction rules the choice out. The other
 * direction need not be measured then: its own.n stays 0.
 */
bool bs_tune_lost(const struct bs_tune_match *match);
/* Returns true when the choice is faster in the deciding direction and not slower in the other. */
bool bs_tune_won(const struct bs_tune_match *match);
/* The median of a direction's runs, in ms; 0: there are no runs. */
double bs_tune_median(const struct bs_tune_runs *runs, int direction);
/*
 * The number of runs of a direction for a choice without a rival. Later choices that must run alone
 * are compared with them.
 */
static inline int bs_tune_alone(int direction)
{
	return direction == 0 ? BS_TUNE_RUNS : BS_TUNE_FEW;
}

/*
 * Measures until the stages have been gone through `rounds` times or `seconds` have passed. An
 * error of the first trial, the one without choices, is returned.
 */
int bs_tune_search(struct bs_tuning *t, const struct bs_tune_kind *kind,
		   const struct bs_tune_stage *stage, uint32_t stages, uint32_t rounds,
		   double seconds, bs_tune_measure measure, void *arg, struct bs_fail *why);

/* Writes "taps 5 run 256", or "default", to `to` and returns it. */
char *bs_tune_text(char to[BS_TUNE_TEXT], const struct bs_tune_kind *kind,
		   const struct bs_tune *tune);

/*
 * key: one line of text. Returns false when there is no file or it was refused; t is then
 * undefined.
 */
bool bs_tune_load(struct bs_tuning *t, const struct bs_tune_kind *kind, const char *key,
		  const char *cache_dir);
/*
 * Parses a file's text, for load and a test's fuzzer. Returns NULL, or what is wrong with the text.
 */
const char *bs_tune_parse(struct bs_tuning *t, const struct bs_tune_kind *kind, const char *key,
			  char *text, size_t size);
/* A failure is logged: the next start must measure again, some seconds. */
void bs_tune_save(const struct bs_tuning *t, const char *key, const char *cache_dir);

BS_C_END
#endif
