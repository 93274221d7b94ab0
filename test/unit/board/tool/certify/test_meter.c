/* test/unit/board/tool/certify/test_meter.c - energy in a certificate: known, or why it is not */
#define _GNU_SOURCE /* setenv */
#include "board/tool/certify/meter.h"

#include <string.h>

#include "test/support/check.h"

static struct bs_machine machine = { .bus = { "00000000:01:00.0" }, .gpus = 1 };

static void test_absent(const char *stand_in)
{
	struct bs_meter m = { 0 };
	struct bs_meter_seen s;
	struct bs_energy_span span = { 0 };

	bs_meter_close(&m);
	bs_meter_open(&m, &s, stand_in, &machine, "gridding/host");
	CHECK(s.gpus == 0 && s.why[0] == '\0', "the host's engine: nothing is asked, or said");
	bs_meter_start(&m);
	bs_meter_stop(&m, &span);
	CHECK(span.mj == 0.0 && span.seconds == 0.0, "and nothing is known");
	bs_meter_close(&m);
	bs_meter_open(&m, &s, "/nowhere/nvml.so", &machine, "gridding/cuda");
	CHECK(s.gpus == 0 && strstr(s.why, "no NVML") != NULL, "no NVML: %s", s.why);
	bs_meter_close(&m);
	(void)setenv("NVML_FAILS", "consumption", 1);
	bs_meter_open(&m, &s, stand_in, &machine, "gridding/cuda");
	CHECK(s.gpus == 0 && strstr(s.why, "Not Supported") != NULL, "no counter: %s", s.why);
	bs_meter_close(&m);
	(void)unsetenv("NVML_FAILS");
}

static void test_known(const char *stand_in)
{
	struct bs_meter m;
	struct bs_meter_seen s;
	struct bs_energy_span span = { 0 };

	bs_meter_open(&m, &s, stand_in, &machine, "gridding/cuda");
	CHECK(s.gpus == 1 && s.idle.mj == 1000.0 && s.idle.seconds >= 2.0 &&
		      fabs(bs_meter_idle_w(&s) * s.idle.seconds - 1.0) < 1e-9,
	      "idle: 1 J in %.3f s, %.3f W", s.idle.seconds, bs_meter_idle_w(&s));
	bs_meter_start(&m);
	bs_meter_stop(&m, &span);
	CHECK(span.mj == 1000.0 && bs_meter_each(&span, 10) == 100.0 &&
		      bs_meter_each(&span, 0) == 0.0,
	      "a run of ten images: %.0f mJ each", bs_meter_each(&span, 10));
	CHECK(fabs(bs_meter_idle_each(&s, &span, 10) - 100.0 * span.seconds / s.idle.seconds) <
		      1e-9,
	      "of which idle %.3f", bs_meter_idle_each(&s, &span, 10));
	bs_meter_start(&m);
	(void)setenv("NVML_STANDS", "1", 1);
	bs_meter_stop(&m, &span);
	CHECK(s.gpus == 0 && strstr(s.why, "stands at") != NULL, "lost on the way: %s", s.why);
	(void)unsetenv("NVML_STANDS");
	bs_meter_close(&m);
}

int main(void)
{
	const char *build = getenv("BUILD");
	char stand_in[512];

	(void)snprintf(stand_in, sizeof(stand_in), "%s/test/support/nvml_hook.so",
		       build != NULL ? build : "build/gcc-gpu0");
	if (access(stand_in, R_OK) != 0) {
		SKIP("%s is not built", stand_in);
		return check_done();
	}
	test_absent(stand_in);
	test_known(stand_in);
	return check_done();
}
