/*
 * test/support/nvml_hook.c - stands for NVML where there is none: test/unit/gpu/tool/test_energy.c
 *
 * NVML_FAILS names the call that fails, NVML_STANDS stops the counter. A device is known at the
 * address 00000000:01:00.0 alone; its counter steps by 1,000 mJ every fifth time that it is read.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int code);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);

static int opened;
static unsigned long long reads;

static int fails(const char *call)
{
	const char *which = getenv("NVML_FAILS");

	return which != NULL && strcmp(which, call) == 0;
}

int nvmlInit_v2(void)
{
	if (fails("init"))
		return 9;
	opened++;
	return 0;
}

int nvmlShutdown(void)
{
	return opened-- > 0 ? 0 : 1;
}

const char *nvmlErrorString(int code)
{
	return code == 3 ? "Not Supported" : code == 6 ? "Not Found" : "Driver Not Loaded";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	if (opened != 1 || strcmp(bus, "00000000:01:00.0") != 0)
		return 6;
	*device = &opened;
	return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
	if (opened != 1 || device != &opened)
		return 1;
	if (fails("consumption"))
		return 3;
	if (getenv("NVML_STANDS") == NULL)
		reads++;
	*mj = reads / 5 * 1000;
	return 0;
}
