/*
 * board/status/prom.h - writes Prometheus' text format, version 0.0.4, into a text
 *
 * family (what a name means), then its values, each with its labels, then the next family. The
 * value of a label may be any bytes: quotes, backslashes and line feeds are escaped, what is not
 * ASCII becomes '?'. Allocates nothing. Test: test/unit/board/test_metrics.c
 * Source: Prometheus, "Exposition formats", text-based format.
 */
#ifndef BS_BOARD_STATUS_PROM_H
#define BS_BOARD_STATUS_PROM_H

#include "core/latency/hist.h"
#include "core/text.h"

/* max: most bytes of a value that may lack its terminator; 0: the value has one. */
struct bs_label {
	const char *name, *value;
	size_t max;
};
/* Makes an array of labels: BS_LABELS({ "protocol", p->name }, { "stage", stage }). */
#define BS_LABELS(...)                                                                             \
	(const struct bs_label[])                                                                  \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* Begins a metric. type: "counter" (its name ends in _total), "gauge",
 * "histogram". help: one line. */
void bs_prom_family(struct bs_text *t, const char *name, const char *type, const char *help);
/* labels: the last one has no name; NULL: no labels. */
void bs_prom_count(struct bs_text *t, const char *name, const struct bs_label *labels, uint64_t v);
void bs_prom_real(struct bs_text *t, const char *name, const struct bs_label *labels, double v);
/* Puts a metric that has one value and no labels. */
void bs_prom_one(struct bs_text *t, const char *name, const char *type, const char *help, double v);
/* Puts times in seconds, in buckets of 1, 2, 5, 10, ... from 10 us to 20 s. */
void bs_prom_times(struct bs_text *t, const char *name, const struct bs_label *labels,
		   const struct bs_hist *h);

#endif
