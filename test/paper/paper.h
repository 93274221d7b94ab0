/*
 * test/paper/paper.h - the commands of the program paper, a file each, beside this one
 *
 * argv[0] is the command's own word. Returns the process's exit status: 0 done, 1 failed, 2 usage.
 */
#ifndef BS_TEST_PAPER_PAPER_H
#define BS_TEST_PAPER_PAPER_H

int bs_paper_reproduce(int argc, char **argv);
int bs_paper_ladder(int argc, char **argv);

#endif
