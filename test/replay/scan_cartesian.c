/*
 * test/replay/scan_cartesian.c - lines of real scans unfolded and completed, against other tools
 *
 * References (DATA/scan/README.md): prisma2d_*_pics, BART's pics with the maps prisma2d_maps_acs*,
 * 100 iterations at lambda 1e-4, which agrees with the same solve in double precision to 1.2e-6.
 * Bound 1e-5: two roundings of a float for each of some tens of iterations.
 */
#include <string.h>

#include "core/frame/kind.h"
#include "drivers/file/cfl.h"
#include "drivers/source/recording.h"
#include "gpu/image/cartesian.h"
#include "gpu/image/unfold.h"
#include "ipc/wire/xml.h"
#include "test/support/check.h"

#define LINES_MAX 256u

static struct bs_team *team;
static const char *folder;

/* The lines of one contrast of a recording, through the operator. */
struct lines {
	struct bs_cart_spec s;
	uint8_t came[LINES_MAX];
	struct bs_arena arena;
	float *images; /* [coil][y][x] */
};

static size_t voxels_of(const struct lines *l)
{
	return (size_t)l->s.matrix[0] * l->s.matrix[1];
}

static bool read_cfl(struct bs_cfl *c, const char *name, size_t values)
{
	struct bs_fail why = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/scan/ref/%s.cfl", folder, name);
	if (bs_cfl_read(c, path, &why) != 0) {
		SKIP("%s", why.text);
		return false;
	}
	CHECK(c->size == values, "%s holds %zu values", name, values);
	return c->size == values;
}

/* Calibration lines that lie between those of the image are lines of the grid, too. */
static bool is_line(const struct bs_mrd_acq *h, bool embedded)
{
	const enum bs_kind kind = bs_mrd_kind(h->flags);

	return kind == BS_KIND_IMAGING || (embedded && kind == BS_KIND_CALIBRATION);
}

static int add_lines(struct lines *l, struct bs_cart *plan, struct bs_recording *r,
		     const struct bs_scan_info *info, uint32_t contrast, bool embedded,
		     struct bs_fail *why)
{
	struct bs_recorded a;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(r); i++) {
		uint32_t line;

		rc = bs_recording_read(r, i, &a, why);
		if (rc != 0 || !is_line(&a.head, embedded) || a.head.idx.contrast != contrast ||
		    a.head.idx.repetition != 0)
			continue;
		line = a.head.idx.kspace_encode_step_1 + info->encoded[1] / 2 - info->step1.center;
		if (line >= info->encoded[1] || line >= LINES_MAX)
			return bs_fail(why, BS_ERR_INDEX, "readout %u: line %u", i, line);
		bs_cart_add(plan, 0, line, a.data, a.head.number_of_samples);
		l->came[line] = 1;
	}
	return rc;
}

static bool read_lines(struct lines *l, const char *name, uint32_t contrast, bool embedded)
{
	struct bs_scan_info info;
	struct bs_recording *r = NULL;
	struct bs_recorded first;
	struct bs_need need = { 0 };
	struct bs_cart *plan = NULL;
	struct bs_fail why = { 0 };
	char path[512];
	int rc;

	memset(l, 0, sizeof(*l));
	(void)snprintf(path, sizeof(path), "%s/scan/%s.h5", folder, name);
	rc = bs_recording_open(&r, path, &why);
	if (rc != 0) {
		SKIP("%s", why.text);
		return false;
	}
	rc = bs_mrdxml_read(&info, bs_recording_xml(r), strlen(bs_recording_xml(r)), &why);
	if (rc == 0)
		rc = bs_recording_read(r, bs_recording_count(r) - 1, &first, &why);
	if (rc == 0) {
		l->s = (struct bs_cart_spec){ .samples = first.head.number_of_samples,
					      .coils = first.head.active_channels,
					      .states = 1 };
		memcpy(l->s.encoded, info.encoded, sizeof(l->s.encoded));
		memcpy(l->s.matrix, info.recon, sizeof(l->s.matrix));
		rc = bs_cart_need(&l->s, &need, &why);
	}
	if (rc == 0)
		rc = bs_arena_open(&l->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_cart_plan(&plan, &l->s, &l->arena, team, &why);
	if (rc == 0) {
		bs_cart_begin(plan, 0);
		rc = add_lines(l, plan, r, &info, contrast, embedded, &why);
		l->images = malloc(voxels_of(l) * l->s.coils * 8);
		bs_cart_finish(plan, 0, l->images);
	}
	CHECK(rc == 0, "%s, contrast %u %s", name, contrast, why.text);
	bs_cart_close(plan);
	return bs_recording_close(r, &why) == 0 && rc == 0;
}

static void close_lines(struct lines *l)
{
	bs_arena_close(&l->arena);
	free(l->images);
}

static bool unfold(const struct lines *l, const float *maps, double lambda, uint32_t iterations,
		   float *rho)
{
	const struct bs_unfold_spec s = { { l->s.encoded[1], l->s.encoded[2] },
					  { l->s.matrix[0], l->s.matrix[1], l->s.matrix[2] },
					  l->s.coils,
					  1,
					  iterations,
					  lambda };
	const struct bs_pcg_stop stop = { iterations, 0.0, INT64_MAX };
	struct bs_pcg_result result;
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_unfold *plan = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_unfold_need(&s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_unfold_plan(&plan, &s, NULL, &arena, team, &why);
	CHECK(rc == 0, "SENSE %s", why.text);
	if (rc == 0)
		bs_unfold_solve(plan, maps, l->came, l->images, rho, &stop, &result);
	bs_unfold_close(plan);
	bs_arena_close(&arena);
	return rc == 0;
}

/* Both contrasts of a recording against pics. */
static void against_pics(const char *name, const char *maps_name, bool embedded)
{
	struct bs_cfl maps = { 0 };
	struct bs_cfl ref = { 0 };
	char ref_name[64];

	(void)snprintf(ref_name, sizeof(ref_name), "%s_pics", name);
	if (read_cfl(&maps, maps_name, 64 * 64 * 20) && read_cfl(&ref, ref_name, 64 * 64 * 2))
		for (uint32_t contrast = 0; contrast < 2; contrast++) {
			struct lines l;
			float *rho = malloc(64 * 64 * 8);

			if (read_lines(&l, name, contrast, embedded) &&
			    unfold(&l, maps.data, 1e-4, 100, rho)) {
				const double e = check_rel(rho, ref.data + 64 * 64 * 2 * contrast,
							   64 * 64 * 2);

				CHECK(e <= 1e-5, "%s, contrast %u: %.1e of pics' <= 1e-5", name,
				      contrast, e);
			}
			close_lines(&l);
			free(rho);
		}
	bs_cfl_free(&maps);
	bs_cfl_free(&ref);
}

int main(void)
{
	struct bs_fail why = { 0 };

	folder = getenv("DATA");
	if (folder == NULL) {
		SKIP("no folder of recordings (DATA)");
		return 0;
	}
	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	against_pics("prisma2d_R2_acs16", "prisma2d_maps_acs16", true);
	against_pics("prisma2d_R3_acs24", "prisma2d_maps_acs24", true);
	against_pics("prisma2d_R3_sep", "prisma2d_maps_acs24", false);
	bs_team_close(team);
	return check_done();
}
