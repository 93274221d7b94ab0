/*
 * core/thread/team.h - a fixed team of threads for the host operators
 *
 * open -> run* -> close. run calls fn(arg, task, member) for task 0 .. tasks-1, spread over the
 * team and the caller (member 0), and returns when all are done. Which member takes which task is
 * not fixed: a task may write only what no other task of the same run writes or reads, so results
 * do not depend on the number of threads. One run at a time, from the thread that opened the team.
 * Only open allocates. Members spin briefly between runs and then sleep; from the end of open on
 * they hold no lock between runs, not even malloc's, and the process may fork then
 * (drivers/tool/load/probe.h).
 */
#ifndef BS_CORE_THREAD_TEAM_H
#define BS_CORE_THREAD_TEAM_H

#include <stddef.h>

#include "core/err.h"

BS_C_BEGIN

#define BS_TEAM_MAX 64

struct bs_team {
	int members;
};

/*
 * The members of a team for the whole machine: one per processor that is online, at most
 * BS_TEAM_MAX.
 */
int bs_team_whole(void);
/* members: 1 .. BS_TEAM_MAX, the caller included (1: no thread is made, run is a plain loop). */
int bs_team_open(struct bs_team **team, int members, struct bs_fail *why);
/* Spreads tasks over a team of several members. */
void bs_team_spread(struct bs_team *team, void (*fn)(void *arg, int task, int member), void *arg,
		    int tasks);
static inline void bs_team_run(struct bs_team *team, void (*fn)(void *arg, int task, int member),
			       void *arg, int tasks)
{
	if (team->members > 1 && tasks > 1) {
		bs_team_spread(team, fn, arg, tasks);
		return;
	}
	for (int i = 0; i < tasks; i++)
		fn(arg, i, 0);
}
struct bs_team_task {
	void (*fn)(void *arg, int task);
	void *arg;
};
static inline void bs_team_task_run(void *arg, int task, int member)
{
	const struct bs_team_task *t = (const struct bs_team_task *)arg;

	(void)member;
	t->fn(t->arg, task);
}
/* As run, of a function that does not ask which member it runs in. */
static inline void bs_team_do(struct bs_team *team, void (*fn)(void *arg, int task), void *arg,
			      int tasks)
{
	struct bs_team_task t = { fn, arg };

	bs_team_run(team, bs_team_task_run, &t, tasks);
}
/* Calls fn once in each member, the caller included; returns when all have returned. */
void bs_team_each(struct bs_team *team, void (*fn)(void *arg, int task, int member), void *arg);
/* As memcpy. A copy that one thread takes long for is spread over the team. */
void bs_team_copy(struct bs_team *team, void *to, const void *from, size_t bytes);
static inline int bs_team_members(const struct bs_team *team)
{
	return team->members;
}
void bs_team_close(struct bs_team *team);

BS_C_END
#endif
