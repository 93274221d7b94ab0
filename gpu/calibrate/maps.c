/* gpu/calibrate/maps.c - see maps.h */
#include "gpu/calibrate/maps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sizes.h"
#include "gpu/calibrate/espirit.h"
#include "gpu/calibrate/maps_simd.h"
#include "gpu/calibrate/region.h"
#include "gpu/calibrate/walsh.h"

#define TAU 6.28318530717958647692

struct bs_maps {
	const struct bs_protocol *p;
	struct bs_team *team;
	struct bs_region *region;
	struct bs_espirit *espirit;
	int (*elsewhere)(void *self, const uint32_t size[3], const float *block, float *maps,
			 /* function that makes maps elsewhere; NULL: they are made here */
			 struct bs_fail *why);
	void *self; /* argument for the function `elsewhere` */
	struct bs_walsh *walsh;
	const struct bs_maps_kernels *simd;
	uint32_t most[3]; /* most samples of a block on each axis */
	uint32_t width;   /* voxels in a row of the matrix, padded */
	float *trim;      /* transform along x, [x of the block][encoded x] complex */
	float *own;       /* block of the region's lines */
	float *maps;      /* maps of all slices, [slice][coil][z][y][x] complex */
	/* [slice]: version of the lines that its maps are made from; 0: it has no maps */
	uint64_t *version;
	uint32_t *leader; /* [slice]: the frame with whose images the maps are made */
	uint32_t *passed; /* [slice]: images of a sliding window since the maps were made */
	double *removed;  /* [slice]: phase from a line to the next that was taken off */
	/* These are for Walsh's maps. */
	float *images; /* images of the block, [coil][z][y][x] complex */
	/* [member] memory for the rows of a coil: [kz][ky], then [kz][y], then one row */
	float *rows;
	size_t rows_stride;
	float *phase[3]; /* [k][x] rows; [y][k], [z][k] complex: exp(i2pi k n / field) */
	/* These members belong to the run in progress. */
	struct bs_grappa_lines box;
	const float *block; /* block that calibrates, [coil][z][y][x] complex */
	/* samples of the block; lines of the box before the block along y and z */
	uint32_t size[3], skipped[2];
	double cycles; /* phase from a line to the next that is taken off */
};

static struct bs_region_spec region_of(const struct bs_protocol *p)
{
	struct bs_region_spec s = { .samples = p->samples,
				    .coils = p->coils,
				    .slices = p->slices,
				    .contrasts = p->contrasts,
				    .lanes = bs_protocol_lanes(p),
				    .renews = p->frame_step > 0 };

	for (int a = 0; a < 3; a++)
		s.encoded[a] = p->encoded[a];
	for (int a = 0; a < 2; a++)
		s.lines[a] = bs_least(p->calibration_lines, p->encoded[a + 1]);
	return s;
}

/*
 * Voxels of the field of view. Along the readout they are the matrix's, since lines are
 * oversampled.
 */
static uint32_t field(const struct bs_protocol *p, int axis)
{
	return axis == 0 || !p->plan.on_grid ? p->matrix[axis] : p->encoded[axis];
}

static struct bs_espirit_spec espirit_of(const struct bs_protocol *p, const uint32_t block[3])
{
	const uint32_t kernel = p->espirit_kernel > 0 ? p->espirit_kernel : p->dims == 2 ? 6 : 4;
	struct bs_espirit_spec s = { .coils = p->coils,
				     .sets = bs_protocol_map_images(p),
				     .threshold = p->espirit_threshold,
				     .crop = p->espirit_crop };

	for (int a = 0; a < 3; a++) {
		s.block[a] = block[a];
		/*
		 * A kernel as wide as a thin slab would fit in one place only, and nothing would
		 * repeat.
		 */
		s.kernel[a] = bs_least(kernel, (block[a] + 1) / 2);
		s.field[a] = field(p, a);
		s.matrix[a] = p->matrix[a];
	}
	return s;
}

static struct bs_walsh_spec walsh_of(const struct bs_protocol *p)
{
	struct bs_walsh_spec s = { .coils = p->coils };

	for (int a = 0; a < 3; a++) {
		s.matrix[a] = p->matrix[a];
		s.half[a] = p->matrix[a] > 1 ? p->walsh_block / 2 : 0;
	}
	return s;
}

static bool by_walsh(const struct bs_protocol *p)
{
	return p->maps == BS_MAPS_WALSH;
}

/* Lays out the arrays; the check command lists their sum. */
static void lay_out(struct bs_maps *m, struct bs_room *r)
{
	const struct bs_protocol *p = m->p;
	const uint32_t *n = m->most;
	const bool grid = p->plan.on_grid;
	const bool walsh = by_walsh(p);

	bs_room_take(r, &m->trim, "", grid, (uint64_t)n[0] * p->encoded[0] * 8);
	bs_room_take(r, &m->own, "", grid, p->coils * bs_box_size(n) * 8);
	bs_room_take(r, &m->version, "", 1, p->slices * 8u);
	bs_room_take(r, &m->leader, "", 1, p->slices * 4u);
	bs_room_take(r, &m->passed, "", 1, p->slices * 4u);
	bs_room_take(r, &m->removed, "", 1, p->slices * 8u);
	bs_room_take(r, &m->images, "", walsh, p->coils * bs_protocol_voxels(p) * 8);
	bs_room_take(r, &m->rows, "", walsh, BS_TEAM_MAX * m->rows_stride * 4);
	bs_room_take(r, &m->phase[0], "", walsh, (uint64_t)n[0] * m->width * 8);
	bs_room_take(r, &m->phase[1], "", walsh, (uint64_t)p->matrix[1] * n[1] * 8);
	bs_room_take(r, &m->phase[2], "", walsh, (uint64_t)p->matrix[2] * n[2] * 8);
}

static void size(struct bs_maps *m, const struct bs_protocol *p)
{
	memset(m, 0, sizeof(*m));
	m->p = p;
	m->most[0] = bs_least(p->calibration_lines, p->matrix[0]);
	for (int a = 1; a < 3; a++)
		m->most[a] = bs_least(p->calibration_lines, field(p, a));
	m->width = bs_maps_padded(p->matrix[0]);
	m->rows_stride =
		(size_t)2 * m->width * ((size_t)m->most[2] * (m->most[1] + p->matrix[1]) + 1);
}

bool bs_maps_by_espirit(const struct bs_protocol *p, struct bs_espirit_spec *spec)
{
	struct bs_maps m;

	if (p->plan.maps != BS_PLAN_MAPS_SCAN || by_walsh(p))
		return false;
	size(&m, p);
	*spec = espirit_of(p, m.most);
	return true;
}

int bs_maps_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	const struct bs_region_spec region = region_of(p);
	const struct bs_walsh_spec walsh = walsh_of(p);
	struct bs_espirit_spec espirit;
	struct bs_maps m;
	struct bs_room room = { 0 };
	int rc;

	if (plan->maps != BS_PLAN_MAPS_SCAN)
		return 0;
	size(&m, p);
	lay_out(&m, &room);
	espirit = espirit_of(p, m.most);
	rc = plan->on_grid ? bs_region_need(&region, need, why) : 0;
	if (rc == 0)
		rc = by_walsh(p) ? bs_walsh_need(&walsh, need, why)
				 : bs_espirit_need(&espirit, need, why);
	if (rc == 0)
		bs_need_add(need, "calibration", 1, room.bytes);
	return rc;
}

/*
 * Makes the matrix that crops the samples of a line in the image: from the encoded samples to those
 * of the block.
 */
static void make_trim(struct bs_maps *m)
{
	const uint32_t E = m->p->encoded[0];
	const uint32_t N = m->p->matrix[0];
	const double scale = 1.0 / sqrt((double)E * N);

	for (uint32_t i = 0; i < m->most[0]; i++)
		for (uint32_t j = 0; j < E; j++) {
			const double k = (double)i - m->most[0] / 2;
			const double q = (double)j - E / 2;
			double re = 0.0;
			double im = 0.0;

			for (uint32_t x = 0; x < N; x++) {
				const double n = (double)x - N / 2;
				const double angle = TAU * n * (q / E - k / N);

				re += cos(angle);
				im += sin(angle);
			}
			m->trim[2 * ((size_t)i * E + j)] = (float)(re * scale);
			m->trim[2 * ((size_t)i * E + j) + 1] = (float)(im * scale);
		}
}

static void make_phases(struct bs_maps *m)
{
	const struct bs_protocol *p = m->p;

	for (uint32_t k = 0; k < m->most[0]; k++)
		for (uint32_t x = 0; x < p->matrix[0]; x++) {
			const double angle = TAU * ((double)k - m->most[0] / 2) *
					     ((double)x - p->matrix[0] / 2) / p->matrix[0];
			float *to = m->phase[0] + (size_t)k * 2 * m->width + x;

			to[0] = (float)cos(angle);
			to[m->width] = (float)sin(angle);
		}
	for (int a = 1; a < 3; a++) {
		const uint32_t wide = field(p, a);

		for (uint32_t n = 0; n < p->matrix[a]; n++)
			for (uint32_t k = 0; k < m->most[a]; k++) {
				const double angle = TAU * ((double)k - m->most[a] / 2) *
						     ((double)n - p->matrix[a] / 2) / wide;
				float *to = m->phase[a] + 2 * ((size_t)n * m->most[a] + k);

				to[0] = (float)cos(angle);
				to[1] = (float)sin(angle);
			}
	}
}

int bs_maps_plan(struct bs_maps **plan, const struct bs_protocol *p, float *maps,
		 struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_plan *kind = &p->plan;
	const struct bs_region_spec region = region_of(p);
	const struct bs_walsh_spec walsh = walsh_of(p);
	struct bs_espirit_spec espirit;
	struct bs_room room = { .arena = arena };
	struct bs_maps *m;
	int rc;

	*plan = NULL;
	if (kind->maps != BS_PLAN_MAPS_SCAN)
		return 0;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "coil maps");
	size(m, p);
	espirit = espirit_of(p, m->most);
	rc = kind->on_grid ? bs_region_plan(&m->region, &region, arena, why) : 0;
	if (rc == 0)
		rc = by_walsh(p) ? bs_walsh_plan(&m->walsh, &walsh, arena, team, why)
				 : bs_espirit_plan(&m->espirit, &espirit, arena, team, why);
	if (rc == 0)
		lay_out(m, &room);
	if (rc == 0 && room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "coil maps: the arena is too small");
	if (rc != 0) {
		bs_maps_close(m);
		return rc;
	}
	m->team = team;
	m->maps = maps;
	m->simd = BS_ISA_PICK(bs_maps_kernels);
	if (m->region != NULL)
		make_trim(m);
	if (by_walsh(p))
		make_phases(m);
	bs_maps_scan(m);
	*plan = m;
	return 0;
}

void bs_maps_close(struct bs_maps *m)
{
	if (m == NULL)
		return;
	bs_region_close(m->region);
	bs_espirit_close(m->espirit);
	bs_walsh_close(m->walsh);
	free(m);
}

void bs_maps_scan(struct bs_maps *m)
{
	if (m == NULL)
		return;
	if (m->region != NULL)
		bs_region_scan(m->region);
	memset(m->version, 0, m->p->slices * sizeof(*m->version));
}

void bs_maps_add(struct bs_maps *m, uint32_t frame, uint32_t line, bool flagged, const float *data,
		 size_t coil_stride)
{
	if (m != NULL && m->region != NULL)
		bs_region_add(m->region, frame, line, flagged, data, coil_stride);
}

struct bs_espirit *bs_maps_espirit(struct bs_maps *m)
{
	return m->espirit;
}

void bs_maps_elsewhere(struct bs_maps *m,
		       int (*run)(void *self, const uint32_t size[3], const float *block,
				  float *maps, struct bs_fail *why),
		       void *self)
{
	m->elsewhere = run;
	m->self = self;
}

/* Copies a cropped line of a coil into the block. */
static void trim(void *arg, int task, int member)
{
	const struct bs_maps *m = arg;
	const uint32_t E = m->p->encoded[0];
	const uint32_t y = (uint32_t)task % m->size[1];
	const uint32_t z = (uint32_t)task / m->size[1] % m->size[2];
	const uint32_t coil = (uint32_t)task / m->size[1] / m->size[2];
	const float *in =
		m->box.at + 2 * (coil * m->box.coil_step + (z + m->skipped[1]) * m->box.z_step +
				 (y + m->skipped[0]) * m->box.y_step);
	float *out = m->own + 2 * (size_t)task * m->size[0];
	/* A phase of the whole slice changes no map. */
	const double factor[2] = { cos(TAU * m->cycles * y), -sin(TAU * m->cycles * y) };

	(void)member;
	for (uint32_t i = 0; i < m->size[0]; i++) {
		const float *t = m->trim + 2 * (size_t)i * E;
		double re = 0.0;
		double im = 0.0;

		for (uint32_t j = 0; j < E; j++) {
			re += (double)t[2 * j] * in[2 * j] - (double)t[2 * j + 1] * in[2 * j + 1];
			im += (double)t[2 * j] * in[2 * j + 1] + (double)t[2 * j + 1] * in[2 * j];
		}
		out[2 * i] = (float)(re * factor[0] - im * factor[1]);
		out[2 * i + 1] = (float)(im * factor[0] + re * factor[1]);
	}
}

/* Makes the image of a coil's block: along x, y and z one after another, in rows of the matrix. */
static void image(void *arg, int task, int member)
{
	const struct bs_maps *m = arg;
	const uint32_t *n = m->p->matrix;
	const uint32_t *k = m->size;
	const size_t row = 2 * (size_t)m->width;
	const float *in = m->block + 2 * (size_t)task * bs_box_size(k);
	float *a = m->rows + (size_t)member * m->rows_stride;
	float *b = a + row * k[2] * k[1];
	float *last = b + row * k[2] * n[1];
	float *out = m->images + 2 * (size_t)task * bs_protocol_voxels(m->p);

	for (uint32_t i = 0; i < k[2] * k[1]; i++)
		m->simd->weigh(a + row * i, m->phase[0], row, in + 2 * (size_t)i * k[0], k[0],
			       m->width);
	for (uint32_t z = 0; z < k[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			m->simd->weigh(b + row * (z * n[1] + y), a + row * z * k[1], row,
				       m->phase[1] + 2 * (size_t)y * m->most[1], k[1], m->width);
	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++) {
			m->simd->weigh(last, b + row * y, row * n[1],
				       m->phase[2] + 2 * (size_t)z * m->most[2], k[2], m->width);
			for (uint32_t x = 0; x < n[0]; x++, out += 2) {
				out[0] = last[x];
				out[1] = last[m->width + x];
			}
		}
}

uint32_t bs_maps_fewest(const struct bs_protocol *p)
{
	const uint32_t most[3] = { p->calibration_lines, p->calibration_lines,
				   p->calibration_lines };

	return bs_least(p->calibration_lines, by_walsh(p) ? 8 : 2 * espirit_of(p, most).kernel[0]);
}

bool bs_maps_due(struct bs_maps *m, uint32_t frame, double cycles)
{
	const struct bs_protocol *p = m->p;
	const uint32_t slice = bs_protocol_frame_slice(p, frame);
	const uint32_t every = p->maps_every > 0   ? p->maps_every
			       : p->frame_step > 0 ? p->readouts / p->frame_step
						   : 1;

	if (m->version[slice] == 0 || m->removed[slice] != cycles)
		return true;
	if (m->leader[slice] != frame)
		return false;
	return p->frame_step > 0 ? ++m->passed[slice] % every == 0 : m->region != NULL;
}

bool bs_maps_wants(const struct bs_maps *m, uint32_t frame)
{
	const uint32_t slice = bs_protocol_frame_slice(m->p, frame);

	return m->version[slice] == 0 || (m->leader[slice] == frame && m->p->frame_step > 0);
}

/* Makes the maps of a frame's slice from m->block, of size m->size. */
static int make_frame(struct bs_maps *m, uint32_t frame, uint64_t version, struct bs_fail *why)
{
	const struct bs_protocol *p = m->p;
	const uint32_t slice = bs_protocol_frame_slice(p, frame);
	float *to = m->maps + 2 * slice * bs_protocol_map_values(p);
	int rc;

	if (by_walsh(p)) {
		bs_team_run(m->team, image, m, (int)p->coils);
		rc = bs_walsh_run(m->walsh, m->images, to, why);
	} else if (m->elsewhere != NULL) {
		rc = m->elsewhere(m->self, m->size, m->block, to, why);
	} else {
		rc = bs_espirit_run(m->espirit, m->size, m->block, to, NULL, why);
	}
	if (rc != 0)
		return rc;
	m->version[slice] = version;
	m->leader[slice] = frame;
	m->passed[slice] = 0;
	m->removed[slice] = m->cycles;
	return 0;
}

int bs_maps_make(struct bs_maps *m, uint32_t frame, double cycles, bool *made, struct bs_fail *why)
{
	const struct bs_protocol *p = m->p;
	const uint32_t slice = bs_protocol_frame_slice(p, frame);
	const struct bs_espirit_spec espirit = espirit_of(p, m->most);
	uint32_t few[2] = { 1, 1 };
	int rc;

	*made = false;
	/* a kernel of fewer places than samples finds no signal in places, and maps are 0 there */
	for (int a = 0; a < 2 && !by_walsh(p); a++)
		few[a] = 2 * espirit.kernel[a + 1] - 1;
	if (!bs_region_box(m->region, frame, few, &m->box))
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "slice %u: coil maps need %u x %u calibration lines%s, there are "
			       "%u x %u",
			       slice, few[0], few[1],
			       by_walsh(p) ? "" : " (twice espirit.kernel less one)",
			       m->box.lines[0], m->box.lines[1]);
	if (m->version[slice] == m->box.version && m->removed[slice] == cycles)
		return 0;
	m->cycles = cycles;
	m->size[0] = m->most[0];
	for (int a = 0; a < 2; a++) {
		m->size[a + 1] = bs_least(m->box.lines[a], m->most[a + 1]);
		m->skipped[a] = (m->box.lines[a] - m->size[a + 1]) / 2;
	}
	bs_team_run(m->team, trim, m, (int)(p->coils * m->size[1] * m->size[2]));
	m->block = m->own;
	rc = make_frame(m, frame, m->box.version, why);
	*made = rc == 0;
	return rc;
}

int bs_maps_given(struct bs_maps *m, uint32_t frame, const uint32_t size[3], const float *block,
		  struct bs_fail *why)
{
	memcpy(m->size, size, sizeof(m->size));
	m->block = block;
	return make_frame(m, frame, 1, why);
}
