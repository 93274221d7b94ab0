/* board/cmd_status.c - boreside status: asks a running service what it is doing */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/command.h"
#include "board/status.h"
#include "config/config.h"
#include "ipc/endpoint.h"

#define DEFAULT_URL "ipc:///run/boreside/status.ipc"
#define WAIT_MS     3000

static void print_fault(void *arg, const char *line)
{
	(void)arg;
	(void)fprintf(stderr, "%s\n", line);
}

static int ask(const char *url, const char *what)
{
	static char reply[BS_STATUS_MAX];
	struct bs_endpoint e;
	struct bs_fail why = { 0 };
	size_t len = 0;
	int rc = bs_endpoint_connect(&e, BS_ENDPOINT_STATUS_ASK, url, sizeof(reply), &why);

	if (rc != 0) {
		(void)fprintf(stderr, "boreside status: %s\n", why.text);
		return 1;
	}
	rc = bs_endpoint_send(&e, what, strlen(what), NULL, 0, WAIT_MS, &why);
	if (rc == 0)
		rc = bs_endpoint_recv(&e, reply, sizeof(reply), &len, WAIT_MS, &why);
	bs_endpoint_close(&e);
	if (rc != 0) {
		(void)fprintf(stderr, "boreside status: %s: %s\n", url,
			      rc > 0 ? "no service answers" : why.text);
		return 1;
	}
	(void)fwrite(reply, 1, len, stdout);
	return 0;
}

int bs_cmd_status(int argc, char **argv)
{
	const char *file = NULL;
	const char *what = "text";
	struct bs_site *site;
	int status = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			what = "json";
		} else if (strcmp(argv[i], "-c") == 0 && i + 1 < argc) {
			file = argv[++i];
		} else {
			(void)fprintf(stderr, "usage: boreside status [-c FILE] [--json]\n");
			return 2;
		}
	}
	if (file == NULL)
		return ask(DEFAULT_URL, what);
	site = malloc(sizeof(*site));
	if (site != NULL && bs_config_load(site, file, print_fault, NULL) == 0)
		status = ask(site->status_url, what);
	free(site);
	return status;
}
