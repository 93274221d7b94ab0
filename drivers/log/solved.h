/*
 * drivers/log/solved.h - the file beside a scan's log that has what became of its frames
 * (core/solve/solved.h): STEM.steps, where the log's files are STEM-INDEX.bslog
 *
 * A head of 80 bytes: "BSLOGSTP", the session (u64), the protocol's name with zeros behind it. Then
 * records of 16 bytes: CRC-32C of the other 12, number of the frame (u32), its word (u64). They are
 * only added; the last one of a frame counts. A record that is torn or damaged is passed over, and
 * its image is made anew. The file is written without a sync.
 * open -> add* -> close by one process; read by whoever makes images again. BS_ERR_IO.
 * Test: test/unit/drivers/log/test_solved.c
 */
#ifndef BS_DRIVERS_LOG_SOLVED_H
#define BS_DRIVERS_LOG_SOLVED_H

#include "core/err.h"
#include "core/solve/solved.h"

#define BS_SOLVED_SUFFIX ".steps"

struct bs_solved_head {
	uint64_t session;
	const char *protocol;
};

/* Opens the file of a log, to add to it. log: the name of one of the log's files. */
int bs_solved_open(int *fd, const char *dir, const char *log, const struct bs_solved_head *head,
		   struct bs_fail *why);
/* Adds the words of the frames first to last that are made and not filed, and marks them filed. */
int bs_solved_add(int fd, struct bs_solved *s, uint64_t first, uint64_t last, struct bs_fail *why);
/*
 * Reads the words of a log: of its protocol and session (0: any), else none. log: path of one of
 * its files. Returns the number of records that are damaged.
 */
int bs_solved_read(struct bs_solved *s, const char *log, const struct bs_solved_head *head,
		   struct bs_fail *why);
/* Removes a log's file, if there is one. dir: a folder's descriptor. */
void bs_solved_remove(int dir, const char *log);

#endif
