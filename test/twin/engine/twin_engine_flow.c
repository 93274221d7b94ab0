/*
 * test/twin/engine/twin_engine_flow.c - phases, and velocities against a set 0 that is kept:
 * engines on the host and their twins on the GPU, summed, resized, solved; nothing is allocated
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <complex.h>

#include "test/twin/engine/scanned_lines.h"

#define X 48u
#define Y 40u
#define C 4u

static struct bs_team *team;
static uint64_t seed = 21;

static struct bs_protocol protocol(bool solves, enum bs_combine combine, uint32_t image,
				   enum bs_output output)
{
	struct bs_protocol p = lines_of(X, Y, 1, X, C);

	p.method = solves ? BS_METHOD_CARTESIAN_SENSE : BS_METHOD_CARTESIAN;
	p.parallel = solves ? BS_PARALLEL_SENSE : BS_PARALLEL_NONE;
	p.image_matrix[0] = p.image_matrix[1] = image;
	p.image_matrix[2] = 1;
	p.slices = 2;
	solved(&p, 0.05, 6);
	p.combine = combine;
	p.output = output;
	return planned(p);
}

/* The angle between two values of a circle that goes from -half to half. */
static double apart(float a, float b, double half)
{
	const double off = fabs((double)a - (double)b);

	return fmin(off, fabs(2.0 * half - off));
}

/* Set 0 of two slices, set 1 of both, and set 1 without a set 0; or three phases. */
static void run(const struct bs_engine *engine[2], const struct bs_protocol *p, const float *maps,
		bool hurry)
{
	static const struct {
		uint32_t frame, data;
		struct bs_flow flow;
	} steps[] = { { 0, 0, { 1, 0, 90.0f } },
		      { 1, 1, { 2, 0, 90.0f } },
		      { 0, 2, { 0, 1, 90.0f } },
		      { 1, 3, { 0, 2, 90.0f } },
		      { 1, 3, { 0, 0, 90.0f } } };
	const bool flows = p->output == BS_OUTPUT_VELOCITY;
	const size_t line = 2ul * X * C;
	const size_t n = (size_t)bs_protocol_image_voxels(p);
	struct bs_tables tables = { .maps = maps };
	float *data = malloc(4 * Y * line * sizeof(float));
	float *image[2] = { malloc(n * 4), malloc(n * 4) };
	struct fed f[2] = { 0 };
	struct bs_fail why = { 0 };
	int rc = 0;

	fill_random(data, 4 * Y * line, &seed);
	for (int e = 0; rc == 0 && e < 2; e++)
		rc = fed_open(&f[e], engine[e], p, &tables, STAGED, &why);
	CHECK(rc == 0, "armed %s", why.text);
	allocations = 0;
	for (size_t s = 0; rc == 0 && s < sizeof(steps) / sizeof(steps[0]); s++) {
		const bool circle = !flows || steps[s].flow.against > 0;
		const double half = flows ? 90.0 : acos(-1.0);
		double worst = 0.0;
		double most = 0.0;
		size_t many = 0;

		for (int e = 0; rc == 0 && e < 2; e++) {
			const struct bs_engine *g = f[e].on.engine;
			struct bs_report report = { 0 };

			if (flows)
				report.flow = steps[s].flow;
			rc = g->begin(f[e].on.self, steps[s].frame);
			for (uint32_t y = 0; rc == 0 && y < Y; y++)
				rc = fed_add(&f[e], steps[s].frame, y,
					     data + (steps[s].data * Y + y) * line, y);
			if (rc == 0)
				rc = g->image(f[e].on.self, steps[s].frame, NULL,
					      hurry ? bs_now_ns() + INT64_C(60000000000)
						    : INT64_MAX,
					      image[e], &report);
		}
		for (size_t v = 0; rc == 0 && v < n; v++) {
			const double off = circle ? apart(image[0][v], image[1][v], half) / half
						  : fabs((double)image[0][v] - image[1][v]);

			most = fmax(most, fabs((double)image[0][v]));
			worst = fmax(worst, off);
			many += off > (circle ? 1e-4 : 1e9);
		}
		/* single sums of 4 random products: few are so small that their angle is loose */
		CHECK(rc == 0 && (circle ? many <= n / 100 : worst <= 2e-5 * most) && most > 0.0,
		      "%s, combine %d, %u: step %zu: %.1e, %zu of %zu loose",
		      bs_method_name(p->method), p->combine, p->image_matrix[0], s, worst, many, n);
	}
	CHECK(allocations == 0, "nothing is allocated");
	for (int e = 0; e < 2; e++)
		if (f[e].on.engine != NULL)
			fed_close(&f[e]);
	free(image[0]);
	free(image[1]);
	free(data);
}

static void compare_all(void)
{
	static const struct bs_engine *lines[2] = { &bs_engine_host, &bs_engine_cuda };
	static const struct bs_engine *solves[2] = { &bs_engine_host, &bs_engine_cuda };
	struct bs_protocol p = protocol(false, BS_COMBINE_SENSE, 0, BS_OUTPUT_PHASE);
	float *maps = malloc(2 * bs_protocol_map_values(&p) * p.slices * sizeof(float));

	fill_random(maps, 2 * bs_protocol_map_values(&p) * p.slices, &seed);
	for (int o = BS_OUTPUT_PHASE; o <= BS_OUTPUT_VELOCITY; o++)
		for (uint32_t image = 0; image <= 56; image += 56) {
			p = protocol(false, BS_COMBINE_SENSE, image, (enum bs_output)o);
			run(lines, &p, maps, false);
			p = protocol(true, BS_COMBINE_SENSE, image, (enum bs_output)o);
			run(solves, &p, maps, image > 0);
			if (o == BS_OUTPUT_PHASE)
				continue;
			p = protocol(false, BS_COMBINE_RSS, image, (enum bs_output)o);
			run(lines, &p, NULL, false);
		}
	free(maps);
}

int main(void)
{
	return twin_main("velocities in the CUDA engine", 2, compare_all);
}
