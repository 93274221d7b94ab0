/* test/unit/gpu/test_tune.c - the search finds the best of what it may try; its file is trusted
 * only whole */
#define _GNU_SOURCE
#include "core/hash.h"
#include "gpu/device/tune.h"
#include "test/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/boreside-tune-XXXXXX";
static char path[400];

static const struct bs_tune_kind kind = {
	"test", 3, { { "taps", 4, 8 }, { "run", 64, 4096 }, { "cols", 1, 16 } }
};
static const struct bs_tune_stage stages[] = {
	{ 0, 0, { 4, 5, 6, 7 } },
	{ 1, 0, { 128, 256, 512 } },
	{ 2, 1, { 2, 4, 8 } },
};
static const char key[] = "test dims 2, Some GPU, driver 13000";
static int calls;
static int pairs; /* of noisy */

/* Best at taps 6, run 128; cols 8 is best for the second direction. taps 7: cannot be had. */
static int cost(void *arg, const struct bs_tune *t, const struct bs_tune *rival,
		struct bs_tune_match *m, struct bs_fail *why)
{
	const uint32_t taps = t->v[0] != 0 ? t->v[0] : 5;
	const uint32_t run = t->v[1] != 0 ? t->v[1] : 256;
	const uint32_t cols = t->v[2] != 0 ? t->v[2] : 4;

	(void)arg;
	(void)rival; /* its runs stay as they were measured */
	calls++;
	if (taps == 7)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "seven\ntaps");
	if (t->v[0] == 5 || t->v[1] == 256 || t->v[2] == 4)
		return 1; /* what is taken anyway */
	for (int i = 0; i < BS_TUNE_RUNS; i++) {
		m->own.ms[0][i] = 1.0 + 0.1 * fabs((double)taps - 6.0) + run / 1000.0;
		m->own.ms[1][i] = 2.0 + 1.0 / cols;
	}
	m->own.n[0] = m->own.n[1] = BS_TUNE_RUNS;
	return 0;
}

static void search(struct bs_tuning *t)
{
	struct bs_fail why;
	char words[BS_TUNE_TEXT];
	int rc = bs_tune_search(t, &kind, stages, 3, 2, 60.0, cost, NULL, &why);

	CHECK(rc == 0 && t->trial[t->best].tune.v[0] == 6 && t->trial[t->best].tune.v[1] == 128 &&
		      t->trial[t->best].tune.v[2] == 8,
	      "the best of each stage: %s", bs_tune_text(words, &kind, &t->trial[t->best].tune));
	bool fault = false;

	for (uint32_t i = 0; i < t->trials; i++)
		fault |= t->trial[i].tune.v[0] == 7 && strcmp(t->trial[i].fault, "seven taps") == 0;
	CHECK(fault, "what cannot be had is a trial with its reason");
	struct bs_tuning *cut = malloc(sizeof(*cut));

	rc = bs_tune_search(cut, &kind, stages, 3, 2, 0.0, cost, NULL, &why);
	CHECK(rc == 0 && cut->trials == 1 && cut->cut && cut->best == 0,
	      "no time: the first trial alone");
	free(cut);
}

/* A device whose clock changes and whose times scatter by 5 %: what two of them tell of a variant
 * that is 8 % better holds within a pair alone. */
struct device {
	uint64_t seed;
	uint32_t left; /* runs until the clock changes */
	double slow;
};

static double run(struct device *d, const struct bs_tune *t)
{
	static const double taps[] = { 1.0, 1.0, 1.0, 1.0, 1.08, 1.0, 0.92, 1.0, 1.0 };
	const double lines = t->v[1] == 256 ? 0.92 : t->v[1] == 512 ? 1.08 : 1.0;

	if (d->left-- == 0) {
		d->left = 50 + (uint32_t)(check_uniform(&d->seed) * 150.0);
		d->slow = 1.0 + 0.15 * check_uniform(&d->seed);
	}
	return 0.025 * d->slow * taps[t->v[0]] * lines * (0.95 + 0.1 * check_uniform(&d->seed));
}

/* Both directions take the same. Stops early where it may. */
static int noisy(void *arg, const struct bs_tune *t, const struct bs_tune *rival,
		 struct bs_tune_match *m, struct bs_fail *why)
{
	struct device *d = (struct device *)arg;

	(void)why;
	for (int i = 0; i < 2; i++) {
		const int direction = i == 0 ? m->direction : 1 - m->direction;
		int n = 0;

		if (i == 1 && rival != NULL && bs_tune_lost(m)) {
			m->own.n[direction] = 0;
			break;
		}
		while (n < BS_TUNE_RUNS &&
		       (n == 0 || rival == NULL || !bs_tune_settled(m, direction, n))) {
			if (rival != NULL)
				m->against.ms[direction][n] = run(d, rival);
			m->own.ms[direction][n++] = run(d, t);
		}
		m->own.n[direction] = n;
		if (rival != NULL)
			m->against.n[direction] = n;
		pairs += n;
	}
	return 0;
}

/* What says that pairs settle a match says it as all pairs do. */
static void settles(void)
{
	uint64_t seed = 7;
	uint32_t wrong = 0;
	uint32_t spared = 0;

	for (int trial = 0; trial < 20000; trial++) {
		struct bs_tune_match m = { .direction = trial % 2 };
		const double gain = 0.94 + 0.1 * check_uniform(&seed);
		int faster[2] = { 0, 0 }; /* in all pairs */
		bool wins[2];

		for (int d = 0; d < 2; d++)
			for (int i = 0; i < BS_TUNE_RUNS; i++) {
				m.own.ms[d][i] = gain * (0.95 + 0.1 * check_uniform(&seed));
				m.against.ms[d][i] = 1.0;
				faster[d] += m.own.ms[d][i] < (d == m.direction ? 0.99 : 1.03);
			}
		for (int i = 0; i < 2; i++) {
			const int d = i == 0 ? m.direction : 1 - m.direction;
			int n = 1;

			if (i == 1 && bs_tune_lost(&m)) {
				wins[1] = false;
				faster[d] -= 6;
				spared += BS_TUNE_RUNS;
				break;
			}
			while (n < BS_TUNE_RUNS && !bs_tune_settled(&m, d, n))
				n++;
			m.own.n[d] = m.against.n[d] = n;
			spared += (uint32_t)(BS_TUNE_RUNS - n);
			faster[d] -= d == m.direction ? 16 : 6;
			wins[i] = false;
			for (int k = 0, f = 0; k < n; k++) {
				f += m.own.ms[d][k] < (d == m.direction ? 0.99 : 1.03);
				wins[i] = wins[i] || f >= (d == m.direction ? 16 : 6);
			}
		}
		wrong += (wins[0] && wins[1]) != (faster[0] >= 0 && faster[1] >= 0);
	}
	CHECK(wrong == 0 && spared > 20000u * BS_TUNE_RUNS,
	      "matches that end early: %u of 20000 end otherwise, %.1f of 42 pairs spared", wrong,
	      spared / 20000.0);
}

static void noise(void)
{
	struct bs_tuning *t = malloc(sizeof(*t));
	struct bs_fail why;
	int right = 0;
	int n = 0;

	for (; n < 200; n++) {
		struct device d = { (uint64_t)n + 1, 0, 1.0 };
		const struct bs_tune *best = &t->trial[0].tune;

		if (bs_tune_search(t, &kind, stages, 3, 2, 60.0, noisy, &d, &why) == 0)
			best = &t->trial[t->best].tune;
		right += best->v[0] == 6 && best->v[1] == 256;
	}
	CHECK(right == n,
	      "times that scatter by 5 %% on a clock that drifts by 15 %%: the best wins %d of %d, "
	      "in %.0f pairs each",
	      right, n, (double)pairs / n);
	free(t);
}

/* No room for two plans: in a stage of either direction a choice that runs alone, twice as fast,
 * wins over one that won and one that lost in matches that ended early. */
static int lone_from; /* the trial from which on there is no room */
static int trial_no;

static int crowded(void *arg, const struct bs_tune *t, const struct bs_tune *rival,
		   struct bs_tune_match *m, struct bs_fail *why)
{
	static const double by_taps[] = { 1, 1, 1, 1, 2.0, 0.9, 0.8, 0.4 };
	const double ms = by_taps[t->v[0] != 0 ? t->v[0] : 1] * (t->v[2] == 8 ? 0.5 : 1.0);
	const bool beside = rival != NULL && trial_no < lone_from;
	const double theirs = rival == NULL ? 0.0
					    : by_taps[rival->v[0] != 0 ? rival->v[0] : 1] *
						      (rival->v[2] == 8 ? 0.5 : 1.0);

	(void)arg;
	(void)why;
	trial_no++;
	m->own.n[0] = m->own.n[1] = 0;
	for (int i = 0; i < 2; i++) {
		const int d = i == 0 ? m->direction : 1 - m->direction;
		int n = 0;

		if (i == 1 && rival != NULL && bs_tune_lost(m))
			break;
		m->own.n[d] = rival != NULL ? BS_TUNE_RUNS : bs_tune_alone(d);
		while (n < m->own.n[d] && !(beside && n > 0 && bs_tune_settled(m, d, n))) {
			if (beside)
				m->against.ms[d][n] = theirs;
			m->own.ms[d][n++] = ms;
		}
		m->own.n[d] = n;
		if (beside)
			m->against.n[d] = n;
	}
	return 0;
}

static void alone(void)
{
	struct bs_tuning *t = malloc(sizeof(*t));
	struct bs_fail why;
	char words[BS_TUNE_TEXT];

	for (int from = 1; from <= 6; from++) {
		lone_from = from; /* at 4: taps 4 has lost and 5, 6 have won, 7 runs alone */
		trial_no = 0;
		const int rc = bs_tune_search(t, &kind, stages, 3, 1, 60.0, crowded, NULL, &why);
		const struct bs_tune *best = &t->trial[t->best].tune;

		CHECK(rc == 0 && best->v[0] == 7 && best->v[2] == 8,
		      "no room for two from trial %d on: %s", from,
		      bs_tune_text(words, &kind, best));
	}
	free(t);
}

static void spoil(const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	if (f == NULL || fwrite(text, 1, n, f) != n || fclose(f) != 0)
		CHECK(false, "%s written", path);
}

/* Valid checksums around nonsense: the ranges must hold by themselves. */
static void refuse(const char *body, const char *what)
{
	struct bs_tuning *t = malloc(sizeof(*t));
	char text[1024];
	const char *fault;
	int n = snprintf(text, sizeof(text), "boreside tuning 1\nkey %s\n%s", key, body);

	n += snprintf(text + n, sizeof(text) - (size_t)n, "sum %016llx\n",
		      (unsigned long long)bs_hash_bytes(BS_HASH_START, text, (size_t)n));
	fault = bs_tune_parse(t, &kind, key, text, (size_t)n);
	CHECK((fault == NULL) == (what == NULL), "%s: %s", what != NULL ? what : "a whole one",
	      fault != NULL ? fault : "taken");
	free(t);
}

static void files(const struct bs_tuning *found)
{
	struct bs_tuning *t = malloc(sizeof(*t));
	char text[4096];
	char copy[4096];
	size_t n;
	FILE *f;
	bool same = true;
	int refused = 0;
	uint32_t timed = 0;

	CHECK(!bs_tune_load(t, &kind, key, folder), "nothing there at first");
	bs_tune_save(found, key, folder);
	CHECK(bs_tune_load(t, &kind, key, folder) && t->from_disk, "what was kept comes back");
	same = memcmp(&t->trial[t->best].tune, &found->trial[found->best].tune,
		      sizeof(struct bs_tune)) == 0 &&
	       fabs(t->trial[t->best].ms[0] - found->trial[found->best].ms[0]) < 1e-5;
	for (uint32_t i = 0; i < found->trials; i++)
		timed += found->trial[i].fault[0] == '\0';
	CHECK(same && t->trials == timed, "the same choice, all times but the fault's");
	CHECK(!bs_tune_load(t, &kind, "another key", folder), "another device has none");
	CHECK(!bs_tune_load(t, &kind, key, ""), "no folder, no cache");

	f = popen("ls /tmp/boreside-tune-*/tune-*.txt", "r");
	(void)snprintf(path, sizeof(path), "%s", "");
	while (f != NULL && fgets(text, sizeof(text), f) != NULL)
		if (strncmp(text, folder, strlen(folder)) == 0)
			(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(text, "\n"), text);
	if (f != NULL)
		(void)pclose(f);
	f = fopen(path, "r");
	n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f != NULL)
		(void)fclose(f);
	text[n] = '\0';
	CHECK(n > 100, "%s: %zu bytes", path, n);
	for (size_t i = 0; i < n; i++) { /* every byte matters */
		memcpy(copy, text, n + 1);
		copy[i] ^= 4;
		refused += bs_tune_parse(t, &kind, key, copy, n) != NULL;
	}
	CHECK(refused == (int)n, "%d of %zu single changes refused", refused, n);
	refused = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(copy, text, i);
		copy[i] = '\0';
		refused += bs_tune_parse(t, &kind, key, copy, i) != NULL;
	}
	CHECK(refused == (int)n, "cut short anywhere: refused");
	text[n / 2] ^= 4;
	spoil(text, n);
	CHECK(!bs_tune_load(t, &kind, key, folder), "a damaged file: refused");
	text[n / 2] ^= 4;
	spoil(text, n);
	CHECK(bs_tune_load(t, &kind, key, folder), "whole again: taken");
	free(t);
}

int main(void)
{
	struct bs_tuning *t = malloc(sizeof(*t));
	char command[100];

	if (mkdtemp(folder) == NULL)
		return 1;
	search(t);
	noise();
	settles();
	alone();
	files(t);
	refuse("best 0\ntrial 1.0 2.0 taps 5 run 64\n", NULL);
	refuse("best 0\ntrial 1.0 2.0 default\n", NULL);
	refuse("best 1\ntrial 1.0 2.0 default\n", "a best that is not there");
	refuse("best 0\n", "no trial");
	refuse("best 0\ntrial 1.0 2.0 taps 9\n", "a value above its range");
	refuse("best 0\ntrial 1.0 2.0 taps 3\n", "a value below its range");
	refuse("best 0\ntrial 1.0 2.0 taps -5\n", "a sign");
	refuse("best 0\ntrial 1.0 2.0 taps 4294967301\n", "a value past 32 bits");
	refuse("best 0\ntrial 1.0 2.0 taps 5 taps 6\n", "a field twice");
	refuse("best 0\ntrial 1.0 2.0 tips 5\n", "a field that is none");
	refuse("best 0\ntrial 1.0 2.0 taps\n", "a field without a value");
	refuse("best 0\ntrial nan 2.0 default\n", "a time that is no number");
	refuse("best 0\ntrial -1 2.0 default\n", "a negative time");
	refuse("best 0\ntrial 1.0 0.0 default\n", NULL);
	refuse("best 0\ntrial 0.0 1.0 default\n", "no time of the best's first direction");
	refuse("best 0\ntrial 1.0 2.0 default\ntrial 0.0 1.0 taps 5\n", NULL);
	refuse("best 0\ntrial 1.0 2.0 default\ntrial 0.0 0.0 taps 5\n", "no time at all");
	refuse("best 0\ntrial 1.0 default\n", "one time only");
	refuse("best x\ntrial 1.0 2.0 default\n", "a best that is no number");
	refuse("", "nothing");
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK(system(command) == 0, "cleared; %d measurements in all", calls);
	free(t);
	return check_done();
}
