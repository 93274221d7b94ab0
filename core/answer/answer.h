/*
 * core/answer/answer.h - numbers that a scan's sender gets back while it measures: of a readout by
 * itself (frequency, phase, shift), or of an image's step (ipc/step.h)
 *
 * start -> make* of a scan, one call for each readout in the order of their numbers, with its
 * samples as bs_intake_put left them. The state is plain data in the caller's memory, without
 * pointers, so that a process that replaces another goes on with it: a readout that comes again
 * makes nothing again, and the scan's first readout stays what later ones are compared with.
 * `boreside recon` and the service run this same code: they make the same numbers, to the bit.
 * Allocates nothing; one thread. Test: test/unit/core/answer/test_answer.c
 */
#ifndef BS_CORE_ANSWER_ANSWER_H
#define BS_CORE_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/mrd.h"
#include "core/protocol.h"

#define BS_ANSWER_NUMBERS 64u

struct bs_answer {
	enum bs_answer_what what;
	uint32_t row;     /* place in the protocol's list of answers, from 0 */
	uint32_t count;   /* number of this answer in the scan, from 1 */
	uint32_t image;   /* number of the image whose step gave the numbers; 0: of a readout */
	uint64_t readout; /* message number of the readout; 0: of an image */
	uint32_t scan_counter; /* MRD's, of that readout */
	/* how many numbers follow; 0: the readout tells nothing (no signal, no field of view) */
	uint32_t numbers;
	/* when the readout was received; when the numbers were there; when they are too late */
	int64_t received_ns, computed_ns, by_ns;
	double deviation; /* standard deviation of number[0], in its unit; negative: not known */
	double number[BS_ANSWER_NUMBERS];
};

/* What is kept of a scan. */
struct bs_answering {
	uint64_t done;  /* message number of the last readout that was looked at */
	uint32_t count; /* answers that were made */
	uint32_t unused;
	struct {
		uint64_t readout; /* message number of the first readout; 0: it has not come */
		struct bs_mrd_acq head;
	} first[BS_ANSWERS_MAX];
};

/* What make works on. */
struct bs_answering_of {
	struct bs_answering *state;
	/* samples of the first readouts, place_bytes for each row: as many as a readout may have */
	unsigned char *places;
	uint64_t place_bytes;
	const struct bs_protocol *p;
	const struct bs_scan_info *info;
};

/* Returns true if the sender asks for answers (userParameterLong boreside_answers = 1). */
bool bs_answers_asked(const struct bs_scan_info *info);
void bs_answers_start(struct bs_answering *state);
/*
 * Makes the answers of a readout; returns how many of out [BS_ANSWERS_MAX] are set, all but their
 * times. samples: [channel][number_of_samples] complex.
 */
uint32_t bs_answers_make(const struct bs_answering_of *a, const struct bs_mrd_acq *head,
			 uint64_t readout, const float *samples, struct bs_answer *out);
/*
 * Makes the answers of an image's step; numbers: at most BS_ANSWER_NUMBERS. The same return value.
 * out: all but its times, readout and scan_counter.
 */
uint32_t bs_answers_step(const struct bs_answering_of *a, uint32_t image, const double *number,
			 uint32_t numbers, struct bs_answer *out);
const char *bs_answer_name(enum bs_answer_what what);
/*
 * Writes an answer as a line: what, scan counter, image, deviation and the numbers, with blanks
 * between, and all the digits that tell one number from the next.
 */
void bs_answer_print(FILE *to, const struct bs_answer *a);

#endif
