/* board/command/certify.c - boreside certify: does a protocol keep its budget on this machine */
#define _GNU_SOURCE /* getopt_long */
#include "board/command/command.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/certify/certify.h"
#include "board/certify/verdict.h"

static const char usage_text[] =
	"usage: boreside certify -c FILE [-p PROTOCOL] [options] RECORDING\n"
	"  --minutes M      for so long, to the end of a recording (1)\n"
	"  --seconds S      the same in seconds\n"
	"  --images N       or until N images are made\n"
	"  --speed X        afterwards once more, at X times the recording's pace\n"
	"  --load LIST      beside a load: any of cpu,io,gpu\n"
	"  --alone          without the site's other protocols: it starts sooner\n"
	"  -o FOLDER        certificate.md, certificate.json, latency.png (certificate)\n"
	"Exit status 0 only when the contract was kept at the recording's own pace: every image that the\n"
	"recording makes taken by the archive, whole, made by the protocol's own method, and handed on\n"
	"within budget.image_ms of its last readout's due time, but for misses that a stall of the\n"
	"machine explains, seen by canaries with a real-time priority. See board/doc/DEADLINES.md.\n";

static volatile sig_atomic_t stop_asked;

static void on_stop(int number)
{
	(void)number;
	stop_asked = 1;
}

static bool positive(const char *text, double max, double *v)
{
	char *end;

	*v = strtod(text, &end);
	return end != text && *end == '\0' && *v > 0.0 && *v <= max;
}

static int bad(const char *what, const char *value)
{
	(void)fprintf(stderr, "boreside certify: %s '%s'\n%s", what, value, usage_text);
	return 2;
}

static int set_option(struct bs_certify_request *q, int option, const char *value)
{
	struct bs_fail why;
	double x;

	switch (option) {
	case 'c':
		q->config = value;
		return 0;
	case 'p':
		q->protocol = value;
		return 0;
	case 'o':
		q->out = value;
		return 0;
	case 'a':
		q->alone = true;
		return 0;
	case 'm':
		return positive(value, 1e5, &q->minutes) ? 0 : bad("--minutes", value);
	case 'S':
		if (!positive(value, 6e6, &x))
			return bad("--seconds", value);
		q->minutes = x / 60.0;
		return 0;
	case 's':
		return positive(value, 1e4, &q->speed) ? 0 : bad("--speed", value);
	case 'n':
		if (!positive(value, 1e6, &x) || x < 1.0)
			return bad("--images", value);
		q->images = (uint64_t)x;
		return 0;
	case 'l':
		return bs_loads_parse(&q->loads, value, &why) == 0 ? 0 : bad("--load", why.text);
	default:
		(void)fputs(usage_text, stderr);
		return 2;
	}
}

static int parse(struct bs_certify_request *q, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "protocol", required_argument, NULL, 'p' },
		{ "minutes", required_argument, NULL, 'm' },
		{ "seconds", required_argument, NULL, 'S' },
		{ "images", required_argument, NULL, 'n' },
		{ "alone", no_argument, NULL, 'a' },
		{ "speed", required_argument, NULL, 's' },
		{ "load", required_argument, NULL, 'l' },
		{ 0 },
	};
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, "c:p:o:", options, NULL)) != -1) {
		int rc = set_option(q, option, optarg);

		if (rc != 0)
			return rc;
	}
	if (optind != argc - 1 || q->config == NULL) {
		(void)fputs(usage_text, stderr);
		return 2;
	}
	q->recording = argv[optind];
	return 0;
}

static int certify(const struct bs_certify_request *q, struct bs_certificate *c)
{
	struct bs_fail why = { 0 };
	char line[1024];
	int rc = bs_certify_run(c, q, &why);

	if (rc != 0)
		(void)fprintf(stderr, "boreside certify: %s: %s\n", bs_err_name(rc), why.text);
	if (c->p == NULL || (rc != 0 && c->runs == 0))
		return 1;
	if (rc != 0 && c->refused[0] == '\0') /* it broke down in the midst: the record says so */
		(void)snprintf(c->refused, sizeof(c->refused), "the run broke down: %.360s",
			       why.text);
	if (rc != 0)
		bs_verdict_make(c);
	if (bs_certificate_write(c, q->out, &why) != 0) {
		(void)fprintf(stderr, "boreside certify: %s\n", why.text);
		return 1;
	}
	bs_certificate_line(c, line, sizeof(line));
	(void)printf("%s\n%s/certificate.md\n", line, q->out);
	return c->verdict == BS_CERTIFY_KEPT ? 0 : 1;
}

int bs_cmd_certify(int argc, char **argv)
{
	struct bs_certify_request q = { .minutes = 1.0, .out = "certificate", .stop = &stop_asked };
	struct sigaction act = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };
	struct bs_certificate *c;
	int status = parse(&q, argc, argv);

	if (status != 0)
		return status;
	/* The first signal ends the run, and the certificate is of what was done; the second one ends
	 * the program. */
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	c = malloc(sizeof(*c));
	if (c == NULL)
		return 1;
	status = certify(&q, c);
	bs_certify_free(c);
	free(c);
	return status;
}
