/* board/tool/command/record.c - boreside record: scans to logs, without reconstructing them */
#define _POSIX_C_SOURCE 200809L /* for nanosleep */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "board/tool/command/tools.h"
#include "board/emit/folder.h"
#include "board/tool/command/recorder.h"
#include "board/log/stock.h"
#include "core/log.h"
#include "core/thread/clock.h"
#include "drivers/log/folder.h"
#include "ipc/endpoint.h"
#include "ipc/gate.h"

#define SILENCE_NS INT64_C(5000000000)
#define WATCH_NS   INT64_C(100000000) /* time between two looks for a stop */
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
	struct bs_site *site;
	struct bs_gate gate;
	struct bs_seal_keys keys;
	struct bs_seal_record sealed;
	struct bs_recorder recorder;
	struct bs_stock stock;
	int run_lock, dir_lock;
	uint32_t taken; /* segments that the current scan has taken, as the stock knows */
};

/* Sends a message to a peer. A peer that is gone asks again when it comes back. */
static bool say_to_peer(void *arg, uint64_t peer, const unsigned char envelope[BS_WIRE_BYTES],
			const void *payload, size_t len)
{
	struct job *j = arg;

	return bs_gate_send(&j->gate, peer, envelope, BS_WIRE_BYTES, payload, len) !=
	       BS_ENDPOINT_TIMEOUT;
}

static bool here(void *arg, uint64_t peer)
{
	return bs_gate_here(&((struct job *)arg)->gate, peer);
}

static void news(void *arg, const char *words)
{
	(void)arg;
	bs_log(BS_LOG_INFO, "%s", words);
}

/* Does the disk's other work, after a scan and when a scan has taken a segment. */
static void look_after(struct job *j)
{
	const struct bs_recorder *r = &j->recorder;
	const uint32_t segments = r->scanning ? r->log.head.index + 1 : 0;

	if (segments != j->taken)
		bs_stock_wake(&j->stock);
	j->taken = segments;
}

/* Receives what has come, but not for so long that answers wait. */
static bool receive(struct job *j)
{
	struct bs_gate_message m;
	bool any = false;

	for (int i = 0; i < 64 && bs_gate_take(&j->gate, &m); i++) {
		const int64_t now = bs_now_ns();

		if (m.whole)
			bs_recorder_take(&j->recorder, m.peer, m.msg, (size_t)m.len, now);
		else
			bs_log(BS_LOG_WARN, "a message of %llu bytes is dropped: see --message",
			       (unsigned long long)m.len);
		bs_gate_release(&j->gate, m.peer);
		bs_recorder_tick(&j->recorder, bs_now_ns());
		if (j->recorder.scanning && j->gate.favored != j->recorder.peer)
			bs_gate_favor(&j->gate, j->recorder.peer);
		any = true;
	}
	return any;
}

static int record_scans(struct job *j, struct bs_fail *why)
{
	const volatile sig_atomic_t *stop = bs_command_stop();
	int rc = 0;

	while (rc >= 0 && !*stop) {
		const bool any = receive(j);
		const int64_t now = bs_now_ns();
		struct pollfd fd = { j->gate.fd, POLLIN, 0 };
		int64_t due;

		bs_recorder_tick(&j->recorder, now);
		look_after(j);
		if (any)
			continue;
		due = bs_recorder_due(&j->recorder, now);
		rc = bs_endpoint_wait(&fd, 1, due < now + WATCH_NS ? due : now + WATCH_NS, why);
	}
	return rc < 0 ? rc : 0;
}

/* Waits until the outcome has reached the sender, before its connection is closed. */
static void say_goodbye(struct job *j)
{
	const struct timespec moment = { 0, 20000000 };

	if (!j->recorder.scanning)
		return;
	bs_recorder_stop(&j->recorder);
	for (int i = 0; i < 5; i++) {
		bs_recorder_tick(&j->recorder, bs_now_ns());
		(void)nanosleep(&moment, NULL);
	}
}

static int prepare_job(struct job *j, struct bs_fail *why)
{
	const struct bs_recorder_options o = {
		.dir = j->q.dir,
		.message_max = j->q.message_mib * (size_t)MIB,
		.segment_bytes = j->q.segment_mib * MIB,
		.silence_ns = SILENCE_NS,
		.heartbeat_ns = bs_ns_of_ms(j->site->heartbeat_ms),
		.say = say_to_peer,
		.here = here,
		.news = news,
		.arg = j,
	};
	struct bs_gate_spec spec = { .endpoint = "kspace",
				     .roles = BS_ROLE_SCANNER,
				     .record = &j->sealed };
	int rc = bs_folder_make(j->site->run_dir, 0750, why);

	if (rc == 0)
		rc = bs_folder_lock(&j->run_lock, j->site->run_dir, BS_FOLDER_PID, why);
	if (rc == 0)
		rc = bs_folder_make(j->q.dir, 0750, why);
	if (rc == 0)
		rc = bs_folder_lock(&j->dir_lock, j->q.dir, "boreside.lock", why);
	if (rc == 0)
		rc = bs_recorder_open(&j->recorder, &o, why);
	if (rc == 0)
		(void)bs_log_folder_sweep(j->q.dir);
	if (rc == 0) /* a folder that takes no logs is reported before a scanner hears from us */
		rc = bs_log_spare_fill(j->q.dir, 0, o.segment_bytes, why);
	if (rc == 0)
		rc = bs_stock_start(&j->stock,
				    &(struct bs_stock_options){ .dir = j->q.dir,
								.segment_bytes = o.segment_bytes,
								.keep_mib = j->q.keep_mib,
								.keep_hours = j->q.keep_hours },
				    why);
	if (rc == 0 && bs_site_seals(j->site, j->site->kspace_url)) {
		rc = bs_seal_keys_load(&j->keys, &j->site->keys, why);
		spec.keys = &j->keys;
	}
	return rc == 0 ? bs_gate_open_by(&j->gate, j->site->kspace_url, o.message_max, &spec, why)
		       : rc;
}

static int run_record(int argc, char **argv)
{
	struct job j = { .q = { .message_mib = 16, .segment_mib = 64 },
			 .gate = { .fd = -1, .listen_fd = -1 } };
	struct bs_fail why = { 0 };
	int rc = bs_options_read(&bs_command_record, &j.q, argc, argv);

	if (rc != BS_OPTIONS_RUN)
		return rc;
	if (j.q.segment_mib <= j.q.message_mib)
		return bs_options_wrong(&bs_command_record,
					"--segment %u: not larger than --message %u",
					j.q.segment_mib, j.q.message_mib);
	bs_log_init("record", BS_LOG_INFO);
	j.site = bs_command_site(&bs_command_record, j.q.config);
	if (j.site == NULL)
		return 1;
	rc = prepare_job(&j, &why);
	if (rc == 0) {
		bs_log(BS_LOG_INFO, "records what comes to %s in %s", j.site->kspace_url, j.q.dir);
		rc = record_scans(&j, &why);
		say_goodbye(&j);
	}
	if (rc != 0)
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(rc), why.text);
	bs_gate_close(&j.gate);
	bs_seal_keys_wipe(&j.keys);
	bs_stock_stop(&j.stock);
	bs_recorder_close(&j.recorder);
	free(j.site);
	return rc == 0 ? 0 : 1;
}

const struct bs_command bs_command_record = {
	.name = "record",
	.summary = "take scans from the scanner into logs, without reconstructing",
	.options = options,
	.notes = "In place of `boreside serve`, at the same endpoint. A message is acknowledged "
		 "once it is on the disk.",
	.run = run_record,
};
