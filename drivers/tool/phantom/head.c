/* drivers/tool/phantom/head.c - see head.h */
#include "drivers/tool/phantom/head.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/protocol.h"

#define START_TICK 14760000u /* time stamp of 10:15:00, in ticks of 2.5 ms */
#define TICK_US    2500

static struct bs_limit limit(uint32_t max, uint32_t center)
{
	struct bs_limit l = { .min = 0, .max = max, .center = center, .given = 1 };

	return l;
}

static const char *trajectory_name(const struct bs_protocol *p, bool epi)
{
	if (epi)
		return "epi";
	if (p->plan.on_grid)
		return "cartesian";
	switch (p->traj.type) {
	case BS_TRAJ_RADIAL2D:
		return "goldenangle";
	case BS_TRAJ_RADIAL3D:
		return "radial";
	case BS_TRAJ_SPIRAL2D:
	case BS_TRAJ_STACK:
		return "spiral";
	default:
		return "other";
	}
}

static void put_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text != NULL ? text : "");
}

/* Fills in what a header says of a scan that comes as from a scanner. */
static void set_scanner(const struct bs_phantom_scan *scan, const struct bs_scanlines *lines,
			struct bs_scan_info *info)
{
	const struct bs_scanplan *plan = &scan->plan;

	info->step1 = bs_scanlines_limit(lines, 0);
	info->step2 = bs_scanlines_limit(lines, 1);
	info->average = limit(plan->averages > 0 ? plan->averages - 1 : 0, 0);
	info->phase = limit(plan->phases > 0 ? plan->phases - 1 : 0, 0);
	info->set = limit(plan->sets > 0 ? plan->sets - 1 : 0, 0);
	for (int a = 0; a < 2; a++)
		info->acceleration[a] = plan->accel[a] > 0 ? plan->accel[a] : 1;
	info->calibration = plan->calibration;
	if (plan->multiband.bands > 1)
		info->calibration = plan->multiband.single == BS_SINGLE_FLAGGED
					    ? BS_CALIBRATION_SEPARATE
					    : BS_CALIBRATION_OTHER;
	else if (plan->calibration == BS_CALIBRATION_UNSAID)
		info->calibration = info->acceleration[0] * info->acceleration[1] > 1
					    ? BS_CALIBRATION_EXTERNAL
					    : BS_CALIBRATION_OTHER;
}

void bs_phantom_info(const struct bs_phantom_scan *scan, const struct bs_scanlines *lines,
		     struct bs_scan_info *info)
{
	const struct bs_protocol *p = scan->protocol;
	const bool on_grid = p->plan.on_grid;
	uint32_t step[2] = { 0, 0 };

	memset(info, 0, sizeof(*info));
	memcpy(info->protocol, p->name, sizeof(info->protocol));
	put_text(info->measurement, sizeof(info->measurement), scan->measurement);
	put_text(info->noise_scan, sizeof(info->noise_scan), scan->receiver.noise_scan);
	put_text(info->maps_scan, sizeof(info->maps_scan), scan->maps_scan);
	put_text(info->field_scan, sizeof(info->field_scan), scan->field_scan);
	put_text(info->study, sizeof(info->study), scan->study);
	put_text(info->trajectory_name, sizeof(info->trajectory_name),
		 trajectory_name(p, scan->plan.epi));
	if (!on_grid)
		put_text(info->trajectory_unit, sizeof(info->trajectory_unit), "cycles/voxel");
	info->noise_bandwidth = (float)scan->receiver.bandwidth;
	for (int a = 0; a < 3; a++) {
		info->recon[a] = scan->recon[a] > 0 ? scan->recon[a] : p->matrix[a];
		info->encoded[a] = bs_protocol_encoded_axis(p, (uint32_t)a);
		info->fov_mm[a] = p->fov_mm[a] > 0.0f ? p->fov_mm[a] : (float)p->matrix[a];
		info->encoded_fov_mm[a] =
			info->fov_mm[a] * (float)info->encoded[a] / (float)p->matrix[a];
	}
	info->channels = p->coils;
	for (uint32_t i = 0; i < scan->traj->readouts; i++) {
		step[0] = scan->traj->step1[i] > step[0] ? scan->traj->step1[i] : step[0];
		step[1] = scan->traj->step2[i] > step[1] ? scan->traj->step2[i] : step[1];
	}
	info->step1 = limit(step[0], on_grid ? info->encoded[1] / 2 : 0);
	info->step2 = limit(step[1], on_grid ? info->encoded[2] / 2 : 0);
	info->slice = limit(p->slices - 1, 0);
	info->contrast = limit(p->contrasts - 1, 0);
	info->repetition = limit(scan->repetitions - 1, 0);
	if (scan->plan.like_scanner)
		set_scanner(scan, lines, info);
}

uint32_t bs_phantom_center(const struct bs_protocol *p)
{
	switch (p->traj.type) {
	case BS_TRAJ_CARTESIAN: {
		uint32_t n = p->encoded[0] ? p->encoded[0] : p->matrix[0];

		return n / 2 > n - p->samples ? n / 2 - (n - p->samples) : 0;
	}
	case BS_TRAJ_RADIAL2D:
	case BS_TRAJ_RADIAL3D:
		return p->samples / 2;
	default:
		return 0;
	}
}

uint32_t bs_phantom_navigator_samples(const struct bs_phantom_scan *scan)
{
	return scan->navigator_samples > 0 ? scan->navigator_samples : scan->protocol->samples / 2;
}

static double spacing_mm(const struct bs_phantom_scan *scan)
{
	const struct bs_protocol *p = scan->protocol;
	const double thick = p->fov_mm[2] > 0.0f ? (double)p->fov_mm[2] : p->matrix[2];

	return scan->pose.spacing_mm > 0.0 ? scan->pose.spacing_mm : thick;
}

struct bs_scanxml_multiband bs_phantom_multiband(const struct bs_phantom_scan *scan)
{
	const struct bs_scanbands *m = &scan->plan.multiband;
	const uint32_t groups = scan->protocol->slices / m->bands;
	const double gap = groups * spacing_mm(scan);

	return (struct bs_scanxml_multiband){
		.bands = m->bands,
		.groups = groups,
		.gap_mm = gap,
		.delta_kz = 1.0 / (bs_scanplan_shift(&scan->plan) * gap),
	};
}

/* Sets the axes of the slices and the position of this one. */
static void set_pose(const struct bs_phantom_scan *scan, struct bs_mrd_acq *h, uint32_t slice)
{
	const struct bs_protocol *p = scan->protocol;
	const struct bs_phantom_pose *pose = &scan->pose;
	double a = pose->angle_deg[0] * M_PI / 180.0;
	double b = pose->angle_deg[1] * M_PI / 180.0;
	double off = ((double)slice - (p->slices - 1) / 2.0) * spacing_mm(scan);
	const double read[3] = { cos(b), sin(b), 0.0 };
	const double phase[3] = { -cos(a) * sin(b), cos(a) * cos(b), sin(a) };
	const double normal[3] = { sin(a) * sin(b), -sin(a) * cos(b), cos(a) };

	for (int d = 0; d < 3; d++) {
		h->read_dir[d] = (float)(read[d] + 0.0); /* adding 0 makes -0 positive */
		h->phase_dir[d] = (float)(phase[d] + 0.0);
		h->slice_dir[d] = (float)(normal[d] + 0.0);
		h->position[d] = (float)(pose->position_mm[d] + off * normal[d] + 0.0);
	}
}

/* Sets what differs between a Cartesian line, a navigator and a readout of noise. */
static void set_kind(const struct bs_phantom_scan *scan, const struct bs_scanlines *lines,
		     const struct bs_scanline *line, struct bs_mrd_acq *h)
{
	if (line->kind == BS_SCANLINE_NOISE) {
		h->number_of_samples = (uint16_t)scan->receiver.scan_samples;
		h->center_sample = 0;
		h->trajectory_dimensions = 0;
		h->sample_time_us = (float)scan->receiver.scan_dwell_us;
		return;
	}
	if (line->kind == BS_SCANLINE_NAVIGATOR) {
		h->number_of_samples = (uint16_t)bs_phantom_navigator_samples(scan);
		h->center_sample = h->number_of_samples / 2;
	}
	if (line->reversed)
		h->center_sample = (uint16_t)(h->number_of_samples - 1 - h->center_sample);
	h->idx.user[5] = (uint16_t)bs_scanlines_limit(lines, 0).center;
	h->idx.user[6] = (uint16_t)bs_scanlines_limit(lines, 1).center;
}

struct bs_mrd_acq bs_phantom_head(const struct bs_phantom_scan *scan,
				  const struct bs_scanlines *lines, const struct bs_scanline *line,
				  uint32_t count)
{
	const struct bs_protocol *p = scan->protocol;
	struct bs_mrd_acq h = { .version = 1, .measurement_uid = 1 };

	h.flags = line->flags;
	h.scan_counter = count + 1;
	h.user_int[0] = (int32_t)line->at_us;
	h.acquisition_time_stamp = START_TICK + (uint32_t)(h.user_int[0] / TICK_US);
	h.number_of_samples = (uint16_t)p->samples;
	h.available_channels = h.active_channels = (uint16_t)p->coils;
	h.channel_mask[0] = UINT64_MAX >> (64 - p->coils);
	h.center_sample = (uint16_t)bs_phantom_center(p);
	h.trajectory_dimensions = p->plan.on_grid ? 0 : (uint16_t)p->dims;
	h.sample_time_us = (float)scan->dwell_us;
	h.read_dir[0] = h.phase_dir[1] = h.slice_dir[2] = 1.0f;
	h.idx.kspace_encode_step_1 = line->step1;
	h.idx.kspace_encode_step_2 = line->step2;
	h.idx.average = line->average;
	h.idx.slice = line->slice;
	h.idx.contrast = line->contrast;
	h.idx.repetition = line->repetition;
	h.idx.phase = line->phase;
	h.idx.set = line->set;
	if (scan->pose.given || scan->plan.like_scanner)
		set_pose(scan, &h, line->slice);
	if (scan->plan.like_scanner || line->kind == BS_SCANLINE_NOISE)
		set_kind(scan, lines, line, &h);
	return h;
}
