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
 * What a thread on the path of an image has used since it started, written down by itself (a member
 * of recon's team: when recon says so), at most every BS_THREAD_NS. After warm-up faults and
 * allocations should not grow. allocations: calls of malloc and its like and of mmap from this
 * program's own code, static libraries included; not what shared libraries (nanomsg, libc) do.
 */
#define BS_THREAD_NS INT64_C(100000000)

enum bs_thread { /* places in bs_shared.thread */
		 BS_THREAD_INGEST,
		 BS_THREAD_LOG, /* ingest's, that writes the logs */
		 BS_THREAD_EMIT,
		 BS_THREAD_RECON, /* and the members 1, 2, ... of its team behind it */
		 BS_THREADS = BS_THREAD_RECON + BS_TEAM_MAX
};

struct bs_thread_record {
	char name[16];
	_Atomic int32_t tid;      /* 0: there is none */
	_Atomic int32_t priority; /* SCHED_FIFO that is in force; 0: ordinary scheduling */
	_Atomic uint64_t minor_faults, major_faults; /* getrusage, RUSAGE_THREAD */
	_Atomic uint64_t allocations;
	_Atomic uint64_t preempted; /* involuntary context switches */
	_Atomic uint64_t notes;     /* times that it wrote this, and when the last time */
	_Atomic int64_t at_ns;
};

/* What the site asked of the machine; a setting that some worker was refused has its bit. */
enum bs_setting {
	BS_SETTING_PRIORITY,
	BS_SETTING_AFFINITY,
	BS_SETTING_LOCK_MEMORY,
	BS_SETTING_TIMER_SLACK,
	BS_SETTING_GPU_WAIT,
	BS_SETTING_UNTHROTTLED, /* real-time threads that poll may do so without end */
	BS_SETTING_POLLING,     /* ingest and emit poll, too, where the site wants polling */
	BS_SETTING_GPU_SHARED,  /* other programs' kernels run beside ours, not in turns */
	BS_SETTINGS
};
#define BS_REMEDY 192u

struct bs_realtime_state {
	_Atomic uint32_t refused;            /* bits; whoever sets one tells it, once */
	_Atomic uint32_t told;               /* bits: remedy is complete */
	char remedy[BS_SETTINGS][BS_REMEDY]; /* why, and what helps */
};

/* recon, when it has armed the site's protocols: what each GPU has, and had left then. */
struct bs_gpu_record {
	char name[64];
	uint32_t number;
	uint64_t total_bytes, free_bytes;
	bool mps; /* its kernels run beside other processes', not in turns */
};

#endif
