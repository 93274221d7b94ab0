/*
 * test/fault/start/archived.h - an archive that asks (endpoints.images, run/images.ipc) in a thread
 * of its own, and counts what it was given: which image of which scan, how often
 */
#ifndef BS_TEST_FAULT_ARCHIVED_H
#define BS_TEST_FAULT_ARCHIVED_H

#include <pthread.h>
#include <stdatomic.h>

#include "test/support/service.h"

#define ARCHIVE_SCANS  4096u
#define ARCHIVE_IMAGES 256u

static struct {
	const struct service *service;
	pthread_t thread;
	_Atomic bool quit;
	pthread_mutex_t lock;
	struct {
		uint64_t session;
		unsigned images, twice;
		bool has[ARCHIVE_IMAGES];
	} scan[ARCHIVE_SCANS];
	unsigned scans;
} archive = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline void archive_note(uint64_t session, uint64_t seq)
{
	unsigned i = 0;

	(void)pthread_mutex_lock(&archive.lock);
	while (i < archive.scans && archive.scan[i].session != session)
		i++;
	if (i < ARCHIVE_SCANS && seq < ARCHIVE_IMAGES) {
		archive.scans = i < archive.scans ? archive.scans : i + 1;
		archive.scan[i].session = session;
		archive.scan[i].twice += archive.scan[i].has[seq];
		archive.scan[i].images += !archive.scan[i].has[seq];
		archive.scan[i].has[seq] = true;
	}
	(void)pthread_mutex_unlock(&archive.lock);
}

static inline void *archive_run(void *arg)
{
	static unsigned char msg[1 << 20];
	unsigned char question[BS_WIRE_BYTES + BS_WIRE_TAKER];
	struct bs_wire w = { .kind = BS_WIRE_NEXT };
	struct bs_endpoint e;
	char url[128];

	(void)arg;
	(void)snprintf(url, sizeof(url), "ipc://%s/run/images.ipc", archive.service->dir);
	if (bs_endpoint_connect(&e, BS_ENDPOINT_IMAGES_ASK, url, sizeof(msg), NULL) != 0)
		return NULL;
	while (!atomic_load(&archive.quit)) {
		const unsigned char *payload;
		const unsigned char *image;
		struct bs_wire answer;
		struct bs_wire its;
		uint64_t before;
		size_t len;

		bs_wire_put_next(question + BS_WIRE_BYTES, "book");
		bs_wire_encode(question, &w, question + BS_WIRE_BYTES, BS_WIRE_TAKER);
		if (bs_endpoint_send(&e, question, sizeof(question), NULL, 0, 200, NULL) != 0 ||
		    bs_endpoint_recv(&e, msg, sizeof(msg), &len, 200, NULL) != 0 ||
		    bs_wire_decode(&answer, msg, len, &payload, NULL) != 0)
			continue;
		if (answer.kind == BS_WIRE_STORED &&
		    bs_wire_get_stored(&before, &image, &len, payload, (size_t)answer.payload_len,
				       NULL) == 0 &&
		    bs_wire_decode(&its, image, len, &payload, NULL) == 0) {
			archive_note(its.session, its.seq);
			w.seq = answer.seq;
		} else {
			await_pause_ms(2);
		}
	}
	bs_endpoint_close(&e);
	return NULL;
}

static inline bool archive_start(const struct service *s)
{
	archive.service = s;
	return pthread_create(&archive.thread, NULL, archive_run, NULL) == 0;
}

static inline void archive_stop(void)
{
	atomic_store(&archive.quit, true);
	(void)pthread_join(archive.thread, NULL);
}

/* Images of the scan that the archive has; 1000 more for each that it was given twice. */
static inline unsigned archived(uint64_t session)
{
	unsigned n = 0;

	(void)pthread_mutex_lock(&archive.lock);
	for (unsigned i = 0; i < archive.scans; i++)
		if (archive.scan[i].session == session)
			n = archive.scan[i].images + 1000 * archive.scan[i].twice;
	(void)pthread_mutex_unlock(&archive.lock);
	return n;
}

#endif
