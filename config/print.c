/* config/print.c - the table as documentation, and a loaded site as a site file */
#include "config/config.h"

#include <string.h>

#include "config/keys.h"
#include "config/value.h"

/* Member names only: "trajectory" of "trajectory.type"; 0 when the key stands at the top. */
static size_t group_length(const struct bs_key *key)
{
	const char *dot = strchr(key->path, '.');

	return dot != NULL ? (size_t)(dot - key->path) : 0;
}

/* All rows of a scope, with their groups opened and closed; every line behind indent. */
static void print_scope(FILE *to, enum bs_key_scope scope, const void *base, const char *indent)
{
	const struct bs_key *open = NULL;

	for (size_t i = 0; i < bs_keys_count; i++) {
		const struct bs_key *key = &bs_keys[i];
		size_t n = group_length(key);

		if (key->scope != scope)
			continue;
		if (open != NULL &&
		    (n != group_length(open) || strncmp(open->path, key->path, n) != 0)) {
			(void)fprintf(to, "%s};\n", indent);
			open = NULL;
		}
		if (n > 0 && open == NULL) {
			(void)fprintf(to, "%s%.*s: {\n", indent, (int)n, key->path);
			open = key;
		}
		(void)fprintf(to, "%s%s%s = ", indent, n > 0 ? "\t" : "",
			      key->path + (n > 0 ? n + 1 : 0));
		bs_value_print(to, key, base);
		(void)fputs(";\n", to);
	}
	if (open != NULL)
		(void)fprintf(to, "%s};\n", indent);
}

void bs_config_print(FILE *to, const struct bs_site *site)
{
	print_scope(to, BS_SCOPE_SITE, site, "");
	(void)fputs("sinks = (", to);
	for (uint32_t i = 0; i < site->sinks; i++) {
		(void)fputs(i > 0 ? ",\n{\n" : "\n{\n", to);
		print_scope(to, BS_SCOPE_SINK, &site->sink[i], "\t");
		(void)fputs("}", to);
	}
	(void)fputs(");\nprotocols = (", to);
	for (uint32_t i = 0; i < site->protocols; i++) {
		(void)fputs(i > 0 ? ",\n{\n" : "\n{\n", to);
		print_scope(to, BS_SCOPE_PROTOCOL, &site->protocol[i], "\t");
		(void)fputs("}", to);
	}
	(void)fputs(");\n", to);
}

static const char *type_name(const struct bs_key *key)
{
	switch (key->type) {
	case BS_KEY_INT:
	case BS_KEY_LONG:
		return "integer";
	case BS_KEY_COUNT:
		return "integer or `\"header\"`";
	case BS_KEY_NUMBER:
		return "number";
	case BS_KEY_BOOL:
		return "boolean";
	case BS_KEY_WORD:
	case BS_KEY_WORD_TEXT:
		return "word";
	case BS_KEY_TEXT:
		return "string";
	case BS_KEY_PATH:
		return "path";
	case BS_KEY_URL:
		return "URL";
	case BS_KEY_CPUS:
		return "processors";
	case BS_KEY_INT3:
		return "2 or 3 integers";
	case BS_KEY_NUMBER3:
		return "2 or 3 numbers";
	case BS_KEY_DEVICES:
		return "1 to 8 integers";
	}
	return "?";
}

static void print_range(FILE *to, const struct bs_key *key)
{
	if (key->words != NULL) {
		for (unsigned i = 0; key->words[i] != NULL; i++)
			(void)fprintf(to, "%s`\"%s\"`", i > 0 ? ", " : "", key->words[i]);
	} else if (key->type == BS_KEY_LONG) {
		(void)fprintf(to, "%.0f to 2^63 - 1", key->min);
	} else if (key->max > key->min) {
		(void)fprintf(to, "%.10g to %.10g", key->min, key->max);
	} else if (key->size > 4 && key->type != BS_KEY_NUMBER) {
		(void)fprintf(to, "%zu characters", key->size - 1);
	}
}

static void print_row(FILE *to, const struct bs_key *key)
{
	(void)fprintf(to, "| `%s` | %s | %s | ", key->path, type_name(key), key->unit);
	if (key->fallback != NULL)
		(void)fprintf(to, "`%s`", key->fallback);
	else
		(void)fputs("**required**", to);
	(void)fputs(" | ", to);
	print_range(to, key);
	(void)fprintf(to, " | %s |\n", key->help);
}

static void print_table(FILE *to, const char *title, enum bs_key_scope scope)
{
	(void)fprintf(to,
		      "\n## %s\n\n| key | type | unit | default | range | meaning |\n"
		      "|---|---|---|---|---|---|\n",
		      title);
	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == scope)
			print_row(to, &bs_keys[i]);
}

void bs_config_print_keys(FILE *to)
{
	static const char *const boards[] = { "workstation", "jetson" };

	(void)fputs(
		"# Keys of a site file\n\n"
		"A site file is in libconfig's syntax: `name = value;`, groups `name: { ... };`, "
		"lists `( { ... }, { ... } )`.\n"
		"A dot in a key below stands for a group: `node.name` is "
		"`node: { name = \"bay-3\"; };`.\n"
		"Relative paths start from the file's own folder. An integer may stand for a "
		"number, never a number for an\n"
		"integer; an integer beyond 32 bits ends in `L`. `@include` is refused. "
		"`boreside check FILE` names every fault.\n",
		to);
	print_table(to, "The site", BS_SCOPE_SITE);
	(void)fputs("\nDefaults that `node.board` changes:\n\n", to);
	for (size_t b = 0; b < 2; b++)
		for (size_t i = 0; i < bs_keys_count; i++)
			if (bs_key_fallback(&bs_keys[i], boards[b]) != bs_keys[i].fallback)
				(void)fprintf(to, "- %s: `%s = %s`\n", boards[b], bs_keys[i].path,
					      bs_key_fallback(&bs_keys[i], boards[b]));
	print_table(to, "Each of `sinks`: where images go", BS_SCOPE_SINK);
	print_table(to, "Each of `protocols`: a kind of scan", BS_SCOPE_PROTOCOL);
}
