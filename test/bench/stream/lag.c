/* test/bench/stream/lag.c - see lag.h */
#define _GNU_SOURCE
#include "test/bench/stream/lag.h"

#include <limits.h>

#include "ipc/seal/keys.h"

#define PAIRS 64u /* most turns that are compared one by one */

static const char *const modes[2] = { "signed", "unsigned" };

unsigned lag_setting(const char *name, unsigned standard)
{
	const char *text = getenv(name);
	const unsigned long n = text != NULL ? strtoul(text, NULL, 10) : 0;

	return n > 0 && n < 10000000 ? (unsigned)n : standard;
}

bool lag_put_log(char *out, size_t cap, const char *dir, int side)
{
	char path[PATH_MAX + 16];
	struct bs_ik_pair pair;

	(void)snprintf(out, cap,
		       "log: { dir = \"%s/%d\"; mode = \"durable\"; buffer_mib = 512; "
		       "keep_mib = 1; };\n",
		       dir, side);
	(void)snprintf(path, sizeof(path), "%s/sign.key", dir);
	if (side != 0)
		return true;
	(void)snprintf(out + strlen(out), cap - strlen(out), "keys: { sign = \"%s\"; };\n", path);
	return bs_seal_key_make(&pair, path, NULL) == 0;
}

struct stream lag_stream(void)
{
	const char *method = getenv("METHOD");

	return (struct stream){ .protocol = "stream",
				.backend = "host",
				.method = method != NULL ? method : "gridding",
				.matrix = 128,
				.coils = lag_setting("COILS", 4),
				.samples = lag_setting("SAMPLES", 128),
				.readouts = BS_STREAM_READOUTS,
				.rate = lag_setting("RATE", 25) };
}

/* What the status says of commits and of the lag: two objects, one after the other. */
static void print_own(const struct service *s)
{
	static char doc[200000];
	const char *from;
	const char *to;

	if (!service_ask(s, "json", doc, sizeof(doc)))
		return;
	from = strstr(doc, "\"commit\":{");
	to = from != NULL ? strstr(from, "\"lag\":{") : NULL;
	if (to != NULL)
		printf("  the service's own: %.*s}\n", (int)(to - from + (long)strcspn(to, "}")),
		       from);
}

/* A block's p99: of the values behind `from`, which it sorts. */
static double block_p99(const struct times *t, size_t from)
{
	const struct times block = { .us = t->us + from, .n = t->n - from };

	qsort(block.us, block.n, sizeof(double), ascending);
	return at(&block, 0.99);
}

/* Signed over unsigned, of the two blocks of each turn: what loads the machine loads both. */
static void print_pairs(double p99[2][PAIRS], unsigned pairs)
{
	double ratio[PAIRS];
	unsigned more = 0;

	for (unsigned i = 0; i < pairs; i++) {
		ratio[i] = p99[0][i] / p99[1][i];
		more += ratio[i] > 1.0;
	}
	qsort(ratio, pairs, sizeof(double), ascending);
	printf("  p99 of a block over that of its turn's other: median %.3f of %u turns [%.3f, "
	       "%.3f], above 1 in %u\n",
	       ratio[pairs / 2], pairs, ratio[0], ratio[pairs - 1], more);
}

bool lag_play(struct bs_bench *b, struct side *side, unsigned sides, unsigned turns, unsigned n)
{
	static struct books books[2];
	static double p99[2][PAIRS];
	const struct stream t = lag_stream();
	bool good = true;

	if (sides == 1)
		turns = 1;
	for (unsigned i = 0; i < sides; i++)
		room(&books[i].lag_us, (size_t)turns * ((size_t)n * BS_STREAM_READOUTS + 2));
	for (unsigned i = 0; good && i < turns * sides; i++) {
		const unsigned who = (i + i / sides) % sides; /* who is first changes */
		const size_t from = books[who].lag_us.n;

		books[who].held = books[who].durable = 0;
		good = stream_play(&side[who], &t, n, false, &books[who]) &&
		       books[who].lag_us.n > from;
		if (good && i / sides < PAIRS)
			p99[who][i / sides] = block_p99(&books[who].lag_us, from);
	}
	printf("durable behind held, %s/host, %u frames/s of %u readouts of %u x %u samples, %u "
	       "blocks of %u frames; the aim is 5000 us at p99\n",
	       t.method, t.rate, BS_STREAM_READOUTS, t.coils, t.samples, turns, n);
	for (unsigned i = 0; good && i < sides; i++) {
		qsort(books[i].lag_us.us, books[i].lag_us.n, sizeof(double), ascending);
		lag_print_times(sides == 1 ? "lag" : modes[i], &books[i].lag_us);
		printf("  at most %llu unprotected\n", (unsigned long long)side[i].unprotected);
		print_own(&side[i].service);
		lag_print_json(b, sides == 1 ? "durable lag" : modes[i], &books[i].lag_us, 0.0);
	}
	if (good && sides == 2) {
		lag_print_ratio(modes, "lag", &books[0].lag_us, &books[1].lag_us, 0.5);
		printf("p99; the aim is 1.05 pooled\n");
		lag_print_ratio(modes, "lag", &books[0].lag_us, &books[1].lag_us, 0.99);
		print_pairs(p99, turns < PAIRS ? turns : PAIRS);
	}
	for (unsigned i = 0; i < sides; i++)
		free(books[i].lag_us.us);
	return good;
}

void lag_print_times(const char *what, const struct times *t)
{
	double low;
	double high;

	interval(t, 0.999, 0.05, &low, &high);
	printf("  %-9s N %6zu  p50 %7.0f  p99 %7.0f  p99.9 %7.0f [%.0f, %.0f]  max %7.0f us\n",
	       what, t->n, at(t, 0.5), at(t, 0.99), at(t, 0.999), low, high, t->us[t->n - 1]);
}

void lag_print_ratio(const char *const mode[2], const char *what, const struct times *durable,
		     const struct times *off, double q)
{
	double low[2];
	double high[2];

	interval(durable, q, 0.025, &low[0], &high[0]);
	interval(off, q, 0.025, &low[1], &high[1]);
	printf("  %-9s %s over %s %.3f [%.3f, %.3f]\n", what, mode[0], mode[1],
	       at(durable, q) / at(off, q), low[0] / high[1], high[0] / low[1]);
}

void lag_print_json(struct bs_bench *b, const char *name, const struct times *t, double reference)
{
	char detail[200];
	double low;
	double high;

	interval(t, 0.999, 0.05, &low, &high);
	(void)snprintf(detail, sizeof(detail),
		       "p99 %.1f us, p99.9 %.1f us, of that 95 %% in %.1f to %.1f, max %.1f us",
		       at(t, 0.99), at(t, 0.999), low, high, t->us[t->n - 1]);
	bs_bench_json(b, &(struct bs_bench_row){ .name = name,
						 .median_ms = at(t, 0.5) * 1e-3,
						 .min_ms = t->us[0] * 1e-3,
						 .n = (int)t->n,
						 .reference_ms = reference * 1e-3,
						 .detail = detail });
}
