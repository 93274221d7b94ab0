/*
 * config/hint/place.h - which file or folder was meant by a path that does not exist
 *
 * hint: " (did you mean PATH?)". PATH is as much of the path as exists, and the entry of that
 * folder that is near to the next part (config/hint/near.h). "" where the path exists, no entry is
 * near, or PATH is too long. Reads at most BS_PLACE_ENTRIES entries. For messages about a failure:
 * it opens a folder, which allocates. Any thread.
 * Test: test/unit/config/test_place.c
 */
#ifndef BS_CONFIG_HINT_PLACE_H
#define BS_CONFIG_HINT_PLACE_H

#define BS_PLACE_ENTRIES 4096u
#define BS_PLACE_HINT    360u

/* Writes the hint. Returns out. */
const char *bs_place_hint(const char *path, char out[BS_PLACE_HINT]);

#endif
