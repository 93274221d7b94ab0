/* test/unit/core/plan/test_place.c - which GPUs work on a scan, and the words for it */
#include <string.h>

#include "core/protocol.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static struct bs_protocol protocol(enum bs_method method, uint32_t coils, uint32_t devices)
{
	struct bs_protocol p = { .method = method, .matrix = { 16, 8, 1 }, .coils = coils };

	p.gpu_devices.count = devices;
	for (uint32_t i = 0; i < devices; i++)
		p.gpu_devices.device[i] = 63 - i;
	return planned(p);
}

static void check(const char *what, const struct bs_protocol *p, uint32_t parts, const char *words)
{
	char is[BS_PLAN_PLACE_WORDS];

	CHECK(p->plan.parts == parts && strcmp(bs_plan_place_words(is, sizeof(is), p), words) == 0,
	      "%s: %u parts, \"%s\"", what, p->plan.parts, is);
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
	bs_plan_make(&p);
	check("one coil, exact", &p, 8,
	      "GPUs 63, 62, 61, 60, 59, 58, 57, 56: F^H d shared out by rows of the image, "
	      "solved on GPU 63");
	p.matrix[1] = 7;
	bs_plan_make(&p);
	check("fewer rows than GPUs", &p, 1, "GPU 63 alone: there is one coil, and 7 rows");
	p.matrix[1] = 8;
	p.density = BS_DENSITY_RAMP;
	bs_plan_make(&p);
	check("one coil, weights", &p, 1,
	      "GPU 63 alone: there is one coil, and its samples have weights");
	p.fhd = BS_SUM_NUFFT;
	bs_plan_make(&p);
	check("one coil, NUFFT", &p, 1, "GPU 63 alone: there is one coil, and no exact sum");
	p = protocol(BS_METHOD_GRIDDING, 1, 2);
	check("one coil, gridding", &p, 1, "GPU 63 alone: there is one coil, and no exact sum");
	p = protocol(BS_METHOD_SENSE, 8, 2);
	p.prior.kind = BS_PRIOR_WAVELET;
	bs_plan_make(&p);
	check("a prior", &p, 1, "GPU 63 alone: solve.prior is not shared out");
	p = protocol(BS_METHOD_SENSE, 8, 2);
	(void)strcpy(p.field.map_file, "map");
	bs_plan_make(&p);
	check("off resonance", &p, 1, "GPU 63 alone: field.map_file is not shared out");
	p = protocol(BS_METHOD_CARTESIAN, 8, 2);
	check("cartesian", &p, 1, "GPU 63 alone: method cartesian is not shared out");
	p.method = BS_METHOD_CARTESIAN_SENSE;
	bs_plan_make(&p);
	check("sense of lines", &p, 1, "GPU 63 alone: method cartesian_sense is not shared out");
	p = protocol(BS_METHOD_SENSE, 8, 2);
	p.maps = BS_MAPS_ESPIRIT;
	bs_plan_make(&p);
	check("maps", &p, 1, "GPU 63 alone: its maps come from a scan");
	p.maps = BS_MAPS_STUDY;
	p.slices = 1;
	bs_plan_make(&p);
	check("maps of the study", &p, 1, "GPU 63 alone: its maps come from a scan");
	p = protocol(BS_METHOD_GRIDDING, 8, 2);
	p.dims = 2;
	p.traj.type = BS_TRAJ_STREAM;
	bs_plan_make(&p);
	check("a path of its own", &p, 1, "GPU 63 alone: its path comes with the readouts");
	CHECK(p.plan.host_only == BS_HOST_ONLY_NOT, "and is for a GPU as where there is one");
	p = protocol(BS_METHOD_CARTESIAN_SENSE, 8, 2);
	p.parallel = BS_PARALLEL_SENSE_SLICES;
	p.multiband.factor = 2;
	bs_plan_make(&p);
	check("slices at once", &p, 1, "GPU 63 alone: method cartesian_sense is not shared out");
	return check_done();
}
