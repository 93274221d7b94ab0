/* board/command/status.c - boreside status: asks a running service what it is doing */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/command/command.h"
#include "board/status/ask.h"
#include "board/status/status.h"
#include "core/thread/clock.h"
#include "ipc/seal/keys.h"

#define WAIT_MS 3000

struct request {
	const char *config, *url, *key, *service;
	bool json, latency, metrics, fields;
	double wait_s; /* longest wait for the service; negative: no wait */
};

static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct request, config),
	  .help = "the service's site file (the service on " BS_COMMAND_STATUS_URL ")" },
	{ BS_OPTION_TEXT, 0, "url", "URL", offsetof(struct request, url),
	  .help = "the status socket itself, in place of -c" },
	{ BS_OPTION_TEXT, 0, "key", "FILE", offsetof(struct request, key),
	  .help = BS_COMMAND_KEY_HELP },
	{ BS_OPTION_TEXT, 0, "service-key", "KEY", offsetof(struct request, service),
	  .help = BS_COMMAND_SERVICE_KEY_HELP },
	{ BS_OPTION_FLAG, 0, "latency", NULL, offsetof(struct request, latency),
	  .help = "each protocol's stages and whole images, misses, stalls of the machine" },
	{ BS_OPTION_FLAG, 0, "json", NULL, offsetof(struct request, json),
	  .help = "as a JSON document" },
	{ BS_OPTION_FLAG, 0, "metrics", NULL, offsetof(struct request, metrics),
	  .help = "as Prometheus reads it (the page has it at /metrics, too)" },
	{ BS_OPTION_FLAG, 0, "fields", NULL, offsetof(struct request, fields),
	  .help = "no service: what the JSON document's members mean, as Markdown" },
	{ BS_OPTION_REAL, 0, "wait", "SECONDS", offsetof(struct request, wait_s),
	  .help = "print nothing; end with 0 once the service is ready" },
	{ 0 },
};

static int show(const char *url, const struct bs_seal_keys *keys, const char *what)
{
	static char reply[BS_METRICS_MAX]; /* buffer for the longest answer */
	struct bs_fail why = { 0 };

	if (bs_status_ask_sealed(url, keys, what, reply, sizeof(reply), WAIT_MS, &why) != 0)
		return bs_command_fail("%s: %s", url, why.text);
	(void)fputs(reply, stdout);
	return 0;
}

/* Waits until every worker is ready, for scripts between `serve` and the first scan. */
static int wait_ready(const char *url, const struct bs_seal_keys *keys, double seconds)
{
	static char reply[BS_STATUS_MAX];
	int64_t until_ns = bs_now_ns() + (int64_t)(seconds * 1e9);
	struct bs_fail why = { 0 };

	do {
		if (bs_status_ask_sealed(url, keys, "ready", reply, sizeof(reply), 500, &why) ==
			    0 &&
		    strcmp(reply, "yes\n") == 0)
			return 0;
		bs_sleep_ns(20000000);
	} while (bs_now_ns() < until_ns);
	return bs_command_fail("%s: not ready after %g s", url, seconds);
}

static int run_status(void *request)
{
	static const char *const documents[2][2] = { { "text", "json" },
						     { "latency", "latency.json" } };
	struct request *q = request;
	const char *url = BS_COMMAND_STATUS_URL;
	static struct bs_seal_keys keys;
	struct bs_site *site = NULL;
	int sealed;
	int status;

	if (q->fields)
		return bs_command_page("fields");
	if (q->config != NULL) {
		site = bs_command_site(q->config);
		if (site == NULL)
			return 1;
		url = site->status_url;
	}
	url = q->url != NULL ? q->url : url;
	sealed = bs_command_seal(&keys, site, url, q->key, q->service);
	if (sealed >= 0)
		status = q->wait_s >= 0.0
				 ? wait_ready(url, sealed > 0 ? &keys : NULL, q->wait_s)
				 : show(url, sealed > 0 ? &keys : NULL,
					q->metrics ? "metrics" : documents[q->latency][q->json]);
	else
		status = 1;
	bs_seal_wipe_bytes(&keys, sizeof(keys));
	free(site);
	return status;
}

const struct bs_command bs_command_status = {
	.name = "status",
	.summary = "what a running service is doing",
	.options = options,
	.request = &(struct request){ .wait_s = -1.0 },
	.run = run_status,
};
