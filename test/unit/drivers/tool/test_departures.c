/*
 * test/unit/drivers/tool/test_departures.c - a sender's record on made-up times: what counts as its
 * own oversleep
 */
/* Holds: D10 */
#include "drivers/tool/replay/departures.h"

#include "test/support/check.h"

#define MS INT64_C(1000000)

static struct bs_departures d;
static struct bs_departure got;

/* A readout due at due, in ms. */
static int64_t overslept(int64_t due)
{
	bs_departures_queued(&d, due * MS);
	return bs_departures_find(&d, due * MS, &got) ? bs_departure_overslept(&got) / MS : -1;
}

static void test_sleeps(void)
{
	bs_departures_open(&d);
	CHECK(!bs_departures_find(&d, 5 * MS, &got), "nothing yet");
	CHECK(overslept(5) == 0, "no sleep before the first: none");
	bs_departures_slept(&d, 6 * MS, 10 * MS, false);
	CHECK(overslept(10) == 0, "woken on time: none");
	bs_departures_slept(&d, 11 * MS, 25 * MS, false);
	CHECK(overslept(20) == 5, "woken at 25 instead of 20: 5");
	CHECK(overslept(22) == 3, "one more came due in that sleep: 3");
	CHECK(overslept(26) == 0, "one that came due after it: none");
	bs_departures_slept(&d, 31 * MS, 35 * MS, false);
	CHECK(overslept(30) == 0, "a sleep that began after the due time: none");
	bs_departures_slept(&d, 36 * MS, 45 * MS, true);
	CHECK(overslept(40) == 0, "a sleep in which the service owed an acknowledgement: none");
	bs_departures_slept(&d, 46 * MS, 47 * MS, false);
	bs_departures_slept(&d, 48 * MS, 52 * MS, false);
	CHECK(overslept(50) == 2, "woken by a message at 47, slept again: only the last sleep");
	CHECK(bs_hist_quantile(&d.overslept, 1.0) == 5 * MS && atomic_load(&d.overslept.count) == 8,
	      "each is in the histogram");
}

static void test_sent(void)
{
	bs_departures_open(&d);
	bs_departures_queued(&d, 1 * MS);
	bs_departures_queued(&d, 2 * MS);
	CHECK(bs_departures_find(&d, 1 * MS, &got) && got.sent_ns == 0, "queued, not yet sent");
	bs_departures_sent(&d, 3 * MS);
	bs_departures_queued(&d, 4 * MS);
	bs_departures_sent(&d, 5 * MS);
	CHECK(bs_departures_find(&d, 1 * MS, &got) && got.sent_ns == 3 * MS &&
		      bs_departures_find(&d, 2 * MS, &got) && got.sent_ns == 3 * MS &&
		      bs_departures_find(&d, 4 * MS, &got) && got.sent_ns == 5 * MS,
	      "each has the time when it was handed to the socket");
	CHECK(!bs_departures_find(&d, 3 * MS, &got), "no readout was due then");
}

static void test_wrap(void)
{
	int bad = 0;

	bs_departures_open(&d);
	for (int64_t i = 1; i <= 3 * (int64_t)BS_DEPARTURES; i++)
		bs_departures_queued(&d, i);
	for (int64_t i = 2 * (int64_t)BS_DEPARTURES + 2; i <= 3 * (int64_t)BS_DEPARTURES; i++)
		bad += !bs_departures_find(&d, i, &got) || got.due_ns != i;
	CHECK(bad == 0, "the newest %u are there (%d are not)", BS_DEPARTURES - 1, bad);
	CHECK(!bs_departures_find(&d, 2 * (int64_t)BS_DEPARTURES, &got), "older ones are gone");
}

int main(void)
{
	test_sleeps();
	test_sent();
	test_wrap();
	return check_done();
}
