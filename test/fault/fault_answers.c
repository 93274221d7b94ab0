/*
 * test/fault/fault_answers.c - `boreside receive` at a service that answers wrongly: nothing of it
 * is filed nor counted as had, the reason is told, the question is asked again
 *
 * usage: BORESIDE=path fault_answers. The service is this program.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/endpoint.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/files.h"

#define IMAGE (BS_WIRE_BYTES + BS_MRD_IMAGE_BYTES + 8u + 16u) /* 2 x 2 floats, no attributes */

static char dir[] = "/tmp/boreside-answers-XXXXXX";
static struct bs_endpoint socket_;
static unsigned char msg[4096];

/* The question's number, or UINT64_MAX: it is none. */
static uint64_t question(void)
{
	static unsigned char in[4096];
	char taker[BS_WIRE_TAKER];
	const unsigned char *payload;
	struct bs_wire w;
	size_t len = 0;

	if (bs_endpoint_recv(&socket_, in, sizeof(in), &len, AWAIT_MS, NULL) != 0 ||
	    bs_wire_decode(&w, in, len, &payload, NULL) != 0 || w.kind != BS_WIRE_NEXT ||
	    bs_wire_get_next(taker, payload, (size_t)w.payload_len, NULL) != 0 ||
	    strcmp(taker, "archive") != 0)
		return UINT64_MAX;
	return w.seq;
}

static void answer(enum bs_wire_kind kind, uint64_t seq, size_t payload)
{
	struct bs_wire w = { .kind = (uint16_t)kind, .seq = seq };

	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, payload);
	if (bs_endpoint_send(&socket_, msg, BS_WIRE_BYTES + payload, NULL, 0, AWAIT_MS, NULL) != 0)
		exit(1);
}

/* A stored image of this number in its place; kind: of the message within. Its payload's bytes. */
static size_t stored(uint64_t previous, uint64_t number, enum bs_wire_kind kind)
{
	const struct bs_mrd_image head = { .version = 1,
					   .data_type = 5,
					   .matrix_size = { 2, 2, 1 },
					   .channels = 1,
					   .image_type = 1,
					   .image_index = (uint16_t)number,
					   .measurement_uid = 7 };
	struct bs_wire w = { .kind = (uint16_t)kind, .session = 7, .seq = number };
	unsigned char *image = msg + BS_WIRE_BYTES + 8;

	memset(msg, 0, sizeof(msg));
	bs_wire_put_u64(msg + BS_WIRE_BYTES, previous);
	bs_mrd_put_image(image + BS_WIRE_BYTES, &head);
	bs_wire_encode(image, &w, image + BS_WIRE_BYTES, IMAGE - BS_WIRE_BYTES);
	return 8 + IMAGE;
}

static bool logged(const char *words)
{
	static char text[65536];
	int fd = open("log", O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return strstr(text, words) != NULL;
}

static unsigned filed(uint64_t number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "-n%016" PRIx64 ".cfl", number);
	return files_in("filed", number != 0 ? name : ".cfl");
}

/* The answer that was just sent is refused: the reason is told, the same is asked again. */
static void refused(uint64_t has, const char *words)
{
	CHECK(question() == has && logged(words), "asked again after %" PRIu64 ": %s", has, words);
	answer(BS_WIRE_NONE, 0, 0); /* then what follows is told anew */
	CHECK(question() == has, "and after that nothing followed");
}

static void wrong_answers(uint64_t has)
{
	struct bs_wire_reply no = { .code = BS_ERR_IO, .text = "the store cannot be read" };

	bs_wire_put_reply(msg + BS_WIRE_BYTES, &no);
	answer(BS_WIRE_REFUSE, has, BS_WIRE_REPLY_BYTES);
	refused(has, "BS_ERR_IO: the service refuses: the store cannot be read");
	no.code = 0; /* a refusal without a reason */
	bs_wire_put_reply(msg + BS_WIRE_BYTES, &no);
	answer(BS_WIRE_REFUSE, has, BS_WIRE_REPLY_BYTES);
	refused(has, "BS_ERR_STATE: the service refuses");
	answer(BS_WIRE_HEARTBEAT, has, 0);
	refused(has, "BS_ERR_KIND: an answer of kind 5");
	answer(BS_WIRE_STORED, has + 1, 7);
	refused(has, "BS_ERR_LENGTH: a stored image of 7 bytes");
	answer(BS_WIRE_STORED, has, stored(0, has, BS_WIRE_IMAGE));
	refused(has, "BS_ERR_SEQUENCE: image 4 follows 4");
	answer(BS_WIRE_STORED, has + 1, stored(has, has + 1, BS_WIRE_ACQ));
	refused(has, "BS_ERR_KIND: image 5: a message of kind 2");
	(void)stored(has, has + 1, BS_WIRE_IMAGE);
	msg[BS_WIRE_BYTES + 8 + IMAGE - 1] ^= 1;
	answer(BS_WIRE_STORED, has + 1, 8 + IMAGE);
	refused(has, "BS_ERR_CRC: ");
	CHECK(filed(0) == 1, "nothing of all that is filed");
}

int main(void)
{
	char url[64];
	int status = 0;
	pid_t pid;

	if (getenv("BORESIDE") == NULL || mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 1;
	(void)snprintf(url, sizeof(url), "ipc://%s/images", dir);
	if (bs_endpoint_bind(&socket_, BS_ENDPOINT_IMAGES, url, 1 << 20, NULL) != 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		if (freopen("log", "a", stderr) == NULL)
			_exit(126);
		(void)execl(getenv("BORESIDE"), "boreside", "receive", "--url", url, "-o", "filed",
			    "--type", "cfl", (char *)NULL);
		_exit(127);
	}
	CHECK(question() == 0, "an archive that has nothing asks what follows 0");
	answer(BS_WIRE_STORED, 4, stored(0, 4, BS_WIRE_IMAGE));
	CHECK(question() == 4 && filed(4) == 1,
	      "an image is filed, then the next one is asked for");
	wrong_answers(4);
	answer(BS_WIRE_STORED, 9, stored(6, 9, BS_WIRE_IMAGE));
	CHECK(question() == 9 && filed(9) == 1 && filed(0) == 2, "the next image is filed");
	CHECK(logged("images beyond 4 up to 6 are not there any more"), "what is gone is told");
	CHECK(pid > 1 && kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid &&
		      WIFEXITED(status) && WEXITSTATUS(status) == 0,
	      "it ends with 0");
	CHECK(logged("2 images filed, up to 9; 1 gaps"), "by its own books");
	bs_endpoint_close(&socket_);
	(void)snprintf(url, sizeof(url), "rm -rf %s", dir);
	return system(url) != 0 || check_done();
}
