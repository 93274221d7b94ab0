/*
 * board/tool/offline/pipeline.h - a recording through an armed protocol, in this process
 *
 * open -> { arm -> run }* -> close, of a zeroed struct. open reads the recording's header, which
 * forks (drivers/file/probe.h): call it with one thread. arm takes the place of what was armed
 * before.
 * before: a recording of an earlier scan, through its own protocol and without its images, for what
 * it leaves to this one (noise, maps): as the service would have kept it. Recordings whose header
 * has no study are all of one. Between open and arm, in the order of the scans.
 * run: all readouts, each through the service's checks; take is called after each, and at the end,
 * to pop the images that are ready. close may follow anything. One thread.
 * Test: test/replay/recordings.sh, test/replay/certify.sh
 */
#ifndef BS_BOARD_TOOL_OFFLINE_PIPELINE_H
#define BS_BOARD_TOOL_OFFLINE_PIPELINE_H

#include "board/arm/armed.h"
#include "core/frame/recon.h"
#include "drivers/source/recording.h"

/* What earlier recordings have left. */
struct bs_past {
	struct bs_noise_kept noise;
	struct bs_study *study; /* NULL: no protocol takes any */
};

struct bs_pipeline {
	struct bs_recording *in;
	struct bs_scan_info info; /* its header */
	struct bs_noise earlier;  /* of an earlier scan; no samples: none */
	struct bs_scan_noise noise;
	struct bs_past *past; /* NULL: none */
	bool borrowed;        /* it is another pipeline's */
	struct bs_scan_study scan_study;
	struct bs_team *team;
	const struct bs_site *site; /* that it was armed from */
	struct bs_armed armed;
	struct bs_recon_image image; /* has room for one of what is armed */
	void *readout;               /* one at a time */
	size_t room;                 /* for it, bytes */
	int64_t taken_ns; /* the last readout was read; there is no earlier time in a recording */
};

int bs_pipeline_open(struct bs_pipeline *l, const char *recording, struct bs_fail *why);
/* Another recording's noise, for one that has none of its own; before arm. */
int bs_pipeline_noise(struct bs_pipeline *l, const char *recording, struct bs_fail *why);
/* protocol: its own name, or as bs_config_choose finds it ("" or NULL). */
int bs_pipeline_before(struct bs_pipeline *l, const struct bs_site *site, const char *protocol,
		       const char *recording, struct bs_fail *why);
/* w: in place of the protocol's own W, or NULL. threads: of the first call. */
int bs_pipeline_arm(struct bs_pipeline *l, const struct bs_site *site, const struct bs_protocol *p,
		    const struct bs_csr *w, uint32_t threads, struct bs_fail *why);
/* take: 0, or negative to end. lenient: a readout that the service would refuse is left out. */
int bs_pipeline_run(struct bs_pipeline *l, int (*take)(void *arg, struct bs_fail *why), void *arg,
		    bool lenient, struct bs_fail *why);
void bs_pipeline_close(struct bs_pipeline *l);

#endif
