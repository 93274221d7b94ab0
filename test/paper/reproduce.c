/* test/paper/reproduce.c - paper reproduce: the papers' experiments as one report */
#define _GNU_SOURCE /* getopt_long */
#include "test/paper/paper.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test/paper/reproduce.h"
#include "core/thread/clock.h"
#include "drivers/file/draft.h"

static const char usage_text[] =
	"usage: paper reproduce [--small] [--only 2008|2007|echoes] -o FOLDER\n"
	"Runs the experiments of the two papers that this program comes from and writes\n"
	"FOLDER/REPORT.md, pictures, and figures.txt. --small: sizes for a quick test.\n";

struct request {
	bool small;
	const char *only, *dir;
};

static const struct {
	const char *name;
	int (*run)(struct bs_reproduce *r, struct bs_fail *why);
} experiments[] = {
	{ "2008", bs_reproduce_2008 },
	{ "2007", bs_reproduce_2007 },
	{ "echoes", bs_reproduce_echoes },
};

void bs_reproduce_figure(struct bs_reproduce *r, const char *name, double value)
{
	(void)fprintf(r->figures, "%s %.6g\n", name, value);
	(void)fflush(r->figures);
}

bool bs_reproduce_path(const struct bs_reproduce *r, char *out, size_t size, const char *name)
{
	return (size_t)snprintf(out, size, "%s/%s", r->dir, name) < size;
}

struct bs_took bs_reproduce_now(const struct bs_reproduce *r)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (struct bs_took){ (double)bs_now_ns() * 1e-9,
				 ((double)t.tv_sec + (double)t.tv_nsec * 1e-9) /
					 bs_team_members(r->team) };
}

struct bs_took bs_reproduce_since(const struct bs_reproduce *r, struct bs_took start)
{
	struct bs_took now = bs_reproduce_now(r);

	return (struct bs_took){ now.wall_s - start.wall_s, now.busy_s - start.busy_s };
}

void bs_reproduce_say(const struct bs_reproduce *r, const char *what)
{
	(void)r;
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "%s ...\n", what);
}

static int usage(const char *what, const char *value)
{
	(void)fprintf(stderr, "paper reproduce: %s '%s'\n", what, value);
	return 2;
}

static bool known(const char *name)
{
	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++)
		if (strcmp(name, experiments[i].name) == 0)
			return true;
	return false;
}

static int parse(struct request *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "small", no_argument, NULL, 's' },
		{ "only", required_argument, NULL, 'y' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	memset(q, 0, sizeof(*q));
	optind = 1;
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
		switch (opt) {
		case 's':
			q->small = true;
			break;
		case 'y':
			if (!known(optarg))
				return usage("no experiment", optarg);
			q->only = optarg;
			break;
		case 'o':
			q->dir = optarg;
			break;
		case 'h':
			(void)fputs(usage_text, stdout);
			return -1;
		default:
			return 2; /* getopt has named it */
		}
	if (optind < argc)
		return usage("unexpected", argv[optind]);
	if (q->dir == NULL)
		return usage("missing option", "-o");
	return 0;
}

/* The processor's name, the threads and the machine's load. */
static void machine(FILE *to, int threads)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");
	const char *name = "unknown processor";
	double load;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
			line[strcspn(line, "\n")] = '\0';
			name = strchr(line, ':') + 2;
			break;
		}
	(void)fprintf(to, "Measured on %s, %d threads, by the host operators (no GPU)", name,
		      threads);
	/* other work on the machine is in the times */
	if (getloadavg(&load, 1) == 1)
		(void)fprintf(to, ", load average %.1f at the start", load);
	(void)fprintf(to, ".\n");
	if (f != NULL)
		(void)fclose(f);
}

static int run_all(struct bs_reproduce *r, const struct request *q, struct bs_fail *why)
{
	int rc = 0;

	(void)fprintf(r->md,
		      "# The papers' experiments, measured here\n\n"
		      "Written by `paper reproduce%s`. ",
		      q->small ? " --small" : "");
	machine(r->md, bs_team_members(r->team));
	(void)fprintf(
		r->md,
		"The phantom is the 3D Shepp-Logan head, its k-space in closed form; errors are "
		"against its\ntrue image, each voxel the mean over its cube: percent error is the "
		"RMS of the voxel error\nover the RMS of the true image, PSNR is relative to the "
		"true image's maximum. Gridded images are\nscaled to the true image first, as in "
		"the papers; least-squares images are not.\n"
		"Times: one run each, on the clock; in brackets the processor time over the "
		"threads, "
		"which is what\na machine with nothing else to do would take at best.\n%s\n",
		q->small ? "\n**Small sizes: a test of the program, not of the papers' figures.**\n"
			 : "");
	for (size_t i = 0; rc == 0 && i < sizeof(experiments) / sizeof(experiments[0]); i++)
		if (q->only == NULL || strcmp(q->only, experiments[i].name) == 0)
			rc = experiments[i].run(r, why);
	return rc;
}

static int write_report(const struct request *q, struct bs_team *team, struct bs_fail *why)
{
	struct bs_reproduce r = { .dir = q->dir, .small = q->small, .team = team };
	char name[2][BS_DRAFT_PATH];
	int rc;

	if (mkdir(q->dir, 0777) != 0 && errno != EEXIST)
		return bs_fail(why, BS_ERR_IO, "%s: %s", q->dir, strerror(errno));
	if (!bs_reproduce_path(&r, name[0], sizeof(name[0]), "REPORT.md") ||
	    !bs_reproduce_path(&r, name[1], sizeof(name[1]), "figures.txt"))
		return bs_fail(why, BS_ERR_USAGE, "the folder's name is too long");
	r.md = fopen(name[0], "w");
	r.figures = fopen(name[1], "w");
	if (r.md == NULL || r.figures == NULL)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", r.md ? name[1] : name[0], strerror(errno));
	else
		rc = run_all(&r, q, why);
	if (r.md != NULL && fclose(r.md) != 0 && rc == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", name[0], strerror(errno));
	if (r.figures != NULL && fclose(r.figures) != 0 && rc == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", name[1], strerror(errno));
	if (rc == 0)
		(void)printf("%s\n", name[0]);
	return rc;
}

int bs_paper_reproduce(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct bs_team *team = NULL;
	struct bs_fail why;
	struct request q;
	int rc = parse(&q, argc, argv);

	if (rc != 0)
		return rc < 0 ? 0 : rc;
	rc = bs_team_open(&team, cpus < 1 ? 1 : cpus > BS_TEAM_MAX ? BS_TEAM_MAX : (int)cpus, &why);
	if (rc == 0) {
		rc = write_report(&q, team, &why);
		bs_team_close(team);
	}
	if (rc != 0)
		(void)fprintf(stderr, "paper reproduce: %s\n", why.text);
	return rc == 0 ? 0 : 1;
}
