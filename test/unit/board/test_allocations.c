/*
 * test/unit/board/test_allocations.c - an armed protocol allocates nothing: every call of malloc by
 * us or by a library is counted while whole scans go through whitening, compression, calibration
 * and images of lengths that transforms find hard (prime, odd) and of as many coils as dense
 * algebra finds large. fault_alloc counts the same in the service, at one size
 */
#define _GNU_SOURCE
#include "board/arm/armed.h"
#include "core/random.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

#if !CHECK_SANITIZED
/* The C library's own, by the names that it keeps for this. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static atomic_uint calls;

void *malloc(size_t n)
{
	atomic_fetch_add(&calls, 1);
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add(&calls, 1);
	return __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
	atomic_fetch_add(&calls, 1);
	return __libc_realloc(at, n);
}

void *memalign(size_t align, size_t n)
{
	atomic_fetch_add(&calls, 1);
	return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **at, size_t align, size_t n)
{
	*at = memalign(align, n);
	return *at != NULL ? 0 : 12; /* ENOMEM */
}

enum { COILS = 20, SAMPLES = 118, LINES = 37 };

struct way {
	const char *name;
	enum bs_method method;
	enum bs_parallel parallel;
	enum bs_maps_from maps;
	enum bs_partial_fourier partial;
	uint32_t virtual_coils;
	enum bs_compression compression;
	uint32_t partitions;
};

static struct bs_fail why;
static float samples[COILS * SAMPLES * 2];
static float image[2 * COILS * 59 * LINES * 5];
static struct bs_random randoms;

static struct bs_protocol protocol(const struct way *w)
{
	struct bs_protocol p = lines_of(59, LINES, w->partitions, SAMPLES, COILS);

	p.method = w->method;
	p.by_header = 1;
	p.averages = 1;
	p.uses = 1u << BS_KIND_CALIBRATION | 1u << BS_KIND_NOISE;
	p.parallel = w->parallel;
	mapped_by(&p, w->maps, 24);
	p.espirit_crop = 0.8;
	p.combine = w->maps != BS_MAPS_FILE ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	p.output = BS_OUTPUT_MAGNITUDE;
	p.partial_fourier = w->partial;
	p.pocs_iterations = 2;
	p.pocs_taper = 0.5;
	p.virtual_coils = w->virtual_coils;
	p.compression = w->compression;
	p.whiten = BS_WHITEN_AUTO;
	p.grappa_kernel[0] = p.grappa_kernel[1] = 5;
	p.grappa_kernel[2] = w->partitions > 1 ? 3 : 1;
	p.grappa_sources = 2;
	p.grappa_lambda = 5e-3;
	solved(&p, 0.1, 3);
	p.max_sample = 1e12;
	return planned_host(p);
}

static int give(const struct bs_armed *a, uint32_t row, uint64_t flags)
{
	struct bs_recon_image out = { .pixels = image };
	struct bs_mrd_acq h = { .version = 1,
				.flags = flags,
				.number_of_samples = SAMPLES,
				.available_channels = COILS,
				.active_channels = COILS };
	int images = 0;
	int rc;

	h.idx.kspace_encode_step_1 = (uint16_t)(row % LINES);
	h.idx.kspace_encode_step_2 = (uint16_t)(row / LINES);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i += 2) {
		double z[2];

		bs_random_normal(&randoms, z);
		samples[i] = (float)z[0];
		samples[i + 1] = (float)z[1];
	}
	do {
		rc = bs_armed_readout(a, &h, row, samples, 1, &why);
		while (rc >= 0 && bs_recon_ready(a->recon) > 0) {
			if (bs_recon_pop(a->recon, &out, INT64_MAX, &why) != 1)
				return why.code;
			images++;
		}
	} while (rc == BS_RECON_POP_FIRST);
	return rc < 0 ? rc : images;
}

/* A scan of noise: calibration lines around the center, then every second line. */
static int scan(const struct bs_armed *a, const struct bs_noise *noise)
{
	const struct bs_scan_info info = { .acceleration = { 2, 1 },
					   .calibration = BS_CALIBRATION_SEPARATE };
	const uint32_t partitions = a->protocol->encoded[2];
	int images = 0;

	bs_armed_scan(a, &info, noise);
	for (uint32_t row = 0; row < LINES * partitions && images >= 0; row++)
		if (row % LINES >= 8 && row % LINES < 30)
			images = give(a, row, BS_MRD_IS_CALIBRATION);
	for (uint32_t row = 0; row < LINES * partitions && images >= 0; row++)
		if (row % LINES % 2 == 0)
			images +=
				give(a, row,
				     row + 1 == LINES * partitions ? BS_MRD_LAST_IN_REPETITION : 0);
	return images;
}

static void check_way(const struct way *w, struct bs_team *team)
{
	static struct bs_site site;
	static struct bs_noise noise;
	struct bs_protocol p = protocol(w);
	struct bs_armed a;
	unsigned before;
	int images = 0;

	noise = (struct bs_noise){ .coils = COILS, .readouts = 1, .samples = 1024 };
	for (size_t c = 0; c < COILS; c++)
		noise.sum[c * COILS + c] = 1024.0;
	why.text[0] = '\0';
	if (bs_armed_open(&a, &site, &p, team, &why) != 0) {
		CHECK(false, "%s is armed: %s", w->name, why.text);
		return;
	}
	before = atomic_load(&calls);
	for (int i = 0; i < 2 && images >= 0; i++) {
		const int made = scan(&a, &noise);

		images = made < 0 ? made : images + made;
	}
	CHECK(atomic_load(&calls) == before, "%s: %u allocations in two scans", w->name,
	      atomic_load(&calls) - before);
	CHECK(images == 2, "%s: %d images %s", w->name, images, why.text);
	bs_armed_close(&a);
}

int main(void)
{
	static const struct way all[] = {
		{ "plain", BS_METHOD_CARTESIAN, BS_PARALLEL_NONE, BS_MAPS_FILE,
		  BS_PARTIAL_FOURIER_NONE, 0, BS_COMPRESSION_SVD, 1 },
		{ "plain in 3D", BS_METHOD_CARTESIAN, BS_PARALLEL_NONE, BS_MAPS_FILE,
		  BS_PARTIAL_FOURIER_NONE, 0, BS_COMPRESSION_SVD, 5 },
		{ "grappa", BS_METHOD_CARTESIAN, BS_PARALLEL_GRAPPA, BS_MAPS_FILE,
		  BS_PARTIAL_FOURIER_NONE, 0, BS_COMPRESSION_SVD, 1 },
		{ "grappa and projections, compressed", BS_METHOD_CARTESIAN, BS_PARALLEL_GRAPPA,
		  BS_MAPS_FILE, BS_PARTIAL_FOURIER_POCS, 7, BS_COMPRESSION_GEOMETRIC, 1 },
		{ "sense, espirit", BS_METHOD_CARTESIAN_SENSE, BS_PARALLEL_SENSE, BS_MAPS_ESPIRIT,
		  BS_PARTIAL_FOURIER_NONE, 0, BS_COMPRESSION_SVD, 1 },
		{ "walsh, compressed", BS_METHOD_CARTESIAN, BS_PARALLEL_NONE, BS_MAPS_WALSH,
		  BS_PARTIAL_FOURIER_NONE, 7, BS_COMPRESSION_SVD, 5 },
	};
	struct bs_team *team = NULL;

	CHECK(bs_team_open(&team, 2, &why) == 0, "a team");
	bs_random_seed(&randoms, 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		check_way(&all[i], team);
	bs_team_close(team);
	return check_done();
}
#else
int main(void)
{
	SKIP("allocations cannot be counted under a sanitizer, which replaces malloc itself");
	return check_done();
}
#endif
