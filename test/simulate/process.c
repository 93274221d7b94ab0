/* test/simulate/process.c - see process.h */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* its longjmp takes another stack for a mistake */
#include "test/simulate/process.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "test/simulate/places.h"
#include "test/simulate/step.h"
#include "test/simulate/totals.h"
#include "test/support/check.h"

#if CHECK_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (256u << 10)
/* A process that takes so many steps without waiting hangs. */
#define STEPS_MAX 50000000u
#define PIECES    256u /* of memory that the process has allocated */

enum process_state process_state;
int process_status;

enum thread_state { NONE, RUNS, WAITS, ENDED };

static struct thread {
	enum thread_state state;
	bool entered;
	int (*main)(void *);
	void *(*start)(void *);
	void *arg;
	int64_t wake_ns, since_ns, left_ns, stalled_ns;
	bool (*ready)(void *);
	void *ready_arg;
	jmp_buf at;
	void *fake;
	const void *change;            /* that it waits for; NULL: it was signaled */
	const struct sim_place *place; /* it was stopped there; NULL: anywhere else */
} thread[PROCESS_THREADS];

static _Alignas(64) unsigned char stack[PROCESS_THREADS][STACK_BYTES];
static ucontext_t unused;
static jmp_buf home;
static struct thread *running;
static bool cut, held;
static uint32_t left;
static struct {
	bool on, hit;
	uint32_t of, at, odd;
} aim;
static void *piece[PIECES];

/* The variables of the sources that run in here; the Makefile gives them sections of their own. */
extern unsigned char __start_worker_bss[] __attribute__((weak));
extern unsigned char __stop_worker_bss[] __attribute__((weak));
extern unsigned char __start_worker_data[] __attribute__((weak));
extern unsigned char __stop_worker_data[] __attribute__((weak));

#if CHECK_SANITIZED
static const void *home_stack;
static size_t home_bytes;
#define LEAVE(save, to, bytes)    __sanitizer_start_switch_fiber(save, to, bytes)
#define ARRIVE(save, from, bytes) __sanitizer_finish_switch_fiber(save, from, bytes)
#else
#define LEAVE(save, to, bytes)    (void)0
#define ARRIVE(save, from, bytes) (void)0
#endif

bool process_inside(void)
{
	return running != NULL;
}

static void leave(void)
{
	struct thread *t = running;

	t->left_ns = sim_now;
	if (_setjmp(t->at) == 0) {
		running = NULL;
		LEAVE(&t->fake, home_stack, home_bytes);
		_longjmp(home, 1);
	}
	ARRIVE(t->fake, &home_stack, &home_bytes);
}

static void enter(void)
{
	struct thread *t = running;

	ARRIVE(NULL, &home_stack, &home_bytes);
	if (t->main != NULL) {
		process_status = t->main(t->arg);
		process_state = PROCESS_ENDED;
	} else {
		(void)t->start(t->arg);
	}
	t->state = ENDED;
	running = NULL;
	LEAVE(NULL, home_stack, home_bytes);
	_longjmp(home, 1);
}

void process_wait(int64_t until_ns, bool (*ready)(void *), void *arg)
{
	struct thread *t = running;

	t->state = WAITS;
	t->wake_ns = until_ns;
	t->ready = ready;
	t->ready_arg = arg;
	leave();
	t->since_ns = sim_now;
}

int64_t process_stalled(void)
{
	return running->stalled_ns;
}

int64_t process_since(void)
{
	return running->since_ns;
}

void sim_step(void)
{
	if (running == NULL || held || --left != 0)
		return;
	leave();
}

static bool is_aim(uint32_t index)
{
	return aim.on && (index * aim.odd >> 16) % aim.of == aim.at;
}

void sim_at(const struct sim_place *p)
{
	struct thread *t = running;
	const uint32_t index = places_index(p);

	if (t == NULL || held)
		return;
	sim_totals->reached[index] = 1;
	t->place = p;
	if (is_aim(index)) {
		aim.on = false;
		aim.hit = cut = true;
		left = 1;
	}
	sim_step();
	t->place = NULL;
}

void process_aim(uint32_t rarer)
{
	aim.on = true;
	aim.of = 8u << 2 * sim_below(rarer);
	aim.at = sim_below(aim.of);
	aim.odd = (uint32_t)sim_random() | 1;
}

void process_aim_off(void)
{
	aim.on = false;
}

bool process_hit(void)
{
	const bool hit = aim.hit;

	aim.hit = false;
	return hit;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	sim_step();
}

/* Over what a sanitizer has put between the variables, too. from NULL: zeros. */
__attribute__((no_sanitize("address"))) static void put(unsigned char *to,
							const unsigned char *from, size_t n)
{
	if (!CHECK_SANITIZED) {
		if (from != NULL && n > 0)
			memcpy(to, from, n);
		else if (n > 0)
			memset(to, 0, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		((volatile unsigned char *)to)[i] = from != NULL ? from[i] : 0;
}

/* What its variables were when the program was loaded. */
static void forget(void)
{
	static unsigned char *loaded;
	const size_t n = (size_t)(__stop_worker_data - __start_worker_data);

	if (loaded == NULL) {
		loaded = malloc(n + 1);
		if (loaded == NULL)
			abort();
		put(loaded, __start_worker_data, n);
	}
	put(__start_worker_data, loaded, n);
	put(__start_worker_bss, NULL, (size_t)(__stop_worker_bss - __start_worker_bss));
}

static struct thread *spawn(void)
{
	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		if (thread[i].state == NONE) {
			thread[i] = (struct thread){ .state = RUNS,
						     .since_ns = sim_now,
						     .left_ns = sim_now };
			return &thread[i];
		}
	return NULL;
}

void process_start(int (*main)(void *), void *arg)
{
	struct thread *t;

	process_kill();
	process_state = PROCESS_LIVES;
	t = spawn();
	t->main = main;
	t->arg = arg;
}

bool process_ready(unsigned i)
{
	const struct thread *t = &thread[i];

	return process_state == PROCESS_LIVES &&
	       (t->state == RUNS ||
		(t->state == WAITS &&
		 (sim_now >= t->wake_ns || (t->ready != NULL && t->ready(t->ready_arg)))));
}

bool process_rests(unsigned i)
{
	return thread[i].state == WAITS && thread[i].ready != NULL;
}

bool process_idles(unsigned i)
{
	const struct thread *t = &thread[i];

	return t->state == WAITS && (t->ready == NULL || !t->ready(t->ready_arg));
}

int64_t process_due(void)
{
	int64_t due = INT64_MAX;

	for (unsigned i = 0; process_state == PROCESS_LIVES && i < PROCESS_THREADS; i++)
		if (thread[i].state == WAITS && thread[i].wake_ns < due)
			due = thread[i].wake_ns;
	return due;
}

void process_run(unsigned i, uint32_t steps)
{
	static ucontext_t context;
	struct thread *t = &thread[i];
	const int64_t free_ns = t->state == RUNS ? t->left_ns : t->wake_ns;

	t->stalled_ns += sim_now > free_ns ? sim_now - free_ns : 0;
	t->state = RUNS;
	left = steps != 0 ? steps : STEPS_MAX;
	cut = false;
	if (_setjmp(home) == 0) {
		running = t;
#if CHECK_SANITIZED
		__sanitizer_start_switch_fiber(NULL, stack[i], STACK_BYTES);
#endif
		if (t->entered)
			_longjmp(t->at, 1);
		t->entered = true;
		if (getcontext(&context) != 0)
			abort();
		context.uc_stack.ss_sp = stack[i];
		context.uc_stack.ss_size = STACK_BYTES;
		context.uc_link = &unused;
		makecontext(&context, enter, 0);
		(void)setcontext(&context);
	}
#if CHECK_SANITIZED
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	if (t->state == RUNS && left == 0 && steps == 0 && !cut)
		sim_broken("the process takes %u steps without waiting", STEPS_MAX);
}

bool process_run_any(void)
{
	unsigned ready = 0;
	unsigned at;

	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		ready += process_ready(i);
	if (ready == 0)
		return false;
	at = sim_below(ready);
	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		if (process_ready(i) && at-- == 0) {
			process_run(i, sim_chance(400) ? sim_spread(12) : 0);
			break;
		}
	return true;
}

void process_hold(bool holds)
{
	held = holds;
}

void process_cut(uint32_t steps)
{
	left = steps;
	cut = true;
}

void process_kill(void)
{
	process_state = PROCESS_DOWN;
	aim.on = aim.hit = false;
	for (unsigned i = 0; i < PROCESS_THREADS; i++) {
#if CHECK_SANITIZED
		ASAN_UNPOISON_MEMORY_REGION(stack[i], STACK_BYTES);
#endif
		if (thread[i].state != NONE && thread[i].place != NULL)
			sim_totals->killed[places_index(thread[i].place)]++;
		thread[i].state = NONE;
	}
	for (unsigned i = 0; i < PIECES; i++) {
		free(piece[i]);
		piece[i] = NULL;
	}
	forget();
}

/* ---- what the process calls ---- */

void process_own(void *p)
{
	for (unsigned i = 0; p != NULL && i < PIECES; i++)
		if (piece[i] == NULL) {
			piece[i] = p;
			return;
		}
	if (p != NULL)
		sim_broken("the process has allocated more than %u pieces", PIECES);
}

static void disown(const void *p)
{
	for (unsigned i = 0; p != NULL && i < PIECES; i++)
		if (piece[i] == p)
			piece[i] = NULL;
}

void *sim_malloc(size_t n)
{
	void *p = malloc(n);

	process_own(p);
	return p;
}

void *sim_calloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	process_own(p);
	return p;
}

void *sim_realloc(void *p, size_t n)
{
	void *more;

	disown(p);
	more = realloc(p, n);
	process_own(more != NULL ? more : p);
	return more;
}

void sim_free(void *p)
{
	disown(p);
	free(p);
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	(void)rest;
	process_wait(sim_now + (int64_t)t->tv_sec * 1000000000 + t->tv_nsec, NULL, NULL);
	return 0;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*start)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*start)(void *), void *arg)
{
	struct thread *t = spawn();

	(void)a;
	if (t == NULL)
		return EAGAIN;
	t->start = start;
	t->arg = arg;
	*id = (pthread_t)(t - thread);
	return 0;
}

static bool has_ended(void *arg)
{
	return ((const struct thread *)arg)->state == ENDED;
}

int __wrap_pthread_join(pthread_t id, void **result);
int __wrap_pthread_join(pthread_t id, void **result)
{
	struct thread *t = &thread[id];

	(void)result;
	while (!has_ended(t))
		process_wait(INT64_MAX, has_ended, t);
	t->state = NONE;
	return 0;
}

/* Its threads are one to the C library: it says busy where one of them would wait. */
static bool is_free(void *arg)
{
	if (pthread_mutex_trylock(arg) != 0)
		return false;
	(void)pthread_mutex_unlock(arg);
	return true;
}

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	if (running == NULL)
		return __real_pthread_mutex_lock(m);
	SIM_PLACE();
	while (!is_free(m))
		process_wait(INT64_MAX, is_free, m);
	return __real_pthread_mutex_lock(m);
}

static bool is_signaled(void *arg)
{
	return ((const struct thread *)arg)->change == NULL;
}

static int wait_for_change(pthread_cond_t *change, pthread_mutex_t *m, int64_t until_ns)
{
	struct thread *t = running;

	t->change = change;
	(void)pthread_mutex_unlock(m);
	process_wait(until_ns, is_signaled, t);
	return __wrap_pthread_mutex_lock(m);
}

int __wrap_pthread_cond_wait(pthread_cond_t *change, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *change, pthread_mutex_t *m)
{
	return wait_for_change(change, m, INT64_MAX);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *change, pthread_mutex_t *m,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *change, pthread_mutex_t *m,
				  const struct timespec *until)
{
	return wait_for_change(change, m, (int64_t)until->tv_sec * 1000000000 + until->tv_nsec);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *change);
int __wrap_pthread_cond_broadcast(pthread_cond_t *change)
{
	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		if (thread[i].change == change)
			thread[i].change = NULL;
	return 0;
}

static bool is_posted(void *arg)
{
	int value = 0;

	(void)sem_getvalue(arg, &value);
	return value > 0;
}

int __real_sem_wait(sem_t *s);
int __wrap_sem_wait(sem_t *s);
int __wrap_sem_wait(sem_t *s)
{
	while (!is_posted(s))
		process_wait(INT64_MAX, is_posted, s);
	if (sim_chance(300)) /* a thread in the background: others come first on a busy machine */
		process_wait(sim_now + (int64_t)sim_spread(31), NULL, NULL);
	return __real_sem_wait(s);
}
