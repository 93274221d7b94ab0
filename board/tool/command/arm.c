/*
 * board/tool/command/arm.c - boreside arm: computes ahead of time what arming needs, and keeps
 * it
 */
#include <stdio.h>
#include <stdlib.h>

#include "board/tool/command/tools.h"
#include "board/emit/folder.h"
#include "config/config.h"
#include "core/progress.h"
#include "core/thread/clock.h"
#include "drivers/file/tables.h"
#include "gpu/engine/engines.h"
#include "gpu/solve/lsq.h"
#if BS_GPU
#include "board/arm/armed.h"
#include "board/tool/command/tuning.h"
#include "gpu/solve/lsq_cuda.h"
#endif

struct request {
	const char *config, *protocol;
};

static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct request, config),
	  .help = "the site file", .required = true },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", offsetof(struct request, protocol),
	  .help = "this one only" },
	{ 0 },
};

/* Makes Q where it will be used: the GPU's rounding differs from the host's. */
static int get_q(float **q, bool gpu, const struct bs_protocol *p, const struct bs_tables *tables,
		 struct bs_q_making *how, struct bs_fail *why)
{
	struct bs_progress progress;
	float *weight = NULL;
	int rc;

#if BS_GPU
	if (gpu)
		return bs_lsq_cuda_q(q, p, tables, how->team, how->cache_dir, how->from, why);
#else
	(void)gpu; /* this build has no engine on a GPU */
#endif
	rc = bs_lsq_weights(&weight, p, tables, how->team, why);
	bs_progress_begin(&progress, p->name, BS_PROGRESS_WHOLE, "");
	how->progress = bs_progress_part;
	how->arg = &progress;
	if (rc == 0)
		rc = bs_lsq_q(q, p, tables, weight, how, why);
	bs_progress_end(&progress);
	free(weight);
	return rc;
}

static int arm(const struct bs_site *site, const struct bs_protocol *p,
	       const struct bs_engine *engine, struct bs_team *team, struct bs_fail *why)
{
	const bool gpu = bs_plan_on_gpu(engine->place);
	const int64_t start_ns = bs_now_ns();
	enum bs_qcache_from from = BS_QCACHE_COMPUTED;
	struct bs_q_making how = { .team = team, .cache_dir = site->cache_dir, .from = &from };
	struct bs_loaded loaded;
	float *q = NULL;
	int rc = bs_tables_load(&loaded, p, why);

	if (rc != 0)
		return rc;
	rc = get_q(&q, gpu, p, &loaded.tables, &how, why);
	if (rc == 0 && from == BS_QCACHE_NOT_KEPT)
		rc = bs_fail(why, BS_ERR_IO, "Q was computed, and cannot be kept in %s",
			     site->cache_dir);
	if (rc == 0)
		(void)printf("%-24s Q %s%s, %.2f s\n", p->name,
			     from == BS_QCACHE_DISK ? "is in the cache" : "computed and kept",
			     gpu && p->q == BS_SUM_EXACT ? ", the GPU's" : "",
			     (double)(bs_now_ns() - start_ns) * 1e-9);
	(void)fflush(stdout);
	free(q);
	bs_tables_free(&loaded);
	return rc;
}

#if BS_GPU
#define TUNE_SECONDS 60.0

static int tune_operator(const struct bs_tuner *tuner, const struct bs_site *site,
			 const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_tuning *found = malloc(sizeof(*found));
	struct bs_loaded loaded;
	int rc;

	if (found == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "tuning");
	rc = bs_tables_load(&loaded, p, why);
	if (rc == 0) {
		rc = tuner->tune(found, p, loaded.tables.traj->k, site->cache_dir, TUNE_SECONDS,
				 why);
		bs_tables_free(&loaded);
	}
	if (rc == 0)
		bs_tuning_print(found, p->name, tuner->times[0], tuner->times[1]);
	free(found);
	return rc;
}

/* Measures the variants of the protocol's operator on the current GPU, for this number of coils. */
static int tune_coils(const struct bs_tuner *tuner, const struct bs_site *site,
		      const struct bs_protocol *whole, uint32_t coils, struct bs_fail *why)
{
	struct bs_protocol *p = malloc(sizeof(*p));
	int rc;

	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "tuning");
	*p = *whole;
	p->coils = coils;
	/* maps belong to all coils, so a share of the coils is tuned without them */
	p->combine = BS_COMBINE_NONE;
	p->maps_file[0] = '\0';
	rc = tune_operator(tuner, site, p, why);
	free(p);
	return rc;
}

/* Tunes a protocol that runs on GPUs, for each GPU's share of the coils; shares differ by one. */
static int tune(const struct bs_site *site, const struct bs_protocol *p,
		const struct bs_engine *engine, struct bs_fail *why)
{
	const struct bs_tuner *tuner = bs_engine_tuner(p);
	const uint32_t parts = p->plan.parts;
	const uint32_t most = (p->coils + parts - 1) / parts;
	const uint32_t least = p->coils / parts;
	char place[96];
	int rc;

	if (!bs_plan_on_gpu(engine->place))
		return 0;
	bs_engine_place(place, sizeof(place), engine, p);
	(void)printf("%-24s %s\n", p->name, place);
	if (tuner == NULL)
		return 0;
	rc = tune_coils(tuner, site, p, most, why);
	return rc == 0 && least != most ? tune_coils(tuner, site, p, least, why) : rc;
}

/* Finds whether the protocol stays on the first of several GPUs. What that needs is kept by now. */
static int compare(const struct bs_site *site, const struct bs_protocol *p, struct bs_team *team,
		   struct bs_fail *why)
{
	struct bs_armed *a;
	char place[96];
	int rc;

	if (p->gpu_share != BS_GPU_SHARE_AUTO || p->gpu_devices.count < 2)
		return 0;
	a = calloc(1, sizeof(*a));
	rc = a == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name)
		       : bs_armed_open(a, site, p, team, why);
	if (rc == 0) {
		bs_armed_place(place, sizeof(place), a);
		(void)printf("%-24s armed: %s\n", p->name, place);
		bs_armed_close(a);
	}
	free(a);
	return rc;
}
#endif

/* Arms one protocol and prints its errors. */
static bool arm_one(const struct bs_site *site, const struct bs_protocol *p, struct bs_team *team)
{
	const struct bs_plan *plan = &p->plan;
	const bool solves = bs_methods[p->method].uses_q;
	const struct bs_engine *engine = NULL;
	struct bs_fail why = { 0 };
	bool good = true;

	if (bs_engine_find(&engine, p, &why) != 0)
		return bs_command_fail("%s", why.text) == 0;
#if BS_GPU
	if (tune(site, p, engine, &why) != 0)
		good = bs_command_fail("protocol '%s': variants: %s", p->name, why.text) == 0;
#endif
	if (solves && (!bs_lsq_keeps_q(p) || bs_plan_groups(plan)))
		(void)printf("%-24s %s: no Q to keep\n", p->name,
			     plan->streams          ? "trajectory.type stream"
			     : bs_plan_groups(plan) ? "slices at once"
						    : "off resonance");
	else if (!solves)
		(void)printf("%-24s method %s keeps nothing\n", p->name, bs_method_name(p->method));
	else if (arm(site, p, engine, team, &why) != 0)
		good = bs_command_fail("protocol '%s': %s", p->name, why.text) == 0;
#if BS_GPU
	if (good && compare(site, p, team, &why) != 0)
		good = bs_command_fail("protocol '%s': %s", p->name, why.text) == 0;
#endif
	return good;
}

/* Arms the protocol only, or all of them if it is NULL. */
static int arm_all(const struct bs_site *site, const struct bs_protocol *only)
{
	struct bs_team *team = NULL;
	struct bs_fail why = { 0 };
	int failed = 0;

	if (site->cache_dir[0] == '\0')
		return bs_command_fail("%s: node.cache_dir is \"\": nothing can be kept",
				       site->file);
	if (bs_folder_make(site->cache_dir, 0750, &why) != 0 ||
	    bs_team_open(&team, (int)site->threads, &why) != 0)
		return bs_command_fail("%s", why.text);
	for (uint32_t i = 0; i < site->protocols; i++)
		if (only == NULL || only == &site->protocol[i])
			failed += !arm_one(site, &site->protocol[i], team);
	bs_team_close(team);
	return failed != 0;
}

static int run_arm(void *request)
{
	const struct bs_protocol *only = NULL;
	struct request *q = request;
	struct bs_fail why;
	struct bs_site *site;
	int status;

	bs_progress_use();
	site = bs_command_site(q->config);
	if (site != NULL && q->protocol != NULL)
		only = bs_config_choose(site, q->protocol, NULL, &why);
	if (site == NULL)
		status = 1;
	else if (q->protocol != NULL && only == NULL)
		status = bs_command_fail("%s: %s", site->file, why.text);
	else
		status = arm_all(site, only);
	free(site);
	return status;
}

const struct bs_command bs_command_arm = {
	.name = "arm",
	.summary = "computes what arming needs ahead of time: Q into the cache",
	.notes = "Computes Q for every protocol of method ls or sense (or for the one named) "
		 "and keeps it in the site's cache_dir, so that the service starts at once. "
		 "What is there already is checked. With a GPU: measures the variants of each "
		 "protocol's operator on it, once for each GPU, driver and size, keeps the "
		 "fastest there and lists all. A kept choice gives the same bytes each run; "
		 "another choice is another rounding of the same accuracy. With several GPUs "
		 "(gpu.devices): says of each protocol whether it stays on the first (gpu.share).",
	.options = options,
	.request = &(struct request){ 0 },
	.run = run_arm,
};
