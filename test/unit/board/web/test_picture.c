/* test/unit/board/web/test_picture.c - images as the page shows them: values, sizes, refusals */
#include "board/web/picture.h"

#include <stdlib.h>
#include <string.h>

#include "test/support/check.h"

static unsigned char *out;
static size_t out_len;
static struct bs_picture p;
static uint16_t image_type;

static unsigned value(size_t i)
{
	const unsigned char *at = out + sizeof(p) + 2 * i;

	return at[0] | (unsigned)at[1] << 8;
}

static int make(uint16_t type, const uint32_t size[3], uint16_t channels, const void *pixels,
		size_t bytes)
{
	const struct bs_asked image = {
		.session = 0x1234,
		.number = 42,
		.head = { .data_type = type,
			  .matrix_size = { (uint16_t)size[0], (uint16_t)size[1],
					   (uint16_t)size[2] },
			  .channels = channels,
			  .slice = 3,
			  .image_type = image_type,
			  .user_int = { 5000, 1200, 1, 7, 2, 2, 0, 2 } },
		.pixels = pixels,
		.pixels_len = bytes,
	};
	int rc;

	free(out);
	out = NULL;
	rc = bs_picture_make(&out, &out_len, &image, NULL);
	if (rc == 0)
		memcpy(&p, out, sizeof(p));
	else
		out = NULL;
	return rc;
}

static void check_plane(void)
{
	static const float v[6] = { 0.0f, 1.0f, 2.0f, 3.0f, 4.0f, -8.0f };
	static const float c[8] = { 3.0f, 4.0f, 0.0f, 0.0f, 0.0f, 12.0f, INFINITY, 1.0f };
	unsigned char raw[sizeof(v) + 1];

	memcpy(raw + 1, v, sizeof(v)); /* a message's pixels are where they fall */
	CHECK(make(BS_MRD_FLOAT, (const uint32_t[3]){ 3, 2, 1 }, 1, raw + 1, sizeof(v)) == 0 &&
		      out_len == sizeof(p) + 12 && p.nx == 3 && p.ny == 2 && p.planes == 1 &&
		      p.step == 1,
	      "3 x 2 pixels");
	CHECK(p.most == 8.0f && value(0) == 0 && value(1) == 8192 && value(5) == 65535,
	      "magnitudes, 65535 the largest");
	CHECK(p.session == 0x1234 && p.image == 42 && p.slice == 3 && p.budget_us == 5000 &&
		      p.latency_us == 1200 && p.missed == 1 && p.iterations == 7 && p.quality == 2,
	      "what its header says");
	CHECK(make(BS_MRD_CXFLOAT, (const uint32_t[3]){ 2, 1, 1 }, 2, c, sizeof(c)) == 0 &&
		      p.most == 13.0f && value(0) == 65535 && value(1) == 0,
	      "complex, two channels: the root of the sum of squares; what is not finite is 0");
}

/* A phase or a velocity keeps its sign: 0 is in the middle. */
static void check_sign(void)
{
	static const float v[4] = { -50.0f, 0.0f, 100.0f, NAN };

	image_type = BS_MRD_PHASE;
	CHECK(make(BS_MRD_FLOAT, (const uint32_t[3]){ 4, 1, 1 }, 1, v, sizeof(v)) == 0 &&
		      p.least == -100.0f && p.most == 100.0f && value(0) == 16384 &&
		      value(1) == 32768 && value(2) == 65535 && value(3) == 32768,
	      "a velocity: %u %u %u %u", value(0), value(1), value(2), value(3));
	CHECK(make(BS_MRD_FLOAT, (const uint32_t[3]){ 2, 1, 1 }, 2, v, sizeof(v)) == 0 &&
		      p.most == 50.0f && value(0) == 0 && value(1) == 32768,
	      "of two channels the first");
	image_type = 0;
}

/* 160 x 160 x 64 is more than 2^20 pixels: blocks of 2 x 2. */
static void check_volume(void)
{
	enum { N = 160, Z = 64 };
	float *v = malloc(sizeof(float) * N * N * Z);
	int wrong = 0;

	if (v == NULL)
		abort();
	for (size_t z = 0; z < Z; z++)
		for (size_t i = 0; i < (size_t)N * N; i++)
			v[z * N * N + i] = (float)(z + 1) * (i % 2 != 0 ? 1.0f : 3.0f);
	CHECK(make(BS_MRD_FLOAT, (const uint32_t[3]){ N, N, Z }, 1, v, sizeof(float) * N * N * Z) ==
			      0 &&
		      p.nx == N / 2 && p.ny == N / 2 && p.planes == Z && p.step == 2 &&
		      p.matrix[0] == N,
	      "a volume is averaged, its slices are not");
	for (size_t z = 0; z < Z; z++)
		for (size_t i = 0; i < (size_t)N * N / 4; i++)
			wrong += fabs((double)value(z * N * N / 4 + i) / 65535.0 -
				      (double)(z + 1) / Z) > 1e-4;
	CHECK(wrong == 0 && p.most == 2.0f * Z, "each block has its mean: %d have not", wrong);
	free(v);
}

int main(void)
{
	static const float zeros[16] = { 0.0f };

	check_plane();
	check_sign();
	check_volume();
	CHECK(make(BS_MRD_FLOAT, (const uint32_t[3]){ 4, 4, 1 }, 1, zeros, sizeof(zeros)) == 0 &&
		      p.most == 0.0f && value(15) == 0,
	      "an empty image is dark");
	CHECK(make(BS_MRD_FLOAT, (const uint32_t[3]){ 4, 4, 1 }, 1, zeros, sizeof(zeros) / 2) ==
			      BS_ERR_SIZE &&
		      make(BS_MRD_FLOAT, (const uint32_t[3]){ 4, 0, 1 }, 1, zeros, 0) ==
			      BS_ERR_SIZE &&
		      make(BS_MRD_FLOAT, (const uint32_t[3]){ 4, 4, 1 }, 0, zeros, 64) ==
			      BS_ERR_SIZE &&
		      make(BS_MRD_FLOAT, (const uint32_t[3]){ 65535, 65535, 65535 }, 65535, zeros,
			   64) == BS_ERR_SIZE,
	      "sizes that do not agree are refused");
	CHECK(make(2, (const uint32_t[3]){ 4, 4, 1 }, 1, zeros, 32) == BS_ERR_UNSUPPORTED,
	      "and numbers of another type");
	free(out);
	return check_done();
}
