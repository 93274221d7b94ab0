/* drivers/tool/phantom/truth.c - see truth.h and phantom.h */
#include "drivers/tool/phantom/truth.h"

#include <math.h>
#include <stdlib.h>

#include "core/protocol.h"
#include "core/tool/phantom/field.h"
#include "drivers/file/cfl.h"

int bs_phantom_check(const struct bs_phantom_scan *s, struct bs_fail *why)
{
	const struct bs_protocol *p = s->protocol;
	uint64_t acquisitions;

	if (p->samples != s->traj->samples || p->readouts != s->traj->readouts ||
	    p->dims != s->traj->dims)
		return bs_fail(why, BS_ERR_SIZE,
			       "phantom: trajectory of %u x %u x %u, protocol %u x %u x %u",
			       s->traj->readouts, s->traj->samples, s->traj->dims, p->readouts,
			       p->samples, p->dims);
	if (p->traj.unit != BS_UNIT_CYCLES_PER_VOXEL && !p->plan.on_grid)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "phantom: recordings are written in cycles/voxel only");
	if (p->samples > UINT16_MAX || p->coils > BS_COILS_MAX || !s->repetitions ||
	    s->repetitions > UINT16_MAX || !p->slices || !p->contrasts ||
	    p->contrasts > BS_PHANTOM_CONTRASTS)
		return bs_fail(
			why, BS_ERR_SIZE,
			"phantom: %u samples, %u coils, %u repetitions, %u slices, %u contrasts",
			p->samples, p->coils, s->repetitions, p->slices, p->contrasts);
	acquisitions = (uint64_t)p->readouts * p->contrasts;
	if (acquisitions > INT32_MAX ||
	    acquisitions * p->slices > UINT32_MAX / (uint64_t)s->repetitions)
		return bs_fail(why, BS_ERR_SIZE, "phantom: too many acquisitions");
	if (!(s->snr >= 0.0) || !(s->dwell_us > 0.0) || !(s->tr_us >= 0.0))
		return bs_fail(why, BS_ERR_USAGE, "phantom: snr %g, dwell time %g us, TR %g us",
			       s->snr, s->dwell_us, s->tr_us);
	if (!(s->motion >= 0.0 && s->motion < 1.0) ||
	    (s->motion > 0.0 && !(s->motion_frames > 0.0)))
		return bs_fail(why, BS_ERR_USAGE, "phantom: a motion of %g in %g frames", s->motion,
			       s->motion_frames);
	return 0;
}

static uint32_t supersample(uint32_t dims)
{
	return dims > 2 ? 4 : 8; /* grid points along each axis of a voxel: 64 in all */
}

void bs_phantom_truth_image(const struct bs_phantom *ph, float *image, struct bs_team *team)
{
	bs_phantom_image(ph, supersample(ph->dims), image, team);
}

/* Returns where a slice cuts along z, as core/tool/phantom does. */
static double place_of(const struct bs_protocol *p, uint32_t slice)
{
	return 1.6 * (slice + 0.5) / p->slices - 0.8;
}

void bs_phantom_field(const struct bs_phantom_scan *scan, uint32_t slice, float *hz)
{
	const struct bs_protocol *p = scan->protocol;

	bs_field_map(p->dims, p->matrix, place_of(p, slice), scan->field_hz, hz);
}

int bs_phantom_coils(const struct bs_phantom_scan *scan, uint32_t slice, struct bs_coils *coils,
		     struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	double radians = scan->coil_angle_deg * slice * M_PI / 180.0;

	if (scan->coil_sphere)
		return bs_coils_cut(coils, p->coils, p->matrix, place_of(p, slice), why);
	return bs_coils_rotated(coils, p->coils, p->dims, p->matrix, radians, why);
}

int bs_phantom_noise(const struct bs_phantom_scan *scan, struct bs_coil_noise *noise,
		     struct bs_fail *why)
{
	const struct bs_phantom_receiver *v = &scan->receiver;

	return bs_coil_noise_make(noise, scan->protocol->coils, v->spread > 0.0 ? v->spread : 1.0,
				  v->correlation, scan->seed, why);
}

double bs_phantom_noise_scale(const struct bs_phantom_scan *scan)
{
	const struct bs_phantom_receiver *v = &scan->receiver;
	double share = v->bandwidth > 0.0 ? v->bandwidth : 1.0;

	return v->scan_dwell_us > 0.0 ? sqrt(share * scan->dwell_us / v->scan_dwell_us) : 1.0;
}

/* Finds the noise's deviation from the energy of slice 0's true image in contrast 0. */
int bs_phantom_sigma(const struct bs_phantom_scan *scan, struct bs_team *team, double *sigma,
		     struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	size_t voxels = (size_t)bs_protocol_voxels(p);
	struct bs_phantom ph;
	double energy = 0.0;
	float *image;
	int rc;

	*sigma = 0.0;
	if (!(scan->snr > 0.0))
		return 0;
	rc = bs_phantom_of(&ph, scan->object, p->dims, p->matrix, 0, p->slices, 0, why);
	if (rc != 0)
		return rc;
	image = malloc(voxels * sizeof(*image));
	if (image == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %zu voxels", voxels);
	bs_phantom_truth_image(&ph, image, team);
	for (size_t v = 0; v < voxels; v++)
		energy += (double)image[v] * image[v];
	free(image);
	*sigma = sqrt(energy) / scan->snr;
	return 0;
}

/* Makes real values complex in place, from the end, because in and out begin together. */
static void widen(float *image, size_t voxels)
{
	for (size_t v = voxels; v-- > 0;) {
		float value = image[v];

		image[2 * v] = value;
		image[2 * v + 1] = 0.0f;
	}
}

static int write_images(const struct bs_phantom_scan *scan, struct bs_team *team, const char *name,
			struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	uint64_t dims[BS_CFL_DIMS];
	size_t voxels = (size_t)bs_protocol_voxels(p);
	size_t images = (size_t)p->contrasts * p->slices;
	float *image = NULL;
	int rc = 0;

	if (voxels <= SIZE_MAX / images / (2 * sizeof(float)))
		image = malloc(voxels * images * 2 * sizeof(float));
	if (image == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %zu images", images);
	for (uint32_t i = 0; rc == 0 && i < images; i++) {
		struct bs_phantom ph;
		float *at = image + 2 * voxels * i;

		rc = bs_phantom_of(&ph, scan->object, p->dims, p->matrix, i / p->contrasts,
				   p->slices, i % p->contrasts, why);
		if (rc != 0)
			break;
		bs_phantom_truth_image(&ph, at, team);
		widen(at, voxels);
	}
	bs_cfl_sizes(dims, p->matrix[0], p->matrix[1], p->matrix[2], 1);
	dims[5] = p->contrasts;
	dims[13] = p->slices;
	if (rc == 0)
		rc = bs_cfl_write(name, dims, image, why);
	free(image);
	return rc;
}

static int write_maps(const struct bs_phantom_scan *scan, const char *name, struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	uint64_t dims[BS_CFL_DIMS];
	const uint32_t slices = p->slices;
	size_t each = (size_t)bs_protocol_voxels(p) * p->coils * 2;
	float *maps = NULL;
	int rc = 0;

	if (each <= SIZE_MAX / sizeof(float) / slices)
		maps = malloc(each * slices * sizeof(float));
	if (maps == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %u maps", p->coils);
	for (uint32_t s = 0; rc == 0 && s < slices; s++) {
		struct bs_coils coils;

		rc = bs_phantom_coils(scan, s, &coils, why);
		if (rc == 0)
			bs_coils_maps(&coils, maps + each * s);
	}
	bs_cfl_sizes(dims, p->matrix[0], p->matrix[1], p->matrix[2], p->coils);
	dims[13] = slices;
	if (rc == 0)
		rc = bs_cfl_write(name, dims, maps, why);
	free(maps);
	return rc;
}

int bs_phantom_truth(const struct bs_phantom_scan *scan, struct bs_team *team, const char *image,
		     const char *maps, struct bs_fail *why)
{
	int rc = bs_phantom_check(scan, why);

	if (rc == 0)
		rc = write_images(scan, team, image, why);
	if (rc == 0)
		rc = write_maps(scan, maps, why);
	return rc;
}

static int write_covariance(const struct bs_coil_noise *noise, double power, const char *name,
			    struct bs_fail *why)
{
	float psi[2 * BS_COILS_MAX * BS_COILS_MAX];
	uint64_t dims[BS_CFL_DIMS];

	bs_coil_noise_covariance(noise, power, psi);
	bs_cfl_sizes(dims, noise->coils, noise->coils, 1, 1);
	return bs_cfl_write(name, dims, psi, why);
}

int bs_phantom_covariances(const struct bs_phantom_scan *scan, struct bs_team *team,
			   const char *lines, const char *noise, struct bs_fail *why)
{
	double scale = bs_phantom_noise_scale(scan);
	struct bs_coil_noise n;
	double sigma = 0.0;
	int rc = bs_phantom_check(scan, why);

	if (rc == 0)
		rc = bs_phantom_noise(scan, &n, why);
	if (rc == 0)
		rc = bs_phantom_sigma(scan, team, &sigma, why);
	if (rc == 0)
		rc = write_covariance(&n, sigma * sigma, lines, why);
	if (rc == 0)
		rc = write_covariance(&n, sigma * sigma * scale * scale, noise, why);
	return rc;
}

int bs_phantom_fields(const struct bs_phantom_scan *scan, const char *name, struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	size_t voxels = (size_t)bs_protocol_voxels(p);
	uint64_t dims[BS_CFL_DIMS];
	float *hz;
	int rc = bs_phantom_check(scan, why);

	if (rc != 0)
		return rc;
	hz = malloc(2 * voxels * p->slices * sizeof(*hz));
	if (hz == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for a field");
	for (uint32_t s = 0; s < p->slices; s++) {
		bs_phantom_field(scan, s, hz + 2 * voxels * s);
		widen(hz + 2 * voxels * s, voxels);
	}
	bs_cfl_sizes(dims, p->matrix[0], p->matrix[1], p->matrix[2], 1);
	dims[13] = p->slices;
	rc = bs_cfl_write(name, dims, hz, why);
	free(hz);
	return rc;
}
