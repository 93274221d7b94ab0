/* board/tool/audit/image.c - see image.h */
#include "board/tool/audit/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/latency/budget.h"
#include "ipc/wire/meta.h"
#include "ipc/wire/mrd.h"

#define SERIES   16384u /* offset of velocity images' series numbers; scans' numbers are below it */
#define PREVIEWS 32768u
#define RECENT   64u /* newest image numbers that are known one by one */

/* words of an image's quality, in the order of user_int[7] */
static const char *const qualities[] = { "complete", "partial", "late", "degraded" };
enum { COMPLETE, PARTIAL, LATE, DEGRADED, QUALITIES };

/* What an image's attributes say. */
struct said {
	char protocol[64], quality[16], rung[16], budget[16], measurement[64];
	uint64_t readouts, missing, gaps, rejected, counts;
	int64_t sender_ns;
	bool lacks, has_sender;
};

static uint64_t number_of(const char *value)
{
	return strtoull(value, NULL, 10);
}

static void hear_value(void *arg, const char *name, const char *value, unsigned index)
{
	static const char count[] = "boreside_count_";
	struct said *s = arg;
	const struct {
		const char *name;
		char *text;
		size_t cap;
	} texts[] = {
		{ "boreside_protocol", s->protocol, sizeof(s->protocol) },
		{ "boreside_quality", s->quality, sizeof(s->quality) },
		{ "boreside_rung", s->rung, sizeof(s->rung) },
		{ "boreside_budget", s->budget, sizeof(s->budget) },
		{ "mrd_measurementID", s->measurement, sizeof(s->measurement) },
	};
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
		{ "boreside_readouts", &s->readouts },
		{ "boreside_missing", &s->missing },
		{ "boreside_gaps", &s->gaps },
		{ "boreside_rejected", &s->rejected },
	};

	for (size_t i = 0; index == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(name, texts[i].name) == 0)
			(void)snprintf(texts[i].text, texts[i].cap, "%s", value);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(name, numbers[i].name) == 0)
			*numbers[i].number = number_of(value);
	if (strncmp(name, count, sizeof(count) - 1) == 0)
		s->counts += number_of(value);
	s->lacks = s->lacks || strcmp(name, "boreside_lacks") == 0;
	if (strcmp(name, "boreside_sender_ns") == 0) {
		s->sender_ns = strtoll(value, NULL, 10);
		s->has_sender = true;
	}
}

/* ---- the image alone ---- */

static bool is_preview(const struct bs_wire *w)
{
	return w->seq > BS_WIRE_PREVIEWS;
}

static bool judge_head(struct bs_audit *a, const struct bs_wire *w, const struct bs_mrd_image *h)
{
	const uint64_t number = is_preview(w) ? w->seq - BS_WIRE_PREVIEWS : w->seq;
	const bool good = h->version == 1 && h->image_index == (uint16_t)number &&
			  bs_mrd_pixel_bytes(h->data_type) != 0;

	if (!good || number == 0)
		bs_found(a->f, BS_PROMISE_IMAGE_HEAD, a->where,
			 "version %u, data_type %u, index %u of image %" PRIu64, h->version,
			 h->data_type, h->image_index, number);
	return good;
}

static void judge_series(struct bs_audit *a, const struct bs_wire *w, const struct bs_mrd_image *h,
			 const struct bs_audit_scan *scan)
{
	const bool velocity = (h->image_series_index & SERIES) != 0;
	const uint64_t number = scan->log.logs == 1 && scan->log.scan != 0 ? scan->log.scan
				: scan->outcome.known                      ? scan->outcome.scan
									   : 0;

	bs_judged(a->f, BS_PROMISE_IMAGE_SERIES);
	if (((h->image_series_index & PREVIEWS) != 0) != is_preview(w) ||
	    (velocity && h->image_type != BS_MRD_PHASE) ||
	    (number != 0 && h->image_series_index % SERIES != number % SERIES))
		bs_found(a->f, BS_PROMISE_IMAGE_SERIES, a->where,
			 "series %u, image_type %u of scan %" PRIu64 ", %s", h->image_series_index,
			 h->image_type, number, is_preview(w) ? "a preview" : "no preview");
}

static int32_t in_head(uint64_t n)
{
	return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

/* Compares the quality in header and attributes. Returns "" if they agree, else what differs. */
static const char *quality_fault(const struct bs_mrd_image *h, const struct said *s, bool preview)
{
	const int32_t quality = h->user_int[7];
	const int32_t rung = h->user_int[6];
	const bool missed = h->user_int[2] != 0;
	const bool lacks = s->missing != 0 || s->lacks || preview;

	if (quality < 0 || quality >= QUALITIES || strcmp(s->quality, qualities[quality]) != 0)
		return "quality is another one in the head";
	if (rung < 0 || rung >= BS_RUNGS || strcmp(s->rung, bs_rung_name((enum bs_rung)rung)) != 0)
		return "the rung is another one in the head";
	if (in_head(s->missing) != h->user_int[4] || in_head(s->gaps) != h->user_int[5])
		return "missing or gaps are others in the head";
	if (s->budget[0] != '\0' && (strcmp(s->budget, "missed") == 0) != missed)
		return "met or missed is another in the head";
	if (missed && (h->user_int[0] == 0 || preview))
		return "a budget that it does not have is missed";
	if ((quality == PARTIAL) != lacks)
		return lacks ? "it lacks something and is not partial" : "partial, lacks nothing";
	if (quality != PARTIAL && (quality == LATE) != missed)
		return missed ? "it is late and does not say so" : "late, and not missed";
	return "";
}

static void judge_quality(struct bs_audit *a, const struct bs_wire *w, const struct bs_mrd_image *h,
			  const struct said *s)
{
	const char *fault = quality_fault(h, s, is_preview(w));

	bs_judged(a->f, BS_PROMISE_IMAGE_QUALITY);
	if (fault[0] != '\0')
		bs_found(a->f, BS_PROMISE_IMAGE_QUALITY, a->where,
			 "%s: %.15s, rung %.15s, %" PRIu64 " missing, %" PRIu64
			 " gaps, budget %.15s; head %d %d %d %d %d",
			 fault, s->quality, s->rung, s->missing, s->gaps, s->budget, h->user_int[7],
			 h->user_int[6], h->user_int[4], h->user_int[5], h->user_int[2]);
}

/* ---- an image's place among the others ---- */

/* Judges an image's number, from 1. recent: bit n is set if image *last - n is there. */
static void judge_number(struct bs_audit *a, uint64_t number, uint64_t *last, uint64_t *recent)
{
	bs_judged(a->f, BS_PROMISE_IMAGE_ONCE);
	bs_judged(a->f, BS_PROMISE_IMAGE_ORDER);
	if (number > *last) {
		*recent = number - *last < RECENT ? *recent << (number - *last) : 0;
		*recent |= 1;
		*last = number;
	} else if (*last - number < RECENT && (*recent >> (*last - number) & 1) != 0) {
		bs_found(a->f, BS_PROMISE_IMAGE_ONCE, a->where, "image %" PRIu64 " comes again",
			 number);
	} else {
		bs_found(a->f, BS_PROMISE_IMAGE_ORDER, a->where,
			 "image %" PRIu64 " follows %" PRIu64, number, *last);
	}
}

static void judge_order(struct bs_audit_images *i, const struct bs_wire *w,
			struct bs_audit_scan *scan)
{
	struct bs_audit_shots *s = &scan->shots;
	struct bs_audit *a = i->a;

	if (i->session != w->session && i->session != 0) {
		struct bs_audit_scan *before = bs_audit_scan(&a->scans, i->session);

		if (before != NULL)
			before->shots.over = true;
		if (s->over)
			bs_found(a->f, BS_PROMISE_IMAGE_ORDER, a->where,
				 "session %016" PRIx64 " goes on behind another one's images",
				 w->session);
	}
	if (i->session == 0)
		s->cut = !i->all && w->seq != 1;
	i->session = w->session;
	if (is_preview(w)) {
		s->previews++;
		judge_number(a, w->seq - BS_WIRE_PREVIEWS, &s->last_preview, &s->recent_preview);
		return;
	}
	s->first = s->images == 0 ? w->seq : s->first;
	s->images++;
	judge_number(a, w->seq, &s->last, &s->recent);
}

/* ---- the log of an image's scan ---- */

static void judge_log(struct bs_audit_images *i, const struct bs_wire *w,
		      const struct bs_audit_scan *scan)
{
	struct bs_audit *a = i->a;
	const struct bs_audit_outcome *o = &scan->outcome;

	if (scan->log.logs > 0) {
		bs_judged(a->f, BS_PROMISE_IMAGE_LOG);
		i->logged = true;
		return;
	}
	/* without an outcome nobody knows whether the log could be written */
	if (!i->logged || !o->known || (o->log_known && !o->has_log)) {
		a->unlogged++;
		return;
	}
	bs_found(a->f, BS_PROMISE_IMAGE_LOG, a->where,
		 "no log of session %016" PRIx64 " is there, those of older ones are", w->session);
}

static void judge_scan(struct bs_audit *a, const struct bs_mrd_image *h, const struct said *s,
		       const struct bs_audit_log *log)
{
	const bool all = log->sealed && log->closed && log->missing == 0;

	bs_judged(a->f, BS_PROMISE_IMAGE_SCAN);
	if (log->protocol[0] != '\0' && strcmp(s->protocol, log->protocol) != 0)
		bs_found(a->f, BS_PROMISE_IMAGE_SCAN, a->where, "protocol '%s', OPEN asks for '%s'",
			 s->protocol, log->protocol);
	else if (log->acqs > 0 && !log->uids && h->measurement_uid != log->uid)
		bs_found(a->f, BS_PROMISE_IMAGE_SCAN, a->where,
			 "measurement_uid %u, that of its readouts is %u", h->measurement_uid,
			 log->uid);
	else if (all && s->has_sender && (s->sender_ns < log->from_ns || s->sender_ns > log->to_ns))
		bs_found(a->f, BS_PROMISE_IMAGE_SCAN, a->where,
			 "its last readout is of %" PRId64 " ns, those of the log of %" PRId64
			 " to %" PRId64,
			 s->sender_ns, log->from_ns, log->to_ns);
	else if (log->measurement[0] != '\0' && s->measurement[0] != '\0' &&
		 strcmp(s->measurement, log->measurement) != 0)
		bs_found(a->f, BS_PROMISE_IMAGE_SCAN, a->where,
			 "its measurementID is not that of its scan's header");
}

static void judge_readouts(struct bs_audit *a, const struct said *s, const struct bs_audit_log *log)
{
	const uint64_t most = log->acqs + log->missing;

	if (!log->sealed || !log->closed || log->damaged)
		return;
	bs_judged(a->f, BS_PROMISE_IMAGE_READOUTS);
	if (s->readouts > most || s->counts > most)
		bs_found(a->f, BS_PROMISE_IMAGE_READOUTS, a->where,
			 "%" PRIu64 " readouts, %" PRIu64 " of the scan until then, %" PRIu64
			 " are in the log, %" PRIu64 " numbers are missing",
			 s->readouts, s->counts, log->acqs, log->missing);
}

static int read_attributes(struct bs_audit_images *i, struct said *s, const unsigned char *at,
			   size_t len, struct bs_fail *why)
{
	struct bs_fail bad;

	memset(s, 0, sizeof(*s));
	if (len + 1 > i->room) {
		char *more = realloc(i->attributes, len + 1);

		if (more == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "attributes of %zu bytes", len);
		i->attributes = more;
		i->room = len + 1;
	}
	memcpy(i->attributes, at, len);
	i->attributes[len] = '\0';
	if (bs_meta_read(i->attributes, hear_value, s, &bad) != 0)
		bs_found(i->a->f, BS_PROMISE_IMAGE_HEAD, i->a->where, "attributes: %s", bad.text);
	return 0;
}

int bs_audit_image(struct bs_audit_images *i, const struct bs_wire *w, const unsigned char *payload,
		   struct bs_fail *why)
{
	struct bs_audit *a = i->a;
	struct bs_audit_scan *scan = bs_audit_scan(&a->scans, w->session);
	struct bs_mrd_image h;
	struct said s;
	struct bs_fail bad;
	size_t at;
	size_t pixels;

	if (scan == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "session %016" PRIx64, w->session);
	bs_judged(a->f, BS_PROMISE_IMAGE_HEAD);
	judge_order(i, w, scan);
	judge_log(i, w, scan);
	if (bs_mrd_parse_image(&h, &at, &pixels, payload, (size_t)w->payload_len, &bad) != 0) {
		bs_found(a->f, BS_PROMISE_IMAGE_HEAD, a->where, "%s", bad.text);
		return 0;
	}
	if (!judge_head(a, w, &h))
		return 0;
	if (read_attributes(i, &s, payload + at, h.attribute_string_len, why) != 0)
		return BS_ERR_NOMEM;
	judge_series(a, w, &h, scan);
	judge_quality(a, w, &h, &s);
	if (!is_preview(w))
		scan->shots.late += h.user_int[2] != 0;
	if (s.gaps + s.rejected > scan->shots.named)
		scan->shots.named = s.gaps + s.rejected;
	if (scan->log.logs == 1) {
		judge_scan(a, &h, &s, &scan->log);
		judge_readouts(a, &s, &scan->log);
	}
	return 0;
}
