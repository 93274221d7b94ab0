/*
 * test/mutate/mutate.c - scans as consoles and converters change them: right, or true words
 *
 * No argument: a sample by a fixed seed, each row once and some pairs of rows. --all [SEED]: each
 * row on all its bases, and 300 pairs, by a fresh seed, which is printed; --pairs [SEED]: the pairs
 * alone. --only ROW[+ROW] BASES: these, with all that was said of them. Some are served, too, which
 * gives the same as recon.
 * One row must be answered as the table asks (mutations.h); two together never by an image that is
 * complete and wrong, by a reason that is not so, or without words.
 */
/* Holds: W40, W44, W51, C2 */
#include <string.h>

#include "test/mutate/judge.h"
#include "test/mutate/mutations.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define ROWS_MAX        256u
#define PAIRS           300u
#define PAIRS_OF_SAMPLE (CHECK_SANITIZED ? 6u : 30u)
#define ROWS_OF_SAMPLE  (CHECK_SANITIZED ? 4u : 1u) /* one of so many */
#define SERVED_OF       12u                         /* one of so many */

static const struct mutation *rows[ROWS_MAX];
static unsigned row_count;
static bool verbose;
static uint64_t seed = 29;
static unsigned verdicts[VERDICTS];

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
		if (m[i] != NULL && m[i]->scan != NULL && s->count > 0)
			m[i]->scan(s);
	return true;
}

/* The reason why a variation is known not to be right yet, or NULL. */
static const char *reason_not_yet(const struct base *b, const struct mutation *const m[2])
{
	for (const struct not_yet *n = not_yet_right; n->row != NULL; n++)
		for (int i = 0; i < 2; i++)
			if (m[i] != NULL && strcmp(m[i]->row, n->row) == 0 &&
			    strchr(n->bases, b->letter) != NULL)
				return n->why;
	return NULL;
}

static void report(const struct base *b, const struct mutation *const m[2], bool served, bool good,
		   const struct judgment *j)
{
	const char *why = good ? NULL : reason_not_yet(b, m);
	char what[512];

	(void)snprintf(what, sizeof(what), "%s%s%s %s%s: %s%s%s", m[0]->row,
		       m[1] != NULL ? "+" : "", m[1] != NULL ? m[1]->row : "", b->name,
		       served ? ", served" : "", m[0]->name, m[1] != NULL ? ", " : "",
		       m[1] != NULL ? m[1]->name : "");
	verdicts[j->verdict]++;
	if (good && m[1] == NULL && reason_not_yet(b, m) != NULL)
		printf("# %s is right now: off test/mutate/not_yet.c with it\n", what);
	if (why != NULL)
		SKIP("%s: not yet right (%s): %s", what, why, j->words);
	else
		CHECK(good, "%s: %s%s%s", what, verdict_name[j->verdict],
		      j->words[0] != '\0' ? ": " : "", j->words);
}

/* By the protocol of the scan itself; where init refuses that, of its base. False: not served. */
static bool serve_one(struct answer *served, struct judgment *j, const struct base *b,
		      struct scan *s, const struct answer *recon)
{
	static const struct mutation *const none[2];
	struct answer a = { 0 };
	struct scan clean;

	if (recon->init != ENDED_WELL) {
		const bool made =
			make(&clean, b, none) && run_init(&a, &clean) && a.init == ENDED_WELL;

		scan_free(&clean);
		answer_free(&a);
		if (!made)
			return false;
	}
	s->other_protocol = recon->init != ENDED_WELL;
	CHECK(run_serve(served, s), "a scan is served");
	judge(j, s, served);
	if (recon->init == ENDED_WELL)
		(void)judge_same(j, served, recon);
	return true;
}

static void try_one(const struct base *b, const struct mutation *const m[2], bool serve)
{
	struct scan s;
	struct answer a = { 0 };
	struct answer served = { 0 };
	struct judgment j = { 0 };
	bool good = make(&s, b, m) && run_recon(&a, &s);

	if (!good)
		CHECK(good, "%s: was run", m[0]->row);
	judge(&j, &s, &a);
	good = m[1] != NULL ? j.verdict != WRONG : is_answered(m[0]->asked, &j);
	serve = serve && good && serve_one(&served, &j, b, &s, &a);
	good = good && j.verdict != WRONG;
	report(b, m, serve, good, &j);
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

static const struct mutation *row_of(const char *name, size_t len)
{
	for (unsigned i = 0; i < row_count; i++)
		if (strlen(rows[i]->row) == len && strncmp(rows[i]->row, name, len) == 0)
			return rows[i];
	return NULL;
}

static unsigned below(unsigned n)
{
	return (unsigned)(check_uniform(&seed) * n) % n;
}

static void try_each(const char *letters, const struct mutation *m)
{
	const struct mutation *const one[2] = { m, NULL };

	for (; *letters != '\0'; letters++)
		try_one(base_of(*letters), one, below(SERVED_OF) == 0);
}

/* Two rows that can be done to one base. */
static void try_pair(void)
{
	const struct mutation *pair[2];
	char both[16] = "";
	unsigned n;

	do {
		n = 0;
		for (int i = 0; i < 2; i++)
			pair[i] = rows[below(row_count)];
		for (const char *c = pair[0]->bases; pair[0] != pair[1] && *c != '\0'; c++)
			if (strchr(pair[1]->bases, *c) != NULL)
				both[n++] = *c;
	} while (n == 0);
	try_one(base_of(both[below(n)]), pair, below(SERVED_OF) == 0);
}

/* whole: each row on each of its bases. */
static void try_all(bool whole, bool singles, unsigned pairs)
{
	for (unsigned i = 0; singles && i < row_count; i += whole ? 1 : ROWS_OF_SAMPLE) {
		const char one[2] = { rows[i]->bases[below((unsigned)strlen(rows[i]->bases))], 0 };

		try_each(whole ? rows[i]->bases : one, rows[i]);
	}
	for (unsigned i = 0; i < pairs; i++)
		try_pair();
}

/* ROW or ROW+ROW, of the bases with these letters. */
static void try_named(const char *row, const char *letters)
{
	const char *plus = strchr(row, '+');
	const struct mutation *const pair[2] = {
		row_of(row, plus != NULL ? (size_t)(plus - row) : strlen(row)),
		plus != NULL ? row_of(plus + 1, strlen(plus + 1)) : NULL
	};

	verbose = true;
	CHECK(pair[0] != NULL && (plus == NULL || pair[1] != NULL), "there is a row %s", row);
	for (; pair[0] != NULL && *letters != '\0'; letters++)
		if (strchr(pair[0]->bases, *letters) != NULL &&
		    (pair[1] == NULL || strchr(pair[1]->bases, *letters) != NULL))
			try_one(base_of(*letters), pair, true);
}

int main(int argc, char **argv)
{
	const bool pairs = argc > 1 && strcmp(argv[1], "--pairs") == 0;
	const bool whole = pairs || (argc > 1 && strcmp(argv[1], "--all") == 0);

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
	if (whole)
		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)await_now_ns() | 1;
	printf("# seed %llu\n", (unsigned long long)seed);
	if (argc > 3 && strcmp(argv[1], "--only") == 0)
		try_named(argv[2], argv[3]);
	else
		try_all(whole, !pairs, whole ? PAIRS : PAIRS_OF_SAMPLE);
	run_close();
	printf("# %u right, %u partial, %u refused, %u wrong\n", verdicts[RIGHT], verdicts[PARTIAL],
	       verdicts[REFUSED], verdicts[WRONG]);
	return check_done();
}
