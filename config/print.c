/* config/print.c - a loaded site as a site file */
#include "config/config.h"

#include <string.h>

#include "config/keys.h"
#include "config/value.h"

#define PATH_MAX_ 120

/* State of printing the rows of a scope. group: the open group, "" at the top. */
struct printing {
	FILE *to;
	enum bs_key_scope scope;
	const void *base;
	const char *indent;
	char open[PATH_MAX_];
};

static void print_scope(FILE *to, enum bs_key_scope scope, const void *base, const char *indent);

static void begin_line(const struct printing *p)
{
	(void)fputs(p->indent, p->to);
	if (p->open[0] != '\0')
		(void)fputc('\t', p->to);
	for (const char *c = p->open; *c != '\0'; c++)
		if (*c == '.')
			(void)fputc('\t', p->to);
}

/* Prints a list of the site; the members of its items each on a line. */
static void print_items(FILE *to, const struct bs_site *site, enum bs_key_scope scope)
{
	const char *dot = strrchr(bs_key_lists[scope].path, '.');

	(void)fprintf(to, "%s = (", dot != NULL ? dot + 1 : bs_key_lists[scope].path);
	for (uint32_t i = 0; i < bs_key_items(site, scope); i++) {
		(void)fputs(i > 0 ? ",\n{\n" : "\n{\n", to);
		print_scope(to, scope, bs_key_item(site, scope, i), "\t");
		(void)fputs("}", to);
	}
	(void)fputs(");\n", to);
}

/* Closes the innermost open group. */
static void leave_group(struct printing *p)
{
	char *dot = strrchr(p->open, '.');

	if (p->scope == BS_SCOPE_SITE && strcmp(p->open, "bridges.mrd") == 0) {
		begin_line(p);
		print_items(p->to, p->base, BS_SCOPE_CONFIG);
	}
	*(dot != NULL ? dot : p->open) = '\0';
	begin_line(p);
	(void)fputs("};\n", p->to);
}

static bool within(const char *group, const char *open)
{
	const size_t n = strlen(open);

	return n == 0 || (strncmp(group, open, n) == 0 && (group[n] == '.' || group[n] == '\0'));
}

/* Closes and opens groups until group is the open one. */
static void enter(struct printing *p, const char *group)
{
	while (!within(group, p->open))
		leave_group(p);
	while (strcmp(p->open, group) != 0) {
		const size_t n = strlen(p->open);
		const char *name = group + n + (n > 0);
		const int len = (int)strcspn(name, ".");

		begin_line(p);
		(void)fprintf(p->to, "%.*s: {\n", len, name);
		(void)snprintf(p->open + n, sizeof(p->open) - n, "%s%.*s", n > 0 ? "." : "", len,
			       name);
	}
}

static void print_peers(FILE *to, const struct bs_keys_spec *keys)
{
	for (uint32_t i = 0; i < keys->peers; i++) {
		(void)fputs(i > 0 ? ", {" : "\tpeers = ( {", to);
		for (size_t k = 0; k < bs_keys_count; k++) {
			if (bs_keys[k].scope != BS_SCOPE_PEER)
				continue;
			(void)fprintf(to, " %s = ", bs_keys[k].path);
			bs_value_print(to, &bs_keys[k], &keys->peer[i]);
			(void)fputc(';', to);
		}
		(void)fputs(i + 1 < keys->peers ? " }" : " } );\n", to);
	}
}

/* Prints all rows of a scope, with their groups opened and closed; each line begins with indent. */
static void print_scope(FILE *to, enum bs_key_scope scope, const void *base, const char *indent)
{
	struct printing p = { .to = to, .scope = scope, .base = base, .indent = indent };

	for (size_t i = 0; i < bs_keys_count; i++) {
		const struct bs_key *key = &bs_keys[i];
		const char *dot = strrchr(key->path, '.');
		char group[PATH_MAX_];

		if (key->scope != scope)
			continue;
		(void)snprintf(group, sizeof(group), "%.*s",
			       dot != NULL ? (int)(dot - key->path) : 0, key->path);
		enter(&p, group);
		begin_line(&p);
		(void)fprintf(to, "%s = ", dot != NULL ? dot + 1 : key->path);
		bs_value_print(to, key, base);
		(void)fputs(";\n", to);
		if (scope == BS_SCOPE_SITE && strcmp(key->path, "keys.own") == 0)
			print_peers(to, &((const struct bs_site *)base)->keys);
	}
	while (p.open[0] != '\0')
		leave_group(&p);
}

void bs_config_print_protocol(FILE *to, const struct bs_protocol *p)
{
	print_scope(to, BS_SCOPE_PROTOCOL, p, "");
}

void bs_config_print(FILE *to, const struct bs_site *site)
{
	print_scope(to, BS_SCOPE_SITE, site, "");
	print_items(to, site, BS_SCOPE_SINK);
	if (site->steps > 0)
		print_items(to, site, BS_SCOPE_STEP);
	if (site->answers > 0)
		print_items(to, site, BS_SCOPE_ANSWER);
	print_items(to, site, BS_SCOPE_PROTOCOL);
}
