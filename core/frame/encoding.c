/* core/frame/encoding.c - see encoding.h */
#include "core/frame/encoding.h"

#include <math.h>
#include <string.h>

#include "core/frame/center.h"
#include "core/frame/readout.h"
#include "core/text.h"

static bool same_limit(const struct bs_limit *a, const struct bs_limit *b)
{
	return a->given == b->given &&
	       (!a->given || (a->min == b->min && a->max == b->max && a->center == b->center));
}

static uint32_t factor(uint32_t written)
{
	return written > 0 ? written : 1;
}

/* Returns true if the encoding is the same as the first one, but for its field of view. */
static bool is_same(const struct bs_mrd_encoding *e, const struct bs_scan_info *info)
{
	return memcmp(e->encoded, info->encoded, sizeof(e->encoded)) == 0 &&
	       memcmp(e->recon, info->recon, sizeof(e->recon)) == 0 &&
	       factor(e->acceleration[0]) == factor(info->acceleration[0]) &&
	       factor(e->acceleration[1]) == factor(info->acceleration[1]) &&
	       same_limit(&e->step1, &info->step1) && same_limit(&e->step2, &info->step2);
}

/* The field of view that is sampled: of a readout's encodedSpace may lack the oversampling. */
static double sampled_mm(const uint32_t encoded[3], const float fov_mm[3], uint32_t samples,
			 int axis)
{
	const uint32_t times = axis == 0 ? bs_readout_oversampling(samples, encoded[0]) : 1;

	return (double)fov_mm[axis] * (times > 0 ? times : 1);
}

/*
 * Returns true if the encoding's lines, and samples, lie as far apart in k as those of the first
 * one.
 */
static bool has_steps(const struct bs_mrd_encoding *e, const struct bs_scan_info *info,
		      uint32_t samples)
{
	for (int a = 0; a < 3; a++) {
		const double mm = sampled_mm(info->encoded, info->encoded_fov_mm, samples, a);
		const double own = sampled_mm(e->encoded, e->encoded_fov_mm, samples, a);

		if (info->encoded[a] > 1 && (!(mm > 0.0) || !(fabs(own - mm) <= 1e-3 * mm)))
			return false;
	}
	return true;
}

static bool is_line(const struct bs_protocol *p, const struct bs_scan_info *info,
		    const struct bs_mrd_acq *head)
{
	struct bs_center c;
	int64_t line[2];

	bs_center_place(line, &c, &p->encoded[1], info, head);
	return line[0] >= 0 && line[0] < p->encoded[1] && line[1] >= 0 && line[1] < p->encoded[2];
}

static bool calibrates(const struct bs_protocol *p, const struct bs_scan_info *info,
		       const struct bs_mrd_encoding *e, const struct bs_mrd_acq *head)
{
	const uint32_t discarded = (uint32_t)head->discard_pre + head->discard_post;

	return p->plan.on_grid && has_steps(e, info, p->samples) &&
	       head->number_of_samples == p->samples + discarded &&
	       head->active_channels == p->coils && bs_readout_fits(p, head) &&
	       is_line(p, info, head);
}

void bs_encoding_judge(const struct bs_protocol *p, const struct bs_scan_info *info,
		       struct bs_mrd_acq *head)
{
	const struct bs_mrd_encoding *e = bs_encoding_of(info, head);
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	bool fits = false;

	if (kind != BS_KIND_NOISE && bs_encoding_misfit(p, info, head)) {
		head->flags |= BS_MRD_MISFIT;
		return;
	}
	if (head->encoding_space_ref == 0 || head->encoding_space_ref >= info->encodings ||
	    (kind != BS_KIND_IMAGING && kind != BS_KIND_CALIBRATION &&
	     kind != BS_KIND_PHASE_CORRECTION))
		return;
	if (e != NULL && kind == BS_KIND_IMAGING)
		fits = is_same(e, info);
	else if (e != NULL && kind == BS_KIND_CALIBRATION)
		fits = calibrates(p, info, e, head);
	if (!fits)
		head->flags |= BS_MRD_OF_ANOTHER;
}

void bs_encodings_see(struct bs_encodings_left *left, const struct bs_mrd_acq *head,
		      uint64_t images)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags & ~BS_MRD_OF_ANOTHER);

	left->before = left->lines == 0 ? images : left->before;
	left->lines += kind == BS_KIND_IMAGING;
	left->calibration += kind == BS_KIND_CALIBRATION;
	left->rest += kind != BS_KIND_IMAGING && kind != BS_KIND_CALIBRATION;
	left->ref = head->encoding_space_ref;
}

const char *bs_encodings_words(char *out, size_t cap, const struct bs_encodings_left *left,
			       const struct bs_scan_info *info, bool lines)
{
	const uint64_t n = left->lines + (lines ? 0 : left->calibration);
	const struct bs_mrd_acq head = { .encoding_space_ref = left->ref };
	const struct bs_mrd_encoding *e = bs_encoding_of(info, &head);
	struct bs_text t = { out, cap, 0, cap == 0 };

	if (cap > 0)
		out[0] = '\0';
	if (n == 0)
		return out;
	bs_text_put(&t, "%llu readout%s of encoding %u", (unsigned long long)n,
		    n == 1 ? " is" : "s are", left->ref);
	if (e != NULL)
		bs_text_put(&t, " (%u x %u x %u, %g x %g x %g mm)", e->encoded[0], e->encoded[1],
			    e->encoded[2], (double)e->encoded_fov_mm[0],
			    (double)e->encoded_fov_mm[1], (double)e->encoded_fov_mm[2]);
	bs_text_put(&t, ", which this protocol does not reconstruct");
	return out;
}
