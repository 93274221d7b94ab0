/* board/tool/main.c - the program: the daemon and its tools */
#include <stddef.h>

#include "board/recon/recon.h"
#include "board/tool/command/tools.h"
#include "board/tool/page/page.h"
#include "board/tool/selftest/selftest.h"
#include "drivers/tool/load/load.h"

static const struct bs_command *const commands[] = {
	&bs_command_init,    &bs_command_doctor,
	&bs_command_serve,   &bs_command_check,
	&bs_command_replay,  &bs_command_status,
	&bs_command_certify, &bs_command_recon,
	&bs_command_arm,     &bs_command_phantom,
	&bs_command_compare, &bs_command_prior,
	&bs_command_tune,    &bs_command_delays,
	&bs_command_record,  &bs_command_receive,
	&bs_command_log,     &bs_command_drain,
	&bs_command_reload,  &bs_command_bridge,
	&bs_command_web,     &bs_command_key,
	&bs_command_forget,  &bs_command_selftest,
	&bs_command_version, NULL,
};

int main(int argc, char **argv)
{
	int status;

	bs_recon_selftest = bs_selftest;
	bs_check_untested = bs_selftest_untested;
	status = bs_load_asked(argc, argv) ? bs_load_main(argv[2]) : bs_page_main(argc, argv);
	return bs_command_said(status >= 0 ? status : bs_command_run(commands, argc, argv));
}
