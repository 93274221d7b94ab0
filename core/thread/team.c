/* core/thread/team.c - see team.h */
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

/* A number that threads wait on to change. */
struct gate {
	_Atomic uint32_t value;   /* futex */
	_Atomic uint32_t waiting; /* threads that sleep, or are about to */
};

/*
 * A round is over when all its tasks are done, not when all members have come: one that the
 * machine lets sleep keeps nobody waiting, and finds nothing to do when it comes.
 */
struct threads {
	struct bs_team team;
	struct gate round; /* a new number is a new run; odd: each member takes its own task */
	struct gate left;  /* tasks of this run that are not done */
	/*
	 * The run's number, and in the lower half its tasks that nobody has taken. Who takes one
	 * may read what stands below: the run ends only when that task is done.
	 */
	_Atomic uint64_t tickets;
	_Atomic bool quit;
	void (*fn)(void *arg, int task, int member);
	void *arg;
	int tasks;
	pthread_t thread[BS_TEAM_MAX];
	struct member {
		struct threads *team;
		int index;
	} member[BS_TEAM_MAX];
};

static void sleep_while(struct gate *g, uint32_t value)
{
	for (int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&g->value, memory_order_acquire) != value)
			return;
		bs_pause();
	}
	/* who changes the value sees that somebody waits, or the kernel sees that it has changed */
	atomic_fetch_add(&g->waiting, 1);
	while (atomic_load(&g->value) == value)
		(void)syscall(SYS_futex, (uint32_t *)&g->value, FUTEX_WAIT_PRIVATE, value, NULL,
			      NULL, 0);
	atomic_fetch_sub(&g->waiting, 1);
}

static void wake(struct gate *g) /* after a change of the value */
{
	if (atomic_load(&g->waiting) != 0)
		(void)syscall(SYS_futex, (uint32_t *)&g->value, FUTEX_WAKE_PRIVATE, BS_TEAM_MAX,
			      NULL, NULL, 0);
}

/* Says that n tasks are done. */
static void leave(struct threads *t, uint32_t n)
{
	if (n > 0 && atomic_fetch_sub(&t->left.value, n) == n)
		wake(&t->left);
}

static void take_tasks(struct threads *t, int member)
{
	uint64_t tickets = atomic_load_explicit(&t->tickets, memory_order_acquire);
	uint32_t done = 0;

	while ((uint32_t)tickets != 0) {
		if (!atomic_compare_exchange_weak_explicit(&t->tickets, &tickets, tickets - 1,
							   memory_order_acq_rel,
							   memory_order_acquire))
			continue;
		t->fn(t->arg, t->tasks - (int)(uint32_t)tickets, member);
		done++;
		tickets = atomic_load_explicit(&t->tickets, memory_order_acquire);
	}
	leave(t, done);
}

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct threads *t = m->team;
	uint32_t seen = 0;

	for (;;) {
		sleep_while(&t->round, seen);
		seen = atomic_load_explicit(&t->round.value, memory_order_acquire);
		if (atomic_load(&t->quit))
			return NULL;
		if (seen % 2 != 0) {
			t->fn(t->arg, m->index, m->index);
			leave(t, 1);
		} else {
			take_tasks(t, m->index);
		}
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

static struct threads *threads_of(struct bs_team *team)
{
	return (struct threads *)(void *)team; /* its first member */
}

/* Begins a round of so many tasks; each: one a member. */
static void begin_round(struct threads *t, uint32_t tasks, bool each)
{
	const uint32_t last = atomic_load_explicit(&t->round.value, memory_order_relaxed);
	const uint32_t round = (last | 1) + (each ? 2 : 1);

	t->tasks = (int)tasks;
	atomic_store_explicit(&t->left.value, tasks, memory_order_relaxed);
	atomic_store_explicit(&t->tickets, (uint64_t)round << 32 | (each ? 0 : tasks),
			      memory_order_release);
	atomic_store(&t->round.value, round);
	wake(&t->round);
}

static void end_round(struct threads *t)
{
	uint32_t left;

	while ((left = atomic_load_explicit(&t->left.value, memory_order_acquire)) != 0)
		sleep_while(&t->left, left);
}

void bs_team_spread(struct bs_team *team, void (*fn)(void *arg, int task, int member), void *arg,
		    int tasks)
{
	struct threads *t = threads_of(team);

	t->fn = fn;
	t->arg = arg;
	begin_round(t, (uint32_t)tasks, false);
	take_tasks(t, 0);
	end_round(t);
}

void bs_team_each(struct bs_team *team, void (*fn)(void *arg, int task, int member), void *arg)
{
	struct threads *t = threads_of(team);

	if (team->members == 1) {
		fn(arg, 0, 0);
		return;
	}
	t->fn = fn;
	t->arg = arg;
	begin_round(t, (uint32_t)team->members, true);
	fn(arg, 0, 0);
	leave(t, 1);
	end_round(t);
}

struct copy {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
};

static void copy_piece(void *arg, int task)
{
	const struct copy *c = arg;
	const size_t at = (size_t)task * COPY_PIECE;
	const size_t left = c->bytes - at;

	memcpy(c->to + at, c->from + at, left < COPY_PIECE ? left : COPY_PIECE);
}

void bs_team_copy(struct bs_team *team, void *to, const void *from, size_t bytes)
{
	struct copy c = { to, from, bytes };

	bs_team_do(team, copy_piece, &c, (int)((bytes + COPY_PIECE - 1) / COPY_PIECE));
}

void bs_team_close(struct bs_team *team)
{
	struct threads *t = threads_of(team);

	if (team == NULL)
		return;
	atomic_store(&t->quit, true);
	atomic_fetch_add(&t->round.value, 1);
	wake(&t->round);
	for (int i = 1; i < team->members; i++)
		(void)pthread_join(t->thread[i], NULL);
	free(t);
}
