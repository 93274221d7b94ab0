/* test/unit/board/test_restart.c - a worker that ends now and then, or again and again */
#include "board/service/restart.h"
#include "test/support/check.h"

#define MS     INT64_C(1000000)
#define ENDS   1000
#define BEGIN  (INT64_C(77777) * MS)
#define SECOND (INT64_C(1000) * MS)

/* The longest pause of a worker that ends so long after each start. */
static int64_t longest(bool was_ready, int64_t lives_ns, int64_t *all_ns)
{
	struct bs_restart r = { 0 };
	int64_t now = BEGIN;
	int64_t most = 0;

	for (int i = 0; i < ENDS; i++) {
		const int64_t at = bs_restart_at(&r, was_ready, now);

		most = at - now > most ? at - now : most;
		now = at + lives_ns;
	}
	*all_ns = now - BEGIN;
	return most;
}

/* So many ends of a worker that was ready, at once: which of them waits first. */
static int first_that_waits(bool was_ready)
{
	struct bs_restart r = { 0 };
	int n = 1;

	while (n < ENDS && bs_restart_at(&r, was_ready, BEGIN) == BEGIN)
		n++;
	return n;
}

int main(void)
{
	int64_t all;
	int64_t most = longest(true, 0, &all);

	CHECK(first_that_waits(true) == 5, "four ends at once of one that was ready cost nothing");
	CHECK(first_that_waits(false) == 2, "nor does the first of one that was not");
	CHECK(most <= 500 * MS, "one that ends as soon as it is ready waits %lld ms at most",
	      (long long)(most / MS));
	CHECK(all >= (ENDS - 5) * (SECOND / 2), "and is started twice a second in the long run");
	CHECK(longest(true, 500 * MS, &all) == 0, "one that lives for half a second never waits");
	most = longest(false, 0, &all);
	CHECK(most <= 2 * SECOND && all >= (ENDS - 2) * 2 * SECOND,
	      "one that does not get ready waits %lld ms at most, and is started every two seconds",
	      (long long)(most / MS));
	struct bs_restart r = { 0 };

	for (int i = 0; i < 10; i++)
		(void)bs_restart_at(&r, true, BEGIN);
	CHECK(bs_restart_at(&r, true, BEGIN + 60 * SECOND) == BEGIN + 60 * SECOND,
	      "a minute later all is forgotten");
	return check_done();
}
