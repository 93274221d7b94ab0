/*
 * test/bench/real/real.c - bench real: scans as scanners send them, from the last readout to the
 * image, on this GPU beside the host
 *
 * The engines as the service arms them (board/arm/armed.h), whitening and compression before them.
 * A row's time is from its last readout handed in to the image ready; a calibration's, its stage of
 * a scan's first image. The same scan goes through the host's engines: the images are compared.
 * Cartesian scans and spokes are simulated from a seed; off resonance the recordings are those of
 * DATA/scan, where they are.
 */
#define _GNU_SOURCE
#include "test/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board/emit/folder.h"
#include "core/thread/clock.h"
#include "gpu/engine/engines.h"
#include "test/bench/real/scan.h"

#define FRAMES_MOST 400
#define FRAMES_LESS 20
#define FRAMES_HOST 3
#define SCANS       7
#define WARM        5
#define PAUSE_NS    200000 /* between the readouts before and the last one */

/* The simulated scans: options of `boreside phantom`. */
#define LINES                                                                                      \
	"--traj cartesian --matrix 256,256 --encoded 512,256 --samples 512 --coils 32 --accel 3 "  \
	"--calibration separate,24 --noise-scan 16,512 --snr 60"
#define SPOKES "--traj radial2d --matrix 256,256 --samples 512 --readouts 34 --coils 8 --snr 60"

/* Keys of the protocols; %s: the folder of recordings. */
#define GRID                                                                                       \
	"method = \"cartesian\"; matrix = [256, 256, 1]; encoded = [512, 256, 1]; coils = 32; "    \
	"samples = 512; virtual_coils = 12; readouts = \"header\"; "                               \
	"noise: { whiten = \"require\"; }; "
#define SPIRAL                                                                                     \
	"method = \"sense\"; matrix = [128, 128]; coils = 8; "                                     \
	"field: { map_file = \"%1$s/ref/brain128_b0_hz.cfl\"; dwell_us = 2.5; }; "                 \
	"image: { maps_file = \"%1$s/ref/brain128_maps.cfl\"; output = \"complex\"; }; "
#define RADIAL "matrix = [256, 256]; coils = 8; samples = 512; readouts = 34; "

/*
 * most: relative difference from the host's image. Rounding where both sum the same terms;
 * conjugate gradients carry it on by the condition of what is solved. Off resonance both
 * approximate to 1e-3, by other segments' transforms.
 */
static const struct row {
	const char *name, *recording, *keys;
	double demand_ms, most;
	enum { IMAGE, CALIBRATION } what;
	const char *beside; /* the keys of the armed route that demand is a multiple of; or NULL */
} rows[] = {
	{ "real grappa 256^2 32->12 R3", LINES, GRID "parallel = \"grappa\";", 0.5, 1e-4, IMAGE,
	  NULL },
	{ "real grappa weights", LINES, GRID "parallel = \"grappa\";", 0.0, 1e-4, CALIBRATION,
	  NULL },
	{ "real sense 256^2 32->12 R3 10 it", LINES,
	  GRID "parallel = \"sense\"; image: { maps = \"espirit\"; }; "
	       "ls: { lambda = 1e-3; iterations = 10; };",
	  1.0, 1e-3, IMAGE, NULL },
	{ "real espirit 256^2 12", LINES,
	  GRID "parallel = \"sense\"; image: { maps = \"espirit\"; }; "
	       "ls: { lambda = 1e-3; iterations = 10; };",
	  30.0, 1e-3, CALIBRATION, NULL },
	{ "real b0 8 shots 30 it", "spiral2d_b0_8shot_8ch.h5",
	  SPIRAL "samples = 2694; readouts = 8; "
		 "trajectory: { type = \"file\"; file = \"%1$s/spiral2d_b0_8shot_8ch.h5\"; }; "
		 "ls: { lambda = 0.001; iterations = 30; };",
	  3.0, 5e-3, IMAGE, NULL },
	{ "real b0 1 shot 50 it", "spiral2d_b0_1shot_8ch.h5",
	  SPIRAL "samples = 16000; readouts = 1; "
		 "trajectory: { type = \"file\"; file = \"%1$s/spiral2d_b0_1shot_8ch.h5\"; }; "
		 "ls: { lambda = 0.001; iterations = 50; };",
	  15.0, 5e-3, IMAGE, NULL },
	{ "real path gridding 34x512 8", SPOKES,
	  "method = \"gridding\"; " RADIAL "trajectory: { type = \"stream\"; };", 1.5, 1e-3, IMAGE,
	  "method = \"gridding\"; " RADIAL "trajectory: { type = \"radial2d\"; };" },
	{ "real path sense 34x512 8 10 it", SPOKES,
	  "method = \"sense\"; " RADIAL
	  "trajectory: { type = \"stream\"; }; gridding: { density = \"ramp\"; }; "
	  "image: { maps_file = \"%2$s/scan_maps.cfl\"; }; "
	  "ls: { lambda = 0.001; iterations = 10; };",
	  1.5, 5e-3, IMAGE,
	  "method = \"sense\"; " RADIAL
	  "trajectory: { type = \"radial2d\"; }; gridding: { density = \"ramp\"; }; "
	  "image: { maps_file = \"%2$s/scan_maps.cfl\"; }; "
	  "ls: { lambda = 0.001; iterations = 10; };" },
};

struct bench {
	struct bs_bench *b;
	char dir[64], data[512];
	const char *made; /* whose recording lies in dir; NULL: none */
	struct real_recording recording;
	struct bs_team *team;
};

/* What was measured of one protocol. */
struct found {
	double median_ms, p99_ms, least_ms;
	int n;
	int64_t stage_ns[BS_BUDGET_STAGES]; /* of the last image that counts */
	float *image;                       /* of the scan's second frame */
	char engine[64];
};

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void sum_up(struct found *f, double *ms, int n)
{
	qsort(ms, (size_t)n, sizeof(*ms), ascending);
	f->n = n;
	f->least_ms = ms[0];
	f->median_ms = n % 2 != 0 ? ms[n / 2] : 0.5 * (ms[n / 2 - 1] + ms[n / 2]);
	f->p99_ms = ms[(int)ceil(0.99 * n) - 1];
}

static int write_site(const struct bench *t, const char *keys, const char *backend,
		      struct bs_fail *why)
{
	char path[96];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/cache", t->dir);
	if (bs_folder_make(path, 0750, why) != 0)
		return why->code;
	(void)snprintf(path, sizeof(path), "%s/site.cfg", t->dir);
	f = fopen(path, "w");
	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s", path);
	(void)fprintf(f,
		      "node: { name = \"bench\"; run_dir = \"run\"; cache_dir = \"cache\"; };\n"
		      "protocols = ( { name = \"bench\"; backend = \"%s\"; ",
		      backend);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	(void)fprintf(f, keys, t->data, t->dir);
#pragma GCC diagnostic pop
	(void)fprintf(f, " } );\n");
	return fclose(f) == 0 ? 0 : bs_fail(why, BS_ERR_IO, "%s", path);
}

/* The scan's second frame is kept: by then all that is calibrated is there. */
static int first_frames(struct real_armed *a, struct found *f, int64_t *calibration_ns,
			struct bs_fail *why)
{
	const size_t bytes = (size_t)bs_protocol_image_bytes(a->armed.protocol);
	int64_t ns;
	int rc = real_begin(a, why);

	if (rc == 0)
		rc = real_frame(a, PAUSE_NS, &ns, why);
	*calibration_ns = a->image.report.stage_ns[BS_BUDGET_CALIBRATION];
	if (rc == 0)
		rc = real_frame(a, PAUSE_NS, &ns, why);
	if (rc == 0 && f->image == NULL) {
		f->image = malloc(bytes);
		if (f->image == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "an image");
		memcpy(f->image, a->image.pixels, bytes);
		(void)snprintf(f->engine, sizeof(f->engine), "%s",
			       bs_recon_engine(a->armed.recon, &a->image));
	}
	return rc;
}

static int time_frames(struct real_armed *a, double seconds, struct found *f, struct bs_fail *why)
{
	static double ms[FRAMES_MOST];
	const int least = seconds > 0.0 ? FRAMES_LESS : FRAMES_HOST;
	const int64_t start_ns = bs_now_ns();
	int64_t ns = 0;
	int n = 0;
	int rc = 0;

	for (int i = 0; rc == 0 && i < WARM && seconds > 0.0; i++)
		rc = real_frame(a, PAUSE_NS, &ns, why);
	while (rc == 0 && n < FRAMES_MOST &&
	       (n < least || (double)(bs_now_ns() - start_ns) < seconds * 1e9)) {
		rc = real_frame(a, PAUSE_NS, &ns, why);
		ms[n++] = (double)ns * 1e-6;
	}
	if (rc == 0)
		sum_up(f, ms, n);
	memcpy(f->stage_ns, a->image.report.stage_ns, sizeof(f->stage_ns));
	return rc;
}

/* seconds: of frames, about, that are timed; 0: some few. */
static int measure(const struct bench *t, const struct row *r, const char *keys,
		   const char *backend, double seconds, struct found *f, struct bs_fail *why)
{
	struct real_armed a;
	char path[96];
	double ms[SCANS];
	int64_t ns = 0;
	int rc = write_site(t, keys, backend, why);

	memset(f, 0, sizeof(*f));
	(void)snprintf(path, sizeof(path), "%s/site.cfg", t->dir);
	if (rc != 0)
		return rc;
	rc = real_open(&a, &t->recording, path, "bench", t->team, why);
	if (rc == 0)
		rc = first_frames(&a, f, &ns, why);
	if (rc == 0 && seconds > 0.0 && r->what == IMAGE)
		rc = time_frames(&a, seconds, f, why);
	for (int i = 0; rc == 0 && r->what == CALIBRATION && i < SCANS; i++) {
		rc = first_frames(&a, f, &ns, why);
		ms[i] = (double)ns * 1e-6;
	}
	if (rc == 0 && r->what == CALIBRATION)
		sum_up(f, ms, SCANS);
	else if (rc == 0 && seconds == 0.0)
		rc = time_frames(&a, 0.0, f, why);
	real_close(&a);
	return rc;
}

/* Relative, in the 2-norm. */
static double apart(const float *a, const float *b, size_t n)
{
	double e = 0.0;
	double sum = 0.0;

	for (size_t i = 0; i < n; i++) {
		const double d = (double)a[i] - b[i];

		e += d * d;
		sum += (double)b[i] * b[i];
	}
	return sqrt(e / sum);
}

/* Runs `boreside phantom` with these options; the recording is scan.h5 in the bench's folder. */
static int simulate(const struct bench *t, const char *options, struct bs_fail *why)
{
	char words[1024];
	const char *argv[48] = { getenv("BORESIDE"), "phantom", "-o", "scan.h5", "--seed", "1" };
	int n = 6;
	char *rest = words;
	int status = 0;
	pid_t child;

	if (argv[0] == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "BORESIDE= names no program");
	(void)snprintf(words, sizeof(words), "%s", options);
	for (char *word; n < 47 && (word = strsep(&rest, " ")) != NULL;)
		if (word[0] != '\0')
			argv[n++] = word;
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		if (chdir(t->dir) == 0 && freopen("/dev/null", "w", stdout) != NULL)
			(void)execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return bs_fail(why, BS_ERR_IO, "%s phantom %s", argv[0], options);
	return 0;
}

static bool is_simulated(const struct row *r)
{
	return r->recording[0] == '-';
}

/* The row's recording into memory, unless it is the last row's. 1: there is none. */
static int read_recording(struct bench *t, const struct row *r, struct bs_fail *why)
{
	char path[640];
	int rc = 0;

	if (t->made == r->recording)
		return 0;
	if (!is_simulated(r) && t->data[0] == '\0')
		return 1;
	real_free(&t->recording);
	t->made = NULL;
	if (is_simulated(r)) {
		rc = simulate(t, r->recording, why);
		(void)snprintf(path, sizeof(path), "%s/scan.h5", t->dir);
	} else {
		(void)snprintf(path, sizeof(path), "%s/%s", t->data, r->recording);
	}
	if (rc == 0)
		rc = real_read(&t->recording, path, why);
	if (rc == 0)
		t->made = r->recording;
	return rc;
}

static void words_of(char *text, size_t size, const struct row *r, const struct found *gpu,
		     const struct found *host, const struct found *beside, double e)
{
	static const char *const stage[BS_BUDGET_STAGES] = { "receive", "upload",     "accumulate",
							     "solve",   "combine",    "download",
							     "emit",    "calibration" };
	size_t n = (size_t)snprintf(text, size, "%s, p99 %.3f", gpu->engine, gpu->p99_ms);

	for (int i = 0; i < BS_BUDGET_STAGES && r->what == IMAGE && n < size; i++)
		if (gpu->stage_ns[i] > 0)
			n += (size_t)snprintf(text + n, size - n, "; %s %.3f", stage[i],
					      (double)gpu->stage_ns[i] * 1e-6);
	if (beside != NULL && n < size)
		n += (size_t)snprintf(text + n, size - n, "; armed route %.3f, p99 %.3f",
				      beside->median_ms, beside->p99_ms);
	if (n < size)
		(void)snprintf(text + n, size - n, "; host %.3f, off by %.1e (most %.0e)",
			       host->median_ms, e, r->most);
}

static int run(struct bench *t, const struct row *r, struct bs_fail *why)
{
	struct found gpu = { 0 };
	struct found host = { 0 };
	struct found beside = { 0 };
	char detail[512];
	struct bs_bench_row out = { .name = r->name, .reference_ms = r->demand_ms };
	size_t floats = 0;
	double e = 0.0;
	int rc = read_recording(t, r, why);

	if (rc == 1) {
		(void)printf("%-34s no recordings: DATA names their folder\n", r->name);
		return 0;
	}
	if (rc == 0)
		rc = measure(t, r, r->keys, "auto", t->b->seconds, &gpu, why);
	if (rc == 0)
		rc = measure(t, r, r->keys, "host", 0.0, &host, why);
	if (rc == 0 && r->beside != NULL)
		rc = measure(t, r, r->beside, "auto", t->b->seconds, &beside, why);
	if (rc == 0) {
		floats = (strstr(r->keys, "complex") != NULL ? 2u : 1u) *
			 (strstr(r->keys, "128") != NULL ? (size_t)128 * 128 : (size_t)256 * 256);
		e = apart(gpu.image, host.image, floats);
		out.median_ms = gpu.median_ms;
		out.min_ms = gpu.least_ms;
		out.n = gpu.n;
		if (r->beside != NULL)
			out.reference_ms = r->demand_ms * beside.median_ms;
		words_of(detail, sizeof(detail), r, &gpu, &host, r->beside != NULL ? &beside : NULL,
			 e);
		out.detail = detail;
		bs_bench_write(t->b, &out);
		if (!(e <= r->most))
			rc = bs_fail(why, BS_ERR_VALUE, "%s: the host's image is %.1e away",
				     r->name, e);
	}
	free(gpu.image);
	free(host.image);
	free(beside.image);
	return rc;
}

static void remove_folder(const char *dir)
{
	char *const argv[] = { "rm", "-rf", (char *)dir, NULL };
	pid_t child = fork();

	if (child == 0) {
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

int bs_bench_real(struct bs_bench *b)
{
	static struct bench t;
	static const struct bs_devices any;
	const char *data = getenv("DATA");
	char self[512];
	struct bs_fail why = { 0 };
	int failed = 0;

	memset(&t, 0, sizeof(t));
	t.b = b;
	(void)snprintf(t.dir, sizeof(t.dir), "/tmp/boreside-bench-XXXXXX");
	if (data != NULL)
		(void)snprintf(t.data, sizeof(t.data), "%s/scan", data);
	if (!bs_bench_find_service(self) || mkdtemp(t.dir) == NULL)
		return 1;
	(void)printf("as the service: the GPU is waited for by polling; demand: the most that is "
		     "asked for\n%-34s %9s %9s %6s %9s %6s\n",
		     "row", "median ms", "min ms", "N", "demand", "ratio");
	/* what forks comes before the threads */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!bs_bench_wanted(b, rows[i].name))
			continue;
		if (read_recording(&t, &rows[i], &why) < 0 ||
		    bs_engines_policy(&any, BS_WAIT_POLL, true, &why) != 0 ||
		    bs_team_open(&t.team, b->threads, &why) != 0 || run(&t, &rows[i], &why) != 0) {
			(void)printf("%s: %s\n", rows[i].name, why.text);
			failed = 1;
		}
		bs_team_close(t.team);
		t.team = NULL;
	}
	real_free(&t.recording);
	remove_folder(t.dir);
	return failed;
}
