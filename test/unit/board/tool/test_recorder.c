/*
 * test/unit/board/tool/test_recorder.c - the recorder's conversation, with scripted times: nothing
 * is acknowledged that the log's file does not hold at that moment
 */
#define _GNU_SOURCE
#include "board/tool/command/recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/log/reader.h"
#include "ipc/wire/mrd.h"
#include "test/support/check.h"
#include "test/support/folder.h"

#define MS INT64_C(1000000)

static struct bs_recorder r;
static struct bs_fail why;
static int64_t now = 1000 * MS;

/* What was said last, of each kind. */
static struct {
	unsigned accepts, refusals, acks, outcomes, beats, early;
	uint64_t acked;
	int code; /* of the last refusal */
	struct bs_wire_outcome outcome;
	bool deaf;   /* nobody takes anything */
	uint64_t to; /* the last message's */
} said;
static uint64_t from = 1; /* whose message is sent */
static bool gone;         /* the scan's sender has no connection */

/* The highest number in a row from 0 on that the log's file holds now. */
static uint64_t on_disk(void)
{
	struct bs_log_reader *reader;
	struct bs_log_message m;
	char path[1200];
	bool here[512] = { false };
	uint64_t n = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, r.log.name);
	if (bs_log_open(&reader, path, NULL) != 0)
		return 0;
	while (bs_log_next(reader, &m, NULL) == 1) {
		const unsigned char *payload;
		struct bs_wire w;

		if (bs_wire_decode(&w, m.bytes, m.len, &payload, NULL) == 0 && w.seq < 512)
			here[w.seq] = true;
	}
	bs_log_close(reader);
	while (n < 512 && here[n])
		n++;
	return n - 1;
}

static bool say(void *arg, uint64_t peer, const unsigned char envelope[BS_WIRE_BYTES],
		const void *payload, size_t len)
{
	unsigned char msg[1024];
	const unsigned char *in;
	struct bs_wire_answer v;
	struct bs_wire_ack ack;
	struct bs_wire w;

	(void)arg;
	said.to = peer;
	if (said.deaf || len > sizeof(msg) - BS_WIRE_BYTES)
		return false;
	memcpy(msg, envelope, BS_WIRE_BYTES);
	if (len > 0)
		memcpy(msg + BS_WIRE_BYTES, payload, len);
	if (bs_wire_decode(&w, msg, BS_WIRE_BYTES + len, &in, NULL) != 0)
		return true;
	said.accepts += w.kind == BS_WIRE_ACCEPT;
	said.acks += w.kind == BS_WIRE_ACK;
	said.outcomes += w.kind == BS_WIRE_OUTCOME;
	said.refusals += w.kind == BS_WIRE_REFUSE;
	said.beats += w.kind == BS_WIRE_HEARTBEAT;
	if (w.kind == BS_WIRE_REFUSE && bs_wire_get_answer(&v, in, len, NULL) == 0)
		said.code = v.code;
	if (w.kind == BS_WIRE_OUTCOME)
		(void)bs_wire_get_outcome(&said.outcome, in, len, NULL);
	if (w.kind == BS_WIRE_ACK && bs_wire_get_ack(&ack, in, len, NULL) == 0) {
		said.acked = ack.durable;
		said.early += ack.held != ack.durable || ack.log != BS_WIRE_LOG_DURABLE;
		said.early += r.count.gaps == 0 && r.count.rejected == 0 && said.acked > on_disk();
	}
	return true;
}

static bool here(void *arg, uint64_t peer)
{
	(void)arg;
	(void)peer;
	return !gone;
}

static void news(void *arg, const char *words)
{
	(void)arg;
	printf("# %s\n", words);
}

/* ---- the sender ---- */

static void send_message(unsigned kind, uint64_t session, uint64_t seq, const void *payload,
			 size_t len)
{
	static _Alignas(8) unsigned char msg[4096];
	struct bs_wire w = { .kind = (uint16_t)kind, .session = session, .seq = seq };

	if (len > 0)
		memcpy(msg + BS_WIRE_BYTES, payload, len);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, len);
	bs_recorder_take(&r, from, msg, BS_WIRE_BYTES + len, now);
}

static void send_open(uint64_t session)
{
	static const char xml[] =
		"<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">"
		"<encoding><encodedSpace><matrixSize><x>8</x><y>8</y><z>1</z></matrixSize>"
		"<fieldOfView_mm><x>8</x><y>8</y><z>1</z></fieldOfView_mm></encodedSpace>"
		"<reconSpace><matrixSize><x>8</x><y>8</y><z>1</z></matrixSize><fieldOfView_mm>"
		"<x>8</x><y>8</y><z>1</z></fieldOfView_mm></reconSpace>"
		"<trajectory>cartesian</trajectory></encoding></ismrmrdHeader>";
	unsigned char payload[BS_WIRE_OPEN_NAME + sizeof(xml) - 1] = { 0 };

	memcpy(payload + BS_WIRE_OPEN_NAME, xml, sizeof(xml) - 1);
	send_message(BS_WIRE_OPEN, session, 0, payload, sizeof(payload));
}

static void send_acq(uint64_t session, uint64_t seq)
{
	struct bs_mrd_acq head = {
		.version = 1, .number_of_samples = 8, .available_channels = 1, .active_channels = 1
	};
	unsigned char payload[BS_MRD_ACQ_BYTES + 64] = { 0 };

	bs_mrd_put_acq(payload, &head);
	send_message(BS_WIRE_ACQ, session, seq, payload, sizeof(payload));
}

static void send_close(uint64_t session, uint64_t seq, uint64_t count)
{
	unsigned char payload[8];

	bs_wire_put_u64(payload, count);
	send_message(BS_WIRE_CLOSE, session, seq, payload, sizeof(payload));
}

static void tick(int64_t later)
{
	now += later;
	bs_recorder_tick(&r, now);
}

/* ---- the tests ---- */

static void test_plain(void)
{
	send_open(1);
	bs_recorder_tick(&r, now);
	CHECK(said.accepts == 0 && bs_recorder_due(&r, now) <= now + 2 * MS,
	      "a header that is not on the disk is not accepted");
	tick(2 * MS);
	CHECK(said.accepts == 1, "2 ms later it is");
	for (uint64_t i = 1; i <= 10; i++) {
		send_acq(1, i);
		bs_recorder_tick(&r, now);
	}
	CHECK(said.acks == 0, "ten readouts within 2 ms: none is acknowledged");
	tick(2 * MS);
	CHECK(said.acks == 1 && said.acked == 10 && said.early == 0 && r.log.commits == 2,
	      "then all are, by one commit");
	send_acq(1, 10);
	send_open(1);
	tick(0);
	CHECK(r.count.duplicates == 2 && said.accepts == 2 && said.acks == 2,
	      "what came already is answered again, and not logged");
	send_close(1, 11, 10);
	bs_recorder_tick(&r, now);
	CHECK(said.outcomes == 0, "the close waits for the disk, too");
	tick(2 * MS);
	CHECK(said.outcomes == 1 && said.outcome.code == 0 && said.outcome.acquisitions == 10 &&
		      said.outcome.duplicates == 2 && !r.scanning && said.early == 0,
	      "outcome: %s", said.outcome.text);
	send_close(1, 11, 10);
	send_open(1);
	tick(0);
	CHECK(said.outcomes == 2 && !r.scanning, "said again to one who asks again");
	send_acq(7, 3);
	CHECK(said.code == BS_ERR_STATE, "a session that is not open is refused");
}

static void test_order(void)
{
	said.acked = 0;
	send_open(2);
	send_acq(2, 2);
	send_acq(2, 3);
	tick(2 * MS);
	CHECK(said.acked == 0, "two beyond a gap are logged, not acknowledged");
	send_acq(2, 3);
	send_acq(2, 1);
	tick(2 * MS);
	CHECK(said.acked == 3 && r.count.duplicates == 1 && said.early == 0,
	      "with the missing one all three are");
	send_acq(2, 6);
	tick(2 * MS);
	tick(BS_GAP_NS);
	CHECK(r.count.gaps == 2, "two that do not come are given up");
	tick(2 * MS);
	CHECK(said.acked == 6, "what is beyond is acknowledged");
	send_acq(2, 5);
	CHECK(r.count.rejected == 1, "and comes too late");
	send_acq(2, BS_JUMP_MAX + 100);
	CHECK(said.code == BS_ERR_SEQUENCE && r.count.rejected == 2, "an absurd number");
	send_message(BS_WIRE_ACQ, 2, 7, "x", 1);
	CHECK(said.code == BS_ERR_LENGTH && r.count.rejected == 3, "a malformed readout");
	send_message(BS_WIRE_WAVEFORM, 2, 8, "wave", 4);
	said.deaf = true;
	send_close(2, 9, 4);
	tick(2 * MS);
	CHECK(!r.scanning && said.outcomes == 2 && bs_recorder_due(&r, now) <= now + 2 * MS,
	      "nobody hears the outcome: it is due again");
	said.deaf = false;
	tick(2 * MS);
	CHECK(said.outcomes == 3 && said.outcome.code == BS_ERR_SEQUENCE &&
		      said.outcome.gaps == 2 && said.outcome.acquisitions == 4,
	      "outcome: %s", said.outcome.text);
}

/* A second sender does not end the first one's scan, unless that is silent. */
static void test_another(void)
{
	send_open(20);
	tick(2 * MS);
	from = 2;
	said.code = 0;
	send_open(21);
	CHECK(said.code == BS_ERR_STATE && said.to == 2 && r.session == 20,
	      "another sender's scan is refused");
	send_message(BS_WIRE_ACQ, 20, 1, "x", 1);
	CHECK(r.peer == 2 && r.count.rejected == 1,
	      "a sender that is back is known by its session");
	from = 3;
	send_message(0, 20, 1, "x", 1);
	CHECK(said.to == 3 && r.count.rejected == 1 && r.peer == 2,
	      "what another one says wrong is not counted here");
	tick(300 * MS);
	gone = true;
	send_open(21);
	CHECK(r.session == 21 && r.peer == 3, "a sender that is gone gives way");
	gone = false;
	tick(1100 * MS);
	from = 1;
	send_open(22);
	CHECK(r.session == 22 && r.peer == 1, "one that is silent, too");
	send_close(22, 1, 0);
	tick(2 * MS);
	CHECK(!r.scanning && said.to == 1, "its outcome is its own");
}

/* A connection breaks with what was said on it: its sender says HEARTBEAT on another. */
static void test_returns(void)
{
	unsigned before;

	send_open(30);
	tick(2 * MS);
	before = said.accepts;
	from = 4;
	send_message(BS_WIRE_HEARTBEAT, 30, 0, NULL, 0);
	tick(0);
	CHECK(said.accepts == before + 1 && said.to == 4, "nothing has come: ACCEPT again");
	send_acq(30, 1);
	tick(2 * MS);
	from = 5;
	send_message(BS_WIRE_HEARTBEAT, 30, 0, NULL, 0);
	tick(0);
	CHECK(said.accepts == before + 1 && said.to == 5, "then ACK alone");
	send_close(30, 2, 1);
	tick(2 * MS);
	before = said.outcomes;
	send_message(BS_WIRE_HEARTBEAT, 30, 0, NULL, 0);
	tick(0);
	CHECK(said.outcomes == before, "OUTCOME was said on this connection");
	from = 6;
	send_message(BS_WIRE_HEARTBEAT, 30, 0, NULL, 0);
	tick(0);
	CHECK(said.outcomes == before + 1 && said.to == 6, "not on that one");
	from = 1;
}

static void test_ends(void)
{
	send_message(BS_WIRE_OPEN, 3, 0, "no header", 9);
	CHECK(said.code != 0 && !r.scanning, "a header that is none: %d", said.code);
	send_open(4);
	send_acq(4, 1);
	tick(2 * MS);
	tick(100 * MS);
	CHECK(said.beats > 0, "heartbeats");
	send_open(5);
	CHECK(r.scanning && r.session == 5 && said.outcome.code == BS_ERR_STATE,
	      "another scan ends this one: %s", said.outcome.text);
	tick(2 * MS);
	tick(3000 * MS);
	CHECK(!r.scanning, "a silent sender ends it");
	tick(2 * MS);
	CHECK(said.outcome.code == BS_ERR_TIMEOUT, "outcome: %s", said.outcome.text);
	send_open(6);
	bs_recorder_stop(&r);
	tick(0);
	CHECK(said.outcome.code == BS_ERR_ABORTED && !r.scanning, "stopped: %s", said.outcome.text);
	bs_recorder_stop(&r);
	send_open(8);
	send_acq(8, 1);
	tick(2 * MS);
	CHECK(said.acked == 1, "a scan");
	(void)close(r.log.fd); /* the disk goes, and what would be another segment with it */
	(void)close(r.log.dir_fd);
	r.log.fd = r.log.dir_fd = -1;
	send_acq(8, 2);
	tick(2 * MS);
	CHECK(!r.scanning && said.acked == 1, "a log that cannot go on acknowledges no more");
	tick(2 * MS);
	CHECK(said.outcome.code < 0, "and ends the scan: %s", said.outcome.text);
}

int main(void)
{
	const struct bs_recorder_options o = { .dir = dir,
					       .message_max = 4096,
					       .segment_bytes = 1 << 20,
					       .silence_ns = 2000 * MS,
					       .heartbeat_ns = 50 * MS,
					       .say = say,
					       .here = here,
					       .news = news };

	if (bs_recorder_open(&r, &o, &why) != 0)
		return 1;
	test_plain();
	test_order();
	test_another();
	test_returns();
	test_ends();
	CHECK(said.early == 0, "nothing was acknowledged before it was in the file");
	bs_recorder_close(&r);
	return check_done();
}
