/*
 * test/unit/board/test_message.c - an image's message under a scripted clock: the time at which it
 * was handed on is the same in the envelope, for the budget and for a certificate, and its
 * attributes agree
 */
/* Holds: W36, W42 */
#define _GNU_SOURCE
#include "board/emit/message.h"
#include "core/memory/pools.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/tool/certify/archive.h"
#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct bs_protocol p;
static struct bs_image_meta m;
static unsigned char slot[BS_POOLS_PIXELS + 4096];
static int64_t zero_ns;  /* the last readout was received then */
static int64_t tells[8]; /* the clock, in us since zero */
static unsigned told;

static int64_t scripted(void)
{
	return zero_ns + tells[told++] * US;
}

/* 16 x 16, received at 0, made at 5 ms, budgets of 10 ms, and of 6 for handing on alone. */
static void image(void)
{
	memset(&p, 0, sizeof(p));
	(void)snprintf(p.name, sizeof(p.name), "scripted");
	p.method = BS_METHOD_GRIDDING;
	p.matrix[0] = p.matrix[1] = 16;
	p.matrix[2] = p.coils = 1;
	p.output = BS_OUTPUT_MAGNITUDE;
	p.combine = BS_COMBINE_RSS;
	p.image_ms = 10.0;
	bs_plan_make(&p);
	memset(&m, 0, sizeof(m));
	m.image.head = (struct bs_mrd_image){ .version = 1,
					      .data_type = BS_MRD_FLOAT,
					      .image_type = BS_MRD_MAGNITUDE,
					      .matrix_size = { 16, 16, 1 },
					      .channels = 1,
					      .image_index = 1 };
	m.image.number = 65537;
	m.image.last_ns = m.from_ns = zero_ns;
	m.image.readouts = 34;
	m.session = 4711;
	m.sender_ns = zero_ns - 1 * MS; /* due a millisecond before */
	m.acq_handed_ns = zero_ns + 100 * US;
	m.taken_ns = zero_ns + 200 * US;
	m.added_ns = zero_ns + 300 * US;
	m.begun_ns = zero_ns + 1 * MS;
	m.made_ns = zero_ns + 5 * MS;
	m.image.report.stage_ns[BS_BUDGET_ACCUMULATE] = 3 * MS;
	(void)snprintf(m.engine, sizeof(m.engine), "gridding/host");
}

/* Taken up at taken, then the clock as it tells. The message, whole and checked. */
static struct bs_message make(int64_t taken, int64_t first, int64_t second)
{
	const struct bs_message_env env = { .p = &p, .now = scripted };
	const unsigned char *payload;
	struct bs_message msg;
	struct bs_wire w;

	tells[0] = first;
	tells[1] = second;
	told = 0;
	CHECK(bs_message_make(&m, &env, slot + BS_POOLS_PIXELS, zero_ns + taken * US) == 0,
	      "taken up at %lld us, complete at %lld", (long long)taken, (long long)first);
	msg = bs_message_of(&m, slot + BS_POOLS_PIXELS);
	CHECK(bs_wire_decode(&w, msg.at, msg.len, &payload, NULL) == 0 && w.session == 4711 &&
		      w.seq == 65537 + (m.image.preview ? BS_WIRE_PREVIEWS : 0) &&
		      w.time_ns == m.handed_ns,
	      "a whole message, handed on at its envelope's time: %lld us",
	      (long long)((w.time_ns - zero_ns) / US));
	return msg;
}

static bool has(const struct bs_message *msg, const char *text)
{
	return memmem(msg->at, msg->len, text, strlen(text)) != NULL;
}

#define IS(name, value) "<name>boreside_" name "</name><value>" value "</value>"

static void test_agrees(void)
{
	struct bs_message msg;

	image();
	msg = make(5100, 9999, 0);
	CHECK(told == 1 && has(&msg, IS("budget", "met")) && has(&msg, IS("quality", "complete")) &&
		      has(&msg, IS("latency_us", "5100.000")),
	      "in time when it was complete: met, made once");
	image();
	m.image.joined.slices = 7;
	(void)make(5100, 9999, 0);
	CHECK(m.pixel_bytes == sizeof(float[16][16]), "a protocol that joins no slices: %llu bytes",
	      (unsigned long long)m.pixel_bytes);
	image();
	msg = make(5100, 10001, 10050);
	CHECK(told == 2 && has(&msg, IS("budget", "missed")) && has(&msg, IS("quality", "late")) &&
		      m.image.head.user_int[2] == 1 && m.handed_ns == zero_ns + 10050 * US,
	      "late by its own checksum: made again, and it says missed");
	image();
	msg = make(10100, 10150, 0);
	CHECK(told == 1 && has(&msg, IS("budget", "missed")), "late before: missed, made once");
	image();
	p.stage_ms[BS_BUDGET_EMIT] = 2.0;
	msg = make(6900, 7100, 7200);
	CHECK(told == 2 && has(&msg, IS("budget", "met")) && has(&msg, IS("stage_missed", "emit")),
	      "a stage that its own checksum made late is named, too");
	image();
	m.image.preview = true;
	msg = make(5100, 20000, 0);
	CHECK(told == 1 && !has(&msg, "boreside_budget<"), "a preview has no budget");
}

/* Where nobody takes messages none is made; attributes, head and times are what they would be. */
static void test_unsent(void)
{
	const struct bs_message_env env = { .p = &p, .now = scripted, .unsent = true };
	static unsigned char before[sizeof(slot)];
	static struct bs_image_meta sent;
	char xml[BS_POOLS_ATTRIBUTES];
	struct bs_message msg;
	int n;

	image();
	msg = make(5100, 10001, 10050);
	sent = m;
	n = bs_attributes_xml(xml, sizeof(xml), m.attributes);
	CHECK(n == (int)m.attributes_len &&
		      memcmp(msg.at + msg.len - m.pixel_bytes - n, xml, (size_t)n) == 0,
	      "the message's XML is the image's pairs");
	memcpy(before, slot, sizeof(slot));
	image();
	told = 0;
	CHECK(bs_message_make(&m, &env, slot + BS_POOLS_PIXELS, zero_ns + 5100 * US) == 0 &&
		      told == 2 && memcmp(before, slot, sizeof(slot)) == 0,
	      "no message is written");
	CHECK(m.handed_ns == sent.handed_ns && m.pixel_bytes == sent.pixel_bytes &&
		      strcmp(m.attributes, sent.attributes) == 0 &&
		      memcmp(m.image.head.user_int, sent.image.head.user_int,
			     sizeof(sent.image.head.user_int)) == 0 &&
		      bs_attributes_xml(xml, sizeof(xml), m.attributes) == n &&
		      memcmp(msg.at + msg.len - m.pixel_bytes - n, xml, (size_t)n) == 0,
	      "attributes and times are the same");
}

/* The same messages, as a certificate reads them. */
static struct bs_certify_run run;
static struct bs_archive *archive;
static struct bs_departures left;

static void take(const struct bs_message *msg)
{
	bs_archive_take(archive, msg->at, msg->len, bs_now_ns());
}

static void counted(void)
{
	bs_archive_end(archive);
}

static void again(void)
{
	free(run.latency);
	memset(&run, 0, sizeof(run));
	bs_archive_begin(archive, &run);
	bs_archive_scan(archive, 4711);
}

static void test_certificate(void)
{
	struct bs_message msg;

	again();
	image();
	msg = make(5100, 8000, 0);
	take(&msg);
	counted();
	CHECK(run.arrived == 1 && run.raw == 0 && run.late == 0 && run.disagreed == 0 &&
		      run.spread[BS_SPREAD_DUE].max_ns == 9 * MS &&
		      run.spread[BS_SPREAD_RECEIVED].max_ns == 8 * MS,
	      "8 ms from received, 9 from due, of 10: %lld, %lld us",
	      (long long)(run.spread[BS_SPREAD_RECEIVED].max_ns / US),
	      (long long)(run.spread[BS_SPREAD_DUE].max_ns / US));
	CHECK(run.spread[BS_SPREAD_OWN].n == 1 &&
		      run.spread[BS_SPREAD_OWN].max_ns == 8000 * US - 100 * US - 3000 * US,
	      "its own part is all but the sums: %lld us",
	      (long long)(run.spread[BS_SPREAD_OWN].max_ns / US));
	again();
	msg = make(5100, 9500, 0);
	take(&msg);
	counted();
	CHECK(run.arrived == 1 && run.raw == 1 && run.explained == 0 && run.overslept == 0 &&
		      run.misses == 1 && run.late == 0 && run.disagreed == 0,
	      "9.5 ms from received is met, 10.5 from due is a miss: both are said");
	again();
	image();
	msg = make(5100, 10001, 10050);
	take(&msg);
	counted();
	CHECK(run.arrived == 1 && run.raw == 1 && run.late == 1 && run.disagreed == 0 &&
		      run.spread[BS_SPREAD_RECEIVED].max_ns == 10050 * US,
	      "late by its checksum: image and certificate agree, at %lld us",
	      (long long)(run.spread[BS_SPREAD_RECEIVED].max_ns / US));
}

/* An envelope that was sealed later than its attributes say. */
static void test_contradiction(void)
{
	struct bs_wire w = { .kind = BS_WIRE_IMAGE, .session = 4711, .seq = 1 };
	struct bs_message msg;

	again();
	image();
	msg = make(5100, 9000, 0);
	w.time_ns = zero_ns + 10500 * US;
	bs_wire_encode(msg.at, &w, msg.at + BS_WIRE_BYTES, msg.len - BS_WIRE_BYTES);
	take(&msg);
	counted();
	CHECK(run.raw == 1 && run.late == 0 && run.disagreed == 1,
	      "an image that says met and was handed on too late is a contradiction");
}

static void test_ladder(void)
{
	struct bs_message msg;

	again();
	image();
	p.method = BS_METHOD_LS;
	bs_plan_make(&p);
	m.rung = BS_RUNG_GRIDDING;
	m.image.report.gridded = true;
	msg = make(5100, 5200, 0);
	take(&msg);
	m.image.number = 65538;
	m.rung = BS_RUNG_FEWER;
	m.image.report = (struct bs_report){ .allowed = 4, .iterations = 2 };
	tells[0] = 10500; /* late, so its quality says no more than that */
	told = 0;
	const struct bs_message_env env = { .p = &p, .now = scripted };

	(void)bs_message_make(&m, &env, slot + BS_POOLS_PIXELS, zero_ns + 10200 * US);
	msg = bs_message_of(&m, slot + BS_POOLS_PIXELS);
	take(&msg);
	counted();
	CHECK(run.arrived == 2 && run.degraded == 2 && run.rung[BS_RUNG_GRIDDING] == 1 &&
		      run.rung[BS_RUNG_FEWER] == 1 && run.late == 1,
	      "a gridded image in time and one of fewer iterations, late: both are degraded");
}

static void test_strangers(void)
{
	struct bs_message msg;

	again();
	image();
	msg = make(5100, 5200, 0);
	take(&msg);
	take(&msg);
	m.image.number = 65537;
	bs_archive_scan(archive, 4712); /* the next scan has begun */
	take(&msg);
	msg.at[100] ^= 1;
	take(&msg);
	counted();
	CHECK(run.arrived == 1 && run.repeated == 1 && run.torn == 2,
	      "once arrived, once repeated, once of another scan, once damaged: %llu %llu %llu",
	      (unsigned long long)run.arrived, (unsigned long long)run.repeated,
	      (unsigned long long)run.torn);
	again();
	image();
	m.sender_ns = 0;
	msg = make(5100, 5200, 0);
	take(&msg);
	counted();
	CHECK(run.arrived == 0 && run.torn == 1, "without a due time it proves nothing");
}

/* Due at -1 ms, the sender woke at -0.3, and 9.8 ms after that the image was handed on. */
static void test_overslept(void)
{
	struct bs_message msg;

	again();
	image();
	bs_departures_slept(&left, m.sender_ns - MS, m.sender_ns + 700 * US, false);
	bs_departures_queued(&left, m.sender_ns);
	bs_departures_sent(&left, m.sender_ns + 720 * US);
	msg = make(5100, 9500, 0);
	take(&msg);
	counted();
	CHECK(run.raw == 1 && run.overslept == 1 && run.explained == 0 && run.misses == 0 &&
		      bs_certify_attributed(&run) == 0 &&
		      run.spread[BS_SPREAD_DUE].max_ns == 10500 * US,
	      "10.5 ms from due, 9.8 from the sender's waking: a miss, the sender's; same latency");
	again();
	take(&msg);
	m.image.number = 65538;
	tells[0] = 9500;
	told = 0;
	const struct bs_message_env env = { .p = &p, .now = scripted };

	(void)bs_message_make(&m, &env, slot + BS_POOLS_PIXELS, zero_ns + 5100 * US);
	msg = bs_message_of(&m, slot + BS_POOLS_PIXELS);
	take(&msg);
	counted();
	CHECK(run.raw == 2 && run.overslept == 1 && run.misses == 1 &&
		      bs_certify_attributed(&run) == 1,
	      "the same while the image before was under way: the service's");
	CHECK(run.miss[0].image == 2 && run.miss[0].left.due_ns == m.sender_ns &&
		      run.miss[0].left.woke_ns == m.sender_ns + 700 * US &&
		      run.miss[0].left.sent_ns == m.sender_ns + 720 * US &&
		      run.miss[0].received_ns == zero_ns &&
		      run.miss[0].handed_ns == zero_ns + 9500 * US &&
		      run.miss[0].overslept_ns == 0 && run.miss[0].before_ns > m.sender_ns,
	      "and it is listed with its times");
}

/* Stamped 10 ms before it was received, given to the socket 2 before; handed on at 8, taken at 15.
 */
static void test_transport(void)
{
	struct bs_message msg;

	again();
	image();
	m.sender_ns = zero_ns - 10 * MS;
	bs_departures_queued(&left, m.sender_ns);
	bs_departures_sent(&left, zero_ns - 2 * MS);
	msg = make(5100, 8000, 0);
	bs_archive_take(archive, msg.at, msg.len, zero_ns + 15 * MS);
	counted();
	CHECK(run.spread[BS_SPREAD_IN].max_ns == 10 * MS &&
		      run.spread[BS_SPREAD_WIRE].max_ns == 2 * MS &&
		      run.spread[BS_SPREAD_OUT].max_ns == 7 * MS &&
		      run.spread[BS_SPREAD_TRANSPORT].max_ns == 9 * MS,
	      "in from the stamp, in from the socket, out, both: %lld %lld %lld %lld us",
	      (long long)(run.spread[BS_SPREAD_IN].max_ns / US),
	      (long long)(run.spread[BS_SPREAD_WIRE].max_ns / US),
	      (long long)(run.spread[BS_SPREAD_OUT].max_ns / US),
	      (long long)(run.spread[BS_SPREAD_TRANSPORT].max_ns / US));
	CHECK(run.spread[BS_SPREAD_RECEIVED].max_ns == 8 * MS && run.late == 0,
	      "none of it is in what the service calls met or missed");
	again();
	m.sender_ns -= 1 * MS;
	msg = make(5100, 8000, 0);
	take(&msg);
	counted();
	CHECK(run.spread[BS_SPREAD_IN].n == 1 && run.spread[BS_SPREAD_WIRE].n == 0 &&
		      run.spread[BS_SPREAD_TRANSPORT].n == 0,
	      "a readout that the sender knows nothing of has no time on the way");
}

/* Handed on 8 ms after zero, sent 30 after it: the archive's own thread says when it came. */
static void test_delayed(const char *url)
{
	struct bs_endpoint push;
	struct bs_message msg;

	again();
	zero_ns = bs_now_ns();
	image();
	msg = make(5100, 8000, 0);
	CHECK(bs_endpoint_bind(&push, BS_ENDPOINT_ARCHIVE_OUT, url, 64, NULL) == 0, "a service");
	await_pause_ms(30);
	CHECK(bs_endpoint_send(&push, msg.at, msg.len, NULL, 0, AWAIT_MS, NULL) == 0, "it sends");
	AWAIT(bs_archive_count(archive) == 1);
	counted();
	CHECK(run.arrived == 1 && run.spread[BS_SPREAD_OUT].max_ns >= 22 * MS,
	      "an image that was 22 ms late on its way: %lld us",
	      (long long)(run.spread[BS_SPREAD_OUT].max_ns / US));
	bs_endpoint_close(&push);
}

int main(void)
{
	char dir[] = "/tmp/boreside-message-XXXXXX";
	const struct bs_cpus nowhere = { 0 };
	char url[64];

	zero_ns = bs_now_ns();
	image();
	test_agrees();
	test_unsent();
	if (mkdtemp(dir) == NULL)
		return 1;
	(void)snprintf(url, sizeof(url), "ipc://%s/a", dir);
	image();
	if (bs_archive_open(&archive, &p, url, &nowhere, &left, NULL) != 0)
		return 1;
	test_certificate();
	test_contradiction();
	test_ladder();
	test_strangers();
	test_transport();
	test_overslept();
	test_delayed(url);
	free(run.latency);
	bs_archive_close(archive);
	(void)rmdir(dir);
	return check_done();
}
