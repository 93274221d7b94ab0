/*
 * board/tool/certify/trial.h - a service of certify's own, on a private copy of the site
 *
 * make -> start -> { alive, ask, url }* -> stop -> remove. The copy has its own run folder and
 * sockets, no viewers and no sinks (files are written after an image is handed on). An archive that
 * spills keeps the newest instead: the folder is the node's own service's. Where the site logs
 * scans, so does the copy, in a folder of its own in log.dir, of at most 4 GiB, which remove takes
 * away. All else is as configured. The service has its own process group and ends with this
 * process. stop and remove may be called whatever came before.
 */
#ifndef BS_BOARD_TOOL_CERTIFY_TRIAL_H
#define BS_BOARD_TOOL_CERTIFY_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/protocol.h"

struct bs_trial {
	char dir[160], site[200], log[200];
	/* folder of the trial's logs; "": no logs are kept */
	char logs[sizeof(((struct bs_site *)0)->log.dir)];
	pid_t service; /* process of the service; 0: it has ended */
	int status;    /* how the service's process ended, as waitpid tells it */
};

/* Makes the copy in t, which is zeroed. alone: the copy's only protocol; NULL:
 * all of the site's. */
int bs_trial_make(struct bs_trial *t, const struct bs_site *site, const struct bs_protocol *alone,
		  struct bs_fail *why);
int bs_trial_start(struct bs_trial *t, struct bs_fail *why);
bool bs_trial_alive(struct bs_trial *t);
/* BS_ERR_ABORTED if a signal ended the service, which then has refused nothing; else 0. */
int bs_trial_killed(const struct bs_trial *t, struct bs_fail *why);
/* Writes the last error of a service's log that did not start; a refused budget
 * goes before others. */
void bs_trial_last_words(const struct bs_trial *t, char *out, size_t cap);
/* Writes the address of an endpoint: "kspace", "archive" or "status". */
void bs_trial_url(const struct bs_trial *t, const char *endpoint, char *out, size_t cap);
/* Asks the status socket (board/doc/STATUS.md). False: there was no answer. */
bool bs_trial_ask(const struct bs_trial *t, const char *request, char *reply, size_t cap);
void bs_trial_stop(struct bs_trial *t);
void bs_trial_remove(struct bs_trial *t);

#endif
