/*
 * gpu/tool/energy.h - the energy that GPUs have taken, by NVML's counter
 *
 * open -> read* -> close. NVML (libnvidia-ml.so.1, the driver's) is loaded when it is first
 * needed; no program is linked to it. The counter, in mJ since the driver was loaded, exists from
 * Volta on. It covers the whole board and all programs on it. It moves only every 20 to 100 ms, so
 * read waits for its next step: the time between two reads is then exact, and over some seconds
 * the energy of some work is known to a few per cent. The energy includes what an idle board
 * takes; to measure that, read twice with a sleep between.
 * BS_ERR_UNSUPPORTED, with the reason: no NVML, a board without a counter, or a counter that does
 * not move. BS_ERR_GPU: another call failed. Waits, 0.5 s at most; one thread. Makes no CUDA
 * context.
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
/* Closes a meter, also after a failed open, and a zeroed one. */
void bs_energy_close(struct bs_energy *e);

/* Reads the counter now, and gives what went by since `from`. */
int bs_energy_since(const struct bs_energy *e, const struct bs_energy_at *from,
		    struct bs_energy_span *span, struct bs_fail *why);
/* Measures the energy that the devices take while this thread sleeps for ns nanoseconds. */
int bs_energy_asleep(const struct bs_energy *e, int64_t ns, struct bs_energy_span *span,
		     struct bs_fail *why);

BS_C_END
#endif
