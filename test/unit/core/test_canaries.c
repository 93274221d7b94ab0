/* test/unit/core/test_canaries.c - canaries run on the processors they are given, and no others */
#include "core/thread/canaries.h"

#include <string.h>

#include "test/support/await.h"
#include "test/support/check.h"

static struct bs_canary canary[BS_CANARIES];

static void start(struct bs_canaries *b, uint32_t max, const struct bs_cpus *where)
{
	memset(canary, 0, sizeof(canary));
	bs_canaries_start(b, canary, max, where, 0);
}

int main(void)
{
	static struct bs_canaries b;
	struct bs_cpus mine = { 0 };
	struct bs_cpus one = { 0 };
	uint32_t first = 0;

	CHECK(bs_cpus_may_run(&mine, 0) && mine.count > 0, "this process may run on %u processors",
	      mine.count);
	CHECK(!bs_cpus_may_run(&one, INT32_MAX) && one.count == 0, "a thread that is none: no set");
	while (!bs_cpus_has(&mine, first))
		first++;
	bs_cpus_add(&one, first);
	start(&b, BS_CANARIES, &one);
	CHECK(b.count == 1 && b.unwatched == 0 && atomic_load(&canary[0].cpu) == (int32_t)first,
	      "processor %u alone: one canary, on it", first);
	AWAIT(atomic_load(&canary[0].wakes) >= 3);
	CHECK(atomic_load(&canary[0].wakes) >= 3, "it wakes");
	bs_canaries_stop(&b);
	CHECK(atomic_load(&canary[0].due_ns) == 0, "and stops");
	bs_cpus_add(&one, BS_CPUS_MAX - 1);
	if (bs_cpus_has(&mine, BS_CPUS_MAX - 1)) {
		SKIP("this machine has processor 1023");
	} else {
		start(&b, BS_CANARIES, &one);
		CHECK(b.count == 1 && b.unwatched == 1,
		      "a processor that there is not has no canary, and is counted");
		bs_canaries_stop(&b);
	}
	start(&b, BS_CANARIES, NULL);
	CHECK(b.count + b.unwatched == mine.count && b.count > 0,
	      "no list: %u canaries, %u processors without one", b.count, b.unwatched);
	bs_canaries_stop(&b);
	start(&b, 0, &one);
	CHECK(b.count == 0 && b.unwatched == 2,
	      "beyond the bound nobody watches, and it is counted");
	bs_canaries_stop(&b);
	return check_done();
}
