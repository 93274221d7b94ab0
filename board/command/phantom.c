/* board/command/phantom.c - boreside phantom: a simulated scan as a recording, and its true image */
#define _GNU_SOURCE /* getopt_long */
#include "board/command/command.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "drivers/source/phantom.h"
#include "drivers/file/traj.h"

static const char usage_text[] =
	"usage: boreside phantom [options] -o RECORDING.h5\n"
	"  -c FILE -p PROTOCOL      sizes and trajectory of a site file's protocol; or:\n"
	"  --traj TYPE              cartesian radial2d spiral2d radial3d stack random cones tpi\n"
	"  --matrix X,Y[,Z]         voxels (also XxY, XxYxZ)\n"
	"  --coils N                1 to 64 (1)\n"
	"  --samples N              of a readout (2 X for radial2d and radial3d, X for cartesian)\n"
	"  --readouts N             of a frame (all lines for cartesian, pi/2 X for radial2d)\n"
	"  --interleaves N          spiral2d, stack: in the plane\n"
	"  --turns T                spiral2d, stack, cones: of one interleaf (Nyquist)\n"
	"  --reach K                largest |k| of all but cartesian (0.5 cycles/voxel)\n"
	"  --slices N               2D slices through the head (1)\n"
	"  --name NAME              protocol name in the header (phantom)\n"
	"and for both:\n"
	"  --echoes N               contrasts, 1 to 3 (1)\n"
	"  --repetitions N          frames one after the other (1)\n"
	"  --motion A,N             one ellipse beats: its size changes by the share A (below 1), once in\n"
	"                           N frames, while the scan runs; the true image is the one at rest\n"
	"  --snr X                  image RMS over noise in a Cartesian scan; 0: no noise (0)\n"
	"  --seed N                 of noise and of random trajectories (1)\n"
	"  --tr-us T, --dwell-us T  between readouts (sampling + 2 ms), between samples (4)\n"
	"  -o RECORDING.h5          also RECORDING_true.cfl and RECORDING_maps.cfl\n";

struct request {
	struct bs_protocol protocol;
	struct bs_phantom_scan scan;
	const char *config, *name, *out;
	bool explicit_size; /* an option that only makes sense without -c */
	long echoes;        /* 0: as the protocol has it */
	bool samples_given, readouts_given;
};

static int complain(const char *what, const char *value)
{
	(void)fprintf(stderr, "boreside phantom: %s '%s'\n%s", what, value, usage_text);
	return 2;
}

/* A whole number in [lo, hi]; false when it is none. */
static bool whole(const char *text, long lo, long hi, long *value)
{
	char *end;

	*value = strtol(text, &end, 10);
	return end != text && *end == '\0' && *value >= lo && *value <= hi;
}

static bool size_of(const char *text, uint32_t *value)
{
	long n;

	if (!whole(text, 1, 1048576, &n))
		return false;
	*value = (uint32_t)n;
	return true;
}

static bool number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*value) && *value >= 0.0;
}

/* "A,N" */
static bool motion_of(const char *text, struct bs_phantom_scan *s)
{
	char *end;

	s->motion = strtod(text, &end);
	if (end == text || *end != ',')
		return false;
	return number(end + 1, &s->motion_frames) && s->motion_frames > 0.0 && s->motion > 0.0 &&
	       s->motion < 1.0;
}

static bool matrix_of(const char *text, struct bs_protocol *p)
{
	uint32_t n[3] = { 0, 0, 1 };
	uint32_t given = 0;

	for (; given < 3; given++) {
		char *end;
		long v = strtol(text, &end, 10);

		if (end == text || v < (long)BS_AXIS_MIN || v > (long)BS_AXIS_MAX)
			return false;
		n[given] = (uint32_t)v;
		text = end + 1;
		if (*end == '\0') {
			given++;
			break;
		}
		if (*end != 'x' && *end != ',')
			return false;
		if (given == 2)
			return false;
	}
	if (given < 2)
		return false;
	memcpy(p->matrix, n, sizeof(n));
	p->dims = given;
	return true;
}

static bool traj_of(const char *text, struct bs_protocol *p)
{
	static const struct {
		const char *name;
		enum bs_traj_type type;
	} types[] = { { "cartesian", BS_TRAJ_CARTESIAN }, { "radial2d", BS_TRAJ_RADIAL2D },
		      { "spiral2d", BS_TRAJ_SPIRAL2D },   { "radial3d", BS_TRAJ_RADIAL3D },
		      { "stack", BS_TRAJ_STACK },         { "random", BS_TRAJ_RANDOM },
		      { "cones", BS_TRAJ_CONES },         { "tpi", BS_TRAJ_TPI } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(text, types[i].name) == 0) {
			p->traj.type = types[i].type;
			p->method = bs_method_direct(p->traj.type == BS_TRAJ_CARTESIAN);
			return true;
		}
	return false;
}

static bool name_of(const char *text, struct bs_protocol *p)
{
	size_t n = strlen(text);

	if (n == 0 || n >= sizeof(p->name))
		return false;
	memcpy(p->name, text, n + 1);
	return true;
}

enum {
	OPT_TRAJ = 256,
	OPT_MATRIX,
	OPT_COILS,
	OPT_SAMPLES,
	OPT_READOUTS,
	OPT_INTERLEAVES,
	OPT_TURNS,
	OPT_REACH,
	OPT_SLICES,
	OPT_NAME,
	OPT_ECHOES,
	OPT_REPETITIONS,
	OPT_SNR,
	OPT_SEED,
	OPT_TR,
	OPT_DWELL,
	OPT_MOTION
};

static const struct option options[] = {
	{ "traj", required_argument, NULL, OPT_TRAJ },
	{ "matrix", required_argument, NULL, OPT_MATRIX },
	{ "coils", required_argument, NULL, OPT_COILS },
	{ "samples", required_argument, NULL, OPT_SAMPLES },
	{ "readouts", required_argument, NULL, OPT_READOUTS },
	{ "interleaves", required_argument, NULL, OPT_INTERLEAVES },
	{ "turns", required_argument, NULL, OPT_TURNS },
	{ "reach", required_argument, NULL, OPT_REACH },
	{ "slices", required_argument, NULL, OPT_SLICES },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "echoes", required_argument, NULL, OPT_ECHOES },
	{ "repetitions", required_argument, NULL, OPT_REPETITIONS },
	{ "snr", required_argument, NULL, OPT_SNR },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "tr-us", required_argument, NULL, OPT_TR },
	{ "dwell-us", required_argument, NULL, OPT_DWELL },
	{ "motion", required_argument, NULL, OPT_MOTION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool take_size(struct request *q, int opt, const char *text)
{
	struct bs_protocol *p = &q->protocol;

	q->explicit_size = true;
	switch (opt) {
	case OPT_TRAJ:
		return traj_of(text, p);
	case OPT_MATRIX:
		return matrix_of(text, p);
	case OPT_COILS:
		return size_of(text, &p->coils);
	case OPT_SAMPLES:
		q->samples_given = true;
		return size_of(text, &p->samples);
	case OPT_READOUTS:
		q->readouts_given = true;
		return size_of(text, &p->readouts);
	case OPT_INTERLEAVES:
		return size_of(text, &p->traj.interleaves);
	case OPT_TURNS:
		return number(text, &p->traj.turns);
	case OPT_REACH:
		return number(text, &p->traj.reach) && p->traj.reach > 0.0 && p->traj.reach <= 0.5;
	case OPT_SLICES:
		return size_of(text, &p->slices);
	case OPT_NAME:
		return name_of(text, p);
	default:
		return false;
	}
}

static bool take(struct request *q, int opt, const char *text)
{
	long n = 0;
	bool good = true;

	switch (opt) {
	case 'c':
		q->config = text;
		break;
	case 'p':
		q->name = text;
		break;
	case 'o':
		q->out = text;
		break;
	case OPT_ECHOES:
		good = whole(text, 1, 3, &q->echoes);
		break;
	case OPT_REPETITIONS:
		good = size_of(text, &q->scan.repetitions);
		break;
	case OPT_SNR:
		good = number(text, &q->scan.snr);
		break;
	case OPT_MOTION:
		good = motion_of(text, &q->scan);
		break;
	case OPT_SEED:
		good = whole(text, 0, INT32_MAX, &n);
		q->scan.seed = q->protocol.traj.seed = (uint64_t)n;
		break;
	case OPT_TR:
		good = number(text, &q->scan.tr_us);
		break;
	case OPT_DWELL:
		good = number(text, &q->scan.dwell_us);
		break;
	default:
		good = take_size(q, opt, text);
	}
	return good;
}

static void print_fault(void *arg, const char *line)
{
	(void)fprintf(arg, "%s\n", line);
}

static int from_site(struct request *q)
{
	struct bs_site *site = malloc(sizeof(*site));
	const struct bs_protocol *p;
	int rc = 1;

	if (site == NULL) {
		(void)fprintf(stderr, "boreside phantom: no memory\n");
		return 1;
	}
	if (bs_config_load(site, q->config, print_fault, stderr) == 0) {
		p = bs_config_find(site, q->name);
		if (p != NULL) {
			q->protocol = *p;
			rc = 0;
		} else {
			(void)fprintf(stderr, "boreside phantom: no protocol '%s' in %s\n", q->name,
				      q->config);
		}
	}
	free(site);
	return rc;
}

/* What the options leave open. */
static int fill_in(struct request *q)
{
	struct bs_protocol *p = &q->protocol;
	enum bs_traj_type type = p->traj.type;

	if (p->dims == 0)
		return complain("--matrix is missing, or use", "-c FILE -p PROTOCOL");
	if (!q->samples_given && type == BS_TRAJ_CARTESIAN)
		p->samples = p->matrix[0];
	else if (!q->samples_given && (type == BS_TRAJ_RADIAL2D || type == BS_TRAJ_RADIAL3D))
		p->samples = 2 * p->matrix[0];
	if (!q->readouts_given && type == BS_TRAJ_CARTESIAN)
		p->readouts = p->matrix[1] * p->matrix[2];
	else if (!q->readouts_given && type == BS_TRAJ_RADIAL2D)
		p->readouts = (uint32_t)ceil(1.5707963267948966 * p->matrix[0]);
	if (p->samples == 0 || p->readouts == 0)
		return complain("this trajectory needs", "--samples and --readouts");
	if (p->coils > BS_COILS_MAX)
		return complain("too many", "--coils");
	for (int a = 0; a < 3; a++)
		p->encoded[a] = p->matrix[a];
	/* more samples than voxels: the readout is oversampled */
	if (type == BS_TRAJ_CARTESIAN && p->samples > p->encoded[0])
		p->encoded[0] = p->samples;
	return 0;
}

static int parse(struct request *q, int argc, char **argv)
{
	int opt;

	memset(q, 0, sizeof(*q));
	q->protocol.coils = q->protocol.slices = q->protocol.contrasts = 1;
	q->protocol.traj.type = BS_TRAJ_RADIAL2D;
	q->protocol.traj.seed = 1;
	strcpy(q->protocol.name, "phantom");
	q->scan.repetitions = 1;
	q->scan.seed = 1;
	q->scan.dwell_us = 4.0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "c:p:o:h", options, NULL)) != -1) {
		if (opt == 'h') {
			(void)fputs(usage_text, stdout);
			return -1;
		}
		if (opt == '?')
			return complain("see the usage:", argv[optind - 1]);
		if (!take(q, opt, optarg))
			return complain("not a legal value:", optarg);
	}
	if (optind < argc)
		return complain("unexpected", argv[optind]);
	if (q->out == NULL)
		return complain("missing option", "-o");
	if ((q->config == NULL) != (q->name == NULL))
		return complain("-c and -p go together:", q->config ? "-p" : "-c");
	if (q->config != NULL && q->explicit_size)
		return complain("sizes come from", q->config);
	opt = q->config != NULL ? from_site(q) : fill_in(q);
	if (opt == 0 && q->echoes != 0)
		q->protocol.contrasts = (uint32_t)q->echoes;
	return opt;
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
	struct bs_traj traj = { 0 };
	struct bs_team *team = NULL;
	char image[1024];
	char maps[1024];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc = trajectory(&traj, &q->protocol, why);

	if (rc != 0)
		return rc;
	q->scan.protocol = &q->protocol;
	q->scan.traj = &traj;
	if (!beside(image, sizeof(image), q->out, "true") ||
	    !beside(maps, sizeof(maps), q->out, "maps"))
		rc = bs_fail(why, BS_ERR_USAGE, "the file name is too long");
	if (rc == 0)
		rc = bs_team_open(&team,
				  cpus < 1             ? 1
				  : cpus > BS_TEAM_MAX ? BS_TEAM_MAX
						       : (int)cpus,
				  why);
	if (rc == 0)
		rc = bs_phantom_record(&q->scan, team, q->out, why);
	if (rc == 0)
		rc = bs_phantom_truth(&q->scan, team, image, maps, why);
	if (rc == 0)
		(void)printf("%s: %u x %u readouts of %u samples, %u coils; %s, %s\n", q->out,
			     q->scan.repetitions * q->protocol.slices * q->protocol.contrasts,
			     q->protocol.readouts, q->protocol.samples, q->protocol.coils, image,
			     maps);
	bs_team_close(team);
	bs_traj_close(&traj);
	return rc;
}

int bs_cmd_phantom(int argc, char **argv)
{
	struct request *q = malloc(sizeof(*q));
	struct bs_fail why;
	int rc;

	if (q == NULL) {
		(void)fprintf(stderr, "boreside phantom: no memory\n");
		return 1;
	}
	rc = parse(q, argc, argv);
	if (rc == 0 && simulate(q, &why) != 0) {
		(void)fprintf(stderr, "boreside phantom: %s\n", why.text);
		rc = 1;
	}
	free(q);
	return rc < 0 ? 0 : rc;
}
