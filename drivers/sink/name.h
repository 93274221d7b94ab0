/*
 * drivers/sink/name.h - names of a sink's image files
 *
 * If the target is a folder, names are FOLDER/uidUUUUUUUU-sSSS-iIIIII.ext, from the measurement's
 * uid (hex), the image's series and its index; a name that is taken gets -2, -3, ... before the
 * extension, so that nothing is overwritten. If the target ends in the sink's extension, the first
 * image gets that name, the others NAME-0002.ext, NAME-0003.ext, ...; files of an earlier run are
 * replaced.
 * Test: test/unit/drivers/test_sink.c
 */
#ifndef BS_DRIVERS_SINK_NAME_H
#define BS_DRIVERS_SINK_NAME_H

#include <stdbool.h>

#include "core/mrd.h"
#include "drivers/file/draft.h"

#define BS_IMAGENAME_TRIES 100000u

struct bs_imagename {
	char target[BS_DRAFT_PATH]; /* folder, or a file's name without its extension */
	const char *ext;            /* extension, such as ".png" */
	bool folder;
	uint32_t images; /* images that have a name so far */
	enum bs_draft_mode mode;
};

/* open and close of a sink that has no other state than a name. */
int bs_imagename_new(void **self, const char *target, const char *ext, struct bs_fail *why);
int bs_imagename_free(void *self, struct bs_fail *why);
int bs_imagename_open(struct bs_imagename *n, const char *target, const char *ext,
		      struct bs_fail *why);
/* Makes the name of an image for a try (0, 1, ...; only a folder needs more than one). */
int bs_imagename_make(const struct bs_imagename *n, char out[BS_DRAFT_PATH],
		      const struct bs_mrd_image *head, uint32_t try_number, struct bs_fail *why);
/* Finds a name for a finished draft and commits it; drops it on failure. Counts the image. */
int bs_imagename_commit(struct bs_imagename *n, struct bs_draft *d, const struct bs_mrd_image *head,
			struct bs_fail *why);
/*
 * Sets the number, from 1, of the next image if the target is a file. self: a sink whose first
 * member is a struct bs_imagename.
 */
void bs_imagename_at(void *self, uint32_t number);
/* Finds an image's last file in a folder; returns when it was written, ns; -1: there is none. */
int64_t bs_imagename_newest(const struct bs_imagename *n, char path[BS_DRAFT_PATH],
			    const struct bs_mrd_image *head);
/*
 * True if this image has a file that was written at since_ns (since 1970, UTC) or later. In a
 * folder the last of the image's names is looked at; with a file name, the next image's name. last:
 * if an image has two files, the ending of the one that is written last. A pair without that file
 * was left by a process that died, and is removed from a folder.
 */
bool bs_imagename_has(const struct bs_imagename *n, const struct bs_mrd_image *head,
		      const char *last, int64_t since_ns);

#endif
