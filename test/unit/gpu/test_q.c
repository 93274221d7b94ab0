/* test/unit/gpu/test_q.c - Q by NUFFT against the direct sum: accuracy, weights, basis, symmetry */
#include "gpu/toeplitz/q.h"

#include "core/random.h"
#include "test/support/check.h"

static struct bs_team *team;

static void compare(uint32_t dims, const uint32_t matrix[3], enum bs_basis basis, double accuracy)
{
	struct bs_q_spec spec = {
		.dims = dims, .samples = 3000, .basis = basis, .accuracy = accuracy
	};
	struct bs_random random;
	struct bs_fail why = { 0 };
	float *q[2] = { NULL, NULL };
	float *k = malloc((size_t)spec.samples * dims * sizeof(*k));
	float *weight = malloc((size_t)spec.samples * sizeof(*weight));
	uint64_t size;
	int failed = 0;
	int odd = 0;

	for (int a = 0; a < 3; a++)
		spec.matrix[a] = matrix[a];
	size = bs_q_size(&spec);
	bs_random_seed(&random, 4);
	for (size_t i = 0; k && i < (size_t)spec.samples * dims; i++)
		k[i] = (float)(bs_random_uniform(&random) - 0.5);
	for (size_t i = 0; weight && i < (size_t)spec.samples; i++)
		weight[i] = (float)bs_random_uniform(&random);
	for (int i = 0; i < 2; i++) {
		spec.sum = i ? BS_SUM_NUFFT : BS_SUM_EXACT;
		q[i] = malloc(size * 2 * sizeof(float));
		failed |= !q[i] || !k || !weight ||
			  bs_q_make(q[i], &spec, k, weight, &(struct bs_q_making){ .team = team },
				    &why);
	}
	if (failed) {
		CHECK(0, "Q: %s", why.text);
	} else {
		double off = check_rel(q[1], q[0], (size_t)size * 2);

		CHECK(off <= accuracy, "%uD %u x %u x %u, %s: NUFFT within %.1e of the exact Q",
		      dims, matrix[0], matrix[1], matrix[2], basis ? "box" : "delta", off);
		/* Q(-n) = conj Q(n) on the plane that holds both, bit for bit: Q's spectrum is real
		 */
		for (int z = dims > 2 ? 1 - (int)matrix[2] : 0; z < (int)matrix[2]; z++)
			for (int y = 1 - (int)matrix[1]; y < (int)matrix[1]; y++) {
				const int32_t n[2][3] = { { 0, y, z }, { 0, -y, -z } };
				const float *a = q[1] + 2 * bs_q_index(&spec, n[0]);
				const float *b = q[1] + 2 * bs_q_index(&spec, n[1]);

				odd += a[0] != b[0] || a[1] != -b[1];
			}
		CHECK(!odd, "%uD: Hermitian, %d entries not", dims, odd);
	}
	free(q[0]);
	free(q[1]);
	free(k);
	free(weight);
}

int main(void)
{
	if (bs_team_open(&team, 2, NULL)) {
		CHECK(0, "a team");
		return check_done();
	}
	compare(2, (const uint32_t[3]){ 32, 24, 1 }, BS_BASIS_DELTA, 1e-3);
	compare(2, (const uint32_t[3]){ 31, 33, 1 }, BS_BASIS_BOX, 1e-5);
	compare(3, (const uint32_t[3]){ 16, 20, 17 }, BS_BASIS_DELTA, 1e-5);
	compare(3, (const uint32_t[3]){ 16, 16, 16 }, BS_BASIS_BOX, 1e-6);
	bs_team_close(team);
	return check_done();
}
