/* board/status/prom.c - see prom.h */
#include "board/status/prom.h"

#include <inttypes.h>
#include <stdint.h>

void bs_prom_family(struct bs_text *t, const char *name, const char *type, const char *help)
{
	bs_text_put(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_label(struct bs_text *t, const char *before, const struct bs_label *l)
{
	const size_t max = l->max != 0 ? l->max : SIZE_MAX;

	bs_text_put(t, "%s%s=\"", before, l->name);
	for (size_t i = 0; i < max && l->value[i] != '\0'; i++) {
		const unsigned char c = (unsigned char)l->value[i];

		if (c == '"' || c == '\\')
			bs_text_put(t, "\\%c", c);
		else if (c == '\n')
			bs_text_put(t, "\\n");
		else
			bs_text_put(t, "%c", c < 0x20 || c >= 0x7f ? '?' : c);
	}
	bs_text_put(t, "\"");
}

/* Puts a metric's name and labels. le: label of a histogram's bucket; NULL: none. */
static void put_name(struct bs_text *t, const char *name, const char *suffix,
		     const struct bs_label *labels, const char *le)
{
	const char *before = "{";

	bs_text_put(t, "%s%s", name, suffix);
	for (; labels != NULL && labels->name != NULL; labels++, before = ",")
		put_label(t, before, labels);
	if (le != NULL) {
		bs_text_put(t, "%sle=\"%s\"", before, le);
		before = ",";
	}
	bs_text_put(t, "%s", *before == ',' ? "} " : " ");
}

void bs_prom_count(struct bs_text *t, const char *name, const struct bs_label *labels, uint64_t v)
{
	put_name(t, name, "", labels, NULL);
	bs_text_put(t, "%" PRIu64 "\n", v);
}

void bs_prom_real(struct bs_text *t, const char *name, const struct bs_label *labels, double v)
{
	put_name(t, name, "", labels, NULL);
	bs_text_put(t, "%.9g\n", v);
}

void bs_prom_one(struct bs_text *t, const char *name, const char *type, const char *help, double v)
{
	bs_prom_family(t, name, type, help);
	bs_prom_real(t, name, NULL, v);
}

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

void bs_prom_times(struct bs_text *t, const char *name, const struct bs_label *labels,
		   const struct bs_hist *h)
{
	static const struct {
		uint64_t ns;
		const char *le;
	} bounds[] = { { 10 * US, "1e-05" },   { 20 * US, "2e-05" },   { 50 * US, "5e-05" },
		       { 100 * US, "0.0001" }, { 200 * US, "0.0002" }, { 500 * US, "0.0005" },
		       { 1 * MS, "0.001" },    { 2 * MS, "0.002" },    { 5 * MS, "0.005" },
		       { 10 * MS, "0.01" },    { 20 * MS, "0.02" },    { 50 * MS, "0.05" },
		       { 100 * MS, "0.1" },    { 200 * MS, "0.2" },    { 500 * MS, "0.5" },
		       { 1 * S, "1.0" },       { 2 * S, "2.0" },       { 5 * S, "5.0" },
		       { 10 * S, "10.0" },     { 20 * S, "20.0" } };
	enum { N = sizeof(bounds) / sizeof(bounds[0]) };
	uint64_t bound[N];
	uint64_t count[N];
	uint64_t all;

	for (int i = 0; i < N; i++)
		bound[i] = bounds[i].ns;
	all = bs_hist_below(h, bound, count, N);
	for (int i = 0; i < N; i++) {
		put_name(t, name, "_bucket", labels, bounds[i].le);
		bs_text_put(t, "%" PRIu64 "\n", count[i]);
	}
	put_name(t, name, "_bucket", labels, "+Inf");
	bs_text_put(t, "%" PRIu64 "\n", all);
	put_name(t, name, "_sum", labels, NULL);
	bs_text_put(t, "%.9g\n", (double)atomic_load(&h->sum_ns) * 1e-9);
	put_name(t, name, "_count", labels, NULL);
	bs_text_put(t, "%" PRIu64 "\n", all);
}
