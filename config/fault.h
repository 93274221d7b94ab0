/*
 * config/fault.h - the faults of one site file, kept until all are found, told in line order
 *
 * Fixed memory: faults beyond BS_FAULTS_MAX are only counted. One thread.
 */
#ifndef BS_CONFIG_FAULT_H
#define BS_CONFIG_FAULT_H

#include "core/err.h"

#define BS_FAULTS_MAX 256u

struct bs_faults {
	unsigned count; /* number of faults, kept or not */
	struct bs_fault_line {
		unsigned line, order;
		char text[640]; /* text of the fault, "key: why" */
	} kept[BS_FAULTS_MAX];
};

/* Adds a fault. key may be "": the fault is of the file as a whole. */
__attribute__((format(printf, 4, 5))) void bs_fault(struct bs_faults *f, unsigned line,
						    const char *key, const char *fmt, ...);

/* Tells each kept fault as "file:line: key: why", sorted by line. */
void bs_faults_tell(struct bs_faults *f, const char *file, bs_tell_line *report, void *arg);

#endif
