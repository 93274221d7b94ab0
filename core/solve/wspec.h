/*
 * core/solve/wspec.h - where the constraint W of a protocol comes from (keys ls.w_*), and l2
 */
#ifndef BS_CORE_SOLVE_WSPEC_H
#define BS_CORE_SOLVE_WSPEC_H

#include <stdint.h>

/* file: w_file, or the identity without. study: an earlier scan's image (core/study/study.h). */
enum bs_w_from { BS_W_FILE, BS_W_STUDY };
/* Treatment of a scan for which there is no W: it is refused, or solved with l2 alone. */
enum bs_w_lacking { BS_W_LACKING_REFUSE, BS_W_LACKING_WITHOUT };

struct bs_w_spec {
	enum bs_w_from from;
	enum bs_w_lacking lacking;
	char protocol[64];  /* study: the protocol whose images make W */
	uint32_t neighbors; /* study: as core/solve/prior.h has it, as edge and outside */
	double edge, outside;
	double mask, margin; /* study: share and margin of core/study/anatomy.h */
	double off;          /* study: longest offset in voxels; 0: any, and it is not measured */
	double l2;           /* weight of the identity beside W */
};

#endif
