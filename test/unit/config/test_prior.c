/* test/unit/config/test_prior.c - what keys solve.* refuse, each with its line, and their plan */
#define _GNU_SOURCE /* mkdtemp */
#include "test/support/site_file.h"

#define SOLVES(more)                                                                               \
	"protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64];\n"                     \
	"coils = 4; samples = 64; readouts = 60; backend = \"host\";\n"                            \
	"trajectory: { type = \"radial2d\"; }; " more " } );"

/* clang-format off */
static const struct {
	const char *text, *want;
} refused[] = {
	{ PROTOCOL("solve: { prior = \"tv\"; lambda = 0.1; };"),
	  "4: protocols.[0].solve.prior: has no effect without a solver" },
	{ PROTOCOL("solve: { start = \"last\"; };"),
	  "4: protocols.[0].solve.start: has no effect without a solver" },
	{ PROTOCOL("solve: { damp = 1.0; };"),
	  "4: protocols.[0].solve.damp: has no effect without a solver" },
	{ SOLVES("solve: { lambda = 0.1; };"),
	  "4: protocols.[0].solve.lambda: has no effect without solve.prior" },
	{ SOLVES("solve: { lambda_noise = 0.8; };"),
	  "4: protocols.[0].solve.lambda_noise: has no effect without solve.prior" },
	{ SOLVES("solve: { prior = \"wavelet\"; };"),
	  "4: protocols.[0].solve.lambda: either solve.lambda or solve.lambda_noise is above 0" },
	{ SOLVES("solve: { prior = \"wavelet\"; lambda = 0.1; lambda_noise = 0.8; };"),
	  "4: protocols.[0].solve.lambda_noise: either solve.lambda or solve.lambda_noise" },
	{ SOLVES("solve: { prior = \"wavelet\"; lambda_noise = 0.8; };"),
	  "4: protocols.[0].solve.lambda_noise: needs noise.whiten require" },
	{ SOLVES("solve: { prior = \"wavelet\"; lambda_noise = 0.8; }; noise: { whiten = "
		 "\"require\"; }; gridding: { density = \"ramp\"; };"),
	  "4: protocols.[0].solve.lambda_noise: is for samples without weights" },
	{ SOLVES("solve: { prior = \"curvelet\"; lambda = 0.1; };"),
	  "4: protocols.[0].solve.prior: " },
	{ SOLVES("solve: { prior = \"low_rank\"; lambda = 0.1; };"),
	  "4: protocols.[0].solve.prior: goes along the frames of a sliding window: needs" },
	{ SOLVES("solve: { prior = \"low_rank\"; lambda = 0.1; block = 33; };"
		 " frame: { step = 6; };"),
	  "4: protocols.[0].solve.block: " },
	{ "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64]; coils = 4;\n"
	  "samples = 64; readouts = 60; frame: { step = 6; }; trajectory: { type = \"stream\"; };\n"
	  "solve: { prior = \"tv_frames\"; lambda = 0.1; }; } );",
	  "4: protocols.[0].solve.prior: not along frames whose paths come with the stream" },
	{ SOLVES("solve: { prior = \"tv_frames\"; lambda = 0.1; damp = 1.0; };"
		 " frame: { step = 6; };"),
	  "4: protocols.[0].solve.damp: not along frames" },
	{ SOLVES("solve: { prior = \"w\"; lambda = 0.1; };"),
	  "4: protocols.[0].solve.prior: w: needs ls.w_file" },
	{ SOLVES("solve: { prior = \"tv\"; lambda = 0.1; }; ls: { preconditioner = \"jacobi\"; };"),
	  "4: protocols.[0].ls.preconditioner: not with solve.prior" },
	{ "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64]; coils = 4;\n"
	  "samples = 64; readouts = 60; trajectory: { type = \"radial2d\"; };\n"
	  "backend = \"cuda\"; solve: { start = \"last\"; }; } );",
	  "4: protocols.[0].backend: solve.start or damp without a prior has no CUDA engine" },
	{ "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64]; coils = 4;\n"
	  "samples = 64; readouts = 60; trajectory: { type = \"stream\"; };\n"
	  "backend = \"cuda\"; solve: { prior = \"tv\"; lambda = 0.1; }; } );",
	  "4: protocols.[0].backend: solve.prior with a stream's paths, a field map" },
	{ "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64]; coils = 4;\n"
	  "samples = 64; readouts = 60; trajectory: { type = \"radial2d\"; };\n"
	  "frame: { step = 1; };\n"
	  "backend = \"cuda\"; solve: { prior = \"low_rank\"; lambda = 0.1; }; } );",
	  "5: protocols.[0].backend: solve.prior along frames in 3D, or low_rank of more than 48" },
};
static const struct {
	const char *text, *plan;
} taken[] = {
	{ SOLVES("solve: { start = \"last\"; }; budget: { image_ms = 9.0; on_miss = \"shed\"; };"),
	  "grid > prox > combine" },
	{ SOLVES("solve: { prior = \"wavelet\"; lambda = 0.1; };"), "grid > prox > combine" },
	{ SOLVES("solve: { prior = \"low_rank\"; lambda = 0.1; }; frame: { step = 6; };"),
	  "grid > prox > combine" },
	{ "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64]; coils = 4;\n"
	  "samples = 64; readouts = 60; trajectory: { type = \"radial2d\"; }; backend = \"cuda\";\n"
	  "frame: { step = 6; }; solve: { prior = \"low_rank\"; lambda = 0.1; }; } );",
	  "grid > prox > combine" },
	{ SOLVES("solve: { start = \"last\"; damp = 1.0; };"), "grid > prox > combine" },
	{ SOLVES("solve: { block = 4; shifts = false; };"), "grid > cg > combine" },
};
/* clang-format on */

int main(void)
{
	char plan[BS_PLAN_WORDS];

	open_folder();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK(load(&site, refused[i].text) == BS_ERR_CONFIG && faults == 1 &&
			      strstr(told, refused[i].want) != NULL,
		      "%s; told %s", refused[i].want, told);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		CHECK(load(&site, taken[i].text) == 0, "%s: %s", taken[i].plan, told);
		(void)bs_plan_words(plan, sizeof(plan), &site.protocol[0].plan);
		CHECK(strcmp(plan, taken[i].plan) == 0, "the plan: %s", plan);
	}
	close_folder();
	return check_done();
}
