/*
 * test/replay/scan/cartesian.c - lines of real scans unfolded and completed, against other tools
 *
 * References (DATA/scan/README.md): prisma2d_*_pics, BART's pics with the maps prisma2d_maps_acs*,
 * 100 iterations at lambda 1e-4, which agrees with the same solve in double precision to 1.2e-6.
 * Bound 1e-5: two roundings of a float for each of some tens of iterations.
 * *_pocs_rss: the projections of gpu/image/pocs.h in double precision, 10 iterations and a taper of
 * 8 lines (brain: 20 and 16). Bound 1e-5, as in test_pocs; the brain's took a center that is a line
 * narrower on each side, which is 8.4e-4 of it. *_full_rss, brain2d_pf6_8_true_rss: what
 * the whole scan shows; over the mask the errors that README.md gives, with one set of defaults.
 */
#include <string.h>

#include "core/frame/kind.h"
#include "drivers/file/cfl.h"
#include "drivers/source/recording.h"
#include "gpu/image/cartesian.h"
#include "gpu/image/combine.h"
#include "gpu/image/pocs.h"
#include "gpu/image/unfold.h"
#include "ipc/wire/xml.h"
#include "test/support/check.h"

#define LINES_MAX  256u
#define ITERATIONS 10 /* the defaults of the keys */
#define TAPER      0.5

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
	CHECK(c->size >= values, "%s holds %zu values", name, values);
	return c->size >= values;
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

/* whole: on the whole encoded grid, else cropped to the image. */
static bool read_lines(struct lines *l, const char *name, uint32_t contrast, bool embedded,
		       bool whole)
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
		memcpy(l->s.matrix, whole ? info.encoded : info.recon, sizeof(l->s.matrix));
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

			if (read_lines(&l, name, contrast, embedded, false) &&
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

/* Root of the sum of squares over the coils of a whole image. */
static bool complete(struct lines *l, uint32_t columns, uint32_t iterations, double taper,
		     float *rss)
{
	const struct bs_pocs_spec s = { { l->s.encoded[0], l->s.encoded[1], 1 },
					{ columns, l->s.encoded[1], 1 },
					l->s.coils,
					iterations,
					taper };
	const size_t voxels = (size_t)columns * l->s.encoded[1];
	float *out = malloc(voxels * l->s.coils * 8);
	struct bs_pocs_span spans[3];
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_pocs *plan = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_pocs_need(&s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_pocs_plan(&plan, &s, &arena, team, &why);
	CHECK(rc == 0, "partial Fourier %s", why.text);
	if (rc == 0) {
		bs_pocs_spans(spans, l->came, s.size, l->s.samples);
		CHECK(bs_pocs_is_partial(spans, s.size), "partial: %u .. %u, %u .. %u",
		      spans[0].from, spans[0].to, spans[1].from, spans[1].to);
		bs_pocs_run(plan, spans, l->images, out);
		bs_combine(team, BS_COMBINE_RSS, BS_OUTPUT_MAGNITUDE, l->s.coils, voxels, out, NULL,
			   rss);
	}
	bs_pocs_close(plan);
	bs_arena_close(&arena);
	free(out);
	return rc == 0;
}

/* Of real parts, over a mask or everywhere (NULL); squared, to be added up. */
static void add_error(double sums[2], const float *rss, const float *ref, const float *mask,
		      size_t voxels)
{
	for (size_t v = 0; v < voxels; v++) {
		const double r = (double)ref[2 * v];
		const double e = (double)rss[v] - r;

		if (mask != NULL && mask[2 * v] == 0.0f)
			continue;
		sums[0] += e * e;
		sums[1] += r * r;
	}
}

struct partial {
	const char *name, *ref, *truth, *mask;
	uint32_t size, contrasts;
	uint32_t iterations;
	double taper; /* of the symmetric center, as the reference was made */
	double same;  /* bound of the difference to the reference */
	double most;  /* error over the mask with the defaults */
};

static void against_pocs(const struct partial *t)
{
	const size_t voxels = (size_t)t->size * t->size;
	struct bs_cfl ref = { 0 };
	struct bs_cfl truth = { 0 };
	struct bs_cfl mask = { 0 };
	float *rss = malloc(voxels * 4);
	double of_ref[2] = { 0 };
	double of_truth[2] = { 0 };

	if (!read_cfl(&ref, t->ref, voxels * t->contrasts) ||
	    !read_cfl(&truth, t->truth, voxels * t->contrasts) || !read_cfl(&mask, t->mask, voxels))
		return;
	for (uint32_t contrast = 0; contrast < t->contrasts; contrast++)
		for (int defaults = 0; defaults < 2; defaults++) {
			struct lines l;

			if (read_lines(&l, t->name, contrast, false, true) &&
			    complete(&l, t->size, defaults ? ITERATIONS : t->iterations,
				     defaults ? TAPER : t->taper, rss))
				add_error(defaults ? of_truth : of_ref, rss,
					  (defaults ? truth.data : ref.data) +
						  2 * contrast * voxels,
					  defaults ? mask.data : NULL, voxels);
			close_lines(&l);
		}
	CHECK(sqrt(of_ref[0] / of_ref[1]) <= t->same, "%s: %.1e of the same in double precision",
	      t->name, sqrt(of_ref[0] / of_ref[1]));
	CHECK(sqrt(of_truth[0] / of_truth[1]) <= t->most, "%s, defaults: error %.2e <= %.1e",
	      t->name, sqrt(of_truth[0] / of_truth[1]), t->most);
	bs_cfl_free(&ref);
	bs_cfl_free(&truth);
	bs_cfl_free(&mask);
	free(rss);
}

int main(void)
{
	/* README.md's errors with its own choice for each: 3.4e-2, 2.9e-2, 2.6e-2, 7.3e-3 */
	const struct partial partials[] = {
		{ "prisma2d_pf6_8", "prisma2d_pf6_8_pocs_rss", "prisma2d_full_rss", "prisma2d_mask",
		  64, 2, 10, 8.0 / 15, 1e-5, 3.5e-2 },
		{ "prisma2d_pf6_8_early", "prisma2d_pf6_8_early_pocs_rss", "prisma2d_full_rss",
		  "prisma2d_mask", 64, 1, 10, 8.0 / 16, 1e-5, 3.0e-2 },
		{ "prisma2d_asym", "prisma2d_asym_pocs_rss", "prisma2d_full_rss", "prisma2d_mask",
		  64, 1, 10, 8.0 / 32, 1e-5, 2.6e-2 },
		{ "brain2d_pf6_8_8ch", "brain2d_pf6_8_pocs_rss", "brain2d_pf6_8_true_rss",
		  "brain128_mask", 128, 1, 20, 16.0 / 32, 1e-3, 8.0e-3 },
	};
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
	for (size_t i = 0; i < sizeof(partials) / sizeof(partials[0]); i++)
		against_pocs(&partials[i]);
	bs_team_close(team);
	return check_done();
}
