/* board/tool/command/init.c - boreside init: a site file from a recording, or from answers */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/tool/command/tools.h"
#include "board/tool/init/add.h"
#include "board/tool/init/answers.h"
#include "board/tool/init/choose.h"
#include "board/tool/init/try.h"
#include "config/config.h"
#include "config/hint/place.h"
#include "core/log.h"
#include "core/progress.h"
#include "drivers/sink/dicomstore.h"
#include "drivers/tool/load/recording.h"

#define TRIES      6u    /* most protocols tried for one recording */
#define MEMORY_MIB 4096u /* MiB, default of node.memory_mib */

struct request {
	const char *from, *group, *out, *pacs;
	uint32_t mrd, web;
	bool force, add, system, untried, asks;
	const char *name, *kind;
	struct bs_sizes matrix;
	uint32_t coils, slices;
};

static int read_pacs(void *to, const char *text, struct bs_fail *why)
{
	struct bs_dicomstore store;

	*(const char **)to = text;
	return bs_dicomstore_parse(&store, text, why);
}

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 0, "from", "RECORDING", AT(from),
	  .help = "an MRD .h5, or a scan's log: the protocol that reconstructs it" },
	{ BS_OPTION_TEXT, 0, "group", "NAME", AT(group), .help = BS_RECORDING_GROUP },
	{ BS_OPTION_TEXT, 'o', "output", "FILE", AT(out), .help = "the site file (site.cfg)" },
	{ BS_OPTION_FLAG, 0, "force", NULL, AT(force), .help = "a file that is there is replaced" },
	{ BS_OPTION_FLAG, 0, "add", NULL, AT(add),
	  .help = "the protocol is added to a site file that is there" },
	{ BS_OPTION_FLAG, 0, "system", NULL, AT(system),
	  .help = "folders of an installed service (/run/boreside, /var/lib/boreside) instead of "
		  "ones beside the file" },
	{ BS_OPTION_U32, 0, "mrd", "PORT", AT(mrd),
	  .help = "take scans of MRD clients on this machine at this port, as a rule 9002 "
		  "(0: a free one, which the log says)",
	  .max = 65535 },
	{ BS_OPTION_U32, 0, "web", "PORT", AT(web),
	  .help = "the page in a browser on this machine at this port, as a rule 8080 (0: a free "
		  "one, which run_dir/web.url says)",
	  .max = 65535 },
	{ BS_OPTION_OWN, 0, "pacs", "TITLE@HOST:PORT", AT(pacs),
	  .help = "send each image to this PACS by C-STORE", .read = read_pacs },
	{ BS_OPTION_FLAG, 0, "no-try", NULL, AT(untried),
	  .help = "the recording is not reconstructed to see that the protocol holds" },
	{ BS_OPTION_GROUP,
	  .help = "without a recording; what is not given is asked for on a "
		  "terminal:",
	  .to = AT(asks) },
	{ BS_OPTION_TEXT, 0, "name", "NAME", AT(name), .help = "the protocol's name (scan)" },
	{ BS_OPTION_TEXT, 0, "kind", "KIND", AT(kind),
	  .help = "cartesian, radial, spiral, stack or radial3d (cartesian)" },
	{ BS_OPTION_SIZES, 0, "matrix", "X,Y[,Z]", AT(matrix), .help = "voxels of the image",
	  .min = 1, .max = BS_AXIS_MAX },
	{ BS_OPTION_U32, 0, "coils", "N", AT(coils), .help = "1 to 64", .min = 1,
	  .max = BS_COILS_MAX },
	{ BS_OPTION_U32, 0, "slices", "N", AT(slices), .help = "1 to 512 (1)", .min = 1,
	  .max = BS_FRAMES_MAX },
	{ 0 },
};

struct job {
	struct request q;
	struct bs_survey survey;
	struct bs_outline outline;
	struct bs_outline_node node;
	/* site with the new protocol, and the site that it is added to */
	struct bs_site site, before;
	char file[BS_PATH_MAX_], recording[BS_PATH_MAX_], part[BS_PATH_MAX_ + 8];
};

/* Writes the outline into the file's draft, which lies beside the file. */
static int write_part(struct job *j, struct bs_fail *why)
{
	FILE *to;
	bool good;
	int rc = 0;

	(void)unlink(j->part);
	to = fopen(j->part, "wx"); /* fails if the path is a link */
	if (to == NULL) {
		char hint[BS_PLACE_HINT];
		const char *words = strerror(errno);

		return bs_fail(why, BS_ERR_IO, "%s: %s%s", j->part, words,
			       bs_place_hint(j->part, hint));
	}
	if (j->q.add)
		rc = bs_add_write(to, j->q.out, &j->outline, why);
	else
		bs_outline_write(to, &j->outline, &j->node);
	good = ferror(to) == 0;
	if (fclose(to) != 0 || !good)
		return bs_fail(why, BS_ERR_IO, "%s: %s", j->part, strerror(errno));
	if (rc != 0)
		return rc;
	return j->outline.full ? bs_fail(why, BS_ERR_SIZE, "%s: a text is too long for a site file",
					 j->part)
			       : 0;
}

/* Checks the site as the service would, with more memory if nothing else is lacking. */
static int check_part(struct job *j, struct bs_fail *why)
{
	uint64_t plan_mib = 0;
	int rc;

	if (j->q.add)
		bs_add_name(&j->outline, &j->before);
	rc = write_part(j, why);
	if (rc != 0)
		return rc;
	rc = bs_try_check(&j->site, j->part, &plan_mib);
	if (rc == BS_ERR_NOMEM && j->q.add)
		return bs_fail(why, rc,
			       "%s: with this protocol node.memory_mib must be at least %llu",
			       j->q.out, (unsigned long long)plan_mib);
	if (rc == BS_ERR_NOMEM && plan_mib <= UINT32_MAX / 2) {
		j->node.memory_mib = (uint32_t)((plan_mib + plan_mib / 4) / 256 + 1) * 256;
		bs_outline_say(&j->outline,
			       "pools and plans take %llu MiB together, more than the %u that "
			       "node.memory_mib is by itself: it is larger here",
			       (unsigned long long)plan_mib, MEMORY_MIB);
		rc = write_part(j, why);
		if (rc == 0)
			rc = bs_try_check(&j->site, j->part, &plan_mib);
	}
	if (rc == 0 || why->code != 0)
		return rc;
	return bs_fail(why, rc, "the site file does not hold: its faults stand above");
}

static void tell_trial(const struct job *j, const struct bs_tried *t)
{
	(void)printf("tried: %u image%s%s, armed in %.0f ms, reconstructed in %.0f ms\n", t->images,
		     t->images == 1 ? "" : "s", t->partial > 0 ? " (partial)" : "", t->armed_ms,
		     t->ran_ms);
	if (t->partial > 0)
		(void)fprintf(stderr, "boreside init: %u of %u images of '%s' are partial: %s\n",
			      t->partial, t->images, j->site.protocol[0].name, t->lacks);
	if (t->words[0] != '\0')
		(void)fprintf(stderr, "boreside init: '%s': %s\n", j->site.protocol[0].name,
			      t->words);
	if (t->readout[0] != '\0')
		(void)fprintf(stderr, "boreside init: '%s': %s\n", j->site.protocol[0].name,
			      t->readout);
}

/* Tries protocols, the best first, until one reconstructs the recording. */
static int from_recording(struct job *j, struct bs_tried *tried, struct bs_fail *why)
{
	const struct bs_choice choice = { &j->survey, j->recording, &j->outline };
	struct bs_fail reason;
	int rc;

	rc = bs_survey_make(&j->survey, j->recording, why);
	if (rc == 0)
		rc = bs_choose(&choice, why);
	if (rc != 0)
		return rc;
	j->node.acq_slots = bs_choose_slots(&j->survey);
	for (uint32_t i = 0; i < TRIES; i++) {
		why->code = 0;
		rc = check_part(j, why);
		if (rc != 0 || j->q.untried)
			break;
		rc = bs_try_run(tried, &j->site, j->recording, why);
		if (rc == 0)
			break;
		reason = *why;
		if (!bs_choose_retreat(&choice, why))
			return bs_fail(why, rc,
				       "the protocol that fits the header does not hold: %s; "
				       "--no-try writes it all the same",
				       reason.text);
	}
	return rc;
}

static int from_answers(struct job *j, struct bs_fail *why)
{
	struct bs_answers a = {
		.name = j->q.name, .kind = j->q.kind, .coils = j->q.coils, .slices = j->q.slices
	};
	const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
	int rc = 0;

	if (j->q.matrix.axes > 0)
		memcpy(a.matrix, j->q.matrix.size, sizeof(a.matrix));
	if (terminal && (a.matrix[0] == 0 || a.coils == 0)) {
		rc = bs_answers_ask(&a, why);
	} else {
		a.name = a.name != NULL ? a.name : "scan";
		a.kind = a.kind != NULL ? a.kind : "cartesian";
		a.slices = a.slices > 0 ? a.slices : 1;
		if (a.matrix[0] == 0 || a.coils == 0)
			rc = bs_fail(why, BS_ERR_USAGE,
				     "either --from RECORDING, or --matrix and --coils (on a "
				     "terminal they are asked for)");
	}
	if (rc == 0)
		rc = bs_answers_outline(&a, &j->outline, why);
	return rc == 0 ? check_part(j, why) : rc;
}

/* Cuts FILE/GROUP into the file and the group. */
static bool cut_group(struct job *j)
{
	char *slash;

	if (strlen(j->q.from) >= sizeof(j->file))
		return false;
	(void)strcpy(j->file, j->q.from);
	slash = strrchr(j->file, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	j->q.from = j->file;
	j->q.group = slash + 1;
	return true;
}

static int place_file(struct job *j, struct bs_fail *why)
{
	char *real;
	int rc;

	if (strlen(j->q.out) + 6 > BS_PATH_MAX_)
		return bs_fail(why, BS_ERR_IO, "too long a path: %s", j->q.out);
	if (j->q.add && bs_config_load(&j->before, j->q.out, bs_command_tell, stderr) != 0)
		return bs_fail(why, BS_ERR_CONFIG, "%s: a valid site file is wanted to add to",
			       j->q.out);
	if (!j->q.force && !j->q.add && access(j->q.out, F_OK) == 0)
		return bs_fail(why, BS_ERR_IO,
			       "%s is there already: --add adds the protocol, --force replaces "
			       "it, -o FILE names another",
			       j->q.out);
	(void)snprintf(j->part, sizeof(j->part), "%s.part", j->q.out);
	j->node.title = strrchr(j->q.out, '/') != NULL ? strrchr(j->q.out, '/') + 1 : j->q.out;
	j->node.system = j->q.system;
	j->node.mrd = j->q.mrd;
	j->node.web = j->q.web;
	j->node.pacs = j->q.pacs;
	if (j->q.from == NULL)
		return 0;
	real = realpath(j->q.from, NULL);
	if (real == NULL && errno == ENOTDIR && j->q.group == NULL && cut_group(j))
		real = realpath(j->q.from, NULL);
	if (real == NULL) {
		const char *words = strerror(errno);
		char hint[BS_PLACE_HINT];

		return bs_fail(why, BS_ERR_IO, "%s: %s%s", j->q.from, words,
			       bs_place_hint(j->q.from, hint));
	}
	rc = snprintf(j->recording, sizeof(j->recording), "%s", bs_recording_in(real, j->q.group));
	free(real);
	j->node.from = j->recording;
	return rc < (int)sizeof(j->recording)
		       ? 0
		       : bs_fail(why, BS_ERR_IO, "too long a path: %s", j->q.from);
}

static void tell_site(const struct job *j)
{
	const struct bs_protocol *p = &j->site.protocol[0];

	for (uint32_t i = 0; i < j->outline.says; i++)
		(void)fprintf(stderr, "boreside init: %s\n", j->outline.said[i]);
	(void)fflush(stderr);
	(void)printf("%s: protocol '%s', method %s, %u x %u x %u voxels, %u coil%s\n", j->q.out,
		     p->name, bs_method_name(p->method), p->matrix[0], p->matrix[1], p->matrix[2],
		     p->coils, p->coils == 1 ? "" : "s");
}

static void tell_next(const struct job *j)
{
	(void)printf("next:\n  boreside check %s\n", j->q.out);
	if (j->q.from != NULL)
		(void)printf("  boreside recon -c %s -o image.png %s\n", j->q.out,
			     bs_recording_in(j->q.from, j->q.group));
	if (j->q.system)
		(void)printf("  systemctl enable --now boreside\n");
	else
		(void)printf("  boreside serve -c %s\n", j->q.out);
	if (j->q.from != NULL)
		(void)printf("  boreside replay -c %s %s\n", j->q.out,
			     bs_recording_in(j->q.from, j->q.group));
	if (j->q.web != BS_OUTLINE_NONE && j->q.web != 0)
		(void)printf("the page: http://127.0.0.1:%u/\n", j->q.web);
	if (j->q.mrd != BS_OUTLINE_NONE && j->q.mrd != 0)
		(void)printf("MRD clients: 127.0.0.1, port %u\n", j->q.mrd);
}

/* Says which files the unit's service reads at each start but cannot see
 * (ProtectHome, PrivateTmp). */
static void say_hidden(struct job *j)
{
	static const char *const hidden[] = { "/home/", "/root/", "/run/user/", "/tmp/",
					      "/var/tmp/" };

	if (!j->q.system || bs_outline_value(&j->outline, "trajectory.file") == NULL)
		return;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (strncmp(j->recording, hidden[i], strlen(hidden[i])) == 0)
			bs_outline_say(&j->outline,
				       "the service reads the trajectory from the recording at "
				       "each start, and its unit sees nothing in %s: keep it "
				       "elsewhere (/var/lib/boreside), and trajectory.file",
				       hidden[i]);
	}
}

static int finish_job(struct job *j, int rc, const struct bs_tried *tried, struct bs_fail *why)
{
	/* what a retreat has said since is not yet in the file */
	if (rc == 0) {
		say_hidden(j);
		rc = write_part(j, why);
	}
	if (rc == 0 && rename(j->part, j->q.out) != 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", j->q.out, strerror(errno));
	if (rc != 0) {
		(void)unlink(j->part);
		return bs_command_fail("%s", why->text);
	}
	(void)snprintf(j->site.file, sizeof(j->site.file), "%s", j->q.out);
	bs_try_places(&j->site);
	tell_site(j);
	if (tried->images > 0)
		tell_trial(j, tried);
	tell_next(j);
	return 0;
}

static int run_init(void *request)
{
	struct job *j = request;
	struct bs_tried tried = { 0 };
	struct bs_fail why = { 0 };
	int rc;

	if (j->q.from != NULL && j->q.asks)
		return bs_options_wrong("--from RECORDING: what it holds is not given beside it");
	if (j->q.add && (j->q.force || j->q.system || j->q.pacs != NULL ||
			 (j->q.mrd & j->q.web) != BS_OUTLINE_NONE))
		return bs_options_wrong("--add adds a protocol and nothing else");
	bs_log_init("init", BS_LOG_WARN);
	bs_progress_use();
	rc = place_file(j, &why);
	if (rc == 0)
		rc = j->q.from != NULL ? from_recording(j, &tried, &why) : from_answers(j, &why);
	rc = rc == BS_ERR_USAGE ? bs_options_wrong("%s", why.text)
				: finish_job(j, rc, &tried, &why);
	bs_survey_free(&j->survey);
	return rc;
}

const struct bs_command bs_command_init = {
	.name = "init",
	.summary = "write a site file for a recording, or from answers",
	.options = options,
	.notes =
		"From a recording: reads its header and its readouts, writes a commented site file "
		"with the protocol that reconstructs them, and does so once to see that it holds. "
		"What the recording cannot tell is assumed, and said.",
	.request = &(struct job){ .q = { .out = "site.cfg",
					 .mrd = BS_OUTLINE_NONE,
					 .web = BS_OUTLINE_NONE } },
	.run = run_init,
};
