/*
 * gpu/penalty/shape.h - what a protocol's solve with a prior is like; host and CUDA share it
 *
 * Inside gpu/penalty.
 */
#ifndef BS_GPU_PENALTY_SHAPE_H
#define BS_GPU_PENALTY_SHAPE_H

#include "core/engine.h"
#include "gpu/image/partial.h"
#include "gpu/penalty/penalty.h"

#define STREAM_STEPS 20u /* steps of the power iteration of a path that comes with the stream */

/* What a slice's maps, or its samples, say of F^H F; largest 0: not known. */
struct scale {
	double largest; /* at least its largest eigenvalue */
	double level;   /* the mean of its diagonal */
};

static inline bool along_frames(const struct bs_protocol *p)
{
	return p->prior.kind == BS_PRIOR_TV_FRAMES || p->prior.kind == BS_PRIOR_TV_CYCLE ||
	       p->prior.kind == BS_PRIOR_LOW_RANK;
}

static inline uint32_t frames_of(const struct bs_protocol *p)
{
	return along_frames(p) ? bs_partial_groups(p) : 1;
}

static inline bool on_lines(const struct bs_protocol *p)
{
	return p->plan.encode == BS_ENCODE_LINES;
}

/* N: F^H F of a full grid is N times the identity; on lines of the grid transforms are unitary. */
static inline double norm_of(const struct bs_protocol *p)
{
	return on_lines(p) ? 1.0 : (double)bs_protocol_voxels(p);
}

static inline uint32_t images_of(const struct bs_protocol *p)
{
	return p->plan.joint ? bs_protocol_map_images(p) : 1;
}

/* Solves of an image. */
static inline uint32_t solves_of(const struct bs_protocol *p)
{
	return p->plan.joint ? 1 : p->coils;
}

/* Solutions that are kept for the next images. */
static inline uint32_t slots_of(const struct bs_protocol *p)
{
	return p->plan.follows ? bs_protocol_pairs(p) * solves_of(p) : 1;
}

static inline bool has_prior(const struct bs_protocol *p)
{
	return p->prior.kind != BS_PRIOR_NONE;
}

/* Images are made by conjugate gradients, all or those of the ladder's rung. */
static inline bool has_pcg(const struct bs_protocol *p)
{
	return !has_prior(p) || p->plan.quadratic;
}

static inline struct bs_prox_spec prox_of(const struct bs_protocol *p)
{
	struct bs_prox_spec s;

	s.size = bs_protocol_voxels(p) * images_of(p) * frames_of(p);
	s.iterations = p->iterations;
	return s;
}

static inline struct bs_penalty_spec penalty_of(const struct bs_protocol *p)
{
	struct bs_penalty_spec s;

	s.kind = p->prior.kind;
	for (int a = 0; a < 3; a++)
		s.matrix[a] = p->matrix[a];
	s.images = images_of(p) * frames_of(p);
	s.block = p->prior.block;
	/* along trajectories too few steps reach where shifts average */
	s.shifts = p->prior.shifts && on_lines(p);
	return s;
}

/* The protocol, tables and weights of the table's rows of one frame. */
struct frame_table {
	struct bs_protocol p;
	struct bs_tables tables;
	struct bs_traj traj;
	const float *weight;
};

static inline void frame_table(struct frame_table *f, const struct bs_protocol *p, uint32_t frame,
			       const struct bs_tables *tables, const float *weight)
{
	uint64_t before;

	f->p = *p;
	f->tables = *tables;
	f->weight = weight;
	if (frames_of(p) == 1)
		return;
	f->p.readouts = p->frame_step;
	before = frame * bs_protocol_samples(&f->p);
	f->traj = *tables->traj;
	f->traj.readouts = f->p.readouts;
	f->traj.k += before * p->dims;
	f->tables.traj = &f->traj;
	f->weight = weight != NULL ? weight + before : NULL;
}

/* The scale of all lines, by the maps: F^H M F is at most 1. w_bound: of W^H W, 1 without W. */
static inline struct scale scale_of_maps(const struct bs_protocol *p, const float *maps,
					 double w_bound)
{
	const uint64_t voxels = bs_protocol_voxels(p);
	const uint64_t sets = (uint64_t)p->coils * bs_protocol_map_images(p);
	struct scale s = { 0.0, 0.0 };

	for (uint64_t v = 0; v < voxels; v++) {
		double power = 0.0;

		for (uint64_t c = 0; c < sets; c++) {
			const float *at = maps + 2 * (c * voxels + v);

			power += (double)at[0] * (double)at[0] + (double)at[1] * (double)at[1];
		}
		s.largest = power > s.largest ? power : s.largest;
		s.level += power / (double)voxels;
	}
	s.largest += p->lambda * w_bound + p->w.l2 + p->prior.damp * norm_of(p);
	return s;
}

/* The share of the grid's lines that came. */
static inline double share_of(const struct bs_protocol *p, const uint8_t *lines)
{
	const uint32_t all = p->encoded[1] * p->encoded[2];
	uint32_t came = 0;

	for (uint32_t l = 0; l < all; l++)
		came += lines[l] != 0;
	return (double)came / all;
}

#endif
