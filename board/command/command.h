/*
 * board/command/command.h - the subcommands of the one binary, one file each, beside this one
 *
 * argv[0] is the command's own name. Returns the process's exit status: 0 done, 1 failed, 2 usage.
 */
#ifndef BS_BOARD_COMMAND_COMMAND_H
#define BS_BOARD_COMMAND_COMMAND_H

int bs_cmd_check(int argc, char **argv);
int bs_cmd_recon(int argc, char **argv);
int bs_cmd_compare(int argc, char **argv);
int bs_cmd_serve(int argc, char **argv);
int bs_cmd_status(int argc, char **argv);
int bs_cmd_phantom(int argc, char **argv);
int bs_cmd_arm(int argc, char **argv);
int bs_cmd_prior(int argc, char **argv);
int bs_cmd_tune(int argc, char **argv);
int bs_cmd_replay(int argc, char **argv);
int bs_cmd_certify(int argc, char **argv);
int bs_cmd_version(int argc, char **argv);
int bs_cmd_worker(int argc, char **argv); /* hidden: the supervisor starts it */

#endif
