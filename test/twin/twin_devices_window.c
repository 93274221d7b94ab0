/*
 * test/twin/twin_devices_window.c - sliding windows, previews and weights on several GPUs against
 * one
 *
 * Layouts and bounds as in twin_devices.c: 1e-5 from one GPU's image, the bytes of as many GPUs
 * elsewhere.
 */
#include "test/support/check.h"

#include "test/twin/devices.h"

static int slide_of(struct armed *a, const float *data, float *image)
{
	const struct bs_protocol *p = &a->p;
	const uint32_t groups = p->readouts / p->frame_step;
	struct bs_report r = { 0 };
	uint8_t held[64] = { 0 };
	int rc = 0;

	for (uint32_t g = 0; rc == 0 && g < groups; g++) {
		rc = a->engine->begin(a->self, 0);
		for (uint32_t i = 0; rc == 0 && i < p->frame_step; i++) {
			const uint32_t row = g * p->frame_step + i;

			rc = a->engine->add(a->self, 0, row, NULL,
					    data + 2ull * row * p->samples * p->coils, p->samples);
		}
		if (rc == 0)
			rc = a->engine->fold(a->self, 0, g);
		held[g] = g != 1; /* one was lost */
	}
	return rc != 0 ? rc : a->engine->image(a->self, 0, held, INT64_MAX, image, &r);
}

static int peek_of(struct armed *a, const float *data, float *image)
{
	int rc = a->engine->begin(a->self, 0);

	for (uint32_t i = 0; rc == 0 && i < a->p.readouts / 2; i++)
		rc = a->engine->add(a->self, 0, i, NULL,
				    data + 2ull * i * a->p.samples * a->p.coils, a->p.samples);
	return rc != 0 ? rc : a->engine->peek(a->self, 0, image);
}

static int whole_of(struct armed *a, const float *data, float *image)
{
	struct bs_report r = { 0 };

	return armed_image(a, data, image, &r);
}

static void part_images(const char *name, const struct bs_protocol *p,
			int (*make)(struct armed *, const float *, float *))
{
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	float *data = pool_of((size_t)p->readouts * p->samples * p->coils * 2);
	float *one = malloc(floats * 4);
	float *image = malloc(floats * 4);
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj };
	struct known known = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_traj_make(&traj, p, &why);

	for (int l = 0; rc == 0 && l < layout_count; l++) {
		struct armed a;
		float *const to = l == 0 ? one : image;
		bool same = false;
		char words[64];
		double e = 0.0;

		words_of(words, sizeof(words), &layouts[l]);
		rc = open_cuda(&a, p, &layouts[l], &tables, NULL, 0, &why);
		allocations = 0;
		if (rc == 0)
			rc = make(&a, data, to);
		if (rc == 0)
			same = same_as_known(&known, &a, to);
		if (l > 0)
			e = check_rel(image, one, floats);
		CHECK(rc == 0 && e <= 1e-5 && same && allocations == 0,
		      "%s, %s: differs from one GPU's by %.1e, the bytes of as many elsewhere: %d, "
		      "%u allocations %s",
		      name, words, e, same, allocations, why.text);
		armed_close(&a);
	}
	bs_traj_close(&traj);
	free_pool(data);
	free(one);
	free(image);
}

static void parts_of_frames(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING);

	p.preview_every = 10;
	bs_plan_make(&p);
	part_images("a preview", &p, peek_of);
	p = protocol(BS_METHOD_GRIDDING);
	p.frame_step = 15;
	bs_plan_make(&p);
	part_images("gridding, a window", &p, slide_of);
	if (small())
		return;
	p = protocol(BS_METHOD_LS);
	p.frame_step = 15;
	bs_plan_make(&p);
	part_images("ls, a window", &p, slide_of);
	p.coils = 1;
	bs_plan_make(&p);
	part_images("ls, one coil, a window", &p, slide_of);
	p.frame_step = 0;
	p.matrix[1] = 37;
	bs_plan_make(&p);
	p.density = BS_DENSITY_PIPE; /* by the whole image's kernel, not by a slab's */
	p.density_iterations = 5;
	p.normalize = BS_NORMALIZE_UNIFORM;
	p.lambda = 5e-4; /* times the voxels: about what F^H F has then */
	bs_plan_make(&p);
	part_images("ls, one coil, weights by Pipe and Menon", &p, whole_of);
}

int main(void)
{
	return devices_main("windows and previews on several GPUs", parts_of_frames);
}
