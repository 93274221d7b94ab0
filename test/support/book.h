/*
 * test/support/book.h - an archive that asks for each image and writes down what it was given; and
 * the processes of a test's own, started, looked at and ended
 *
 * book_main is a process of its own: it can be killed at any moment, and goes on behind its book's
 * last line. A line: the image's number, scan, repetition, quality and its pixels' CRC-32C.
 */
#ifndef BS_TEST_SUPPORT_BOOK_H
#define BS_TEST_SUPPORT_BOOK_H

#include <sys/prctl.h>

#include "ipc/wire/envelope.h"
#include "test/support/service.h"

/* argv[0] is its path, or a name of PATH; both of its outputs go to the end of out. */
static inline pid_t process_start(const char *out, char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(out, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	if (pid <= 0)
		exit(1);
	return pid;
}

static inline bool process_ended(pid_t pid)
{
	siginfo_t end = { 0 };

	return waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       end.si_pid == pid;
}

/* Its exit status; -1: it was killed. */
static inline int process_end(pid_t pid)
{
	int status = 0;

	if (pid <= 0)
		return -1;
	if (!process_ended(pid))
		(void)kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The number of the last line of the book: what this archive has. */
static inline uint64_t book_last(const char *path)
{
	char line[128];
	unsigned long long number = 0;
	FILE *f = fopen(path, "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		(void)sscanf(line, "%llu", &number);
	if (f != NULL)
		(void)fclose(f);
	return number;
}

/* A line of an image that was stored. */
static inline bool book_note(int fd, uint64_t number, const unsigned char *image, size_t len)
{
	const unsigned char *payload;
	struct bs_mrd_image head;
	struct bs_wire w;
	size_t attr_at;
	size_t pixels_at;
	char line[128];
	int n;

	if (bs_wire_decode(&w, image, len, &payload, NULL) != 0 ||
	    bs_mrd_parse_image(&head, &attr_at, &pixels_at, payload, (size_t)w.payload_len, NULL) !=
		    0)
		return false;
	n = snprintf(line, sizeof(line), "%llu %llu %u %d %08x\n", (unsigned long long)number,
		     (unsigned long long)w.session, head.repetition, head.user_int[7],
		     bs_crc32c(0, payload + pixels_at, (size_t)w.payload_len - pixels_at));
	return write(fd, line, (size_t)n) == n;
}

/* Until it is killed, or its parent is. It asks again so long after it heard that there is none. */
static inline int book_main(const char *url, const char *path, int pause_ms)
{
	static unsigned char msg[1 << 20];
	unsigned char question[BS_WIRE_BYTES + BS_WIRE_TAKER];
	struct bs_wire w = { .kind = BS_WIRE_NEXT, .seq = book_last(path) };
	struct bs_endpoint e;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || bs_endpoint_connect(&e, BS_ENDPOINT_IMAGES_ASK, url, sizeof(msg), NULL) != 0)
		return 1;
	for (;;) {
		const unsigned char *payload;
		const unsigned char *image;
		struct bs_wire answer;
		uint64_t before;
		size_t len;

		bs_wire_put_next(question + BS_WIRE_BYTES, "book");
		bs_wire_encode(question, &w, question + BS_WIRE_BYTES, BS_WIRE_TAKER);
		if (bs_endpoint_send(&e, question, sizeof(question), NULL, 0, 1000, NULL) != 0 ||
		    bs_endpoint_recv(&e, msg, sizeof(msg), &len, 1000, NULL) != 0 ||
		    bs_wire_decode(&answer, msg, len, &payload, NULL) != 0)
			continue;
		if (answer.kind != BS_WIRE_STORED)
			await_pause_ms(pause_ms);
		else if (bs_wire_get_stored(&before, &image, &len, payload,
					    (size_t)answer.payload_len, NULL) == 0 &&
			 book_note(fd, answer.seq, image, len))
			w.seq = answer.seq;
	}
}

#endif
