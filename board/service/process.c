/* board/service/process.c - a worker's process, from what it inherits to its end; see worker.h */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "board/service/realtime.h"
#include "board/service/worker.h"
#include "core/log.h"
#include "core/thread/clock.h"

static int map_memory(struct bs_shm *shm)
{
	int bells[BS_BELLS];
	struct bs_fail why;

	for (int i = 0; i <= BS_BELLS; i++)
		if (fcntl(BS_WORKER_FD + i, F_SETFD, FD_CLOEXEC) != 0)
			return BS_ERR_USAGE; /* a worker that a person started by hand */
	for (int i = 0; i < BS_BELLS; i++)
		bells[i] = BS_WORKER_FD + 1 + i;
	if (bs_shm_attach(shm, BS_WORKER_FD, bells, &why) != 0) {
		bs_log(BS_LOG_ERROR, "%s: %s", bs_err_name(why.code), why.text);
		return why.code;
	}
	return 0;
}

static int attach(struct bs_worker_env *env, const char *name)
{
	int who = 0;
	int rc;

	while (who < BS_WORKERS && strcmp(bs_worker_name((enum bs_worker)who), name) != 0)
		who++;
	if (who == BS_WORKERS)
		return BS_ERR_USAGE;
	env->who = (enum bs_worker)who;
	bs_log_init(bs_worker_name(env->who), BS_LOG_INFO);
	rc = map_memory(&env->shm);
	if (rc != 0)
		return rc;
	bs_log_format(strcmp(env->shm.s->site.log_format, "json") == 0);
	env->me = &env->shm.s->worker[who];
	atomic_store(&env->me->generation, atomic_load(&env->shm.s->generation));
	env->site = env->shm.s->site;
	env->place = who == BS_WORKER_INGEST ? BS_THREAD_INGEST
		     : who == BS_WORKER_EMIT ? BS_THREAD_EMIT
					     : BS_THREAD_RECON;
	/* the records of a dead predecessor's threads */
	for (int i = env->place; i < BS_THREADS; i++) {
		atomic_store(&env->shm.s->thread[i].tid, 0);
		atomic_store(&env->shm.s->thread[i].at_ns, 0);
		if (who == BS_WORKER_EMIT || i == BS_THREAD_LOG)
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

	/* The supervisor decides when a worker ends; a terminal's Ctrl-C reaches every process. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (env == NULL || argc != 3 || strtol(argv[2], NULL, 10) != getppid() ||
	    (strcmp(argv[1], "check") == 0 ? map_memory(&env->shm) : attach(env, argv[1])) != 0) {
		(void)fprintf(stderr, "boreside worker: is started by boreside serve alone\n");
		free(env);
		return 2;
	}
	if (env->me == NULL) {
		bs_log_init("reload", BS_LOG_INFO);
		status = bs_worker_check(&env->shm);
		bs_shm_close(&env->shm);
		free(env);
		return status;
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
