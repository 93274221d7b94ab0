/* test/simulate/recorder.c - see recorder.h; board/tool/command/record.c has the loop */
#include "test/simulate/recorder.h"

#include <stdio.h>
#include <time.h>

#include "board/tool/command/recorder.h"
#include "ipc/endpoint.h"
#include "ipc/gate.h"
#include "test/simulate/books.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/service.h"

#define MESSAGE_BYTES 4096u
#define WATCH_NS      (100 * MS)

static struct bs_recorder recorder;
static struct bs_gate gate;
static bool stop;

static bool say(void *arg, uint64_t peer, const unsigned char envelope[BS_WIRE_BYTES],
		const void *payload, size_t len)
{
	(void)arg;
	return bs_gate_send(&gate, peer, envelope, BS_WIRE_BYTES, payload, len) !=
	       BS_ENDPOINT_TIMEOUT;
}

static bool here(void *arg, uint64_t peer)
{
	(void)arg;
	return bs_gate_here(&gate, peer);
}

static void news(void *arg, const char *words)
{
	unsigned long long count;
	unsigned long long first;

	(void)arg;
	SAY("record: %s", words);
	if (sscanf(words, "%llu messages from sequence number %llu on never came", &count,
		   &first) == 2)
		books_gap(recorder.session, first, count);
	service_moment(6);
}

static bool receive(void)
{
	struct bs_gate_message m;
	bool any = false;

	for (int i = 0; i < 64 && bs_gate_take(&gate, &m); i++) {
		bs_recorder_take(&recorder, m.peer, m.msg, (size_t)m.len, sim_now);
		bs_gate_release(&gate, m.peer);
		bs_recorder_tick(&recorder, sim_now);
		any = true;
	}
	return any;
}

int recorder_run(void *unused)
{
	const struct bs_recorder_options o = { .dir = DISK_DIR,
					       .message_max = MESSAGE_BYTES,
					       .segment_bytes = RECORDER_SEGMENT,
					       .silence_ns = 5000 * MS,
					       .heartbeat_ns = 500 * MS,
					       .say = say,
					       .here = here,
					       .news = news };
	const struct timespec moment = { 0, 20000000 };
	struct bs_fail why;

	(void)unused;
	if (bs_recorder_open(&recorder, &o, &why) != 0 ||
	    bs_gate_open(&gate, "", MESSAGE_BYTES, &why) != 0)
		return 1;
	while (!stop) {
		struct pollfd fd = { gate.fd, POLLIN, 0 };
		int64_t due;

		const bool any = receive();

		bs_recorder_tick(&recorder, sim_now);
		if (any)
			continue;
		due = bs_recorder_due(&recorder, sim_now);
		(void)bs_endpoint_wait(&fd, 1, due < sim_now + WATCH_NS ? due : sim_now + WATCH_NS,
				       &why);
	}
	if (recorder.scanning) {
		bs_recorder_stop(&recorder);
		for (int i = 0; i < 5; i++) {
			bs_recorder_tick(&recorder, sim_now);
			(void)nanosleep(&moment, NULL);
		}
	}
	bs_gate_close(&gate);
	bs_recorder_close(&recorder);
	return 0;
}

bool recorder_scans(void)
{
	return recorder.scanning;
}

void recorder_stop(bool told)
{
	stop = told;
}
