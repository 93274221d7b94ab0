/* board/tool/command/recon.c - boreside recon: the service's pipeline in one process */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "board/tool/command/tools.h"
#include "board/emit/folder.h"
#include "board/tool/offline/deal.h"
#include "board/tool/offline/job.h"
#include "board/tool/offline/pipeline.h"
#include "board/tool/offline/ranks.h"
#include "board/tool/offline/rounds.h"
#include "board/tool/offline/stepped.h"
#include "config/config.h"
#include "config/hint/place.h"
#include "core/frame/attributes.h"
#include "core/memory/pools.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/thread/clock.h"
#include "drivers/sink/sink.h"
#include "drivers/tool/written.h"
#include "gpu/engine/engines.h"
#if BS_GPU
#include "gpu/device/memory.h"
#endif

#define BEFORE_MAX 16u

struct job {
	const char *config, *protocol, *recording, *group, *out, *noise, *field_out, *answers;
	struct before {
		const char *text[BEFORE_MAX];
		uint32_t count;
	} before;
	struct bs_site *site;
	const struct bs_protocol *p; /* protocol of the site that is used */
	struct bs_pipeline pipeline;
	struct bs_stepped step;
	const struct bs_sink *sink;
	void *sink_self;
	uint32_t images, previews;
	char lacks[BS_LACKS_WORDS], remark[BS_REMARK_WORDS]; /* words logged for the last image */
	struct bs_rounds rounds;
	struct bs_protocol round; /* protocol as the rounds before the last run it */
	const char *w_out;
	bool collecting; /* images are added to .rounds instead of written */
	/* The images' job, which several processes share, or one process and its successors. */
	struct bs_ranks ranks;
	char who[BS_RANKS_WORDS + 8]; /* this process's name in lines of the log */
	bool shared;
	struct bs_protocol share_p; /* copy of the protocol without previews */
	struct bs_share share;
	struct bs_job made;
};

static int read_before(void *to, const char *text, struct bs_fail *why)
{
	struct before *b = to;

	if (b->count == BEFORE_MAX)
		return bs_fail(why, BS_ERR_USAGE, "more than %u of them", BEFORE_MAX);
	b->text[b->count++] = text;
	return 0;
}

#define AT(field) offsetof(struct job, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config), .help = "the site file",
	  .required = true },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(protocol),
	  .help = "which one of the site file (the recording's own, or the only one)" },
	{ BS_OPTION_TEXT, 'o', "output", "OUT", AT(out),
	  .help = "image file: .cfl, .h5 or another sink's ending", .required = true },
	{ BS_OPTION_TEXT, 0, "group", "NAME", AT(group), .help = BS_RECORDING_GROUP },
	{ BS_OPTION_TEXT, 0, "noise", "RECORDING", AT(noise),
	  .help = "for noise.whiten, where the recording has no readouts of noise: those of this "
		  "one" },
	{ BS_OPTION_OWN, 0, "before", "[PROTOCOL=]RECORDING", AT(before),
	  .help = "an earlier scan of the study, which leaves what the service would have kept of "
		  "it (noise, coil maps); several in their order",
	  .read = read_before },
	{ BS_OPTION_TEXT, 0, "field-out", "FIELD.cfl", AT(field_out),
	  .help = "of a protocol with field.from = \"echoes\": the field map in Hz, for "
		  "field.map_file" },
	{ BS_OPTION_TEXT, 0, "answers", "FILE", AT(answers),
	  .help = "the numbers that the service would tell the sender (the site's answers)" },
	{ BS_OPERAND, 0, NULL, "RECORDING", AT(recording),
	  .help = "MRD .h5, or a scan's log; or a folder of them, each of which has a folder of "
		  "its own where OUT says (FOLDER/RECORDING/NAME.ext)",
	  .required = true },
	{ BS_OPTION_GROUP, .help = "For contrasts of one anatomy, methods ls and sense:" },
	{ BS_OPTION_U32, 0, "rounds", "N", AT(rounds.rounds),
	  .help = "reconstruct, make W of the edges that all images share, and again, N times "
		  "(0); the first images are the protocol's own",
	  .max = BS_ROUNDS_MAX },
	{ BS_OPTION_POSITIVE, 0, "edge", "X", AT(rounds.edge),
	  .help = "a difference of this share of an image's largest value is an edge in the "
		  "last round, up to three times as much in the first (0.08)",
	  .max = 1e6 },
	{ BS_OPTION_U32, 0, "neighbors", "N", AT(rounds.neighbors),
	  .help = "4 or 8 in 2D, 6 or 26 in 3D (4, 6)", .min = 1, .max = 26 },
	{ BS_OPTION_TEXT, 0, "w-out", "W.mtx", AT(w_out),
	  .help = "keeps the last W: as ls.w_file the service uses it for the scans to come" },
	{ 0 },
};

/* Logs an image's words, once for a row of images that have the same. */
static void log_words(struct job *j, const struct bs_recon_image *image)
{
	char remark[BS_REMARK_WORDS];

	if (strcmp(j->remark, bs_image_remark(remark, sizeof(remark), image)) != 0 &&
	    remark[0] != '\0')
		bs_log(BS_LOG_WARN, "%s", remark);
	memcpy(j->remark, remark, sizeof(j->remark));
	if (strcmp(j->lacks, image->lacks) == 0 || image->preview)
		return;
	memcpy(j->lacks, image->lacks, sizeof(j->lacks));
	if (image->lacks[0] != '\0')
		bs_log(BS_LOG_WARN, "image %llu is partial: %s", (unsigned long long)image->number,
		       image->lacks);
}

static int put_image(struct job *j, struct bs_recon_image *image,
		     const struct bs_image_timing *timing, struct bs_fail *why)
{
	const struct bs_armed *armed = &j->pipeline.armed;
	char pairs[BS_POOLS_ATTRIBUTES];
	char xml[BS_POOLS_ATTRIBUTES];
	int rc = bs_attributes_write(pairs, sizeof(pairs), armed->protocol,
				     bs_recon_engine(armed->recon, image), image, timing,
				     j->pipeline.info.about);

	bs_attributes_fill(&image->head, armed->protocol, image, timing);
	if (rc == 0 && !j->shared && j->sink->put_pairs != NULL)
		return bs_sink_put_pairs(j->sink, j->sink_self, &image->head, pairs, image->pixels,
					 why);
	if (rc == 0)
		rc = bs_attributes_xml(xml, sizeof(xml), pairs);
	if (rc < 0)
		return bs_fail(why, rc, "attributes longer than %u bytes", BS_POOLS_ATTRIBUTES);
	image->head.attribute_string_len = (uint32_t)rc;
	if (j->shared)
		return bs_job_put(&j->made, image->number, &image->head, xml, image->pixels, why);
	return bs_sink_put(j->sink, j->sink_self, &image->head, xml, image->pixels, why);
}

/* Puts an image, after its protocol's step if it has one. */
static int step_image(struct job *j, struct bs_recon_image *image, struct bs_image_timing *timing,
		      struct bs_fail *why)
{
	float *const made = image->pixels;
	int rc = bs_stepped_run(&j->step, j->p, image, timing, why);

	if (j->shared)
		j->step.result.ns = 0;
	bs_answered_step(&j->pipeline.answered, image->number, timing->step);
	if (rc == 0)
		rc = put_image(j, image, timing, why);
	image->pixels = made;
	return rc;
}

static int emit_ready(void *arg, struct bs_fail *why)
{
	struct job *j = arg;
	struct bs_armed *armed = &j->pipeline.armed;
	struct bs_recon_image *image = &j->pipeline.image;
	struct bs_image_timing timing = { .taken_ns = j->pipeline.taken_ns };
	int rc;

	for (;;) {
		timing.added_ns = timing.begun_ns = bs_now_ns();
		rc = bs_recon_pop(armed->recon, image, INT64_MAX, why);
		if (rc != 1)
			break;
		if (j->collecting) {
			rc = bs_rounds_add(&j->rounds, &j->round, image, why);
			if (rc != 0)
				return rc;
			continue;
		}
		timing.made_ns = bs_now_ns();
		timing.received_ns = image->last_ns;
		if (image->missing != 0) /* the image's last readout was an earlier one */
			timing.taken_ns = timing.added_ns = 0;
		timing.latency_ns =
			timing.made_ns - (image->own ? timing.received_ns : timing.begun_ns);
		if (j->shared) { /* its bytes shall not depend on who makes the image, and when */
			memset(image->report.stage_ns, 0, sizeof(image->report.stage_ns));
			memset(&timing, 0, sizeof(timing));
		}
		rc = step_image(j, image, &timing, why);
		if (rc != 0)
			return rc;
		j->images += !image->preview;
		j->previews += image->preview;
		log_words(j, image);
	}
	return rc;
}

/* Logs once what applies to all images. */
static void log_scan(const struct job *j)
{
	const struct bs_recon *r = j->pipeline.armed.recon;
	char words[BS_KINDS_WORDS];

	if (bs_kinds_words(words, sizeof(words), bs_recon_kinds(r))[0] != '\0')
		bs_log(BS_LOG_INFO, "%s", words);
	if (bs_recon_words(r, words, sizeof(words))[0] != '\0')
		bs_log(BS_LOG_WARN, "%s", words);
}

/* Runs a round: makes all images, makes W from them, arms again with that W. */
static int next_round(struct job *j, struct bs_fail *why)
{
	bool last = j->rounds.done + 1 == j->rounds.rounds;
	int64_t start_ns = bs_now_ns();
	int rc;

	j->collecting = true;
	rc = bs_pipeline_run(&j->pipeline, emit_ready, j, false, why);
	j->collecting = false;
	if (rc != 0)
		return rc;
	bs_log(BS_LOG_INFO, "round %u of %u: %u images in %.1f ms", j->rounds.done + 1,
	       j->rounds.rounds, j->rounds.images, (double)(bs_now_ns() - start_ns) * 1e-6);
	bs_armed_close(&j->pipeline.armed); /* the armed protocol may still use the W before */
	rc = bs_rounds_make(&j->rounds, &j->round, why);
	if (rc == 0 && last && j->w_out != NULL)
		rc = bs_mtx_write(j->w_out, &j->rounds.w, why);
	if (rc != 0)
		return rc;
	if (last)
		j->round = *j->p;
	j->round.w_file[0] = '\0';
	return bs_pipeline_arm(&j->pipeline, j->site, &j->round, &j->rounds.w, 0, why);
}

/* Prepares the rounds, which compare complex images on the matrix of W. */
static int prepare_rounds(struct job *j, struct bs_fail *why)
{
	j->round = *j->p;
	j->round.output = BS_OUTPUT_COMPLEX;
	j->round.preview_every = 0;
	j->round.volume = false;
	memcpy(j->round.image_matrix, j->p->matrix, sizeof(j->round.image_matrix));
	bs_plan_make(&j->round);
	return bs_rounds_check(&j->rounds, j->p, why);
}

/* Takes an earlier recording, given as "PROTOCOL=RECORDING" or alone. */
static int take_before(struct job *j, const char *text, struct bs_fail *why)
{
	const char *equals = strchr(text, '=');
	char name[BS_NAME_MAX] = "";
	struct bs_fail reason;
	int rc;

	if (equals != NULL && (size_t)(equals - text) < sizeof(name))
		memcpy(name, text, (size_t)(equals - text));
	else
		equals = NULL;
	rc = bs_pipeline_before(&j->pipeline, j->site, name, equals != NULL ? equals + 1 : text,
				&reason);
	return rc == 0 ? 0 : bs_fail(why, rc, "--before %s: %s", text, reason.text);
}

/* ---- shared ---- */

static uint32_t gpus(void)
{
#if BS_GPU
	return bs_gpu_count();
#else
	return 0;
#endif
}

/* Writes the key's settings that depend on neither recording nor protocol. */
static int more_of_key(const struct job *j, FILE *to, struct bs_fail *why)
{
	uint64_t hash = 0;
	int rc = 0;

	if (j->before.count > 0)
		bs_config_print(to, j->site);
	if (j->p->step.at > 0)
		(void)fprintf(to, "step %s %s\n", j->site->step[j->p->step.at - 1].name,
			      j->site->step[j->p->step.at - 1].command);
	for (uint32_t i = 0; rc == 0 && i <= j->before.count; i++) {
		const char *text = i < j->before.count ? j->before.text[i] : j->noise;
		const char *equals = text != NULL ? strchr(text, '=') : NULL;
		struct bs_recording *r = NULL;

		if (text == NULL)
			continue;
		rc = bs_recording_open(&r, equals != NULL ? equals + 1 : text, why);
		if (rc == 0)
			rc = bs_job_hash(&hash, r, why);
		if (r != NULL)
			(void)bs_recording_close(r, NULL);
		(void)fprintf(to, "%.*s %016llx\n", equals != NULL ? (int)(equals - text) : 0, text,
			      (unsigned long long)hash);
	}
	return rc;
}

static int make_key(struct job *j, struct bs_job_key *key, struct bs_fail *why)
{
	const struct bs_engine *engine;
	struct bs_protocol inner;
	char *more = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&more, &len);
	int rc;

	if (to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the settings");
	rc = more_of_key(j, to, why);
	if (fclose(to) != 0 && rc == 0)
		rc = bs_fail(why, BS_ERR_NOMEM, "no memory for the settings");
	bs_mixer_inner(&inner, j->p);
	if (rc == 0)
		rc = bs_engine_find(&engine, &inner, why);
	if (rc == 0)
		rc = bs_job_key(key, j->pipeline.in, j->p,
				bs_plan_engine(&inner.plan, engine->place), more, why);
	free(more);
	return rc;
}

/* Opens a shared job. Its image numbers depend on the recording alone, so there are no previews. */
static int open_shared(struct job *j, struct bs_fail *why)
{
	struct bs_job_key key;
	int rc;

	if (j->rounds.rounds > 0 || j->field_out != NULL || j->answers != NULL)
		return bs_fail(
			why, BS_ERR_USAGE,
			"--rounds, --field-out and --answers need all images of a recording in one "
			"process: without mpirun, one recording at a time");
	j->share_p = *j->p;
	j->share_p.preview_every = 0;
	bs_plan_make(&j->share_p);
	j->p = &j->share_p;
	rc = make_key(j, &key, why);
	return rc == 0 ? bs_job_open(&j->made, j->sink, j->out, &key, why) : rc;
}

static int arm_shared(struct job *j, struct bs_fail *why)
{
	int rc = bs_pipeline_arm(&j->pipeline, j->site, j->p, NULL, j->site->threads, why);

	if (rc != 0)
		return rc;
	j->share.made = bs_job_made;
	j->share.arg = &j->made;
	bs_recon_share(j->pipeline.armed.recon, &j->share);
	return 0;
}

static int reconstruct_shared(struct job *j, int64_t start_ns, struct bs_fail *why)
{
	uint64_t all = j->made.complete;
	char place[96];
	int rc;

	if (all > 0) {
		(void)printf("%s: all %llu images are there\n", j->out, (unsigned long long)all);
		return 0;
	}
	rc = arm_shared(j, why);
	if (rc == 0)
		rc = bs_pipeline_run(&j->pipeline, emit_ready, j, false, why);
	if (rc != 0)
		return rc;
	log_scan(j);
	all = bs_recon_images(j->pipeline.armed.recon);
	rc = bs_job_end(&j->made, all, why);
	bs_armed_place(place, sizeof(place), &j->pipeline.armed);
	if (rc == 0)
		(void)printf("%s:%s%s %u of %llu images made, %s, %s, in %.1f ms%s\n", j->out,
			     j->who + sizeof("recon") - 1, j->ranks.launched ? ":" : "", j->images,
			     (unsigned long long)all, bs_armed_engine(&j->pipeline.armed), place,
			     (double)(bs_now_ns() - start_ns) * 1e-6,
			     j->made.complete > 0 ? "; all are there" : "");
	return rc;
}

static int prepare_job(struct job *j, struct bs_fail *why)
{
	const struct bs_scan_info *info = &j->pipeline.info;
	const struct bs_protocol *p;
	char words[BS_ADMIT_WORDS];
	char endings[BS_SINK_WORDS];
	int rc;

	j->sink = bs_sink_find(j->out);
	if (j->sink == NULL)
		return bs_fail(why, BS_ERR_USAGE, "%s: an image file ends in %s", j->out,
			       bs_sink_words(endings, sizeof(endings), true));
	j->site = bs_command_site(j->config);
	if (j->site == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "%s is not valid", j->config);
	/* if the folder cannot be made, arming says what it cannot keep */
	if (j->site->cache_dir[0] != '\0')
		(void)bs_folder_make(j->site->cache_dir, 0750, NULL);
	rc = bs_pipeline_open(&j->pipeline, j->recording, why);
	if (j->ranks.launched) /* open has forked; from here on the CUDA runtime may be started */
		bs_ranks_share_host(&j->ranks, gpus(), j->site);
	if (rc == 0 && j->noise != NULL)
		rc = bs_pipeline_noise(&j->pipeline, j->noise, why);
	for (uint32_t i = 0; rc == 0 && i < j->before.count; i++)
		rc = take_before(j, j->before.text[i], why);
	if (rc != 0)
		return rc;
	j->p = p = bs_config_choose(j->site, j->protocol, info->protocol, why);
	if (p == NULL)
		return BS_ERR_PROTOCOL;
	if (j->field_out != NULL && !bs_plan_has(&p->plan, BS_PLAN_ECHOES))
		return bs_fail(why, BS_ERR_USAGE,
			       "--field-out: protocol '%s' has no field.from \"echoes\"", p->name);
	rc = bs_pipeline_again(&j->pipeline, j->recording, p, why);
	rc = rc == 0 ? bs_admit_scan(p, info, why) : rc;
	if (rc == 0)
		rc = bs_stepped_open(&j->step, j->site, p, why);
	if (bs_recording_note(j->pipeline.in)[0] != '\0')
		bs_log(BS_LOG_WARN, "%s", bs_recording_note(j->pipeline.in));
	if (rc == 0 && bs_admit_words(words, p, info)[0] != '\0')
		bs_log(BS_LOG_WARN, "%s", words);
	if (rc == 0 && j->shared)
		return open_shared(j, why);
	if (rc == 0 && j->rounds.rounds > 0) {
		rc = prepare_rounds(j, why);
		p = &j->round;
	}
	if (rc == 0)
		rc = bs_pipeline_arm(&j->pipeline, j->site, p, NULL, j->site->threads, why);
	if (rc != 0)
		return rc;
	return bs_sink_open(j->sink, &j->sink_self, j->out, why);
}

static int finish_job(struct job *j, int rc, struct bs_fail *why)
{
	struct bs_fail late;

	if (j->sink_self != NULL) {
		int closed = bs_sink_close(j->sink, j->sink_self, &late);

		if (rc == 0 && closed != 0) {
			*why = late;
			rc = closed;
		}
	}
	bs_job_close(&j->made);
	bs_stepped_close(&j->step);
	bs_pipeline_close(&j->pipeline);
	bs_rounds_close(&j->rounds);
	free(j->site);
	return rc;
}

static int rounds(struct job *j, struct bs_fail *why)
{
	int rc = 0;

	while (rc == 0 && j->rounds.done < j->rounds.rounds)
		rc = next_round(j, why);
	return rc;
}

static int reconstruct(struct job *j, int64_t start_ns, struct bs_fail *why)
{
	int64_t armed_ns = bs_now_ns();
	char place[96];
	int rc;

	bs_armed_place(place, sizeof(place), &j->pipeline.armed);
	rc = rounds(j, why);
	j->pipeline.answers_out = j->answers; /* not of the rounds */
	if (rc == 0)
		rc = bs_pipeline_run(&j->pipeline, emit_ready, j, false, why);
	if (rc == 0)
		log_scan(j);
	if (rc == 0 && j->field_out != NULL)
		rc = bs_pipeline_field(&j->pipeline, j->p, j->field_out, why);
	if (rc != 0)
		return rc;
	(void)printf("%u image%s%s, %s, %s, armed in %.0f ms, reconstructed in %.1f ms\n",
		     j->images, j->images == 1 ? "" : "s", j->previews > 0 ? " (and previews)" : "",
		     bs_armed_engine(&j->pipeline.armed), place,
		     (double)(armed_ns - start_ns) * 1e-6, (double)(bs_now_ns() - armed_ns) * 1e-6);
	bs_job_names(stdout, j->out, j->sink->at != NULL ? j->images : 1);
	return 0;
}

/* Reconstructs one recording. asked: the settings common to all recordings. */
static int one(const struct job *asked, const char *recording, const char *out)
{
	struct job *j = malloc(sizeof(*j));
	struct bs_fail why = { 0 };
	char hint[BS_PLACE_HINT];
	int64_t start_ns = bs_now_ns();
	int rc;

	if (j == NULL) {
		bs_log(BS_LOG_ERROR, "%s: no memory", recording);
		return BS_ERR_NOMEM;
	}
	*j = *asked;
	j->recording = recording;
	j->out = out;
	rc = prepare_job(j, &why);
	if (rc == 0)
		rc = j->shared ? reconstruct_shared(j, start_ns, &why)
			       : reconstruct(j, start_ns, &why);
	rc = finish_job(j, rc, &why);
	if (rc != 0)
		bs_log(BS_LOG_ERROR, "%s: %s: %s%s", recording, bs_err_name(rc), why.text,
		       bs_place_hint(recording, hint));
	free(j);
	return rc;
}

/* Reconstructs a folder's recordings, up to the first failure; a later process makes the rest. */
static int folder(struct job *j)
{
	struct bs_dealt *list = NULL;
	char recording[BS_DRAFT_PATH];
	char out[BS_DRAFT_PATH];
	struct bs_fail why = { 0 };
	size_t count = 0;
	int rc = bs_deal_list(j->recording, &list, &count, &why);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!bs_deal_share(i, count, j->ranks.rank, j->ranks.size, &j->share.part,
				   &j->share.parts))
			continue;
		rc = bs_deal_place(out, sizeof(out), j->out, list[i].stem, &why);
		if (rc != 0)
			break;
		(void)snprintf(recording, sizeof(recording), "%s/%s", j->recording, list[i].name);
		if (one(j, recording, out) != 0) {
			free(list);
			return 1;
		}
	}
	free(list);
	if (rc != 0)
		bs_log(BS_LOG_ERROR, "%s: %s: %s", j->recording, bs_err_name(rc), why.text);
	return rc == 0 ? 0 : 1;
}

static int run_recon(void *request)
{
	struct job *j = request;
	char words[BS_RANKS_WORDS];
	struct bs_fail why = { 0 };
	struct stat st;
	bool many;

	if (j->w_out != NULL && j->rounds.rounds == 0)
		return bs_options_wrong("--w-out %s: without --rounds there is no W to keep",
					j->w_out);
	if (bs_ranks_read(&j->ranks, &why) != 0)
		return bs_command_fail("%s", why.text);
	(void)bs_ranks_words(words, &j->ranks);
	(void)snprintf(j->who, sizeof(j->who), "recon%s%s", j->ranks.launched ? " " : "", words);
	bs_log_init(j->who, BS_LOG_INFO);
	bs_progress_use();
	j->recording = bs_recording_in(j->recording, j->group);
	many = stat(j->recording, &st) == 0 && S_ISDIR(st.st_mode);
	j->shared = many || j->ranks.launched;
	j->share.part = j->ranks.rank;
	j->share.parts = j->ranks.size;
	return many ? folder(j) : one(j, j->recording, j->out) != 0;
}

const struct bs_command bs_command_recon = {
	.name = "recon",
	.summary = "the service's pipeline in one process: recording to images",
	.after = "mpirun -n N boreside recon ...: N processes share the images out, each is made "
		 "once. OUT.job says what they are of: the same command, with any N, makes what is "
		 "missing and nothing again.",
	.options = options,
	.request = &(struct job){ .rounds.edge = 0.08 },
	.run = run_recon,
};
