/*
 * board/tool/selftest/selftest.h - does an armed protocol give the image that it must
 *
 * One frame of known readouts goes through the protocol's own reconstruction (bs_armed_*).
 *   without a solver  readouts of noise: the image at 64 voxels against the sum over all samples,
 *                     their weights made anew, their path too where a formula makes it
 *   with cg           the first step, which is such a sum times a number (no preconditioner)
 *   with a solver     readouts of three Gaussians, in closed form, seen through the maps: 64
 *                     of them against the sum over all voxels of the image, which is to fit them.
 *                     Regularization and the end of the iterations change the size: the error is
 *                     the sine of the angle
 *   with a scan's own a scan of small Gaussians with what it brings (known.h), held as the first
 * Sums are in double precision and know nothing of the operators. error: relative; over tolerance
 * the protocol is not to be used. tolerance: ten times the accuracy that gridding has, and 1e-4 for
 * single precision; or 0.3 of the angle, up to 0.75 where lambda is large; or 0.05 of what a scan
 * brings. What is not tested is said in words.
 * Large protocols are held at fewer voxels, 8 at least.
 * Before the first scan, from the thread that owns the reconstruction; allocates and frees.
 * Test: test/unit/board/tool/test_selftest.c
 */
#ifndef BS_BOARD_TOOL_SELFTEST_SELFTEST_H
#define BS_BOARD_TOOL_SELFTEST_SELFTEST_H

#include "board/arm/armed.h"
#include "ipc/shm/reload.h"

/*
 * Writes what of a protocol is not tested: "not tested: compress, resize"; "": nothing. True: none
 * of it is. p->readouts 0: not known yet, they are as many as are wanted. For boreside check, too.
 */
bool bs_selftest_untested(char *to, size_t size, const struct bs_protocol *p);
/* 0: passed, or not tested. BS_ERR_VALUE: it is off; BS_ERR_NOMEM; the engine's errors. */
int bs_selftest(struct bs_selftest *out, const struct bs_armed *a, struct bs_team *team,
		struct bs_fail *why);

#endif
