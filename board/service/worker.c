/* board/service/worker.c - see worker.h */
#include "board/service/worker.h"

#include <stdarg.h>
#include <stdio.h>

#include "board/service/usage.h"
#include "config/live.h"
#include "core/thread/clock.h"

void bs_worker_say(struct bs_worker_env *env, enum bs_event_number number, int code,
		   const uint64_t *arg, const char *text)
{
	bs_event_raise(&env->me->events, number, code, arg, text);
	bs_shm_ring_bell(&env->shm, BS_SUPERVISOR);
}

void bs_worker_tell(struct bs_worker_env *env, enum bs_event_number number, int code, uint64_t scan,
		    const char *format, ...)
{
	char words[BS_EVENT_TEXT];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	bs_worker_say(env, number, code, (const uint64_t[3]){ scan }, words);
}

void bs_worker_phase(struct bs_worker_env *env, enum bs_phase phase)
{
	/* a start may take longer than a pass of the loop may: it counts as a beat */
	bs_worker_beat(env);
	atomic_store(&env->me->phase, (uint32_t)phase);
	if (phase == BS_PHASE_READY) {
		int64_t took = bs_now_ns() - atomic_load(&env->me->started_ns);

		bs_worker_say(env, BS_EVENT_READY, 0, (const uint64_t[3]){ (uint64_t)took / 1000 },
			      NULL);
	}
	for (int i = 0; i < BS_BELLS; i++)
		bs_shm_ring_bell(&env->shm, i);
}

void bs_worker_sleep(struct bs_worker_env *env, struct pollfd *more, unsigned n, int64_t until_ns)
{
	struct pollfd fds[4] = { { env->shm.bell_fd[env->who], POLLIN, 0 } };
	int64_t left = until_ns - bs_now_ns();
	struct timespec t;

	for (unsigned i = 0; i < n && i < 3; i++)
		fds[i + 1] = more[i];
	if (left > env->tick_ns)
		left = env->tick_ns;
	if (left < 0)
		left = 0;
	t = bs_timespec(left);
	if (ppoll(fds, n + 1, &t, NULL) > 0)
		for (unsigned i = 0; i < n && i < 3; i++)
			more[i].revents = fds[i + 1].revents;
	bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
	bs_worker_beat(env);
	bs_usage_publish(&env->shm, env->place, bs_now_ns());
}

bool bs_worker_renew(struct bs_worker_env *env)
{
	const uint64_t now = atomic_load(&env->shm.s->generation);

	if (atomic_load(&env->me->generation) == now)
		return false;
	bs_live_take(&env->site, &env->shm.s->site);
	atomic_store(&env->me->generation, now);
	bs_shm_ring_bell(&env->shm, BS_SUPERVISOR);
	return true;
}
