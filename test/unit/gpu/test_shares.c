/* test/unit/gpu/test_shares.c - which GPUs work on a scan, and the words for it */
#include <string.h>

#include "gpu/engine/shares.h"
#include "test/support/check.h"

static struct bs_protocol protocol(enum bs_method method, uint32_t coils, uint32_t devices)
{
	struct bs_protocol p = { .method = method, .matrix = { 16, 8, 1 }, .coils = coils };

	p.gpu_devices.count = devices;
	for (uint32_t i = 0; i < devices; i++)
		p.gpu_devices.device[i] = 63 - i;
	return p;
}

static void check(const char *what, const struct bs_protocol *p, uint32_t parts, const char *words)
{
	const struct bs_shares s = bs_shares_of(p);

	CHECK(s.parts == parts && strcmp(s.words, words) == 0, "%s: %u parts, \"%s\"", what,
	      s.parts, s.words);
}

int main(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING, 8, 0);

	check("none named", &p, 1, "GPU 0");
	p = protocol(BS_METHOD_GRIDDING, 8, 1);
	check("one", &p, 1, "GPU 63");
	p = protocol(BS_METHOD_GRIDDING, 8, 2);
	check("gridding", &p, 2, "GPUs 63, 62: 8 coils shared out");
	p = protocol(BS_METHOD_LS, 64, 8);
	check("ls on eight", &p, 8, "GPUs 63, 62, 61, 60, 59, 58, 57, 56: 64 coils shared out");
	p = protocol(BS_METHOD_SENSE, 3, 4);
	check("more GPUs than coils", &p, 3, "GPUs 63, 62, 61: 3 coils shared out, one each");
	p = protocol(BS_METHOD_LS, 1, 8);
	p.fhd = BS_SUM_EXACT;
	p.density = BS_DENSITY_NONE;
	check("one coil, exact", &p, 8,
	      "GPUs 63, 62, 61, 60, 59, 58, 57, 56: F^H d shared out by rows of the image, "
	      "solved on GPU 63");
	p.matrix[1] = 7;
	check("fewer rows than GPUs", &p, 1, "GPU 63 alone: there is one coil, and 7 rows");
	p.matrix[1] = 8;
	p.density = BS_DENSITY_RAMP;
	check("one coil, weights", &p, 1,
	      "GPU 63 alone: there is one coil, and its samples have weights");
	p.fhd = BS_SUM_NUFFT;
	check("one coil, NUFFT", &p, 1, "GPU 63 alone: there is one coil, and no exact sum");
	p = protocol(BS_METHOD_GRIDDING, 1, 2);
	check("one coil, gridding", &p, 1, "GPU 63 alone: there is one coil, and no exact sum");
	p = protocol(BS_METHOD_SENSE, 8, 2);
	(void)strcpy(p.field.map_file, "map");
	check("off resonance", &p, 1, "GPU 63 alone: field.map_file is not shared out");
	p = protocol(BS_METHOD_CARTESIAN, 8, 2);
	check("cartesian", &p, 1, "GPU 63 alone: method cartesian is not shared out");
	p.method = BS_METHOD_CARTESIAN_SENSE;
	check("sense of lines", &p, 1, "GPU 63 alone: method cartesian_sense is not shared out");
	p = protocol(BS_METHOD_SENSE, 8, 2);
	p.maps = BS_MAPS_ESPIRIT;
	check("maps", &p, 1, "GPU 63 alone: its maps come from a scan");
	p.maps = BS_MAPS_STUDY;
	p.slices = 1;
	check("maps of the study", &p, 1, "GPU 63 alone: its maps come from a scan");
	p = protocol(BS_METHOD_GRIDDING, 8, 2);
	p.dims = 2;
	p.traj.type = BS_TRAJ_STREAM;
	check("a path of its own", &p, 1, "GPU 63 alone: its path comes with the readouts");
	CHECK(!bs_plan_of(&p).host_only, "and is for a GPU as where there is one");
	return check_done();
}
