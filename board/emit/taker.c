/* board/emit/taker.c - see taker.h */
#include "board/emit/taker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/service/realtime.h"
#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define ALIGN_BYTES 64u /* messages keep their place within a cache line: pixels stay aligned */
#define FOLDER_NS   INT64_C(1000000000) /* then a folder that refused a piece is tried again */
#define RETRY_NS    INT64_C(200000000)  /* then a piece that could not be read is tried again */

/* A buffer begins with this; the message is at HEAD + lead. */
#define HEAD 64u /* core/memory/pools.h counts with both */
struct piece {
	uint64_t lead, len;
};

struct bs_taker {
	struct bs_taker_spec spec;
	struct bs_taker_record *r;
	size_t cap; /* bytes of a buffer */
	unsigned char *memory;
	unsigned char *queue[BS_TAKER_QUEUE_MAX];
	unsigned char *hand, *spilling; /* buffers outside the queue, one for each thread */
	uint32_t first, count;
	bool busy;         /* an image is being delivered */
	bool disk;         /* and it is from the folder, where it is counted */
	bool moving;       /* an image is on its way to the folder */
	bool nobody;       /* the taker was not there for what was shed last */
	bool held;         /* what is in hand was refused, and is offered again */
	bool refused;      /* so was the last one that was offered: that is said once */
	int64_t folder_ns; /* the folder refused a piece: next try; 0: it did not */
	int64_t retry_ns;  /* a piece could not be read from it: next try; 0: it could */
	int64_t since_ns;
	_Atomic bool quit, absent;
	struct bs_spill spill;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread, mover;
	bool has_thread, has_mover;
	struct bs_shed shed;
};

static void count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/* With the lock held. */
static void publish(struct bs_taker *t)
{
	atomic_store(&t->r->waiting, t->count + ((t->busy && !t->disk) || t->held) + t->moving);
	atomic_store(&t->r->spill_waiting, atomic_load(&t->spill.pieces));
	atomic_store(&t->r->spill_bytes, atomic_load(&t->spill.bytes));
}

/* With the lock held. */
static void say_shed(struct bs_taker *t)
{
	char line[BS_SHED_LINE];

	if (bs_shed_due(&t->shed, t->spec.name, t->nobody, atomic_load(&t->r->shed), line))
		t->spec.say(t->spec.arg, line);
}

static void missed(struct bs_taker *t, const unsigned char *msg, size_t len)
{
	if (t->spec.missed != NULL && msg != NULL)
		t->spec.missed(t->spec.arg, msg, len);
}

static void shed(struct bs_taker *t, const unsigned char *msg, size_t len)
{
	count(&t->r->shed, 1);
	t->shed.count++;
	missed(t, msg, len);
	say_shed(t);
}

/* Until something changes, or until_ns when it is not 0; with the lock held. */
static void await(struct bs_taker *t, int64_t until_ns)
{
	bs_lock_wait(&t->lock, &t->change, until_ns);
}

/* Takes the oldest out of the queue and puts the buffer `other` in its place. */
static unsigned char *pop(struct bs_taker *t, unsigned char *other)
{
	unsigned char *oldest = t->queue[t->first];

	t->queue[t->first] = other;
	t->first = (t->first + 1) % t->spec.queue;
	t->count--;
	return oldest;
}

static void put_piece(unsigned char *buffer, const unsigned char *msg, size_t len)
{
	struct piece p = { (uintptr_t)msg % ALIGN_BYTES, len };

	memcpy(buffer, &p, sizeof(p));
	memcpy(buffer + HEAD + p.lead, msg, len);
}

/* The message in a buffer; NULL when what was read from disk cannot be one. */
static const unsigned char *message(const unsigned char *buffer, size_t cap, size_t *len)
{
	struct piece p;

	memcpy(&p, buffer, sizeof(p));
	if (p.lead >= ALIGN_BYTES || p.len > cap - HEAD - p.lead)
		return NULL;
	*len = (size_t)p.len;
	return buffer + HEAD + p.lead;
}

static void shed_piece(struct bs_taker *t, const unsigned char *buffer)
{
	size_t len = 0;
	const unsigned char *msg = message(buffer, t->cap, &len);

	shed(t, msg, len);
}

static size_t piece_bytes(const unsigned char *buffer)
{
	struct piece p;

	memcpy(&p, buffer, sizeof(p));
	return HEAD + (size_t)(p.lead + p.len);
}

/* If what was read from disk is not as long as it says, marks it so that message() refuses it. */
static void check_piece(unsigned char *buffer, size_t len)
{
	struct piece p = { ALIGN_BYTES, 0 };

	if (len >= HEAD)
		memcpy(&p, buffer, sizeof(p));
	if (len < HEAD || p.lead >= ALIGN_BYTES || len - HEAD < p.lead ||
	    len - HEAD - p.lead != p.len)
		p.lead = ALIGN_BYTES;
	memcpy(buffer, &p, sizeof(p));
}

bool bs_taker_quits(const struct bs_taker *t)
{
	return atomic_load(&t->quit);
}

void bs_taker_absent(struct bs_taker *t, bool absent)
{
	atomic_store(&t->absent, absent);
}

bool bs_taker_push(struct bs_taker *t, const unsigned char *msg, size_t len)
{
	bool direct;

	(void)pthread_mutex_lock(&t->lock);
	count(&t->r->taken, 1);
	t->nobody = false;
	if (len > t->spec.image_bytes || atomic_load(&t->quit)) {
		shed(t, msg, len);
		(void)pthread_mutex_unlock(&t->lock);
		return false;
	}
	direct = t->spec.attempt != NULL && !t->busy && !t->held && !t->moving && t->count == 0 &&
		 atomic_load(&t->spill.pieces) == 0;
	t->busy = t->busy || direct; /* the thread keeps off meanwhile */
	t->disk = t->disk && !direct;
	t->since_ns = direct ? bs_now_ns() : t->since_ns;
	(void)pthread_mutex_unlock(&t->lock);
	bool had = direct && t->spec.attempt(t->spec.arg, msg, len) == 1;

	(void)pthread_mutex_lock(&t->lock);
	t->busy = t->busy && !direct;
	if (had) {
		count(&t->r->handed, 1);
	} else {
		if (t->count == t->spec.queue)
			shed_piece(t, pop(t, t->queue[t->first]));
		put_piece(t->queue[(t->first + t->count) % t->spec.queue], msg, len);
		t->count++;
		(void)pthread_cond_broadcast(&t->change);
	}
	say_shed(t);
	publish(t);
	(void)pthread_mutex_unlock(&t->lock);
	return true;
}

void bs_taker_pass(struct bs_taker *t, const unsigned char *msg, size_t len)
{
	(void)pthread_mutex_lock(&t->lock);
	t->nobody = true;
	count(&t->r->taken, 1);
	shed(t, msg, len);
	(void)pthread_mutex_unlock(&t->lock);
}

bool bs_taker_quiet(struct bs_taker *t)
{
	bool quiet;

	(void)pthread_mutex_lock(&t->lock);
	quiet = (t->count == 0 && !t->busy && !t->moving) || atomic_load(&t->absent) ||
		t->retry_ns != 0 || (t->busy && bs_now_ns() - t->since_ns > BS_TAKER_STUCK_NS);
	if (quiet) { /* the scan is over: what was shed since it was last said is said now */
		t->shed.said_ns = 0;
		say_shed(t);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return quiet;
}

/* The next image into t->hand; *from_disk: a spilled one. False: none. With the lock held. */
static bool next_image(struct bs_taker *t, bool *from_disk)
{
	struct bs_fail why = { 0 };
	size_t len;
	int rc;

	*from_disk = false;
	if (t->held) { /* older than any piece */
		t->held = false;
		t->retry_ns = 0;
		return true;
	}
	while (atomic_load(&t->spill.pieces) > 0) {
		t->busy = true;
		t->disk = true;
		t->since_ns = bs_now_ns();
		(void)pthread_mutex_unlock(&t->lock);
		rc = bs_spill_take(&t->spill, t->hand, t->cap, &len, &why);
		(void)pthread_mutex_lock(&t->lock);
		*from_disk = rc == 1;
		if (rc == 1) {
			t->retry_ns = 0;
			check_piece(t->hand, len);
			return true;
		}
		t->busy = false;
		if (rc == BS_SPILL_LATER) { /* those behind it wait, too: they come in order */
			if (t->retry_ns == 0)
				t->spec.say(t->spec.arg, why.text);
			t->retry_ns = bs_now_ns() + RETRY_NS;
			return false;
		}
		if (rc < 0) {
			count(&t->r->failed, 1);
			t->spec.say(t->spec.arg, why.text);
		}
	}
	t->retry_ns = 0;
	if (t->moving ||
	    t->count == 0) /* what is on its way to the folder comes before the queue */
		return false;
	t->hand = pop(t, t->hand);
	return true;
}

/* To the folder, or shed: the process ends. With the lock held. */
static void keep(struct bs_taker *t, const unsigned char *buffer, bool front)
{
	struct bs_fail why = { 0 };
	int rc = BS_ERR_UNSUPPORTED;

	if (t->spec.policy == BS_POLICY_SPILL) {
		rc = front ? bs_spill_put_back(&t->spill, buffer, piece_bytes(buffer), &why)
			   : bs_spill_put(&t->spill, buffer, piece_bytes(buffer), &why);
		if (rc != 0)
			t->spec.say(t->spec.arg, why.text);
	}
	if (rc == 0)
		count(&t->r->spilled, 1);
	else
		shed_piece(t, buffer);
}

/* Refused by a disk or for want of memory, which may pass; any other error is the image's own. */
static bool offer_again(struct bs_taker *t, bool from_disk, int rc, const struct bs_fail *why)
{
	if (t->spec.policy != BS_POLICY_SPILL || (rc != BS_ERR_IO && rc != BS_ERR_NOMEM))
		return false;
	(void)pthread_mutex_lock(&t->lock);
	if (!t->refused)
		t->spec.say(t->spec.arg, why->text);
	t->refused = true;
	t->held = !from_disk;
	t->retry_ns = bs_now_ns() + RETRY_NS;
	(void)pthread_mutex_unlock(&t->lock);
	return true;
}

/* Without the lock. False: broken off because the process ends; the image is kept or shed. */
static bool deliver(struct bs_taker *t, bool from_disk)
{
	struct bs_fail why = { 0 };
	size_t len = 0;
	const unsigned char *msg = message(t->hand, t->cap, &len);
	int rc = msg == NULL ? bs_spill_give_up(&t->spill, BS_ERR_FORMAT,
						"it is damaged, no whole image", &why)
			     : t->spec.deliver(t->spec.arg, t, msg, len, &why);

	if (rc == BS_ERR_ABORTED) { /* what was spilled stays where it is */
		(void)pthread_mutex_lock(&t->lock);
		if (!from_disk)
			keep(t, t->hand, true);
		(void)pthread_mutex_unlock(&t->lock);
		return false;
	}
	if (msg != NULL && offer_again(t, from_disk, rc, &why))
		return true;
	t->refused = false;
	if (rc != 0) {
		struct bs_fail refusal = why;

		if (from_disk && msg != NULL)
			(void)bs_spill_give_up(&t->spill, rc, refusal.text, &why);
		t->spec.say(t->spec.arg, why.text);
		missed(t, msg, len);
	} else if (from_disk && bs_spill_drop(&t->spill, &why) != 0) {
		t->spec.say(t->spec.arg, why.text);
	}
	/* last: a process that dies before this line counts one too many as lost, none too few */
	count(rc == 0 ? &t->r->handed : &t->r->failed, 1);
	return true;
}

static void *serve(void *arg)
{
	struct bs_taker *t = arg;
	bool goes_on = true;

	bs_rt_leave();
	(void)pthread_mutex_lock(&t->lock);
	while (goes_on) {
		bool from_disk = false;

		/* at the end what can be spilled is not delivered: it may be much */
		if (atomic_load(&t->quit) && t->spec.policy == BS_POLICY_SPILL)
			break;
		if (t->busy || bs_now_ns() < t->retry_ns || !next_image(t, &from_disk)) {
			if (atomic_load(&t->quit))
				break;
			await(t, t->retry_ns);
			continue;
		}
		t->busy = true;
		t->disk = from_disk;
		t->since_ns = bs_now_ns();
		atomic_store(&t->r->since_ns, t->since_ns);
		publish(t);
		(void)pthread_mutex_unlock(&t->lock);
		goes_on = deliver(t, from_disk);
		(void)pthread_mutex_lock(&t->lock);
		t->busy = false;
		atomic_store(&t->r->since_ns, 0);
		say_shed(t);
		publish(t);
		(void)pthread_cond_broadcast(&t->change);
	}
	if (t->held)
		keep(t, t->hand, true);
	t->held = false;
	publish(t);
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* True: the oldest is to go to the folder. With the lock held. */
static bool too_many(const struct bs_taker *t)
{
	return (t->busy || t->retry_ns != 0) && 2 * t->count >= t->spec.queue && t->count > 0 &&
	       atomic_load(&t->spill.bytes) + t->cap <= t->spec.spill_bytes;
}

/* What the folder refused is the oldest again; when others have filled the queue, it is shed. */
static void unmove(struct bs_taker *t)
{
	unsigned char *image = t->spilling;

	if (t->count == t->spec.queue) {
		shed_piece(t, image);
		return;
	}
	t->first = (t->first + t->spec.queue - 1) % t->spec.queue;
	t->spilling = t->queue[t->first];
	t->queue[t->first] = image;
	t->count++;
}

static void move_one(struct bs_taker *t)
{
	struct bs_fail why = { 0 };
	int rc;

	t->spilling = pop(t, t->spilling);
	t->moving = true;
	(void)pthread_mutex_unlock(&t->lock);
	rc = bs_spill_put(&t->spill, t->spilling, piece_bytes(t->spilling), &why);
	(void)pthread_mutex_lock(&t->lock);
	t->moving = false;
	if (rc == 0) {
		count(&t->r->spilled, 1);
	} else {
		unmove(t);
		if (t->folder_ns == 0)
			t->spec.say(t->spec.arg, why.text);
	}
	t->folder_ns = rc != 0 ? bs_now_ns() + FOLDER_NS : 0;
	publish(t);
	(void)pthread_cond_broadcast(&t->change);
}

static void *move(void *arg)
{
	struct bs_taker *t = arg;

	bs_rt_leave();
	(void)pthread_mutex_lock(&t->lock);
	while (!atomic_load(&t->quit)) {
		bool wanted = too_many(t);

		if (wanted && bs_now_ns() >= t->folder_ns)
			move_one(t);
		else
			await(t, wanted ? t->folder_ns : 0);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int open_memory(struct bs_taker *t, struct bs_fail *why)
{
	size_t buffers = t->spec.queue + 2u;

	if (t->spec.queue == 0 || t->spec.queue > BS_TAKER_QUEUE_MAX ||
	    t->spec.image_bytes > SIZE_MAX / 2 / (BS_TAKER_QUEUE_MAX + 2u) - (size_t)2 * HEAD)
		return bs_fail(why, BS_ERR_CONFIG, "%s: a queue of %u images of %zu bytes",
			       t->spec.name, t->spec.queue, t->spec.image_bytes);
	t->cap = (size_t)bs_pools_piece_bytes(t->spec.image_bytes);
	t->memory = aligned_alloc(ALIGN_BYTES, buffers * t->cap);
	if (t->memory == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: a queue of %zu bytes", t->spec.name,
			       buffers * t->cap);
	memset(t->memory, 0, buffers * t->cap); /* present from now on */
	for (uint32_t i = 0; i < t->spec.queue; i++)
		t->queue[i] = t->memory + i * t->cap;
	t->hand = t->memory + t->spec.queue * t->cap;
	t->spilling = t->hand + t->cap;
	return 0;
}

/* disk: of these, those that a predecessor had spilled to a folder that is not open now. */
static void say_lost(struct bs_taker *t, uint64_t lost, uint64_t disk)
{
	char line[200];

	disk = disk < lost ? disk : lost;
	if (lost > disk) {
		(void)snprintf(line, sizeof(line),
			       "%s: %llu images that waited for it were lost with the process",
			       t->spec.name, (unsigned long long)(lost - disk));
		t->spec.say(t->spec.arg, line);
	}
	if (disk > 0) {
		(void)snprintf(line, sizeof(line),
			       "%s: %llu images were on disk for it when last counted; what is "
			       "still there waits for the next start",
			       t->spec.name, (unsigned long long)disk);
		t->spec.say(t->spec.arg, line);
	}
}

/*
 * What a predecessor of this process held in memory is lost, and so is what it spilled where the
 * folder cannot be used. Pieces that the record does not know are from an earlier service.
 */
static void inherit(struct bs_taker *t)
{
	struct bs_taker_record *r = t->r;
	uint64_t taken = atomic_load(&r->taken);
	uint64_t known = atomic_load(&r->handed) + atomic_load(&r->failed) + atomic_load(&r->shed) +
			 atomic_load(&r->lost) + atomic_load(&t->spill.pieces);
	const uint64_t disk =
		t->spec.policy == BS_POLICY_SPILL ? 0 : atomic_load(&r->spill_waiting);

	if (known > taken) {
		count(&r->taken, known - taken);
	} else if (known < taken) {
		count(&r->lost, taken - known);
		say_lost(t, taken - known, disk);
	}
	atomic_store(&r->since_ns, 0);
	publish(t);
}

static int start(struct bs_taker *t, struct bs_fail *why)
{
	int rc;

	bs_lock_init(&t->lock, &t->change);
	rc = bs_thread_start(&t->thread, serve, t);
	t->has_thread = rc == 0;
	if (rc == 0 && t->spec.policy == BS_POLICY_SPILL) {
		rc = bs_thread_start(&t->mover, move, t);
		t->has_mover = rc == 0;
	}
	return rc == 0 ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "%s: its thread: %s", t->spec.name,
				 strerror(rc));
}

int bs_taker_open(struct bs_taker **out, const struct bs_taker_spec *spec,
		  struct bs_taker_record *record, struct bs_fail *why)
{
	struct bs_taker *t = calloc(1, sizeof(*t));
	int rc;

	*out = NULL;
	if (t == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s", spec->name);
	t->spec = *spec;
	t->r = record;
	rc = open_memory(t, why);
	if (rc == 0 && spec->policy == BS_POLICY_SPILL && spec->spill_bytes < t->cap)
		rc = bs_fail(why, BS_ERR_CONFIG, "%s: %llu bytes to spill to, an image takes %zu",
			     spec->name, (unsigned long long)spec->spill_bytes, t->cap);
	if (rc == 0 && spec->policy == BS_POLICY_SPILL)
		rc = bs_spill_open(&t->spill, spec->spill_dir, spec->file, spec->spill_bytes, why);
	if (rc == 0) {
		inherit(t);
		rc = start(t, why);
	}
	if (rc != 0) {
		bs_taker_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

/* What still waits in memory when the process ends, with the lock held; the mover is gone. */
static void settle(struct bs_taker *t)
{
	while (t->count > 0) {
		t->spilling = pop(t, t->spilling);
		keep(t, t->spilling, false);
	}
	t->shed.said_ns = 0;
	say_shed(t);
	publish(t);
}

void bs_taker_close(struct bs_taker *t)
{
	if (t == NULL)
		return;
	const bool spills = t->spec.policy == BS_POLICY_SPILL;

	if (t->has_thread) {
		(void)pthread_mutex_lock(&t->lock);
		atomic_store(&t->quit, true);
		(void)pthread_cond_broadcast(&t->change);
		(void)pthread_mutex_unlock(&t->lock);
		if (t->has_mover)
			(void)pthread_join(t->mover, NULL);
		if (!spills) /* it delivers what waits */
			(void)pthread_join(t->thread, NULL);
		(void)pthread_mutex_lock(&t->lock);
		settle(t);
		(void)pthread_mutex_unlock(&t->lock);
		if (spills) /* may hang, and then this process is killed */
			(void)pthread_join(t->thread, NULL);
		publish(t);
	}
	bs_spill_close(&t->spill);
	free(t->memory);
	free(t);
}
