/* test/unit/core/test_recon.c - admission names every fault; frames become images */
/* Holds: W57 */
#include "core/frame/attributes.h"
#include "core/memory/pools.h"
#include "core/traj/delay.h"
#include "gpu/engine/engines.h"
#include "test/unit/core/attributes.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <math.h>
#include <string.h>

static struct bs_fail why;

static struct bs_protocol cartesian(void)
{
	struct bs_protocol p = with_name(lines_of(16, 16, 1, 32, 2), "cart <&>");

	p.traj.type = BS_TRAJ_FILE;
	p.slices = 2;
	p.max_sample = 1e12;
	p.combine = BS_COMBINE_RSS;
	p.image_ms = 5;
	return planned(p);
}

static struct bs_mrd_acq line_head(uint16_t ky)
{
	struct bs_mrd_acq h = { .version = 1,
				.number_of_samples = 32,
				.available_channels = 2,
				.active_channels = 2,
				.center_sample = 16,
				.scan_counter = 100u + ky };

	h.idx.kspace_encode_step_1 = ky;
	return h;
}

/* ---- admission ---------------------------------------------------------------------------- */

static void admit_lines(void)
{
	struct bs_protocol p = cartesian();
	struct bs_scan_info info = { .encoded = { 32, 16, 1 }, .channels = 2, .encodings = 1 };
	float data[2 * 2 * 32] = { 0 };
	struct bs_mrd_acq h = line_head(3);
	const struct bs_intake in = { .p = &p, .info = &info };
	uint32_t row = 77;

	strcpy(info.trajectory_name, "cartesian");
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "a header that agrees");
	info.encoded[1] = 17;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
	info.encoded[1] = 16;
	info.channels = 1;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
	info.channels = 32;
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "a receiver that has more than a scan's lines");
	info.channels = 2;
	strcpy(info.trajectory_name, "radial");
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_TRAJECTORY, "%s", why.text);

	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 3, "line 3 is row %u",
	      row);
	info.step1 = (struct bs_limit){ .center = 4, .given = 1 };
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 7,
	      "a partial field whose center is line 4: row %u", row);
	h.idx.kspace_encode_step_1 = 12;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_INDEX, "%s", why.text);
	h = line_head(3);
	h.idx.slice = 2;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_INDEX, "%s", why.text);
	h = line_head(3);
	h.number_of_samples = 34;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h = line_head(3);
	h.discard_pre = 40000;
	h.discard_post = 40000;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h = line_head(3);
	h.active_channels = 1, info.channels = 0;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h = line_head(3);
	h.center_sample = 20;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h = line_head(3);
	static const float bad[] = { NAN, INFINITY, -INFINITY, 2.4e38f };

	for (int i = 0; i < 4; i++) {
		data[2 * 33 + 1] = bad[i];
		CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_VALUE, "%s",
		      why.text);
	}
	h.flags = BS_MRD_IS_NOISE;
	h.number_of_samples = 7;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == BS_ROW_NONE,
	      "a noise measurement passes and has no row");
}

/* A field map is applied by the time of each sample; on the grid, by the time of each line. */
static void admit_dwell(void)
{
	const struct bs_field_spec field = { .map_file = "map", .dwell_us = 2.5 };
	struct bs_protocol p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_RADIAL2D, 16, 16, 1, 2);
	struct bs_protocol lines = cartesian();
	struct bs_mrd_acq h = line_head(3);

	h.sample_time_us = 5.0f;
	bs_plan_make(&p);
	CHECK(bs_admit_dwell(&p, &h, &why) == 0, "no field map: any dwell time");
	p.field = lines.field = field;
	bs_plan_make(&p);
	bs_plan_make(&lines);
	CHECK(bs_admit_dwell(&lines, &h, &why) == 0, "lines on the grid: any dwell time");
	CHECK(bs_admit_dwell(&p, &h, &why) == BS_ERR_TRAJECTORY &&
		      strstr(why.text, "sample_time_us is 5, field.dwell_us of protocol") != NULL,
	      "twice the dwell time: %s", why.text);
	h.flags = BS_MRD_IS_NOISE;
	CHECK(bs_admit_dwell(&p, &h, &why) == 0, "noise has its own");
	h.flags = 0;
	h.sample_time_us = 2.4976f;
	CHECK(bs_admit_dwell(&p, &h, &why) == 0, "0.096 %% less: rounded");
	h.sample_time_us = 2.5026f;
	CHECK(bs_admit_dwell(&p, &h, &why) == BS_ERR_TRAJECTORY, "0.104 %% more: %s", why.text);
	h.sample_time_us = 0.0f;
	CHECK(bs_admit_dwell(&p, &h, &why) == 0, "not said");
}

#define PATH 6u

static struct bs_protocol path_protocol = { .name = "own",
					    .method = BS_METHOD_GRIDDING,
					    .dims = 2,
					    .matrix = { 32, 16, 1 },
					    .coils = 1,
					    .samples = PATH,
					    .discard = 3,
					    .readouts = 10,
					    .slices = 1,
					    .contrasts = 1,
					    .max_sample = 1e6,
					    .traj = { .type = BS_TRAJ_STREAM,
						      .unit = BS_UNIT_CYCLES_PER_FOV } };
static const struct bs_scan_info path_info = { .encoded = { 32, 16, 1 }, .channels = 1 };
static const struct bs_mrd_acq path_head = { .version = 1,
					     .number_of_samples = PATH + 3,
					     .active_channels = 1,
					     .discard_pre = 2,
					     .discard_post = 1,
					     .trajectory_dimensions = 3,
					     .scan_counter = 7 };

/* A readout that brings its own path: what is refused, which row it is, where its samples lie. */
static void admit_path(void)
{
	struct bs_protocol p = path_protocol;
	struct bs_scan_info info = path_info;
	struct bs_mrd_acq h = path_head;
	const float data[2 * (PATH + 3)] = { 0 };
	float k[3 * (PATH + 3)] = { 0 };
	float at[2 * PATH];
	float moved[2 * PATH];
	struct bs_traj t = { .dims = 2, .samples = PATH, .readouts = 1, .k = at };
	const struct bs_intake in = { .p = &p, .info = &info };
	uint32_t row;

	for (uint32_t i = 0; i < PATH + 3; i++) {
		k[3 * i] = -16.0f + 4.0f * (float)i;
		k[3 * i + 1] = 8.0f - (float)(i * i) / 8.0f;
	}
	k[3 * 5] = 16.0f;
	h.idx.kspace_encode_step_1 = 3;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == 0 && row == 3, "row 3 of a frame: %s",
	      why.text);
	bs_admit_path(&p, &info, &h, k, at);
	CHECK(at[0] == -8.0f / 32 && at[1] == 7.5f / 16 && at[2 * 3] == -0.5f &&
		      at[2 * 5 + 1] == 1.875f / 16 && h.idx.repetition == 0,
	      "less what is discarded, in cycles per voxel, folded: %g %g %g", (double)at[0],
	      (double)at[1], (double)at[6]);
	p.traj.delay[0] = 0.5f;
	p.traj.delay_cross[0] = -0.25f;
	bs_plan_make(&p);
	bs_admit_path(&p, &info, &h, k, moved);
	bs_delay_apply(&t, p.traj.delay, p.traj.delay_cross);
	CHECK(memcmp(moved, at, sizeof(at)) == 0, "delayed as a table is");

	h.idx.kspace_encode_step_1 = 65535;
	h.idx.repetition = 2;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == 0 && row == 5, "row 5 of frame 6553");
	bs_admit_path(&p, &info, &h, k, at);
	CHECK(h.idx.repetition == 6555, "which counts as a repetition: %u", h.idx.repetition);
	info.step2.given = 1;
	info.step2.max = 4;
	h.idx = (struct bs_mrd_idx){ .kspace_encode_step_1 = 7, .kspace_encode_step_2 = 3 };
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == 0 && row == 8,
	      "5 partitions: row 38 modulo 10");
	h.idx.kspace_encode_step_2 = 5;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == BS_ERR_INDEX &&
		      strstr(why.text, "acquisition 7: kspace_encode_step_2 is 5") != NULL,
	      "%s", why.text);
	p.readouts = 65546;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == 0 && row == 327687 % 65546,
	      "a frame of more than 65536: step_2 counts these");
	p.readouts = 10;
	h.idx.kspace_encode_step_2 = 0;

	k[3 * 4 + 1] = -8.1f;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == BS_ERR_TRAJECTORY &&
		      strstr(why.text, "acquisition 7: sample 4 has ky = -8.1, out of range") !=
			      NULL,
	      "%s", why.text);
	k[3 * 4 + 1] = NAN;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == BS_ERR_TRAJECTORY &&
		      strstr(why.text, "acquisition 7: sample 4 has ky = ") != NULL,
	      "%s", why.text);
	k[3 * 4 + 1] = 6.0f;
	k[3 * 6 + 2] = 1e-3f;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == BS_ERR_TRAJECTORY &&
		      strstr(why.text, "sample 6 has kz") != NULL,
	      "%s", why.text);
	p.traj.third_ignored = true;
	bs_plan_make(&p);
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == 0, "the third is ignored");
	h.trajectory_dimensions = 1;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == BS_ERR_TRAJECTORY &&
		      strstr(why.text, "acquisition 7: 1 trajectory dimensions") != NULL,
	      "%s", why.text);
	h.trajectory_dimensions = 0;
	CHECK(bs_admit_acq(&in, &h, k, data, &row, &why) == BS_ERR_TRAJECTORY &&
		      strstr(why.text, "acquisition 7 carries no trajectory") != NULL,
	      "%s", why.text);
}

/* From +k to -k: the same line as from -k to +k, once turned; not where a trajectory tells. */
static void turn(void)
{
	struct bs_protocol p = cartesian();
	const struct bs_scan_info info = { .encoded = { 32, 16, 1 }, .channels = 2 };
	const uint64_t reversed = BS_MRD_IS_REVERSE | BS_MRD_IS_CALIBRATION_TOO;
	struct bs_mrd_acq h = line_head(3);
	float forth[2][2 * 27];
	float back[2][2 * 27];
	float data[2][2 * 27];
	uint64_t seed = 4;
	const struct bs_intake in = { .p = &p, .info = &info };
	uint32_t row;

	p.samples = 24; /* lacks its first 8, and 2 and 1 are discarded */
	h.number_of_samples = 27;
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < 27; i++)
			for (int part = 0; part < 2; part++) {
				forth[c][2 * i + part] = (float)check_uniform(&seed);
				back[c][2 * (26 - i) + part] = forth[c][2 * i + part];
			}
	memcpy(data, back, sizeof(data));
	h.flags = reversed;
	h.discard_pre = 1; /* as they are stored: of the end of k */
	h.discard_post = 2;
	h.center_sample = 1 + 15; /* forward it would be 2 + 8 */
	p.discard = 2;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE,
	      "more are discarded than there is room for: %s", why.text);
	p.discard = 3;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 3,
	      "a reversed line states its center as it is stored: %s", why.text);
	bs_admit_reverse(&p, &h, data[0]);
	CHECK(memcmp(data, forth, sizeof(data)) == 0 && h.discard_pre == 2 && h.discard_post == 1 &&
		      h.center_sample == 2 + 8 && h.flags == reversed,
	      "turned, each coil by itself; discarded %u and %u, center %u", h.discard_pre,
	      h.discard_post, h.center_sample);
	h.flags = 0;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0,
	      "it is then what a forward line is: %s", why.text);
	bs_admit_reverse(&p, &h, data[0]);
	CHECK(memcmp(data, forth, sizeof(data)) == 0, "a forward line stays");
	h.flags = reversed;
	h.discard_pre = 1;
	h.discard_post = 2;
	h.center_sample = 1 + 17; /* 1 + 16 has two readings: test_readout.c */
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);

	p.method = BS_METHOD_GRIDDING;
	p.traj.type = BS_TRAJ_RADIAL2D;
	bs_plan_make(&p);
	h.trajectory_dimensions = 2;
	bs_admit_reverse(&p, &h, data[0]);
	CHECK(memcmp(data, forth, sizeof(data)) == 0, "its own trajectory says where it lies");
	h.trajectory_dimensions = 0;
	p.traj.type = BS_TRAJ_FILE;
	bs_plan_make(&p);
	bs_admit_reverse(&p, &h, data[0]);
	CHECK(memcmp(data, forth, sizeof(data)) == 0, "so does a file's, as it was sampled");
	p.traj.type = BS_TRAJ_RADIAL2D;
	bs_plan_make(&p);
	bs_admit_reverse(&p, &h, data[0]);
	CHECK(memcmp(data, back, sizeof(data)) == 0, "a path that was made runs from -k to +k");
}

/* What a protocol uses beside its lines is checked as lines are, and may be shorter. */
static void admit_beside(void)
{
	struct bs_protocol p = cartesian();
	struct bs_scan_info info = { .encoded = { 32, 16, 1 }, .channels = 2, .encodings = 1 };
	float data[2 * 2 * 40] = { 0 };
	struct bs_mrd_acq h = line_head(3);
	const struct bs_intake in = { .p = &p, .info = &info };
	uint32_t row = 77;

	p.discard = 8;
	h.flags = BS_MRD_IS_CALIBRATION;
	h.number_of_samples = 7;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == BS_ROW_NONE,
	      "calibration that is not used is not looked at");
	p.uses = 1u << BS_KIND_CALIBRATION | 1u << BS_KIND_NAVIGATION | 1u << BS_KIND_NOISE;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h.number_of_samples = 32;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 3,
	      "a calibration line has the row of its line: %u", row);
	h.flags = BS_MRD_IS_NAVIGATION;
	h.number_of_samples = 20;
	h.center_sample = 10;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == BS_ROW_NONE,
	      "a navigator may be shorter than a line and has no row");
	data[2 * 20 + 1] = NAN;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_VALUE, "%s", why.text);
	data[2 * 20 + 1] = 0;
	h.number_of_samples = 41;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h.number_of_samples = 20;
	h.discard_pre = 15;
	h.discard_post = 6;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	h.discard_pre = h.discard_post = 0;
	h.idx.slice = 2;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_INDEX, "%s", why.text);
	h.flags = BS_MRD_IS_NOISE;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == BS_ROW_NONE,
	      "noise is of no slice");
	h.active_channels = 1, info.channels = 0;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
}

/* Other methods than the FFT on the grid: rows are the lines that their table has. */
static void admit_on_grid(void)
{
	struct bs_traj table = { .dims = 2, .samples = 24, .readouts = 12, .keyed = true };
	struct bs_protocol p = cartesian();
	struct bs_scan_info info = { .encoded = { 32, 16, 1 }, .channels = 2 };
	float data[2 * 2 * 32] = { 0 };
	struct bs_mrd_acq h = line_head(3);
	const struct bs_intake in = { .p = &p, .table = &table, .info = &info };
	uint32_t row = 77;

	p.method = BS_METHOD_SENSE;
	p.traj.type = BS_TRAJ_CARTESIAN;
	p.readouts = 12;
	bs_plan_make(&p);
	strcpy(info.trajectory_name, "cartesian");
	CHECK(bs_admit_scan(&p, &info, &why) == 0, "sense on the grid: the header of a grid %s",
	      why.text);
	info.encoded[0] = 12; /* 16 lacks an oversampling of 2: test_readout.c */
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
	info.encoded[0] = 64;
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_SIZE, "%s", why.text);
	info.encoded[0] = 32;
	strcpy(info.trajectory_name, "spiral");
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 3, "line 3 is row %u",
	      row);
	info.step1 = (struct bs_limit){ .center = 4, .given = 1 };
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 7,
	      "counted from the header's center: row %u", row);
	h.idx.kspace_encode_step_1 = 8;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_INDEX, "%s", why.text);
	h = line_head(3);
	h.center_sample = 20;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == BS_ERR_SIZE, "%s", why.text);
	p.samples = h.number_of_samples = 24; /* its first eight are missing */
	h.center_sample = 8;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 7,
	      "a partial echo whose center is sample 8: row %u %s", row, why.text);
	p.method = BS_METHOD_GRIDDING;
	p.traj.type = BS_TRAJ_RADIAL2D;
	bs_plan_make(&p);
	strcpy(info.trajectory_name, "cartesian");
	memcpy(info.encoded, p.encoded, sizeof(info.encoded));
	CHECK(bs_admit_scan(&p, &info, &why) == BS_ERR_TRAJECTORY, "spokes, not a grid: %s",
	      why.text);
}

static void admit_trajectory(void)
{
	float k[4 * 8 * 2];
	uint16_t step1[4] = { 0, 1, 2, 3 };
	uint16_t step2[4] = { 0 };
	struct bs_traj table = { 2, 8, 4, k, step1, step2, true };
	struct bs_protocol p = cartesian();
	struct bs_scan_info info = { .encoded = { 16, 16, 1 } };
	float stream[8 * 3] = { 0 };
	float data[2 * 2 * 8] = { 0 };
	struct bs_mrd_acq h = line_head(2);
	const struct bs_intake in = { .p = &p, .table = &table, .info = &info };
	uint32_t row = 77;
	uint64_t seed = 5;

	for (int i = 0; i < 64; i++)
		k[i] = (float)(check_uniform(&seed) - 0.5);
	p.method = BS_METHOD_GRIDDING;
	bs_plan_make(&p);
	memset(p.encoded, 0, sizeof(p.encoded));
	p.samples = 8;
	p.readouts = 4;
	p.traj.tolerance = 1e-4;
	bs_plan_make(&p);
	h.number_of_samples = 8;
	h.center_sample = 0;
	CHECK(bs_admit_acq(&in, &h, NULL, data, &row, &why) == 0 && row == 2,
	      "no trajectory in the stream: the counters name row %u", row);
	h.trajectory_dimensions = 3;
	for (int s = 0; s < 8; s++)
		for (int a = 0; a < 2; a++)
			stream[3 * s + a] = k[(2 * 8 + s) * 2 + a] * 16;
	p.traj.unit = BS_UNIT_CYCLES_PER_FOV;
	bs_plan_make(&p);
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == 0 && row == 2,
	      "the armed trajectory in cycles/fov: row %u %s", row, why.text);
	table.keyed = false;
	h.idx.kspace_encode_step_1 = 0;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == 0 && row == 2,
	      "counters that are not unique: found by its trajectory, row %u", row);
	stream[3 * 7] += 0.1f;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	stream[3 * 7] -= 0.1f;
	table.keyed = true;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	h.idx.kspace_encode_step_1 = 4;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_INDEX, "%s", why.text);
	h.idx.kspace_encode_step_1 = 2;
	stream[3 * 4 + 2] = 0.25f;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	p.traj.third_ignored = true;
	bs_plan_make(&p);
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == 0,
	      "a third dimension that the protocol ignores");
	p.traj.unit = BS_UNIT_CYCLES_PER_VOXEL;
	bs_plan_make(&p);
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	stream[1] = NAN;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	h.trajectory_dimensions = 1;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == BS_ERR_TRAJECTORY, "%s", why.text);
	k[1] = -0.5f; /* the edge of k-space: 0.5 in the stream is the same place */
	stream[1] = 0.5f;
	stream[0] = k[0];
	for (int s = 1; s < 8; s++)
		for (int a = 0; a < 2; a++)
			stream[3 * s + a] = k[s * 2 + a];
	h.trajectory_dimensions = 3;
	h.idx.kspace_encode_step_1 = 0;
	CHECK(bs_admit_acq(&in, &h, stream, data, &row, &why) == 0 && row == 0,
	      "0.5 and -0.5 are the same place: %s", why.text);
}

/* ---- frames ------------------------------------------------------------------------------- */

static float lines[16][2 * 2 * 32];
static float pixels[2][16 * 16];

static int send(struct bs_recon *r, uint16_t ky, uint16_t slice, uint16_t repetition)
{
	struct bs_mrd_acq h = line_head(ky);

	h.idx.slice = slice;
	h.idx.repetition = repetition;
	return bs_recon_readout(r, &h, ky, lines[ky], 1000 + ky, &why);
}

static void frames(void)
{
	struct bs_protocol p = cartesian();
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_recon *r;
	struct bs_tables tables = { 0 };
	struct bs_scan_info info = { .encoded = { 32, 16, 1 }, .encoded_fov_mm = { 400, 210, 5 } };
	struct bs_recon_image image = { .pixels = pixels[0] };
	struct bs_image_timing timing = { .latency_ns = 6000000 };
	struct bs_mrd_acq noise = { .flags = BS_MRD_IS_NOISE };
	char text[BS_POOLS_ATTRIBUTES];
	uint64_t seed = 9;
	int n = 0;

	for (int l = 0; l < 16; l++)
		for (int i = 0; i < 128; i++)
			lines[l][i] = (float)(check_uniform(&seed) - 0.5);
	CHECK(bs_team_open(&team, 1, &why) == 0, "team");
	CHECK(bs_engine_host.need(&p, &need, &why) == 0, "need");
	CHECK(bs_arena_open(&arena, need.total_bytes, &why) == 0, "arena");
	struct bs_arm_env env = { .arena = &arena, .team = team, .cache_dir = "" };

	CHECK(bs_recon_arm(&r, &p, &bs_engine_host, &tables, &env, &why) == 0, "arm %s", why.text);
	bs_recon_scan(r, &info);
	CHECK(bs_recon_readout(r, &noise, BS_ROW_NONE, NULL, 0, &why) == 0, "noise is taken");
	for (uint16_t l = 0; l < 16; l++) { /* two slices interleaved, one of them backwards */
		n += send(r, l, 0, 0);
		n += send(r, (uint16_t)(15 - l), 1, 0);
	}
	CHECK(n == 0 && bs_recon_ready(r) == 2, "two frames complete");
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.missing == 0 &&
		      image.readouts == 16 && image.head.slice == 0 && image.last_ns == 1015,
	      "slice 0");
	image.pixels = pixels[1];
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.head.slice == 1 &&
		      image.last_ns == 1000 && image.head.field_of_view[1] == 210.0f,
	      "slice 1");
	CHECK(memcmp(pixels[0], pixels[1], sizeof(pixels[0])) == 0,
	      "the same lines in another order: the same bytes");
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 0, "no third image");

	n = send(r, 0, 0, 1) + send(r, 1, 0, 1) + send(r, 1, 0, 1);
	CHECK(n == 0 && send(r, 5, 0, 2) == BS_RECON_POP_FIRST, "the next asks for a pop");
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.missing == 14 &&
		      image.head.repetition == 1 && strstr(image.readout, "1 of 2 lines came more"),
	      "the partial frame says what is missing, and what came again: %s", image.readout);
	CHECK(send(r, 5, 0, 2) == 0 && bs_recon_ready(r) == 0, "and then it is taken");
	bs_recon_close(r);
	CHECK(bs_recon_pop(r, &image, INT64_MAX, &why) == 1 && image.missing == 15,
	      "close ends the last frame");

	timing.sender_ns = 123456789012345;
	n = attributes_xml(text, sizeof(text), &p, "cartesian/host", &image, &timing, NULL);
	CHECK(n > 0 && strstr(text, "<name>boreside_missing</name><value>15</value>") != NULL &&
		      strstr(text, "<value>partial</value>") != NULL &&
		      strstr(text, "<value>cart &lt;&amp;&gt;</value>") != NULL &&
		      strstr(text, "<name>boreside_budget</name><value>missed</value>") != NULL,
	      "attributes: %s", text);
	CHECK(n > 0 && strstr(text, "<name>boreside_sender_ns</name><value>123456789012345<") !=
			       NULL,
	      "the sender's clock comes back: %s", text);
	CHECK(attributes_xml(text, (size_t)n, &p, "cartesian/host", &image, &timing, NULL) ==
		      BS_ERR_NOMEM,
	      "attributes are never cut");
	bs_recon_disarm(r);
	bs_arena_close(&arena);
	bs_team_close(team);
}

int main(void)
{
	bs_plan_make(&path_protocol);
	admit_lines();
	admit_dwell();
	admit_path();
	turn();
	admit_beside();
	admit_on_grid();
	admit_trajectory();
	frames();
	return check_done();
}
