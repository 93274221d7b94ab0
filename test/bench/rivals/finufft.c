/* test/bench/rivals/finufft.c - see finufft.h */
#include "test/bench/rivals/finufft.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"

#define TRIALS        3
#define FFTW_MEASURE  0 /* of fftw3.h */
#define FFTW_ESTIMATE 64
#define SORT_ALWAYS   1
#define SORT_AUTO     2

/* Its options, in the order of its C interface. */
struct options {
	int modeord, spreadinterponly, debug, spread_debug, showwarn, nthreads, fftw, spread_sort;
	int spread_kerevalmeth, spread_kerpad;
	double upsampfac;
	int spread_thread, maxbatchsize, spread_nthr_atomic, spread_max_sp_size, spread_kerformula;
	void *lock[3];
};

static struct {
	void *library;
	void (*default_opts)(struct options *);
	int (*makeplan)(int type, int dim, const int64_t *modes, int sign, int transforms,
			float tolerance, void **plan, const struct options *);
	int (*setpts)(void *plan, int64_t samples, const float *x, const float *y, const float *z,
		      int64_t targets, const float *, const float *, const float *);
	int (*execute)(void *plan, float *data, float *image);
	int (*destroy)(void *plan);
} lib;

/* Another version's options are of another size, or other things stand where these should. */
static bool known(void)
{
	unsigned char room[2 * sizeof(struct options)];
	struct options o;

	memset(room, 0xa5, sizeof(room));
	lib.default_opts((struct options *)(void *)room);
	for (size_t i = sizeof(o); i < sizeof(room); i++)
		if (room[i] != 0xa5)
			return false;
	memcpy(&o, room, sizeof(o));
	return o.debug == 0 && o.modeord == 0 && o.nthreads == 0 && o.maxbatchsize == 0 &&
	       o.spreadinterponly == 0 && o.upsampfac >= 0.0 && o.upsampfac <= 2.0 &&
	       o.lock[0] == NULL && o.lock[2] == NULL;
}

bool bs_finufft_there(struct bs_fail *why)
{
	struct {
		void *to;
		const char *name;
	} all[] = { { &lib.default_opts, "finufft_default_opts" },
		    { &lib.makeplan, "finufftf_makeplan" },
		    { &lib.setpts, "finufftf_setpts" },
		    { &lib.execute, "finufftf_execute" },
		    { &lib.destroy, "finufftf_destroy" } };
	const char *path = getenv("FINUFFT");
	void *library;

	if (lib.library != NULL)
		return true;
	if (path == NULL || path[0] == '\0') {
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "FINUFFT: FINUFFT does not name it");
		return false;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library != NULL && i < sizeof(all) / sizeof(all[0]); i++) {
		void *at = dlsym(library, all[i].name);

		memcpy(all[i].to, &at, sizeof(at)); /* a function's address, as dlsym gives it */
		library = at == NULL ? NULL : library;
	}
	if (library == NULL) {
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "FINUFFT: %s", dlerror());
		return false;
	}
	if (!known()) {
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "FINUFFT: %s is not of version 2.5", path);
		return false;
	}
	lib.library = library; /* for the process's life */
	return true;
}

void bs_finufft_run(void *arg)
{
	struct bs_finufft *f = arg;
	float *in = (float *)(uintptr_t)f->in; /* its interface takes no const */

	(void)(f->forward ? lib.execute(f->plan, f->out, in) : lib.execute(f->plan, in, f->out));
}

static void unmake(struct bs_finufft *f)
{
	if (f->plan != NULL)
		(void)lib.destroy(f->plan);
	f->plan = NULL;
}

struct choice {
	double upsampling;
	int fftw, sort, threads;
};

static int make(struct bs_finufft *f, const struct bs_nufft_spec *s, const struct choice *c,
		struct bs_fail *why)
{
	const int64_t modes[3] = { s->matrix[0], s->matrix[1], s->matrix[2] };
	struct options o;
	int rc;

	lib.default_opts(&o);
	o.nthreads = c->threads;
	o.upsampfac = c->upsampling;
	o.fftw = c->fftw;
	o.spread_sort = c->sort;
	rc = lib.makeplan(f->forward ? 2 : 1, (int)s->dims, modes, f->forward ? -1 : 1,
			  (int)s->coils, (float)s->accuracy, &f->plan, &o);
	if (rc > 1) { /* 1: a warning */
		f->plan = NULL;
		return bs_fail(why, BS_ERR_UNSUPPORTED, "finufftf_makeplan: %d", rc);
	}
	rc = lib.setpts(f->plan, (int64_t)s->samples, f->k[0], f->k[1], f->k[2], 0, NULL, NULL,
			NULL);
	return rc <= 1 ? 0 : bs_fail(why, BS_ERR_UNSUPPORTED, "finufftf_setpts: %d", rc);
}

static double least_of(struct bs_finufft *f)
{
	double least = 0.0;

	for (int i = -1; i < TRIALS; i++) {
		const int64_t from = bs_now_ns();

		bs_finufft_run(f);
		const double ms = (double)(bs_now_ns() - from) * 1e-6;

		least = i >= 0 && (least == 0.0 || ms < least) ? ms : least;
	}
	return least;
}

/* Upsampling, the transform's plan and sorting with all threads; then fewer threads. */
static int choose(struct bs_finufft *f, const struct bs_nufft_spec *s, int threads,
		  struct bs_fail *why)
{
	struct choice best = { 0 };
	double least = 0.0;

	for (int i = 0; i < 10; i++) {
		struct choice c = { i % 2 == 0 ? 2.0 : 1.25,
				    i / 2 % 2 == 0 ? FFTW_ESTIMATE : FFTW_MEASURE,
				    i / 4 == 0 ? SORT_AUTO : SORT_ALWAYS, threads };
		struct bs_fail no;
		double ms = 0.0;

		if (i >= 8) {
			c = best;
			c.threads = i == 8 ? (threads + 3) / 4 : 1;
		}
		if (make(f, s, &c, &no) == 0)
			ms = least_of(f);
		unmake(f);
		if (ms > 0.0 && (least == 0.0 || ms < least)) {
			least = ms;
			best = c;
		}
	}
	if (least == 0.0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "FINUFFT: none of its settings");
	(void)snprintf(f->how, sizeof(f->how), "upsampling %g, %s%s, threads %d", best.upsampling,
		       best.fftw == FFTW_MEASURE ? "measured" : "estimated",
		       best.sort == SORT_ALWAYS ? ", sorted" : "", best.threads);
	return make(f, s, &best, why);
}

int bs_finufft_open(struct bs_finufft *f, const struct bs_nufft_spec *s, bool forward,
		    const float *k, const float *in, float *out, int threads, struct bs_fail *why)
{
	memset(f, 0, sizeof(*f));
	f->forward = forward;
	f->in = in;
	f->out = out;
	for (uint32_t a = 0; a < s->dims; a++) {
		f->k[a] = malloc(s->samples * sizeof(float));
		if (f->k[a] == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "FINUFFT's samples");
		for (uint64_t m = 0; m < s->samples; m++)
			f->k[a][m] = (float)(6.283185307179586 * (double)k[m * s->dims + a]);
	}
	return choose(f, s, threads, why);
}

void bs_finufft_close(struct bs_finufft *f)
{
	unmake(f);
	for (int a = 0; a < 3; a++)
		free(f->k[a]);
	memset(f, 0, sizeof(*f));
}
