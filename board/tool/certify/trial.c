/* board/tool/certify/trial.c - see trial.h */
#include "board/tool/certify/trial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board/emit/folder.h"
#include "board/status/ask.h"
#include "config/config.h"
#include "core/thread/clock.h"

#define END_NS   INT64_C(20000000000) /* longest time that the service may take to end */
#define ASK_MS   500
#define KEEP_MIB 4096 /* most MiB of logs, which nobody reads */

void bs_trial_url(const struct bs_trial *t, const char *endpoint, char *out, size_t cap)
{
	(void)snprintf(out, cap, "ipc://%s/run/%s.ipc", t->dir, endpoint);
}

static int write_site(struct bs_trial *t, const struct bs_site *site, struct bs_fail *why)
{
	FILE *f = fopen(t->site, "w");

	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", t->site, strerror(errno));
	bs_config_print(f, site);
	return fclose(f) == 0 ? 0 : bs_fail(why, BS_ERR_IO, "%s: %s", t->site, strerror(errno));
}

/* Moves logs to a folder of their own on the site's disk: patients' logs stay untouched. */
static int log_apart(struct bs_trial *t, struct bs_site *s, struct bs_fail *why)
{
	char dir[sizeof(t->logs)];
	int rc;

	if (!bs_site_logs(s))
		return 0;
	rc = bs_folder_make(s->log.dir, 0750, why);
	if (rc != 0)
		return rc;
	if ((size_t)snprintf(dir, sizeof(dir), "%s/certify-XXXXXX", s->log.dir) >= sizeof(dir) ||
	    mkdtemp(dir) == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: no folder for logs in it", s->log.dir);
	memcpy(t->logs, dir, sizeof(dir));
	memcpy(s->log.dir, dir, sizeof(dir));
	if (s->log.keep_mib == 0 || s->log.keep_mib > KEEP_MIB)
		s->log.keep_mib = KEEP_MIB;
	return 0;
}

/* Keeps the steps of the trial's protocols, with sockets of their own: the service's stay its. */
static void steps_apart(const struct bs_trial *t, struct bs_site *s,
			const struct bs_protocol *alone)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->steps; i++)
		if (alone == NULL || strcmp(s->step[i].on, alone->name) == 0)
			s->step[n++] = s->step[i];
	s->steps = n;
	for (uint32_t i = 0; i < n; i++)
		(void)snprintf(s->step[i].dir, sizeof(s->step[i].dir), "%s/run/step", t->dir);
}

static int write_copy(struct bs_trial *t, struct bs_site *s, const struct bs_protocol *alone,
		      struct bs_fail *why)
{
	(void)snprintf(t->site, sizeof(t->site), "%s/site.cfg", t->dir);
	(void)snprintf(t->log, sizeof(t->log), "%s/log", t->dir);
	(void)snprintf(s->run_dir, sizeof(s->run_dir), "%s/run", t->dir);
	s->viewers_url[0] = s->images_url[0] = '\0';
	s->sinks = 0;
	if (s->overload.archive == BS_POLICY_SPILL)
		s->overload.archive = BS_POLICY_KEEP_NEWEST;
	if (alone != NULL) {
		s->protocol[0] = *alone;
		s->protocols = 1;
	}
	steps_apart(t, s, alone);
	bs_trial_url(t, "kspace", s->kspace_url, sizeof(s->kspace_url));
	bs_trial_url(t, "archive", s->archive_url, sizeof(s->archive_url));
	bs_trial_url(t, "status", s->status_url, sizeof(s->status_url));
	const int rc = log_apart(t, s, why);

	return rc == 0 ? write_site(t, s, why) : rc;
}

int bs_trial_make(struct bs_trial *t, const struct bs_site *site, const struct bs_protocol *alone,
		  struct bs_fail *why)
{
	const char *tmp = getenv("TMPDIR");
	struct bs_site *copy = malloc(sizeof(*copy));
	int rc = 0;

	if (copy == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a site");
	*copy = *site;
	(void)snprintf(t->dir, sizeof(t->dir), "%.100s/boreside-XXXXXX",
		       tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	if (mkdtemp(t->dir) == NULL) {
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", t->dir, strerror(errno));
		t->dir[0] = '\0';
	} else {
		rc = write_copy(t, copy, alone, why);
	}
	free(copy);
	return rc;
}

/* Removes a folder of files; "": none. */
static void remove_folder(const char *path)
{
	DIR *d = path[0] != '\0' ? opendir(path) : NULL;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL) {
		(void)closedir(d);
		(void)rmdir(path);
	}
}

void bs_trial_remove(struct bs_trial *t)
{
	static const char *const names[] = { "site.cfg",         "log",
					     "run/boreside.pid", "run/kspace.ipc",
					     "run/archive.ipc",  "run/status.ipc" };
	char path[256];

	remove_folder(t->logs);
	if (t->dir[0] == '\0')
		return;
	(void)snprintf(path, sizeof(path), "%s/run/step", t->dir);
	remove_folder(path);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", t->dir, names[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/run", t->dir);
	(void)rmdir(path);
	(void)rmdir(t->dir);
}

int bs_trial_start(struct bs_trial *t, struct bs_fail *why)
{
	int log = open(t->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	pid_t parent = getpid();
	char *argv[] = { "boreside", "serve", "-c", t->site, NULL };

	if (log < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", t->log, strerror(errno));
	t->service = fork();
	if (t->service == 0) {
		(void)setpgid(0, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent || dup2(log, 2) < 0 || dup2(log, 1) < 0)
			_exit(127);
		(void)execv("/proc/self/exe", argv);
		_exit(127);
	}
	(void)close(log);
	if (t->service < 0)
		return bs_fail(why, BS_ERR_IO, "the service: %s", strerror(errno));
	return 0;
}

bool bs_trial_alive(struct bs_trial *t)
{
	if (t->service > 0 && waitpid(t->service, &t->status, WNOHANG) == t->service)
		t->service = 0;
	return t->service > 0;
}

void bs_trial_stop(struct bs_trial *t)
{
	int64_t until = bs_now_ns() + END_NS;

	if (t->service <= 0)
		return;
	pid_t group = t->service;

	(void)kill(t->service, SIGTERM);
	while (bs_trial_alive(t) && bs_now_ns() < until)
		bs_sleep_ns(10000000);
	(void)kill(-group, SIGKILL); /* ends what is left of the group */
	if (t->service > 0)
		(void)waitpid(t->service, NULL, 0);
	t->service = 0;
}

int bs_trial_killed(const struct bs_trial *t, struct bs_fail *why)
{
	const int by = t->service == 0 && WIFSIGNALED(t->status) ? WTERMSIG(t->status) : 0;

	return by == 0 ? 0
		       : bs_fail(why, BS_ERR_ABORTED, "the service was ended by signal %d, %s%s",
				 by, strsignal(by),
				 by == SIGKILL ? ", perhaps by the system for want of memory" : "");
}

void bs_trial_last_words(const struct bs_trial *t, char *out, size_t cap)
{
	FILE *f = fopen(t->log, "r");
	char line[1024];

	(void)snprintf(out, cap, "the service ended at once");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, "error") != NULL || strstr(line, "BS_ERR") != NULL) {
			(void)snprintf(out, cap, "%.*s", (int)strcspn(line, "\n"), line);
			if (strstr(line, "budget.image_ms") != NULL)
				break; /* the first error explains more than those after it */
		}
	if (f != NULL)
		(void)fclose(f);
}

bool bs_trial_ask(const struct bs_trial *t, const char *request, char *reply, size_t cap)
{
	char url[200];

	bs_trial_url(t, "status", url, sizeof(url));
	return bs_status_ask_sealed(url, NULL, request, reply, cap, ASK_MS, NULL) == 0;
}
