/*
 * config/value.h - one key's value: from a parsed setting into its field, and back to text
 *
 * set checks type, range, words, length and characters, writes the field, and reports what is wrong
 * under the key's full name. An integer is accepted for a number if it is exact; a number is never
 * accepted for an integer. One thread.
 */
#ifndef BS_CONFIG_VALUE_H
#define BS_CONFIG_VALUE_H

#include <stdbool.h>
#include <stdio.h>

#include <libconfig.h>

#include "config/fault.h"
#include "config/keys.h"
#include "config/text.h"

struct bs_reading {
	struct bs_faults *faults;
	struct bs_text *text;      /* text of the site file; NULL while defaults are read */
	char folder[BS_PATH_MAX_]; /* folder of the site file, absolute */
};

/* One group of the file, into which keys are read: the site, a sink, a protocol. */
struct bs_scope {
	const struct bs_reading *reading;
	enum bs_key_scope scope;
	void *base;               /* the struct that the rows' offsets count from */
	char label[32];           /* name of the scope, "protocols.[2]"; "" for the site */
	unsigned line;            /* line of the group in the file */
	unsigned at[BS_KEYS_MAX]; /* line of each key; 0: it is not given */
	bool bad[BS_KEYS_MAX]; /* the key is faulty or missing: rules about it would only confuse */
};

/* Writes the full name of a key: "protocols.[0].gridding.width". */
void bs_scope_name(char out[160], const struct bs_scope *s, const char *path);

void bs_value_set(struct bs_scope *s, const struct bs_key *key, const config_setting_t *v);
/* Sets a default, from text as it would stand in a site file. Lines and faults are not recorded. */
int bs_value_default(struct bs_scope *s, const struct bs_key *key, const char *fallback);
/* Prints the value as it would stand in a site file; it reads back to the same bits. */
void bs_value_print(FILE *to, const struct bs_key *key, const void *base);

#endif
