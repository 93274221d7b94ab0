/* gpu/engine/slicer.c - see slicer.h */
#include "gpu/engine/slicer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/multiband/apart.h"
#include "core/thread/clock.h"
#include "gpu/engine/filler.h"
#include "gpu/grappa/separate.h"
#include "gpu/image/cartesian.h"

/* References that differ from the lines by more than this part of them are not theirs. */
#define FITS 0.5
/* Weights that let a larger share of another slice through do not keep it out. */
#define LEAKS 0.15
/* A difference below this, relative to the lines or in cycles, is none. */
#define SAME 1e-3

/* What is known of a group and contrast. */
struct known {
	uint32_t came;       /* reference lines so far, of all scans */
	uint32_t met, run;   /* came, and lines in a row, of those that weights were made of */
	uint32_t compared;   /* lines of the frame that tells what follows */
	bool phased, untold; /* untold: the lines do not tell whether the references are phased */
	double left;
	uint64_t version; /* of the references that tell it; 0: none do */
};

struct bs_slicer {
	const struct bs_protocol *p;
	uint32_t columns, lines, bands, sets, told; /* told: the set whose lines tell of others */
	struct bs_slice *slice; /* weights; NULL: slices are solved for together */
	struct bs_cart *cart;   /* states: pairs of slice and contrast */
	uint8_t *have;          /* [pair][line]: 1: the reference has come */
	uint8_t *met;           /* [pair]: 1: a frame's weights were made in this scan, or tried */
	float *references;      /* [band][coil][line][x] complex, of the run in progress */
	/*
	 * lines [coil][line][x] complex: folded: of a frame, its first line first; out: of the
	 * frame's slice
	 */
	float *folded, *out;
	uint8_t *came;                /* [line of folded]: 1: it has come */
	uint8_t *inner;               /* [line]: 1: of a full center's inner ones */
	struct known *known;          /* [set]: group, contrast */
	bool in_plane;                /* lines came that calibrate in plane alone */
	struct bs_slicer_frame frame; /* the frame that was prepared last */
	double cycles[BS_BANDS_MAX];  /* phase of each band from a line to the next, of this scan */
	uint32_t count;               /* number of that frame's lines that have come */
	bool gaps; /* between that frame's lines, lines are missing that nothing fills */
};

/* Numbers of groups and contrasts. */
static uint32_t sets_of(const struct bs_protocol *p)
{
	return bs_multiband_groups(&p->multiband, p->slices) * p->contrasts;
}

/* Lines that are left out in plane are filled. */
static bool fills(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_FILL);
}

struct bs_slice_spec bs_slicer_spec(const struct bs_protocol *p, uint32_t columns)
{
	const struct bs_multiband *m = &p->multiband;

	return (struct bs_slice_spec){ .lines_y = p->encoded[1],
				       .columns = columns,
				       .coils = p->coils,
				       .bands = m->factor,
				       .groups = (fills(p) ? 2 : 1) * sets_of(p),
				       .kernel = { m->kernel[0], m->kernel[1] },
				       .reference_lines = p->encoded[1],
				       .lambda = m->lambda,
				       .split = m->split };
}

static struct bs_cart_spec cart_of(const struct bs_protocol *p, uint32_t columns)
{
	return (struct bs_cart_spec){ .encoded = { p->encoded[0], p->encoded[1], 1 },
				      .matrix = { columns, p->encoded[1], 1 },
				      .samples = p->samples,
				      .coils = p->coils,
				      .states = bs_protocol_pairs(p) };
}

static size_t plane_bytes(const struct bs_protocol *p, uint32_t columns)
{
	return (size_t)p->coils * p->encoded[1] * columns * 8;
}

/* Sets the sizes, and states what plan takes beside lines and weights, or takes it. */
static void lay_out(struct bs_slicer *s, const struct bs_protocol *p, uint32_t columns,
		    struct bs_room *r)
{
	const size_t plane = plane_bytes(p, columns);

	*s = (struct bs_slicer){ .p = p,
				 .columns = columns,
				 .lines = p->encoded[1],
				 .bands = p->multiband.factor,
				 .sets = sets_of(p) };
	bs_room_take(r, &s->known, "groups of slices", 1, s->sets * sizeof(*s->known));
	bs_room_take(r, &s->have, "references that have come", 1,
		     (uint64_t)bs_protocol_pairs(p) * (s->lines + 1));
	bs_room_take(r, &s->references, "references of a group", 1, s->bands * plane);
	bs_room_take(r, &s->folded, "lines of a frame", 1, plane);
	bs_room_take(r, &s->out, "lines of a slice", 1, plane);
	bs_room_take(r, &s->came, "lines that have come", 1, s->lines);
	bs_room_take(r, &s->inner, "lines that have come", 1, s->lines);
}

int bs_slicer_need(const struct bs_protocol *p, uint32_t columns, struct bs_need *need,
		   struct bs_fail *why)
{
	const struct bs_slice_spec spec = bs_slicer_spec(p, columns);
	const struct bs_cart_spec c = cart_of(p, columns);
	struct bs_room room = { .need = need };
	struct bs_slicer s;
	int rc = bs_cart_need(&c, need, why);

	if (rc == 0 && !p->plan.joint)
		rc = bs_slice_need(&spec, need, why);
	lay_out(&s, p, columns, &room);
	return rc;
}

int bs_slicer_plan(struct bs_slicer **slicer, const struct bs_protocol *p, uint32_t columns,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_slice_spec spec = bs_slicer_spec(p, columns);
	const struct bs_cart_spec c = cart_of(p, columns);
	struct bs_slicer *s = calloc(1, sizeof(*s));
	struct bs_room room = { .arena = arena };
	int rc;

	if (s == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	lay_out(s, p, columns, &room);
	rc = bs_cart_plan(&s->cart, &c, arena, team, why);
	if (rc == 0 && !p->plan.joint)
		rc = bs_slice_plan(&s->slice, &spec, arena, team, why);
	if (rc == 0 && room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': references", p->name);
	if (rc != 0) {
		bs_slicer_close(s);
		return rc;
	}
	memset(s->known, 0, s->sets * sizeof(*s->known));
	s->met = s->have + (size_t)bs_protocol_pairs(p) * s->lines;
	*slicer = s;
	return 0;
}

void bs_slicer_close(struct bs_slicer *s)
{
	if (s == NULL)
		return;
	bs_slice_close(s->slice);
	bs_cart_close(s->cart);
	free(s);
}

void bs_slicer_scan(struct bs_slicer *s)
{
	for (uint32_t i = 0; i < s->sets; i++)
		/* a new version, so that weights of the scan before count no more */
		s->known[i].came++;
	memset(s->have, 0, (size_t)bs_protocol_pairs(s->p) * (s->lines + 1));
	s->in_plane = false;
}

/* Returns the pair of slice and contrast that is a band of a set. */
static uint32_t pair_of(const struct bs_slicer *s, uint32_t set, uint32_t band)
{
	const uint32_t groups = bs_multiband_groups(&s->p->multiband, s->p->slices);

	return set + band * groups * s->p->contrasts;
}

bool bs_slicer_side(struct bs_slicer *s, uint32_t frame, const struct bs_mrd_acq *head,
		    uint32_t row, const float *data, size_t coil_stride)
{
	const uint32_t pair = frame / bs_protocol_lanes(s->p);
	const bool of_image = (head->flags & BS_MRD_IS_CALIBRATION_TOO) != 0;

	if (!of_image && s->p->multiband.references == BS_REFERENCES_FIRST) {
		s->in_plane = true;
		return true;
	}
	bs_cart_add(s->cart, pair, row, data, coil_stride);
	s->have[(size_t)pair * s->lines + row] = 1;
	s->known[pair % s->sets].came++;
	return !of_image || !s->in_plane;
}

static bool all_have(const struct bs_slicer *s, uint32_t y)
{
	for (uint32_t b = 0; b < s->bands; b++)
		if (!s->have[(size_t)pair_of(s, s->frame.set, b) * s->lines + y])
			return false;
	return true;
}

/* The longest run of lines on a grid that all slices of the frame's group have. */
static struct bs_pattern common(const struct bs_slicer *s, const struct bs_pattern *at)
{
	struct bs_pattern best = { 0, at->step, 0 };
	uint32_t run = 0;

	for (uint32_t i = 0; i < at->lines; i++) {
		run = all_have(s, at->first + i * at->step) ? run + 1 : 0;
		if (run > best.lines) {
			best.first = at->first + (i + 1 - run) * at->step;
			best.lines = run;
		}
	}
	return best;
}

/* Copies the references' lines of the run, in the order of y. */
static void gather(struct bs_slicer *s, const struct bs_pattern *run)
{
	const size_t line = 2 * (size_t)s->columns;
	float *to = s->references;

	for (uint32_t b = 0; b < s->bands; b++) {
		const float *from = bs_cart_hybrid(s->cart, pair_of(s, s->frame.set, b));

		for (uint32_t i = 0; i < s->p->coils * run->lines; i++, to += line) {
			const uint32_t y = bs_slice_index(run->first + i % run->lines * run->step,
							  s->lines, true);

			memcpy(to, from + ((size_t)(i / run->lines) * s->lines + y) * line,
			       line * sizeof(*to));
		}
	}
}

/* Adds ||sum of the references - line||^2 and ||line||^2 of one line and coil; phase [band]. */
static void compare_line(const struct bs_slicer *s, const float *reference, size_t band_step,
			 const double (*phase)[2], const float *line, double scale, double sums[2])
{
	for (uint32_t x = 0; x < s->columns; x++) {
		double re = -scale * line[2 * x];
		double im = -scale * line[2 * x + 1];

		sums[1] += re * re + im * im;
		for (uint32_t b = 0; b < s->bands; b++) {
			const float *r = reference + b * band_step + 2 * x;

			re += r[0] * phase[b][0] - r[1] * phase[b][1];
			im += r[0] * phase[b][1] + r[1] * phase[b][0];
		}
		sums[0] += re * re + im * im;
	}
}

/* The phase of each band at line y, as factors [band]; bare: of references that have none. */
static void find_phases(const struct bs_slicer *s, const double *cycles, uint32_t y, bool bare,
			double (*phase)[2])
{
	for (uint32_t b = 0; b < s->bands; b++) {
		const double half = bare ? M_PI * cycles[b] * ((double)y - s->lines / 2) : 0.0;

		phase[b][0] = cos(2.0 * half);
		phase[b][1] = sin(2.0 * half);
	}
}

/* ||sum of the references - lines|| / ||lines||, over the lines that both have. */
static double left_over(const struct bs_slicer *s, const struct bs_pattern *run,
			const uint8_t *have, const struct bs_slicer_lines *lines,
			const double *cycles, bool bare)
{
	const size_t line = 2 * (size_t)s->columns;
	double sums[2] = { 0.0, 0.0 };
	double phase[BS_BANDS_MAX][2];

	for (uint32_t i = 0; i < run->lines; i++) {
		const uint32_t y = run->first + i * run->step;
		const uint32_t at = bs_slice_index(y, s->lines, lines->wrapped);

		find_phases(s, cycles, y, bare, phase);
		for (uint32_t c = 0; have[y] == 1 && c < s->p->coils; c++)
			compare_line(s, s->references + ((size_t)c * run->lines + i) * line,
				     s->p->coils * run->lines * line, (const double(*)[2])phase,
				     lines->at + ((size_t)c * s->lines + at) * line, lines->scale,
				     sums);
	}
	return sums[1] > 0.0 ? sqrt(sums[0] / sums[1]) : INFINITY;
}

/* Identifies the references of the frame's set, and a grid. */
static uint64_t version_of(const struct bs_slicer *s, const struct bs_pattern *at)
{
	const struct known *k = &s->known[s->frame.set];

	return (uint64_t)k->came << 33 | (uint64_t)k->phased << 32 | at->step << 16 | at->first;
}

/* Makes a set's weights for lines of a grid, of a run of references on it. */
static int make_weights(struct bs_slicer *s, uint32_t set, const struct bs_pattern *at,
			const struct bs_pattern *run, const double *cycles, struct bs_fail *why)
{
	const size_t line = s->columns;
	struct bs_slice_references r = { .coil_step = run->lines * line,
					 .line_step = line,
					 .first = (run->first - at->first) / run->step,
					 .lines = run->lines,
					 .center = ((double)(s->lines / 2) - at->first) / at->step,
					 .phased = s->known[s->frame.set].phased,
					 .version = version_of(s, at) };

	for (uint32_t b = 0; b < s->bands; b++) {
		r.band[b] = s->references + 2 * b * s->p->coils * r.coil_step;
		r.cycles[b] = cycles[b] * run->step;
	}
	gather(s, run);
	return bs_slice_prepare(s->slice, set, &r, why);
}

/* Finds the frame's lines, and which weights are theirs. */
static void find_frame(struct bs_slicer *s, uint32_t frame, uint32_t step, const uint8_t *have)
{
	const uint32_t pair = frame / bs_protocol_lanes(s->p);
	const struct bs_pattern_spec spec = { s->lines, step, s->p->multiband.kernel[1],
					      s->slice != NULL && fills(s->p) };
	struct bs_slicer_frame *f = &s->frame;

	f->set = pair % s->sets;
	f->band = pair / s->sets;
	f->inner[0] = f->inner[1] = 0;
	s->count = bs_pattern_find(&spec, have, &f->at, f->center, &s->gaps);
	f->came = s->came;
	f->center_came = s->inner;
	f->center_set = f->set + s->sets;
	for (uint32_t i = 0; i < s->lines; i++)
		s->came[i] = i < f->at.lines && have[f->at.first + i * f->at.step] == 1;
}

/* The answer where references are missing, in words. */
static int lacking(const struct bs_slicer *s, struct bs_fail *why, const char *reason)
{
	const int rc = bs_filler_lacking(s->p);

	return bs_fail(why, rc, "group %u of %u slices: %s%s", s->frame.set / s->p->contrasts,
		       s->bands, reason, rc == 0 ? ": its slices lie on each other" : "");
}

/* Returns true if some band has a phase that grows from line to line. */
static bool has_phases(const struct bs_slicer *s, const double *cycles)
{
	bool any = false;

	for (uint32_t b = 0; b < s->bands; b++)
		any = any || fabs(cycles[b] - round(cycles[b])) > SAME;
	return any;
}

/* Makes the frame's weights. Returns 1, or what prepare returns. */
static int calibrate(struct bs_slicer *s, const uint8_t *have, const struct bs_slicer_lines *lines,
		     struct bs_report *report)
{
	const struct bs_pattern all = { 0, 1, s->lines };
	const struct bs_pattern run = common(s, &s->frame.at);
	const struct bs_pattern told = s->frame.center[1] > 0 ? common(s, &all) : run;
	const double *cycles = report->apart.cycles;
	const uint32_t least = s->slice != NULL ? s->p->multiband.kernel[1] : 1;
	struct known *k = &s->known[s->frame.set];
	struct bs_fail reason;
	char words[160];
	double bare;
	int rc;

	(void)snprintf(words, sizeof(words),
		       "%s needs %u line%s in a row of each slice alone, its references; "
		       "%u have come",
		       s->slice != NULL ? "slice-GRAPPA" : "SENSE", least, least > 1 ? "s" : "",
		       run.lines);
	if (run.lines < least)
		return lacking(s, &report->why, words);
	gather(s, &told);
	memcpy(s->cycles, cycles, sizeof(s->cycles));
	k->met = k->came;
	k->run = run.lines;
	s->told = s->frame.set;
	k->compared = s->count;
	bare = left_over(s, &told, have, lines, cycles, true);
	k->left = left_over(s, &told, have, lines, cycles, false);
	k->phased = k->left < bare;
	k->untold = has_phases(s, cycles) && fabs(k->left - bare) < SAME;
	k->left = k->phased ? k->left : bare;
	k->version = version_of(s, &s->frame.at);
	if (s->slice == NULL)
		return 1;
	rc = make_weights(s, s->frame.set, &s->frame.at, &run, cycles, &reason);
	if (rc == BS_ERR_VALUE)
		return lacking(s, &report->why, reason.text);
	return rc == 0 ? 1 : bs_fail(&report->why, rc, "%s", reason.text);
}

static void put_report(const struct bs_slicer *s, struct bs_report *report)
{
	const struct known *k = &s->known[s->frame.set];
	struct bs_apartness *a = &report->apart;

	a->phased = k->phased;
	a->left = (float)k->left;
	for (uint32_t b = 0; s->slice != NULL && b < s->bands; b++) {
		const double leakage =
			bs_slice_leakage(s->slice, s->frame.set)[s->frame.band * s->bands + b];

		a->leakage[b] = (float)leakage;
		if (leakage > LEAKS)
			(void)bs_fail(&report->why, 0,
				      "the slices are not kept apart: %.2f of another one comes "
				      "through (too few lines of references, or coils too alike?)",
				      leakage);
	}
	if (s->gaps && s->slice != NULL)
		(void)bs_fail(&report->why, 0,
			      "lines between those that came are zeros: these do not come at one "
			      "step");
	if (k->left > FITS)
		(void)bs_fail(&report->why, 0,
			      "the slices' references do not add up to the lines, of which %.2f is "
			      "left (motion, another contrast, another shift of the bands?)",
			      k->left);
}

bool bs_slicer_stale(struct bs_slicer *s, uint32_t frame, uint32_t step, const uint8_t *have)
{
	find_frame(s, frame, step, have);
	const struct known *k = &s->known[s->frame.set];

	return (s->slice != NULL ? bs_slice_version(s->slice, s->frame.set) : k->version) !=
		       version_of(s, &s->frame.at) ||
	       s->count > k->compared;
}

/* Makes the weights of a full center. */
static void prepare_center(struct bs_slicer *s, struct bs_report *report)
{
	const struct bs_pattern all = { 0, 1, s->lines };
	const struct bs_pattern run = common(s, &all);
	const uint32_t reach = s->p->multiband.kernel[1] / 2;
	struct bs_slicer_frame *f = &s->frame;
	struct bs_fail reason = { 0 };
	int rc = 0;

	if (bs_slice_version(s->slice, f->center_set) != version_of(s, &all))
		rc = make_weights(s, f->center_set, &all, &run, report->apart.cycles, &reason);
	if (rc != 0)
		(void)bs_fail(&report->why, 0,
			      "the center's lines beside the others are not used: %s", reason.text);
	f->inner[0] = rc == 0 ? f->center[0] + reach : f->center[0];
	f->inner[1] = rc == 0 ? f->center[1] - reach : f->center[0];
	for (uint32_t y = 0; y < s->lines; y++)
		s->inner[y] = y >= f->inner[0] && y < f->inner[1];
}

int64_t bs_slicer_ahead(struct bs_slicer *s, struct bs_filler *filler, uint32_t frame)
{
	const int64_t start_ns = bs_now_ns();
	const uint32_t pair = frame / bs_protocol_lanes(s->p);
	const struct known *last = &s->known[s->told];
	struct known *k = &s->known[pair % s->sets];
	struct bs_slicer_frame *f = &s->frame;
	struct bs_fail unsaid;

	if (s->slice == NULL || f->center[1] > 0 || last->met != last->came || s->met[pair] == 1)
		return 0;
	f->set = pair % s->sets;
	f->band = pair / s->sets;
	const struct bs_pattern run = common(s, &f->at);

	if (run.lines < last->run) /* more references may be to come */
		return 0;
	if (k->met != k->came) {
		k->phased = last->phased;
		k->compared = 0;
		(void)make_weights(s, f->set, &f->at, &run, s->cycles, &unsaid);
	}
	if (filler != NULL && bs_slicer_fills(s)) {
		memset(s->inner, 0, s->lines);
		for (uint32_t i = 0; i < f->at.lines; i++)
			s->inner[f->at.first + i * f->at.step] = s->came[i];
		(void)bs_filler_prepare(filler, frame, s->inner, &unsaid);
	}
	k->met = k->came;
	s->met[pair] = 1;
	return bs_now_ns() - start_ns;
}

int bs_slicer_prepare(struct bs_slicer *s, uint32_t frame, const uint8_t *have,
		      const struct bs_slicer_lines *lines, struct bs_report *report)
{
	const int64_t start_ns = bs_now_ns();
	const struct known *k;
	bool stale;
	int rc = 1;

	s->frame.calibrated_ns = 0;
	if (report->apart.of <= 1)
		return 0;
	stale = bs_slicer_stale(s, frame, report->apart.step, have);
	if (stale)
		rc = calibrate(s, have, lines, report);
	if (rc == 1 && s->frame.center[1] > 0)
		prepare_center(s, report);
	if (stale)
		s->frame.calibrated_ns = bs_now_ns() - start_ns;
	s->met[frame / bs_protocol_lanes(s->p)] = 1;
	k = &s->known[s->frame.set];
	if (rc == 1 && s->slice == NULL && k->untold)
		rc = lacking(s, &report->why,
			     "lines do not tell whether the references have their bands' phases "
			     "(multiband.shift = 1: they have none)");
	if (rc == 1 && s->slice != NULL && bs_slicer_fills(s) && !s->in_plane && k->left <= FITS &&
	    (k->phased || k->untold))
		rc = lacking(s, &report->why,
			     k->untold ? "the references calibrate in plane, too, and lines do not "
					 "tell whether they have their bands' phases "
					 "(multiband.shift = 1: they have none)"
				       : "references with their bands' phases cannot calibrate the "
					 "lines that are left out in plane");
	if (rc == 1)
		put_report(s, report);
	return rc;
}

void bs_slicer_leave(const struct bs_slicer *s, uint8_t *have)
{
	for (uint32_t y = s->frame.center[0]; y < s->frame.center[1]; y++)
		have[y] = s->inner[y] || !bs_pattern_beside(&s->frame.at, y);
}

/* Copies the frame's lines from hybrid space to the folded ones, or from a slice's to there. */
static void move_lines(const struct bs_slicer *s, float *to, const float *from, bool gathers)
{
	const size_t line = 2 * (size_t)s->columns;

	for (uint32_t c = 0; c < s->p->coils; c++)
		for (uint32_t i = 0; i < s->frame.at.lines; i++) {
			const uint32_t y = bs_slice_index(s->frame.at.first + i * s->frame.at.step,
							  s->lines, true);
			const size_t dense = ((size_t)c * s->lines + i) * line;
			const size_t grid = ((size_t)c * s->lines + y) * line;

			memcpy(to + (gathers ? dense : grid), from + (gathers ? grid : dense),
			       line * sizeof(*to));
		}
}

/* Replaces a full center's lines by those of the frame's slice. */
static void apply_center(struct bs_slicer *s, float *hybrid)
{
	const struct bs_slicer_frame *f = &s->frame;
	const size_t line = 2 * (size_t)s->columns;

	bs_slice_apply(s->slice, f->center_set, f->band, hybrid, s->inner, true, s->out);
	for (uint32_t c = 0; c < s->p->coils; c++)
		for (uint32_t y = f->center[0]; y < f->center[1]; y++) {
			const size_t at = c * s->lines + bs_slice_index(y, s->lines, true);

			memcpy(hybrid + at * line, s->out + at * line, line * sizeof(*hybrid));
		}
}

void bs_slicer_apply(struct bs_slicer *s, float *hybrid)
{
	const struct bs_slicer_frame *f = &s->frame;

	memset(s->folded, 0, plane_bytes(s->p, s->columns));
	move_lines(s, s->folded, hybrid, true);
	if (f->center[1] > 0)
		apply_center(s, hybrid);
	bs_slice_apply(s->slice, f->set, f->band, s->folded, f->came, false, s->out);
	move_lines(s, hybrid, s->out, false);
}

const struct bs_slicer_frame *bs_slicer_prepared(const struct bs_slicer *s)
{
	return &s->frame;
}

const struct bs_slice *bs_slicer_slice(const struct bs_slicer *s)
{
	return s->slice;
}

float *bs_slicer_space(struct bs_slicer *s)
{
	return s->folded;
}
