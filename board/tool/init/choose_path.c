/* board/tool/init/choose_path.c - see choose.h: readouts that carry their trajectory */
#include "board/tool/init/choose.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "core/traj/traj.h"

/* largest bend of a straight path, in parts of its reach (rounding of stored values) */
#define STRAIGHT 1e-3
#define EXTENT   0.25 /* default of trajectory.min_extent */

static const char axes[] = "xyz";

/* Returns cycles per voxel of one file unit along an axis; 0: the header lacks what that needs. */
static double scale(const struct bs_survey *s, enum bs_traj_unit unit, int a)
{
	const double n = s->info.encoded[a];

	switch (unit) {
	case BS_UNIT_CYCLES_PER_VOXEL:
		return 1.0;
	case BS_UNIT_CYCLES_PER_FOV:
		return 1.0 / n;
	case BS_UNIT_RAD_PER_VOXEL:
		return 0.5 / M_PI;
	case BS_UNIT_RAD_PER_M:
		return (double)s->info.encoded_fov_mm[a] * 1e-3 / n * 0.5 / M_PI;
	case BS_UNIT_CYCLES_PER_M:
		return (double)s->info.encoded_fov_mm[a] * 1e-3 / n;
	}
	return 0.0;
}

/* Finds the largest reach of all axes, and the smallest of those with more than one voxel. */
static void reaches(const struct bs_survey *s, enum bs_traj_unit unit, double *largest,
		    double *smallest)
{
	*largest = 0.0;
	*smallest = HUGE_VAL;
	for (int a = 0; a < 3; a++) {
		const double r = s->reach[a] * scale(s, unit, a);

		if (s->info.encoded[a] == 1)
			continue;
		*largest = r > *largest ? r : *largest;
		*smallest = r < *smallest ? r : *smallest;
	}
}

/* Guesses the unit: the one in which paths come nearest to filling k-space. *reach:
 * cycles per voxel in it. */
static void guess_unit(const struct bs_survey *s, enum bs_traj_unit *unit, double *reach)
{
	double best = HUGE_VAL;

	*reach = 0.0;
	for (int i = 0; bs_traj_units[i] != NULL; i++) {
		double largest;
		double smallest;
		double off;

		reaches(s, (enum bs_traj_unit)i, &largest, &smallest);
		off = largest > 0.0 ? fabs(log(largest / 0.5)) : HUGE_VAL;
		if (off >= best)
			continue;
		best = off;
		*unit = (enum bs_traj_unit)i;
		*reach = largest;
	}
}

static int find_unit(const struct bs_choice *c, enum bs_traj_unit *unit, struct bs_fail *why)
{
	const struct bs_survey *s = c->survey;
	const char *said = s->info.trajectory_unit;
	double reach;

	for (int i = 0; bs_traj_units[i] != NULL; i++)
		if (strcmp(said, bs_traj_units[i]) == 0) {
			*unit = (enum bs_traj_unit)i;
			return 0;
		}
	if (said[0] != '\0')
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "trajectory_units of the header is '%s': cycles/voxel, cycles/fov, "
			       "rad/voxel, rad/m or 1/m",
			       said);
	guess_unit(s, unit, &reach);
	if (!(reach > 0.0 && reach <= 0.5 + 1e-6))
		return bs_fail(
			why, BS_ERR_UNSUPPORTED,
			"the header does not say the trajectory's unit; %s fits best, and in "
			"that it reaches %.9g cycles/voxel, where k-space of the header's "
			"matrix ends at 0.5",
			bs_traj_units[*unit], reach);
	bs_outline_say(c->out,
		       "the header does not say the trajectory's unit; it is assumed to be %s, in "
		       "which it reaches %.3g cycles/voxel. If the image has the wrong scale, that "
		       "is why",
		       bs_traj_units[*unit], reach);
	return 0;
}

/* Returns voxels of reconSpace's field of view, because a smaller matrix may mean larger voxels. */
static uint32_t kept(const struct bs_survey *s, int a)
{
	return s->info.fov_mm[a] > 0.0f && s->info.encoded_fov_mm[a] > 0.0f
		       ? bs_choose_kept(s, a, 1)
		       : s->info.encoded[a];
}

static int put_sizes(const struct bs_choice *c, struct bs_fail *why)
{
	const struct bs_survey *s = c->survey;
	const uint32_t *encoded = s->info.encoded;
	const uint32_t n[3] = { kept(s, 0), kept(s, 1), kept(s, 2) };
	char text[64];

	for (int a = 0; a < 3; a++)
		if (n[a] > BS_AXIS_MAX)
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "an image of %u voxels along %c: at most %u", n[a], axes[a],
				       BS_AXIS_MAX);
	(void)snprintf(text, sizeof(text), "[%u, %u, %u]", n[0], n[1], n[2]);
	bs_outline_put(c->out, "method", "\"gridding\"",
		       "samples that lie on no grid: weighted for their density, gridded, FFT");
	bs_outline_put(c->out, "matrix", text,
		       "voxels of encodedSpace, as many as reconSpace's field of view has");
	if (memcmp(n, encoded, sizeof(n)) != 0) {
		(void)snprintf(text, sizeof(text), "[%u, %u, %u]", encoded[0], encoded[1],
			       encoded[2]);
		bs_outline_put(c->out, "encoded", text,
			       "encodedSpace, of which the matrix is the middle");
	}
	bs_choose_image(c, n);
	(void)snprintf(text, sizeof(text), "%u", s->channels.max);
	bs_outline_put(c->out, "coils", text, NULL);
	(void)snprintf(text, sizeof(text), "%u", s->samples.max);
	bs_outline_put(c->out, "samples", text, "of a readout, discarded ones not counted");
	return 0;
}

/* Puts the unit; rad/m and 1/m need the matrix's field of view in the site file. */
static void put_unit(const struct bs_choice *c, enum bs_traj_unit unit)
{
	const struct bs_scan_info *info = &c->survey->info;
	double mm[3];
	char text[96];

	if (unit == BS_UNIT_CYCLES_PER_VOXEL)
		return;
	(void)snprintf(text, sizeof(text), "\"%s\"", bs_traj_units[unit]);
	bs_outline_put(c->out, "trajectory.unit", text, NULL);
	if (unit < BS_UNIT_RAD_PER_M)
		return;
	for (int a = 0; a < 3; a++)
		mm[a] = (double)info->encoded_fov_mm[a] * kept(c->survey, a) / info->encoded[a];
	(void)snprintf(text, sizeof(text), "[%.4f, %.4f, %.4f]", mm[0], mm[1], mm[2]);
	bs_outline_put(c->out, "fov_mm", text,
		       "the matrix's, by encodedSpace: the trajectory's unit needs it");
}

static void put_paths(const struct bs_choice *c, uint32_t dims)
{
	const struct bs_survey *s = c->survey;
	char quoted[2 * BS_PATH_MAX_ + 8];
	char text[16];

	/* trajectory.file takes an MRD recording, not a scan's log */
	if (s->repeats && s->path_frame == s->first_readouts &&
	    bs_text_stem(c->recording, ".h5") > 0) {
		bs_outline_put(c->out, "trajectory.type", "\"file\"",
			       "every frame has the same paths: known beforehand, so that most of "
			       "the work is done while readouts come");
		bs_outline_put(c->out, "trajectory.file",
			       bs_outline_quoted(quoted, sizeof(quoted), c->recording),
			       "the paths of this recording's first frame: keep it");
	} else {
		bs_outline_put(c->out, "trajectory.type", "\"stream\"",
			       "each readout brings its own path: those of later frames are not "
			       "the first one's");
	}
	if (dims == 2 && s->dims.max == 3 && s->reach[2] > 0.0)
		bs_outline_put(c->out, "trajectory.third_ignored", "true",
			       "the paths have a third component, of %g at most, in 2D",
			       s->reach[2]);
	(void)snprintf(text, sizeof(text), "%u", s->first_readouts);
	bs_outline_put(c->out, "readouts", text, "of a frame: of one image");
	if (!s->alike)
		bs_outline_say(c->out,
			       "frames have different numbers of readouts; images are of "
			       "%u, as the first one",
			       s->first_readouts);
	if (s->frames == s->slices * s->contrasts && s->repetitions == 1 && s->samples.max > 1 &&
	    s->first_readouts > 4 * s->info.encoded[0] && dims == 2)
		bs_outline_say(c->out,
			       "all %u readouts of a slice have the same repetition: they make one "
			       "image. For images while they come give readouts a smaller number, "
			       "trajectory.type stream, or frame.step",
			       s->first_readouts);
}

int bs_choose_path(const struct bs_choice *c, struct bs_fail *why)
{
	const struct bs_survey *s = c->survey;
	const uint32_t dims = s->info.encoded[2] > 1 ? 3 : 2;
	enum bs_traj_unit unit = BS_UNIT_CYCLES_PER_VOXEL;
	double largest;
	double smallest;
	char text[32];
	int rc;

	if (s->dims.max == 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "encoding/trajectory is '%s', and no readout carries its path: a "
			       "site file needs trajectory.type (one that is generated, as "
			       "radial2d, or a file), which the recording cannot tell",
			       s->info.trajectory_name);
	if (s->dims.min != s->dims.max || s->dims.min < dims || s->dims.max > 3)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "readouts carry paths of %u to %u dimensions, for images of %u: of "
			       "as many, or of 3 in 2D, they can be reconstructed",
			       s->dims.min, s->dims.max, dims);
	if (s->pieces > 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "%llu readouts go on with the path of the one before, as its next "
			       "set, and the header has one set: pieces of one readout, which "
			       "nothing puts together; the sender can leave it whole",
			       (unsigned long long)s->pieces);
	rc = find_unit(c, &unit, why);
	if (rc == 0)
		rc = put_sizes(c, why);
	if (rc != 0)
		return rc;
	put_paths(c, dims);
	put_unit(c, unit);
	reaches(s, unit, &largest, &smallest);
	if (smallest < EXTENT) {
		(void)snprintf(text, sizeof(text), "%.4f", 0.9 * smallest);
		bs_outline_put(c->out, "trajectory.min_extent", text, NULL);
		bs_outline_say(
			c->out,
			"along one axis the trajectory reaches %.3g of 0.5 cycles/voxel only: "
			"the image is as coarse, or its unit is another",
			smallest);
	}
	if (bs_choose_on_header(s)) {
		bs_outline_put(c->out, "method", "\"ls\"",
			       "the header says %s, the readouts' own paths lie beside its grid: "
			       "least squares along them, coil by coil",
			       s->info.trajectory_name);
		bs_outline_put(c->out, "ls.lambda", "1e-5", NULL);
		bs_outline_say(
			c->out,
			"the header says %s, but %llu readouts bring paths that are not "
			"those lines: they are taken%s",
			s->info.trajectory_name, (unsigned long long)s->off_lines,
			s->kinds[BS_KIND_PHASE_CORRECTION] > 0
				? ", and phase-correction lines are not used: ghosts may stay"
				: "");
	} else if (s->bend < STRAIGHT && s->samples.max > 1)
		bs_outline_put(c->out, "gridding.density", "\"ramp\"",
			       "spokes: samples count by their distance from the center");
	else
		bs_outline_put(c->out, "gridding.density", "\"pipe\"",
			       "no spokes: weights by iteration, from the trajectory itself");
	return 0;
}
