/* drivers/source/phantom.c - see phantom.h */
#define _DEFAULT_SOURCE /* M_PI */
#include "drivers/source/phantom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/phantom/coils.h"
#include "core/phantom/noise.h"
#include "core/phantom/random.h"
#include "drivers/source/phantomhead.h"
#include "drivers/source/phantomtruth.h"
#include "drivers/source/recording.h"
#include "drivers/source/scanxml.h"

#define PAUSE_US 2000.0
#define NONE     UINT32_MAX

/* What a run of the simulator holds. */
struct run {
	struct bs_phantom_scan scan; /* with times and a plan that say all */
	const struct bs_protocol *p;
	const struct bs_traj *t;
	struct bs_team *team;
	struct bs_scanlines *lines;
	struct bs_phantom ph[BS_PHANTOM_CONTRASTS]; /* of the slice that is sampled */
	struct bs_coils coils;
	struct bs_coil_noise noise;
	uint32_t slices; /* that data holds */
	float *data;     /* [slice][contrast][row][coil][sample] */
	size_t row;      /* floats of a readout */
	double sigma, scan_sigma;
	struct bs_random random;
	struct bs_recording *out;
	float *readout; /* the one that is written */
	double *work;   /* of its noise */
	uint32_t count;
	uint32_t held;       /* the slice whose samples data holds, where it holds one; or NONE */
	uint32_t repetition; /* of what data holds: it matters to what moves */
};

static int set_slice(struct run *r, uint32_t slice, struct bs_fail *why)
{
	for (uint32_t c = 0; c < r->p->contrasts; c++) {
		int rc = bs_phantom_of(&r->ph[c], r->scan.object, r->p->dims, r->p->matrix, slice,
				       r->p->slices, c, why);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Where the samples of a row of a contrast lie, of a slice that data holds. */
static float *row_at(const struct run *r, uint32_t place, uint32_t contrast, uint32_t row)
{
	size_t i = ((size_t)place * r->p->contrasts + contrast) * r->t->readouts + row;

	return r->data + i * r->row;
}

/* task: a readout of a contrast; place: 0, or the slice */
static void sample_row(void *arg, int task, int member)
{
	struct run *r = arg;
	uint32_t readout = (uint32_t)task % r->t->readouts;
	uint32_t contrast = (uint32_t)task / r->t->readouts;
	const struct bs_phantom *ph = &r->ph[contrast];
	struct bs_phantom moved;

	(void)member;
	if (r->scan.motion > 0.0) {
		double t = r->repetition + (double)readout / r->t->readouts;

		moved = r->ph[contrast];
		bs_phantom_beat(&moved,
				r->scan.motion * sin(2.0 * M_PI * t / r->scan.motion_frames));
		ph = &moved;
	}
	bs_coils_sample(&r->coils, ph, r->t->k + (size_t)readout * r->t->samples * r->t->dims,
			r->t->samples, row_at(r, r->slices > 1 ? r->held : 0, contrast, readout));
}

/* Samples a slice, unless data holds it. */
static int hold(struct run *r, uint32_t slice, uint32_t repetition, struct bs_fail *why)
{
	uint32_t from = slice;
	uint32_t end = slice + 1;
	bool moves = r->scan.motion > 0.0;
	int rc = 0;

	if (r->held != NONE && (r->slices > 1 || r->held == slice) &&
	    (!moves || r->repetition == repetition))
		return 0;
	if (r->slices > 1) {
		from = 0;
		end = r->slices;
	}
	r->repetition = repetition;
	for (uint32_t s = from; rc == 0 && s < end; s++) {
		r->held = s;
		rc = set_slice(r, s, why);
		if (rc == 0)
			bs_team_run(r->team, sample_row, r,
				    (int)(r->t->readouts * r->p->contrasts));
	}
	return rc;
}

static int check_receiver(const struct bs_phantom_scan *s, struct bs_fail *why)
{
	const struct bs_phantom_receiver *v = &s->receiver;
	uint32_t half = bs_phantom_navigator_samples(s) / 2;
	uint32_t center = bs_phantom_center(s->protocol);

	if (s->plan.noise > 0 && (!(v->scan_dwell_us > 0.0) || v->scan_samples == 0 ||
				  v->scan_samples > UINT16_MAX || s->plan.noise > UINT16_MAX))
		return bs_fail(why, BS_ERR_SIZE, "phantom: a noise scan of %u x %u samples, %g us",
			       s->plan.noise, v->scan_samples, v->scan_dwell_us);
	if (s->plan.noise > 0 && !(s->snr > 0.0))
		return bs_fail(why, BS_ERR_USAGE,
			       "phantom: a noise scan needs a ratio of signal to noise above 0");
	if (s->plan.noise == 0 && s->plan.noise_only)
		return bs_fail(why, BS_ERR_USAGE, "phantom: noise alone, and no readout of it");
	if (s->plan.navigate > 0 &&
	    (half > center ||
	     center - half + bs_phantom_navigator_samples(s) > s->protocol->samples))
		return bs_fail(why, BS_ERR_SIZE,
			       "phantom: a navigator of %u samples around sample %u of %u",
			       2 * half, center, s->protocol->samples);
	return 0;
}

static int count_line(void *arg, const struct bs_scanline *line, struct bs_fail *why)
{
	uint32_t *count = arg;

	(void)line;
	if ((*count)++ == UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "phantom: too many acquisitions");
	return 0;
}

/* The plan with what the scan says elsewhere, and its lines. */
static int set_plan(struct run *r, struct bs_fail *why)
{
	const struct bs_protocol *p = r->p;
	struct bs_scanplan *plan = &r->scan.plan;
	double echoes_us = r->scan.dwell_us * p->samples * p->contrasts;
	uint32_t count = 0;
	int rc;

	r->scan.tr_us = r->scan.tr_us > 0.0 ? r->scan.tr_us : ceil(echoes_us + PAUSE_US);
	if (r->scan.tr_us < echoes_us)
		return bs_fail(why, BS_ERR_USAGE,
			       "phantom: a TR of %g us is shorter than its %g us "
			       "of sampling",
			       r->scan.tr_us, echoes_us);
	plan->traj = r->t;
	for (int a = 0; a < 2; a++) {
		uint32_t n = p->encoded[a + 1] > 0 ? p->encoded[a + 1] : p->matrix[a + 1];

		plan->lines[a] = n;
	}
	plan->slices = p->slices;
	plan->contrasts = p->contrasts;
	plan->repetitions = r->scan.repetitions;
	plan->tr_us = r->scan.tr_us;
	plan->readout_us = r->scan.dwell_us * p->samples;
	rc = bs_scanlines_make(&r->lines, plan, why);
	return rc != 0 ? rc : bs_scanlines_walk(r->lines, count_line, &count, why);
}

static int set_noise(struct run *r, struct bs_fail *why)
{
	int rc = bs_phantom_noise(&r->scan, &r->noise, why);

	if (rc == 0)
		rc = bs_phantom_sigma(&r->scan, r->team, &r->sigma, why);
	r->scan_sigma = r->sigma * bs_phantom_noise_scale(&r->scan);
	bs_random_seed(&r->random, r->scan.seed);
	return rc;
}

static int take_memory(struct run *r, struct bs_fail *why)
{
	const struct bs_protocol *p = r->p;
	size_t longest = p->samples;
	size_t floats;

	if (r->scan.plan.noise > 0 && r->scan.receiver.scan_samples > longest)
		longest = r->scan.receiver.scan_samples;
	r->row = (size_t)2 * p->coils * p->samples; /* at most 2 x 64 x 65535 */
	r->slices = r->scan.plan.order == BS_SLICES_EACH_TR ? p->slices : 1;
	floats = r->row * p->readouts;
	if (floats > SIZE_MAX / sizeof(float) / p->contrasts / r->slices)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: a frame is too large");
	floats *= (size_t)p->contrasts * r->slices;
	r->data = malloc(floats * sizeof(float));
	r->readout = malloc(2 * p->coils * longest * sizeof(float));
	r->work = malloc(2 * longest * sizeof(double));
	if (r->data == NULL || r->readout == NULL || r->work == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for %zu bytes of samples",
			       floats * sizeof(float));
	return 0;
}

static int begin(struct run *r, const struct bs_phantom_scan *scan, struct bs_team *team,
		 struct bs_fail *why)
{
	const struct bs_protocol *p = scan->protocol;
	int rc = bs_phantom_check(scan, why);

	memset(r, 0, sizeof(*r));
	r->scan = *scan;
	r->p = p;
	r->t = scan->traj;
	r->team = team;
	r->held = NONE;
	if (rc == 0)
		rc = check_receiver(scan, why);
	if (rc == 0)
		rc = set_plan(r, why);
	if (rc == 0)
		rc = bs_coils_make(&r->coils, p->coils, p->dims, p->matrix, why);
	if (rc == 0)
		rc = set_noise(r, why);
	return rc != 0 ? rc : take_memory(r, why);
}

static int put_xml(struct run *r, struct bs_fail *why)
{
	struct bs_scan_info info;
	char xml[BS_SCANXML_BYTES];
	struct bs_scanxml x = { &info, r->scan.tr_us / 1e3, "boreside phantom",
				r->scan.object == BS_PHANTOM_HEAD
					? "simulated: closed-form Shepp-Logan phantom"
					: "simulated: closed-form marker" };
	int rc;

	bs_phantom_info(&r->scan, r->lines, &info);
	rc = bs_scanxml_write(xml, sizeof(xml), &x, why);
	return rc != 0 ? rc : bs_recording_put_xml(r->out, xml, why);
}

/* What a readout has without noise: [coil][sample], samples of a line from first on. */
static void copy_line(struct run *r, const struct bs_scanline *line, uint32_t first, uint32_t n)
{
	uint32_t samples = r->p->samples;
	const float *from = row_at(r, r->slices > 1 ? line->slice : 0, line->contrast, line->row);
	double turn = r->scan.drift * line->navigator;
	double re = cos(turn);
	double im = sin(turn);
	double scale = line->kind == BS_SCANLINE_DUMMY ? 3.0 : 1.0;

	for (uint32_t c = 0; c < r->p->coils; c++)
		for (uint32_t s = 0; s < n; s++) {
			uint32_t at = first + (line->reversed ? n - 1 - s : s);
			const float *d = from + 2 * ((size_t)c * samples + at);
			float *to = r->readout + 2 * ((size_t)c * n + s);

			/* plus 0: no zero has a sign */
			to[0] = (float)(scale * (d[0] * re - d[1] * im) + 0.0);
			to[1] = (float)(scale * (d[1] * re + d[0] * im) + 0.0);
		}
}

static int put_line(void *arg, const struct bs_scanline *line, struct bs_fail *why)
{
	struct run *r = arg;
	struct bs_mrd_acq h = bs_phantom_head(&r->scan, r->lines, line, r->count++);
	const float *k = r->t->k + (size_t)line->row * r->t->samples * r->t->dims;
	uint32_t n = h.number_of_samples;
	bool noise = line->kind == BS_SCANLINE_NOISE;
	int rc = noise ? 0 : hold(r, line->slice, line->repetition, why);

	if (rc != 0)
		return rc;
	if (noise)
		memset(r->readout, 0, (size_t)2 * r->p->coils * n * sizeof(float));
	else if (line->kind == BS_SCANLINE_NAVIGATOR)
		copy_line(r, line, bs_phantom_center(r->p) - n / 2, n);
	else
		copy_line(r, line, 0, n);
	if (r->sigma > 0.0)
		bs_coil_noise_add(&r->noise, &r->random, noise ? r->scan_sigma : r->sigma, n,
				  r->readout, r->work);
	return bs_recording_append(r->out, &h, h.trajectory_dimensions ? k : NULL, r->readout, why);
}

int bs_phantom_record(const struct bs_phantom_scan *scan, struct bs_team *team, const char *path,
		      uint32_t *written, struct bs_fail *why)
{
	struct run r;
	int rc = begin(&r, scan, team, why);

	if (rc == 0)
		rc = bs_recording_create(&r.out, path, why);
	if (rc == 0) {
		int closed;

		rc = put_xml(&r, why);
		if (rc == 0)
			rc = bs_scanlines_walk(r.lines, put_line, &r, why);
		closed = bs_recording_close(r.out, rc == 0 ? why : NULL);
		rc = rc != 0 ? rc : closed;
	}
	if (written != NULL)
		*written = r.count;
	bs_scanlines_free(r.lines);
	free(r.data);
	free(r.readout);
	free(r.work);
	return rc;
}
