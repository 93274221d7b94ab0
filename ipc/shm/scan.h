/*
 * ipc/shm/scan.h - the scan in flight, the end of the last one, and what all scans add up to
 *
 * Each field says who writes it; anybody reads.
 */
#ifndef BS_IPC_SHM_SCAN_H
#define BS_IPC_SHM_SCAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/frame/kind.h"
#include "core/frame/lines.h"
#include "core/frame/noise.h"
#include "core/frame/study.h"
#include "core/mrd.h"
#include "core/thread/event.h"

/* The scan in flight or the last one. Its number grows by one for each accepted header. */
struct bs_scan_record {
	/* ingest; believed when id is not 0 */
	_Atomic uint64_t id;
	_Atomic uint32_t open;  /* 1 until its outcome was made */
	_Atomic uint32_t state; /* enum bs_state */
	uint64_t session;
	uint32_t protocol;
	uint32_t recon_epoch; /* of the recon that was to reconstruct it */
	struct bs_scan_info info;
	/* recon reads it when the first readout that is not noise comes; ingest writes before */
	struct bs_scan_noise noise;
	struct bs_scan_study study; /* recon reads it when the scan opens and after its close */
	_Atomic uint64_t next_seq;  /* the first sequence number that is not yet held */
	_Atomic uint64_t acquisitions, waveforms, gaps, duplicates, rejected, late;
	_Atomic uint64_t kind_used[BS_KINDS], kind_unused[BS_KINDS]; /* of the acquisitions */
	/* recon */
	_Atomic uint64_t images_made, images_partial, readouts_missing, unused;
	_Atomic uint64_t previews_made, previews_skipped; /* not among the images */
	char lacks[BS_LACKS_WORDS]; /* what the first partial image lacks; with images_partial */
	int32_t recon_code;
	char recon_text[BS_EVENT_TEXT];
	_Atomic uint64_t lacking; /* the number of the scan that lacks what its protocol needs */
	/* emit */
	/* left: given to some taker, or to its queue; undelivered: times that one did not get it */
	_Atomic uint64_t images_left, images_unsent, images_late, undelivered;
	int32_t emit_code;
	char emit_text[BS_EVENT_TEXT];
	_Atomic uint64_t
		over_budget;    /* the number of the scan that a late image ends (on_miss stop) */
	_Atomic uint64_t ended; /* the number of the last scan whose END has passed emit */
};

static inline struct bs_kinds bs_scan_kinds(const struct bs_scan_record *s)
{
	struct bs_kinds k;

	for (int i = 0; i < BS_KINDS; i++) {
		k.used[i] = atomic_load(&s->kind_used[i]);
		k.unused[i] = atomic_load(&s->kind_unused[i]);
	}
	return k;
}

/* The last outcome: ingest's, kept here so that its successor can say it again to who asks. */
#define BS_SCAN_END_BYTES 568u /* ipc/wire/wire.h: BS_WIRE_OUTCOME_BYTES */
struct bs_scan_end {
	_Atomic uint32_t known;
	uint64_t session;
	unsigned char outcome[BS_SCAN_END_BYTES];
};

/* Since the service started; each is written by one worker. */
struct bs_totals {
	_Atomic uint64_t scans, refused, messages, bytes, rejected, gaps, duplicates,
		late;                                            /* ingest */
	_Atomic uint64_t images, engine_faults;                  /* recon */
	_Atomic uint64_t published, sink_faults, repeated, lost; /* emit */
};

#endif
