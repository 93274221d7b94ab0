/* gpu/image/unwarp.cu - CUDA twin of unwarp.c; see unwarp.h */
#include "gpu/image/unwarp.h"

#include <stdlib.h>

#include "gpu/device/check.h"
#include "gpu/device/memory.h"

#define THREADS  64
#define TOGETHER 8 /* coils of one thread, which share a voxel's weights */
#define LEAST    1e-6

struct bs_unwarp_cuda {
	const struct bs_protocol *p;
	const float *host_hz;
	float *hz; /* field map [slice][y][x] */
	double *table;
	float2 *out;
	uint32_t slice;
	bool falling;
};

struct sizes {
	uint32_t columns, lines, coils;
	double per_hz;
};

static __global__ void __launch_bounds__(THREADS)
	move_back(struct sizes z, const float *__restrict__ hz, const double *__restrict__ table,
		  const float2 *__restrict__ in, float2 *__restrict__ out)
{
	const double pi = 3.14159265358979323846;
	const uint32_t x = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t y = blockIdx.y;
	const uint32_t up = y + 1 < z.lines ? y + 1 : y;
	const uint32_t down = y > 0 ? y - 1 : y;
	const uint32_t first = blockIdx.z * TOGETHER;
	const uint64_t image = (uint64_t)z.lines * z.columns;
	float2 sum[TOGETHER];

	if (x >= z.columns)
		return;
	const double v = z.per_hz * (double)hz[y * z.columns + x];
	const double slope =
		z.per_hz * ((double)hz[up * z.columns + x] - (double)hz[down * z.columns + x]);
	const double whole = rint(v);
	const double rest = fabs(v - whole) < LEAST ? LEAST : v - whole;
	const double sine = sin(pi * (whole + rest) / z.lines);
	const double cosine = cos(pi * (whole + rest) / z.lines);
	const double scale = fmax(1.0 + slope / (up > down + 1 ? 2.0 : 1.0), 0.0) *
			     sin(pi * rest) / z.lines * (fmod(whole, 2.0) == 0.0 ? 1 : -1);

	for (int c = 0; c < TOGETHER; c++)
		sum[c] = make_float2(0.0f, 0.0f);
	for (uint32_t from = 0; from < z.lines; from++) {
		const double *at = table + (y + z.lines - 1 - from);
		const double s = at[0] * cosine + at[2 * z.lines] * sine;
		const double c = z.lines % 2 == 0 ? at[2 * z.lines] * cosine - at[0] * sine : 1.0;
		const float w = (float)((y + from) % 2 == 0 ? scale * c / s : -scale * c / s);
		const float2 *voxel = in + first * image + (uint64_t)from * z.columns + x;

#pragma unroll
		for (int i = 0; i < TOGETHER; i++)
			if (first + i < z.coils) {
				sum[i].x += w * voxel[i * image].x;
				sum[i].y += w * voxel[i * image].y;
			}
	}
#pragma unroll
	for (int i = 0; i < TOGETHER; i++)
		if (first + i < z.coils)
			out[(first + i) * image + (uint64_t)y * z.columns + x] = sum[i];
}

static uint64_t hz_bytes(const struct bs_protocol *p)
{
	return p->slices * bs_protocol_voxels(p) * sizeof(float);
}

static uint64_t out_bytes(const struct bs_protocol *p)
{
	return bs_protocol_voxels(p) * p->coils * sizeof(float2);
}

static uint64_t table_bytes(const struct bs_protocol *p)
{
	return 4 * p->encoded[1] * sizeof(double);
}

uint64_t bs_unwarp_cuda_bytes(const struct bs_protocol *p)
{
	return !bs_plan_has(&p->plan, BS_PLAN_UNWARP)
		       ? 0
		       : bs_devmem_round(hz_bytes(p)) + bs_devmem_round(out_bytes(p)) +
				 bs_devmem_round(table_bytes(p));
}

/* Copies the table and the map to the device. */
static int fill(struct bs_unwarp_cuda *u, struct bs_fail *why)
{
	const struct bs_protocol *p = u->p;
	double *table = (double *)calloc(4, p->encoded[1] * sizeof(*table));
	int rc = 0;

	if (table == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': tables of places", p->name);
	bs_unwarp_table(table, p->encoded[1]);
	BS_CUDA_GO(cudaMemcpy(u->table, table, table_bytes(p), cudaMemcpyHostToDevice), why, rc,
		   out);
	BS_CUDA_GO(cudaMemcpy(u->hz, u->host_hz, hz_bytes(p), cudaMemcpyHostToDevice), why, rc,
		   out);
out:
	free(table);
	return rc;
}

int bs_unwarp_cuda_plan(struct bs_unwarp_cuda **plan, const struct bs_protocol *p, const float *hz,
			struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_unwarp_cuda *u;
	int rc;

	if (!bs_plan_has(&p->plan, BS_PLAN_UNWARP))
		return 0;
	u = (struct bs_unwarp_cuda *)calloc(1, sizeof(*u));
	if (u == NULL || hz == NULL) {
		free(u);
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': field map", p->name);
	}
	u->p = p;
	u->host_hz = hz;
	u->hz = (float *)bs_devmem_take(mem, hz_bytes(p));
	u->out = (float2 *)bs_devmem_take(mem, out_bytes(p));
	u->table = (double *)bs_devmem_take(mem, table_bytes(p));
	rc = u->hz == NULL || u->out == NULL || u->table == NULL
		     ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images moved back", p->name)
		     : fill(u, why);
	if (rc == 0)
		*plan = u;
	else
		free(u);
	return rc;
}

int bs_unwarp_cuda_changed(const struct bs_unwarp_cuda *u, uint32_t slice,
			   struct CUstream_st *stream, struct bs_fail *why)
{
	const uint64_t voxels = bs_protocol_voxels(u->p);

	BS_CUDA(cudaMemcpyAsync(u->hz + slice * voxels, u->host_hz + slice * voxels,
				voxels * sizeof(float), cudaMemcpyHostToDevice, stream),
		why);
	BS_CUDA(cudaStreamSynchronize(stream), why);
	return 0;
}

void bs_unwarp_cuda_aim(struct bs_unwarp_cuda *u, uint32_t slice, bool falling)
{
	u->slice = slice;
	u->falling = falling;
}

int bs_unwarp_cuda_run(const struct bs_unwarp_cuda *u, const float **images,
		       struct CUstream_st *stream, struct bs_fail *why)
{
	const struct bs_protocol *p = u->p;
	const struct sizes z = { p->matrix[0], p->matrix[1], p->coils,
				 bs_unwarp_per_hz(p, u->falling) };
	const dim3 blocks((z.columns + THREADS - 1) / THREADS, z.lines,
			  (z.coils + TOGETHER - 1) / TOGETHER);

	move_back<<<blocks, THREADS, 0, stream>>>(z, u->hz + u->slice * bs_protocol_voxels(p),
						  u->table, (const float2 *)*images, u->out);
	BS_CUDA(cudaGetLastError(), why);
	*images = (const float *)u->out;
	return 0;
}

void bs_unwarp_cuda_close(struct bs_unwarp_cuda *u)
{
	free(u);
}
