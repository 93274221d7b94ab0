/*
 * gpu/image/unfold.cu - Cartesian SENSE on the GPU; see unfold_cuda.h
 *
 * All coils' columns go through an iteration together: the product with the maps, a pass along each
 * axis, the lines, the passes back, the sum over the coils.
 */
#include "gpu/image/unfold_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/fft/lines_cuda.h"
#include "gpu/solve/pcg_cuda.h"

#define THREADS 256

struct bs_unfold_cuda {
	struct bs_unfold_spec s;
	uint64_t voxels;
	const float2 *maps, *coil_images;
	/* coils [coil][z][y][x]; grid: the same on the encoded y, then on the encoded z, too */
	float2 *b, *coils, *grid;
	/*
	 * device memory [kz][ky]: 1 where the line came, else 0; of slices at once their phases
	 * (bs_unfold_phases), and behind them first
	 */
	float *keep;
	/* device memory, which graphs read: values before the maps of the group; NULL: no group */
	const uint64_t *first;
	struct bs_pinned staged; /* copy of keep on the host */
	bs_line_pass forward[2], back[2];
	bs_line_pass whole;           /* forward along y, of coil images on the encoded grid */
	struct bs_unfold_group group; /* slices that the lines of the next solve hold */
	uint64_t before;              /* the next solve's first */
	struct bs_csr_cuda plain, adjoint;
	struct bs_pcg_cuda *pcg;
};

static uint64_t lines_of(const struct bs_unfold_spec *s)
{
	return (uint64_t)s->encoded[0] * s->encoded[1];
}

static uint64_t voxels_of(const struct bs_unfold_spec *s)
{
	return (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
}

/* Number of slices that are solved for together. */
static uint32_t slices_of(const struct bs_unfold_spec *s)
{
	return s->group > 0 ? s->matrix[2] : 1;
}

/* Number of axes along which lines are transformed. */
static int axes_of(const struct bs_unfold_spec *s)
{
	return s->group > 0 ? 1 : 2;
}

/* Returns the complex values of the coils' images on the encoded grid. */
static uint64_t grid_of(const struct bs_unfold_spec *s)
{
	return lines_of(s) * s->matrix[0] * s->coils * slices_of(s);
}

static uint64_t turns_bytes(const struct bs_unfold_spec *s)
{
	return lines_of(s) * slices_of(s) * sizeof(float2);
}

static uint64_t keep_bytes(const struct bs_unfold_spec *s)
{
	return s->group > 0 ? turns_bytes(s) + sizeof(uint64_t) : lines_of(s) * sizeof(float);
}

static struct bs_pcg_cuda_spec pcg_of(const struct bs_unfold_spec *s, const struct bs_csr *w,
				      double tolerance)
{
	struct bs_pcg_cuda_spec g;

	memset(&g, 0, sizeof(g));
	g.voxels = voxels_of(s) * s->sets;
	g.iterations = s->iterations;
	g.tolerance = tolerance;
	g.rows = w != NULL ? w->rows : 0;
	return g;
}

int bs_unfold_cuda_need(const struct bs_unfold_spec *s, const struct bs_csr *w, uint64_t *bytes,
			struct bs_fail *why)
{
	const struct bs_pcg_cuda_spec g = pcg_of(s, w, 0.0);
	struct bs_need host;
	int rc;

	memset(&host, 0, sizeof(host));
	rc = bs_unfold_need(s, &host, why); /* the same sizes are legal as on the host */
	if (rc == 0 && w != NULL && s->sets > 1)
		rc = bs_fail(why, BS_ERR_UNSUPPORTED, "SENSE: W with two sets of maps on a GPU");
	if (rc == 0 && w != NULL && w->cols != voxels_of(s))
		rc = bs_fail(why, BS_ERR_SIZE, "SENSE: W has %llu columns, an image %llu voxels",
			     (unsigned long long)w->cols, (unsigned long long)voxels_of(s));
	for (int a = 0; a < 2 && rc == 0; a++)
		if (s->encoded[a] > BS_LINE_MAX)
			rc = bs_fail(why, BS_ERR_CONFIG, "SENSE: %u lines", s->encoded[a]);
	if (rc == 0)
		rc = bs_pcg_cuda_need(&g, bytes, why);
	if (rc != 0)
		return rc;
	*bytes += bs_devmem_round(voxels_of(s) * s->sets * 8) +
		  2 * bs_devmem_round(grid_of(s) * 8) + bs_devmem_round(keep_bytes(s));
	for (int a = 0; a < axes_of(s); a++)
		*bytes += bs_line_bytes(s->encoded[a]);
	if (w != NULL)
		*bytes += bs_csr_cuda_need(w, BS_CSR_PLAIN) + bs_csr_cuda_need(w, BS_CSR_ADJOINT);
	return 0;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/*
 * Sets coils[c] to the sum over sets of S x. blockIdx.y: the coil, z: the slice, of `voxels` each,
 * whose maps lie `step` values apart, the first one's behind *first values.
 */
static __global__ void weigh(float2 *coils, const float2 *x, const float2 *maps,
			     const uint64_t *first, uint32_t sets, uint32_t n, uint64_t voxels,
			     uint64_t step)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint64_t c = blockIdx.y;
	const uint64_t slice = blockIdx.z * voxels;
	const uint64_t all = gridDim.z * voxels;
	float2 sum = make_float2(0.0f, 0.0f);

	if (v >= voxels)
		return;
	maps += blockIdx.z * step + (first != NULL ? *first : 0);
	for (uint32_t m = 0; m < sets; m++) {
		const float2 p =
			bs_cmul(maps[((uint64_t)m * n + c) * voxels + v], x[m * all + slice + v]);

		sum.x += p.x;
		sum.y += p.y;
	}
	coils[c * all + slice + v] = sum;
}

/* Sets out[set] = scale sum_c conj(S) coils[c]. blockIdx.y: the set, z: as of weigh. */
static __global__ void gather(float2 *out, const float2 *coils, const float2 *maps,
			      const uint64_t *first, uint32_t n, uint64_t voxels, uint64_t step,
			      float scale)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint64_t m = blockIdx.y;
	const uint64_t slice = blockIdx.z * voxels;
	const uint64_t all = gridDim.z * voxels;
	float2 sum = make_float2(0.0f, 0.0f);

	if (v >= voxels)
		return;
	maps += blockIdx.z * step + (first != NULL ? *first : 0);
	for (uint32_t c = 0; c < n; c++) {
		const float2 s = maps[(m * n + c) * voxels + v];
		const float2 p = bs_cmul_conj(coils[c * all + slice + v], s);

		sum.x += p.x;
		sum.y += p.y;
	}
	out[m * all + slice + v] = make_float2(scale * sum.x, scale * sum.y);
}

/*
 * grid [coil][slice][ky][x]: adds up each line's slices times their phases [slice][ky], or takes
 * sum [coil][ky][x] where it is not NULL. Sets each slice to the sum times its phase's conjugate.
 * blockIdx.y: the line.
 */
static __global__ void cross(float2 *grid, const float2 *sum, const float2 *phases,
			     uint32_t columns, uint32_t coils, uint32_t slices)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	const uint64_t slice = (uint64_t)gridDim.y * columns;
	const uint64_t at = (uint64_t)blockIdx.y * columns + i % columns;
	float2 *own = grid + i / columns * slices * slice + at;
	float2 all = make_float2(0.0f, 0.0f);

	if (i >= columns * coils)
		return;
	if (sum != NULL)
		all = sum[i / columns * slice + at];
	for (uint32_t b = 0; sum == NULL && b < slices; b++)
		all = bs_cadd(all, bs_cmul(phases[b * gridDim.y + blockIdx.y], own[b * slice]));
	for (uint32_t b = 0; b < slices; b++)
		own[b * slice] = bs_cmul_conj(all, phases[b * gridDim.y + blockIdx.y]);
}

/* Zeroes the lines of grid [coil][kz][ky][x] that did not come; blockIdx.y: the line. */
static __global__ void keep_lines(float2 *grid, const float *keep, uint32_t columns, uint64_t coil,
				  uint32_t coils)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i >= columns * coils || keep[blockIdx.y] != 0.0f)
		return;
	grid[i / columns * coil + (uint64_t)blockIdx.y * columns + i % columns] =
		make_float2(0.0f, 0.0f);
}

static dim3 over(uint64_t voxels, uint32_t y, uint32_t z)
{
	return dim3((unsigned)((voxels + THREADS - 1) / THREADS), y, z);
}

static int gather_coils(const struct bs_unfold_cuda *u, float2 *out, const float2 *coils,
			float scale, struct CUstream_st *stream, struct bs_fail *why)
{
	const uint32_t slices = slices_of(&u->s);

	gather<<<over(u->voxels / slices, u->s.sets, slices), THREADS, 0, stream>>>(
		out, coils, u->maps, u->first, u->s.coils, u->voxels / slices, u->s.group, scale);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* Keeps the lines that came, which hold one slice or several. sum: NULL, or as of cross. */
static int keep(const struct bs_unfold_cuda *u, float2 *grid, const float2 *sum,
		struct CUstream_st *stream, struct bs_fail *why)
{
	const struct bs_unfold_spec *s = &u->s;
	const uint32_t lines = (uint32_t)lines_of(s);
	const dim3 blocks = over((uint64_t)s->matrix[0] * s->coils, lines, 1);

	if (s->group > 0)
		cross<<<blocks, THREADS, 0, stream>>>(grid, sum, (const float2 *)u->keep,
						      s->matrix[0], s->coils, s->matrix[2]);
	else
		keep_lines<<<blocks, THREADS, 0, stream>>>(
			grid, u->keep, s->matrix[0], (uint64_t)lines * s->matrix[0], s->coils);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_unfold_cuda_apply(void *self, const float *in, float *out, struct CUstream_st *stream,
			 struct bs_fail *why)
{
	struct bs_unfold_cuda *u = (struct bs_unfold_cuda *)self;
	const struct bs_unfold_spec *s = &u->s;
	const uint32_t slices = slices_of(s);
	const bool volume = s->encoded[1] > 1;
	float2 *full = volume ? u->coils : u->grid;
	int rc;

	weigh<<<over(u->voxels / slices, s->coils, slices), THREADS, 0, stream>>>(
		u->coils, (const float2 *)in, u->maps, u->first, s->sets, s->coils,
		u->voxels / slices, s->group);
	rc = BS_CUDA_RC(cudaGetLastError(), why);
	if (rc == 0)
		rc = bs_line_launch(&u->forward[0], -1, u->coils, u->grid, stream, why);
	if (rc == 0 && volume)
		rc = bs_line_launch(&u->forward[1], -1, u->grid, u->coils, stream, why);
	if (rc != 0)
		return rc;
	rc = keep(u, full, NULL, stream, why);
	if (rc == 0 && volume)
		rc = bs_line_launch(&u->back[1], 1, u->coils, u->grid, stream, why);
	if (rc == 0)
		rc = bs_line_launch(&u->back[0], 1, u->grid, u->coils, stream, why);
	return rc != 0 ? rc
		       : gather_coils(u, (float2 *)out, u->coils, (float)(1.0 / lines_of(s)),
				      stream, why);
}

/* Queues b = sum_c S_c^H of the coil images, of slices at once with their phases taken off. */
static int combine(const struct bs_unfold_cuda *u, struct CUstream_st *stream, struct bs_fail *why)
{
	int rc = 0;

	if (u->s.group == 0)
		return gather_coils(u, u->b, u->coil_images, 1.0f, stream, why);
	rc = bs_line_launch(&u->whole, -1, u->coil_images, u->coils, stream, why);
	if (rc == 0)
		rc = keep(u, u->grid, u->coils, stream, why);
	if (rc == 0)
		rc = bs_line_launch(&u->back[0], 1, u->grid, u->coils, stream, why);
	return rc != 0 ? rc
		       : gather_coils(u, u->b, u->coils, (float)(1.0 / lines_of(&u->s)), stream,
				      why);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static int plan_axis(struct bs_unfold_cuda *u, int a, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_unfold_spec *s = &u->s;
	bs_line_pass *f = &u->forward[a];
	const uint32_t E = s->encoded[a];
	const uint32_t N = s->matrix[a + 1];
	int rc = bs_line_make(&f->line, E, mem, why);

	if (rc != 0)
		return rc;
	f->in_count = N;
	f->in_half = N / 2;
	f->out_count = E;
	f->out_half = E / 2;
	f->inner = (uint64_t)s->matrix[0] * (a == 1 ? s->encoded[0] : 1);
	f->outer = (uint64_t)s->coils * (a == 0 ? s->matrix[2] : 1);
	u->back[a] = *f;
	u->back[a].in_count = E;
	u->back[a].in_half = E / 2;
	u->back[a].out_count = N;
	u->back[a].out_half = N / 2;
	u->whole = u->forward[0];
	u->whole.in_count = s->encoded[0];
	u->whole.in_half = s->encoded[0] / 2;
	u->whole.outer = s->coils;
	return 0;
}

static int plan_pcg(struct bs_unfold_cuda *u, const struct bs_csr *w, float *rho, double tolerance,
		    struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_pcg_cuda_spec g = pcg_of(&u->s, w, tolerance);
	struct bs_pcg_cuda_system system;
	int rc = 0;

	memset(&system, 0, sizeof(system));
	if (w != NULL)
		rc = bs_csr_cuda_plan(&u->plain, w, BS_CSR_PLAIN, mem, why);
	if (rc == 0 && w != NULL)
		rc = bs_csr_cuda_plan(&u->adjoint, w, BS_CSR_ADJOINT, mem, why);
	if (rc != 0)
		return rc;
	system.apply = bs_unfold_cuda_apply;
	system.self = u;
	system.mu = u->s.lambda;
	system.w = w != NULL ? &u->plain : NULL;
	system.adjoint = w != NULL ? &u->adjoint : NULL;
	system.b = (const float *)u->b;
	system.x = rho;
	return bs_pcg_cuda_plan(&u->pcg, &g, &system, mem, why);
}

int bs_unfold_cuda_plan(struct bs_unfold_cuda **plan, const struct bs_unfold_spec *s,
			const struct bs_csr *w, const float *maps, const float *coil_images,
			float *rho, double tolerance, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_unfold_cuda *u = (struct bs_unfold_cuda *)calloc(1, sizeof(*u));
	int rc = u == NULL ? bs_fail(why, BS_ERR_NOMEM, "SENSE plan") : bs_lines_cuda_init(why);

	*plan = u;
	if (rc == 0)
		rc = bs_pinned_open(&u->staged, keep_bytes(s), why);
	if (rc == 0) {
		u->s = *s;
		u->voxels = voxels_of(s);
		u->maps = (const float2 *)maps;
		u->coil_images = (const float2 *)coil_images;
		u->b = (float2 *)bs_devmem_take(mem, u->voxels * s->sets * 8);
		u->coils = (float2 *)bs_devmem_take(mem, grid_of(s) * 8);
		u->grid = (float2 *)bs_devmem_take(mem, grid_of(s) * 8);
		u->keep = (float *)bs_devmem_take(mem, keep_bytes(s));
		if (u->b == NULL || u->coils == NULL || u->grid == NULL || u->keep == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "SENSE: coil images");
		else if (s->group > 0)
			u->first = (const uint64_t *)((char *)u->keep + turns_bytes(s));
	}
	for (int a = 0; a < axes_of(s) && rc == 0; a++)
		rc = plan_axis(u, a, mem, why);
	return rc != 0 ? rc : plan_pcg(u, w, rho, tolerance, mem, why);
}

void bs_unfold_cuda_close(struct bs_unfold_cuda *u)
{
	if (u == NULL)
		return;
	bs_pcg_cuda_close(u->pcg);
	bs_pinned_close(&u->staged);
	free(u);
}

void bs_unfold_cuda_hold(struct bs_unfold_cuda *u, const struct bs_unfold_group *group,
			 uint64_t first)
{
	u->group = *group;
	u->before = first;
}

float *bs_unfold_cuda_b(const struct bs_unfold_cuda *u)
{
	return (float *)u->b;
}

int bs_unfold_cuda_begin(struct bs_unfold_cuda *u, const uint8_t *lines, struct CUstream_st *stream,
			 struct bs_fail *why)
{
	float *staged = (float *)u->staged.host;

	/* The last solve has waited for the stream, so nothing reads this memory any more. */
	if (u->s.group > 0) {
		bs_unfold_phases(staged, &u->s, &u->group, lines, u->s.encoded[0] / 2);
		memcpy((char *)staged + turns_bytes(&u->s), &u->before, sizeof(u->before));
	}
	for (uint64_t l = 0; u->s.group == 0 && l < lines_of(&u->s); l++)
		staged[l] = lines[l] != 0 ? 1.0f : 0.0f;
	BS_CUDA(cudaMemcpyAsync(u->keep, staged, keep_bytes(&u->s), cudaMemcpyHostToDevice, stream),
		why);
	return combine(u, stream, why);
}

int bs_unfold_cuda_solve(struct bs_unfold_cuda *u, const uint8_t *lines, uint32_t iterations,
			 int64_t deadline_ns, struct CUstream_st *stream,
			 struct bs_pcg_result *result, struct bs_fail *why)
{
	const int rc = bs_unfold_cuda_begin(u, lines, stream, why);

	return rc != 0 ? rc
		       : bs_pcg_cuda_solve(u->pcg, iterations, deadline_ns, stream, result, why);
}
