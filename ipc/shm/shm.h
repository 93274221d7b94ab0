/*
 * ipc/shm/shm.h - the one memory that the supervisor and its workers share
 *
 * supervisor: create (lays everything out from the site, once; sealed against resizing) -> close.
 * worker: attach (checks magic, version, sizes and every offset before it believes them) -> close.
 * The memory is a memfd that workers inherit; it has no name. Each field says who writes it;
 * anybody reads. recover is for the supervisor alone, after a worker ended for certain.
 * create and attach call memfd_create/mmap; nothing else here allocates or blocks.
 * Test: test/unit/ipc/test_shm.c
 */
#ifndef BS_IPC_SHM_SHM_H
#define BS_IPC_SHM_SHM_H

#include "core/latency/admission.h"
#include "core/latency/budget.h"
#include "core/thread/canary.h"
#include "core/thread/event.h"
#include "core/latency/hist.h"
#include "core/mrd.h"
#include "core/memory/pool.h"
#include "core/memory/pools.h"
#include "core/protocol.h"
#include "core/frame/recon.h"
#include "core/memory/ring.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"
#include "ipc/shm/bell.h"

#define BS_SHM_MAGIC   UINT64_C(0x313030454d485342) /* "BSHME001" */
#define BS_SHM_VERSION 1u

enum bs_worker { BS_WORKER_INGEST, BS_WORKER_RECON, BS_WORKER_EMIT, BS_WORKERS };
/* Bells and eventfds: one each, and one for the supervisor. */
#define BS_SUPERVISOR ((int)BS_WORKERS)
#define BS_BELLS      (BS_WORKERS + 1)

enum bs_phase { BS_PHASE_DOWN, BS_PHASE_ARMING, BS_PHASE_READY, BS_PHASE_STOPPED };

struct bs_worker_state {
	struct bs_bell bell;
	_Atomic uint64_t beat;   /* the worker: grows with every turn of its loop */
	_Atomic uint32_t busy;   /* the worker: 1 inside a call that may outlast a stall */
	_Atomic uint32_t phase;  /* enum bs_phase; the worker, and the supervisor at its death */
	_Atomic uint32_t epoch;  /* the supervisor: how many times the worker was started */
	_Atomic int32_t pid;     /* the supervisor; 0: none */
	_Atomic uint32_t stalls; /* the supervisor: times it was killed for lack of progress */
	_Atomic int64_t started_ns, restart_ns; /* the supervisor; last death to last start */
	_Atomic uint64_t waits; /* the worker: times it had to wait for the next stage's slots */
	char obituary[96];      /* the supervisor, before epoch grows: how the last one ended */
	struct bs_event_ring events;
};

/* What travels in the rings: kind, low bits of the scan's number, slot. */
enum bs_entry_kind {
	BS_ENTRY_OPEN = 1,
	BS_ENTRY_ACQ,
	BS_ENTRY_CLOSE,
	BS_ENTRY_IMAGE,
	BS_ENTRY_END
};

static inline uint64_t bs_entry(enum bs_entry_kind kind, uint64_t scan, uint32_t slot)
{
	return (uint64_t)kind << 56 | (scan & 0xffffff) << 32 | slot;
}
static inline enum bs_entry_kind bs_entry_kind(uint64_t e)
{
	return (enum bs_entry_kind)(e >> 56);
}
static inline bool bs_entry_of(uint64_t e, uint64_t scan)
{
	return ((e >> 32) & 0xffffff) == (scan & 0xffffff);
}
static inline uint32_t bs_entry_slot(uint64_t e)
{
	return (uint32_t)e;
}

/* Beside each acquisition slot, whose bytes hold the samples alone [coil][sample], aligned. */
struct bs_acq_meta {
	struct bs_mrd_acq head;
	uint32_t row;
	int64_t received_ns; /* ingest had the whole message */
	int64_t handed_ns;   /* it was checked, copied and given to recon */
	int64_t sender_ns;   /* its envelope's time_ns: the sender's clock */
};

enum bs_stage {
	BS_STAGE_RECEIVE, /* received -> handed to recon: checks and the copy */
	BS_STAGE_QUEUE,   /* handed -> taken up by recon */
	BS_STAGE_ADD,     /* taken up -> accumulated (the engine's add) */
	BS_STAGE_SLOT,    /* frame complete -> image slot at hand */
	BS_STAGE_FINISH,  /* the engine's finish */
	BS_STAGE_PASS,    /* image made -> taken up by emit */
	BS_STAGE_HAND,    /* taken up -> handed to the first sink: attributes, checksum */
	BS_STAGE_IMAGE,   /* last readout received -> image handed to the first sink */
	BS_STAGE_SINKS,   /* handed to the first sink -> done with all */
	/* what finish says it is made of (struct bs_report); not a value where a method has none */
	BS_STAGE_UPLOAD,
	BS_STAGE_ACCUMULATE,
	BS_STAGE_SOLVE,
	BS_STAGE_COMBINE,
	BS_STAGE_DOWNLOAD,
	BS_STAGES
};
const char *bs_stage_name(enum bs_stage s);

/* Beside each image slot, whose bytes are laid out as core/memory/pools.h says. */
struct bs_image_meta {
	struct bs_recon_image image; /* .pixels means nothing here */
	uint64_t scan, session;
	uint32_t protocol;
	char engine[32];
	int64_t from_ns;       /* latency counts from here: the last readout received, or, of a
				    * partial frame, what told that no more will come */
	int64_t acq_handed_ns; /* of the last readout: given to recon, taken up, accumulated; */
	int64_t taken_ns, added_ns; /* 0: not known (a partial frame) */
	enum bs_rung rung;          /* that it was made on */
	int64_t ready_ns;           /* the frame was complete in recon */
	int64_t begun_ns, made_ns;  /* finish began and ended */
	int64_t handed_ns;          /* emit: to the first sink */
	int64_t sender_ns;          /* time_ns of the last readout that it needed */
	uint32_t attributes_len;    /* emit: they end right before the pixels */
	_Atomic uint32_t inside; /* emit: 1 while it is being handed on: who dies then is suspect */
	_Atomic uint32_t tries;  /* emit: times that a process ended with it in hand */
	_Atomic uint32_t done; /* emit: bit i: sink i has had it; so a successor does not repeat */
	_Atomic uint32_t takers; /* emit: how many took it */
};

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
	_Atomic uint64_t next_seq; /* the first sequence number that is not yet held */
	_Atomic uint64_t acquisitions, noise, waveforms, gaps, duplicates, rejected, late;
	/* recon */
	_Atomic uint64_t images_made, images_partial, readouts_missing, unused;
	_Atomic uint64_t previews_made, previews_skipped; /* not among the images */
	int32_t recon_code;
	char recon_text[BS_EVENT_TEXT];
	/* emit */
	/* left: given to some taker, or to its queue; undelivered: times that one did not get it */
	_Atomic uint64_t images_left, images_unsent, images_late, undelivered;
	int32_t emit_code;
	char emit_text[BS_EVENT_TEXT];
	_Atomic uint64_t
		over_budget;    /* the number of the scan that a late image ends (on_miss stop) */
	_Atomic uint64_t ended; /* the number of the last scan whose END has passed emit */
};

/*
 * How a protocol's budget is kept, since the service started. And what emit tells recon's ladder:
 * one number an image, the last ones kept; a reader that is late misses the oldest, no more.
 */
#define BS_RESULTS_KEPT 64u
struct bs_budget_record {
	/* recon */
	_Atomic uint32_t rung; /* enum bs_rung, where the ladder stands */
	_Atomic uint64_t down[BS_RUNGS], up[BS_RUNGS], images[BS_RUNGS];
	/* emit */
	_Atomic uint64_t handed, missed, stopped; /* images; scans that a late image ended */
	_Atomic uint64_t stage_missed[BS_BUDGET_STAGES];
	_Atomic uint64_t results; /* their number; number i is in place i % BS_RESULTS_KEPT */
	_Atomic uint64_t result[BS_RESULTS_KEPT];
};

/* 24 bits of the scan, 4 of the rung, 4 of the result, 32 of us from made to handed on. */
static inline uint64_t bs_result_pack(uint64_t scan, enum bs_rung rung, enum bs_budget_result v,
				      int64_t emit_ns)
{
	uint64_t us = emit_ns < 0 ? 0 : (uint64_t)emit_ns / 1000;

	return (scan & 0xffffff) << 40 | (uint64_t)rung << 36 | (uint64_t)v << 32 |
	       (us > UINT32_MAX ? UINT32_MAX : us);
}

/* The last outcome: ingest's, kept here so that its successor can say it again to who asks. */
#define BS_SCAN_END_BYTES 440u /* ipc/wire/wire.h: BS_WIRE_OUTCOME_BYTES */
struct bs_scan_end {
	_Atomic uint32_t known;
	uint64_t session;
	unsigned char outcome[BS_SCAN_END_BYTES];
};

/* Since the service started; each is written by one worker. */
struct bs_totals {
	_Atomic uint64_t scans, refused, messages, bytes, rejected, gaps, duplicates,
		late;                                            /* ingest */
	_Atomic uint64_t oversize, connections;                  /* ingest */
	_Atomic uint64_t images, engine_faults;                  /* recon */
	_Atomic uint64_t published, sink_faults, repeated, lost; /* emit */
};

/*
 * What a thread on the path of an image costs, counted since it started and written down by itself
 * (a member of recon's team: at recon's word), at most every BS_THREAD_NS and once it is idle. What
 * counts is the growth after warm-up: none. allocations: calls of malloc & co., mmap and munmap from
 * this program's own code, static libraries included; not what shared libraries (nanomsg, libc) do.
 */
#define BS_THREAD_NS INT64_C(100000000)

enum bs_thread { /* places in bs_shared.thread */
		 BS_THREAD_INGEST,
		 BS_THREAD_EMIT,
		 BS_THREAD_RECON, /* and the members 1, 2, ... of its team behind it */
		 BS_THREADS = BS_THREAD_RECON + BS_TEAM_MAX
};

struct bs_thread_record {
	char name[16];
	_Atomic int32_t tid;      /* 0: there is none */
	_Atomic int32_t priority; /* SCHED_FIFO that is in force; 0: ordinary scheduling */
	_Atomic uint64_t minor_faults, major_faults; /* getrusage, RUSAGE_THREAD */
	_Atomic uint64_t allocations;
	_Atomic uint64_t preempted; /* involuntary context switches */
	_Atomic uint64_t notes;     /* times that it wrote this, and when the last time */
	_Atomic int64_t at_ns;
};

/* What the site asked of the machine; a setting that some worker was refused has its bit. */
enum bs_setting {
	BS_SETTING_PRIORITY,
	BS_SETTING_AFFINITY,
	BS_SETTING_LOCK_MEMORY,
	BS_SETTING_TIMER_SLACK,
	BS_SETTING_GPU_WAIT,
	BS_SETTING_UNTHROTTLED, /* real-time threads that poll may do so without end */
	BS_SETTINGS
};
#define BS_REMEDY 192u

struct bs_realtime_state {
	_Atomic uint32_t refused;            /* bits; whoever sets one tells it, once */
	_Atomic uint32_t told;               /* bits: remedy is complete */
	char remedy[BS_SETTINGS][BS_REMEDY]; /* why, and what helps */
};

/* emit, per protocol: images over their budget, and those of them that a canary's stall explains */
struct bs_misses {
	_Atomic uint64_t raw, explained;
};

/* Who takes images: each sink in the site's order, the archive, the viewers. */
enum { BS_TAKER_ARCHIVE = BS_SINKS_MAX, BS_TAKER_VIEWERS, BS_TAKERS };

struct bs_taker_record {
	char name[64];          /* emit; "": there is none */
	uint32_t policy, queue; /* emit; enum bs_policy; viewers: nanomsg keeps the newest */
	/* emit: taken = handed + failed + shed + lost + what waits (lost: board/emit/taker.h) */
	_Atomic uint64_t taken, handed, failed, shed, lost;
	_Atomic uint64_t spilled;                    /* of these, that went to disk */
	_Atomic uint64_t spill_waiting, spill_bytes; /* on disk now */
	_Atomic uint32_t waiting;                    /* in memory now, the one in hand included */
	_Atomic int64_t since_ns;                    /* it has one in hand since; 0: none */
};

#define BS_LAST_ERRORS 16u

struct bs_shared {
	uint64_t magic;
	uint32_t version, struct_bytes; /* of this struct: another build is refused */
	uint64_t total_bytes;
	uint64_t acq_ring_at, image_ring_at, acq_pool_at, image_pool_at;
	uint64_t acq_meta_at, image_meta_at, acq_at, image_at, hist_at;
	uint64_t table_at[BS_PROTOCOLS_MAX]; /* trajectory tables; 0: none */
	struct bs_pools pools;
	struct bs_site site;
	int64_t started_ns;
	uint32_t locked;            /* the supervisor: 1 when this memory cannot be swapped out */
	_Atomic uint32_t stop;      /* the supervisor: how many workers, in order, are to end */
	_Atomic int64_t stop_by_ns; /* a scan in flight has until then */
	struct bs_worker_state worker[BS_WORKERS];
	struct bs_bell supervisor_bell;
	struct bs_scan_record scan;
	struct bs_scan_end ended;
	struct bs_totals totals;
	uint64_t arm_bytes[BS_PROTOCOLS_MAX]; /* recon: of each protocol's plan */
	char engine[BS_PROTOCOLS_MAX][32];    /* recon */
	char place[BS_PROTOCOLS_MAX][96];     /* recon: where it runs, in words */
	_Atomic uint32_t armed[BS_PROTOCOLS_MAX];
	/* recon, before it is ready: why a protocol is not armed while others are; 0: no reason */
	int32_t refused[BS_PROTOCOLS_MAX];
	char refusal[BS_PROTOCOLS_MAX][BS_EVENT_TEXT];
	struct bs_admission admission[BS_PROTOCOLS_MAX]; /* recon, the same */
	struct bs_misses misses[BS_PROTOCOLS_MAX];
	struct bs_taker_record taker[BS_TAKERS];
	struct bs_realtime_state realtime;
	struct bs_thread_record thread[BS_THREADS];
	_Atomic uint32_t canaries;            /* the supervisor: how many run */
	struct bs_canary canary[BS_CANARIES]; /* each its own */
	struct bs_budget_record budget[BS_PROTOCOLS_MAX];
	/* the supervisor: the last lines of warning or worse; number i is in place i % 16 */
	_Atomic uint64_t errors;
	char error[BS_LAST_ERRORS][512];
};

/* A process's view of it. */
struct bs_shm {
	int fd;
	struct bs_shared *s;
	size_t bytes;
	int bell_fd[BS_BELLS]; /* eventfds; the supervisor makes them, workers inherit them */
	struct bs_ring *acq_ring, *image_ring;
	struct bs_pool *acq_pool, *image_pool;
	struct bs_acq_meta *acq_meta;
	struct bs_image_meta *image_meta;
	struct bs_hist *hist; /* [protocol][stage] */
};

/*
 * tables: one for each protocol of the site (k NULL: none); copied in. The reason names the bytes
 * when the system refuses them. All eventfds are made here, too, close-on-exec.
 */
int bs_shm_create(struct bs_shm *m, const struct bs_site *site, const struct bs_traj *tables,
		  struct bs_fail *why);
/* fd and bell_fd: as inherited. */
int bs_shm_attach(struct bs_shm *m, int fd, const int bell_fd[BS_BELLS], struct bs_fail *why);
/* Closes the descriptors, too. */
void bs_shm_close(struct bs_shm *m);

/* Aligned to BS_ALIGN. slot is not checked here: whoever takes it from a ring checks it. */
static inline float *bs_shm_samples(const struct bs_shm *m, uint32_t slot)
{
	return (float *)((unsigned char *)m->s + m->s->acq_at + slot * m->s->pools.acq_bytes);
}
static inline unsigned char *bs_shm_image(const struct bs_shm *m, uint32_t slot)
{
	return (unsigned char *)m->s + m->s->image_at + slot * m->s->pools.image_bytes;
}
static inline struct bs_hist *bs_shm_hist(const struct bs_shm *m, uint32_t protocol,
					  enum bs_stage stage)
{
	return &m->hist[protocol * BS_STAGES + (uint32_t)stage];
}
/* False: the protocol has no table. *t points into the shared memory: do not close it. */
bool bs_shm_table(const struct bs_shm *m, uint32_t protocol, struct bs_traj *t);

static inline void bs_shm_ring_bell(const struct bs_shm *m, int whom)
{
	struct bs_bell *b =
		whom == BS_SUPERVISOR ? &m->s->supervisor_bell : &m->s->worker[whom].bell;

	bs_bell_ring(b, m->bell_fd[whom]);
}

/*
 * After worker ended for certain and before its successor starts: every slot that it held or that
 * only it could have passed on is free again. A dead recon's queue is emptied; a dead emit's queue
 * stays, its successor goes on with it. Returns the number of slots freed.
 */
uint32_t bs_shm_recover(struct bs_shm *m, enum bs_worker worker, struct bs_fail *why);

#endif
