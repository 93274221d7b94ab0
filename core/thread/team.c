/* core/thread/team.c - see team.h */
#define _GNU_SOURCE
#include "core/thread/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "core/thread/thread.h"

/* Bytes of a copy that one thread takes at a time: some 50 us, far beyond the team's own time. */
#define COPY_PIECE ((size_t)512 << 10)

/*
 * About 20 us of polling. This is longer than the gap between two stages of one frame, and so short
 * that an idle team costs nothing and that a team with more members than processors does not starve
 * its caller.
 */
#define SPINS 2000

struct threads {
	struct bs_team team;
	_Atomic uint32_t round; /* futex: a new number is a new run */
	_Atomic uint32_t busy;  /* futex: members still working on this run */
	_Atomic int next;       /* next task to take */
	_Atomic bool quit;
	void (*fn)(void *arg, int task, int member);
	void *arg;
	int tasks;
	bool each; /* each member takes the task of its own number */
	pthread_t thread[BS_TEAM_MAX];
	struct member {
		struct threads *team;
		int index;
	} member[BS_TEAM_MAX];
};

static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
	for (int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(word, memory_order_acquire) != value)
			return;
		bs_pause();
	}
	while (atomic_load_explicit(word, memory_order_acquire) == value)
		(void)syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL,
			      0);
}

static void wake(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, BS_TEAM_MAX, NULL, NULL, 0);
}

static void take_tasks(struct threads *t, int member)
{
	if (t->each) {
		t->fn(t->arg, member, member);
		return;
	}
	for (;;) {
		int task = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);

		if (task >= t->tasks)
			return;
		t->fn(t->arg, task, member);
	}
}

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct threads *t = m->team;
	uint32_t seen = 0;

	for (;;) {
		sleep_while(&t->round, seen);
		seen++; /* the caller never starts a round before all have left the last one */
		if (atomic_load(&t->quit))
			return NULL;
		take_tasks(t, m->index);
		if (atomic_fetch_sub_explicit(&t->busy, 1, memory_order_acq_rel) == 1)
			wake(&t->busy);
	}
}

int bs_team_whole(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > BS_TEAM_MAX ? BS_TEAM_MAX : (int)n;
}

static void nothing(void *arg, int task, int member)
{
	(void)arg;
	(void)task;
	(void)member;
}

int bs_team_open(struct bs_team **team, int members, struct bs_fail *why)
{
	struct threads *t;

	if (members < 1 || members > BS_TEAM_MAX)
		return bs_fail(why, BS_ERR_CONFIG, "team of %d threads: 1 to %d", members,
			       BS_TEAM_MAX);
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "team of %d threads", members);
	t->team.members = 1;
	for (int i = 1; i < members; i++) {
		t->member[i] = (struct member){ t, i };
		int rc = bs_thread_start(&t->thread[i], member_main, &t->member[i]);

		if (rc != 0) {
			bs_team_close(&t->team);
			return bs_fail(why, BS_ERR_NOMEM, "thread %d of %d: %s", i, members,
				       strerror(rc));
		}
		t->team.members++;
	}
	*team = &t->team;
	/* when each member has begun, its start holds no lock any more */
	bs_team_each(&t->team, nothing, NULL);
	return 0;
}

/* Does one round: wakes the other members, takes the caller's share and waits for them. */
static void go_round(struct threads *t, void (*fn)(void *arg, int task, int member), void *arg)
{
	uint32_t left;

	t->fn = fn;
	t->arg = arg;
	atomic_store_explicit(&t->next, 0, memory_order_relaxed);
	atomic_store_explicit(&t->busy, (uint32_t)t->team.members - 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->round, 1, memory_order_release);
	wake(&t->round);
	take_tasks(t, 0);
	while ((left = atomic_load_explicit(&t->busy, memory_order_acquire)) != 0)
		sleep_while(&t->busy, left);
}

static struct threads *threads_of(struct bs_team *team)
{
	return (struct threads *)(void *)team; /* its first member */
}

void bs_team_spread(struct bs_team *team, void (*fn)(void *arg, int task, int member), void *arg,
		    int tasks)
{
	struct threads *t = threads_of(team);

	t->tasks = tasks;
	t->each = false;
	go_round(t, fn, arg);
}

void bs_team_each(struct bs_team *team, void (*fn)(void *arg, int task, int member), void *arg)
{
	struct threads *t = threads_of(team);

	if (team->members == 1) {
		fn(arg, 0, 0);
		return;
	}
	t->each = true;
	go_round(t, fn, arg);
}

struct copy {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
};

static void copy_piece(void *arg, int task, int member)
{
	const struct copy *c = arg;
	const size_t at = (size_t)task * COPY_PIECE;
	const size_t left = c->bytes - at;

	(void)member;
	memcpy(c->to + at, c->from + at, left < COPY_PIECE ? left : COPY_PIECE);
}

void bs_team_copy(struct bs_team *team, void *to, const void *from, size_t bytes)
{
	struct copy c = { to, from, bytes };

	bs_team_run(team, copy_piece, &c, (int)((bytes + COPY_PIECE - 1) / COPY_PIECE));
}

void bs_team_close(struct bs_team *team)
{
	struct threads *t = threads_of(team);

	if (team == NULL)
		return;
	atomic_store(&t->quit, true);
	atomic_fetch_add_explicit(&t->round, 1, memory_order_release);
	wake(&t->round);
	for (int i = 1; i < team->members; i++)
		(void)pthread_join(t->thread[i], NULL);
	free(t);
}
