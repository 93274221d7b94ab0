/*
 * core/frame/intake.h - how a readout is taken into its scan: the checks before it is believed, its
 * place, and what the scan learns of it
 *
 * bs_admit_acq -> put -> fits -> bs_armed_readout, of each readout: in the service, of a recording,
 * while a protocol is timed. The first two as readouts come, fits in the stream's order. Of a
 * readout that bs_intake_sums its Gram matrix lies in its place; the caller adds it
 * (bs_scan_noise_add) before fits. No state; any thread that may touch what struct bs_intake names.
 * Test: test/unit/core/test_recon.c, test/unit/core/frame/test_intake.c, test/replay/scan/noise.sh
 */
#ifndef BS_CORE_FRAME_INTAKE_H
#define BS_CORE_FRAME_INTAKE_H

#include "core/engine.h"
#include "core/frame/kind.h"
#include "core/mrd.h"
#include "core/study/study.h"

/* What a scan's readouts are taken in with. */
struct bs_intake {
	const struct bs_protocol *p;
	const struct bs_traj *table; /* NULL: it has none */
	const struct bs_scan_info *info;
	struct bs_scan_noise *noise;
	struct bs_scan_study *scan;
	const struct bs_study *study; /* NULL: none is kept */
	bool sums_noise;              /* whatever the protocol uses: a later scan may need it */
	size_t room; /* bytes of a readout's place: what the protocol needs, or more */
};

/* A readout of noise that is summed. */
bool bs_intake_sums(const struct bs_intake *in, const struct bs_mrd_acq *head);
/*
 * An admitted readout to its place, 8-byte aligned: samples in the order of k and the line's path
 * behind them, head accordingly; or the Gram matrix; of what the protocol does not use nothing.
 */
void bs_intake_put(const struct bs_intake *in, struct bs_mrd_acq *head, uint32_t row,
		   const void *traj, const void *data, void *place);
/*
 * A readout against what the scan takes from earlier ones: noise, maps, a field. An error ends the
 * scan.
 */
int bs_intake_fits(const struct bs_intake *in, const struct bs_mrd_acq *head, struct bs_fail *why);

/*
 * One acquisition against the protocol, its table and the scan's header: sizes, counters,
 * trajectory, values; and which of the frame's readouts it is (*row).
 * traj [samples][trajectory_dimensions] in the protocol's unit, data [channels][samples] complex;
 * both may be unaligned. The row comes from the counters (on the grid: the line ky + encoded_y *
 * kz, counted from the center of k-space, center.h), or, where a table's counters are not unique,
 * from the trajectory itself. What is of a kind that the protocol does not use (kind.h) passes
 * whatever it holds, with *row = BS_ROW_NONE. Calibration that it uses has its row as lines have;
 * what else it uses has BS_ROW_NONE and may be shorter than a line. Its flags are sorted out first
 * (bs_kind_sort); of another encoding than the first it is marked where the protocol has no use of
 * it (encoding.h): of that kind it is from here on.
 * table: not read for method cartesian and trajectory.type stream. Checks every value it is given
 * once; O(values), no state.
 */
int bs_admit_acq(const struct bs_protocol *p, const struct bs_traj *table,
		 const struct bs_scan_info *info, struct bs_mrd_acq *head, const void *traj,
		 const void *data, uint32_t *row, struct bs_fail *why);

/*
 * Where a field map corrects (field.map_file): the dwell time that an admitted line of the image
 * says, if it says one, is field.dwell_us to 0.1 %. Else BS_ERR_TRAJECTORY, which ends the scan:
 * all its readouts are sampled alike.
 */
int bs_admit_dwell(const struct bs_protocol *p, const struct bs_mrd_acq *head, struct bs_fail *why);

/*
 * An admitted readout that was sampled from +k to -k (MRD flag 22) is put into the order of k: its
 * samples in place, and head's center_sample and discarded samples accordingly. Between admission
 * and bs_recon_readout, once. Nothing is done where a trajectory says, in the order of sampling,
 * where each sample lies: the readout's own, or that of a file.
 */
void bs_admit_turn(const struct bs_protocol *p, struct bs_mrd_acq *head, float *data);

/*
 * trajectory.type stream: the admitted line's path [sample][dims], as core/engine.h has it, and
 * head's repetition as said above. traj: as bs_admit_acq had it, what is discarded included.
 * Between admission and bs_recon_readout, once.
 */
void bs_admit_path(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_mrd_acq *head, const void *traj, float *path);

/* Of a readout with its own path: where it lies, behind the samples as they came. */
static inline size_t bs_path_at(const struct bs_mrd_acq *head) /* floats */
{
	return 2 * (size_t)head->number_of_samples * head->active_channels;
}
static inline size_t bs_path_bytes(const struct bs_protocol *p, uint32_t row)
{
	return row != BS_ROW_NONE ? bs_protocol_path(p) * sizeof(float) : 0;
}

#endif
