/* board/service/worker.c - see worker.h; and the hidden command that a worker is started by */
#define _GNU_SOURCE
#include "board/service/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "board/command/command.h"
#include "board/service/realtime.h"
#include "core/thread/clock.h"
#include "core/log.h"

const char *bs_worker_name(enum bs_worker w)
{
	static const char *const names[BS_WORKERS] = { "ingest", "recon", "emit" };

	return (unsigned)w < BS_WORKERS ? names[w] : "?";
}

void bs_worker_say(struct bs_worker_env *env, enum bs_event_number number, int code,
		   const uint64_t *arg, const char *text)
{
	bs_event_raise(&env->me->events, number, code, arg, text);
	bs_shm_ring_bell(&env->shm, BS_SUPERVISOR);
}

void bs_worker_phase(struct bs_worker_env *env, enum bs_phase phase)
{
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
	bs_rt_publish(env, env->place, bs_now_ns());
}

static int attach(struct bs_worker_env *env, const char *name)
{
	int bells[BS_BELLS];
	struct bs_fail why;
	int who = 0;

	while (who < BS_WORKERS && strcmp(bs_worker_name((enum bs_worker)who), name) != 0)
		who++;
	if (who == BS_WORKERS)
		return BS_ERR_USAGE;
	env->who = (enum bs_worker)who;
	bs_log_init(bs_worker_name(env->who), BS_LOG_INFO);
	for (int i = 0; i <= BS_BELLS; i++)
		if (fcntl(BS_WORKER_FD + i, F_SETFD, FD_CLOEXEC) != 0)
			return BS_ERR_USAGE; /* started by hand */
	for (int i = 0; i < BS_BELLS; i++)
		bells[i] = BS_WORKER_FD + 1 + i;
	if (bs_shm_attach(&env->shm, BS_WORKER_FD, bells, &why) != 0) {
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(why.code), why.text);
		return why.code;
	}
	env->me = &env->shm.s->worker[who];
	env->site = env->shm.s->site;
	env->place = who == BS_WORKER_INGEST ? BS_THREAD_INGEST
		     : who == BS_WORKER_EMIT ? BS_THREAD_EMIT
					     : BS_THREAD_RECON;
	for (int i = env->place; i < BS_THREADS; i++) { /* a predecessor's are no more */
		atomic_store(&env->shm.s->thread[i].tid, 0);
		atomic_store(&env->shm.s->thread[i].at_ns, 0);
		if (who != BS_WORKER_RECON)
			break;
	}
	double tick_ms = env->site.heartbeat_ms / 2;

	if (tick_ms > env->site.stall_ms / 4)
		tick_ms = env->site.stall_ms / 4;
	if (tick_ms > 50)
		tick_ms = 50;
	env->tick_ns = bs_ns_of_ms(tick_ms);
	return 0;
}

int bs_worker_main(int argc, char **argv)
{
	static int (*const mains[BS_WORKERS])(
		struct bs_worker_env *) = { bs_worker_ingest, bs_worker_recon, bs_worker_emit };
	struct bs_worker_env *env = calloc(1, sizeof(*env));
	char title[16];
	int status;

	/* The supervisor decides about ends; a terminal's Ctrl-C goes to all processes of the
	 * group. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (env == NULL || argc != 3 || strtol(argv[2], NULL, 10) != getppid() ||
	    attach(env, argv[1]) != 0) {
		(void)fprintf(stderr, "boreside worker: is started by boreside serve alone\n");
		free(env);
		return 2;
	}
	(void)snprintf(title, sizeof(title), "bs-%s", bs_worker_name(env->who));
	(void)prctl(PR_SET_NAME, title);
	bs_rt_process(env);
	status = mains[env->who](env);
	if (status == 0)
		bs_worker_phase(env, BS_PHASE_STOPPED);
	bs_shm_close(&env->shm);
	free(env);
	return status;
}
