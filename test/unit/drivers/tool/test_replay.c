/*
 * test/unit/drivers/tool/test_replay.c - recordings played over a real socket to a peer that keeps
 * ipc/WIRE.md
 *
 * The peer (a thread here) takes messages in order, acknowledges, and on request breaks the line:
 * it closes its socket with everything in it and binds again, as a service that is restarted does.
 */
#define _GNU_SOURCE
#include "core/thread/clock.h"
#include "drivers/tool/load/recording.h"
#include "drivers/tool/replay/replay.h"
#include "ipc/wire/mrd.h"
#include "test/support/await.h"
#include "test/support/check.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES  64
#define CHANNELS 3
#define PATIENCE (AWAIT_MS * INT64_C(1000000))

static const char xml[] =
	"<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>16</x><y>16</y><z>1</z></matrixSize>"
	"</encodedSpace><reconSpace><matrixSize><x>16</x><y>16</y><z>1</z></matrixSize>"
	"</reconSpace>"
	"</encoding></ismrmrdHeader>";
static char dir[] = "/tmp/boreside-replay-XXXXXX";
static char url[128], path[128];
static struct bs_fail why;

struct peer {
	/* asked */
	uint64_t break_every; /* messages; 0: never */
	uint64_t hold;        /* no acknowledgement from the first acquisition to this one */
	bool refuse, mute;
	volatile sig_atomic_t *stop_at_10;
	/* seen */
	uint64_t next, acqs, breaks, bad;
	int64_t times[1000]; /* of acquisitions */
	bool closed;
	uint64_t recorded, overslept, asleep, excused; /* of the sender's departures */
	struct bs_endpoint e;
};

static _Atomic bool peer_must_end;

static float sample_of(uint32_t acq, uint32_t i)
{
	return (float)(acq * 1000 + i);
}

/* stamps: what each readout carries, by its index. */
static void record(uint32_t n, int32_t us_step, uint32_t tick_step)
{
	struct bs_recording *r;
	float traj[SAMPLES * 2] = { 0 };
	float data[SAMPLES * CHANNELS * 2];
	int bad = 0;

	CHECK(bs_recording_create(&r, path, &why) == 0 && bs_recording_put_xml(r, xml, &why) == 0,
	      "a recording of %u", n);
	for (uint32_t a = 0; a < n; a++) {
		struct bs_mrd_acq h = { .version = 1,
					.scan_counter = a + 1,
					.number_of_samples = SAMPLES,
					.available_channels = CHANNELS,
					.active_channels = CHANNELS,
					.trajectory_dimensions = 2,
					.sample_time_us = 10.0f,
					.acquisition_time_stamp = 0xfffffff0u + a * tick_step };

		h.user_int[0] = (int32_t)(0x7ffffff0u + a * (uint32_t)us_step); /* both wrap */
		for (uint32_t i = 0; i < SAMPLES * CHANNELS * 2; i++)
			data[i] = sample_of(a, i);
		bad += bs_recording_append(r, &h, traj, data, &why) != 0;
	}
	CHECK(bad == 0 && bs_recording_close(r, &why) == 0, "is written");
}

static void say(struct peer *p, unsigned kind, uint64_t session, const void *payload, size_t len)
{
	unsigned char envelope[BS_WIRE_BYTES];
	struct bs_wire w = { .kind = (uint16_t)kind, .session = session };

	bs_wire_encode(envelope, &w, payload, len);
	(void)bs_endpoint_send(&p->e, envelope, sizeof(envelope), payload, len, 100, NULL);
}

static void say_answer(struct peer *p, uint64_t session)
{
	unsigned char out[BS_WIRE_REPLY_BYTES];
	struct bs_wire_reply v = { .code = p->refuse ? BS_ERR_PROTOCOL : 0, .window = 32 };

	bs_wire_put_reply(out, &v);
	say(p, p->refuse ? BS_WIRE_REFUSE : BS_WIRE_ACCEPT, session, out, sizeof(out));
}

static void check_acq(struct peer *p, const struct bs_wire *w, const unsigned char *payload)
{
	struct bs_mrd_acq a;
	size_t traj_at;
	size_t data_at;

	if (bs_mrd_parse_acq(&a, &traj_at, &data_at, payload, (size_t)w->payload_len, NULL) != 0 ||
	    a.scan_counter != p->acqs + 1 || a.active_channels != CHANNELS) {
		p->bad++;
		return;
	}
	for (uint32_t i = 0; i < SAMPLES * CHANNELS * 2; i++) {
		float want = sample_of((uint32_t)p->acqs, i);

		p->bad += memcmp(payload + data_at + 4 * (size_t)i, &want, 4) != 0;
	}
	if (p->acqs < 1000)
		p->times[p->acqs] = w->time_ns;
	p->acqs++;
}

static void answer(struct peer *p, const struct bs_wire *w, const unsigned char *payload)
{
	unsigned char out[BS_WIRE_OUTCOME_BYTES];
	struct bs_wire_outcome o = { .acquisitions = p->acqs };
	uint64_t count;

	if (w->kind == BS_WIRE_HEARTBEAT)
		return;
	if (w->seq == p->next) {
		p->next++;
		if (w->kind == BS_WIRE_ACQ)
			check_acq(p, w, payload);
		if (p->stop_at_10 != NULL && p->acqs == 10)
			*p->stop_at_10 = 1;
		if (w->kind == BS_WIRE_CLOSE) {
			p->closed = true;
			p->bad += bs_wire_get_u64(&count, payload, (size_t)w->payload_len, NULL) !=
					  0 ||
				  count != p->acqs;
		}
	}
	if (w->kind == BS_WIRE_OPEN)
		say_answer(p, w->session);
	bs_wire_put_ack(out, &(struct bs_wire_ack){ .held = p->next - 1, .durable = p->next - 1 });
	if (p->next > 1 && !p->refuse && (p->acqs == 0 || p->acqs >= p->hold))
		say(p, BS_WIRE_ACK, w->session, out, BS_WIRE_ACK_BYTES);
	if (p->closed) {
		bs_wire_put_outcome(out, &o);
		say(p, BS_WIRE_OUTCOME, w->session, out, sizeof(out));
	}
}

static void *serve(void *arg)
{
	static unsigned char msg[1u << 16];
	struct peer *p = arg;
	uint64_t seen = 0;

	while (!atomic_load(&peer_must_end)) {
		const unsigned char *payload;
		struct bs_wire w;
		size_t len;

		if (bs_endpoint_recv(&p->e, msg, sizeof(msg), &len, 20, NULL) != 0 || p->mute)
			continue;
		if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0) {
			p->bad++;
			continue;
		}
		if (p->break_every > 0 && ++seen % p->break_every == 0) {
			bs_endpoint_close(&p->e);
			p->bad += bs_endpoint_bind(&p->e, BS_ENDPOINT_KSPACE, url, 1u << 16,
						   NULL) != 0;
			p->breaks++;
			continue; /* and this message is lost, too */
		}
		answer(p, &w, payload);
	}
	return NULL;
}

/* What the sender recorded of the acquisitions that the peer saw. asleep: it slept before, and
 * since it had sent the first one. excused: and that counts as its own oversleep. */
static void look_at_departures(struct peer *p, const struct bs_replay *r)
{
	int64_t first = INT64_MAX;

	for (uint64_t a = 0; a < p->acqs && a < 1000; a++) {
		struct bs_departure d;
		bool own;

		if (!bs_departures_find(bs_replay_departures(r), p->times[a], &d) ||
		    d.sent_ns < d.due_ns)
			continue;
		p->recorded++;
		own = bs_departure_overslept(&d) > 0;
		p->overslept += own;
		p->asleep += d.slept_ns > first;
		p->excused += own && d.slept_ns > first;
		first = a == 0 ? d.sent_ns : first;
	}
}

static int play(struct peer *p, double speed, int64_t patience, volatile sig_atomic_t *stop,
		struct bs_replay_report *report)
{
	struct bs_replay_options o = { .protocol = "x",
				       .session = 77,
				       .speed = speed,
				       .patience_ns = patience,
				       .stop = stop };
	struct bs_endpoint e;
	struct bs_replay *r;
	pthread_t thread;
	int rc;

	/* before the sockets: reading forks */
	CHECK(bs_replay_open(&r, path, 0, &why) == 0, "opened %s", why.text);
	CHECK(bs_endpoint_bind(&p->e, BS_ENDPOINT_KSPACE, url, 1u << 16, &why) == 0 &&
		      bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, BS_REPLAY_MESSAGE_MAX,
					  &why) == 0,
	      "the line");
	atomic_store(&peer_must_end, false);
	CHECK(pthread_create(&thread, NULL, serve, p) == 0, "the peer");
	rc = bs_replay_run(r, &e, &o, report, &why);
	atomic_store(&peer_must_end, true);
	(void)pthread_join(thread, NULL);
	look_at_departures(p, r);
	bs_endpoint_close(&e);
	bs_endpoint_close(&p->e);
	bs_replay_close(r);
	return rc;
}

static enum bs_replay_clock clock_of(uint32_t n, int32_t us_step, uint32_t tick_step)
{
	enum bs_replay_clock clock;
	struct bs_replay *r;

	record(n, us_step, tick_step);
	if (bs_replay_open(&r, path, 0, &why) != 0)
		return -1;
	clock = bs_replay_clock(r);
	bs_replay_close(r);
	return clock;
}

static void clocks(void)
{
	CHECK(clock_of(4, 1000, 1) == BS_REPLAY_MICROSECONDS, "microseconds where they count");
	CHECK(clock_of(4, 0, 2) == BS_REPLAY_TICKS, "else ticks");
	CHECK(clock_of(4, 1, 2) == BS_REPLAY_TICKS,
	      "a counter that leaves a readout less than its sampling time is no clock");
	CHECK(clock_of(4, 0, 0) == BS_REPLAY_SAMPLING, "else the sampling itself");
	CHECK(clock_of(1, 1000, 1) == BS_REPLAY_SAMPLING, "one readout has no pace");
}

static void paces(void)
{
	static const struct {
		int32_t us;
		uint32_t ticks;
		double speed, step_ns;
	} at[] = { { 5000, 1, 1.0, 5e6 }, { 0, 1, 2.0, 1.25e6 }, { 0, 0, 0.5, 1.28e6 } };

	for (size_t i = 0; i < 3; i++) {
		static struct peer p;
		struct bs_replay_report t;
		int bad = 0;

		memset(&p, 0, sizeof(p));
		record(12, at[i].us, at[i].ticks);
		CHECK(play(&p, at[i].speed, PATIENCE, NULL, &t) == 0 && t.code == 0 && !t.refused &&
			      p.acqs == 12 && p.bad == 0 && t.outcome.acquisitions == 12,
		      "a scan at its own pace %s", why.text);
		for (int a = 1; a < 12; a++)
			bad += fabs((double)(p.times[a] - p.times[a - 1]) - at[i].step_ns) > 1.5;
		CHECK(bad == 0, "due times are %g ms apart (%d are not)", at[i].step_ns * 1e-6,
		      bad);
		CHECK((double)t.elapsed_ns >= 11.0 * at[i].step_ns,
		      "and it took no less than that: %.1f ms", (double)t.elapsed_ns * 1e-6);
	}
}

/* A service that acknowledges late is behind: what the sender then sleeps is not its own fault. */
static void departures(void)
{
	static struct peer p;
	struct bs_replay_report t;

	record(20, 1000, 0);
	CHECK(play(&p, 1.0, PATIENCE, NULL, &t) == 0 && p.acqs == 20 && p.recorded == 20,
	      "%llu of 20 departures are recorded, sent after they were due; %llu overslept",
	      (unsigned long long)p.recorded, (unsigned long long)p.overslept);
	memset(&p, 0, sizeof(p));
	p.hold = 20;
	CHECK(play(&p, 1.0, PATIENCE, NULL, &t) == 0 && p.acqs == 20 && p.recorded == 20,
	      "20 more, none of them acknowledged until the last");
	CHECK(p.excused == 0, "it slept before %llu of them, and %llu of these sleeps excuse it",
	      (unsigned long long)p.asleep, (unsigned long long)p.excused);
}

static void as_fast_as_it_goes(void)
{
	static struct peer p;
	struct bs_replay_report t;

	record(900, 100000, 0); /* 90 s at its own pace */
	CHECK(play(&p, 0.0, PATIENCE, NULL, &t) == 0 && t.code == 0 && p.acqs == 900 &&
		      p.bad == 0 && t.sent == 900 &&
		      t.bytes == 900u * (64 + 340 + SAMPLES * 8 + SAMPLES * CHANNELS * 8),
	      "as fast as it goes: %.3f s", (double)t.elapsed_ns * 1e-9);
	memset(&p, 0, sizeof(p));
	p.break_every = 150;
	CHECK(play(&p, 0.0, PATIENCE, NULL, &t) == 0 && t.code == 0 && p.acqs == 900 &&
		      p.bad == 0 && p.breaks > 0,
	      "the line broke %llu times: all came, in order, whole; %llu were sent again",
	      (unsigned long long)p.breaks, (unsigned long long)t.resent);
}

static void endings(void)
{
	static struct peer p;
	volatile sig_atomic_t stop = 0;
	struct bs_replay_report t;

	record(100, 2000, 0);
	p.refuse = true;
	CHECK(play(&p, 0.0, PATIENCE, NULL, &t) == 0 && t.refused && t.code == BS_ERR_PROTOCOL &&
		      p.acqs == 0,
	      "refused, and nothing is sent");
	memset(&p, 0, sizeof(p));
	p.mute = true;
	CHECK(play(&p, 0.0, 300000000, NULL, &t) == BS_ERR_TIMEOUT, "a mute service: %s", why.text);
	memset(&p, 0, sizeof(p));
	p.stop_at_10 = &stop;
	CHECK(play(&p, 1.0, PATIENCE, &stop, &t) == 0 && t.code == 0 && p.acqs >= 10 &&
		      p.acqs < 100 && p.closed && p.bad == 0 && t.sent == p.acqs,
	      "told to stop, it closes the scan after %llu of 100", (unsigned long long)p.acqs);
	stop = 1;
	memset(&p, 0, sizeof(p));
	p.mute = true;
	CHECK(play(&p, 1.0, PATIENCE, &stop, &t) == BS_ERR_ABORTED, "%s", why.text);
}

int main(void)
{
	struct bs_replay *r;

	if (mkdtemp(dir) == NULL) {
		SKIP("no temporary directory: %s", strerror(errno));
		return 0;
	}
	(void)snprintf(url, sizeof(url), "ipc://%s/kspace", dir);
	(void)snprintf(path, sizeof(path), "%s/recording.h5", dir);
	CHECK(bs_replay_open(&r, path, 0, &why) != 0 && r == NULL, "no recording: %s", why.text);
	clocks();
	paces();
	departures();
	as_fast_as_it_goes();
	endings();
	(void)unlink(path);
	(void)unlink(url + 6);
	CHECK(rmdir(dir) == 0, "nothing is left behind");
	return check_done();
}
