/*
 * test/support/plan/planned.h - the protocols that tests begin with, made by hand, and their plans
 *
 * Each has one slice and one contrast and takes any backend. A test names what it varies, member by
 * member, and ends with planned or planned_host: a plan is that of the members as they are then.
 */
#ifndef BS_TEST_SUPPORT_PLANNED_H
#define BS_TEST_SUPPORT_PLANNED_H

#include <stdio.h>

#include "core/protocol.h"

static inline struct bs_protocol planned(struct bs_protocol p)
{
	bs_plan_make(&p);
	return p;
}

static inline struct bs_protocol planned_host(struct bs_protocol p)
{
	p.backend = BS_BACKEND_HOST;
	return planned(p);
}

/* Lines of a grid of nx x ny x nz voxels, each of so many samples, which are encoded, too. */
static inline struct bs_protocol lines_of(uint32_t nx, uint32_t ny, uint32_t nz, uint32_t samples,
					  uint32_t coils)
{
	return (struct bs_protocol){ .name = "lines",
				     .method = BS_METHOD_CARTESIAN,
				     .traj.type = BS_TRAJ_CARTESIAN,
				     .dims = nz > 1 ? 3 : 2,
				     .matrix = { nx, ny, nz },
				     .encoded = { samples, ny, nz },
				     .coils = coils,
				     .samples = samples,
				     .readouts = ny * nz,
				     .slices = 1,
				     .contrasts = 1 };
}

/* Readouts along a path of this type: gridded with the ramp's weights, solved without any. */
static inline struct bs_protocol path_of(enum bs_method method, enum bs_traj_type type, uint32_t nx,
					 uint32_t ny, uint32_t nz, uint32_t coils)
{
	const bool grids = method == BS_METHOD_GRIDDING;

	return (struct bs_protocol){ .name = "path",
				     .method = method,
				     .traj.type = type,
				     .dims = nz > 1 ? 3 : 2,
				     .matrix = { nx, ny, nz },
				     .coils = coils,
				     .slices = 1,
				     .contrasts = 1,
				     .accuracy = 1e-5,
				     .density = grids ? BS_DENSITY_RAMP : BS_DENSITY_NONE,
				     .fhd = BS_SUM_NUFFT,
				     .q = BS_SUM_NUFFT };
}

static inline struct bs_protocol with_name(struct bs_protocol p, const char *name)
{
	(void)snprintf(p.name, sizeof(p.name), "%s", name);
	return p;
}

static inline void readouts_of(struct bs_protocol *p, uint32_t readouts, uint32_t samples)
{
	p->readouts = readouts;
	p->samples = samples;
}

static inline void solved(struct bs_protocol *p, double lambda, uint32_t iterations)
{
	p->lambda = lambda;
	p->iterations = iterations;
}

/* Each coil's image for itself, as it is. */
static inline struct bs_protocol coils_apart(struct bs_protocol p)
{
	p.combine = BS_COMBINE_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	return planned(p);
}

/* Combined by maps: of the scan's calibration lines, so many of them, or of a file or study. */
static inline void mapped_by(struct bs_protocol *p, enum bs_maps_from maps, uint32_t lines)
{
	p->combine = BS_COMBINE_SENSE;
	p->output = BS_OUTPUT_COMPLEX;
	p->maps = maps;
	p->calibration_lines = lines;
	p->espirit_threshold = 1e-3;
	p->espirit_crop = 0.5;
	p->walsh_block = 5;
}

/* Spokes as a service takes them, and measures what they cost. */
static inline struct bs_protocol served_spokes(enum bs_method method, uint32_t n, uint32_t spokes)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_RADIAL2D, n, n, 1, 2);

	readouts_of(&p, spokes, 2 * n);
	p.traj.reach = 0.5;
	p.traj.tolerance = 1e-4;
	p.traj.min_extent = 0.25;
	p.accuracy = 1e-3;
	p.combine = BS_COMBINE_RSS;
	p.max_sample = 1e12;
	p.image_ms = 1e6;
	return p;
}

#endif
