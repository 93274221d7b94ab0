/* test/unit/config/test_defaults.c - what a site file leaves out, and what it says instead */
#define _GNU_SOURCE /* mkdtemp */
#include "core/frame/kind.h"
#include "test/support/site_file.h"

#define GRAPPA(more)                                                                               \
	"protocols = (\n{ name = \"p\"; method = \"cartesian\"; parallel = \"grappa\";\n"          \
	"matrix = [64, 48]; encoded = [64, 48, 1]; coils = 2; samples = 64; readouts = 24;\n"      \
	"grappa: { " more " }; } );\n"

static void defaults(void)
{
	const struct bs_protocol *p = &site.protocol[0];

	CHECK(load(&site, PROTOCOL("")) == 0, "the smallest protocol is valid: %s", told);
	CHECK(strcmp(site.run_dir, "/run/boreside") == 0 &&
		      strcmp(site.cache_dir, "/var/cache/boreside") == 0 &&
		      strcmp(site.kspace_url, "ipc:///run/boreside/kspace.ipc") == 0 &&
		      strcmp(site.board, "host") == 0,
	      "folders and endpoints");
	CHECK(site.heartbeat_ms == 500.0 && site.stall_ms == 2000.0 && site.threads >= 1 &&
		      site.acq_slots == 512 && site.sinks == 0 && site.protocols == 1,
	      "the node");
	CHECK(p->dims == 2 && p->matrix[0] == 64 && p->matrix[1] == 48 && p->matrix[2] == 1,
	      "two matrix sizes are 2D");
	CHECK(site.gpu_devices.count == 1 && site.gpu_devices.device[0] == 0, "the first GPU");
	CHECK(p->gpu_devices.count == 1, "of the protocol, too");
	CHECK(p->accuracy == 1e-4 && p->width == 0.0 && p->density == BS_DENSITY_RAMP &&
		      p->combine == BS_COMBINE_RSS && p->output == BS_OUTPUT_MAGNITUDE &&
		      p->backend == BS_BACKEND_AUTO && p->slices == 1 && p->contrasts == 1,
	      "accuracy 1e-4, ramp, root-sum-of-squares, magnitude, auto");
	CHECK(load(&site, "protocols = ( { name = \"p\"; method = \"ls\"; matrix = [32, 32, 4];\n"
			  "coils = 1; samples = 8; readouts = 8;\n"
			  "trajectory: { type = \"radial3d\"; }; },\n"
			  "{ name = \"q\"; method = \"cartesian\"; matrix = [1, 5, 1];\n"
			  "coils = 1; samples = 8; readouts = 5; encoded = [8, 5]; } );") == 0 &&
		      p->dims == 3 && site.protocol[1].dims == 2,
	      "a slab of four partitions, and a column: %s", told);
	CHECK(load(&site,
		   "protocols = ( { name = \"p\"; method = \"gridding\"; matrix = [64, 48];\n"
		   "coils = 1; samples = 128; readouts = 48; encoded = [128, 48];\n"
		   "trajectory: { type = \"cartesian\"; }; } );") == 0 &&
		      p->density == BS_DENSITY_NONE,
	      "a grid needs no density compensation: %s", told);
	CHECK(load(&site,
		   "protocols = ( { name = \"p\"; method = \"cartesian\"; matrix = [64, 48];\n"
		   "coils = 1; samples = 128; readouts = \"header\"; encoded = [128, 48];\n"
		   "} );") == 0 &&
		      p->by_header == 1 && p->readouts == 48 && p->readouts_max == 0,
	      "readouts as the header says, at most all lines: %s", told);
	CHECK(load(&site, PROTOCOL("image: { output = \"phase\"; };")) == 0 &&
		      p->combine == BS_COMBINE_SENSE && p->maps == BS_MAPS_WALSH &&
		      load(&site, PROTOCOL("image: { output = \"complex\"; };")) == 0 &&
		      p->combine == BS_COMBINE_NONE && p->maps == BS_MAPS_FILE,
	      "a phase is that of the coils together: %s", told);
	CHECK(load(&site, PROTOCOL("")) == 0 && bs_config_choose(&site, "p", NULL, NULL) == p &&
		      bs_config_choose(&site, "q", NULL, NULL) == NULL,
	      "found by name");
	CHECK(strcmp(bs_method_name(BS_METHOD_CARTESIAN), "cartesian") == 0 &&
		      strcmp(bs_method_name((enum bs_method)99), "?") == 0,
	      "method names");
}

static void given(void)
{
	const struct bs_protocol *p = &site.protocol[0];
	char want[BS_PATH_MAX_];

	CHECK(load(&site, PROTOCOL("image: { output = \"complex\"; };")) == 0 &&
		      p->combine == BS_COMBINE_NONE,
	      "complex output keeps the coils apart");
	CHECK(p->image_matrix[0] == 64 && p->image_matrix[1] == 48 && p->image_matrix[2] == 1,
	      "the image leaves on the matrix");
	CHECK(load(&site, PROTOCOL("image: { matrix = [512, 1]; };")) == 0 &&
		      p->image_matrix[0] == 512 && p->image_matrix[1] == 1 &&
		      p->image_matrix[2] == 1 && bs_protocol_image_bytes(p) == 4 * 512,
	      "or on its own: %s", told);
	CHECK(load(&site, GRAPPA("sources = 5;")) == 0 && bs_kind_used(p, BS_KIND_CALIBRATION) &&
		      p->grappa_kernel[0] == 5 && p->grappa_kernel[1] == 9 &&
		      p->grappa_kernel[2] == 1 && p->grappa_sources == 5,
	      "grappa takes calibration lines, and a kernel of 5 x 9 in 2D: %s", told);
	CHECK(load(&site, PROTOCOL("gridding: { width = 6; oversampling = 1.5; };")) == 0 &&
		      p->accuracy == 0.0 && p->width == 6.0,
	      "width and oversampling put accuracy aside; 6 is taken for 6.0");
	CHECK(load(&site, "gpu: { devices = [3, 1]; };\n" PROTOCOL("")) == 0 &&
		      p->gpu_devices.count == 2 && p->gpu_devices.device[0] == 3 &&
		      p->gpu_devices.device[1] == 1,
	      "two GPUs, in the order of the file");
	CHECK(p->gpu_share == BS_GPU_SHARE_AUTO, "shared out where that is not slower");
	CHECK(load(&site, "gpu: { devices = [3, 1]; share = \"always\"; };\n" PROTOCOL("")) == 0 &&
		      p->gpu_share == BS_GPU_SHARE_ALWAYS,
	      "or always: %s", told);
	CHECK(load(&site, NODE("board = \"jetson\"; acq_slots = 300;")) == 0 &&
		      site.acq_slots == 300 && site.image_slots == 4 && site.memory_mib == 3072,
	      "a board's defaults, and a key that overrides one");
	CHECK(load(&site, NODE("run_dir = \"a/./../b//c/\"; cache_dir = \"\";")) == 0 &&
		      site.cache_dir[0] == '\0',
	      "a relative path");
	(void)snprintf(want, sizeof(want), "%s/b/c", dir);
	CHECK(strcmp(site.run_dir, want) == 0, "%s is %s", site.run_dir, want);
	(void)snprintf(want, sizeof(want), "ipc://%s/b/c/status.ipc", dir);
	CHECK(strcmp(site.status_url, want) == 0, "%s", site.status_url);
	CHECK(load(&site, PROTOCOL("") "endpoints: { kspace = \"tcp://127.0.0.1:5555\"; "
				       "status = \"tcp://[::1]:5556\"; archive = \"\"; };") == 0 &&
		      site.archive_url[0] == '\0',
	      "loopback tcp; an endpoint that is off");
}

int main(void)
{
	open_folder();
	defaults();
	given();
	close_folder();
	return check_done();
}
