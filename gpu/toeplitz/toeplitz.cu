/* gpu/toeplitz/toeplitz.cu - the Toeplitz operator as fused FFT passes; see toeplitz_cuda.h */
#include "gpu/toeplitz/toeplitz_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/toeplitz/cuda/flat.cuh"
#include "gpu/toeplitz/cuda/sizes.cuh"
#include "gpu/toeplitz/cuda/spectrum.cuh"

static const struct {
	const struct tp_size *size;
	const int *count;
} lists[] = {
	{ tp_sizes_8, &tp_count_8 },
	{ tp_sizes_16, &tp_count_16 },
	{ tp_sizes_16_long, &tp_count_16_long },
	{ tp_sizes_32, &tp_count_32 },
};

struct bs_toeplitz_cuda {
	struct bs_toeplitz_spec spec;
	struct tp_flat_plan flat; /* the 2D plan: all but spec; the members below it are for 3D */
	const struct tp_size *size[3];
	uint32_t turn; /* coils that share first and last; more coils take turns */
	int grid[3];   /* points of the padded axes */
	/* points of the padded grid; complex values of a coil in first and in last */
	size_t whole, narrow, wide;
	float2 *twiddles[3];
	float *spectrum; /* [gz][gy][gx], or by planes: [gx], then gpu/toeplitz/cuda/plane.cuh */
	float2 *first;   /* [coil][z Nz][y Ny][gx], or by planes [coil][gx][z Nz][y Ny] */
	float2 *last;    /* [coil][z Nz][gy][gx]; while the plan is made, the spectrum */
	bool close;      /* launches may overlap (launch.cuh) */
	size_t shared_bytes; /* most bytes of shared memory of a block */
	bool planes;         /* one kernel does y and z, and the spectrum is in its order */
	const int *stop;     /* stop flag of the call in progress */
};

/* Bytes of shared memory of a kernel. is_transposed: x passes whose outer lines are transposed. */
static int shared_of(const struct tp_size *s, int kind, bool is_transposed)
{
	const int per = TP_THREADS / s->a;
	const int line = per * s->a * (s->b + 1) * (int)sizeof(float);
	const int tile = s->a * s->b * per * (int)sizeof(float2);
	const int transposed = s->a * s->b * (per + 1) * (int)sizeof(float2);

	if (kind < TP_Y_IN)
		return is_transposed && transposed > line ? transposed : line;
	return kind == TP_PLANE ? s->plane_bytes : tile;
}

/* Returns the least size that a line of n voxels fits. */
static const struct tp_size *size_of(uint32_t n)
{
	for (size_t l = 0; n >= 1 && l < sizeof(lists) / sizeof(lists[0]); l++)
		for (int i = 0; i < *lists[l].count; i++)
			if ((uint32_t)(lists[l].size[i].a * lists[l].size[i].b) + 1 >= 2 * n)
				return &lists[l].size[i];
	return NULL;
}

int bs_toeplitz_cuda_padded(uint32_t dims, uint32_t n)
{
	const struct tp_size *s = size_of(n);

	return dims == 2 ? tp_flat_padded(n) : s != NULL ? s->a * s->b : 0;
}

/* Most bytes of the two intermediate arrays; beyond it coils take turns, as equal as possible. */
#define TURN_BYTES (UINT64_C(4) << 30)

static void choose_turn(struct bs_toeplitz_cuda *p)
{
	const uint32_t coils = p->spec.coils;
	uint64_t most = p->spec.turn != 0 ? p->spec.turn
					  : TURN_BYTES / ((p->narrow + p->wide) * sizeof(float2));

	most = most < 1 ? 1 : most < coils ? most : coils;
	const uint32_t turns = (uint32_t)((coils + most - 1) / most);

	p->turn = (coils + turns - 1) / turns;
}

static int lay_out(struct bs_toeplitz_cuda *p, const struct bs_toeplitz_spec *spec,
		   struct bs_fail *why)
{
	const uint32_t operators = spec->operators > 1 ? spec->operators : 1;

	if ((spec->dims != 2 && spec->dims != 3) || spec->coils < 1 ||
	    spec->coils / operators > BS_COILS_MAX || spec->coils % operators != 0 ||
	    (operators > 1 && spec->dims != 2))
		return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: %u dimensions, %u coils",
			       spec->dims, spec->coils);
	struct bs_reach reach;

	memset(p, 0, sizeof(*p));
	p->spec = *spec;
	int err = bs_reach(&reach, why);

	if (err != 0)
		return err;
	p->close = reach.overlaps;
	p->shared_bytes = reach.shared_bytes;
	if (spec->dims == 2)
		return tp_flat_lay_out(&p->flat, spec, why);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t n = spec->matrix[i];

		p->size[i] = size_of(n);
		if (p->size[i] == NULL)
			return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: matrix[%u] is %u", i,
				       n);
		p->grid[i] = p->size[i]->a * p->size[i]->b;
	}
	p->narrow = (size_t)p->grid[0] * spec->matrix[1] * spec->matrix[2];
	p->wide = (size_t)p->grid[0] * p->grid[1] * spec->matrix[2];
	p->whole = (size_t)p->grid[0] * p->grid[1] * p->grid[2];
	choose_turn(p);
	return 0;
}

/* Takes the arrays. last also holds the spectrum while that is reordered. */
static void take_all(struct bs_toeplitz_cuda *p, struct bs_devroom *r)
{
	const size_t last = p->wide * p->turn * sizeof(float2);
	const size_t spectrum = p->whole * sizeof(float);

	bs_devroom_take(r, &p->spectrum, spectrum);
	bs_devroom_take(r, &p->first, p->narrow * p->turn * sizeof(float2));
	bs_devroom_take(r, &p->last, last > spectrum ? last : spectrum);
	for (int i = 0; i < 3; i++)
		bs_devroom_take(r, &p->twiddles[i], (uint64_t)p->grid[i] * 2 * sizeof(float2));
}

int bs_toeplitz_cuda_need(const struct bs_toeplitz_spec *spec, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_toeplitz_cuda p;
	struct bs_devroom room = {};
	int err = lay_out(&p, spec, why);

	if (err != 0)
		return err;
	if (spec->dims == 2)
		tp_flat_take(&p.flat, &room);
	else
		take_all(&p, &room);
	*bytes = room.bytes;
	return 0;
}

uint64_t bs_toeplitz_cuda_bytes(const struct bs_toeplitz_cuda *p, uint32_t coils)
{
	const uint64_t voxels = (uint64_t)p->spec.matrix[0] * p->spec.matrix[1] * p->spec.matrix[2];
	const uint64_t wide = p->planes ? 0 : p->wide;

	return p->spec.dims == 2
		       ? tp_flat_bytes(&p->flat, coils)
		       : coils * sizeof(float2) * (2 * voxels + 4 * p->narrow + 4 * wide) +
				 p->whole * sizeof(float);
}

/* Finds whether a cluster of blocks can hold a plane of y and z. */
static int choose_planes(struct bs_toeplitz_cuda *p, struct bs_fail *why)
{
	const struct tp_size *s = p->size[1];
	cudaLaunchConfig_t config = cudaLaunchConfig_t();
	cudaLaunchAttribute attribute;
	cudaFuncAttributes its;
	int clusters = 0;

	if (p->size[2] != s || s->kernel[TP_PLANE] == NULL || !p->close || p->spec.apart ||
	    (size_t)s->plane_bytes > p->shared_bytes)
		return 0;
	BS_CUDA(cudaFuncGetAttributes(&its, (const void *)s->kernel[TP_PLANE]), why);
	if (its.ptxVersion < 90) /* compiled for a lesser device: the kernel is empty */
		return 0;
	if (s->cluster > 8) /* devices with clusters need not offer more than 8 blocks */
		BS_CUDA(cudaFuncSetAttribute((const void *)s->kernel[TP_PLANE],
					     cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
			why);
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = (unsigned)s->cluster;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.gridDim = dim3((unsigned)s->cluster);
	config.blockDim = dim3((unsigned)s->plane_threads);
	config.dynamicSmemBytes = (size_t)s->plane_bytes;
	config.attrs = &attribute;
	config.numAttrs = 1;
	BS_CUDA(cudaOccupancyMaxActiveClusters(&clusters, (const void *)s->kernel[TP_PLANE],
					       &config),
		why);
	p->planes = clusters > 0;
	p->close = !p->planes; /* overlap was measured to be slower with planes */
	return 0;
}

static int prepare(struct bs_toeplitz_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_devroom room = { mem, 0, false };

	take_all(p, &room);
	int err = bs_devroom_check(&room, "Toeplitz operator", why);

	for (uint32_t i = 0; i < 3 && err == 0; i++) {
		const struct tp_size *s = p->size[i];

		err = bs_toeplitz_twiddles(p->twiddles[i], s->a, s->b, why);
		for (int kind = 0; kind < TP_KINDS && err == 0; kind++)
			if (s->kernel[kind] != NULL &&
			    (size_t)shared_of(s, kind, true) <= p->shared_bytes)
				err = bs_cuda_shared((const void *)s->kernel[kind],
						     (size_t)shared_of(s, kind, true), why);
	}
	return err != 0 ? err : choose_planes(p, why);
}

int bs_toeplitz_cuda_plan(struct bs_toeplitz_cuda **plan, const struct bs_toeplitz_spec *spec,
			  const float *q, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_toeplitz_cuda *p = (struct bs_toeplitz_cuda *)calloc(1, sizeof(*p));
	int err;

	*plan = NULL;
	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "Toeplitz operator: no memory for the plan");
	err = lay_out(p, spec, why);
	if (err == 0 && spec->dims == 2) {
		err = tp_flat_plan(&p->flat, spec, q, mem, why);
	} else if (err == 0) {
		err = prepare(p, mem, why);
		if (err == 0)
			err = bs_toeplitz_spectrum(p->planes ? (float *)p->last : p->spectrum,
						   &p->spec, p->grid, q, why);
		if (err == 0 && p->planes)
			err = bs_toeplitz_lay_spectrum(p->spectrum, (const float *)p->last, p->grid,
						       p->size[2]->a, why);
	}
	if (err != 0) {
		bs_toeplitz_cuda_close(p);
		return err;
	}
	*plan = p;
	return 0;
}

int bs_toeplitz_cuda_set(struct bs_toeplitz_cuda *plan, const float *transform,
			 struct CUstream_st *stream, struct bs_fail *why)
{
	return plan->spec.dims == 2
		       ? tp_flat_set(&plan->flat, (const float2 *)transform, stream, why)
		       : bs_fail(why, BS_ERR_UNSUPPORTED, "Toeplitz operator: Q in 3D");
}

int bs_toeplitz_cuda_put(struct bs_toeplitz_cuda *plan, uint32_t which, const float *q,
			 struct bs_fail *why)
{
	return plan->spec.dims == 2 && which < plan->flat.operators
		       ? tp_flat_put(&plan->flat, &plan->spec, which, q, why)
		       : bs_fail(why, BS_ERR_UNSUPPORTED, "Toeplitz operator: Q %u", which);
}

void bs_toeplitz_cuda_close(struct bs_toeplitz_cuda *plan)
{
	free(plan);
}

static int launch(const struct bs_toeplitz_cuda *p, int axis, int kind, dim3 blocks,
		  struct tp_pass *a, cudaStream_t stream, struct bs_fail *why)
{
	const struct tp_size *s = p->size[axis];

	a->twiddles.twiddle = p->twiddles[axis];
	a->n = (int)p->spec.matrix[axis];
	a->stop = p->stop;
	return bs_launch_clusters(s->kernel[kind], blocks,
				  kind == TP_PLANE ? (unsigned)s->cluster : 1,
				  kind == TP_PLANE ? (unsigned)s->plane_threads : TP_THREADS,
				  (size_t)shared_of(s, kind, p->planes), p->close, stream, why, *a);
}

/* The coils of one turn, to whom maps (NULL: none), in and out belong. */
struct coils_turn {
	uint32_t coils;
	const float2 *maps, *in;
	float2 *out;
	bool add; /* sense adds to the sum in out */
};

/*
 * Queues a pass along x: lines of voxels in the image; elsewhere lines of gx points, or by planes,
 * plane after plane.
 */
static int x_pass(const struct bs_toeplitz_cuda *p, bool inward, const struct coils_turn *t,
		  cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t *n = p->spec.matrix;
	const bool sense = t->maps != NULL;
	const int kind = inward ? TP_X_IN : sense ? TP_X_OUT_SENSE : TP_X_OUT;
	const int per = TP_THREADS / p->size[0]->a;
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.in = inward ? t->in : p->first;
	a.out = inward ? p->first : t->out;
	a.maps = t->maps;
	a.add = !inward && t->add;
	a.transposed = p->planes;
	a.lines = (int)(n[1] * n[2]);
	a.coils = (int)t->coils;
	a.in_outer = inward ? (long long)n[0] : p->grid[0];
	a.out_outer = inward ? p->grid[0] : (long long)n[0];
	a.in_line = a.out_line = a.lines; /* distance between points of lines that are transposed */
	a.in_coil = inward && sense ? 0 : a.in_outer * a.lines;
	a.out_coil = !inward && sense ? 0 : a.out_outer * a.lines;
	const dim3 blocks((unsigned)((a.lines + per - 1) / per), !inward && sense ? 1 : t->coils);

	return launch(p, 0, kind, blocks, &a, stream, why);
}

/* Queues a pass along y: [z][Ny][gx] to [z][gy][gx], or back. */
static int y_pass(const struct bs_toeplitz_cuda *p, int kind, uint32_t coils, cudaStream_t stream,
		  struct bs_fail *why)
{
	const uint32_t *n = p->spec.matrix;
	const long long narrow = (long long)p->grid[0] * n[1];
	const long long wide = (long long)p->grid[0] * p->grid[1];
	const bool inward = kind == TP_Y_IN;
	const int per = TP_THREADS / p->size[1]->a;
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.in = inward ? p->first : p->last;
	a.out = inward ? p->last : p->first;
	a.in_line = a.out_line = p->grid[0];
	a.in_outer = inward ? narrow : wide;
	a.out_outer = inward ? wide : narrow;
	a.in_coil = a.in_outer * n[2];
	a.out_coil = a.out_outer * n[2];
	a.columns = p->grid[0];
	return launch(p, 1, kind, dim3((unsigned)((a.columns + per - 1) / per), n[2], coils), &a,
		      stream, why);
}

/* Queues the pass along y and z, on transposed planes in place. */
static int plane_pass(const struct bs_toeplitz_cuda *p, uint32_t coils, cudaStream_t stream,
		      struct bs_fail *why)
{
	const uint32_t *n = p->spec.matrix;
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.out = p->first;
	a.q = p->spectrum;
	a.rows = (int)n[1];
	a.planes = (int)n[2];
	a.out_coil = (long long)p->grid[0] * n[1] * n[2];
	return launch(p, 2, TP_PLANE,
		      dim3(coils * (unsigned)p->size[2]->cluster, (unsigned)p->grid[0]), &a, stream,
		      why);
}

static int middle_pass(const struct bs_toeplitz_cuda *p, uint32_t coils, cudaStream_t stream,
		       struct bs_fail *why)
{
	const int per = TP_THREADS / p->size[2]->a;
	const long long plane = (long long)p->grid[0] * p->grid[1];
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.out = p->last;
	a.q = p->spectrum;
	a.out_line = plane;
	a.out_coil = plane * p->spec.matrix[2];
	a.columns = (int)plane;
	a.coils = (int)coils;
	return launch(p, 2, TP_MIDDLE, dim3((unsigned)((plane + per - 1) / per * coils)), &a,
		      stream, why);
}

/* Queues the passes along y, along z, and along y back. */
static int strided_passes(const struct bs_toeplitz_cuda *p, uint32_t coils, cudaStream_t stream,
			  struct bs_fail *why)
{
	int err = y_pass(p, TP_Y_IN, coils, stream, why);

	if (err == 0)
		err = middle_pass(p, coils, stream, why);
	return err == 0 ? y_pass(p, TP_Y_OUT, coils, stream, why) : err;
}

static int check_count(const struct bs_toeplitz_cuda *p, uint32_t count, struct bs_fail *why)
{
	return count >= 1 && count <= p->spec.coils
		       ? 0
		       : bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: %u coils, planned for %u",
				 count, p->spec.coils);
}

static int run_turn(struct bs_toeplitz_cuda *p, const struct coils_turn *t, cudaStream_t stream,
		    struct bs_fail *why)
{
	int err = x_pass(p, true, t, stream, why);

	if (err == 0)
		err = p->planes ? plane_pass(p, t->coils, stream, why)
				: strided_passes(p, t->coils, stream, why);
	return err == 0 ? x_pass(p, false, t, stream, why) : err;
}

/* Runs the 3D operator. */
static int run(struct bs_toeplitz_cuda *p, uint32_t coils, const float *maps, const float *in,
	       float *out, cudaStream_t stream, struct bs_fail *why)
{
	const size_t voxels = (size_t)p->spec.matrix[0] * p->spec.matrix[1] * p->spec.matrix[2];
	int err = 0;

	if (maps != NULL && coils > p->turn && in == out)
		return bs_fail(why, BS_ERR_SIZE,
			       "Toeplitz operator: %u coils in turns of %u read what they write",
			       coils, p->turn);
	for (uint32_t c = 0; c < coils && err == 0; c += p->turn) {
		const size_t at = maps != NULL ? 0 : c * voxels;
		const struct coils_turn t = { coils - c < p->turn ? coils - c : p->turn,
					      maps != NULL ? (const float2 *)maps + c * voxels
							   : NULL,
					      (const float2 *)in + at, (float2 *)out + at, c > 0 };

		err = run_turn(p, &t, stream, why);
	}
	return err;
}

int bs_toeplitz_cuda_apply(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *in,
			   float *out, struct CUstream_st *stream, struct bs_fail *why)
{
	const struct tp_flat_work work = { coils, NULL, in, out, NULL };
	int err = check_count(plan, coils, why);

	if (err != 0)
		return err;
	plan->stop = NULL;
	return plan->spec.dims == 2 ? tp_flat_queue(&plan->flat, &work, stream, why)
				    : run(plan, coils, NULL, in, out, stream, why);
}

int bs_toeplitz_cuda_one(struct bs_toeplitz_cuda *plan, uint32_t which, uint32_t coils,
			 const float *in, float *out, struct CUstream_st *stream,
			 struct bs_fail *why)
{
	const struct tp_flat_work work = { coils, NULL, in, out, NULL };

	if (plan->spec.dims != 2 || which >= plan->flat.operators)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "Toeplitz operator: Q %u", which);
	const struct tp_flat_plan one = tp_flat_one(&plan->flat, which);
	int err = check_count(plan, coils, why);

	return err != 0 ? err : tp_flat_queue(&one, &work, stream, why);
}

int bs_toeplitz_cuda_sense(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *maps,
			   const float *in, const int *stop, float *out, struct CUstream_st *stream,
			   struct bs_fail *why)
{
	const struct tp_flat_work work = { coils, maps, in, NULL, stop };
	int err = check_count(plan, coils, why);

	if (err != 0)
		return err;
	plan->stop = stop;
	if (plan->spec.dims == 3)
		return run(plan, coils, maps, in, out, stream, why);
	err = tp_flat_queue(&plan->flat, &work, stream, why);
	return err != 0 ? err : tp_flat_sum(&plan->flat, coils, stop, out, stream, why);
}

bool bs_toeplitz_cuda_flat(const struct bs_toeplitz_cuda *plan)
{
	return plan->spec.dims == 2;
}

const float *bs_toeplitz_cuda_addends(const struct bs_toeplitz_cuda *plan)
{
	return (const float *)plan->flat.addends;
}

int bs_toeplitz_cuda_each(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *maps,
			  const float *in, struct CUstream_st *stream, struct bs_fail *why)
{
	const struct tp_flat_work work = { coils, maps, in, NULL, NULL };
	int err = check_count(plan, coils, why);

	return err != 0 ? err : tp_flat_queue(&plan->flat, &work, stream, why);
}

int bs_toeplitz_cuda_iterate(struct bs_toeplitz_cuda *plan, const struct bs_toeplitz_cg *cg,
			     bool first, struct CUstream_st *stream, struct bs_fail *why)
{
	if (plan->spec.dims != 2 || (cg->maps != NULL && cg->images > 1))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "Toeplitz operator: no such iterations");
	int err = check_count(plan, cg->maps != NULL ? cg->coils : cg->images, why);

	return err != 0 ? err : tp_flat_step(&plan->flat, cg, first, stream, why);
}
