/* test/simulate/process.c - see process.h */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* its longjmp takes another stack for a mistake */
#include "test/simulate/process.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "test/support/check.h"

#if CHECK_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (256u << 10)
/* A process that takes so many steps without sleeping hangs. */
#define STEPS_MAX 50000000u

enum process_state process_state;
int process_status;

static _Alignas(64) unsigned char stack[STACK_BYTES];
static ucontext_t context, unused;
static jmp_buf home, inside_at;
static bool inside, entered, cut;
static uint32_t left;
static int (*program)(void *);
static void *argument;

/* The variables of the sources that run in here; the Makefile gives them sections of their own. */
extern unsigned char __start_worker_bss[] __attribute__((weak));
extern unsigned char __stop_worker_bss[] __attribute__((weak));
extern unsigned char __start_worker_data[] __attribute__((weak));
extern unsigned char __stop_worker_data[] __attribute__((weak));

#if CHECK_SANITIZED
static void *fake;
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
	return inside;
}

static void leave(void)
{
	if (_setjmp(inside_at) == 0) {
		inside = false;
		LEAVE(&fake, home_stack, home_bytes);
		_longjmp(home, 1);
	}
	ARRIVE(fake, &home_stack, &home_bytes);
}

static void enter(void)
{
	ARRIVE(NULL, &home_stack, &home_bytes);
	process_status = program(argument);
	process_state = PROCESS_ENDED;
	inside = false;
	LEAVE(NULL, home_stack, home_bytes);
	_longjmp(home, 1);
}

void process_sleep(void)
{
	process_state = PROCESS_SLEEPS;
	leave();
}

void sim_step(void)
{
	if (!inside || --left != 0)
		return;
	leave();
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	sim_step();
}

__attribute__((no_sanitize("address"))) static void put(unsigned char *to,
							const unsigned char *from, size_t n)
{
	volatile unsigned char *p = to;

	for (size_t i = 0; i < n; i++)
		p[i] = from != NULL ? from[i] : 0;
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

void process_start(int (*main)(void *), void *arg)
{
	process_kill();
	program = main;
	argument = arg;
	if (getcontext(&context) != 0)
		abort();
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &unused;
	makecontext(&context, enter, 0);
	entered = false;
	process_state = PROCESS_RUNS;
}

void process_run(uint32_t steps)
{
	process_state = PROCESS_RUNS;
	left = steps != 0 ? steps : STEPS_MAX;
	cut = false;
	if (_setjmp(home) == 0) {
		inside = true;
#if CHECK_SANITIZED
		__sanitizer_start_switch_fiber(&fake, stack, sizeof(stack));
#endif
		if (entered)
			_longjmp(inside_at, 1);
		entered = true;
		(void)setcontext(&context);
	}
#if CHECK_SANITIZED
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	if (process_state == PROCESS_RUNS && left == 0 && steps == 0 && !cut)
		sim_broken("the process takes %u steps without sleeping", STEPS_MAX);
}

void process_cut(uint32_t steps)
{
	left = steps;
	cut = true;
}

void process_kill(void)
{
	process_state = PROCESS_DOWN;
#if CHECK_SANITIZED
	ASAN_UNPOISON_MEMORY_REGION(stack, sizeof(stack));
#endif
	forget();
}
