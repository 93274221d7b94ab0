/* test/bench/rivals/cufinufft.cu - see cufinufft.h */
#include "test/bench/rivals/cufinufft.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "test/bench/repeat.cuh"

#define TRIALS 7

/* Its options, in the order of its C interface. */
struct options {
	double upsampfac;
	int gpu_method, gpu_sort, gpu_binsize[3], gpu_obinsize[3], gpu_maxsubprobsize;
	int gpu_kerevalmeth, gpu_spreadinterponly, gpu_maxbatchsize, gpu_device_id;
	void *gpu_stream;
	int modeord, gpu_np, debug;
};

static struct {
	void *library;
	void (*default_opts)(struct options *);
	int (*makeplan)(int type, int dim, const int64_t *modes, int sign, int transforms,
			float tolerance, void **plan, const struct options *);
	int (*setpts)(void *plan, int64_t samples, float *x, float *y, float *z, int64_t targets,
		      float *, float *, float *);
	int (*execute)(void *plan, float *data, float *image);
	int (*destroy)(void *plan);
} lib;

/* Another version's options are of another size, or other things stand where these should. */
static bool known(void)
{
	unsigned char room[2 * sizeof(struct options)];
	struct options o;

	memset(room, 0xa5, sizeof(room));
	memset(&o, 0xa5, sizeof(o));
	lib.default_opts((struct options *)room);
	for (size_t i = sizeof(o); i < sizeof(room); i++)
		if (room[i] != 0xa5)
			return false;
	memcpy(&o, room, sizeof(o));
	return o.debug == 0 && o.modeord == 0 && o.gpu_device_id == 0 && o.gpu_maxbatchsize == 0 &&
	       o.gpu_spreadinterponly == 0 && o.upsampfac >= 0.0 && o.upsampfac <= 2.0;
}

static bool load(const char *path, struct bs_fail *why)
{
	const struct {
		void **to;
		const char *name;
	} all[] = { { (void **)&lib.default_opts, "cufinufft_default_opts" },
		    { (void **)&lib.makeplan, "cufinufftf_makeplan" },
		    { (void **)&lib.setpts, "cufinufftf_setpts" },
		    { (void **)&lib.execute, "cufinufftf_execute" },
		    { (void **)&lib.destroy, "cufinufftf_destroy" } };
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	bool whole = library != NULL;

	for (size_t i = 0; whole && i < sizeof(all) / sizeof(all[0]); i++) {
		*all[i].to = dlsym(library, all[i].name);
		whole = *all[i].to != NULL;
	}
	if (!whole) {
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "cuFINUFFT: %s", dlerror());
		return false;
	}
	if (!known()) {
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "cuFINUFFT: %s is not of version 2.5", path);
		return false;
	}
	lib.library = library; /* for the process's life */
	return true;
}

bool bs_cufinufft_there(struct bs_fail *why)
{
	const char *path = getenv("CUFINUFFT");

	if (lib.library != NULL)
		return true;
	if (path == NULL || path[0] == '\0') {
		(void)bs_fail(why, BS_ERR_UNSUPPORTED, "cuFINUFFT: CUFINUFFT does not name it");
		return false;
	}
	return load(path, why);
}

static __global__ void to_radians(const float *k, uint32_t dims, uint32_t axis, uint64_t samples,
				  float *x)
{
	const uint64_t m = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (m < samples)
		x[m] = (float)(6.283185307179586 * (double)k[m * dims + axis]);
}

int bs_cufinufft_run(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	struct bs_cufinufft *f = (struct bs_cufinufft *)arg;
	float *in = (float *)(uintptr_t)f->in; /* its interface takes no const */
	const int rc =
		f->forward ? lib.execute(f->plan, f->out, in) : lib.execute(f->plan, in, f->out);

	(void)stream; /* the plan has it */
	return rc == 0 ? 0 : bs_fail(why, BS_ERR_GPU, "cufinufftf_execute: %d", rc);
}

/* What it is asked for: the row's accuracy, or RIVAL_ACCURACY. */
static float tolerance_of(const struct bs_nufft_spec *s)
{
	const char *asked = getenv("RIVAL_ACCURACY");
	const double v = asked != NULL ? strtod(asked, NULL) : 0.0;

	return (float)(v > 0.0 ? v : s->accuracy);
}

static int make(struct bs_cufinufft *f, const struct bs_nufft_spec *s, cudaStream_t stream,
		const struct bs_cufinufft_choice *c, struct bs_fail *why)
{
	const int64_t modes[3] = { s->matrix[0], s->matrix[1], s->matrix[2] };
	struct options o;
	int rc;

	lib.default_opts(&o);
	o.upsampfac = c->upsampling;
	o.gpu_method = c->method;
	o.gpu_maxbatchsize = c->batch;
	o.gpu_stream = stream;
	rc = lib.makeplan(f->forward ? 2 : 1, (int)s->dims, modes, f->forward ? -1 : 1,
			  (int)s->coils, tolerance_of(s), &f->plan, &o);
	if (rc > 1) { /* 1: a warning */
		f->plan = NULL;
		return bs_fail(why, BS_ERR_UNSUPPORTED, "cufinufftf_makeplan: %d", rc);
	}
	rc = lib.setpts(f->plan, (int64_t)s->samples, f->k[0], f->k[1], f->k[2], 0, NULL, NULL,
			NULL);
	if (rc != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "cufinufftf_setpts: %d", rc);
	return 0;
}

static void unmake(struct bs_cufinufft *f)
{
	if (f->plan != NULL)
		(void)lib.destroy(f->plan);
	f->plan = NULL;
	(void)cudaGetLastError();
}

/* As a graph and as it is; what takes less. */
static double try_choice(struct bs_cufinufft *f, const struct bs_nufft_spec *s,
			 struct bs_stopwatch *w, const struct bs_cufinufft_choice *c)
{
	struct bs_fail no;
	float ms[TRIALS];
	double least = 0.0;

	if (make(f, s, w->stream, c, &no) == 0)
		for (int graph = 0; graph < 2; graph++)
			if (repeat_time(w, graph != 0, bs_cufinufft_run, f, ms, TRIALS, &no) == 0 &&
			    (least == 0.0 || repeat_median(ms, TRIALS) < least)) {
				least = repeat_median(ms, TRIALS);
				f->graph = graph != 0;
			}
	unmake(f);
	return least;
}

static int choose(struct bs_cufinufft *f, const struct bs_nufft_spec *s, struct bs_stopwatch *w,
		  struct bs_fail *why)
{
	static const char *const names[] = { "", "GM", "SM", "OD" }; /* as its authors call them */
	double best = 0.0;
	bool graph = false;

	for (int i = 0; i < 3 * 2 * 2; i++) { /* OD is for spreading alone */
		const struct bs_cufinufft_choice c = { 1 + i % 3, i / 6 == 0 ? (int)s->coils : 1,
						       i / 3 % 2 == 0 ? 2.0 : 1.25 };
		double ms;

		if ((i / 6 == 1 && s->coils == 1) || (c.method == 3 && f->forward))
			continue;
		ms = try_choice(f, s, w, &c);
		if (ms > 0.0 && (best == 0.0 || ms < best)) {
			best = ms;
			graph = f->graph;
			f->choice = c;
		}
	}
	if (best == 0.0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "cuFINUFFT: none of its methods");
	f->graph = graph;
	(void)snprintf(f->how, sizeof(f->how), "%s, upsampling %g, %d at once%s",
		       names[f->choice.method], f->choice.upsampling, f->choice.batch,
		       graph ? ", graph" : "");
	return make(f, s, w->stream, &f->choice, why);
}

int bs_cufinufft_open(struct bs_cufinufft *f, const struct bs_nufft_spec *s, bool forward,
		      const float *k, const float *in, float *out, struct bs_stopwatch *watch,
		      struct bs_fail *why)
{
	memset(f, 0, sizeof(*f));
	f->forward = forward;
	f->in = in;
	f->out = out;
	if (!bs_cufinufft_there(why))
		return BS_ERR_UNSUPPORTED;
	for (uint32_t a = 0; a < s->dims; a++) {
		BS_CUDA(cudaMalloc(&f->k[a], s->samples * sizeof(float)), why);
		to_radians<<<(unsigned)((s->samples + 255) / 256), 256>>>(k, s->dims, a, s->samples,
									  f->k[a]);
	}
	BS_CUDA(cudaDeviceSynchronize(), why);
	return choose(f, s, watch, why);
}

void bs_cufinufft_close(struct bs_cufinufft *f)
{
	unmake(f);
	for (int a = 0; a < 3; a++)
		(void)cudaFree(f->k[a]);
	memset(f, 0, sizeof(*f));
}
