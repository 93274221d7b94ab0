/* board/command/command.c - see command.h */
#include "board/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "config/config.h"
#include "core/log.h"
#include "drivers/file/program.h"

const struct bs_option bs_command_here[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct bs_command_here, config),
	  .help = "the service's site file (the service in " BS_COMMAND_RUN_DIR ")" },
	{ 0 },
};

int bs_command_page(const char *what)
{
	(void)execl(BS_PROGRAM_SELF, "boreside", "page", what, (char *)NULL);
	return bs_command_fail(BS_PROGRAM_SELF ": %s", strerror(errno));
}

void bs_command_tell(void *arg, const char *line)
{
	(void)fprintf(arg, "%s\n", line);
}

struct bs_site *bs_command_site(const char *file)
{
	struct bs_site *site = malloc(sizeof(*site));

	if (site == NULL) {
		(void)bs_command_fail("no memory for the site file");
	} else if (bs_config_load(site, file, bs_command_tell, stderr) != 0) {
		free(site);
		site = NULL;
	}
	return site;
}

void bs_command_log_as(const struct bs_site *site, const char *name)
{
	bs_log_init(name, (enum bs_log_level)site->log_level);
	bs_log_format(strcmp(site->log_format, "json") == 0);
}

static bool is_child;

bool bs_command_child(uint32_t parent)
{
	is_child = true;
	(void)signal(SIGINT, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return (uint32_t)getppid() == parent;
}

static volatile sig_atomic_t stop_asked;

static void on_stop(int number)
{
	(void)number;
	stop_asked = 1;
}

const volatile sig_atomic_t *bs_command_stop(void)
{
	const struct sigaction act = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };

	if (!is_child)
		(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	return &stop_asked;
}
