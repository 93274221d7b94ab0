/* board/command/phantom.c - boreside phantom: a simulated scan and its true image */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/command/command.h"
#include "config/config.h"
#include "config/keys.h"
#include "drivers/file/traj.h"
#include "drivers/source/phantom.h"

struct request {
	struct bs_protocol protocol;
	struct bs_phantom_scan scan;
	const char *config, *site_protocol, *name, *out;
	struct bs_sizes matrix;
	double motion[2];
	uint32_t echoes; /* 0: as the protocol has it */
	bool own_sizes;  /* an option that makes sense only without -c */
};

static int read_traj(void *to, const char *text, struct bs_fail *why)
{
	const char *const *words = bs_key_find(BS_SCOPE_PROTOCOL, "trajectory.type")->words;

	for (int i = 0; words[i] != NULL; i++)
		if (i != BS_TRAJ_FILE && strcmp(text, words[i]) == 0) {
			*(enum bs_traj_type *)to = (enum bs_traj_type)i;
			return 0;
		}
	return bs_fail(why, BS_ERR_USAGE, "no such trajectory");
}

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'o', "output", "RECORDING.h5", AT(out),
	  .help = "also RECORDING_true.cfl and RECORDING_maps.cfl", .required = true },
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config), .help = "with -p:" },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(site_protocol),
	  .help = "sizes and trajectory of a site file's protocol" },
	{ BS_OPTION_GROUP, .help = "or sizes of its own:", .to = AT(own_sizes) },
	{ BS_OPTION_OWN, 0, "traj", "TYPE", AT(protocol.traj.type),
	  .help = "cartesian radial2d spiral2d radial3d stack random cones tpi (radial2d)",
	  .read = read_traj },
	{ BS_OPTION_SIZES, 0, "matrix", "X,Y[,Z]", AT(matrix), .help = "voxels (also XxY, XxYxZ)",
	  .min = BS_AXIS_MIN, .max = BS_AXIS_MAX },
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
	{ BS_OPTION_TEXT, 0, "name", "NAME", AT(name),
	  .help = "protocol name in the header (phantom)" },
	{ BS_OPTION_GROUP, .help = "for both:" },
	{ BS_OPTION_U32, 0, "echoes", "N", AT(echoes), .help = "contrasts, 1 to 3 (1)", .min = 1,
	  .max = 3 },
	{ BS_OPTION_U32, 0, "repetitions", "N", AT(scan.repetitions),
	  .help = "frames one after the other (1)", .min = 1, .max = 1048576 },
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
	{ 0 },
};

static int from_site(struct request *q)
{
	struct bs_site *site = bs_command_site(&bs_command_phantom, q->config);
	const struct bs_protocol *p;
	struct bs_fail why;
	int rc = 0;

	if (site == NULL)
		return 1;
	p = bs_config_choose(site, q->site_protocol, NULL, &why);
	if (p != NULL)
		q->protocol = *p;
	else
		rc = bs_command_fail(&bs_command_phantom, "%s: %s", q->config, why.text);
	free(site);
	return rc;
}

/* What the options leave open. */
static int fill_in(struct request *q)
{
	struct bs_protocol *p = &q->protocol;
	enum bs_traj_type type = p->traj.type;
	size_t n = strlen(q->name);

	if (q->matrix.axes == 0)
		return bs_options_wrong(&bs_command_phantom,
					"--matrix is missing, or -c FILE -p PROTOCOL");
	if (n == 0 || n >= sizeof(p->name))
		return bs_options_wrong(&bs_command_phantom, "--name %s: not 1 to %zu bytes",
					q->name, sizeof(p->name) - 1);
	memcpy(p->name, q->name, n + 1);
	p->method = bs_method_direct(type == BS_TRAJ_CARTESIAN);
	p->dims = q->matrix.axes;
	memcpy(p->matrix, q->matrix.size, sizeof(p->matrix));
	memcpy(p->encoded, p->matrix, sizeof(p->encoded));
	if (p->samples == 0 && type == BS_TRAJ_CARTESIAN)
		p->samples = p->matrix[0];
	else if (p->samples == 0 && (type == BS_TRAJ_RADIAL2D || type == BS_TRAJ_RADIAL3D))
		p->samples = 2 * p->matrix[0];
	if (p->readouts == 0 && type == BS_TRAJ_CARTESIAN)
		p->readouts = p->matrix[1] * p->matrix[2];
	else if (p->readouts == 0 && type == BS_TRAJ_RADIAL2D)
		p->readouts = (uint32_t)ceil(1.5707963267948966 * p->matrix[0]);
	if (p->samples == 0 || p->readouts == 0)
		return bs_options_wrong(&bs_command_phantom,
					"this trajectory needs --samples and --readouts");
	/* more samples than voxels: the readout is oversampled */
	if (type == BS_TRAJ_CARTESIAN && p->samples > p->encoded[0])
		p->encoded[0] = p->samples;
	return 0;
}

static int complete(struct request *q)
{
	int rc;

	if ((q->config == NULL) != (q->site_protocol == NULL))
		return bs_options_wrong(&bs_command_phantom, "-c and -p go together");
	if (q->config != NULL && q->own_sizes)
		return bs_options_wrong(&bs_command_phantom,
					"sizes come from %s: not from options, too", q->config);
	if (q->motion[0] >= 1.0)
		return bs_options_wrong(&bs_command_phantom, "--motion: A must be below 1");
	q->scan.motion = q->motion[0];
	q->scan.motion_frames = q->motion[1];
	q->protocol.traj.seed = q->scan.seed;
	rc = q->config != NULL ? from_site(q) : fill_in(q);
	if (rc == 0 && q->echoes != 0)
		q->protocol.contrasts = q->echoes;
	return rc;
}

static int trajectory(struct bs_traj *t, struct bs_protocol *p, struct bs_fail *why)
{
	int rc;

	if (p->traj.type != BS_TRAJ_FILE)
		return bs_traj_make(t, p, why);
	rc = bs_trajfile_load(t, p, why);
	p->traj.unit = BS_UNIT_CYCLES_PER_VOXEL; /* loading converts */
	return rc;
}

/* OUT.h5 -> OUT_what.cfl; false when too long */
static bool beside(char *name, size_t size, const char *out, const char *what)
{
	size_t n = strlen(out);

	if (n > 3 && strcmp(out + n - 3, ".h5") == 0)
		n -= 3;
	return (size_t)snprintf(name, size, "%.*s_%s.cfl", (int)n, out, what) < size;
}

static int simulate(struct request *q, struct bs_fail *why)
{
	struct bs_phantom_scan scan = q->scan;
	struct bs_traj traj = { 0 };
	struct bs_team *team = NULL;
	char image[1024];
	char maps[1024];
	int rc = trajectory(&traj, &q->protocol, why);

	if (rc != 0)
		return rc;
	scan.protocol = &q->protocol;
	scan.traj = &traj;
	if (!beside(image, sizeof(image), q->out, "true") ||
	    !beside(maps, sizeof(maps), q->out, "maps"))
		rc = bs_fail(why, BS_ERR_USAGE, "the file name is too long");
	if (rc == 0)
		rc = bs_team_open(&team, bs_team_whole(), why);
	if (rc == 0)
		rc = bs_phantom_record(&scan, team, q->out, why);
	if (rc == 0)
		rc = bs_phantom_truth(&scan, team, image, maps, why);
	if (rc == 0)
		(void)printf("%s: %u x %u readouts of %u samples, %u coils; %s, %s\n", q->out,
			     scan.repetitions * q->protocol.slices * q->protocol.contrasts,
			     q->protocol.readouts, q->protocol.samples, q->protocol.coils, image,
			     maps);
	bs_team_close(team);
	bs_traj_close(&traj);
	return rc;
}

static int run(int argc, char **argv)
{
	struct request q = {
		.name = "phantom",
		.protocol = { .coils = 1,
			      .slices = 1,
			      .contrasts = 1,
			      .traj.type = BS_TRAJ_RADIAL2D },
		.scan = { .repetitions = 1, .seed = 1, .dwell_us = 4.0 },
	};
	struct bs_fail why;
	int status = bs_options_read(&bs_command_phantom, &q, argc, argv);

	if (status != BS_OPTIONS_RUN)
		return status;
	status = complete(&q);
	if (status == 0 && simulate(&q, &why) != 0)
		status = bs_command_fail(&bs_command_phantom, "%s", why.text);
	return status;
}

const struct bs_command bs_command_phantom = {
	.name = "phantom",
	.summary = "a simulated scan as a recording, and its true image",
	.options = options,
	.run = run,
};
