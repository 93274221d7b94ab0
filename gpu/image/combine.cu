/* gpu/image/combine.cu - CUDA twin of combine.c; see combine.h */
#include "gpu/image/combine.h"

#include <stdlib.h>

#include "core/protocol.h"
#include "gpu/device/check.h"
#include "gpu/device/memory.h"
#include "gpu/image/coils.cuh"
#include "gpu/image/resize.h"

#define THREADS 128

static __device__ float phase(float2 z)
{
	return z.x == 0.0f && z.y == 0.0f ? 0.0f : atan2f(z.y, z.x);
}

static __device__ void store(enum bs_output output, float *out, uint64_t at, float2 z)
{
	if (output == BS_OUTPUT_COMPLEX)
		((float2 *)out)[at] = z;
	else
		out[at] = output == BS_OUTPUT_PHASE ? phase(z) : sqrtf(z.x * z.x + z.y * z.y);
}

template <int HOW>
static __global__ void __launch_bounds__(THREADS)
	combine(uint32_t coils, uint64_t voxels, enum bs_output output,
		const float2 *__restrict__ in, const float2 *__restrict__ maps,
		float *__restrict__ out)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);
	float power = 0.0f;

	if (v >= voxels)
		return;
	for (uint32_t c = 0; c < coils; c++) {
		const float2 d = __ldg(in + c * voxels + v);

		if (HOW == BS_COMBINE_NONE) {
			store(output, out, c * voxels + v, d);
		} else if (HOW == BS_COMBINE_RSS) {
			power += d.x * d.x + d.y * d.y;
		} else {
			const float2 s = __ldg(maps + c * voxels + v);

			sum.x += s.x * d.x + s.y * d.y;
			sum.y += s.x * d.y - s.y * d.x;
			power += s.x * s.x + s.y * s.y;
		}
	}
	if (HOW == BS_COMBINE_NONE)
		return;
	if (HOW == BS_COMBINE_RSS) {
		sum.x = sqrtf(power);
	} else {
		const float inverse = power > 0.0f ? 1.0f / power : 0.0f;

		sum = make_float2(sum.x * inverse, sum.y * inverse);
	}
	if (HOW == BS_COMBINE_RSS && output != BS_OUTPUT_COMPLEX)
		out[v] = sum.x;
	else
		store(output, out, v, sum);
}

static __global__ void __launch_bounds__(THREADS)
	velocity(uint32_t coils, uint64_t voxels, float scale, const float2 *__restrict__ in,
		 const float2 *__restrict__ reference, float *__restrict__ out)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (v < voxels)
		out[v] = scale * phase(bs_coils_inner(reference, in, coils, voxels, v));
}

static unsigned blocks_of(uint64_t voxels)
{
	return (unsigned)((voxels + THREADS - 1) / THREADS);
}

int bs_combine_cuda(enum bs_combine how, enum bs_output output, uint32_t coils, uint64_t voxels,
		    const float *coil_images, const float *coil_maps, float *out,
		    struct CUstream_st *stream, struct bs_fail *why)
{
	const float2 *in = (const float2 *)coil_images;
	const float2 *maps = (const float2 *)coil_maps;
	const auto kernel = how == BS_COMBINE_NONE  ? combine<BS_COMBINE_NONE>
			    : how == BS_COMBINE_RSS ? combine<BS_COMBINE_RSS>
						    : combine<BS_COMBINE_SENSE>;

	kernel<<<blocks_of(voxels), THREADS, 0, stream>>>(coils, voxels, output, in, maps, out);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* ---- with the protocol's own matrix ---- */

struct bs_combiner_cuda {
	const struct bs_protocol *p;
	/* plan of resizing; NULL: the image leaves on the coil images' matrix */
	struct bs_resize_cuda *resize;
	float *resized;   /* resized images [image][z][y][x] complex */
	float *joint;     /* sense: one image before it is resized */
	float *reference; /* velocity: [place][image][z][y][x] complex */
};

static enum bs_combine how_of(const struct bs_protocol *p)
{
	return p->plan.joint ? BS_COMBINE_NONE : p->combine;
}

static uint32_t images_of(const struct bs_protocol *p)
{
	return p->plan.joint ? 1 : p->coils;
}

/* Returns the resize of the images: all coils together, or the one that the maps make of them. */
static struct bs_resize_spec resize_of(const struct bs_protocol *p)
{
	struct bs_resize_spec s;

	for (int a = 0; a < 3; a++) {
		s.from[a] = p->matrix[a];
		s.to[a] = bs_protocol_image_axis(p, a);
	}
	s.images =
		how_of(p) == BS_COMBINE_SENSE && p->output != BS_OUTPUT_VELOCITY ? 1 : images_of(p);
	return s;
}

static uint64_t resized_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(bs_protocol_image_voxels(p) * resize_of(p).images * 8);
}

static uint64_t joint_bytes(const struct bs_protocol *p)
{
	/* The array has room for as many images as are resized together; the first one is used. */
	return how_of(p) == BS_COMBINE_SENSE
		       ? bs_devmem_round(bs_protocol_voxels(p) * resize_of(p).images * 8)
		       : 0;
}

/* Returns the bytes of all of velocity's places. */
static uint64_t reference_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(bs_protocol_references(p) * images_of(p) *
			       bs_protocol_image_voxels(p) * 8);
}

uint64_t bs_combiner_cuda_bytes(const struct bs_protocol *p)
{
	const struct bs_resize_spec s = resize_of(p);

	return reference_bytes(p) +
	       (bs_plan_has(&p->plan, BS_PLAN_RESIZE)
			? resized_bytes(p) + joint_bytes(p) + bs_resize_cuda_bytes(&s)
			: 0);
}

int bs_combiner_cuda_plan(struct bs_combiner_cuda **plan, const struct bs_protocol *p,
			  struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_combiner_cuda *c = (struct bs_combiner_cuda *)calloc(1, sizeof(*c));
	const struct bs_resize_spec s = resize_of(p);
	int rc = 0;

	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': combination", p->name);
	*plan = c;
	c->p = p;
	if (reference_bytes(p) > 0)
		c->reference = (float *)bs_devmem_take(mem, reference_bytes(p));
	if (reference_bytes(p) > 0 && c->reference == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images of set 0", p->name);
	if (rc == 0 && bs_plan_has(&p->plan, BS_PLAN_RESIZE)) {
		c->resized = (float *)bs_devmem_take(mem, resized_bytes(p));
		c->joint = (float *)bs_devmem_take(mem, joint_bytes(p));
		rc = c->resized == NULL || c->joint == NULL
			     ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': resized images", p->name)
			     : bs_resize_cuda_plan(&c->resize, &s, mem, why);
	}
	return rc;
}

/* Does one of the two steps of a velocity, as flow says. Returns 1 when it has made the image. */
static int run_flow(const struct bs_combiner_cuda *c, const float *coil_images,
		    const struct bs_flow *flow, float *image, struct CUstream_st *stream,
		    struct bs_fail *why)
{
	const struct bs_protocol *p = c->p;
	const uint64_t voxels = bs_protocol_image_voxels(p);
	const uint32_t place = flow->keep > 0 ? flow->keep : flow->against;
	float *kept = c->reference + (place - 1) * 2 * images_of(p) * voxels;
	int rc = 0;

	if (c->resize != NULL)
		rc = bs_resize_cuda_run(c->resize, coil_images, c->resized, stream, why);
	if (rc != 0)
		return rc;
	if (c->resize != NULL)
		coil_images = c->resized;
	if (flow->against > 0) {
		velocity<<<blocks_of(voxels), THREADS, 0, stream>>>(
			images_of(p), voxels, bs_flow_scale(flow), (const float2 *)coil_images,
			(const float2 *)kept, image);
		BS_CUDA(cudaGetLastError(), why);
		return 1;
	}
	return BS_CUDA_RC(cudaMemcpyAsync(kept, coil_images, images_of(p) * voxels * sizeof(float2),
					  cudaMemcpyDeviceToDevice, stream),
			  why);
}

int bs_combiner_cuda_run(const struct bs_combiner_cuda *c, const float *coil_images,
			 const float *maps, const struct bs_flow *flow, float *image,
			 struct CUstream_st *stream, struct bs_fail *why)
{
	const struct bs_protocol *p = c->p;
	const bool joined = c->resize != NULL && how_of(p) == BS_COMBINE_SENSE;
	int rc = flow->keep > 0 || flow->against > 0
			 ? run_flow(c, coil_images, flow, image, stream, why)
			 : 0;

	if (rc == 1)
		return 0;
	if (rc == 0 && joined)
		rc = bs_combine_cuda(BS_COMBINE_SENSE, BS_OUTPUT_COMPLEX, p->coils,
				     bs_protocol_voxels(p), coil_images, maps, c->joint, stream,
				     why);
	if (rc == 0 && c->resize != NULL)
		rc = bs_resize_cuda_run(c->resize, joined ? c->joint : coil_images, c->resized,
					stream, why);
	return rc != 0 ? rc
		       : bs_combine_cuda(joined ? BS_COMBINE_NONE : how_of(p), p->output,
					 joined ? 1 : images_of(p), bs_protocol_image_voxels(p),
					 c->resize != NULL ? c->resized : coil_images, maps, image,
					 stream, why);
}

void bs_combiner_cuda_close(struct bs_combiner_cuda *c)
{
	if (c == NULL)
		return;
	bs_resize_cuda_close(c->resize);
	free(c);
}
