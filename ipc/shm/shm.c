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

/* At the start of a trajectory table; k, step1 and step2 follow it as table_bytes lays them. */
struct table_head {
	uint32_t dims, samples, readouts, keyed;
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

/* A slot each, and headers, closes and ends beside them: a push with a slot never fails. */
static uint64_t ring_entries(uint64_t slots)
{
	return bs_ring_capacity(slots + 64);
}

/* Of a table of t's sizes; where its parts lie, from its start. UINT64_MAX: it fits no memory. */
static uint64_t table_bytes(const struct bs_traj *t, uint64_t part[3])
{
	uint64_t end = sizeof(struct table_head);
	bool overflow = false;

	part[0] =
		place(&end, (uint64_t)t->readouts * t->samples, t->dims * sizeof(float), &overflow);
	part[1] = place(&end, t->readouts, sizeof(uint16_t), &overflow);
	part[2] = place(&end, t->readouts, sizeof(uint16_t), &overflow);
	return overflow ? UINT64_MAX : end;
}

/* The one place that decides where everything lies. */
static int lay_out(struct bs_layout *l, struct bs_pools *pools, const struct bs_site *site,
		   const struct bs_traj *tables, struct bs_fail *why)
{
	uint64_t end = sizeof(struct bs_shared);
	bool overflow = false;
	uint64_t part[3];
	int rc = bs_pools_size(pools, site, why);

	memset(l, 0, sizeof(*l));
	if (rc != 0)
		return rc;
	l->acq_ring = place(&end, 1, bs_ring_bytes(ring_entries(pools->acq_slots)), &overflow);
	l->image_ring = place(&end, 1, bs_ring_bytes(ring_entries(pools->image_slots)), &overflow);
	l->acq_pool = place(&end, 1, bs_pool_bytes((uint32_t)pools->acq_slots), &overflow);
	l->image_pool = place(&end, 1, bs_pool_bytes((uint32_t)pools->image_slots), &overflow);
	l->acq_meta = place(&end, pools->acq_slots, sizeof(struct bs_acq_meta), &overflow);
	l->image_meta = place(&end, pools->image_slots, sizeof(struct bs_image_meta), &overflow);
	l->hist = place(&end, (uint64_t)site->protocols * BS_STAGES, sizeof(struct bs_hist),
			&overflow);
	for (uint32_t i = 0; i < site->protocols; i++)
		if (tables[i].k != NULL)
			l->table[i] = place(&end, 1, table_bytes(&tables[i], part), &overflow);
	if (pools->study_bytes > 0)
		l->study = place(&end, 1, pools->study_bytes, &overflow);
	l->acq = place(&end, pools->acq_slots, pools->acq_bytes, &overflow);
	l->image = place(&end, pools->image_slots, pools->image_bytes, &overflow);
	l->total_bytes = (end + 4095) & ~(uint64_t)4095;
	if (overflow || l->total_bytes > INT64_MAX / 2)
		return bs_fail(why, BS_ERR_NOMEM, "the shared memory does not fit 63 bits");
	return 0;
}

static void set_views(struct bs_shm *m)
{
	const struct bs_layout *l = &m->s->at;
	unsigned char *base = (unsigned char *)m->s;

	m->acq_ring = (struct bs_ring *)(base + l->acq_ring);
	m->image_ring = (struct bs_ring *)(base + l->image_ring);
	m->acq_pool = (struct bs_pool *)(base + l->acq_pool);
	m->image_pool = (struct bs_pool *)(base + l->image_pool);
	m->acq_meta = (struct bs_acq_meta *)(base + l->acq_meta);
	m->image_meta = (struct bs_image_meta *)(base + l->image_meta);
	m->hist = (struct bs_hist *)(base + l->hist);
	m->study = l->study != 0 ? (struct bs_study *)(base + l->study) : NULL;
}

static void put_table(struct bs_shm *m, uint32_t protocol, const struct bs_traj *t)
{
	unsigned char *at = (unsigned char *)m->s + m->s->at.table[protocol];
	struct table_head h = { t->dims, t->samples, t->readouts, t->keyed };
	uint64_t part[3];

	(void)table_bytes(t, part);
	memcpy(at, &h, sizeof(h));
	memcpy(at + part[0], t->k, (size_t)t->readouts * t->samples * t->dims * sizeof(float));
	if (t->step1 != NULL)
		memcpy(at + part[1], t->step1, t->readouts * sizeof(uint16_t));
	if (t->step2 != NULL)
		memcpy(at + part[2], t->step2, t->readouts * sizeof(uint16_t));
}

bool bs_shm_table(const struct bs_shm *m, uint32_t protocol, struct bs_traj *t)
{
	unsigned char *at = (unsigned char *)m->s + m->s->at.table[protocol];
	struct table_head h;
	uint64_t part[3];

	if (m->s->at.table[protocol] == 0)
		return false;
	memcpy(&h, at, sizeof(h));
	*t = (struct bs_traj){
		.dims = h.dims, .samples = h.samples, .readouts = h.readouts, .keyed = h.keyed != 0
	};
	(void)table_bytes(t, part);
	t->k = (float *)(at + part[0]);
	t->step1 = (uint16_t *)(at + part[1]);
	t->step2 = (uint16_t *)(at + part[2]);
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
	struct bs_layout layout;
	struct bs_pools pools;
	int rc = lay_out(&layout, &pools, site, tables, why);

	clear(m);
	if (rc == 0)
		rc = make_memory(m, layout.total_bytes, why);
	if (rc != 0) {
		bs_shm_close(m);
		return rc;
	}
	m->s->at = layout;
	m->s->pools = pools;
	m->s->site = *site;
	m->s->started_ns = bs_now_ns();
	set_views(m);
	bs_ring_init(m->acq_ring, ring_entries(pools.acq_slots));
	bs_ring_init(m->image_ring, ring_entries(pools.image_slots));
	bs_pool_init(m->acq_pool, (uint32_t)pools.acq_slots);
	bs_pool_init(m->image_pool, (uint32_t)pools.image_slots);
	if (m->study != NULL)
		bs_study_init(m->study, site);
	for (uint32_t i = 0; i < site->protocols; i++)
		if (tables[i].k != NULL)
			put_table(m, i, &tables[i]);
	m->s->struct_bytes = sizeof(struct bs_shared);
	m->s->version = BS_SHM_VERSION;
	m->s->magic = BS_SHM_MAGIC; /* last: a memory without it was never finished */
	return 0;
}

/* The memory, its rings and its pools are laid out as the site and the tables in it ask for. */
static bool sound(struct bs_shm *m)
{
	struct bs_traj tables[BS_PROTOCOLS_MAX] = { 0 };
	const struct bs_shared *s = m->s;
	struct bs_layout again;
	struct bs_pools pools;

	if (s->at.total_bytes != m->bytes || s->site.protocols > BS_PROTOCOLS_MAX)
		return false;
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		if (s->at.table[i] > m->bytes - sizeof(struct table_head))
			return false;
		(void)bs_shm_table(m, i, &tables[i]);
	}
	if (lay_out(&again, &pools, &s->site, tables, NULL) != 0 ||
	    memcmp(&again, &s->at, sizeof(again)) != 0 ||
	    memcmp(&pools, &s->pools, sizeof(pools)) != 0)
		return false;
	set_views(m);
	return m->acq_ring->mask == ring_entries(pools.acq_slots) - 1 &&
	       m->image_ring->mask == ring_entries(pools.image_slots) - 1 &&
	       m->acq_pool->slots == pools.acq_slots && m->image_pool->slots == pools.image_slots &&
	       (m->study == NULL || bs_study_sound(m->study, &s->site));
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
	if (m->s->magic != BS_SHM_MAGIC || m->s->version != BS_SHM_VERSION ||
	    m->s->struct_bytes != sizeof(struct bs_shared))
		rc = bs_fail(why, BS_ERR_FORMAT,
			     "the shared memory is another program's or another version's");
	else if (!sound(m))
		rc = bs_fail(why, BS_ERR_FORMAT, "the shared memory's parts do not fit its size");
	else
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

/* The slot of an entry that ingest had decided on and not pushed: its successor does. */
static void mark_step(const struct bs_shm *m, uint8_t *keep)
{
	const struct bs_scan_record *s = &m->s->scan;
	const struct bs_scan_step *t = &s->step[atomic_load(&s->step_at) & 1];
	const uint32_t slot = bs_entry_slot(t->entry);

	if (t->entries != atomic_load(&m->acq_ring->head) &&
	    bs_entry_kind(t->entry) == BS_ENTRY_ACQ && slot < m->acq_pool->slots)
		keep[slot] = 1;
}

/* Nothing of the queue of a recon that died will be used. */
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
		mark_step(m, keep);
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
