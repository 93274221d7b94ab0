/* test/unit/core/test_event.c - events become words in another thread; lost ones are counted */
#include "core/thread/event.h"

#include <string.h>

#include "core/thread/clock.h"
#include "core/err.h"
#include "core/frame/state.h"
#include "test/support/check.h"

static struct bs_event_ring ring;

static void test_words(void)
{
	struct bs_event e;
	char line[512];
	const int64_t now = 42;

	bs_clock_script(&now);
	bs_event_raise(&ring, BS_EVENT_STATE, 0,
		       (const uint64_t[3]){ BS_STATE_IDLE, BS_ON_OPEN, BS_STATE_SCANNING }, NULL);
	bs_event_raise(&ring, BS_EVENT_REJECTED, BS_ERR_CRC, (const uint64_t[3]){ 7 },
		       "the checksum is 1, should be 2");
	CHECK(bs_event_take(&ring, &e) && e.time_ns == 42, "the event carries its time");
	CHECK(bs_event_words(&e, line, sizeof(line)) == BS_LOG_INFO &&
		      strcmp(line, "idle on open -> scanning") == 0,
	      "\"%s\"", line);
	CHECK(bs_event_take(&ring, &e) && bs_event_words(&e, line, sizeof(line)) == BS_LOG_WARN,
	      "a rejected message is a warning");
	CHECK(strstr(line, "scan 7") && strstr(line, "BS_ERR_CRC") && strstr(line, "checksum is 1"),
	      "\"%s\"", line);
	CHECK(!bs_event_take(&ring, &e), "no more");
	for (uint32_t n = 0; n < BS_EVENTS + 2; n++) {
		e.number = n;
		line[0] = '\0';
		(void)bs_event_words(&e, line, sizeof(line));
		CHECK(line[0] != '\0', "event %u: \"%s\"", n, line);
	}
	bs_clock_script(NULL);
}

static void test_full(void)
{
	struct bs_event e;
	uint32_t taken = 0;
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (uint64_t i = 0; i < BS_EVENT_SLOTS + 5; i++)
		bs_event_raise(&ring, BS_EVENT_GAP, 0, (const uint64_t[3]){ i }, text);
	CHECK(atomic_load(&ring.lost) == 5, "a full ring lost %llu",
	      (unsigned long long)atomic_load(&ring.lost));
	while (bs_event_take(&ring, &e)) {
		if (e.arg[0] != taken || strlen(e.text) != BS_EVENT_TEXT - 1)
			break;
		taken++;
	}
	CHECK(taken == BS_EVENT_SLOTS, "%u kept in order, their text cut to its place", taken);
}

int main(void)
{
	test_words();
	test_full();
	return check_done();
}
