/*
 * test/twin/engine/scanned_lines.h
 * Cartesian scans of smooth coils, through an engine on the host and
 * its twin on the GPU
 *
 * The object is a few Gaussians, the coils a few plane waves each: their products are known in
 * k-space. Lines are every R-th along y, or y and z with a CAIPI shift; calibration lines are a
 * block around the center that lies in the image too, or a scan of its own. One thread.
 */
#ifndef BS_TEST_TWIN_SCANNED_LINES_H
#define BS_TEST_TWIN_SCANNED_LINES_H

#include <complex.h>
#include <string.h>

#include "core/protocol.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "gpu/engine/engines.h"
#include "test/twin/allocations.h"
#include "test/support/plan/planned.h"
#include "test/twin/device.h"
#include "test/twin/engine/fed.h"

struct lines_plan {
	const char *name;
	uint32_t every[2], shift; /* R along y and z; partitions are shifted by so many lines */
	uint32_t block[2];        /* calibration lines y z; 0: none */
	bool apart;               /* they are no lines of the image */
	bool then_whole;          /* the second scan leaves out none */
	uint32_t until;           /* lines along y that come at most; 0: all */
};

/* [frame][line][coil][sample] complex; of a frame the lines that come are those with came[line]. */
struct lines {
	struct bs_protocol p;
	struct lines_plan plan;
	uint32_t lines, frames;
	float *data;
	uint8_t *came, *calibrates; /* [line] */
};

/* What the trials of lines have in common; members beyond encoded and matrix are the trial's. */
static inline struct bs_protocol lines_protocol(const uint32_t encoded[3], const uint32_t matrix[3],
						uint32_t samples, uint32_t coils)
{
	struct bs_protocol p = lines_of(matrix[0], encoded[1], encoded[2], encoded[0], coils);

	memcpy(p.matrix, matrix, sizeof(p.matrix));
	p.samples = samples;
	p.uses = 1u << BS_KIND_CALIBRATION;
	p.pocs_iterations = 6;
	p.pocs_taper = 0.5;
	p.iterations = small() ? 4 : 10;
	mapped_by(&p, BS_MAPS_FILE, 24);
	return p;
}

#define BLOBS 6
#define WAVES 5

/* k-space of the object at k - shift, k from the center; what: another one. */
static inline float complex lines_object(const struct bs_protocol *p, const double k[3],
					 const int shift[3], uint32_t what)
{
	double complex sum = 0.0;

	for (int b = 0; b < BLOBS; b++) {
		double decay = 0.0;
		double turn = 0.0;

		for (int a = 0; a < 3; a++) {
			const double at = 0.3 * sin(1.7 * b + 2.1 * a + 0.9 * what);
			const double q = (k[a] - shift[a]) * (0.03 + 0.02 * ((b + a) % 3));

			if (p->encoded[a] > 1) {
				decay += q * q;
				turn += (k[a] - shift[a]) * at;
			}
		}
		sum += (0.5 + 0.1 * b) * exp(-9.87 * decay) * cexp(I * (-6.2831853 * turn + b));
	}
	return (float complex)sum;
}

/* A coil is a few plane waves, whole turns in the field of view. */
static const int lines_wave[WAVES][3] = {
	{ 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { -1, 1, 1 }, { 0, -1, -1 }
};

static inline float complex lines_coil(uint32_t c, int w)
{
	return (float complex)(cexp(I * (1.3 * c * w + 0.4 * w * w)) / (1.0 + 0.4 * w));
}

/* The coils' maps, their squares of sum 1, the same for all slices. */
static inline void lines_maps(const struct bs_protocol *p, float *maps)
{
	const uint32_t *N = p->matrix;
	const size_t voxels = (size_t)bs_protocol_voxels(p);

	for (size_t v = 0; v < voxels; v++) {
		const uint32_t at[3] = { (uint32_t)(v % N[0]), (uint32_t)(v / N[0] % N[1]),
					 (uint32_t)(v / N[0] / N[1]) };
		float complex map[BS_COILS_MAX] = { 0 };
		float power = 0.0f;

		for (int w = 0; w < WAVES; w++) {
			double turn = 0.0;

			for (int a = 0; a < 3; a++)
				turn += 6.2831853 * lines_wave[w][a] * ((double)at[a] - N[a] / 2) /
					p->encoded[a];
			for (uint32_t c = 0; c < p->coils; c++)
				map[c] += lines_coil(c, w) * (float complex)cexp(I * turn);
		}
		for (uint32_t c = 0; c < p->coils; c++)
			power += crealf(map[c] * conjf(map[c]));
		for (uint32_t c = 0; c < p->coils * p->slices; c++) {
			const float complex value = map[c % p->coils] / sqrtf(power);

			maps[2 * (c * voxels + v)] = crealf(value);
			maps[2 * (c * voxels + v) + 1] = cimagf(value);
		}
	}
}

/* A line of all coils; noise makes all samples and weights differ. */
static inline void lines_make(const struct bs_protocol *p, uint32_t what, uint32_t line, float *to,
			      uint64_t *seed)
{
	const uint32_t *E = p->encoded;
	float complex coil[BS_COILS_MAX][WAVES];

	for (uint32_t c = 0; c < p->coils; c++)
		for (int w = 0; w < WAVES; w++)
			coil[c][w] = lines_coil(c, w);
	for (uint32_t i = 0; i < p->samples; i++) {
		const double k[3] = { (double)(i + E[0] - p->samples) - E[0] / 2,
				      (double)(line % E[1]) - E[1] / 2,
				      (double)(line / E[1]) - E[2] / 2 };
		float complex part[WAVES];

		for (int w = 0; w < WAVES; w++)
			part[w] = lines_object(p, k, lines_wave[w], what);
		for (uint32_t c = 0; c < p->coils; c++) {
			float *v = to + 2 * ((size_t)c * p->samples + i);
			float complex sum = 0.0f;

			for (int w = 0; w < WAVES; w++)
				sum += part[w] * coil[c][w];
			v[0] = crealf(sum) + 1e-3f * (float)(check_uniform(seed) - 0.5);
			v[1] = cimagf(sum) + 1e-3f * (float)(check_uniform(seed) - 0.5);
		}
	}
}

static inline void lines_open(struct lines *l, const struct bs_protocol *p,
			      const struct lines_plan *plan, uint32_t what)
{
	const uint32_t *E = p->encoded;
	const size_t floats = 2 * (size_t)p->samples * p->coils;
	uint64_t seed = 88172645463325252u + what;

	memset(l, 0, sizeof(*l));
	l->p = *p;
	l->plan = *plan;
	l->lines = E[1] * E[2];
	l->frames = bs_protocol_frames(p);
	l->data = malloc(floats * l->lines * l->frames * sizeof(float));
	l->came = calloc(l->lines, 1);
	l->calibrates = calloc(l->lines, 1);
	for (uint32_t n = 0; n < l->lines; n++) {
		const uint32_t at[2] = { n % E[1], n / E[1] };
		bool inside = plan->block[0] > 0;

		for (int a = 0; a < 2; a++) {
			const uint32_t many = plan->block[a] < E[a + 1] ? plan->block[a] : E[a + 1];
			const uint32_t first = E[a + 1] / 2 - many / 2;

			inside = inside && at[a] >= first && at[a] < first + many;
		}
		l->calibrates[n] = inside;
		l->came[n] = ((at[0] + plan->shift * at[1]) % plan->every[0] == 0 &&
			      at[1] % plan->every[1] == 0) ||
			     (inside && !plan->apart);
		if (plan->until > 0 && at[0] >= plan->until)
			l->came[n] = 0;
		for (uint32_t f = 0; (l->came[n] || inside) && f < l->frames; f++)
			lines_make(p, what + f, n, l->data + (f * (size_t)l->lines + n) * floats,
				   &seed);
	}
}

static inline void lines_close(struct lines *l)
{
	free(l->data);
	free(l->came);
	free(l->calibrates);
}

/*
 * All frames, their lines in turn; images [frame], report of the last. allowed: iterations at most.
 * Of every second frame partial Fourier does not know where the center is along ky.
 */
static inline int lines_scan(struct fed *f, const struct lines *l, bool backwards, uint32_t allowed,
			     int64_t deadline_ns, float *images, struct bs_report *report)
{
	const struct bs_mrd_acq head = { .number_of_samples = (uint16_t)l->p.samples };
	const size_t floats = 2 * (size_t)l->p.samples * l->p.coils;
	const struct armed *a = &f->on;
	uint32_t n = 0;
	int rc = 0;

	if (a->engine->scan != NULL)
		a->engine->scan(a->self);
	for (uint32_t i = 0; rc == 0 && i < l->frames; i++)
		rc = a->engine->begin(a->self, i);
	for (uint32_t i = 0; rc == 0 && i < l->lines * l->frames; i++) {
		const uint32_t at = backwards ? l->lines * l->frames - 1 - i : i;
		const uint32_t line = at / l->frames;
		const uint32_t frame = at % l->frames;
		const float *from = l->data + (frame * (size_t)l->lines + line) * floats;

		if (l->came[line])
			rc = fed_add(f, frame, line, from, n++);
		if (rc == 0 && l->calibrates[line] && a->engine->side != NULL)
			rc = a->engine->side(a->self, frame, BS_KIND_CALIBRATION, line, &head, from,
					     l->p.samples);
	}
	for (uint32_t i = 0; rc == 0 && i < l->frames; i++) {
		memset(report, 0, sizeof(*report));
		report->allowed = allowed;
		report->unknown = i & 1u;
		rc = a->engine->image(a->self, i, NULL, deadline_ns,
				      images + i * (bs_protocol_image_bytes(&l->p) / 4), report);
	}
	return rc;
}

/* There is something in them. */
static inline bool lines_hold(const float *images, uint64_t floats)
{
	double power = 0.0;

	for (uint64_t i = 0; i < floats; i++)
		power += (double)images[i] * images[i];
	return power > 0.0;
}

/* What is held against each other: two scans, the second with fewer iterations. */
struct lines_images {
	uint64_t floats;
	float *of[2];
	struct bs_report report[2];
};

static inline int lines_images(struct fed *f, const struct lines scans[2], struct lines_images *to)
{
	const uint32_t few = scans[0].p.iterations > 3 ? 3 : 0;

	to->floats = scans[0].frames * (bs_protocol_image_bytes(&scans[0].p) / 4);
	for (int i = 0; i < 2; i++)
		to->of[i] = malloc(to->floats * sizeof(float));
	return lines_scan(f, &scans[0], false, 0, INT64_MAX, to->of[0], &to->report[0]) |
	       lines_scan(f, &scans[1], true, few, INT64_MAX, to->of[1], &to->report[1]);
}

static inline void lines_images_close(struct lines_images *i)
{
	free(i->of[0]);
	free(i->of[1]);
}

/* The same bytes again, in either order and under a far deadline; and what a passed one leaves. */
static inline void lines_again(const char *name, struct fed *f, const struct lines *scan,
			       const struct lines_images *had)
{
	const bool solves = bs_methods[scan->p.method].solves;
	float *image = malloc(had->floats * sizeof(float));
	struct bs_report report;
	int same = 1;
	int rc = 0;

	for (int i = 0; rc == 0 && i < (small() ? 2 : 6); i++) {
		rc = lines_scan(f, scan, i % 2 == 1, 0, i % 3 == 0 ? INT64_MAX : INT64_MAX - 1,
				image, &report);
		same &= memcmp(image, had->of[0], had->floats * sizeof(float)) == 0;
	}
	CHECK(rc == 0 && same && allocations == 0,
	      "%s: the same bytes in any order of lines; %u device or pinned allocations", name,
	      allocations);
	rc |= lines_scan(f, scan, false, 0, bs_now_ns() - 1, image, &report);
	if (solves)
		CHECK(rc == 0 && report.iterations == 1 && report.deadline_stop,
		      "%s: a deadline that has passed leaves one iteration (%u)", name,
		      report.iterations);
	free(image);
}

/* One way to the device. */
static inline void lines_on_gpu(const char *name, const struct bs_engine *cuda, enum way way,
				const struct bs_tables *tables, const struct lines scans[2],
				const struct lines_images *want)
{
	struct lines_images got = { 0 };
	struct bs_fail why = { 0 };
	struct fed f = { 0 };
	char what[96];
	int rc = fed_open(&f, cuda, &scans[0].p, tables, way, &why);

	(void)snprintf(what, sizeof(what), "%s, %s", name, way_name[way]);
	CHECK(rc == 0, "%s: armed %s", what, why.text);
	if (rc == 0) {
		allocations = 0;
		rc = lines_images(&f, scans, &got);
		for (int i = 0; rc == 0 && i < 2; i++) {
			const struct bs_report *a = &got.report[i];
			const struct bs_report *b = &want->report[i];
			const double e = check_rel(got.of[i], want->of[i], want->floats);

			CHECK(e <= 1e-5, "%s, scan %d: images differ by %.1e; at most 1e-5", what,
			      i, e);
			CHECK(a->iterations == b->iterations &&
				      fabs(a->residual - b->residual) <= 1e-4 * b->residual + 1e-6,
			      "%s, scan %d: %u iterations to %.2e, the host %u to %.2e", what, i,
			      a->iterations, a->residual, b->iterations, b->residual);
		}
		CHECK(rc == 0, "%s: two scans %s", what, got.report[0].why.text);
		if (rc == 0)
			lines_again(what, &f, &scans[0], &got);
	}
	fed_close(&f);
	lines_images_close(&got);
}

/*
 * Both engines: two scans of different objects, each frame with one of its own. tables: maps and W;
 * where the protocol makes its maps, they are made here.
 */
static inline void lines_compare(const struct bs_protocol *p, const struct lines_plan *plan,
				 const struct bs_tables *tables, const struct bs_engine *host,
				 const struct bs_engine *cuda)
{
	const bool makes = p->plan.maps == BS_PLAN_MAPS_SCAN;
	const size_t maps = 2 * bs_protocol_voxels(p) * p->coils * p->slices;
	struct bs_tables own = *tables;
	struct lines_images want = { 0 };
	struct bs_traj traj = { 0 };
	struct bs_fail why = { 0 };
	struct lines scans[2];
	struct fed f = { 0 };
	int rc = bs_traj_make(&traj, p, &why);

	own.traj = &traj;
	if (makes)
		own.maps = own.made = calloc(maps, sizeof(float));
	for (uint32_t i = 0; i < 2; i++) {
		struct lines_plan one = *plan;

		if (i == 1 && plan->then_whole)
			one.every[0] = one.every[1] = 1;
		lines_open(&scans[i], p, &one, 7 * i);
	}
	if (rc == 0)
		rc = fed_open(&f, host, p, &own, STAGED, &why);
	if (rc == 0)
		rc = lines_images(&f, scans, &want);
	CHECK(rc == 0 && lines_hold(want.of[0], want.floats), "%s: the host's images %s%s",
	      plan->name, why.text, want.report[0].why.text);
	fed_close(&f);
	for (int way = STAGED; rc == 0 && way < WAYS; way++) {
		if (makes)
			memset(own.made, 0, maps * sizeof(float));
		lines_on_gpu(plan->name, cuda, (enum way)way, &own, scans, &want);
	}
	for (int i = 0; i < 2; i++)
		lines_close(&scans[i]);
	lines_images_close(&want);
	bs_traj_close(&traj);
	free(own.made);
}

#endif
