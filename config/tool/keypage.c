/* config/tool/keypage.c - see keypage.h */
#include "config/tool/keypage.h"

#include <string.h>

#include "config/keys.h"

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
	case BS_KEY_WORDS:
		return "array of words";
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
			(void)fprintf(to, "%s`\"%s\"`", i > 0 ? ", " : "; ", key->words[i]);
	} else if (key->type == BS_KEY_LONG) {
		(void)fprintf(to, "; %.0f to 2^63 - 1", key->min);
	} else if (key->max > key->min) {
		(void)fprintf(to, "; %.10g to %.10g", key->min, key->max);
	} else if (key->size > 4 && key->type != BS_KEY_NUMBER) {
		(void)fprintf(to, "; %zu characters", key->size - 1);
	}
}

/* Prints an item of a Markdown list, in lines of at most 120 columns. */
static void print_item(FILE *to, const char *text)
{
	size_t column = 1;

	(void)fputs("-", to);
	for (size_t len; *text != '\0'; text += len + (text[len] == ' ')) {
		len = strcspn(text, " ");
		if (column + 1 + len > 120) {
			(void)fputs("\n ", to);
			column = 1;
		}
		(void)fprintf(to, " %.*s", (int)len, text);
		column += 1 + len;
	}
	(void)fputs("\n", to);
}

static void print_key(FILE *to, const struct bs_key *key)
{
	const bool has_unit = key->unit[0] != '\0';
	char text[2048] = "";
	FILE *item = fmemopen(text, sizeof(text), "w");

	if (item == NULL)
		return;
	(void)fprintf(item, "`%s` (%s%s%s; ", key->path, type_name(key), has_unit ? ", " : "",
		      key->unit);
	if (key->fallback != NULL)
		(void)fprintf(item, "`%s`", key->fallback);
	else
		(void)fputs("**required**", item);
	print_range(item, key);
	(void)fprintf(item, "): %s", key->help);
	(void)fclose(item);
	print_item(to, text);
}

static void print_list(FILE *to, const char *title, enum bs_key_scope scope)
{
	(void)fprintf(to, "\n## %s\n\n", title);
	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == scope)
			print_key(to, &bs_keys[i]);
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
		"`boreside check FILE` names every fault.\n\n"
		"Each key has its type and unit, its default, and what it may be, in brackets.\n",
		to);
	print_list(to, "The site", BS_SCOPE_SITE);
	(void)fputs("\nDefaults that `node.board` changes:\n\n", to);
	for (size_t b = 0; b < 2; b++)
		for (size_t i = 0; i < bs_keys_count; i++)
			if (bs_key_fallback(&bs_keys[i], boards[b]) != bs_keys[i].fallback)
				(void)fprintf(to, "- %s: `%s = %s`\n", boards[b], bs_keys[i].path,
					      bs_key_fallback(&bs_keys[i], boards[b]));
	print_list(to, "Each of `sinks`: where images go", BS_SCOPE_SINK);
	print_list(to, "Each of `bridges.mrd.configs`: a name that MRD clients ask for",
		   BS_SCOPE_CONFIG);
	print_list(to, "Each of `steps`: a site's own program that images pass", BS_SCOPE_STEP);
	print_list(to, "Each of `answers`: numbers that a scan's sender gets back",
		   BS_SCOPE_ANSWER);
	print_list(to, "Each of `keys.peers`: who may speak to endpoints over tcp", BS_SCOPE_PEER);
	print_list(to, "Each of `protocols`: a kind of scan", BS_SCOPE_PROTOCOL);
}
