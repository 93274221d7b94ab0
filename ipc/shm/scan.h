/*
 * ipc/shm/scan.h - the scans in flight, the ends of the last ones, and what all scans add up to
 *
 * Each field says who writes it; anybody reads.
 */
#ifndef BS_IPC_SHM_SCAN_H
#define BS_IPC_SHM_SCAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/err.h"
#include "core/frame/bands.h"
#include "core/frame/kind.h"
#include "core/frame/lines.h"
#include "core/study/noise.h"
#include "core/frame/recon.h"
#include "core/study/study.h"
#include "core/memory/stamp.h"
#include "core/mrd.h"
#include "core/thread/event.h"

struct bs_gap {
	uint64_t first, count; /* numbers that were given up */
};
#define BS_GAPS_MAX 16u /* remembered, to tell a late message from a duplicate */

/* What ingest counts of a scan. */
struct bs_scan_counts {
	uint64_t acquisitions, waveforms, gaps, duplicates, rejected, late;
	uint64_t kind_used[BS_KINDS], kind_unused[BS_KINDS]; /* of the acquisitions */
	uint64_t lost; /* number of the first message that never came or was refused; 0: none */
};

/*
 * A step: all that an ingest that replaces another needs to go on with the scan, and the entry for
 * recon's queue that belongs to it. There are two copies. One is valid; the next step is written
 * into the other, which becomes the valid one by one store (step_at); then its entry is pushed. An
 * ingest that finds fewer entries in the queue than the valid step says pushes the entry itself.
 */
struct bs_scan_step {
	uint64_t id;         /* of the scan in flight or of the last one */
	uint32_t state;      /* enum bs_state */
	uint32_t epoch;      /* of the recon that reconstructs it */
	uint64_t entries;    /* the queue's head once entry is pushed */
	uint64_t entry;      /* 0: none */
	uint64_t next;       /* the first sequence number that is neither held nor given up */
	uint64_t heard_from; /* since a new start its sender's least number; 0: no start */
	uint64_t acqs;       /* ACQ messages that came, used or not */
	int64_t ack_time_ns;
	uint32_t gaps;
	uint32_t deaths;        /* ingests in a row that died handling a message, with next at */
	uint64_t died_at;       /* this number */
	uint32_t recon_deaths;  /* recons in a row that died at the same entry, with recon_at at */
	uint64_t recon_died_at; /* this value */
	struct bs_gap gap[BS_GAPS_MAX];
	struct bs_scan_counts count;
	struct bs_fail fault; /* the first; code 0: none */
};

/*
 * What recon has handed on of a scan, in two copies as well: the image's entry is pushed after its
 * copy has become the valid one. A recon that finds fewer entries in emit's queue than that says
 * knows that the image was not handed on: the other copy is valid.
 */
struct bs_made_step {
	uint64_t scan;           /* its number */
	uint64_t entries;        /* of emit's queue, with the last image's */
	uint64_t image, preview; /* numbers of the last ones */
	uint64_t images, previews, partial, missing;
};

/* Readouts that recon could not use, for ingest to tell their sender: the newest are kept. */
#define BS_UNUSED_KEPT 8u
struct bs_unused_readout {
	uint64_t scan, seq;
	int32_t code;
	char text[BS_EVENT_TEXT];
};
struct bs_unused {
	_Atomic uint64_t count; /* since the start; number i is in place i % BS_UNUSED_KEPT */
	struct bs_unused_readout kept[BS_UNUSED_KEPT];
};

/* recon. Once: a scan's numbers come in order, also when it is fed again. False: it is known. */
static inline bool bs_unused_put(struct bs_unused *u, uint64_t scan, uint64_t seq,
				 const struct bs_fail *why)
{
	const uint64_t n = atomic_load(&u->count);
	struct bs_unused_readout *r = &u->kept[n % BS_UNUSED_KEPT];

	for (uint32_t i = 0; i < BS_UNUSED_KEPT && i < n; i++)
		if (u->kept[i].scan == scan && u->kept[i].seq >= seq)
			return false;
	bs_stamp_before(); /* ingest may be reading what is there */
	*r = (struct bs_unused_readout){ .scan = scan, .seq = seq, .code = why->code };
	(void)snprintf(r->text, sizeof(r->text), "%s", why->text);
	atomic_store(&u->count, n + 1);
	return true;
}

/* ingest: number i, below count. False: it has been written over. */
static inline bool bs_unused_get(const struct bs_unused *u, uint64_t i,
				 struct bs_unused_readout *out)
{
	*out = u->kept[i % BS_UNUSED_KEPT];
	out->text[sizeof(out->text) - 1] = '\0';
	bs_stamp_after();
	return atomic_load(&u->count) - i < BS_UNUSED_KEPT;
}

/*
 * A scan that a service before this one was killed in, of two at most: what its log says of it, and
 * how far this service is with it. The newest log's is in place 1; the one before it, where not all
 * of its images had been made, in place 0, and comes first. ingest's (board/ingest/reopen.c); emit
 * reads which images it may have filed.
 */
enum bs_reopen {
	BS_REOPEN_NOT_LOOKED,
	BS_REOPEN_ENDED, /* its log has an end; its sender may not know that */
	BS_REOPEN_FOUND, /* its log waits for recon */
	BS_REOPEN_OPENS, /* its OPEN is in hand */
	BS_REOPEN_READS, /* its messages are taken from the log */
	BS_REOPEN_WAITS, /* its sender is awaited, at most until until_ns */
	BS_REOPEN_OVER   /* it goes on as any scan, or has ended; or there was none */
};
struct bs_reopened {
	_Atomic uint32_t step; /* enum bs_reopen */
	_Atomic uint64_t scan; /* its number; 0: none was opened */
	char log[64];          /* name of the log's first file */
	uint32_t sealed;       /* 1: it has an end */
	uint32_t early;        /* 1: which it had before its images were made */
	uint64_t session, records;
	uint64_t number;    /* the scan's, in the service that logged it */
	int64_t started_ns; /* since 1970, UTC */
	int64_t until_ns;
	int64_t alone_ns; /* until then no other scan's OPEN ends the waiting for its sender */
};

/* Of a log that is sealed, or given up: what a recon that is given the scan again needs of it. */
struct bs_scan_log {
	_Atomic uint64_t scan; /* its number, once the rest is valid */
	uint32_t whole;        /* 1: it has all of the scan's messages */
	uint32_t mode;         /* as ACK has it */
	uint64_t unprotected;
	char name[64];
	char words[128]; /* for the outcome */
};

/*
 * A scan in flight or one of the last two. Its number grows with each accepted header; scan n is in
 * place n % 2, and takes that of no scan that has yet to end. While recon makes the last images of
 * one, the next one may be taken: two are open then, never three.
 */
struct bs_scan_record {
	/* ingest */
	struct bs_scan_step step[2];
	_Atomic uint32_t step_at; /* the valid one; what other processes read is copied below */
	_Atomic uint32_t in_hand; /* 1 while a message is handled: a death then counts in deaths */
	/* valid when id is not 0 */
	_Atomic uint64_t id;
	_Atomic uint32_t open;  /* 1 until its outcome was made */
	_Atomic uint32_t state; /* enum bs_state */
	uint64_t session;
	uint32_t protocol;
	int64_t opened_ns;
	struct bs_scan_info info;
	/* recon reads it when the first readout that is not noise comes; ingest writes before */
	struct bs_scan_noise noise;
	struct bs_scan_noise noise_before; /* readout number noise_number was added; 0: none was */
	_Atomic uint64_t noise_number;
	struct bs_scan_study study; /* recon reads it when the scan opens and after its close */
	struct bs_scan_log log;
	_Atomic uint64_t next_seq; /* the first sequence number that is not yet held */
	_Atomic uint64_t acquisitions, waveforms, gaps, duplicates, rejected, late;
	_Atomic uint64_t kind_used[BS_KINDS], kind_unused[BS_KINDS]; /* of the acquisitions */
	/* recon */
	struct bs_made_step made[2];
	_Atomic uint32_t made_at; /* the valid one; the counts are copied below */
	_Atomic uint64_t
		recon_at; /* twice the entries taken since OPEN, + 1 while one is handled */
	_Atomic uint64_t images_made, images_partial, readouts_missing, unused;
	_Atomic uint64_t previews_made, previews_skipped; /* not among the images */
	char words[BS_BANDS_WORDS];   /* of its images, once they have left; "": nothing */
	char lacks[BS_LACKS_WORDS];   /* what the first partial image lacks; with images_partial */
	char remark[BS_REMARK_WORDS]; /* of the first image that has any */
	int32_t recon_code;
	char recon_text[BS_EVENT_TEXT];
	_Atomic uint64_t lacking; /* the number of the scan that lacks what its protocol needs */
	_Atomic uint64_t lost;    /* ingest: step.count.lost */
	/* emit */
	/* left: given to some taker, or to its queue; undelivered: times that one did not get it */
	_Atomic uint64_t images_left, images_unsent, images_late, undelivered;
	int32_t emit_code;
	char emit_text[BS_EVENT_TEXT];
	_Atomic uint64_t
		over_budget;    /* the number of the scan that a late image ends (on_miss stop) */
	_Atomic uint64_t ended; /* the number of the last scan whose END has passed emit */
};

/* The newest scan's. What its state says is also the service's. */
static inline const struct bs_scan_record *bs_scan_newest(const struct bs_scan_record scan[2])
{
	return &scan[atomic_load(&scan[1].id) > atomic_load(&scan[0].id)];
}
/* The one before it, while its last images are being made; NULL: they are not. */
static inline const struct bs_scan_record *bs_scan_before(const struct bs_scan_record scan[2])
{
	const struct bs_scan_record *s = &scan[bs_scan_newest(scan) == scan];

	return atomic_load(&s->open) != 0 ? s : NULL;
}

static inline struct bs_kinds bs_scan_kinds(const struct bs_scan_record *s)
{
	struct bs_kinds k;

	for (int i = 0; i < BS_KINDS; i++) {
		k.used[i] = atomic_load(&s->kind_used[i]);
		k.unused[i] = atomic_load(&s->kind_unused[i]);
	}
	return k;
}

/* An outcome, that of scan n in place n % 2: a successor of ingest can repeat it. */
#define BS_SCAN_END_BYTES 568u /* ipc/wire/wire.h: BS_WIRE_OUTCOME_BYTES */
struct bs_scan_end {
	_Atomic uint32_t known;
	uint64_t session;
	unsigned char outcome[BS_SCAN_END_BYTES];
};

/*
 * The last scans that have ended, for people to read: number i, from 0, is in place
 * i % BS_SCANS_PAST and complete once bs_shared.past_scans is above i. Of an ingest that was killed
 * between an end and its step the successor writes the same scan's again, in the same place.
 */
#define BS_SCANS_PAST 32u
struct bs_scan_past {
	uint64_t number, session;
	int64_t ended_ns, took_ns; /* since 1970, UTC; from its OPEN */
	uint64_t acquisitions, images, gaps, duplicates, rejected, late, undelivered;
	int32_t code;
	char protocol[64], text[384]; /* its outcome's, which names no patient */
};

/* The clock of this host that a sender stamps its messages with (board/ingest/clock.c). */
enum bs_clock { BS_CLOCK_UNKNOWN, BS_CLOCK_MONOTONIC, BS_CLOCK_REALTIME, BS_CLOCK_OTHER };

/* Who is connected at the k-space endpoint; ingest's. */
struct bs_kspace_record {
	_Atomic uint32_t peers, waiting; /* now; of these, with a header that waits */
	_Atomic uint32_t here;           /* the sender of the scan, or of the last, is connected */
	_Atomic uint32_t clock;          /* enum bs_clock, of that scan */
	_Atomic int64_t since_ns;        /* it was opened */
	_Atomic int64_t heard_ns;        /* its last message was taken */
	_Atomic int64_t line_ns;         /* the first header that waits came; 0: none waits */
	_Atomic uint64_t connected, let_go, nonsense; /* ipc/gate.h, of this ingest */
	char sender[64];                              /* of the scan, as bs_gate_name says it */
	char before[64];                              /* of the one before, while that is open */
	_Atomic uint32_t before_here;                 /* it is connected, */
	_Atomic uint32_t before_same;                 /* and sends the newest one, too */
	_Atomic int64_t closed_ns;                    /* its last readout or close was taken */
};

/* Since the service started; each is written by one worker. */
struct bs_totals {
	_Atomic uint64_t scans, refused, messages, bytes, rejected, gaps, duplicates, late,
		failed;                                          /* ingest */
	_Atomic uint64_t images, engine_faults;                  /* recon */
	_Atomic uint64_t published, sink_faults, repeated, lost; /* emit, */
	_Atomic uint64_t unsent;                                 /* as scans' images_unsent */
};

#endif
