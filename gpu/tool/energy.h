/*
 * gpu/tool/energy.h - the energy that GPUs have taken, by NVML's counter
 *
 * open -> read* -> close. NVML (libnvidia-ml.so.1, the driver's) is loaded when it is first asked
 * for, and no program is linked to it. The counter, in mJ since the driver was loaded, is of the
 * whole board and all programs on it, from Volta on, and moves only every 20 to 100 ms: read waits
 * for its next step, so that two reads are two steps and what lies between them is exact; over some
 * seconds, then, energy by work is known to a few per cent. What an idle board takes is in it: read
 * twice with a sleep between to know that, too.
 * BS_ERR_UNSUPPORTED: no NVML, a board without a counter, or one that does not move, in words;
 * BS_ERR_GPU: another call failed. Waits, 0.5 s at most; one thread. Makes no CUDA context.
 * Source: NVML API reference, nvmlDeviceGetTotalEnergyConsumption.
 * Test: test/unit/gpu/tool/test_energy.c
 */
#ifndef BS_GPU_TOOL_ENERGY_H
#define BS_GPU_TOOL_ENERGY_H

#include <stdint.h>

#include "core/err.h"
#include "core/protocol.h"

BS_C_BEGIN

struct bs_energy {
	void *library, *device[BS_DEVICES_MAX];
	uint32_t devices;
	int (*consumption)(void *device, unsigned long long *mj);
	const char *(*words)(int code);
	int (*shutdown)(void);
};

struct bs_energy_at {
	/* energy of all devices, from an arbitrary zero: use the difference of two readings */
	double mj;
	int64_t ns;
};

struct bs_energy_span {
	double mj, seconds;
};

/* bus: the devices' PCI addresses. library: the file to load; NULL: NVML's own name. */
int bs_energy_open(struct bs_energy *e, const char *library, const char bus[][BS_GPU_BUS],
		   uint32_t devices, struct bs_fail *why);
int bs_energy_read(const struct bs_energy *e, struct bs_energy_at *at, struct bs_fail *why);
/* Also after a failed open, and for a zeroed struct. */
void bs_energy_close(struct bs_energy *e);

/* Reads the counter now, and gives what went by since `from`. */
int bs_energy_since(const struct bs_energy *e, const struct bs_energy_at *from,
		    struct bs_energy_span *span, struct bs_fail *why);
/* Measures the energy that the devices take while this thread sleeps for ns nanoseconds. */
int bs_energy_asleep(const struct bs_energy *e, int64_t ns, struct bs_energy_span *span,
		     struct bs_fail *why);

BS_C_END
#endif
