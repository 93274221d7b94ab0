/*
 * drivers/sink/name.h - what a sink calls its image files
 *
 * A target that is a folder: FOLDER/scanUUUUUUUU-sSSS-iIIIII.ext, from the measurement's uid (hex),
 * the image's series and its index; a name that is taken gets -2, -3, ... before the extension, so
 * nothing is overwritten. A target that ends in the sink's extension: that file for the first
 * image, NAME-0002.ext, NAME-0003.ext, ... for the others; what an earlier run left is replaced.
 * Test: test/unit/drivers/test_sink.c
 */
#ifndef BS_DRIVERS_SINK_NAME_H
#define BS_DRIVERS_SINK_NAME_H

#include <stdbool.h>

#include "core/mrd.h"
#include "drivers/file/draft.h"

#define BS_IMAGENAME_TRIES 100000u

struct bs_imagename {
	char target[BS_DRAFT_PATH]; /* without the extension when it is a file */
	const char *ext;            /* ".png" */
	bool folder;
	uint32_t images; /* that have a name so far */
	enum bs_draft_mode mode;
};

/* A sink that is nothing but a name: its open and close. */
int bs_imagename_new(void **self, const char *target, const char *ext, struct bs_fail *why);
int bs_imagename_free(void *self, struct bs_fail *why);
int bs_imagename_open(struct bs_imagename *n, const char *target, const char *ext,
		      struct bs_fail *why);
/* The name for an image at this try (0, 1, ...; more than one only in a folder). */
int bs_imagename_make(const struct bs_imagename *n, char out[BS_DRAFT_PATH],
		      const struct bs_mrd_image *head, uint32_t try_number, struct bs_fail *why);
/* Finds a name for a finished draft and commits it; drops it on failure. Counts the image. */
int bs_imagename_commit(struct bs_imagename *n, struct bs_draft *d, const struct bs_mrd_image *head,
			struct bs_fail *why);
/*
 * self: a sink that begins with one. Of a file name: the next image is the one of that number, from
 * 1.
 */
void bs_imagename_at(void *self, uint32_t number);
/* In a folder: the last of an image's files, and when it was written; -1: there is none. */
int64_t bs_imagename_newest(const struct bs_imagename *n, char path[BS_DRAFT_PATH],
			    const struct bs_mrd_image *head);
/*
 * Is a file of this image there that was written since then (ns since 1970, UTC)? In a folder the
 * last of its names tells; of a file name it is the next image's. last: the ending of what is
 * written last, where an image has two files: one that lacks that one was being written by a
 * process that died, and is removed from a folder.
 */
bool bs_imagename_has(const struct bs_imagename *n, const struct bs_mrd_image *head,
		      const char *last, int64_t since_ns);

#endif
