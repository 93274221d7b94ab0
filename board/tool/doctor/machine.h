/*
 * board/tool/doctor/machine.h - the machine in words, for a record that must say where it was made
 *
 * read forks once (the CUDA runtime is asked in a process of its own): call it while this process
 * has one thread and no endpoint. What cannot be told is "".
 */
#ifndef BS_BOARD_TOOL_DOCTOR_MACHINE_H
#define BS_BOARD_TOOL_DOCTOR_MACHINE_H

#include <stdint.h>

#include "core/protocol.h"

struct bs_machine {
	char host[65];
	char system[160]; /* system, such as "Linux 6.1.0 #1 SMP ..., x86_64" */
	char cpu[96];
	uint32_t processors;
	uint64_t memory_mib;
	char governor[32];
	char gpu[96], driver[96]; /* name and driver of the first GPU; "": no GPU */
	char bus[BS_DEVICES_MAX][BS_GPU_BUS];
	uint32_t gpus; /* number of the named GPUs; 0 unless all of them answer */
};

void bs_machine_read(struct bs_machine *m, const struct bs_devices *gpus);

#endif
