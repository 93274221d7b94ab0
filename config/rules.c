/* config/rules.c - see rules.h */
#include "config/rules.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/hint/place.h"
#include "config/rule.h"
#include "core/frame/kind.h"
#include "core/latency/budget.h"
#include "core/protocol.h"
#include "core/traj/traj.h"

static const char axes[] = "xyz";
static const char *const of_q[] = { "ls.fhd", "ls.q" };

static void derive_grappa(struct bs_protocol *p)
{
	const bool volume = p->encoded[2] > 1;
	uint32_t *kernel = p->grappa_kernel;

	if (kernel[0] == 0 && kernel[1] == 0 && kernel[2] == 0) {
		kernel[0] = 5;
		kernel[1] = volume ? 5 : 9;
		kernel[2] = volume ? 5 : 1;
	}
	if (p->grappa_sources == 0)
		p->grappa_sources = volume ? 8 : 2;
}

void bs_rules_derive(const struct bs_scope *s, struct bs_protocol *p)
{
	if (p->parallel == BS_PARALLEL_SENSE || p->parallel == BS_PARALLEL_SENSE_SLICES)
		p->method = bs_method_sense(p->method);
	else if (bs_methods[p->method].parallel && bs_methods[p->method].uses_maps)
		p->parallel = BS_PARALLEL_SENSE;
	if (p->dims == 0)
		p->dims = p->matrix[2] <= 1 ? 2 : 3;
	if (!given(s, "gridding.accuracy") && (p->width > 0.0 || p->oversampling > 0.0))
		p->accuracy = 0.0;
	if (!given(s, "gridding.density") &&
	    (bs_methods[p->method].weighs == BS_WEIGHS_WHEN_ASKED ||
	     bs_methods[p->method].on_grid || p->traj.type == BS_TRAJ_CARTESIAN))
		p->density = BS_DENSITY_NONE;
	if (p->whiten != BS_WHITEN_OFF)
		p->uses |= 1u << BS_KIND_NOISE;
	if (p->parallel != BS_PARALLEL_NONE)
		p->uses |= 1u << BS_KIND_CALIBRATION;
	if (p->parallel == BS_PARALLEL_GRAPPA || p->parallel == BS_PARALLEL_SLICES)
		derive_grappa(p);
	if (p->navigators != BS_NAVIGATE_OFF)
		p->uses |= 1u << BS_KIND_NAVIGATION;
	if (p->epi_correct)
		p->uses |= 1u << BS_KIND_PHASE_CORRECTION;
	if (!given(s, "image.combine")) {
		if (bs_methods[p->method].uses_maps)
			p->combine = BS_COMBINE_SENSE;
		else if (p->output == BS_OUTPUT_COMPLEX || p->output == BS_OUTPUT_PHASE)
			p->combine = BS_COMBINE_NONE;
		if (p->output == BS_OUTPUT_PHASE && p->combine == BS_COMBINE_NONE && p->coils > 1) {
			p->combine = BS_COMBINE_SENSE;
			if (!given(s, "image.maps") && !given(s, "image.maps_file"))
				p->maps = BS_MAPS_WALSH;
		}
	}
	if (p->by_header)
		p->readouts = p->readouts_max > 0 ? p->readouts_max : bs_protocol_lines(p);
	if (!given(s, "image.matrix"))
		memcpy(p->image_matrix, p->matrix, sizeof(p->image_matrix));
	bs_rules_derive_w(s, p);
	bs_plan_make(p);
	if (p->plan.maps == BS_PLAN_MAPS_SCAN && p->plan.on_grid)
		p->uses |= 1u << BS_KIND_CALIBRATION;
}

static bool readable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return false;
	}
	return access(path, R_OK) == 0;
}

/* Adds a fault: the file cannot be read, for the reason in errno. */
static void not_there(const struct bs_scope *s, const char *key, const char *path)
{
	const char *words = strerror(errno);
	char hint[BS_PLACE_HINT];

	fault(s, key, "%s: %s%s", path, words, bs_place_hint(path, hint));
}

/* Checks that the file exists; a .cfl (with or without its ending) needs its .hdr beside it. */
static void file_exists(const struct bs_scope *s, const char *key, const char *path, bool cfl)
{
	char name[BS_PATH_MAX_ + 8];
	size_t n = strlen(path);
	bool ending = n > 4 && strcmp(path + n - 4, ".cfl") == 0;

	if (!cfl) {
		if (!readable(path))
			not_there(s, key, path);
		return;
	}
	(void)snprintf(name, sizeof(name), "%s%s", path, ending ? "" : ".cfl");
	if (!readable(name))
		not_there(s, key, name);
	n = strlen(name) - 4;
	memcpy(name + n, ".hdr", 5);
	if (!readable(name))
		not_there(s, key, name);
}

/* Checks a file that must be given exactly where key `where` has the word `is`. */
static void file_where(const struct bs_scope *s, const char *key, const char *path, bool wanted,
		       const char *where, const char *is, bool cfl)
{
	if (!sound(s, key, NULL))
		return;
	if (wanted && path[0] == '\0')
		fault_near(s, key, where, "missing; %s %s needs it", where, is);
	else if (!wanted && path[0] != '\0')
		fault(s, key, "has no effect without %s %s", where, is);
	else if (wanted)
		file_exists(s, key, path, cfl);
}

static void rule_matrix(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (!sound(s, "matrix", "dims", NULL))
		return;
	if (p->dims == 1)
		fault(s, "dims", "1 is neither 2 nor 3");
	else if (p->dims == 2 && p->matrix[2] != 1)
		fault(s, "matrix", "z is %u: it must be 1 in 2D", p->matrix[2]);
}

static void rule_image_matrix(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (!given(s, "image.matrix") || !sound(s, "image.matrix", "matrix", "dims", NULL))
		return;
	for (uint32_t i = 0; i < 3; i++)
		if (p->image_matrix[i] == 0)
			fault(s, "image.matrix", "%c is 0: outside 1 .. %u voxels", axes[i],
			      BS_AXIS_MAX);
	if (p->dims == 2 && p->image_matrix[2] > 1)
		fault(s, "image.matrix", "z is %u: it must be 1 in 2D", p->image_matrix[2]);
	if (p->dims == 3 && p->matrix[2] > 1 && p->image_matrix[2] == 1)
		fault(s, "image.matrix", "z is 1, or missing: the matrix has %u in 3D",
		      p->matrix[2]);
}

/* Rules of images that are made while the scan runs. */
static void rule_frame(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];
	const bool known = sound(s, "method", NULL);

	if (sound(s, "frame.preview_every", NULL) && p->preview_every > 0) {
		if (p->preview_every > p->readouts)
			fault(s, "frame.preview_every", "%u is more than the frame's %u readouts",
			      p->preview_every, p->readouts);
		else if (known && !method->previews)
			fault(s, "frame.preview_every", "method %s has no previews",
			      bs_method_name(p->method));
		else if (p->frame_step > 0)
			fault(s, "frame.preview_every",
			      "a sliding window (frame.step) has no previews");
	}
	if (!sound(s, "frame.step", NULL) || p->frame_step == 0)
		return;
	if (sound(s, "averages", NULL) && p->averages > 1)
		fault(s, "averages", "a sliding window (frame.step) sums none");
	if (p->frame_step > p->readouts)
		fault(s, "frame.step", "%u is more than the frame's %u readouts", p->frame_step,
		      p->readouts);
	else if (known && !method->windows)
		fault(s, "frame.step", "method %s has no sliding window",
		      bs_method_name(p->method));
	else if (p->readouts % p->frame_step != 0)
		fault(s, "frame.step", "the frame's %u readouts are no multiple of %u", p->readouts,
		      p->frame_step);
	else if (sound(s, "gridding.chunk_readouts", NULL) && p->chunk_readouts > 0 &&
		 p->frame_step % p->chunk_readouts != 0)
		fault(s, "gridding.chunk_readouts", "frame.step, %u, is no multiple of %u",
		      p->frame_step, p->chunk_readouts);
}

static void rule_sizes(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (sound(s, "samples", "discard", NULL) && p->samples + p->discard > 65535u)
		fault(s, "discard",
		      "samples and discard are %u together: an acquisition holds 65535",
		      p->samples + p->discard);
	if (sound(s, "samples", "readouts", NULL) && bs_protocol_samples(p) > BS_FRAME_SAMPLES_MAX)
		fault(s, "readouts", "a frame of %llu samples is beyond the limit of %llu",
		      (unsigned long long)bs_protocol_samples(p),
		      (unsigned long long)BS_FRAME_SAMPLES_MAX);
	if (sound(s, "slices", "contrasts", NULL) && p->slices * p->contrasts > BS_FRAMES_MAX)
		fault(s, "slices", "%u slices x %u contrasts: at most %u frames may be open",
		      p->slices, p->contrasts, BS_FRAMES_MAX);
	else if (sound(s, "slices", "contrasts", "phases", "sets", "repetitions", NULL) &&
		 (uint64_t)p->phases * p->sets * p->repetitions * p->slices * p->contrasts >
			 BS_OPEN_MAX)
		fault(s, "phases",
		      "%u slices x %u contrasts x %u phases x %u sets x %u repetitions: at most "
		      "%u frames may be open",
		      p->slices, p->contrasts, p->phases, p->sets, p->repetitions, BS_OPEN_MAX);
	if (!sound(s, "readouts", "readouts_max", NULL))
		return;
	if (!p->by_header && p->readouts_max > 0)
		fault(s, "readouts_max", "has no effect without readouts \"header\"");
	if (p->by_header && !p->plan.on_grid &&
	    (p->traj.type != BS_TRAJ_FILE || p->readouts_max == 0))
		fault(s, "readouts",
		      "\"header\" needs a grid, or a trajectory's file and readouts_max");
	if (sound(s, "gridding.chunk_readouts", NULL) && p->chunk_readouts > p->readouts)
		fault(s, "gridding.chunk_readouts", "%u is more than the frame's %u readouts",
		      p->chunk_readouts, p->readouts);
	rule_frame(s, p);
}

static void rule_cartesian(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (!sound(s, "encoded", "matrix", NULL))
		return;
	for (uint32_t i = 0; p->encoded[0] > 0 && i < 3; i++)
		if (p->encoded[i] < p->matrix[i])
			fault(s, "encoded", "%c is %u: less than the matrix's %u", axes[i],
			      p->encoded[i], p->matrix[i]);
	if (p->traj.type != BS_TRAJ_CARTESIAN)
		return;
	if (p->encoded[0] == 0) {
		fault_near(s, "encoded", "method", "missing; a cartesian trajectory needs it");
		return;
	}
	if (p->matrix[2] == 1 && p->encoded[2] > 1)
		fault(s, "encoded", "z is %u: it must be 1 in 2D", p->encoded[2]);
	if (sound(s, "samples", NULL) && p->samples > p->encoded[0])
		fault(s, "samples", "%u is more than encoded x, %u", p->samples, p->encoded[0]);
	if (sound(s, "readouts", NULL) && p->readouts > bs_protocol_lines(p))
		fault(s, "readouts", "%u is more than the %u x %u lines of encoded", p->readouts,
		      p->encoded[1], p->encoded[2]);
}

static void rule_traj(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;
	const struct bs_traj_spec *t = &p->traj;
	const char *type = bs_key_find(s->scope, "trajectory.type")->words[t->type];
	const uint32_t dims = bs_traj_dims(t->type);
	bool winds = t->type == BS_TRAJ_SPIRAL2D || t->type == BS_TRAJ_STACK;

	if (!sound(s, "trajectory.type", "method", NULL))
		return;
	if (!given(s, "trajectory.type") && plan->encode != BS_ENCODE_LINES) {
		fault_near(s, "trajectory.type", "method", "missing");
		return;
	}
	if (plan->encode == BS_ENCODE_LINES && t->type != BS_TRAJ_CARTESIAN)
		fault(s, "trajectory.type", "method %s needs a cartesian trajectory, not %s",
		      bs_method_name(p->method), type);
	if (dims != 0 && sound(s, "dims", "matrix", NULL) && p->dims >= 2 && dims != p->dims)
		fault(s, "trajectory.type", "%s has %u dimensions, the protocol %u", type, dims,
		      p->dims);
	file_where(s, "trajectory.file", t->file, t->type == BS_TRAJ_FILE, "trajectory.type",
		   "file",
		   strlen(t->file) < 3 || strcmp(t->file + strlen(t->file) - 3, ".h5") != 0);
	if (sound(s, "trajectory.interleaves", NULL) && t->interleaves != 0) {
		if (!winds)
			fault(s, "trajectory.interleaves",
			      "has no effect without trajectory.type spiral2d or stack");
		else if (sound(s, "readouts", NULL) && p->readouts % t->interleaves != 0)
			fault(s, "trajectory.interleaves", "%u readouts are no multiple of %u",
			      p->readouts, t->interleaves);
	}
	if (bs_traj_delayed(t) && plan->encode == BS_ENCODE_LINES &&
	    sound(s, "trajectory.delay", "trajectory.delay_cross", NULL))
		fault_near(s, "trajectory.delay", "trajectory.delay_cross",
			   "has no effect with method %s: its samples lie on the grid",
			   bs_method_name(p->method));
	if (t->third_ignored && sound(s, "dims", "matrix", NULL) && p->dims != 2)
		fault(s, "trajectory.third_ignored", "is for 2D only");
	for (uint32_t i = 0; t->unit >= BS_UNIT_RAD_PER_M && i < p->dims; i++)
		if (sound(s, "fov_mm", "matrix", "trajectory.unit", NULL) && p->fov_mm[i] <= 0.0f) {
			fault_near(s, "fov_mm", "trajectory.unit",
				   "%c is missing; trajectory.unit %s needs it", axes[i],
				   bs_traj_units[t->unit]);
			break;
		}
	rule_cartesian(s, p);
}

/* Rules of off resonance: time segments replace Q and the exact sum. */
static void rule_field(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;
	const struct bs_method_traits *method = &bs_methods[p->method];
	const bool study = p->field.from == BS_FIELD_STUDY;
	const char *key = study ? "field.from" : "field.map_file";

	if (!sound(s, "field.map_file", "field.from", "method", NULL))
		return;
	bs_rules_field(s, p);
	if (!plan->off_resonance || bs_plan_has(plan, BS_PLAN_ECHOES))
		return;
	if (method->empty) {
		fault(s, key, "has no effect with method %s", bs_method_name(p->method));
		return;
	}
	if (!study)
		file_exists(s, "field.map_file", p->field.map_file, true);
	if (method->on_grid)
		return;
	if (sound(s, "field.dwell_us", NULL) && p->field.dwell_us == 0.0)
		fault_near(s, "field.dwell_us", key, "missing; %s needs it", key);
	for (size_t i = 0; i < 2 && method->solves; i++)
		if (sound(s, of_q[i], NULL) && (i == 0 ? p->fhd : p->q) == BS_SUM_EXACT)
			fault(s, of_q[i], "exact: %s is for the NUFFT alone", key);
	if (sound(s, "ls.basis", NULL) && p->basis == BS_BASIS_BOX)
		fault(s, "ls.basis", "box: not with %s", key);
	if (sound(s, "ls.preconditioner", NULL) && p->precond == BS_PRECOND_CIRCULANT)
		fault(s, "ls.preconditioner", "circulant is made from Q: not with %s", key);
}

static void rule_gridding(const struct bs_scope *s, const struct bs_protocol *p)
{
	bool pair = p->width > 0.0 || p->oversampling > 0.0;

	if (sound(s, "gridding.accuracy", "gridding.width", "gridding.oversampling", NULL)) {
		if (p->accuracy > 0.0 && pair)
			fault(s, p->width > 0.0 ? "gridding.width" : "gridding.oversampling",
			      "either accuracy, or width and oversampling: not both");
		else if (p->accuracy > 0.0 && p->accuracy < 1e-6)
			fault(s, "gridding.accuracy",
			      "%g is out of reach in single precision: 1e-06 to 0.1", p->accuracy);
		else if (p->accuracy == 0.0 && p->width < 2.0)
			fault_near(s, "gridding.width", "gridding.oversampling",
				   "%g is outside 2 .. 16 cells (without accuracy)", p->width);
		if (p->accuracy == 0.0 && p->oversampling < 1.25)
			fault_near(s, "gridding.oversampling", "gridding.width",
				   "%g is outside 1.25 .. 2 (without accuracy)", p->oversampling);
	}
	if (!sound(s, "gridding.density", NULL))
		return;
	if (p->density == BS_DENSITY_RAMP && sound(s, "trajectory.type", "method", NULL) &&
	    given(s, "gridding.density") && p->plan.on_grid)
		fault(s, "gridding.density", "ramp: the lines of a grid are no spokes: none");
	file_where(s, "gridding.density_file", p->density_file, p->density == BS_DENSITY_FILE,
		   "gridding.density", "file", true);
}

static void rule_maps(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	if (!sound(s, "image.maps", NULL))
		return;
	if (p->maps != BS_MAPS_FILE && bs_protocol_map_sets(p) == 0)
		fault(s, "image.maps", "has no effect without image.combine sense");
	if (plan->maps == BS_PLAN_MAPS_STUDY && p->virtual_coils > 0)
		fault(s, "image.maps",
		      "study: virtual coils are others in each scan: not with virtual_coils");
	if (sound(s, "image.map_sets", NULL) && p->map_images > 1) {
		if (bs_protocol_map_sets(p) == 0)
			fault(s, "image.map_sets", "has no effect without image.combine sense");
		else if (p->maps == BS_MAPS_WALSH)
			fault(s, "image.map_sets", "2: image.maps walsh makes one");
		if (sound(s, "backend", NULL) && p->backend == BS_BACKEND_CUDA)
			fault(s, "backend", "image.map_sets 2 has no CUDA engine: host, or auto");
		if (sound(s, "ls.preconditioner", NULL) && p->precond != BS_PRECOND_NONE)
			fault(s, "ls.preconditioner", "not with image.map_sets 2");
		if (sound(s, "field.map_file", NULL) && plan->off_resonance)
			fault(s, "field.map_file", "not with image.map_sets 2");
		if (p->coils < 2)
			fault(s, "image.map_sets", "2: of one coil");
	}
	if (sound(s, "image.maps_every", "frame.step", NULL) && p->maps_every > 0 &&
	    (p->frame_step == 0 || plan->maps != BS_PLAN_MAPS_SCAN))
		fault(s, "image.maps_every",
		      "has no effect without frame.step and image.maps espirit or walsh");
	if (sound(s, "walsh.block", NULL) && p->walsh_block % 2 == 0)
		fault(s, "walsh.block", "%u is even", p->walsh_block);
}

static void rule_image(const struct bs_scope *s, const struct bs_protocol *p)
{
	const bool combines = p->combine == BS_COMBINE_SENSE;
	const bool maps = p->plan.joint;

	if (!sound(s, "image.combine", "image.output", "method", NULL))
		return;
	if (maps && !combines)
		fault(s, "image.combine", "method %s combines by sensitivities: sense",
		      bs_method_name(p->method));
	if (p->maps == BS_MAPS_FILE)
		file_where(s, "image.maps_file", p->maps_file, combines || maps,
			   maps ? "method" : "image.combine",
			   maps ? bs_method_name(p->method) : "sense", true);
	else
		file_where(s, "image.maps_file", p->maps_file, false, "image.maps", "file", true);
	rule_maps(s, p);
	bs_rules_output(s, p);
}

/* Rules of coils. Engines see whitened, virtual coils; a file's maps are of the original ones. */
static void rule_coils(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (!sound(s, "coils", "virtual_coils", NULL))
		return;
	if (p->virtual_coils > p->coils)
		fault(s, "virtual_coils", "%u of %u coils: there are not so many", p->virtual_coils,
		      p->coils);
	if (p->compression == BS_COMPRESSION_GEOMETRIC && sound(s, "compression", NULL)) {
		if (p->virtual_coils == 0)
			fault(s, "compression", "has no effect without virtual_coils");
		else if (sound(s, "method", "samples", "encoded", NULL) &&
			 (p->plan.encode != BS_ENCODE_LINES || p->samples != p->encoded[0]))
			fault(s, "compression",
			      "geometric needs method cartesian and samples as encoded x");
	}
	if (!sound(s, "noise.whiten", "image.maps_file", NULL) || p->maps_file[0] == '\0' ||
	    !p->plan.prepares)
		return;
	fault(s, "image.maps_file", "holds the coils as they are: not with %s",
	      p->virtual_coils > 0 ? "virtual_coils" : "noise.whiten");
}

/* Rules of lines that an accelerated scan leaves out. */
static void rule_parallel(const struct bs_scope *s, const struct bs_protocol *p)
{
	const uint32_t *kernel = p->grappa_kernel;
	const bool fills = bs_plan_has(&p->plan, BS_PLAN_FILL);

	if (!sound(s, "method", "parallel", NULL))
		return;
	if (p->plan.accelerated && p->plan.encode != BS_ENCODE_LINES && !bs_plan_groups(&p->plan))
		fault(s, "parallel", "method %s has no lines that are left out",
		      bs_method_name(p->method));
	if (!fills && (kernel[0] | kernel[1] | kernel[2]) != 0)
		fault(s, "grappa.kernel", "has no effect without parallel grappa");
	if (!fills && p->grappa_sources != 0)
		fault(s, "grappa.sources", "has no effect without parallel grappa");
	if (!fills && p->grappa_lacking != BS_LACKING_REFUSE)
		fault(s, "grappa.lacking", "has no effect without parallel grappa");
	if (!fills || !sound(s, "grappa.kernel", "encoded", NULL))
		return;
	for (int a = 0; a < 3; a++)
		if (kernel[a] % 2 != 1)
			fault(s, "grappa.kernel", "%c is %u: an odd number is wanted", axes[a],
			      kernel[a]);
	if (kernel[0] > 7 || kernel[1] * kernel[2] < 3 || kernel[1] * kernel[2] > 63)
		fault(s, "grappa.kernel",
		      "%u x %u x %u: at most 7 samples along x, 3 to 63 lines y x z", kernel[0],
		      kernel[1], kernel[2]);
	if (kernel[2] > 1 && p->encoded[2] <= 1)
		fault(s, "grappa.kernel", "z is %u: it must be 1 in 2D", kernel[2]);
}

static void rule_echoes(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (sound(s, "method", "epi.correct", NULL) && p->epi_correct &&
	    p->plan.encode != BS_ENCODE_LINES)
		fault(s, "epi.correct", "method %s has no lines that run backwards",
		      bs_method_name(p->method));
	if (!sound(s, "method", "trajectory.type", "epi.correct", "reversed_center", NULL) ||
	    p->reversed_center == BS_REVERSED_AUTO)
		return;
	if (!p->plan.on_grid)
		fault(s, "reversed_center", "has no effect along trajectories");
	else if (p->epi_correct)
		fault(s, "reversed_center",
		      "has no effect with epi.correct: phase-correction lines tell");
}

static void rule_solver(const struct bs_scope *s, const struct bs_protocol *p)
{
	const bool solves = p->plan.solve != BS_SOLVE_NONE;

	if (!sound(s, "method", NULL))
		return;
	bs_rules_w(s, p);
	if (solves && p->w_file[0] != '\0' && sound(s, "ls.w_file", NULL))
		file_exists(s, "ls.w_file", p->w_file, false);
	if (p->basis == BS_BASIS_BOX && sound(s, "ls.basis", NULL) && !solves)
		bs_rule_fault_solves(s, "ls.basis");
}

/* Rules of keys about all that a scan on the grid leaves out. */
static void rule_left_out(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	if (!sound(s, "method", NULL))
		return;
	if (sound(s, "partial_fourier", NULL) && p->partial_fourier != BS_PARTIAL_FOURIER_NONE &&
	    !method->partial)
		fault(s, "partial_fourier", "has no effect with method %s",
		      bs_method_name(p->method));
	for (size_t i = 0; i < 2 && !method->uses_q; i++)
		if (sound(s, of_q[i], NULL) && (i == 0 ? p->fhd : p->q) == BS_SUM_EXACT)
			fault(s, of_q[i], "has no effect with method %s",
			      bs_method_name(p->method));
	if (!method->solves || method->uses_q)
		return;
	if (sound(s, "ls.basis", NULL) && p->basis != BS_BASIS_DELTA)
		fault(s, "ls.basis", "has no effect with method %s", bs_method_name(p->method));
	if (sound(s, "ls.preconditioner", NULL) && p->precond != BS_PRECOND_NONE)
		fault(s, "ls.preconditioner", "has no effect with method %s",
		      bs_method_name(p->method));
}

static void rule_budget(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;
	char path[40];

	if (sound(s, "budget.image_ms", "budget.on_miss", NULL) && p->on_miss != BS_MISS_FLAG &&
	    p->image_ms == 0.0)
		fault(s, "budget.on_miss", "has no effect without budget.image_ms");
	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		(void)snprintf(path, sizeof(path), "budget.%s_ms",
			       bs_budget_stage_name((enum bs_budget_stage)i));
		if (!sound(s, path, "budget.image_ms", "method", "backend", NULL) ||
		    p->stage_ms[i] == 0.0)
			continue;
		if (i == BS_BUDGET_CALIBRATION && !plan->waits)
			fault(s, path, "has no effect: nothing is calibrated from the scan");
		if (i != BS_BUDGET_CALIBRATION && p->image_ms > 0.0 && p->stage_ms[i] > p->image_ms)
			fault(s, path, "%g is more than the whole image's %g", p->stage_ms[i],
			      p->image_ms);
		if (i == BS_BUDGET_SOLVE && plan->solve == BS_SOLVE_NONE)
			bs_rule_fault_solves(s, path);
		if ((i == BS_BUDGET_UPLOAD || i == BS_BUDGET_DOWNLOAD) &&
		    p->backend == BS_BACKEND_HOST)
			fault(s, path, "has no effect with backend host");
	}
}

void bs_rules_protocol(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (sound(s, "name", NULL) && (strchr(p->name, '/') != NULL || p->name[0] == '.'))
		fault(s, "name", "\"%s\": no '/' and no leading '.' (files are named after it)",
		      p->name);
	rule_matrix(s, p);
	rule_image_matrix(s, p);
	rule_sizes(s, p);
	rule_traj(s, p);
	bs_rules_stream(s, p);
	rule_field(s, p);
	rule_gridding(s, p);
	rule_image(s, p);
	rule_coils(s, p);
	rule_parallel(s, p);
	rule_echoes(s, p);
	rule_solver(s, p);
	rule_left_out(s, p);
	rule_budget(s, p);
}
