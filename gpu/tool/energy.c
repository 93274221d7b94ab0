/* gpu/tool/energy.c - see energy.h */
#include "gpu/tool/energy.h"

#include <dlfcn.h>
#include <string.h>

#include "core/thread/clock.h"

#define LIBRARY "libnvidia-ml.so.1"
#define STEP_NS INT64_C(500000000) /* ns; a counter that stands still this long is not supported */

#define NVML_SUCCESS       0 /* value that nvml.h gives it */
#define NVML_NOT_SUPPORTED 3

static int failed(const struct bs_energy *e, struct bs_fail *why, int code, const char *call)
{
	return bs_fail(why, code == NVML_NOT_SUPPORTED ? BS_ERR_UNSUPPORTED : BS_ERR_GPU,
		       "energy by NVML: %s: %s", call, e->words(code));
}

static int load_library(struct bs_energy *e, const char *library, struct bs_fail *why)
{
	int (*init)(void) = NULL;
	struct {
		void *to;
		const char *name;
	} all[] = { { &init, "nvmlInit_v2" },
		    { &e->shutdown, "nvmlShutdown" },
		    { &e->words, "nvmlErrorString" },
		    { &e->consumption, "nvmlDeviceGetTotalEnergyConsumption" } };
	int code;

	e->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (e->library == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "energy: no NVML: %s", dlerror());
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *at = dlsym(e->library, all[i].name);

		if (at == NULL) {
			e->shutdown = NULL;
			return bs_fail(why, BS_ERR_UNSUPPORTED, "energy: %s has no %s", library,
				       all[i].name);
		}
		/* copies a function's address, as dlsym gives it */
		memcpy(all[i].to, &at, sizeof(at));
	}
	code = init();
	if (code == NVML_SUCCESS)
		return 0;
	e->shutdown = NULL;
	return failed(e, why, code, "nvmlInit_v2");
}

static int find_devices(struct bs_energy *e, const char bus[][BS_GPU_BUS], uint32_t devices,
			struct bs_fail *why)
{
	static const char name[] = "nvmlDeviceGetHandleByPciBusId_v2";
	int (*by_bus)(const char *, void **) = NULL;
	void *at = dlsym(e->library, name);

	if (at == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "energy: NVML has no %s", name);
	memcpy(&by_bus, &at, sizeof(at));
	if (devices < 1 || devices > BS_DEVICES_MAX)
		return bs_fail(why, BS_ERR_SIZE, "energy: of %u GPUs", devices);
	for (uint32_t i = 0; i < devices; i++) {
		const int code = by_bus(bus[i], &e->device[i]);

		if (code != NVML_SUCCESS)
			return failed(e, why, code, bus[i]);
	}
	e->devices = devices;
	return 0;
}

int bs_energy_open(struct bs_energy *e, const char *library, const char bus[][BS_GPU_BUS],
		   uint32_t devices, struct bs_fail *why)
{
	int rc;

	memset(e, 0, sizeof(*e));
	rc = load_library(e, library != NULL ? library : LIBRARY, why);
	if (rc == 0)
		rc = find_devices(e, bus, devices, why);
	if (rc != 0)
		bs_energy_close(e);
	return rc;
}

void bs_energy_close(struct bs_energy *e)
{
	if (e->shutdown != NULL)
		(void)e->shutdown();
	if (e->library != NULL)
		(void)dlclose(e->library);
	memset(e, 0, sizeof(*e));
}

static int counter(const struct bs_energy *e, uint32_t device, unsigned long long *mj,
		   struct bs_fail *why)
{
	const int code = e->consumption(e->device[device], mj);

	return code == NVML_SUCCESS ? 0
				    : failed(e, why, code, "nvmlDeviceGetTotalEnergyConsumption");
}

int bs_energy_read(const struct bs_energy *e, struct bs_energy_at *at, struct bs_fail *why)
{
	const int64_t until = bs_now_ns() + STEP_NS;
	unsigned long long first = 0;
	unsigned long long mj = 0;
	int rc = counter(e, 0, &first, why);

	for (mj = first; rc == 0 && mj == first; rc = counter(e, 0, &mj, why)) {
		if (bs_now_ns() > until)
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "energy by NVML: the counter stands at %llu mJ", mj);
		bs_sleep_ns(500000);
	}
	at->ns = bs_now_ns();
	at->mj = (double)mj;
	for (uint32_t i = 1; rc == 0 && i < e->devices; i++) {
		rc = counter(e, i, &mj, why);
		at->mj += (double)mj;
	}
	return rc;
}

int bs_energy_since(const struct bs_energy *e, const struct bs_energy_at *from,
		    struct bs_energy_span *span, struct bs_fail *why)
{
	struct bs_energy_at now;
	const int rc = bs_energy_read(e, &now, why);

	if (rc != 0)
		return rc;
	span->mj = now.mj - from->mj;
	span->seconds = (double)(now.ns - from->ns) * 1e-9;
	return 0;
}

int bs_energy_asleep(const struct bs_energy *e, int64_t ns, struct bs_energy_span *span,
		     struct bs_fail *why)
{
	struct bs_energy_at from;
	int rc = bs_energy_read(e, &from, why);

	if (rc != 0)
		return rc;
	bs_sleep_ns(ns);
	return bs_energy_since(e, &from, span, why);
}
