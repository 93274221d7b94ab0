/* ipc/shm/shm.c - see shm.h */
#define _GNU_SOURCE /* memfd_create, seals */
#include "ipc/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/thread/clock.h"

/* Where a trajectory table's parts lie, from its start. */
struct table_head {
	uint32_t dims, samples, readouts, keyed;
	uint64_t k_at, step1_at, step2_at;
};

/* Adds a part of bytes, on a page when it is large; sets overflow rather than wrap. */
static uint64_t place(uint64_t *end, uint64_t count, uint64_t bytes, bool *overflow)
{
	uint64_t size;
	uint64_t at;

	if (__builtin_mul_overflow(count, bytes, &size) ||
	    __builtin_add_overflow(*end, size >= 4096 ? 4095u : 63u, &at)) {
		*overflow = true;
		return 0;
	}
	at &= ~(uint64_t)(size >= 4096 ? 4095u : 63u);
	if (__builtin_add_overflow(at, size, end))
		*overflow = true;
	return at;
}

static uint64_t table_bytes(const struct bs_traj *t, struct table_head *h)
{
	uint64_t end = sizeof(*h);
	bool overflow = false;

	*h = (struct table_head){ t->dims, t->samples, t->readouts, t->keyed, 0, 0, 0 };
	h->k_at =
		place(&end, (uint64_t)t->readouts * t->samples, t->dims * sizeof(float), &overflow);
	h->step1_at = place(&end, t->readouts, sizeof(uint16_t), &overflow);
	h->step2_at = place(&end, t->readouts, sizeof(uint16_t), &overflow);
	return overflow ? UINT64_MAX : end;
}

/* The one place that decides where everything lies. s: only its offsets and sizes are set. */
static int lay_out(struct bs_shared *s, const struct bs_site *site, const struct bs_traj *tables,
		   struct bs_fail *why)
{
	uint64_t end = sizeof(struct bs_shared);
	bool overflow = false;
	struct table_head h;
	int rc = bs_pools_size(&s->pools, site, why);

	if (rc != 0)
		return rc;
	/* a slot each, and headers, closes and ends beside them: a push with a slot never fails */
	s->acq_ring_at =
		place(&end, 1, bs_ring_bytes(bs_ring_capacity(s->pools.acq_slots + 64)), &overflow);
	s->image_ring_at = place(
		&end, 1, bs_ring_bytes(bs_ring_capacity(s->pools.image_slots + 64)), &overflow);
	s->acq_pool_at = place(&end, 1, bs_pool_bytes((uint32_t)s->pools.acq_slots), &overflow);
	s->image_pool_at = place(&end, 1, bs_pool_bytes((uint32_t)s->pools.image_slots), &overflow);
	s->acq_meta_at = place(&end, s->pools.acq_slots, sizeof(struct bs_acq_meta), &overflow);
	s->image_meta_at =
		place(&end, s->pools.image_slots, sizeof(struct bs_image_meta), &overflow);
	s->hist_at = place(&end, (uint64_t)site->protocols * BS_STAGES, sizeof(struct bs_hist),
			   &overflow);
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		s->table_at[i] = i < site->protocols && tables[i].k != NULL
					 ? place(&end, 1, table_bytes(&tables[i], &h), &overflow)
					 : 0;
	s->acq_at = place(&end, s->pools.acq_slots, s->pools.acq_bytes, &overflow);
	s->image_at = place(&end, s->pools.image_slots, s->pools.image_bytes, &overflow);
	s->total_bytes = (end + 4095) & ~(uint64_t)4095;
	if (overflow || s->total_bytes > INT64_MAX / 2)
		return bs_fail(why, BS_ERR_NOMEM, "the shared memory does not fit 63 bits");
	return 0;
}

static void set_views(struct bs_shm *m)
{
	unsigned char *base = (unsigned char *)m->s;

	m->acq_ring = (struct bs_ring *)(base + m->s->acq_ring_at);
	m->image_ring = (struct bs_ring *)(base + m->s->image_ring_at);
	m->acq_pool = (struct bs_pool *)(base + m->s->acq_pool_at);
	m->image_pool = (struct bs_pool *)(base + m->s->image_pool_at);
	m->acq_meta = (struct bs_acq_meta *)(base + m->s->acq_meta_at);
	m->image_meta = (struct bs_image_meta *)(base + m->s->image_meta_at);
	m->hist = (struct bs_hist *)(base + m->s->hist_at);
}

static void put_table(struct bs_shm *m, uint32_t protocol, const struct bs_traj *t)
{
	unsigned char *at = (unsigned char *)m->s + m->s->table_at[protocol];
	struct table_head h;

	(void)table_bytes(t, &h);
	memcpy(at, &h, sizeof(h));
	memcpy(at + h.k_at, t->k, (size_t)t->readouts * t->samples * t->dims * sizeof(float));
	if (t->step1 != NULL)
		memcpy(at + h.step1_at, t->step1, t->readouts * sizeof(uint16_t));
	if (t->step2 != NULL)
		memcpy(at + h.step2_at, t->step2, t->readouts * sizeof(uint16_t));
}

bool bs_shm_table(const struct bs_shm *m, uint32_t protocol, struct bs_traj *t)
{
	unsigned char *at = (unsigned char *)m->s + m->s->table_at[protocol];
	struct table_head h;

	if (m->s->table_at[protocol] == 0)
		return false;
	memcpy(&h, at, sizeof(h));
	*t = (struct bs_traj){ .dims = h.dims,
			       .samples = h.samples,
			       .readouts = h.readouts,
			       .k = (float *)(at + h.k_at),
			       .step1 = (uint16_t *)(at + h.step1_at),
			       .step2 = (uint16_t *)(at + h.step2_at),
			       .keyed = h.keyed != 0 };
	return true;
}

static int make_memory(struct bs_shm *m, uint64_t bytes, struct bs_fail *why)
{
	m->bytes = (size_t)bytes;
	m->fd = memfd_create("boreside", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0)
		return bs_fail(why, BS_ERR_IO, "memfd_create: %s", strerror(errno));
	/* fallocate, not only ftruncate: a full /dev/shm must fail here, not as SIGBUS in a scan */
	if (ftruncate(m->fd, (off_t)bytes) != 0 || fallocate(m->fd, 0, 0, (off_t)bytes) != 0)
		return bs_fail(why, BS_ERR_NOMEM, "shared memory of %llu bytes: %s",
			       (unsigned long long)bytes, strerror(errno));
	if (fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return bs_fail(why, BS_ERR_IO, "sealing the shared memory: %s", strerror(errno));
	m->s = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, m->fd, 0);
	if (m->s == MAP_FAILED) {
		m->s = NULL;
		return bs_fail(why, BS_ERR_NOMEM, "mapping %llu bytes of shared memory: %s",
			       (unsigned long long)bytes, strerror(errno));
	}
	for (int i = 0; i < BS_BELLS; i++) {
		m->bell_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (m->bell_fd[i] < 0)
			return bs_fail(why, BS_ERR_IO, "eventfd: %s", strerror(errno));
	}
	return 0;
}

static void clear(struct bs_shm *m)
{
	memset(m, 0, sizeof(*m));
	m->fd = -1;
	for (int i = 0; i < BS_BELLS; i++)
		m->bell_fd[i] = -1;
}

int bs_shm_create(struct bs_shm *m, const struct bs_site *site, const struct bs_traj *tables,
		  struct bs_fail *why)
{
	struct bs_shared *plan = calloc(1, sizeof(*plan));
	int rc;

	clear(m);
	if (plan == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "planning the shared memory");
	rc = lay_out(plan, site, tables, why);
	if (rc == 0)
		rc = make_memory(m, plan->total_bytes, why);
	if (rc != 0) {
		free(plan);
		bs_shm_close(m);
		return rc;
	}
	memcpy(m->s, plan, sizeof(*plan));
	free(plan);
	m->s->site = *site;
	m->s->started_ns = bs_now_ns();
	set_views(m);
	bs_ring_init(m->acq_ring, bs_ring_capacity(m->s->pools.acq_slots + 64));
	bs_ring_init(m->image_ring, bs_ring_capacity(m->s->pools.image_slots + 64));
	bs_pool_init(m->acq_pool, (uint32_t)m->s->pools.acq_slots);
	bs_pool_init(m->image_pool, (uint32_t)m->s->pools.image_slots);
	for (uint32_t i = 0; i < site->protocols; i++)
		if (tables[i].k != NULL)
			put_table(m, i, &tables[i]);
	m->s->struct_bytes = sizeof(struct bs_shared);
	m->s->version = BS_SHM_VERSION;
	m->s->magic = BS_SHM_MAGIC; /* last: a memory without it was never finished */
	return 0;
}

/* A part of bytes at at lies inside, behind the head, and is aligned. */
static bool inside(const struct bs_shared *s, uint64_t at, uint64_t count, uint64_t bytes)
{
	uint64_t size;

	return at % 64 == 0 && at >= sizeof(*s) && at <= s->total_bytes &&
	       !__builtin_mul_overflow(count, bytes, &size) && size <= s->total_bytes - at;
}

static bool table_inside(const struct bs_shared *s, uint64_t at)
{
	struct table_head h, again;
	uint64_t bytes;

	if (at == 0)
		return true;
	if (!inside(s, at, 1, sizeof(h)))
		return false;
	memcpy(&h, (const unsigned char *)s + at, sizeof(h));
	bytes = table_bytes(&(struct bs_traj){ .dims = h.dims,
					       .samples = h.samples,
					       .readouts = h.readouts,
					       .keyed = h.keyed != 0 },
			    &again);
	return inside(s, at, 1, bytes) && h.k_at == again.k_at && h.step1_at == again.step1_at &&
	       h.step2_at == again.step2_at;
}

static int check_views(const struct bs_shm *m, struct bs_fail *why)
{
	const struct bs_shared *s = m->s;
	const struct bs_pools *p = &s->pools;
	bool good = p->acq_slots <= UINT32_MAX / 2 && p->image_slots <= UINT32_MAX / 2 &&
		    s->site.protocols <= BS_PROTOCOLS_MAX;
	uint64_t acq_cap = good ? bs_ring_capacity(p->acq_slots + 64) : 2;
	uint64_t image_cap = good ? bs_ring_capacity(p->image_slots + 64) : 2;

	good = good && inside(s, s->acq_ring_at, 1, bs_ring_bytes(acq_cap)) &&
	       inside(s, s->image_ring_at, 1, bs_ring_bytes(image_cap)) &&
	       inside(s, s->acq_pool_at, 1, bs_pool_bytes((uint32_t)p->acq_slots)) &&
	       inside(s, s->image_pool_at, 1, bs_pool_bytes((uint32_t)p->image_slots)) &&
	       inside(s, s->acq_meta_at, p->acq_slots, sizeof(struct bs_acq_meta)) &&
	       inside(s, s->image_meta_at, p->image_slots, sizeof(struct bs_image_meta)) &&
	       inside(s, s->acq_at, p->acq_slots, p->acq_bytes) &&
	       inside(s, s->image_at, p->image_slots, p->image_bytes) &&
	       inside(s, s->hist_at, (uint64_t)s->site.protocols * BS_STAGES,
		      sizeof(struct bs_hist));
	for (uint32_t i = 0; good && i < BS_PROTOCOLS_MAX; i++)
		good = table_inside(s, s->table_at[i]);
	if (!good)
		return bs_fail(why, BS_ERR_FORMAT,
			       "the shared memory's offsets do not fit its size");
	if (m->acq_ring->mask != acq_cap - 1 || m->image_ring->mask != image_cap - 1 ||
	    m->acq_pool->slots != p->acq_slots || m->image_pool->slots != p->image_slots)
		return bs_fail(why, BS_ERR_FORMAT,
			       "the shared rings and pools are not as laid out");
	return 0;
}

int bs_shm_attach(struct bs_shm *m, int fd, const int bell_fd[BS_BELLS], struct bs_fail *why)
{
	struct stat st;
	int rc;

	clear(m);
	m->fd = fd;
	memcpy(m->bell_fd, bell_fd, sizeof(m->bell_fd));
	if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(struct bs_shared)) {
		rc = bs_fail(why, BS_ERR_FORMAT, "descriptor %d is not the service's memory", fd);
		goto fail;
	}
	m->bytes = (size_t)st.st_size;
	m->s = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (m->s == MAP_FAILED) {
		m->s = NULL;
		rc = bs_fail(why, BS_ERR_NOMEM, "mapping %zu bytes of shared memory: %s", m->bytes,
			     strerror(errno));
		goto fail;
	}
	rc = bs_fail(why, BS_ERR_FORMAT,
		     "the shared memory is another program's or another version's");
	if (m->s->magic != BS_SHM_MAGIC || m->s->version != BS_SHM_VERSION ||
	    m->s->struct_bytes != sizeof(struct bs_shared) || m->s->total_bytes != m->bytes)
		goto fail;
	set_views(m);
	rc = check_views(m, why);
	if (rc != 0)
		goto fail;
	return 0;
fail:
	bs_shm_close(m);
	return rc;
}

void bs_shm_close(struct bs_shm *m)
{
	if (m->s != NULL)
		(void)munmap(m->s, m->bytes);
	if (m->fd >= 0)
		(void)close(m->fd);
	for (int i = 0; i < BS_BELLS; i++)
		if (m->bell_fd[i] >= 0)
			(void)close(m->bell_fd[i]);
	clear(m);
}

/*
 * Marks the slots that a ring holds. The tail is read first: a slot that the living consumer took
 * out before carries the consumer's mark already, one that it takes out later is marked here.
 */
static void mark_ring(const struct bs_ring *r, uint8_t *keep, uint32_t slots)
{
	uint64_t tail = atomic_load(&r->tail);
	uint64_t head = atomic_load(&r->head);

	for (uint64_t i = tail; i != head && i - tail <= r->mask; i++) {
		enum bs_entry_kind kind = bs_entry_kind(r->entry[i & r->mask]);
		uint32_t slot = bs_entry_slot(r->entry[i & r->mask]);

		if ((kind == BS_ENTRY_ACQ || kind == BS_ENTRY_IMAGE) && slot < slots)
			keep[slot] = 1;
	}
}

/* In the dead consumer's place: nothing of its queue will be used. */
static uint32_t drain_acq(struct bs_shm *m)
{
	uint32_t freed = 0;
	uint64_t e;

	while (bs_ring_peek(m->acq_ring, &e)) {
		if (bs_entry_kind(e) == BS_ENTRY_ACQ && bs_entry_slot(e) < m->acq_pool->slots) {
			bs_pool_give(m->acq_pool, bs_entry_slot(e));
			freed++;
		}
		bs_ring_advance(m->acq_ring);
	}
	return freed;
}

uint32_t bs_shm_recover(struct bs_shm *m, enum bs_worker worker, struct bs_fail *why)
{
	uint32_t slots = m->acq_pool->slots > m->image_pool->slots ? m->acq_pool->slots
								   : m->image_pool->slots;
	uint8_t *keep = calloc(slots, 1);
	uint32_t freed = 0;

	if (keep == NULL) {
		(void)bs_fail(why, BS_ERR_NOMEM, "recovering %u slots", slots);
		return 0;
	}
	switch (worker) {
	case BS_WORKER_INGEST:
		mark_ring(m->acq_ring, keep, m->acq_pool->slots);
		freed = bs_pool_reclaim(m->acq_pool, BS_OWNER_INGEST, keep);
		break;
	case BS_WORKER_RECON:
		freed = drain_acq(m);
		freed += bs_pool_reclaim(m->acq_pool, BS_OWNER_RECON, NULL);
		mark_ring(m->image_ring, keep, m->image_pool->slots);
		freed += bs_pool_reclaim(m->image_pool, BS_OWNER_RECON, keep);
		break;
	case BS_WORKER_EMIT:
		mark_ring(m->image_ring, keep, m->image_pool->slots);
		freed = bs_pool_reclaim(m->image_pool, BS_OWNER_EMIT, keep);
		break;
	default:
		break;
	}
	free(keep);
	return freed;
}
