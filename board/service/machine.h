/*
 * board/service/machine.h - the machine in words, for a record that must say where it was made
 *
 * read forks once (the CUDA runtime is asked in a process of its own): call it while this process
 * has one thread and no endpoint. What cannot be told is "".
 */
#ifndef BS_BOARD_SERVICE_MACHINE_H
#define BS_BOARD_SERVICE_MACHINE_H

#include <stdint.h>

struct bs_machine {
	char host[65];
	char system[160]; /* Linux 6.1.0 #1 SMP ..., x86_64 */
	char cpu[96];
	uint32_t processors;
	uint64_t memory_mib;
	char governor[32];
	char gpu[96], driver[96]; /* "" without one */
};

/* gpu: the one that is named, by CUDA's number. */
void bs_machine_read(struct bs_machine *m, uint32_t gpu);

#endif
