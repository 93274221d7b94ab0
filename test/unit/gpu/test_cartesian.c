/* test/unit/gpu/test_cartesian.c - Cartesian operator against a double-precision direct sum */
#include "core/thread/team.h"
#include "gpu/image/cartesian.h"
#include "test/support/check.h"

#include <complex.h>
#include <string.h>

#define TAU 6.28318530717958647692

/* One voxel by the definition in gpu/image/cartesian.h; lines[] says which were sent. */
static double complex direct(const struct bs_cart_spec *s, const float *data, const uint8_t *sent,
			     const int n[3])
{
	const uint32_t *E = s->encoded;
	double complex sum = 0;

	for (uint32_t l = 0; l < E[1] * E[2]; l++) {
		if (!sent[l])
			continue;
		for (uint32_t i = 0; i < s->samples; i++) {
			int kx = (int)(i + E[0] - s->samples) - (int)(E[0] / 2);
			int ky = (int)(l % E[1]) - (int)(E[1] / 2);
			int kz = (int)(l / E[1]) - (int)(E[2] / 2);
			const float *d = data + 2 * ((size_t)l * s->coils * s->samples + i);

			sum += (d[0] + I * (double)d[1]) *
			       cexp(I * TAU *
				    ((double)kx * n[0] / E[0] + (double)ky * n[1] / E[1] +
				     (double)kz * n[2] / E[2]));
		}
	}
	return sum / sqrt((double)E[0] * E[1] * E[2]);
}

/* The last coil's image at random voxels against the definition; then again: the same bytes. */
static void one(const struct bs_cart_spec *s, int members, uint64_t seed)
{
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_cart *plan;
	struct bs_fail why = { 0 };
	size_t lines = (size_t)s->encoded[1] * s->encoded[2];
	size_t per_line = (size_t)s->coils * s->samples;
	size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	float *data = malloc(lines * per_line * 8);
	float *image = malloc(voxels * s->coils * 8);
	float *again = malloc(voxels * s->coils * 8);
	uint8_t *sent = malloc(lines);
	double worst = 0;
	double peak = 0;

	for (size_t i = 0; i < 2 * lines * per_line; i++)
		data[i] = (float)(check_uniform(&seed) - 0.5);
	for (size_t l = 0; l < lines; l++)
		sent[l] = check_uniform(&seed) < 0.8;
	CHECK(bs_cart_need(s, &need, &why) == 0 && !need.overflow, "need %s", why.text);
	CHECK(bs_arena_open(&arena, need.total_bytes, &why) == 0, "arena %s", why.text);
	CHECK(bs_team_open(&team, members, &why) == 0, "team %s", why.text);
	CHECK(bs_cart_plan(&plan, s, &arena, team, &why) == 0, "plan %s", why.text);
	CHECK(arena.used <= arena.size && arena.size - arena.used < BS_ALIGN,
	      "need says what plan takes: %zu of %zu", arena.used, arena.size);
	for (int round = 0; round < 2; round++) {
		bs_cart_begin(plan, s->states - 1);
		for (size_t i = 0; i < lines; i++) {
			size_t l = round ? lines - 1 - i
					 : i; /* the order of arrival must not matter */

			if (sent[l])
				bs_cart_add(plan, s->states - 1, (uint32_t)l,
					    data + 2 * l * per_line, s->samples);
		}
		bs_cart_finish(plan, s->states - 1, round ? again : image);
	}
	CHECK(memcmp(image, again, voxels * s->coils * 8) == 0, "same bytes in another order");
	for (int t = 0; t < 40; t++) {
		uint32_t v[3];
		int n[3];

		for (int a = 0; a < 3; a++) {
			v[a] = (uint32_t)(check_uniform(&seed) * s->matrix[a]);
			n[a] = (int)v[a] - (int)(s->matrix[a] / 2);
		}
		double complex want =
			direct(s, data + 2 * (size_t)(s->coils - 1) * s->samples, sent, n);
		const float *got =
			image + 2 * ((s->coils - 1) * voxels +
				     ((size_t)v[2] * s->matrix[1] + v[1]) * s->matrix[0] + v[0]);

		worst = fmax(worst, cabs(got[0] + I * (double)got[1] - want));
		peak = fmax(peak, cabs(want));
	}
	/* FFT rounding grows as eps log2(size); 20 stages of 6e-8 leave 2e-6 wide of it. */
	CHECK(worst <= 2e-6 * peak, "%ux%ux%u of %ux%ux%u, %u coils, %d threads: error %.1e",
	      s->matrix[0], s->matrix[1], s->matrix[2], s->encoded[0], s->encoded[1], s->encoded[2],
	      s->coils, members, worst / peak);
	bs_cart_close(plan);
	bs_team_close(team);
	bs_arena_close(&arena);
	free(data);
	free(image);
	free(again);
	free(sent);
}

int main(void)
{
	struct bs_fail why = { 0 };
	struct bs_need need = { 0 };
	struct bs_cart_spec bad = { { 16, 16, 1 }, { 32, 16, 1 }, 16, 1, 1 };

	one(&(struct bs_cart_spec){ { 64, 32, 1 }, { 32, 32, 1 }, 64, 2, 1 }, 1, 11);
	one(&(struct bs_cart_spec){ { 64, 33, 1 }, { 31, 21, 1 }, 48, 3, 2 }, 2, 12);
	one(&(struct bs_cart_spec){ { 36, 18, 20 }, { 18, 17, 16 }, 36, 2, 2 }, 3, 13);
	/* a slab, few partitions, a row, a column, a voxel */
	one(&(struct bs_cart_spec){ { 64, 32, 4 }, { 32, 32, 4 }, 64, 2, 1 }, 1, 14);
	one(&(struct bs_cart_spec){ { 40, 33, 3 }, { 20, 33, 3 }, 40, 2, 1 }, 2, 15);
	one(&(struct bs_cart_spec){ { 5, 7, 2 }, { 5, 7, 1 }, 4, 2, 1 }, 1, 16);
	one(&(struct bs_cart_spec){ { 16, 1, 1 }, { 9, 1, 1 }, 16, 1, 2 }, 1, 17);
	one(&(struct bs_cart_spec){ { 2, 12, 1 }, { 1, 11, 1 }, 2, 3, 1 }, 2, 18);
	one(&(struct bs_cart_spec){ { 1, 1, 1 }, { 1, 1, 1 }, 1, 1, 1 }, 1, 19);
	CHECK(bs_cart_need(&bad, &need, &why) == BS_ERR_CONFIG, "refused: %s", why.text);
	return check_done();
}
