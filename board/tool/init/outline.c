/* board/tool/init/outline.c - see outline.h */
#include "board/tool/init/outline.h"

#include <stdarg.h>
#include <string.h>

#define WIDTH 90 /* columns of a comment */

static struct bs_outline_row *find_row(struct bs_outline *o, const char *path)
{
	for (uint32_t i = 0; i < o->rows; i++)
		if (strcmp(o->row[i].path, path) == 0)
			return &o->row[i];
	return NULL;
}

static void put_row(struct bs_outline *o, bool off, const char *path, const char *value,
		    const char *why, va_list args)
{
	struct bs_outline_row *row = find_row(o, path);

	if (row == NULL) {
		if (o->rows == BS_OUTLINE_ROWS) {
			o->full = true;
			return;
		}
		row = &o->row[o->rows++];
	}
	if (strlen(path) >= sizeof(row->path) || strlen(value) >= sizeof(row->value))
		o->full = true;
	(void)snprintf(row->path, sizeof(row->path), "%s", path);
	(void)snprintf(row->value, sizeof(row->value), "%s", value);
	row->why[0] = '\0';
	if (why != NULL &&
	    vsnprintf(row->why, sizeof(row->why), why, args) >= (int)sizeof(row->why))
		o->full = true;
	row->off = off;
}

void bs_outline_put(struct bs_outline *o, const char *path, const char *value, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	put_row(o, false, path, value, why, args);
	va_end(args);
}

void bs_outline_off(struct bs_outline *o, const char *path, const char *value, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	put_row(o, true, path, value, why, args);
	va_end(args);
}

void bs_outline_drop(struct bs_outline *o, const char *path)
{
	struct bs_outline_row *row = find_row(o, path);

	if (row == NULL)
		return;
	o->rows--;
	memmove(row, row + 1, (size_t)(o->row + o->rows - row) * sizeof(*row));
}

void bs_outline_say(struct bs_outline *o, const char *fmt, ...)
{
	va_list args;

	if (o->says == BS_OUTLINE_SAYS) {
		o->full = true;
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(o->said[o->says++], BS_OUTLINE_WORDS, fmt, args);
	va_end(args);
}

const char *bs_outline_value(const struct bs_outline *o, const char *path)
{
	for (uint32_t i = 0; i < o->rows; i++)
		if (!o->row[i].off && strcmp(o->row[i].path, path) == 0)
			return o->row[i].value;
	return NULL;
}

const char *bs_outline_quoted(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	out[n++] = '"';
	for (; *text != '\0' && n + 4 < cap; text++) {
		if (*text == '"' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text;
	}
	out[n++] = '"';
	out[n] = '\0';
	return out;
}

/* Writes words as comment lines of WIDTH columns behind tabs and "# "; breaks lines at blanks. */
static void comment(FILE *to, const char *tabs, const char *words)
{
	while (*words != '\0') {
		size_t n = strlen(words);

		if (n > WIDTH) {
			for (n = WIDTH; n > 0 && words[n] != ' '; n--)
				;
			n = n == 0 ? strcspn(words, " ") : n;
		}
		(void)fprintf(to, "%s# ", tabs);
		/* a line feed in the recording's text must not end the comment */
		for (size_t i = 0; i < n; i++)
			(void)fputc((unsigned char)words[i] < 0x20 ? ' ' : words[i], to);
		(void)fputc('\n', to);
		words += n;
		words += strspn(words, " ");
	}
}

/* Returns the length of "group." at the beginning of path; 0: no group. */
static size_t group_of(const char *path)
{
	const char *dot = strchr(path, '.');

	return dot != NULL ? (size_t)(dot - path) + 1 : 0;
}

static void write_row(FILE *to, const struct bs_outline_row *row, const char *tabs, size_t group)
{
	if (row->why[0] != '\0')
		comment(to, tabs, row->why);
	(void)fprintf(to, "%s%s%s = %s;\n", tabs, row->off ? "# " : "", row->path + group,
		      row->value);
}

/* Writes the rows of a group together, at the place of the first. */
static void write_group(FILE *to, const struct bs_outline *o, uint32_t first, size_t group)
{
	const char *name = o->row[first].path;
	bool on = false;

	for (uint32_t i = 0; i < first; i++)
		if (strncmp(o->row[i].path, name, group) == 0)
			return; /* an earlier row has written this group */
	for (uint32_t i = first; i < o->rows; i++)
		on = on || (strncmp(o->row[i].path, name, group) == 0 && !o->row[i].off);
	if (on)
		(void)fprintf(to, "\t\t%.*s: {\n", (int)group - 1, name);
	for (uint32_t i = first; i < o->rows; i++) {
		const struct bs_outline_row *row = &o->row[i];

		if (strncmp(row->path, name, group) != 0)
			continue;
		if (on) {
			write_row(to, row, "\t\t\t", group);
			continue;
		}
		if (row->why[0] != '\0')
			comment(to, "\t\t", row->why);
		(void)fprintf(to, "\t\t# %.*s: { %s = %s; };\n", (int)group - 1, name,
			      row->path + group, row->value);
	}
	if (on)
		(void)fprintf(to, "\t\t};\n");
}

static void write_node(FILE *to, const struct bs_outline_node *n)
{
	(void)fprintf(to, "node: {\n\tname = \"boreside\"; # in status and logs\n");
	if (!n->system)
		(void)fprintf(to, "\trun_dir = \"run\";     # sockets; an installed service: the "
				  "default, /run/boreside\n"
				  "\tcache_dir = \"cache\"; # what arming computes, kept for the "
				  "next start\n");
	if (n->acq_slots != 0)
		(void)fprintf(to,
			      "\tacq_slots = %u;      # readouts that may wait in shared "
			      "memory: long ones, so few\n",
			      n->acq_slots);
	if (n->memory_mib != 0)
		(void)fprintf(to,
			      "\tmemory_mib = %u;   # pools and plans together may take so "
			      "much\n",
			      n->memory_mib);
	(void)fprintf(to, "\t# board = \"workstation\"; # real-time priorities and locked memory: "
			  "boreside doctor\n};\n\n");
}

static void write_sinks(FILE *to, const struct bs_outline_node *n)
{
	const char *dir = n->system ? "/var/lib/boreside/images" : "images";
	char quoted[2 * BS_NAME_MAX + 8];

	(void)fprintf(to,
		      "# Every image is written by each of the sinks.\nsinks = (\n"
		      "\t{ type = \"png\"; dir = \"%s\"; }, # for looking\n"
		      "\t{ type = \"mrd\"; dir = \"%s\"; }%s # MRD .h5\n",
		      dir, dir, n->pacs != NULL ? "," : " ");
	if (n->pacs != NULL)
		(void)fprintf(to,
			      "\t{ type = \"dicom\"; dir = \"%s\"; store = %s; } # to this PACS, "
			      "too\n",
			      n->system ? "/var/lib/boreside/dicom" : "dicom",
			      bs_outline_quoted(quoted, sizeof(quoted), n->pacs));
	(void)fprintf(to, ");\n\n");
}

/* Writes the takers. Images asked for by number are kept in the store: MRD clients', a PACS'. */
static void write_takers(FILE *to, const struct bs_outline_node *n)
{
	const char *spill = n->system ? "/var/lib/boreside/spill" : "spill";

	(void)fprintf(to, "# Nobody takes images at the archive's socket: without this each counts "
			  "as undelivered.\n");
	if (n->mrd == BS_OUTLINE_NONE)
		(void)fprintf(to, "endpoints: { archive = \"\"; };\n\n");
	else
		(void)fprintf(to,
			      "# The bridge for MRD clients asks for images by their numbers.\n"
			      "endpoints: { archive = \"\"; images = \"ipc://%s/images.ipc\"; "
			      "};\n\n"
			      "# Any config that a client names: the protocol of its header's "
			      "protocolName, or the only one.\n"
			      "bridges: { mrd: {\n\tlisten = \"tcp://127.0.0.1:%u\";\n"
			      "\tconfigs = ( { name = \"*\"; } );\n}; };\n\n",
			      n->system ? "/run/boreside" : "run", n->mrd);
	if (n->mrd != BS_OUTLINE_NONE || n->pacs != NULL)
		(void)fprintf(to,
			      "# What is not taken yet waits on disk, and outlives the service.\n"
			      "overload: { %sspill_dir = \"%s\"; };\n\n",
			      n->pacs != NULL ? "sinks = \"spill\"; " : "", spill);
	if (n->web != BS_OUTLINE_NONE)
		(void)fprintf(to,
			      "# The page in a browser on this machine, and /metrics.\n"
			      "web: { listen = \"127.0.0.1:%u\"; };\n\n",
			      n->web);
	(void)fprintf(to,
		      "# Every message of a scan on disk before its sender may forget it.\n"
		      "%slog: { dir = \"%s\"; %skeep_mib = 20480L; };\n\n",
		      n->system ? "" : "# ", n->system ? "/var/lib/boreside/logs" : "logs",
		      n->system ? "mode = \"durable\"; keep_hours = 48.0; " : "");
}

void bs_outline_protocol(FILE *to, const struct bs_outline *o)
{
	(void)fprintf(to, "\t{\n");
	for (uint32_t i = 0; i < o->says; i++) {
		comment(to, "\t\t", o->said[i]);
		(void)fprintf(to, "\t\t#\n");
	}
	for (uint32_t i = 0; i < o->rows; i++) {
		const size_t group = group_of(o->row[i].path);

		if (group == 0)
			write_row(to, &o->row[i], "\t\t", 0);
		else
			write_group(to, o, i, group);
	}
	(void)fprintf(to, "\t}");
}

void bs_outline_write(FILE *to, const struct bs_outline *o, const struct bs_outline_node *n)
{
	(void)fprintf(to, "# %s - made by boreside init%s\n", n->title,
		      n->from != NULL ? " from a recording:" : "");
	if (n->from != NULL)
		comment(to, "", n->from);
	(void)fprintf(to,
		      "#\n# `boreside check %s` says whether it is valid and prints every key "
		      "with its value;\n# `boreside check --keys` says what each key means. "
		      "Relative paths start from this file's folder.\n\n",
		      n->title);
	write_node(to, n);
	write_sinks(to, n);
	write_takers(to, n);
	(void)fprintf(to, "# A protocol is one kind of scan that the node prepares for before the "
			  "first readout comes.\nprotocols = (\n");
	bs_outline_protocol(to, o);
	(void)fprintf(to, "\n);\n");
}
