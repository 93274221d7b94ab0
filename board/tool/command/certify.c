/*
 * board/tool/command/certify.c - boreside certify: does a protocol keep its budget on this
 * machine
 */
#include <stdio.h>
#include <stdlib.h>

#include "board/tool/certify/certify.h"
#include "board/tool/certify/load.h"
#include "board/tool/certify/report.h"
#include "board/tool/certify/verdict.h"
#include "board/tool/command/tools.h"

struct request {
	struct bs_certify_request certify;
	double seconds;
};

static int read_loads(void *to, const char *text, struct bs_fail *why)
{
	return bs_loads_parse(to, text, why);
}

#define AT(field) offsetof(struct request, field)
static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", AT(certify.config), .help = "the site file",
	  .required = true },
	{ BS_OPTION_TEXT, 'p', "protocol", "PROTOCOL", AT(certify.protocol),
	  .help = "which one of the site file (the only one)" },
	{ BS_OPTION_POSITIVE, 0, "minutes", "M", AT(certify.minutes),
	  .help = "for so long, to the end of a recording (1)", .max = 1e5 },
	{ BS_OPTION_POSITIVE, 0, "seconds", "S", AT(seconds), .help = "the same in seconds",
	  .max = 6e6 },
	{ BS_OPTION_U64, 0, "images", "N", AT(certify.images), .help = "or until N images are made",
	  .min = 1, .max = 1e6 },
	{ BS_OPTION_POSITIVE, 0, "speed", "X", AT(certify.speed),
	  .help = "afterwards once more, at X times the recording's pace", .max = 1e4 },
	{ BS_OPTION_OWN, 0, "load", "LIST", AT(certify.loads),
	  .help = "beside a load: any of cpu,io,gpu", .read = read_loads },
	{ BS_OPTION_FLAG, 0, "alone", NULL, AT(certify.alone),
	  .help = "without the site's other protocols: it starts sooner" },
	{ BS_OPTION_TEXT, 'o', "output", "FOLDER", AT(certify.out),
	  .help = "for certificate.md, certificate.json, latency.svg (certificate)" },
	{ BS_OPERAND, 0, NULL, "RECORDING", AT(certify.recording), .help = "the scan to play",
	  .required = true },
	{ 0 },
};

static int certify(const struct bs_certify_request *q, struct bs_certificate *c)
{
	struct bs_fail why = { 0 };
	char line[1024];
	int rc = bs_certify_run(c, q, &why);

	if (rc != 0)
		(void)fprintf(stderr, "boreside certify: %s: %s\n", bs_err_name(rc), why.text);
	if (c->p == NULL || (rc != 0 && c->runs == 0))
		return 1;
	if (rc != 0 && c->refused[0] == '\0') /* the trial broke off; the record says so */
		(void)snprintf(c->refused, sizeof(c->refused), "the run broke down: %.360s",
			       why.text);
	if (rc != 0)
		bs_verdict_make(c);
	if (bs_report_write(c, q->out, &why) != 0)
		return bs_command_fail("%s", why.text);
	bs_report_line(c, line, sizeof(line));
	(void)printf("%s\n%s/certificate.md\n", line, q->out);
	return c->verdict == BS_VERDICT_KEPT ? 0 : 1;
}

static int run_certify(void *request)
{
	struct request *q = request;
	struct bs_certificate *c;
	int status;

	if (q->seconds > 0.0)
		q->certify.minutes = q->seconds / 60.0;
	/* a stop by the user: the certificate is of what was done until then */
	q->certify.stop = bs_command_stop();
	c = malloc(sizeof(*c));
	if (c == NULL)
		return bs_command_fail("no memory");
	status = certify(&q->certify, c);
	bs_certify_free(c);
	free(c);
	return status;
}

const struct bs_command bs_command_certify = {
	.name = "certify",
	.summary = "does a protocol keep its latency budget on this machine",
	.options = options,
	.after = "Exit status 0 only when the contract was kept at the recording's own pace: "
		 "every image that the recording makes taken by the archive, whole, made by the "
		 "protocol's own method, and handed on within budget.image_ms of its last "
		 "readout's due time, but for misses that a stall of the machine explains, seen "
		 "by canaries with a real-time priority. See board/doc/DEADLINES.md.",
	.request = &(struct request){ .certify = { .minutes = 1.0, .out = "certificate" } },
	.run = run_certify,
};
