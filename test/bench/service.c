/*
 * test/bench/service.c - the service's own cost: throughput beside a bare nanomsg PAIR loop
 * over ipc, message for message, and the time from a frame's last readout to its image at the sink,
 * with the method that does nothing (noop)
 *
 * Medians over the rounds; each round measures both ways, one after the other, so that a busy
 * machine is busy for both. Latency: 500 frames times --seconds, 25 a second.
 */
#define _GNU_SOURCE
#include "test/bench/bench.h"
#include "test/support/service.h"

#define COILS      8u
#define SAMPLES    4096u /* 8 x 4096 x 8 bytes: 256 KiB of samples */
#define READOUTS   64u
#define MESSAGES   1024u /* of a round: 16 frames */
#define ROUNDS     7
#define FRAMES_MAX 100000
#define PAYLOAD    (BS_MRD_ACQ_BYTES + COILS * SAMPLES * 8u)

static const char body[] =
	"protocols = ( { name = \"wide\"; method = \"noop\"; matrix = [64, 64]; coils = 8;\n"
	"    samples = 4096; readouts = 64; trajectory: { type = \"radial2d\"; }; },\n"
	"  { name = \"frame\"; method = \"noop\"; matrix = [256, 256]; coils = 8; samples = 512;\n"
	"    readouts = 32; trajectory: { type = \"radial2d\"; }; } );\n";

static struct service service;
static struct peer p;
static unsigned char payload[PAYLOAD];

static double seconds_since(int64_t ns)
{
	return (double)(bs_now_ns() - ns) * 1e-9;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *v, int n, double q)
{
	int i = (int)(q * n);

	qsort(v, (size_t)n, sizeof(*v), ascending);
	return v[i < n ? i : n - 1];
}

/* ---- the bare loop: one process sends, one receives; the last message is answered ---- */

_Noreturn void bs_bench_bare_receiver(const char *url)
{
	static unsigned char buf[PAYLOAD + BS_WIRE_BYTES];
	struct bs_endpoint e;
	size_t len;

	bs_endpoint_tune_malloc(sizeof(buf));
	if (bs_endpoint_bind(&e, BS_ENDPOINT_KSPACE, url, sizeof(buf), NULL) != 0)
		_exit(1);
	for (unsigned i = 0; i < MESSAGES; i++)
		if (bs_endpoint_recv(&e, buf, sizeof(buf), &len, 20000, NULL) != 0)
			_exit(1);
	(void)bs_endpoint_send(&e, "done", 4, NULL, 0, 5000, NULL);
	await_pause_ms(200);
	bs_endpoint_close(&e);
	_exit(0);
}

/* GiB/s, or -1. The receiver is this program again: nanomsg does not survive a fork. */
static double bare_rate(const char *self)
{
	static unsigned char envelope[BS_WIRE_BYTES];
	struct bs_endpoint e;
	char url[160];
	char answer[16];
	size_t len;
	int64_t start;
	double s;
	pid_t child;

	(void)snprintf(url, sizeof(url), "ipc://%s/bare.ipc", service.dir);
	child = fork();
	if (child == 0) {
		(void)execl(self, self, "--bare", url, (char *)NULL);
		_exit(127);
	}
	await_pause_ms(100);
	if (bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, 64, NULL) != 0)
		return -1.0;
	await_pause_ms(100);
	start = bs_now_ns();
	for (unsigned i = 0; i < MESSAGES; i++)
		if (bs_endpoint_send(&e, envelope, sizeof(envelope), payload, PAYLOAD, 20000,
				     NULL) != 0)
			return -1.0;
	if (bs_endpoint_recv(&e, answer, sizeof(answer), &len, 20000, NULL) != 0)
		return -1.0;
	s = seconds_since(start);
	bs_endpoint_close(&e);
	(void)waitpid(child, NULL, 0);
	return (double)MESSAGES * (PAYLOAD + BS_WIRE_BYTES) / s / (1 << 30);
}

/* ---- the service ---- */

static size_t make_readout(unsigned line, unsigned frame, unsigned samples)
{
	struct bs_mrd_acq a = { .version = 1,
				.scan_counter = line + 1,
				.number_of_samples = (uint16_t)samples,
				.available_channels = COILS,
				.active_channels = COILS };

	a.idx.kspace_encode_step_1 = (uint16_t)line;
	a.idx.repetition = (uint16_t)frame;
	bs_mrd_put_acq(payload, &a);
	return BS_MRD_ACQ_BYTES + (size_t)COILS * samples * 8;
}

static bool begin(const char *protocol, unsigned matrix)
{
	char xml[SERVICE_XML_MAX];
	int n = snprintf(
		xml, sizeof(xml),
		"<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>%u</x><y>%u</y><z>1</z>"
		"</matrixSize><fieldOfView_mm><x>256</x><y>256</y><z>5</z></fieldOfView_mm>"
		"</encodedSpace><reconSpace><matrixSize><x>%u</x><y>%u</y><z>1</z></matrixSize>"
		"<fieldOfView_mm><x>256</x><y>256</y><z>5</z></fieldOfView_mm></reconSpace>"
		"<trajectory>radial</trajectory></encoding></ismrmrdHeader>",
		matrix, matrix, matrix, matrix);

	return peer_begin_with(&p, protocol, xml, (size_t)n);
}

/* Sends as WIRE.md asks: at most a window of messages unacknowledged. */
static bool send_all(uint32_t window)
{
	for (unsigned i = 0; i < MESSAGES; i++) {
		size_t n = make_readout(i % READOUTS, i / READOUTS, SAMPLES);

		while (p.seq - p.acked > window)
			if (!peer_hear(&p, 5000))
				return false;
		while (peer_hear(&p, 0))
			continue;
		if (!peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, n))
			return false;
	}
	return peer_end(&p, MESSAGES);
}

static double service_rate(void)
{
	int64_t start;

	if (!begin("wide", 64))
		return -1.0;
	start = bs_now_ns();
	if (!send_all(p.answer.window))
		return -1.0;
	return (double)MESSAGES * (PAYLOAD + BS_WIRE_BYTES) / seconds_since(start) / (1 << 30);
}

static void bench_throughput(const char *self)
{
	double bare[ROUNDS];
	double ours[ROUNDS];
	double ratio[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = bare_rate(self);
		ours[i] = service_rate();
		ratio[i] = ours[i] / bare[i];
		if (bare[i] < 0 || ours[i] < 0 || p.outcome.acquisitions != MESSAGES) {
			printf("round %d failed: %s\n", i, p.outcome.text);
			check_failed++;
			return;
		}
	}
	printf("throughput, %u messages of %u bytes, %d rounds\n", MESSAGES,
	       (unsigned)(PAYLOAD + BS_WIRE_BYTES), ROUNDS);
	printf("  bare PAIR loop over ipc  %6.2f GiB/s (median)\n", quantile(bare, ROUNDS, 0.5));
	printf("  the service (noop)       %6.2f GiB/s (median)\n", quantile(ours, ROUNDS, 0.5));
	printf("  ratio                    %6.2f (median of the rounds' ratios; the aim is 0.50)\n",
	       quantile(ratio, ROUNDS, 0.5));
}

/* ---- latency: 25 frames a second, an archive that is connected ---- */

static void print_stages(void)
{
	static char doc[200000];
	char *line;
	char *save = NULL;

	if (!service_ask(&service, "text", doc, sizeof(doc)))
		return;
	for (line = strtok_r(doc, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "frame ", 6) == 0 || strncmp(line, "protocol  ", 10) == 0)
			printf("  %s\n", line);
}

static void bench_latency(int frames)
{
	static unsigned char image[1 << 20];
	static double us[FRAMES_MAX];
	struct bs_endpoint archive;
	int64_t due;
	size_t len;
	int n = 0;

	if (bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, sizeof(image),
				NULL) != 0 ||
	    !begin("frame", 256))
		return;
	due = bs_now_ns();
	for (int f = 0; f < frames; f++) {
		for (unsigned i = 0; i < 32; i++) {
			size_t bytes = make_readout(i, (unsigned)f, 512);
			int64_t left = due - bs_now_ns();
			const struct timespec t = { 0, left > 0 ? (long)left : 0 };

			if (left > 0)
				(void)nanosleep(&t, NULL);
			due += 40000000 / 32;
			while (peer_hear(&p, 0))
				continue;
			(void)peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, bytes);
		}
		int64_t sent = bs_now_ns();

		if (bs_endpoint_recv(&archive, image, sizeof(image), &len, 5000, NULL) == 0)
			us[n++] = (double)(bs_now_ns() - sent) * 1e-3;
	}
	(void)peer_end(&p, (uint64_t)frames * 32);
	bs_endpoint_close(&archive);
	if (n == 0)
		return;
	printf("latency, 25 frames/s of 32 readouts of 8 x 512 samples, image 256 x 256, N = %d\n",
	       n);
	printf("  last readout sent -> image in the archive's hands: p50 %.0f, p99 %.0f, "
	       "p99.9 %.0f, max %.0f us\n",
	       quantile(us, n, 0.5), quantile(us, n, 0.99), quantile(us, n, 0.999),
	       quantile(us, n, 1.0));
	print_stages();
}

bool bs_bench_find_service(char self[512])
{
	char other[600];
	ssize_t n = readlink("/proc/self/exe", self, 500);

	if (n <= 0)
		return false;
	self[n] = '\0';
	(void)snprintf(other, sizeof(other), "%.*s/../../boreside",
		       (int)(strrchr(self, '/') - self), self);
	return setenv("BORESIDE", other, 0) == 0;
}

int bs_bench_service(struct bs_bench *b)
{
	const double frames = 500.0 * b->seconds;
	char self[512];

	bs_endpoint_tune_malloc(PAYLOAD);
	if (!bs_bench_find_service(self) ||
	    !service_start_with(&service, SERVICE_PATIENT, body, NULL) ||
	    !peer_open(&p, &service)) {
		service_print_log(&service);
		return 1;
	}
	if (bs_bench_wanted(b, "service throughput"))
		bench_throughput(self);
	if (check_failed == 0 && bs_bench_wanted(b, "service latency"))
		bench_latency(frames < FRAMES_MAX ? (int)frames : FRAMES_MAX);
	peer_close(&p);
	if (service_stop(&service) != 0)
		check_failed++;
	service_remove(&service);
	return check_failed != 0;
}
