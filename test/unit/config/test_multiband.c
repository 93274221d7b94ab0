/* test/unit/config/test_multiband.c - what keys multiband.* refuse, each with its line */
#define _GNU_SOURCE /* mkdtemp */
#include "test/support/site_file.h"

#define BANDS(slices, more)                                                                        \
	"protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 48];\n"              \
	"encoded = [64, 48, 1]; coils = 4; samples = 64; readouts = 48; slices = " slices ";\n"    \
	"parallel = \"slice_grappa\"; " more " } );"

#define JOINT(more)                                                                                \
	"protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 48];\n"              \
	"encoded = [64, 48, 1]; coils = 4; samples = 64; readouts = 48; slices = 4;\n"             \
	"parallel = \"sense_sms\"; " more " } );"

#define SPOKES(type, more)                                                                         \
	"protocols = (\n{ name = \"p\"; method = \"sense\"; matrix = [32, 32]; coils = 4;\n"       \
	"samples = 64; readouts = 24; slices = 4; trajectory: { type = \"" type "\"; };\n"         \
	"parallel = \"sense_sms\"; multiband: { factor = 2; }; " more " } );"

/* clang-format off */
static const struct {
	const char *text, *want;
} refused[] = {
	{ PROTOCOL("multiband: { factor = 2; };"),
	  "4: protocols.[0].multiband.factor: has no effect without parallel slice_grappa" },
	{ PROTOCOL("multiband: { shift = 0.5; };"),
	  "4: protocols.[0].multiband.shift: has no effect without parallel slice_grappa" },
	{ PROTOCOL("multiband: { split = true; };"),
	  "4: protocols.[0].multiband.split: has no effect without parallel slice_grappa" },
	{ PROTOCOL("multiband: { references = \"first\"; };"),
	  "4: protocols.[0].multiband.references: has no effect without parallel" },
	{ PROTOCOL("multiband: { kernel = [3, 5]; };"),
	  "4: protocols.[0].multiband.kernel: has no effect without parallel slice_grappa" },
	{ PROTOCOL("multiband: { lambda = 0.5; };"),
	  "4: protocols.[0].multiband.lambda: has no effect without parallel slice_grappa" },
	{ BANDS("4", ""), "4: protocols.[0].multiband.factor: slice_grappa is for 2 slices" },
	{ BANDS("4", "multiband: { factor = 1; };"),
	  "4: protocols.[0].multiband.factor: slice_grappa is for 2 slices at once or more" },
	{ BANDS("4", "multiband: { factor = 3; };"),
	  "4: protocols.[0].multiband.factor: 4 slices are no groups of 3" },
	{ BANDS("4", "multiband: { factor = 17; };"), "4: protocols.[0].multiband.factor: " },
	{ BANDS("4", "multiband: { factor = 2; kernel = [4, 5]; };"),
	  "4: protocols.[0].multiband.kernel: 4 x 5: two odd numbers are wanted" },
	{ BANDS("4", "multiband: { factor = 2; kernel = [9, 5]; };"),
	  "4: protocols.[0].multiband.kernel: 9 x 5: at most 7 samples along x" },
	{ BANDS("4", "multiband: { factor = 2; }; image: { output = \"velocity\"; };"),
	  "4: protocols.[0].parallel: slice_grappa: not with image.output velocity" },
	{ BANDS("4", "multiband: { factor = 2; };"
		     " image: { combine = \"sense\"; maps = \"walsh\"; };"),
	  "4: protocols.[0].image.maps: of the scan: its references may be moved" },
	{ "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 48, 8];\n"
	  "encoded = [64, 48, 8]; coils = 4; samples = 64; readouts = 48; slices = 2;\n"
	  "parallel = \"slice_grappa\"; multiband: { factor = 2; }; } );",
	  "4: protocols.[0].parallel: slice_grappa is for slices: encoded z is 8" },
	{ JOINT("image: { maps = \"espirit\"; };"),
	  "4: protocols.[0].multiband.factor: sense_sms is for 2 slices at once or more" },
	{ JOINT("image: { maps = \"walsh\"; }; multiband: { factor = 3; };"),
	  "4: protocols.[0].multiband.factor: 4 slices are no groups of 3" },
	{ JOINT("image: { maps = \"espirit\"; }; multiband: { factor = 2; lambda = 0.1; };"),
	  "4: protocols.[0].multiband.lambda: has no effect without parallel slice_grappa" },
	{ JOINT("image: { maps = \"espirit\"; }; multiband: { factor = 2; split = true; };"),
	  "4: protocols.[0].multiband.split: has no effect without parallel slice_grappa" },
	{ JOINT("image: { maps = \"espirit\"; map_sets = 2; }; multiband: { factor = 2; };"),
	  "4: protocols.[0].image.map_sets: one set: not with parallel sense_sms" },
	{ JOINT("image: { maps = \"espirit\"; output = \"velocity\"; };"
		" multiband: { factor = 2; };"),
	  "4: protocols.[0].parallel: sense_sms: not with image.output velocity" },
	{ SPOKES("radial2d", "image: { maps = \"espirit\"; };"),
	  "4: protocols.[0].image.maps: of the scan: not with parallel sense_sms" },
	{ SPOKES("radial2d", "image: { maps = \"study\"; }; gridding: { density = \"ramp\"; };"),
	  "4: protocols.[0].gridding.density: weights: not with parallel sense_sms" },
	{ SPOKES("spiral2d", "image: { maps = \"study\"; }; ls: { basis = \"box\"; };"),
	  "4: protocols.[0].ls.basis: box: not with parallel sense_sms and method sense" },
	{ SPOKES("stream", "image: { maps = \"study\"; };"),
	  "3: protocols.[0].trajectory.type: stream: not with parallel sense_sms" },
	{ JOINT("image: { maps = \"espirit\"; }; multiband: { factor = 2; };"
		" solve: { prior = \"wavelet\"; lambda = 0.1; };"),
	  "4: protocols.[0].parallel: sense_sms: not with solve.prior, start or damp" },
	{ JOINT("image: { maps = \"study\"; }; multiband: { factor = 2; };"
		" solve: { start = \"last\"; };"),
	  "4: protocols.[0].parallel: sense_sms: not with solve.prior, start or damp" },
	{ SPOKES("radial2d", "image: { maps = \"study\"; }; solve: { prior = \"tv\";"
		 " lambda = 0.1; };"),
	  "4: protocols.[0].parallel: sense_sms: not with solve.prior, start or damp" },
};
/* clang-format on */

int main(void)
{
	const struct bs_multiband *m = &site.protocol[0].multiband;
	char plan[BS_PLAN_WORDS];

	open_folder();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK(load(&site, refused[i].text) == BS_ERR_CONFIG && faults == 1 &&
			      strstr(told, refused[i].want) != NULL,
		      "%s; told %s", refused[i].want, told);
	CHECK(load(&site, BANDS("4", "multiband: { factor = 2; };")) == 0 && m->kernel[0] == 5 &&
		      m->kernel[1] == 5 && m->lambda == 1e-4 && !m->split &&
		      m->references == BS_REFERENCES_AUTO && m->shift == 0.0,
	      "two slices at once: %s", told);
	CHECK(site.protocol[0].grappa_kernel[1] == 9 && site.protocol[0].plan.calibrates,
	      "lines that are left out are made, too");
	(void)bs_plan_words(plan, sizeof(plan), &site.protocol[0].plan);
	CHECK(strcmp(plan, "slice-GRAPPA, GRAPPA > lines > combine") == 0, "the plan: %s", plan);
	CHECK(load(&site, JOINT("image: { maps = \"walsh\"; }; multiband: { factor = 2; };")) == 0,
	      "two slices solved for together: %s", told);
	(void)bs_plan_words(plan, sizeof(plan), &site.protocol[0].plan);
	CHECK(strcmp(plan, "slices at once > lines > unfold by maps of the scan") == 0,
	      "the plan: %s", plan);
	CHECK(load(&site, SPOKES("spiral2d", "image: { maps = \"study\"; };")) == 0,
	      "two slices along a spiral: %s", told);
	(void)bs_plan_words(plan, sizeof(plan), &site.protocol[0].plan);
	CHECK(strcmp(plan, "slices at once > grid > cg by maps of the study") == 0, "the plan: %s",
	      plan);
	close_folder();
	return check_done();
}
