/* drivers/tool/phantom/phantom.c - see phantom.h */
#include "drivers/tool/phantom/phantom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/tool/phantom/noise.h"
#include "core/random.h"
#include "core/tool/ramps.h"
#include "drivers/tool/phantom/head.h"
#include "drivers/tool/phantom/source.h"
#include "drivers/tool/phantom/truth.h"
#include "drivers/tool/load/recording.h"
#include "drivers/tool/phantom/scanxml.h"

#define PAUSE_US 2000.0

/* State of a run of the simulator. */
struct run {
	struct bs_phantom_scan scan; /* scan with all times and a complete plan */
	const struct bs_protocol *p;
	struct bs_scanlines *lines;
	struct bs_phantom_source *source;
	struct bs_coil_noise noise;
	double sigma, scan_sigma;
	struct bs_random random;
	struct bs_recording *out;
	float *readout; /* buffer of the current readout */
	double *work;   /* memory for the readout's noise */
	uint32_t count;
};

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

static int check_physics(const struct bs_phantom_scan *s, struct bs_fail *why)
{
	const struct bs_protocol *p = s->protocol;
	double most = fmax(fmax(fabs(s->delay[0]), fabs(s->delay[1])), fabs(s->delay[2]));

	if (s->delayed && (p->traj.type != BS_TRAJ_RADIAL2D || p->samples < 2 || !(most <= 8.0)))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "phantom: delays of up to 8 samples are those of radial2d, not %g",
			       most);
	if (s->field_hz != 0.0 && (s->motion > 0.0 || (s->plan.reversed && !s->plan.epi)))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "phantom: a field acts neither on what moves nor on lines that run "
			       "backwards");
	if (!(fabs(s->field_hz) <= 1e5))
		return bs_fail(why, BS_ERR_USAGE, "phantom: a field of %g Hz", s->field_hz);
	if (s->paths != NULL && s->plan.like_scanner)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "phantom: paths that go on are those of plain scans");
	if (s->coil_sphere && (p->dims != 2 || s->coil_angle_deg != 0.0))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "phantom: coils on a sphere around 2D slices do not turn");
	if (s->plan.epi && !s->plan.like_scanner)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "phantom: EPI is cartesian");
	return 0;
}

static int check_tr(const struct bs_phantom_scan *scan, double least_us, struct bs_fail *why)
{
	if (scan->tr_us < least_us)
		return bs_fail(why, BS_ERR_USAGE,
			       "phantom: a TR of %g us is shorter than its %g us "
			       "of sampling",
			       scan->tr_us, least_us);
	return 0;
}

/* Sets the shortest TR that holds the echoes of a line, by default a train of all lines. */
static int set_times(struct run *r, struct bs_fail *why)
{
	const struct bs_protocol *p = r->p;
	struct bs_phantom_scan *scan = &r->scan;
	double least = scan->dwell_us * p->samples * p->contrasts;
	uint32_t all = p->encoded[0] > 0 ? p->encoded[0] : p->matrix[0];
	int rc = 0;

	if (scan->plan.epi) {
		rc = bs_trapezoid_make(&scan->trapezoid, all, scan->dwell_us, scan->ramp_us, why);
		scan->plan.spacing_us = bs_trapezoid_spacing_us(&scan->trapezoid);
		least = scan->plan.spacing_us * (3 + p->readouts);
	}
	scan->tr_us = scan->tr_us > 0.0 ? scan->tr_us : ceil(least + PAUSE_US);
	if (rc == 0 && !scan->plan.epi)
		rc = check_tr(scan, least, why);
	scan->plan.tr_us = scan->tr_us;
	scan->plan.readout_us = scan->dwell_us * p->samples;
	return rc;
}

/* Completes the plan from the scan, and makes its lines. */
static int set_plan(struct run *r, struct bs_fail *why)
{
	const struct bs_protocol *p = r->p;
	struct bs_scanplan *plan = &r->scan.plan;
	uint32_t count = 0;
	int rc = set_times(r, why);

	plan->traj = r->scan.traj;
	for (int a = 0; a < 2; a++)
		plan->lines[a] = p->encoded[a + 1] > 0 ? p->encoded[a + 1] : p->matrix[a + 1];
	plan->slices = p->slices;
	plan->contrasts = p->contrasts;
	plan->repetitions = r->scan.repetitions;
	if (rc == 0)
		rc = bs_scanlines_make(&r->lines, plan, why);
	if (rc == 0)
		rc = bs_scanlines_walk(r->lines, count_line, &count, why);
	return rc != 0 || !plan->epi
		       ? rc
		       : check_tr(&r->scan, plan->spacing_us * (3 + bs_scanlines_frame(r->lines)),
				  why);
}

static int set_noise(struct run *r, struct bs_team *team, struct bs_fail *why)
{
	size_t longest = r->p->samples;
	int rc = bs_phantom_noise(&r->scan, &r->noise, why);

	if (rc == 0)
		rc = bs_phantom_sigma(&r->scan, team, &r->sigma, why);
	r->scan_sigma = r->sigma * bs_phantom_noise_scale(&r->scan);
	bs_random_seed(&r->random, r->scan.seed);
	if (r->scan.plan.noise > 0 && r->scan.receiver.scan_samples > longest)
		longest = r->scan.receiver.scan_samples;
	r->readout = malloc(longest * r->p->coils * 2 * sizeof(float));
	r->work = malloc(2 * longest * sizeof(double));
	if (rc == 0 && (r->readout == NULL || r->work == NULL))
		rc = bs_fail(why, BS_ERR_NOMEM, "phantom: no memory for a readout");
	return rc;
}

static int begin_run(struct run *r, const struct bs_phantom_scan *scan, struct bs_team *team,
		     struct bs_fail *why)
{
	int rc = bs_phantom_check(scan, why);

	memset(r, 0, sizeof(*r));
	r->scan = *scan;
	r->p = scan->protocol;
	if (rc == 0)
		rc = check_receiver(scan, why);
	if (rc == 0)
		rc = check_physics(scan, why);
	if (rc == 0)
		rc = set_plan(r, why);
	if (rc == 0)
		rc = set_noise(r, team, why);
	return rc != 0 ? rc : bs_phantom_source_open(&r->source, &r->scan, team, why);
}

static int put_xml(struct run *r, struct bs_fail *why)
{
	struct bs_scan_info info;
	char xml[BS_SCANXML_BYTES];
	struct bs_scanxml x = { .info = &info,
				.tr_ms = r->scan.tr_us / 1e3,
				.system = "boreside phantom",
				.sequence = "simulated: closed-form Shepp-Logan phantom" };
	int rc;

	if (r->scan.object == BS_PHANTOM_MARKER)
		x.sequence = "simulated: closed-form marker";
	if (r->scan.object == BS_PHANTOM_POINTS)
		x.sequence = "simulated: closed-form points";
	if (r->scan.field_hz != 0.0)
		x.sequence = "simulated: sum over the true image's voxels in a field";
	for (uint32_t c = 0; c < r->p->contrasts; c++)
		x.te_ms[c] = r->scan.te_ms[c];
	x.epi = r->scan.plan.epi ? &r->scan.trapezoid : NULL;
	x.train = bs_scanlines_frame(r->lines);
	if (r->scan.plan.multiband.bands > 1)
		x.multiband = bs_phantom_multiband(&r->scan);

	bs_phantom_info(&r->scan, r->lines, &info);
	rc = bs_scanxml_write(xml, sizeof(xml), &x, why);
	return rc != 0 ? rc : bs_recording_put_xml(r->out, xml, why);
}

/* Returns the phase of a line in radians, by drift, its direction and its band. */
static double phase_of(const struct run *r, const struct bs_scanline *line, uint32_t band)
{
	const uint32_t lines = r->scan.plan.lines[0];
	double phase = r->scan.drift * line->navigator;

	if (r->scan.plan.epi && line->reversed)
		phase += r->scan.epi_phase + r->scan.epi_drift * line->repetition;
	if (line->phased)
		phase += 2.0 * M_PI * band / bs_scanplan_shift(&r->scan.plan) *
			 ((double)(line->row % lines) - lines / 2);
	return phase;
}

/* Adds a slice to the readout: [coil][sample], samples of a line from first on. */
static void add_slice(struct run *r, const struct bs_scanline *line, uint32_t slice, double phase,
		      uint32_t first, uint32_t n)
{
	uint32_t samples = r->p->samples;
	const float *from =
		bs_phantom_source_row(r->source, slice, line->contrast, line->row, line->reversed);
	double re = cos(phase);
	double im = sin(phase);
	double scale = line->kind == BS_SCANLINE_DUMMY ? 3.0 : 1.0;

	for (uint32_t c = 0; c < r->p->coils; c++)
		for (uint32_t s = 0; s < n; s++) {
			uint32_t at = first + (line->reversed ? n - 1 - s : s);
			const float *d = from + 2 * ((size_t)c * samples + at);
			float *to = r->readout + 2 * ((size_t)c * n + s);

			to[0] += (float)(scale * (d[0] * re - d[1] * im));
			to[1] += (float)(scale * (d[1] * re + d[0] * im));
		}
}

/* Adds what a readout has without noise to zeros, so that no zero has a sign. */
static void add_line(struct run *r, const struct bs_scanline *line, uint32_t first, uint32_t n)
{
	const uint32_t bands = r->scan.plan.multiband.bands;
	const uint32_t groups = bands > 1 ? r->p->slices / bands : r->p->slices;

	for (uint32_t slice = line->slice; slice < r->p->slices; slice += groups) {
		add_slice(r, line, slice, phase_of(r, line, slice / groups), first, n);
		if (!line->folded)
			break;
	}
}

static int put_line(void *arg, const struct bs_scanline *line, struct bs_fail *why)
{
	struct run *r = arg;
	struct bs_mrd_acq h = bs_phantom_head(&r->scan, r->lines, line, r->count++);
	const float *k = bs_phantom_path(&r->scan, line->frame, line->row);
	uint32_t n = h.number_of_samples;
	bool noise = line->kind == BS_SCANLINE_NOISE;
	int rc = noise ? 0 : bs_phantom_source_hold(r->source, line->slice, line->frame, why);

	if (rc != 0)
		return rc;
	memset(r->readout, 0, (size_t)2 * r->p->coils * n * sizeof(float));
	if (line->kind == BS_SCANLINE_NAVIGATOR)
		add_line(r, line, bs_phantom_center(r->p) - n / 2, n);
	else if (!noise)
		add_line(r, line, 0, n);
	if (r->sigma > 0.0)
		bs_coil_noise_add(&r->noise, &r->random, noise ? r->scan_sigma : r->sigma, n,
				  r->readout, r->work);
	return bs_recording_append(r->out, &h, h.trajectory_dimensions ? k : NULL, r->readout, why);
}

int bs_phantom_record(const struct bs_phantom_scan *scan, struct bs_team *team, const char *path,
		      uint32_t *written, struct bs_fail *why)
{
	struct run r;
	int rc = begin_run(&r, scan, team, why);

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
	bs_phantom_source_close(r.source);
	free(r.readout);
	free(r.work);
	return rc;
}
