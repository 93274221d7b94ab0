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

/* max: bytes of a value that may not be terminated; 0: it is. */
struct bs_label {
	const char *name, *value;
	size_t max;
};
/* BS_LABELS({ "protocol", p->name }, { "stage", stage }) */
#define BS_LABELS(...)                                                                             \
	(const struct bs_label[])                                                                  \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* type: "counter" (its name ends with _total), "gauge", "histogram". help: one plain line. */
void bs_prom_family(struct bs_text *t, const char *name, const char *type, const char *help);
/* labels: ended by one without a name; NULL: none. */
void bs_prom_count(struct bs_text *t, const char *name, const struct bs_label *labels, uint64_t v);
void bs_prom_real(struct bs_text *t, const char *name, const struct bs_label *labels, double v);
/* A family's only value. */
void bs_prom_one(struct bs_text *t, const char *name, const char *type, const char *help, double v);
/* Seconds, in buckets 1, 2, 5, 10, ... from 10 us to 20 s. */
void bs_prom_times(struct bs_text *t, const char *name, const struct bs_label *labels,
		   const struct bs_hist *h);

#endif
