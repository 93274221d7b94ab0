/* board/arm/memplan.c - see memplan.h */
#include "board/arm/memplan.h"

#include <stdlib.h>
#include <string.h>

#include "board/arm/alone.h"
#include "board/arm/anatomy.h"
#include "core/frame/recon.h"
#include "drivers/file/tables.h"
#include "drivers/log/store.h"
#include "gpu/engine/engines.h"
#include "gpu/engine/mixer.h"
#include "gpu/engine/phases.h"
#include "ipc/wire/wire.h"

struct telling {
	bs_tell_line *report;
	void *arg;
	const struct bs_site *site;
	int first; /* error code of the first fault */
};

static void tell_fault(struct telling *t, const char *protocol, int code, const char *why)
{
	/* most engines name the protocol in their own words */
	bool named = protocol == NULL || strncmp(why, "protocol '", 10) == 0;
	char line[800];

	t->first = t->first != 0 ? t->first : code;
	(void)snprintf(line, sizeof(line), "%s: %s%s%s%s", t->site->file, named ? "" : "protocol '",
		       named ? "" : protocol, named ? "" : "': ", why);
	if (t->report != NULL)
		t->report(t->arg, line);
}

static void tables_need(struct bs_need *need, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	if (!plan->streams) {
		bs_need_add(need, "trajectory", p->readouts,
			    (uint64_t)p->samples * p->dims * sizeof(float));
		bs_need_add(need, "trajectory counters", 2,
			    (uint64_t)p->readouts * sizeof(uint16_t));
	}
	if (p->density == BS_DENSITY_FILE)
		bs_need_add(need, "weights", 1, bs_protocol_samples(p) * sizeof(float));
	if (bs_protocol_map_sets(p) > 0)
		bs_need_add(need, "sensitivities", bs_protocol_map_sets(p),
			    bs_protocol_map_values(p) * 8u);
	if (plan->takes[BS_KEPT_IMAGE])
		bs_need_add(need, "W of the study", 1, bs_anatomy_bytes(p));
	if (plan->off_resonance)
		bs_need_add(need, "field map", p->slices, bs_protocol_voxels(p) * sizeof(float));
	if (bs_plan_has(plan, BS_PLAN_ECHOES))
		bs_need_add(need, "echoes' phase", p->slices,
			    bs_protocol_voxels(p) * sizeof(float));
	bs_need_add(need, "readouts seen", bs_protocol_frames(p), bs_protocol_rows(p));
	if (p->frame_step > 0)
		bs_need_add(need, "groups seen", bs_protocol_frames(p),
			    (uint64_t)(p->readouts / p->frame_step) * 5u);
}

/* Asks what the GPU needs. In 2D solves a field map decides how many operators lie on the GPU. */
static int device_need(struct bs_need *need, const struct bs_protocol *p,
		       const struct bs_engine *engine, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	float *field = NULL;
	int rc = 0;

	if (plan->off_resonance && plan->solve != BS_SOLVE_NONE && p->dims == 2 &&
	    bs_plan_on_gpu(engine->place))
		rc = bs_tables_field(&field, p, why);
	if (rc == 0)
		rc = bs_recon_device(p, engine, field, need, why);
	free(field);
	return rc;
}

/* Sums what arm takes on the host and on the GPU, without what a field map decides. */
static int sum_of(uint64_t *bytes, const struct bs_protocol *p, const struct bs_engine *engine,
		  struct bs_fail *why)
{
	struct bs_need need = { 0 };
	struct bs_protocol inner;
	int rc;

	bs_mixer_inner(&inner, p);
	tables_need(&need, &inner);
	rc = bs_recon_need(&inner, engine, &need, why);
	if (rc == 0)
		rc = bs_recon_device(&inner, engine, NULL, &need, why);
	if (rc == 0)
		rc = bs_mixer_need(p, &need, why);
	if (rc == 0)
		rc = bs_phases_need(p, &need, why);
	*bytes = need.total_bytes;
	return rc;
}

/* Bytes of each frame that is open at once: from the need of twice as many frames. */
static uint64_t frame_bytes(const struct bs_protocol *p, const struct bs_engine *engine)
{
	const uint32_t frames = bs_protocol_frames(p);
	struct bs_protocol twice = *p;
	struct bs_fail why;
	uint64_t with;
	uint64_t without;

	twice.repetitions =
		/* only the number of repetitions differs */
		2 * (p->repetitions > 1 ? p->repetitions : 1);
	if (bs_protocol_frames(&twice) == frames || sum_of(&without, p, engine, &why) != 0 ||
	    sum_of(&with, &twice, engine, &why) != 0 || with < without)
		return 0;
	return (with - without) / frames;
}

static void plan_protocol(struct bs_memplan_protocol *m, const struct bs_protocol *p,
			  struct telling *t)
{
	struct bs_fail *why = &m->why;
	struct bs_protocol inner;
	int rc;

	bs_mixer_inner(&inner, p);
	rc = bs_engine_find(&m->engine, &inner, why);
	tables_need(&m->tables, &inner);
	if (rc == 0)
		rc = bs_recon_need(&inner, m->engine, &m->need, why);
	else
		m->engine = NULL;
	if (rc == 0)
		rc = device_need(&m->device, &inner, m->engine, why);
	if (rc == 0)
		rc = bs_mixer_need(p, &m->need, why);
	if (rc == 0)
		rc = bs_phases_need(p, &m->need, why);
	if (rc == 0 && (m->need.overflow || m->device.overflow || m->tables.overflow))
		rc = bs_fail(why, BS_ERR_NOMEM, "its memory does not fit 64 bits");
	if (rc == 0)
		m->frame_bytes = frame_bytes(p, m->engine);
	if (rc == 0)
		return;
	if (why->code == 0)
		(void)bs_fail(why, rc, "%s", bs_err_name(rc));
	tell_fault(t, p->name, rc, why->text);
}

static void add_bytes(uint64_t *sum, uint64_t bytes)
{
	if (__builtin_add_overflow(*sum, bytes, sum))
		*sum = UINT64_MAX;
}

static uint64_t mib(uint64_t bytes)
{
	return (bytes >> 20) + ((bytes & ((1u << 20) - 1)) != 0);
}

/* Adds a protocol's need to *held, what pools and earlier protocols take, if both fit. */
static void fit_protocol(struct bs_memplan_protocol *m, const struct bs_site *site, uint64_t *held,
			 const struct bs_protocol *p, struct telling *t)
{
	uint64_t limit = (uint64_t)site->memory_mib << 20;
	uint64_t need = 0;

	if (m->why.code != 0)
		return;
	add_bytes(&need, m->need.total_bytes);
	add_bytes(&need, m->tables.total_bytes);
	if (*held <= limit && need <= limit - *held) {
		*held += need;
		return;
	}
	(void)bs_fail(
		&m->why, BS_ERR_NOMEM,
		"node.memory_mib: %u MiB are too few for protocol '%s': it needs %llu MiB, pools "
		"and protocols before it hold %llu",
		site->memory_mib, p->name, (unsigned long long)mib(need),
		(unsigned long long)mib(*held));
	tell_fault(t, NULL, BS_ERR_NOMEM, m->why.text);
}

/* Counts the takers that get images from the store; each has a buffer. */
static uint32_t count_spilling(const struct bs_site *site)
{
	bool archive = site->archive_url[0] != '\0' && site->overload.archive == BS_POLICY_SPILL;

	return archive + (site->overload.sinks == BS_POLICY_SPILL ? site->sinks : 0);
}

/* Bytes that ingest commits to a log at once (board/log/keeper.h). */
static uint64_t log_buffer(const struct bs_memplan *plan)
{
	return bs_log_writer_bytes(bs_wire_kspace_max(plan->pools.acq_bytes));
}

int bs_memplan_make(struct bs_memplan *plan, const struct bs_site *site, bs_tell_line *report,
		    void *arg)
{
	struct telling t = { report, arg, site, 0 };
	struct bs_fail why = { 0 };
	uint64_t held;

	memset(plan, 0, sizeof(*plan));
	plan->code = bs_pools_size(&plan->pools, site, &why);
	if (plan->code != 0)
		tell_fault(&t, NULL, plan->code, why.text);
	plan->spilling = count_spilling(site);
	plan->total_bytes = plan->pools.total_bytes;
	add_bytes(&plan->total_bytes,
		  plan->spilling * (uint64_t)bs_store_answer_max((size_t)plan->pools.image_bytes));
	if (bs_site_logs(site))
		add_bytes(&plan->total_bytes, log_buffer(plan));
	if (bs_site_stores(site))
		add_bytes(&plan->total_bytes, bs_store_memory((size_t)plan->pools.image_bytes));
	held = plan->total_bytes;
	for (uint32_t i = 0; i < site->protocols; i++) {
		struct bs_memplan_protocol *m = &plan->protocol[i];

		plan_protocol(m, &site->protocol[i], &t);
		add_bytes(&plan->total_bytes, m->need.total_bytes);
		add_bytes(&plan->total_bytes, m->tables.total_bytes);
		fit_protocol(m, site, &held, &site->protocol[i], &t);
	}
	return t.first;
}

static void print_pool(FILE *to, const char *prefix, const char *what, uint64_t slots,
		       uint64_t bytes)
{
	(void)fprintf(to, "%s  %-28s %8llu x %12llu = %14llu bytes\n", prefix, what,
		      (unsigned long long)slots, (unsigned long long)bytes,
		      (unsigned long long)slots * bytes);
}

static void print_need(FILE *to, const char *prefix, const struct bs_need *need)
{
	for (uint32_t i = 0; i < need->parts; i++)
		print_pool(to, prefix, need->part[i].what, need->part[i].count,
			   need->part[i].bytes);
}

static void print_budget(FILE *to, const struct bs_protocol *p)
{
	static const char *const misses[] = { "marked", "followed by doing less",
					      "the end of its scan" };

	if (p->image_ms > 0.0)
		(void)fprintf(to, "budget %g ms %s, a late one is %s", p->image_ms,
			      p->volume ? "a volume" : "an image", misses[p->on_miss]);
	else
		(void)fputs("no budget declared", to);
}

/* Prints the stages of readouts and images in their order, and the place of each. */
static void print_plan(FILE *to, const char *prefix, const struct bs_engine *engine,
		       const struct bs_protocol *p)
{
	char words[BS_PLAN_WORDS];

	(void)fprintf(to, "%s  plan: %s%s\n", prefix, bs_plan_words(words, sizeof(words), &p->plan),
		      engine == NULL                  ? ""
		      : bs_plan_on_gpu(engine->place) ? "; GPU"
						      : "; host");
}

/* Prints the accuracy that single precision reaches where more was asked for. */
static void print_accuracy(FILE *to, const char *prefix, const struct bs_engine *engine,
			   const struct bs_protocol *p)
{
	struct bs_protocol inner;
	double has;

	if (engine == NULL)
		return;
	bs_mixer_inner(&inner, p);
	has = bs_gridding_accuracy(&inner, engine);
	if (has > p->accuracy)
		(void)fprintf(to,
			      "%s  gridding.accuracy %g is out of reach in single precision: "
			      "%.1e everywhere in the image\n",
			      prefix, p->accuracy, has);
}

static void print_frames(FILE *to, const char *prefix, const struct bs_memplan_protocol *m,
			 const struct bs_protocol *p)
{
	(void)fprintf(to,
		      "%s  frames open at once: %u (%u slices x %u contrasts x %u phases x %u sets "
		      "x %u repetitions)",
		      prefix, bs_protocol_frames(p), p->slices, p->contrasts, p->phases, p->sets,
		      p->frame_step > 0 ? 1 : p->repetitions);
	if (m->frame_bytes > 0)
		(void)fprintf(to, ", of what follows %llu bytes each",
			      (unsigned long long)m->frame_bytes);
	(void)fputc('\n', to);
}

void bs_memplan_print(FILE *to, const struct bs_memplan *plan, const struct bs_site *site,
		      const char *prefix)
{
	const struct bs_pools *pools = &plan->pools;
	bool whole = true;

	(void)fprintf(to, "%sMemory plan\n%sshared by ingest, recon and emit\n", prefix, prefix);
	print_pool(to, prefix, "acquisition slots", pools->acq_slots, pools->acq_bytes);
	print_pool(to, prefix, "image slots", pools->image_slots, pools->image_bytes);
	if (site->steps > 0)
		print_pool(to, prefix, "images with their steps",
			   pools->step_slots + 2 * (uint64_t)site->steps, pools->step_bytes);
	if (pools->study_bytes > 0)
		print_pool(to, prefix, "kept for the study", 1, pools->study_bytes);
	if (pools->log_bytes > 0)
		print_pool(to, prefix, "on the way to the log", 1, pools->log_bytes);
	if (bs_site_logs(site))
		print_pool(to, prefix, "being written to the log", 1, log_buffer(plan));
	if (plan->spilling != 0)
		print_pool(to, prefix, "takers that spill", plan->spilling,
			   bs_store_answer_max((size_t)pools->image_bytes));
	if (bs_site_stores(site))
		print_pool(to, prefix, "the store of images", 1,
			   bs_store_memory((size_t)pools->image_bytes));
	for (uint32_t i = 0; i < site->protocols; i++) {
		const struct bs_memplan_protocol *m = &plan->protocol[i];

		whole = whole && m->engine != NULL;
		(void)fprintf(to, "%sprotocol '%s': %s, ", prefix, site->protocol[i].name,
			      m->engine != NULL
				      ? bs_plan_engine(&site->protocol[i].plan, m->engine->place)
				      : "no engine");
		if (m->engine != NULL && site->gpu_devices.count > 1) {
			struct bs_protocol inner;
			char place[96];

			bs_mixer_inner(&inner, &site->protocol[i]);
			bs_engine_place(place, sizeof(place), m->engine, &inner);
			(void)fprintf(to, "%s%s, ", place,
				      bs_alone_asked(m->engine, &inner, site->cache_dir)
					      ? " unless it is faster on the first (gpu.share)"
					      : "");
		}
		print_budget(to, &site->protocol[i]);
		(void)fputc('\n', to);
		print_plan(to, prefix, m->engine, &site->protocol[i]);
		print_accuracy(to, prefix, m->engine, &site->protocol[i]);
		print_frames(to, prefix, m, &site->protocol[i]);
		print_need(to, prefix, &m->need);
		print_need(to, prefix, &m->tables);
		(void)fprintf(to, "%s  %-28s %40llu bytes\n", prefix, "sum",
			      (unsigned long long)m->need.total_bytes + m->tables.total_bytes);
		if (m->device.total_bytes == 0)
			continue;
		print_need(to, prefix, &m->device);
		(void)fprintf(to, "%s  %-28s %40llu bytes\n", prefix,
			      site->gpu_devices.count > 1 ? "sum on the GPUs" : "sum on the GPU",
			      (unsigned long long)m->device.total_bytes);
	}
	(void)fprintf(to, "%stotal %s%llu of %llu bytes (node.memory_mib = %u)\n", prefix,
		      whole ? "" : "at least ", (unsigned long long)plan->total_bytes,
		      (unsigned long long)site->memory_mib << 20, site->memory_mib);
}
