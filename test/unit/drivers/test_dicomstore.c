/*
 * test/unit/drivers/test_dicomstore.c - images to a PACS: addresses, what it may answer, one that
 * is away; and the programs that sinks run
 */
/* Holds: I10 */
#define _GNU_SOURCE
#include "test/support/check.h"
#define FOLDER "/tmp/boreside test-XXXXXX" /* a blank, as a site's folder may have */
#include "test/support/folder.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/sink/dicomstore.h"
#include "drivers/sink/sink.h"
#include "drivers/file/program.h"

static const float pixels[4] = { 1.0f, 2.0f, 3.0f, 4.0f };

static struct bs_mrd_image head(void)
{
	struct bs_mrd_image h;

	memset(&h, 0, sizeof(h));
	h.version = h.image_index = h.image_series_index = h.channels = 1;
	h.data_type = BS_MRD_FLOAT;
	h.matrix_size[0] = h.matrix_size[1] = 2;
	h.matrix_size[2] = 1;
	h.field_of_view[0] = h.field_of_view[1] = h.field_of_view[2] = 10.0f;
	h.read_dir[0] = h.phase_dir[1] = h.slice_dir[2] = 1.0f;
	return h;
}

/* How often the program of answers ran. */
static long runs(void)
{
	struct stat st;

	return stat(in_dir("runs"), &st) == 0 ? (long)st.st_size : 0;
}

static void tools(void)
{
	static const char *const exits[] = { "sh", "-c", "echo one; echo two >&2; exit 7", NULL };
	static const char *const hangs[] = { "sh", "-c", "exec sleep 1000", NULL };
	static const char *const silent[] = { "sh", "-c", "exec sleep 1000 >/dev/null 2>&1", NULL };
	static const char *const killed[] = { "sh", "-c", "kill -9 $$", NULL };
	static const char *const lacks[] = { "boreside-no-such-program", NULL };
	static const char *const unfound[] = { "sh", "-c", "exit 127", NULL };
	static const char *const files[] = { "sh", "-c", "ls /proc/self/fd | wc -l; pwd", NULL };
	struct bs_fail why = { 0 };
	char said[64];

	CHECK(bs_program_run(exits, "/", 60000, said, sizeof(said), &why) == 7 &&
		      strncmp(said, "one two", 7) == 0,
	      "its exit status and what it said: %s", said);
	CHECK(bs_program_run(hangs, "/", 50, said, sizeof(said), &why) == BS_ERR_TIMEOUT, "%s",
	      why.text);
	CHECK(bs_program_run(silent, "/", 50, said, sizeof(said), &why) == BS_ERR_TIMEOUT,
	      "its output closed, and no end: %s", why.text);
	CHECK(bs_program_run(killed, "/", 60000, said, sizeof(said), &why) == BS_ERR_IO, "%s",
	      why.text);
	why.text[0] = '\0';
	CHECK(bs_program_run(lacks, "/", 60000, said, sizeof(said), &why) == BS_ERR_IO &&
		      strstr(why.text, "cannot be run") != NULL,
	      "a program that is not there: %s", why.text);
	why.text[0] = '\0';
	CHECK(bs_program_run(unfound, "/", 60000, said, sizeof(said), &why) == BS_ERR_IO &&
		      strstr(why.text, "cannot be run") != NULL,
	      "nor one that ends as such: %s", why.text);
	CHECK(bs_program_run(files, "/usr", 60000, said, sizeof(said), &why) == 0 &&
		      strncmp(said, "4 /usr", 6) == 0, /* ls has the folder itself open, too */
	      "it has our files not, and the folder: %s", said);
	CHECK(bs_program_there("sh", "dash", &why) == 0 &&
		      bs_program_there("boreside-no-such-program", "nowhere", &why) ==
			      BS_ERR_UNSUPPORTED,
	      "%s", why.text);
}

static void addresses(void)
{
	static const char *const bad[] = { "",
					   "a",
					   "PACS@host",
					   "@host:104",
					   "PACS@:104",
					   "PACS@host:",
					   "PACS@host:0",
					   "P@h:65536",
					   "P@h:1x",
					   "-aet@h:104",
					   "P\\Q@h:104",
					   "P@-x:104",
					   "P@h h:104",
					   "ABCDEFGHIJKLMNOPQ@h:104" };
	struct bs_dicomstore s;
	struct bs_fail why = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(bs_dicomstore_parse(&s, bad[i], &why) == BS_ERR_CONFIG, "%s", why.text);
	CHECK(bs_dicomstore_parse(&s, "MY PACS@pacs.example:11112", &why) == 0 &&
		      strcmp(s.aet, "MY PACS") == 0 && strcmp(s.host, "pacs.example") == 0 &&
		      strcmp(s.port, "11112") == 0,
	      "one that is");
}

/* A port that nobody listens on: bound, and not listened on, by this process. */
static void away(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct bs_mrd_image h = head();
	struct bs_fail why = { 0 };
	char address[64];
	void *self = NULL;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0) {
		printf("skip a PACS that is away: no socket\n");
		return;
	}
	(void)snprintf(address, sizeof(address), "PACS@127.0.0.1:%u", ntohs(at.sin_port));
	CHECK(bs_sink_open(&bs_sink_dicom, &self, in_dir("k.dcm"), &why) == 0 &&
		      bs_sink_dicom.send_to(self, address, &why) == 0,
	      "a sink that sends %s", why.text);
	for (int i = 0; i < 2; i++)
		CHECK(bs_sink_put(&bs_sink_dicom, self, &h, "", pixels, &why) == BS_ERR_IO &&
			      strstr(why.text, "PACS@127.0.0.1:") != NULL,
		      "nobody there: %s", why.text);
	CHECK(access(in_dir("k.dcm"), F_OK) != 0, "what is not stored is not filed");
	h.image_series_index |= 0x8000u;
	(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	CHECK(bs_sink_open(&bs_sink_dicom, &self, in_dir("k.dcm"), &why) == 0 &&
		      bs_sink_dicom.send_to(self, address, &why) == 0 &&
		      bs_sink_put(&bs_sink_dicom, self, &h, "", pixels, &why) == 0 &&
		      access(in_dir("k.dcm"), F_OK) == 0,
	      "a preview is filed and not sent %s", why.text);
	(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	(void)close(fd);
}

/* What a PACS may answer, by a storescu of the test's own, which counts how often it runs. */
static void answers(void)
{
	static const struct {
		const char *script;
		int want;
		bool filed;
	} all[] = {
		{ "exit 0", 0, true },
		{ "exit 176", 0, true }, /* B0xx: a warning */
		{ "echo F: Association Rejected >&2; exit 1", BS_ERR_IO, false },
		{ "exit 167", BS_ERR_IO, false }, /* A7xx: out of resources */
		{ "exit 169", BS_ERR_UNSUPPORTED, true },
		{ "exit 192", BS_ERR_UNSUPPORTED, true },
		{ "echo F: No Acceptable Presentation Contexts >&2; exit 1", BS_ERR_UNSUPPORTED,
		  true },
		{ "kill -9 $$", BS_ERR_IO, false },
	};
	const char *was = getenv("PATH");
	struct bs_mrd_image h = head();
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s/bin:%s", dir, was != NULL ? was : "/usr/bin:/bin");
	CHECK(mkdir(in_dir("bin"), 0700) == 0 && setenv("PATH", path, 1) == 0, "a PATH");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct bs_fail why = { 0 };
		void *self = NULL;
		FILE *f = fopen(in_dir("bin/storescu"), "w");
		const int64_t before_ns = bs_now_ns();
		int first = 1;

		if (f == NULL)
			break;
		(void)fprintf(f, "#!/bin/sh\necho >>'%s/runs'\n%s\n", dir, all[i].script);
		(void)fclose(f);
		(void)chmod(in_dir("bin/storescu"), 0700);
		(void)unlink(in_dir("runs"));
		(void)unlink(in_dir("l.dcm"));
		if (bs_sink_open(&bs_sink_dicom, &self, in_dir("l.dcm"), &why) == 0 &&
		    bs_sink_dicom.send_to(self, "PACS@pacs.example:104", &why) == 0)
			first = bs_sink_put(&bs_sink_dicom, self, &h, "", pixels, &why);
		CHECK(first == all[i].want && (access(in_dir("l.dcm"), F_OK) == 0) == all[i].filed,
		      "storescu: %s: %d %s, %s", all[i].script, first, why.text,
		      all[i].filed ? "filed" : "not filed");
		if (first == BS_ERR_IO) /* too soon */
			CHECK(bs_sink_put(&bs_sink_dicom, self, &h, "", pixels, &why) ==
					      BS_ERR_IO &&
				      strstr(why.text, "does not store") != NULL,
			      "again at once: %s", why.text);
		/* unless this process stood still meanwhile */
		CHECK(runs() == 1 || bs_now_ns() - before_ns > 900000000, "it ran once");
		if (self != NULL)
			(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	}
	(void)setenv("PATH", was != NULL ? was : "/usr/bin:/bin", 1);
}

int main(void)
{
	tools();
	addresses();
	if (bs_program_there("dump2dcm", "", NULL) != 0 ||
	    bs_program_there("storescu", "", NULL) != 0) {
		printf("skip a PACS: the tools of package dcmtk are not here\n");
	} else {
		away();
		answers();
	}
	return check_done();
}
