/*
 * config/keys.h - the one table of what a site file may say
 *
 * One row per key: its scope and path, type, unit, default, range or words, meaning, and the field
 * of struct bs_site, bs_sink_spec, bs_mrd_config, bs_peer_spec or bs_protocol that it fills. The
 * loader, the printed configuration, the documentation (boreside check --keys) and the tests all
 * read this table and nothing else.
 * fallback, the default, is written as in a site file; NULL: the key must be given. A board may
 * have its own default (bs_key_fallback). Read-only data; any thread. Test:
 * test/unit/config/test_keys.c
 */
#ifndef BS_CONFIG_KEYS_H
#define BS_CONFIG_KEYS_H

#include <stddef.h>

#include "core/protocol.h"

enum bs_key_scope {
	BS_SCOPE_SITE,
	BS_SCOPE_SINK,
	BS_SCOPE_STEP,
	BS_SCOPE_ANSWER,
	BS_SCOPE_CONFIG,
	BS_SCOPE_PEER,
	BS_SCOPE_PROTOCOL,
	BS_SCOPES
};

enum bs_key_type {
	BS_KEY_INT,       /* the field is uint32_t */
	BS_KEY_LONG,      /* uint64_t; the file needs the suffix L where 32 bits are too few */
	BS_KEY_NUMBER,    /* the field is double */
	BS_KEY_BOOL,      /* the field is bool */
	BS_KEY_WORD,      /* the field is an enum with values 0, 1, ... in the order of words */
	BS_KEY_WORD_TEXT, /* the field is char[] and holds one of words */
	BS_KEY_TEXT,      /* char[], printable ASCII; "" only where that is the default */
	/* uint32_t, bit i for words[i]; the file has an array; required: at least one word */
	BS_KEY_WORDS,
	BS_KEY_PATH,    /* the field is char[], a path that is absolute once loaded */
	BS_KEY_URL,     /* the field is char[], an address ipc:// or tcp:// */
	BS_KEY_CPUS,    /* the field is char[], a list of processors (core/thread/cpus.h) */
	BS_KEY_INT3,    /* the field is uint32_t[3] */
	BS_KEY_NUMBER3, /* the field is float[3] */
	BS_KEY_DEVICES, /* the field is struct bs_devices: different integers */
	/* the field is two uint32_t: the number and 0; for the word "header" 0 and 1 */
	BS_KEY_COUNT,
};

struct bs_key {
	enum bs_key_scope scope;
	const char *path; /* names from the top of the key's scope: "matrix", "trajectory.type" */
	enum bs_key_type type;
	const char *unit;
	const char *fallback;
	double min, max;          /* range of a number, both ends included */
	const char *const *words; /* words that the key may have, NULL-ended; or NULL */
	const char *help;
	size_t offset, size; /* offset and size of the key's field */
};

#define BS_KEYS_MAX 208u

/* Words of enums that other files use, too; NULL-ended. */
extern const char *const bs_policy_words[], *const bs_log_mode_words[],
						    *const bs_wait_words[], *const bs_miss_words[];

extern const struct bs_key bs_keys[];
extern const size_t bs_keys_count;

/* A list of groups in a site file, and the array of struct bs_site that it fills. */
struct bs_key_list {
	const char *path;       /* "sinks", "bridges.mrd.configs"; NULL: the scope is no list */
	size_t at, step, count; /* offset of the array, bytes of an item, offset of their number */
	uint32_t most;
};
#define BS_KEY_LIST_MAX 32u /* largest `most` */
extern const struct bs_key_list bs_key_lists[BS_SCOPES];
/* Returns item i of a scope's list. */
void *bs_key_item(const struct bs_site *site, enum bs_key_scope scope, uint32_t i);
uint32_t bs_key_items(const struct bs_site *site, enum bs_key_scope scope);

/* The key's default on a board; NULL: the key is required. */
const char *bs_key_fallback(const struct bs_key *key, const char *board);
/* Returns the row of a key, or NULL. */
const struct bs_key *bs_key_find(enum bs_key_scope scope, const char *path);
/* Returns true if some key of the scope lies in this group ("trajectory"). */
bool bs_key_is_group(enum bs_key_scope scope, const char *group);

#endif
