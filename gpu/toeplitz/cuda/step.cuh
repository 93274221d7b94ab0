/*
 * gpu/toeplitz/cuda/step.cuh - conjugate gradients in 2D, two launches an iteration
 *
 * The operator A is applied to the preconditioned residual u = M^-1 r, M diagonal; A p of the
 * direction p follows from A u as p follows from u. Then both sums of an iteration are known before
 * its update: r^H u together with the last iteration's, u^H A u from the spectrum, as columns
 * multiply by it. So one pass over the image's lines does the rows of A u, their sum over coils,
 * the new x, r and u, and the rows of the next A u. Rounding in A p grows as in p, by the same
 * recurrence; the reported residual is measured (pcg.cu). Blocks leave their parts of the sums, and
 * each block of the next launch adds them all up, in one order, while it waits for its rows, so
 * that no block waits for a last one. Block 0 keeps the state. A block that finds stop already set
 * by block 0 would have decided the same.
 * For flat.cu alone.
 * Source: Chronopoulos & Gear, J Comput Appl Math 1989;25:153-168.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_STEP_CUH
#define BS_GPU_TOEPLITZ_CUDA_STEP_CUH

#include "core/solve/pcg.h"
#include "gpu/toeplitz/cuda/halves.cuh"

#define TP_SOME 4 /* voxels that a thread loads together */

struct tp_step {
	struct bs_toeplitz_cg cg; /* vectors [image][y][x] */
	double *norms;            /* norms of blocks, [parity][image][r^H r, r^H u, u^H u][block] */
	/* number of an image's parts of the energy, which columns have left */
	int energies;
	/* lines of a block that belong to one line of the image, one for each coil */
	int beside;
	bool first; /* first step: x = 0, r = b; there is no A u yet */
};

/*
 * Sums over the warps of a block, valid once every warp has called put and __syncthreads was
 * called.
 */
struct tp_sums {
	double of[TP_ROW_THREADS / 32][4];

	/* Writes a warp's sums of v[0] and v[3] to its place; all: those of v[1] and v[2], too. */
	__device__ __forceinline__ void put(const double (&v)[4], bool all)
	{
#pragma unroll
		for (int k = 0; k < 4; k++) {
			double sum = v[k];

			if (k % 3 != 0 && !all)
				continue;
			for (int n = 16; n > 0; n >>= 1)
				sum += __shfl_down_sync(0xffffffffu, sum, n);
			if (threadIdx.x % 32 == 0)
				of[threadIdx.x / 32][k] = sum;
		}
	}
	__device__ __forceinline__ double total(int which) const
	{
		double sum = 0.0;

#pragma unroll
		for (int i = 0; i < TP_ROW_THREADS / 32; i++)
			sum += of[i][which];
		return sum;
	}
};

/* Sums of the iteration before, and bb of the first iteration. */
struct tp_before {
	double bb, ru, pap;
	/*
	 * stop flag of the state, read by one thread for the block, since block 0 may set it
	 * meanwhile
	 */
	int stop;
};

struct tp_choice {
	float alpha, beta;
	bool goes; /* the solve has not ended */
};

/* Part of a step for one image, with the state that the iteration before has left. */
struct tp_solve {
	const float2 *b;
	const float *inverse;
	float2 *x, *r, *p, *s;
	struct bs_cg_state *state;
	double *norms; /* norms of even iterations; norms of odd iterations lie `odd` further */
	long long odd;
	const double *energy;
	float mu;
	unsigned iteration;

	__device__ __forceinline__ tp_solve(const struct tp_flat &a, const struct tp_step &g,
					    int image)
	{
		const long long at = (long long)image * a.x.n * a.y.n;

		b = (const float2 *)g.cg.b + at;
		inverse = g.cg.inverse;
		x = (float2 *)g.cg.x + at;
		r = (float2 *)g.cg.r + at;
		p = (float2 *)g.cg.p + at;
		s = (float2 *)g.cg.s + at;
		state = g.cg.state + image;
		norms = g.norms + image * 3 * (long long)gridDim.x;
		odd = 3 * (long long)gridDim.y * gridDim.x;
		energy = a.energy + (long long)image * g.energies;
		mu = g.cg.mu;
		iteration = g.first ? 0 : state->iteration;
	}

	__device__ __forceinline__ double sum_of(const double *from, int count) const
	{
		double sum = 0.0;

		for (int i = (int)threadIdx.x; i < count; i += TP_ROW_THREADS)
			sum += from[i];
		return sum;
	}

	/*
	 * Adds up a thread's part of the sums left by the iteration before and by columns. It loads
	 * both parities of the former, so that it need not wait for iteration, and issues all loads
	 * before it adds.
	 */
	__device__ __forceinline__ void gather(double (&part)[4], int energies) const
	{
		const int i = (int)threadIdx.x;
		const int blocks = (int)gridDim.x;
		const double one = i < energies ? energy[i] : 0.0;
		const double two = i + TP_ROW_THREADS < energies ? energy[i + TP_ROW_THREADS] : 0.0;
		const double even = i < blocks ? norms[i] : 0.0;
		const double uneven = i < blocks ? norms[odd + i] : 0.0;
		const double *own = norms + iteration % 2 * odd;

		part[0] = iteration % 2 != 0 ? uneven : even;
		part[1] = part[2] = 0.0;
		part[3] = one + two;
		if (energies > 2 * TP_ROW_THREADS)
			part[3] +=
				sum_of(energy + 2 * TP_ROW_THREADS, energies - 2 * TP_ROW_THREADS);
		if (blocks > TP_ROW_THREADS)
			part[0] += sum_of(own + TP_ROW_THREADS, blocks - TP_ROW_THREADS);
		if (inverse == NULL)
			return;
		part[1] = sum_of(own + blocks, blocks);
		part[2] = sum_of(own + 2 * blocks, blocks);
	}

	/* Called by one thread of each block; block 0's keeps the state. */
	__device__ __forceinline__ struct tp_choice decide(const struct tp_sums &sums,
							   const struct tp_before &before,
							   double tolerance, double *history) const
	{
		const double rr = sums.total(0);
		const double ru = inverse != NULL ? sums.total(1) : rr;
		const double uu = inverse != NULL ? sums.total(2) : rr;
		const double uau = sums.total(3) + (double)mu * uu;
		const double ratio = iteration == 1 ? 0.0 : ru / before.ru;
		const double next = iteration == 1 ? uau : uau - ratio * ratio * before.pap;
		const double norm = iteration == 1 ? rr : before.bb;
		const double least = fmax(tolerance, BS_PCG_ROUND_OFF);
		struct tp_choice choice;

		/*
		 * where p^H A p is not positive, round-off has used up the accuracy that the system
		 * allows
		 */
		choice.goes = rr > 0.0 && next > 0.0 && isfinite(rr) && isfinite(next) &&
			      (iteration == 1 || !(rr <= least * least * norm));
		choice.alpha = (float)(ru / next);
		choice.beta = (float)ratio;
		if (blockIdx.x > 0)
			return choice;
		state->bb = norm;
		if (iteration == 1)
			history[0] = rr == 0.0 ? 0.0 : 1.0;
		else
			history[iteration - 1] = rr > 0.0 ? sqrt(rr / norm) : 0.0;
		state->iterations = choice.goes ? iteration : iteration - 1;
		state->stop = !choice.goes;
		state->last[(iteration + 1) % 2].rz = ru;
		state->last[(iteration + 1) % 2].pap = next;
		return choice;
	}
};

/* Values of a voxel before a step. */
struct tp_voxel {
	float2 x, r, p, s;

	__device__ __forceinline__ void load(const struct tp_solve &c, long long at, bool first)
	{
		x = p = s = make_float2(0.0f, 0.0f);
		r = first ? c.b[at] : c.r[at];
		if (!first) {
			x = c.x[at];
			p = c.p[at];
			s = c.s[at];
		}
	}
};

/*
 * A thread's place in rows_step. blockIdx.y: the image. A block has LINES / beside lines of the
 * image; `beside` of its threads' lines hold coils of one line, round after round.
 */
template <int A, int B> struct step_lane {
	using L = halves<A, B>;
	static const int LINES = rows_of<A, B>::LINES;
	static const int SPAN = 2 * A * (B + 1); /* floats that a line's exchange takes */

	const struct tp_flat &a;
	const struct tp_step &g;
	const row_lane<A, B> lane;
	float2 *lines,
		*fresh; /* coils' parts of A u in shared memory, then u of the block's lines */
	/* numbers of the block's first line, and of the thread's line within the block */
	int top, mine;
	int slot, coils;
	int n;    /* voxels of the thread's line */
	int many; /* voxels of the block */

	__device__ __forceinline__ step_lane(const struct tp_flat &flat, const struct tp_step &step,
					     float2 *mid)
	    : a(flat), g(step), lane(mid)
	{
		lines = mid + L::TABLE;
		fresh = lines + LINES * SPAN;
		top = (int)blockIdx.x * (LINES / g.beside);
		mine = lane.line / g.beside;
		slot = lane.line % g.beside;
		coils = a.maps != NULL ? a.count : 1;
		n = top + mine < a.y.n ? a.x.n : 0;
		many = min(LINES / g.beside, a.y.n - top) * a.x.n;
	}

	__device__ __forceinline__ float2 *row(int coil) const
	{
		return lane.row(a, a.maps != NULL ? coil : (int)blockIdx.y, top + mine);
	}

	/* Returns the map of a coil at the first voxel of the thread's line. */
	__device__ __forceinline__ const float2 *map(int coil) const
	{
		return a.maps + ((long long)coil * a.y.n + top + mine) * a.x.n;
	}

	/*
	 * Writes rows of A u, summed over the thread's rounds, to lines; calls goes() once all
	 * loads are issued. Returns false, alike in all threads, where goes() did; there are then
	 * no rows.
	 */
	template <class GOES> __device__ __forceinline__ bool back(GOES goes) const
	{
		float2 sum[L::P][A / 2] = {};

		for (int at = 0; at < coils; at += g.beside) {
			const int coil = at + slot;
			const int length = coil < coils ? n : 0;
			float2 w[B];
			float2 begun[A / 2]; /* map values, loaded ahead where registers allow it */

#pragma unroll
			for (int k = 0; k < B; k++)
				w[k] = length > 0 ? row(coil)[A * k] : make_float2(0.0f, 0.0f);
			L::each_kept(length, lane.half, lane.t, [&](int x, int u, int j) {
				if (L::P == 1 && a.maps != NULL)
					begun[j / 2] = __ldg(map(coil) + x);
			});
			if (at == 0 && !goes())
				return false;
			L::out(w, lane.twiddles, length, lane.half, A, lane.t, lane.exchange,
			       [&](int x, float2 value, int u, int j) {
				       if (a.maps != NULL)
					       value = bs_cmul_conj(
						       value, L::P == 1 ? begun[j / 2]
									: __ldg(map(coil) + x));
				       sum[u][j / 2] = bs_cadd(sum[u][j / 2], value);
			       });
			lane.exchange.sync();
		}
		L::each_kept(n, lane.half, lane.t, [&](int x, int u, int j) {
			lines[lane.line * SPAN + x] = sum[u][j / 2];
		});
		return true;
	}

	/* Advances one voxel, the i-th of the block; adds to norm. */
	__device__ __forceinline__ void advance(const struct tp_solve &c, struct tp_voxel o, int i,
						const struct tp_choice &choice,
						double (&norm)[4]) const
	{
		const long long at = (long long)top * a.x.n + i;
		const float2 *part = lines + i / a.x.n * g.beside * SPAN + i % a.x.n;
		const float weight = c.inverse != NULL ? __ldg(c.inverse + at) : 1.0f;

		if (!g.first) {
			const float2 u = make_float2(weight * o.r.x, weight * o.r.y);
			float2 q = bs_cfma(c.mu, u, part[0]);

			for (int k = 1; k < min(g.beside, coils); k++)
				q = bs_cadd(q, part[k * SPAN]);
			o.p = bs_cfma(choice.beta, o.p, u);
			o.s = bs_cfma(choice.beta, o.s, q);
			o.x = bs_cfma(choice.alpha, o.p, o.x);
			o.r = bs_cfma(-choice.alpha, o.s, o.r);
		}
		const float2 u = make_float2(weight * o.r.x, weight * o.r.y);

		c.x[at] = o.x;
		c.r[at] = o.r;
		c.p[at] = o.p;
		c.s[at] = o.s;
		fresh[i] = u;
		norm[0] += (double)o.r.x * o.r.x + (double)o.r.y * o.r.y;
		if (c.inverse != NULL) {
			norm[1] += (double)o.r.x * u.x + (double)o.r.y * u.y;
			norm[2] += (double)u.x * u.x + (double)u.y * u.y;
		}
	}

	/* Advances the block's voxels; this thread's first voxel is already loaded. */
	__device__ __forceinline__ void advance_all(const struct tp_solve &c,
						    const struct tp_voxel &first,
						    const struct tp_choice &choice,
						    double (&norm)[4]) const
	{
		int i = (int)threadIdx.x;

		if (i < many)
			advance(c, first, i, choice, norm);
		for (i += TP_ROW_THREADS; i < many; i += TP_SOME * TP_ROW_THREADS) {
			struct tp_voxel some[TP_SOME];

#pragma unroll
			for (int k = 0; k < TP_SOME; k++)
				if (i + k * TP_ROW_THREADS < many)
					some[k].load(
						c, (long long)top * a.x.n + i + k * TP_ROW_THREADS,
						g.first);
#pragma unroll
			for (int k = 0; k < TP_SOME; k++)
				if (i + k * TP_ROW_THREADS < many)
					advance(c, some[k], i + k * TP_ROW_THREADS, choice, norm);
		}
	}

	/* Makes the rows of the next A u. */
	__device__ __forceinline__ void forth(void) const
	{
		for (int at = 0; at < coils; at += g.beside) {
			const int coil = at + slot;
			const int length = coil < coils ? n : 0;
			float2 *out = row(coil);
			float2 w[B];

			lane.exchange.sync();
			L::in(w, lane.twiddles, lane.half, lane.t, lane.exchange,
			      [&](int u, float2(&v)[A]) {
				      L::fill_set(v, length, lane.t, u,
						  [&](int x) { return fresh[mine * a.x.n + x]; });
				      if (a.maps == NULL)
					      return;
				      L::each(length, lane.t, u, [&](int x, int j) {
					      v[j] = bs_cmul(v[j], __ldg(map(coil) + x));
				      });
			      });
			if (length > 0)
#pragma unroll
				for (int k = 0; k < B; k++)
					out[A * k] = w[k];
		}
	}
};

template <int A, int B>
static __global__ __launch_bounds__(TP_ROW_THREADS,
				    rows_of<A, B>::blocks) void rows_step(const struct tp_flat a,
									  const struct tp_step g)
{
	extern __shared__ __align__(16) float2 mid[];
	__shared__ struct tp_sums sums;
	__shared__ struct tp_before before;
	__shared__ struct tp_choice chosen;
	const step_lane<A, B> own(a, g, mid);

	halves<A, B>::table(mid, a.x);
	bs_after_previous();
	const struct tp_solve c(a, g, (int)blockIdx.y);
	struct tp_choice choice = { 0.0f, 0.0f, true };
	double norm[4] = { 0.0, 0.0, 0.0, 0.0 };
	struct tp_voxel next;

	if ((int)threadIdx.x < own.many)
		next.load(c, (long long)own.top * a.x.n + threadIdx.x, g.first);
	if (!g.first) {
		const bool goes = own.back([&]() {
			double part[4];

			c.gather(part, g.energies);
			if (threadIdx.x == 0)
				before = { c.state->bb, c.state->last[c.iteration % 2].rz,
					   c.state->last[c.iteration % 2].pap, c.state->stop };
			sums.put(part, c.inverse != NULL);
			__syncthreads();
			return before.stop == 0;
		});
		if (!goes)
			return;
		if (threadIdx.x == 0)
			chosen = c.decide(sums, before, g.cg.tolerance,
					  g.cg.history + (long long)blockIdx.y * g.cg.made);
		__syncthreads();
		choice = chosen;
		if (!choice.goes)
			return;
	} else if (blockIdx.x == 0 && threadIdx.x == 0) {
		c.state->iteration = c.state->iterations = 0;
		c.state->stop = 0;
		g.cg.history[(long long)blockIdx.y * g.cg.made] = 1.0;
	}
	own.advance_all(c, next, choice, norm);
	__syncthreads();
	sums.put(norm, c.inverse != NULL);
	own.forth();
	__syncthreads();
	if (threadIdx.x < 3 && (threadIdx.x == 0 || c.inverse != NULL))
		c.norms[(c.iteration + 1) % 2 * c.odd + threadIdx.x * gridDim.x + blockIdx.x] =
			sums.total((int)threadIdx.x);
}

/* A half's number of points that the passes are compiled for. */
struct tp_half {
	int a, b;
	int row_lines, row_bytes, column_threads, column_bytes;
	void (*rows_in)(const struct tp_flat);
	void (*columns)(const struct tp_flat, int width);
	void (*rows_out)(const struct tp_flat);
	void (*rows_step)(const struct tp_flat, const struct tp_step);
};

#define TP_HALF(A, B)                                                                              \
	{                                                                                          \
		A, B, rows_of<A, B>::LINES, rows_of<A, B>::bytes, columns_of<A, B>::THREADS,       \
			columns_of<A, B>::bytes, rows_in<A, B>, columns<A, B>, rows_out<A, B>,     \
			rows_step<A, B>                                                            \
	}

extern const struct tp_half tp_halves_8[], tp_halves_16[];
extern const int tp_halves_8_count, tp_halves_16_count;

#endif
