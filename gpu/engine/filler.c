/* gpu/engine/filler.c - see filler.h */
#include "gpu/engine/filler.h"

#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "core/thread/clock.h"
#include "gpu/calibrate/region.h"

/* most calibration lines that are kept, y and z: what scanners are set to, and some room */
static const uint32_t kept[2] = { 64, 32 };
/*
 * Least lambda where it is chosen by the noise: calibration lines are few, however low their noise.
 */
#define LEAST 3e-4
/* most distinct neighborhoods of a frame, in 2D and 3D: a regular pattern has some tens */
static const uint32_t neighborhoods[2] = { 64, 512 };

struct bs_filler {
	const struct bs_protocol *p;
	struct bs_grappa *grappa;
	struct bs_region *region;
	uint8_t *have; /* [frame][line]: 1 where the line has come */
	size_t lines;
	int64_t calibrated_ns;
};

static struct bs_region_spec region_of(const struct bs_protocol *p)
{
	struct bs_region_spec s = { .samples = p->samples,
				    .coils = p->coils,
				    .slices = p->slices,
				    .contrasts = p->contrasts,
				    .lanes = bs_protocol_lanes(p) };

	memcpy(s.encoded, p->encoded, sizeof(s.encoded));
	for (int a = 0; a < 2; a++)
		s.lines[a] = bs_least(kept[a], p->encoded[a + 1]);
	return s;
}

struct bs_grappa_spec bs_filler_spec(const struct bs_protocol *p, uint32_t columns)
{
	const bool by_noise = p->grappa_lambda == 0.0;
	struct bs_grappa_spec s = { .columns = columns,
				    .coils = p->coils,
				    .sources = p->grappa_sources,
				    .neighborhoods = neighborhoods[p->encoded[2] > 1],
				    .sets = bs_protocol_frames(p),
				    .lambda = by_noise ? LEAST : p->grappa_lambda,
				    .by_noise = by_noise };

	memcpy(s.encoded, p->encoded, sizeof(s.encoded));
	memcpy(s.kernel, p->grappa_kernel, sizeof(s.kernel));
	for (int a = 0; a < 2; a++)
		s.lines[a] = bs_least(kept[a], p->encoded[a + 1]);
	return s;
}

static size_t lines_of(const struct bs_protocol *p)
{
	return (size_t)p->encoded[1] * p->encoded[2];
}

int bs_filler_need(const struct bs_protocol *p, uint32_t columns, struct bs_need *need,
		   struct bs_fail *why)
{
	const struct bs_region_spec r = region_of(p);
	const struct bs_grappa_spec g = bs_filler_spec(p, columns);
	int rc = bs_region_need(&r, need, why);

	if (rc == 0)
		rc = bs_grappa_need(&g, need, why);
	if (rc == 0)
		bs_need_add(need, "lines that have come", 1, bs_protocol_frames(p) * lines_of(p));
	return rc;
}

int bs_filler_plan(struct bs_filler **filler, const struct bs_protocol *p, uint32_t columns,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_region_spec r = region_of(p);
	const struct bs_grappa_spec g = bs_filler_spec(p, columns);
	struct bs_filler *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	f->p = p;
	f->lines = lines_of(p);
	rc = bs_region_plan(&f->region, &r, arena, why);
	if (rc == 0)
		rc = bs_grappa_plan(&f->grappa, &g, arena, team, why);
	f->have = bs_arena_take(arena, bs_protocol_frames(p) * f->lines, BS_ALIGN);
	if (rc == 0 && f->have == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': lines that have come", p->name);
	if (rc != 0) {
		bs_filler_close(f);
		return rc;
	}
	*filler = f;
	return 0;
}

void bs_filler_close(struct bs_filler *f)
{
	if (f == NULL)
		return;
	bs_region_close(f->region);
	bs_grappa_close(f->grappa);
	free(f);
}

void bs_filler_scan(struct bs_filler *f)
{
	bs_region_scan(f->region);
}

void bs_filler_begin(struct bs_filler *f, uint32_t frame)
{
	memset(f->have + frame * f->lines, 0, f->lines);
}

void bs_filler_add(struct bs_filler *f, uint32_t frame, uint32_t row, const float *data,
		   size_t coil_stride)
{
	f->have[frame * f->lines + row] = 1;
	if (!bs_plan_has(&f->p->plan, BS_PLAN_APART))
		bs_region_add(f->region, frame, row, false, data, coil_stride);
}

void bs_filler_side(struct bs_filler *f, uint32_t frame, uint32_t row, const float *data,
		    size_t coil_stride)
{
	bs_region_add(f->region, frame, row, true, data, coil_stride);
}

static bool has_any(const uint8_t *have, const uint32_t *size, int axis, uint32_t at)
{
	const size_t step = axis == 0 ? size[0] : 1;
	const uint8_t *line = have + (axis == 0 ? at : (size_t)at * size[0]);

	for (uint32_t i = 0; i < size[1 - axis]; i++)
		if (line[i * step] == 1)
			return true;
	return false;
}

/*
 * Marks lines that are beyond the outermost measured lines by a whole step of the pattern (partial
 * Fourier). No measured line is near enough to them: they stay zeros, which are closer to the truth
 * than what the weights would make. Returns false when all lines have come.
 */
static bool leave_beyond(uint8_t *have, const uint32_t size[2])
{
	bool lacks = false;

	for (uint32_t l = 0; l < size[0] * size[1]; l++) {
		have[l] = have[l] == 1;
		lacks = lacks || !have[l];
	}
	for (int a = 0; a < 2; a++) {
		uint32_t first = size[a];
		uint32_t last = 0;
		uint32_t step = 1;

		for (uint32_t i = 0; i < size[a]; i++) {
			if (!has_any(have, size, a, i))
				continue;
			step = first < size[a] && i - last > step ? i - last : step;
			first = first < size[a] ? first : i;
			last = i;
		}
		for (uint32_t z = 0; z < size[1]; z++)
			for (uint32_t y = 0; y < size[0]; y++) {
				const uint32_t i = a == 0 ? y : z;
				uint8_t *line = have + (size_t)z * size[0] + y;

				if (*line != 1 && (i + step <= first || i >= last + step))
					*line = BS_LINE_LEFT;
			}
	}
	return lacks;
}

static const char zeros[] = ": lines that were left out are zeros";

int bs_filler_prepare(struct bs_filler *f, uint32_t frame, uint8_t *have, struct bs_fail *why)
{
	const struct bs_protocol *p = f->p;
	const uint32_t want[2] = { bs_least(p->grappa_kernel[1], p->encoded[1]),
				   bs_least(p->grappa_kernel[2], p->encoded[2]) };
	const int lacking = bs_filler_lacking(p);
	struct bs_grappa_lines box;
	const int64_t start_ns = bs_now_ns();
	struct bs_fail reason;
	int rc;

	f->calibrated_ns = 0;
	if (!leave_beyond(have, p->encoded + 1))
		return 0;
	if (!bs_region_box(f->region, frame, want, &box))
		return bs_fail(
			why, lacking,
			"slice %u, contrast %u: parallel grappa needs %u x %u lines in a row "
			"around the center of k-space to calibrate (MRD flags 20, 21, or of "
			"the image); %u x %u have come%s",
			bs_protocol_frame_slice(p, frame), bs_protocol_frame_contrast(p, frame),
			want[0], want[1], box.lines[0], box.lines[1], lacking == 0 ? zeros : "");
	rc = bs_grappa_prepare(f->grappa, frame, have, &box, &reason);
	if (bs_grappa_made(f->grappa))
		f->calibrated_ns = bs_now_ns() - start_ns;
	if (rc == 0)
		return bs_grappa_neighbors(f->grappa)->missed > 0;
	rc = rc == BS_ERR_VALUE ? lacking : rc;
	return bs_fail(why, rc, "slice %u, contrast %u: %s%s", bs_protocol_frame_slice(p, frame),
		       bs_protocol_frame_contrast(p, frame), reason.text, rc == 0 ? zeros : "");
}

uint8_t *bs_filler_have(const struct bs_filler *f, uint32_t frame)
{
	return f->have + frame * f->lines;
}

int64_t bs_filler_calibrated_ns(const struct bs_filler *f)
{
	return f->calibrated_ns;
}

struct bs_grappa *bs_filler_grappa(struct bs_filler *f)
{
	return f->grappa;
}
