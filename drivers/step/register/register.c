/*
 * drivers/step/register/register.c - a step that says how an object has moved: the rigid motion of
 * each volume against the scan's first one
 *
 *     cc -O3 -o register register.c -lm
 *     steps = ( { name = "register"; on = "NAVIGATOR"; command = "/usr/local/bin/register";
 *                 budget_ms = 150.0; } );
 *
 * With CUDA, in /usr/local/cuda, it is built so:
 *
 *     nvcc -O3 -DBS_GPU=1 -c -o gpu.o register.cu
 *     cc -O3 -DBS_GPU=1 -o register register.c gpu.o -L/usr/local/cuda/lib64 -lcudart_static \
 *         -lstdc++ -ldl -lrt -lpthread -lm
 *
 * It then works on the first GPU that it sees (CUDA_VISIBLE_DEVICES); where there is none, or that
 * one fails, on the host, and says why. A word in the command decides: "register host" works on the
 * host, and "register cuda" ends where there is no GPU.
 *
 * The image leaves as it was, with eight numbers:
 *   0 .. 2  where the volume's center has moved, mm along x, y, z of the image (read, phase, slice)
 *   3 .. 5  rotation about the center, degrees, a vector along its axis in the same system
 *   6       how unlike the two still are: RMS of the difference over RMS of the first
 *   7       number of the image that counts as the first: 1, unless the step was started later
 * A point x of the first volume lies at R x + t in this one. For volumes of 16 to 64 voxels an
 * axis, and motion of up to some three voxels and twenty degrees. Magnitudes are compared, at two
 * widths of a Gaussian, after one factor for the brightness. An object should not leave the volume.
 * Source: inverse compositional Gauss-Newton, Baker and Matthews, Int J Comput Vis 2004;56:221-255;
 * interpolation: cubic splines, Unser et al., IEEE Trans Signal Process 1993;41:821-848.
 */
#define _GNU_SOURCE
#include "ipc/step.h" /* installed: <boreside/step.h> */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/step/register/register.h" /* installed: "register.h" */

#define NUMBERS    8
#define VOXELS_MAX (LONGEST * LONGEST * LONGEST)

static bool on_gpu, asks_gpu; /* the volumes lie on a GPU; the site's command says so */

/* The vector of a rotation by less than half a turn. */
static void rotation_vector(double w[3], const double r[9])
{
	const double cosine = 0.5 * (r[0] + r[4] + r[8] - 1.0);
	const double angle = acos(cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine);
	const double f = angle > 1e-9 ? 0.5 * angle / sin(angle) : 0.5;

	w[0] = f * (r[7] - r[5]);
	w[1] = f * (r[2] - r[6]);
	w[2] = f * (r[3] - r[1]);
}

/* Makes a volume of the image's magnitudes, smoothed. False: there is no memory. */
static bool take_volume(struct volume *to, const struct volume *shape, const float *from,
			bool is_complex, int width)
{
	const struct gaussian g = gaussian_of(width);
	float *at = realloc(to->at, voxels(shape) * sizeof(*at));
	double line[LONGEST];

	if (at == NULL)
		return false;
	*to = *shape;
	to->at = at;
	for (size_t i = 0; i < voxels(to); i++)
		at[i] = magnitude(from, is_complex, i);
	for (int a = 0; a < 3; a++)
		for (size_t i = 0; i < lines(to, a); i++)
			smooth_line(to, a, i, &g, line);
	return true;
}

/* Makes slopes and their products. False: there is no memory. */
static bool prepare(struct fixed *f)
{
	float *slope = realloc(f->slope, voxels(&f->v) * 6 * sizeof(*slope));
	double sum[SLOPES] = { 0.0 };

	if (slope == NULL)
		return false;
	f->slope = slope;
	for (size_t i = 0; i < voxels(&f->v); i++)
		add_slopes(sum, f, &f->v, i);
	make_normal(f->normal, sum);
	return true;
}

/* Moves the pose until it does not change. */
static void align(struct pose *p, const struct fixed *f, const struct volume *v)
{
	bool rests = false;

	p->bright = 1.0;
	for (int turn = 0; turn <= TURNS && !rests; turn++) {
		double sum[SUMS] = { 0.0 };

		for (size_t i = 0; i < voxels(v); i++)
			add_voxel(sum, f, v, p, i);
		rests = improve(p, sum, f, v, turn);
	}
}

/* As register_cuda (register.h), on the host. False: there is no memory. */
static bool register_host(struct pose *p, const struct volume *shape, const float *from,
			  bool is_complex, bool first)
{
	static struct fixed fixed[WIDTHS];
	static struct volume moved;
	double line[LONGEST];

	for (int w = 0; w < WIDTHS; w++) {
		if (!take_volume(first ? &fixed[w].v : &moved, shape, from, is_complex, w))
			return false;
		if (first && !prepare(&fixed[w]))
			return false;
		if (first)
			continue;
		for (int a = 0; a < 3; a++)
			for (size_t i = 0; i < lines(&moved, a); i++)
				spline_line(&moved, a, i, line);
		align(p, &fixed[w], &moved);
	}
	return true;
}

static bool is_volume(const struct bs_step_image *in)
{
	uint64_t n = in->channels == 1 && in->kind != 0;

	for (int a = 0; a < 3; a++) {
		n *= in->matrix[a];
		if (in->matrix[a] < 8 || in->matrix[a] > LONGEST || !(in->fov_mm[a] > 0.0f))
			return false;
	}
	return n > 0 && n <= VOXELS_MAX;
}

/* Says why the GPU is of no use. Ends the step where the site asked for one. */
static void leave_gpu(const char *why)
{
	(void)fprintf(stderr, "register: %s: %s\n", asks_gpu ? "no GPU" : "on the host", why);
	if (asks_gpu)
		exit(1);
	on_gpu = false;
}

static void open_gpu(void)
{
#if BS_GPU
	const char *name = NULL, *why = register_cuda_open(&name);

	on_gpu = why == NULL;
	if (on_gpu)
		(void)fprintf(stderr, "register: on %s\n", name);
	else
		leave_gpu(why);
#else
	leave_gpu("built without CUDA");
#endif
}

/* As register_host, where the volumes lie. A GPU that fails takes the first volume with it. */
static bool register_volume(struct pose *p, const struct volume *shape, const float *from,
			    bool is_complex, bool *first)
{
#if BS_GPU
	const char *why = on_gpu ? register_cuda(p, shape, from, is_complex, *first) : NULL;

	if (why != NULL) {
		leave_gpu(why);
		*first = true;
	}
	if (on_gpu)
		return true;
#endif
	return register_host(p, shape, from, is_complex, *first);
}

/* Registers the image with the scan's first, or keeps it as that. False: it is no volume. */
static bool measure(const struct bs_step_memory *m, double number[NUMBERS])
{
	static struct volume last;
	static uint32_t scan = UINT32_MAX, image;
	const struct bs_step_image *in = &m->in;
	const float *from = (const float *)(const void *)((const char *)m + m->in_at);
	struct pose p = { .r = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
	struct volume shape = { .at = NULL };
	bool first = in->scan != scan;

	if (!is_volume(in))
		return false;
	for (int a = 0; a < 3; a++) {
		shape.n[a] = (int)in->matrix[a];
		shape.mm[a] = (double)in->fov_mm[a] / shape.n[a];
		first = first || last.n[a] != shape.n[a];
	}
	if (!register_volume(&p, &shape, from, in->type == 7, &first))
		return false;
	if (first) {
		last = shape;
		scan = in->scan;
		image = in->image;
	}
	memcpy(number, p.t, sizeof(p.t));
	rotation_vector(number + 3, p.r);
	for (int a = 3; a < 6; a++)
		number[a] *= 180.0 / M_PI;
	number[6] = p.unlike;
	number[7] = image;
	return true;
}

int main(int argc, char **argv)
{
	const char *path = getenv(BS_STEP_SOCKET);
	const char *where = argc > 1 ? argv[1] : "";
	int fd = -1;
	struct bs_step_memory *m = path != NULL ? bs_step_open(path, &fd) : NULL;

	if (m == NULL) {
		(void)fprintf(stderr, "register: no service at %s\n", path != NULL ? path : "?");
		return 1;
	}
	asks_gpu = strcmp(where, "cuda") == 0;
	if (strcmp(where, "host") != 0)
		open_gpu();
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	while (bs_step_wait(m, fd)) {
		double number[NUMBERS] = { 0.0 };

		m->out.numbers = measure(m, number) ? NUMBERS : 0;
		m->out.what = BS_STEP_NUMBERS_ALONE;
		m->out.bytes = 0;
		memcpy(m->out.number, number, sizeof(number));
		bs_step_store(&m->answered, m->asked);
	}
	return 0;
}
