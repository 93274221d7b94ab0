/* drivers/file/loader.c - see loader.h */
#include "drivers/file/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/whole.h"
#include "drivers/file/program.h"

const char *const bs_load_words[BS_LOADS] = {
	[BS_LOAD_TRAJ] = "traj", [BS_LOAD_WEIGHTS] = "weights",
	[BS_LOAD_MAPS] = "maps", [BS_LOAD_FIELD] = "field",
	[BS_LOAD_W] = "w",
};

/* Starts the process. Returns 0 or errno's number. */
static int start(struct bs_loader *l, enum bs_load what, const struct bs_protocol *p)
{
	const char *const argv[] = { "boreside", "loader", bs_load_words[what], NULL };
	const int ask = memfd_create("protocol", MFD_CLOEXEC);
	int answer[2];
	int rc = EIO;

	if (ask < 0)
		return errno;
	if (write(ask, p, sizeof(*p)) == (ssize_t)sizeof(*p) && lseek(ask, 0, SEEK_SET) == 0)
		rc = pipe2(answer, O_CLOEXEC) == 0 ? 0 : errno;
	if (rc == 0) {
		const int fd[] = { ask, answer[1], STDERR_FILENO };

		rc = bs_program_start(&l->pid, &(struct bs_program){ .path = BS_PROGRAM_SELF,
								     .argv = argv,
								     .fd = fd,
								     .fds = 3,
								     .ordinary = true });
		(void)close(answer[1]);
		l->from = answer[0];
		if (rc != 0)
			(void)close(answer[0]);
	}
	(void)close(ask);
	return rc;
}

void bs_loader_take(struct bs_loader *l, void *to, size_t bytes)
{
	l->cut = l->cut || bs_read_whole(l->from, to, bytes, -1) < bytes;
}

int bs_loader_ask(struct bs_loader *l, enum bs_load what, const struct bs_protocol *p,
		  struct bs_fail *why)
{
	int rc;

	memset(l, 0, sizeof(*l));
	rc = start(l, what, p);
	if (rc != 0)
		return bs_fail(why, BS_ERR_IO, "no process to read it: %s", strerror(rc));
	bs_loader_take(l, &l->answer, sizeof(l->answer));
	l->answer.why.text[sizeof(l->answer.why.text) - 1] = '\0';
	if (l->cut)
		return bs_loader_end(l, 0, why);
	rc = l->answer.why.code;
	return rc != 0 ? bs_loader_end(l, bs_fail(why, rc, "%s", l->answer.why.text), why) : 0;
}

int bs_loader_end(struct bs_loader *l, int rc, struct bs_fail *why)
{
	int status = 0;

	(void)close(l->from);
	while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc != 0 || !l->cut)
		return rc;
	return bs_fail(why, BS_ERR_IO, "the process that reads it ended: %s %d",
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}
