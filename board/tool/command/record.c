/*
 * board/tool/command/record.c - boreside record: scans to logs, without reconstructing them
 *
 * The service's own ingest and log (board/ingest, board/log) run in this process, in the memory
 * that a service would share. A second thread stands behind them in recon's place, and says what
 * they report.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "board/emit/folder.h"
#include "board/ingest/order.h"
#include "board/service/herald.h"
#include "board/service/worker.h"
#include "board/tool/command/tools.h"
#include "core/thread/clock.h"
#include "drivers/log/writer.h"
#include "ipc/gate.h"

#define SILENCE_MS 5000.0
#define WATCH_MS   100 /* longest time between two looks for a stop */
#define TICK_MS    50.0
#define MIB        (UINT64_C(1) << 20)

struct request {
	const char *config, *dir;
	uint32_t message_mib, segment_mib;
	uint64_t keep_mib;
	double keep_hours;
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config),
	  .help = "the site file: its k-space endpoint is used, its protocols are not",
	  .required = true },
	{ BS_OPTION_TEXT, 'o', "output", "DIR", AT(dir),
	  .help = "the folder of the logs; made where it is not there", .required = true },
	{ BS_OPTION_U32, 0, "message", "MIB", AT(message_mib), .help = "the largest message (16)",
	  .min = 1, .max = BS_GATE_LONGEST / MIB },
	{ BS_OPTION_U32, 0, "segment", "MIB", AT(segment_mib),
	  .help = "a log's files are of this size, filled beforehand (64)", .min = 2, .max = 4096 },
	{ BS_OPTION_U64, 0, "keep", "MIB", AT(keep_mib),
	  .help = "after each scan the oldest logs go until they are no more than this (0: any)" },
	{ BS_OPTION_POSITIVE, 0, "keep-hours", "H", AT(keep_hours),
	  .help = "logs that were last written to longer ago go, too", .max = 1e6 },
	{ 0 },
};

struct job {
	struct request q;
	struct bs_worker_env *env; /* ingest's */
	const volatile sig_atomic_t *stop;
	int run_lock, dir_lock;
	_Atomic bool ended; /* ingest has ended */
};

/* Leaves of the site what a recorder needs: one protocol, which any scan has, and its logs. */
static void reduce_site(struct bs_site *s, const struct request *q)
{
	const uint32_t most_mib = 4 * q->message_mib;

	s->realtime = (struct bs_realtime){ 0 };
	s->archive_url[0] = s->images_url[0] = '\0';
	s->sinks = s->study_scans = 0;
	s->acq_slots = 2 * BS_HELD_MAX;
	s->log.mode = BS_LOG_MODE_DURABLE;
	s->log.keep_mib = q->keep_mib;
	s->log.keep_hours = q->keep_hours;
	if (s->log.buffer_mib < most_mib)
		s->log.buffer_mib = most_mib;
	(void)snprintf(s->log.dir, sizeof(s->log.dir), "%s", q->dir);
	s->protocols = 1;
	s->protocol[0] = (struct bs_protocol){ .name = "record",
					       .silence_ms = SILENCE_MS,
					       .frame_step = 1, /* frames are not counted */
					       .uses = UINT32_MAX,
					       .plan = { .calibrates = true } };
}

/* Takes what ingest hands on. Nothing is made of it. */
static void take_handed(struct bs_shm *m)
{
	uint64_t entry;

	while (bs_ring_peek(m->acq_ring, &entry)) {
		struct bs_scan_record *s = &m->s->scan[bs_entry_place(entry)];

		if (bs_entry_kind(entry) == BS_ENTRY_ACQ) {
			bs_pool_give(m->acq_pool, bs_entry_slot(entry));
		} else if (bs_entry_kind(entry) == BS_ENTRY_CLOSE) {
			(void)snprintf(s->words, sizeof(s->words), "recorded, not reconstructed");
			atomic_store(&s->ended, atomic_load(&s->id));
		}
		bs_ring_advance(m->acq_ring);
		bs_shm_ring_bell(m, BS_WORKER_INGEST);
	}
}

static void pass_stop(struct bs_shm *m)
{
	atomic_store(&m->s->stop_by_ns, bs_now_ns());
	atomic_store(&m->s->stop, 1);
	bs_shm_ring_bell(m, BS_WORKER_INGEST);
}

static void *stand_behind(void *arg)
{
	struct job *j = arg;
	struct bs_shm *m = &j->env->shm;
	struct bs_bell *handed = &m->s->worker[BS_WORKER_RECON].bell;
	struct pollfd fds[2] = { { m->bell_fd[BS_WORKER_RECON], POLLIN, 0 },
				 { m->bell_fd[BS_SUPERVISOR], POLLIN, 0 } };
	bool ended;

	do {
		ended = atomic_load(&j->ended);
		if (*j->stop && atomic_load(&m->s->stop) == 0)
			pass_stop(m);
		take_handed(m);
		bs_herald_drain(m);
		bs_bell_announce(handed);
		bs_bell_announce(&m->s->supervisor_bell);
		if (!ended && bs_ring_count(m->acq_ring) == 0)
			(void)poll(fds, 2, WATCH_MS);
		bs_bell_awake(handed, fds[0].fd);
		bs_bell_awake(&m->s->supervisor_bell, fds[1].fd);
	} while (!ended);
	return NULL;
}

static int prepare_folders(struct job *j, struct bs_fail *why)
{
	const struct bs_site *s = &j->env->site;
	int rc = bs_folder_make(s->run_dir, 0750, why);

	if (rc == 0)
		rc = bs_folder_lock(&j->run_lock, s->run_dir, BS_FOLDER_PID, why);
	if (rc == 0)
		rc = bs_folder_make(s->log.dir, 0750, why);
	if (rc == 0)
		rc = bs_folder_lock(&j->dir_lock, s->log.dir, "boreside.lock", why);
	/* a folder that takes no logs is reported before a scanner hears from us */
	return rc == 0 ? bs_log_spare_fill(s->log.dir, 0, j->env->segment_bytes, why) : rc;
}

static int prepare_memory(struct bs_worker_env *env, struct bs_fail *why)
{
	static const struct bs_traj none[BS_PROTOCOLS_MAX];
	const double beat_ms = env->site.heartbeat_ms / 2;
	int rc = bs_shm_create(&env->shm, &env->site, none, why);

	if (rc != 0)
		return rc;
	env->who = BS_WORKER_INGEST;
	env->place = BS_THREAD_INGEST;
	env->me = &env->shm.s->worker[BS_WORKER_INGEST];
	env->tick_ns = bs_ns_of_ms(beat_ms < TICK_MS ? beat_ms : TICK_MS);
	atomic_store(&env->me->generation, 1);
	atomic_store(&env->me->started_ns, bs_now_ns());
	atomic_store(&env->shm.s->worker[BS_WORKER_RECON].phase, BS_PHASE_READY);
	return 0;
}

static int record_scans(struct job *j, struct bs_fail *why)
{
	pthread_t behind;
	int rc = prepare_folders(j, why);

	if (rc == 0)
		rc = prepare_memory(j->env, why);
	if (rc == 0 && pthread_create(&behind, NULL, stand_behind, j) != 0)
		rc = bs_fail(why, BS_ERR_NOMEM, "no second thread");
	if (rc != 0) {
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(rc), why->text);
		return rc;
	}
	bs_log(BS_LOG_INFO, "records what comes to %s in %s", j->env->site.kspace_url, j->q.dir);
	rc = bs_worker_ingest(j->env);
	atomic_store(&j->ended, true);
	(void)pthread_join(behind, NULL);
	bs_shm_close(&j->env->shm);
	return rc;
}

static int run_record(void *request)
{
	static struct bs_worker_env env;
	struct job *j = request;
	struct bs_site *site;
	struct bs_fail why = { 0 };
	int rc;

	if (j->q.segment_mib <= j->q.message_mib)
		return bs_options_wrong("--segment %u: not larger than --message %u",
					j->q.segment_mib, j->q.message_mib);
	bs_log_init("record", BS_LOG_INFO);
	site = bs_command_site(j->q.config);
	if (site == NULL)
		return 1;
	env.site = *site;
	free(site);
	reduce_site(&env.site, &j->q);
	j->env = &env;
	env.record_bytes = j->q.message_mib * MIB;
	env.segment_bytes = j->q.segment_mib * MIB;
	j->stop = bs_command_stop();
	rc = record_scans(j, &why);
	return rc == 0 ? 0 : 1;
}

const struct bs_command bs_command_record = {
	.name = "record",
	.summary = "take scans from the scanner into logs, without reconstructing",
	.options = options,
	.notes = "In place of `boreside serve`, at the same endpoint. A message is acknowledged "
		 "as durable once it is on the disk.",
	.request = &(struct job){ .q = { .message_mib = 16, .segment_mib = 64 } },
	.run = run_record,
};
