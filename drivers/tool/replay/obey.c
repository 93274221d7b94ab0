/* drivers/tool/replay/obey.c - see obey.h */
#include "drivers/tool/replay/obey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/kind.h"
#include "core/random.h"
#include "core/thread/clock.h"
#include "core/tool/phantom/phantom.h"
#include "ipc/wire/mrd.h"

#define TURN    6.283185307179586
#define WAITING 64u
#define TOLD    5u /* poses that tell how fast the head moves */

/* Of the head, or of where the scanner follows it: it is turned, and then shifted. */
struct pose {
	double x, y, turn; /* mm, mm, radians */
};

struct bs_obey {
	struct bs_obey_options options;
	struct bs_phantom head;
	struct bs_random random;
	double step[2];      /* mm of a voxel */
	uint32_t encoded[2]; /* samples of a line, lines */
	uint32_t readouts;
	int64_t latency_ns;
	/* the poses that the last answers told, newest last, and which readouts they are of */
	struct {
		struct pose pose;
		uint32_t at;
	} told[TOLD];
	struct pose *then; /* [readouts]: of the scanner at each readout */
	uint32_t *center;  /* [readouts]: readout in the middle of each image */
	uint32_t images;
	uint16_t repetition; /* of the last readout */
	struct {
		int64_t due_ns;
		struct pose pose;
		uint32_t at;  /* readout that the pose is of */
		bool between; /* it is followed between images only */
	} wait[WAITING];      /* answers that are not followed yet, oldest first */
	uint32_t waits;
	double mm2, radians2; /* sums of squares */
	uint32_t lines, answers;
};

int bs_obey_open(struct bs_obey **out, const struct bs_scan_info *info, uint32_t readouts,
		 const struct bs_obey_options *options, struct bs_fail *why)
{
	const uint32_t matrix[3] = { info->recon[0], info->recon[1], 1 };
	struct bs_obey *o;

	*out = NULL;
	if (info->encoded[2] != 1 || info->encoded[0] < 2 || info->encoded[1] < 2 ||
	    !(info->encoded_fov_mm[0] > 0.0f) || !(info->encoded_fov_mm[1] > 0.0f) ||
	    strcmp(info->trajectory_name, "cartesian") != 0)
		return bs_fail(
			why, BS_ERR_UNSUPPORTED,
			"--obey: the head moves in 2D scans on the grid, with fields of view");
	o = calloc(1, sizeof(*o));
	if (o == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a scanner that obeys");
	o->options = *options;
	o->readouts = readouts;
	for (int a = 0; a < 2; a++) {
		o->encoded[a] = info->encoded[a];
		o->step[a] = (double)info->encoded_fov_mm[a] / info->encoded[a];
	}
	o->then = calloc(readouts, sizeof(*o->then));
	o->center = calloc(readouts, sizeof(*o->center));
	if (o->then == NULL || o->center == NULL ||
	    bs_phantom_make(&o->head, 2, matrix, 0, 1, 0, why) != 0) {
		bs_obey_close(o);
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a scanner that obeys");
	}
	*out = o;
	return 0;
}

void bs_obey_close(struct bs_obey *o)
{
	if (o == NULL)
		return;
	free(o->then);
	free(o->center);
	free(o);
}

void bs_obey_begin(struct bs_obey *o, int64_t latency_ns)
{
	o->latency_ns = latency_ns;
	memset(o->told, 0, sizeof(o->told));
	o->repetition = 0;
	o->images = o->waits = o->lines = o->answers = 0;
	o->mm2 = o->radians2 = 0.0;
	bs_random_seed(&o->random, 1);
}

/* The head's own pose at a readout. */
static struct pose head_at(const struct bs_obey *o, uint32_t n)
{
	const double part = 0.5 - 0.5 * cos(0.5 * TURN * n / o->readouts);

	return (struct pose){ o->options.motion[0] * part, -0.5 * o->options.motion[0] * part,
			      o->options.motion[1] / 360.0 * TURN * part };
}

/* The pose of a seen from b. */
static struct pose seen_from(struct pose a, struct pose b)
{
	const double c = cos(b.turn);
	const double s = sin(b.turn);

	return (struct pose){ c * (a.x - b.x) + s * (a.y - b.y), c * (a.y - b.y) - s * (a.x - b.x),
			      a.turn - b.turn };
}

/* The pose that is a, seen from b. */
static struct pose from(struct pose b, struct pose a)
{
	const double c = cos(b.turn);
	const double s = sin(b.turn);

	return (struct pose){ b.x + c * a.x - s * a.y, b.y + s * a.x + c * a.y, b.turn + a.turn };
}

/*
 * The scanner's pose at readout n: the one that was told last, gone on with as fast as the head
 * moved over the last answers.
 */
static struct pose follow(struct bs_obey *o, uint32_t n, bool between)
{
	const int64_t now_ns = bs_now_ns();
	const struct pose *last = &o->told[TOLD - 1].pose;
	const struct pose *before = &o->told[0].pose;
	uint32_t done = 0;
	double on;

	for (; done < o->waits && o->wait[done].due_ns <= now_ns; done++) {
		if (o->wait[done].between && !between)
			break;
		memmove(&o->told[0], &o->told[1], (TOLD - 1) * sizeof(o->told[0]));
		o->told[TOLD - 1].pose = o->wait[done].pose;
		o->told[TOLD - 1].at = o->wait[done].at;
		o->answers++;
	}
	o->waits -= done;
	memmove(o->wait, o->wait + done, o->waits * sizeof(o->wait[0]));
	if (o->told[TOLD - 1].at <= o->told[0].at)
		return *last;
	on = ((double)n - o->told[TOLD - 1].at) / (o->told[TOLD - 1].at - o->told[0].at);
	return (struct pose){ last->x + on * (last->x - before->x),
			      last->y + on * (last->y - before->y),
			      last->turn + on * (last->turn - before->turn) };
}

void bs_obey_heard(void *obey, const struct bs_answer *a)
{
	struct bs_obey *o = obey;
	struct pose told = { 0.0, 0.0, 0.0 };
	uint64_t at = a->readout - 1;

	if (o->options.blind || o->waits == WAITING)
		return;
	if (a->what == BS_ANSWER_SHIFT && a->numbers == 1) {
		told.x = a->number[0];
	} else if (a->what == BS_ANSWER_MOTION && a->numbers == 3 && a->image > 0 &&
		   a->image <= o->images) {
		told = (struct pose){ a->number[0], a->number[1], a->number[2] };
		at = o->center[a->image - 1];
	} else {
		return;
	}
	if (at >= o->readouts)
		return;
	o->wait[o->waits].due_ns = bs_now_ns() + o->latency_ns;
	o->wait[o->waits].at = (uint32_t)at;
	o->wait[o->waits].between = a->what == BS_ANSWER_MOTION;
	o->wait[o->waits++].pose = from(o->then[at], told);
}

/* The transform of the head at a pose, k in cycles per voxel. */
static void transform_at(const struct bs_obey *o, struct pose p, const double k[2], double out[2])
{
	const double c = cos(p.turn);
	const double s = sin(p.turn);
	const double own[2] = { c * k[0] + s * k[1], c * k[1] - s * k[0] };
	const double a = -TURN * (k[0] * p.x / o->step[0] + k[1] * p.y / o->step[1]);
	double f[2];

	bs_phantom_transform(&o->head, own, f);
	out[0] = f[0] * cos(a) - f[1] * sin(a);
	out[1] = f[0] * sin(a) + f[1] * cos(a);
}

static void compute(struct bs_obey *o, const struct bs_mrd_acq *head, struct pose p, double ky,
		    unsigned char *data)
{
	const double sigma =
		o->options.noise * sqrt(0.5 * (double)o->encoded[0] * (double)o->encoded[1]);
	const uint32_t n = head->number_of_samples;
	const double center = head->center_sample != 0 ? head->center_sample : n / 2;

	for (uint32_t i = 0; i < n; i++) {
		const double k[2] = { (i - center) / o->encoded[0], ky };
		double value[2];

		transform_at(o, p, k, value);
		for (uint32_t c = 0; c < head->active_channels; c++) {
			double noise[2];
			float v[2];

			bs_random_normal(&o->random, noise);
			v[0] = (float)(value[0] + sigma * noise[0]);
			v[1] = (float)(value[1] + sigma * noise[1]);
			memcpy(data + 8 * ((size_t)c * n + i), v, sizeof(v));
		}
	}
}

void bs_obey_shape(void *obey, unsigned char *payload, uint32_t n)
{
	struct bs_obey *o = obey;
	const struct pose own = head_at(o, n);
	struct bs_mrd_acq head;
	enum bs_kind kind;
	struct pose left;
	double ky = 0.0;

	bs_mrd_get_acq(&head, payload);
	kind = bs_mrd_kind(head.flags);
	if (n >= o->readouts || head.trajectory_dimensions != 0)
		return;
	o->then[n] = follow(o, n, head.idx.repetition != o->repetition);
	o->repetition = head.idx.repetition;
	left = seen_from(own, o->then[n]);
	if (kind == BS_KIND_IMAGING) {
		const uint32_t line = head.idx.kspace_encode_step_1;

		ky = ((double)line - o->encoded[1] / 2) / o->encoded[1];
		if (line == o->encoded[1] / 2)
			o->center[o->images++] = n;
		o->mm2 += left.x * left.x + left.y * left.y;
		o->radians2 += left.turn * left.turn;
		o->lines++;
	}
	if (kind == BS_KIND_IMAGING || kind == BS_KIND_NAVIGATION)
		compute(o, &head, left, ky, payload + BS_MRD_ACQ_BYTES);
}

struct bs_obeyed bs_obey_error(const struct bs_obey *o)
{
	const double lines = o->lines > 0 ? o->lines : 1;

	return (struct bs_obeyed){ sqrt(o->mm2 / lines), sqrt(o->radians2 / lines) / TURN * 360.0,
				   o->answers };
}
