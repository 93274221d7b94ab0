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

#include "core/answer/answer.h"
#include "core/err.h"
#include "core/multiband/bands.h"
#include "core/frame/kind.h"
#include "core/frame/lines.h"
#include "core/frame/step.h"
#include "core/study/noise.h"
#include "core/frame/recon.h"
#include "core/study/study.h"
#include "core/memory/stamp.h"
#include "core/mrd.h"
#include "core/thread/event.h"

struct bs_gap {
	uint64_t first, count; /* first message number that was given up, and how many were */
};
#define BS_GAPS_MAX 16u /* gaps kept of a scan, to tell a late message from a duplicate */

/* Ingest's counts of a scan. */
struct bs_scan_counts {
	uint64_t acquisitions, waveforms, gaps, duplicates, rejected, late;
	/* acquisitions of each kind, used and unused */
	uint64_t kind_used[BS_KINDS], kind_unused[BS_KINDS];
	uint64_t lost; /* number of the first message that never came or was refused; 0: none */
};

/* What has come of a scan, and what went wrong. A new ingest goes on with it. */
struct bs_scan_so_far {
	uint64_t acqs; /* ACQ messages that came, used or not */
	int64_t ack_time_ns;
	uint32_t deaths;  /* ingests in a row that died handling a message while next was died_at */
	uint64_t died_at; /* value of next at the deaths that are counted */
	uint32_t recon_deaths;  /* recons in a row that died while recon_at was recon_died_at */
	uint64_t recon_died_at; /* value of recon_at at the deaths that are counted */
	struct bs_scan_counts count;
	struct bs_fail fault; /* first fault of the scan; code 0: none */
};

/*
 * A step of a scan: all that an ingest which replaces another needs to go on with the scan, and the
 * entry for recon's queue that belongs to the step. There are two copies. One is valid; the next
 * step is written into the other, which becomes the valid one by one store (step_at); then its
 * entry is pushed. An ingest that finds fewer entries in the queue than the valid step says pushes
 * the entry itself.
 */
struct bs_scan_step {
	uint64_t id;      /* number of the scan in flight or of the last one */
	uint32_t state;   /* state of the scan, enum bs_state */
	uint32_t epoch;   /* epoch of the recon that reconstructs the scan */
	uint64_t entries; /* head of recon's queue once entry is pushed */
	uint64_t entry;   /* entry that recon's queue is to get; 0: none */
	uint64_t next;    /* the first sequence number that is neither held nor given up */
	/* least number that the sender has sent since a new start; 0: there was no new start */
	uint64_t heard_from;
	uint32_t gaps;
	struct bs_gap gap[BS_GAPS_MAX];
	struct bs_scan_so_far so_far;
};

/*
 * What recon has handed on of a scan, in two copies as well: an image's entry is pushed after its
 * copy has become the valid one. A recon that finds fewer entries in emit's queue than the valid
 * copy says knows that the image was not handed on, and takes the other copy as valid.
 */
struct bs_made_step {
	uint64_t scan;           /* number of the scan */
	uint64_t entries;        /* entries of emit's queue, with the last image's */
	uint64_t image, preview; /* number of the last image, number of the last preview */
	uint64_t images, previews, partial, missing;
};

/* Readouts that recon could not use, which ingest reports to their sender. The newest are kept. */
#define BS_UNUSED_KEPT 8u
struct bs_unused_readout {
	uint64_t scan, seq;
	int32_t code;
	char text[BS_EVENT_TEXT];
};
struct bs_unused {
	/* number since the service started; number i is in place i % BS_UNUSED_KEPT */
	_Atomic uint64_t count;
	struct bs_unused_readout kept[BS_UNUSED_KEPT];
};

/*
 * For recon: adds a readout once. A scan's numbers come in order, also when it is fed again. False:
 * the readout is there already.
 */
static inline bool bs_unused_put(struct bs_unused *u, uint64_t scan, uint64_t seq,
				 const struct bs_fail *why)
{
	const uint64_t n = atomic_load(&u->count);
	struct bs_unused_readout *r = &u->kept[n % BS_UNUSED_KEPT];

	for (uint32_t i = 0; i < BS_UNUSED_KEPT && i < n; i++)
		if (u->kept[i].scan == scan && u->kept[i].seq >= seq)
			return false;
	bs_stamp_before(); /* ingest may be reading the place */
	*r = (struct bs_unused_readout){ .scan = scan, .seq = seq, .code = why->code };
	(void)snprintf(r->text, sizeof(r->text), "%s", why->text);
	atomic_store(&u->count, n + 1);
	return true;
}

/* For ingest: copies number i, below count. False: its place has been written over. */
static inline bool bs_unused_get(const struct bs_unused *u, uint64_t i,
				 struct bs_unused_readout *out)
{
	*out = u->kept[i % BS_UNUSED_KEPT];
	out->text[sizeof(out->text) - 1] = '\0';
	bs_stamp_after();
	return atomic_load(&u->count) - i < BS_UNUSED_KEPT;
}

/* Numbers that steps gave, which ingest tells the senders. The newest are kept. */
#define BS_SAID_KEPT 8u
struct bs_said_numbers {
	uint64_t scan, image;
	int64_t received_ns, sender_ns; /* of the last readout that the image needed */
	uint32_t numbers;
	double number[BS_STEP_NUMBERS_MAX];
};
struct bs_said {
	/* number since the service started; number i is in place i % BS_SAID_KEPT */
	_Atomic uint64_t count;
	struct bs_said_numbers kept[BS_SAID_KEPT];
};

/* For emit, once an image. */
static inline void bs_said_put(struct bs_said *s, const struct bs_said_numbers *n)
{
	bs_stamp_before(); /* ingest may be reading the place */
	s->kept[atomic_load(&s->count) % BS_SAID_KEPT] = *n;
	atomic_store(&s->count, atomic_load(&s->count) + 1);
}

/* For ingest: copies number i, below count. False: its place has been written over. */
static inline bool bs_said_get(const struct bs_said *s, uint64_t i, struct bs_said_numbers *out)
{
	*out = s->kept[i % BS_SAID_KEPT];
	bs_stamp_after();
	return atomic_load(&s->count) - i < BS_SAID_KEPT;
}

/*
 * A scan in flight when an earlier service was killed: what its log says of it, and how far this
 * service is with it. There are at most two. The newest log's is in place 1; the one before it,
 * where not all of its images had been made, is in place 0, and comes first. Written by ingest
 * (board/ingest/reopen.c); emit reads which images it may have filed.
 */
enum bs_reopen {
	BS_REOPEN_NOT_LOOKED,
	BS_REOPEN_ENDED, /* the scan's log has an end; its sender may not know that */
	BS_REOPEN_FOUND, /* the scan's log waits for recon */
	BS_REOPEN_OPENS, /* the scan's OPEN is in hand */
	BS_REOPEN_READS, /* the scan's messages are read from the log */
	BS_REOPEN_WAITS, /* the sender is awaited, at most until until_ns */
	BS_REOPEN_OVER   /* the scan goes on as any other, or has ended; or there was none */
};
struct bs_reopened {
	_Atomic uint32_t step; /* step of reopening, enum bs_reopen */
	_Atomic uint64_t scan; /* number of the scan; 0: none was opened */
	char log[64];          /* name of the first file of the scan's log */
	uint32_t sealed;       /* 1 if the scan's log has an end */
	uint32_t early;        /* 1 if the log got its end before the scan's images were made */
	uint32_t gone_on; /* 1 if its sender has come back, and the log goes on in another file */
	uint64_t session, records;
	uint64_t number;    /* number of the scan in the service that logged it */
	int64_t started_ns; /* start of the scan, ns since 1970, UTC */
	int64_t until_ns;
	/* until this time another scan's OPEN does not end the waiting for the sender */
	int64_t alone_ns;
};

/* The facts of a scan's log that a recon needs which is given the scan again. The log is sealed
 * or given up by then. */
struct bs_scan_log {
	_Atomic uint64_t scan; /* number of the scan, written once the rest is valid */
	uint32_t whole;        /* 1 if the scan's log has all of its messages */
	uint32_t mode;         /* mode of the scan's log, as in ACK */
	uint64_t unprotected;
	char name[64];
	char words[128]; /* words for the outcome */
};

/*
 * A scan in flight or one of the last two. Its number grows with each accepted header. Scan n is in
 * place n % 2; a scan that has yet to end never loses its place. While recon makes the last images
 * of one scan, the next one may be accepted: two are open then, never three.
 */
struct bs_scan_record {
	/* Ingest writes the next members. */
	struct bs_scan_step step[2];
	/* index of the valid step; what other processes read is copied below */
	_Atomic uint32_t step_at;
	/* 1 during the handling of a message: a death then counts in deaths */
	_Atomic uint32_t in_hand;
	/* The members below are valid when id is not 0. */
	_Atomic uint64_t id;
	_Atomic uint32_t open;  /* 1 until the scan's outcome is made */
	_Atomic uint32_t state; /* state of the scan, enum bs_state */
	uint64_t session;
	uint32_t protocol;
	int64_t opened_ns;
	struct bs_scan_info info;
	/*
	 * recon reads noise when the first readout that is not noise comes; ingest writes it
	 * before.
	 */
	struct bs_scan_noise noise;
	/* noise before readout number noise_number was added; 0: none was */
	struct bs_scan_noise noise_before;
	_Atomic uint64_t noise_number;
	struct bs_scan_study study; /* recon reads it when the scan opens and after its close */
	/* Ingest fills in what a log's file has of it before OPEN; then recon writes. */
	struct bs_solved solved;
	struct bs_scan_log log;
	_Atomic uint64_t next_seq; /* the first sequence number that is not yet held */
	_Atomic uint64_t acquisitions, waveforms, gaps, duplicates, rejected, late;
	/* acquisitions of each kind, used and unused */
	_Atomic uint64_t kind_used[BS_KINDS], kind_unused[BS_KINDS];
	struct bs_answering answering; /* what answers are made with */
	/* answers that were said; that were dropped, since they were too late */
	_Atomic uint64_t answers, answers_late;
	/* Recon writes the next members. */
	struct bs_made_step made[2];
	_Atomic uint32_t made_at; /* index of the valid made step; its counts are copied below */
	/* twice the number of entries taken since OPEN, plus 1 while one is handled */
	_Atomic uint64_t recon_at;
	_Atomic uint64_t images_made, images_partial, readouts_missing, unused;
	_Atomic uint64_t previews_made, previews_skipped; /* previews do not count as images */
	char words[BS_BANDS_WORDS]; /* words about images that have left already; "": none */
	/* what the first partial image lacks; valid with images_partial */
	char lacks[BS_LACKS_WORDS];
	char remark[BS_REMARK_WORDS]; /* remark of the first image that has one */
	int32_t recon_code;
	char recon_text[BS_EVENT_TEXT];
	_Atomic uint64_t lacking; /* number of the scan that lacks what its protocol needs */
	_Atomic uint64_t lost;    /* written by ingest: count.lost of the valid step */
	/* Emit writes the next members. */
	/*
	 * images_left: given to some taker, or to its queue; undelivered: times that a taker did
	 * not get an image.
	 */
	_Atomic uint64_t images_left, images_unsent, images_late, undelivered;
	int32_t emit_code;
	char emit_text[BS_EVENT_TEXT];
	_Atomic uint64_t over_budget; /* number of the scan that a late image ends (on_miss stop) */
	_Atomic uint64_t ended;       /* number of the last scan whose END has passed emit */
};

/* The record of the newest scan. Its state is also the service's. */
static inline const struct bs_scan_record *bs_scan_newest(const struct bs_scan_record scan[2])
{
	return &scan[atomic_load(&scan[1].id) > atomic_load(&scan[0].id)];
}
/*
 * The record of the scan before the newest, while its last images are being made; NULL: there is
 * none.
 */
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

/* The outcome of scan n, in place n % 2: a successor of ingest can send it again. */
#define BS_SCAN_END_BYTES 568u /* size of an outcome, BS_WIRE_OUTCOME_BYTES of ipc/wire/wire.h */
struct bs_scan_end {
	_Atomic uint32_t known;
	uint64_t session;
	unsigned char outcome[BS_SCAN_END_BYTES];
};

/*
 * The last scans that have ended, for people to read. Number i, from 0, is in place i %
 * BS_SCANS_PAST, and complete once bs_shared.past_scans is above i. When ingest is killed between a
 * scan's end and its step, its successor writes the same scan again, in the same place.
 */
#define BS_SCANS_PAST 32u
struct bs_scan_past {
	uint64_t number, session;
	int64_t ended_ns, took_ns; /* ended_ns: since 1970, UTC; took_ns: since its OPEN */
	uint64_t acquisitions, images, gaps, duplicates, rejected, late, undelivered;
	int32_t code;
	char protocol[64], text[384]; /* text: the outcome's words, which name no patient */
};

/* The clock of this host that a sender stamps its messages with (board/ingest/clock.c). */
enum bs_clock { BS_CLOCK_UNKNOWN, BS_CLOCK_MONOTONIC, BS_CLOCK_REALTIME, BS_CLOCK_OTHER };

/* Who is connected to the k-space endpoint. Written by ingest. */
struct bs_kspace_record {
	/* peers: connected now; waiting: of these, peers with a header that waits */
	_Atomic uint32_t peers, waiting;
	_Atomic uint32_t here;    /* the sender of the newest scan is connected */
	_Atomic uint32_t clock;   /* clock of the newest scan's sender, enum bs_clock */
	_Atomic int64_t since_ns; /* when the newest scan was opened */
	_Atomic int64_t heard_ns; /* when the newest scan's last message was taken */
	_Atomic int64_t line_ns;  /* when the first waiting header came; 0: none waits */
	_Atomic uint64_t connected, let_go, nonsense; /* counts of ipc/gate.h, of this ingest */
	char sender[64]; /* sender of the newest scan, as bs_gate_name writes it */
	char before[64]; /* sender of the scan before the newest, while that scan is open */
	_Atomic uint32_t before_here; /* 1 if the earlier scan's sender is connected */
	/* 1 if the earlier scan's sender also sends the newest scan */
	_Atomic uint32_t before_same;
	_Atomic int64_t closed_ns; /* when the earlier scan's last readout or close was taken */
};

/* Counts since the service started; each is written by one worker. */
struct bs_totals {
	_Atomic uint64_t scans, refused, messages, bytes, rejected, gaps, duplicates, late, failed,
		answers, answers_late;          /* counts up to here that ingest writes */
	_Atomic uint64_t images, engine_faults; /* counts that recon writes */
	_Atomic uint64_t published, sink_faults, repeated, lost; /* counts that emit writes */
	_Atomic uint64_t unsent; /* sum of all scans' images_unsent, written by emit */
};

#endif
