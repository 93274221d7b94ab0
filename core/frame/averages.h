/*
 * core/frame/averages.h - lines that a scan measures several times, and their mean
 *
 * Of a protocol with `averages` above 1, readouts of one row of a frame that differ in idx.average
 * alone. They are kept, coil by coil as engines see them, until the last of the row is there or the
 * frame ends; then their sum is made in the order of the averages' numbers and divided by how many
 * came. The mean does not depend on the order of arrival, to the bit, nor does it when some never
 * came. Memory, of each frame that may be open: averages - 1 times its readouts, and one.
 * need -> arm -> { scan -> { begin -> put* -> next* }* }*, in the arena that arm is given; nothing
 * else allocates.
 * One thread. Test: test/unit/core/frame/test_averages.c, test/replay/scan/averages.sh
 */
#ifndef BS_CORE_FRAME_AVERAGES_H
#define BS_CORE_FRAME_AVERAGES_H

#include "core/err.h"
#include "core/memory/arena.h"
#include "core/mrd.h"
#include "core/protocol.h"

/* Of each line: as many as the header's limits say, or, where they say nothing, the protocol's. */
static inline uint32_t bs_averages_expected(const struct bs_protocol *p,
					    const struct bs_scan_info *info)
{
	if (p->averages <= 1)
		return 1;
	return info->average.given && info->average.max < p->averages ? info->average.max + 1
								      : p->averages;
}

struct bs_averages;

/* A row's mean: data [coil][samples] complex, until the next call. */
struct bs_mean {
	const float *data;
	uint32_t row, count; /* count: that it is the mean of */
	bool calibrates;     /* one of its readouts did (MRD flags 20, 21) */
};

/* Nothing, *out NULL, where the protocol keeps averages apart. rows: that a readout may name. */
int bs_averages_need(const struct bs_protocol *p, uint32_t rows, struct bs_need *need);
int bs_averages_arm(struct bs_averages **out, const struct bs_protocol *p, uint32_t rows,
		    struct bs_arena *arena, struct bs_fail *why);
/* Averages of each line from now on, at most the protocol's. */
void bs_averages_scan(struct bs_averages *a, uint32_t expected);
void bs_averages_begin(struct bs_averages *a, uint32_t frame);
/*
 * data: of the first coil's first sample. 1: the row has all of its averages, *mean is made. 0: it
 * is kept. BS_ERR_INDEX: this average of the row has come, or there is no room for one more row.
 */
int bs_averages_put(struct bs_averages *a, uint32_t frame, uint32_t row,
		    const struct bs_mrd_acq *head, const float *data, size_t coil_stride,
		    struct bs_mean *mean, struct bs_fail *why);
/* Some rows lack some of their averages. */
bool bs_averages_wait(const struct bs_averages *a, uint32_t frame);
/* The frame is over: the next row, in the order of rows, that lacks some of its averages. */
bool bs_averages_next(struct bs_averages *a, uint32_t frame, struct bs_mean *mean);

#endif
