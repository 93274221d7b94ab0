/* test/mutate/not_yet.c - rows that are not answered as they should be yet; see mutations.h */
#include "test/mutate/mutations.h"

const struct not_yet not_yet_right[] = {
	{ 0 },
};
