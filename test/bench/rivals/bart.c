/* test/bench/rivals/bart.c - see bart.h */
#define _GNU_SOURCE /* mkdtemp */
#include "test/bench/rivals/bart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/tool/load/cfl.h"

#define RUNS 3

enum { TRAJ, KSPACE, MAPS, OUT, FILES };
static const char *const names[FILES] = { "traj", "kspace", "maps", "out" };

struct folder {
	char dir[128];
	char path[FILES][160];
};

bool bs_bart_there(struct bs_fail *why)
{
	const char *path = getenv("BART");

	if (path == NULL || path[0] == '\0')
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "BART: BART does not name it");
	else if (access(path, X_OK) == 0)
		return true;
	else
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "BART: %s: %s", path, strerror(errno));
	return false;
}

static int write_traj(const struct folder *f, const struct bs_bart_scan *s, struct bs_fail *why)
{
	const uint64_t samples = (uint64_t)s->along * s->readouts;
	uint64_t dims[BS_CFL_DIMS];
	float *traj = calloc(samples, 6 * sizeof(*traj));
	int rc;

	if (traj == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "BART's trajectory");
	for (uint64_t m = 0; m < samples; m++)
		for (uint32_t a = 0; a < s->dims; a++)
			traj[6 * m + 2 * (uint64_t)a] = s->k[m * s->dims + a] * (float)s->matrix[a];
	bs_cfl_sizes(dims, 3, s->along, s->readouts, 1);
	rc = bs_cfl_write(f->path[TRAJ], dims, traj, why);
	free(traj);
	return rc;
}

static int open_folder(struct folder *f, const struct bs_bart_scan *s, struct bs_fail *why)
{
	const char *tmp = getenv("TMPDIR");
	char dir[sizeof(f->dir)];
	uint64_t dims[BS_CFL_DIMS];
	int rc;

	if (!bs_bart_there(why))
		return BS_ERR_UNSUPPORTED;
	(void)snprintf(dir, sizeof(dir), "%.100s/bart-XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", dir, strerror(errno));
	memcpy(f->dir, dir, sizeof(dir));
	for (int i = 0; i < FILES; i++)
		(void)snprintf(f->path[i], sizeof(f->path[i]), "%s/%s", dir, names[i]);
	rc = write_traj(f, s, why);
	bs_cfl_sizes(dims, 1, s->along, s->readouts, s->coils);
	if (rc == 0)
		rc = bs_cfl_write(f->path[KSPACE], dims, s->data, why);
	bs_cfl_sizes(dims, s->matrix[0], s->matrix[1], s->matrix[2], s->coils);
	if (rc == 0 && s->maps != NULL)
		rc = bs_cfl_write(f->path[MAPS], dims, s->maps, why);
	return rc;
}

static void remove_folder(const struct folder *f)
{
	char path[176];

	for (int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s.cfl", f->path[i]);
		(void)unlink(path);
		(void)snprintf(path, sizeof(path), "%s.hdr", f->path[i]);
		(void)unlink(path);
	}
	(void)rmdir(f->dir);
}

static int run_once(char *const argv[], int threads, double *ms, struct bs_fail *why)
{
	const char *path = getenv("BART");
	const int64_t from = bs_now_ns();
	const pid_t pid = path != NULL ? fork() : -1;
	int status = 0;

	if (pid == 0) {
		const int null = open("/dev/null", O_WRONLY);
		char n[16];

		(void)snprintf(n, sizeof(n), "%d", threads);
		(void)setenv("OMP_NUM_THREADS", n, 1);
		(void)dup2(null, 1);
		(void)execv(path, argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return bs_fail(why, BS_ERR_IO, "BART: %s", strerror(errno));
	*ms = (double)(bs_now_ns() - from) * 1e-6;
	return status == 0 ? 0
			   : bs_fail(why, BS_ERR_IO, "bart %s: status %d", argv[1],
				     WEXITSTATUS(status));
}

static int run(char *const argv[], int threads, double *ms, struct bs_fail *why)
{
	double took[RUNS];
	int rc = 0;

	for (int i = 0; i < RUNS && rc == 0; i++)
		rc = run_once(argv, threads, &took[i], why);
	if (rc != 0)
		return rc;
	for (int i = 0; i < RUNS; i++) { /* the one that has as many below as above */
		int below = 0;

		for (int k = 0; k < RUNS; k++)
			below += took[k] < took[i] || (took[k] == took[i] && k < i);
		*ms = below == RUNS / 2 ? took[i] : *ms;
	}
	return 0;
}

int bs_bart_adjoint(const struct bs_bart_scan *s, int threads, float *image, double *ms,
		    struct bs_fail *why)
{
	struct folder f = { 0 };
	struct bs_cfl got = { 0 };
	char size[64];
	char *const argv[] = { "bart",       "nufft",        "-a",        "-d", size,
			       f.path[TRAJ], f.path[KSPACE], f.path[OUT], NULL };
	const uint64_t want = (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2] * s->coils;
	int rc = open_folder(&f, s, why);

	(void)snprintf(size, sizeof(size), "%u:%u:%u", s->matrix[0], s->matrix[1], s->matrix[2]);
	if (rc == 0)
		rc = run(argv, threads, ms, why);
	if (rc == 0 && image != NULL)
		rc = bs_cfl_read(&got, f.path[OUT], why);
	if (rc == 0 && image != NULL && got.size != want)
		rc = bs_fail(why, BS_ERR_FORMAT, "bart nufft: an image of another size");
	if (rc == 0 && image != NULL)
		memcpy(image, got.data, want * 8);
	bs_cfl_free(&got);
	remove_folder(&f);
	return rc;
}

int bs_bart_pics(const struct bs_bart_scan *s, double lambda, int iterations, int threads,
		 double *ms, struct bs_fail *why)
{
	struct folder f = { 0 };
	char weight[32];
	char count[16];
	char *const argv[] = { "bart",       "pics",      "-l2", "-r",         weight,
			       "-i",         count,       "-t",  f.path[TRAJ], f.path[KSPACE],
			       f.path[MAPS], f.path[OUT], NULL };
	int rc = open_folder(&f, s, why);

	(void)snprintf(weight, sizeof(weight), "%g", lambda);
	(void)snprintf(count, sizeof(count), "%d", iterations);
	if (rc == 0)
		rc = run(argv, threads, ms, why);
	remove_folder(&f);
	return rc;
}
