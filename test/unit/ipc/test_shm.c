/* test/unit/ipc/test_shm.c - the shared memory: layout, refusals at attach, bells, recovery after a
 * death */
#define _GNU_SOURCE
#include "ipc/shm/shm.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_site site;
static struct bs_traj tables[BS_PROTOCOLS_MAX];

static void make_site(void)
{
	struct bs_protocol *p = &site.protocol[0];

	site.acq_slots = 16;
	site.image_slots = 3;
	site.protocols = 2;
	*p = with_name(served_spokes(BS_METHOD_GRIDDING, 32, 4), "radial");
	site.protocol[1] = *p;
	site.protocol[1].method = BS_METHOD_CARTESIAN;
	if (bs_traj_open(&tables[0], 2, 64, 4, NULL) != 0)
		exit(1);
	for (int i = 0; i < 2 * 64 * 4; i++)
		tables[0].k[i] = (float)i / 1024.0f;
	tables[0].keyed = true;
	tables[0].step1[3] = 3;
}

static void test_layout(struct bs_shm *m)
{
	int bells[BS_BELLS];
	struct bs_shm other;
	struct bs_traj t;
	struct bs_fail why;

	CHECK(bs_shm_create(m, &site, tables, &why) == 0, "created");
	for (int i = 0; i < BS_BELLS; i++)
		bells[i] = dup(m->bell_fd[i]);
	CHECK(bs_shm_attach(&other, dup(m->fd), bells, &why) == 0, "attached");
	CHECK(((uintptr_t)bs_shm_samples(m, 1) & 63) == 0 &&
		      ((uintptr_t)bs_shm_image(m, 2) & 63) == 0,
	      "slots lie on cache lines");
	memset(bs_shm_samples(m, 15), 0x5a, m->s->pools.acq_bytes);
	memset(bs_shm_image(m, 2), 0x5a, m->s->pools.image_bytes);
	CHECK(((unsigned char *)bs_shm_samples(&other, 15))[m->s->pools.acq_bytes - 1] == 0x5a,
	      "the other mapping sees the last byte");
	CHECK(bs_shm_table(&other, 0, &t) && t.samples == 64 && t.readouts == 4 && t.keyed &&
		      t.k[511] == 511.0f / 1024.0f && t.step1[3] == 3,
	      "the trajectory table came along");
	CHECK(!bs_shm_table(&other, 1, &t), "a Cartesian protocol has none");
	CHECK(ftruncate(m->fd, 4096) != 0, "the memory is sealed against shrinking");
	bs_shm_close(&other);
}

static int no_fd(int bells[BS_BELLS])
{
	for (int i = 0; i < BS_BELLS; i++)
		bells[i] = -1;
	return 0;
}

static void test_refusals(struct bs_shm *m)
{
	struct bs_shm other;
	struct bs_fail why = { 0 };
	int bells[BS_BELLS];
	int empty = memfd_create("test", MFD_CLOEXEC);

	(void)no_fd(bells);
	CHECK(bs_shm_attach(&other, empty, bells, &why) == BS_ERR_FORMAT, "an empty file: %s",
	      why.text);
#define SPOIL(what, field, value)                                                                  \
	do {                                                                                       \
		uint64_t good = (field);                                                           \
		(field) = (value);                                                                 \
		CHECK(bs_shm_attach(&other, dup(m->fd), bells, &why) == BS_ERR_FORMAT,             \
		      what ": %s", why.text);                                                      \
		(field) = good;                                                                    \
	} while (0)
	SPOIL("magic", m->s->magic, 1);
	SPOIL("size", m->s->at.total_bytes, m->s->at.total_bytes + 4096);
	SPOIL("an offset beyond the end", m->s->at.image, m->s->at.total_bytes);
	SPOIL("an offset that wraps", m->s->at.acq, UINT64_MAX - 63);
	SPOIL("an offset into the head", m->s->at.acq_ring, 64);
	SPOIL("slots that overflow", m->s->pools.acq_bytes, UINT64_MAX / 2);
	SPOIL("slots that differ from the pool's", m->s->pools.acq_slots, 15);
	SPOIL("a table outside", m->s->area.table[0], m->s->area.bytes - 64);
	CHECK(bs_shm_attach(&other, dup(m->fd), bells, &why) == 0, "and all is well again");
	bs_shm_close(&other);
}

static struct bs_shm *bell_shm;
static _Atomic int work;

static void *sleeper(void *arg)
{
	struct bs_bell *b = &bell_shm->s->worker[BS_WORKER_RECON].bell;
	struct pollfd p = { bell_shm->bell_fd[BS_WORKER_RECON], POLLIN, 0 };
	int *missed = arg;

	for (int i = 0; i < 20000;) {
		if (atomic_load(&work) > i) {
			i++;
			continue;
		}
		bs_bell_announce(b);
		if (atomic_load(&work) == i && poll(&p, 1, AWAIT_MS) == 0)
			(*missed)++;
		bs_bell_awake(b, p.fd);
	}
	return NULL;
}

/* Never asleep with work to do: a lost wake-up would sleep for the whole minute. */
static void test_bell(struct bs_shm *m)
{
	pthread_t t;
	int missed = 0;

	bell_shm = m;
	if (pthread_create(&t, NULL, sleeper, &missed) != 0)
		exit(1);
	for (int i = 0; i < 20000; i++) {
		atomic_fetch_add(&work, 1);
		bs_shm_ring_bell(m, BS_WORKER_RECON);
		for (int j = 0; j < i % 64; j++)
			(void)atomic_load(&work);
	}
	(void)pthread_join(t, NULL);
	CHECK(missed == 0, "20000 rings, %d missed", missed);
}

static uint32_t take(struct bs_pool *p, enum bs_owner who)
{
	uint32_t s = UINT32_MAX;

	(void)bs_pool_take(p, who, &s);
	return s;
}

static void test_recover(struct bs_shm *m)
{
	struct bs_pool *acq = m->acq_pool;
	struct bs_pool *img = m->image_pool;
	uint32_t a[6];
	uint64_t e;

	/* ingest holds 0, 1; 2, 3 are in the ring; recon claimed 4 (still in the ring) and 5 (out)
	 */
	for (int i = 0; i < 6; i++)
		a[i] = take(acq, BS_OWNER_INGEST);
	(void)bs_ring_push(m->acq_ring, bs_entry(BS_ENTRY_OPEN, 9, 0));
	(void)bs_ring_pop(m->acq_ring, &e);
	(void)bs_ring_push(m->acq_ring, bs_entry(BS_ENTRY_ACQ, 9, a[4]));
	(void)bs_ring_push(m->acq_ring, bs_entry(BS_ENTRY_ACQ, 9, a[2]));
	(void)bs_ring_push(m->acq_ring, bs_entry(BS_ENTRY_ACQ, 9, a[3]));
	bs_pool_claim(acq, a[4], BS_OWNER_RECON);
	bs_pool_claim(acq, a[5], BS_OWNER_RECON);
	CHECK(bs_shm_recover(m, BS_WORKER_INGEST, NULL) == 2 && bs_pool_in_use(acq) == 4,
	      "ingest's death frees what only it held");
	CHECK(bs_ring_count(m->acq_ring) == 3, "recon's queue stays");

	/* ingest dies between its decision on a readout and the push: its successor pushes it */
	uint32_t decided = take(acq, BS_OWNER_INGEST);
	struct bs_scan_step *step = &m->s->scan[0].step[0];

	step->entry = bs_entry(BS_ENTRY_ACQ, 9, decided);
	step->entries = atomic_load(&m->acq_ring->head) + 1;
	CHECK(bs_shm_recover(m, BS_WORKER_INGEST, NULL) == 0, "the slot of what it decided stays");
	step->entries--;
	CHECK(bs_shm_recover(m, BS_WORKER_INGEST, NULL) == 1,
	      "not when it is in no queue any more");

	/* recon dies: its queue is void; an image it was making is freed, one it passed on is not
	 */
	uint32_t made = take(img, BS_OWNER_RECON);
	uint32_t passed = take(img, BS_OWNER_RECON);

	(void)bs_ring_push(m->image_ring, bs_entry(BS_ENTRY_IMAGE, 9, passed));
	CHECK(bs_shm_recover(m, BS_WORKER_RECON, NULL) == 5,
	      "recon's death frees 4 readouts, 1 image");
	CHECK(bs_pool_in_use(acq) == 0 && bs_ring_count(m->acq_ring) == 0, "its queue is empty");
	CHECK(img->owner[made] == BS_OWNER_FREE && img->owner[passed] == BS_OWNER_RECON,
	      "the image that was passed on lives");

	/* emit dies with one in hand (still queued) and one taken out already */
	uint32_t out = take(img, BS_OWNER_RECON);

	bs_pool_claim(img, passed, BS_OWNER_EMIT);
	bs_pool_claim(img, out, BS_OWNER_EMIT);
	CHECK(bs_shm_recover(m, BS_WORKER_EMIT, NULL) == 1 && img->owner[out] == BS_OWNER_FREE,
	      "emit's death frees what it had finished with");
	CHECK(bs_ring_peek(m->image_ring, &e) && bs_entry_kind(e) == BS_ENTRY_IMAGE &&
		      bs_entry_slot(e) == passed && img->owner[passed] == BS_OWNER_EMIT,
	      "the image it was at waits for its successor");
}

/* What recon could not use: each readout once, the newest are kept. */
static void test_unused(void)
{
	static struct bs_unused u;
	const struct bs_fail why = { .code = BS_ERR_SEQUENCE, .text = "a line that was there" };
	struct bs_unused_readout r;
	bool all = true;

	for (uint64_t seq = 1; seq <= BS_UNUSED_KEPT + 3; seq++)
		all = all && bs_unused_put(&u, 7, seq, &why);
	CHECK(all && atomic_load(&u.count) == BS_UNUSED_KEPT + 3, "readouts are noted");
	CHECK(!bs_unused_put(&u, 7, BS_UNUSED_KEPT, &why) && bs_unused_put(&u, 8, 1, &why),
	      "each once, of each scan");
	/* of the oldest place it cannot be known whether it is being written over */
	CHECK(!bs_unused_get(&u, 0, &r) && !bs_unused_get(&u, 4, &r), "older ones are gone");
	CHECK(bs_unused_get(&u, 5, &r) && r.scan == 7 && r.seq == 6 && r.code == why.code &&
		      strcmp(r.text, why.text) == 0,
	      "newer ones are as they were");
	CHECK(bs_unused_get(&u, BS_UNUSED_KEPT + 3, &r) && r.scan == 8 && r.seq == 1,
	      "and the newest");
}

int main(void)
{
	struct bs_shm m;

	test_unused();

	make_site();
	test_layout(&m);
	test_refusals(&m);
	test_bell(&m);
	test_recover(&m);
	bs_shm_close(&m);
	bs_traj_close(&tables[0]);
	return check_done();
}
