/*
 * test/twin/twin_devices_slices.c - frames of several slices, each with its own sensitivities, on
 * one GPU and on several: as on the host, in any order of the slices, with and without a deadline
 *
 * Images within 1e-5 of the host's, as in twin_devices.c; a slice that comes again has the same
 * bytes. Arming copies the maps of all slices; no device or pinned allocation after it.
 */
#include "test/support/check.h"

#include "core/thread/clock.h"
#include "test/twin/devices.h"

#define SLICES 3u

static int image_of(struct armed *a, uint32_t frame, const float *data, int64_t deadline_ns,
		    float *image)
{
	const struct bs_protocol *p = &a->p;
	struct bs_report report = { 0 };
	int rc = a->engine->begin(a->self, frame);

	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
		rc = a->engine->add(a->self, frame, r, NULL,
				    data + 2ull * r * p->samples * p->coils, p->samples);
	return rc != 0 ? rc : a->engine->image(a->self, frame, NULL, deadline_ns, image, &report);
}

static void check_layout(const char *name, const struct bs_protocol *p, const struct layout *l,
			 const struct bs_tables *tables, const float *data, float *const *host)
{
	static const uint32_t order[] = { 2, 0, 1, 2, 0 };
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	float *image = malloc(floats * 4);
	uint64_t hash[SLICES] = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	char words[64];
	int rc = open_cuda(&a, p, l, tables, NULL, 0, &why);

	words_of(words, sizeof(words), l);
	CHECK(rc == 0, "%s, %s: armed %s", name, words, why.text);
	allocations = 0;
	for (size_t i = 0; rc == 0 && i < 2 * sizeof(order) / sizeof(order[0]); i++) {
		const bool late = i >= sizeof(order) / sizeof(order[0]);
		const uint32_t slice = order[i % (sizeof(order) / sizeof(order[0]))];
		const uint64_t known = hash[slice];
		double e;

		rc = image_of(&a, bs_protocol_frame(p, slice, i % 2), data,
			      late ? bs_now_ns() + 60000000000 : INT64_MAX, image);
		e = check_rel(image, host[slice], floats);
		hash[slice] = hash_of(image, floats);
		CHECK(rc == 0 && e <= 1e-5 && (late || known == 0 || known == hash[slice]),
		      "%s, %s: slice %u%s by its maps: images differ by %.1e", name, words, slice,
		      late ? ", under a deadline," : "", e);
	}
	CHECK(allocations == 0, "%s, %s: %u allocations", name, words, allocations);
	armed_close(&a);
	free(image);
}

static void compare(const char *name, struct bs_protocol p)
{
	struct bs_protocol on_host;
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj };
	struct bs_fail why = { 0 };
	struct armed h;
	float *host[SLICES];
	float *data = pool_of((size_t)p.readouts * p.samples * p.coils * 2);
	float *maps;
	int rc;

	p.combine = BS_COMBINE_SENSE;
	p.slices = SLICES;
	p.contrasts = 2;
	bs_plan_make(&p);
	maps = pool_of(bs_protocol_voxels(&p) * p.coils * SLICES * 2);
	tables.maps = maps;
	rc = bs_traj_make(&traj, &p, &why);
	on_host = p;
	on_host.backend = BS_BACKEND_HOST;
	bs_plan_make(&on_host);
	memset(&h, 0, sizeof(h));
	if (rc == 0)
		rc = armed_open(&h, NULL, &on_host, &tables,
				(struct bs_arm_env){ .team = team, .cache_dir = "" }, &why);
	for (uint32_t s = 0; s < SLICES; s++) {
		host[s] = malloc((size_t)bs_protocol_image_bytes(&p));
		if (rc == 0)
			rc = image_of(&h, bs_protocol_frame(&p, s, 0), data, INT64_MAX, host[s]);
	}
	CHECK(rc == 0, "%s: the host's images %s", name, why.text);
	for (int l = 0; rc == 0 && l < layout_count; l++)
		check_layout(name, &p, &layouts[l], &tables, data, host);
	armed_close(&h);
	for (uint32_t s = 0; s < SLICES; s++)
		free(host[s]);
	bs_traj_close(&traj);
	free_pool(data);
	free_pool(maps);
}

static void all(void)
{
	struct bs_protocol p = protocol(BS_METHOD_SENSE);

	compare("sense", p);
	p.precond = BS_PRECOND_JACOBI;
	bs_plan_make(&p);
	compare("sense, Jacobi", p);
	p.precond = BS_PRECOND_CIRCULANT;
	bs_plan_make(&p);
	compare("sense, circulant", p);
	if (small())
		return;
	compare("ls, combined", protocol(BS_METHOD_LS));
	compare("gridding, combined", protocol(BS_METHOD_GRIDDING));
	p = protocol(BS_METHOD_CARTESIAN);
	p.traj.type = BS_TRAJ_CARTESIAN;
	p.matrix[0] = p.matrix[1] = p.encoded[0] = p.encoded[1] = 24;
	p.encoded[2] = 1;
	p.samples = p.readouts = 24;
	bs_plan_make(&p);
	compare("cartesian, combined", p);
}

int main(void)
{
	return devices_main("slices with maps of their own", all);
}
