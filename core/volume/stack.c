/* core/volume/stack.c - see stack.h */
#include "core/volume/stack.h"

#include <math.h>
#include <string.h>

/* largest difference between two directions' components of slices that are parallel */
#define PARALLEL 1e-3
/* mm that a slice may be beside the stack or off its place, because headers round */
#define ASIDE_MM 0.05
/* largest difference of two distances between slices that count as equal, relative */
#define EQUAL 0.02

double bs_dir_length(const float dir[3])
{
	double sum = 0.0;

	for (int d = 0; d < 3; d++)
		sum += (double)dir[d] * (double)dir[d];
	return sum > 0.25 ? sqrt(sum) : 0.0;
}

static bool is_finite(const struct bs_pose *p)
{
	bool is = true;

	for (int d = 0; d < 3; d++)
		is = is && isfinite(p->position[d]) && isfinite(p->read_dir[d]) &&
		     isfinite(p->phase_dir[d]) && isfinite(p->slice_dir[d]);
	return is;
}

/* The largest difference of the directions' components. */
static double apart(const struct bs_pose *a, const struct bs_pose *b)
{
	double most = 0.0;

	for (int d = 0; d < 3; d++) {
		most = fmax(most, fabs((double)a->read_dir[d] - (double)b->read_dir[d]));
		most = fmax(most, fabs((double)a->phase_dir[d] - (double)b->phase_dir[d]));
		most = fmax(most, fabs((double)a->slice_dir[d] - (double)b->slice_dir[d]));
	}
	return most;
}

/*
 * Returns mm from a to b along a's slice_dir. *aside: mm at right angles to it. Both are 0 where
 * there is no direction.
 */
static double along(const struct bs_pose *a, const struct bs_pose *b, double *aside)
{
	const double length = bs_dir_length(a->slice_dir);
	double all = 0.0;
	double t = 0.0;

	for (int d = 0; d < 3; d++) {
		const double off = (double)b->position[d] - (double)a->position[d];

		all += off * off;
		t += off * (double)a->slice_dir[d];
	}
	if (length == 0.0)
		all = t = 0.0;
	else
		t /= length;
	*aside = sqrt(fmax(0.0, all - t * t));
	return t;
}

static double tolerated(double t)
{
	return ASIDE_MM + PARALLEL * fabs(t);
}

int bs_stack_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_fail *why)
{
	if (!bs_plan_has(&p->plan, BS_PLAN_JOIN) || !info->slice.given ||
	    info->slice.max < p->slices)
		return 0;
	return bs_fail(why, BS_ERR_SIZE,
		       "the header promises slices %u to %u, and image.volume of protocol '%s' "
		       "joins at most %u (slices)",
		       info->slice.min, info->slice.max, p->name, p->slices);
}

void bs_stack_scan(struct bs_stack *s, const struct bs_protocol *p, const struct bs_scan_info *info)
{
	const struct bs_limit *limit = &info->slice;
	const bool told = limit->given && limit->min <= limit->max && limit->max < p->slices;

	memset(s, 0, sizeof(*s));
	s->from = told ? limit->min : 0;
	s->slices = told ? limit->max - limit->min + 1 : p->slices;
}

/* Fills order with the known slices, by their place. */
static void sort(const struct bs_stack *s, uint16_t order[BS_FRAMES_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->slices; i++) {
		uint32_t to = n;

		if (!s->told[i])
			continue;
		for (; to > 0 && s->at[order[to - 1]] > s->at[i]; to--)
			order[to] = order[to - 1];
		order[to] = (uint16_t)i;
		n++;
	}
}

/* Checks, once all slices are known, that they lie equally far apart or all in one place. */
static int check_steps(const struct bs_stack *s, struct bs_fail *why)
{
	uint16_t order[BS_FRAMES_MAX];
	double least = HUGE_VAL;
	double most = 0.0;

	sort(s, order);
	for (uint32_t i = 1; i < s->slices; i++) {
		const double gap = s->at[order[i]] - s->at[order[i - 1]];

		least = fmin(least, gap);
		most = fmax(most, gap);
	}
	if (s->slices < 2 || most == 0.0 || most - least <= EQUAL * most)
		return 0;
	return bs_fail(why, BS_ERR_UNSUPPORTED,
		       "slices lie %g to %g mm apart: image.volume joins slices that lie equally "
		       "far apart",
		       least, most);
}

/* Checks that the slice belongs to a stack with the first one, whose place is known. */
static int check_stack(const struct bs_stack *s, const struct bs_pose *pose, uint32_t slice,
		       double *at, struct bs_fail *why)
{
	double aside;

	*at = along(&s->first, pose, &aside);
	if (!(apart(&s->first, pose) <= PARALLEL))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "slice %u is not parallel to slice %u, or is turned in its plane: "
			       "image.volume joins parallel slices",
			       slice, s->first_slice);
	if (!(aside <= tolerated(*at)))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "slice %u lies %.3g mm aside of slice %u: image.volume joins slices "
			       "that lie behind each other",
			       slice, aside, s->first_slice);
	return 0;
}

int bs_stack_see(struct bs_stack *s, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	const uint32_t i = (uint32_t)head->idx.slice - s->from;
	struct bs_pose pose;
	double at;
	int rc;

	if (i >= s->slices)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: slice %u is none of the header's %u to %u, which "
			       "image.volume joins",
			       head->scan_counter, head->idx.slice, s->from,
			       s->from + s->slices - 1);
	bs_pose_of(&pose, head);
	if (!is_finite(&pose))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "acquisition %u: position or a direction of slice %u is not finite: "
			       "image.volume joins slices by where they lie",
			       head->scan_counter, head->idx.slice);
	if (s->told[i])
		return 0;
	if (s->known == 0) {
		s->first = pose;
		s->first_slice = head->idx.slice;
	}
	rc = check_stack(s, &pose, head->idx.slice, &at, why);
	if (rc != 0)
		return rc;
	s->at[i] = at;
	s->told[i] = 1;
	s->known++;
	return s->known == s->slices ? check_steps(s, why) : 0;
}

/* ---- the order ---- */

/* Orders the slices by their numbers, where the known ones lie so. step may be below 0. */
static bool order_by_number(struct bs_stack *s)
{
	uint32_t a = 0;
	uint32_t b = s->slices - 1;
	double step;

	while (a < s->slices && !s->told[a])
		a++;
	while (b > a && !s->told[b])
		b--;
	step = b > a ? (s->at[b] - s->at[a]) / (b - a) : 0.0;
	for (uint32_t i = a; i <= b && b < s->slices; i++)
		if (s->told[i] && fabs(s->at[a] + step * ((double)i - a) - s->at[i]) >
					  fmax(EQUAL * fabs(step), 1e-9))
			return false;
	for (uint32_t i = 0; i < s->slices; i++)
		s->z[i] = (uint16_t)(step < 0.0 ? s->slices - 1 - i : i);
	s->step = fabs(step);
	s->start = step < 0.0 ? s->at[a] - s->step * s->z[a] : s->at[a] - step * a;
	return true;
}

/* Returns the smallest gap of known slices, if all gaps are multiples of it; else 0. */
static double common_gap(const struct bs_stack *s, const uint16_t *order)
{
	double least = HUGE_VAL;

	for (uint32_t i = 1; i < s->known; i++)
		least = fmin(least, s->at[order[i]] - s->at[order[i - 1]]);
	for (uint32_t i = 1; i < s->known; i++) {
		const double n = (s->at[order[i]] - s->at[order[i - 1]]) / least;

		if (!(fabs(n - round(n)) <= EQUAL * round(n)))
			return 0.0;
	}
	return least;
}

/* Orders the known slices by their positions. Returns the number of places until the last one. */
static uint32_t order_by_place(struct bs_stack *s, const uint16_t *order)
{
	const double gap = common_gap(s, order);
	double place = 0.0;

	s->start = s->at[order[0]];
	s->step = 0.0;
	for (uint32_t i = 1; gap > 0.0 && i < s->known; i++)
		place += round((s->at[order[i]] - s->at[order[i - 1]]) / gap);
	if (place > 0.0 && place < s->slices)
		s->step = (s->at[order[s->known - 1]] - s->start) / place;
	s->z[order[0]] = 0;
	for (uint32_t i = 1; i < s->known; i++)
		s->z[order[i]] =
			(uint16_t)(s->z[order[i - 1]] +
				   (s->step > 0.0
					    ? lround((s->at[order[i]] - s->at[order[i - 1]]) / gap)
					    : 1));
	return s->z[order[s->known - 1]] + 1u;
}

void bs_stack_order(struct bs_stack *s)
{
	uint16_t order[BS_FRAMES_MAX];
	bool taken[BS_FRAMES_MAX] = { false };
	uint16_t free_place = 0;
	uint32_t span;

	if (s->ordered == s->known)
		return;
	s->ordered = s->known;
	s->guessed = false;
	if (order_by_number(s))
		return;
	sort(s, order);
	span = order_by_place(s, order);
	s->guessed = s->known < s->slices && (s->known + 1 < s->slices || span < s->slices);
	for (uint32_t i = 0; i < s->known; i++)
		taken[s->z[order[i]]] = true;
	for (uint32_t i = 0; i < s->slices; i++) {
		if (s->told[i])
			continue;
		while (taken[free_place])
			free_place++;
		s->z[i] = free_place++;
	}
}

bool bs_stack_fits(const struct bs_stack *s, const struct bs_pose *a, uint32_t slice_a,
		   const struct bs_pose *b, uint32_t slice_b)
{
	const double t = s->at[slice_b - s->from] - s->at[slice_a - s->from];
	double aside;
	const double found = along(a, b, &aside);

	return apart(a, b) <= PARALLEL && aside <= tolerated(t) && fabs(found - t) <= tolerated(t);
}
