/*
 * board/tool/doctor/finding.h - what a look at the machine found, one line each
 *
 * A finding is how it stands, what it is about, the figure, and, unless all is well, the remedy:
 * "warn governor: powersave on 4 of 8 processors: cpupower frequency-set -g performance".
 * Checks read the machine below root ("" for the real one; a test has a tree of its own) and tell
 * each finding; nothing is changed but in files that a check makes and removes (disks). site: what
 * the service is to do there, or NULL: what any service could want. One thread.
 * Tests: test/unit/board/tool/doctor
 */
#ifndef BS_BOARD_TOOL_DOCTOR_FINDING_H
#define BS_BOARD_TOOL_DOCTOR_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/protocol.h"
#include "core/thread/cpus.h"

enum bs_health { BS_HEALTH_OK, BS_HEALTH_WARN, BS_HEALTH_FAIL };
#define BS_HEALTHS 3u

struct bs_doctor {
	const char *root;
	const struct bs_site *site;
	void (*tell)(void *arg, enum bs_health health, const char *what, const char *figure,
		     const char *remedy);
	void *arg;
	uint32_t count[BS_HEALTHS];
};

/* Adds a finding; figure as in printf. remedy: "" if all is well. */
__attribute__((format(printf, 5, 6))) void bs_doctor_say(struct bs_doctor *d, enum bs_health health,
							 const char *what, const char *remedy,
							 const char *figure, ...);

/* Reads the first line of root/path, without its line feed. False: it cannot be read. */
bool bs_doctor_line(const struct bs_doctor *d, const char *path, char *out, size_t cap);
/* Finds the line of root/path that begins with start; out: the rest of it. False: there is none. */
bool bs_doctor_find(const struct bs_doctor *d, const char *path, const char *start, char *out,
		    size_t cap);
bool bs_doctor_number(const struct bs_doctor *d, const char *path, int64_t *value);
/* Reads a list of processors, "0-3,6", from root/path. False: there is none. */
bool bs_doctor_cpus(const struct bs_doctor *d, const char *path, struct bs_cpus *set);
/* True if this process has the capability of that number. */
bool bs_doctor_capable(const struct bs_doctor *d, int number);

/* cpu.c checks priorities, throttling, processors, governor, idle states, clock. */
void bs_doctor_priority(struct bs_doctor *d);
void bs_doctor_throttle(struct bs_doctor *d);
void bs_doctor_processors(struct bs_doctor *d);
void bs_doctor_governor(struct bs_doctor *d);
void bs_doctor_idle(struct bs_doctor *d);
void bs_doctor_clock(struct bs_doctor *d);
/* memory.c checks locks, amount, swap, overcommit, huge pages, open files, stacks, file sizes. */
void bs_doctor_lock(struct bs_doctor *d);
void bs_doctor_memory(struct bs_doctor *d);
void bs_doctor_paging(struct bs_doctor *d);
void bs_doctor_files(struct bs_doctor *d);
void bs_doctor_stack(struct bs_doctor *d);
void bs_doctor_size(struct bs_doctor *d);
/* device.c checks GPU, driver and MPS. mps: the folder of its pipes. */
void bs_doctor_gpu(struct bs_doctor *d, const char *mps);
/* disk.c checks the site's folders, which do not lie below root. */
void bs_doctor_disks(struct bs_doctor *d);
/* socket.c checks the site's endpoints, whose folders do not lie below root. */
void bs_doctor_sockets(struct bs_doctor *d);

#endif
