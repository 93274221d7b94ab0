/* drivers/tool/load/logged.c - see logged.h */
#include "drivers/tool/load/logged.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "drivers/log/name.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

struct entry {
	uint64_t seq;
	struct bs_log_place place;
};

struct bs_logged {
	struct bs_log_reader *reader;
	char *xml;
	struct entry *acq; /* [count] readouts, sorted by message number */
	uint32_t count;
	size_t room;
	struct bs_logged_sum sum;
	char note[256];
};

bool bs_logged_is(const char *path)
{
	char first[8];
	bool is = false;
	int fd;

	if (bs_text_stem(path, BS_LOG_SUFFIX) > 0)
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		is = pread(fd, first, sizeof(first), 0) == (ssize_t)sizeof(first) &&
		     memcmp(first, "BSLOGSEG", sizeof(first)) == 0;
		(void)close(fd);
	}
	return is;
}

static int take_open(struct bs_logged *l, const unsigned char *payload, size_t len,
		     struct bs_fail *why)
{
	const char *xml;
	size_t xml_len;
	int rc = bs_wire_get_open(l->sum.protocol, &xml, &xml_len, payload, len, why);

	if (rc != 0)
		return rc;
	if (l->xml != NULL)
		return bs_fail(why, BS_ERR_FORMAT, "a second header");
	l->xml = malloc(xml_len + 1);
	if (l->xml == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "a header of %zu bytes", xml_len);
	memcpy(l->xml, xml, xml_len);
	l->xml[xml_len] = '\0';
	return 0;
}

static int take_acq(struct bs_logged *l, uint64_t seq, struct bs_log_place place,
		    struct bs_fail *why)
{
	if (l->count == UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "more acquisitions than a recording may have");
	if (l->count == l->room) {
		const size_t room = l->room > 0 ? 2 * l->room : 1024;
		struct entry *more = realloc(l->acq, room * sizeof(*more));

		if (more == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%zu acquisitions", room);
		l->acq = more;
		l->room = room;
	}
	l->acq[l->count++] = (struct entry){ seq, place };
	return 0;
}

static int take_message(struct bs_logged *l, const struct bs_log_message *m, struct bs_fail *why)
{
	const unsigned char *payload;
	struct bs_mrd_acq head;
	struct bs_wire w;
	uint64_t sent = 0;
	size_t traj;
	size_t data;
	int rc = bs_wire_decode(&w, m->bytes, m->len, &payload, why);
	const size_t len = rc == 0 ? (size_t)w.payload_len : 0;

	if (rc != 0)
		return rc;
	switch (w.kind) {
	case BS_WIRE_OPEN:
		return take_open(l, payload, len, why);
	case BS_WIRE_ACQ:
		rc = bs_mrd_parse_acq(&head, &traj, &data, payload, len, why);
		return rc == 0 ? take_acq(l, w.seq, m->place, why) : rc;
	case BS_WIRE_WAVEFORM:
		l->sum.waveforms++;
		return 0;
	case BS_WIRE_ANSWER:
		l->sum.answers++;
		return 0;
	case BS_WIRE_CLOSE:
		rc = bs_wire_get_u64(&sent, payload, len, why);
		l->sum.closed = sent == l->count;
		return rc;
	case BS_WIRE_HEARTBEAT:
	case BS_WIRE_ACCEPT:
	case BS_WIRE_REFUSE:
	case BS_WIRE_ACK:
	case BS_WIRE_OUTCOME:
	case BS_WIRE_IMAGE:
	case BS_WIRE_NEXT:
	case BS_WIRE_STORED:
	case BS_WIRE_NONE:
		break;
	}
	return bs_fail(why, BS_ERR_KIND, "a message of kind %u", w.kind);
}

static int by_seq(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Everything up to the end, or the damage. */
static int read_all(struct bs_logged *l, const char *path, struct bs_fail *damage,
		    struct bs_fail *why)
{
	struct bs_log_message m;
	struct bs_fail bad;
	int rc;

	while ((rc = bs_log_next(l->reader, &m, damage)) == 1) {
		l->sum.messages++;
		l->sum.bytes += m.len;
		rc = take_message(l, &m, &bad);
		if (rc != 0)
			return bs_fail(why, rc == BS_ERR_NOMEM ? rc : BS_ERR_FORMAT,
				       "%s: record %llu: %s", path, (unsigned long long)m.number,
				       bad.text);
	}
	if (rc == 0)
		*damage = (struct bs_fail){ 0 };
	if (rc == 0 && l->sum.messages == 0)
		return bs_fail(why, BS_ERR_STATE, "%s: empty: nothing had been committed", path);
	if (l->xml == NULL)
		return bs_fail(why, BS_ERR_FORMAT, "%s: no scan's header in it%s%s", path,
			       rc != 0 ? ": " : "", rc != 0 ? damage->text : "");
	if (l->count > 0)
		qsort(l->acq, l->count, sizeof(*l->acq), by_seq);
	for (uint32_t i = 1; i < l->count; i++)
		if (l->acq[i].seq == l->acq[i - 1].seq)
			return bs_fail(why, BS_ERR_FORMAT, "%s: number %llu is in it twice", path,
				       (unsigned long long)l->acq[i].seq);
	return 0;
}

int bs_logged_open(struct bs_logged **out, const char *path, struct bs_fail *damage,
		   struct bs_fail *why)
{
	struct bs_logged *l = calloc(1, sizeof(*l));
	int rc;

	*out = NULL;
	*damage = (struct bs_fail){ 0 };
	if (l == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", path);
	rc = bs_log_open(&l->reader, path, why);
	if (rc == 0)
		rc = read_all(l, path, damage, why);
	if (rc != 0) {
		bs_logged_close(l);
		return rc;
	}
	l->sum.acquisitions = l->count;
	l->sum.segments = bs_log_segments(l->reader);
	l->sum.session = bs_log_begins(l->reader)->session;
	l->sum.started_ns = bs_log_begins(l->reader)->started_ns;
	l->sum.end = bs_log_end(l->reader);
	bs_log_where(l->reader, l->sum.where, sizeof(l->sum.where));
	if (l->sum.end != BS_LOG_END_SEALED || !l->sum.closed)
		(void)snprintf(l->note, sizeof(l->note),
			       "the scan was not closed%s: it holds the %u acquisitions that came",
			       l->sum.end == BS_LOG_END_SEALED ? ""
			       : l->sum.end == BS_LOG_END_TORN ? " and its log ends in mid-write"
							       : " and its log has no end",
			       l->count);
	*out = l;
	return 0;
}

const char *bs_logged_xml(const struct bs_logged *l)
{
	return l->xml;
}

uint32_t bs_logged_count(const struct bs_logged *l)
{
	return l->count;
}

const char *bs_logged_note(const struct bs_logged *l)
{
	return l->note;
}

const struct bs_logged_sum *bs_logged_sum(const struct bs_logged *l)
{
	return &l->sum;
}

int bs_logged_read(struct bs_logged *l, uint32_t index, struct bs_mrd_acq *head, float **traj,
		   float **data, struct bs_fail *why)
{
	const unsigned char *payload;
	struct bs_log_message m;
	struct bs_wire w;
	size_t traj_at;
	size_t data_at;
	int rc;

	if (index >= l->count)
		return bs_fail(why, BS_ERR_INDEX, "acquisition %u of %u", index, l->count);
	rc = bs_log_again(l->reader, l->acq[index].place, &m, why);
	if (rc == 0)
		rc = bs_wire_decode(&w, m.bytes, m.len, &payload, why);
	if (rc == 0)
		rc = bs_mrd_parse_acq(head, &traj_at, &data_at, payload, (size_t)w.payload_len,
				      why);
	if (rc != 0)
		return rc;
	/* envelope and header, 404 bytes, are a multiple of 4, and the record is aligned */
	*traj = (float *)(uintptr_t)(payload + traj_at);
	*data = (float *)(uintptr_t)(payload + data_at);
	return 0;
}

void bs_logged_close(struct bs_logged *l)
{
	if (l == NULL)
		return;
	bs_log_close(l->reader);
	free(l->xml);
	free(l->acq);
	free(l);
}
