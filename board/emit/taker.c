/* board/emit/taker.c - see taker.h */
#define _GNU_SOURCE
#include "board/emit/taker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board/service/realtime.h"
#include "core/thread/clock.h"

#define ALIGN_BYTES 64u /* messages keep their place within a cache line: pixels stay aligned */
#define SAY_NS      INT64_C(1000000000)
#define FOLDER_NS   INT64_C(1000000000) /* a folder that refused a piece is tried again after that */
#define RETRY_NS    INT64_C(200000000)  /* a piece that could not be read now, after that */

/* A buffer: the length of the lead-in and of the message, the message at HEAD + lead. */
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
	bool disk;         /* and it is one of the folder's: it counts there */
	bool moving;       /* an image is on its way to the folder */
	bool nobody;       /* what was shed last had no taker */
	int64_t folder_ns; /* the folder refused the last one: not again before then; 0: it is well */
	int64_t retry_ns; /* the same for what is to be read from it */
	int64_t since_ns;
	_Atomic bool quit, absent;
	struct bs_spill spill;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread, mover;
	bool has_thread, has_mover;
	uint64_t unsaid; /* shed since it was said */
	int64_t said_ns;
};

static void count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/* With the lock held. */
static void publish(struct bs_taker *c)
{
	atomic_store(&c->r->waiting, c->count + (c->busy && !c->disk) + c->moving);
	atomic_store(&c->r->spill_waiting, atomic_load(&c->spill.pieces));
	atomic_store(&c->r->spill_bytes, atomic_load(&c->spill.bytes));
}

/* At once for the first, then at most every second, with the number; with the lock held. */
static void say_shed(struct bs_taker *c, int64_t now)
{
	char line[200];

	if (c->unsaid == 0 || (c->said_ns != 0 && now - c->said_ns < SAY_NS))
		return;
	(void)snprintf(line, sizeof(line), "%s %s: %llu images shed, %llu since the start",
		       c->spec.name, c->nobody ? "is not there" : "does not keep up",
		       (unsigned long long)c->unsaid, (unsigned long long)atomic_load(&c->r->shed));
	c->unsaid = 0;
	c->said_ns = now;
	c->spec.say(c->spec.arg, line);
}

static void missed(struct bs_taker *c, const unsigned char *msg, size_t len)
{
	if (c->spec.missed != NULL && msg != NULL)
		c->spec.missed(c->spec.arg, msg, len);
}

static void shed(struct bs_taker *c, const unsigned char *msg, size_t len)
{
	count(&c->r->shed, 1);
	c->unsaid++;
	missed(c, msg, len);
	say_shed(c, bs_now_ns());
}

/* Until something changes, or at_ns when it is not 0; with the lock held. */
static void await(struct bs_taker *c, int64_t at_ns)
{
	const struct timespec at = { at_ns / 1000000000, at_ns % 1000000000 };

	if (at_ns == 0)
		(void)pthread_cond_wait(&c->change, &c->lock);
	else
		(void)pthread_cond_timedwait(&c->change, &c->lock, &at);
}

/* Takes the oldest out of the queue; other is the buffer that takes its place there. */
static unsigned char *pop(struct bs_taker *c, unsigned char *other)
{
	unsigned char *oldest = c->queue[c->first];

	c->queue[c->first] = other;
	c->first = (c->first + 1) % c->spec.queue;
	c->count--;
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

static void shed_piece(struct bs_taker *c, const unsigned char *buffer)
{
	size_t len = 0;
	const unsigned char *msg = message(buffer, c->cap, &len);

	shed(c, msg, len);
}

static size_t piece_bytes(const unsigned char *buffer)
{
	struct piece p;

	memcpy(&p, buffer, sizeof(p));
	return HEAD + (size_t)(p.lead + p.len);
}

/* What was read from disk is cut off or too long (a crash, a full disk): message() will refuse it. */
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

bool bs_taker_quits(const struct bs_taker *c)
{
	return atomic_load(&c->quit);
}

void bs_taker_absent(struct bs_taker *c, bool absent)
{
	atomic_store(&c->absent, absent);
}

bool bs_taker_push(struct bs_taker *c, const unsigned char *msg, size_t len)
{
	bool direct;

	(void)pthread_mutex_lock(&c->lock);
	count(&c->r->taken, 1);
	c->nobody = false;
	if (len > c->spec.image_bytes || atomic_load(&c->quit)) {
		shed(c, msg, len);
		(void)pthread_mutex_unlock(&c->lock);
		return false;
	}
	direct = c->spec.attempt != NULL && !c->busy && !c->moving && c->count == 0 &&
		 atomic_load(&c->spill.pieces) == 0;
	c->busy = c->busy || direct; /* the thread keeps off meanwhile */
	c->disk = c->disk && !direct;
	c->since_ns = direct ? bs_now_ns() : c->since_ns;
	(void)pthread_mutex_unlock(&c->lock);
	bool had = direct && c->spec.attempt(c->spec.arg, msg, len) == 1;

	(void)pthread_mutex_lock(&c->lock);
	c->busy = c->busy && !direct;
	if (had) {
		count(&c->r->handed, 1);
	} else {
		if (c->count == c->spec.queue) {
			shed_piece(c, pop(c, c->queue[c->first]));
		}
		put_piece(c->queue[(c->first + c->count) % c->spec.queue], msg, len);
		c->count++;
		(void)pthread_cond_broadcast(&c->change);
	}
	say_shed(c, bs_now_ns());
	publish(c);
	(void)pthread_mutex_unlock(&c->lock);
	return true;
}

void bs_taker_pass(struct bs_taker *c, const unsigned char *msg, size_t len)
{
	(void)pthread_mutex_lock(&c->lock);
	c->nobody = true;
	count(&c->r->taken, 1);
	shed(c, msg, len);
	(void)pthread_mutex_unlock(&c->lock);
}

bool bs_taker_quiet(struct bs_taker *c)
{
	bool quiet;

	(void)pthread_mutex_lock(&c->lock);
	quiet = (c->count == 0 && !c->busy && !c->moving) || atomic_load(&c->absent) ||
		c->retry_ns != 0 || (c->busy && bs_now_ns() - c->since_ns > BS_TAKER_STUCK_NS);
	if (quiet) { /* the scan is over: what was shed since it was last said is said now */
		c->said_ns = 0;
		say_shed(c, bs_now_ns());
	}
	(void)pthread_mutex_unlock(&c->lock);
	return quiet;
}

/* With the lock held: the next image into c->hand. False: there is none; *from_disk: a spilled one. */
static bool next_image(struct bs_taker *c, bool *from_disk)
{
	struct bs_fail why = { 0 };
	size_t len;
	int rc;

	*from_disk = false;
	while (atomic_load(&c->spill.pieces) > 0) {
		c->busy = true;
		c->disk = true;
		c->since_ns = bs_now_ns();
		(void)pthread_mutex_unlock(&c->lock);
		rc = bs_spill_take(&c->spill, c->hand, c->cap, &len, &why);
		(void)pthread_mutex_lock(&c->lock);
		*from_disk = rc == 1;
		if (rc == 1) {
			c->retry_ns = 0;
			check_piece(c->hand, len);
			return true;
		}
		c->busy = false;
		if (rc == BS_SPILL_LATER) { /* those behind it wait, too: they come in order */
			if (c->retry_ns == 0)
				c->spec.say(c->spec.arg, why.text);
			c->retry_ns = bs_now_ns() + RETRY_NS;
			return false;
		}
		if (rc < 0) {
			count(&c->r->failed, 1);
			c->spec.say(c->spec.arg, why.text);
		}
	}
	c->retry_ns = 0;
	if (c->moving ||
	    c->count == 0) /* what is on its way to the folder comes before the queue */
		return false;
	c->hand = pop(c, c->hand);
	return true;
}

/* To the folder, or shed: the process ends. With the lock held. */
static void keep(struct bs_taker *c, const unsigned char *buffer, bool front)
{
	struct bs_fail why = { 0 };
	int rc = BS_ERR_UNSUPPORTED;

	if (c->spec.policy == BS_POLICY_SPILL) {
		rc = front ? bs_spill_put_back(&c->spill, buffer, piece_bytes(buffer), &why)
			   : bs_spill_put(&c->spill, buffer, piece_bytes(buffer), &why);
		if (rc != 0)
			c->spec.say(c->spec.arg, why.text);
	}
	if (rc == 0)
		count(&c->r->spilled, 1);
	else
		shed_piece(c, buffer);
}

/* Without the lock. False: the taker gave up because the process ends; the image is safe or shed. */
static bool deliver(struct bs_taker *c, bool from_disk)
{
	struct bs_fail why = { 0 };
	size_t len = 0;
	const unsigned char *msg = message(c->hand, c->cap, &len);
	int rc = msg == NULL ? bs_spill_give_up(&c->spill, BS_ERR_FORMAT,
						"it is damaged, no whole image", &why)
			     : c->spec.deliver(c->spec.arg, c, msg, len, &why);

	if (rc == BS_ERR_ABORTED) { /* what was spilled stays where it is */
		(void)pthread_mutex_lock(&c->lock);
		if (!from_disk)
			keep(c, c->hand, true);
		(void)pthread_mutex_unlock(&c->lock);
		return false;
	}
	if (rc != 0) {
		c->spec.say(c->spec.arg, why.text);
		missed(c, msg, len);
	}
	if (from_disk && msg != NULL && bs_spill_drop(&c->spill, &why) != 0)
		c->spec.say(c->spec.arg, why.text);
	/* last: who dies before it has one too many lost, rather than one that nobody counts */
	count(rc == 0 ? &c->r->handed : &c->r->failed, 1);
	return true;
}

static void *serve(void *arg)
{
	struct bs_taker *c = arg;
	bool goes_on = true;

	bs_rt_leave();
	(void)pthread_mutex_lock(&c->lock);
	while (goes_on) {
		bool from_disk = false;

		/* at the end what can be spilled is not delivered: it may be much */
		if (atomic_load(&c->quit) && c->spec.policy == BS_POLICY_SPILL)
			break;
		if (c->busy || bs_now_ns() < c->retry_ns || !next_image(c, &from_disk)) {
			if (atomic_load(&c->quit))
				break;
			await(c, c->retry_ns);
			continue;
		}
		c->busy = true;
		c->disk = from_disk;
		c->since_ns = bs_now_ns();
		atomic_store(&c->r->since_ns, c->since_ns);
		publish(c);
		(void)pthread_mutex_unlock(&c->lock);
		goes_on = deliver(c, from_disk);
		(void)pthread_mutex_lock(&c->lock);
		c->busy = false;
		atomic_store(&c->r->since_ns, 0);
		say_shed(c, bs_now_ns());
		publish(c);
		(void)pthread_cond_broadcast(&c->change);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* True: the oldest is to go to the folder. With the lock held. */
static bool too_many(const struct bs_taker *c)
{
	return (c->busy || c->retry_ns != 0) && 2 * c->count >= c->spec.queue && c->count > 0 &&
	       atomic_load(&c->spill.bytes) + c->cap <= c->spec.spill_bytes;
}

/* What the folder refused is the oldest again; when others have filled the queue, it is shed. */
static void unmove(struct bs_taker *c)
{
	unsigned char *image = c->spilling;

	if (c->count == c->spec.queue) {
		shed_piece(c, image);
		return;
	}
	c->first = (c->first + c->spec.queue - 1) % c->spec.queue;
	c->spilling = c->queue[c->first];
	c->queue[c->first] = image;
	c->count++;
}

static void move_one(struct bs_taker *c)
{
	struct bs_fail why = { 0 };
	int rc;

	c->spilling = pop(c, c->spilling);
	c->moving = true;
	(void)pthread_mutex_unlock(&c->lock);
	rc = bs_spill_put(&c->spill, c->spilling, piece_bytes(c->spilling), &why);
	(void)pthread_mutex_lock(&c->lock);
	c->moving = false;
	if (rc == 0) {
		count(&c->r->spilled, 1);
	} else {
		unmove(c);
		if (c->folder_ns == 0)
			c->spec.say(c->spec.arg, why.text);
	}
	c->folder_ns = rc != 0 ? bs_now_ns() + FOLDER_NS : 0;
	publish(c);
	(void)pthread_cond_broadcast(&c->change);
}

static void *move(void *arg)
{
	struct bs_taker *c = arg;

	bs_rt_leave();
	(void)pthread_mutex_lock(&c->lock);
	while (!atomic_load(&c->quit)) {
		bool wanted = too_many(c);

		if (wanted && bs_now_ns() >= c->folder_ns)
			move_one(c);
		else
			await(c, wanted ? c->folder_ns : 0);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return NULL;
}

static int open_memory(struct bs_taker *c, struct bs_fail *why)
{
	size_t buffers = c->spec.queue + 2u;

	if (c->spec.queue == 0 || c->spec.queue > BS_TAKER_QUEUE_MAX ||
	    c->spec.image_bytes > SIZE_MAX / 2 / (BS_TAKER_QUEUE_MAX + 2u) - (size_t)2 * HEAD)
		return bs_fail(why, BS_ERR_CONFIG, "%s: a queue of %u images of %zu bytes",
			       c->spec.name, c->spec.queue, c->spec.image_bytes);
	c->cap = (size_t)bs_pools_piece_bytes(c->spec.image_bytes);
	c->memory = aligned_alloc(ALIGN_BYTES, buffers * c->cap);
	if (c->memory == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: a queue of %zu bytes", c->spec.name,
			       buffers * c->cap);
	memset(c->memory, 0, buffers * c->cap); /* present from now on */
	for (uint32_t i = 0; i < c->spec.queue; i++)
		c->queue[i] = c->memory + i * c->cap;
	c->hand = c->memory + c->spec.queue * c->cap;
	c->spilling = c->hand + c->cap;
	return 0;
}

/* Of what waited, disk were spilled, by a predecessor's last count, to a folder that is not open now. */
static void say_lost(struct bs_taker *c, uint64_t lost, uint64_t disk)
{
	char line[200];

	disk = disk < lost ? disk : lost;
	if (lost > disk) {
		(void)snprintf(line, sizeof(line),
			       "%s: %llu images that waited for it were lost with the process",
			       c->spec.name, (unsigned long long)(lost - disk));
		c->spec.say(c->spec.arg, line);
	}
	if (disk > 0) {
		(void)snprintf(line, sizeof(line),
			       "%s: %llu images were on disk for it when last counted; what is "
			       "still there waits for the next start",
			       c->spec.name, (unsigned long long)disk);
		c->spec.say(c->spec.arg, line);
	}
}

/*
 * What a predecessor held in memory is gone, and counted; what it spilled is here, or counts as lost
 * with it where the folder cannot be used. More than the record knows of is an earlier service's.
 */
static void inherit(struct bs_taker *c)
{
	struct bs_taker_record *r = c->r;
	uint64_t taken = atomic_load(&r->taken);
	uint64_t known = atomic_load(&r->handed) + atomic_load(&r->failed) + atomic_load(&r->shed) +
			 atomic_load(&r->lost) + atomic_load(&c->spill.pieces);
	const uint64_t disk =
		c->spec.policy == BS_POLICY_SPILL ? 0 : atomic_load(&r->spill_waiting);

	if (known > taken) {
		count(&r->taken, known - taken);
	} else if (known < taken) {
		count(&r->lost, taken - known);
		say_lost(c, taken - known, disk);
	}
	atomic_store(&r->since_ns, 0);
	publish(c);
}

static int start(struct bs_taker *c, struct bs_fail *why)
{
	pthread_mutexattr_t kind;
	pthread_condattr_t clock;
	sigset_t all, old;
	int rc;

	(void)pthread_mutexattr_init(&kind); /* the pusher may be a real-time thread */
	(void)pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	(void)pthread_mutex_init(&c->lock, &kind);
	(void)pthread_mutexattr_destroy(&kind);
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&c->change, &clock);
	(void)pthread_condattr_destroy(&clock);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&c->thread, NULL, serve, c);
	c->has_thread = rc == 0;
	if (rc == 0 && c->spec.policy == BS_POLICY_SPILL) {
		rc = pthread_create(&c->mover, NULL, move, c);
		c->has_mover = rc == 0;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc == 0 ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "%s: its thread: %s", c->spec.name,
				 strerror(rc));
}

int bs_taker_open(struct bs_taker **out, const struct bs_taker_spec *spec,
		  struct bs_taker_record *record, struct bs_fail *why)
{
	struct bs_taker *c = calloc(1, sizeof(*c));
	int rc;

	*out = NULL;
	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s", spec->name);
	c->spec = *spec;
	c->r = record;
	rc = open_memory(c, why);
	if (rc == 0 && spec->policy == BS_POLICY_SPILL && spec->spill_bytes < c->cap)
		rc = bs_fail(why, BS_ERR_CONFIG, "%s: %llu bytes to spill to, an image takes %zu",
			     spec->name, (unsigned long long)spec->spill_bytes, c->cap);
	if (rc == 0 && spec->policy == BS_POLICY_SPILL)
		rc = bs_spill_open(&c->spill, spec->spill_dir, spec->file, spec->spill_bytes, why);
	if (rc == 0) {
		inherit(c);
		rc = start(c, why);
	}
	if (rc != 0) {
		bs_taker_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* What still waits in memory when the process ends, with the lock held; the mover is gone. */
static void settle(struct bs_taker *c)
{
	while (c->count > 0) {
		c->spilling = pop(c, c->spilling);
		keep(c, c->spilling, false);
	}
	c->said_ns = 0;
	say_shed(c, bs_now_ns());
	publish(c);
}

void bs_taker_close(struct bs_taker *c)
{
	if (c == NULL)
		return;
	if (c->has_thread) {
		(void)pthread_mutex_lock(&c->lock);
		atomic_store(&c->quit, true);
		(void)pthread_cond_broadcast(&c->change);
		(void)pthread_mutex_unlock(&c->lock);
		if (c->has_mover)
			(void)pthread_join(c->mover, NULL);
		if (c->spec.policy != BS_POLICY_SPILL) /* it delivers what waits */
			(void)pthread_join(c->thread, NULL);
		(void)pthread_mutex_lock(&c->lock);
		settle(c);
		(void)pthread_mutex_unlock(&c->lock);
		if (c->spec.policy ==
		    BS_POLICY_SPILL) /* may hang, and then this process is killed */
			(void)pthread_join(c->thread, NULL);
		publish(c);
	}
	bs_spill_close(&c->spill);
	free(c->memory);
	free(c);
}
