/*
 * board/tool/offline/pipeline.h - a recording through an armed protocol, in this process
 *
 * open -> { arm -> run }* -> close, of a zeroed struct. open reads the recording's header, which
 * forks (drivers/tool/load/probe.h): call it with one thread. arm takes the place of what was armed
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
#include "board/tool/offline/answered.h"
#include "core/frame/recon.h"
#include "drivers/tool/load/recording.h"

/* Noise and maps that earlier recordings have left. */
struct bs_past {
	struct bs_noise_kept noise;
	/* data that scans leave to later ones; NULL: no protocol takes any */
	struct bs_study *study;
};

struct bs_pipeline {
	struct bs_recording *in;
	struct bs_scan_info info; /* the recording's header */
	struct bs_noise earlier;  /* noise of an earlier scan; without samples: none */
	struct bs_scan_noise noise;
	struct bs_past *past; /* what earlier recordings left; NULL: nothing */
	bool borrowed;        /* past belongs to another pipeline */
	struct bs_scan_study scan_study;
	/* changes the samples of an image's readout, [channel][sample] complex; NULL: nothing */
	void (*change)(void *arg, const struct bs_mrd_acq *head, uint32_t row, float *samples);
	void *change_arg;
	const char *answers_out; /* file that run writes the answers to; NULL: none */
	struct bs_answered answered;
	struct bs_solved *solved; /* how far solves went before; NULL: not known */
	struct bs_team *team;
	const struct bs_site *site; /* site from which it was armed */
	struct bs_armed armed;
	struct bs_recon_image image; /* room for an image of the armed protocol */
	void *readout;               /* buffer of one readout */
	size_t room;                 /* bytes of the readout's buffer */
	/* time at which the last readout was read; a recording has no earlier time */
	int64_t taken_ns;
};

int bs_pipeline_open(struct bs_pipeline *l, const char *recording, struct bs_fail *why);
/* Takes another recording's noise, for a recording that has none; call before arm. */
int bs_pipeline_noise(struct bs_pipeline *l, const char *recording, struct bs_fail *why);
/*
 * Reads how far the service's solves went, where the recording is a log of this protocol's scan:
 * run makes the same images.
 */
int bs_pipeline_again(struct bs_pipeline *l, const char *recording, const struct bs_protocol *p,
		      struct bs_fail *why);
/* Runs an earlier recording. protocol: its name; "" or NULL: as bs_config_choose finds it. */
int bs_pipeline_before(struct bs_pipeline *l, const struct bs_site *site, const char *protocol,
		       const char *recording, struct bs_fail *why);
/* Arms a protocol. w: instead of the protocol's own W, or NULL. threads: those
 * of the first call. */
int bs_pipeline_arm(struct bs_pipeline *l, const struct bs_site *site, const struct bs_protocol *p,
		    const struct bs_csr *w, uint32_t threads, struct bs_fail *why);
/* Runs all readouts. take returns 0, or a negative value to end. lenient: skips readouts that the
 * service would refuse. */
int bs_pipeline_run(struct bs_pipeline *l, int (*take)(void *arg, struct bs_fail *why), void *arg,
		    bool lenient, struct bs_fail *why);
/* Writes the field map that the scan has measured, as field.map_file has it: slices along
 * dimension 13. */
int bs_pipeline_field(struct bs_pipeline *l, const struct bs_protocol *p, const char *path,
		      struct bs_fail *why);
void bs_pipeline_close(struct bs_pipeline *l);

#endif
