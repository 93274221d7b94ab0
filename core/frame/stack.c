/* core/frame/stack.c - see stack.h */
#include "core/frame/stack.h"

#include <math.h>
#include <string.h>

#define PARALLEL 1e-3 /* largest difference of a direction's component */
#define ASIDE_MM 0.05 /* mm in the slice's plane, or off its place; headers round */
#define EQUAL    0.02 /* of the distance from slice to slice, largest difference of one */

/* A slice's place and directions, as a line or an image has them. */
struct pose {
	double position[3], dir[3][3]; /* dir: read, phase, slice */
};

static void set_pose(struct pose *to, const float position[3], const float read[3],
		     const float phase[3], const float slice[3])
{
	for (int d = 0; d < 3; d++) {
		to->position[d] = (double)position[d];
		to->dir[0][d] = (double)read[d];
		to->dir[1][d] = (double)phase[d];
		to->dir[2][d] = (double)slice[d];
	}
}

static struct pose pose_of_line(const struct bs_mrd_acq *h)
{
	struct pose to;

	set_pose(&to, h->position, h->read_dir, h->phase_dir, h->slice_dir);
	return to;
}

static struct pose pose_of_image(const struct bs_mrd_image *h)
{
	struct pose to;

	set_pose(&to, h->position, h->read_dir, h->phase_dir, h->slice_dir);
	return to;
}

/* The largest difference of the directions' components. */
static double turned(const struct pose *a, const struct pose *b)
{
	double most = 0.0;

	for (int i = 0; i < 3; i++)
		for (int d = 0; d < 3; d++)
			most = fmax(most, fabs(a->dir[i][d] - b->dir[i][d]));
	return most;
}

/*
 * mm from a to b along a's slice_dir. *aside: mm at right angles to it; 0 where there is no
 * direction.
 */
static double along(const struct pose *a, const struct pose *b, double *aside)
{
	const double *dir = a->dir[2];
	const double length = sqrt(dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2]);
	double all = 0.0;
	double t = 0.0;

	*aside = 0.0;
	if (!(length > 0.5))
		return 0.0;
	for (int d = 0; d < 3; d++) {
		const double off = b->position[d] - a->position[d];

		all += off * off;
		t += off * dir[d] / length;
	}
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
	if (!p->volume || !info->slice.given || info->slice.max < p->slices)
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

/* Once all slices are known: they lie equally far apart, or all in one place. */
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

/* The slice belongs to a stack with the first one, whose place is known. */
static int check_stack(const struct bs_stack *s, const struct bs_mrd_acq *head, double *at,
		       struct bs_fail *why)
{
	const struct pose a = pose_of_line(&s->first);
	const struct pose b = pose_of_line(head);
	double aside;

	*at = along(&a, &b, &aside);
	if (turned(&a, &b) > PARALLEL)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "slice %u is not parallel to slice %u, or is turned in its plane: "
			       "image.volume joins parallel slices",
			       head->idx.slice, s->first.idx.slice);
	if (aside > tolerated(*at))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "slice %u lies %.3g mm aside of slice %u: image.volume joins slices "
			       "that lie behind each other",
			       head->idx.slice, aside, s->first.idx.slice);
	return 0;
}

int bs_stack_see(struct bs_stack *s, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	const uint32_t i = (uint32_t)head->idx.slice - s->from;
	double at = 0.0;
	int rc;

	if (i >= s->slices)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: slice %u is none of the header's %u to %u, which "
			       "image.volume joins",
			       head->scan_counter, head->idx.slice, s->from,
			       s->from + s->slices - 1);
	if (s->told[i])
		return 0;
	if (s->known == 0)
		s->first = *head;
	rc = check_stack(s, head, &at, why);
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

/* Orders the known slices by their places, counted in the smallest gap between two of them. */
static uint32_t order_by_place(struct bs_stack *s, uint16_t order[BS_FRAMES_MAX])
{
	double least = HUGE_VAL;
	double most;

	sort(s, order);
	for (uint32_t i = 1; i < s->known; i++)
		least = fmin(least, s->at[order[i]] - s->at[order[i - 1]]);
	s->start = s->at[order[0]];
	most = s->at[order[s->known - 1]] - s->start;
	if (s->known == s->slices)
		least = most / (s->slices - 1);
	s->guessed = !(least > 0.0) || round(most / least) >= s->slices;
	s->step = s->guessed ? 0.0 : least;
	for (uint32_t i = 0; i < s->known; i++)
		s->z[order[i]] =
			(uint16_t)(s->guessed ? i : round((s->at[order[i]] - s->start) / least));
	return s->guessed ? s->known : (uint32_t)round(most / least) + 1;
}

void bs_stack_order(struct bs_stack *s)
{
	uint16_t order[BS_FRAMES_MAX];
	uint8_t taken[BS_FRAMES_MAX] = { 0 };
	uint32_t span;
	uint32_t hole = 0;

	if (s->ordered == s->known)
		return;
	s->ordered = s->known;
	s->guessed = false;
	if (order_by_number(s))
		return;
	span = order_by_place(s, order);
	for (uint32_t i = 0; i < s->known; i++)
		taken[s->z[order[i]]] = 1;
	for (uint32_t i = 0; i < s->slices; i++) {
		if (s->told[i])
			continue;
		while (taken[hole])
			hole++;
		s->z[i] = (uint16_t)hole++;
		s->guessed = s->guessed || span < s->slices;
	}
}

bool bs_stack_fits(const struct bs_stack *s, const struct bs_mrd_image *a,
		   const struct bs_mrd_image *b)
{
	const struct pose from = pose_of_image(a);
	const struct pose to = pose_of_image(b);
	const double t = s->at[b->slice - s->from] - s->at[a->slice - s->from];
	double aside;
	const double found = along(&from, &to, &aside);

	return turned(&from, &to) <= PARALLEL && aside <= tolerated(t) &&
	       fabs(found - t) <= tolerated(t);
}
