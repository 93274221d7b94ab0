/* drivers/log/store.c - see store.h */
#include "drivers/log/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "core/thread/clock.h"
#include "drivers/log/folder.h"
#include "drivers/log/reader.h"
#include "drivers/log/storefile.h"
#include "drivers/log/storing.h"
#include "ipc/wire/bytes.h"

#define PATH_MAX_ (BS_LOG_DIR + BS_LOG_NAME + 8u)
#define HEAD      BS_STORE_HEAD
#define TRIES     3                  /* tries in a row to list a file's images */
#define ROUNDS    25u                /* rounds before a file's images count as lost */
#define AGAIN_NS  INT64_C(200000000) /* time between two rounds */

static void path_of(const struct bs_store *s, char out[PATH_MAX_], const char *name)
{
	(void)snprintf(out, PATH_MAX_, "%s/%s", s->dir, name);
}

/* ---- files ---- */

static int add_record(struct file *f, uint64_t number, uint64_t session, uint64_t offset,
		      uint32_t len, struct bs_fail *why)
{
	if (f->records == f->room) {
		const uint32_t room = f->room != 0 ? 2 * f->room : 64;
		struct record *more = realloc(f->record, room * sizeof(*more));

		if (more == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%s: %u images", f->name, room);
		f->record = more;
		f->room = room;
	}
	f->record[f->records++] = (struct record){ number, session, offset, len, false };
	return 0;
}

static int add_file(struct bs_store *s, const char *name, uint64_t first, uint64_t bytes,
		    struct bs_fail *why)
{
	if (s->files == s->room) {
		const uint32_t room = s->room != 0 ? 2 * s->room : 16;
		struct file *more = realloc(s->file, room * sizeof(*more));

		if (more == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%s: %u files", s->dir, room);
		s->file = more;
		s->room = room;
	}
	s->file[s->files] = (struct file){ .first = first, .bytes = bytes };
	(void)snprintf(s->file[s->files++].name, BS_LOG_NAME, "%s", name);
	s->bytes += bytes;
	return 0;
}

/*
 * Lists the images of a file that an earlier process wrote, up to the first damage. A file that is
 * no log has no images. BS_ERR_IO, BS_ERR_NOMEM: not possible now. With the lock held.
 */
static int list(struct bs_store *s, struct file *f, struct bs_fail *why)
{
	struct bs_log_reader *r;
	struct bs_log_message m;
	const unsigned char *payload;
	char path[PATH_MAX_];
	struct bs_wire w;
	int rc;

	path_of(s, path, f->name);
	rc = bs_log_open(&r, path, why);
	if (rc != 0)
		return rc == BS_ERR_IO || rc == BS_ERR_NOMEM ? rc : 0;
	while (rc == 0 && bs_log_next(r, &m, NULL) == 1)
		if (m.len >= HEAD + BS_WIRE_BYTES &&
		    bs_wire_decode(&w, m.bytes, m.len, &payload, NULL) == 0 &&
		    w.kind == BS_WIRE_STORED)
			rc = add_record(f, w.seq, w.session, m.place.offset, (uint32_t)m.len, why);
	if (rc == 0 && bs_log_read_failed(r))
		rc = bs_fail(why, BS_ERR_IO, "%s: cannot be read", path);
	bs_log_close(r);
	return rc;
}

/*
 * Lists a file's images when they are needed. BS_ERR_TIMEOUT: not possible now. A file that cannot
 * be listed after ROUNDS counts as one image, the file's last number, which its takers then miss.
 * With the lock held.
 */
static int look_into(struct bs_store *s, struct file *f)
{
	struct bs_fail why;
	int rc = BS_ERR_IO;

	if (f->known)
		return 0;
	if (bs_now_ns() < f->again_ns)
		return BS_ERR_TIMEOUT;
	for (int i = 0; i < TRIES && rc != 0; i++) {
		f->records = 0;
		rc = list(s, f, &why);
	}
	if (rc != 0 && ++f->rounds < ROUNDS) {
		f->again_ns = bs_now_ns() + AGAIN_NS;
		return BS_ERR_TIMEOUT;
	}
	if (rc != 0) /* f[1] exists: find_last has listed the newest file */
		(void)add_record(f, f[1].first - 1, 0, 0, 0, &why);
	f->known = true;
	return 0;
}

static int by_first(const void *a, const void *b)
{
	const struct file *x = a;
	const struct file *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int find_files(struct bs_store *s, struct bs_fail *why)
{
	struct bs_log_entry *list;
	size_t n;
	int rc = bs_log_folder_list(s->dir, &list, &n, why);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const char *dash = strchr(list[i].name, '-');

		if (dash != NULL)
			rc = add_file(s, list[i].name, strtoull(dash + 1, NULL, 16), list[i].bytes,
				      why);
	}
	free(list);
	if (rc == 0 && s->files > 0)
		qsort(s->file, s->files, sizeof(*s->file), by_first);
	return rc;
}

static int find_takers(struct bs_store *s, struct bs_fail *why)
{
	DIR *d = opendir(s->dir);
	struct dirent *e;
	char path[PATH_MAX_ + 256];
	int rc = 0;

	if (d == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", s->dir, strerror(errno));
	while (rc == 0 && s->takers < BS_STORE_TAKERS && (e = readdir(d)) != NULL) {
		struct bs_store_taker *t = &s->taker[s->takers];
		const size_t stem = bs_text_stem(e->d_name, BS_CURSOR_SUFFIX);

		if (stem == 0 || stem >= BS_WIRE_TAKER)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", s->dir, e->d_name);
		(void)snprintf(t->name, sizeof(t->name), "%.*s", (int)stem, e->d_name);
		if (!bs_wire_taker_good(t->name + (t->name[0] == '+')))
			continue;
		for (int i = 0; i < TRIES && bs_cursor_get(path, &t->cursor, NULL) != 0; i++)
			t->cursor = 0; /* the taker gets all again, or asks from its own number */
		s->takers++;
	}
	(void)closedir(d);
	return rc;
}

/* Finds the number of the last stored image. BS_ERR_IO: a file cannot be read. */
static int find_last(struct bs_store *s, struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t i = s->files; rc == 0 && i-- > 0 && s->last == 0;) {
		struct file *f = &s->file[i];

		rc = list(s, f, why);
		f->known = rc == 0;
		if (f->known && f->records != 0)
			s->last = f->record[f->records - 1].number;
	}
	return rc;
}

int bs_store_open(struct bs_store **out, const struct bs_store_spec *spec, struct bs_fail *why)
{
	struct bs_store *s = calloc(1, sizeof(*s));
	const size_t answer = bs_store_answer_max(spec->message_max);
	int rc = 0;

	*out = NULL;
	if (s == NULL || strlen(spec->dir) >= sizeof(s->dir)) {
		free(s);
		return bs_fail(why, BS_ERR_NOMEM, "%s: a store of images", spec->dir);
	}
	s->spec = *spec;
	s->log.fd = s->log.dir_fd = -1;
	(void)snprintf(s->dir, sizeof(s->dir), "%s", spec->dir);
	(void)pthread_mutex_init(&s->lock, NULL);
	s->log_room = (struct bs_log_room){ .dir = s->dir, .cap = bs_log_writer_bytes(answer) };
	s->log_room.segment_bytes = bs_store_segment(spec->message_max, spec->most_bytes);
	s->log_room.buffer = malloc(s->log_room.cap);
	s->message = malloc(answer);
	if (s->log_room.buffer == NULL || s->message == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "%s: messages of %zu bytes", s->dir, answer);
	if (rc == 0)
		rc = find_files(s, why);
	if (rc == 0)
		rc = find_takers(s, why);
	if (rc == 0)
		rc = find_last(s, why);
	if (rc == 0)
		*out = s;
	else
		bs_store_close(s);
	return rc;
}

void bs_store_close(struct bs_store *s)
{
	if (s == NULL)
		return;
	if (s->log.fd >= 0 && !s->log.failed)
		(void)bs_log_writer_seal(&s->log, NULL);
	bs_log_writer_close(&s->log);
	for (uint32_t i = 0; i < s->files; i++)
		free(s->file[i].record);
	free(s->file);
	free(s->log_room.buffer);
	free(s->message);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- writing ---- */

/* Tells each known taker that has not had this image that it is lost. With the lock held. */
static void tell_missed(struct bs_store *s, const struct record *r)
{
	for (uint32_t t = 0; t < s->takers; t++) {
		if (s->taker[t].cursor >= r->number)
			continue;
		s->taker[t].missed++;
		if (s->spec.missed != NULL)
			s->spec.missed(s->spec.arg, s->taker[t].name, r->session, r->number);
	}
}

/* Counts all images of a file as lost and tells the takers. With the lock held. */
static void lose_all(struct bs_store *s, struct file *f)
{
	for (uint32_t i = 0; i < f->records; i++)
		if (!f->record[i].bad)
			tell_missed(s, &f->record[i]);
	s->bytes -= f->bytes;
	f->records = 0;
	f->bytes = 0;
}

bool bs_store_swept(struct bs_store *s)
{
	bool swept = false;

	(void)pthread_mutex_lock(&s->lock);
	for (uint32_t i = s->files; i-- > 0 && bs_store_file_lacks(s->dir, s->file[i].name);) {
		swept = swept || s->file[i].records > 0;
		lose_all(s, &s->file[i]);
	}
	for (uint32_t t = 0; t < s->takers; t++)
		s->unsaved[t] = s->unsaved[t] || swept; /* the cursors' files may be gone, too */
	(void)pthread_mutex_unlock(&s->lock);
	return swept;
}

/* Removes the oldest file and tells the takers that lack its images. With the lock held. */
static void drop_oldest(struct bs_store *s)
{
	struct file *f = &s->file[0];
	char path[PATH_MAX_];

	lose_all(s, f);
	path_of(s, path, f->name);
	(void)unlink(path);
	free(f->record);
	s->files--;
	memmove(s->file, s->file + 1, s->files * sizeof(*s->file));
}

/* Removes old files that no taker needs, or that exceed most_bytes. With the lock held. */
static void prune(struct bs_store *s)
{
	while (s->files > 1) {
		bool had = s->takers > 0;

		/* the numbers in a file end before the first number of the next file */
		for (uint32_t t = 0; t < s->takers; t++)
			had = had && s->taker[t].cursor + 1 >= s->file[1].first;
		if (!had && s->bytes - s->file[0].bytes < s->spec.most_bytes)
			return;
		if (!had && look_into(s, &s->file[0]) != 0)
			return; /* the file is not listed, so its takers cannot be told yet */
		drop_oldest(s);
	}
}

/* Makes sure that the present file has room for len bytes more, or begins another file. */
static int make_room(struct bs_store *s, size_t len, uint64_t number, struct bs_fail *why)
{
	struct bs_log_writer *w = &s->log;
	const uint64_t need = bs_log_record_bytes(len) + (uint64_t)3 * BS_LOG_BLOCK;
	int rc;

	if (w->fd >= 0 && !w->failed && !bs_store_file_gone(w->fd) &&
	    w->at + need <= s->log_room.segment_bytes)
		return 0;
	if (w->fd >= 0 && !w->failed)
		(void)bs_log_writer_seal(w, NULL); /* records can be read even if the seal fails */
	bs_log_writer_close(w);
	rc = bs_log_writer_open(w, &s->log_room, number, bs_utc_ns(), why);
	if (rc != 0)
		return rc;
	w->relaxed = true;
	(void)pthread_mutex_lock(&s->lock);
	rc = add_file(s, w->name, number, 0, why);
	if (rc == 0)
		s->file[s->files - 1].known = true;
	s->made++;
	(void)pthread_mutex_unlock(&s->lock);
	if (rc != 0)
		bs_log_writer_close(w);
	return rc;
}

static int write_record(struct bs_store *s, size_t len, uint64_t number, uint64_t session,
			struct bs_fail *why)
{
	struct bs_log_writer *w = &s->log;
	const uint64_t at = w->at;
	struct file *f;
	int rc = bs_log_writer_append(w, s->message, len, 0, why);

	if (rc == 0)
		rc = bs_log_writer_commit(w, why);
	if (rc != 0)
		return rc;
	(void)pthread_mutex_lock(&s->lock);
	f = &s->file[s->files - 1];
	rc = add_record(f, number, session, at, (uint32_t)len, why);
	s->bytes += w->at - at;
	f->bytes += w->at - at;
	if (rc == 0)
		s->last = number;
	prune(s);
	(void)pthread_mutex_unlock(&s->lock);
	return rc;
}

int bs_store_append(struct bs_store *s, const unsigned char *image, size_t len, uint64_t number,
		    struct bs_fail *why)
{
	struct bs_wire w = { .kind = BS_WIRE_STORED };
	struct bs_wire its;
	const unsigned char *payload;
	int rc = bs_wire_decode(&its, image, len, &payload, why);

	if (rc == 0 && (its.kind != BS_WIRE_IMAGE || len > s->spec.message_max))
		rc = bs_fail(why, BS_ERR_SIZE, "a message of kind %u and %zu bytes for the store",
			     its.kind, len);
	if (rc != 0)
		return rc;
	if (number <= s->last)
		return 0;
	rc = make_room(s, HEAD + len, number, why);
	if (rc != 0)
		return rc;
	w.session = its.session;
	w.seq = number;
	w.time_ns = its.time_ns;
	bs_put_le(s->message + BS_WIRE_BYTES, s->last, 8);
	memcpy(s->message + HEAD, image, len);
	bs_wire_encode(s->message, &w, s->message + BS_WIRE_BYTES, 8 + len);
	return write_record(s, HEAD + len, number, its.session, why);
}

/* ---- reading ---- */

/* Finds a file's first readable record beyond a number, of one session, or of
 * any (0). NULL: none. */
static struct record *beyond_in(struct file *f, uint64_t session, uint64_t after)
{
	uint32_t low = 0;
	uint32_t high = f->records;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (f->record[middle].number > after)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < f->records; low++)
		if (!f->record[low].bad && (session == 0 || f->record[low].session == session))
			return &f->record[low];
	return NULL;
}

/*
 * Finds the first readable record beyond a number, of one session or any (0), in all files. *f: its
 * file; *r NULL: none. BS_ERR_TIMEOUT: a file cannot be listed now. With the lock held.
 */
static int beyond(struct bs_store *s, uint64_t session, uint64_t after, struct file **f,
		  struct record **r)
{
	int rc = 0;

	*r = NULL;
	for (uint32_t i = 0; rc == 0 && *r == NULL && i < s->files; i++) {
		if (i + 1 < s->files && s->file[i + 1].first <= after + 1)
			continue; /* this file has no number beyond `after` */
		*f = &s->file[i];
		rc = look_into(s, *f);
		*r = rc == 0 ? beyond_in(*f, session, after) : NULL;
	}
	return rc;
}

int bs_store_next(struct bs_store *s, struct bs_store_reader *reader, uint64_t after,
		  unsigned char *buf, size_t *len, struct bs_fail *why)
{
	struct record *r;
	struct record at = { 0 };
	struct file *f = NULL;
	const unsigned char *payload;
	struct bs_wire w;
	int rc;

	(void)pthread_mutex_lock(&s->lock);
	rc = beyond(s, reader->session, after, &f, &r);
	if (rc != 0)
		rc = bs_fail(why, rc, "%s/%s: cannot be read now", s->dir, f->name);
	if (r != NULL) {
		at = *r;
		/* the lock keeps the file from being removed before it is open */
		rc = bs_store_file_open(reader, s->dir, f->name, why);
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (r == NULL)
		return rc;
	*len = at.len;
	if (rc == 0 && at.len > bs_store_answer_max(s->spec.message_max))
		rc = bs_fail(why, BS_ERR_FORMAT, "%s/%s: an image of %u bytes", s->dir,
			     reader->name, at.len);
	if (rc == 0)
		rc = bs_store_file_read(reader, s->dir, buf, at.len, at.offset + BS_LOG_FRAME, why);
	if (rc == 0)
		rc = bs_wire_decode(&w, buf, at.len, &payload, why);
	if (rc == 0 && w.seq != at.number)
		rc = bs_fail(why, BS_ERR_FORMAT, "%s/%s: image %llu stands in place of %llu",
			     s->dir, reader->name, (unsigned long long)w.seq,
			     (unsigned long long)at.number);
	if (rc == 0)
		return 1;
	(void)pthread_mutex_lock(&s->lock);
	(void)beyond(s, reader->session, after, &f, &r);
	if (r != NULL && r->number == at.number) {
		r->bad = true;
		tell_missed(s, r);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return rc;
}

uint64_t bs_store_waiting(struct bs_store *s, uint64_t after, uint64_t until)
{
	struct record *r;
	struct file *f = NULL;
	uint64_t n = 0;
	int rc;

	(void)pthread_mutex_lock(&s->lock);
	while ((rc = beyond(s, 0, after, &f, &r)) == 0 && r != NULL && r->number <= until) {
		after = r->number;
		n++;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return rc == 0 ? n : BS_STORE_UNKNOWN;
}

uint64_t bs_store_other(struct bs_store *s, uint64_t session)
{
	uint64_t number = 0;

	(void)pthread_mutex_lock(&s->lock);
	for (uint32_t i = s->files; i-- > 0 && number == 0;) {
		const struct file *f = &s->file[i];
		const bool known = look_into(s, &s->file[i]) == 0;

		for (uint32_t n = known ? f->records : 0; n-- > 0 && number == 0;)
			if (!f->record[n].bad && f->record[n].session != session)
				number = f->record[n].number;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return number;
}

/* ---- takers ---- */

static struct bs_store_taker *find_taker(struct bs_store *s, const char *name)
{
	for (uint32_t i = 0; i < s->takers; i++)
		if (strcmp(s->taker[i].name, name) == 0)
			return &s->taker[i];
	return NULL;
}

uint64_t bs_store_cursor(struct bs_store *s, const char *taker, uint64_t other)
{
	(void)pthread_mutex_lock(&s->lock);
	const struct bs_store_taker *t = find_taker(s, taker);

	other = t != NULL ? t->cursor : other;
	(void)pthread_mutex_unlock(&s->lock);
	return other;
}

int bs_store_ack(struct bs_store *s, const char *taker, uint64_t number, struct bs_fail *why)
{
	char path[PATH_MAX_ + BS_WIRE_TAKER];
	uint32_t alike = 0;
	bool save = false;
	int rc;

	(void)pthread_mutex_lock(&s->lock);
	struct bs_store_taker *t = find_taker(s, taker);

	for (uint32_t i = 0; i < s->takers; i++)
		alike += (s->taker[i].name[0] == '+') == (taker[0] == '+');
	if (t == NULL && s->takers < BS_STORE_TAKERS &&
	    alike < (taker[0] == '+' ? BS_STORE_OWN : BS_STORE_ASKERS)) {
		t = &s->taker[s->takers++];
		(void)snprintf(t->name, sizeof(t->name), "%s", taker);
		s->unsaved[t - s->taker] = true;
	}
	if (t != NULL) {
		save = s->unsaved[t - s->taker] || t->cursor != number;
		s->unsaved[t - s->taker] = save;
		t->cursor = number;
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (t == NULL)
		return bs_fail(why, BS_ERR_STATE,
			       "%u takers are known already: remove the .cursor file of one that "
			       "does not come any more, and start again",
			       alike);
	(void)snprintf(path, sizeof(path), "%s/%s" BS_CURSOR_SUFFIX, s->dir, taker);
	rc = save ? bs_cursor_put(path, number, false, why) : 0;
	(void)pthread_mutex_lock(&s->lock);
	if (rc == 0 && t->cursor == number)
		s->unsaved[t - s->taker] = false;
	(void)pthread_mutex_unlock(&s->lock);
	return rc;
}

void bs_store_forget(struct bs_store *s, const char *taker)
{
	char path[PATH_MAX_ + BS_WIRE_TAKER];

	(void)pthread_mutex_lock(&s->lock);
	struct bs_store_taker *const t = find_taker(s, taker);

	if (t != NULL) {
		*t = s->taker[--s->takers];
		s->unsaved[t - s->taker] = s->unsaved[s->takers];
	}
	(void)pthread_mutex_unlock(&s->lock);
	(void)snprintf(path, sizeof(path), "%s/%s" BS_CURSOR_SUFFIX, s->dir, taker);
	(void)unlink(path);
}

void bs_store_count(struct bs_store *s, struct bs_store_counts *c)
{
	(void)pthread_mutex_lock(&s->lock);
	c->last = s->last;
	c->begun = s->files > 0 ? s->file[s->files - 1].first : 0;
	c->bytes = s->bytes;
	c->made = s->made;
	c->takers = s->takers;
	memcpy(c->taker, s->taker, sizeof(c->taker));
	(void)pthread_mutex_unlock(&s->lock);
}
