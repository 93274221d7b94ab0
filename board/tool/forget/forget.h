/*
 * board/tool/forget/forget.h - removes what a site's folders hold of one study, or of one patient
 *
 * It is known by what the scan's header says: a value of patientID, studyInstanceUID or studyID
 * that is the id, to the letter. No service may run on the folders. Each part prints what it
 * removes, or would. Blocks on the disk, allocates. Test: test/replay/papers/forget.sh
 */
#ifndef BS_BOARD_TOOL_FORGET_FORGET_H
#define BS_BOARD_TOOL_FORGET_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/mrd.h"

/* A scan whose log or image had the id: its image files begin with its uid and its number. */
struct bs_forgotten {
	uint32_t uid, scan;
	/* by its log's header; "": unknown */
	char study[sizeof(((struct bs_scan_info *)0)->study)];
};

struct bs_forget {
	const char *id;
	bool lists; /* nothing is removed */
	struct bs_forgotten *scan;
	size_t scans, room;
	uint64_t logs, images, files, kept;
	uint64_t unknown; /* files that may be the study's and stay: each was printed */
};

/* How many of these pairs (core/text.h), or of an image's attributes, say the id. */
bool bs_forget_pairs(const struct bs_forget *f, const char *pairs);
bool bs_forget_attributes(const struct bs_forget *f, const char *xml, size_t len);
int bs_forget_note(struct bs_forget *f, const struct bs_forgotten *scan, struct bs_fail *why);
/* Removes a file and says so. BS_ERR_IO. */
int bs_forget_remove(struct bs_forget *f, const char *path, struct bs_fail *why);

/* Logs of scans, and the folder's spare files, which may hold old bytes. */
int bs_forget_logs(struct bs_forget *f, const char *dir, struct bs_fail *why);
/* Images in the folder of logs that W may be made of, also of a study whose log had the id. */
int bs_forget_kept(struct bs_forget *f, const char *dir, struct bs_fail *why);
/*
 * Images that are kept for takers. Each image says the number of the one before it: files are
 * written anew where that is another, and cursors go back to an image that is there.
 */
int bs_forget_store(struct bs_forget *f, const char *dir, struct bs_fail *why);
/* Image files, by what is in them; those that hold no attributes are counted and named alone. */
int bs_forget_files(struct bs_forget *f, const char *dir, struct bs_fail *why);

#endif
