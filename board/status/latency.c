/* board/status/latency.c - rows of histograms and stages; boreside status --latency */
#include "board/status/rows.h"

#define QUANTILE .type = BS_TYPE_QUANTILE, .unit = BS_US
const struct bs_row bs_quantiles[] = {
	{ "p50_us", "The median; at most 1.6 % high, as the next two.", QUANTILE, .q = 0.5 },
	{ "p99_us", "The 99th percentile.", QUANTILE, .q = 0.99 },
	{ "p999_us", "The 99.9th percentile.", QUANTILE, .q = 0.999 },
	{ "max_us", "The maximum, exact.", QUANTILE, .q = 1.0 },
	{ 0 }
};

/* The times of one stage of a protocol. */
struct timed {
	const struct bs_hist *h;
	uint64_t n;
	double mean_us;
	bool part; /* the stage is part of an image; the whole image's line follows those */
};

static bool open_stage(struct bs_item *x)
{
	const enum bs_stage stage = (enum bs_stage)x->at[1];
	const struct bs_hist *h = bs_shm_hist(x->m, x->at[0], stage);
	const uint64_t n = atomic_load(&h->count);

	*FILL(timed, x) = (struct timed){
		.h = h,
		.n = n,
		.mean_us = n != 0 ? (double)atomic_load(&h->sum_ns) / (double)n * 1e-3 : 0.0,
		.part = n != 0 && stage != BS_STAGE_IMAGE,
	};
	if (stage == BS_STAGE_ANSWER)
		return x->m->s->site.answers > 0;
	return stage != BS_STAGE_STEP || x->m->s->site.steps > 0;
}

/* Opens one measured stage out of all protocols and stages. */
static bool open_latency(struct bs_item *x)
{
	const uint32_t n = x->at[0];

	x->at[0] = n / BS_STAGES;
	x->at[1] = n % BS_STAGES;
	x->depth = 2;
	return x->at[0] < x->m->s->site.protocols && open_stage(x) && FILL(timed, x)->n != 0;
}

static const struct bs_row latency_rows[] = {
	{ "protocol", "Its name.", EACH(site.protocol, name), .label = "protocol" },
	{ "stage", "The stage.", PLACE(bs_stage_name), .label = "stage" },
	{ "n", "Readouts or images that were measured.", VIEW(timed, n) },
	{ NULL,
	  "How long each stage of an image took, and (stage image) the whole: from its last "
	  "readout to its handing on.",
	  VIEW(timed, h), .rows = bs_quantiles, .metric = BS_TIMES, .as = "stage_seconds" },
	{ 0 }
};

const struct bs_row bs_status_latency[] = {
	{ "latency", "Of stages that were measured.", .most = BS_PROTOCOLS_MAX * BS_STAGES,
	  .view = open_latency, .rows = latency_rows,
	  .heading = "protocol             stage            N        p50        p99      p99.9"
		     "        max  us\n",
	  .line = "{protocol:-20} {stage:-8} {n:9} {p50_us:10.1} {p99_us:10.1} {p999_us:10.1} "
		  "{max_us:10.1}\n",
	  .pass = 14 },
	{ 0 }
};

static const struct bs_row stage_rows[] = {
	{ "stage", "The stage.", PLACE(bs_stage_name) },
	{ "n", "Readouts or images that were measured.", VIEW(timed, n) },
	{ "mean_us", "Their mean.", VIEW(timed, mean_us), .unit = BS_US },
	{ .rows = bs_quantiles, VIEW(timed, h) },
	{ "part", NULL, VIEW(timed, part) },
	{ 0 }
};
#define STAGE_LINE                                                                                 \
	"{protocol:-20} {stage:-8} {n:9} {p50_us:11.1} {p99_us:11.1} {p999_us:11.1} {max_us:11.1}"

/* Opens the whole image's line, a protocol's last: other stages are parts of the whole. */
static bool open_whole(struct bs_item *x)
{
	x->at[1] = BS_STAGE_IMAGE;
	return open_stage(x);
}

static const struct bs_row protocol_rows[] = {
	{ "protocol", "Its name.", EACH(site.protocol, name) },
	{ "budget_us", "An image's declared latency; 0: none.", EACH(site.protocol, image_ms),
	  .unit = BS_US_OF_MS },
	{ "misses", "Images over the budget.", EACH(misses, raw) },
	{ "misses_explained", "Of these, those that a stall of the machine explains.",
	  EACH(misses, explained) },
	{ "stages", "Its stages, and whole images.", .most = BS_STAGES, .view = open_stage,
	  .rows = stage_rows, .line = "[part?" STAGE_LINE "\n]" },
	{ .most = 1,
	  .view = open_whole,
	  .rows = stage_rows,
	  .line = STAGE_LINE "[ms? {misses:8} {misses_explained:9}   of a budget of {ms} ms\n]"
			     "[!ms?        -         -   no budget\n]" },
	{ "ms", NULL, EACH(site.protocol, image_ms), .unit = BS_MS_GIVEN },
	{ 0 }
};

static const struct bs_row top_rows[] = {
	{ "protocols", "The site's protocols.", .most = BS_PROTOCOLS_MAX, NUMBER(site.protocols),
	  .rows = protocol_rows },
	{ "canary", "The machine's stalls.", .rows = bs_canary_rows },
	{ 0 }
};
const struct bs_row bs_latency_top = {
	.rows = top_rows,
	.line = "protocol             stage            N         p50         p99       p99.9"
		"         max   misses explained   us\n",
};
