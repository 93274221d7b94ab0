/*
 * ipc/shm/reload.h - how a changed site file takes the place of the one in force, between two scans
 *
 * NONE -> CHECK -> WAIT -> ARM -> ARMED -> SWITCH -> NONE; a refusal leads back to NONE from
 * anywhere before SWITCH, and all is as it was. Each step says who makes the next one.
 * Where again is set no site changes: NONE -> WAIT -> ARM -> ARMED -> NONE; what was refused by a
 * measurement on a busy machine is measured once more, between two scans as well.
 * Test: test/fault/fault_reload.c
 */
#ifndef BS_IPC_SHM_RELOAD_H
#define BS_IPC_SHM_RELOAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/latency/admission.h"
#include "core/protocol.h"
#include "core/thread/event.h"

enum bs_reload_step {
	BS_RELOAD_NONE,   /* the supervisor: nothing is under way */
	BS_RELOAD_CHECK,  /* the supervisor: a process of its own checks the file */
	BS_RELOAD_WAIT,   /* ingest: the scan in flight ends first */
	BS_RELOAD_ARM,    /* recon: no scan is open, headers wait; what is new is armed */
	BS_RELOAD_FAILED, /* the supervisor: it cannot be armed, for the reason in text */
	BS_RELOAD_ARMED,  /* the supervisor: the site in the shared memory changes */
	BS_RELOAD_SWITCH, /* the supervisor: each worker takes it over (bs_worker_renew) */
};

static inline const char *bs_reload_name(uint32_t step)
{
	static const char *const names[] = {
		"none",  "checking", "waiting for the scan in flight", "arming", "failed",
		"armed", "changing"
	};

	return step < sizeof(names) / sizeof(names[0]) ? names[step] : "?";
}

#define BS_RELOAD_NEW UINT32_MAX

/* A part of the shared memory's file behind what every process maps: a site, and its tables. */
struct bs_area {
	uint64_t at, bytes;
	uint64_t table[BS_PROTOCOLS_MAX]; /* trajectory tables, from at; 0: none */
};

/* Of a protocol, its results when it was armed. */
struct bs_arming {
	uint64_t bytes; /* of its plan */
	char engine[32];
	char place[96]; /* where it runs, in words */
	struct bs_admission admission;
};

struct bs_reload {
	_Atomic uint32_t step;
	uint32_t again; /* the supervisor, before WAIT */
	/* the supervisor: their numbers; code and text, written before, say how that one ended */
	_Atomic uint64_t begun, ended;
	int32_t code;
	char text[BS_EVENT_TEXT];
	int64_t held_ns; /* headers waited so long in the last one that was made */
	/* the process that checks: the next site, and the place of each of its protocols among the
	 * present ones where it is the same */
	struct bs_area next;
	uint32_t from[BS_PROTOCOLS_MAX];
	_Atomic int64_t held_since_ns;            /* ingest */
	struct bs_arming armed[BS_PROTOCOLS_MAX]; /* recon: of the new ones */
};

#endif
