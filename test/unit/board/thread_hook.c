/*
 * test/unit/board/thread_hook.c - a library that starts a thread before main, as a preloaded object
 *
 * The thread is called "foreign", blocks no signal and waits for the process's end, as the threads
 * of a BLAS do.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *wait_forever(void *arg)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "foreign");
	for (;;)
		(void)pause();
	return arg;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_forever, NULL) != 0)
		abort();
}
