/*
 * core/frame/averages.h - lines that a scan measures several times, and their mean
 *
 * In a protocol with `averages` above 1, readouts of one row of a frame that differ in idx.average
 * alone are averaged. They are kept, coil by coil as engines see them, until the row's last one has
 * come or the frame ends; then they are summed in the order of the averages' numbers and divided by
 * how many came. So the mean does not depend on the order of arrival, to the bit, whether or not
 * some never came. Memory per frame that may be open: averages - 1 times its readouts, plus one
 * readout.
 * need -> arm -> { scan -> { begin -> put* -> next* }* }*. Memory comes from the arena that arm is
 * given; nothing else allocates.
 * One thread. Test: test/unit/core/frame/test_averages.c, test/replay/scan/averages.sh
 */
#ifndef BS_CORE_FRAME_AVERAGES_H
#define BS_CORE_FRAME_AVERAGES_H

#include "core/err.h"
#include "core/memory/arena.h"
#include "core/mrd.h"
#include "core/protocol.h"

/*
 * Averages expected of each line: the number in the header's limits, or, where these say nothing,
 * the protocol's.
 */
static inline uint32_t bs_averages_expected(const struct bs_protocol *p,
					    const struct bs_scan_info *info)
{
	if (!bs_plan_has(&p->plan, BS_PLAN_AVERAGE))
		return 1;
	return info->average.given && info->average.max < p->averages ? info->average.max + 1
								      : p->averages;
}

struct bs_averages;

/* The mean of a row's readouts: data [coil][samples] complex, valid until the next call. */
struct bs_mean {
	const float *data;
	uint32_t row, count; /* count: number of readouts that the mean is made of */
	/* one of the mean's readouts is flagged as calibration (MRD flags 20, 21) */
	bool calibrates;
};

/*
 * need adds nothing and *out is NULL where the protocol keeps averages apart. rows: the number of
 * rows that a readout may name.
 */
int bs_averages_need(const struct bs_protocol *p, uint32_t rows, struct bs_need *need);
int bs_averages_arm(struct bs_averages **out, const struct bs_protocol *p, uint32_t rows,
		    struct bs_arena *arena, struct bs_fail *why);
/* A scan begins. expected: averages of each line, at most the protocol's. */
void bs_averages_scan(struct bs_averages *a, uint32_t expected);
void bs_averages_begin(struct bs_averages *a, uint32_t frame);
/*
 * Keeps a readout. data: the first sample of the first coil. Returns 1: the row has all of its
 * averages, and *mean is made. 0: the readout is kept. BS_AVERAGES_AGAIN: it took the place of a
 * kept readout of the same number. BS_ERR_INDEX: there is no room for one more row.
 */
#define BS_AVERAGES_AGAIN 2
int bs_averages_put(struct bs_averages *a, uint32_t frame, uint32_t row,
		    const struct bs_mrd_acq *head, const float *data, size_t coil_stride,
		    struct bs_mean *mean, struct bs_fail *why);
/* Returns true if some rows lack some of their averages. */
bool bs_averages_wait(const struct bs_averages *a, uint32_t frame);
/*
 * Gives, after a frame's end, the mean of the next row, in the order of rows, that lacks some of
 * its averages.
 */
bool bs_averages_next(struct bs_averages *a, uint32_t frame, struct bs_mean *mean);

#endif
