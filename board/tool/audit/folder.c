/* board/tool/audit/folder.c - what lies in a folder beside logs and images; see part.h */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "board/tool/audit/part.h"
#include "core/text.h"
#include "core/thread/clock.h"
#include "drivers/log/cursor.h"
#include "drivers/log/folder.h"
#include "ipc/wire/envelope.h"

#define PATH_BYTES 1400u
#define PART_NS    INT64_C(60000000000) /* longest time to fill a spare file */

static void join(char path[PATH_BYTES], const char *dir, const char *name)
{
	(void)snprintf(path, PATH_BYTES, "%s/%s", dir, name);
}

/* Returns 1 if the log's first message is of a store, 0 if of a scan, -1 if it has none. */
static int looks_stored(const char *dir, const char *name)
{
	char path[PATH_BYTES];
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_wire w;
	int is = -1;

	join(path, dir, name);
	if (bs_log_open(&r, path, NULL) != 0)
		return -1;
	if (bs_log_next(r, &m, NULL) == 1 &&
	    bs_wire_decode(&w, m.bytes, m.len, &payload, NULL) == 0)
		is = w.kind == BS_WIRE_STORED;
	bs_log_close(r);
	return is;
}

/* True for a taker's cursor, which stands in a folder of images alone. */
static bool is_cursor(const struct dirent *e)
{
	return bs_text_stem(e->d_name, BS_CURSOR_SUFFIX) > 0;
}

static int is_taker(const struct dirent *e)
{
	return is_cursor(e) && strcmp(e->d_name, BS_LOG_MADE) != 0;
}

int bs_audit_kind(const char *dir, enum bs_audit_folder *kind, struct bs_fail *why)
{
	struct bs_log_entry *list;
	struct dirent **takers = NULL;
	size_t count;
	int is = -1;
	int n;
	int rc = bs_log_folder_list(dir, &list, &count, why);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < count && is < 0; i++)
		is = looks_stored(dir, list[i].name);
	free(list);
	n = is < 0 ? scandir(dir, &takers, is_taker, alphasort) : 0;
	for (int i = 0; i < n; i++)
		free(takers[i]);
	free(takers);
	*kind = is == 1 || n > 0 ? BS_AUDIT_STORE : BS_AUDIT_LOGS;
	return 0;
}

/* True for a spare file that is ready, "N.spare". */
static bool is_spare(const char *name, unsigned long *number)
{
	char *end;

	*number = strtoul(name, &end, 10);
	return end != name && name[0] >= '0' && name[0] <= '9' && strcmp(end, ".spare") == 0;
}

static void judge_spare(struct bs_audit *a, const char *path, unsigned long number,
			const struct stat *st)
{
	if (number >= BS_LOG_SPARES)
		bs_found(a->f, BS_PROMISE_SPARE, path, "number %lu", number);
	if (st->st_size % BS_LOG_BLOCK != 0 || st->st_size < BS_LOG_RECORDS + BS_LOG_BLOCK)
		bs_found(a->f, BS_PROMISE_SPARE, path, "%lld bytes", (long long)st->st_size);
}

/* Judges a leftover ".part". newest_ns: when the newest log began; its service
 * has seen the file. */
static void judge_part(struct bs_audit *a, const char *path, int64_t newest_ns,
		       const struct stat *st)
{
	const int64_t ns = (int64_t)st->st_mtim.tv_sec * 1000000000;

	if (newest_ns - ns > PART_NS && bs_utc_ns() - ns > PART_NS)
		bs_found(a->f, BS_PROMISE_PART, path, "it is older than the newest log");
}

static void judge_entry(struct bs_audit *a, const char *dir, const struct dirent *e,
			int64_t newest_ns)
{
	char path[PATH_BYTES];
	unsigned long number;
	struct bs_fail why;
	struct stat st;
	uint64_t n;

	join(path, dir, e->d_name);
	if (lstat(path, &st) != 0)
		return; /* the file was removed meanwhile */
	if (is_spare(e->d_name, &number)) {
		bs_judged(a->f, BS_PROMISE_SPARE);
		judge_spare(a, path, number, &st);
	} else if (bs_text_stem(e->d_name, ".part") > 0) {
		bs_judged(a->f, BS_PROMISE_PART);
		judge_part(a, path, newest_ns, &st);
	} else if (is_cursor(e)) {
		bs_judged(a->f, BS_PROMISE_CURSOR);
		if (bs_cursor_get(path, &n, &why) != 0)
			bs_found(a->f, BS_PROMISE_CURSOR, path, "%s", why.text);
	}
}

void bs_audit_folder(struct bs_audit *a, const char *dir, const char *newest)
{
	DIR *d = opendir(dir);
	char path[PATH_BYTES];
	struct bs_log_reader *r;
	int64_t newest_ns = 0;
	struct dirent *e;

	join(path, dir, newest);
	if (newest[0] != '\0' && bs_log_open(&r, path, NULL) == 0) {
		newest_ns = bs_log_begins(r)->started_ns;
		bs_log_close(r);
	}
	bs_judged(a->f, BS_PROMISE_PART);
	bs_found_begin(a->f);
	while (d != NULL && (e = readdir(d)) != NULL)
		judge_entry(a, dir, e, newest_ns);
	if (d != NULL)
		(void)closedir(d);
	bs_found_keep(a->f);
}
