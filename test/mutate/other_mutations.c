/* test/mutate/other_mutations.c - paths, stamps, directions, sizes; see mutations.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/mutate/mutations.h"

static void scale_paths(struct scan *s, double by)
{
	EACH_IMAGING(s, l)
	for (uint32_t i = 0; l->path != NULL && i < (uint32_t)l->head.number_of_samples *
								l->head.trajectory_dimensions;
	     i++)
		l->path[i] = (float)(l->path[i] * by);
}

/* A voxel has 5 mm. */
static void path_per_metre(struct scan *s)
{
	scale_paths(s, 200.0);
}

static void path_in_matrix_units(struct scan *s)
{
	scale_paths(s, s->plan.nx);
}

static void path_without_unit(struct scan *s)
{
	scale_paths(s, 37.0);
}

static void density_behind(struct scan *s)
{
	EACH_IMAGING(s, l)
	{
		const uint32_t n = l->head.number_of_samples;
		float *path = calloc((size_t)n * 3, sizeof(*path));

		for (uint32_t j = 0; path != NULL && j < n; j++) {
			memcpy(path + 3 * j, l->path + 2 * j, 2 * sizeof(*path));
			path[3 * j + 2] = (float)(fabs((double)j - n / 2) / n);
		}
		free(l->path);
		l->path = path;
		l->head.trajectory_dimensions = 3;
	}
}

static void no_path(struct scan *s)
{
	EACH_IMAGING(s, l)
	{
		free(l->path);
		l->path = NULL;
		l->head.trajectory_dimensions = 0;
	}
}

static void recon_larger(struct scan *s)
{
	(void)snprintf(s->header.recon[1], WORD, "%u", 2 * s->plan.ny);
	(void)snprintf(s->header.recon[0], WORD, "%u", 2 * s->plan.nx);
	for (int a = 0; a < 2; a++) {
		s->recon[a] *= 2;
		s->voxel_mm[a] /= 2.0;
	}
}

static void recon_odd(struct scan *s)
{
	(void)snprintf(s->header.recon[0], WORD, "%u", s->plan.nx - 1);
	(void)snprintf(s->header.recon_fov[0], WORD, "%u", 5 * (s->plan.nx - 1));
	s->recon[0]--;
}

static void no_directions(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		memset(s->lines[i].head.read_dir, 0, sizeof(s->lines[i].head.read_dir));
		memset(s->lines[i].head.phase_dir, 0, sizeof(s->lines[i].head.phase_dir));
		memset(s->lines[i].head.slice_dir, 0, sizeof(s->lines[i].head.slice_dir));
	}
}

static void short_directions(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		s->lines[i].head.read_dir[0] = 0.8F;
		s->lines[i].head.slice_dir[2] = 0.0F;
	}
}

static void left_handed(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.read_dir[0] = -1.0F;
}

static void counter_with_gaps(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.scan_counter = 3 * i + 2 * (i / 4);
}

static void counter_restarts(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.scan_counter = i % 7;
}

static void stamp_zero(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.acquisition_time_stamp = 0;
}

static void past_midnight(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.acquisition_time_stamp =
			i < s->count / 2 ? 34559990 + i : i - s->count / 2;
}

static void unix_seconds(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->lines[i].head.acquisition_time_stamp = 1764346000 + i / 50;
}

/* Samples that no line has, zeros in front and behind, which are to be discarded. */
static void with_discards(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct line *l = &s->lines[i];
		const uint32_t n = l->head.number_of_samples;
		const uint32_t channels = l->head.active_channels;

		if (!line_resize(l, n + 8, channels))
			exit(1);
		for (uint32_t c = 0; c < channels; c++) {
			memmove(l->data + c * (n + 8) + 4, l->data + c * (n + 8),
				n * sizeof(*l->data));
			memset(l->data + c * (n + 8), 0, 4 * sizeof(*l->data));
		}
		l->head.discard_pre = l->head.discard_post = 4;
		l->head.center_sample += 4;
	}
}

static void too_many_discards(struct scan *s)
{
	EACH_IMAGING(s, l)
	l->head.discard_pre = l->head.number_of_samples;
}

/* Each line in four pieces, which differ in SET. */
static void split_over_sets(struct scan *s)
{
	for (uint32_t i = s->count; i-- > 0;) {
		const struct line whole = s->lines[i];
		const uint32_t n = whole.head.number_of_samples / 4;

		for (uint32_t part = 4; part-- > 0;) {
			struct line *l = scan_insert(s, i + 1, n, whole.head.active_channels);

			if (l == NULL)
				exit(1);
			l->head = whole.head;
			l->head.number_of_samples = (uint16_t)n;
			l->head.idx.set = (uint16_t)part;
			l->head.center_sample = (uint16_t)(n / 2);
			l->head.flags &= part < 3 ? ~(FLAG(8) | FLAG(14) | FLAG(25)) : ~FLAG(64);
			l->role = whole.role;
			l->frame = whole.frame;
			l->ky = whole.ky;
			if (whole.path != NULL) {
				l->path = malloc(sizeof(*l->path) * 2 * n);
				memcpy(l->path, whole.path + (size_t)2 * n * part,
				       sizeof(*l->path) * 2 * n);
			}
			for (uint32_t c = 0; c < whole.head.active_channels; c++)
				memcpy(l->data + (size_t)c * n,
				       whole.data + ((size_t)c * 4 + part) * n,
				       n * sizeof(*l->data));
		}
		scan_remove(s, i);
	}
	s->header.limit[LIMIT_SET].given = false;
}

/* A line in the middle of the scan comes, and nothing of it is of use. */
static void spoil_line(struct scan *s)
{
	const struct line *l = &s->lines[s->count / 2];

	s->frames[l->frame].came[l->kz * s->plan.ny + l->ky] = 0;
	s->lines_refused++;
}

static void no_samples(struct scan *s)
{
	spoil_line(s);
	(void)line_resize(&s->lines[s->count / 2], 0, s->plan.coils);
}

static void no_active_channels(struct scan *s)
{
	spoil_line(s);
	(void)line_resize(&s->lines[s->count / 2], s->lines[s->count / 2].head.number_of_samples,
			  0);
}

static void not_a_number(struct scan *s)
{
	spoil_line(s);
	s->lines[s->count / 2].data[3] = NAN;
}

static void without_lines(struct scan *s)
{
	while (s->count > 0)
		scan_remove(s, s->count - 1);
	for (uint32_t i = 0; i < s->frame_count; i++)
		s->frames[i].lost = s->plan.ny;
	s->no_lines = true;
}

static void only_noise(struct scan *s)
{
	struct line *l;

	without_lines(s);
	l = scan_insert(s, 0, 256, s->plan.coils);
	if (l == NULL)
		exit(1);
	l->head.flags = FLAG(19);
	l->role = ROLE_NOISE;
	for (uint32_t i = 0; i < 256 * s->plan.coils; i++)
		l->data[i] = (float)sin(1.7 * i) * 0.01F;
}

/* As GE's pepolar: of every second repetition the phase axis is turned round, with its lines. */
static void phase_alternates(struct scan *s)
{
	EACH_IMAGING(s, l)
	if (l->head.idx.repetition % 2 == 1)
		l->head.phase_dir[1] = -1.0F;
}

/* The shots of HyperBand: one slice more than there are, which is nobody's. */
static void slice_too_many(struct scan *s)
{
	const uint32_t from = s->count - 1;
	const uint16_t slice = (uint16_t)s->plan.count[SLICE];

	for (uint32_t i = 0; i < s->plan.ny * s->plan.count[AVERAGE]; i++) {
		const struct line was = s->lines[from];
		struct line *l = scan_insert(s, s->count, was.head.number_of_samples,
					     was.head.active_channels);

		if (l == NULL)
			exit(1);
		l->head = was.head;
		l->head.flags = 0;
		l->head.idx.slice = slice;
		l->head.idx.average = (uint16_t)(i / s->plan.ny);
		l->head.idx.kspace_encode_step_1 = (uint16_t)(i % s->plan.ny);
	}
	s->more_images = true;
}

const struct mutation other_mutations[] = {
	{ "41a", MIND, "R", "the path in 1/m", NULL, path_per_metre },
	{ "41b", TAKE, "R", "the path in cycles a voxel", NULL, NULL },
	{ "41c", MIND, "R", "the path in units of the matrix", NULL, path_in_matrix_units },
	{ "41d", REFUSE, "R", "the path in nobody's unit", NULL, path_without_unit },
	{ "41e", MIND, "R", "density in the third dimension", NULL, density_behind },
	{ "39d", REFUSE, "R", "radial without a path", NULL, no_path },
	{ "43a", TAKE, "CSEPG", "reconSpace twice as fine", NULL, recon_larger },
	{ "43b", TAKE, "CSEPG", "reconSpace of an odd number", NULL, recon_odd },
	{ "54a", MIND, "CSEPGIRD", "directions all 0", NULL, no_directions },
	{ "54b", MIND, "CSEPGIRD", "directions not of length 1", NULL, short_directions },
	{ "55a", TAKE, "CSEPGIRD", "a left-handed frame", NULL, left_handed },
	{ "58a", TAKE, "CSEPGIRD", "scan_counter with gaps", NULL, counter_with_gaps },
	{ "58b", TAKE, "CSEPGIRD", "scan_counter restarts", NULL, counter_restarts },
	{ "58c", TAKE, "CSEPGIRD", "time stamp 0", NULL, stamp_zero },
	{ "58d", TAKE, "CSEPGIRD", "past midnight", NULL, past_midnight },
	{ "58e", TAKE, "CSEPGIRD", "Unix seconds", NULL, unix_seconds },
	{ "59a", TAKE, "CSEPGD", "samples to be discarded on both sides", NULL, with_discards },
	{ "59b", REFUSE, "CS", "more discards than samples", NULL, too_many_discards },
	/* long ADCs are cut, which have paths: init knows such pieces, and nothing joins them; a
	 * line of a grid is never so long */
	{ "60b", REFUSE, "R", "the same along a path", NULL, split_over_sets },
	{ "60a", REFUSE, "CS", "one ADC over SET 0 to 3", NULL, split_over_sets },
	{ "64a", REFUSE, "CR", "only noise", NULL, only_noise },
	{ "64b", REFUSE, "CR", "no readout", NULL, without_lines },
	{ "69a", MIND, "CSD", "a readout without samples", NULL, no_samples },
	{ "69b", MIND, "CSD", "a readout without channels", NULL, no_active_channels },
	/* no origin sends it on purpose: which sample of which line it is says the refusal */
	{ "69c", REFUSE, "CSEPGIRD", "NaN among the samples", NULL, not_a_number },
	{ "71a", MIND, "C", "the phase direction alternates by repetition", NULL,
	  phase_alternates },
	{ "71b", MIND, "S", "a slice over the limits in a last shot", NULL, slice_too_many },
	{ 0 },
};
