/*
 * config/text.h - the text of a site file, and what libconfig would misread in it without a word
 *
 * libconfig 1.5 reads an integer literal beyond 32 bits as another number, 1.0e400 as infinity,
 * "\x00" as nothing, and follows @include. scan finds these in the text before it is parsed.
 * Allocates in read; one thread. Test: test/unit/config/test_config.c
 */
#ifndef BS_CONFIG_TEXT_H
#define BS_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

#define BS_TEXT_MAX     (1u << 20) /* bytes of a site file */
#define BS_TEXT_SPOTS   64u
#define BS_TEXT_KEY_MAX 64u

struct bs_text_spot {
	unsigned line;
	unsigned key_line;         /* where its key stands */
	char key[BS_TEXT_KEY_MAX]; /* the name before the last '=' or ':'; "" when there is none */
	char why[160];
	bool told; /* the caller's mark: reported, under its full key */
};

struct bs_text {
	char *text; /* NUL-terminated, without other NULs */
	size_t size;
	struct bs_text_spot spot[BS_TEXT_SPOTS]; /* literals that it would misread */
	unsigned spots;   /* may exceed BS_TEXT_SPOTS: then the rest are not kept */
	unsigned include; /* line of an @include; 0: none */
	unsigned open;    /* line where a string or comment begins that never ends; 0: none */
	char bracket;     /* the first that another one closes, or nothing; '\0': none */
	unsigned bracket_line;
};

/* BS_ERR_IO, or BS_ERR_FORMAT: not a regular file, empty, too large, holds a NUL. */
int bs_text_read(struct bs_text *t, const char *path, struct bs_fail *why);
void bs_text_scan(struct bs_text *t);
/*
 * What a syntax error at this line may be: a word without its quotes, there or a line above, or a
 * bracket that nothing closes, there or before; " (...)", or "". Returns out.
 */
const char *bs_text_hint(const struct bs_text *t, unsigned line, char out[BS_TEXT_KEY_MAX + 64]);
void bs_text_free(struct bs_text *t);

#endif
