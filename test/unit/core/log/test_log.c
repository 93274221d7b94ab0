/* test/unit/core/log/test_log.c - lines of words and of JSON: one each, whatever the text holds */
#define _GNU_SOURCE
#include "core/log.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "test/support/check.h"

static char got[65536];

/* What was written to standard error since `from` began. */
static void collect(int fd)
{
	ssize_t n;

	(void)lseek(fd, 0, SEEK_SET);
	n = read(fd, got, sizeof(got) - 1);
	got[n > 0 ? n : 0] = '\0';
	(void)ftruncate(fd, 0);
	(void)lseek(fd, 0, SEEK_SET);
}

static bool one_line(void)
{
	const size_t n = strlen(got);

	return n > 0 && strchr(got, '\n') == got + n - 1;
}

static void check_text(int fd)
{
	char many[3000];

	bs_log(BS_LOG_WARN, "a \"quote\", a \033[2J and\n\xc2\x9b"
			    "boreside[x] error: a forged "
			    "line");
	collect(fd);
	CHECK(strcmp(got,
		     "boreside[test] warn: a \"quote\", a  [2J and  boreside[x] error: a forged "
		     "line\n") == 0,
	      "words: control characters are blanks");
	bs_log(BS_LOG_DEBUG, "not asked for");
	collect(fd);
	CHECK(got[0] == '\0', "less important lines are not written");
	memset(many, 'm', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	bs_log(BS_LOG_ERROR, "%s", many);
	collect(fd);
	CHECK(one_line() && strlen(got) <= 1024, "a long one is cut: %zu bytes", strlen(got));
	bs_log_members(BS_LOG_INFO, "other", "words of another", "\"a\":1");
	collect(fd);
	CHECK(strcmp(got, "boreside[other] info: words of another\n") == 0,
	      "in words members are not written");
}

static void check_json(int fd)
{
	char many[3000];
	char text[64];
	json_t *line;

	bs_log_format(true);
	bs_log(BS_LOG_WARN, "a \"quote\", a \\ and\na line \377");
	collect(fd);
	CHECK(one_line() && strstr(got, "\"process\":\"test\",\"level\":\"warn\",\"text\":\"a "
					"\\\"quote\\\", a \\\\ and\\u000aa line \\u00ff\"}\n"),
	      "an object a line");
	line = json_loads(got, 0, NULL);
	(void)snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(line, "time")));
	json_decref(line);
	CHECK(strlen(text) == 27 && text[4] == '-' && text[10] == 'T' && text[19] == '.' &&
		      text[26] == 'Z',
	      "its time, UTC, to the microsecond: %s", text);
	memset(many, '\001', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	bs_log(BS_LOG_ERROR, "%s", many);
	collect(fd);
	line = json_loads(got, 0, NULL);
	CHECK(one_line() && json_string_length(json_object_get(line, "text")) == 1023,
	      "a long one of characters that take six bytes each is whole JSON");
	json_decref(line);
	bs_log_members(BS_LOG_INFO, "other", "words", "\"audit\":{\"scan\":7}");
	collect(fd);
	line = json_loads(got, 0, NULL);
	CHECK(one_line() && strstr(got, "words") == NULL &&
		      json_integer_value(json_object_get(json_object_get(line, "audit"), "scan")) ==
			      7 &&
		      strstr(got, "\"process\":\"other\"") != NULL,
	      "members take the place of the words");
	json_decref(line);
}

int main(void)
{
	char path[] = "/tmp/test_log.XXXXXX";
	const int fd = mkstemp(path);
	const int before = dup(STDERR_FILENO);

	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return 1;
	(void)unlink(path);
	bs_log_init("test", BS_LOG_INFO);
	check_text(fd);
	check_json(fd);
	(void)dup2(before, STDERR_FILENO);
	return check_done();
}
