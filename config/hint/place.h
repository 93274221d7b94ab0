/*
 * config/hint/place.h - which file or folder was meant by a path that is not there
 *
 * hint: " (did you mean PATH?)", PATH being as much of the path as is there and the entry of that
 * folder that is near to the part that is not (config/hint/near.h); "" where the path is there,
 * nothing is near, or it is too long. Reads at most BS_PLACE_ENTRIES entries. For messages of what
 * has failed: it opens a folder, which allocates. Any thread.
 * Test: test/unit/config/test_place.c
 */
#ifndef BS_CONFIG_HINT_PLACE_H
#define BS_CONFIG_HINT_PLACE_H

#define BS_PLACE_ENTRIES 4096u
#define BS_PLACE_HINT    360u

/* Returns out. */
const char *bs_place_hint(const char *path, char out[BS_PLACE_HINT]);

#endif
