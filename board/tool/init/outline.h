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
		char why[BS_OUTLINE_WORDS]; /* reason for the key; "": none */
		bool off;
	} row[BS_OUTLINE_ROWS];
	uint32_t rows;
	char said[BS_OUTLINE_SAYS][BS_OUTLINE_WORDS];
	uint32_t says;
	bool full;
};

/* Puts a key. why: its reason; NULL: it needs none. */
void bs_outline_put(struct bs_outline *o, const char *path, const char *value, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
void bs_outline_off(struct bs_outline *o, const char *path, const char *value, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
void bs_outline_drop(struct bs_outline *o, const char *path);
void bs_outline_say(struct bs_outline *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the value of a key; NULL: it is absent or off. */
const char *bs_outline_value(const struct bs_outline *o, const char *path);
/* Writes text in quotes for a site file. out has at least 2 strlen(text) + 3 bytes. */
const char *bs_outline_quoted(char *out, size_t cap, const char *text);

#define BS_OUTLINE_NONE UINT32_MAX /* value of a port that is not wanted */

/* Settings around the protocol. */
struct bs_outline_node {
	const char *from;  /* path of the recording, or NULL */
	const char *title; /* name of the site file itself */
	uint32_t acq_slots, memory_mib;
	bool system; /* folders are those of an installed service, not beside the file */
	/* ports on this machine for MRD clients and for the page; 0: a free one */
	uint32_t mrd, web;
	const char *pacs; /* title@host:port to which images are sent, or NULL */
};

/* Writes the protocol alone, as an element of the list. */
void bs_outline_protocol(FILE *to, const struct bs_outline *o);
/* Writes the whole site file. */
void bs_outline_write(FILE *to, const struct bs_outline *o, const struct bs_outline_node *node);

#endif
