/*
 * test/fault/fault_commands.c - the calls of a command for memory, a mapping, a file, a process or
 * a thread fail, one in each of its lives
 *
 * usage: BORESIDE=path BUILD=dir fault_commands [most]; most: of a group's calls, in each command.
 * The command ends by itself: with 0, or with 1 and words. It leaves no half of a file.
 * fault_calls does the same to the service.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/check.h"

extern char **environ;

static char dir[] = "/tmp/boreside-commands-XXXXXX";
static char hook[300];
static const char *program;
static char words[4096]; /* of the last one */

static char a_log[300] = "logs/"; /* the scan's */

static const char site[] =
	"node: { run_dir = \"run\"; cache_dir = \"cache\"; threads = 2; };\n"
	"protocols = (\n"
	"{ name = \"lines\"; method = \"cartesian\"; matrix = [16, 16]; encoded = [32, 16];\n"
	"  coils = 2; samples = 32; readouts = 16; budget: { image_ms = 1000.0; }; },\n"
	"{ name = \"ls\"; method = \"ls\"; matrix = [16, 16]; coils = 1; samples = 32;\n"
	"  readouts = 26; trajectory: { type = \"radial2d\"; };\n"
	"  ls: { iterations = 3; lambda = 0.1; }; },\n"
	"{ name = \"exact\"; method = \"ls\"; matrix = [16, 16]; coils = 1; samples = 32;\n"
	"  readouts = 26; trajectory: { type = \"radial2d\"; };\n"
	"  ls: { iterations = 3; lambda = 0.1; fhd = \"exact\"; q = \"exact\"; }; } );\n";

/* What it says goes to the file "said". */
static pid_t start(const char *const *argv)
{
	char *args[24] = { (char *)(uintptr_t) "boreside" };
	posix_spawn_file_actions_t files;
	pid_t pid = 0;
	int rc;

	for (int i = 0; i < 20 && argv[i] != NULL; i++)
		args[i + 1] = (char *)(uintptr_t)argv[i];
	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawn_file_actions_addopen(&files, 1, "said", O_WRONLY | O_CREAT | O_TRUNC,
					       0600);
	(void)posix_spawn_file_actions_adddup2(&files, 1, 2);
	rc = posix_spawn(&pid, program, &files, NULL, args, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	return rc == 0 ? pid : 0;
}

/* Its exit status; -1: a signal ended it. What it said goes to words. */
static int life(const char *const *argv, const char *group, int n)
{
	char number[16];
	int status = 0;
	ssize_t len;
	pid_t pid;
	int fd;

	if (group != NULL) {
		(void)snprintf(number, sizeof(number), "%d", n);
		(void)setenv("FAIL_ROLE", argv[0], 1);
		(void)setenv("FAIL_CALL", group, 1);
		(void)setenv("FAIL_AT", number, 1);
		(void)setenv("LD_PRELOAD", hook, 1);
	}
	pid = start(argv);
	(void)unsetenv("LD_PRELOAD");
	if (pid <= 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	fd = open("said", O_RDONLY);
	len = fd >= 0 ? read(fd, words, sizeof(words) - 1) : -1;
	words[len > 0 ? len : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool halves(void)
{
	DIR *d = opendir(".");
	bool any = false;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		any = any || strstr(e->d_name, ".part-") != NULL;
	if (d != NULL)
		(void)closedir(d);
	return any;
}

static void fail_all(const char *const *argv, int most)
{
	static const char *const groups[] = { "memory", "mmap", "open",  "file",
					      "name",   "read", "write", "process" };
	const int before = check_failed;
	int struck = 0;
	int refused = 0;
	int rc = life(argv, NULL, 0);

	CHECK(rc == 0, "boreside %s: nothing fails: %d %.200s", argv[0], rc, rc != 0 ? words : "");
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (int n = 1; n <= most; n++) {
			(void)unlink("struck");
			rc = life(argv, groups[g], n);
			if (rc < 0 || rc > 1 || (rc == 1 && words[0] == '\0') || halves())
				CHECK(false, "boreside %s: call %d for %s fails: status %d, %.300s",
				      argv[0], n, groups[g], rc, words);
			if (access("struck", F_OK) != 0)
				break;
			struck++;
			refused += rc == 1;
		}
	CHECK(struck > 0 && refused > 0 && check_failed == before,
	      "boreside %s: %d calls failed, one in a life: %d times it said so, else it went on",
	      argv[0], struck, refused);
}

/* A scan's log in the folder "logs"; its path goes to a_log. */
static bool record(void)
{
	static const char *const recorder[] = { "record", "-c", "site.cfg", "-o", "logs", NULL };
	static const char *const sender[] = { "replay", "-c",         "site.cfg", "-p",   "ls",
					      "--asap", "--patience", "60",       "s.h5", NULL };
	pid_t pid = mkdir("logs", 0750) == 0 ? start(recorder) : 0;
	int status = 0;
	bool good;
	DIR *d;

	good = pid > 0 && life(sender, NULL, 0) == 0;
	if (pid > 0)
		(void)kill(pid, SIGTERM);
	good = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && good;
	d = opendir("logs");
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		if (strstr(e->d_name, "-00000.") != NULL)
			(void)snprintf(a_log, sizeof(a_log), "logs/%.255s", e->d_name);
	if (d != NULL)
		(void)closedir(d);
	return good;
}

static bool prepare(void)
{
	static const char *const make[][20] = {
		{ "phantom", "-c", "site.cfg", "-p", "lines", "--repetitions", "2", "-o", "l.h5" },
		{ "phantom", "-c", "site.cfg", "-p", "ls", "-o", "s.h5" },
		{ "phantom", "--matrix", "32x32", "--traj", "radial2d", "--samples", "64",
		  "--readouts", "26", "--delay", "0.5,0.2,0.1", "-o", "d.h5" },
		{ "recon", "-c", "site.cfg", "-p", "ls", "-o", "a.cfl", "s.h5" },
	};
	FILE *f = fopen("site.cfg", "w");
	bool good = f != NULL && fputs(site, f) >= 0;

	good = f != NULL && fclose(f) == 0 && good;
	for (size_t i = 0; good && i < sizeof(make) / sizeof(make[0]); i++) {
		good = life(make[i], NULL, 0) == 0;
		if (!good)
			printf("# %s", words);
	}
	return good && record();
}

int main(int argc, char **argv)
{
	static const char *const all[][20] = {
		{ "check", "site.cfg" },
		{ "check", "--measure", "site.cfg" },
		{ "arm", "-c", "site.cfg" },
		{ "phantom", "-c", "site.cfg", "-p", "lines", "-o", "x.h5" },
		{ "phantom", "--matrix", "16x16", "--coils", "2", "--snr", "5", "--field-hz", "20",
		  "--te-ms", "1,2", "--echoes", "2", "-o", "x.h5" },
		{ "recon", "-c", "site.cfg", "-p", "lines", "-o", "x.cfl", "l.h5" },
		{ "recon", "-c", "site.cfg", "-p", "ls", "--rounds", "2", "--w-out", "w.mtx", "-o",
		  "x.png", "s.h5" },
		{ "compare", "--mask", "a.cfl", "--png", "x.png", "a.cfl", "s_true.cfl" },
		{ "prior", "-o", "w.mtx", "--mask", "a.cfl", "a.cfl", "s_true.cfl" },
		{ "tune", "-c", "site.cfg", "-p", "ls", "--steps", "2", "--trials", "1", "--svg",
		  "x.svg" },
		{ "tune", "-c", "site.cfg", "-p", "exact", "--steps", "2", "--trials", "1" },
		{ "delays", "d.h5" },
		{ "log", "list", "logs" },
		{ "log", "verify", "logs" },
		{ "log", "export", a_log, "x.h5" },
	};
	const int most = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 12;
	char command[128];

	program = getenv("BORESIDE");
	(void)snprintf(hook, sizeof(hook), "%.256s/test/support/fail_hook.so",
		       getenv("BUILD") != NULL ? getenv("BUILD") : "");
	if (CHECK_SANITIZED || BS_GPU || program == NULL || access(hook, R_OK) != 0) {
		SKIP("calls that fail: %s", CHECK_SANITIZED ? "the sanitizer has its own malloc"
					    : BS_GPU        ? "CUDA's libraries would be hit"
							    : "no program or no fail_hook.so");
		return check_done();
	}
	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 1;
	(void)setenv("FAIL_FLAG", "struck", 1);
	CHECK(prepare(), "recordings and images to work on");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fail_all(all[i], most);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command) != 0 || check_done();
}
