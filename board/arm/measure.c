/* board/arm/measure.c - see measure.h */
#include "board/arm/measure.h"
#include "board/arm/measuring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "ipc/wire/wire.h"
#if BS_GPU
#include "gpu/device/load.h"
#endif

#define SWEEP_MIN   ((size_t)32 << 20)
#define SWEEP_MAX   ((size_t)256 << 20)
#define FRAMES_MIN  2u /* frames timed in each condition, at least */
#define FRAMES_GOOD 8u
#define LEAST_MAX   16u
#define CALIBRATION 24u /* lines along each axis of the block that calibrates */
#define MS          1e-6

static size_t sweep_bytes(void)
{
	long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
	size_t n = cache > 0 ? (size_t)cache / 4 * 5 : 0;

	return n < SWEEP_MIN ? SWEEP_MIN : n > SWEEP_MAX ? SWEEP_MAX : n;
}

/* Puts the row's path behind the samples, in the layout that recon.h asks for. */
static void put_path(const struct measuring *m, uint32_t row)
{
	const size_t path = bs_protocol_path(m->p);

	if (path > 0)
		memcpy(m->samples + 2 * (size_t)m->p->samples * m->p->coils,
		       m->trial.k + row * path, path * sizeof(float));
}

/* ---- frames through the reconstruction ---- */

static int pop_all(struct measuring *m, int64_t deadline_ns, struct bs_fail *why)
{
	struct bs_recon_image image = { .pixels = m->image };
	int rc = 0;

	while (rc >= 0 && bs_recon_ready(m->a->recon) > 0) {
		rc = bs_recon_pop(m->a->recon, &image, deadline_ns, why);
		m->images += rc == 1 && !image.preview;
		if (rc == 1)
			m->calibration_ns += image.report.stage_ns[BS_BUDGET_CALIBRATION];
	}
	return rc < 0 ? rc : 0;
}

static int64_t deadline(const struct measuring *m, bool passed, int64_t now_ns)
{
	if (m->p->on_miss != BS_MISS_SHED || m->whole)
		return INT64_MAX;
	return passed ? now_ns : now_ns + bs_budget_ns(m->p);
}

static uint64_t lines_of(const struct bs_protocol *p)
{
	return (uint64_t)p->encoded[1] * p->encoded[2];
}

/* Readouts of one timed frame. Accelerated frames of any number of lines get every second line. */
static uint32_t readouts_of(const struct bs_protocol *p)
{
	/* every second line of slices at once may not tell what their references are like */
	if (p->plan.accelerated && p->by_header && p->readouts == lines_of(p) &&
	    !bs_plan_has(&p->plan, BS_PLAN_APART))
		return (p->readouts + 1) / 2;
	return p->readouts;
}

/* Line number i of a timed frame. Lines of an accelerated frame are spread over the grid. */
static uint32_t row_of(const struct bs_protocol *p, uint32_t i)
{
	return p->plan.accelerated && p->plan.on_grid ? (uint32_t)(i * lines_of(p) / readouts_of(p))
						      : i;
}

/* Fills a readout with noise: no solver stops early on it, no calibration finds
 * few signals in it. */
static void make_samples(struct measuring *m)
{
	const size_t values = (size_t)m->p->samples * m->p->coils * 2;
	uint64_t made;
	uint64_t read;

	bs_recon_reading(m->a->recon, true, &made, &read);
	for (size_t i = 0; i < values; i += 2) {
		double z[2];

		bs_random_normal(&m->random, z);
		m->samples[i] = (float)(z[0] * fmin(1.0, 0.01 * m->p->max_sample));
		m->samples[i + 1] = (float)(z[1] * fmin(1.0, 0.01 * m->p->max_sample));
	}
}

/* Gives recon one readout, and pops the images that the readout completes or
 * that wait before it. */
static int give_readout(struct measuring *m, const struct bs_mrd_acq *h, uint32_t row,
			int64_t *added_ns, bool passed, struct bs_fail *why)
{
	int rc;

	do {
		rc = bs_armed_readout(m->a, h, row, m->samples, bs_now_ns(), why);
		/* an end of frame counts for any number of lines */
		if (rc == 0 && (h->flags & BS_MRD_LAST) != 0)
			bs_recon_close(m->a->recon);
		*added_ns = bs_now_ns();
		if (rc >= 0) {
			int popped = pop_all(m, deadline(m, passed, *added_ns), why);

			rc = popped != 0 ? popped : rc;
		}
	} while (rc == BS_RECON_POP_FIRST);
	return rc;
}

/*
 * Gives recon the block of lines around the center of k-space that calibrates all frames; of slices
 * at once each of the first group's.
 */
static int calibrate(struct measuring *m, struct bs_fail *why)
{
	const uint32_t *E = m->p->encoded;
	const uint32_t groups = bs_multiband_groups(&m->p->multiband, m->p->slices);
	const uint32_t bands = m->p->slices / groups;
	uint32_t lines[2];
	int64_t added_ns;
	int rc = 0;

	if (!m->p->plan.on_grid || (!m->p->plan.accelerated && !m->p->plan.calibrates))
		return 0;
	for (int a = 0; a < 2; a++)
		lines[a] = E[a + 1] < CALIBRATION ? E[a + 1] : CALIBRATION;
	for (uint32_t i = 0; rc == 0 && i < lines[0] * lines[1] * bands; i++) {
		const uint32_t y = E[1] / 2 - lines[0] / 2 + i / bands % lines[0];
		const uint32_t z = E[2] / 2 - lines[1] / 2 + i / bands / lines[0];
		struct bs_mrd_acq h = bs_measuring_head(m, y + E[1] * z);

		h.flags = m->p->multiband.references == BS_REFERENCES_FIRST
				  ? BS_MRD_IS_CALIBRATION_TOO
				  : BS_MRD_IS_CALIBRATION;
		h.idx.slice = (uint16_t)(i % bands * groups);
		make_samples(m);
		rc = give_readout(m, &h, y + E[1] * z, &added_ns, false, why);
	}
	return rc;
}

/* Times one frame. cold: caches are emptied before its last readout. passed:
 * its deadline is over. */
static int frame(struct measuring *m, bool cold, bool passed, struct bs_fail *why)
{
	const uint32_t rows = readouts_of(m->p);
	const uint32_t readouts = rows * (m->p->averages > 1 ? m->p->averages : 1);
	const uint64_t images = m->images;
	int64_t adds_ns = 0;
	int64_t start_ns = bs_now_ns();
	int64_t swept_ns = 0;

	m->repetition++;
	for (uint32_t i = 0; i < readouts; i++) {
		const uint32_t row = row_of(m->p, i % rows);
		struct bs_mrd_acq h = bs_measuring_head(m, row);
		bool last = i + 1 == readouts;

		h.flags = last ? BS_MRD_LAST_IN_REPETITION : 0;
		h.idx.average = (uint16_t)(i / rows);
		if (m->anew)
			make_samples(m);
		if (last && cold) {
			int64_t t = bs_now_ns();

			bs_measuring_sweep(m);
			swept_ns = bs_now_ns() - t;
		}
		put_path(m, row);
		int64_t t0 = bs_now_ns();
		int64_t t1;
		int rc = give_readout(m, &h, row, &t1, passed, why);

		if (rc != 0)
			return rc;
		adds_ns += t1 - t0;
		if (last) {
			bs_measuring_note(m, &m->finish, t1, 0);
			bs_measuring_note(m, &m->add, t0, bs_now_ns() - t1);
		}
	}
	if (m->images == images)
		return bs_fail(why, BS_ERR_STATE, "a frame did not end");
	bs_measuring_note(m, &m->total, start_ns, swept_ns);
	if (m->adds.n < BS_MEASURE_MAX)
		m->adds.at[m->adds.n++].ns = adds_ns / (readouts > 0 ? readouts : 1);
	if (m->env->beat != NULL)
		m->env->beat(m->env->arg);
	return 0;
}

/* True if time is left for one more frame. The first FRAMES_GOOD may take four times the time. */
static bool has_time(const struct measuring *m, uint32_t done, int64_t spent_ns)
{
	double share = (double)spent_ns * 1e-9 / m->env->seconds;

	return done < FRAMES_MIN || share < 1.0 || (done < FRAMES_GOOD && share < 4.0);
}

static int frames(struct measuring *m, bool cold, bool passed, uint32_t most, struct bs_fail *why)
{
	int64_t start = bs_now_ns();
	int rc = 0;

	m->add.n = m->finish.n = m->total.n = m->adds.n = 0;
	for (uint32_t i = 0; rc == 0 && i < most && has_time(m, i, bs_now_ns() - start); i++)
		rc = frame(m, cold, passed, why);
	return rc;
}

static void keep_timings(struct measuring *m, enum bs_condition on)
{
	bs_estimate_make(&m->out->cost[BS_COST_ADD][on], m->add.at, m->add.n, m->out->margin);
	bs_estimate_make(&m->out->cost[BS_COST_FINISH][on], m->finish.at, m->finish.n,
			 m->out->margin);
}

/* Times scans of one frame each, which calibrate everything anew. */
static int measure_calibration(struct measuring *m, enum bs_condition on, struct bs_fail *why)
{
	const struct bs_scan_info info = { 0 };
	const int64_t begun_ns = bs_now_ns();
	int rc = 0;

	m->anew = true;
	m->calibration.n = 0;
	for (bool first = on == BS_CONDITION_WARM;
	     rc == 0 && has_time(m, m->calibration.n, bs_now_ns() - begun_ns); first = false) {
		const int64_t start_ns = bs_now_ns();

		bs_armed_trial(m->a, &info, &m->noise);
		m->calibration_ns = 0;
		rc = calibrate(m, why);
		if (rc == 0)
			rc = frame(m, on == BS_CONDITION_COLD, false, why);
		if (!first) /* the first scan also pays what arming left to it */
			bs_measuring_note_ns(m, &m->calibration, start_ns, m->calibration_ns);
	}
	m->anew = false;
	bs_estimate_make(&m->out->cost[BS_COST_CALIBRATION][on], m->calibration.at,
			 m->calibration.n, m->out->margin);
	return rc;
}

/* Times frames beside other work on the same GPU; does nothing if the engine is the host's. */
static int loaded_frames(struct measuring *m, struct bs_fail *why)
{
#if BS_GPU
	struct bs_hog *hog = NULL;
	uint64_t kernels = 0;
	int rc;

	if (!bs_plan_on_gpu(m->a->engine->place))
		return 0;
	rc = bs_hog_open(&hog, BS_HOG_GENTLE_US, why);
	if (rc == BS_ERR_NOMEM)
		return 0; /* no room on the GPU for the load: this condition is not measured */
	if (rc != 0)
		return rc;
	rc = frames(m, false, false, BS_MEASURE_MAX, why);
	if (rc == 0) /* frames after the load had ended do not count */
		rc = bs_hog_check(hog, &kernels, why);
	bs_hog_close(hog);
	if (rc == 0)
		keep_timings(m, BS_CONDITION_LOADED);
	return rc;
#else
	(void)m;
	(void)why;
	return 0;
#endif
}

/* Times the least work that the protocol may do (core/latency/budget.h), with a passed deadline. */
static int measure_least(struct measuring *m, struct bs_fail *why)
{
	const struct bs_aim least = { .gridding = bs_recon_stands_in(m->a->recon),
				      .iterations = 1 };
	const struct bs_aim full = { 0 };
	int rc;

	bs_recon_aim(m->a->recon, &least);
	rc = frames(m, false, true, LEAST_MAX, why);
	bs_recon_aim(m->a->recon, &full);
	if (rc == 0)
		bs_estimate_make(&m->out->least, m->finish.at, m->finish.n, m->out->margin);
	return rc;
}

static int measure_frames(struct measuring *m, struct bs_fail *why)
{
	struct bs_scan_info info = { 0 };
	struct bs_estimate e;
	int rc;

	for (int on = BS_CONDITION_WARM; on <= BS_CONDITION_COLD && m->p->plan.waits; on++) {
		rc = measure_calibration(m, (enum bs_condition)on, why);
		if (rc != 0)
			return rc;
	}
	bs_armed_trial(m->a, &info, &m->noise);
	rc = calibrate(m, why);
	if (rc == 0) /* the first frame pays one-time costs and does not count */
		rc = frame(m, false, false, why);
	if (rc == 0)
		rc = frames(m, false, false, BS_MEASURE_MAX, why);
	if (rc != 0)
		return rc;
	keep_timings(m, BS_CONDITION_WARM);
	m->out->frames = m->total.n;
	bs_estimate_make(&e, m->total.at, m->total.n, 0.0);
	m->out->frame_ns = e.p50_ns;
	bs_estimate_make(&e, m->adds.at, m->adds.n, 0.0);
	m->out->readout_ns = e.p50_ns;
	if (m->p->on_miss == BS_MISS_SHED)
		rc = measure_least(m, why);
	if (rc == 0)
		rc = frames(m, true, false, BS_MEASURE_MAX, why);
	if (rc == 0)
		keep_timings(m, BS_CONDITION_COLD);
	if (rc == 0)
		rc = loaded_frames(m, why);
	bs_armed_trial(m->a, &info, &m->noise);
	return rc;
}

/* ---- */

/* Makes a path of golden-angle spokes, as most streams with a path of their own have. */
static int make_trial(struct measuring *m, struct bs_fail *why)
{
	struct bs_protocol p = *m->p;

	if (!m->p->plan.streams)
		return 0;
	p.traj.type = p.dims == 2 ? BS_TRAJ_RADIAL2D : BS_TRAJ_RADIAL3D;
	bs_plan_make(&p);
	return bs_traj_make(&m->trial, &p, why);
}

static int take_memory(struct measuring *m, struct bs_fail *why)
{
	size_t values = (size_t)m->p->samples * m->p->coils * 2;
	size_t table = (size_t)m->p->samples * 3 * sizeof(float);

	if (m->env->samples == NULL)
		m->own_samples = malloc((values + bs_protocol_path(m->p)) * sizeof(float));
	if (m->env->image == NULL)
		m->own_image = malloc((size_t)bs_protocol_leaving_bytes(m->p));
	m->samples = m->env->samples != NULL ? m->env->samples : m->own_samples;
	m->image = m->env->image != NULL ? m->env->image : m->own_image;
	m->message = malloc(BS_WIRE_BYTES + BS_MRD_ACQ_BYTES + table + values * sizeof(float));
	m->pixels = calloc(1, BS_WIRE_BYTES + (size_t)bs_protocol_leaving_bytes(m->p));
	m->sweep_len = sweep_bytes();
	m->sweep = calloc(m->sweep_len, 1);
	if (m->samples == NULL || m->image == NULL || m->message == NULL || m->pixels == NULL ||
	    m->sweep == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': no memory to measure with",
			       m->p->name);
	bs_random_seed(&m->random, 1);
	make_samples(m);
	m->noise = (struct bs_noise){ .coils = m->p->coils, .readouts = 1, .samples = 1024 };
	for (size_t c = 0; c < m->p->coils; c++)
		m->noise.sum[c * m->p->coils + c] = 1024.0;
	return 0;
}

static int open_measuring(struct measuring **out, const struct bs_armed *a,
			  const struct bs_measure_env *env, struct bs_fail *why)
{
	struct measuring *m = calloc(1, sizeof(*m));
	int rc;

	*out = m;
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': no memory to measure with",
			       a->protocol->name);
	m->a = a;
	m->p = a->protocol;
	m->env = env;
	rc = take_memory(m, why);
	return rc != 0 ? rc : make_trial(m, why);
}

int bs_measure(struct bs_admission *out, const struct bs_armed *a, const struct bs_measure_env *env,
	       struct bs_fail *why)
{
	struct measuring *m;
	int rc = open_measuring(&m, a, env, why);

	memset(out, 0, sizeof(*out));
	if (rc == 0) {
		m->out = out;
		out->margin = m->p->margin;
		rc = measure_frames(m, why);
	}
	if (rc == 0)
		rc = bs_measure_share(m, why);
	out->measured = rc == 0;
	bs_measure_close(m);
	return rc;
}

int bs_measure_open(struct measuring **m, const struct bs_armed *a,
		    const struct bs_measure_env *env, struct bs_fail *why)
{
	const struct bs_scan_info info = { 0 };
	int rc = open_measuring(m, a, env, why);

	if (rc != 0)
		return rc;
	(*m)->whole = true;
	bs_armed_trial(a, &info, &(*m)->noise);
	return calibrate(*m, why);
}

int bs_measure_frame(struct measuring *m, int64_t ns[2], struct bs_fail *why)
{
	m->add.n = m->finish.n = m->total.n = m->adds.n = 0;
	int rc = frame(m, false, false, why);

	if (rc == 0) {
		ns[0] = m->finish.at[0].ns;
		ns[1] = m->total.at[0].ns;
	}
	return rc;
}

void bs_measure_close(struct measuring *m)
{
	const struct bs_scan_info info = { 0 };

	if (m == NULL)
		return;
	if (m->whole)
		bs_armed_trial(m->a, &info, &m->noise);
	bs_traj_close(&m->trial);
	free(m->own_samples);
	free(m->own_image);
	free(m->message);
	free(m->pixels);
	free(m->sweep);
	free(m);
}

static void print_line(FILE *to, const char *prefix, const char *cost, const char *on,
		       const struct bs_estimate *e)
{
	if (e->n > 0)
		(void)fprintf(to, "%s  %-8s %-7s %6u %6u %10.3f %10.3f %10.3f%s\n", prefix, cost,
			      on, e->n, e->disturbed, (double)e->p50_ns * MS,
			      (double)e->max_ns * MS, (double)e->worst_ns * MS,
			      e->busy ? "  busy machine: from the median" : "");
}

void bs_measure_print(FILE *to, const struct bs_admission *a, const struct bs_protocol *p,
		      const char *prefix)
{
	const uint32_t groups = bs_multiband_groups(&p->multiband, p->slices);

	(void)fprintf(to, "%sprotocol '%s', measured (ms; worst: with a margin of %g)\n", prefix,
		      p->name, a->margin);
	(void)fprintf(to, "%s  %-8s %-7s %6s %6s %10s %10s %10s\n", prefix, "cost", "", "N",
		      "dist.", "p50", "max", "worst");
	for (int c = 0; c < BS_COSTS; c++)
		for (int i = 0; i < BS_CONDITIONS; i++)
			print_line(to, prefix, bs_cost_name((enum bs_cost)c),
				   bs_condition_name((enum bs_condition)i), &a->cost[c][i]);
	print_line(to, prefix, "finish", "least", &a->least);
	(void)fprintf(to, "%s  an image %.3f", prefix, (double)bs_admission_worst(a, false) * MS);
	if (p->on_miss == BS_MISS_SHED)
		(void)fprintf(to, ", at least %.3f", (double)bs_admission_worst(a, true) * MS);
	(void)fprintf(to,
		      " of a budget of %g; a readout every %.4f, a frame every %.3f can be kept up "
		      "with\n",
		      p->image_ms, (double)a->readout_ns * MS, (double)a->frame_ns * MS);
	if (p->volume && p->slices > 1)
		(void)fprintf(to,
			      "%s  a volume waits for its last %s, as timed; where all %u end "
			      "together, %.3f at most\n",
			      prefix, groups < p->slices ? "group of slices" : "slice", groups,
			      (double)(bs_admission_worst(a, false) +
				       (groups - 1) * bs_admission_cost(a, BS_COST_FINISH)) *
				      MS);
}
