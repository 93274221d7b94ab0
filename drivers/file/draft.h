/*
 * drivers/file/draft.h - a file that appears under its name whole or not at all
 *
 * open -> write* -> { commit | drop | end }. The bytes go to NAME.part-PID-N beside the target;
 * commit syncs them and gives them their name. Without BS_DRAFT_REPLACE an existing file of that
 * name is kept and commit returns BS_DRAFT_EXISTS with the draft still open, to be committed
 * elsewhere in the same folder or dropped. Mode 0640 less the umask: most are of patients. Errors:
 * BS_ERR_IO with errno's words. Blocks on the disk; one thread. Test: test/unit/drivers/test_cfl.c
 */
#ifndef BS_DRIVERS_FILE_DRAFT_H
#define BS_DRIVERS_FILE_DRAFT_H

#include <stddef.h>

#include "core/err.h"

#define BS_DRAFT_PATH   1024u /* most bytes of a name, with its terminator */
#define BS_DRAFT_EXISTS 1

enum bs_draft_mode { BS_DRAFT_KEEP, BS_DRAFT_REPLACE };

struct bs_draft {
	char temp[BS_DRAFT_PATH + 32]; /* file that holds the bytes until commit */
	int fd;
};

/* Returns BS_ERR_IO: this could not be done with the file, and errno's words. */
int bs_file_fail(struct bs_fail *why, const char *path, const char *what);
/* path: the target's; only its folder and name are used. */
int bs_draft_open(struct bs_draft *d, const char *path, struct bs_fail *why);
int bs_draft_write(struct bs_draft *d, const void *bytes, size_t len, struct bs_fail *why);
int bs_draft_commit(struct bs_draft *d, const char *path, enum bs_draft_mode mode,
		    struct bs_fail *why);
void bs_draft_drop(struct bs_draft *d);
/* Commits if rc, the result of the writing, is 0; else, or if that fails, drops the draft. */
int bs_draft_end(struct bs_draft *d, int rc, const char *path, enum bs_draft_mode mode,
		 struct bs_fail *why);
/* Renames a file of a folder to a name that is not taken. Returns 0, or -1 and errno. */
int bs_draft_rename(int dir, const char *from, const char *to);
/* Removes the folder's drafts whose writers have died. Returns their number. */
unsigned bs_draft_sweep(const char *folder);

#endif
