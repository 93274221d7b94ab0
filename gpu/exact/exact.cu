/* gpu/exact/exact.cu - exact sums on the GPU: the plan and what it runs; see exact_cuda.h */
#include "gpu/exact/exact_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/exact/cuda/table.cuh"

/*
 * The share of the L2 cache, in bytes, for one chunk's tables, which should stay there, and for the
 * sums of one launch: more sums push the tables out. It was measured with 60 MB of L2.
 */
#define TARGET(l2) ((l2) / 15 * 8)
#define SLICES_MAX 32
#define PARTS_MAX  64

struct bs_exact_cuda {
	struct bs_exact_cuda_spec spec;
	struct ex_tables tables;
	struct ex_product product;
	enum bs_exact_route route;
	uint64_t target;
	float *state; /* sums of each state, [state][sums] */
	size_t state_floats;
	uint32_t chunk, chunks;
	/*
	 * number of parts of the tiles; each part is summed over all chunks before the next begins
	 */
	int parts_q, parts_c;
	uint64_t *begun; /* [state]: number of chunks that have been added */
};

static int divide_up(long long a, long long b)
{
	return (int)((a + b - 1) / b);
}

static struct ex_axis make_axis(int axis, float stride, bool centered, uint32_t size)
{
	struct ex_axis a;

	a.axis = axis;
	a.stride = stride;
	a.half = centered ? 0.5f : 0.0f;
	a.pairs = centered ? divide_up(size, 2) : (int)size;
	return a;
}

/*
 * Chooses the axis of the image for each factor. In 2D x makes two factors, 16 a + b, so that a
 * tile's sixteen by sixteen rows are all used.
 */
static void choose_axes(struct ex_tables *t, const struct bs_exact_cuda_spec *spec)
{
	const bool centered = spec->sum == BS_EXACT_FHD;

	t->parts = centered ? 2 : 1;
	t->dims = (int)spec->dims;
	for (uint32_t i = 0; i < 3; i++)
		t->half[i] = centered && i < spec->dims ? 0.5f - (float)spec->offset[i] : 0.0f;
	if (spec->dims == 3) {
		t->p = make_axis(0, 1.0f, centered, spec->matrix[0]);
		t->q = make_axis(1, 1.0f, centered, spec->matrix[1]);
		t->r = make_axis(2, 1.0f, centered, spec->matrix[2]);
	} else if (centered) {
		t->p = make_axis(0, 16.0f, true, (uint32_t)divide_up(spec->matrix[0], 16));
		t->q = make_axis(0, 1.0f, true, 16);
		t->r = make_axis(1, 1.0f, true, spec->matrix[1]);
	} else {
		t->p = make_axis(0, 1.0f, false, spec->matrix[0]);
		t->q = make_axis(0, 0.0f, false, 1);
		t->r = make_axis(1, 1.0f, false, spec->matrix[1]);
	}
	t->coils = centered ? (int)spec->coils : 1;
	t->ptiles = divide_up(t->p.pairs, EX_P / 2);
	t->qtiles = divide_up(t->q.pairs, EX_Q / 2);
	t->ctiles_coil = divide_up(t->r.pairs, EX_COLS / 2 / t->parts);
	t->ctiles = t->ctiles_coil * t->coils;
}

/*
 * Chooses how many parts of a chunk are summed in parallel, so that every multiprocessor has a
 * tile. There are no more than nearly fill the device, since each part has sums of its own to read
 * and write.
 */
static int choose_slices(long long tiles, int multiprocessors, int groups)
{
	double best = 0.0;
	int slices = 1;

	for (int n = 1; n <= SLICES_MAX && n <= groups && best < 0.95; n++) {
		long long blocks = tiles * n;
		long long waves = (blocks + multiprocessors - 1) / multiprocessors;
		double use = (double)blocks / (double)(waves * multiprocessors);

		if (use > best + 0.03) {
			best = use;
			slices = n;
		}
	}
	return slices;
}

static int choose_route(enum bs_exact_route *route, const struct bs_exact_cuda_spec *spec,
			const struct bs_reach *r, struct bs_fail *why)
{
	*route = spec->route;
	if (*route == BS_EXACT_AUTO)
		*route = r->wgmma ? BS_EXACT_WGMMA : BS_EXACT_MMA;
	if ((*route == BS_EXACT_WGMMA && !r->wgmma) || r->major < 8)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "%s, this device has %d.%d, or gpu.route keeps it from that",
			       *route == BS_EXACT_MMA ? "mma needs compute capability 8.0 or more"
						      : "wgmma needs compute capability 9.0",
			       r->major, r->minor);
	return 0;
}

static int check_spec(const struct bs_exact_cuda_spec *s, struct bs_fail *why)
{
	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_SIZE, "exact sums have 2 or 3 dimensions, not %u",
			       s->dims);
	for (uint32_t i = 0; i < 3; i++)
		if (s->matrix[i] < 1 || s->matrix[i] > BS_AXIS_MAX ||
		    (i >= s->dims && s->matrix[i] != 1))
			return bs_fail(why, BS_ERR_SIZE, "exact sums: matrix[%u] is %u", i,
				       s->matrix[i]);
	if (s->coils < 1 || s->coils > BS_COILS_MAX || (s->sum == BS_EXACT_Q && s->coils != 1))
		return bs_fail(why, BS_ERR_SIZE, "exact sums: %u coils", s->coils);
	if (s->states < 1 || s->states > 4096)
		return bs_fail(why, BS_ERR_SIZE, "exact sums: %u states", s->states);
	if (s->parts > PARTS_MAX || s->stream > 2)
		return bs_fail(why, BS_ERR_SIZE, "exact sums: %u parts, stream %u", s->parts,
			       s->stream);
	if (s->samples < 1 || s->samples > UINT64_C(1) << 40)
		return bs_fail(why, BS_ERR_SIZE, "exact sums: %llu samples",
			       (unsigned long long)s->samples);
	return 0;
}

static uint64_t sums_bytes(const struct ex_tables *t, int qtiles, int ctiles)
{
	return (uint64_t)t->ptiles * qtiles * ctiles * EX_SUMS * EX_THREADS * sizeof(float);
}

/*
 * Chooses the parts of a sum. All sums are read and written once for each chunk. Where they are too
 * many to stay in the cache beside the tables, sum goes through the tiles in parts: by columns
 * first, whose tables are the largest, then by q.
 */
static void choose_parts(struct bs_exact_cuda *e)
{
	const struct ex_tables *t = &e->tables;
	const uint64_t sums = sums_bytes(t, t->qtiles, t->ctiles);
	int parts = e->spec.parts > 0 ? (int)e->spec.parts : 1;

	while (e->spec.parts == 0 && sums > e->target * parts && parts < PARTS_MAX)
		parts *= 2;
	e->parts_c = parts < t->ctiles ? parts : t->ctiles;
	e->parts_q = parts / e->parts_c < t->qtiles ? parts / e->parts_c : t->qtiles;
}

static bool streams(const struct bs_exact_cuda *e, int qtiles, int ctiles)
{
	return e->spec.stream == 0 ? sums_bytes(&e->tables, qtiles, ctiles) > e->target
				   : e->spec.stream == 2;
}

/* Computes all members but addresses. */
static int lay_out(struct bs_exact_cuda *e, const struct bs_exact_cuda_spec *spec,
		   struct bs_fail *why)
{
	struct ex_tables *t = &e->tables;
	struct bs_reach reach;
	int count = 0;
	int err = check_spec(spec, why);

	if (err != 0)
		return err;
	err = bs_reach(&reach, why);
	if (err != 0)
		return err;
	e->target = TARGET(reach.l2_bytes);
	BS_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, bs_cuda_device()),
		why);
	e->spec = *spec;
	err = choose_route(&e->route, spec, &reach, why);
	if (err != 0)
		return err;
	choose_axes(t, spec);
	choose_parts(e);
	const int products = spec->precision == BS_EXACT_SINGLE ? 3 : 1;
	/* F^H d comes chunk by chunk, with all tiles of each chunk. */
	const bool whole = spec->sum == BS_EXACT_FHD;
	const int part_q = whole ? t->qtiles : divide_up(t->qtiles, e->parts_q);
	const int part_c = whole ? t->ctiles : divide_up(t->ctiles, e->parts_c);
	const uint64_t block = (uint64_t)t->ptiles * EX_P_BYTES(products) +
			       (uint64_t)part_q * EX_Q_BYTES(products) +
			       (uint64_t)part_c * EX_RIGHT_BYTES(products);
	const uint64_t all = (spec->samples + EX_GROUP - 1) / EX_GROUP; /* number of groups */
	uint64_t groups = spec->chunk > 0 ? (spec->chunk + EX_GROUP - 1) / EX_GROUP
					  : e->target / (block * EX_BLOCKS);

	groups = groups < 1 ? 1 : groups > all ? all : groups;
	t->groups = (int)groups;
	e->chunk = (uint32_t)(groups * EX_GROUP);
	e->chunks = (uint32_t)((all + groups - 1) / groups);
	t->samples = (long long)spec->samples;
	e->product.ptiles = t->ptiles;
	e->product.qtiles = t->qtiles;
	e->product.ctiles = t->ctiles;
	e->product.ctiles_coil = t->ctiles_coil;
	e->product.groups = t->groups;
	e->product.slices = choose_slices((long long)t->ptiles * part_q * part_c, count, t->groups);
	e->state_floats = (size_t)t->ptiles * t->qtiles * t->ctiles * e->product.slices * EX_SUMS *
			  EX_THREADS;
	return 0;
}

static void take_tables(struct bs_exact_cuda *e, struct bs_devroom *r)
{
	const struct ex_tables *t = &e->tables;
	const int products = e->spec.precision == BS_EXACT_SINGLE ? 3 : 1;
	const uint64_t blocks = (uint64_t)t->groups * EX_BLOCKS;

	bs_devroom_take(r, &e->tables.x, blocks * t->ptiles * EX_P_BYTES(products));
	bs_devroom_take(r, &e->tables.y, blocks * t->qtiles * EX_Q_BYTES(products));
	bs_devroom_take(r, &e->tables.right, blocks * t->ctiles * EX_RIGHT_BYTES(products));
	bs_devroom_take(r, &e->tables.scale, (uint64_t)t->coils * t->groups * sizeof(float));
}

static void take_all(struct bs_exact_cuda *e, struct bs_devroom *r)
{
	take_tables(e, r);
	bs_devroom_take(r, &e->state, e->state_floats * sizeof(float) * e->spec.states);
}

int bs_exact_cuda_need(const struct bs_exact_cuda_spec *spec, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_exact_cuda e;
	struct bs_devroom room = {};

	memset(&e, 0, sizeof(e));
	int err = lay_out(&e, spec, why);

	if (err != 0)
		return err;
	take_all(&e, &room);
	*bytes = room.bytes;
	return 0;
}

int bs_exact_cuda_rounding(const struct bs_exact_cuda_spec *spec, uint32_t *number,
			   struct bs_fail *why)
{
	struct bs_exact_cuda e;

	memset(&e, 0, sizeof(e));
	int err = lay_out(&e, spec, why);
	const uint32_t part[] = { (uint32_t)e.route, (uint32_t)spec->precision, e.chunk,
				  (uint32_t)e.product.slices };

	*number = 2166136261u;
	for (uint32_t v : part)
		*number = (*number ^ v) * 16777619u;
	*number |= 1u;
	return err;
}

int bs_exact_cuda_plan(struct bs_exact_cuda **plan, const struct bs_exact_cuda_spec *spec,
		       const float *k, const float *weight, struct bs_devmem *mem,
		       struct bs_fail *why)
{
	struct bs_exact_cuda *e = (struct bs_exact_cuda *)calloc(1, sizeof(*e));
	struct bs_devroom room = { mem, 0, false };
	int err;

	*plan = e;
	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "exact sums: no memory for the plan");
	err = lay_out(e, spec, why);
	if (err == 0 && e->route == BS_EXACT_WGMMA)
		err = ex_prepare_wgmma(why);
	if (err == 0 && e->route == BS_EXACT_MMA)
		err = ex_prepare_mma(&e->product.stages, why);
	if (err != 0)
		return err;
	take_all(e, &room);
	e->begun = (uint64_t *)calloc(spec->states, sizeof(*e->begun));
	if (e->begun == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "exact sums: %u states", spec->states);
	e->tables.k = k;
	e->tables.weight = weight;
	e->product.x = e->tables.x;
	e->product.y = e->tables.y;
	e->product.right = e->tables.right;
	e->product.scale = e->tables.scale;
	return bs_devroom_check(&room, "exact sums", why);
}

void bs_exact_cuda_close(struct bs_exact_cuda *plan)
{
	if (plan == NULL)
		return;
	free(plan->begun);
	free(plan);
}

void bs_exact_cuda_info(const struct bs_exact_cuda *e, struct bs_exact_cuda_info *info)
{
	const struct ex_product *p = &e->product;
	struct bs_exact_cuda sized = *e;
	struct bs_devroom room = {};

	take_tables(&sized, &room);
	memset(info, 0, sizeof(*info));
	info->chunk = e->chunk;
	info->chunks = e->chunks;
	info->parts = (uint32_t)(e->parts_q * e->parts_c);
	info->streamed =
		streams(e, divide_up(p->qtiles, e->parts_q), divide_up(p->ctiles, e->parts_c));
	info->route = e->route == BS_EXACT_WGMMA ? "wgmma" : "mma";
	info->state_bytes = e->state_floats * sizeof(float);
	info->table_bytes = room.bytes;
	info->products = (double)p->ptiles * p->qtiles * p->ctiles * EX_ROWS * EX_COLS *
			 (double)e->spec.samples *
			 (e->spec.precision == BS_EXACT_SINGLE ? 3.0 : 1.0);
}

void bs_exact_cuda_begin(struct bs_exact_cuda *e, uint32_t state)
{
	e->begun[state] = 0;
}

void bs_exact_cuda_move(struct bs_exact_cuda *e, const float *k, const float *weight)
{
	e->tables.k = k;
	e->tables.weight = weight;
}

void bs_exact_cuda_expect(struct bs_exact_cuda *e, uint32_t state, uint32_t chunk)
{
	e->begun[state] = chunk;
}

static int run_product(struct bs_exact_cuda *e, const struct ex_product *p, cudaStream_t stream,
		       struct bs_fail *why)
{
	const int products = e->spec.precision == BS_EXACT_SINGLE ? 3 : 1;

	return e->route == BS_EXACT_WGMMA ? ex_product_wgmma(p, products, stream, why)
					  : ex_product_mma(p, products, stream, why);
}

/* A range of tiles of q and of columns. */
struct tiles {
	int first_q, count_q, first_c, count_c;
};

static int add_chunk(struct bs_exact_cuda *e, uint32_t state, uint32_t chunk,
		     const struct tiles *part, const float *data, size_t coil_stride,
		     cudaStream_t stream, struct bs_fail *why)
{
	struct ex_tables t = e->tables;
	struct ex_product p = e->product;
	const long long left = t.samples - (long long)chunk * e->chunk;

	t.first_q = p.first_q = part->first_q;
	t.count_q = p.count_q = part->count_q;
	t.first_c = p.first_c = part->first_c;
	t.count_c = p.count_c = part->count_c;
	p.stream = streams(e, part->count_q, part->count_c);
	t.data = (const float2 *)data;
	t.coil_stride = coil_stride;
	t.first = (long long)chunk * e->chunk;
	if (left < e->chunk)
		t.groups = divide_up(left, EX_GROUP);
	p.groups = t.groups;
	p.sums = e->state + state * e->state_floats;
	p.add = chunk > 0;
	const dim3 grid((unsigned)(t.groups * EX_BLOCKS),
			(unsigned)(t.ptiles + t.count_q + t.count_c));

	const auto kernel = e->spec.precision == BS_EXACT_SINGLE ? make_tables<3> : make_tables<1>;

	kernel<<<grid, TABLE_THREADS, 0, stream>>>(t);
	BS_CUDA(cudaGetLastError(), why);
	return run_product(e, &p, stream, why);
}

int bs_exact_cuda_chunk(struct bs_exact_cuda *e, uint32_t state, uint32_t chunk, const float *data,
			size_t coil_stride, struct CUstream_st *stream, struct bs_fail *why)
{
	const struct tiles all = { 0, e->tables.qtiles, 0, e->tables.ctiles };

	if (chunk >= e->chunks || chunk != e->begun[state])
		return bs_fail(why, BS_ERR_STATE,
			       "exact sums: chunk %u of %u came when %llu was due", chunk,
			       e->chunks, (unsigned long long)e->begun[state]);
	e->begun[state]++;
	return add_chunk(e, state, chunk, &all, data, coil_stride, stream, why);
}

int bs_exact_cuda_finish(struct bs_exact_cuda *e, uint32_t state, float *result,
			 struct CUstream_st *stream, struct bs_fail *why)
{
	const struct ex_tables *t = &e->tables;
	struct ex_unpack u;

	if (e->begun[state] != e->chunks)
		return bs_fail(why, BS_ERR_STATE, "exact sums: finished after %llu chunks of %u",
			       (unsigned long long)e->begun[state], e->chunks);
	u.p = t->p;
	u.q = t->q;
	u.r = t->r;
	u.ptiles = t->ptiles;
	u.qtiles = t->qtiles;
	u.ctiles = t->ctiles;
	u.ctiles_coil = t->ctiles_coil;
	u.slices = e->product.slices;
	u.parts = t->parts;
	u.sums = e->state + state * e->state_floats;
	u.out = (float2 *)result;
	size_t doubled = 1;

	for (int i = 0; i < 3; i++) {
		u.matrix[i] = (int)e->spec.matrix[i];
		doubled *= (size_t)u.matrix[i] * (i > 0 && i < (int)e->spec.dims ? 2 : 1);
	}
	if (t->parts == 1)
		BS_CUDA(cudaMemsetAsync(result, 0, doubled * sizeof(float2), stream), why);
	const dim3 grid(
		(unsigned)divide_up((long long)t->ptiles * EX_P / 2 * t->q.pairs, UNPACK_THREADS),
		(unsigned)t->r.pairs, (unsigned)t->coils);

	unpack<<<grid, UNPACK_THREADS, 0, stream>>>(u);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* Returns part number `part` of the tiles. */
static struct tiles part_of(const struct bs_exact_cuda *e, int part)
{
	const int q = part % e->parts_q;
	const int c = part / e->parts_q;
	struct tiles t;

	t.first_q = e->tables.qtiles * q / e->parts_q;
	t.count_q = e->tables.qtiles * (q + 1) / e->parts_q - t.first_q;
	t.first_c = e->tables.ctiles * c / e->parts_c;
	t.count_c = e->tables.ctiles * (c + 1) / e->parts_c - t.first_c;
	return t;
}

int bs_exact_cuda_sum(struct bs_exact_cuda *e, uint32_t state, const float *data,
		      size_t coil_stride, float *result, struct CUstream_st *stream,
		      struct bs_fail *why)
{
	int err = 0;

	for (int i = 0; i < e->parts_q * e->parts_c && err == 0; i++) {
		const struct tiles part = part_of(e, i);

		for (uint32_t n = 0; n < e->chunks && err == 0; n++)
			err = add_chunk(e, state, n, &part, data, coil_stride, stream, why);
	}
	e->begun[state] = e->chunks;
	return err != 0 ? err : bs_exact_cuda_finish(e, state, result, stream, why);
}
