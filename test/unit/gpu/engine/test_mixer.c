/*
 * test/unit/gpu/engine/test_mixer.c - whitening and compression of readouts before an engine sees
 * them
 *
 * Against the Cartesian reconstruction of readouts that the test itself multiplied, in double, by
 * the matrices of compress.h (test_compress.c holds those to their definitions): images agree to
 * the rounding of floats, 2^-24 in each of the coils' products and each transform. Which readouts
 * calibrate, what waits and for how long is told by what the reconstruction has taken.
 */
#include "gpu/engine/mixer.h"

#include <complex.h>
#include <string.h>

#include "gpu/calibrate/compress.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define COILS   5
#define SAMPLES 24
#define LINES   31 /* of which 7 .. 22 calibrate: 8 on each side of 15 */
#define VOXELS  (16 * LINES)
#define TIGHT   (8.0 * 0x1p-24)

typedef float complex cf;

static uint64_t seed = 11;
static struct bs_team *team;
static struct bs_fail why;
static cf data[2][2][LINES][COILS][SAMPLES]; /* [slice][contrast] */

static struct bs_protocol protocol(enum bs_whiten whiten, uint32_t virtual_coils)
{
	struct bs_protocol p = lines_of(16, LINES, 1, SAMPLES, COILS);

	p.slices = p.contrasts = 2;
	p.whiten = whiten;
	p.virtual_coils = virtual_coils;
	p.uses = whiten != BS_WHITEN_OFF ? 1u << BS_KIND_NOISE : 0;
	return coils_apart(p);
}

struct run {
	struct bs_protocol p, inner;
	struct bs_arena arena;
	struct bs_recon *recon;
	struct bs_mixer *mixer;
	cf image[8][COILS * VOXELS];
	struct bs_recon_image said[8];
	uint32_t images, refused;
};

static void open_run(struct run *r, const struct bs_protocol *p)
{
	struct bs_need need = { 0 };
	struct bs_tables tables = { 0 };
	struct bs_arm_env env = { .arena = &r->arena, .team = team };
	const struct bs_engine *engine =
		p->method == BS_METHOD_CARTESIAN ? &bs_engine_host : &bs_engine_noop;

	memset(r, 0, sizeof(*r));
	r->p = *p;
	bs_mixer_inner(&r->inner, p);
	if (bs_recon_need(&r->inner, engine, &need, &why) != 0 ||
	    bs_mixer_need(&r->p, &need, &why) != 0 ||
	    bs_arena_open(&r->arena, need.total_bytes, &why) != 0 ||
	    bs_recon_arm(&r->recon, &r->inner, engine, &tables, &env, &why) != 0 ||
	    bs_mixer_arm(&r->mixer, &r->p, r->recon, &env, &why) != 0) {
		CHECK(0, "armed: %s", why.text);
		exit(1);
	}
	r->arena.sealed = true;
}

static void close_run(struct run *r)
{
	bs_mixer_disarm(r->mixer);
	bs_recon_disarm(r->recon);
	bs_arena_close(&r->arena);
}

static void pop(struct run *r)
{
	while (bs_recon_ready(r->recon) > 0 && r->images < 8) {
		struct bs_recon_image *image = &r->said[r->images];

		image->pixels = (float *)r->image[r->images];
		if (bs_recon_pop(r->recon, image, INT64_MAX, &why) != 1)
			CHECK(0, "popped: %s", why.text);
		r->images++;
	}
}

static struct bs_mrd_acq head_of(uint32_t slice, uint32_t contrast, uint32_t repetition)
{
	return (struct bs_mrd_acq){ .number_of_samples = SAMPLES,
				    .available_channels = COILS,
				    .active_channels = COILS,
				    .sample_time_us = 20.0f,
				    .idx = { .slice = (uint16_t)slice,
					     .contrast = (uint16_t)contrast,
					     .repetition = (uint16_t)repetition } };
}

static int give(struct run *r, const struct bs_mrd_acq *h, uint32_t row, const void *samples)
{
	int rc;

	do {
		rc = bs_mixer_readout(r->mixer, h, row, samples, 1, &why);
		pop(r);
	} while (rc == BS_RECON_POP_FIRST);
	r->refused += rc < 0;
	return rc;
}

static void give_line(struct run *r, uint32_t slice, uint32_t contrast, uint32_t row)
{
	const struct bs_mrd_acq h = head_of(slice, contrast, 0);

	if (give(r, &h, row, data[slice][contrast][row]) < 0)
		CHECK(r->p.whiten == BS_WHITEN_REQUIRE, "line %u: %s", row, why.text);
}

static int finish(struct run *r)
{
	int rc;

	do {
		rc = bs_mixer_close(r->mixer, &why);
		pop(r);
	} while (rc == BS_RECON_POP_FIRST);
	return rc;
}

static uint64_t taken(const struct run *r)
{
	return bs_recon_kinds(r->recon)->used[BS_KIND_IMAGING];
}

static void fill(void)
{
	float *v = (float *)data;

	for (size_t i = 0; i < sizeof(data) / sizeof(*v); i++)
		v[i] = (float)(check_uniform(&seed) - 0.5);
}

static void make_noise(struct bs_noise *n)
{
	static cf noise[COILS][400];
	const struct bs_scan_info info = { .measurement = "7_8_9", .noise_bandwidth = 0.8f };
	struct bs_mrd_acq h = { .number_of_samples = 400, .active_channels = COILS };
	double gram[COILS * COILS];

	for (uint32_t s = 0; s < 400; s++)
		for (uint32_t c = 0; c < COILS; c++)
			noise[c][s] = (float)(check_uniform(&seed) - 0.5) +
				      I * (float)(check_uniform(&seed) - 0.5) +
				      (c > 0 ? 0.4f * noise[c - 1][s] : 0.0f);
	bs_noise_start(n, &info);
	bs_noise_gram(gram, &h, noise);
	(void)bs_noise_add(n, gram, COILS, 400, 5.0f);
}

/* The image of lines multiplied by a[rows][COILS], in double, by an ordinary reconstruction. */
static void direct(cf *image, const double complex *a, uint32_t rows, uint32_t slice,
		   uint32_t contrast)
{
	static struct run plain;
	struct bs_protocol p = protocol(BS_WHITEN_OFF, 0);
	struct bs_recon_image out = { .pixels = (float *)image };

	p.coils = rows;
	bs_plan_make(&p);
	p.virtual_coils = rows; /* so that there is a mixer to arm, which is not used */
	bs_plan_make(&p);
	open_run(&plain, &p);
	bs_recon_scan(plain.recon, &(struct bs_scan_info){ 0 });
	for (uint32_t row = 0; row < LINES; row++) {
		struct bs_mrd_acq h = head_of(slice, contrast, 0);
		cf mixed[COILS][SAMPLES];

		h.active_channels = (uint16_t)rows;
		for (uint32_t v = 0; v < rows; v++)
			for (uint32_t s = 0; s < SAMPLES; s++) {
				double complex sum = 0.0;

				for (uint32_t c = 0; c < COILS; c++)
					sum += a[v + rows * c] * data[slice][contrast][row][c][s];
				mixed[v][s] = (cf)sum;
			}
		(void)bs_recon_readout(plain.recon, &h, row, (float *)mixed, 1, &why);
	}
	if (bs_recon_pop(plain.recon, &out, INT64_MAX, &why) != 1)
		CHECK(0, "the direct image: %s", why.text);
	close_run(&plain);
}

static double apart(const struct run *r, uint32_t i, const cf *want, uint32_t rows)
{
	return check_rel((const float *)r->image[i], (const float *)want,
			 (size_t)2 * rows * VOXELS);
}

static void test_whitening(const struct bs_noise *noise)
{
	static struct run r;
	static cf want[COILS * VOXELS];
	const struct bs_protocol p = protocol(BS_WHITEN_REQUIRE, 0);
	const struct bs_scan_info info = { 0 };
	double complex w[COILS * COILS];

	open_run(&r, &p);
	bs_mixer_scan(r.mixer, &info, noise);
	for (uint32_t row = 0; row < LINES; row++) {
		give_line(&r, 0, 0, row);
		if (row == 0)
			CHECK(taken(&r) == 1, "nothing waits");
	}
	(void)bs_whiten((double *)w, noise, 5.0 / 20.0 / 0.8f, &why);
	direct(want, w, COILS, 0, 0);
	CHECK(r.images == 1 && apart(&r, 0, want, COILS) < TIGHT, "whitened: %.1e",
	      apart(&r, 0, want, COILS));
	const struct bs_prepared *said = &r.said[0].prepared;

	CHECK(said->asked && said->whitened && strcmp(said->noise_scan, "7_8_9") == 0 &&
		      said->noise_samples == 400 && fabs(said->noise_scale - 0.3125) < 1e-6 &&
		      fabs(said->deviation[2] - bs_noise_deviation(noise, 0.3125, 2)) < 1e-6,
	      "and the image says so");
	close_run(&r);
}

static void test_without_noise(void)
{
	static struct run r, plain;
	static struct bs_noise dead;
	struct bs_protocol p = protocol(BS_WHITEN_REQUIRE, 0);
	const struct bs_scan_info info = { 0 };
	double complex one[COILS * COILS] = { 0 };

	open_run(&r, &p);
	bs_mixer_scan(r.mixer, &info, NULL);
	for (uint32_t row = 0; row < 3; row++)
		give_line(&r, 0, 0, row);
	CHECK(r.refused == 3 && finish(&r) == BS_ERR_CALIBRATION && r.images == 0, "required: %s",
	      why.text);
	make_noise(&dead);
	for (uint32_t i = 0; i < COILS; i++)
		dead.sum[3 * COILS + i] = dead.sum[i * COILS + 3] = 0.0;
	bs_mixer_scan(r.mixer, &info, &dead);
	give_line(&r, 0, 0, 0);
	CHECK(r.refused == 4 && strstr(why.text, "row 3") != NULL, "a dead channel: %s", why.text);
	close_run(&r);

	p.whiten = BS_WHITEN_AUTO;
	bs_plan_make(&p);
	for (uint32_t i = 0; i < COILS; i++)
		one[i + COILS * i] = 1.0;
	open_run(&plain, &p);
	bs_mixer_scan(plain.mixer, &info, NULL);
	for (uint32_t row = 0; row < LINES; row++)
		give_line(&plain, 0, 0, row);
	direct(plain.image[1], one, COILS, 0, 0);
	CHECK(plain.images == 1 &&
		      memcmp(plain.image[0], plain.image[1], sizeof(cf) * COILS * VOXELS) == 0,
	      "wanted where it can be: as it comes");
	CHECK(plain.said[0].prepared.asked && !plain.said[0].prepared.whitened,
	      "and the image says so");
	close_run(&plain);
}

/* The matrix that slice 0 should have: of its lines 7 to 22 of this contrast. */
static void expect(double complex *a, uint32_t rows, uint32_t slice, const double *w)
{
	static unsigned char work[1 << 15];
	double gram[COILS * COILS] = { 0 };
	double kept;

	for (uint32_t row = 7; row < 23; row++)
		bs_gram_add(gram, COILS, SAMPLES, data[slice][0][row], SAMPLES);
	CHECK(bs_compress((double *)a, &(struct bs_compressing){ rows, COILS, 1, gram, w, work },
			  &kept, &why) == 0,
	      "expected matrix");
}

static void test_compression(const struct bs_noise *noise)
{
	static struct run r, back;
	static cf want[4][COILS * VOXELS];
	const struct bs_protocol p = protocol(BS_WHITEN_AUTO, 3);
	const struct bs_scan_info info = { 0 };
	double complex w[COILS * COILS];
	double complex a[3 * COILS];
	bool waits = true;
	double worst = 0.0;

	open_run(&r, &p);
	bs_mixer_scan(r.mixer, &info, noise);
	/* lines of both slices and contrasts by turns: what waits is handed on in its order */
	for (uint32_t row = 0; row < LINES; row++)
		for (uint32_t i = 0; i < 4; i++) {
			give_line(&r, i & 1, i >> 1, row);
			if (row < 22 || (row == 22 && i == 0))
				waits = waits && taken(&r) == (row < 22 ? 0 : 23 + 22);
		}
	CHECK(waits && r.images == 4 && r.refused == 0, "lines wait until all that calibrate came");
	(void)bs_whiten((double *)w, noise, 5.0 / 20.0 / 0.8f, &why);
	for (uint32_t i = 0; i < 4; i++) {
		expect(a, 3, i & 1, (double *)w);
		direct(want[i], a, 3, i & 1, i >> 1);
		worst = fmax(worst, apart(&r, i, want[i], 3));
	}
	CHECK(worst < TIGHT, "each slice by its own central lines: %.1e", worst);
	CHECK(r.said[3].prepared.virtual_coils == 3 && r.said[3].prepared.kept < 1.0f &&
		      r.said[3].prepared.whitened && r.said[0].head.channels == 3,
	      "and the images say so");
	close_run(&r);

	open_run(&back, &p);
	bs_mixer_scan(back.mixer, &info, noise);
	for (uint32_t row = LINES; row-- > 0;)
		give_line(&back, 0, 0, row);
	CHECK(back.images == 1 && memcmp(back.image[0], r.image[0], sizeof(cf) * 3 * VOXELS) == 0,
	      "the same bytes from the last line to the first");
	close_run(&back);
}

/* Frames without central lines: as many wait as one has, or all that come until the scan ends. */
static void test_partial(void)
{
	static struct run r;
	const struct bs_protocol p = protocol(BS_WHITEN_OFF, 2);
	const struct bs_scan_info info = { 0 };
	struct bs_mrd_acq h;

	open_run(&r, &p);
	bs_mixer_scan(r.mixer, &info, NULL);
	for (uint32_t row = 0; row < 9; row++) /* two calibrate */
		give_line(&r, 0, 0, row);
	for (uint32_t row = 0; row < 5; row++) /* none does */
		give_line(&r, 1, 0, row);
	CHECK(taken(&r) == 0, "14 lines wait");
	h = head_of(0, 0, 1);
	CHECK(give(&r, &h, 30, data[0][0][30]) == 0 && taken(&r) == 0, "so does the next frame");
	CHECK(finish(&r) == 0 && r.images == 3 && taken(&r) == 15 && r.said[0].missing == LINES - 9,
	      "the scan's end ends all: %u images, %u missing", r.images, r.said[0].missing);
	memset(data[0][0][12], 0, sizeof(data[0][0][12]));
	bs_mixer_scan(r.mixer, &info, NULL);
	r.refused = 0;
	give_line(&r, 0, 0, 12);
	CHECK(finish(&r) == BS_ERR_CALIBRATION, "nothing but zeros: %s", why.text);
	close_run(&r);
}

/* Where the scan says how many lines a frame has, its last line's flag ends the wait. */
static void test_flagged(void)
{
	static struct run r;
	struct bs_protocol p = protocol(BS_WHITEN_OFF, 3);
	const struct bs_scan_info info = { 0 };
	struct bs_mrd_acq h = head_of(0, 0, 0);

	p.by_header = 1;
	open_run(&r, &p);
	bs_mixer_scan(r.mixer, &info, NULL);
	for (uint32_t row = 0; row < 9; row++) /* two calibrate */
		give_line(&r, 0, 0, row);
	CHECK(taken(&r) == 0, "9 lines wait");
	h.flags = BS_MRD_LAST_IN_SLICE;
	CHECK(give(&r, &h, 9, data[0][0][9]) == 0 && taken(&r) == 10 && r.images == 0,
	      "the last of its slice");
	close_run(&r);
}

/* Lines of calibration alone count, and pass; a trajectory's rows are spread over all. */
static void test_what_calibrates(void)
{
	static struct run r;
	struct bs_protocol p = protocol(BS_WHITEN_OFF, 2);
	const struct bs_scan_info info = { 0 };
	struct bs_mrd_acq h = head_of(0, 0, 0);

	p.uses = 1u << BS_KIND_CALIBRATION;
	open_run(&r, &p);
	r.inner.parallel = BS_PARALLEL_GRAPPA; /* something behind uses them, too */
	bs_plan_make(&r.inner);
	bs_mixer_scan(r.mixer, &info, NULL);
	h.flags = BS_MRD_IS_CALIBRATION;
	for (uint32_t row = 7; row < 23; row++) {
		CHECK(bs_recon_kinds(r.recon)->used[BS_KIND_CALIBRATION] == 0, "line %u waits",
		      row);
		(void)give(&r, &h, row, data[0][0][row]);
	}
	CHECK(bs_recon_kinds(r.recon)->used[BS_KIND_CALIBRATION] == 16,
	      "16 separate lines calibrate");
	give_line(&r, 0, 0, 0);
	CHECK(taken(&r) == 1, "and no line of the image waits");
	close_run(&r);

	p.uses = 0;
	p.method = BS_METHOD_NOOP;
	bs_plan_make(&p);
	p.readouts = 130; /* every third calibrates: 0 .. 129 */
	open_run(&r, &p);
	bs_mixer_scan(r.mixer, &info, NULL);
	for (uint32_t row = 129; row > 0; row--)
		give(&r,
		     &(struct bs_mrd_acq){ .number_of_samples = SAMPLES, .active_channels = COILS },
		     row, data[0][0][row % LINES]);
	CHECK(taken(&r) == 0, "129 of 130 rows wait for the first");
	give(&r, &(struct bs_mrd_acq){ .number_of_samples = SAMPLES, .active_channels = COILS }, 0,
	     data[0][0][0]);
	CHECK(taken(&r) == 130 && r.images == 1, "all have come");
	close_run(&r);
}

/*
 * Two sources, mixed into the coils differently at every place: two virtual coils at each hold all
 * of them, two for all places do not.
 */
static void test_geometric(void)
{
	static struct run full, one, each;
	struct bs_protocol p = protocol(BS_WHITEN_OFF, 0);
	const struct bs_scan_info info = { 0 };
	float mixture[2][COILS][2];

	p.combine = BS_COMBINE_RSS;
	p.output = BS_OUTPUT_MAGNITUDE;
	bs_plan_make(&p);
	for (size_t i = 0; i < sizeof(mixture) / sizeof(float); i++)
		((float *)mixture)[i] = (float)(check_uniform(&seed) - 0.5);
	for (uint32_t row = 0; row < LINES; row++) {
		double complex at[2][SAMPLES];

		for (uint32_t i = 0; i < 2 * SAMPLES; i++)
			((double complex *)at)[i] = check_uniform(&seed) - 0.5;
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t s = 0; s < SAMPLES; s++) {
				double complex sum = 0.0;

				for (uint32_t x = 0; x < SAMPLES; x++)
					for (uint32_t k = 0; k < 2; k++)
						sum += at[k][x] *
						       cexp(I * (mixture[k][c][0] +
								 2.0 * mixture[k][c][1] * x)) *
						       cexp(-I * 2.0 * acos(-1.0) * s * x /
							    SAMPLES);
				data[0][0][row][c][s] = (cf)sum;
			}
	}
	p.whiten = BS_WHITEN_AUTO; /* so that there is a mixer; without noise it passes all */
	bs_plan_make(&p);
	open_run(&full, &p);
	bs_mixer_scan(full.mixer, &info, NULL);
	p.whiten = BS_WHITEN_OFF;
	p.virtual_coils = 2;
	bs_plan_make(&p);
	open_run(&one, &p);
	bs_mixer_scan(one.mixer, &info, NULL);
	p.compression = BS_COMPRESSION_GEOMETRIC;
	open_run(&each, &p);
	bs_mixer_scan(each.mixer, &info, NULL);
	for (uint32_t row = 0; row < LINES; row++) {
		give_line(&full, 0, 0, row);
		give_line(&one, 0, 0, row);
		give_line(&each, 0, 0, row);
	}
	const double far = check_rel((float *)one.image[0], (float *)full.image[0], VOXELS);
	const double near = check_rel((float *)each.image[0], (float *)full.image[0], VOXELS);

	/* a readout is transformed to places and back: 2 log2 24 roundings more */
	CHECK(full.images == 1 && one.images == 1 && each.images == 1 && near < 10 * TIGHT &&
		      far > 0.1,
	      "a matrix for each place loses nothing: %.1e; one for all: %.1e", near, far);
	CHECK(each.said[0].prepared.kept > 0.999999f && one.said[0].prepared.kept < 0.95f,
	      "and the images say so: %.6f, %.6f", each.said[0].prepared.kept,
	      one.said[0].prepared.kept);
	close_run(&full);
	close_run(&one);
	close_run(&each);
}

/* Averages that are summed: the first calibrates, whatever the order in which they come. */
static void test_averages(void)
{
	static struct run r;
	static cf first[3 * VOXELS], want[3 * VOXELS], kept[LINES][COILS][SAMPLES];
	struct bs_protocol p = protocol(BS_WHITEN_OFF, 3);
	const struct bs_scan_info info = { 0 };
	double complex a[3 * COILS];

	p.averages = 2;
	bs_plan_make(&p);
	open_run(&r, &p);
	for (int order = 0; order < 4;
	     order++) { /* one after the other, by lines; both backwards */
		bs_mixer_scan(r.mixer, &info, NULL);
		r.images = 0;
		for (uint32_t i = 0; i < 2 * LINES; i++) {
			const uint32_t at = order < 2 ? i : 2 * LINES - 1 - i;
			const uint32_t average = order % 2 == 0 ? at / LINES : at % 2;
			const uint32_t row = order % 2 == 0 ? at % LINES : at / 2;
			struct bs_mrd_acq h = head_of(0, 0, 0);

			h.idx.average = (uint16_t)average;
			CHECK(r.images == 0 && give(&r, &h, row, data[average][0][row]) == 0,
			      "average %u of line %u: %s", average, row, why.text);
		}
		CHECK(r.images == 1 && r.said[0].readouts == 2 * LINES && taken(&r) == 2 * LINES,
		      "one image of both: %u", r.images);
		if (order == 0)
			memcpy(first, r.image[0], sizeof(first));
		CHECK(memcmp(first, r.image[0], sizeof(first)) == 0, "order %d: the same bytes",
		      order);
	}
	expect(a, 3, 0, NULL);
	memcpy(kept, data[0][0], sizeof(kept));
	for (uint32_t row = 0; row < LINES; row++)
		for (uint32_t i = 0; i < COILS * SAMPLES; i++)
			(&data[0][0][row][0][0])[i] =
				0.5f * ((&kept[row][0][0])[i] + (&data[1][0][row][0][0])[i]);
	direct(want, a, 3, 0, 0);
	memcpy(data[0][0], kept, sizeof(kept));
	CHECK(apart(&r, 0, want, 3) < TIGHT, "the mean, by the first one's matrix: %.1e",
	      apart(&r, 0, want, 3));
	close_run(&r);
}

/* A matrix, and one for each place, of the same lines by teams of any size. */
static void test_teams(void)
{
	static const int members[] = { 1, 2, 7 };
	static struct run r;
	static cf first[3 * VOXELS];
	struct bs_team *one = team;
	struct bs_protocol p = protocol(BS_WHITEN_OFF, 3);

	for (int i = 0; i < 6; i++) {
		p.compression = i < 3 ? BS_COMPRESSION_SVD : BS_COMPRESSION_GEOMETRIC;
		if (bs_team_open(&team, members[i % 3], &why) != 0)
			CHECK(0, "a team of %d: %s", members[i % 3], why.text);
		open_run(&r, &p);
		bs_mixer_scan(r.mixer, &(struct bs_scan_info){ 0 }, NULL);
		for (uint32_t row = 0; row < LINES; row++)
			give_line(&r, 0, 0, row);
		if (i % 3 == 0)
			memcpy(first, r.image[0], sizeof(first));
		CHECK(r.images == 1 && memcmp(first, r.image[0], sizeof(first)) == 0,
		      "%d threads: the same bytes", members[i % 3]);
		close_run(&r);
		bs_team_close(team);
	}
	team = one;
}

int main(void)
{
	static struct bs_noise noise;

	if (bs_team_open(&team, 1, &why) != 0)
		return 1;
	fill();
	make_noise(&noise);
	test_whitening(&noise);
	test_without_noise();
	test_compression(&noise);
	test_partial();
	test_flagged();
	test_what_calibrates();
	test_geometric();
	test_averages();
	test_teams();
	bs_team_close(team);
	return check_done();
}
