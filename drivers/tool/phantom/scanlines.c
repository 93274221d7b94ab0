/* drivers/tool/phantom/scanlines.c - see scanlines.h */
#include "drivers/tool/phantom/scanlines.h"

#include <math.h>
#include <stdlib.h>

#define NOISE_PACE_US 2000.0

/* A line of a frame: its row in the trajectory's table, and its flags of calibration. */
struct entry {
	uint32_t row;
	uint64_t flags;
};

struct bs_scanlines {
	struct bs_scanplan plan;
	/*
	 * first: line and partition with which partial Fourier begins; end: those behind its last
	 * ones
	 */
	uint32_t first[2], end[2];
	uint32_t block[2][2]; /* calibration lines along each axis: first, end */
	uint32_t count;       /* number of entries */
	struct entry *entry;  /* lines of the current repetition */
	/* The next members are the walk's. */
	int (*put)(void *arg, const struct bs_scanline *line, struct bs_fail *why);
	void *arg;
	struct bs_fail *why;
	double start_us; /* time that noise readouts took */
	uint64_t shots;  /* number of TRs since the noise readouts */
	double tr_us;
	uint32_t navigated; /* number of groups of navigators */
	bool single;        /* slices come alone: without multiband, and its references */
};

static int set_range(struct bs_scanlines *l, int axis, struct bs_fail *why)
{
	const struct bs_partial *p = &l->plan.partial[axis];
	uint32_t n = l->plan.lines[axis];
	uint32_t left = n;
	uint32_t want = l->plan.calibration_lines[axis];

	if (p->share != 0.0) {
		if (!(p->share > 0.5 && p->share <= 1.0))
			return bs_fail(why, BS_ERR_USAGE,
				       "partial Fourier: a share of %g is not above 0.5, to 1",
				       p->share);
		left = (uint32_t)lround(p->share * n);
		left = left < n / 2 + 1 ? n / 2 + 1 : left;
	}
	l->first[axis] = p->early ? n - left : 0;
	l->end[axis] = p->early ? n : left;
	if (l->plan.calibration == BS_CALIBRATION_UNSAID)
		return 0;
	if (want == 0 && axis == 1)
		want = left;
	l->block[axis][0] = want == left ? l->first[axis] : n / 2 - (want < n ? want : n) / 2;
	l->block[axis][1] = l->block[axis][0] + want;
	if (want == 0 || l->block[axis][0] < l->first[axis] || l->block[axis][1] > l->end[axis])
		return bs_fail(why, BS_ERR_SIZE,
			       "%u calibration lines along %c do not lie within the %u to %u of %u "
			       "that are measured",
			       want, axis == 0 ? 'y' : 'z', l->first[axis], l->end[axis] - 1, n);
	return 0;
}

uint32_t bs_scanplan_shift(const struct bs_scanplan *p)
{
	const uint32_t accel = p->accel[0] > 0 ? p->accel[0] : 1;

	return p->multiband.shift > 0 ? p->multiband.shift : p->multiband.bands * accel;
}

static int check_multiband(const struct bs_scanplan *p, struct bs_fail *why)
{
	const struct bs_scanbands *m = &p->multiband;

	if (m->bands < 2)
		return 0;
	if (p->slices % m->bands != 0 || p->lines[1] > 1)
		return bs_fail(why, BS_ERR_SIZE,
			       "multiband: %u slices of %u x %u lines are no groups of %u bands in "
			       "2D",
			       p->slices, p->lines[0], p->lines[1], m->bands);
	if (p->calibration != BS_CALIBRATION_UNSAID)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "multiband is calibrated by its references, not by other lines");
	if (m->single == BS_SINGLE_FIRST && p->repetitions < 2)
		return bs_fail(why, BS_ERR_SIZE,
			       "multiband: the first repetition is the reference, and there is no "
			       "other");
	return 0;
}

static int check_plan(const struct bs_scanplan *p, struct bs_fail *why)
{
	if (p->traj->readouts != (uint64_t)p->lines[0] * p->lines[1])
		return bs_fail(why, BS_ERR_SIZE, "%u rows for %u x %u lines", p->traj->readouts,
			       p->lines[0], p->lines[1]);
	if (p->accel[0] > p->lines[0] || p->accel[1] > p->lines[1] || p->shift >= p->accel[1])
		return bs_fail(why, BS_ERR_SIZE,
			       "acceleration %u x %u, shifted by %u, of %u x %u lines", p->accel[0],
			       p->accel[1], p->shift, p->lines[0], p->lines[1]);
	if (p->epi && (p->lines[1] > 1 || p->order == BS_SLICES_EACH_TR || p->reversed))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "EPI reads one slice of a 2D scan in each train");
	if (p->epi && (p->navigate != 0 || p->calibration == BS_CALIBRATION_SEPARATE))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "EPI has neither navigators nor separate calibration here");
	return check_multiband(p, why);
}

int bs_scanlines_make(struct bs_scanlines **lines, const struct bs_scanplan *plan,
		      struct bs_fail *why)
{
	struct bs_scanlines *l = calloc(1, sizeof(*l));
	int rc = 0;

	if (l == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a scan's lines");
	l->plan = *plan;
	for (int a = 0; a < 2; a++)
		l->plan.accel[a] += plan->accel[a] == 0;
	l->plan.averages += plan->averages == 0;
	l->plan.phases += plan->phases == 0;
	l->plan.sets += plan->sets == 0;
	l->end[0] = l->end[1] = 1;
	if (plan->like_scanner) {
		rc = check_plan(&l->plan, why);
		for (int a = 0; rc == 0 && a < 2; a++)
			rc = set_range(l, a, why);
	}
	if (rc == 0) {
		l->entry = malloc(plan->traj->readouts * sizeof(*l->entry));
		if (l->entry == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "no memory for %u lines",
				     plan->traj->readouts);
	}
	if (rc != 0) {
		bs_scanlines_free(l);
		return rc;
	}
	*lines = l;
	return 0;
}

void bs_scanlines_free(struct bs_scanlines *lines)
{
	if (lines == NULL)
		return;
	free(lines->entry);
	free(lines);
}

uint32_t bs_scanlines_frame(const struct bs_scanlines *l)
{
	return l->count;
}

struct bs_limit bs_scanlines_limit(const struct bs_scanlines *l, int axis)
{
	return (struct bs_limit){ .max = l->end[axis] - l->first[axis] - 1,
				  .center = l->plan.lines[axis] / 2 - l->first[axis],
				  .given = 1 };
}

/* Returns true if a - b is a multiple of n; a, b and n are far below 2^31. */
static bool on(int64_t a, int64_t b, uint32_t n)
{
	return (a - b) % (int64_t)n == 0;
}

static bool on_grid(const struct bs_scanplan *p, uint32_t line, uint32_t part, uint32_t moved)
{
	int64_t y = (int64_t)line - p->lines[0] / 2 - moved;
	int64_t z = (int64_t)part - p->lines[1] / 2;

	return on(y, 0, p->accel[0]) && on(z, y / (int64_t)p->accel[0] * p->shift, p->accel[1]);
}

static bool has_bands(const struct bs_scanlines *l)
{
	return l->plan.multiband.bands > 1;
}

/* Returns the number of slices, or of groups of them, that take turns. */
static uint32_t turns(const struct bs_scanlines *l)
{
	return l->single ? l->plan.slices : l->plan.slices / l->plan.multiband.bands;
}

/* Flagged references are not averaged. */
static uint32_t averages(const struct bs_scanlines *l)
{
	return l->single && has_bands(l) && l->plan.multiband.single == BS_SINGLE_FLAGGED
		       ? 1
		       : l->plan.averages;
}

/* Sets the TR from now on: the plan's, or a longer one that holds a train of so many lines. */
static void pace(struct bs_scanlines *l, uint32_t lines)
{
	const double train_us = l->plan.spacing_us * (3 + lines);

	l->start_us += (double)l->shots * l->tr_us;
	l->shots = 0;
	l->tr_us = l->plan.epi && train_us > l->plan.tr_us ? train_us : l->plan.tr_us;
}

/* Reverses the order of a train's lines, where the plan says so. */
static void reverse_train(struct bs_scanlines *l)
{
	for (uint32_t i = 0; l->plan.epi && l->plan.falling && i < l->count / 2; i++) {
		const struct entry e = l->entry[i];

		l->entry[i] = l->entry[l->count - 1 - i];
		l->entry[l->count - 1 - i] = e;
	}
}

/* Lists the lines of a reference of one band. */
static void list_reference(struct bs_scanlines *l)
{
	const struct bs_scanbands *m = &l->plan.multiband;
	const bool flagged = m->single == BS_SINGLE_FLAGGED;
	const uint32_t center = l->plan.lines[0] / 2;
	const uint32_t begin = center - (m->lines < center ? m->lines / 2 : center);

	l->count = 0;
	for (uint32_t line = l->first[0]; line < l->end[0]; line++)
		if (!flagged || m->lines == 0 || (line >= begin && line - begin < m->lines))
			l->entry[l->count++] =
				(struct entry){ .row = line,
						.flags = flagged ? BS_MRD_IS_CALIBRATION : 0 };
	reverse_train(l);
}

/* Lists the lines of a frame of this repetition. */
static void list_frame(struct bs_scanlines *l, uint32_t repetition)
{
	const struct bs_scanplan *p = &l->plan;
	bool shifts = p->calibration == BS_CALIBRATION_INTERLEAVED;
	bool embedded = shifts || p->calibration == BS_CALIBRATION_EMBEDDED;

	l->count = 0;
	if (!p->like_scanner) {
		for (; l->count < p->traj->readouts; l->count++)
			l->entry[l->count] = (struct entry){ .row = l->count };
		return;
	}
	for (uint32_t part = l->first[1]; part < l->end[1]; part++)
		for (uint32_t line = l->first[0]; line < l->end[0]; line++) {
			bool grid = on_grid(p, line, part, shifts ? repetition % p->accel[0] : 0);
			bool block = embedded && line >= l->block[0][0] && line < l->block[0][1] &&
				     part >= l->block[1][0] && part < l->block[1][1];
			uint64_t flags = grid ? BS_MRD_IS_CALIBRATION_TOO : BS_MRD_IS_CALIBRATION;

			if (grid || block)
				l->entry[l->count++] =
					(struct entry){ .row = line + p->lines[0] * part,
							.flags = block ? flags : 0 };
		}
	reverse_train(l);
}

/* Returns the slice at a place in Siemens' order: of an even number first slices 1, 3,
 * ..., then 0, 2, ... */
static uint32_t slice_at(const struct bs_scanlines *l, uint32_t turn)
{
	uint32_t odd = turns(l) / 2; /* number of slices 1, 3, ... */
	uint32_t even = turns(l) - odd;

	if (l->plan.order == BS_SLICES_ASCENDING)
		return turn;
	if (turns(l) % 2 == 0)
		return turn < odd ? 2 * turn + 1 : 2 * (turn - odd);
	return turn < even ? 2 * turn : 2 * (turn - even) + 1;
}

/* Returns all FIRST and LAST flags but those of averages, phases, sets and segments:
 * there is one each. */
static uint64_t plain_flags(const struct bs_scanlines *l, const struct bs_scanline *s)
{
	const struct bs_traj *t = l->plan.traj;
	bool first = s->row == 0;
	bool last = s->row + 1 == t->readouts;
	bool first1 = first || t->step2[s->row] != t->step2[s->row - 1];
	bool last1 = last || t->step2[s->row] != t->step2[s->row + 1];
	uint64_t f = 0;

	f |= first1 ? BS_MRD_FLAG(1) : 0;
	f |= last1 ? BS_MRD_LAST_IN_ENCODE_STEP1 : 0;
	f |= first ? BS_MRD_FLAG(3) | BS_MRD_FLAG(7) | BS_MRD_FLAG(9) : 0;
	f |= last ? BS_MRD_FLAG(4) | BS_MRD_LAST_IN_SLICE | BS_MRD_FLAG(10) : 0;
	f |= first && s->slice == 0 && s->contrast == 0 ? BS_MRD_FLAG(13) : 0;
	return f;
}

static void set_flags(const struct bs_scanlines *l, struct bs_scanline *s, uint32_t i,
		      bool last_slice)
{
	const struct bs_scanplan *p = &l->plan;
	bool last = i + 1 == l->count && s->average + 1u == averages(l);
	bool last_frame = s->phase + 1u == p->phases && s->set + 1u == p->sets;

	if (!p->like_scanner) {
		s->flags = plain_flags(l, s);
	} else {
		s->flags = l->entry[i].flags;
		s->flags |= s->reversed ? BS_MRD_IS_REVERSE : 0;
		s->flags |= i == 0 && s->average == 0 ? BS_MRD_FLAG(7) : 0;
		s->flags |= last ? BS_MRD_LAST_IN_SLICE : 0;
	}
	if (last && last_slice && last_frame && s->contrast + 1u == p->contrasts) {
		s->flags |= BS_MRD_LAST_IN_REPETITION;
		if (s->repetition + 1u == p->repetitions)
			s->flags |= BS_MRD_LAST_IN_MEASUREMENT;
	}
}

static int put_line(struct bs_scanlines *l, struct bs_scanline *s, uint32_t row, double after_us)
{
	const struct bs_scanplan *p = &l->plan;

	s->row = row;
	s->folded = !l->single;
	s->phased = s->folded || (has_bands(l) && p->multiband.blipped);
	s->step1 = p->traj->step1[row];
	s->step2 = p->traj->step2[row];
	if (p->like_scanner) {
		s->step1 = (uint16_t)(s->step1 - l->first[0]);
		s->step2 = (uint16_t)(s->step2 - l->first[1]);
	}
	s->at_us = l->start_us + (double)l->shots * l->tr_us + after_us;
	s->navigator = l->navigated > 0 ? l->navigated - 1 : 0;
	if (s->at_us > INT32_MAX)
		return bs_fail(l->why, BS_ERR_SIZE,
			       "phantom: the scan takes more than 2147 s, where time stamps end");
	return l->put(l->arg, s, l->why);
}

static uint32_t center_row(const struct bs_scanplan *p)
{
	return p->lines[0] / 2 + p->lines[0] * (p->lines[1] / 2);
}

/* Puts navigators of all contrasts, each group within a TR of its own. */
static int put_navigators(struct bs_scanlines *l, struct bs_scanline s)
{
	int rc = 0;

	s.kind = BS_SCANLINE_NAVIGATOR;
	s.flags = BS_MRD_IS_NAVIGATION;
	s.reversed = false;
	for (uint32_t c = 0; rc == 0 && c < l->plan.contrasts; c++, l->shots++) {
		s.contrast = (uint16_t)c;
		rc = put_line(l, &s, center_row(&l->plan), 0.0);
	}
	return rc;
}

/* Puts a line in all its contrasts. s has slice, average and repetition. */
static int put_shot(struct bs_scanlines *l, struct bs_scanline s, uint32_t i, bool first_slice,
		    bool last_slice)
{
	const struct bs_scanplan *p = &l->plan;
	int rc = 0;

	if (p->navigate != 0 && i % p->navigate == 0) {
		l->navigated += first_slice || p->order != BS_SLICES_EACH_TR;
		rc = put_navigators(l, s);
	}
	s.reversed = p->reversed && i % 2 == 1;
	for (uint32_t c = 0; rc == 0 && c < p->contrasts; c++) {
		s.contrast = (uint16_t)c;
		s.row = l->entry[i].row;
		set_flags(l, &s, i, last_slice);
		rc = put_line(l, &s, s.row, p->readout_us * c);
	}
	l->shots++;
	return rc;
}

/* Puts a train of EPI. Its triple runs forward, back, forward, so the first line runs back. */
static int put_train(struct bs_scanlines *l, struct bs_scanline s, bool last_slice)
{
	const struct bs_scanplan *p = &l->plan;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < l->count + 3; i++) {
		bool triple = i < 3;

		s.reversed = i % 2 == 1;
		s.kind = triple ? BS_SCANLINE_PHASE_CORRECTION : BS_SCANLINE_IMAGE;
		if (triple)
			s.flags = BS_MRD_IS_PHASE_CORRECTION | (s.reversed ? BS_MRD_IS_REVERSE : 0);
		else
			set_flags(l, &s, i - 3, last_slice);
		rc = put_line(l, &s, triple ? center_row(p) : l->entry[i - 3].row,
			      p->spacing_us * i);
	}
	l->shots++;
	return rc;
}

static int put_slice(struct bs_scanlines *l, struct bs_scanline s, bool last_slice)
{
	const struct bs_scanplan *p = &l->plan;
	int rc = 0;

	for (uint32_t a = 0; rc == 0 && a < averages(l); a++) {
		s.average = (uint16_t)a;
		for (uint32_t c = 0; p->epi && rc == 0 && c < p->contrasts; c++) {
			s.contrast = (uint16_t)c;
			rc = put_train(l, s, last_slice);
		}
		for (uint32_t i = 0; !p->epi && rc == 0 && i < l->count; i++)
			rc = put_shot(l, s, i, true, last_slice);
	}
	return rc;
}

/* Puts a frame's lines of all slices. s has repetition, phase and set. */
static int put_frame(struct bs_scanlines *l, struct bs_scanline s)
{
	const struct bs_scanplan *p = &l->plan;
	int rc = 0;

	if (p->order != BS_SLICES_EACH_TR) {
		for (uint32_t n = 0; rc == 0 && n < turns(l); n++) {
			s.slice = (uint16_t)slice_at(l, n);
			rc = put_slice(l, s, n + 1 == turns(l));
		}
		return rc;
	}
	for (uint32_t a = 0; a < p->averages; a++)
		for (uint32_t i = 0; i < l->count; i++)
			for (uint32_t n = 0; rc == 0 && n < turns(l); n++) {
				s.average = (uint16_t)a;
				s.slice = (uint16_t)slice_at(l, n);
				rc = put_shot(l, s, i, n == 0, n + 1 == turns(l));
			}
	return rc;
}

static int put_repetition(struct bs_scanlines *l, uint32_t repetition)
{
	const struct bs_scanplan *p = &l->plan;
	struct bs_scanline s = { .repetition = (uint16_t)repetition };
	int rc = 0;

	l->single = !has_bands(l) || (p->multiband.single == BS_SINGLE_FIRST && repetition == 0);
	if (has_bands(l) && l->single)
		list_reference(l);
	else
		list_frame(l, repetition);
	if (has_bands(l))
		pace(l, l->count);
	s.frame = repetition * p->phases * p->sets;
	for (uint32_t phase = 0; rc == 0 && phase < p->phases; phase++)
		for (uint32_t set = 0; rc == 0 && set < p->sets; set++, s.frame++) {
			s.phase = (uint16_t)phase;
			s.set = (uint16_t)set;
			rc = put_frame(l, s);
		}
	return rc;
}

static int put_noise(struct bs_scanlines *l)
{
	struct bs_scanline s = { .kind = BS_SCANLINE_NOISE, .flags = BS_MRD_IS_NOISE };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < l->plan.noise; i++) {
		s.at_us = NOISE_PACE_US * i;
		if (l->plan.noise_only && i + 1 == l->plan.noise)
			s.flags |= BS_MRD_LAST_IN_MEASUREMENT;
		rc = l->put(l->arg, &s, l->why);
	}
	l->start_us = NOISE_PACE_US * l->plan.noise;
	return rc;
}

/* Puts the flagged references of a multiband scan. */
static int put_references(struct bs_scanlines *l)
{
	struct bs_scanline s = { 0 };
	int rc = 0;

	if (!has_bands(l) || l->plan.multiband.single != BS_SINGLE_FLAGGED)
		return 0;
	l->single = true;
	list_reference(l);
	pace(l, l->count);
	for (uint32_t n = 0; rc == 0 && n < turns(l); n++) {
		s.slice = (uint16_t)slice_at(l, n);
		rc = put_slice(l, s, false);
	}
	return rc;
}

/* Puts dummies and the lines of a separate calibration. */
static int put_before(struct bs_scanlines *l)
{
	const struct bs_scanplan *p = &l->plan;
	struct bs_scanline s = { .kind = BS_SCANLINE_DUMMY, .flags = BS_MRD_IS_DUMMY };
	int rc = 0;

	l->single = !has_bands(l);
	s.slice = (uint16_t)slice_at(l, 0);
	for (uint32_t i = 0; rc == 0 && i < p->dummies; i++, l->shots++)
		rc = put_line(l, &s, center_row(p), 0.0);
	if (rc == 0)
		rc = put_references(l);
	if (p->calibration != BS_CALIBRATION_SEPARATE)
		return rc;
	s.kind = BS_SCANLINE_CALIBRATION;
	s.flags = BS_MRD_IS_CALIBRATION;
	for (uint32_t n = 0; n < p->slices; n++)
		for (uint32_t part = l->block[1][0]; part < l->block[1][1]; part++)
			for (uint32_t line = l->block[0][0]; rc == 0 && line < l->block[0][1];
			     line++, l->shots++) {
				s.slice = (uint16_t)slice_at(l, n);
				rc = put_line(l, &s, line + p->lines[0] * part, 0.0);
			}
	return rc;
}

int bs_scanlines_walk(struct bs_scanlines *l,
		      int (*put)(void *arg, const struct bs_scanline *line, struct bs_fail *why),
		      void *arg, struct bs_fail *why)
{
	int rc;

	l->put = put;
	l->arg = arg;
	l->why = why;
	l->start_us = 0.0;
	l->shots = 0;
	l->tr_us = l->plan.tr_us;
	l->navigated = 0;
	rc = put_noise(l);
	if (rc == 0 && !l->plan.noise_only)
		rc = put_before(l);
	for (uint32_t rep = 0; rc == 0 && rep < l->plan.repetitions && !l->plan.noise_only; rep++)
		rc = put_repetition(l, rep);
	return rc;
}
