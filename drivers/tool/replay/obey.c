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

/* Of the head, or of where the scanner follows it: a point x, mm from the center, is at r x + t. */
struct pose {
	double r[9], t[3];
};

static const struct pose unmoved = { .r = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };

struct bs_obey {
	struct bs_obey_options options;
	struct bs_phantom head;
	struct bs_random random;
	uint32_t dims;
	double step[3];      /* mm of a voxel */
	uint32_t encoded[3]; /* samples of a line, lines, partitions */
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
	const uint32_t dims = info->encoded[2] > 1 ? 3 : 2;
	const uint32_t matrix[3] = { info->recon[0], info->recon[1],
				     dims > 2 ? info->recon[2] : 1 };
	bool has = strcmp(info->trajectory_name, "cartesian") == 0;
	struct bs_obey *o;

	*out = NULL;
	for (uint32_t a = 0; a < dims; a++)
		has = has && info->encoded[a] > 1 && info->encoded_fov_mm[a] > 0.0f;
	if (!has)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "--obey: the head moves in scans on the grid, with fields of view");
	o = calloc(1, sizeof(*o));
	if (o == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a scanner that obeys");
	o->options = *options;
	o->readouts = readouts;
	o->dims = dims;
	for (uint32_t a = 0; a < 3; a++) {
		o->encoded[a] = a < dims ? info->encoded[a] : 1;
		o->step[a] = a < dims ? (double)info->encoded_fov_mm[a] / info->encoded[a] : 1.0;
	}
	o->then = calloc(readouts, sizeof(*o->then));
	o->center = calloc(readouts, sizeof(*o->center));
	if (o->then == NULL || o->center == NULL ||
	    bs_phantom_make(&o->head, dims, matrix, 0, 1, 0, why) != 0) {
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
	for (uint32_t i = 0; i < TOLD; i++)
		o->told[i].pose = unmoved;
	o->repetition = 0;
	o->images = o->waits = o->lines = o->answers = 0;
	o->mm2 = o->radians2 = 0.0;
	bs_random_seed(&o->random, 1);
}

/* Sets out [3][columns] = a b, or that of a's inverse. a: a rotation. */
static void multiply(double *out, const double a[9], bool back, const double *b, int columns)
{
	for (int i = 0; i < 3 * columns; i++) {
		const double *row = a + (back ? i / columns : i / columns * 3);
		const int step = back ? 3 : 1;
		const double *column = b + i % columns;

		out[i] = row[0] * column[0] + row[step] * column[columns] +
			 row[2 * step] * column[2 * columns];
	}
}

/* The rotation about a vector, by its length in radians (Rodrigues). */
static void turn_about(double r[9], const double w[3])
{
	const double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
	const double s = angle > 1e-9 ? sin(angle) / angle : 1.0;
	const double c = angle > 1e-9 ? (1.0 - cos(angle)) / (angle * angle) : 0.5;
	const double cross[9] = { 0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0 };

	for (int i = 0; i < 9; i++)
		r[i] = s * cross[i] + c * w[i / 3] * w[i % 3] + (i % 4 == 0 ? cos(angle) : 0.0);
}

/* The vector of a rotation by less than half a turn. */
static void turn_of(double w[3], const double r[9])
{
	double sine;

	w[0] = 0.5 * (r[7] - r[5]);
	w[1] = 0.5 * (r[2] - r[6]);
	w[2] = 0.5 * (r[3] - r[1]);
	sine = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
	for (int i = 0; i < 3 && sine > 1e-9; i++)
		w[i] *= atan2(sine, 0.5 * (r[0] + r[4] + r[8] - 1.0)) / sine;
}

/* The head's own pose at a readout. */
static struct pose head_at(const struct bs_obey *o, uint32_t n)
{
	const double part = 0.5 - 0.5 * cos(0.5 * TURN * n / o->readouts);
	const double mm = o->options.motion[0] * part;
	const double turn = o->options.motion[1] / 360.0 * TURN * part;
	const double flat[3] = { 0.0, 0.0, turn };
	const double oblique[3] = { turn * 2 / 3, -turn / 3, turn * 2 / 3 };
	struct pose p = { .t = { mm, -0.5 * mm, o->dims > 2 ? 0.5 * mm : 0.0 } };

	turn_about(p.r, o->dims > 2 ? oblique : flat);
	return p;
}

/* The pose of a seen from b. */
static struct pose seen_from(struct pose a, struct pose b)
{
	const double apart[3] = { a.t[0] - b.t[0], a.t[1] - b.t[1], a.t[2] - b.t[2] };
	struct pose p;

	multiply(p.r, b.r, true, a.r, 3);
	multiply(p.t, b.r, true, apart, 1);
	return p;
}

/* The pose that is a, seen from b. */
static struct pose from(struct pose b, struct pose a)
{
	struct pose p;

	multiply(p.r, b.r, false, a.r, 3);
	multiply(p.t, b.r, false, a.t, 1);
	for (int i = 0; i < 3; i++)
		p.t[i] += b.t[i];
	return p;
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
	double on, turn[3];
	struct pose ahead, p;

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
	turn_of(turn, seen_from(*last, *before).r);
	for (int i = 0; i < 3; i++) {
		turn[i] *= on;
		p.t[i] = last->t[i] + on * (last->t[i] - before->t[i]);
	}
	turn_about(ahead.r, turn);
	multiply(p.r, last->r, false, ahead.r, 3);
	return p;
}

/* The pose that an image's step tells: motion's three numbers, in 3D the eight of register. */
static bool read_motion(const struct bs_obey *o, const struct bs_answer *a, struct pose *p)
{
	const double *n = a->number;
	const double flat[3] = { 0.0, 0.0, n[2] };
	const double solid[3] = { n[3] / 360.0 * TURN, n[4] / 360.0 * TURN, n[5] / 360.0 * TURN };

	if (a->numbers != (o->dims > 2 ? 8 : 3) || (o->dims > 2 && n[7] != 1.0))
		return false;
	turn_about(p->r, o->dims > 2 ? solid : flat);
	for (uint32_t i = 0; i < o->dims; i++)
		p->t[i] = n[i];
	return true;
}

void bs_obey_heard(void *obey, const struct bs_answer *a)
{
	struct bs_obey *o = obey;
	struct pose told = unmoved;
	uint64_t at = a->readout - 1;

	if (o->options.blind || o->waits == WAITING)
		return;
	if (a->what == BS_ANSWER_SHIFT && a->numbers == 1) {
		told.t[0] = a->number[0];
	} else if (a->what == BS_ANSWER_MOTION && a->image > 0 && a->image <= o->images &&
		   read_motion(o, a, &told)) {
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
static void transform_at(const struct bs_obey *o, const struct pose *p, const double k[3],
			 double out[2])
{
	double per_mm[3], own[3];
	double a = 0.0;
	double f[2];

	for (int i = 0; i < 3; i++) {
		per_mm[i] = k[i] / o->step[i];
		a -= TURN * per_mm[i] * p->t[i];
	}
	multiply(own, p->r, true, per_mm, 1);
	for (int i = 0; i < 3; i++)
		own[i] *= o->step[i];
	bs_phantom_transform(&o->head, own, f);
	out[0] = f[0] * cos(a) - f[1] * sin(a);
	out[1] = f[0] * sin(a) + f[1] * cos(a);
}

/* line: ky and kz */
static void compute(struct bs_obey *o, const struct bs_mrd_acq *head, const struct pose *p,
		    const double line[2], unsigned char *data)
{
	const double sigma = o->options.noise * sqrt(0.5 * (double)o->encoded[0] *
						     (double)o->encoded[1] * (double)o->encoded[2]);
	const uint32_t n = head->number_of_samples;
	const double center = head->center_sample != 0 ? head->center_sample : n / 2;

	for (uint32_t i = 0; i < n; i++) {
		const double k[3] = { (i - center) / o->encoded[0], line[0], line[1] };
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
	double line[2] = { 0.0, 0.0 };
	double turn[3];

	bs_mrd_get_acq(&head, payload);
	kind = bs_mrd_kind(head.flags);
	if (n >= o->readouts || head.trajectory_dimensions != 0)
		return;
	o->then[n] = follow(o, n, head.idx.repetition != o->repetition);
	o->repetition = head.idx.repetition;
	left = seen_from(own, o->then[n]);
	if (kind == BS_KIND_IMAGING) {
		line[0] =
			((double)head.idx.kspace_encode_step_1 - o->encoded[1] / 2) / o->encoded[1];
		line[1] =
			((double)head.idx.kspace_encode_step_2 - o->encoded[2] / 2) / o->encoded[2];
		if (line[0] == 0.0 && line[1] == 0.0)
			o->center[o->images++] = n;
		turn_of(turn, left.r);
		for (int i = 0; i < 3; i++) {
			o->mm2 += left.t[i] * left.t[i];
			o->radians2 += turn[i] * turn[i];
		}
		o->lines++;
	}
	if (kind == BS_KIND_IMAGING || kind == BS_KIND_NAVIGATION)
		compute(o, &head, &left, line, payload + BS_MRD_ACQ_BYTES);
}

struct bs_obeyed bs_obey_error(const struct bs_obey *o)
{
	const double lines = o->lines > 0 ? o->lines : 1;

	return (struct bs_obeyed){ sqrt(o->mm2 / lines), sqrt(o->radians2 / lines) / TURN * 360.0,
				   o->answers };
}
