/*
 * test/unit/core/test_geometry.c - the voxel of every image is that of encodedSpace; position and
 * directions belong to the voxel at its center; contradictions are refused with both numbers
 */
/* Holds: W37, W38 */
#include "core/frame/geometry.h"
#include "core/frame/recon.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

static struct bs_fail why;

static void three(float to[3], float x, float y, float z)
{
	to[0] = x;
	to[1] = y;
	to[2] = z;
}

/* Twofold readout oversampling, 6 of 22 partitions oversampled: voxels of 3.4375, 3.5 and 3 mm. */
static struct bs_protocol slab(void)
{
	struct bs_protocol p = lines_of(64, 60, 16, 128, 1);

	p.encoded[2] = 22;
	p.readouts = 60 * 22;
	p.max_sample = 1e12;
	return coils_apart(p);
}

static struct bs_scan_info slab_header(void)
{
	return (struct bs_scan_info){ .encoded = { 128, 60, 22 },
				      .recon = { 64, 60, 16 },
				      .encoded_fov_mm = { 440, 210, 66 },
				      .fov_mm = { 220, 210, 48 },
				      .trajectory_name = "cartesian",
				      .encodings = 1 };
}

static void covers(const struct bs_protocol *p, const struct bs_scan_info *info, double x, double y,
		   double z, const char *what)
{
	float fov[3];

	bs_geometry_fov(fov, p, info);
	/* one rounding to float */
	CHECK(fabs(fov[0] - x) <= 1e-7 * x && fabs(fov[1] - y) <= 1e-7 * y &&
		      fabs(fov[2] - z) <= 1e-7 * z,
	      "%s: %.6g x %.6g x %.6g mm", what, (double)fov[0], (double)fov[1], (double)fov[2]);
}

static void sizes(void)
{
	struct bs_protocol p = slab();
	struct bs_scan_info info = slab_header();

	covers(&p, &info, 220, 210, 48, "oversampling cropped");
	p.matrix[0] = 128;
	p.matrix[2] = 22;
	bs_plan_make(&p);
	covers(&p, &info, 440, 210, 66, "nothing cropped, whatever reconSpace says");
	p.matrix[0] = 33;
	p.matrix[1] = 51;
	p.matrix[2] = 7;
	bs_plan_make(&p);
	covers(&p, &info, 33 * 3.4375, 51 * 3.5, 21, "an odd part of it");
	p.image_matrix[0] = 512;
	p.image_matrix[1] = 51;
	p.image_matrix[2] = 3;
	bs_plan_make(&p);
	covers(&p, &info, 33 * 3.4375, 51 * 3.5, 21, "resized: the same field of view");

	p = slab();
	p.dims = 2;
	p.matrix[2] = p.encoded[2] = info.encoded[2] = info.recon[2] = 1;
	bs_plan_make(&p);
	info.encoded_fov_mm[2] = 3;
	info.fov_mm[2] = 30; /* of all slices */
	covers(&p, &info, 220, 210, 3, "2D: z is the thickness of a slice");
	info.encoded_fov_mm[2] = 7.5f;
	info.fov_mm[2] = 5;
	covers(&p, &info, 220, 210, 5, "without the slice oversampling, as reconSpace has it");
	p.fov_mm[2] = 7.5f;
	CHECK(bs_geometry_check(&p, &info, &why) == BS_ERR_SIZE &&
		      strstr(why.text, "cover 5 mm: reconSpace has 1 over 5 mm") != NULL,
	      "another thickness: %s", why.text);
	p.fov_mm[2] = 0;

	p.method = BS_METHOD_GRIDDING;
	p.traj.type = BS_TRAJ_RADIAL2D;
	p.matrix[0] = p.matrix[1] = 384;
	bs_plan_make(&p);
	info = (struct bs_scan_info){ .encoded = { 384, 384, 1 },
				      .recon = { 192, 192, 1 },
				      .encoded_fov_mm = { 384, 384, 5 },
				      .fov_mm = { 192, 192, 5 } };
	covers(&p, &info, 384, 384, 5, "spokes, 384 voxels of 1 mm, a reconSpace of 192");
	p.matrix[1] = 200;
	bs_plan_make(&p);
	covers(&p, &info, 384, 200, 5, "as many voxels as the matrix has");
}

/* What neither header nor protocol says is 0, and is told. */
static void unsaid(void)
{
	struct bs_protocol p = slab();
	struct bs_scan_info info = slab_header();
	char words[BS_GEOMETRY_WORDS];

	CHECK(bs_geometry_words(words, &p, &info)[0] == '\0', "all is said");
	three(info.encoded_fov_mm, 0, 0, 66);
	p.fov_mm[0] = 222;
	covers(&p, &info, 222, 0, 48, "fov_mm where the header says 0");
	CHECK(strstr(bs_geometry_words(words, &p, &info), "is 0 along y: neither encodedSpace") !=
		      NULL,
	      "%s", words);
	CHECK(bs_geometry_check(&p, &info, &why) == 0, "that is no contradiction");
	info = slab_header();
	p = slab();
	for (int a = 0; a < 3; a++) {
		info.encoded_fov_mm[a] /= 1000;
		info.fov_mm[a] /= 1000;
	}
	CHECK(bs_geometry_check(&p, &info, &why) == BS_ERR_SIZE && strstr(why.text, "meters"), "%s",
	      why.text);
	memset(info.encoded_fov_mm, 0, sizeof(info.encoded_fov_mm));
	p.fov_mm[0] = 0;
	memset(p.name, 'n', sizeof(p.name) - 1);
	CHECK(strstr(bs_geometry_words(words, &p, &info), "is 0 along xyz:") != NULL &&
		      strstr(words, "says it") != NULL,
	      "%s", words);
}

static void contradictions(void)
{
	struct bs_protocol p = slab();
	struct bs_scan_info info = slab_header();

	CHECK(bs_admit_scan(&p, &info, &why) == 0, "a header that agrees: %s", why.text);
	three(p.fov_mm, 220, 210, 48);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "and a protocol that says the same");
	p.fov_mm[1] = 210.2f;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "to a thousandth");
	p.fov_mm[1] = 210.3f;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE && strstr(why.text, "210.3") != NULL &&
		      strstr(why.text, "cover 210 mm") != NULL,
	      "%s", why.text);
	three(p.fov_mm, 440, 210, 48);
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE && strstr(why.text, "is 440") != NULL &&
		      strstr(why.text, "220 mm") != NULL,
	      "%s", why.text);
	three(p.fov_mm, 0, 0, 0);

	/* an encodedSpace whose field of view leaves out the oversampling */
	info.encoded_fov_mm[0] = 220;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE && strstr(why.text, "110 mm") != NULL &&
		      strstr(why.text, "220 mm") != NULL,
	      "%s", why.text);
	p.fov_mm[0] = 220;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
	p.fov_mm[0] = 110;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "the protocol sides with encodedSpace");
	p.fov_mm[0] = 0;
	info = slab_header();

	/* a reconSpace that the scanner interpolates to: 128 voxels over the same field of view */
	info.recon[0] = 128;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "interpolated by the scanner, not here");
	p.image_matrix[0] = 128;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "and here: %s", why.text);
	p.image_matrix[0] = 0;
	p.matrix[0] = 128;
	bs_plan_make(&p);
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE && strstr(why.text, "440 mm") != NULL &&
		      strstr(why.text, "220 mm") != NULL,
	      "the oversampling is not interpolation: %s", why.text);
	p.matrix[0] = 64;
	bs_plan_make(&p);

	/* 61 lines for 60 voxels and oversampling of none: a matrix that the converter rounded */
	info = slab_header();
	p.encoded[1] = info.encoded[1] = 61;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "a line more is rounding: %s", why.text);
	p.encoded[1] = info.encoded[1] = 64;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);

	/* the reconSpace of a spiral is a wish */
	p = slab();
	p.method = BS_METHOD_GRIDDING;
	p.traj.type = BS_TRAJ_SPIRAL2D;
	p.dims = 2;
	p.matrix[2] = 1;
	bs_plan_make(&p);
	memset(p.encoded, 0, sizeof(p.encoded));
	info = (struct bs_scan_info){ .encoded = { 64, 60, 1 },
				      .recon = { 64, 60, 1 },
				      .encoded_fov_mm = { 64, 60, 5 },
				      .fov_mm = { 32, 30, 5 } };
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "spirals: %s", why.text);
	p.fov_mm[0] = 32;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
}

/*
 * A flat k-space is a point at the voxel that position belongs to. It is at the image's center,
 * cropped or resized, odd or even; what the readouts say of position and directions passes.
 */
static void center(const uint32_t matrix[2], const uint32_t image[2])
{
	struct bs_protocol p = slab();
	struct bs_scan_info info = slab_header();
	const float oblique[3] = { 0.36f, -0.48f, 0.8f };
	struct bs_tables tables = { 0 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_recon_image out = { 0 };
	struct bs_team *team;
	struct bs_recon *r = NULL;
	float line[256];
	size_t top = 0;
	size_t voxels;
	int rc;

	p.dims = 2;
	p.matrix[2] = p.encoded[2] = info.encoded[2] = info.recon[2] = p.image_matrix[2] = 1;
	p.readouts = 60;
	bs_plan_make(&p);
	memcpy(p.matrix, matrix, 8);
	bs_plan_make(&p);
	memcpy(p.image_matrix, image, 8);
	bs_plan_make(&p);
	voxels = bs_protocol_image_voxels(&p);
	out.pixels = malloc(bs_protocol_image_bytes(&p));
	for (int i = 0; i < 256; i++)
		line[i] = i % 2 == 0 ? 1.0f : 0.0f;
	CHECK(bs_team_open(&team, 1, &why) == 0, "team");
	rc = bs_recon_need(&p, &bs_engine_host, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	struct bs_arm_env env = { .arena = &arena, .team = team, .cache_dir = "" };

	if (rc == 0)
		rc = bs_recon_arm(&r, &p, &bs_engine_host, &tables, &env, &why);
	if (rc == 0)
		bs_recon_scan(r, &info);
	for (uint16_t y = 0; rc == 0 && y < 60; y++) {
		struct bs_mrd_acq h = { .version = 1,
					.number_of_samples = 128,
					.active_channels = 1 };

		h.idx.kspace_encode_step_1 = y;
		for (int a = 0; a < 3; a++) {
			h.position[a] = 10.0f * (float)a - 3.5f;
			h.read_dir[a] = oblique[a];
			h.phase_dir[a] = oblique[(a + 1) % 3];
			h.slice_dir[a] = oblique[(a + 2) % 3];
		}
		rc = bs_recon_readout(r, &h, y, line, y, &why);
	}
	if (rc == 0)
		rc = bs_recon_pop(r, &out, INT64_MAX, &why);
	for (size_t v = 0; v < voxels; v++)
		if (fabsf(out.pixels[2 * v]) > fabsf(out.pixels[2 * top]))
			top = v;
	CHECK(rc == 1 && top % out.head.matrix_size[0] == out.head.matrix_size[0] / 2u &&
		      top / out.head.matrix_size[0] == out.head.matrix_size[1] / 2u &&
		      out.head.matrix_size[0] * out.head.matrix_size[1] == voxels,
	      "%u x %u on %u x %u: the point is at %zu, %zu %s", matrix[0], matrix[1],
	      out.head.matrix_size[0], out.head.matrix_size[1], top % out.head.matrix_size[0],
	      top / out.head.matrix_size[0], why.text);
	CHECK(out.head.position[0] == -3.5f && out.head.position[2] == 16.5f &&
		      out.head.read_dir[2] == oblique[2] && out.head.phase_dir[2] == oblique[0] &&
		      out.head.slice_dir[2] == oblique[1],
	      "position and directions are the readouts'");
	CHECK(fabs(out.head.field_of_view[0] - 3.4375 * matrix[0]) <= 1e-4 &&
		      fabs(out.head.field_of_view[1] - 3.5 * matrix[1]) <= 1e-4,
	      "field of view %g x %g mm", (double)out.head.field_of_view[0],
	      (double)out.head.field_of_view[1]);
	bs_recon_disarm(r);
	bs_arena_close(&arena);
	bs_team_close(team);
	free(out.pixels);
}

int main(void)
{
	static const uint32_t all[][2] = { { 64, 60 }, { 63, 59 }, { 100, 17 }, { 128, 60 } };

	sizes();
	unsaid();
	contradictions();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t j = 0; j < sizeof(all) / sizeof(all[0]); j++)
			center(all[i], all[j]);
	return check_done();
}
