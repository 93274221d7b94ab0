/* board/tool/command/replay.c - boreside replay: act as the scanner, with a recording */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "board/tool/command/obeying.h"
#include "board/tool/command/tools.h"
#include "drivers/tool/load/recording.h"
#include "config/hint/place.h"
#include "drivers/tool/replay/replay.h"
#include "ipc/seal/keys.h"

struct request {
	const char *config, *url, *recording, *group, *plan, *key, *service, *answers;
	struct bs_seal_keys keys; /* keys that seal the connection */
	bool sealed;
	struct bs_obeying obeying;
	struct bs_replay_options o;
	uint64_t loops;
	uint32_t limit, repeat;
	double patience_s;
	bool asap;
	struct bs_faults faults; /* faults of the plan; count 0: no plan */
};

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(config),
	  .help = "the service's site file: its k-space endpoint is used; or:" },
	{ BS_OPTION_TEXT, 0, "url", "URL", AT(url),
	  .help = "the endpoint itself, ipc://PATH or tcp://ADDRESS:PORT" },
	{ BS_OPTION_TEXT, 0, "key", "FILE", AT(key), .help = BS_COMMAND_KEY_HELP },
	{ BS_OPTION_TEXT, 0, "service-key", "KEY", AT(service),
	  .help = BS_COMMAND_SERVICE_KEY_HELP },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(o.protocol),
	  .help = "the protocol to use; else the recording's own protocolName" },
	{ BS_OPTION_TEXT, 0, "group", "NAME", AT(group), .help = BS_RECORDING_GROUP },
	{ BS_OPTION_POSITIVE, 0, "speed", "X", AT(o.speed),
	  .help = "X times as fast as the recording's time stamps (1)", .max = 1e6 },
	{ BS_OPTION_FLAG, 0, "asap", NULL, AT(asap), .help = "as fast as the service takes it" },
	{ BS_OPTION_U64, 0, "loop", "N", AT(loops),
	  .help = "N scans, one after the other; 0: until interrupted (1)" },
	{ BS_OPTION_U32, 0, "limit", "N", AT(limit), .help = "the first N acquisitions only",
	  .min = 1 },
	{ BS_OPTION_U32, 0, "repeat", "N", AT(repeat),
	  .help = "a scan of N repetitions: those after the recording's first one come again and "
		  "again, with counters and times that go on",
	  .min = 2, .max = 65535 },
	{ BS_OPTION_U64, 0, "session", "ID", AT(o.session),
	  .help = "of the first scan, the next ones count up; else random", .min = 1 },
	{ BS_OPTION_POSITIVE, 0, "patience", "S", AT(patience_s),
	  .help = "give up when the service is silent for S seconds (10)", .max = 1e6 },
	{ BS_OPTION_TEXT, 0, "answers", "FILE", AT(answers),
	  .help = "ask for answers, and write each as a line" },
	{ BS_OPTION_PAIR, 0, "obey", "MM,DEG", AT(obeying.o.motion),
	  .help = "ask for answers and obey them: a head that moves by MM and turns by DEG takes "
		  "the place of what the recording (on the grid) shows" },
	{ BS_OPTION_TEXT, 0, "latency", "MS[,MS...]", AT(obeying.latency),
	  .help = "with --obey: a scan for each, its answers obeyed so much later (0)" },
	{ BS_OPTION_REAL, 0, "noise", "X", AT(obeying.o.noise),
	  .help = "with --obey: deviation of a voxel's noise, of the head's brightest 1 (0)",
	  .max = 1e6 },
	{ BS_OPTION_FLAG, 0, "blind", NULL, AT(obeying.o.blind),
	  .help = "with --obey: the head moves, and no answer is obeyed" },
	{ BS_OPTION_TEXT, 0, "picture", "FILE.svg", AT(obeying.picture),
	  .help = "with --obey: how far off the scanner was, against the latency" },
	{ BS_OPTION_TEXT, 0, "faults", "SEED|FILE", AT(plan),
	  .help = "with faults: drawn from a number, or one a line of a file, see below" },
	{ BS_OPERAND, 0, NULL, "RECORDING", AT(recording), .help = "MRD .h5, or a scan's log",
	  .required = true },
	{ 0 },
};

/* Shows one line that overwrites itself, cut at the terminal's width; only on a terminal. */
static void show_progress(void *arg, const struct bs_replay_report *t)
{
	static const char *const words[] = { "", "waits for the answer", "streams",
					     "waits for the outcome", "" };
	const double part = t->total > 0 ? (double)t->sent / t->total : 0.0;
	const double seconds = (double)t->elapsed_ns * 1e-9;
	struct winsize size = { .ws_col = 80 };
	char line[240];
	char left[32] = "";

	(void)arg;
	(void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	if (t->sent > 0 && t->sent < t->total)
		(void)snprintf(left, sizeof(left), ", %.0f s left", seconds / part - seconds);
	(void)snprintf(line, sizeof(line),
		       "replay: %3.0f %%%s, %u of %u acquisitions, %.1f MB, %.1f s, %s, %u "
		       "unacknowledged, %llu sent again",
		       100.0 * part, left, t->sent, t->total, (double)t->bytes * 1e-6, seconds,
		       words[t->state], t->kept, (unsigned long long)t->resent);
	(void)fprintf(stderr, "\r\033[K%.*s", size.ws_col > 1 ? size.ws_col - 1 : 79, line);
	(void)fflush(stderr);
}

/* Prints the service's words without what could drive a terminal. */
static void print_text(const char *text)
{
	for (; *text != '\0'; text++)
		(void)putchar((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
	(void)putchar('\n');
}

static void print_report(uint64_t session, const struct bs_replay_report *t)
{
	double seconds = (double)t->elapsed_ns * 1e-9;
	const struct bs_wire_outcome *o = &t->outcome;

	(void)printf("session %016llx: sent %u of %u acquisitions, %.3f MB in %.3f s (%.1f MB/s), "
		     "%llu messages again\n",
		     (unsigned long long)session, t->sent, t->total, (double)t->bytes * 1e-6,
		     seconds, seconds > 0.0 ? (double)t->bytes * 1e-6 / seconds : 0.0,
		     (unsigned long long)t->resent);
	(void)printf("  acknowledged: held up to number %llu", (unsigned long long)t->ack.held);
	if (t->ack.log == 0)
		(void)printf("; the service keeps no log");
	else
		(void)printf(", %s up to %llu",
			     t->ack.log == BS_WIRE_LOG_RELAXED ? "logged" : "durable",
			     (unsigned long long)t->ack.durable);
	if (t->ack.log != 0 && t->ack.unprotected > 0)
		(void)printf(", %llu messages of them in no log",
			     (unsigned long long)t->ack.unprotected);
	(void)putchar('\n');
	if (t->complaints > 0) {
		(void)printf("  the service refused %llu messages; the last one: %s: ",
			     (unsigned long long)t->complaints, bs_err_name(t->complaint.code));
		print_text(t->complaint.text);
	}
	if (t->strays > 0)
		(void)printf("  %llu messages from the service could not be understood\n",
			     (unsigned long long)t->strays);
	if (!t->refused)
		(void)printf(
			"  service: acquisitions %llu, images %llu, gaps %llu, duplicates %llu, "
			"rejected %llu, late %llu, undelivered %u\n",
			(unsigned long long)o->acquisitions, (unsigned long long)o->images,
			(unsigned long long)o->gaps, (unsigned long long)o->duplicates,
			(unsigned long long)o->rejected, (unsigned long long)o->late,
			o->undelivered);
	(void)printf("  %s: %s: ", t->refused ? "refused" : "outcome", bs_err_name(t->code));
	print_text(o->text);
	(void)fflush(stdout);
}

static void print_lateness(const struct bs_hist *h)
{
	if (atomic_load(&h->count) > 0)
		(void)printf("readouts were sent after their due time by p50 %.0f us, p99 %.0f us, "
			     "max %.0f us (N %llu)\n",
			     (double)bs_hist_quantile(h, 0.5) * 1e-3,
			     (double)bs_hist_quantile(h, 0.99) * 1e-3,
			     (double)bs_hist_quantile(h, 1.0) * 1e-3,
			     (unsigned long long)atomic_load(&h->count));
}

/* Prints the faults that were made, and when the service continued after each. */
static void print_faults(const struct bs_faults *f)
{
	uint32_t struck = 0;

	for (uint32_t i = 0; i < f->count; i++)
		struck += f->fault[i].struck > 0;
	(void)printf("  %u of %u faults struck\n", struck, f->count);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct bs_fault *fault = &f->fault[i];
		char words[BS_FAULTS_WORDS];

		(void)printf("    %s: ", bs_fault_words(words, fault));
		if (fault->struck == 0)
			(void)printf("its message was not sent\n");
		else if (fault->passed_ns == 0)
			(void)printf("struck %s, never acknowledged\n",
				     fault->struck == 1 ? "once" : "each time");
		else
			(void)printf("struck %s, its number acknowledged after %.0f ms\n",
				     fault->struck == 1 ? "once" : "each time",
				     (double)(fault->passed_ns - fault->struck_ns) * 1e-6);
	}
}

/* Plays all scans. Returns the exit status. */
static int play(struct request *q, struct bs_replay *r, struct bs_endpoint *e)
{
	struct bs_replay_report report;
	struct bs_fail why;
	int status = 0;

	for (uint64_t n = 0; (q->loops == 0 || n < q->loops) && !*q->o.stop; n++) {
		int rc;

		if (q->obeying.scanner != NULL)
			bs_obeying_begin(&q->obeying, (uint32_t)n);
		rc = bs_replay_run(r, e, &q->o, &report, &why);
		if (q->o.progress != NULL)
			(void)fputs("\r\033[K", stderr);
		if (rc != 0)
			return bs_command_fail("%s: %s", bs_err_name(rc), why.text);
		print_report(report.session, &report);
		if (q->obeying.scanner != NULL)
			bs_obeying_end(&q->obeying, (uint32_t)n);
		if (q->o.faults != NULL)
			print_faults(q->o.faults);
		q->o.session = report.session;
		if (report.code != 0)
			status = 1;
		if (report.refused)
			break;
		if (++q->o.session == 0)
			q->o.session = 1;
	}
	print_lateness(bs_replay_lateness(r));
	return status;
}

/* Reads the plan of faults and prints it in its file's form. */
static int read_plan(struct request *q, uint32_t readouts, struct bs_fail *why)
{
	char words[BS_FAULTS_WORDS];
	char *end;
	uint64_t seed = strtoull(q->plan, &end, 10);
	bool drawn = isdigit((unsigned char)q->plan[0]) && *end == '\0';
	int rc = drawn ? bs_faults_draw(&q->faults, seed, readouts, why)
		       : bs_faults_read(&q->faults, q->plan, why);

	if (rc == 0)
		rc = bs_faults_fit(&q->faults, readouts, why);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; drawn && i < q->faults.count; i++)
		(void)printf("%s\n", bs_fault_words(words, &q->faults.fault[i]));
	q->o.faults = &q->faults;
	return 0;
}

static void write_answer(void *arg, const struct bs_answer *a)
{
	bs_answer_print(arg, a);
}

/* Has the scans ask for answers. Returns the file that they go to; NULL: why says why not. */
static FILE *ask(struct request *q, struct bs_replay *r, struct bs_fail *why)
{
	FILE *to = NULL;

	if (bs_replay_ask(r, why) == 0 && (to = fopen(q->answers, "we")) == NULL)
		(void)bs_fail(why, BS_ERR_IO, "%s: %s", q->answers, strerror(errno));
	q->o.answered = write_answer;
	q->o.answered_arg = to;
	return to;
}

static int stream(struct request *q)
{
	struct bs_endpoint e;
	struct bs_replay *r;
	FILE *answers = NULL;
	struct bs_fail why;
	char hint[BS_PLACE_HINT];
	int status;

	if (bs_replay_open(&r, q->recording, q->limit, &why) != 0)
		return bs_command_fail("%s%s", why.text, bs_place_hint(q->recording, hint));
	if (q->repeat > 0 && bs_replay_repeat(r, q->repeat, &why) != 0) {
		bs_replay_close(r);
		return bs_command_fail("--repeat: %s: %s", q->recording, why.text);
	}
	(void)printf("%s: %u acquisitions, %s\n", q->recording, bs_replay_count(r),
		     q->asap ? "as fast as the service takes them"
			     : bs_replay_clock_name(bs_replay_clock(r)));
	if (bs_replay_note(r)[0] != '\0')
		(void)printf("%s: %s\n", q->recording, bs_replay_note(r));
	(void)fflush(stdout);
	if ((q->plan != NULL && read_plan(q, bs_replay_count(r), &why) != 0) ||
	    (q->answers != NULL && (answers = ask(q, r, &why)) == NULL) ||
	    (q->obeying.count > 0 && bs_obeying_open(&q->obeying, r, &q->o, &why) != 0)) {
		bs_faults_free(&q->faults);
		bs_replay_close(r);
		return bs_command_fail("%s", why.text);
	}
	q->o.stop = bs_command_stop();
	bs_endpoint_tune_malloc(16u << 20);
	/* ns of timer slack; the default of 50 us makes wake-ups later than necessary */
	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	if (bs_endpoint_connect_sealed(&e, BS_ENDPOINT_KSPACE, q->url, BS_REPLAY_MESSAGE_MAX,
				       q->sealed ? &q->keys : NULL, &why) != 0) {
		status = bs_command_fail("%s", why.text);
	} else {
		status = play(q, r, &e);
		bs_endpoint_close(&e);
	}
	if (bs_obeying_close(&q->obeying, &why) != 0)
		status = bs_command_fail("%s", why.text);
	if (answers != NULL && (ferror(answers) != 0) + (fclose(answers) != 0) > 0)
		status = bs_command_fail("%s: cannot be written", q->answers);
	bs_faults_free(&q->faults);
	bs_replay_close(r);
	return status;
}

static int run_replay(void *request)
{
	struct request *q = request;
	struct bs_site *site = NULL;
	struct bs_fail why;
	int status;

	if ((q->config == NULL) == (q->url == NULL))
		return bs_options_wrong("either -c FILE or --url URL");
	if (q->asap && q->o.speed != 0.0)
		return bs_options_wrong("--asap and --speed exclude each other");
	if (q->obeying.o.motion[0] > 0.0) {
		if (q->answers != NULL || q->plan != NULL)
			return bs_options_wrong("--obey goes without --answers and --faults");
		if (bs_obeying_read(&q->obeying, &why) != 0)
			return bs_options_wrong("%s", why.text);
		q->loops = q->obeying.count;
	}
	if (!q->asap && q->o.speed == 0.0)
		q->o.speed = 1.0;
	q->recording = bs_recording_in(q->recording, q->group);
	q->o.patience_ns = llrint(q->patience_s * 1e9);
	while (q->o.session == 0)
		if (getrandom(&q->o.session, sizeof(q->o.session), 0) != sizeof(q->o.session))
			return bs_command_fail("no random number for a session");
	if (isatty(STDERR_FILENO))
		q->o.progress = show_progress;
	if (q->url == NULL) {
		site = bs_command_site(q->config);
		if (site == NULL)
			return 1;
		q->url = site->kspace_url;
	}
	status = bs_command_seal(&q->keys, site, q->url, q->key, q->service);
	q->sealed = status > 0;
	status = status < 0 ? 1 : stream(q);
	bs_seal_wipe_bytes(&q->keys, sizeof(q->keys));
	free(site);
	return status;
}

const struct bs_command bs_command_replay = {
	.name = "replay",
	.summary = "act as the scanner: stream a recording to the service",
	.options = options,
	.after = "Ends with the service's outcome. Exit status 0 only when every scan's code is 0. "
		 "A FILE of --faults has one fault a line, N the number of a message (0 for OPEN, "
		 "1 for the first readout): 'at N drop', 'at N duplicate', 'at N reorder by "
		 "MESSAGES', 'at N corrupt bit BIT', 'at N truncate to BYTES bytes', 'at N stall "
		 "MS ms', 'at N disconnect MS ms', 'at N kill MS ms'; figures may be left out but "
		 "for stall's; 'for good' behind drop, corrupt and truncate: each time it is sent. "
		 "board/doc/FAULTS.md says what each does. The same SEED draws the same faults; "
		 "they are printed.",
	.request = &(struct request){ .loops = 1, .patience_s = 10.0, .o.protocol = "" },
	.run = run_replay,
};
