/* board/tool/audit/store.c - a folder of images, as the service keeps them; see part.h */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "board/tool/audit/image.h"
#include "core/text.h"
#include "drivers/log/folder.h"
#include "drivers/log/store.h"

#define TAKERS 64u /* most takers that are judged; a store knows fewer */

struct taker {
	char name[BS_WIRE_TAKER + 1];
	uint64_t number;
	bool there; /* the image of that number is in the store */
};

/* State of reading a store's file. It changes struct store only when the reading is certain. */
struct reading {
	uint64_t first, last; /* numbers of the first and the last image */
	bool broken;          /* records are damaged, or a file was removed meanwhile */
	bool any;             /* the file being read has an image */
	uint64_t begins;      /* number of that file's first image */
};

struct store {
	struct bs_audit *a;
	const char *dir;
	struct reading now;
	struct bs_audit_images images;
	struct taker taker[TAKERS];
	uint32_t takers;
	int rc;
	struct bs_fail *why;
};

/* ---- takers ---- */

/* Reads the takers' cursors before the images. So what a cursor names is there, or gone as old. */
static void read_takers(struct store *s)
{
	DIR *d = opendir(s->dir);
	uint32_t askers = 0;
	char path[1400];
	struct dirent *e;

	bs_judged(s->a->f, BS_PROMISE_TAKERS);
	while (d != NULL && (e = readdir(d)) != NULL && s->takers < TAKERS) {
		const size_t stem = bs_text_stem(e->d_name, BS_CURSOR_SUFFIX);
		struct taker *t = &s->taker[s->takers];

		if (stem == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", s->dir, e->d_name);
		(void)snprintf(t->name, sizeof(t->name), "%.*s", (int)stem, e->d_name);
		if (stem >= BS_WIRE_TAKER || !bs_wire_taker_good(t->name + (t->name[0] == '+'))) {
			bs_found(s->a->f, BS_PROMISE_TAKERS, path, "no name of a taker");
			continue;
		}
		if (bs_cursor_get(path, &t->number, NULL) != 0)
			continue; /* folder.c reports this file */
		askers += t->name[0] != '+';
		s->takers++;
	}
	if (d != NULL)
		(void)closedir(d);
	if (askers > BS_STORE_ASKERS || s->takers - askers > BS_STORE_OWN)
		bs_found(s->a->f, BS_PROMISE_TAKERS, s->dir, "%u that ask, %u of the site", askers,
			 s->takers - askers);
	s->a->sum->takers += s->takers;
}

/* Judges a cursor. One of the site's own takers may name a scan's end, or be ahead of the store. */
static void judge_taker(struct store *s, const struct taker *t)
{
	const struct reading *r = &s->now;
	char path[1400];

	if (t->name[0] == '+' || r->last == 0 || r->broken)
		return;
	bs_judged(s->a->f, BS_PROMISE_TAKEN);
	(void)snprintf(path, sizeof(path), "%s/%s%s", s->dir, t->name, BS_CURSOR_SUFFIX);
	if (t->number > r->last)
		bs_found(s->a->f, BS_PROMISE_TAKEN, path, "%" PRIu64 ", the last image is %" PRIu64,
			 t->number, r->last);
	else if (t->number >= r->first && !t->there)
		bs_found(s->a->f, BS_PROMISE_TAKEN, path, "no image has the number %" PRIu64,
			 t->number);
}

/* ---- images ---- */

static void judge_numbers(struct store *s, uint64_t number, uint64_t before)
{
	struct reading *r = &s->now;
	struct bs_audit *a = s->a;

	bs_judged(a->f, BS_PROMISE_NUMBERS);
	bs_judged(a->f, BS_PROMISE_BEFORE);
	if (number <= r->last)
		bs_found(a->f, BS_PROMISE_NUMBERS, a->where, "%" PRIu64 " follows %" PRIu64, number,
			 r->last);
	if (r->last != 0 && !r->broken && before != r->last)
		bs_found(a->f, BS_PROMISE_BEFORE, a->where,
			 "%" PRIu64 " says that %" PRIu64 " is before it, that is %" PRIu64, number,
			 before, r->last);
	if (r->last == 0) {
		r->first = number;
		s->images.all = before == 0;
		a->store_whole = before == 0;
	}
	r->last = number > r->last ? number : r->last;
	r->broken = false;
	if (!r->any)
		r->begins = number;
	r->any = true;
	for (uint32_t i = 0; i < s->takers; i++)
		s->taker[i].there = s->taker[i].there || s->taker[i].number == number;
}

static void take_stored(void *arg, const struct bs_log_message *m)
{
	struct store *s = arg;
	struct bs_audit *a = s->a;
	const unsigned char *payload;
	const unsigned char *image;
	struct bs_fail why;
	struct bs_wire w;
	struct bs_wire its;
	uint64_t before = 0;
	size_t len;
	int rc = bs_wire_decode(&w, m->bytes, m->len, &payload, &why);

	bs_judged(a->f, BS_PROMISE_STORED);
	if (rc == 0 && w.kind != BS_WIRE_STORED)
		rc = bs_fail(&why, BS_ERR_KIND, "a message of kind %u", (unsigned)w.kind);
	if (rc == 0)
		rc = bs_wire_get_stored(&before, &image, &len, payload, (size_t)w.payload_len,
					&why);
	if (rc == 0)
		rc = bs_wire_decode(&its, image, len, &payload, &why);
	if (rc == 0 && its.kind != BS_WIRE_IMAGE)
		rc = bs_fail(&why, BS_ERR_KIND, "a message of kind %u in it", (unsigned)its.kind);
	if (rc == 0 && (its.session != w.session || its.time_ns != w.time_ns))
		bs_found(a->f, BS_PROMISE_STORED, a->where,
			 "session and time are %016" PRIx64 ", %" PRId64 ", in it %016" PRIx64
			 ", %" PRId64,
			 w.session, w.time_ns, its.session, its.time_ns);
	if (rc != 0) {
		bs_found(a->f, BS_PROMISE_STORED, a->where, "%s", why.text);
		return;
	}
	judge_numbers(s, w.seq, before);
	a->sum->images++;
	if (s->rc == 0)
		s->rc = bs_audit_image(&s->images, &its, payload, s->why);
}

/* ---- files ---- */

static void judge_file(struct store *s, const char *path, const struct bs_audit_frames *fr)
{
	struct bs_audit *a = s->a;

	bs_judged(a->f, BS_PROMISE_STORE_FILE);
	if (fr->segments != 1 || fr->begins.index != 0)
		bs_found(a->f, BS_PROMISE_STORE_FILE, path, "%u segments", fr->segments);
	if (fr->begins.id != 0 && s->now.any && fr->begins.session != s->now.begins)
		bs_found(a->f, BS_PROMISE_STORE_FILE, path,
			 "its session is %016" PRIx64 ", its first image %016" PRIx64,
			 fr->begins.session, s->now.begins);
}

static void audit_file(struct store *s, const struct bs_log_entry *e, bool newest)
{
	struct bs_audit *a = s->a;
	struct bs_audit_frames fr;
	char path[BS_LOG_DIR + BS_LOG_NAME + 2];

	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, e->name);
	s->now.any = false;
	bs_found_begin(a->f);
	bs_audit_frames(a->f, path, a->where, &fr, take_stored, s);
	if (fr.gone) {
		bs_found_drop(a->f);
		s->now.broken = true;
		bs_note(a->f, "%s: was removed while it was read", path);
		return;
	}
	judge_file(s, path, &fr);
	s->now.broken = s->now.broken || fr.damaged;
	bs_found_keep(a->f);
	a->sum->records += fr.records;
	a->sum->bytes += fr.bytes;
	if (newest)
		a->store_rests = a->store_rests && fr.sealed;
	if (a->store_first[0] == '\0')
		(void)snprintf(a->store_first, sizeof(a->store_first), "%s", e->name);
}

/* Compares two files of images by the numbers of their first images. */
static int by_number(const void *a, const void *b)
{
	const struct bs_log_entry *x = a;
	const struct bs_log_entry *y = b;
	const char *m = strchr(x->name, '-');
	const char *n = strchr(y->name, '-');

	return strcmp(m != NULL ? m : x->name, n != NULL ? n : y->name);
}

static void judge_bound(struct store *s, const struct bs_log_entry *list, size_t count)
{
	const uint64_t most = s->a->q->store_bytes;
	uint64_t sum = 0;
	uint64_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		sum += list[i].bytes;
		longest = list[i].bytes > longest ? list[i].bytes : longest;
	}
	if (most == 0)
		return;
	bs_judged(s->a->f, BS_PROMISE_BOUND);
	if (sum > most + 2 * longest)
		bs_found(s->a->f, BS_PROMISE_BOUND, s->dir,
			 "%" PRIu64 " bytes, the bound is %" PRIu64, sum, most);
}

int bs_audit_store(struct bs_audit *a, const char *dir, struct bs_fail *why)
{
	static struct store s;
	struct bs_log_entry *list;
	size_t count;
	int rc = bs_log_folder_list(dir, &list, &count, why);

	if (rc != 0)
		return rc;
	s = (struct store){ .a = a, .dir = dir, .why = why, .images = { .a = a } };
	bs_found_begin(a->f);
	read_takers(&s);
	if (count > 0)
		qsort(list, count, sizeof(*list), by_number);
	judge_bound(&s, list, count);
	bs_found_keep(a->f);
	for (size_t i = 0; s.rc == 0 && i < count; i++)
		audit_file(&s, &list[i], i + 1 == count);
	bs_found_begin(a->f);
	for (uint32_t i = 0; i < s.takers; i++)
		judge_taker(&s, &s.taker[i]);
	bs_found_keep(a->f);
	bs_audit_folder(a, dir, count > 0 ? list[count - 1].name : "");
	free(list);
	free(s.images.attributes);
	return s.rc;
}
