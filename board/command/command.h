/*
 * board/command/command.h - the daemon's commands, one file each, and what all commands share
 *
 * A command is a row of a program's list: its name, its options (options.h) and its run. The daemon
 * alone has board/main.c's list; the program has board/tool/main.c's: the tools, too.
 */
#ifndef BS_BOARD_COMMAND_COMMAND_H
#define BS_BOARD_COMMAND_COMMAND_H

#include <signal.h>

#include "board/command/options.h"
#include "core/protocol.h"

extern const struct bs_command bs_command_serve, bs_command_check, bs_command_status,
	bs_command_drain, bs_command_reload, bs_command_bridge, bs_command_web, bs_command_key,
	bs_command_version;

/*
 * What of a protocol its self-test leaves out (board/tool/selftest/selftest.h), for check. The
 * program sets it, which has tools.
 */
extern bool (*bs_check_untested)(char *to, size_t size, const struct bs_protocol *p);

/* main's: finds the command among those of the list, which NULL ends, and runs it. */
int bs_command_run(const struct bs_command *const *list, int argc, char **argv);
/* main's, at the end: the exit status; 1 in place of 0 where not all could be printed. */
int bs_command_said(int status);

/* folder of a service whose site file is not given */
#define BS_COMMAND_RUN_DIR    "/run/boreside"
#define BS_COMMAND_STATUS_URL "ipc://" BS_COMMAND_RUN_DIR "/status.ipc"

/* The options of a command for the service that runs here; config: its site file, or NULL. */
struct bs_command_here {
	const char *config;
};
extern const struct bs_option bs_command_here[];
/* Becomes the tool that prints a page of documentation (board/tool/page/page.h). Returns 1: not. */
int bs_command_page(const char *what);
/* Prints a line in the file arg, as of standard error: a fault of a site file. */
void bs_command_tell(void *arg, const char *line);
/* Returns the site file read, to be freed; NULL: its faults were told on standard error. */
struct bs_site *bs_command_site(const char *file);
/*
 * Finds the keys that a client at this URL seals with: from --key and --service-key, or, on the
 * service's own node, from its site file. 1: keys are filled, wipe them; 0: nothing is sealed; -1:
 * a message says why not.
 */
struct bs_seal_keys;
int bs_command_seal(struct bs_seal_keys *keys, const struct bs_site *site, const char *url,
		    const char *key, const char *service);
#define BS_COMMAND_KEY_HELP         "this side's secret key, for an endpoint that is sealed"
#define BS_COMMAND_SERVICE_KEY_HELP "the service's public key (boreside key show, there)"
/*
 * Sends lines to standard error from here on, under this name, at the site's level, in its format.
 */
void bs_command_log_as(const struct bs_site *site, const char *name);
/*
 * Makes a program that the service started end with it, and ignore SIGINT, which a terminal sends
 * to every process. False: the service has ended already.
 */
bool bs_command_child(uint32_t parent);
/* Returns a number that is not 0 once SIGINT or SIGTERM has come; a second one ends the program. */
const volatile sig_atomic_t *bs_command_stop(void);

#endif
