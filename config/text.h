/*
 * config/text.h - the text of a site file, and what libconfig would silently misread in it
 *
 * libconfig 1.5 reads an integer literal beyond 32 bits as another number, 1.0e400 as infinity,
 * "\x00" as nothing, and follows @include. scan finds these in the text before it is parsed. read
 * allocates; one thread. Test: test/unit/config/test_config.c
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
	unsigned key_line; /* line of the key that the literal belongs to */
	/* name of the literal's key, before the last '=' or ':'; "": none */
	char key[BS_TEXT_KEY_MAX];
	char why[160];
	bool told; /* the caller's mark: the literal was reported under its full key */
};

struct bs_text {
	char *text; /* text of the file with a terminator, without other NULs */
	size_t size;
	struct bs_text_spot spot[BS_TEXT_SPOTS]; /* literals that libconfig would misread */
	unsigned spots;                          /* number of such literals, kept or not */
	unsigned include;                        /* line of an @include; 0: there is none */
	unsigned open; /* line where an unending string or comment begins; 0: none */
	char bracket;  /* first bracket that is closed wrongly or not at all; '\0': none */
	unsigned bracket_line;
};

/*
 * Reads the file. BS_ERR_IO; BS_ERR_FORMAT: it is not a regular file, is empty or too large, or
 * holds a NUL.
 */
int bs_text_read(struct bs_text *t, const char *path, struct bs_fail *why);
void bs_text_scan(struct bs_text *t);
/*
 * Explains a syntax error at this line, as " (...)": a word without quotes, on that line or the one
 * above; or a bracket that nothing closes, on that line or before. "": no explanation. Returns out.
 */
const char *bs_text_hint(const struct bs_text *t, unsigned line, char out[BS_TEXT_KEY_MAX + 64]);
void bs_text_free(struct bs_text *t);

#endif
