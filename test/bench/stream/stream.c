/* test/bench/stream/stream.c - see stream.h */
#define _GNU_SOURCE
#include "test/bench/stream/stream.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAYLOAD   BS_STREAM_PAYLOAD
#define NOISE     4u /* readouts, before the frames of a scan that is prepared */
#define IMAGE_MAX BS_STREAM_IMAGE

static _Alignas(8) unsigned char payload[PAYLOAD];
static _Atomic int64_t *sent_ns; /* [frame] the last readout was about to be sent */

/* The scan that runs, for the thread that takes its images. */
static struct {
	struct side *to;
	unsigned frames;
	bool counts;
	_Atomic unsigned came;
	_Atomic bool over;
} block;

void stream_protocol(char *out, size_t cap, const struct stream *t)
{
	char matrix[64], solve[64] = "";

	(void)snprintf(matrix, sizeof(matrix), t->deep ? "%u, %u, %u" : "%u, %u", t->matrix,
		       t->matrix, t->matrix);
	if (t->iterations > 0)
		(void)snprintf(solve, sizeof(solve), "ls: { lambda = 1.0e-3; iterations = %u; };",
			       t->iterations);
	(void)snprintf(out, cap,
		       "{ name = \"%s\"; method = \"%s\"; backend = \"%s\";\n"
		       "    matrix = [%s]; coils = %u; samples = %u; readouts = %u;\n"
		       "    trajectory: { type = \"radial%ud\"; }; silence_ms = 60000.0;\n"
		       "    frame: { preview_every = %u; }; %s %s\n"
		       "    gridding: { accuracy = 1.0e-3; }; }\n",
		       t->protocol, t->method, t->backend, matrix, t->coils, t->samples,
		       t->readouts, t->deep ? 3u : 2u, t->preview, solve,
		       t->prepared ? "virtual_coils = 4; noise: { whiten = \"require\"; };" : "");
}

bool stream_room(unsigned frames)
{
	float *values = (float *)(payload + BS_MRD_ACQ_BYTES); /* 340 is a multiple of 4 */

	for (size_t i = 0; i < (PAYLOAD - BS_MRD_ACQ_BYTES) / sizeof(float); i++)
		values[i] = (float)(i % 977) - 488.0f;
	sent_ns = calloc(frames, sizeof(*sent_ns));
	return sent_ns != NULL;
}

void stream_free(void)
{
	free(sent_ns);
}

/* ---- images ---- */

static int64_t received_ns(const unsigned char *msg, size_t len)
{
	static const char key[] = "<name>boreside_received_ns</name><value>";
	const char *found = memmem(msg, len, key, sizeof(key) - 1);

	return found != NULL ? strtoll(found + sizeof(key) - 1, NULL, 10) : 0;
}

static void *take_images(void *arg)
{
	static unsigned char image[IMAGE_MAX];
	struct side *s = block.to;
	size_t len;

	(void)arg;
	while (!atomic_load(&block.over) || atomic_load(&block.came) < block.frames) {
		const unsigned char *body;
		struct bs_wire w;
		int64_t now;

		if (bs_endpoint_recv(&s->archive, image, sizeof(image), &len, 1000, NULL) != 0) {
			if (atomic_load(&block.over))
				break;
			continue;
		}
		now = bs_now_ns();
		if (bs_wire_decode(&w, image, len, &body, NULL) != 0 || w.session != s->p.session)
			continue;
		s->previews += w.seq > BS_WIRE_PREVIEWS;
		if (w.seq < 1 || w.seq > block.frames)
			continue;
		atomic_fetch_add(&block.came, 1);
		if (!block.counts)
			continue;
		keep(&s->service_us, (double)(w.time_ns - received_ns(image, len)) * 1e-3);
		keep(&s->outside_us, (double)(now - atomic_load(&sent_ns[w.seq - 1])) * 1e-3);
	}
	return NULL;
}

/* ---- the sender ---- */

static void note_ack(const struct peer *p, struct books *b)
{
	const int64_t now = bs_now_ns();

	while (b->held < p->ack.held)
		b->held_ns[++b->held % 16384] = now;
	while (b->durable < p->ack.durable && b->durable < b->held) {
		const int64_t ns = now - b->held_ns[++b->durable % 16384];

		keep(&b->lag_us, (double)ns * 1e-3);
	}
}

static void hear_all(struct side *s, struct books *b)
{
	while (peer_hear(&s->p, 0)) {
		if (s->p.w.kind != BS_WIRE_ACK)
			continue;
		if (s->p.ack.unprotected > s->unprotected)
			s->unprotected = s->p.ack.unprotected;
		if (b != NULL)
			note_ack(&s->p, b);
	}
}

static void pace(struct side *s, struct books *b, int64_t due_ns)
{
	do {
		struct pollfd fd = { s->p.socket.receive_fd, POLLIN, 0 };

		hear_all(s, b);
		if (bs_now_ns() < due_ns)
			(void)bs_endpoint_wait(&fd, 1, due_ns, NULL);
	} while (bs_now_ns() < due_ns);
}

static bool begin(struct side *s, const struct stream *t)
{
	const unsigned z = t->deep ? t->matrix : 1;
	char xml[SERVICE_XML_MAX];
	int n = snprintf(
		xml, sizeof(xml),
		"<ismrmrdHeader><acquisitionSystemInformation><receiverChannels>%u"
		"</receiverChannels></acquisitionSystemInformation><encoding><encodedSpace>"
		"<matrixSize><x>%u</x><y>%u</y><z>%u</z></matrixSize><fieldOfView_mm><x>256</x>"
		"<y>256</y><z>256</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize>"
		"<x>%u</x><y>%u</y><z>%u</z></matrixSize><fieldOfView_mm><x>256</x><y>256</y>"
		"<z>256</z></fieldOfView_mm></reconSpace><trajectory>radial</trajectory>"
		"</encoding></ismrmrdHeader>",
		t->coils, t->matrix, t->matrix, z, t->matrix, t->matrix, z);

	return peer_begin_with(&s->p, t->protocol, xml, (size_t)n);
}

static size_t make_readout(const struct stream *t, unsigned line, unsigned frame)
{
	struct bs_mrd_acq a = { .version = 1,
				.scan_counter = line + 1,
				.number_of_samples = (uint16_t)t->samples,
				.available_channels = (uint16_t)t->coils,
				.active_channels = (uint16_t)t->coils };

	a.idx.kspace_encode_step_1 = (uint16_t)line;
	a.idx.repetition = (uint16_t)frame;
	bs_mrd_put_acq(payload, &a);
	return BS_MRD_ACQ_BYTES + (size_t)t->coils * t->samples * 8;
}

static unsigned noise_of(const struct stream *t)
{
	return t->prepared ? NOISE : 0;
}

/* White, of as many samples as a readout of the image has. */
static bool send_noise(struct side *s, const struct stream *t)
{
	static _Alignas(8) unsigned char message[PAYLOAD];
	float *values = (float *)(message + BS_MRD_ACQ_BYTES);
	const size_t bytes = make_readout(t, 0, 0);
	struct bs_mrd_acq a = { .version = 1,
				.flags = BS_MRD_IS_NOISE,
				.number_of_samples = (uint16_t)t->samples,
				.available_channels = (uint16_t)t->coils,
				.active_channels = (uint16_t)t->coils };
	uint64_t state = 1;

	for (size_t i = 0; i < (bytes - BS_MRD_ACQ_BYTES) / sizeof(float); i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		values[i] = (float)(state >> 40) * 0x1p-24f - 0.5f;
	}
	bs_mrd_put_acq(message, &a);
	for (unsigned i = 0; i < noise_of(t); i++)
		if (!peer_say(&s->p, BS_WIRE_ACQ, s->p.seq++, message, bytes))
			return false;
	return true;
}

/* At most a window of messages that are not durable. */
static bool within_window(struct side *s, struct books *b)
{
	const uint32_t window = s->p.answer.window;

	if (s->p.seq <= s->p.ack.durable + window)
		return true;
	s->held_up++;
	for (int64_t limit = await_limit(); s->p.seq > s->p.ack.durable + window;) {
		if (bs_now_ns() > limit)
			return false;
		pace(s, b, bs_now_ns() + 100000);
	}
	return true;
}

static bool send_frames(struct side *s, const struct stream *t, unsigned n, struct books *b)
{
	const double step_ns = 1e9 / ((double)t->rate * t->readouts);
	const int64_t start = bs_now_ns() + 1000000;

	s->p.ack = (struct bs_wire_ack){ 0 };
	if (!send_noise(s, t))
		return false;
	for (unsigned f = 0; f < n; f++)
		for (unsigned i = 0; i < t->readouts; i++) {
			const size_t bytes = make_readout(t, i, f);

			pace(s, b, start + (int64_t)(step_ns * ((double)f * t->readouts + i)));
			if (!within_window(s, b))
				return false;
			if (i == t->readouts - 1)
				atomic_store(&sent_ns[f], bs_now_ns());
			if (!peer_say(&s->p, BS_WIRE_ACQ, s->p.seq++, payload, bytes))
				return false;
		}
	if (b != NULL) /* while the last ones wait for the disk */
		pace(s, b, bs_now_ns() + 50000000);
	return peer_end(&s->p, (uint64_t)n * t->readouts + noise_of(t));
}

bool stream_play(struct side *s, const struct stream *t, unsigned n, bool counts, struct books *b)
{
	pthread_t thread;
	bool good;

	if (!begin(s, t)) {
		printf("not accepted: %s\n", s->p.answer.text);
		return false;
	}
	block.to = s;
	block.frames = n;
	block.counts = counts;
	atomic_store(&block.came, 0);
	atomic_store(&block.over, false);
	if (pthread_create(&thread, NULL, take_images, NULL) != 0)
		return false;
	good = send_frames(s, t, n, b);
	atomic_store(&block.over, true);
	(void)pthread_join(thread, NULL);
	if (good && s->p.outcome.code == 0 && atomic_load(&block.came) == n)
		return true;
	printf("failed: %u of %u images, outcome %d: %s\n", atomic_load(&block.came), n,
	       s->p.outcome.code, s->p.outcome.text);
	return false;
}
