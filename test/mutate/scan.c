/* test/mutate/scan.c - see scan.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/mutate/scan.h"

uint32_t plan_samples(const struct plan *p)
{
	return p->nx * p->over;
}

/* ---- lines ---- */

bool line_resize(struct line *l, uint32_t samples, uint32_t channels)
{
	float complex *data = calloc((size_t)samples * channels + 1, sizeof(*data));

	for (uint32_t c = 0; data != NULL && l->data != NULL && c < channels; c++)
		for (uint32_t j = 0; c < l->head.active_channels && j < samples; j++)
			data[(size_t)c * samples + j] =
				j < l->head.number_of_samples
					? l->data[(size_t)c * l->head.number_of_samples + j]
					: 0.0F;
	free(l->data);
	l->data = data;
	l->head.number_of_samples = (uint16_t)samples;
	l->head.active_channels = (uint16_t)channels;
	if (l->head.available_channels < channels)
		l->head.available_channels = (uint16_t)channels;
	return data != NULL;
}

struct line *scan_insert(struct scan *s, uint32_t at, uint32_t samples, uint32_t channels)
{
	struct line *l;

	if (s->count == s->room) {
		struct line *more = realloc(s->lines, sizeof(*more) * (s->room * 2 + 64));

		if (more == NULL)
			return NULL;
		s->lines = more;
		s->room = s->room * 2 + 64;
	}
	l = &s->lines[at];
	memmove(l + 1, l, sizeof(*l) * (s->count - at));
	s->count++;
	memset(l, 0, sizeof(*l));
	(void)ismrmrd_init_acquisition_header(&l->head);
	l->head.number_of_samples = l->head.active_channels = l->head.available_channels = 0;
	l->role = ROLE_OTHER;
	l->head.read_dir[0] = l->head.phase_dir[1] = l->head.slice_dir[2] = 1.0F;
	l->head.sample_time_us = 5.0F;
	return line_resize(l, samples, channels) ? l : NULL;
}

static void free_line(struct line *l)
{
	free(l->data);
	free(l->path);
}

void scan_remove(struct scan *s, uint32_t at)
{
	free_line(&s->lines[at]);
	s->count--;
	memmove(&s->lines[at], &s->lines[at + 1], sizeof(*s->lines) * (s->count - at));
}

void scan_move(struct scan *s, uint32_t from, uint32_t to)
{
	const struct line l = s->lines[from];

	memmove(&s->lines[to + 1], &s->lines[to], sizeof(l) * (from - to));
	s->lines[to] = l;
}

/* ---- frames ---- */

static uint32_t frame_of(const struct plan *p, const uint32_t at[DIMS])
{
	uint32_t n = 0;

	for (int d = SLICE; d < DIMS; d++)
		n = n * p->count[d] + at[d];
	return n;
}

static bool make_frames(struct scan *s)
{
	const struct plan *p = &s->plan;
	const size_t rows = (size_t)p->nz * (p->path == PATH_RADIAL ? p->nx : p->ny);
	uint32_t at[DIMS] = { 0 };

	s->frame_count = 1;
	for (int d = SLICE; d < DIMS; d++)
		s->frame_count *= p->count[d];
	s->frames = calloc(s->frame_count, sizeof(*s->frames));
	for (uint32_t n = 0; s->frames != NULL && n < s->frame_count; n++) {
		struct frame *f = &s->frames[n];

		memcpy(f->at, at, sizeof(at));
		f->scale = p->count[AVERAGE] > 1 ? 0.9 + 0.2 * at[AVERAGE] : 1.0;
		f->position[2] = 8.0F * (float)at[SLICE];
		f->came = calloc((size_t)p->nz * p->ny, 1);
		f->k = malloc(sizeof(*f->k) * p->coils * p->nz * p->ny * plan_samples(p));
		f->images = malloc(sizeof(*f->images) * p->coils * rows * p->nx);
		if (f->came == NULL || f->k == NULL || f->images == NULL)
			return false;
		object_measure(p, f);
		for (int d = DIMS - 1; d >= SLICE && ++at[d] == p->count[d]; d--)
			at[d] = 0;
	}
	return s->frames != NULL;
}

/* ---- the order of time ---- */

static bool is_measured(const struct plan *p, const uint32_t at[DIMS], bool *calibrates)
{
	const double y = ((double)at[LINE] - p->ny / 2) / (p->ny / 2);
	const double z = p->nz > 1 ? ((double)at[PART] - p->nz / 2) / (p->nz / 2) : 0.0;
	const uint32_t first = (p->ny - p->acs) / 2;

	*calibrates = p->acs > 0 && at[LINE] >= first && at[LINE] < first + p->acs;
	if (at[LINE] < p->skip || at[PART] < p->skip_parts)
		return false;
	if (p->elliptical && y * y + z * z > 1.0)
		return false;
	if (p->moves)
		return (at[LINE] + at[REPETITION]) % p->accel == 0;
	if (p->bands && at[REPETITION] > 0 && at[SLICE] > 0)
		return false;
	return *calibrates || at[LINE] % p->accel == 0;
}

/* True: forward. Phase-correction lines are counted before the first line. */
static bool is_forward(const struct plan *p, const uint32_t at[DIMS])
{
	if (p->path == PATH_EPI || p->every_second_reversed)
		return at[LINE] % 2 == 0;
	return !p->bipolar || at[CONTRAST] % 2 == 0;
}

/* The samples of a line of a frame, as they are stored. */
static void put_samples(const struct scan *s, struct line *l, const struct frame *f, uint32_t kz,
			uint32_t ky, bool forward, double turn)
{
	const struct plan *p = &s->plan;
	const uint32_t ns = plan_samples(p);
	const uint32_t n = ns - p->early - p->late;

	for (uint32_t c = 0; c < p->coils; c++)
		for (uint32_t j = 0; j < n; j++) {
			const uint32_t k = p->early + (forward ? j : n - 1 - j);
			const size_t row = ((size_t)c * p->nz + kz) * p->ny + ky;
			double complex d = f->k[row * ns + k] * f->scale;

			if (f->many)
				d += s->frames[frame_of(p,
							(uint32_t[DIMS]){
								[SLICE] = 1,
								[REPETITION] = f->at[REPETITION] })]
					     .k[row * ns + k];
			l->data[(size_t)c * n + j] = (float complex)(d * cexp(I * turn));
		}
	l->head.center_sample = (uint16_t)(ns / 2 - p->early);
	if (!forward) {
		l->head.flags |= FLAG(22);
		l->head.center_sample = (uint16_t)(n - 1 - l->head.center_sample);
	}
}

#define ECHO_PHASE 0.35 /* radians, of reversed lines of EPI */

static void label(struct line *l, const struct plan *p, const struct frame *f,
		  const uint32_t at[DIMS])
{
	ISMRMRD_EncodingCounters *idx = &l->head.idx;

	idx->kspace_encode_step_1 = (uint16_t)(at[LINE] - p->skip);
	idx->kspace_encode_step_2 = (uint16_t)(at[PART] - p->skip_parts);
	idx->average = (uint16_t)at[AVERAGE];
	idx->slice = (uint16_t)at[SLICE];
	idx->contrast = (uint16_t)at[CONTRAST];
	idx->phase = (uint16_t)at[PHASE];
	idx->repetition = (uint16_t)at[REPETITION];
	idx->set = (uint16_t)at[SET];
	idx->segment = (uint16_t)(p->segmented ? at[LINE] / 4 : 0);
	if (p->path != PATH_RADIAL) {
		idx->user[5] = (uint16_t)(p->ny / 2 - p->skip);
		idx->user[6] = (uint16_t)(p->nz > 1 ? p->nz / 2 - p->skip_parts : 0);
	}
	memcpy(l->head.position, f->position, sizeof(f->position));
}

static struct line *add_line(struct scan *s, uint32_t frame, const uint32_t at[DIMS])
{
	const struct plan *p = &s->plan;
	struct line *l = scan_insert(s, s->count, plan_samples(p) - p->early - p->late, p->coils);

	if (l == NULL)
		return NULL;
	l->frame = frame;
	l->ky = at[LINE];
	l->kz = at[PART];
	label(l, p, &s->frames[frame], at);
	return l;
}

static bool add_triple(struct scan *s, uint32_t frame, const uint32_t at[DIMS])
{
	for (int i = 0; i < 3; i++) {
		uint32_t center[DIMS];
		struct line *l;

		memcpy(center, at, sizeof(center));
		center[LINE] = s->plan.ny / 2;
		l = add_line(s, frame, center);
		if (l == NULL)
			return false;
		put_samples(s, l, &s->frames[frame], 0, s->plan.ny / 2, i != 1,
			    i == 1 ? ECHO_PHASE : 0.0);
		l->head.flags |= FLAG(24);
		l->role = ROLE_CORRECTION;
	}
	return true;
}

static bool add_path(const struct plan *p, struct line *l)
{
	const uint32_t ns = plan_samples(p);

	l->head.trajectory_dimensions = 2;
	l->path = malloc(sizeof(float) * 2 * ns);
	for (uint32_t j = 0; l->path != NULL && j < ns; j++) {
		double k[2];

		object_spoke(p, l->ky, j, k);
		l->path[2 * j] = (float)k[0];
		l->path[2 * j + 1] = (float)k[1];
	}
	return l->path != NULL;
}

static bool measure_line(struct scan *s, const uint32_t at[DIMS])
{
	const struct plan *p = &s->plan;
	const uint32_t frame = frame_of(p, at);
	struct frame *f = &s->frames[frame];
	const bool forward = is_forward(p, at);
	bool calibrates;
	struct line *l;

	if (!is_measured(p, at, &calibrates))
		return true;
	f->many = p->bands && at[REPETITION] > 0;
	if (p->path == PATH_EPI && at[LINE] == p->skip && !add_triple(s, frame, at))
		return false;
	l = add_line(s, frame, at);
	if (l == NULL || (p->path == PATH_RADIAL && !add_path(p, l)))
		return false;
	put_samples(s, l, f, at[PART], at[LINE], forward,
		    p->path == PATH_EPI && !forward ? ECHO_PHASE : 0.0);
	l->role = ROLE_IMAGE;
	f->came[at[PART] * p->ny + at[LINE]] = 1;
	if (calibrates) {
		const bool between = p->accel > 1 && at[LINE] % p->accel != 0;

		l->head.flags |= between ? FLAG(20) : FLAG(21);
		l->role = between ? ROLE_CALIBRATION : ROLE_IMAGE;
	}
	return true;
}

/* As siemens_to_ismrmrd has them: 8 behind each frame, 14 and 25 behind repetition and scan. */
static void put_flags(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct line *l = &s->lines[i];
		bool last = true;
		bool last_of_repetition = true;

		for (uint32_t k = i + 1; k < s->count; k++) {
			last = last && s->lines[k].frame != l->frame;
			last_of_repetition =
				last_of_repetition &&
				s->lines[k].head.idx.repetition != l->head.idx.repetition;
		}
		l->head.flags |= last ? FLAG(8) : 0;
		l->head.flags |= last_of_repetition ? FLAG(14) : 0;
		l->head.flags |= i + 1 == s->count ? FLAG(25) : 0;
		l->head.scan_counter = i + 1;
		l->head.measurement_uid = 7;
		l->head.acquisition_time_stamp = 14760000 + 4 * i;
	}
}

static bool make_lines(struct scan *s)
{
	const struct plan *p = &s->plan;
	uint32_t at[DIMS] = { 0 };
	int d;

	do {
		uint32_t now[DIMS];

		memcpy(now, at, sizeof(now));
		now[SLICE] = p->in_time[at[SLICE]];
		if (!measure_line(s, now))
			return false;
		for (d = 0; d < DIMS && ++at[p->nest[d]] == p->count[p->nest[d]]; d++)
			at[p->nest[d]] = 0;
	} while (d < DIMS);
	put_flags(s);
	return true;
}

/* ---- header ---- */

static void put_number(char to[WORD], double value)
{
	(void)snprintf(to, WORD, "%g", value);
}

static void set_limit(struct limit *l, uint32_t count, uint32_t center)
{
	*l = (struct limit){ true, 0, (long)count - 1, center };
}

static void make_header(struct scan *s)
{
	const struct plan *p = &s->plan;
	const uint32_t ny = p->path == PATH_RADIAL ? p->nx : p->ny;
	const uint32_t nx = p->path == PATH_RADIAL ? p->nx : plan_samples(p);
	struct header *h = &s->header;

	memset(h, 0, sizeof(*h));
	put_number(h->encoded[0], nx);
	put_number(h->recon[0], p->nx);
	put_number(h->encoded[1], ny);
	put_number(h->recon[1], ny);
	put_number(h->encoded[2], p->nz);
	put_number(h->recon[2], p->nz);
	put_number(h->encoded_fov[0], 5.0 * nx);
	put_number(h->recon_fov[0], 5.0 * p->nx);
	put_number(h->encoded_fov[1], 5.0 * ny);
	put_number(h->recon_fov[1], 5.0 * ny);
	put_number(h->encoded_fov[2], 5.0 * p->nz);
	put_number(h->recon_fov[2], 5.0 * p->nz);
	set_limit(&h->limit[LIMIT_STEP1], p->ny - p->skip, p->ny / 2);
	set_limit(&h->limit[LIMIT_STEP2], p->nz - p->skip_parts, p->nz / 2);
	set_limit(&h->limit[LIMIT_AVERAGE], p->count[AVERAGE], 0);
	set_limit(&h->limit[LIMIT_SLICE], p->count[SLICE], 0);
	set_limit(&h->limit[LIMIT_CONTRAST], p->count[CONTRAST], 0);
	set_limit(&h->limit[LIMIT_PHASE], p->count[PHASE], 0);
	set_limit(&h->limit[LIMIT_REPETITION], p->count[REPETITION], 0);
	set_limit(&h->limit[LIMIT_SET], p->count[SET], 0);
	set_limit(&h->limit[LIMIT_SEGMENT], p->segmented ? p->ny / 4 : 1, 0);
	(void)snprintf(h->trajectory, WORD, "%s",
		       p->path == PATH_RADIAL ? "radial"
		       : p->path == PATH_EPI  ? "epi"
					      : "cartesian");
	put_number(h->accel[0], p->accel);
	put_number(h->accel[1], 1);
	(void)snprintf(h->calibration, WORD, "%s", p->acs > 0 ? "embedded" : "other");
	(void)snprintf(h->vendor, WORD, "SIEMENS");
	put_number(h->channels, p->coils);
	(void)snprintf(h->h1, WORD, "123200000");
	(void)snprintf(h->position, WORD, "HFS");
	(void)snprintf(h->measurement, WORD, "45_1_2_3");
	for (uint32_t i = 0; i < 3 && i < p->count[CONTRAST]; i++)
		put_number(h->te[i], 4.9 + 2.5 * i);
}

bool scan_make(struct scan *s, const struct plan *p)
{
	memset(s, 0, sizeof(*s));
	s->plan = *p;
	if (!make_frames(s) || !make_lines(s))
		return false;
	make_header(s);
	s->recon[0] = p->nx;
	s->recon[1] = p->path == PATH_RADIAL ? p->nx : p->ny;
	s->recon[2] = p->nz;
	for (int a = 0; a < 3; a++)
		s->voxel_mm[a] = 5.0;
	return true;
}

void scan_free(struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free_line(&s->lines[i]);
	for (uint32_t i = 0; s->frames != NULL && i < s->frame_count; i++) {
		free(s->frames[i].came);
		free(s->frames[i].k);
		free(s->frames[i].images);
	}
	free(s->lines);
	free(s->frames);
	memset(s, 0, sizeof(*s));
}
