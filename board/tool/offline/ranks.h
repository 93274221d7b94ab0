/*
 * board/tool/offline/ranks.h - which of how many processes this one is, where a launcher started
 * several
 *
 * What the launcher leaves in the environment, no more: Open MPI (OMPI_COMM_WORLD_RANK, _SIZE,
 * _LOCAL_RANK, _LOCAL_SIZE), else a PMI of MPICH, Intel MPI or Slurm (PMI_RANK, PMI_SIZE;
 * MPI_LOCALRANKID, MPI_LOCALNRANKS), else srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID,
 * SLURM_STEP_TASKS_PER_NODE). SLURM_NTASKS says nothing: a batch script has it, too, for a process
 * that is alone. Processes never speak to each other; they meet in files (job.h), and the launcher
 * ends all of them with the first that fails.
 * read: BS_ERR_USAGE where the environment contradicts itself.
 * share_host: of a host's processors and GPUs this process's part, into the site and its protocols,
 * where a launcher started it: threads, and one GPU, by its number on the host, of those that
 * gpu.devices lists, or, where that names GPU 0 alone (the default), of all.
 * No state; one thread, the program's first. Test: test/unit/board/tool/test_ranks.c
 */
#ifndef BS_BOARD_TOOL_OFFLINE_RANKS_H
#define BS_BOARD_TOOL_OFFLINE_RANKS_H

#include <stdbool.h>

#include "core/err.h"
#include "core/protocol.h"

#define BS_RANKS_MAX   65536u
#define BS_RANKS_WORDS 40u

struct bs_ranks {
	bool launched; /* a launcher started this process; false: rank 0 of 1 */
	/* this process's number and the number of processes, of all hosts */
	uint32_t rank, size;
	/* this process's number and the number of processes, of this host alone */
	uint32_t local, local_size;
};

int bs_ranks_read(struct bs_ranks *r, struct bs_fail *why);
/* Writes "rank 2 of 4", as mpirun counts from 0; "": no launcher. */
const char *bs_ranks_words(char out[BS_RANKS_WORDS], const struct bs_ranks *r);
/* Gives this process its share of the host. gpus: number of GPUs of the host; 0: none. */
void bs_ranks_share_host(const struct bs_ranks *r, uint32_t gpus, struct bs_site *site);

#endif
