/* board/status/images.c - rows of who takes images, of the store, of the logs of scans */
#include "board/status/rows.h"
#include "config/keys.h"
#include "core/thread/clock.h"

struct taker {
	uint64_t waiting;
	int64_t in_hand_ns;
	bool stuck;
};

static bool open_taker(struct bs_item *x)
{
	const struct bs_taker_record *r = &x->m->s->taker[x->at[0]];
	const int64_t since = atomic_load(&r->since_ns);
	const int64_t ns = since != 0 ? bs_now_ns() - since : 0;

	*FILL(taker, x) = (struct taker){ bs_taker_waiting(r), ns > 0 ? ns : 0, ns > 1000000000 };
	return true;
}

static const struct bs_row taker_rows[] = {
	{ "consumer", "A sink, `archive`, `viewers`, or `images`: the store.", EACH(taker, name),
	  .label = "taker" },
	{ "policy", "`wait`, `keep_newest` or `spill`, keys `overload.*`.", EACH(taker, policy),
	  .words = bs_policy_words },
	{ "queue", "Images that may wait for it in the pool.", EACH(taker, queue) },
	{ "waiting", "Images in the pool that wait for it.", VIEW(taker, waiting), GAUGE,
	  .pass = 1 },
	{ "taken", "Images made for it.", EACH(taker, taken), COUNTER },
	{ "handed", "Images that it took.", EACH(taker, handed), COUNTER },
	{ "failed", "Images that it refused.", EACH(taker, failed), COUNTER },
	{ "shed", "Images for which there was no room, or nobody there.", EACH(taker, shed),
	  COUNTER },
	{ "lost", "Images given up: in hand, or in its connection, when that ended.",
	  EACH(taker, lost), COUNTER },
	{ "behind", "Images that it will be given from the store.", EACH(taker, behind), GAUGE,
	  .pass = 1 },
	{ "in_hand_ms", "How long it is at the present one.", VIEW(taker, in_hand_ns),
	  .unit = BS_MS, GAUGE, .as = "taker_in_hand_seconds", .pass = 1 },
	{ "refusal", "Why a sink did not take the last image; empty: it did.",
	  EACH(taker, refusal) },
	{ NULL, "1 when it refused the last image.", EACH(taker, refusal), GAUGE,
	  .as = "taker_refuses", .pass = 1 },
	{ "spills", NULL, EACH(taker, policy), .is = BS_POLICY_SPILL },
	{ "stuck", NULL, VIEW(taker, stuck) },
	{ 0 }
};

struct asker {
	bool current;
};

static bool open_asker(struct bs_item *x)
{
	const struct bs_images_record *r = &x->m->s->images;

	FILL(asker, x)->current = atomic_load(&r->asker[x->at[0]].cursor) >= atomic_load(&r->last);
	return true;
}

static const struct bs_row asker_rows[] = {
	{ "asker", "Its name.", EACH(images.asker, name), .label = "asker" },
	{ "has", "Number of the last image that it says it has.", EACH(images.asker, cursor) },
	{ "missed", "Images that went from the store before an archive had asked for them.",
	  EACH(images.asker, missed), COUNTER },
	{ NULL, "1 when the archive says that it has the newest image of the store.",
	  VIEW(asker, current), GAUGE, .as = "asker_current" },
	{ 0 }
};

static const struct bs_row store_rows[] = {
	{ "last", "Number of the newest (ipc/WIRE.md).", IN(images.last) },
	{ "bytes", "Of the images that are kept on disk.", IN(images.bytes), .unit = BS_BYTES,
	  GAUGE, .pass = 1 },
	{ "askers", "Archives that ask for images.", .most = BS_ASKERS, .view = open_asker,
	  .rows = asker_rows, .prefix = "asker_", WHEN(EACH(images.asker, name)) },
	{ 0 }
};

static const struct bs_row times_rows[] = {
	{ "n", "How many there were.", .type = BS_TYPE_HIST_COUNT }, { .rows = bs_quantiles }, { 0 }
};

struct log {
	const char *mode;
	uint64_t waiting, waiting_bytes;
};

static bool open_logged(struct bs_item *x)
{
	const struct bs_log_record *r = &x->m->s->log;

	*FILL(log, x) = (struct log){
		.waiting = atomic_load(&r->put) - atomic_load(&r->done),
		.waiting_bytes = atomic_load(&r->head) - atomic_load(&r->tail),
	};
	return bs_site_logs(&x->m->s->site);
}

static const struct bs_row logged_rows[] = {
	{ NULL, "1 while the log cannot be written.", IN(log.failed), .unit = BS_YES, GAUGE,
	  .as = "log_failed" },
	{ "dir", "The folder of the logs.", IN(site.log.dir) },
	{ "name", "The scan's log, its first file.", IN(log.name) },
	{ "unprotected", "1 while the log has failed or lags, and the scan goes on without it.",
	  IN(log.unprotected), .unit = BS_YES, GAUGE },
	{ "lacking", "Messages that no log has.", IN(log.lacking), COUNTER },
	{ "waiting", "Messages on their way to the disk.", VIEW(log, waiting) },
	{ "waiting_bytes", "On their way to the disk.", VIEW(log, waiting_bytes), .unit = BS_BYTES,
	  GAUGE },
	{ "buffer_bytes", "The room for these.", IN(pools.log_bytes), .unit = BS_BYTES, GAUGE },
	{ "bytes", "Messages that are durable.", IN(log.bytes), .unit = BS_BYTES, COUNTER },
	{ "segments", "Files that were begun.", IN(log.segments), COUNTER, .pass = 1 },
	{ "unprepared", "Of these, those for which there was no spare one.", IN(log.unprepared),
	  COUNTER, .pass = 1 },
	{ "failures", "Calls of the disk's that failed.", IN(log.failures), COUNTER, .pass = 1 },
	{ "fault", "Why it cannot be written, else empty.", IN(log.fault), WHEN(IN(log.failed)) },
	{ "commits", "Commits to the disk.", IN(log.commits), COUNTER },
	{ "commit", "How long a commit took.", IN(log.commit), .rows = times_rows,
	  .metric = BS_TIMES, .pass = 1 },
	{ "lag", "From a message's receipt to its being durable.", IN(log.lag), .rows = times_rows,
	  .metric = BS_TIMES, .pass = 1 },
	{ 0 }
};

static bool open_log(struct bs_item *x)
{
	const struct bs_site *site = &x->m->s->site;

	FILL(log, x)->mode =
		bs_log_mode_words[bs_site_logs(site) ? site->log.mode : BS_LOG_MODE_OFF];
	return true;
}

static const struct bs_row log_rows[] = {
	{ "mode", "`off`, `relaxed` or `durable`; where it is off, that is all.", VIEW(log, mode) },
	{ .view = open_logged,
	  .rows = logged_rows,
	  .line = "log            {mode}, [name?{name}][!name?none yet]: {bytes} bytes in "
		  "{commits} commits, durable {lag.p50_us:.1} us after held at p50, "
		  "{lag.p99_us:.1} at p99[unprotected?, UNPROTECTED]\n"
		  "[lacking?  {lacking} messages are in no log\n]",
	  .prefix = "log_",
	  .rounded = true },
	{ 0 }
};
const struct bs_row bs_status_log[] = {
	{ "log", "The logs of scans.", .view = open_log, .rows = log_rows, .pass = 19 }, { 0 }
};
const struct bs_row bs_status_takers[] = {
	{ "consumers", "Who takes images.", .most = BS_TAKERS, .view = open_taker,
	  .rows = taker_rows,
	  .line = "to {consumer:-28} {policy:-11} {handed} handed, {shed} shed, {failed} failed, "
		  "{waiting} waiting[spills?, {behind} in the store][lost?, {lost} lost]"
		  "[stuck?, stuck]\n[refusal?  refused the last one: {refusal}\n]",
	  .prefix = "taker_", .rounded = true, WHEN(EACH(taker, name)), .pass = 15 },
	{ "images", "Those kept for archives that ask (`endpoints.images`).", .rows = store_rows,
	  .prefix = "store_", .rounded = true, .pass = 17 },
	{ 0 }
};
