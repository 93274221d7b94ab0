/*
 * test/mutate/mutate.c - scans as consoles and converters change them: right, or true words
 *
 * No argument: a sample by a fixed seed. --all [SEED]: all, by a fresh seed, which is printed.
 * --only ROW[+ROW] BASE: one variation, with all that was said of it.
 */
#include <string.h>

#include "test/mutate/judge.h"
#include "test/mutate/mutations.h"
#include "test/support/check.h"

#define ROWS_MAX 256u

static const struct mutation *rows[ROWS_MAX];
static unsigned row_count;
static bool verbose;

static void collect(const struct mutation *m)
{
	for (; m->row != NULL && row_count < ROWS_MAX; m++)
		rows[row_count++] = m;
}

static const char *const verdict_name[VERDICTS] = { "right", "partial", "refused", "WRONG" };

static bool is_answered(enum asked asked, const struct judgment *j)
{
	return j->verdict == RIGHT || (j->verdict == PARTIAL && asked != TAKE) ||
	       (j->verdict == REFUSED && asked == REFUSE);
}

static bool make(struct scan *s, const struct base *b, const struct mutation *const m[2])
{
	struct plan p = b->plan;

	for (int i = 0; i < 2; i++)
		if (m[i] != NULL && m[i]->plan != NULL)
			m[i]->plan(&p);
	if (!scan_make(s, &p))
		return false;
	for (int i = 0; i < 2; i++)
		if (m[i] != NULL && m[i]->scan != NULL)
			m[i]->scan(s);
	return true;
}

static void try_one(const struct base *b, const struct mutation *const m[2], bool serve)
{
	struct scan s;
	struct answer a;
	struct answer served = { 0 };
	struct judgment j;
	bool ran = make(&s, b, m) && run_recon(&a, &s);
	bool good;

	judge(&j, &s, &a);
	good = ran && (m[1] != NULL ? j.verdict != WRONG : is_answered(m[0]->asked, &j));
	if (ran && serve && a.init == ENDED_WELL) {
		struct judgment by_service;

		ran = run_serve(&served, &s);
		judge(&by_service, &s, &served);
		(void)judge_same(&by_service, &served, &a);
		if (by_service.verdict == WRONG) {
			good = false;
			j = by_service;
		}
	}
	CHECK(good, "%s%s%s %s%s: %s, %s%s%s%s%s", m[0]->row, m[1] != NULL ? "+" : "",
	      m[1] != NULL ? m[1]->row : "", b->name, serve ? " (served)" : "", m[0]->name,
	      m[1] != NULL ? m[1]->name : "", m[1] != NULL ? ", " : "", verdict_name[j.verdict],
	      j.words[0] != '\0' ? ": " : "", j.words);
	if (verbose)
		printf("# said:\n%s\n# served: %s\n", a.said, served.said);
	answer_free(&a);
	answer_free(&served);
	scan_free(&s);
}

static const struct base *base_of(char letter)
{
	for (unsigned i = 0; i < base_count; i++)
		if (bases[i].letter == letter)
			return &bases[i];
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (getenv("BORESIDE") == NULL) {
		SKIP("no program (BORESIDE)");
		return 0;
	}
	collect(header_mutations);
	collect(limit_mutations);
	collect(line_mutations);
	collect(order_mutations);
	collect(other_mutations);
	if (!run_open())
		return 1;
	verbose = argc > 3;
	for (unsigned i = 0; i < row_count; i++)
		for (const char *c = rows[i]->bases; *c != '\0'; c++) {
			const struct mutation *const m[2] = { rows[i], NULL };

			if (argc > 1 && strcmp(argv[1], rows[i]->row) != 0)
				continue;
			if (argc > 2 && *c != argv[2][0])
				continue;
			try_one(base_of(*c), m, argc > 2);
		}
	run_close();
	return check_done();
}
