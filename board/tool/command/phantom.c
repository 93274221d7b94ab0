/* board/tool/command/phantom.c - boreside phantom: a simulated scan and its true image */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/command/tools.h"
#include "board/tool/command/phantomread.h"
#include "config/config.h"
#include "config/hint/near.h"
#include "config/keys.h"
#include "core/protocol.h"
#include "drivers/tool/load/traj.h"
#include "drivers/tool/phantom/phantom.h"

#define BANDWIDTH  0.793 /* relativeReceiverNoiseBandwidth of Siemens' receivers */
#define NAME_BYTES 1024

struct request {
	struct bs_protocol protocol;
	struct bs_phantom_scan scan;
	const char *config, *site_protocol, *name, *out;
	struct bs_sizes matrix, encoded, recon;
	struct bs_sizes noise; /* sizes of the noise scan: readouts, samples */
	double motion[2], fov_mm[3];
	uint32_t echoes;    /* number of echoes; 0: the protocol's */
	uint32_t asymmetry; /* samples missing at the beginning of a line */
	bool own_sizes;     /* an option was given that needs sizes of its own, so no -c */
	bool like_scanner;  /* an option was given for lines as a scanner sends them */
	bool receiver;      /* an option was given for noise */
	bool go_on;         /* angles continue from frame to frame */
};

static int read_traj(void *to, const char *text, struct bs_fail *why)
{
	const char *const *words = bs_key_find(BS_SCOPE_PROTOCOL, "trajectory.type")->words;
	struct bs_near near;
	char hint[BS_NEAR_HINT];

	for (int i = 0; words[i] != NULL; i++)
		if (i != BS_TRAJ_FILE && i != BS_TRAJ_STREAM && strcmp(text, words[i]) == 0) {
			*(enum bs_traj_type *)to = (enum bs_traj_type)i;
			return 0;
		}
	bs_near_begin(&near, text);
	for (int i = 0; words[i] != NULL; i++)
		if (i != BS_TRAJ_FILE && i != BS_TRAJ_STREAM)
			bs_near_offer(&near, words[i]);
	return bs_fail(why, BS_ERR_USAGE, "no such trajectory%s", bs_near_hint(&near, hint));
}

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'o', "output", "RECORDING.h5", AT(out),
	  .help = "also RECORDING_true.cfl and RECORDING_maps.cfl; of a noise scan "
		  "RECORDING_psi.cfl and RECORDING_psi_lines.cfl",
	  .required = true },
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config), .help = "with -p:" },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(site_protocol),
	  .help = "sizes and trajectory of a site file's protocol" },
	{ BS_OPTION_GROUP, .help = "or sizes of its own:", .to = AT(own_sizes) },
	{ BS_OPTION_OWN, 0, "traj", "TYPE", AT(protocol.traj.type),
	  .help = "cartesian radial2d spiral2d radial3d stack random cones tpi (radial2d)",
	  .read = read_traj },
	{ BS_OPTION_SIZES, 0, "matrix", "X,Y[,Z]", AT(matrix), .help = "voxels (also XxY, XxYxZ)",
	  .min = 1, .max = BS_AXIS_MAX },
	{ BS_OPTION_U32, 0, "coils", "N", AT(protocol.coils), .help = "1 to 64 (1)", .min = 1,
	  .max = BS_COILS_MAX },
	{ BS_OPTION_U32, 0, "samples", "N", AT(protocol.samples),
	  .help = "of a readout (2 X for radial2d and radial3d, X for cartesian)", .min = 1,
	  .max = 1048576 },
	{ BS_OPTION_U32, 0, "readouts", "N", AT(protocol.readouts),
	  .help = "of a frame (all lines for cartesian, pi/2 X for radial2d)", .min = 1,
	  .max = 1048576 },
	{ BS_OPTION_U32, 0, "interleaves", "N", AT(protocol.traj.interleaves),
	  .help = "spiral2d, stack: in the plane", .min = 1, .max = 1048576 },
	{ BS_OPTION_REAL, 0, "turns", "T", AT(protocol.traj.turns),
	  .help = "spiral2d, stack, cones: of one interleaf (Nyquist)" },
	{ BS_OPTION_POSITIVE, 0, "reach", "K", AT(protocol.traj.reach),
	  .help = "largest |k| of all but cartesian (0.5 cycles/voxel)", .max = 0.5 },
	{ BS_OPTION_U32, 0, "slices", "N", AT(protocol.slices),
	  .help = "2D slices through the head (1)", .min = 1, .max = 1048576 },
	{ BS_OPTION_SIZES, 0, "encoded", "X,Y[,Z]", AT(encoded),
	  .help = "cartesian: k-space's matrix, at least the image's (X from --samples)", .min = 1,
	  .max = 65535 },
	{ BS_OPTION_OWN, 0, "fov-mm", "X,Y,Z", AT(fov_mm),
	  .help = "of the image; in 2D Z is the slices' thickness (1 mm a voxel)",
	  .read = bs_phantom_read_three },
	{ BS_OPTION_TEXT, 0, "name", "NAME", AT(name),
	  .help = "protocol name in the header (phantom)" },
	{ BS_OPTION_GROUP, .help = "for both:" },
	{ BS_OPTION_U32, 0, "echoes", "N", AT(echoes), .help = "contrasts, 1 to 3 (1)", .min = 1,
	  .max = 3 },
	{ BS_OPTION_U32, 0, "repetitions", "N", AT(scan.repetitions),
	  .help = "frames one after the other (1)", .min = 1, .max = 1048576 },
	{ BS_OPTION_FLAG, 0, "go-on", NULL, AT(go_on),
	  .help = "radial2d, radial3d: the angles go on from frame to frame and never repeat: for "
		  "trajectory.type stream" },
	{ BS_OPTION_PAIR, 0, "motion", "A,N", AT(motion),
	  .help = "one ellipse beats: its size changes by the share A (below 1), once in N "
		  "frames, while the scan runs; the true image is the one at rest" },
	{ BS_OPTION_REAL, 0, "snr", "X", AT(scan.snr),
	  .help = "image RMS over noise in a Cartesian scan; 0: no noise (0)" },
	{ BS_OPTION_U64, 0, "seed", "N", AT(scan.seed),
	  .help = "of noise and of random trajectories (1)", .max = INT32_MAX },
	{ BS_OPTION_REAL, 0, "tr-us", "T", AT(scan.tr_us),
	  .help = "between readouts (sampling + 2 ms)" },
	{ BS_OPTION_REAL, 0, "dwell-us", "T", AT(scan.dwell_us), .help = "between samples (4)" },
	{ BS_OPTION_OWN, 0, "object", "WORD", AT(scan.object),
	  .help = "head, a marker that no flip or swap of axes leaves as it is, or points to "
		  "measure by (head)",
	  .read = bs_phantom_read_object },
	{ BS_OPTION_TEXT, 0, "measurement", "ID", AT(scan.measurement),
	  .help = "the scan's measurementID" },
	{ BS_OPTION_TEXT, 0, "study", "UID", AT(scan.study),
	  .help = "studyInstanceUID in the header" },
	{ BS_OPTION_TEXT, 0, "maps-from", "ID", AT(scan.maps_scan),
	  .help = "measurementID of the scan that the header names for coil maps" },
	{ BS_OPTION_TEXT, 0, "field-from", "ID", AT(scan.field_scan),
	  .help = "the same for a field map" },
	{ BS_OPTION_SIZES, 0, "recon", "X,Y[,Z]", AT(recon),
	  .help = "reconSpace's matrix, of the same field of view (the matrix)", .min = 1,
	  .max = 65535 },
	{ BS_OPTION_REAL, 0, "coil-turn", "DEG", AT(scan.coil_angle_deg),
	  .help = "the coils turn about z by so much from slice to slice, which then have "
		  "sensitivities of their own (0)",
	  .min = -360, .max = 360 },
	{ BS_OPTION_FLAG, 0, "coil-sphere", NULL, AT(scan.coil_sphere),
	  .help = "2D: the coils stand on a sphere around all slices, not around each of them" },
	{ BS_OPTION_OWN, 0, "te-ms", "T[,T[,T]]", AT(scan.te_ms),
	  .help = "echo times, in the header and for --field-hz (0)",
	  .read = bs_phantom_read_times },
	{ BS_OPTION_REAL, 0, "field-hz", "F", AT(scan.field_hz),
	  .help = "a smooth field of up to F Hz; also RECORDING_field.cfl (0)", .min = -1e5,
	  .max = 1e5 },
	{ BS_OPTION_OWN, 0, "delay", "SX,SY,SXY", AT(scan.delay),
	  .help = "radial2d: the gradients' delays in samples; the nominal trajectory is recorded",
	  .read = bs_phantom_read_three },
	{ BS_OPTION_GROUP, .help = "where the slices lie:", .to = AT(scan.pose.given) },
	{ BS_OPTION_OWN, 0, "oblique", "A,B", AT(scan.pose.angle_deg),
	  .help = "turned by A degrees about x, then by B about z (0,0)",
	  .read = bs_phantom_read_two },
	{ BS_OPTION_OWN, 0, "position-mm", "X,Y,Z", AT(scan.pose.position_mm),
	  .help = "the middle of all slices (0,0,0)", .read = bs_phantom_read_three },
	{ BS_OPTION_POSITIVE, 0, "spacing-mm", "D", AT(scan.pose.spacing_mm),
	  .help = "between slices (their thickness)" },
	{ BS_OPTION_GROUP, .to = AT(like_scanner),
	  .help = "cartesian, with flags and header as Siemens' converter sets them:" },
	{ BS_OPTION_FLAG, 0, "scanner", NULL, AT(like_scanner),
	  .help = "all lines; the options below choose other ones or more" },
	{ BS_OPTION_OWN, 0, "accel", "RY[,RZ[,SHIFT]]", AT(scan.plan),
	  .help = "every RY-th line, every RZ-th partition, shifted from line to line (1,1,0)",
	  .read = bs_phantom_read_accel },
	{ BS_OPTION_OWN, 0, "calibration", "KIND,NY[,NZ]", AT(scan.plan),
	  .help = "embedded (flags 20, 21), separate (20, first), or interleaved: embedded, and "
		  "the grid moves by a line with each repetition; NY lines, NZ partitions (all)",
	  .read = bs_phantom_read_calibration },
	{ BS_OPTION_OWN, 0, "partial-y", "[early,]SHARE", AT(scan.plan.partial[0]),
	  .help = "of the lines: the last ones are missing, or the early ones",
	  .read = bs_phantom_read_partial },
	{ BS_OPTION_OWN, 0, "partial-z", "[early,]SHARE", AT(scan.plan.partial[1]),
	  .help = "of the partitions", .read = bs_phantom_read_partial },
	{ BS_OPTION_U32, 0, "asymmetry", "N", AT(asymmetry),
	  .help = "samples that are missing at the begin of each line (0)", .min = 0,
	  .max = 32767 },
	{ BS_OPTION_FLAG, 0, "reversed", NULL, AT(scan.plan.reversed),
	  .help = "every second line is sampled backwards (flag 22)" },
	{ BS_OPTION_FLAG, 0, "epi", NULL, AT(scan.plan.epi),
	  .help = "each slice in one train of lines, every second one backwards, behind three "
		  "readouts for phase correction (flag 24)" },
	{ BS_OPTION_FLAG, 0, "falling", NULL, AT(scan.plan.falling),
	  .help = "EPI's lines come from the last to the first" },
	{ BS_OPTION_REAL, 0, "epi-phase", "RAD", AT(scan.epi_phase),
	  .help = "of lines that run backwards (0)", .min = -7, .max = 7 },
	{ BS_OPTION_REAL, 0, "epi-shift", "N", AT(scan.epi_shift),
	  .help = "of lines that run backwards along kx, in samples (0)", .min = -8, .max = 8 },
	{ BS_OPTION_U32, 0, "ramp-us", "T", AT(scan.ramp_us),
	  .help = "EPI samples on the gradient's ramps, which take T each (0: it does not)",
	  .min = 0, .max = 10000 },
	{ BS_OPTION_REAL, 0, "epi-drift", "RAD", AT(scan.epi_drift),
	  .help = "of --epi-phase from repetition to repetition (0)", .min = -7, .max = 7 },
	{ BS_OPTION_OWN, 0, "multiband", "B[,F]", AT(scan.plan.multiband),
	  .help = "B slices at once, each moved by a field of view over F from the one before "
		  "(B RY), through coils on a sphere",
	  .read = bs_phantom_read_multiband },
	{ BS_OPTION_OWN, 0, "single-band", "KIND", AT(scan.plan.multiband),
	  .help = "references of each slice alone: flagged (20) or flagged,LINES; first: the first "
		  "repetition; blipped- before these: moved as their band is; none (flagged)",
	  .read = bs_phantom_read_single },
	{ BS_OPTION_U32, 0, "averages", "N", AT(scan.plan.averages), .help = "of each line (1)",
	  .min = 1, .max = 65535 },
	{ BS_OPTION_U32, 0, "phases", "N", AT(scan.plan.phases),
	  .help = "of each repetition, one after the other (1)", .min = 1, .max = 65535 },
	{ BS_OPTION_U32, 0, "sets", "N", AT(scan.plan.sets), .help = "of each phase (1)", .min = 1,
	  .max = 65535 },
	{ BS_OPTION_OWN, 0, "slice-order", "WORD", AT(scan.plan.order),
	  .help = "ascending, interleaved, or each-tr: one line of each slice in turn (ascending)",
	  .read = bs_phantom_read_order },
	{ BS_OPTION_U32, 0, "dummies", "N", AT(scan.plan.dummies),
	  .help = "readouts to the steady state (flag 27), first (0)", .min = 0, .max = 65535 },
	{ BS_OPTION_U32, 0, "navigators", "N", AT(scan.plan.navigate),
	  .help = "one before every N lines (flag 23)", .min = 1, .max = 65535 },
	{ BS_OPTION_U32, 0, "nav-samples", "N", AT(scan.navigator_samples),
	  .help = "of a navigator (half of a line's)", .min = 1, .max = 65535 },
	{ BS_OPTION_REAL, 0, "drift", "RAD", AT(scan.drift),
	  .help = "phase from one navigator to the next, of it and of the lines behind it (0)",
	  .min = -100, .max = 100 },
	{ BS_OPTION_GROUP, .help = "noise, with --snr:", .to = AT(receiver) },
	{ BS_OPTION_SIZES, 0, "noise-scan", "N,M", AT(noise),
	  .help = "N readouts of M samples before all others (flag 19)", .min = 1, .max = 65535 },
	{ BS_OPTION_POSITIVE, 0, "noise-dwell-us", "T", AT(scan.receiver.scan_dwell_us),
	  .help = "between samples of the noise scan (5)", .max = 1e6 },
	{ BS_OPTION_REAL, 0, "noise-spread", "R", AT(scan.receiver.spread),
	  .help = "largest deviation of a coil over the smallest (1)", .min = 1, .max = 1000 },
	{ BS_OPTION_REAL, 0, "noise-correlation", "R", AT(scan.receiver.correlation),
	  .help = "of neighboring coils (0)", .min = 0, .max = 0.99 },
	{ BS_OPTION_FLAG, 0, "noise-only", NULL, AT(scan.plan.noise_only),
	  .help = "the noise scan alone" },
	{ BS_OPTION_TEXT, 0, "noise-from", "ID", AT(scan.receiver.noise_scan),
	  .help = "measurementID of an earlier scan, which this one's header points to" },
	{ 0 },
};

_Static_assert(sizeof(options) / sizeof(options[0]) <= BS_OPTIONS_MAX, "room for all options");

static int from_site(struct request *q)
{
	struct bs_site *site = bs_command_site(q->config);
	const struct bs_protocol *p;
	struct bs_fail why;
	int rc = 0;

	if (site == NULL)
		return 1;
	p = bs_config_choose(site, q->site_protocol, NULL, &why);
	if (p != NULL)
		q->protocol = *p;
	else
		rc = bs_command_fail("%s: %s", q->config, why.text);
	free(site);
	return rc;
}

/* Fills in the sizes of a Cartesian scan that no option gave. */
static int fill_cartesian(struct request *q)
{
	struct bs_protocol *p = &q->protocol;

	if (q->encoded.axes != 0 && q->encoded.axes != p->dims)
		return bs_options_wrong("--encoded has %u axes, --matrix %u", q->encoded.axes,
					p->dims);
	for (int a = 0; a < 3 && q->encoded.axes != 0; a++) {
		if (q->encoded.size[a] < p->matrix[a])
			return bs_options_wrong("--encoded: %u is less than the matrix's %u",
						q->encoded.size[a], p->matrix[a]);
		p->encoded[a] = q->encoded.size[a];
	}
	if (p->samples == 0)
		p->samples = p->encoded[0];
	if (p->readouts == 0)
		p->readouts = p->encoded[1] * p->encoded[2];
	/* samples beyond the voxels mean an oversampled readout */
	if (p->samples > p->encoded[0])
		p->encoded[0] = p->samples;
	return 0;
}

/* Fills in what no option gave. */
static int fill_in(struct request *q)
{
	struct bs_protocol *p = &q->protocol;
	enum bs_traj_type type = p->traj.type;
	size_t n = strlen(q->name);

	if (q->matrix.axes == 0)
		return bs_options_wrong("--matrix is missing, or -c FILE -p PROTOCOL");
	if (n == 0 || n >= sizeof(p->name))
		return bs_options_wrong("--name %s: not 1 to %zu bytes", q->name,
					sizeof(p->name) - 1);
	memcpy(p->name, q->name, n + 1);
	p->method = bs_method_direct(type == BS_TRAJ_CARTESIAN);
	p->dims = q->matrix.axes;
	memcpy(p->matrix, q->matrix.size, sizeof(p->matrix));
	memcpy(p->encoded, p->matrix, sizeof(p->encoded));
	for (int a = 0; a < 3; a++) {
		if (!(q->fov_mm[a] >= 0.0 && q->fov_mm[a] <= 1e5))
			return bs_options_wrong("--fov-mm: not up to 1e5 mm");
		p->fov_mm[a] = (float)q->fov_mm[a];
	}
	if (type == BS_TRAJ_CARTESIAN)
		return fill_cartesian(q);
	if (q->encoded.axes != 0)
		return bs_options_wrong("--encoded is for cartesian");
	if (p->samples == 0 && (type == BS_TRAJ_RADIAL2D || type == BS_TRAJ_RADIAL3D))
		p->samples = 2 * p->matrix[0];
	if (p->readouts == 0 && type == BS_TRAJ_RADIAL2D)
		p->readouts = (uint32_t)ceil(1.5707963267948966 * p->matrix[0]);
	if (p->samples == 0 || p->readouts == 0)
		return bs_options_wrong("this trajectory needs --samples and --readouts");
	return 0;
}

/* Chooses the lines that a scanner would send, out of all lines of the matrix. */
static int choose_lines(struct request *q)
{
	struct bs_protocol *p = &q->protocol;
	uint64_t lines;

	if (!q->like_scanner)
		return 0;
	if (p->traj.type != BS_TRAJ_CARTESIAN)
		return bs_options_wrong("lines as a scanner sends them are cartesian");
	lines = (uint64_t)p->encoded[1] * (p->encoded[2] > 0 ? p->encoded[2] : 1);
	if (q->config == NULL && p->readouts != lines)
		return bs_options_wrong("--readouts: lines are chosen by --accel, --partial-y and "
					"--partial-z");
	if (q->asymmetry >= p->samples || q->asymmetry > p->encoded[0] / 2)
		return bs_options_wrong("--asymmetry %u: the center of %u samples would be missing",
					q->asymmetry, p->encoded[0]);
	p->readouts = (uint32_t)lines;
	p->samples -= q->asymmetry;
	q->scan.plan.like_scanner = true;
	return 0;
}

static int set_receiver(struct request *q)
{
	struct bs_phantom_receiver *v = &q->scan.receiver;

	if (!q->receiver)
		return 0;
	if (!(q->scan.snr > 0.0))
		return bs_options_wrong("noise needs --snr above 0");
	if (q->noise.axes == 3)
		return bs_options_wrong("--noise-scan: not N,M");
	if (q->noise.axes == 0 && q->scan.plan.noise_only)
		return bs_options_wrong("--noise-only needs --noise-scan");
	if (q->noise.axes != 0) {
		q->scan.plan.noise = q->noise.size[0];
		v->scan_samples = q->noise.size[1];
	}
	v->bandwidth = BANDWIDTH;
	return 0;
}

static int complete_request(struct request *q)
{
	int rc;

	if ((q->config == NULL) != (q->site_protocol == NULL))
		return bs_options_wrong("-c and -p go together");
	if (q->config != NULL && q->own_sizes)
		return bs_options_wrong("sizes come from %s: not from options, too", q->config);
	if (q->motion[0] >= 1.0)
		return bs_options_wrong("--motion: A must be below 1");
	for (int i = 0; i < 3; i++)
		q->scan.delayed = q->scan.delayed || q->scan.delay[i] != 0.0;
	if (!q->scan.plan.epi && (q->scan.ramp_us > 0 || q->scan.epi_phase != 0.0 ||
				  q->scan.epi_shift != 0.0 || q->scan.epi_drift != 0.0))
		return bs_options_wrong("--ramp-us, --epi-phase, --epi-shift and --epi-drift go "
					"with --epi");
	q->scan.coil_sphere = q->scan.coil_sphere || q->scan.plan.multiband.bands > 1;
	q->scan.motion = q->motion[0];
	q->scan.motion_frames = q->motion[1];
	q->protocol.traj.seed = q->scan.seed;
	for (int a = 0; a < 3 && q->recon.axes != 0; a++)
		q->scan.recon[a] = q->recon.size[a];
	rc = q->config != NULL ? from_site(q) : fill_in(q);
	if (rc == 0)
		rc = choose_lines(q);
	if (rc == 0)
		rc = set_receiver(q);
	if (rc == 0 && q->echoes != 0)
		q->protocol.contrasts = q->echoes;
	bs_plan_make(&q->protocol);
	return rc;
}

static int trajectory(struct bs_traj *t, struct bs_protocol *p, struct bs_fail *why)
{
	int rc;

	if (p->traj.type != BS_TRAJ_FILE)
		return bs_traj_make(t, p, why);
	rc = bs_trajfile_load(t, p, why);
	p->traj.unit = BS_UNIT_CYCLES_PER_VOXEL; /* loading the trajectory has converted its unit */
	return rc;
}

/* Makes the trajectory of all frames, one after the other. */
static int make_all_frames(struct bs_traj *all, const struct request *q, struct bs_fail *why)
{
	struct bs_protocol p = q->protocol;

	if (p.traj.type != BS_TRAJ_RADIAL2D && p.traj.type != BS_TRAJ_RADIAL3D)
		return bs_fail(why, BS_ERR_USAGE, "--go-on is for radial2d and radial3d");
	if (__builtin_mul_overflow(p.readouts, q->scan.repetitions, &p.readouts))
		return bs_fail(why, BS_ERR_SIZE, "--go-on: more than %u readouts", UINT32_MAX);
	return bs_traj_make(all, &p, why);
}

/* Makes a name beside OUT.h5, OUT_what.cfl. False: it is too long. */
static bool beside(char *name, size_t size, const char *out, const char *what)
{
	size_t n = strlen(out);

	if (n > 3 && strcmp(out + n - 3, ".h5") == 0)
		n -= 3;
	return (size_t)snprintf(name, size, "%.*s_%s.cfl", (int)n, out, what) < size;
}

/* Writes the true values of the scan: images, sensitivities, covariances. */
static int write_truth(const struct request *q, const struct bs_phantom_scan *scan,
		       struct bs_team *team, const char *image, const char *maps,
		       struct bs_fail *why)
{
	char lines[NAME_BYTES];
	char noise[NAME_BYTES];
	int rc = bs_phantom_truth(scan, team, image, maps, why);

	if (rc == 0 && scan->field_hz != 0.0) {
		if (!beside(lines, sizeof(lines), q->out, "field"))
			return bs_fail(why, BS_ERR_USAGE, "the file name is too long");
		rc = bs_phantom_fields(scan, lines, why);
	}
	if (rc != 0 || !q->receiver)
		return rc;
	if (!beside(lines, sizeof(lines), q->out, "psi_lines") ||
	    !beside(noise, sizeof(noise), q->out, "psi"))
		return bs_fail(why, BS_ERR_USAGE, "the file name is too long");
	return bs_phantom_covariances(scan, team, lines, noise, why);
}

static int simulate(struct request *q, struct bs_fail *why)
{
	const struct bs_protocol *p = &q->protocol;
	struct bs_phantom_scan scan = q->scan;
	struct bs_traj traj = { 0 };
	struct bs_traj all = { 0 };
	struct bs_team *team = NULL;
	char image[NAME_BYTES];
	char maps[NAME_BYTES];
	uint32_t written = 0;
	int rc = trajectory(&traj, &q->protocol, why);

	if (rc != 0)
		return rc;
	scan.protocol = p;
	scan.traj = &traj;
	if (q->go_on)
		rc = make_all_frames(&all, q, why);
	scan.paths = all.k;
	if (rc == 0 && (!beside(image, sizeof(image), q->out, "true") ||
			!beside(maps, sizeof(maps), q->out, "maps")))
		rc = bs_fail(why, BS_ERR_USAGE, "the file name is too long");
	if (rc == 0)
		rc = bs_team_open(&team, bs_team_whole(), why);
	if (rc == 0)
		rc = bs_phantom_record(&scan, team, q->out, &written, why);
	if (rc == 0)
		rc = write_truth(q, &scan, team, image, maps, why);
	if (rc == 0 && (q->like_scanner || q->receiver))
		(void)printf("%s: %u acquisitions, lines of %u samples, %u coils; %s, %s\n", q->out,
			     written, p->samples, p->coils, image, maps);
	else if (rc == 0)
		(void)printf("%s: %u x %u readouts of %u samples, %u coils; %s, %s\n", q->out,
			     scan.repetitions * p->slices * p->contrasts, p->readouts, p->samples,
			     p->coils, image, maps);
	bs_team_close(team);
	bs_traj_close(&traj);
	bs_traj_close(&all);
	return rc;
}

static int run_phantom(void *request)
{
	struct request *q = request;
	struct bs_fail why;
	int status = complete_request(q);

	if (status == 0 && simulate(q, &why) != 0)
		status = bs_command_fail("%s", why.text);
	return status;
}

const struct bs_command bs_command_phantom = {
	.name = "phantom",
	.summary = "a simulated scan as a recording, and its true image",
	.options = options,
	.request =
		&(struct request){
			.name = "phantom",
			.protocol = { .coils = 1,
				      .slices = 1,
				      .contrasts = 1,
				      .traj.type = BS_TRAJ_RADIAL2D },
			.scan = { .repetitions = 1,
				  .seed = 1,
				  .dwell_us = 4.0,
				  .receiver.scan_dwell_us = 5.0 },
		},
	.run = run_phantom,
};
