/*
 * test/unit/board/emit/line.h - emit's takers and the line of images, in a shared memory of their
 * own
 */
#ifndef BS_TEST_BOARD_EMIT_LINE_H
#define BS_TEST_BOARD_EMIT_LINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/emit/archive.h"
#include "board/emit/flight.h"
#include "board/emit/front.h"
#include "board/emit/images.h"
#include "ipc/wire/wire.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define MS   INT64_C(1000000)
#define SENT 6u

static char dir[64], folder[80], url[96];
static struct bs_site site;
static struct bs_shm shm;
static struct bs_worker_env env;
static struct emit e;
static struct bs_fail why;

/* A service that begins; its store is empty where fresh. */
static void begin(bool fresh)
{
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	char command[120];

	if (fresh) {
		(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
		(void)!system(command);
	}
	if (shm.s != NULL)
		bs_shm_close(&shm);
	if (bs_shm_create(&shm, &site, tables, &why) != 0) {
		printf("# %s\n", why.text);
		exit(1);
	}
	memset(&e, 0, sizeof(e));
	env = (struct bs_worker_env){ .shm = shm,
				      .who = BS_WORKER_EMIT,
				      .me = &shm.s->worker[BS_WORKER_EMIT],
				      .site = site };
	atomic_store(&env.me->epoch, 1);
	bs_emit_init(&e, &env);
}

static void end(void)
{
	for (uint32_t i = 0; i < BS_TAKERS; i++) {
		bs_taker_free(e.taker[i]);
		e.taker[i] = NULL;
	}
	bs_images_close(&e);
}

static int nothing(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *reason)
{
	(void)t;
	(void)o;
	(void)reason;
	return 0;
}

/* Image n of the line, in a slot; taken: its slot is not in the queue any more. */
static uint32_t queue_image(bool taken)
{
	uint32_t slot = 0;

	CHECK(bs_pool_take(shm.image_pool, BS_OWNER_EMIT, &slot), "a slot");
	memset(&shm.image_meta[slot], 0, sizeof(shm.image_meta[slot]));
	shm.image_meta[slot].session = 5;
	(void)bs_ring_push(shm.image_ring, bs_entry(BS_ENTRY_IMAGE, 1, slot));
	atomic_fetch_add(&shm.s->images.ready, 1);
	if (taken)
		bs_ring_advance(shm.image_ring);
	return slot;
}

static size_t stored_image(unsigned char *msg)
{
	struct bs_wire w = { .kind = BS_WIRE_IMAGE, .session = 5, .seq = 1 };

	memset(msg + BS_WIRE_BYTES, 1, 100);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, 100);
	return BS_WIRE_BYTES + 100;
}

static void store_image(uint64_t number)
{
	unsigned char msg[400];

	CHECK(bs_store_append(e.store, msg, stored_image(msg), number, &why) == 0,
	      "an image is stored");
}

static bool there(void)
{
	return bs_endpoint_connections_now(&e.archive) != 0;
}

static void connect_archive(struct bs_endpoint *in)
{
	CHECK(bs_endpoint_connect(in, BS_ENDPOINT_ARCHIVE_IN, url, 1u << 20, &why) == 0,
	      "an archive connects");
	AWAIT(there());
}

static void line_setup(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/boreside-front-XXXXXX");
	if (mkdtemp(dir) == NULL)
		exit(1);
	(void)snprintf(folder, sizeof(folder), "%s/images", dir);
	(void)snprintf(url, sizeof(url), "ipc://%s/archive.ipc", dir);
	site = (struct bs_site){ .acq_slots = 2,
				 .image_slots = 2 * SENT,
				 .overload = { .queue = 2, .spill_mib = 1 },
				 .protocols = 1 };
	(void)snprintf(site.overload.spill_dir, sizeof(site.overload.spill_dir), "%s", dir);
	(void)snprintf(site.archive_url, sizeof(site.archive_url), "%s", url);
	site.sinks = 1;
	site.overload.sinks = BS_POLICY_SPILL;
	site.protocol[0] = with_name(lines_of(16, 16, 1, 16, 1), "p");
}

static void line_remove(void)
{
	char command[120];

	bs_shm_close(&shm);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
}

#endif
