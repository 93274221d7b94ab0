/* gpu/calibrate/region.c - see region.h */
#include "gpu/calibrate/region.h"

#include <stdlib.h>
#include <string.h>

#define NO_FRAME UINT32_MAX

/* The kinds of line that a place of the window can hold. */
enum line { NONE, OF_IMAGE, FLAGGED };

struct frame {
	uint64_t version; /* number of the last line that was stored; 0: none */
	bool flagged;     /* calibration lines have come: lines of the image do not count */
	bool taken;       /* a box of lines of the image has been taken */
};

struct bs_region {
	struct bs_region_spec s;
	uint32_t first[2];   /* first line of the window, along y and z */
	size_t coil, stride; /* complex values of a coil, and of a frame */
	float *lines;        /* lines of the window, [frame][coil][z][y][x] */
	uint8_t *have;       /* [frame][z][y]: enum line */
	struct frame *frame;
	uint64_t version;
};

static size_t window(const struct bs_region_spec *s)
{
	return (size_t)s->lines[0] * s->lines[1];
}

static uint32_t lanes_of(const struct bs_region_spec *s)
{
	return s->lanes > 0 ? s->lanes : 1;
}

static uint32_t frames_of(const struct bs_region_spec *s)
{
	return s->slices * s->contrasts * lanes_of(s);
}

int bs_region_need(const struct bs_region_spec *s, struct bs_need *need, struct bs_fail *why)
{
	const uint32_t frames = frames_of(s);
	uint64_t bytes;

	for (int a = 0; a < 2; a++)
		if (s->lines[a] == 0 || s->lines[a] > s->encoded[a + 1] ||
		    s->lines[a] > BS_REGION_LINES_MAX || s->encoded[a + 1] > 4096)
			return bs_fail(why, BS_ERR_CONFIG,
				       "calibration: %u lines along %c of %u (at most %u)",
				       s->lines[a], "yz"[a], s -> encoded[a + 1],
				       BS_REGION_LINES_MAX);
	if (s->samples == 0 || s->samples > s->encoded[0] || s->encoded[0] > 65535 ||
	    s->coils == 0 || frames == 0 ||
	    __builtin_mul_overflow((uint64_t)s->encoded[0] * window(s), (uint64_t)s->coils * 8u,
				   &bytes))
		return bs_fail(why, BS_ERR_CONFIG,
			       "calibration: %u samples of %u, %u coils, %u frames", s->samples,
			       s->encoded[0], s->coils, frames);
	if (__builtin_mul_overflow(bytes, (uint64_t)frames, &bytes))
		return bs_fail(why, BS_ERR_CONFIG, "calibration: %u frames", frames);
	bs_need_add(need, "calibration lines", 1, bytes);
	bs_need_add(need, "which have come", 1, frames * window(s));
	bs_need_add(need, "calibration lines' frames", 1, frames * sizeof(struct frame));
	return 0;
}

int bs_region_plan(struct bs_region **plan, const struct bs_region_spec *s, struct bs_arena *arena,
		   struct bs_fail *why)
{
	struct bs_region *r = calloc(1, sizeof(*r));
	const size_t frames = frames_of(s);

	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "calibration lines");
	r->s = *s;
	for (int a = 0; a < 2; a++)
		r->first[a] = s->encoded[a + 1] / 2 - s->lines[a] / 2;
	r->coil = window(s) * s->encoded[0];
	r->stride = r->coil * s->coils;
	r->lines = bs_arena_take(arena, frames * r->stride * 8, BS_ALIGN);
	r->have = bs_arena_take(arena, frames * window(s), BS_ALIGN);
	r->frame = bs_arena_take(arena, frames * sizeof(*r->frame), BS_ALIGN);
	if (r->lines == NULL || r->have == NULL || r->frame == NULL) {
		free(r);
		return bs_fail(why, BS_ERR_NOMEM, "calibration lines: the arena is too small");
	}
	bs_region_scan(r);
	*plan = r;
	return 0;
}

void bs_region_close(struct bs_region *r)
{
	free(r);
}

void bs_region_scan(struct bs_region *r)
{
	const size_t frames = frames_of(&r->s);

	memset(r->have, NONE, frames * window(&r->s));
	memset(r->frame, 0, frames * sizeof(*r->frame));
}

/*
 * The index of a frame's slice and contrast in the list of those whose box was taken from lines of
 * the image.
 */
static uint32_t taken_of(const struct bs_region *r, uint32_t frame)
{
	const uint32_t lanes = lanes_of(&r->s);
	const uint32_t first = frame / lanes * lanes;

	for (uint32_t i = first; i < first + lanes; i++)
		if (r->frame[i].taken)
			return i;
	return NO_FRAME;
}

void bs_region_add(struct bs_region *r, uint32_t frame, uint32_t line, bool flagged,
		   const float *data, size_t coil_stride)
{
	const struct bs_region_spec *s = &r->s;
	/* a line below the window wraps to a large number */
	const uint32_t y = line % s->encoded[1] - r->first[0];
	const uint32_t z = line / s->encoded[1] - r->first[1];
	const size_t at = (size_t)z * s->lines[0] + y;
	const size_t missing = s->encoded[0] - s->samples;
	struct frame *f = &r->frame[frame];
	const bool taken = taken_of(r, frame) != NO_FRAME;
	float *to = r->lines + 2 * (frame * r->stride + at * s->encoded[0]);

	if (y >= s->lines[0] || z >= s->lines[1] ||
	    (!flagged && (f->flagged || (taken && !s->renews))))
		return;
	for (uint32_t c = 0; c < s->coils; c++, to += 2 * r->coil) {
		memset(to, 0, missing * 8);
		memcpy(to + 2 * missing, data + 2 * c * coil_stride, (size_t)s->samples * 8);
	}
	r->have[frame * window(s) + at] = flagged ? FLAGGED : OF_IMAGE;
	f->flagged = f->flagged || flagged;
	f->version = ++r->version;
}

/* Finds the lines of column y that have come without a gap around the middle of z: [first, end). */
static void column(const struct bs_region *r, const uint8_t *have, uint8_t kind, uint32_t y,
		   uint32_t run[2])
{
	const uint32_t middle = r->s.lines[1] / 2;
	const uint32_t wide = r->s.lines[0];

	run[0] = run[1] = middle;
	while (run[1] < r->s.lines[1] && have[run[1] * wide + y] == kind)
		run[1]++;
	while (run[1] > middle && run[0] > 0 && have[(run[0] - 1) * wide + y] == kind)
		run[0]--;
}

/*
 * Finds, among all boxes that hold the middle line, the one with the most lines; the first of
 * equals.
 */
static void largest(const struct bs_region *r, const uint8_t *have, uint8_t kind, uint32_t at[2],
		    uint32_t lines[2])
{
	const uint32_t middle = r->s.lines[0] / 2;
	uint32_t left[2] = { 0, UINT32_MAX };

	lines[0] = lines[1] = 0;
	at[0] = at[1] = 0;
	for (uint32_t from = middle; from != UINT32_MAX; from--) {
		uint32_t run[2];
		uint32_t z[2];

		column(r, have, kind, from, run);
		left[0] = run[0] > left[0] ? run[0] : left[0];
		left[1] = run[1] < left[1] ? run[1] : left[1];
		z[0] = left[0];
		z[1] = left[1];
		for (uint32_t to = middle; to < r->s.lines[0] && z[1] > z[0]; to++) {
			column(r, have, kind, to, run);
			z[0] = run[0] > z[0] ? run[0] : z[0];
			z[1] = run[1] < z[1] ? run[1] : z[1];
			if (z[1] > z[0] && (to - from + 1) * (z[1] - z[0]) > lines[0] * lines[1]) {
				lines[0] = to - from + 1;
				lines[1] = z[1] - z[0];
				at[0] = from;
				at[1] = z[0];
			}
		}
	}
}

static bool box_of(struct bs_region *r, uint32_t frame, const uint32_t least[2],
		   struct bs_grappa_lines *box)
{
	const struct bs_region_spec *s = &r->s;
	struct frame *f = &r->frame[frame];
	uint32_t at[2];

	largest(r, r->have + frame * window(s), f->flagged ? FLAGGED : OF_IMAGE, at, box->lines);
	box->at = r->lines +
		  2 * (frame * r->stride + ((size_t)at[1] * s->lines[0] + at[0]) * s->encoded[0]);
	box->coil_step = r->coil;
	box->z_step = (size_t)s->lines[0] * s->encoded[0];
	box->y_step = s->encoded[0];
	box->version = f->version;
	if (box->lines[0] < least[0] || box->lines[1] < least[1] || f->version == 0)
		return false;
	f->taken = !f->flagged;
	return true;
}

bool bs_region_box(struct bs_region *r, uint32_t frame, const uint32_t least[2],
		   struct bs_grappa_lines *box)
{
	const uint32_t lanes = lanes_of(&r->s);
	const uint32_t first = frame / lanes * lanes;
	const uint32_t slice = first - first % (lanes * r->s.contrasts);
	const uint32_t taken = taken_of(r, frame);
	struct bs_grappa_lines other;

	if (r->frame[frame].flagged && box_of(r, frame, least, box))
		return true;
	for (uint32_t i = first; i < first + lanes; i++)
		if (i != frame && r->frame[i].flagged && box_of(r, i, least, box))
			return true;
	if (taken != NO_FRAME && box_of(r, taken, least, box))
		return true;
	if (box_of(r, frame, least, box))
		return true;
	for (uint32_t i = slice; i < slice + lanes * r->s.contrasts; i++)
		if (box_of(r, i, least, &other)) {
			*box = other;
			return true;
		}
	return false;
}
