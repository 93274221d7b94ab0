/* core/frame/attributes.c - see attributes.h */
#include "core/frame/attributes.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

static void put_text(struct bs_text *t, const char *name, const char *value)
{
	bs_text_pair(t, name, "%s", value);
}

static void put_count(struct bs_text *t, const char *name, uint64_t value)
{
	bs_text_pair(t, name, "%llu", (unsigned long long)value);
}

static void put_kinds(struct bs_text *t, const struct bs_kinds *k)
{
	char words[BS_KINDS_WORDS];

	for (int i = 0; i < BS_KINDS; i++) {
		char name[64];

		if (k->used[i] + k->unused[i] == 0)
			continue;
		(void)snprintf(name, sizeof(name), "boreside_count_%s",
			       bs_kind_name((enum bs_kind)i));
		for (char *c = name; *c != '\0'; c++)
			if (*c == ' ')
				*c = '_';
		put_count(t, name, k->used[i] + k->unused[i]);
	}
	(void)bs_kinds_words(words, sizeof(words), k);
	if (words[0] != '\0')
		put_text(t, "boreside_not_used", words);
}

/* Writes the scan whose image W was made of, and how far this one lies from it, in voxels. */
static void put_w(struct bs_text *t, const struct bs_recon_image *image)
{
	const struct bs_w_report *w = &image->report.w;

	if (image->earlier.image[0] != '\0')
		put_text(t, "boreside_w_scan", image->earlier.image);
	if (w->measured)
		bs_text_pair(t, "boreside_w_offset", "%.2f %.2f %.2f", (double)w->offset[0],
			     (double)w->offset[1], (double)w->offset[2]);
	put_text(t, "boreside_w", w->lacks[0] == '\0' ? "used" : "not used");
}

/* Writes how the coils of an earlier scan were matched with those of this one. */
static void put_match(struct bs_text *t, const char *name, const struct bs_match *m)
{
	char words[BS_MATCH_WORDS + 16];

	if (m->by != BS_MATCHED_NAME && m->by != BS_MATCHED_NUMBER)
		return;
	(void)snprintf(words, sizeof(words), "%s%s%s",
		       m->by == BS_MATCHED_NAME ? "by name" : "by number",
		       m->words[0] != '\0' ? ": " : "", m->words);
	put_text(t, name, words);
}

static void put_deviations(struct bs_text *t, const struct bs_prepared *p)
{
	char words[BS_COILS_MAX * 11 + 1] = "";
	struct bs_text each = { words, sizeof(words), 0, false };

	for (uint32_t c = 0; c < p->coils && c < BS_COILS_MAX; c++)
		bs_text_put(&each, "%s%.3e", c > 0 ? " " : "", (double)p->deviation[c]);
	put_text(t, "boreside_noise_deviation", words);
}

/* Writes which noise the channels were whitened by, and what they were compressed to. */
static void put_prepared(struct bs_text *t, const struct bs_prepared *p)
{
	if (p->asked)
		put_text(t, "boreside_whitened", p->whitened ? "yes" : "no");
	if (p->asked && !p->whitened && p->match.words[0] != '\0')
		put_text(t, "boreside_not_whitened", p->match.words);
	if (p->whitened) {
		put_text(t, "boreside_noise_scan", p->noise_scan);
		put_match(t, "boreside_noise_channels", &p->match);
		put_count(t, "boreside_noise_samples", p->noise_samples);
		bs_text_pair(t, "boreside_noise_scale", "%.6g", (double)p->noise_scale);
		put_deviations(t, p);
	}
	if (p->virtual_coils > 0) {
		put_count(t, "boreside_virtual_coils", p->virtual_coils);
		bs_text_pair(t, "boreside_virtual_coils_kept", "%.6f", (double)p->kept);
	}
}

static void put_corrected(struct bs_text *t, const struct bs_protocol *p,
			  const struct bs_corrected *c)
{
	if (bs_plan_has(&p->plan, BS_PLAN_NAVIGATE)) {
		put_count(t, "boreside_navigators", c->navigators);
		bs_text_pair(t, "boreside_navigator_phase", "%.6g", (double)c->navigator_phase);
	}
	if (!bs_plan_has(&p->plan, BS_PLAN_EPI))
		return;
	put_count(t, "boreside_epi_triples", c->triples);
	bs_text_pair(t, "boreside_epi_phase", "%.6g", (double)c->epi_phase);
	bs_text_pair(t, "boreside_epi_shift", "%.6g", (double)c->epi_shift);
	put_text(t, "boreside_epi_ramps", c->ramps ? "yes" : "no");
}

/* Writes a volume's slices by their place: their counters in runs, "0-35", "1, 3, 5". */
static void put_joined(struct bs_text *t, const struct bs_joined *j)
{
	char words[BS_FRAMES_MAX * 5] = "";
	struct bs_text list = { words, sizeof(words), 0, false };

	if (j->slices == 0)
		return;
	put_count(t, "boreside_slices", j->slices);
	if (j->thickness_mm > 0.0f)
		bs_text_pair(t, "boreside_slice_thickness", "%.6g", (double)j->thickness_mm);
	for (uint32_t z = 0, last; z < j->slices; z = last + 1) {
		for (last = z; last + 1 < j->slices && j->number[last + 1] == j->number[last] + 1;)
			last++;
		bs_text_put(&list, last > z ? "%s%u-%u" : "%s%u", z > 0 ? ", " : "", j->number[z],
			    j->number[last]);
	}
	put_text(t, "boreside_slice_numbers", words);
}

/* Writes what the slice came apart from, by what, and how well. */
static void put_apart(struct bs_text *t, const struct bs_protocol *p,
		      const struct bs_recon_image *image)
{
	const struct bs_apartness *a = &image->report.apart;
	char words[BS_BANDS_MAX * 12] = "";
	struct bs_text list = { words, sizeof(words), 0, false };

	if (a->of <= 1)
		return;
	put_count(t, "boreside_bands", a->of);
	if (a->left == 0.0f)
		return;
	bs_text_pair(t, "boreside_references", "%s their bands' phases, %.4f of the lines left",
		     a->phased ? "with" : "without", (double)a->left);
	if (p->plan.joint)
		return;
	for (uint32_t b = 0; b < a->of; b++)
		bs_text_put(&list, "%s%.4f", b > 0 ? " " : "", (double)a->leakage[b]);
	put_text(t, "boreside_leakage", words);
}

/* The qualities of an image, in the order of user_int[7]. */
enum quality { COMPLETE, PARTIAL, LATE, DEGRADED };
static const char *const qualities[] = { "complete", "partial", "late", "degraded" };

static enum quality quality_of(const struct bs_protocol *p, const struct bs_recon_image *image,
			       const struct bs_image_timing *timing)
{
	if (image->missing != 0 || image->lacks[0] != '\0' || image->preview)
		return PARTIAL;
	if (bs_budget_missed(p, &image->report, timing->latency_ns))
		return LATE;
	if (image->report.deadline_stop || image->report.gridded || image->report.quadratic)
		return DEGRADED;
	/* A solver that reached its tolerance before it was cut short lacks nothing. */
	if (timing->step != NULL && p->step.late == BS_ON_LATE_MARK &&
	    bs_step_bypassed(timing->step->verdict))
		return DEGRADED;
	return image->report.allowed != image->iterations &&
			       image->report.iterations >= image->report.allowed
		       ? DEGRADED
		       : COMPLETE;
}

void bs_image_stages(const struct bs_image_timing *t, const struct bs_report *report,
		     int64_t until_ns, int64_t stage_ns[BS_BUDGET_STAGES])
{
	memcpy(stage_ns, report->stage_ns, sizeof(report->stage_ns));
	stage_ns[BS_BUDGET_RECEIVE] = t->taken_ns != 0 ? t->taken_ns - t->received_ns : 0;
	if (t->added_ns != 0)
		stage_ns[BS_BUDGET_ACCUMULATE] += t->added_ns - t->taken_ns;
	stage_ns[BS_BUDGET_EMIT] = until_ns != 0 ? until_ns - t->made_ns : 0;
	if (t->step != NULL) /* it has a budget of its own */
		stage_ns[BS_BUDGET_EMIT] -= t->step->ns;
}

static void put_us(struct bs_text *t, const char *what, const char *name, int64_t ns)
{
	char both[64];

	(void)snprintf(both, sizeof(both), "boreside_%s_%s_us", what, name);
	bs_text_pair(t, both, "%.3f", (double)ns * 1e-3);
}

static void put_stages(struct bs_text *t, const struct bs_protocol *p,
		       const struct bs_recon_image *image, const struct bs_image_timing *timing)
{
	const struct {
		const char *name;
		int64_t ns;
	} stamps[] = { { "handed", timing->handed_ns }, { "taken", timing->taken_ns },
		       { "added", timing->added_ns },   { "begun", timing->begun_ns },
		       { "made", timing->made_ns },     { "passed", timing->passed_ns } };
	int64_t stage_ns[BS_BUDGET_STAGES];
	uint32_t missed;

	if (timing->received_ns == 0)
		return;
	bs_text_pair(t, "boreside_received_ns", "%lld", (long long)timing->received_ns);
	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++)
		if (stamps[i].ns != 0)
			put_us(t, "at", stamps[i].name, stamps[i].ns - timing->received_ns);
	bs_image_stages(timing, &image->report, timing->passed_ns, stage_ns);
	/* a preview has no budget */
	missed = image->preview ? 0 : bs_budget_stages_missed(p, stage_ns);
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (stage_ns[i] != 0)
			put_us(t, "stage", bs_budget_stage_name((enum bs_budget_stage)i),
			       stage_ns[i]);
	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		if (missed & (1u << i))
			put_text(t, "boreside_stage_missed",
				 bs_budget_stage_name((enum bs_budget_stage)i));
}

static int32_t whole_us(int64_t ns)
{
	int64_t us = ns / 1000;

	return us > INT32_MAX ? INT32_MAX : us < 0 ? 0 : (int32_t)us;
}

static int32_t count(uint64_t n)
{
	return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

void bs_attributes_fill(struct bs_mrd_image *head, const struct bs_protocol *p,
			const struct bs_recon_image *image, const struct bs_image_timing *timing)
{
	int64_t stage_ns[BS_BUDGET_STAGES];

	head->user_int[0] =
		image->preview ? 0 : whole_us(bs_ns_of_ms(bs_budget_image_ms(p, &image->report)));
	head->user_int[1] = whole_us(timing->latency_ns);
	head->user_int[2] =
		!image->preview && bs_budget_missed(p, &image->report, timing->latency_ns);
	head->user_int[3] = count(image->report.iterations);
	head->user_int[4] = count(image->missing);
	head->user_int[5] = count(timing->gaps);
	head->user_int[6] = (int32_t)timing->rung;
	head->user_int[7] = (int32_t)quality_of(p, image, timing);
	head->user_float[0] = (float)image->report.residual;
	bs_image_stages(timing, &image->report, timing->passed_ns, stage_ns);
	for (int i = 0; i <= BS_BUDGET_EMIT; i++)
		head->user_float[1 + i] = (float)((double)stage_ns[i] * 1e-3);
}
_Static_assert(BS_BUDGET_EMIT == 6, "one user_float each, after the residual");

static void put_estimated(struct bs_text *t, const float delay[3])
{
	bs_text_pair(t, "boreside_delay", "%.6g %.6g 0", (double)delay[0], (double)delay[1]);
	bs_text_pair(t, "boreside_delay_cross", "%.6g 0 0", (double)delay[2]);
}

static void put_delays(struct bs_text *t, const struct bs_traj_spec *traj)
{
	bs_text_pair(t, "boreside_delay", "%.6g %.6g %.6g", (double)traj->delay[0],
		     (double)traj->delay[1], (double)traj->delay[2]);
	bs_text_pair(t, "boreside_delay_cross", "%.6g %.6g %.6g", (double)traj->delay_cross[0],
		     (double)traj->delay_cross[1], (double)traj->delay_cross[2]);
}

static void put_field(struct bs_text *t, const struct bs_protocol *p,
		      const struct bs_recon_image *image)
{
	const struct bs_report *report = &image->report;

	if (!p->plan.takes[BS_KEPT_FIELD])
		put_text(t, "boreside_field", p->field.map_file);
	else
		put_text(t, "boreside_field_scan", image->earlier.field);
	if (bs_plan_has(&p->plan, BS_PLAN_UNWARP))
		put_text(t, "boreside_field_blips", report->falling ? "falling" : "rising");
	if (report->segments == 0)
		return;
	put_count(t, "boreside_field_segments", report->segments);
	bs_text_pair(t, "boreside_field_error", "%.2e", report->field_error);
}

static void put_prior(struct bs_text *t, const struct bs_protocol *p,
		      const struct bs_report *report)
{
	if (p->prior.start == BS_START_LAST)
		put_text(t, "boreside_start", "last");
	if (p->prior.damp > 0.0)
		bs_text_pair(t, "boreside_damp", "%.9g", p->prior.damp);
	if (p->prior.kind == BS_PRIOR_NONE || report->quadratic) {
		bs_text_pair(t, "boreside_residual", "%.6e", report->residual);
		return;
	}
	put_text(t, "boreside_prior", bs_prior_names[p->prior.kind]);
	bs_text_pair(t, "boreside_prior_lambda", "%.9g", report->prior_lambda);
	bs_text_pair(t, "boreside_objective", "%.9g", report->objective);
	put_text(t, "boreside_stop", bs_prox_reason_words(report->stop));
}

/* Writes the unit of pixels that are no signal. */
static void put_unit(struct bs_text *t, const struct bs_protocol *p,
		     const struct bs_recon_image *image)
{
	const bool velocity = bs_plan_has(&p->plan, BS_PLAN_VELOCITY);

	if (image->head.image_type != BS_MRD_PHASE)
		return;
	put_text(t, "boreside_unit", velocity ? "cm/s" : "rad");
	if (velocity)
		bs_text_pair(t, "boreside_venc", "%.9g", (double)image->report.flow.venc);
}

/* Writes what the site's step has made of the image. */
static void put_step(struct bs_text *t, const struct bs_step_result *step)
{
	char words[25 * BS_STEP_NUMBERS_MAX + 1] = "";
	struct bs_text list = { words, sizeof(words), 0, false };

	if (step == NULL)
		return;
	put_text(t, "boreside_step", step->name);
	put_text(t, "boreside_step_image", step->verdict == BS_STEP_USED ? "with" : "without");
	put_text(t, "boreside_step_verdict", bs_step_verdict_name(step->verdict));
	bs_text_pair(t, "boreside_step_us", "%.3f", (double)step->ns * 1e-3);
	for (uint32_t i = 0; i < step->numbers && i < BS_STEP_NUMBERS_MAX; i++)
		bs_text_put(&list, "%s%.17g", i > 0 ? " " : "", step->number[i]);
	if (step->numbers > 0)
		put_text(t, "boreside_step_numbers",
			 step->numbers == BS_STEP_LEFT_OUT ? "left out: no room" : words);
}

/* Writes what the scan's header says again. */
static void put_about(void *arg, const char *name, const char *value, unsigned index)
{
	put_text(arg, index > 0 ? "+" : name, value);
}

int bs_attributes_write(char *out, size_t cap, const struct bs_protocol *p, const char *engine,
			const struct bs_recon_image *image, const struct bs_image_timing *timing,
			const char *about)
{
	const struct bs_plan *plan = &p->plan;
	struct bs_text t = { out, cap, 0, cap == 0 };

	put_text(&t, "boreside_protocol", p->name);
	put_text(&t, "boreside_engine", engine);
	put_text(&t, "boreside_quality", qualities[quality_of(p, image, timing)]);
	put_text(&t, "boreside_rung", bs_rung_name(timing->rung));
	if (image->preview)
		put_count(&t, "boreside_preview", image->number);
	put_count(&t, "boreside_readouts", image->readouts);
	if (image->averages > 0)
		put_count(&t, "boreside_averages", image->averages);
	put_count(&t, "boreside_missing", image->missing);
	put_joined(&t, &image->joined);
	if (image->lacks[0] != '\0')
		put_text(&t, "boreside_lacks", image->lacks);
	if (image->zeros[0] != '\0')
		put_text(&t, "boreside_zeros", image->zeros);
	if (image->center[0] != '\0')
		put_text(&t, "boreside_center", image->center);
	if (image->header[0] != '\0')
		put_text(&t, "boreside_header", image->header);
	if (image->scan_keys[0] != '\0')
		put_text(&t, "boreside_scan_keys", image->scan_keys);
	if (image->readout[0] != '\0')
		put_text(&t, "boreside_readout", image->readout);
	put_unit(&t, p, image);
	if (image->scan[0] != '\0')
		put_text(&t, "boreside_scan", image->scan);
	put_kinds(&t, &image->kinds);
	put_prepared(&t, &image->prepared);
	put_corrected(&t, p, &image->corrected);
	put_apart(&t, p, image);
	if (image->earlier.maps[0] != '\0') {
		put_text(&t, "boreside_maps_scan", image->earlier.maps);
		put_match(&t, "boreside_maps_channels", &image->earlier.match);
	}
	put_count(&t, "boreside_gaps", timing->gaps);
	put_count(&t, "boreside_duplicates", timing->duplicates);
	put_count(&t, "boreside_rejected", timing->rejected);
	if (image->report.delayed)
		put_estimated(&t, image->report.delay);
	else if (bs_traj_delayed(&p->traj))
		put_delays(&t, &p->traj);
	if (plan->off_resonance)
		put_field(&t, p, image);
	if (plan->solve != BS_SOLVE_NONE && !image->preview) {
		bs_text_pair(&t, "boreside_lambda", "%.9g", p->lambda);
		if (p->w.l2 > 0.0)
			bs_text_pair(&t, "boreside_l2", "%.9g", p->w.l2);
		if (image->report.w.asked)
			put_w(&t, image);
		put_count(&t, "boreside_iterations", image->report.iterations);
		if (plan->solve == BS_SOLVE_PROX)
			put_prior(&t, p, &image->report);
		else
			bs_text_pair(&t, "boreside_residual", "%.6e", image->report.residual);
		put_count(&t, "boreside_deadline_stop", image->report.deadline_stop);
	}
	if (timing->latency_ns > 0)
		bs_text_pair(&t, "boreside_latency_us", "%.3f", (double)timing->latency_ns * 1e-3);
	if (timing->sender_ns != 0)
		bs_text_pair(&t, "boreside_sender_ns", "%lld", (long long)timing->sender_ns);
	if (p->image_ms > 0.0 && !image->preview) {
		bs_text_pair(&t, "boreside_budget_ms", "%.6g",
			     bs_budget_image_ms(p, &image->report));
		if (timing->latency_ns > 0)
			put_text(&t, "boreside_budget",
				 bs_budget_missed(p, &image->report, timing->latency_ns) ? "missed"
											 : "met");
	}
	put_stages(&t, p, image, timing);
	put_step(&t, timing->step);
	(void)bs_text_pairs(about != NULL ? about : "", put_about, &t);
	return t.full ? BS_ERR_NOMEM : 0;
}

#define OPENING "<ismrmrdMeta>"

static void put_meta(void *arg, const char *name, const char *value, unsigned index)
{
	struct bs_text *t = arg;

	if (index == 0)
		bs_text_put(t, "%s<meta><name>%s</name>",
			    t->len >= sizeof(OPENING) ? "</meta>" : "", name);
	bs_text_put(t, "<value>");
	bs_text_xml(t, value);
	bs_text_put(t, "</value>");
}

int bs_attributes_xml(char *out, size_t cap, const char *attributes)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	bs_text_put(&t, OPENING);
	(void)bs_text_pairs(attributes, put_meta, &t);
	bs_text_put(&t, "%s</ismrmrdMeta>", attributes[0] != '\0' ? "</meta>" : "");
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}
