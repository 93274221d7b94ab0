/*
 * test/support/site_file.h - a site file in a folder of its own, and what loading it told
 */
#ifndef BS_TEST_SUPPORT_SITE_FILE_H
#define BS_TEST_SUPPORT_SITE_FILE_H

#include "config/config.h"
#include "config/keys.h"
#include "test/support/check.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* libconfig 1.5 loses strings when a syntax error follows them; its leak, not ours. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig\n";
}

static char dir[] = "/tmp/test_config.XXXXXX";
static char path[64];
static char told[65536]; /* what the last load reported */
static unsigned faults;
static struct bs_site site;

static inline void collect(void *arg, const char *line)
{
	size_t n = strlen(told);

	(void)arg;
	faults++;
	(void)snprintf(told + n, sizeof(told) - n, "%s%s", n > 0 ? "\n" : "", line);
}

static inline int load_bytes(struct bs_site *to, const char *text, size_t n)
{
	FILE *f = fopen(path, "wb");

	told[0] = '\0';
	faults = 0;
	if (f == NULL || fwrite(text, 1, n, f) != n || fclose(f) != 0)
		abort();
	return bs_config_load(to, path, collect, NULL);
}

static inline int load(struct bs_site *to, const char *text)
{
	return load_bytes(to, text, strlen(text));
}

static inline void make_file(const char *name, const char *text)
{
	char full[128];
	FILE *f = NULL;

	(void)snprintf(full, sizeof(full), "%s/%s", dir, name);
	f = fopen(full, "wb");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

/* The smallest protocol, with further keys on line 4 and on. */
#define PROTOCOL(more)                                                                             \
	"protocols = (\n"                                                                          \
	"{ name = \"p\"; method = \"gridding\"; matrix = [64, 48];\n"                              \
	"coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; };\n" more   \
	"} );\n"
#define NODE(more) "node: {\n" more "};\n" PROTOCOL("")

/* clang-format off */
/* Sets every key of every scope to something that is not its default. */
static const char every[] =
	"node: { name = \"n\\\"\\\\\"; board = \"workstation\"; run_dir = \"/r\";"
	" cache_dir = \"c\"; threads = 3;\n"
	"acq_slots = 99; image_slots = 5; memory_mib = 2000; heartbeat_ms = 123.456;"
	" stall_ms = 3000.5; drain_s = 12.5;\n"
	"log = \"debug\"; log_format = \"json\"; study_scans = 3; };\n"
	"endpoints: { kspace = \"ipc:///k\"; archive = \"\";"
	" viewers = \"tcp://127.0.0.1:77\"; images = \"ipc:///i\"; status = \"ipc://s\"; };\n"
	"web: { listen = \"127.0.0.1:81\"; token_file = \"/t\"; key = \"/w\"; };\n"
	"bridges: { mrd: { listen = \"tcp://10.0.0.1:9002\"; allow = \"10.0.0.0/24\";"
	" pixels = \"float\"; sessions = 2; wait_s = 1.5; idle_s = 7.0;"
	" key = \"/m\";\n"
	"configs = ( { name = \"m\"; protocol = \"g\"; }, { name = \"*\"; protocol = \"\"; } ); };"
	" };\n"
	"gpu: { memory = \"mapped\"; devices = [2, 0, 63]; route = \"sm_86\"; "
	"share = \"always\"; shared = true; };\n"
	"realtime: { priority = 44; ingest_cpus = \"0\"; recon_cpus = \"0-1,3\";"
	" emit_cpus = \"2\"; lock_memory = true;\n"
	"wait = \"poll\"; gpu_wait = \"block\"; gpu_priority = false; timer_slack_us = 50;"
	" canary = false; };\n"
	"overload: { archive = \"spill\"; sinks = \"spill\"; queue = 7; spill_dir = \"/s\";"
	" spill_mib = 99; };\n"
	"log: { dir = \"/l\"; mode = \"relaxed\"; buffer_mib = 65;\n"
	" keep_mib = 77L; keep_hours = 2.5; resume_s = 5.5; };\n"
	"keys: { own = \"k\"; service = \"BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\";\n"
	" sign = \"s\"; connections = 3;"
	" peers = ( { name = \"bridge.mrd\"; roles = [ \"scanner\", \"status\" ];"
	" key = \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"; }, { name = \"page\";"
	" roles = [ \"viewer\" ]; key = \"CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"; } ); };\n"
	"sinks = ( { type = \"cfl\"; dir = \"/a\"; }, { type = \"mrd\"; dir = \"b\"; },"
	" { type = \"dicom\"; dir = \"d\"; store = \"PACS@host:104\"; } );\n"
	"steps = ( { name = \"q\"; on = \"g\"; command = \"/q 1\"; dir = \"/q\"; budget_ms = 2.5;"
	" on_late = \"mark\"; takes = \"frame\"; } );\n"
	"answers = ( { on = \"g\"; what = \"shift\"; of = \"feedback\"; deadline_ms = 2.25; } );\n"
	"protocols = (\n"
	"{ name = \"g\"; method = \"gridding\"; backend = \"host\"; dims = 2;"
	" matrix = [64, 32, 1];\n"
	"  encoded = [80, 81, 1]; fov_mm = [256.1, 200.3, 7.0]; coils = 7; samples = 33;"
	" discard = 5; readouts = 12;\n"
	"  slices = 3; contrasts = 2; phases = 2; sets = 3; repetitions = 4;\n"
	"  max_sample = 1.0e5; silence_ms = 777.25;\n"
	"  trajectory: { type = \"file\"; file = \"whole\"; unit = \"cycles/fov\";"
	" third_ignored = true;\n"
	"    tolerance = 0.1; min_extent = 0.3; delay = [0.5, -0.25];"
	" delay_cross = [0.1, 0.0]; };\n"
	"  field: { map_file = \"whole\"; dwell_us = 2.5; start_ms = 1.25; error = 0.002; };\n"
	"  gridding: { width = 5.5; oversampling = 1.3; window = \"gauss\";"
	" density = \"file\"; density_file = \"whole.cfl\";\n"
	"    density_iterations = 7; normalize = \"uniform\"; chunk_readouts = 4; };\n"
	"  image: { combine = \"sense\"; maps_file = \"whole\"; output = \"complex\";"
	" matrix = [96, 33]; };\n"
	"  budget: { image_ms = 3.3; on_miss = \"shed\"; admission = \"trust\"; margin = 0.35; };\n"
	"  frame: { step = 4; interval_ms = 4.25; }; },\n"
	"{ name = \"l\"; method = \"ls\"; matrix = [64, 32, 16]; coils = 1; samples = 33;"
	" readouts = 32;\n"
	"  trajectory: { type = \"stack\"; interleaves = 2; turns = 3.7; reach = 0.4;"
	" seed = 9007199254740993L; };\n"
	"  gridding: { accuracy = 3e-5; }; virtual_coils = 1; noise: { whiten = \"auto\"; };\n"
	"  scan_keys = [\"ls.iterations\"];\n"
	"  ls: { lambda = 0.017; iterations = 9; tolerance = 1e-5; fhd = \"exact\";"
	" q = \"exact\"; basis = \"box\";\n"
	"    preconditioner = \"circulant\"; w_file = \"w.mtx\"; };\n"
	"  budget: { image_ms = 9.0; receive_ms = 1.0; upload_ms = 2.0; accumulate_ms = 3.0;"
	" solve_ms = 4.0; calibration_ms = 8.0;\n"
	"    combine_ms = 5.0; download_ms = 6.0; emit_ms = 7.0; };\n"
	"  frame: { preview_every = 6; }; },\n"
	"{ name = \"c\"; method = \"cartesian\"; matrix = [64, 32]; encoded = [80, 81, 1];"
	" coils = 2; samples = 80; readouts = 40;\n"
	" virtual_coils = 1; compression = \"geometric\";\n"
	"  navigators = \"phase\"; epi: { correct = true; };"
	"  parallel = \"grappa\"; grappa: { kernel = [3, 7, 1]; sources = 4; lambda = 0.01;"
	" lacking = \"zeros\"; };"
	" image: { combine = \"sense\"; maps = \"walsh\"; }; calibration: { lines = 20; };\n"
	"  espirit: { kernel = 5; threshold = 0.002; crop = 0.7; }; walsh: { block = 5; };"
	" },\n"
	"{ name = \"w\"; method = \"gridding\"; matrix = [64, 64]; coils = 2; samples = 128;"
	" readouts = 60;\n"
	"  trajectory: { type = \"radial2d\"; }; frame: { step = 20; };\n"
	"  image: { combine = \"sense\"; maps = \"espirit\"; maps_every = 2; map_sets = 2; }; },\n"
	"{ name = \"h\"; method = \"cartesian\"; matrix = [64, 32]; encoded = [128, 32, 1];"
	" coils = 1; samples = 128;\n"
	"  readouts = \"header\"; readouts_max = 20; averages = 3;"
	" reversed_center = \"stored\"; image: { output = \"velocity\"; venc = 80.5; }; },\n"
	"{ name = \"d\"; method = \"gridding\"; matrix = [64, 32]; coils = 1; samples = 64;"
	" readouts = 16;\n  trajectory: { type = \"stream\"; estimate_delay = true; }; },\n"
	"{ name = \"s\"; method = \"cartesian\"; matrix = [64, 32]; encoded = [64, 32, 1];"
	" coils = 1; samples = 64;\n"
	"  readouts = 16; parallel = \"sense\"; partial_fourier = \"pocs\";"
	" pocs: { iterations = 7; taper = 0.25; };\n"
	"  image: { maps_file = \"whole\"; volume = true; };\n"
	"  ls: { lambda = 0.5; l2 = 0.25; w = \"study\"; w_protocol = \"f\";"
	" w_lacking = \"without\"; w_edge = 0.2; w_outside = 2.5;"
	" w_neighbors = 8; w_mask = 0.3; w_margin = 2.5;"
	" w_off = 0.5; }; },\n"
	"{ name = \"m\"; method = \"cartesian\"; matrix = [64, 32]; encoded = [64, 32, 1];"
	" coils = 3; samples = 64;\n"
	"  readouts = 32; slices = 6; parallel = \"slice_grappa\"; multiband: { factor = 3;"
	" references = \"first\"; shift = -0.25;\n"
	"  kernel = [3, 7]; lambda = 0.002; split = true; };\n"
	"  field: { map_file = \"whole\"; echo_spacing_us = 512.5; }; },\n"
	"{ name = \"f\"; method = \"gridding\"; matrix = [64, 32]; coils = 1; samples = 64;"
	" readouts = 16;\n"
	"  trajectory: { type = \"radial2d\"; };"
	" field: { from = \"study\"; range_hz = 150.5; dwell_us = 2.5; }; },\n"
	"{ name = \"q\"; method = \"cartesian\"; matrix = [64, 32]; encoded = [64, 32, 1];"
	" coils = 3; samples = 64;\n"
	"  readouts = 16; parallel = \"sense\"; noise: { whiten = \"require\"; };"
	" image: { maps = \"espirit\"; };\n  solve: { prior = \"wavelet\"; lambda_noise = 0.75;"
	" shifts = false; start = \"last\"; damp = 0.5; }; },\n"
	"{ name = \"r\"; method = \"ls\"; backend = \"host\"; matrix = [64, 32]; coils = 1;"
	" samples = 64; readouts = 16;\n"
	"  trajectory: { type = \"radial2d\"; }; frame: { step = 4; };"
	" solve: { prior = \"low_rank\"; lambda = 0.03; block = 5; }; } );\n";
/* clang-format on */

static inline void open_folder(void)
{
	char folder[64];

	if (mkdtemp(dir) == NULL)
		abort();
	(void)snprintf(folder, sizeof(folder), "%s/folder.h5", dir);
	if (mkdir(folder, 0700) != 0)
		abort();
	(void)snprintf(path, sizeof(path), "%s/site.cfg", dir);
	make_file("half.cfl", "x");
	make_file("whole.cfl", "x");
	make_file("whole.hdr", "x");
	make_file("w.mtx", "x");
}

static inline void close_folder(void)
{
	static const char *const names[] = { "site.cfg", "half.cfl", "whole.cfl", "whole.hdr",
					     "w.mtx" };
	char full[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(full, sizeof(full), "%s/%s", dir, names[i]);
		(void)unlink(full);
	}
	(void)snprintf(full, sizeof(full), "%s/folder.h5", dir);
	(void)rmdir(full);
	(void)rmdir(dir);
}

#endif
