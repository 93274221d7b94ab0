/* gpu/engine/phases.c - see phases.h */
#include "gpu/engine/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/calibrate/dense.h"
#include "gpu/calibrate/echo.h"
#include "gpu/fft/fft.h"

/* Navigators of a slice and contrast. */
struct navigated {
	uint32_t samples; /* samples of the first navigator; 0: none has come */
	float re, im;     /* complex number by which lines are multiplied */
};

struct bs_phases {
	const struct bs_protocol *p;
	struct bs_recon *recon;
	uint32_t n; /* samples of the grid along x; a readout has the last ones */
	size_t room;
	const struct bs_fft_kernels *kernels;
	struct bs_fft fft;
	/* The next members describe the current scan. */
	struct bs_corrected said;
	struct bs_fail broken; /* code not 0: why no line can be used */
	bool trial;
	/* number of phase-correction lines in a row; their slice and contrast */
	uint32_t came, slice, contrast;
	/* [i]: phase-correction line number i modulo 3 runs backwards */
	bool back[3];
	struct bs_trapezoid made; /* the trapezoid that the ramps' matrix was made for */
	/* These arrays are taken from the arena at arm. */
	struct navigated *navigated;
	float *first;          /* [frame][room] first navigator of each slice and contrast */
	float *line;           /* line in image space, [coils][n], then room for a path */
	float *triple;         /* lines of a triple, [3][coils][n] */
	float *ramps, *across; /* matrices of ramps, [n][n]; lines across, [2][n][coils] complex */
	/* [slice][n] complex factor of reversed lines, in image space */
	float *off;
	uint8_t *known;  /* [slice]: off is known */
	double *product; /* product of profiles, [n] complex, behind the blocks */
	float *blocks;   /* two blocks for a vector's lanes */
	void *work;
};

static void lay(struct bs_phases *f, struct bs_room *r)
{
	const struct bs_protocol *p = f->p;
	const bool epi = bs_plan_has(&p->plan, BS_PLAN_EPI);
	const uint64_t n = f->n;
	const uint64_t line = n * p->coils * 8;
	const uint64_t frames = bs_plan_has(&p->plan, BS_PLAN_NAVIGATE) ? bs_protocol_pairs(p) : 0;

	bs_room_take(r, &f->navigated, "navigators' phases", frames, sizeof(struct navigated));
	bs_room_take(r, &f->first, "first navigators", frames, f->room * sizeof(float));
	bs_room_take(r, &f->line, "corrected readout", 1, line + bs_protocol_path(p) * 4);
	bs_room_take(r, &f->triple, "phase-correction lines", epi ? 3 : 0, line);
	bs_room_take(r, &f->ramps, "ramps' matrix", epi ? n : 0, n * 8);
	bs_room_take(r, &f->across, "readout across coils", epi ? 2 : 0, line);
	bs_room_take(r, &f->off, "reversed lines' phases", epi ? p->slices : 0, n * 8);
	bs_room_take(r, &f->known, "slices' triples", epi ? p->slices : 0, 1);
	bs_room_take(r, &f->blocks, "profiles", epi, n * 16 + 2 * n * 8 * BS_FFT_LANES_MAX);
	bs_room_take(r, &f->work, "ramps' work", epi, epi ? bs_ramps_bytes((uint32_t)n) : 0);
}

static void set_out(struct bs_phases *f, const struct bs_protocol *p)
{
	*f = (struct bs_phases){ .p = p };
	f->n = bs_plan_has(&p->plan, BS_PLAN_EPI) ? p->encoded[0] : p->samples;
	f->room = 2 * ((size_t)p->samples + p->discard) * p->coils;
}

int bs_phases_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_phases f;

	(void)why;
	set_out(&f, p);
	if (p->plan.corrects)
		lay(&f, &room);
	return 0;
}

int bs_phases_arm(struct bs_phases **out, const struct bs_protocol *p, struct bs_recon *recon,
		  struct bs_arena *arena, struct bs_fail *why)
{
	struct bs_room room = { .arena = arena };
	struct bs_phases *f;
	int rc;

	*out = NULL;
	if (!p->plan.corrects)
		return 0;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	set_out(f, p);
	f->recon = recon;
	f->kernels = BS_ISA_PICK(bs_fft_kernels);
	rc = bs_dense_open(why);
	if (rc == 0)
		lay(f, &room);
	if (rc == 0 &&
	    (room.full || (bs_plan_has(&p->plan, BS_PLAN_EPI) && bs_fft_plan(&f->fft, f->n) != 0)))
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': navigators and EPI", p->name);
	if (rc != 0) {
		bs_phases_disarm(f);
		return rc;
	}
	if (f->blocks != NULL)
		f->product = (double *)(f->blocks + 4 * (size_t)f->n * BS_FFT_LANES_MAX);
	*out = f;
	return 0;
}

void bs_phases_disarm(struct bs_phases *f)
{
	if (f == NULL)
		return;
	bs_fft_close(&f->fft);
	free(f);
}

/* ---- a scan ---- */

static void make_ramps(struct bs_phases *f, const struct bs_scan_info *info)
{
	const struct bs_trapezoid t = { f->n, info->readout_dwell_us, info->ramp_up_us,
					info->flat_us, info->acquisition_delay_us };
	int rc = 0;

	f->said.ramps = true;
	if (t.samples == f->made.samples && t.dwell_us == f->made.dwell_us &&
	    t.ramp_us == f->made.ramp_us && t.flat_us == f->made.flat_us &&
	    t.delay_us == f->made.delay_us)
		return;
	rc = bs_ramps_matrix(f->ramps, &t, f->work, &f->broken);
	f->made = rc == 0 ? t : (struct bs_trapezoid){ 0 };
}

void bs_phases_scan(struct bs_phases *f, const struct bs_scan_info *info)
{
	if (f == NULL)
		return;
	memset(&f->said, 0, sizeof(f->said));
	f->broken.code = 0;
	f->trial = false;
	f->came = 0;
	for (uint32_t i = 0; f->navigated != NULL && i < bs_protocol_pairs(f->p); i++)
		f->navigated[i] = (struct navigated){ 0, 1.0f, 0.0f };
	if (!bs_plan_has(&f->p->plan, BS_PLAN_EPI))
		return;
	memset(f->known, 0, f->p->slices);
	if (bs_admit_ramps(info))
		make_ramps(f, info);
	bs_recon_corrected(f->recon, &f->said);
}

void bs_phases_trial(struct bs_phases *f)
{
	struct bs_scan_info info = { 0 };

	if (f == NULL)
		return;
	bs_phases_scan(f, &info);
	f->trial = true;
	if (!bs_plan_has(&f->p->plan, BS_PLAN_EPI))
		return;
	memset(f->known, 1, f->p->slices);
	memset(f->off, 0, (size_t)f->p->slices * f->n * 8);
	memset(f->ramps, 0, (size_t)f->n * f->n * 8);
	for (size_t i = 0; i < (size_t)f->p->slices * f->n; i++) /* lines are left unchanged */
		f->off[2 * i] = 1.0f / (float)f->n;
	for (size_t i = 0; i < f->n; i++)
		f->ramps[2 * i * (f->n + 1)] = 1.0f;
	f->made.samples = 0;
	f->said.ramps = true;
}

/* ---- a readout ---- */

/* Multiplies lines of n samples by the ramps' matrix, in place. */
static void straighten(const struct bs_phases *f, float *line)
{
	const size_t coils = f->p->coils;
	const size_t n = f->n;
	float *in = f->across; /* [sample][real parts of coils, imaginary parts of coils] */
	float *out = in + 2 * n * coils;

	for (size_t c = 0; c < coils; c++)
		for (size_t s = 0; s < n; s++) {
			in[2 * s * coils + c] = line[2 * (c * n + s)];
			in[(2 * s + 1) * coils + c] = line[2 * (c * n + s) + 1];
		}
	memset(out, 0, 2 * n * coils * sizeof(*out));
	for (size_t j = 0; j < n; j++)
		for (size_t s = 0; s < n; s++) {
			const float re = f->ramps[2 * (j * n + s)];
			const float im = f->ramps[2 * (j * n + s) + 1];
			const float *restrict x = in + 2 * s * coils;
			float *restrict y = out + 2 * j * coils;

			for (size_t c = 0; c < coils; c++) {
				y[c] += re * x[c] - im * x[coils + c];
				y[coils + c] += re * x[coils + c] + im * x[c];
			}
		}
	for (size_t c = 0; c < coils; c++)
		for (size_t j = 0; j < n; j++) {
			line[2 * (c * n + j)] = out[2 * j * coils + c];
			line[2 * (c * n + j) + 1] = out[(2 * j + 1) * coils + c];
		}
}

/* Copies a whole line [coil][n] of the grid, with zeros before a late echo. */
static void copy_line(const struct bs_phases *f, float *to, const struct bs_mrd_acq *head,
		      const float *data)
{
	const uint32_t samples = f->p->samples;
	const size_t before = f->n - samples;

	for (size_t c = 0; c < f->p->coils; c++) {
		float *at = to + 2 * c * f->n;

		memset(at, 0, before * 8);
		memcpy(at + 2 * before,
		       data + 2 * (c * head->number_of_samples + head->discard_pre),
		       (size_t)samples * 8);
	}
	if (f->said.ramps)
		straighten(f, to);
}

/* Points the lanes to the coils of a line from `first` on; the last coil fills up the lanes. */
static void lanes_of(const struct bs_phases *f, float *lane[BS_FFT_LANES_MAX], float *line,
		     uint32_t first)
{
	for (uint32_t j = 0; j < f->kernels->lanes; j++) {
		const uint32_t c = first + j < f->p->coils ? first + j : f->p->coils - 1;

		lane[j] = line + 2 * (size_t)c * f->n;
	}
}

/* Multiplies a line by [n] complex numbers in image space. */
static void multiply_image(const struct bs_phases *f, float *line, const float *by)
{
	const uint32_t lanes = f->kernels->lanes;
	const size_t block = 2 * (size_t)f->n * lanes;
	float *lane[BS_FFT_LANES_MAX];

	for (uint32_t c = 0; c < f->p->coils; c += lanes) {
		float *x;

		lanes_of(f, lane, line, c);
		f->kernels->lines_in(f->blocks, (const float *const *)lane, f->n, NULL);
		x = f->kernels->run(&f->fft, f->blocks, f->blocks + block, true);
		for (uint32_t i = 0; i < f->n; i++) {
			const float re = by[2 * i];
			const float im = by[2 * i + 1];
			float *at = x + 2 * (size_t)i * lanes;

			for (uint32_t j = 0; j < lanes; j++) {
				const float v = at[j];

				at[j] = re * v - im * at[lanes + j];
				at[lanes + j] = re * at[lanes + j] + im * v;
			}
		}
		x = f->kernels->run(&f->fft, x, x == f->blocks ? f->blocks + block : f->blocks,
				    false);
		f->kernels->lines_out(lane, x, f->n, NULL);
	}
}

/* product[x] += conj(a) b in image space, over all coils; a and b are transformed in place. */
static void multiply(struct bs_phases *f, float *a, float *b)
{
	const uint32_t lanes = f->kernels->lanes;
	const size_t block = 2 * (size_t)f->n * lanes;
	float *const of[2] = { a, b };
	float *lane[BS_FFT_LANES_MAX];

	memset(f->product, 0, (size_t)f->n * 16);
	for (uint32_t c = 0; c < f->p->coils; c += lanes)
		for (int w = 0; w < 2; w++) {
			lanes_of(f, lane, of[w], c);
			f->kernels->lines_in(f->blocks, (const float *const *)lane, f->n, NULL);
			f->kernels->lines_out(
				lane, f->kernels->run(&f->fft, f->blocks, f->blocks + block, true),
				f->n, NULL);
		}
	for (uint32_t c = 0; c < f->p->coils; c++)
		for (uint32_t i = 0; i < f->n; i++) {
			const float *x = a + 2 * ((size_t)c * f->n + i);
			const float *y = b + 2 * ((size_t)c * f->n + i);

			f->product[2 * (size_t)i] += (double)x[0] * y[0] + (double)x[1] * y[1];
			f->product[2 * (size_t)i + 1] += (double)x[0] * y[1] - (double)x[1] * y[0];
		}
}

/* Fits the last three lines. The mean of the first and the last is as old as the middle one. */
static void fit(struct bs_phases *f)
{
	const size_t line = 2 * (size_t)f->n * f->p->coils;
	const uint32_t last = f->came - 1;
	const bool inner_back = f->back[(last - 1) % 3];
	struct bs_echo_fit found;
	float *off = f->off + 2 * (size_t)f->slice * f->n;
	float *mean = f->line;
	/* works on a copy: the line itself may also be part of the next triple */
	float *inner = f->across;

	if (f->came < 3 || f->back[last % 3] == inner_back || f->back[(last - 2) % 3] == inner_back)
		return;
	for (size_t i = 0; i < line; i++)
		mean[i] = 0.5f *
			  (f->triple[last % 3 * line + i] + f->triple[(last - 2) % 3 * line + i]);
	memcpy(inner, f->triple + (last - 1) % 3 * line, line * sizeof(*inner));
	multiply(f, inner_back ? mean : inner, inner_back ? inner : mean);
	found = bs_echo_fit(f->n, f->product);
	for (uint32_t i = 0; i < f->n; i++) {
		const double phase = found.phase + found.slope * bs_echo_x(f->n, i);

		off[2 * i] = (float)(cos(phase) / f->n);
		off[2 * i + 1] = (float)(-sin(phase) / f->n);
	}
	f->known[f->slice] = 1;
	f->said.triples++;
	f->said.epi_phase = (float)found.phase;
	f->said.epi_shift = (float)(-found.slope * f->n / (2.0 * M_PI));
}

static int take_triple(struct bs_phases *f, const struct bs_mrd_acq *head, const float *data,
		       struct bs_fail *why)
{
	const uint32_t discarded = (uint32_t)head->discard_pre + head->discard_post;

	if (head->number_of_samples - discarded != f->p->samples)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u (phase correction): %u samples less %u discarded, "
			       "protocol '%s' has %u",
			       head->scan_counter, head->number_of_samples, discarded, f->p->name,
			       f->p->samples);
	if (head->idx.slice != f->slice || head->idx.contrast != f->contrast)
		f->came = 0;
	f->slice = head->idx.slice;
	f->contrast = head->idx.contrast;
	f->back[f->came % 3] = (head->flags & BS_MRD_IS_REVERSE) != 0;
	copy_line(f, f->triple + f->came % 3 * 2 * (size_t)f->n * f->p->coils, head, data);
	f->came++;
	fit(f);
	return BS_PHASES_TAKEN;
}

static int take_navigator(struct bs_phases *f, const struct bs_mrd_acq *head, const float *data,
			  struct bs_fail *why)
{
	const uint32_t at = bs_protocol_pair(f->p, head->idx.slice, head->idx.contrast);
	const uint32_t samples =
		(uint32_t)head->number_of_samples - head->discard_pre - head->discard_post;
	struct navigated *v = &f->navigated[at];
	float *first = f->first + at * f->room;
	double phase;

	data += 2 * (size_t)head->discard_pre;
	if (v->samples == 0) {
		v->samples = samples;
		for (size_t c = 0; c < f->p->coils; c++)
			memcpy(first + 2 * c * samples, data + 2 * c * head->number_of_samples,
			       (size_t)samples * 8);
	}
	if (samples != v->samples)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u (navigation): %u samples, the first one of its "
			       "slice and contrast has %u",
			       head->scan_counter, samples, v->samples);
	phase = bs_navigator_phase(f->p->coils, samples, first, data, head->number_of_samples);
	v->re = (float)cos(phase);
	v->im = (float)-sin(phase);
	f->said.navigators++;
	f->said.navigator_phase = fmaxf(f->said.navigator_phase, (float)fabs(phase));
	return BS_PHASES_TAKEN;
}

static int correct(struct bs_phases *f, struct bs_mrd_acq *head, const float **data,
		   struct bs_fail *why)
{
	const uint32_t at = bs_protocol_pair(f->p, head->idx.slice, head->idx.contrast);
	const bool back = bs_plan_has(&f->p->plan, BS_PLAN_EPI) &&
			  (f->trial || (head->flags & BS_MRD_IS_REVERSE) != 0);
	const struct navigated *v = f->navigated != NULL ? &f->navigated[at] : NULL;
	const size_t count = (size_t)f->n * f->p->coils;

	if (head->encoding_space_ref != 0 && bs_mrd_kind(head->flags) == BS_KIND_CALIBRATION)
		/*
		 * a line of another encoding space was sampled in another way and is not corrected
		 */
		return 0;
	if (back && !f->known[head->idx.slice])
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "acquisition %u is a reversed line of slice %u, before which no "
			       "three phase-correction lines of it came, the middle one the other "
			       "way: epi.correct of protocol '%s' needs them",
			       head->scan_counter, head->idx.slice, f->p->name);
	if (!back && !f->said.ramps && !f->trial && (v == NULL || (v->re == 1.0f && v->im == 0.0f)))
		return 0;
	copy_line(f, f->line, head, *data);
	if (back)
		multiply_image(f, f->line, f->off + 2 * (size_t)head->idx.slice * f->n);
	for (size_t i = 0; v != NULL && i < count; i++) {
		const float re = f->line[2 * i];
		const float im = f->line[2 * i + 1];

		f->line[2 * i] = re * v->re - im * v->im;
		f->line[2 * i + 1] = re * v->im + im * v->re;
	}
	for (size_t c = 0; c < f->p->coils; c++) /* without the samples that a late echo lacks */
		memmove(f->line + 2 * c * f->p->samples,
			f->line + 2 * (c * f->n + f->n - f->p->samples), (size_t)f->p->samples * 8);
	memcpy(f->line + 2 * (size_t)f->p->samples * f->p->coils, *data + bs_path_at(head),
	       bs_protocol_path(f->p) * sizeof(float));
	bs_acq_trim(head, f->p->samples);
	*data = f->line;
	return 0;
}

int bs_phases_readout(struct bs_phases *f, struct bs_mrd_acq *head, const float **data,
		      struct bs_fail *why)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	int rc;

	if (f == NULL || kind == BS_KIND_NOISE || !bs_kind_used(f->p, kind))
		return 0;
	if (head->idx.slice >= f->p->slices || head->idx.contrast >= f->p->contrasts)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u: slice %u, contrast %u",
			       head->scan_counter, head->idx.slice, head->idx.contrast);
	if (f->broken.code != 0)
		return bs_fail(why, f->broken.code, "%s", f->broken.text);
	if (kind == BS_KIND_IMAGING || kind == BS_KIND_CALIBRATION) {
		if (head->idx.slice == f->slice && head->idx.contrast == f->contrast)
			f->came = 0;
		return correct(f, head, data, why);
	}
	rc = kind == BS_KIND_PHASE_CORRECTION ? take_triple(f, head, *data, why)
					      : take_navigator(f, head, *data, why);
	bs_recon_corrected(f->recon, &f->said);
	return rc;
}
