/* gpu/device/tune.c - see tune.h */
#include "gpu/device/tune.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/thread/clock.h"
#include "core/log.h"
#include "core/whole.h"

#define PATH     1024u
#define FILE_MAX 65536u
#define HEAD     "boreside tuning 1"
#define GAIN     0.99
#define LOSS     1.03 /* most share of the rival's time, in the direction that does not decide */
#define SURE     16   /* pairs of BS_TUNE_RUNS that must be won in the direction that decides */
/* share of the rival's time: a choice that is slower in the first FAR_OFF pairs has lost */
#define FAR     1.2
#define FAR_OFF 3
#define MS_MAX  1e7

/* ---- search ---- */

struct search {
	struct bs_tuning *t;
	bs_tune_measure measure;
	void *arg;
	int64_t until_ns;
	struct bs_tune_match match;
	struct bs_tune_runs best; /* runs of the best trial, as many as a whole match has */
};

/*
 * Counts those of the first `pairs` pairs in which the choice takes less than `share` of the
 * rival's time.
 */
static int won(const struct bs_tune_match *m, int direction, int pairs, double share)
{
	int n = 0;

	for (int i = 0; i < pairs; i++)
		n += m->own.ms[direction][i] < share * m->against.ms[direction][i];
	return n;
}

/* Pairs that must be won: SURE in the direction that decides, BS_TUNE_FEW in the other. */
static int wanted(const struct bs_tune_match *m, int direction)
{
	return direction == m->direction ? SURE : BS_TUNE_FEW;
}

static int won_so_far(const struct bs_tune_match *m, int direction, int pairs)
{
	return won(m, direction, pairs, direction == m->direction ? GAIN : LOSS);
}

static int compared(const struct bs_tune_match *m, int direction)
{
	return m->own.n[direction] < m->against.n[direction] ? m->own.n[direction]
							     : m->against.n[direction];
}

static bool wins(const struct bs_tune_match *m, int direction)
{
	return won_so_far(m, direction, compared(m, direction)) >= wanted(m, direction);
}

bool bs_tune_settled(const struct bs_tune_match *m, int direction, int pairs)
{
	const int n = won_so_far(m, direction, pairs);

	return n >= wanted(m, direction) || n + BS_TUNE_RUNS - pairs < wanted(m, direction) ||
	       (pairs == FAR_OFF && won(m, direction, pairs, FAR) == 0);
}

bool bs_tune_turns_settled(void *arg, int pairs)
{
	const struct bs_tune_turns *t = arg;

	return bs_tune_settled(t->match, t->direction, pairs);
}

bool bs_tune_lost(const struct bs_tune_match *m)
{
	return !wins(m, m->direction);
}

bool bs_tune_won(const struct bs_tune_match *m)
{
	return wins(m, 0) && wins(m, 1);
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bs_tune_median(const struct bs_tune_runs *runs, int direction)
{
	double v[BS_TUNE_RUNS];

	if (runs->n[direction] == 0)
		return 0.0;
	memcpy(v, runs->ms[direction], sizeof(v));
	qsort(v, (size_t)runs->n[direction], sizeof(*v), ascending);
	return v[runs->n[direction] / 2];
}

/* Measures a choice and adds its trial. A negative result means that the trial has a fault. */
static int try_one(struct search *s, const struct bs_tune *tune, int direction, struct bs_fail *why)
{
	struct bs_tuning *t = s->t;
	struct bs_tune_trial *at = &t->trial[t->trials];
	int rc;

	memset(at, 0, sizeof(*at));
	at->tune = *tune;
	why->text[0] = '\0';
	s->match.direction = direction;
	s->match.against = s->best;
	rc = s->measure(s->arg, tune, t->trials > 0 ? &t->trial[t->best].tune : NULL, &s->match,
			why);
	if (rc > 0)
		return rc;
	t->trials++;
	for (int d = 0; rc == 0 && d < 2; d++)
		at->ms[d] = bs_tune_median(&s->match.own, d);
	if (rc == 0)
		return 0;
	(void)snprintf(at->fault, sizeof(at->fault), "%.79s", why->text);
	for (char *c = at->fault; *c != '\0'; c++)
		if (*c == '\n')
			*c = ' ';
	return rc;
}

static bool tried(const struct bs_tuning *t, const struct bs_tune *tune)
{
	for (uint32_t i = 0; i < t->trials; i++)
		if (memcmp(&t->trial[i].tune, tune, sizeof(*tune)) == 0)
			return true;
	return false;
}

/*
 * Makes the last trial the best one. Where its match ended early its runs are repeated, so that a
 * later choice that must run alone is compared with as many runs.
 */
static void take_best(struct search *s)
{
	struct bs_tune_runs *r = &s->best;

	s->t->best = s->t->trials - 1;
	*r = s->match.own;
	for (int d = 0; d < 2; d++) {
		const int n = r->n[d];

		for (int i = n; n > 0 && i < BS_TUNE_RUNS; i++)
			r->ms[d][i] = r->ms[d][i - n];
		r->n[d] = n > 0 ? BS_TUNE_RUNS : 0;
	}
}

static void run_stage(struct search *s, const struct bs_tune_stage *stage)
{
	struct bs_tuning *t = s->t;
	const struct bs_tune from = t->trial[t->best].tune;

	for (uint32_t i = 0; i < BS_TUNE_VALUES && stage->value[i] != 0; i++) {
		struct bs_tune tune = from;
		struct bs_fail why;

		if (t->trials == BS_TUNE_TRIALS || bs_now_ns() >= s->until_ns) {
			t->cut = true;
			return;
		}
		tune.v[stage->field] = stage->value[i];
		if (tried(t, &tune))
			continue;
		if (try_one(s, &tune, stage->direction, &why) == 0 && bs_tune_won(&s->match))
			take_best(s);
	}
}

int bs_tune_search(struct bs_tuning *t, const struct bs_tune_kind *kind,
		   const struct bs_tune_stage *stage, uint32_t stages, uint32_t rounds,
		   double seconds, bs_tune_measure measure, void *arg, struct bs_fail *why)
{
	struct search s = { .t = t,
			    .measure = measure,
			    .arg = arg,
			    .until_ns = bs_now_ns() + (int64_t)(seconds * 1e9) };
	struct bs_tune none;
	int rc;

	memset(t, 0, sizeof(*t));
	memset(&none, 0, sizeof(none));
	t->kind = kind;
	rc = try_one(&s, &none, 0, why);
	if (rc != 0)
		return rc;
	take_best(&s);
	for (uint32_t r = 0; r < rounds && !t->cut; r++) {
		const uint32_t before = t->best;

		for (uint32_t i = 0; i < stages && !t->cut; i++)
			run_stage(&s, &stage[i]);
		if (t->best == before)
			break;
	}
	return 0;
}

/* ---- text ---- */

char *bs_tune_text(char to[BS_TUNE_TEXT], const struct bs_tune_kind *kind,
		   const struct bs_tune *tune)
{
	size_t at = 0;

	to[0] = '\0';
	for (uint32_t i = 0; i < kind->fields; i++)
		if (tune->v[i] != 0 && at < BS_TUNE_TEXT)
			at += (size_t)snprintf(to + at, BS_TUNE_TEXT - at, "%s%s %" PRIu32,
					       at > 0 ? " " : "", kind->field[i].name, tune->v[i]);
	if (at == 0)
		(void)snprintf(to, BS_TUNE_TEXT, "default");
	return to;
}

/* Returns the next word of a line, or NULL. Cuts the line behind it. */
static char *word(char **at)
{
	char *w = *at;
	char *end;

	if (*w == '\0')
		return NULL;
	end = strchr(w, ' ');
	*at = end != NULL ? end + 1 : w + strlen(w);
	if (end != NULL)
		*end = '\0';
	return w;
}

static bool read_u32(const char *w, uint32_t least, uint32_t most, uint32_t *to)
{
	char *end = NULL;
	unsigned long v;

	if (w == NULL || *w < '0' || *w > '9')
		return false;
	errno = 0;
	v = strtoul(w, &end, 10);
	*to = (uint32_t)v;
	return errno == 0 && *end == '\0' && v >= least && v <= most;
}

static bool milliseconds(const char *w, double *to)
{
	char *end = NULL;

	if (w == NULL)
		return false;
	*to = strtod(w, &end);
	/* the comparison is false for NaN, too */
	return end != w && *end == '\0' && *to >= 0.0 && *to < MS_MAX;
}

static bool parse_tune(struct bs_tune *tune, const struct bs_tune_kind *kind, char *at)
{
	char *w;

	if (strcmp(at, "default") == 0)
		return true;
	while ((w = word(&at)) != NULL) {
		uint32_t i = 0;

		while (i < kind->fields && strcmp(w, kind->field[i].name) != 0)
			i++;
		if (i == kind->fields || tune->v[i] != 0 ||
		    !read_u32(word(&at), kind->field[i].least, kind->field[i].most, &tune->v[i]))
			return false;
	}
	return true;
}

/* Returns true for a trial that has times, not a fault. */
static bool is_timed(const struct bs_tune_trial *t)
{
	return t->ms[0] > 0.0 || t->ms[1] > 0.0;
}

/* Parses "MS MS choices". */
static bool parse_trial(struct bs_tune_trial *t, const struct bs_tune_kind *kind, char *at)
{
	return milliseconds(word(&at), &t->ms[0]) && milliseconds(word(&at), &t->ms[1]) &&
	       is_timed(t) && *at != '\0' && parse_tune(&t->tune, kind, at);
}

/* Returns the next line without its end, or NULL. */
static char *line(char **at)
{
	char *l = *at;
	char *end = strchr(l, '\n');

	if (end == NULL)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return l;
}

static const char *parse_lines(struct bs_tuning *t, const char *key, char *at)
{
	char *l = line(&at);
	uint32_t best = 0;

	if (l == NULL || strcmp(l, HEAD) != 0)
		return "has another version";
	l = line(&at);
	if (l == NULL || strncmp(l, "key ", 4) != 0 || strcmp(l + 4, key) != 0)
		return "is of another device or protocol";
	l = line(&at);
	if (l == NULL || strncmp(l, "best ", 5) != 0 || !read_u32(l + 5, 0, BS_TUNE_TRIALS, &best))
		return "does not say which is best";
	while ((l = line(&at)) != NULL) {
		if (t->trials == BS_TUNE_TRIALS || strncmp(l, "trial ", 6) != 0 ||
		    !parse_trial(&t->trial[t->trials], t->kind, l + 6))
			return "holds a choice that is none";
		t->trials++;
	}
	t->best = best;
	return best < t->trials && t->trial[best].ms[0] > 0.0 ? NULL
							      : "does not hold its best choice";
}

const char *bs_tune_parse(struct bs_tuning *t, const struct bs_tune_kind *kind, const char *key,
			  char *text, size_t size)
{
	char sum[32];
	char *last;

	memset(t, 0, sizeof(*t));
	t->kind = kind;
	t->from_disk = true;
	if (size < 22 || memchr(text, '\0', size) != NULL || text[size - 1] != '\n')
		return "is cut short";
	last = text + size - 21; /* length of "sum ", 16 digits and the line's end */
	(void)snprintf(sum, sizeof(sum), "sum %016" PRIx64 "\n",
		       bs_hash_bytes(BS_HASH_START, text, (size_t)(last - text)));
	if (memcmp(last, sum, 21) != 0)
		return "is damaged: its checksum does not match";
	*last = '\0';
	return parse_lines(t, key, text);
}

/* ---- files ---- */

static bool path_of(char path[PATH], const char *key, const char *cache_dir)
{
	return cache_dir[0] != '\0' &&
	       snprintf(path, PATH, "%s/tune-%016" PRIx64 ".txt", cache_dir,
			bs_hash_bytes(BS_HASH_START, key, strlen(key))) < (int)PATH;
}

bool bs_tune_load(struct bs_tuning *t, const struct bs_tune_kind *kind, const char *key,
		  const char *cache_dir)
{
	const char *fault = "cannot be read";
	char path[PATH];
	size_t n = 0;
	char *text;
	int fd;

	if (!path_of(path, key, cache_dir))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return false;
	text = malloc(FILE_MAX + 1);
	if (fd >= 0 && text != NULL) {
		n = bs_read_whole(fd, text, FILE_MAX, -1);
		fault = n < FILE_MAX && errno == 0 ? NULL : fault;
	}
	if (fault == NULL) {
		text[n] = '\0';
		fault = bs_tune_parse(t, kind, key, text, n);
	}
	if (fault != NULL)
		bs_log(BS_LOG_WARN, "%s %s: measured again", path, fault);
	if (fd >= 0)
		(void)close(fd);
	free(text);
	return fault == NULL;
}

static char *written(const struct bs_tuning *t, const char *key, size_t *size)
{
	char *text = NULL;
	uint32_t best = 0;
	FILE *f = open_memstream(&text, size);

	if (f == NULL)
		return NULL;
	for (uint32_t i = 0; i < t->best; i++) /* trials with a fault are not written */
		best += is_timed(&t->trial[i]);
	(void)fprintf(f, "%s\nkey %s\nbest %" PRIu32 "\n", HEAD, key, best);
	for (uint32_t i = 0; i < t->trials; i++) {
		char words[BS_TUNE_TEXT];

		if (is_timed(&t->trial[i]))
			(void)fprintf(f, "trial %.6f %.6f %s\n", t->trial[i].ms[0],
				      t->trial[i].ms[1],
				      bs_tune_text(words, t->kind, &t->trial[i].tune));
	}
	if (fflush(f) == 0)
		(void)fprintf(f, "sum %016" PRIx64 "\n", bs_hash_bytes(BS_HASH_START, text, *size));
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

void bs_tune_save(const struct bs_tuning *t, const char *key, const char *cache_dir)
{
	char path[PATH];
	char temp[PATH + 16];
	size_t size = 0;
	char *text;
	bool good;
	int fd;

	if (!path_of(path, key, cache_dir))
		return;
	text = written(t, key, &size);
	(void)snprintf(temp, sizeof(temp), "%s.part-XXXXXX", path);
	fd = text != NULL ? mkostemp(temp, O_CLOEXEC) : -1;
	if (fd >= 0) {
		good = write(fd, text, size) == (ssize_t)size && fchmod(fd, 0640) == 0 &&
		       fsync(fd) == 0;
		good = close(fd) == 0 && good && rename(temp, path) == 0;
		if (!good)
			(void)unlink(temp);
	} else {
		good = false;
	}
	if (!good)
		bs_log(BS_LOG_WARN, "%s cannot be kept: %s", path, strerror(errno));
	free(text);
}
