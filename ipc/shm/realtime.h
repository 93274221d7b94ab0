/*
 * ipc/shm/realtime.h - what the service's threads cost, and what the machine refused them
 */
#ifndef BS_IPC_SHM_REALTIME_H
#define BS_IPC_SHM_REALTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/thread/team.h"

/*
 * What a thread on the path of an image has used since it started. The thread writes this itself (a
 * member of recon's team: when recon says so), at most every BS_THREAD_NS. After warm-up, faults
 * and allocations should not grow. allocations: calls of malloc and its like, and of mmap, by this
 * program's own code and static libraries. Calls by shared libraries (nanomsg, libc) are not
 * counted.
 */
#define BS_THREAD_NS INT64_C(100000000)

enum bs_thread { /* index of each thread in bs_shared.thread */
		 BS_THREAD_INGEST,
		 BS_THREAD_LOG, /* ingest's thread that writes the logs of scans */
		 BS_THREAD_EMIT,
		 BS_THREAD_RECON, /* recon; the members 1, 2, ... of its team follow */
		 BS_THREADS = BS_THREAD_RECON + BS_TEAM_MAX
};

struct bs_thread_record {
	char name[16];
	_Atomic int32_t tid;      /* number of the thread; 0: there is none */
	_Atomic int32_t priority; /* SCHED_FIFO priority of the thread; 0: ordinary scheduling */
	/* numbers of page faults, from getrusage's RUSAGE_THREAD */
	_Atomic uint64_t minor_faults, major_faults;
	_Atomic uint64_t allocations;
	_Atomic uint64_t preempted; /* number of involuntary context switches */
	/* number of times that the thread wrote this record; at_ns: the last time */
	_Atomic uint64_t notes;
	_Atomic int64_t at_ns;
};

/* The settings that the site asked the machine for; a bit is set where some worker was refused. */
enum bs_setting {
	BS_SETTING_PRIORITY,
	BS_SETTING_AFFINITY,
	BS_SETTING_LOCK_MEMORY,
	BS_SETTING_TIMER_SLACK,
	BS_SETTING_GPU_WAIT,
	BS_SETTING_UNTHROTTLED, /* real-time threads that poll are not throttled */
	BS_SETTING_POLLING,     /* ingest and emit poll where the site wants polling */
	/* kernels of other programs run on the GPU at the same time as the service's */
	BS_SETTING_GPU_SHARED,
	BS_SETTINGS
};
#define BS_REMEDY 192u

struct bs_realtime_state {
	/* bits of enum bs_setting; the process that sets one reports it, once */
	_Atomic uint32_t refused;
	_Atomic uint32_t told;               /* bits of enum bs_setting: remedy is complete */
	char remedy[BS_SETTINGS][BS_REMEDY]; /* why it was refused, and what helps */
};

/*
 * Written by recon when it has armed the site's protocols: each GPU's memory, and what was free
 * then.
 */
struct bs_gpu_record {
	char name[64];
	uint32_t number;
	uint64_t total_bytes, free_bytes;
	bool mps; /* kernels of this GPU run at the same time as other processes' kernels */
};

#endif
