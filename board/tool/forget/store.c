/* board/tool/forget/store.c - images that are kept for takers; see forget.h */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/tool/forget/forget.h"
#include "drivers/log/folder.h"
#include "drivers/log/reader.h"
#include "drivers/log/store.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

#define WORK "forget.tmp" /* folder in the store's, in which files are written anew */

/* A store on the way through its files, in the order of their numbers. */
struct walk {
	struct bs_forget *f;
	const char *dir;
	uint64_t last;  /* number of the last image that stays; 0: none yet */
	uint64_t *kept; /* [count] numbers of the images that stay */
	uint64_t *gone; /* [gone_count] numbers of those that do not */
	size_t count, gone_count, room, gone_room;
	unsigned char *msg; /* a message that is written anew */
	size_t cap;
};

static int add_number(uint64_t **list, size_t *n, size_t *room, uint64_t number,
		      struct bs_fail *why)
{
	if (*n == *room) {
		const size_t more = *room != 0 ? 2 * *room : 256;
		uint64_t *grown = realloc(*list, more * sizeof(**list));

		if (grown == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "a list of %zu images", more);
		*list = grown;
		*room = more;
	}
	(*list)[(*n)++] = number;
	return 0;
}

/* Whose image a STORED message is. 1: the id's; 0: another's, or it cannot be read. */
static int is_its(struct walk *s, const struct bs_log_message *m, struct bs_wire *w,
		  struct bs_fail *why)
{
	const unsigned char *payload;
	const unsigned char *image;
	struct bs_mrd_image h;
	struct bs_wire its;
	uint64_t before;
	size_t len;
	size_t at;
	size_t pixels;

	if (bs_wire_decode(w, m->bytes, m->len, &payload, NULL) != 0 ||
	    bs_wire_get_stored(&before, &image, &len, payload, (size_t)w->payload_len, NULL) != 0 ||
	    bs_wire_decode(&its, image, len, &payload, NULL) != 0 ||
	    bs_mrd_parse_image(&h, &at, &pixels, payload, (size_t)its.payload_len, NULL) != 0 ||
	    !bs_forget_attributes(s->f, (const char *)payload + at, pixels - at))
		return 0;
	return bs_forget_note(s->f,
			      &(struct bs_forgotten){ .uid = h.measurement_uid,
						      .scan = h.image_series_index % 16384u },
			      why) == 0;
}

/* What stays of a file. */
struct rest {
	bool anew;       /* it must be written anew */
	size_t longest;  /* bytes of the longest message that stays */
	uint64_t first;  /* number of the first image that stays; 0: none does */
	uint64_t before; /* number of the image before it that stays */
	uint64_t bytes;  /* of the file, as it is */
};

/* Reads a file: which images stay. */
static int judge_file(struct walk *s, const char *path, struct rest *rest, struct bs_fail *why)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_wire w;
	int rc = bs_log_open(&r, path, why);

	rest->before = s->last;
	if (rc != 0)
		return rc;
	while (rc == 0 && bs_log_next(r, &m, NULL) == 1) {
		if (is_its(s, &m, &w, why) == 1) {
			rc = add_number(&s->gone, &s->gone_count, &s->gone_room, w.seq, why);
			rest->anew = true;
			continue;
		}
		rest->longest = m.len > rest->longest ? m.len : rest->longest;
		rest->first = rest->first == 0 ? w.seq : rest->first;
		rest->anew = rest->anew || (m.len >= BS_STORE_HEAD && s->gone_count > 0 &&
					    bs_get_le(m.bytes + BS_WIRE_BYTES, 8) != s->last);
		rc = add_number(&s->kept, &s->count, &s->room, w.seq, why);
		s->last = w.seq;
	}
	bs_log_close(r);
	return rc;
}

/* Appends an image that stays: it says the number of the one before it that does. */
static int put_image(struct walk *s, struct bs_log_writer *w, const struct bs_log_message *m,
		     uint64_t *before, struct bs_fail *why)
{
	const unsigned char *payload;
	struct bs_wire head;

	if (bs_wire_decode(&head, m->bytes, m->len, &payload, why) != 0)
		return why->code;
	memcpy(s->msg, m->bytes, m->len);
	bs_put_le(s->msg + BS_WIRE_BYTES, *before, 8);
	bs_wire_encode(s->msg, &head, s->msg + BS_WIRE_BYTES, m->len - BS_WIRE_BYTES);
	*before = head.seq;
	return bs_log_writer_append(w, s->msg, m->len, 0, why);
}

static bool is_gone(const struct walk *s, uint64_t number)
{
	for (size_t i = 0; i < s->gone_count; i++)
		if (s->gone[i] == number)
			return true;
	return false;
}

/* Writes what stays of a file into the folder WORK, under the same name. */
static int copy_file(struct walk *s, const char *path, struct bs_log_writer *w, uint64_t before,
		     struct bs_fail *why)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	int rc = bs_log_open(&r, path, why);

	while (rc == 0 && bs_log_next(r, &m, NULL) == 1)
		if (!is_gone(s, bs_get_le(m.bytes + 24, 8)))
			rc = put_image(s, w, &m, &before, why);
	bs_log_close(r);
	if (rc == 0)
		rc = bs_log_writer_seal(w, why);
	return rc;
}

/* Writes a file anew, under the name of its first image that stays. */
static int write_anew(struct walk *s, const char *path, const struct rest *rest,
		      struct bs_fail *why)
{
	char work[BS_LOG_DIR];
	char made[2 * BS_LOG_DIR];
	char to[2 * BS_LOG_DIR];
	const size_t cap =
		bs_log_writer_bytes(rest->longest > BS_LOG_BLOCK ? rest->longest : BS_LOG_BLOCK);
	struct bs_log_room room = { .dir = work, .cap = cap, .buffer = malloc(cap) };
	struct bs_log_writer w = { .fd = -1, .dir_fd = -1 };
	struct bs_log_reader *r = NULL;
	int rc;

	(void)snprintf(work, sizeof(work), "%.900s/" WORK, s->dir);
	free(s->msg);
	s->msg = malloc(rest->longest + 1);
	/* the same records, each with as much padding as a commit of it alone takes */
	room.segment_bytes = (rest->bytes / BS_LOG_BLOCK + cap / BS_LOG_BLOCK + 8) * BS_LOG_BLOCK;
	rc = room.buffer == NULL || s->msg == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s", path) : 0;
	if (rc == 0 && mkdir(work, 0750) != 0 && errno != EEXIST)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", work, strerror(errno));
	if (rc == 0)
		rc = bs_log_open(&r, path, why);
	if (rc == 0)
		rc = bs_log_writer_open(&w, &room,
					rest->first != 0 ? rest->first : bs_log_begins(r)->session,
					bs_log_begins(r)->started_ns, why);
	if (rc == 0)
		rc = copy_file(s, path, &w, rest->before, why);
	(void)snprintf(made, sizeof(made), "%.900s/%s", work, w.name);
	(void)snprintf(to, sizeof(to), "%.900s/%s", s->dir, w.name);
	bs_log_writer_close(&w);
	bs_log_close(r);
	if (rc == 0 && (rename(made, to) != 0 || (strcmp(to, path) != 0 && unlink(path) != 0)))
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (rc != 0)
		(void)unlink(made);
	(void)rmdir(work);
	free(room.buffer);
	return rc;
}

/* Sets the cursors that are on an image that has gone back to the one before it that is there. */
static int move_cursors(struct walk *s, struct bs_fail *why)
{
	DIR *d = opendir(s->dir);
	struct dirent *e;
	char path[BS_LOG_DIR + 300];
	uint64_t at;
	int rc = 0;

	while (d != NULL && rc == 0 && (e = readdir(d)) != NULL) {
		const char *tail = strrchr(e->d_name, '.');
		uint64_t to = 0;

		if (tail == NULL || strcmp(tail, BS_CURSOR_SUFFIX) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", s->dir, e->d_name);
		if (bs_cursor_get(path, &at, NULL) != 0 || !is_gone(s, at))
			continue;
		for (size_t i = 0; i < s->count; i++)
			to = s->kept[i] < at && s->kept[i] > to ? s->kept[i] : to;
		rc = bs_cursor_put(path, to, true, why);
	}
	if (d != NULL)
		(void)closedir(d);
	return rc;
}

static int forget_in(struct walk *s, const struct bs_log_entry *e, bool newest, struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	struct rest rest = { .bytes = e->bytes };
	const size_t had = s->gone_count;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, e->name);
	rc = judge_file(s, path, &rest, why);
	if (rc != 0 || !rest.anew)
		return rc;
	if (s->gone_count > had)
		(void)printf("%s %zu image%s of %s\n", s->f->lists ? "would remove" : "removed",
			     s->gone_count - had, s->gone_count - had == 1 ? "" : "s", path);
	if (s->f->lists)
		return 0;
	/* the newest file stays, also empty: numbers go on behind it */
	return rest.first == 0 && !newest ? bs_forget_remove(s->f, path, why)
					  : write_anew(s, path, &rest, why);
}

static int by_session(const void *a, const void *b)
{
	const struct bs_log_entry *x = a;
	const struct bs_log_entry *y = b;

	return strcmp(strchr(x->name, '-'), strchr(y->name, '-'));
}

int bs_forget_store(struct bs_forget *f, const char *dir, struct bs_fail *why)
{
	struct walk s = { .f = f, .dir = dir };
	struct bs_log_entry *list;
	size_t n;
	int rc = access(dir, F_OK) == 0 ? bs_log_folder_list(dir, &list, &n, why) : 1;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (n > 0) /* names begin with times; the numbers behind them are in order */
		qsort(list, n, sizeof(*list), by_session);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = forget_in(&s, &list[i], i + 1 == n, why);
	if (rc == 0 && !f->lists)
		rc = move_cursors(&s, why);
	f->images += s.gone_count;
	free(list);
	free(s.kept);
	free(s.gone);
	free(s.msg);
	return rc;
}
