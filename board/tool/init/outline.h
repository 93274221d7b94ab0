/*
 * board/tool/init/outline.h - a protocol as it is written: its keys, why each, and what was assumed
 *
 * A row is one key with its value as it stands in a site file and the comment above it. put takes
 * the place of a row of the same path; off puts one that stands there as a comment, for the
 * reader to switch on; drop takes one out. say: what could not be told from the recording, or what
 * the reader should know; it becomes a comment and is told in words. Rows beyond the room, and
 * texts beyond theirs, are cut: full says so. Allocates nothing; one thread.
 * Test: test/unit/board/tool/init/test_outline.c
 */
#ifndef BS_BOARD_TOOL_INIT_OUTLINE_H
#define BS_BOARD_TOOL_INIT_OUTLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/protocol.h"

#define BS_OUTLINE_ROWS  40u
#define BS_OUTLINE_SAYS  16u
#define BS_OUTLINE_WORDS 400u

struct bs_outline {
	struct bs_outline_row {
		char path[40];
		char value[2 * BS_PATH_MAX_ + 8];
		char why[BS_OUTLINE_WORDS]; /* "": none */
		bool off;
	} row[BS_OUTLINE_ROWS];
	uint32_t rows;
	char said[BS_OUTLINE_SAYS][BS_OUTLINE_WORDS];
	uint32_t says;
	bool full;
};

/* why: NULL: the key needs none. */
void bs_outline_put(struct bs_outline *o, const char *path, const char *value, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
void bs_outline_off(struct bs_outline *o, const char *path, const char *value, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
void bs_outline_drop(struct bs_outline *o, const char *path);
void bs_outline_say(struct bs_outline *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The row's value, or NULL: there is none, or it is off. */
const char *bs_outline_value(const struct bs_outline *o, const char *path);
/* text in quotes, as a site file has it; out of at least 2 strlen(text) + 3 bytes. */
const char *bs_outline_quoted(char *out, size_t cap, const char *text);

#define BS_OUTLINE_NONE UINT32_MAX /* no such port */

/* What stands around the protocol. */
struct bs_outline_node {
	const char *from;  /* the recording's path, or NULL */
	const char *title; /* the file's own name */
	uint32_t acq_slots, memory_mib;
	bool system;       /* folders of an installed service instead of ones beside the file */
	uint32_t mrd, web; /* ports on this machine: MRD clients, the page; 0: a free one */
	const char *pacs;  /* title@host:port that images are sent to, or NULL */
};

/* The protocol alone, as an element of the list. */
void bs_outline_protocol(FILE *to, const struct bs_outline *o);
/* The whole site file. */
void bs_outline_write(FILE *to, const struct bs_outline *o, const struct bs_outline_node *node);

#endif
