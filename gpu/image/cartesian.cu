/*
 * gpu/image/cartesian.cu - CUDA twin of cartesian.c; see cartesian.h
 *
 * Lines are kept as they arrive, [coil][kz][ky][sample]; lines that never come are zeros. After the
 * last line one pass for each axis transforms, centers and crops: at 8 x 320 x 320 in less time
 * than a readout. Missing lines are made after the first pass, in hybrid space, by weights of the
 * host (gpu/engine/filler.h). cart_prepare loads them before the frame's graph is launched.
 */
#include "gpu/image/cartesian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/encode/encode.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/engine/filler.h"
#include "gpu/engine/left_out.h"
#include "gpu/engine/slicer.h"
#include "gpu/device/check.h"
#include "gpu/fft/lines_cuda.h"
#include "gpu/grappa/grappa_cuda.h"
#include "gpu/grappa/slice_cuda.h"
#include "gpu/image/pocs_cuda.h"

struct cart {
	const struct bs_protocol *p;
	uint32_t size[3]; /* points of the grid that the passes end on */
	float2 *data;     /* samples [frame][coil][kz][ky][sample] */
	uint64_t frame_values;
	float2 *a, *b;
	uint32_t passes;
	bs_line_pass pass[3];
	struct bs_pocs_cuda *pocs; /* plan of partial Fourier; NULL: none */
	/* axes that are not completed in the current image (struct bs_report) */
	uint32_t unknown;
	uint8_t *came;                 /* [frame][line]: 1 where the line has come; host memory */
	struct bs_grappa_cuda *grappa; /* plan of GRAPPA; NULL: missing lines are zeros */
	struct bs_slice_cuda *slice;   /* takes slices apart; NULL: lines hold one slice */
	float2 *apart;                 /* lines of a slice, as a and b */
	uint64_t *loaded;              /* [set]: version of the weights that the GPU has */
	/*
	 * the frame whose slice is taken out of its group's lines; NULL: the lines are the slice's
	 * own
	 */
	const struct bs_slicer_frame *frame;
};

static uint64_t lines_of(const struct bs_protocol *p)
{
	return (uint64_t)p->encoded[1] * p->encoded[2];
}

static uint64_t coil_step(const struct bs_protocol *p)
{
	return lines_of(p) * p->samples;
}

/*
 * Returns true where partial Fourier completes the coils' images here. A solved image is completed
 * after the solve (gpu/engine/cuda/unfold.cu).
 */
static bool completes(const struct bs_protocol *p)
{
	return bs_left_out_wanted(p) && p->plan.solve == BS_SOLVE_NONE;
}

static struct bs_pocs_spec pocs_of(const struct bs_protocol *p)
{
	const struct bs_cart_spec cart = bs_lines_spec(p);

	return bs_left_out_spec(p, cart.matrix, p->coils);
}

static bool fills(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_FILL);
}

static bool takes_apart(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_APART) && !p->plan.joint;
}

static uint64_t half_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(lines_of(p) * bs_lines_spec(p).matrix[0] * p->coils * 8);
}

static uint64_t frame_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(coil_step(p) * p->coils * 8);
}

static int cart_need(const struct bs_cuda_spec *s, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	const struct bs_pocs_spec pocs = pocs_of(p);
	const struct bs_grappa_spec grappa = bs_filler_spec(p, pocs.size[0]);
	uint64_t bytes = 0;
	int rc = 0;

	for (int a = 0; a < 3; a++)
		if (p->matrix[a] == 0 || p->matrix[a] > p->encoded[a] ||
		    p->encoded[a] > BS_LINE_MAX)
			return bs_fail(why, BS_ERR_CONFIG, "matrix %c is %u, encoded %u", "xyz"[a],
				       p -> matrix[a], p -> encoded[a]);
	if (p->samples == 0 || p->samples > p->encoded[0] || p->samples < p->encoded[0] / 2)
		return bs_fail(why, BS_ERR_CONFIG, "%u samples of an encoded %u (at least half)",
			       p->samples, p->encoded[0]);
	bs_need_add(need, "device k-space", bs_protocol_frames(p), frame_bytes(p));
	bs_need_add(need, "device half-transformed k-space", 2, half_bytes(p));
	for (int a = 0; a < 3; a++)
		bs_need_add(need, "device line tables", 1,
			    bs_line_bytes(p->encoded[a]) + bs_devmem_round(pocs.size[a] * 4u));
	if (completes(p))
		rc = bs_pocs_cuda_need(&pocs, &bytes, why);
	bs_need_add(need, "device partial Fourier", 1, bytes);
	if (fills(p))
		bs_need_add(need, "device weights of lines", 1, bs_grappa_cuda_bytes(&grappa));
	if (takes_apart(p)) {
		const struct bs_slice_spec slice = bs_slicer_spec(p, pocs.size[0]);

		bs_need_add(need, "device weights of slices", 1, bs_slice_cuda_bytes(&slice));
		bs_need_add(need, "device lines of a slice", 1, half_bytes(p));
	}
	return rc;
}

static int make_pass(bs_line_pass *l, const struct cart *c, uint32_t a, struct bs_devmem *mem,
		     struct bs_fail *why)
{
	const struct bs_protocol *p = c->p;
	const uint32_t E = p->encoded[a];
	const uint32_t N = c->size[a];

	l->in_count = a == 0 ? p->samples : E;
	l->in_half =
		/* partial echo: the start of the readout is missing */
		a == 0 ? E / 2 - (E - p->samples) : E / 2;
	l->out_count = N;
	l->out_half = N / 2;
	l->outer = p->coils;
	l->inner = 1;
	for (uint32_t b = 0; b < a; b++)
		l->inner *= c->size[b];
	for (uint32_t b = a + 1; b < 3; b++)
		l->outer *= p->encoded[b];
	int rc = bs_line_make(&l->line, E, mem, why);

	return rc != 0 ? rc
		       : bs_line_scale(&l->scale_out, (float)(1.0 / sqrt((double)E)), N, mem, why);
}

static void cart_close(void *op)
{
	struct cart *c = (struct cart *)op;

	bs_pocs_cuda_close(c->pocs);
	bs_grappa_cuda_close(c->grappa);
	bs_slice_cuda_close(c->slice);
	free(c->loaded);
	free(c->came);
	free(c);
}

/* Plans to take slices apart, and does it once, so that no kernel is loaded later. */
static int plan_slice(struct cart *c, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_slice_spec s = bs_slicer_spec(c->p, c->size[0]);
	int rc;

	c->apart = (float2 *)bs_devmem_take(mem, half_bytes(c->p));
	c->loaded = (uint64_t *)calloc(s.groups, sizeof(*c->loaded));
	if (c->apart == NULL || c->loaded == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "cartesian: lines of a slice");
	rc = bs_slice_cuda_plan(&c->slice, &s, mem, why);
	if (rc == 0)
		rc = bs_slice_cuda_apply(c->slice, 0, 0, (float *)c->a, false, (float *)c->apart,
					 cudaStreamLegacy, why);
	return rc != 0 ? rc : BS_CUDA_RC(cudaStreamSynchronize(cudaStreamLegacy), why);
}

static int cart_plan(void **op, const struct bs_cuda_spec *s, const struct bs_tables *,
		     struct bs_team *, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_protocol *p = s->p;
	struct cart *c = (struct cart *)calloc(1, sizeof(*c));
	const struct bs_cart_spec cart = bs_lines_spec(p);
	const struct bs_pocs_spec pocs = pocs_of(p);
	const struct bs_grappa_spec grappa = bs_filler_spec(p, cart.matrix[0]);
	const uint32_t frames = bs_protocol_frames(p);
	int rc;

	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "cartesian plan");
	*op = c;
	c->p = p;
	memcpy(c->size, cart.matrix, sizeof(c->size));
	c->frame_values = frame_bytes(p) / sizeof(float2);
	c->data = (float2 *)bs_devmem_take_readouts(mem, frame_bytes(p) * frames);
	c->a = (float2 *)bs_devmem_take(mem, half_bytes(p));
	c->b = (float2 *)bs_devmem_take(mem, half_bytes(p));
	c->came = (uint8_t *)calloc(frames, (size_t)lines_of(p));
	rc = c->data == NULL || c->a == NULL || c->b == NULL || c->came == NULL
		     ? bs_fail(why, BS_ERR_NOMEM, "cartesian: k-space")
		     : bs_lines_cuda_init(why);
	c->passes = p->encoded[2] > 1 ? 3 : 2;
	for (uint32_t a = 0; rc == 0 && a < c->passes; a++)
		rc = make_pass(&c->pass[a], c, a, mem, why);
	if (rc == 0 && completes(p))
		rc = bs_pocs_cuda_plan(&c->pocs, &pocs, mem, why);
	if (rc == 0 && fills(p))
		rc = bs_grappa_cuda_plan(&c->grappa, &grappa, mem, why);
	return rc == 0 && takes_apart(p) ? plan_slice(c, mem, why) : rc;
}

static float2 *cart_samples(void *op, uint32_t frame)
{
	struct cart *c = (struct cart *)op;

	return c->data + frame * c->frame_values;
}

static int cart_begin(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	struct cart *c = (struct cart *)op;

	BS_CUDA(cudaMemsetAsync(cart_samples(op, frame), 0, c->frame_values * sizeof(float2),
				stream),
		why);
	memset(c->came + frame * lines_of(c->p), 0, (size_t)lines_of(c->p));
	return 0;
}

static int cart_arrived(void *op, uint32_t frame, uint32_t row, cudaStream_t, struct bs_fail *)
{
	const struct cart *c = (const struct cart *)op;

	c->came[frame * lines_of(c->p) + row] = 1;
	return 0; /* nothing is done before finish */
}

static const uint8_t *cart_lines(void *op, uint32_t frame)
{
	const struct cart *c = (const struct cart *)op;

	return c->came + frame * lines_of(c->p);
}

static int cart_settle(void *, uint32_t, cudaStream_t, struct bs_fail *)
{
	return 0;
}

/* Completes the coils' images on the grid, which are in `grid` or `image`. */
static int complete(struct cart *c, uint32_t frame, float2 *grid, float2 *image,
		    cudaStream_t stream, struct bs_fail *why)
{
	struct bs_pocs_span spans[3];

	bs_left_out_spans(spans, c->p, cart_lines(c, frame), c->unknown, c->size);
	return bs_pocs_cuda_run(c->pocs, spans, (float *)grid,
				(float *)(grid == c->a ? c->b : c->a), (float *)image, stream, why);
}

/* Copies the frame's lines from the grid to b, one behind the other, or the slice's lines back. */
static int move_lines(const struct cart *c, bool back, cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_pattern *at = &c->frame->at;
	const size_t line = c->size[0] * sizeof(float2);

	for (uint32_t coil = 0; coil < c->p->coils; coil++) {
		const size_t first = (size_t)coil * c->p->encoded[1] * c->size[0];
		float2 *grid = c->a + first + (size_t)at->first * c->size[0];
		float2 *dense = (back ? c->apart : c->b) + first;

		BS_CUDA(cudaMemcpy2DAsync(back ? grid : dense, back ? line * at->step : line,
					  back ? dense : grid, back ? line : line * at->step, line,
					  at->lines, cudaMemcpyDeviceToDevice, stream),
			why);
	}
	return 0;
}

/* Replaces a full center's lines in a. */
static int take_center(struct cart *c, cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_slicer_frame *f = c->frame;
	const size_t line = c->size[0] * sizeof(float2);
	const size_t first = (size_t)f->center[0] * c->size[0];
	int rc = bs_slice_cuda_lines(c->slice, f->center_came, stream, why);

	if (rc == 0)
		rc = bs_slice_cuda_apply(c->slice, f->center_set, f->band, (float *)c->a, false,
					 (float *)c->apart, stream, why);
	if (rc == 0)
		BS_CUDA(cudaMemcpy2DAsync(c->a + first, line * c->p->encoded[1], c->apart + first,
					  line * c->p->encoded[1],
					  line * (f->center[1] - f->center[0]), c->p->coils,
					  cudaMemcpyDeviceToDevice, stream),
			why);
	return rc;
}

/* Replaces the lines in a, which hold a group of slices, by those of the frame's slice. */
static int take_apart(struct cart *c, cudaStream_t stream, struct bs_fail *why)
{
	int rc;

	BS_CUDA(cudaMemsetAsync(c->b, 0, (size_t)half_bytes(c->p), stream), why);
	rc = move_lines(c, false, stream, why);
	if (rc == 0 && c->frame->center[1] > 0)
		rc = take_center(c, stream, why);
	if (rc == 0)
		rc = bs_slice_cuda_lines(c->slice, c->frame->came, stream, why);
	if (rc == 0)
		rc = bs_slice_cuda_apply(c->slice, c->frame->set, c->frame->band, (float *)c->b,
					 false, (float *)c->apart, stream, why);
	return rc == 0 ? move_lines(c, true, stream, why) : rc;
}

static int cart_finish(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		       struct bs_fail *why)
{
	struct cart *c = (struct cart *)op;
	float2 *end = c->pocs == NULL ? image : c->passes == 3 ? c->a : c->b;
	int rc = bs_line_launch(&c->pass[0], 1, cart_samples(op, frame), c->a, stream, why);

	if (rc == 0 && c->frame != NULL)
		rc = take_apart(c, stream, why);
	if (rc == 0 && c->grappa != NULL)
		rc = bs_grappa_cuda_fill(c->grappa, (float *)c->a, false, stream, why);
	if (rc == 0)
		rc = bs_line_launch(&c->pass[1], 1, c->a, c->passes == 3 ? c->b : end, stream, why);
	if (rc == 0 && c->passes == 3)
		rc = bs_line_launch(&c->pass[2], 1, c->b, end, stream, why);
	return rc != 0 || c->pocs == NULL ? rc : complete(c, frame, end, image, stream, why);
}

/* Brings the frame's lines, transformed along x, to the host, where weights are made of them. */
static int fetch_lines(struct cart *c, struct bs_slicer *slicer, uint32_t frame,
		       cudaStream_t stream, struct bs_fail *why)
{
	const size_t bytes = lines_of(c->p) * c->size[0] * c->p->coils * sizeof(float2);
	int rc = bs_line_launch(&c->pass[0], 1, cart_samples(c, frame), c->a, stream, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(bs_slicer_space(slicer), c->a, bytes, cudaMemcpyDeviceToHost,
				stream),
		why);
	return BS_CUDA_RC(cudaStreamSynchronize(stream), why);
}

/* Gives the GPU the weights of a set, unless it has them. */
static int load_set(struct cart *c, const struct bs_slice *host, uint32_t set, cudaStream_t stream,
		    struct bs_fail *why)
{
	const uint64_t version = bs_slice_version(host, set);
	int rc = c->loaded[set] != version ? bs_slice_cuda_load(c->slice, set, host, stream, why)
					   : 0;

	if (rc == 0)
		c->loaded[set] = version;
	return rc;
}

/* Finds out how the frame's slice is taken out of its lines, and gives the GPU the weights. */
static int prepare_slice(struct cart *c, struct bs_slicer *slicer, const uint8_t *have,
			 uint32_t frame, struct bs_report *report, cudaStream_t stream)
{
	const struct bs_slicer_lines lines = { bs_slicer_space(slicer), false,
					       sqrt((double)c->p->encoded[0]) };
	const struct bs_slice *host = bs_slicer_slice(slicer);
	int rc = 0;

	c->frame = NULL;
	if (report->apart.of > 1 && bs_slicer_stale(slicer, frame, report->apart.step, have))
		rc = fetch_lines(c, slicer, frame, stream, &report->why);
	if (rc == 0)
		rc = bs_slicer_prepare(slicer, frame, have, &lines, report);
	if (rc != 1 || c->slice == NULL)
		return rc < 0 ? rc : 0;
	c->frame = bs_slicer_prepared(slicer);
	rc = load_set(c, host, c->frame->set, stream, &report->why);
	if (rc == 0 && c->frame->inner[1] > c->frame->inner[0])
		rc = load_set(c, host, c->frame->center_set, stream, &report->why);
	return rc;
}

/* Puts the weights of this frame's slice and missing lines where finish reads them. */
static int cart_prepare(void *op, struct bs_filler *filler, struct bs_slicer *slicer,
			uint32_t frame, struct bs_report *report, cudaStream_t stream)
{
	struct cart *c = (struct cart *)op;
	struct bs_fail *why = &report->why;
	int rc = 0;

	c->unknown = report->unknown;
	if (slicer != NULL)
		rc = prepare_slice(c, slicer,
				   filler != NULL ? bs_filler_have(filler, frame)
						  : cart_lines(c, frame),
				   frame, report, stream);
	if (rc < 0 || filler == NULL)
		return rc;
	if (c->frame != NULL)
		bs_slicer_leave(slicer, bs_filler_have(filler, frame));
	if (report->apart.of > 1 && !bs_slicer_fills(slicer))
		return bs_grappa_cuda_none(c->grappa, stream, why);
	rc = bs_filler_prepare(filler, frame, bs_filler_have(filler, frame), why);
	if (rc < 0)
		return rc;
	return rc == 0 ? bs_grappa_cuda_none(c->grappa, stream, why)
		       : bs_grappa_cuda_load(c->grappa, bs_filler_grappa(filler), stream, why);
}

static constexpr struct bs_cuda_operator lines(bool varies)
{
	return { coil_step,  cart_need,    cart_plan,   cart_close,  cart_samples,
		 cart_begin, cart_arrived, cart_settle, cart_finish, NULL,
		 NULL,       NULL,         NULL,        cart_lines,  varies,
		 NULL,       NULL,         NULL,        NULL,        cart_prepare };
}

const struct bs_cuda_operator bs_cuda_lines = lines(false);
/*
 * The operator of protocols whose launches depend on which lines have come; with slices at once, on
 * whose lines these are, too.
 */
const struct bs_cuda_operator bs_cuda_lines_varied = lines(true);
