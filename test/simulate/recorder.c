/* test/simulate/recorder.c - see recorder.h; board/command/record.c has the loop */
#include "test/simulate/recorder.h"

#include <stdio.h>
#include <time.h>

#include "board/log/recorder.h"
#include "ipc/endpoint.h"
#include "test/simulate/books.h"
#include "test/simulate/disk.h"
#include "test/simulate/service.h"

#define MESSAGE_BYTES 4096u
#define WATCH_NS      (100 * MS)

static struct bs_recorder recorder;
static struct bs_endpoint endpoint;
static bool stop;

static bool say(void *arg, const unsigned char envelope[BS_WIRE_BYTES], const void *payload,
		size_t len)
{
	(void)arg;
	return bs_endpoint_send(&endpoint, envelope, BS_WIRE_BYTES, payload, len, 0, NULL) == 0;
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
	const unsigned char *msg;
	bool any = false;
	size_t len;

	for (int i = 0; i < 64 && bs_endpoint_take(&endpoint, &msg, &len, NULL) == 0; i++) {
		bs_recorder_take(&recorder, msg, len, sim_now);
		bs_endpoint_release(msg);
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
					       .news = news };
	const struct timespec moment = { 0, 20000000 };
	struct bs_fail why;

	(void)unused;
	if (bs_recorder_open(&recorder, &o, &why) != 0 ||
	    bs_endpoint_bind(&endpoint, BS_ENDPOINT_KSPACE, "", MESSAGE_BYTES, &why) != 0)
		return 1;
	while (!stop) {
		struct pollfd fd = { endpoint.receive_fd, POLLIN, 0 };
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
	bs_endpoint_close(&endpoint);
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
