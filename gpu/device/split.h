/*
 * gpu/device/split.h - one piece of work divided among several devices
 *
 * The work is a row of items 0 .. total-1. It is cut at multiples of grain (a tile's size, so that
 * no tile is done twice) into `parts` ranges, in order, without gap or overlap. Their lengths
 * differ by at most one grain; the first ones are the larger. Where there are more parts than
 * grains the last parts are empty (count 0, first = total). grain 0 is taken as 1. Any thread.
 * Test: test/unit/gpu/test_split.c
 */
#ifndef BS_GPU_DEVICE_SPLIT_H
#define BS_GPU_DEVICE_SPLIT_H

#include "core/protocol.h"

BS_C_BEGIN

struct bs_split {
	uint64_t first, count;
};

struct bs_split bs_split_part(uint64_t total, uint64_t grain, uint32_t parts, uint32_t i);
/* The largest grain of 1, 2, 4 .. grain that leaves no part empty; 1 where every grain does. */
uint64_t bs_split_grain(uint64_t total, uint64_t grain, uint32_t parts);

BS_C_END
#endif
