/*
 * test/unit/gpu/tool/test_energy.c - where a GPU's energy is not to be had, and why; steps of a
 * counter
 *
 * A small library stands for NVML: test/support/nvml_hook.c.
 */
#define _GNU_SOURCE /* setenv */
#include "gpu/tool/energy.h"

#include <string.h>

#include "test/support/check.h"

static const char one[1][BS_GPU_BUS] = { "00000000:01:00.0" };
static const char none[1][BS_GPU_BUS] = { "00000000:02:00.0" };

static void refuse(const char *library, const char bus[][BS_GPU_BUS], int code, const char *words)
{
	struct bs_energy e;
	struct bs_fail why = { 0 };
	const int rc = bs_energy_open(&e, library, bus, 1, &why);

	CHECK(rc == code && strstr(why.text, words) != NULL, "%s: %s", bs_err_name(rc), why.text);
	CHECK(e.library == NULL && e.shutdown == NULL, "nothing is left open");
}

static void test_refusals(const char *stand_in)
{
	struct bs_energy e;
	struct bs_fail why = { 0 };

	refuse("/nowhere/libnvidia-ml.so.1", one, BS_ERR_UNSUPPORTED, "/nowhere/libnvidia-ml");
	refuse("libm.so.6", one, BS_ERR_UNSUPPORTED, "libm.so.6 has no nvmlInit_v2");
	refuse(stand_in, none, BS_ERR_GPU, "00000000:02:00.0: Not Found");
	(void)setenv("NVML_FAILS", "init", 1);
	refuse(stand_in, one, BS_ERR_GPU, "nvmlInit_v2: Driver Not Loaded");
	(void)setenv("NVML_FAILS", "consumption", 1);
	CHECK(bs_energy_open(&e, stand_in, one, 1, &why) == 0, "open: %s", why.text);
	struct bs_energy_at at;

	CHECK(bs_energy_read(&e, &at, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "Not Supported") != NULL,
	      "a board without a counter: %s", why.text);
	(void)unsetenv("NVML_FAILS");
	(void)setenv("NVML_STANDS", "1", 1);
	CHECK(bs_energy_read(&e, &at, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "stands at") != NULL,
	      "a counter that does not move: %s", why.text);
	(void)unsetenv("NVML_STANDS");
	bs_energy_close(&e);
	CHECK(bs_energy_open(&e, stand_in, one, 0, &why) == BS_ERR_SIZE, "no GPU: %s", why.text);
	memset(&e, 0, sizeof(e));
	bs_energy_close(&e);
}

/* Each read ends on a step, so a difference is whole steps. */
static void test_steps(const char *stand_in)
{
	struct bs_energy e;
	struct bs_energy_at from = { 0 };
	struct bs_energy_span span = { 0 };
	struct bs_fail why = { 0 };

	CHECK(bs_energy_open(&e, stand_in, one, 1, &why) == 0, "open: %s", why.text);
	CHECK(bs_energy_read(&e, &from, &why) == 0, "read: %s", why.text);
	CHECK(bs_energy_since(&e, &from, &span, &why) == 0 && span.mj == 1000.0 &&
		      span.seconds > 0.0 && span.seconds < 10.0,
	      "a step: %.0f mJ in %.4f s", span.mj, span.seconds);
	CHECK(bs_energy_asleep(&e, 20000000, &span, &why) == 0 && span.mj == 1000.0 &&
		      span.seconds >= 0.02,
	      "asleep: %.0f mJ in %.4f s", span.mj, span.seconds);
	bs_energy_close(&e);
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
	test_refusals(stand_in);
	test_steps(stand_in);
	return check_done();
}
