/*
 * gpu/engine/pattern.h - at which step a frame's lines come, for slicer.h
 *
 * The grid of the lines goes on to the ends of k-space, at the header's step, or at the lines' own
 * where that is less or the header tells none. Where lines lie beside such a grid and in no full
 * center, or grid lines are missing that the header does not promise, it is the grid of all lines.
 * A full center: a run of lines at each step, longer than the kernel, that has all lines beside the
 * grid. Test: test/unit/gpu/engine/test_pattern.c
 */
#ifndef BS_GPU_ENGINE_PATTERN_H
#define BS_GPU_ENGINE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* Lines at one distance from each other: the i-th one is y = first + i * step. */
struct bs_pattern {
	uint32_t first, step, lines;
};

struct bs_pattern_spec {
	uint32_t lines;  /* lines of k-space */
	uint32_t step;   /* step that the header tells; 0, 1: none */
	uint32_t kernel; /* lines of a kernel */
	bool centers;    /* a full center may lie beside the grid */
};

static inline bool bs_pattern_beside(const struct bs_pattern *at, uint32_t y)
{
	return (y + at->step - at->first % at->step) % at->step != 0;
}

/*
 * have [line]: 1 where a line has come. Finds the grid, the full center's lines, center[0] ..
 * center[1] - 1 (0, 0: there is none), and whether lines are missing between those that came which
 * nothing fills. Returns the number of lines that have come.
 */
uint32_t bs_pattern_find(const struct bs_pattern_spec *spec, const uint8_t *have,
			 struct bs_pattern *at, uint32_t center[2], bool *gaps);

#endif
