/*
 * test/unit/board/ingest/successor.h - ingest's state in a shared memory of its own, which can be
 * left and taken up by a successor at any point
 */
#ifndef BS_TEST_BOARD_INGEST_SUCCESSOR_H
#define BS_TEST_BOARD_INGEST_SUCCESSOR_H

#include "board/ingest/ingest.h"

#include <string.h>

#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_worker_env env;
static struct ingest in;
static struct bs_keeper *keeper; /* NULL: no log is kept */

static void succeed(void)
{
	memset(&in, 0, sizeof(in));
	in.env = &env;
	in.now.record = env.shm.s->scan;
	in.totals = &env.shm.s->totals;
	for (int i = 0; i < 2; i++)
		in.outcome[i].end = &env.shm.s->ended[i];
	in.now.order.window = in.now.order.room = 4;
	in.recon_epoch = 1;
	in.keeps_noise = true;
	in.log = keeper;
	bs_ingest_resume(&in);
}

static void open_memory(void)
{
	static struct bs_site site;
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_fail why = { 0 };

	site.protocols = 1;
	site.protocol[0] = with_name(path_of(BS_METHOD_NOOP, BS_TRAJ_FILE, 8, 8, 1, 2), "p");
	readouts_of(&site.protocol[0], 8, 16);
	site.protocol[1] = site.protocol[0];
	(void)strcpy(site.protocol[1].name, "taker");
	site.protocol[1].maps = BS_MAPS_STUDY;
	site.protocol[1].combine = BS_COMBINE_SENSE;
	site.protocol[2] = site.protocol[0];
	(void)strcpy(site.protocol[2].name, "timed");
	site.protocol[2].image_ms = 100.0;
	site.protocols = 3;
	for (int i = 0; i < 3; i++)
		bs_plan_make(&site.protocol[i]);
	site.acq_slots = 16;
	site.image_slots = 2;
	CHECK(bs_shm_create(&env.shm, &site, tables, &why) == 0, "shared memory %s", why.text);
	env.who = BS_WORKER_INGEST;
	env.me = &env.shm.s->worker[BS_WORKER_INGEST];
	atomic_store(&env.me->generation, 1);
	env.site = site;
	(void)strcpy(env.me->last_end, "signal 9");
	atomic_store(&env.shm.s->worker[BS_WORKER_RECON].epoch, 1);
	succeed();
	CHECK(in.now.state == BS_STATE_STARTING && !bs_ingest_in_scan(&in.now), "nothing was left");
	in.now.state = BS_STATE_IDLE;
}

static int ask(const char *protocol, uint64_t session)
{
	static const char header[] =
		"<ismrmrdHeader><measurementInformation><measurementDependency>"
		"<dependencyType>Noise</dependencyType><measurementID>before</measurementID>"
		"</measurementDependency>"
		"</measurementInformation><encoding><encodedSpace><matrixSize><x>8</x><y>8</y>"
		"<z>1</z></matrixSize></encodedSpace><reconSpace><matrixSize><x>8</x><y>8</y>"
		"<z>1</z></matrixSize></reconSpace></encoding></ismrmrdHeader>";
	unsigned char payload[BS_WIRE_OPEN_NAME + sizeof(header)] = { 0 };
	struct bs_wire w = { .kind = BS_WIRE_OPEN,
			     .session = session,
			     .payload_len = sizeof(payload) };

	memcpy(payload, protocol, strlen(protocol));
	memcpy(payload + BS_WIRE_OPEN_NAME, header, sizeof(header));
	return bs_ingest_open(&in, &w, payload);
}

static void open_scan(void)
{
	CHECK(ask("p", 7) == 0 && in.now.state == BS_STATE_SCANNING, "a scan");
}

static void close_it(void)
{
	bs_order_passed(&in.now.order, in.now.order.next);
	bs_ingest_close(&in, &in.now,
			&(struct bs_item){ .kind = BS_WIRE_CLOSE, .count = in.now.so_far.acqs });
}

/* The outcome that is to be said of this scan. NULL: none is. */
static inline const struct bs_scan_end *due_of(uint64_t session)
{
	for (int i = 0; i < 2; i++)
		if (in.outcome[i].due && in.outcome[i].end->session == session)
			return in.outcome[i].end;
	return NULL;
}

static void keep_log(void)
{
	static _Alignas(64) unsigned char ring[4096];
	static struct bs_keeper any = { .o = { .ring = ring, .ring_bytes = sizeof(ring) },
					.bell_fd = -1 };

	any.r = &env.shm.s->log;
	keeper = in.log = &any;
}

#endif
