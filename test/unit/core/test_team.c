/*
 * test/unit/core/test_team.c - every task runs exactly once, for any number of threads and tasks;
 * a member that the machine does not let run keeps nobody waiting
 */
#include "core/thread/team.h"
#include "test/support/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic int hits[1000];

static void hit(void *arg, int task, int member)
{
	(void)arg;
	(void)member;
	atomic_fetch_add(&hits[task], 1);
}

/* A copy of each length arrives, and nothing beside it is written. */
static void test_copy(struct bs_team *team, int members)
{
	static unsigned char from[(3u << 20) + 100];
	static unsigned char to[sizeof(from) + 2];
	static const size_t lengths[] = { 0, 1, (512u << 10) - 1, 512u << 10, sizeof(from) };

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + i / 251);
	for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
		memset(to, 0xee, sizeof(to));
		bs_team_copy(team, to + 1, from, lengths[n]);
		CHECK(memcmp(to + 1, from, lengths[n]) == 0 && to[0] == 0xee &&
			      to[lengths[n] + 1] == 0xee,
		      "team of %d: %zu bytes copied", members, lengths[n]);
	}
}

static void own(void *arg, int task, int member)
{
	(void)arg;
	atomic_fetch_add(&hits[member], task == member ? 1 : 100);
}

static pthread_t thread[2];
static _Atomic int held;

static void name_thread(void *arg, int task, int member)
{
	sigset_t set;

	(void)arg;
	(void)task;
	thread[member] = pthread_self();
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1); /* threads are started with all signals blocked */
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Holds a thread as a machine without a processor for it would. */
static void hold(int signal)
{
	(void)signal;
	atomic_store(&held, 1);
	while (atomic_load(&held) != 2)
		;
}

/* Runs go on while a member is held between two of them, and it comes to the one after. */
static void test_held(void)
{
	struct bs_team *team;
	struct bs_fail why;
	int bad = 0;

	CHECK(bs_team_open(&team, 2, &why) == 0, "team of 2");
	bs_team_each(team, name_thread, NULL);
	(void)signal(SIGUSR1, hold);
	(void)pthread_kill(thread[1], SIGUSR1);
	while (atomic_load(&held) != 1)
		;
	(void)alarm(60); /* a run that waits for the member ends the test */
	for (int round = 0; round < 100; round++) {
		memset((void *)hits, 0, sizeof(hits));
		bs_team_run(team, hit, NULL, 7);
		for (int i = 0; i < 1000; i++)
			bad += atomic_load(&hits[i]) != (i < 7);
	}
	(void)alarm(0);
	CHECK(bad == 0, "a member that does not come keeps no run from its end");
	atomic_store(&held, 2);
	memset((void *)hits, 0, sizeof(hits));
	bs_team_each(team, own, NULL);
	CHECK(atomic_load(&hits[0]) == 1 && atomic_load(&hits[1]) == 1, "it comes to the next");
	bs_team_close(team);
}

int main(void)
{
	if (!CHECK_SANITIZED) /* there a signal waits until its thread makes a call */
		test_held();
	for (int members = 1; members <= 5; members++) {
		struct bs_team *team;
		struct bs_fail why;
		int bad = 0;

		CHECK(bs_team_open(&team, members, &why) == 0, "team of %d", members);
		for (int round = 0; round < 2000; round++) {
			int tasks = 1 + round % 37;

			memset((void *)hits, 0, sizeof(hits));
			bs_team_run(team, hit, NULL, tasks);
			for (int i = 0; i < 1000; i++)
				bad += atomic_load(&hits[i]) != (i < tasks);
		}
		CHECK(bad == 0, "team of %d: %d tasks not run exactly once", members, bad);
		bad = 0;
		for (int round = 0; round < 500; round++) {
			memset((void *)hits, 0, sizeof(hits));
			bs_team_each(team, own, NULL);
			for (int i = 0; i < 1000; i++)
				bad += atomic_load(&hits[i]) != (i < members);
			memset((void *)hits, 0, sizeof(hits));
			bs_team_run(team, hit, NULL, 7);
			for (int i = 0; i < 1000; i++)
				bad += atomic_load(&hits[i]) != (i < 7);
		}
		CHECK(bad == 0, "team of %d: each member once, and runs in between (%d wrong)",
		      members, bad);
		test_copy(team, members);
		bs_team_close(team);
	}
	struct bs_team *none;
	struct bs_fail why;

	CHECK(bs_team_open(&none, 0, &why) == BS_ERR_CONFIG, "team of 0 refused: %s", why.text);
	return check_done();
}
