/* ipc/shm/shm.c - see shm.h */
#include "ipc/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/memory/stamp.h"
#include "core/thread/clock.h"

/* The head of a trajectory table; k, step1 and step2 follow it as table_bytes lays them out. */
struct table_head {
	uint32_t dims, samples, readouts, keyed;
};

/*
 * Adds a part of count x bytes, on a page boundary when it is large; sets overflow rather than wrap
 * around.
 */
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

/*
 * The entries of a ring: one per slot, and some for headers, closes and ends. So a push with a slot
 * never fails.
 */
static uint64_t ring_entries(uint64_t slots)
{
	return bs_ring_capacity(slots + 64);
}

/*
 * The bytes of a table of t's sizes. part: where its parts lie, from its start. UINT64_MAX: it fits
 * no memory.
 */
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

/* Decides where everything lies, and is the only function that does. */
static int lay_out(struct bs_layout *l, const struct bs_pools *pools, struct bs_fail *why)
{
	uint64_t end = sizeof(struct bs_shared);
	bool overflow = false;

	memset(l, 0, sizeof(*l));
	l->acq_ring = place(&end, 1, bs_ring_bytes(ring_entries(pools->acq_slots)), &overflow);
	l->image_ring = place(&end, 1, bs_ring_bytes(ring_entries(pools->image_slots)), &overflow);
	l->acq_pool = place(&end, 1, bs_pool_bytes((uint32_t)pools->acq_slots), &overflow);
	l->image_pool = place(&end, 1, bs_pool_bytes((uint32_t)pools->image_slots), &overflow);
	l->acq_meta = place(&end, pools->acq_slots, sizeof(struct bs_acq_meta), &overflow);
	l->image_meta = place(&end, pools->image_slots, sizeof(struct bs_image_meta), &overflow);
	l->hist = place(&end, (uint64_t)BS_PROTOCOLS_MAX * BS_STAGES, sizeof(struct bs_hist),
			&overflow);
	if (pools->study_bytes > 0)
		l->study = place(&end, 1, pools->study_bytes, &overflow);
	if (pools->log_bytes > 0)
		l->log = place(&end, 1, pools->log_bytes, &overflow);
	l->acq = place(&end, pools->acq_slots, pools->acq_bytes, &overflow);
	l->image = place(&end, pools->image_slots, pools->image_bytes, &overflow);
	if (pools->step_slots > 0)
		l->stepped = place(&end, pools->step_slots, pools->step_bytes, &overflow);
	if (pools->answer_slots > 0)
		l->answers = place(&end, pools->answer_slots, pools->acq_bytes, &overflow);
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
	m->log = l->log != 0 ? base + l->log : NULL;
}

/* ---- the area of a site and of the site's tables ---- */

/* Computes how many bytes a site and its tables take, and where each table lies. */
static uint64_t lay_area(struct bs_area *area, const struct bs_site *site,
			 const struct bs_traj *tables)
{
	uint64_t end = sizeof(struct bs_site);
	bool overflow = false;
	uint64_t part[3];

	memset(area, 0, sizeof(*area));
	for (uint32_t i = 0; i < site->protocols; i++)
		if (tables[i].k != NULL)
			area->table[i] = place(&end, 1, table_bytes(&tables[i], part), &overflow);
	return overflow || end > INT64_MAX / 4 ? UINT64_MAX : (end + 4095) & ~(uint64_t)4095;
}

static void put_table(unsigned char *at, const struct bs_traj *t)
{
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

int bs_shm_stage(const struct bs_shm *m, struct bs_area *area, const struct bs_site *site,
		 const struct bs_traj *tables, struct bs_fail *why)
{
	const struct bs_area *now = &m->s->area;
	const uint64_t first = m->s->at.total_bytes;
	struct bs_area a;
	struct stat st;
	unsigned char *at;

	a.bytes = lay_area(&a, site, tables);
	a.at = now->bytes == 0 || now->at - first >= a.bytes ? first : now->at + now->bytes;
	if (a.bytes == UINT64_MAX || fstat(m->fd, &st) != 0 ||
	    (a.at + a.bytes > (uint64_t)st.st_size &&
	     ftruncate(m->fd, (off_t)(a.at + a.bytes)) != 0) ||
	    fallocate(m->fd, 0, (off_t)a.at, (off_t)a.bytes) != 0)
		return bs_fail(why, BS_ERR_NOMEM, "%llu bytes of shared memory for tables: %s",
			       (unsigned long long)a.bytes, strerror(errno));
	at = mmap(NULL, (size_t)a.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, (off_t)a.at);
	if (at == MAP_FAILED)
		return bs_fail(why, BS_ERR_NOMEM, "mapping %llu bytes of tables: %s",
			       (unsigned long long)a.bytes, strerror(errno));
	memcpy(at, site, sizeof(*site));
	for (uint32_t i = 0; i < site->protocols; i++)
		if (a.table[i] != 0)
			put_table(at + a.table[i], &tables[i]);
	(void)munmap(at, (size_t)a.bytes);
	*area = a;
	return 0;
}

void bs_shm_unstage(const struct bs_shm *m, const struct bs_area *area)
{
	if (area->bytes != 0)
		(void)fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)area->at,
				(off_t)area->bytes);
}

int bs_shm_staged_site(const struct bs_shm *m, const struct bs_area *area, struct bs_site *site)
{
	return pread(m->fd, site, sizeof(*site), (off_t)area->at) == (ssize_t)sizeof(*site) &&
			       site->protocols <= BS_PROTOCOLS_MAX
		       ? 0
		       : BS_ERR_IO;
}

/* Returns true if the tables lie as their own sizes require. */
static bool area_sound(const struct bs_shm *m, const struct bs_area *a, unsigned char *at)
{
	struct bs_traj tables[BS_PROTOCOLS_MAX] = { 0 };
	struct bs_area again;

	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		struct table_head h;

		if (a->table[i] == 0)
			continue;
		if (a->table[i] > a->bytes - sizeof(h))
			return false;
		memcpy(&h, at + a->table[i], sizeof(h));
		tables[i] = (struct bs_traj){ .dims = h.dims,
					      .samples = h.samples,
					      .readouts = h.readouts,
					      .k = (float *)at };
	}
	again.bytes = lay_area(&again, &m->s->site, tables);
	again.at = a->at;
	return memcmp(&again, a, sizeof(again)) == 0;
}

int bs_shm_map_tables(struct bs_shm *m, struct bs_fail *why)
{
	const struct bs_area a = m->s->area;
	struct stat st;
	unsigned char *at;

	if (fstat(m->fd, &st) != 0 || a.bytes < sizeof(struct bs_site) ||
	    a.at < m->s->at.total_bytes || a.at > (uint64_t)st.st_size ||
	    a.bytes > (uint64_t)st.st_size - a.at)
		return bs_fail(why, BS_ERR_FORMAT, "the tables lie outside of the shared memory");
	at = mmap(NULL, (size_t)a.bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, m->fd, (off_t)a.at);
	if (at == MAP_FAILED)
		return bs_fail(why, BS_ERR_NOMEM, "mapping %llu bytes of tables: %s",
			       (unsigned long long)a.bytes, strerror(errno));
	if (m->tables != NULL)
		(void)munmap(m->tables, m->tables_bytes);
	m->tables = at;
	m->tables_bytes = (size_t)a.bytes;
	if (!area_sound(m, &a, at))
		return bs_fail(why, BS_ERR_FORMAT, "the tables do not fit their area");
	return 0;
}

bool bs_shm_table(const struct bs_shm *m, uint32_t protocol, struct bs_traj *t)
{
	unsigned char *at = m->tables + m->s->area.table[protocol];
	struct table_head h;
	uint64_t part[3];

	if (m->s->area.table[protocol] == 0)
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

/*
 * Moves what an array keeps for each protocol to the protocol's new place; a new protocol gets
 * zeros.
 */
static void permute(void *array, size_t each, const uint32_t *from, unsigned char *before)
{
	memcpy(before, array, each * BS_PROTOCOLS_MAX);
	memset(array, 0, each * BS_PROTOCOLS_MAX);
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		if (from[i] < BS_PROTOCOLS_MAX)
			memcpy((unsigned char *)array + i * each, before + from[i] * each, each);
}

static void take_armed(struct bs_shared *s, uint32_t i)
{
	const struct bs_arming *a = &s->reload.armed[i];

	s->arm_bytes[i] = a->bytes;
	memcpy(s->engine[i], a->engine, sizeof(s->engine[i]));
	memcpy(s->place[i], a->place, sizeof(s->place[i]));
	s->admission[i] = a->admission;
	s->selftest[i] = a->selftest;
	atomic_store(&s->armed[i], 1);
}

/* Returns a protocol's place among those of the next site; UINT32_MAX: the site lacks it. */
static uint32_t place_of(const uint32_t *from, uint32_t protocols, uint32_t old)
{
	uint32_t i = 0;

	while (i < protocols && from[i] != old)
		i++;
	return i < protocols ? i : UINT32_MAX;
}

int bs_shm_switch(struct bs_shm *m, struct bs_fail *why)
{
	const size_t hist = BS_STAGES * sizeof(struct bs_hist);
	struct bs_shared *s = m->s;
	const uint32_t *from = s->reload.from;
	unsigned char *before = malloc(hist * BS_PROTOCOLS_MAX);
	struct bs_site *site = malloc(sizeof(*site));

	if (before == NULL || site == NULL || bs_shm_staged_site(m, &s->reload.next, site) != 0) {
		free(before);
		free(site);
		return bs_fail(why, BS_ERR_NOMEM, "the changed site cannot be read");
	}
	_Static_assert(sizeof(struct bs_admission) <= BS_STAGES * sizeof(struct bs_hist) &&
			       sizeof(struct bs_budget_record) <=
				       BS_STAGES * sizeof(struct bs_hist) &&
			       BS_EVENT_TEXT <= BS_STAGES * sizeof(struct bs_hist),
		       "before has room for each");
	bs_stamp_open(&s->site_stamp);
	permute(m->hist, hist, from, before);
	permute(s->arm_bytes, sizeof(s->arm_bytes[0]), from, before);
	permute(s->engine, sizeof(s->engine[0]), from, before);
	permute(s->place, sizeof(s->place[0]), from, before);
	permute(s->selftest, sizeof(s->selftest[0]), from, before);
	permute(s->armed, sizeof(s->armed[0]), from, before);
	permute(s->refused, sizeof(s->refused[0]), from, before);
	permute(s->refusal, sizeof(s->refusal[0]), from, before);
	permute(s->owed, sizeof(s->owed[0]), from, before);
	permute(s->admission, sizeof(s->admission[0]), from, before);
	permute(s->misses, sizeof(s->misses[0]), from, before);
	permute(s->budget, sizeof(s->budget[0]), from, before);
	for (uint32_t i = 0; i < site->protocols; i++)
		if (from[i] == BS_RELOAD_NEW)
			take_armed(s, i);
	for (int i = 0; i < 2; i++) /* two records hold the last scans, for the status */
		s->scan[i].protocol = place_of(from, site->protocols, s->scan[i].protocol);
	s->site = *site;
	s->area = s->reload.next;
	s->loaded_s = (int64_t)time(NULL);
	atomic_fetch_add(&s->generation, 1);
	bs_stamp_close(&s->site_stamp);
	free(before);
	free(site);
	return 0;
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
	if (fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
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
	int rc = bs_pools_size(&pools, site, why);

	clear(m);
	if (rc == 0)
		rc = lay_out(&layout, &pools, why);
	if (rc == 0)
		rc = make_memory(m, layout.total_bytes, why);
	if (rc == 0) {
		m->s->at = layout;
		m->s->pools = pools;
		m->s->site = *site;
		rc = bs_shm_stage(m, &m->s->area, site, tables, why);
	}
	if (rc == 0)
		rc = bs_shm_map_tables(m, why);
	if (rc != 0) {
		bs_shm_close(m);
		return rc;
	}
	m->s->started_ns = bs_now_ns();
	m->s->loaded_s = (int64_t)time(NULL);
	atomic_store(&m->s->generation, 1);
	set_views(m);
	bs_ring_init(m->acq_ring, ring_entries(pools.acq_slots));
	bs_ring_init(m->image_ring, ring_entries(pools.image_slots));
	bs_pool_init(m->acq_pool, (uint32_t)pools.acq_slots);
	bs_pool_init(m->image_pool, (uint32_t)pools.image_slots);
	if (m->study != NULL)
		bs_study_init(m->study, site);
	m->s->struct_bytes = sizeof(struct bs_shared);
	m->s->version = BS_SHM_VERSION;
	/* the magic is written last: a memory without it was never finished */
	m->s->magic = BS_SHM_MAGIC;
	return 0;
}

/* Returns true if the memory, its rings and its pools are laid out as its sizes require. */
static bool sound(struct bs_shm *m)
{
	const struct bs_shared *s = m->s;
	struct bs_layout again;

	if (s->at.total_bytes != m->bytes || s->site.protocols > BS_PROTOCOLS_MAX ||
	    lay_out(&again, &s->pools, NULL) != 0 || memcmp(&again, &s->at, sizeof(again)) != 0)
		return false;
	set_views(m);
	return m->acq_ring->mask == ring_entries(s->pools.acq_slots) - 1 &&
	       m->image_ring->mask == ring_entries(s->pools.image_slots) - 1 &&
	       m->acq_pool->slots == s->pools.acq_slots &&
	       m->image_pool->slots == s->pools.image_slots &&
	       (m->study == NULL || bs_study_holds(m->study, &s->site));
}

/* The bytes of the part that every process maps; 0: the memory is not the service's. */
static size_t main_bytes(int fd)
{
	uint64_t bytes = 0;
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(struct bs_shared) ||
	    pread(fd, &bytes, sizeof(bytes), (off_t)offsetof(struct bs_shared, at.total_bytes)) !=
		    (ssize_t)sizeof(bytes) ||
	    bytes < sizeof(struct bs_shared) || bytes > (uint64_t)st.st_size)
		return 0;
	return (size_t)bytes;
}

int bs_shm_attach(struct bs_shm *m, int fd, const int bell_fd[BS_BELLS], struct bs_fail *why)
{
	int rc;

	clear(m);
	m->fd = fd;
	memcpy(m->bell_fd, bell_fd, sizeof(m->bell_fd));
	m->bytes = main_bytes(fd);
	if (m->bytes == 0) {
		rc = bs_fail(why, BS_ERR_FORMAT, "descriptor %d is not the service's memory", fd);
		goto fail;
	}
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
		rc = bs_shm_map_tables(m, why);
	if (rc == 0)
		return 0;
fail:
	bs_shm_close(m);
	return rc;
}

void bs_shm_close(struct bs_shm *m)
{
	if (m->s != NULL)
		(void)munmap(m->s, m->bytes);
	if (m->tables != NULL)
		(void)munmap(m->tables, m->tables_bytes);
	if (m->fd >= 0)
		(void)close(m->fd);
	for (int i = 0; i < BS_BELLS; i++)
		if (m->bell_fd[i] >= 0)
			(void)close(m->bell_fd[i]);
	clear(m);
}

/*
 * Marks the slots that a ring holds. The tail is read first. A slot that the living consumer took
 * out before that has the consumer's mark already; a slot that it takes out later is marked here.
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

/* Marks the slot of an entry that ingest had decided on and not pushed: its successor pushes it. */
static void mark_step(const struct bs_shm *m, uint8_t *keep)
{
	for (int i = 0; i < 2; i++) {
		const struct bs_scan_record *s = &m->s->scan[i];
		const struct bs_scan_step *t = &s->step[atomic_load(&s->step_at) & 1];
		const uint32_t slot = bs_entry_slot(t->entry);

		if (t->entries > atomic_load(&m->acq_ring->head) &&
		    bs_entry_kind(t->entry) == BS_ENTRY_ACQ && slot < m->acq_pool->slots)
			keep[slot] = 1;
	}
}

/* Marks the slots that takers have in hand: a successor of emit gives them these again. */
static void mark_hands(const struct bs_shm *m, uint8_t *keep)
{
	for (int i = 0; i < BS_TAKERS; i++) {
		const uint64_t hand = atomic_load(&m->s->taker[i].hand);

		if (hand != 0 && hand <= m->image_pool->slots)
			keep[hand - 1] = 1;
	}
}

/* Empties the queue of a dead recon: none of its entries will be used. */
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
		mark_hands(m, keep);
		freed = bs_pool_reclaim(m->image_pool, BS_OWNER_EMIT, keep);
		break;
	default:
		break;
	}
	free(keep);
	return freed;
}
