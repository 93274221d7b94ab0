/* ipc/wire/limits.c - see limits.h */
#include "ipc/wire/limits.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ipc/wire/about.h"

enum { MIN, MAX, CENTER };
static const char *const parts[3] = { "minimum", "maximum", "center" };

#define AT(field) offsetof(struct bs_scan_info, field)
static const struct {
	const char *name;
	size_t at;
} known[] = { { "kspace_encoding_step_1", AT(step1) },
	      { "kspace_encoding_step_2", AT(step2) },
	      { "slice", AT(slice) },
	      { "contrast", AT(contrast) },
	      { "repetition", AT(repetition) },
	      { "average", AT(average) },
	      { "set", AT(set) },
	      { "phase", AT(phase) } };
_Static_assert(sizeof(known) / sizeof(known[0]) == BS_LIMITS, "a place for each");

bool bs_limits_put(struct bs_limits *l, const char *name, const char *part, int64_t value)
{
	for (int i = 0; i < BS_LIMITS; i++)
		for (int j = 0; j < 3 && strcmp(name, known[i].name) == 0; j++)
			if (strcmp(part, parts[j]) == 0) {
				l->of[i].value[j] = value;
				l->of[i].there[j] = true;
				return true;
			}
	return false;
}

/*
 * Lines lie on a grid. Along a path the center of the lines says nothing, and a pass may have one
 * line.
 */
static bool is_grid(const struct bs_scan_info *info)
{
	static const char *const paths[] = { "radial", "goldenangle", "spiral" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(info->trajectory_name, paths[i]) == 0)
			return false;
	return true;
}

static bool is_range(const struct bs_limits_written *w)
{
	return w->there[MAX] && w->value[MIN] >= 0 && w->value[MAX] >= w->value[MIN];
}

static bool is_zero(const struct bs_limits_written *w)
{
	return w->value[MIN] == 0 && w->value[MAX] == 0;
}

/* Writes limits in words, "-10 to 9, center 0". */
static const char *words_of(char out[96], const struct bs_limits_written *w)
{
	char n[3][24];

	for (int j = 0; j < 3; j++)
		(void)snprintf(n[j], sizeof(n[j]), w->there[j] ? "%lld" : "none",
			       (long long)w->value[j]);
	if (!w->there[MIN] && !w->there[MAX] && !w->there[CENTER])
		(void)snprintf(out, 96, "not there");
	else
		(void)snprintf(out, 96, "%s to %s, center %s", n[MIN], n[MAX], n[CENTER]);
	return out;
}

/* Returns true if the limits lie on the grid with this center. */
static bool fits(const struct bs_limits_written *w, int64_t center, int64_t size)
{
	return w->value[MIN] + size / 2 - center >= 0 && w->value[MAX] + size / 2 - center < size;
}

/* Takes the limits of lines on a grid of `size` lines. */
static void take_step(const struct bs_limits_written *w, const char *name, uint32_t size,
		      struct bs_limit *to, struct bs_scan_info *info)
{
	const int64_t middle = size / 2;
	const bool range = is_range(w) && (w->value[MAX] > 0 || size == 1);
	char words[96];

	if (range && w->there[CENTER] &&
	    (w->value[CENTER] == middle ||
	     (w->value[CENTER] >= 0 && w->value[CENTER] <= w->value[MAX] &&
	      (fits(w, w->value[CENTER], size) || !fits(w, middle, size)))))
		return;
	to->given = range;
	to->center = (uint32_t)middle;
	bs_about_remark(info, "%s of encodingLimits is %s: %scenter %lld taken", name,
			words_of(words, w), range ? "" : "counters as they are, ",
			(long long)middle);
}

/* Takes a slice's thickness from reconSpace if one partition was measured. */
static void take_slice(const struct bs_limits_written *step2, struct bs_scan_info *info)
{
	if (info->encoded[2] <= 1 || info->recon[2] != 1 || !step2->there[MAX] || !is_zero(step2))
		return;
	bs_about_remark(info,
			"encodedSpace has %u partitions, but kspace_encoding_step_2 of "
			"encodingLimits is 0 to 0: one partition taken, %g mm by reconSpace",
			info->encoded[2], (double)info->fov_mm[2]);
	info->encoded[2] = 1;
	info->encoded_fov_mm[2] = info->fov_mm[2];
}

void bs_limits_take(const struct bs_limits *l, struct bs_scan_info *info)
{
	const bool grid = is_grid(info);
	char words[96];

	take_slice(&l->of[1], info);
	for (int i = 0; i < BS_LIMITS; i++) {
		const struct bs_limits_written *w = &l->of[i];
		struct bs_limit *to = (struct bs_limit *)(void *)((char *)info + known[i].at);

		*to = (struct bs_limit){ 0 };
		if (is_range(w))
			*to = (struct bs_limit){ .min = (uint32_t)w->value[MIN],
						 .max = (uint32_t)w->value[MAX],
						 .center = w->value[CENTER] > 0
								   ? (uint32_t)w->value[CENTER]
								   : 0,
						 .given = 1 };
		/* with a single line or partition only its center can be wrong */
		if (i < 2 && grid && (info->encoded[1 + i] > 1 || w->there[CENTER]))
			take_step(w, known[i].name, info->encoded[1 + i], to, info);
		else if (!is_range(w) && (w->there[MIN] || w->there[MAX]))
			bs_about_remark(info, "%s of encodingLimits is %s: not used", known[i].name,
					words_of(words, w));
	}
}
