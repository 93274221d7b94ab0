/*
 * test/unit/config/test_mangled.c - files that are too large, all wrong, or damaged are refused or
 * read, never worse
 */
#define _GNU_SOURCE /* mkdtemp */
#include "test/support/site_file.h"

/* Texts too long to write down: n times piece between head and tail. */
static int load_many(const char *head, const char *piece, size_t n, const char *tail)
{
	size_t h = strlen(head);
	size_t p = strlen(piece);
	size_t t = strlen(tail);
	char *text = malloc(h + n * p + t + 1);
	int rc = 0;

	if (text == NULL)
		abort();
	memcpy(text, head, h);
	for (size_t i = 0; i < n; i++)
		memcpy(text + h + i * p, piece, p);
	memcpy(text + h + n * p, tail, t);
	rc = load_bytes(&site, text, h + n * p + t);
	free(text);
	return rc;
}

static void too_much(void)
{
	CHECK(load_many(PROTOCOL(""), "#", 1u << 20, "") == BS_ERR_CONFIG && faults == 1 &&
		      strstr(told, ".cfg: larger than 1048576 bytes") != NULL,
	      "a file beyond a megabyte: %s", told);
	CHECK(load_many("sinks = (\n", "{ x = 1; },", 8, "1);\n" PROTOCOL("")) == BS_ERR_CONFIG &&
		      faults == 25,
	      "three faults in each of eight sinks, and one: %u", faults);
	CHECK(load_many("protocols = (\n", "1,\n", 300, "1 );") == BS_ERR_CONFIG && faults == 257 &&
		      strstr(told, ":257: and 45 more faults") != NULL,
	      "of 301 faults 256 are told, and how many there were: %u", faults);
	CHECK(load_many("protocols = (\n", "{ discard = 99999999999; },\n", 16, "{ } );\n") ==
			      BS_ERR_CONFIG &&
		      strstr(told, "protocols.[15].discard: 99999999999 does not fit") != NULL,
	      "sixteen literals, each under its key");
	CHECK(load_many("x = [", "99999999999, ", 70, "1];\n" PROTOCOL("")) == BS_ERR_CONFIG &&
		      faults == 66 && strstr(told, "70 literals in all would be misread") != NULL,
	      "seventy literals in an unknown key: %u faults", faults);
	CHECK(load_many("node: { stall_ms = ", "1", 600, ".0; };\n" PROTOCOL("")) ==
			      BS_ERR_CONFIG &&
		      faults == 1 && strstr(told, ":1: node.stall_ms: 1111") != NULL &&
		      strstr(told, "... is too long for a number") != NULL,
	      "a number of 600 digits: %s", told);
	CHECK(load_many("node: {\nrun_dir = \"/", "x", 119, "\"; };\n" PROTOCOL("")) ==
			      BS_ERR_CONFIG &&
		      faults == 4 &&
		      strstr(told, ":2: endpoints.kspace: a socket's path of 131 characters") !=
			      NULL,
	      "sockets in too long a run_dir: %s", told);
	CHECK(load_many("node: {\nrun_dir = \"/", "x", 300, "\"; };\n" PROTOCOL("")) ==
			      BS_ERR_CONFIG &&
		      faults == 1 &&
		      strstr(told, ":2: node.run_dir: 301 characters are too long") != NULL,
	      "a path beyond its field: %s", told);
	CHECK(load_many("node: {\nrun_dir = \"/", "x", 254, "\"; };\n" PROTOCOL("")) ==
			      BS_ERR_CONFIG &&
		      faults == 4 &&
		      strstr(told, "endpoints.status: its default \"ipc:///xx") != NULL,
	      "a default that no longer fits: %u faults", faults);
}

static void all_at_once(void)
{
	static const char *const want[] = { ":1: node.threads: ",
					    ":1: node.board: ",
					    ":3: sinks.[0].type: ",
					    ":4: protocols.[0].coils: ",
					    ":4: protocols.[0].method: missing",
					    ":5: protocols.[0].trajectory.seed: ",
					    ":6: protocols.[0].x: " };
	const char *at = told;

	CHECK(load(&site,
		   "node: { threads = 5.5; board = \"x\"; };\n\n"
		   "sinks = ( { type = \"x\"; dir = \"d\"; } );\n"
		   "protocols = ( { name = \"p\"; coils = 99; matrix = [64, 64]; samples = 8; "
		   "readouts = 8;\n"
		   "trajectory: { type = \"radial2d\"; seed = 9999999999; };\n"
		   "x = 1; } );\n") == BS_ERR_CONFIG &&
		      faults == 7,
	      "seven faults at once: %s", told);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const char *next = strstr(at, want[i]);

		CHECK(next != NULL, "in order of line: %s", want[i]);
		at = next != NULL ? next : at;
	}
}

/* Bytes changed, cut, doubled or swapped: read or refused, each fault at a line that exists. */
static void mangled(void)
{
	uint64_t seed = 20260101;
	unsigned good = 0;
	unsigned bad = 0;
	unsigned astray = 0;
	char text[2 * sizeof(every)];

	for (int round = 0; round < 1500; round++) {
		size_t n = sizeof(every) - 1;
		int changes = 1 + (int)(check_uniform(&seed) * 4);

		memcpy(text, every, n);
		while (changes-- > 0 && n > 0) {
			static const char spice[] = "{}()[]=;:,\"\\#/*@.-+0987eLx \n\t\0\x80\xff";
			size_t at = (size_t)(check_uniform(&seed) * (double)n);
			size_t len = (size_t)(check_uniform(&seed) * 40.0);
			double what = check_uniform(&seed);

			len = len < n - at ? len : n - at;
			if (what < 0.6) {
				text[at] =
					spice[(size_t)(check_uniform(&seed) * (sizeof(spice) - 1))];
			} else if (what < 0.75) {
				n = at;
			} else if (what < 0.9) {
				memmove(text + at, text + at + len, n - at - len);
				n -= len;
			} else if (n + len <= sizeof(text)) {
				memmove(text + at + len, text + at, n - at);
				n += len;
			}
		}
		if (load_bytes(&site, text, n) == 0) {
			good++;
		} else {
			unsigned line = 0;
			unsigned lines = 1;

			bad++;
			for (size_t i = 0; i < n; i++)
				lines += text[i] == '\n';
			for (char *p = told, *end = NULL; p != NULL;
			     p = end != NULL ? end + 1 : NULL) {
				end = strchr(p, '\n');
				if (strncmp(p + strlen(path), ": ", 2) == 0)
					continue; /* the file as a whole: it holds a NUL */
				if (sscanf(p + strlen(path), ":%u: ", &line) != 1 || line < 1 ||
				    line > lines)
					astray++;
			}
		}
	}
	CHECK(good + bad == 1500 && good > 0 && bad > 0 && astray == 0,
	      "1500 mangled files: %u read, %u refused, %u faults without a place", good, bad,
	      astray);
}

int main(void)
{
	open_folder();
	too_much();
	all_at_once();
	mangled();
	close_folder();
	return check_done();
}
