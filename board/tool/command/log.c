/*
 * board/tool/command/log.c - boreside log: the logs of scans: which there are, are they whole,
 * export
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "board/tool/audit/audit.h"
#include "board/tool/command/tools.h"
#include "config/hint/near.h"
#include "core/date.h"
#include "core/progress.h"
#include "core/text.h"
#include "drivers/log/folder.h"
#include "drivers/tool/load/logged.h"
#include "drivers/tool/load/proof.h"
#include "drivers/tool/load/recording.h"
#include "drivers/tool/signedfile.h"
#include "ipc/seal/keys.h"
#include "ipc/wire/answer.h"
#include "ipc/wire/envelope.h"

struct request {
	const char *action, *config, *events, *key;
	char **operands;
	uint64_t keep_mib;
	double keep_hours;
	bool promises;
	uint8_t pub[BS_SIGN_KEY]; /* key, where it is given */
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_U64, 0, "keep", "MIB", AT(keep_mib),
	  .help = "prune: no more than this in all (0: any)" },
	{ BS_OPTION_POSITIVE, 0, "keep-hours", "H", AT(keep_hours),
	  .help = "prune: none that was last written to longer ago", .max = 1e6 },
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config),
	  .help = "audit: the site file, which says where its logs and images lie" },
	{ BS_OPTION_TEXT, 0, "events", "FILE", AT(events),
	  .help = "audit: the service's log, whose lines say how scans ended (-: standard input)" },
	{ BS_OPTION_TEXT, 0, "key", "PUBLIC", AT(key),
	  .help = "verify, audit: logs and lines are signed by this key (boreside key signer)" },
	{ BS_OPTION_FLAG, 0, "promises", NULL, AT(promises),
	  .help = "audit, no PATH: print what is judged, as Markdown" },
	{ BS_OPERAND, 0, NULL, "ACTION", AT(action),
	  .help = "list, verify, answers, audit, export or prune", .required = true },
	{ BS_OPERANDS, 0, NULL, "PATH...", AT(operands),
	  .help = "list, verify, answers: folders of logs, or any one file of each log; "
		  "audit: folders of logs and of images; export: a log's file and OUT.h5; prune: a "
		  "folder" },
	{ 0 },
};

static int list_one(const struct request *q, const char *path)
{
	(void)q;
	struct bs_log_reader *r;
	struct bs_fail why;
	char utc[BS_UTC_BYTES];

	if (bs_log_open(&r, path, &why) != 0)
		return bs_command_fail("%s", why.text);
	(void)printf(
		"%s UTC  %016llx  %3u segments  %10.3f MB  %s  %s\n",
		bs_utc_text(utc, "%Y-%m-%d %H:%M:%S", bs_log_begins(r)->started_ns / 1000000000),
		(unsigned long long)bs_log_begins(r)->session, bs_log_segments(r),
		(double)bs_log_bytes(r) * 1e-6, bs_log_sealed(r) ? "sealed" : "open  ", path);
	bs_log_close(r);
	return 0;
}

/* Checks that the key signed the log. Returns the exit status; the line of verify is ended. */
static int prove_one(const struct request *q, const char *path)
{
	struct bs_log_proof sum;
	struct bs_fail why;

	if (bs_log_prove(path, q->pub, &sum, &why) != 0) {
		(void)printf("; not proven\n");
		(void)fflush(stdout);
		return bs_command_fail("%s", why.text);
	}
	(void)printf("; signed, %u segment%s", sum.segments, bs_text_s(sum.segments));
	if (sum.recovered > 0)
		(void)printf(", %u of them recovered: signed after the writer had ended",
			     sum.recovered);
	(void)printf("\n");
	return 0;
}

static int verify_one(const struct request *q, const char *path)
{
	struct bs_fail damage = { 0 };
	struct bs_fail why;
	struct bs_logged *l;
	const struct bs_logged_sum *sum;
	int status;

	if (q->key != NULL && bs_signedfile_is(path)) {
		if (bs_signed_file(q->pub, path, &why) != 0)
			return bs_command_fail("%s", why.text);
		(void)printf("%s: is what this key signed\n", path);
		return 0;
	}
	status = bs_logged_open(&l, path, &damage, &why);

	if (status == BS_ERR_STATE) {
		(void)printf("%s\n", why.text);
		return q->key != NULL;
	}
	if (status != 0)
		return bs_command_fail("%s", why.text);
	sum = bs_logged_sum(l);
	(void)printf("%s: %llu messages, %llu acquisitions, %llu waveforms, %.3f MB in %u "
		     "segment%s: ",
		     path, (unsigned long long)sum->messages, (unsigned long long)sum->acquisitions,
		     (unsigned long long)sum->waveforms, (double)sum->bytes * 1e-6, sum->segments,
		     bs_text_s(sum->segments));
	if (damage.code != 0)
		(void)printf("damaged");
	else if (bs_logged_note(l)[0] != '\0')
		(void)printf("whole so far: %s (%s)", bs_logged_note(l), sum->where);
	else
		(void)printf("whole");
	if (q->key != NULL && damage.code == 0)
		status = prove_one(q, path);
	else
		(void)printf("\n");
	(void)fflush(stdout);
	if (damage.code != 0)
		status = bs_command_fail("%s", damage.text);
	bs_logged_close(l);
	return status;
}

/* Prints what the scan's sender was told, as recon --answers writes it. */
static int answers_one(const struct request *q, const char *path)
{
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_answer a;
	struct bs_fail why;
	struct bs_wire w;
	int rc = bs_log_open(&r, path, &why);

	(void)q;
	if (rc != 0)
		return bs_command_fail("%s", why.text);
	while ((rc = bs_log_next(r, &m, &why)) == 1)
		if (bs_wire_decode(&w, m.bytes, m.len, &payload, NULL) == 0 &&
		    w.kind == BS_WIRE_ANSWER &&
		    bs_wire_get_answer(&a, payload, (size_t)w.payload_len, NULL) == 0)
			bs_answer_print(stdout, &a);
	bs_log_close(r);
	(void)fflush(stdout);
	return rc < 0 ? bs_command_fail("%s", why.text) : 0;
}

/* Calls the function `one` for each log of a folder. */
static int each(const struct request *q, const char *path,
		int (*one)(const struct request *q, const char *path))
{
	struct bs_log_entry *list;
	char file[2048];
	struct bs_fail why;
	struct stat st;
	size_t count;
	int status = 0;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return one(q, path);
	if (bs_log_folder_list(path, &list, &count, &why) != 0)
		return bs_command_fail("%s", why.text);
	if (count == 0)
		(void)printf("%s: there is no log in it\n", path);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(file, sizeof(file), "%s/%s", path, list[i].name);
		status |= one(q, file);
	}
	free(list);
	return status;
}

/* Exports what can be read. Where later parts are damaged the status is 1. */
static int export(const char *from, const char *to)
{
	struct bs_recording *out = NULL;
	struct bs_fail damage = { 0 };
	struct bs_fail why;
	struct bs_fail late;
	struct bs_logged *l;
	struct bs_mrd_acq head;
	struct bs_progress progress;
	float *traj;
	float *data;
	int closed;
	int rc = bs_logged_open(&l, from, &damage, &why);

	if (rc != 0)
		return bs_command_fail("%s", why.text);
	rc = bs_recording_create(&out, to, &why);
	bs_progress_begin(&progress, "exporting", bs_logged_count(l), "acquisitions");
	for (uint32_t i = 0; rc == 0 && i < bs_logged_count(l); i++) {
		rc = bs_logged_read(l, i, &head, &traj, &data, &why);
		if (rc == 0)
			rc = bs_recording_append(out, &head, traj, data, &why);
		bs_progress_at(&progress, i + 1);
	}
	bs_progress_end(&progress);
	if (rc == 0) /* a recording without its header is dropped at its close */
		rc = bs_recording_put_xml(out, bs_logged_xml(l), &why);
	closed = bs_recording_close(out, &late);
	if (rc == 0 && closed != 0) {
		why = late;
		rc = closed;
	}
	if (rc == 0)
		(void)printf("%s: %u acquisitions%s\n", to, bs_logged_count(l),
			     bs_logged_sum(l)->waveforms > 0 ? ", no waveforms" : "");
	if (rc == 0 && bs_logged_note(l)[0] != '\0')
		(void)printf("%s: %s\n", from, bs_logged_note(l));
	(void)fflush(stdout);
	bs_logged_close(l);
	if (rc != 0)
		return bs_command_fail("%s", why.text);
	return damage.code != 0 ? bs_command_fail("%s", damage.text) : 0;
}

static int prune(const struct request *q, const char *dir)
{
	const struct bs_log_limits limits = bs_log_limits_of(q->keep_mib, q->keep_hours);
	struct bs_log_pruned done;
	struct bs_fail why;
	int rc;

	rc = bs_log_folder_prune(dir, &limits, &done, &why);
	(void)printf("%u logs of %.3f MB are removed\n", done.logs, (double)done.bytes * 1e-6);
	(void)fflush(stdout);
	return rc == 0 ? 0 : bs_command_fail("%s", why.text);
}

/* Adds the site's folders of logs and of images to dir, an array of 2. 1: an error was printed. */
static int site_folders(const char *config, struct bs_audit_request *q,
			char dir[2][BS_PATH_MAX_ + 8], const char **dirs)
{
	struct bs_site *site = bs_command_site(config);

	if (site == NULL)
		return 1;
	(void)snprintf(dir[0], BS_PATH_MAX_, "%s", site->log.dir);
	if (bs_site_logs(site))
		*dirs++ = dir[0];
	else
		(void)printf("note: the site keeps no logs (log.dir, log.mode)\n");
	if (bs_site_stores(site)) {
		(void)snprintf(dir[1], BS_PATH_MAX_ + 8, "%s/images",
			       bs_site_spills(site) ? site->overload.spill_dir : site->run_dir);
		*dirs = dir[1];
		q->store_bytes =
			bs_site_spills(site) ? (uint64_t)site->overload.spill_mib << 20 : 0;
	} else {
		(void)printf("note: the site keeps no images\n");
	}
	free(site);
	return 0;
}

static int audit(const struct request *r, const struct bs_audit_request *q)
{
	static struct bs_findings found;
	struct bs_audit_sum sum;
	struct bs_fail why;

	found.to = stdout;
	if (bs_audit_run(q, &found, &sum, &why) != 0)
		return bs_command_fail("%s", why.text);
	(void)printf("%llu logs, %llu images, %llu records, %.3f MB, %llu takers%s: %llu of %u "
		     "promises judged, %llu findings\n",
		     (unsigned long long)sum.logs, (unsigned long long)sum.images,
		     (unsigned long long)sum.records, (double)sum.bytes * 1e-6,
		     (unsigned long long)sum.takers, r->events != NULL ? ", with outcomes" : "",
		     (unsigned long long)sum.judged, (unsigned)BS_PROMISES,
		     (unsigned long long)sum.found);
	return sum.found != 0;
}

/* Runs the audit. n: number of folders given; the site's folders come first. */
static int run_audit(const struct request *r, unsigned n)
{
	struct bs_audit_request q = { .events = r->events, .key = r->key != NULL ? r->pub : NULL };
	char dir[2][BS_PATH_MAX_ + 8];
	const char **dirs;
	unsigned have = 0;
	int status = 1;

	if ((n > 0 || r->config != NULL) == r->promises)
		return bs_options_wrong("audit: folders, -c with the site file, or --promises");
	if (r->promises) {
		bs_promise_print(stdout);
		return 0;
	}
	q.dirs = dirs = calloc(n + 3, sizeof(*dirs));
	if (dirs == NULL)
		return bs_command_fail("no memory");
	if (r->config == NULL || site_folders(r->config, &q, dir, dirs) == 0) {
		while (dirs[have] != NULL)
			have++;
		for (unsigned i = 0; i < n; i++)
			dirs[have + i] = r->operands[i];
		status = audit(r, &q);
	}
	free(dirs);
	return status;
}

static int run_log(void *request)
{
	static const char *const actions[] = { "list",   "verify", "answers", "audit",
					       "export", "prune",  NULL };
	static const struct {
		const char *action;
		int (*one)(const struct request *q, const char *path);
	} each_log[] = { { "list", list_one },
			 { "verify", verify_one },
			 { "answers", answers_one } };
	int (*one)(const struct request *q, const char *path) = NULL;
	struct request *q = request;
	struct bs_fail why;
	struct bs_near near;
	char hint[BS_NEAR_HINT];
	int status;
	unsigned n = 0;

	while (q->operands != NULL && q->operands[n] != NULL)
		n++;
	if (q->key != NULL && bs_seal_key_parse(q->pub, q->key, &why) != 0)
		return bs_options_wrong("--key: %s", why.text);
	if (strcmp(q->action, "audit") == 0)
		return run_audit(q, n);
	if (n == 0)
		return bs_options_wrong("PATH... is missing");
	if (strcmp(q->action, "prune") == 0) {
		if (n != 1 || (q->keep_mib == 0 && q->keep_hours == 0.0) || q->keep_mib >> 43 != 0)
			return bs_options_wrong("prune: a folder, and --keep or --keep-hours");
		return prune(q, q->operands[0]);
	}
	bs_progress_use();
	if (strcmp(q->action, "export") == 0)
		return n == 2 ? export(q->operands[0], q->operands[1])
			      : bs_options_wrong("export: a log's file and OUT.h5, no more");
	for (size_t i = 0; i < sizeof(each_log) / sizeof(each_log[0]); i++)
		if (strcmp(q->action, each_log[i].action) == 0)
			one = each_log[i].one;
	if (one == NULL) {
		bs_near_begin(&near, q->action);
		bs_near_offer_all(&near, actions);
		return bs_options_wrong("no action '%s'%s", q->action, bs_near_hint(&near, hint));
	}
	status = 0;
	for (unsigned i = 0; i < n; i++)
		status |= each(q, q->operands[i], one);
	return status;
}

const struct bs_command bs_command_log = {
	.name = "log",
	.summary = "logs of scans: list, verify, audit, export as MRD recordings, prune",
	.options = options,
	.after = "verify: exit status 1 when something that was committed cannot be read, and with "
		 "--key when the log, or a file with FILE.sig beside it, is not what that "
		 "key signed. export: "
		 "the same, after what can be read is written. audit: exit status 1 when a promise "
		 "of the pages is found broken; it reads only, also beside a service that runs.",
	.request = &(struct request){ 0 },
	.run = run_log,
};
