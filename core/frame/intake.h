/*
 * core/frame/intake.h - how a readout is taken into its scan: the checks before it is believed, its
 * place, and what the scan learns from it
 *
 * Each readout passes bs_admit_acq -> put -> fits -> bs_armed_readout: in the service, from a
 * recording, and while a protocol is timed. The first two run as readouts come, fits in the
 * stream's order. For a readout that bs_intake_sums, its place holds its Gram matrix, which the
 * caller adds (bs_scan_noise_add) before fits. No state; any thread that may touch what struct
 * bs_intake points to.
 * Test: test/unit/core/test_recon.c, test/unit/core/frame/test_intake.c, test/replay/scan/noise.sh
 */
#ifndef BS_CORE_FRAME_INTAKE_H
#define BS_CORE_FRAME_INTAKE_H

#include "core/engine.h"
#include "core/frame/kind.h"
#include "core/mrd.h"
#include "core/study/study.h"

/* Facts of the scan that readouts are taken into. */
struct bs_intake {
	const struct bs_protocol *p; /* NULL: readouts are recorded, whatever they are */
	const struct bs_traj *table; /* table of the trajectory; NULL: the protocol has no table */
	const struct bs_scan_info *info;
	struct bs_scan_noise *noise;
	struct bs_scan_study *scan;
	const struct bs_study *study; /* study of earlier scans; NULL: none are kept */
	bool sums_noise; /* sums noise whatever the protocol uses: a later scan may need it */
	size_t room;     /* bytes of a readout's place: at least what the protocol needs */
};

/* Returns true if the readout is noise, and is summed. */
bool bs_intake_sums(const struct bs_intake *in, const struct bs_mrd_acq *head);
/*
 * Writes an admitted readout into its place, 8-byte aligned: the samples in the order of k with the
 * line's path behind them, and head accordingly; or the Gram matrix; or nothing where the protocol
 * does not use the readout.
 */
void bs_intake_put(const struct bs_intake *in, struct bs_mrd_acq *head, uint32_t row,
		   const void *traj, const void *data, void *place);
/*
 * Checks a readout against what the scan takes from earlier ones: noise, maps, a field map. An
 * error ends the scan.
 */
int bs_intake_fits(const struct bs_intake *in, const struct bs_mrd_acq *head, struct bs_fail *why);

/*
 * Checks one acquisition against the protocol, its table and the scan's header: sizes, counters,
 * trajectory, values. *row: which of the frame's readouts it is.
 * traj [samples][trajectory_dimensions] in the protocol's unit, data [channels][samples] complex;
 * both may be unaligned. The row comes from the counters (on the grid: the line ky + encoded_y *
 * kz, counted from the center of k-space, center.h), or, where a table's counters are not unique,
 * from the trajectory itself. A readout of a kind that the protocol does not use (kind.h) passes
 * whatever it holds, with *row = BS_ROW_NONE. Calibration that the protocol uses has a row as lines
 * have; other kinds that it uses have BS_ROW_NONE and may be shorter than a line. Flags are sorted
 * out first (bs_kind_sort). A readout of another encoding that the protocol has no use for is
 * marked (encoding.h) and is of an unused kind from here on.
 * The intake's protocol, table and header are read: the table not for method cartesian and
 * trajectory.type stream. Checks every value it is given once; O(values), no state.
 */
int bs_admit_acq(const struct bs_intake *in, struct bs_mrd_acq *head, const void *traj,
		 const void *data, uint32_t *row, struct bs_fail *why);

/*
 * Checks, where a field map corrects (field.map_file), that the dwell time of an admitted image
 * line, if the line has one, is field.dwell_us to 0.1 %. Else BS_ERR_TRAJECTORY, which ends the
 * scan: all its readouts are sampled alike.
 */
int bs_admit_dwell(const struct bs_protocol *p, const struct bs_mrd_acq *head, struct bs_fail *why);

/*
 * Copies an admitted readout's samples to a place with room for the protocol's samples and for
 * discarded ones. A short line (bs_readout_short) becomes a whole one: zeros around it, flag
 * BS_MRD_FILLED. Call before bs_admit_reverse.
 */
void bs_admit_copy(const struct bs_protocol *p, struct bs_mrd_acq *head, uint32_t row, float *to,
		   const void *from);

/*
 * Puts an admitted readout that was sampled from +k to -k (MRD flag 22) into the order of k: its
 * samples in place, and head's center_sample and discarded samples accordingly. Call once, between
 * admission and bs_recon_readout. Nothing is done where a trajectory, the readout's own or that of
 * a file, gives the place of each sample in the order of sampling.
 */
void bs_admit_reverse(const struct bs_protocol *p, struct bs_mrd_acq *head, float *data);

/*
 * trajectory.type stream: makes the admitted line's path [sample][dims], as core/engine.h has it,
 * and head's repetition (core/frame/recon.h). traj: as given to bs_admit_acq, discarded samples
 * included. Call once, between admission and bs_recon_readout.
 */
void bs_admit_path(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_mrd_acq *head, const void *traj, float *path);

/* Returns the place of a readout's path, in floats: it is behind the samples as they came. */
static inline size_t bs_path_at(const struct bs_mrd_acq *head) /* floats */
{
	return 2 * (size_t)head->number_of_samples * head->active_channels;
}
static inline size_t bs_path_bytes(const struct bs_protocol *p, uint32_t row)
{
	return row != BS_ROW_NONE ? bs_protocol_path(p) * sizeof(float) : 0;
}

#endif
