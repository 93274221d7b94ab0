/*
 * gpu/solve/paths.h - frames whose readouts bring their own path: the adjoint, and F^H D F
 *
 * forward and adjoint as in gpu/nufft/nufft.h, along the path of the frame itself: what each of its
 * readouts brought, k [sample][dims] in cycles per voxel, [-0.5, 0.5). D: the samples' weights, the
 * protocol's density compensation (gpu/nufft/density.h) of this path, computed in finish; a readout
 * that did not come has weight 0 and is in no sum. A sliding window has the path of all its groups.
 *
 * trajectory.estimate_delay: settle finds the delays that the spokes of a state's first frame since
 * scan tell (core/traj/delay.h; at most 128 of them, and 16 coils), and from then on finish moves
 * what was brought. The readouts of that one frame decide, whatever else is open. Some tenths of a
 * second, once. Before it, for previews, paths are as they were brought.
 *
 * need -> plan -> { scan, { begin, { path, add }*, settle, finish, normal* }* }* -> close. Paths
 * and samples of each state are kept and everything is computed in finish: weights and the places
 * of the samples are known only then. The result depends on the readouts alone, not on the order in
 * which they came or on the team, to the bit. Only plan and close allocate. One caller. Host only.
 * Errors of finish: BS_ERR_TRAJECTORY (a whole frame does not reach trajectory.min_extent on an
 * axis), those of density.h.
 * Tests: test/unit/gpu/engine/test_engine_paths.c, test/replay/scan/paths.sh,
 * test/fault/fault_paths.c
 */
#ifndef BS_GPU_SOLVE_PATHS_H
#define BS_GPU_SOLVE_PATHS_H

#include "core/engine.h"
#include "gpu/nufft/nufft.h"

struct bs_paths;

/*
 * nufft: the protocol's; its chunk, states and peek are ignored. coils: coils transformed at a
 * time, in normal too ("together"): all of the protocol's, or 1.
 */
int bs_paths_need(const struct bs_protocol *p, const struct bs_nufft_spec *nufft,
		  struct bs_need *need, struct bs_fail *why);
int bs_paths_plan(struct bs_paths **plan, const struct bs_protocol *p,
		  const struct bs_nufft_spec *nufft, struct bs_arena *arena, struct bs_team *team,
		  struct bs_fail *why);
void bs_paths_close(struct bs_paths *plan); /* frees a plan, which may be NULL */

/*
 * Begins a frame, or a group of a sliding window: with frame.step the readouts of one group follow.
 */
void bs_paths_begin(struct bs_paths *plan, uint32_t state);
/*
 * path: gives a readout's path. add: then its samples [coil][sample], coil_stride samples between
 * coils.
 */
void bs_paths_path(struct bs_paths *plan, uint32_t state, uint32_t readout, const float *k);
void bs_paths_add(struct bs_paths *plan, uint32_t state, uint32_t readout, const float *data,
		  size_t coil_stride);
/* Begins another scan: forgets the delays. */
void bs_paths_scan(struct bs_paths *plan);
/*
 * Called before finish, but not for previews; see the top of this file. Writes the delays to
 * report. BS_ERR_TRAJECTORY: the readouts are no spokes. BS_ERR_VALUE: they tell of no delays.
 * Every other frame of the scan then ends with the same error.
 */
int bs_paths_settle(struct bs_paths *plan, uint32_t state, const uint8_t *held,
		    struct bs_report *report);
/*
 * image = F^H D d, [coil][z][y][x], of the readouts that came. held [group]: only of the window's
 * groups that are set; NULL: of all. The state stays as it is.
 */
int bs_paths_finish(struct bs_paths *plan, uint32_t state, const uint8_t *held, float *image,
		    struct bs_fail *why);

/* The sum of the weights on the path of the last finish, which is the diagonal of F^H D F. */
double bs_paths_sum(const struct bs_paths *plan);
/*
 * Computes, for methods that solve, out = sum_c conj(S_c) F^H D F S_c in, one image, in the order
 * of coils. maps: [together][voxel] complex; NULL: together is 1 and S is 1.
 */
void bs_paths_normal(struct bs_paths *plan, const float *maps, const float *in, float *out);

#endif
