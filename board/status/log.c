/* board/status/log.c - the logs of scans: how far they are, how the disk does; see members.h */
#include <inttypes.h>

#include "board/status/members.h"
#include "board/status/quantiles.h"

static const char *mode_name(const struct bs_site *site)
{
	static const char *const names[] = { "off", "relaxed", "durable" };

	return names[bs_site_logs(site) ? site->log.mode : BS_LOG_MODE_OFF];
}

static void put_times(struct bs_doc *d, const char *name, const struct bs_hist *h)
{
	bs_doc_open(d, name, '{');
	bs_doc_number(d, "n", atomic_load(&h->count));
	bs_quantiles_put(d, h);
	bs_doc_close(d);
}

void bs_status_log(struct bs_doc *d, const struct bs_shared *s)
{
	const struct bs_log_record *r = &s->log;
	const bool failed = atomic_load(&r->failed) != 0;

	bs_doc_open(d, "log", '{');
	bs_doc_text(d, "mode", mode_name(&s->site));
	if (bs_site_logs(&s->site)) {
		bs_doc_text(d, "dir", s->site.log.dir);
		bs_doc_chars(d, "name", r->name, sizeof(r->name));
		bs_doc_flag(d, "unprotected", atomic_load(&r->unprotected) != 0);
		bs_doc_number(d, "lacking", atomic_load(&r->lacking));
		bs_doc_number(d, "waiting", atomic_load(&r->put) - atomic_load(&r->done));
		bs_doc_number(d, "waiting_bytes", atomic_load(&r->head) - atomic_load(&r->tail));
		bs_doc_number(d, "buffer_bytes", s->pools.log_bytes);
		bs_doc_number(d, "bytes", atomic_load(&r->bytes));
		bs_doc_number(d, "segments", atomic_load(&r->segments));
		bs_doc_number(d, "unprepared", atomic_load(&r->unprepared));
		bs_doc_number(d, "failures", atomic_load(&r->failures));
		bs_doc_chars(d, "fault", failed ? r->fault : "", sizeof(r->fault));
		bs_doc_number(d, "commits", atomic_load(&r->commits));
		put_times(d, "commit", &r->commit);
		put_times(d, "lag", &r->lag);
	}
	bs_doc_close(d);
}

void bs_status_log_table(struct bs_text *t, const struct bs_shared *s)
{
	const struct bs_log_record *r = &s->log;

	if (!bs_site_logs(&s->site))
		return;
	bs_text_put(t,
		    "log            %s, %.64s: %" PRIu64 " bytes in %" PRIu64
		    " commits, durable %.1f us after held at p50, %.1f at p99%s\n",
		    mode_name(&s->site), r->name[0] != '\0' ? r->name : "none yet",
		    atomic_load(&r->bytes), atomic_load(&r->commits),
		    (double)bs_hist_quantile(&r->lag, 0.5) * 1e-3,
		    (double)bs_hist_quantile(&r->lag, 0.99) * 1e-3,
		    atomic_load(&r->unprotected) != 0 ? ", UNPROTECTED" : "");
	if (atomic_load(&r->lacking) != 0)
		bs_text_put(t, "  %" PRIu64 " messages are in no log\n", atomic_load(&r->lacking));
}
