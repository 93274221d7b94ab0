/*
 * test/fault/audit/breaks.h - breaks of what a site's files promise, each planted in a copy
 *
 * A break makes one promise untrue and nothing else, where that can be: checksums hold again, a log
 * is sealed again. dir: the folder of the copy (logs, spill/images, recorded, log). False: it could
 * not be planted.
 */
#ifndef BS_TEST_AUDIT_BREAKS_H
#define BS_TEST_AUDIT_BREAKS_H

#include "ipc/wire/mrd.h"
#include "test/fault/audit/logs.h"

/* ---- the store ---- */

/* A change of the store's records, with their order made whole again where that is not the break:
 * each says the number of the one before it. */
struct break_shot {
	uint64_t number; /* of the record in its file */
	enum log_edit what;
	void (*stored)(struct bs_wire *w, uint64_t *before);
	void (*image)(struct bs_wire *w, unsigned char *payload, size_t *len);
	uint64_t last; /* the number of the one before */
	bool raw;      /* the image's own checksum is left as it is */
};

static inline void break_put(struct break_shot *j, struct bs_wire *w, struct bs_wire *its,
			     uint64_t before, unsigned char *msg, size_t image_len)
{
	unsigned char *image = msg + BS_WIRE_BYTES + 8;

	if (!j->raw)
		log_wire_again(image, its, image_len);
	bs_put_le(msg + BS_WIRE_BYTES, before, 8);
	log_wire_again(msg, w, BS_WIRE_BYTES + 8 + image_len);
	j->last = w->seq;
}

static inline enum log_edit break_shot_edit(void *arg, uint64_t number, bool again,
					    unsigned char *msg, size_t *len)
{
	struct break_shot *j = arg;
	const unsigned char *payload;
	const unsigned char *image;
	struct bs_wire w;
	struct bs_wire its;
	uint64_t before = 0;
	size_t image_len = 0;

	if (bs_wire_decode(&w, msg, *len, &payload, NULL) != 0 ||
	    bs_wire_get_stored(&before, &image, &image_len, payload, (size_t)w.payload_len, NULL) !=
		    0 ||
	    bs_wire_decode(&its, image, image_len, &payload, NULL) != 0)
		return LOG_KEEP;
	if (number == j->number && j->what == LOG_DROP)
		return LOG_DROP;
	before = number == 0 ? before : j->last;
	if (again) /* a number of its own, between this one and the next */
		w.seq = j->last + 1;
	if (number == j->number && j->stored != NULL)
		j->stored(&w, &before);
	if (number == j->number && j->image != NULL) {
		j->image(&its, msg + BS_WIRE_BYTES + 8 + BS_WIRE_BYTES, &image_len);
		w.session = its.session;
		*len = BS_WIRE_BYTES + 8 + image_len;
	}
	break_put(j, &w, &its, before, msg, image_len);
	return number == j->number ? j->what : LOG_KEEP;
}

static inline bool break_shot(const char *dir, struct break_shot j)
{
	return log_rewrite(break_store(dir), break_shot_edit, &j);
}

/* Of the file and of its name. */
static inline bool break_store_session(const char *dir)
{
	const char *path = break_store(dir);
	unsigned char block[BS_LOG_BLOCK];
	struct bs_log_head h;
	char to[300];
	char name[BS_LOG_NAME];

	if (!log_get(path, 0, block, sizeof(block)) || bs_log_get_head(&h, block, NULL) != 0)
		return false;
	h.session--;
	bs_log_name(name, &h);
	bs_log_put_head(block, &h);
	(void)snprintf(to, sizeof(to), "%s/spill/images/%s", dir, name);
	return log_poke(path, 0, block, sizeof(block)) && rename(path, to) == 0;
}

static inline void shot_pixel(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	payload[*len - BS_WIRE_BYTES - 4] ^= 1;
}
static inline void stored_lower(struct bs_wire *w, uint64_t *before)
{
	(void)before;
	w->seq -= UINT64_C(1) << 32;
}
static inline void stored_before(struct bs_wire *w, uint64_t *before)
{
	(void)w;
	*before -= 1;
}

static inline bool break_takers(const char *dir)
{
	bool good = true;

	for (int i = 0; i < 9; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "spill/images/archive%d.cursor", i);
		good = good && break_write(dir, name, "00000000000000000000\n");
	}
	return good;
}
static inline bool break_taken_beyond(const char *dir)
{
	return break_write(dir, "spill/images/pacs.cursor", "09999999999999999999\n");
}
static inline bool break_taken_none(const char *dir)
{
	char number[32] = "";
	const char *path = break_file(dir, "spill/images/other.cursor");
	char line[32];

	if (!log_get(path, 0, number, 20))
		return false;
	(void)snprintf(line, sizeof(line), "%020llu\n", strtoull(number, NULL, 10) - 1000000);
	return log_poke(path, 0, line, 21);
}
/* The longest file four times more, and a site file that wants less. */
static inline bool break_bound(const char *dir)
{
	char command[500];

	(void)snprintf(command, sizeof(command),
		       "cd %s && sed -i 's/spill_mib = 64/spill_mib = 1/' site.cfg && "
		       "f=$(cd spill/images && ls -S *.bslog | head -n 1) && for i in 1 3 4 5; do "
		       "cp --sparse=always spill/images/$f spill/images/$i${f#?}; done",
		       dir);
	return system(command) == 0;
}

/* ---- images ---- */

/* Exchanges words of the same length, or shorter ones, in the attributes. */
static inline void shot_words(unsigned char *payload, size_t *len, const char *from, const char *to)
{
	struct bs_mrd_image h;
	const size_t bytes = *len - BS_WIRE_BYTES;
	size_t at;
	size_t pixels;

	if (bs_mrd_parse_image(&h, &at, &pixels, payload, bytes, NULL) != 0)
		return;
	for (size_t i = at; i + strlen(from) <= pixels; i++) {
		const size_t cut = strlen(from) - strlen(to);

		if (memcmp(payload + i, from, strlen(from)) != 0)
			continue;
		memcpy(payload + i, to, strlen(to));
		memmove(payload + i + strlen(to), payload + i + strlen(from),
			bytes - i - strlen(from));
		h.attribute_string_len -= (uint32_t)cut;
		bs_mrd_put_image(payload, &h);
		bs_put_le(payload + BS_MRD_IMAGE_BYTES, h.attribute_string_len, 8);
		*len -= cut;
		return;
	}
}

static inline void shot_index(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	(void)len;
	payload[126]++;
}
static inline void shot_series(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	(void)len;
	payload[129] ^= 0x80;
}
static inline void shot_uid(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	(void)len;
	payload[12]++;
}
static inline void shot_missing(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	(void)len;
	payload[130 + 16]++;
}
static inline void shot_quality(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	payload[130 + 28] = 1;
	shot_words(payload, len, "<value>complete<", "<value>partial<");
}
static inline void shot_late(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	payload[130] = 1;
	payload[130 + 8] = 1;
	payload[130 + 28] = 2;
	shot_words(payload, len, "<value>complete<", "<value>late<");
}
static inline void shot_protocol(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	shot_words(payload, len, "<value>cart<", "<value>cat<");
}
static inline void shot_readouts(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)w;
	shot_words(payload, len, "count_imaging</name><value>128<",
		   "count_imaging</name><value>999<");
}
static inline void shot_other(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)payload;
	(void)len;
	w->session = 19;
}
static inline void shot_number(struct bs_wire *w, unsigned char *payload, size_t *len)
{
	(void)len;
	w->seq = 1000;
	payload[126] = 1000 & 0xff;
	payload[127] = 1000 >> 8;
}

/* One of plant, job, shot. */
struct audit_break {
	const char *promise, *what;
	bool (*plant)(const char *dir);
	struct break_job job;
	struct break_shot shot;
};

static inline bool audit_plant(const struct audit_break *b, const char *dir)
{
	if (b->plant != NULL)
		return b->plant(dir);
	if (b->job.change != NULL || b->job.what != LOG_KEEP)
		return break_message(dir, b->job);
	return break_shot(dir, b->shot);
}

static const struct audit_break audit_breaks[] = {
	{ "file.name", "a log under another session's name", .plant = break_name },
	{ "file.mode", "a log that others may read", .plant = break_mode },
	{ "file.head", "a byte of a head that is to be zero", .plant = break_head_zeros },
	{ "file.head", "a head whose checksum does not hold", .plant = break_head_sum },
	{ "file.seal", "a seal with one record more", .plant = break_seal_next },
	{ "file.seal", "another scan's seal", .plant = break_seal_session },
	{ "log.segments", "a segment in the middle is gone", .plant = break_segment_gone },
	{ "log.segments", "a segment begins one record later", .plant = break_segment_first },
	{ "log.records", "a byte of a readout", .plant = break_record_body },
	{ "log.records", "a record of another number", .plant = break_record_number },
	{ "log.records", "a sealed log without its last blocks", .plant = break_end_cut },
	{ "log.padding", "padding that is not zeros", .plant = break_padding },
	{ "log.durable", "a record that says more is on the disk than there is",
	  .plant = break_durable },
	{ "folder.spare", "a fifth spare file", .plant = break_spare },
	{ "folder.part", "an unfinished file of yesterday", .plant = break_part },
	{ "folder.part", "the same beside images", .plant = break_store_part },
	{ "folder.cursor", "a cursor of two digits", .plant = break_made },
	{ "log.signed", "a sample that is another, and all checksums hold",
	  .job = { .number = BREAK_MID, .change = change_pixel } },
	{ "log.message", "a message whose own checksum does not hold",
	  .job = { .number = BREAK_MID, .change = change_pixel, .raw = true } },
	{ "log.message", "a NEXT in a scan's log",
	  .job = { .number = BREAK_MID, .change = change_kind } },
	{ "log.session", "a readout of another session",
	  .job = { .number = BREAK_MID, .change = change_session } },
	{ "log.open", "a log without OPEN", .job = { .number = 0, .what = LOG_DROP } },
	{ "log.once", "a readout twice, with other bytes",
	  .job = { .number = BREAK_MID,
		   .change = change_pixel,
		   .what = LOG_TWICE,
		   .again = true } },
	{ "log.order", "a number 2^32 beyond the next",
	  .job = { .number = BREAK_MID, .change = change_absurd } },
	{ "log.readout", "a readout with one sample too few",
	  .job = { .number = BREAK_MID, .change = change_samples } },
	{ "log.close", "a readout beyond CLOSE",
	  .job = { .number = BREAK_MID, .change = change_beyond } },
	{ "log.count", "CLOSE counts one more",
	  .job = { .number = BREAK_ACQS + 1, .change = change_count } },
	{ "log.gaps", "a readout is not there, and nobody says so",
	  .job = { .number = BREAK_MID, .what = LOG_DROP } },
	{ "outcome.signed", "a count of a line that is another", .plant = break_line },
	{ "outcome.log", "a log is gone, older ones are there", .plant = break_log_gone },
	{ "outcome.log", "a log that has lost its seal", .plant = break_no_seal },
	{ "outcome.scan", "the log says another scan's number", .plant = break_scan_number },
	{ "outcome.whole", "CLOSE is not there, and all is well",
	  .job = { .number = BREAK_ACQS + 1, .what = LOG_DROP } },
	{ "outcome.readouts", "a readout became a waveform", .plant = break_readouts },
	{ "outcome.images", "an image is gone, and all is well",
	  .shot = { .number = 3, .what = LOG_DROP } },
	{ "outcome.late", "an image was late, and none is counted",
	  .shot = { .number = 3, .image = shot_late } },
	{ "store.file", "a file of images under another number", .plant = break_store_session },
	{ "store.message", "an image whose own checksum does not hold",
	  .shot = { .number = 3, .image = shot_pixel, .raw = true } },
	{ "store.numbers", "an image with a lower number",
	  .shot = { .number = 3, .stored = stored_lower } },
	{ "store.before", "an image says that another is before it",
	  .shot = { .number = 3, .stored = stored_before } },
	{ "store.takers", "nine archives more", .plant = break_takers },
	{ "store.taken", "an archive is beyond the last image", .plant = break_taken_beyond },
	{ "store.taken", "an archive has a number that no image has", .plant = break_taken_none },
	{ "store.bound", "a store larger than the site says", .plant = break_bound },
	{ "image.head", "an image of another index", .shot = { .number = 3, .image = shot_index } },
	{ "image.once", "an image twice, under two numbers",
	  .shot = { .number = 3, .what = LOG_TWICE } },
	{ "image.order", "an image of number 1000", .shot = { .number = 3, .image = shot_number } },
	{ "image.order", "a scan's image among another's",
	  .shot = { .number = 3, .image = shot_other } },
	{ "image.series", "an image in the previews' series",
	  .shot = { .number = 3, .image = shot_series } },
	{ "image.quality", "a complete image that lacks a readout",
	  .shot = { .number = 3, .image = shot_missing } },
	{ "image.quality", "a partial image that lacks nothing",
	  .shot = { .number = 3, .image = shot_quality } },
	{ "image.log", "images of a scan whose log is gone", .plant = break_log_gone },
	{ "image.scan", "an image of another measurement",
	  .shot = { .number = 3, .image = shot_uid } },
	{ "image.scan", "an image of another protocol",
	  .shot = { .number = 3, .image = shot_protocol } },
	{ "image.readouts", "an image of more readouts than there are",
	  .shot = { .number = 3, .image = shot_readouts } },
};

#endif
