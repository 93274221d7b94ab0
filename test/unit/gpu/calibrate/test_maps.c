/*
 * test/unit/gpu/calibrate/test_maps.c - maps made from a scan: slices, contrasts, and against BART
 *
 * BART's maps (ecalib -m1 -r24:24:1 -c0.8, shared/data/scan/ref) are in single precision with 30
 * power iterations. Inside the object, where the second eigenvalue is small, these have converged:
 * 1e-4 of a map whose length is 1, up to a phase, is far above both roundings.
 */
#include "gpu/calibrate/maps.h"

#include <complex.h>
#include <string.h>

#include "core/frame/kind.h"
#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/recording.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

struct rig {
	struct bs_protocol p;
	struct bs_maps *maps;
	struct bs_team *team;
	struct bs_arena arena;
	float *made; /* [slice][coil][z][y][x] */
};

static struct bs_protocol protocol(uint32_t x, uint32_t y, uint32_t z, uint32_t coils)
{
	struct bs_protocol p = lines_of(x, y, z, 2 * x, coils);

	mapped_by(&p, BS_MAPS_ESPIRIT, 24);
	p.espirit_crop = 0.8;
	p.walsh_block = 7;
	p.output = BS_OUTPUT_MAGNITUDE;
	return planned(p);
}

static int rig_open(struct rig *r, const struct bs_protocol *p, int members, struct bs_fail *why)
{
	struct bs_need need = { 0 };
	int rc;

	memset(r, 0, sizeof(*r));
	r->p = *p;
	r->made = calloc((size_t)p->slices * p->coils * bs_protocol_voxels(p), 8);
	rc = bs_maps_need(&r->p, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&r->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_team_open(&r->team, members, why);
	if (rc == 0)
		rc = bs_maps_plan(&r->maps, &r->p, r->made, &r->arena, r->team, why);
	return rc;
}

static void rig_close(struct rig *r)
{
	bs_maps_close(r->maps);
	bs_team_close(r->team);
	bs_arena_close(&r->arena);
	free(r->made);
}

/* k-space of smooth coils over a disk, each slice with its own. */
static void send(struct rig *r, uint32_t frame, uint32_t line, bool flagged, int object)
{
	const struct bs_protocol *p = &r->p;
	float *data = malloc((size_t)p->coils * p->samples * 8);

	for (uint32_t c = 0; c < p->coils; c++)
		for (uint32_t i = 0; i < p->samples; i++) {
			double kx = ((double)i - p->samples / 2) / 2 + 0.3 * cos(c + object);
			double ky = (double)(line % p->encoded[1]) - p->encoded[1] / 2 +
				    0.3 * sin(2 * c + object);
			double kz = (double)(line / p->encoded[1]) - p->encoded[2] / 2;
			double size = 1 / (0.4 + 0.2 * (kx * kx + ky * ky + kz * kz));
			double turn = 0.6 * (kx + object * ky) + c;

			data[2 * (c * p->samples + i)] = (float)(size * cos(turn));
			data[2 * (c * p->samples + i) + 1] = (float)(size * sin(turn));
		}
	bs_maps_add(r->maps, frame, line, flagged, data, p->samples);
	free(data);
}

/* As an engine does before an image. */
static int make(struct rig *r, uint32_t frame, bool *made, struct bs_fail *why)
{
	*made = false;
	return bs_maps_due(r->maps, frame, 0.0) ? bs_maps_make(r->maps, frame, 0.0, made, why) : 0;
}

static double norm(const float *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)v[i] * v[i];
	return sqrt(sum);
}

static void life(enum bs_maps_from how, int members)
{
	struct bs_protocol p = protocol(20, 18, 1, 4);
	struct bs_fail why = { 0 };
	struct rig r;
	size_t one;
	float *first;
	bool made;

	p.maps = how;
	p.slices = 2;
	p.contrasts = 2;
	p.calibration_lines = 10;
	bs_plan_make(&p);
	one = 2 * p.coils * (size_t)bs_protocol_voxels(&p);
	first = malloc(one * sizeof(*first));
	CHECK(rig_open(&r, &p, members, &why) == 0, "maps %s", why.text);
	CHECK(r.arena.size - r.arena.used < BS_ALIGN, "need says what plan takes: %zu of %zu",
	      r.arena.used, r.arena.size);
	CHECK(make(&r, 0, &made, &why) == BS_ERR_CALIBRATION && !made, "%s", why.text);
	for (uint32_t l = 0; l < 18; l++)
		send(&r, 1, l, false, 0); /* slice 0, contrast 1 */
	CHECK(make(&r, 1, &made, &why) == 0 && made && norm(r.made, one) > 1 &&
		      norm(r.made + one, one) == 0,
	      "the slice's maps alone %s", why.text);
	memcpy(first, r.made, one * sizeof(*first));
	CHECK(make(&r, 0, &made, &why) == 0 && !made, "its other contrast has them already");
	for (uint32_t l = 4; l < 14; l++)
		send(&r, 1, l, true, 1);
	CHECK(make(&r, 1, &made, &why) == 0 && made && check_rel(r.made, first, one) > 0.01,
	      "calibration lines have come: made again");
	bs_maps_scan(r.maps);
	CHECK(make(&r, 1, &made, &why) == BS_ERR_CALIBRATION,
	      "another scan: those of the last one are forgotten");
	for (uint32_t l = 0; l < 18; l++)
		send(&r, 1, l, false, 0);
	CHECK(make(&r, 1, &made, &why) == 0 && made &&
		      memcmp(r.made, first, one * sizeof(*first)) == 0,
	      "the same lines, the same bytes %s", why.text);
	rig_close(&r);
	free(first);
}

/* Embedded calibration in each contrast: maps are made once a slice and repetition. */
static void once(void)
{
	struct bs_protocol p = protocol(20, 18, 1, 4);
	struct bs_fail why = { 0 };
	struct rig r;
	int count = 0;
	bool made;

	p.slices = 2;
	p.contrasts = 3;
	p.calibration_lines = 10;
	bs_plan_make(&p);
	CHECK(rig_open(&r, &p, 1, &why) == 0, "maps %s", why.text);
	for (int repetition = 0; repetition < 4; repetition++)
		for (uint32_t frame = 0; frame < 6; frame++) {
			for (uint32_t l = 4; l < 14; l++)
				send(&r, frame, l, true, repetition);
			CHECK(make(&r, frame, &made, &why) == 0, "%s", why.text);
			count += made;
		}
	CHECK(count == 8, "2 slices, 4 repetitions, 3 contrasts: maps made %d times", count);
	rig_close(&r);
}

/* Maps of a volume; three threads, the same bytes as one. */
static void volume(enum bs_maps_from how)
{
	struct bs_protocol p = protocol(12, 11, 7, 3);
	const size_t floats = 2 * 3 * (size_t)bs_protocol_voxels(&p);
	struct bs_fail why = { 0 };
	struct rig r[2];
	bool made;

	p.maps = how;
	p.calibration_lines = 8;
	bs_plan_make(&p);
	for (int i = 0; i < 2; i++) {
		CHECK(rig_open(&r[i], &p, 1 + 2 * i, &why) == 0, "volume %s", why.text);
		for (uint32_t l = 0; l < 11 * 7; l++)
			send(&r[i], 0, l, true, 0);
		CHECK(make(&r[i], 0, &made, &why) == 0 && made, "%s", why.text);
	}
	CHECK(norm(r[0].made, floats) > 1 && memcmp(r[0].made, r[1].made, floats * 4) == 0,
	      "a volume: the same bytes with three threads");
	rig_close(&r[0]);
	rig_close(&r[1]);
}

/* Largest difference of a map to BART's up to its phase, over the mask. */
static double difference(const float *made, const struct bs_cfl *bart, const struct bs_cfl *mask,
			 uint32_t coils, size_t voxels, uint32_t *compared)
{
	double worst = 0;

	*compared = 0;
	for (size_t v = 0; v < voxels; v++) {
		double complex dot = 0;

		for (uint32_t c = 0; c < coils; c++) {
			const float *a = made + 2 * (c * voxels + v);
			const float *b = bart->data + 2 * (c * voxels + v);

			dot += (a[0] + I * (double)a[1]) * (b[0] - I * (double)b[1]);
		}
		if (mask->data[2 * v] == 0.0f)
			continue;
		++*compared;
		for (uint32_t c = 0; c < coils; c++) {
			const float *a = made + 2 * (c * voxels + v);
			const float *b = bart->data + 2 * (c * voxels + v);

			worst = fmax(worst, cabs((a[0] + I * (double)a[1]) -
						 (b[0] + I * (double)b[1]) * dot / cabs(dot)));
		}
	}
	return worst;
}

/* flags: of the lines that are sent on. */
static void bart(const char *folder, const char *scan, const char *maps, uint64_t flags)
{
	struct bs_protocol p = protocol(64, 64, 1, 20);
	struct bs_cfl ref = { 0 };
	struct bs_cfl mask = { 0 };
	struct bs_recording *rec = NULL;
	struct bs_recorded acq;
	struct bs_fail why = { 0 };
	struct rig r;
	char path[512];
	uint32_t compared;
	double worst;
	bool made;

	(void)snprintf(path, sizeof(path), "%s/scan/ref/%s", folder, maps);
	CHECK(bs_cfl_read(&ref, path, &why) == 0, "%s %s", maps, why.text);
	(void)snprintf(path, sizeof(path), "%s/scan/ref/prisma2d_mask", folder);
	CHECK(bs_cfl_read(&mask, path, &why) == 0, "mask %s", why.text);
	(void)snprintf(path, sizeof(path), "%s/scan/%s", folder, scan);
	CHECK(bs_recording_open(&rec, path, &why) == 0, "%s %s", scan, why.text);
	CHECK(rig_open(&r, &p, 2, &why) == 0, "maps %s", why.text);
	for (uint32_t i = 0; i < bs_recording_count(rec); i++)
		if (bs_recording_read(rec, i, &acq, &why) == 0 && acq.head.idx.contrast == 0 &&
		    (flags == 0 || (acq.head.flags & flags) != 0))
			bs_maps_add(r.maps, 0, acq.head.idx.kspace_encode_step_1, flags != 0,
				    acq.data, acq.head.number_of_samples);
	CHECK(make(&r, 0, &made, &why) == 0, "%s", why.text);
	worst = difference(r.made, &ref, &mask, 20, 64 * 64, &compared);
	CHECK(compared > 2000 && worst < 1e-4, "%s against BART: %.1e over %u voxels", scan, worst,
	      compared);
	(void)bs_recording_close(rec, &why);
	bs_cfl_free(&ref);
	bs_cfl_free(&mask);
	rig_close(&r);
}

int main(void)
{
	const uint64_t calibration = BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO;
	const char *folder = getenv("DATA");
	char path[512];
	FILE *there;

	life(BS_MAPS_ESPIRIT, 1);
	life(BS_MAPS_WALSH, 2);
	once();
	volume(BS_MAPS_ESPIRIT);
	volume(BS_MAPS_WALSH);
	(void)snprintf(path, sizeof(path), "%s/scan/prisma2d_dual_20ch.h5",
		       folder != NULL ? folder : "");
	there = folder != NULL ? fopen(path, "rb") : NULL;
	if (there == NULL) {
		SKIP("maps against BART's: no recordings (DATA)");
		return check_done();
	}
	(void)fclose(there);
	bart(folder, "prisma2d_dual_20ch.h5", "prisma2d_maps_acs24", 0);
	bart(folder, "prisma2d_R2_acs16.h5", "prisma2d_maps_acs16", calibration);
	bart(folder, "prisma2d_R3_acs24.h5", "prisma2d_maps_acs24", calibration);
	bart(folder, "prisma2d_R3_sep.h5", "prisma2d_maps_acs24", BS_MRD_IS_CALIBRATION);
	return check_done();
}
