/*
 * drivers/log/kept.h - images that a study keeps over a restart (ls.w study): N.kept beside logs
 *
 * A head of 64 bytes: "BSKEPTIM", the program's version with zeros behind it (32), bytes of a
 * struct bs_kept, bytes of the data, CRC-32C of both, 4 zeros. Then these two as they lie in the
 * store (core/study/study.h), for the same program on the same machine: another version's file is
 * not read. N is the slot's number, so a file is replaced when its image is. A file appears whole.
 * Blocks on the disk; no real-time thread. Test: test/unit/drivers/log/test_kept.c
 */
#ifndef BS_DRIVERS_LOG_KEPT_H
#define BS_DRIVERS_LOG_KEPT_H

#include "core/err.h"
#include "core/study/study.h"
#include "drivers/file/draft.h"

/* The numbers of the images that are in files, by slot. */
struct bs_kept_filed {
	uint64_t number[BS_STUDY_SCANS_MAX];
};

/* Writes the images that are not in files yet. Returns the first error; the others are written. */
int bs_kept_write(struct bs_kept_filed *filed, const char *dir, struct bs_study *s,
		  struct bs_fail *why);
/*
 * Reads the files of a folder into an empty store; *count: how many images it has then. A file that
 * is damaged, or does not fit the site, is left out, and *why says so of the last one. Removes what
 * writers that have died left half written.
 */
int bs_kept_read(struct bs_study *s, const char *dir, uint32_t *count, struct bs_fail *why);
/* Writes the path of a slot's file. Returns path. */
const char *bs_kept_path(char path[BS_DRAFT_PATH], const char *dir, uint32_t slot);
/* Reads from an open file whose image it has, and no more. Its texts end. BS_ERR_FORMAT. */
int bs_kept_whose(struct bs_kept *kept, int fd, const char *path, struct bs_fail *why);
/* Removes the files that were written before oldest_ns, since 1970, UTC. */
void bs_kept_prune(const char *dir, int64_t oldest_ns);

#endif
