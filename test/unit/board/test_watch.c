/* test/unit/board/test_watch.c - which workers that do not beat are replaced */
#include "board/service/watch.h"

#include "board/service/worker.h"
#include "test/support/check.h"

#define S INT64_C(1000000000)

/* One that is ready after a long start sleeps before its loop has turned once. */
static void test_phase_beats(void)
{
	static struct bs_shared shared;
	static struct bs_worker_state me;
	struct bs_worker_env env = { .me = &me, .shm.s = &shared };

	bs_worker_phase(&env, BS_PHASE_ARMING);
	CHECK(atomic_load(&me.beat) == 1 && atomic_load(&me.phase) == BS_PHASE_ARMING,
	      "a change of phase is a beat");
	bs_worker_phase(&env, BS_PHASE_READY);
	CHECK(atomic_load(&me.beat) == 2, "so the end of a long start is not taken for a hang");
}

int main(void)
{
	static const struct {
		enum bs_phase phase;
		enum bs_busy busy;
		int64_t silent_ns, cpu_ns;
		bool alive;
		const char *what;
	} c[] = {
		{ BS_PHASE_READY, BS_BUSY_NOT, 2 * S, 0, true, "within stall_ms" },
		{ BS_PHASE_READY, BS_BUSY_NOT, 2 * S + 1, 2 * S, false, "at rest, or in a circle" },
		{ BS_PHASE_READY, BS_BUSY_COMPUTES, 10 * S, 9 * S, true, "a long call" },
		{ BS_PHASE_READY, BS_BUSY_COMPUTES, 10 * S, S / 10, false,
		  "one that stands still" },
		{ BS_PHASE_READY, BS_BUSY_COMPUTES, 601 * S, 600 * S, false,
		  "one that never ends" },
		{ BS_PHASE_READY, BS_BUSY_WAITS, 60 * S, 0, true, "one that waits for a GPU" },
		{ BS_PHASE_READY, BS_BUSY_WAITS, 60 * S + 1, 0, false, "that hangs" },
		{ BS_PHASE_READY, BS_BUSY_WAITS, 300 * S, 299 * S, true,
		  "or is waited for by polling" },
		{ BS_PHASE_ARMING, BS_BUSY_NOT, 599 * S, 0, true, "arming" },
		{ BS_PHASE_ARMING, BS_BUSY_NOT, 601 * S, 601 * S, false, "arming for ever" },
		{ BS_PHASE_DOWN, BS_BUSY_NOT, 3 * S, 0, false, "started, and stuck at once" },
		{ BS_PHASE_STOPPED, BS_BUSY_NOT, 3 * S, 2 * S, true, "giving its memory back" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		CHECK(bs_watch_alive(&(struct bs_watched){ c[i].phase, c[i].busy, false,
							   c[i].silent_ns, c[i].cpu_ns, 0 },
				     2 * S) == c[i].alive,
		      "%s: %s", c[i].what, c[i].alive ? "it lives" : "it is replaced");
	CHECK(bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
						   .busy = BS_BUSY_WAITS,
						   .silent_ns = 200 * S },
			     20 * S) &&
		      !bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
							    .busy = BS_BUSY_WAITS,
							    .silent_ns = 201 * S },
				      20 * S),
	      "a GPU is waited for ten times as long as stall_ms says");
	CHECK(bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
						   .runnable = true,
						   .silent_ns = 700 * S,
						   .cpu_ns = S },
			     2 * S) &&
		      bs_watch_alive(&(struct bs_watched){ .runnable = true, .silent_ns = 700 * S },
				     2 * S),
	      "one that waits for a processor lives, whatever it does");
	CHECK(!bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
						    .runnable = true,
						    .silent_ns = 3 * S,
						    .cpu_ns = 2 * S + 1 },
			      2 * S),
	      "but not one that runs in a circle");
	CHECK(bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
						   .silent_ns = 8 * S,
						   .replaced = 2 },
			     2 * S) &&
		      !bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
							    .silent_ns = 9 * S,
							    .replaced = 2 },
				      2 * S) &&
		      !bs_watch_alive(&(struct bs_watched){ .phase = BS_PHASE_READY,
							    .silent_ns = 129 * S,
							    .replaced = 100 },
				      2 * S),
	      "the time grows with each replacement, 64-fold at most");
	test_phase_beats();
	return check_done();
}
