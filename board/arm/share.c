/* board/arm/share.c - the service's own share of an image's time; see measuring.h */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "board/arm/measuring.h"
#include "core/frame/attributes.h"
#include "core/memory/pools.h"
#include "core/thread/clock.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

#define LOOK_MS 50 /* time between two looks at whether the other thread has given up */

/* Makes readout 0 as a sender would send it. */
static void make_readout(struct measuring *m)
{
	const struct bs_traj *t = bs_measuring_table(m);
	struct bs_mrd_acq h = bs_measuring_head(m, 0);
	unsigned char *payload = m->message + BS_WIRE_BYTES;
	unsigned char *at = payload + BS_MRD_ACQ_BYTES;
	struct bs_wire w = { .kind = BS_WIRE_ACQ, .session = 1, .seq = 1 };

	bs_mrd_put_acq(payload, &h);
	for (size_t i = 0; t != NULL && i < (size_t)t->samples * t->dims; i++) {
		float k = (float)((double)t->k[i] /
				  bs_traj_unit_scale(m->p, (uint32_t)(i % t->dims)));

		memcpy(at, &k, sizeof(k));
		at += sizeof(k);
	}
	memcpy(at, m->samples, (size_t)m->p->samples * m->p->coils * 2 * sizeof(float));
	m->message_len = BS_WIRE_BYTES + (size_t)bs_mrd_acq_bytes(&h);
	bs_wire_encode(m->message, &w, payload, m->message_len - BS_WIRE_BYTES);
}

static int receive_once(struct measuring *m, struct bs_fail *why)
{
	const struct bs_scan_info info = { 0 };
	const struct bs_intake in = {
		.p = m->p, .table = bs_measuring_table(m), .info = &info, .room = SIZE_MAX
	};
	const unsigned char *payload;
	struct bs_mrd_acq head;
	struct bs_wire w;
	size_t traj_at = 0;
	size_t data_at = 0;
	uint32_t row;
	int rc = bs_wire_decode(&w, m->message, m->message_len, &payload, why);

	if (rc == 0)
		rc = bs_mrd_parse_acq(&head, &traj_at, &data_at, payload, (size_t)w.payload_len,
				      why);
	if (rc == 0)
		rc = bs_admit_acq(&in, &head, payload + traj_at, payload + data_at, &row, why);
	if (rc == 0)
		bs_intake_put(&in, &head, row, payload + traj_at, payload + data_at, m->samples);
	return rc;
}

static int hand_once(struct measuring *m, struct bs_fail *why)
{
	char words[BS_POOLS_ATTRIBUTES];
	char xml[BS_POOLS_ATTRIBUTES];
	const struct bs_recon_image image = { 0 };
	const struct bs_image_timing timing = { .latency_ns = 1, .sender_ns = 1 };
	struct bs_wire w = { .kind = BS_WIRE_IMAGE, .session = 1, .seq = 1 };
	int n = bs_attributes_write(words, sizeof(words), m->p, bs_armed_engine(m->a), &image,
				    &timing, NULL);

	if (n == 0)
		n = bs_attributes_xml(xml, sizeof(xml), words);
	if (n < 0)
		return bs_fail(why, n, "attributes");
	bs_wire_encode(m->pixels, &w, m->pixels + BS_WIRE_BYTES,
		       (size_t)bs_protocol_leaving_bytes(m->p));
	return 0;
}

struct echo {
	int ask, answer;
	_Atomic bool over;
};

/* Waits for the descriptor's signal. False: the other thread has given up. */
static bool is_rung(const struct echo *e, int fd)
{
	struct pollfd bell = { fd, POLLIN, 0 };
	uint64_t count;

	while (poll(&bell, 1, LOOK_MS) != 1)
		if (atomic_load(&e->over))
			return false;
	return read(fd, &count, sizeof(count)) == sizeof(count);
}

static bool ring(int fd)
{
	const uint64_t one = 1;

	return write(fd, &one, sizeof(one)) == sizeof(one);
}

static void *answer_all(void *arg)
{
	struct echo *e = arg;

	while (is_rung(e, e->ask) && !atomic_load(&e->over) && ring(e->answer))
		;
	atomic_store(&e->over, true);
	return NULL;
}

static int measure_wake(struct measuring *m, struct bs_fail *why)
{
	const struct timespec nap = { 0, 300000 };
	struct echo e = { .ask = eventfd(0, EFD_CLOEXEC), .answer = eventfd(0, EFD_CLOEXEC) };
	struct series s = { .n = 0 };
	struct bs_estimate *wake = &m->out->cost[BS_COST_WAKE][BS_CONDITION_WARM];
	pthread_t answers;
	int rc = 0;

	if (e.ask < 0 || e.answer < 0 || pthread_create(&answers, NULL, answer_all, &e) != 0) {
		rc = bs_fail(why, BS_ERR_IO, "no eventfd or thread to time a wake-up with");
		goto out;
	}
	for (int i = 0; rc == 0 && i < 200; i++) {
		int64_t t0;

		(void)nanosleep(&nap, NULL); /* time for the other thread to fall asleep */
		t0 = bs_now_ns();
		/* a round trip has as many wake-ups as an image needs */
		if (!ring(e.ask) || !is_rung(&e, e.answer))
			rc = bs_fail(why, BS_ERR_IO, "no answer to time a wake-up with");
		bs_measuring_note(m, &s, t0, 0);
	}
	atomic_store(&e.over, true);
	(void)ring(e.ask);
	(void)pthread_join(answers, NULL);
	bs_estimate_make(wake, s.at, s.n, m->out->margin);
out:
	if (e.ask >= 0)
		(void)close(e.ask);
	if (e.answer >= 0)
		(void)close(e.answer);
	return rc;
}

static int measure_share(struct measuring *m, enum bs_cost cost,
			 int (*once)(struct measuring *, struct bs_fail *), struct bs_fail *why)
{
	int rc = 0;

	for (int cold = 0; rc == 0 && cold < 2; cold++) {
		struct series s = { .n = 0 };
		int64_t until = bs_now_ns() + llrint(0.25 * m->env->seconds * 1e9);

		for (int i = 0; rc == 0 && i < 128 && (i < 3 || bs_now_ns() < until); i++) {
			if (cold)
				bs_measuring_sweep(m);
			int64_t t0 = bs_now_ns();

			rc = once(m, why);
			bs_measuring_note(m, &s, t0, 0);
		}
		bs_estimate_make(&m->out->cost[cost][cold ? BS_CONDITION_COLD : BS_CONDITION_WARM],
				 s.at, s.n, m->out->margin);
	}
	return rc;
}

int bs_measure_share(struct measuring *m, struct bs_fail *why)
{
	int rc;

	make_readout(m);
	rc = measure_share(m, BS_COST_RECEIVE, receive_once, why);
	if (rc == 0)
		rc = measure_share(m, BS_COST_HAND, hand_once, why);
	return rc == 0 ? measure_wake(m, why) : rc;
}
