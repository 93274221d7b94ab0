/* drivers/source/phantom.c - see phantom.h */
#define _DEFAULT_SOURCE /* M_PI */
#include "drivers/source/phantom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/phantom/coils.h"
#include "core/phantom/phantom.h"
#include "core/phantom/random.h"
#include "drivers/file/cfl.h"
#include "drivers/source/recording.h"
#include "drivers/source/scanxml.h"

#define PAUSE_US   2000.0
#define START_TICK 14760000u /* 10:15:00 in 2.5 ms */
#define TICK_US    2500

/* What a run of the simulator holds. */
struct run {
	const struct bs_phantom_scan *scan;
	const struct bs_protocol *p;
	const struct bs_traj *t;
	struct bs_phantom ph[BS_PHANTOM_CONTRASTS]; /* of the slice in hand */
	struct bs_coils coils;
	float *data; /* [contrast][readout][coil][sample], of the slice in hand */
	size_t row;  /* floats of a readout */
	double sigma;
	double tr_us;
	struct bs_random random;
	struct bs_recording *out;
	float *noisy; /* one readout */
	uint32_t count;
	uint32_t repetition;
};

static uint32_t supersample(uint32_t dims)
{
	return dims > 2 ? 4 : 8; /* 64 points a voxel */
}

static int set_slice(struct run *r, uint32_t slice, struct bs_fail *why)
{
	for (uint32_t c = 0; c < r->p->contrasts; c++) {
		int rc = bs_phantom_make(&r->ph[c], r->p->dims, r->p->matrix, slice, r->p->slices,
					 c, why);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* task: a readout of a contrast */
static void sample_row(void *arg, int task, int member)
{
	struct run *r = arg;
	uint32_t readout = (uint32_t)task % r->t->readouts;
	uint32_t contrast = (uint32_t)task / r->t->readouts;
	const struct bs_phantom *ph = &r->ph[contrast];
	struct bs_phantom moved;

	(void)member;
	if (r->scan->motion > 0.0) {
		double t = r->repetition + (double)readout / r->t->readouts;

		moved = r->ph[contrast];
		bs_phantom_beat(&moved,
				r->scan->motion * sin(2.0 * M_PI * t / r->scan->motion_frames));
		ph = &moved;
	}
	bs_coils_sample(&r->coils, ph, r->t->k + (size_t)readout * r->t->samples * r->t->dims,
			r->t->samples, r->data + (size_t)task * r->row);
}

/* Energy of the first slice's true image in contrast 0. */
static int image_energy(struct run *r, struct bs_team *team, double *energy, struct bs_fail *why)
{
	size_t voxels = (size_t)bs_protocol_voxels(r->p);
	float *image = malloc(voxels * sizeof(*image));

	*energy = 0.0;
	if (image == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %zu voxels", voxels);
	bs_phantom_image(&r->ph[0], supersample(r->p->dims), image, team);
	for (size_t v = 0; v < voxels; v++)
		*energy += (double)image[v] * image[v];
	free(image);
	return 0;
}

static int check_scan(const struct bs_phantom_scan *s, struct bs_fail *why)
{
	const struct bs_protocol *p = s->protocol;
	uint64_t acquisitions;

	if (p->samples != s->traj->samples || p->readouts != s->traj->readouts ||
	    p->dims != s->traj->dims)
		return bs_fail(why, BS_ERR_SIZE,
			       "phantom: trajectory of %u x %u x %u, protocol %u x %u x %u",
			       s->traj->readouts, s->traj->samples, s->traj->dims, p->readouts,
			       p->samples, p->dims);
	if (p->traj.unit != BS_UNIT_CYCLES_PER_VOXEL && !bs_methods[p->method].on_grid)
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

static int set_time(struct run *r, struct bs_fail *why)
{
	const struct bs_protocol *p = r->p;
	double echoes_us = r->scan->dwell_us * p->samples * p->contrasts;
	double total;

	r->tr_us = r->scan->tr_us > 0.0 ? r->scan->tr_us : ceil(echoes_us + PAUSE_US);
	if (r->tr_us < echoes_us)
		return bs_fail(why, BS_ERR_USAGE,
			       "phantom: a TR of %g us is shorter than its %g us "
			       "of sampling",
			       r->tr_us, echoes_us);
	total = r->tr_us * p->readouts * p->slices * r->scan->repetitions;
	if (total > INT32_MAX)
		return bs_fail(why, BS_ERR_SIZE,
			       "phantom: the scan would take %.0f s; time stamps end at 2147 s",
			       total / 1e6);
	return 0;
}

static int begin(struct run *r, const struct bs_phantom_scan *scan, struct bs_team *team,
		 struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	double energy = 0.0;
	size_t floats;
	int rc = check_scan(scan, why);

	memset(r, 0, sizeof(*r));
	r->scan = scan;
	r->p = p;
	r->t = scan->traj;
	if (rc == 0)
		rc = set_time(r, why);
	if (rc == 0)
		rc = bs_coils_make(&r->coils, p->coils, p->dims, p->matrix, why);
	if (rc == 0)
		rc = set_slice(r, 0, why);
	if (rc == 0 && scan->snr > 0.0)
		rc = image_energy(r, team, &energy, why);
	if (rc != 0)
		return rc;
	r->sigma = scan->snr > 0.0 ? sqrt(energy) / scan->snr : 0.0;
	bs_random_seed(&r->random, scan->seed);
	r->row = (size_t)2 * p->coils * p->samples; /* at most 2 x 64 x 65535 */
	floats = r->row * p->readouts;
	if (floats > SIZE_MAX / sizeof(float) / p->contrasts)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: a frame is too large");
	r->data = malloc(floats * p->contrasts * sizeof(float));
	r->noisy = malloc(r->row * sizeof(float));
	if (r->data == NULL || r->noisy == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %zu bytes of samples",
			       floats * p->contrasts * sizeof(float));
	return 0;
}

static struct bs_limit limit(uint32_t max, uint32_t center)
{
	struct bs_limit l = { .min = 0, .max = max, .center = center, .given = 1 };

	return l;
}

static void set_info(const struct run *r, struct bs_scan_info *info)
{
	const struct bs_protocol *p = r->p;
	uint32_t step[2] = { 0, 0 };

	memset(info, 0, sizeof(*info));
	memcpy(info->protocol, p->name, sizeof(info->protocol));
	strcpy(info->trajectory_name, "other");
	switch (p->traj.type) {
	case BS_TRAJ_RADIAL2D:
		strcpy(info->trajectory_name, "goldenangle");
		break;
	case BS_TRAJ_RADIAL3D:
		strcpy(info->trajectory_name, "radial");
		break;
	case BS_TRAJ_SPIRAL2D:
	case BS_TRAJ_STACK:
		strcpy(info->trajectory_name, "spiral");
		break;
	default:
		break;
	}
	if (bs_methods[p->method].on_grid)
		strcpy(info->trajectory_name, "cartesian");
	else
		strcpy(info->trajectory_unit, "cycles/voxel");
	for (int a = 0; a < 3; a++) {
		bool wide = bs_methods[p->method].on_grid && p->encoded[a];

		info->recon[a] = p->matrix[a];
		info->encoded[a] = wide ? p->encoded[a] : p->matrix[a];
		info->fov_mm[a] = p->fov_mm[a] > 0.0f ? p->fov_mm[a] : (float)p->matrix[a];
		info->encoded_fov_mm[a] =
			info->fov_mm[a] * (float)info->encoded[a] / (float)p->matrix[a];
	}
	info->channels = p->coils;
	for (uint32_t i = 0; i < r->t->readouts; i++) {
		step[0] = r->t->step1[i] > step[0] ? r->t->step1[i] : step[0];
		step[1] = r->t->step2[i] > step[1] ? r->t->step2[i] : step[1];
	}
	info->step1 = limit(step[0], bs_methods[p->method].on_grid ? info->encoded[1] / 2 : 0);
	info->step2 = limit(step[1], bs_methods[p->method].on_grid ? info->encoded[2] / 2 : 0);
	info->slice = limit(p->slices - 1, 0);
	info->contrast = limit(p->contrasts - 1, 0);
	info->repetition = limit(r->scan->repetitions - 1, 0);
}

static int put_xml(struct run *r, struct bs_fail *why)
{
	struct bs_scan_info info;
	char xml[BS_SCANXML_BYTES];
	struct bs_scanxml x = { &info, r->tr_us / 1e3, "boreside phantom",
				"simulated: closed-form Shepp-Logan phantom" };
	int rc;

	set_info(r, &info);
	rc = bs_scanxml_write(xml, sizeof(xml), &x, why);
	return rc != 0 ? rc : bs_recording_put_xml(r->out, xml, why);
}

/* Flags are numbered from 1: first and last of step 1, step 2, slice, contrast, repetition. */
static uint64_t flags_of(const struct run *r, uint32_t rep, uint32_t slice, uint32_t readout,
			 uint32_t contrast)
{
	const struct bs_traj *t = r->t;
	bool first = readout == 0;
	bool last = readout + 1 == t->readouts;
	bool first1 = first || t->step2[readout] != t->step2[readout - 1];
	bool last1 = last || t->step2[readout] != t->step2[readout + 1];
	bool first_rep = first && slice == 0 && contrast == 0;
	bool last_rep = last && slice + 1 == r->p->slices && contrast + 1 == r->p->contrasts;
	uint64_t f = 0;

	f |= first1 ? BS_MRD_FLAG(1) : 0;
	f |= last1 ? BS_MRD_LAST_IN_ENCODE_STEP1 : 0;
	f |= first ? BS_MRD_FLAG(3) | BS_MRD_FLAG(7) | BS_MRD_FLAG(9) : 0;
	f |= last ? BS_MRD_FLAG(4) | BS_MRD_LAST_IN_SLICE | BS_MRD_FLAG(10) : 0;
	f |= first_rep ? BS_MRD_FLAG(13) : 0;
	f |= last_rep ? BS_MRD_LAST_IN_REPETITION : 0;
	f |= last_rep && rep + 1 == r->scan->repetitions ? BS_MRD_LAST_IN_MEASUREMENT : 0;
	return f;
}

/* The sample nearest to the center of k-space. */
static uint16_t center_sample(const struct bs_protocol *p)
{
	switch (p->traj.type) {
	case BS_TRAJ_CARTESIAN: {
		uint32_t n = p->encoded[0] ? p->encoded[0] : p->matrix[0];

		return (uint16_t)(n / 2 > n - p->samples ? n / 2 - (n - p->samples) : 0);
	}
	case BS_TRAJ_RADIAL2D:
	case BS_TRAJ_RADIAL3D:
		return (uint16_t)(p->samples / 2);
	default:
		return 0;
	}
}

static struct bs_mrd_acq head_of(struct run *r, uint32_t rep, uint32_t slice, uint32_t readout,
				 uint32_t contrast)
{
	const struct bs_protocol *p = r->p;
	uint64_t repeated = ((uint64_t)rep * p->slices + slice) * p->readouts + readout;
	double at_us = (double)repeated * r->tr_us + r->scan->dwell_us * p->samples * contrast;
	struct bs_mrd_acq h = { .version = 1, .measurement_uid = 1 };

	h.flags = flags_of(r, rep, slice, readout, contrast);
	h.scan_counter = ++r->count;
	h.user_int[0] = (int32_t)at_us;
	h.acquisition_time_stamp = START_TICK + (uint32_t)(h.user_int[0] / TICK_US);
	h.number_of_samples = (uint16_t)p->samples;
	h.available_channels = h.active_channels = (uint16_t)p->coils;
	h.channel_mask[0] = UINT64_MAX >> (64 - p->coils);
	h.center_sample = center_sample(p);
	h.trajectory_dimensions = bs_methods[p->method].on_grid ? 0 : (uint16_t)p->dims;
	h.sample_time_us = (float)r->scan->dwell_us;
	h.read_dir[0] = h.phase_dir[1] = h.slice_dir[2] = 1.0f;
	h.idx.kspace_encode_step_1 = r->t->step1[readout];
	h.idx.kspace_encode_step_2 = r->t->step2[readout];
	h.idx.slice = (uint16_t)slice;
	h.idx.contrast = (uint16_t)contrast;
	h.idx.repetition = (uint16_t)rep;
	return h;
}

static int put_readout(struct run *r, uint32_t rep, uint32_t slice, uint32_t readout,
		       uint32_t contrast, struct bs_fail *why)
{
	struct bs_mrd_acq h = head_of(r, rep, slice, readout, contrast);
	const float *clean = r->data + ((size_t)contrast * r->t->readouts + readout) * r->row;
	const float *k = r->t->k + (size_t)readout * r->t->samples * r->t->dims;

	for (size_t i = 0; i < r->row; i += 2) {
		double z[2] = { 0.0, 0.0 };

		if (r->sigma > 0.0)
			bs_random_normal(&r->random, z);
		r->noisy[i] = (float)(clean[i] + r->sigma * sqrt(0.5) * z[0]);
		r->noisy[i + 1] = (float)(clean[i + 1] + r->sigma * sqrt(0.5) * z[1]);
	}
	return bs_recording_append(r->out, &h, h.trajectory_dimensions ? k : NULL, r->noisy, why);
}

static int put_slice(struct run *r, uint32_t rep, uint32_t slice, struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->t->readouts; i++)
		for (uint32_t c = 0; rc == 0 && c < r->p->contrasts; c++)
			rc = put_readout(r, rep, slice, i, c, why);
	return rc;
}

static int put_scan(struct run *r, struct bs_team *team, struct bs_fail *why)
{
	int rc = put_xml(r, why);

	for (uint32_t rep = 0; rc == 0 && rep < r->scan->repetitions; rep++)
		for (uint32_t slice = 0; rc == 0 && slice < r->p->slices; slice++) {
			r->repetition = rep;
			/* one slice alone, at rest, keeps its samples for all repetitions */
			if (rep == 0 || r->p->slices > 1 || r->scan->motion > 0.0) {
				rc = set_slice(r, slice, why);
				if (rc == 0)
					bs_team_run(team, sample_row, r,
						    (int)(r->t->readouts * r->p->contrasts));
			}
			if (rc == 0)
				rc = put_slice(r, rep, slice, why);
		}
	return rc;
}

int bs_phantom_record(const struct bs_phantom_scan *scan, struct bs_team *team, const char *path,
		      struct bs_fail *why)
{
	struct run r;
	int rc = begin(&r, scan, team, why);

	if (rc == 0)
		rc = bs_recording_create(&r.out, path, why);
	if (rc == 0) {
		int closed;

		rc = put_scan(&r, team, why);
		closed = bs_recording_close(r.out, rc == 0 ? why : NULL);
		rc = rc != 0 ? rc : closed;
	}
	free(r.data);
	free(r.noisy);
	return rc;
}

/* real -> complex, in place from the back: out and in share their start */
static void widen(float *image, size_t voxels)
{
	for (size_t v = voxels; v-- > 0;) {
		float value = image[v];

		image[2 * v] = value;
		image[2 * v + 1] = 0.0f;
	}
}

static int write_images(const struct bs_protocol *p, struct bs_team *team, const char *name,
			struct bs_fail *why)
{
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

		rc = bs_phantom_make(&ph, p->dims, p->matrix, i / p->contrasts, p->slices,
				     i % p->contrasts, why);
		if (rc != 0)
			break;
		bs_phantom_image(&ph, supersample(p->dims), at, team);
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

static int write_maps(const struct bs_protocol *p, const char *name, struct bs_fail *why)
{
	uint64_t dims[BS_CFL_DIMS];
	size_t voxels = (size_t)bs_protocol_voxels(p);
	struct bs_coils coils;
	float *maps;
	int rc = bs_coils_make(&coils, p->coils, p->dims, p->matrix, why);

	if (rc != 0)
		return rc;
	maps = malloc(voxels * p->coils * 2 * sizeof(float));
	if (maps == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %u maps", p->coils);
	bs_coils_maps(&coils, maps);
	bs_cfl_sizes(dims, p->matrix[0], p->matrix[1], p->matrix[2], p->coils);
	rc = bs_cfl_write(name, dims, maps, why);
	free(maps);
	return rc;
}

int bs_phantom_truth(const struct bs_phantom_scan *scan, struct bs_team *team, const char *image,
		     const char *maps, struct bs_fail *why)
{
	int rc = check_scan(scan, why);

	if (rc == 0)
		rc = write_images(scan->protocol, team, image, why);
	if (rc == 0)
		rc = write_maps(scan->protocol, maps, why);
	return rc;
}
