/*
 * ipc/shm/reload.h - how a changed site file replaces the one in force, between two scans
 *
 * NONE -> CHECK -> WAIT -> ARM -> ARMED -> SWITCH -> NONE. A refusal leads back to NONE from
 * anywhere before SWITCH, and all is as it was. Each step below names who makes the next one.
 * Where again is set no site changes: NONE -> WAIT -> ARM -> ARMED -> NONE. A protocol that was
 * refused by a measurement on a busy machine is then measured once more, between two scans, too.
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
	BS_RELOAD_NONE,  /* the supervisor: nothing is under way */
	BS_RELOAD_CHECK, /* the supervisor has a process of its own check the file */
	BS_RELOAD_WAIT,  /* ingest: the scan in flight ends first */
	BS_RELOAD_ARM,   /* recon: no scan is open, headers wait; what is new is armed */
	/* the supervisor: the changed site cannot be armed, for the reason in text */
	BS_RELOAD_FAILED,
	BS_RELOAD_ARMED, /* the supervisor changes the site in the shared memory */
	/* the supervisor: each worker takes the changed site over (bs_worker_renew) */
	BS_RELOAD_SWITCH,
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

/* A part of the shared memory's file that holds a site and its tables; not
 * every process maps it. */
struct bs_area {
	uint64_t at, bytes;
	/* offset of each trajectory table from `at`; 0: no table */
	uint64_t table[BS_PROTOCOLS_MAX];
};

/* What a protocol's self-test found (board/tool/selftest/selftest.h). */
struct bs_selftest {
	double error, tolerance;           /* relative; tolerance 0: it was not tested */
	uint64_t error_ppm, tolerance_ppm; /* the same in millionths, at least 1 and at most 10^9 */
	char words[160]; /* "passed", what was not tested, or what is off; "": none yet */
};

/* The results of a protocol when it was armed. */
struct bs_arming {
	uint64_t bytes; /* bytes of its memory plan */
	char engine[32];
	char place[96]; /* place where the protocol runs, in words */
	struct bs_admission admission;
	struct bs_selftest selftest;
};

struct bs_reload {
	_Atomic uint32_t step;
	uint32_t again; /* the supervisor writes this before WAIT */
	/*
	 * Written by the supervisor: numbers of the last reload that began and that ended. code and
	 * text, written before ended, say how that one ended.
	 */
	_Atomic uint64_t begun, ended;
	int32_t code;
	char text[BS_EVENT_TEXT];
	int64_t held_ns; /* time that headers waited in the last reload that was made */
	/*
	 * Written by the process that checks: the next site, and, for each of its protocols that is
	 * the same as a present one, that one's place.
	 */
	struct bs_area next;
	uint32_t from[BS_PROTOCOLS_MAX];
	_Atomic int64_t held_since_ns; /* time written by ingest */
	/* results for the new protocols, written by recon */
	struct bs_arming armed[BS_PROTOCOLS_MAX];
};

#endif
