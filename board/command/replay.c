/* board/command/replay.c - boreside replay: act as the scanner, with a recording */
#define _GNU_SOURCE /* getrandom */
#include "board/command/command.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "config/config.h"
#include "drivers/source/replay.h"

#define PATIENCE_S 10.0

static const char usage_text[] =
	"usage: boreside replay (-c FILE | --url URL) [options] RECORDING\n"
	"  -c FILE          the service's site file: its k-space endpoint is used\n"
	"  --url URL        the endpoint itself, ipc://PATH or tcp://127.x.y.z:PORT\n"
	"  -p PROTOCOL      the protocol to use; else the recording's own protocolName\n"
	"  --speed X        X times as fast as the recording's time stamps (1)\n"
	"  --asap           as fast as the service takes it\n"
	"  --loop N         N scans, one after the other; 0: until interrupted (1)\n"
	"  --limit N        the first N acquisitions only\n"
	"  --session ID     of the first scan, the next ones count up; else random\n"
	"  --patience S     give up when the service is silent for S seconds (10)\n"
	"Ends with the service's verdict. Exit status 0 only when every scan's code is 0.\n";

struct request {
	const char *config, *url, *recording;
	struct bs_replay_options o;
	uint64_t loops, limit;
	bool asap, speed_given;
};

static volatile sig_atomic_t stop_asked;

static void on_stop(int number)
{
	(void)number;
	stop_asked = 1;
}

static bool number_u64(const char *text, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static bool number_positive(const char *text, double max, double *v)
{
	char *end;

	*v = strtod(text, &end);
	return text[0] != '\0' && *end == '\0' && *v > 0.0 && *v <= max;
}

static int bad(const char *option, const char *value, const char *want)
{
	(void)fprintf(stderr, "boreside replay: --%s %s: not %s\n", option, value, want);
	return 2;
}

static int set_option(struct request *q, int option, const char *value)
{
	uint64_t n;
	double x;

	switch (option) {
	case 'c':
		q->config = value;
		return 0;
	case 'p':
		q->o.protocol = value;
		return 0;
	case 'u':
		q->url = value;
		return 0;
	case 'a':
		q->asap = true;
		return 0;
	case 's':
		q->speed_given = true;
		return number_positive(value, 1e6, &q->o.speed)
			       ? 0
			       : bad("speed", value, "0 < X <= 1e6");
	case 'l':
		return number_u64(value, &q->loops) ? 0 : bad("loop", value, "a number of scans");
	case 'n':
		return number_u64(value, &n) && n >= 1 && n <= UINT32_MAX
			       ? (q->limit = n, 0)
			       : bad("limit", value, "a number of acquisitions");
	case 'i':
		return number_u64(value, &q->o.session) && q->o.session != 0
			       ? 0
			       : bad("session", value, "a number of 64 bits, not 0");
	case 't':
		if (!number_positive(value, 1e6, &x))
			return bad("patience", value, "seconds, 0 < S <= 1e6");
		q->o.patience_ns = llrint(x * 1e9);
		return 0;
	default:
		(void)fputs(usage_text, stderr);
		return 2;
	}
}

static int parse(struct request *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "url", required_argument, NULL, 'u' },
		{ "speed", required_argument, NULL, 's' },
		{ "asap", no_argument, NULL, 'a' },
		{ "loop", required_argument, NULL, 'l' },
		{ "limit", required_argument, NULL, 'n' },
		{ "session", required_argument, NULL, 'i' },
		{ "patience", required_argument, NULL, 't' },
		{ "config", required_argument, NULL, 'c' },
		{ "protocol", required_argument, NULL, 'p' },
		{ 0 },
	};
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, "c:p:", options, NULL)) != -1) {
		int rc = set_option(q, option, optarg);

		if (rc != 0)
			return rc;
	}
	if (optind != argc - 1 || (q->config == NULL) == (q->url == NULL) ||
	    (q->asap && q->speed_given)) {
		(void)fputs(usage_text, stderr);
		return 2;
	}
	if (q->asap)
		q->o.speed = 0.0;
	q->recording = argv[optind];
	return 0;
}

static void print_fault(void *arg, const char *line)
{
	(void)fprintf(arg, "%s\n", line);
}

/* The endpoint of the site file; NULL when the file is not valid. */
static char *url_of(const char *config)
{
	struct bs_site *site = malloc(sizeof(*site));
	char *url = NULL;

	if (site != NULL && bs_config_load(site, config, print_fault, stderr) == 0)
		url = strdup(site->kspace_url);
	free(site);
	return url;
}

/* One line that overwrites itself; only on a terminal. */
static void show_progress(void *arg, const struct bs_replay_report *t)
{
	static const char *const words[] = { "", "waits for the verdict", "streams",
					     "waits for the outcome", "" };

	(void)arg;
	(void)fprintf(stderr,
		      "\r\033[Kreplay: %u of %u acquisitions, %.1f MB, %.1f s, %u unacknowledged, "
		      "%llu sent again, %s",
		      t->sent, t->total, (double)t->bytes * 1e-6, (double)t->elapsed_ns * 1e-9,
		      t->kept, (unsigned long long)t->resent, words[t->state]);
	(void)fflush(stderr);
}

/* The service's words, which must not drive a terminal. */
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

/* All scans. Returns the exit status. */
static int play(struct request *q, struct bs_replay *r, struct bs_endpoint *e)
{
	struct bs_replay_report report;
	struct bs_fail why;
	int status = 0;

	for (uint64_t n = 0; (q->loops == 0 || n < q->loops) && !stop_asked; n++) {
		int rc = bs_replay_run(r, e, &q->o, &report, &why);

		if (q->o.progress != NULL)
			(void)fputs("\r\033[K", stderr);
		if (rc != 0) {
			(void)fprintf(stderr, "boreside replay: %s: %s\n", bs_err_name(rc),
				      why.text);
			return 1;
		}
		print_report(q->o.session, &report);
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

static int run(struct request *q, const char *url)
{
	struct sigaction act = { .sa_handler = on_stop, .sa_flags = SA_RESETHAND };
	struct bs_endpoint e;
	struct bs_replay *r;
	struct bs_fail why;
	int status = 1;

	if (bs_replay_open(&r, q->recording, (uint32_t)q->limit, &why) != 0) {
		(void)fprintf(stderr, "boreside replay: %s\n", why.text);
		return 1;
	}
	(void)printf("%s: %u acquisitions, %s\n", q->recording, bs_replay_count(r),
		     q->asap ? "as fast as the service takes them"
			     : bs_replay_clock_name(bs_replay_clock(r)));
	(void)fflush(stdout);
	/* The first signal asks for a clean end, the second one ends the program. */
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	bs_endpoint_tune_malloc(16u << 20);
	(void)prctl(PR_SET_TIMERSLACK, 1000UL); /* ns; the default, 50 us, is later than need be */
	if (bs_endpoint_connect(&e, BS_ENDPOINT_KSPACE, url, BS_REPLAY_MESSAGE_MAX, &why) != 0) {
		(void)fprintf(stderr, "boreside replay: %s\n", why.text);
	} else {
		status = play(q, r, &e);
		bs_endpoint_close(&e);
	}
	bs_replay_close(r);
	return status;
}

int bs_cmd_replay(int argc, char **argv)
{
	struct request q = { .loops = 1,
			     .o = { .protocol = "",
				    .speed = 1.0,
				    .patience_ns = (int64_t)(PATIENCE_S * 1e9),
				    .stop = &stop_asked } };
	char *url = NULL;
	int status = parse(&q, argc, argv);

	if (status != 0)
		return status;
	while (q.o.session == 0)
		if (getrandom(&q.o.session, sizeof(q.o.session), 0) != sizeof(q.o.session)) {
			(void)fprintf(stderr, "boreside replay: no random number for a session\n");
			return 1;
		}
	if (isatty(STDERR_FILENO))
		q.o.progress = show_progress;
	if (q.url == NULL) {
		url = url_of(q.config);
		if (url == NULL)
			return 1;
		q.url = url;
	}
	status = run(&q, q.url);
	free(url);
	return status;
}
