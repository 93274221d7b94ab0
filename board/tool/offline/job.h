/*
 * board/tool/offline/job.h - the images of one recording, made by any number of processes, each
 * once
 *
 * key -> open -> { made, put }* -> end -> close. The processes need not run at the same time, nor
 * be as many as those before them: an image is made when its file is there, whole
 * (drivers/sink/sink.h), and what is made is not made again. Beside OUT lies OUT.job, a text: what
 * the images are of (the recording's content, the settings, the program and its engine), and, once
 * all are there, how many. open makes it, or compares: BS_ERR_STATE where it is of another job.
 * Files of OUT that are older than OUT.job are none of its images: whoever removes it starts anew.
 * Formats with all images in one file (sink's at NULL): each image is a file in OUT.pieces until
 * all are there; the process that ends last puts them into OUT, in their order, and removes them.
 * A lock (flock) on OUT.job orders open and end of several processes; the images need none, since
 * whoever makes one makes the same bytes. Killed at any moment, a process leaves whole images and
 * drafts that the next open removes. Blocks on the disk; one thread.
 * Test: test/replay/ranks.sh
 */
#ifndef BS_BOARD_TOOL_OFFLINE_JOB_H
#define BS_BOARD_TOOL_OFFLINE_JOB_H

#include <stdio.h>

#include "ipc/sha256.h"
#include "drivers/file/draft.h"
#include "drivers/sink/sink.h"
#include "drivers/tool/load/recording.h"

struct bs_job_key {
	char recording[17]; /* hash of the recording's content, hexadecimal */
	/* hash of the protocol's settings, of its files and of other settings */
	char settings[BS_SHA256_HEX];
	char maker[64]; /* program and engine, such as "0.2.0 ls/host" */
};

struct bs_job {
	const struct bs_sink *sink;
	void *self;                 /* state of the sink; NULL: images are gathered in pieces */
	char out[BS_DRAFT_PATH];    /* path of OUT */
	char key[BS_DRAFT_PATH];    /* path of OUT.job */
	char pieces[BS_DRAFT_PATH]; /* path of OUT.pieces */
	int64_t since_ns;           /* time at which OUT.job was made (the file system's clock) */
	uint64_t complete;          /* number of images once all are made; 0: not yet */
};

/* Hashes the header and all readouts, which it reads to the end. */
int bs_job_hash(uint64_t *hash, struct bs_recording *r, struct bs_fail *why);
/* Makes a job's key. more: settings in words that the images also depend on. */
int bs_job_key(struct bs_job_key *key, struct bs_recording *r, const struct bs_protocol *p,
	       const char *engine, const char *more, struct bs_fail *why);

int bs_job_open(struct bs_job *j, const struct bs_sink *sink, const char *out,
		const struct bs_job_key *key, struct bs_fail *why);
/* True if the image of this number, from 1, is made. job: a struct bs_job. */
bool bs_job_made(void *job, uint64_t number);
int bs_job_put(struct bs_job *j, uint64_t number, const struct bs_mrd_image *head,
	       const char *attributes, const void *pixels, struct bs_fail *why);
/* Ends this process's part, of so many images. complete tells whether all are there. */
int bs_job_end(struct bs_job *j, uint64_t images, struct bs_fail *why);
void bs_job_close(struct bs_job *j);
/* Prints a line with the files of a recording's images, named as in drivers/sink/sink.h. */
void bs_job_names(FILE *to, const char *out, uint32_t images);

#endif
