/* test/mutate/not_yet.c - rows that are not answered as they should be yet; see mutations.h */
#include "test/mutate/mutations.h"

#define TWICE   "a row that comes twice is refused: WIRE.md, fault_input"
#define REFUSED "refused in words, where it could be taken"

const struct not_yet not_yet_right[] = {
	{ "9b", "CSEGD", "samples that lack behind are refused: a protocol has them in front" },
	{ "10a", "CSEGD", REFUSED },
	{ "10b", "CSEGD", REFUSED },
	{ "15b", "CSED", REFUSED },
	{ "19a", "E", TWICE },
	{ "20c", "G", "averages that only calibration has are expected of every line" },
	{ "35a", "CSED", REFUSED },
	{ "56a", "CSEPGID", TWICE },
	{ "56b", "G", TWICE },
	{ "56c", "CSEPGID", TWICE },
	{ "56d", "G", TWICE },
	{ "57e", "G", "init does not unfold by calibration that is interleaved" },
	{ "60a", "CS", REFUSED },
	{ "69a", "CSD", REFUSED },
	{ "69b", "CSD", REFUSED },
	{ "69c", "CSEPGIRD", REFUSED },
	{ 0 },
};
