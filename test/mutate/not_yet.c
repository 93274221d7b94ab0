/* test/mutate/not_yet.c - rows that are not answered as they should be yet; see mutations.h */
#include "test/mutate/mutations.h"

#define TWICE   "a row that comes twice is refused: WIRE.md, fault_input"
#define BY_FLAG "frames end by flags and by a change of counters: 'did not come' of lines to come"
#define OVER    "lines beyond the header's limits come when the frame has left, or not at all"
#define REFUSED "refused in words, where it could be taken"

const struct not_yet not_yet_right[] = {
	{ "9b", "CSEGD", "samples that lack behind are refused: a protocol has them in front" },
	{ "10a", "CSEGD", REFUSED },
	{ "10b", "CSEGD", REFUSED },
	{ "15b", "CSED", REFUSED },
	{ "16a", "C", BY_FLAG },
	{ "16b", "C", BY_FLAG },
	{ "16d", "CSEGID", OVER },
	{ "16e", "CSEGID", OVER },
	{ "17a", "CS", BY_FLAG },
	{ "17b", "C", BY_FLAG },
	{ "17d", "C", BY_FLAG },
	{ "17e", "CS", BY_FLAG },
	{ "19a", "E", TWICE },
	{ "20c", "G", "averages that only calibration has are expected of every line" },
	{ "21c", "CSP", "a last line that comes twice begins an image of its own" },
	{ "23a", "D", BY_FLAG },
	{ "24a", "CSEPGI", BY_FLAG },
	{ "24b", "CSEPGID", BY_FLAG },
	{ "35a", "CSED", REFUSED },
	{ "37a", "G", "a calibration of another encoding is refused" },
	{ "56a", "CSEPGID", TWICE },
	{ "56b", "G", TWICE },
	{ "56c", "CSEPGID", TWICE },
	{ "56d", "CSEPGD", "a last line that comes twice begins an image of its own" },
	{ "57a", "D", "an elliptical shutter is partial" },
	{ "57b", "D", "an elliptical shutter is partial" },
	{ "57d", "D", "zeros of partial Fourier are partial" },
	{ "57e", "G", "init does not unfold by calibration that is interleaved" },
	{ "60a", "CS", REFUSED },
	{ "68b", "I", "a slice that lacks lines tells init how many the others have" },
	{ "68c", "C", BY_FLAG },
	{ "68d", "CSEPD", BY_FLAG },
	{ "69a", "CSD", REFUSED },
	{ "69b", "CSD", REFUSED },
	{ "69c", "CSEPGIRD", REFUSED },
	{ 0 },
};
