/*
 * ipc/shm/shm.h - the one memory that the supervisor and its workers share
 *
 * supervisor: create (lays everything out from the site, once; sealed against shrinking) -> close.
 * worker: attach (checks magic, version, sizes and every offset before it believes them) -> close.
 * Behind what every process maps, the file holds an area with the site's trajectory tables. A
 * changed site comes with another area (stage), which replaces it while no scan is open (switch),
 * and each process maps the new one (map_tables).
 * The memory is a memfd that workers inherit; it has no name. Each field says who writes it;
 * anybody reads. What it keeps of one subject is declared in that subject's header, beside this
 * one. recover is for the supervisor alone, after a worker has certainly ended. create and attach
 * call memfd_create/mmap; nothing else here allocates or blocks. Test: test/unit/ipc/test_shm.c
 */
#ifndef BS_IPC_SHM_SHM_H
#define BS_IPC_SHM_SHM_H

#include <string.h>

#include "core/study/study.h"
#include "core/latency/admission.h"
#include "core/latency/hist.h"
#include "core/memory/pool.h"
#include "core/memory/pools.h"
#include "core/memory/ring.h"
#include "core/protocol.h"
#include "core/thread/canary.h"
#include "core/traj/traj.h"
#include "ipc/seal/record.h"
#include "ipc/shm/latency.h"
#include "ipc/shm/log.h"
#include "ipc/shm/realtime.h"
#include "ipc/shm/reload.h"
#include "ipc/shm/scan.h"
#include "ipc/shm/slots.h"
#include "ipc/shm/takers.h"
#include "ipc/shm/workers.h"

#define BS_SHM_MAGIC   UINT64_C(0x313030454d485342) /* the letters "BSHME001" */
#define BS_SHM_VERSION 1u

#define BS_LAST_ERRORS 16u

/* Offset of each part in bytes from the start. Only the pools' sizes decide them. */
struct bs_layout {
	uint64_t total_bytes;
	uint64_t acq_ring, image_ring, acq_pool, image_pool;
	uint64_t acq_meta, image_meta, acq, image, hist;
	uint64_t study, log; /* offsets of the study and of the log's ring; 0: there is none */
	uint64_t stepped;    /* offset of images as steps gave them back; 0: there is none */
	uint64_t answers; /* offset of the readouts that answers compare with; 0: there is none */
};

struct bs_shared {
	uint64_t magic;
	uint32_t version, struct_bytes; /* bytes of this struct; another build's is refused */
	struct bs_layout at;
	struct bs_pools pools;
	/*
	 * The supervisor changes the site, and generation with it, while no scan is open and every
	 * worker is ready. site_stamp is as core/memory/stamp.h has it: odd while the site changes.
	 */
	struct bs_site site;
	struct bs_area area;
	_Atomic uint64_t generation; /* number of the site in force, from 1 */
	_Atomic uint32_t site_stamp;
	int64_t loaded_s; /* when the site was loaded, s since 1970, UTC */
	struct bs_reload reload;
	int64_t started_ns;
	uint32_t locked;            /* the supervisor: 1 when this memory cannot be swapped out */
	_Atomic uint32_t stop;      /* the supervisor: how many workers, in order, are to end */
	_Atomic int64_t stop_by_ns; /* the supervisor: a scan in flight has until this time */
	/* the supervisor: the images of a scan in flight at the end have until this time */
	_Atomic int64_t end_by_ns;
	struct bs_worker_state worker[BS_WORKERS];
	struct bs_bridge_state bridge[BS_BRIDGES];
	struct bs_step_record step[BS_STEPS_MAX];
	struct bs_bell supervisor_bell;
	struct bs_scan_record scan[2];
	struct bs_unused unused; /* recon: readouts that it could not use */
	struct bs_said said;     /* emit: numbers of steps */
	/* ingest: scans in flight when an earlier service was killed */
	struct bs_reopened reopened[2];
	/* ingest: place in reopened of the scan that is being reopened */
	_Atomic uint32_t reopening;
	struct bs_noise_kept noise; /* ingest's: noise of the last scans */
	struct bs_scan_end ended[2];
	_Atomic uint64_t past_scans; /* ingest: number of scans that have ended */
	struct bs_scan_past past[BS_SCANS_PAST];
	struct bs_kspace_record kspace;
	struct bs_seal_record seal[BS_SEAL_PLACES];
	struct bs_totals totals;
	struct bs_log_record log;             /* ingest's: state of the logs of scans */
	uint64_t arm_bytes[BS_PROTOCOLS_MAX]; /* recon's: bytes of each protocol's memory plan */
	char engine[BS_PROTOCOLS_MAX][32];    /* recon: name of each protocol's engine */
	char place[BS_PROTOCOLS_MAX][96];     /* recon: where each protocol runs, in words */
	struct bs_selftest selftest[BS_PROTOCOLS_MAX]; /* recon: what each protocol's found */
	char lapack[512]; /* recon: the files of LAPACK and its BLAS; "": it is not loaded */
	_Atomic uint32_t armed[BS_PROTOCOLS_MAX];
	/* recon, before it is ready: why a protocol is not armed while others are; 0: no reason. */
	int32_t refused[BS_PROTOCOLS_MAX];
	char refusal[BS_PROTOCOLS_MAX][BS_EVENT_TEXT];
	/* recon, before it is ready: timings of each protocol */
	struct bs_admission admission[BS_PROTOCOLS_MAX];
	/*
	 * recon: 1: the protocol was refused by a measurement on a machine that was too busy for
	 * one; it is armed all the same, and measured again (reload.again).
	 */
	_Atomic uint32_t owed[BS_PROTOCOLS_MAX];
	struct bs_misses misses[BS_PROTOCOLS_MAX];
	struct bs_taker_record taker[BS_TAKERS];
	struct bs_images_record images;
	struct bs_realtime_state realtime;
	struct bs_thread_record thread[BS_THREADS];
	_Atomic uint32_t gpus; /* recon: number of records in gpu that are complete */
	struct bs_gpu_record gpu[BS_DEVICES_MAX];
	_Atomic uint32_t canaries; /* the supervisor: number of canaries that run */
	/* records of the canaries, each written by its canary */
	struct bs_canary canary[BS_CANARIES];
	struct bs_budget_record budget[BS_PROTOCOLS_MAX];
	/*
	 * The supervisor: the last lines of the service's log of level warn or error; number i is
	 * in place i % 16.
	 */
	_Atomic uint64_t errors;
	char error[BS_LAST_ERRORS][512];
};

/* A process's view of the shared memory. */
struct bs_shm {
	int fd;
	struct bs_shared *s;
	size_t bytes;
	int bell_fd[BS_BELLS]; /* eventfds; the supervisor makes them, workers inherit them */
	struct bs_ring *acq_ring, *image_ring;
	struct bs_pool *acq_pool, *image_pool;
	struct bs_acq_meta *acq_meta;
	struct bs_image_meta *image_meta;
	struct bs_hist *hist; /* [protocol][stage] histograms of times */
	/* recon: what scans leave to later ones; NULL: no protocol takes any */
	struct bs_study *study;
	unsigned char *tables; /* area of the site, tables_bytes long */
	size_t tables_bytes;
	unsigned char *log; /* messages on their way to the scan's log; NULL: no logs are kept */
};

/*
 * tables: one per protocol of the site (k NULL: it has none); copied in. The reason names the bytes
 * when the system refuses them. All eventfds are made here, too, close-on-exec.
 */
int bs_shm_create(struct bs_shm *m, const struct bs_site *site, const struct bs_traj *tables,
		  struct bs_fail *why);
/*
 * stage writes a site and its tables into the file, beside the area in force. unstage frees their
 * memory again. staged_site reads the site back.
 */
int bs_shm_stage(const struct bs_shm *m, struct bs_area *area, const struct bs_site *site,
		 const struct bs_traj *tables, struct bs_fail *why);
void bs_shm_unstage(const struct bs_shm *m, const struct bs_area *area);
int bs_shm_staged_site(const struct bs_shm *m, const struct bs_area *area, struct bs_site *site);
/*
 * Makes s->reload.next the site in force, for the supervisor. Data of protocols that stay move to
 * their new places; reload.armed holds those of the new ones. No other process may use a protocol
 * meanwhile.
 */
int bs_shm_switch(struct bs_shm *m, struct bs_fail *why);
/* Maps the tables of the site in force into this process. Call after bs_shm_switch. */
int bs_shm_map_tables(struct bs_shm *m, struct bs_fail *why);
/* Attaches a worker to the memory; fd and bell_fd: the descriptors that it inherited. */
int bs_shm_attach(struct bs_shm *m, int fd, const int bell_fd[BS_BELLS], struct bs_fail *why);
/* Unmaps the memory and closes the descriptors. */
void bs_shm_close(struct bs_shm *m);

/*
 * The bytes of a slot, aligned to BS_ALIGN. slot is not checked here: whoever takes it from a ring
 * checks it.
 */
static inline float *bs_shm_samples(const struct bs_shm *m, uint32_t slot)
{
	return (float *)((unsigned char *)m->s + m->s->at.acq + slot * m->s->pools.acq_bytes);
}
static inline unsigned char *bs_shm_image(const struct bs_shm *m, uint32_t slot)
{
	return (unsigned char *)m->s + m->s->at.image + slot * m->s->pools.image_bytes;
}
/* An image as its step gave it back, and the readouts that the step took; the site has steps. */
static inline unsigned char *bs_shm_stepped(const struct bs_shm *m, uint32_t slot)
{
	return (unsigned char *)m->s + m->s->at.stepped + slot * m->s->pools.step_bytes;
}
static inline float *bs_shm_kspace(const struct bs_shm *m, uint32_t slot)
{
	return (float *)(bs_shm_stepped(m, slot) + m->s->pools.image_bytes);
}
/* Keeps the readouts of the image in the slot, where its protocol's step takes them. */
static inline void bs_shm_keep_kspace(const struct bs_shm *m, uint32_t slot,
				      const struct bs_protocol *p)
{
	const float *kspace = m->image_meta[slot].image.kspace;

	if (kspace != NULL)
		memcpy(bs_shm_kspace(m, slot), kspace, (size_t)bs_protocol_kspace_bytes(p));
}
/* The bytes of an image as it leaves: as it was made, or as its step gave it back. */
static inline unsigned char *bs_shm_leaving(const struct bs_shm *m, uint32_t slot)
{
	return m->image_meta[slot].step.verdict == BS_STEP_USED ? bs_shm_stepped(m, slot)
								: bs_shm_image(m, slot);
}
static inline struct bs_hist *bs_shm_hist(const struct bs_shm *m, uint32_t protocol,
					  enum bs_stage stage)
{
	return &m->hist[protocol * BS_STAGES + (uint32_t)stage];
}
/* Finds a protocol's table. *t points into the shared memory: do not close it. False: no table. */
bool bs_shm_table(const struct bs_shm *m, uint32_t protocol, struct bs_traj *t);

static inline void bs_shm_ring_bell(const struct bs_shm *m, int whom)
{
	struct bs_bell *b =
		whom == BS_SUPERVISOR ? &m->s->supervisor_bell : &m->s->worker[whom].bell;

	bs_bell_ring(b, m->bell_fd[whom]);
}

/*
 * Call after a worker has certainly ended and before its successor starts: every slot that it held,
 * or that only it could have passed on, is free again. A dead recon's queue is emptied; a dead
 * emit's queue stays, and its successor goes on with it. Returns the number of slots freed.
 */
uint32_t bs_shm_recover(struct bs_shm *m, enum bs_worker worker, struct bs_fail *why);

#endif
