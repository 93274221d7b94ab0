/*
 * test/fault/audit/logs.h - breaks of what logs promise, each planted in a copy (breaks.h)
 */
#ifndef BS_TEST_AUDIT_LOGS_H
#define BS_TEST_AUDIT_LOGS_H

#include <glob.h>
#include <time.h>

#include "test/fault/audit/log_edit.h"

#define BREAK_ACQS 192u /* readouts of a scan of sessions 16 and 19; OPEN is record 0 */
#define BREAK_MID  100u /* a readout in its middle */

/* ---- files ---- */

/* The first file of that kind; "": none. */
static inline const char *break_file(const char *dir, const char *pattern)
{
	static char path[300];
	char all[300];
	glob_t found;

	(void)snprintf(all, sizeof(all), "%s/%s", dir, pattern);
	path[0] = '\0';
	if (glob(all, 0, NULL, &found) == 0)
		(void)snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
	return path;
}

static inline const char *break_log(const char *dir) /* session 19: good, not the first */
{
	return break_file(dir, "logs/*-0000000000000013-00000.bslog");
}

static inline const char *break_store(const char *dir)
{
	return break_file(dir, "spill/images/*-00000.bslog");
}

static inline bool break_write(const char *dir, const char *name, const char *text)
{
	char path[300];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (f == NULL)
		return false;
	(void)fputs(text, f);
	return fclose(f) == 0;
}

static inline bool break_rename(const char *from, size_t at, char c)
{
	char to[300];

	(void)snprintf(to, sizeof(to), "%s", from);
	to[strlen(to) - at] = c;
	return rename(from, to) == 0;
}

/* One more was received twice, says the service's log of its first scan. */
static inline bool break_line(const char *dir)
{
	char command[700];

	(void)snprintf(command, sizeof(command),
		       "sed -i '0,/audit: scan/s/duplicates 0/duplicates 1/' %s/log && grep -q "
		       "'duplicates 1' %s/log",
		       dir, dir);
	return system(command) == 0;
}

/* ---- bytes of a log ---- */

static inline bool break_name(const char *dir)
{
	return break_rename(break_log(dir), strlen("fff-00000.bslog"), 'e');
}
static inline bool break_mode(const char *dir)
{
	return chmod(break_log(dir), 0644) == 0;
}
static inline bool break_head_zeros(const char *dir)
{
	unsigned char block[BS_LOG_BLOCK];
	static const unsigned char zeros[4];

	if (!log_get(break_log(dir), 0, block, sizeof(block)))
		return false;
	block[200] = 1;
	memcpy(block + 12, zeros, 4);
	bs_put_le(block + 12, bs_crc32c(0, block, sizeof(block)), 4);
	return log_poke(break_log(dir), 0, block, sizeof(block));
}
static inline bool break_head_sum(const char *dir)
{
	return log_poke(break_log(dir), 30, "x", 1);
}
static inline void edit_seal_next(struct bs_log_head *h, struct bs_log_head *s)
{
	(void)h;
	s->next++;
}
static inline bool break_seal_next(const char *dir)
{
	return log_blocks(break_log(dir), edit_seal_next);
}
static inline void edit_seal_session(struct bs_log_head *h, struct bs_log_head *s)
{
	(void)h;
	s->session++;
}
static inline bool break_seal_session(const char *dir)
{
	return log_blocks(break_log(dir), edit_seal_session);
}
static inline bool break_segment_gone(const char *dir)
{
	return unlink(break_file(dir, "recorded/*-00001.bslog")) == 0;
}
static inline void edit_first(struct bs_log_head *h, struct bs_log_head *s)
{
	h->first++;
	s->first++;
}
static inline bool break_segment_first(const char *dir)
{
	return log_blocks(break_file(dir, "recorded/*-00001.bslog"), edit_first);
}
static inline bool break_record_body(const char *dir)
{
	struct bs_log_frame f;
	const uint64_t at = log_find(break_log(dir), BREAK_MID, false, &f);

	return at != 0 && log_poke(break_log(dir), at + BS_LOG_FRAME + 500, "\377\1", 2);
}
static inline void edit_number(struct bs_log_frame *f)
{
	f->number++;
}
static inline bool break_record_number(const char *dir)
{
	return log_frame(break_log(dir), BREAK_MID, false, edit_number, SIZE_MAX, 0);
}
static inline bool break_end_cut(const char *dir)
{
	const char *path = break_log(dir);
	struct stat st;

	return stat(path, &st) == 0 && truncate(path, st.st_size - 3 * (off_t)BS_LOG_BLOCK) == 0;
}
static inline bool break_padding(const char *dir)
{
	struct bs_log_frame f;
	uint64_t number = 1;

	while (number < BREAK_ACQS && log_find(break_log(dir), number, true, &f) == 0)
		number++;
	return log_frame(break_log(dir), number, true, NULL, 5, 1);
}
static inline void edit_durable(struct bs_log_frame *f)
{
	f->durable = f->number + 5;
}
static inline bool break_durable(const char *dir)
{
	return log_frame(break_log(dir), BREAK_MID, false, edit_durable, SIZE_MAX, 0);
}

/* ---- beside logs ---- */

static inline bool break_spare(const char *dir)
{
	return break_write(dir, "logs/7.spare", "");
}
static inline bool break_old_part(const char *dir, const char *name)
{
	const struct timespec old[2] = { { time(NULL) - 86400, 0 }, { time(NULL) - 86400, 0 } };
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return break_write(dir, name, "") && utimensat(AT_FDCWD, path, old, 0) == 0;
}
static inline bool break_part(const char *dir)
{
	return break_old_part(dir, "logs/1.spare.part");
}
static inline bool break_store_part(const char *dir)
{
	return break_old_part(dir, "spill/images/0123456789abcdef.part");
}
static inline bool break_made(const char *dir)
{
	return break_write(dir, "logs/made.cursor", "77\n");
}

/* ---- messages ---- */

/* What is done to the record of one number. */
struct break_job {
	uint64_t number;
	void (*change)(struct bs_wire *w, unsigned char *payload); /* then the envelope again */
	enum log_edit what;
	bool again; /* the change is of the second one alone */
	bool raw;   /* the message's own checksum is left as it is */
};

static inline enum log_edit break_edit(void *arg, uint64_t number, bool again, unsigned char *msg,
				       size_t *len)
{
	const struct break_job *j = arg;
	const unsigned char *payload;
	struct bs_wire w;

	if (number != j->number)
		return LOG_KEEP;
	if (j->change != NULL && again == j->again &&
	    bs_wire_decode(&w, msg, *len, &payload, NULL) == 0) {
		j->change(&w, msg + BS_WIRE_BYTES);
		if (!j->raw)
			log_wire_again(msg, &w, *len);
	}
	return j->what;
}

static inline bool break_message(const char *dir, struct break_job j)
{
	return log_rewrite(break_log(dir), break_edit, &j);
}

static inline void change_pixel(struct bs_wire *w, unsigned char *payload)
{
	(void)w;
	payload[400] ^= 1;
}
static inline void change_kind(struct bs_wire *w, unsigned char *payload)
{
	(void)payload;
	w->kind = BS_WIRE_NEXT;
}
static inline void change_session(struct bs_wire *w, unsigned char *payload)
{
	(void)payload;
	w->session++;
}
static inline void change_absurd(struct bs_wire *w, unsigned char *payload)
{
	(void)payload;
	w->seq += UINT64_C(1) << 32;
}
static inline void change_samples(struct bs_wire *w, unsigned char *payload)
{
	(void)w;
	payload[34]++;
}
static inline void change_beyond(struct bs_wire *w, unsigned char *payload)
{
	(void)payload;
	w->seq = BREAK_ACQS + 5;
}
static inline void change_count(struct bs_wire *w, unsigned char *payload)
{
	(void)w;
	payload[0]++;
}
static inline void change_waveform(struct bs_wire *w, unsigned char *payload)
{
	(void)payload;
	w->kind = BS_WIRE_WAVEFORM;
}
static inline void change_uncount(struct bs_wire *w, unsigned char *payload)
{
	(void)w;
	payload[0]--;
}

/* ---- against outcomes ---- */

static inline bool break_log_gone(const char *dir)
{
	return unlink(break_log(dir)) == 0;
}
static inline void edit_scan(struct bs_log_head *h, struct bs_log_head *s)
{
	h->scan += 3;
	s->scan += 3;
}
static inline bool break_scan_number(const char *dir)
{
	return log_blocks(break_log(dir), edit_scan);
}
static inline bool break_no_seal(const char *dir)
{
	static const unsigned char zeros[BS_LOG_BLOCK];

	return log_poke(break_log(dir), BS_LOG_SEAL_AT, zeros, sizeof(zeros));
}

/* A readout becomes a waveform, and CLOSE counts one less. */
static inline bool break_readouts(const char *dir)
{
	return break_message(
		       dir, (struct break_job){ .number = BREAK_MID, .change = change_waveform }) &&
	       break_message(dir, (struct break_job){ .number = BREAK_ACQS + 1,
						      .change = change_uncount });
}

#endif
