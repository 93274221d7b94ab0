/* core/traj/online.c - see online.h */
#include "core/traj/online.h"

#include <math.h>
#include <string.h>

#include "core/traj/traj.h"

#define NEAR 0.1 /* steps of the grid: a smaller distance counts as the same place */

static double k_at(const struct bs_mrd_acq *head, const unsigned char *traj, uint32_t sample,
		   uint32_t axis)
{
	float k;

	memcpy(&k, traj + 4 * ((size_t)sample * head->trajectory_dimensions + axis), sizeof(k));
	return (double)k;
}

static bool is_zero(const struct bs_mrd_acq *head, const unsigned char *traj)
{
	for (uint32_t s = 0; s < head->number_of_samples; s++)
		for (uint32_t a = 0; a < head->trajectory_dimensions; a++)
			if (k_at(head, traj, s, a) != 0.0)
				return false;
	return true;
}

/* The step of the grid in the header's unit; 0: it gives no unit, or lacks its field of view. */
static double steps(const struct bs_scan_info *info, uint32_t encoded, uint32_t axis)
{
	struct bs_protocol p = { .encoded = { info->encoded[0], info->encoded[1],
					      info->encoded[2] } };

	memcpy(p.matrix, p.encoded, sizeof(p.matrix));
	memcpy(p.fov_mm, info->encoded_fov_mm, sizeof(p.fov_mm));
	for (int i = 0; bs_traj_units[i] != NULL; i++)
		if (strcmp(info->trajectory_unit, bs_traj_units[i]) == 0) {
			p.traj.unit = (enum bs_traj_unit)i;
			return bs_traj_unit_scale(&p, axis) * encoded;
		}
	return 0.0;
}

/* Samples lie one step apart along x; where the step is not known, evenly spaced. */
static bool is_along(const struct bs_mrd_acq *head, const unsigned char *traj, double step)
{
	const uint32_t first = head->discard_pre;
	const uint32_t last = head->number_of_samples - head->discard_post - 1u;
	const double from = k_at(head, traj, first, 0);
	const double whole = k_at(head, traj, last, 0) - from;
	const bool back = (head->flags & BS_MRD_IS_REVERSE) != 0;
	const double each = step > 0.0     ? (back ? -1.0 : 1.0) / step
			    : last > first ? whole / (last - first)
					   : 0.0;

	if (last > first && (step > 0.0 ? !(whole * each > 0.0) : whole == 0.0))
		return false;
	for (uint32_t s = first; s <= last; s++)
		if (!(fabs(k_at(head, traj, s, 0) - from - (s - first) * each) <=
		      NEAR * fabs(each)))
			return false;
	return step == 0.0 || fabs(from * step - round(from * step)) <= NEAR;
}

/* Samples lie at the line's own place across x; where the step is not known, at one place. */
static bool is_across(const struct bs_mrd_acq *head, const unsigned char *traj, uint32_t axis,
		      double step, double place, double slack)
{
	const double at =
		step > 0.0 ? place / step : fabs(k_at(head, traj, head->discard_pre, axis));

	for (uint32_t s = head->discard_pre;
	     s < (uint32_t)head->number_of_samples - head->discard_post; s++)
		if (!(fabs(fabs(k_at(head, traj, s, axis)) - at) <= slack))
			return false;
	return true;
}

bool bs_traj_on_line(const struct bs_mrd_acq *head, const void *traj,
		     const struct bs_scan_info *info, const uint32_t encoded[3],
		     const uint32_t line[2])
{
	const uint32_t axes = encoded[2] > 1 ? 3 : 2;
	const uint32_t dims =
		head->trajectory_dimensions < axes ? head->trajectory_dimensions : axes;
	const uint32_t discarded = (uint32_t)head->discard_pre + head->discard_post;
	double reach;

	if (dims == 0 || head->number_of_samples <= discarded || is_zero(head, traj))
		return true;
	if (!is_along(head, traj, steps(info, encoded[0], 0)))
		return false;
	reach = fabs(k_at(head, traj, head->discard_pre, 0) -
		     k_at(head, traj, head->number_of_samples - head->discard_post - 1u, 0));
	for (uint32_t a = 1; a < dims; a++) {
		const double step = steps(info, encoded[a], a);
		const double place = fabs((double)line[a - 1] - encoded[a] / 2);

		if (!is_across(head, traj, a, step, place,
			       NEAR * (step > 0.0 ? 1.0 / step : reach / encoded[a])))
			return false;
	}
	return true;
}
