/* board/status/metricsof.c - metrics of protocols, takers of images and the log; see members.h */
#include "board/status/members.h"
#include "board/status/prom.h"
#include "core/thread/clock.h"

static struct bs_label protocol_label(const struct bs_shm *shm, uint32_t i)
{
	const char *name = shm->s->site.protocol[i].name;

	return (struct bs_label){ "protocol", name, BS_NAME_MAX };
}

static void put_times(struct bs_text *t, const struct bs_shm *shm)
{
	bs_prom_family(t, "boreside_stage_seconds", "histogram",
		       "How long each stage of an image took, and (stage image) the whole: from "
		       "its last readout to its handing on.");
	for (uint32_t i = 0; i < shm->s->site.protocols; i++)
		for (int st = 0; st < BS_STAGES; st++) {
			const struct bs_hist *h = bs_shm_hist(shm, i, (enum bs_stage)st);

			if (atomic_load(&h->count) != 0)
				bs_prom_times(
					t, "boreside_stage_seconds",
					BS_LABELS(protocol_label(shm, i),
						  { "stage", bs_stage_name((enum bs_stage)st), 0 }),
					h);
		}
}

/* What there is one of for each protocol. */
static void put_protocols(struct bs_text *t, const struct bs_shm *shm)
{
	static const char *const rows[][3] = {
		{ "boreside_protocol_armed", "gauge", "1 when scans of it are taken." },
		{ "boreside_protocol_plan_bytes", "gauge", "Memory that arming it took." },
		{ "boreside_budget_seconds", "gauge", "An image's declared latency; 0: none." },
		{ "boreside_budget_images_total", "counter", "Images that had a budget." },
		{ "boreside_budget_missed_total", "counter", "Of these, those that missed it." },
		{ "boreside_budget_explained_total", "counter",
		  "Of these, those that a stall of the machine explains." },
		{ "boreside_budget_scans_stopped_total", "counter",
		  "Scans that a late image ended." },
		{ "boreside_budget_rung", "gauge",
		  "Where the ladder stands: 0 full, 1 fewer iterations, 2 gridding, 3 late." },
	};
	const struct bs_shared *s = shm->s;

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		bs_prom_family(t, rows[r][0], rows[r][1], rows[r][2]);
		for (uint32_t i = 0; i < s->site.protocols; i++) {
			const struct bs_budget_record *b = &s->budget[i];
			const double v[] = { atomic_load(&s->armed[i]) != 0,
					     (double)s->arm_bytes[i],
					     s->site.protocol[i].image_ms * 1e-3,
					     (double)atomic_load(&b->handed),
					     (double)atomic_load(&b->missed),
					     (double)atomic_load(&s->misses[i].explained),
					     (double)atomic_load(&b->stopped),
					     atomic_load(&b->rung) };

			bs_prom_real(t, rows[r][0], BS_LABELS(protocol_label(shm, i)), v[r]);
		}
	}
}

/* The stages that have budgets of their own, and the ladder's rungs. */
static void put_budgets(struct bs_text *t, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;

	bs_prom_family(t, "boreside_budget_stage_missed_total", "counter",
		       "Images of which a stage took longer than its own budget.");
	for (uint32_t i = 0; i < s->site.protocols; i++)
		for (int st = 0; st < BS_BUDGET_STAGES; st++)
			if (s->site.protocol[i].stage_ms[st] > 0.0)
				bs_prom_count(
					t, "boreside_budget_stage_missed_total",
					BS_LABELS(protocol_label(shm, i),
						  { "stage",
						    bs_budget_stage_name((enum bs_budget_stage)st),
						    0 }),
					atomic_load(&s->budget[i].stage_missed[st]));
	bs_prom_family(t, "boreside_rung_images_total", "counter",
		       "Images made on each rung of the ladder.");
	for (uint32_t i = 0; i < s->site.protocols; i++)
		for (int r = 0; r < BS_RUNGS; r++)
			bs_prom_count(t, "boreside_rung_images_total",
				      BS_LABELS(protocol_label(shm, i),
						{ "rung", bs_rung_name((enum bs_rung)r), 0 }),
				      atomic_load(&s->budget[i].images[r]));
}

void bs_metrics_protocols(struct bs_text *t, const struct bs_shm *shm)
{
	put_protocols(t, shm);
	put_budgets(t, shm);
	put_times(t, shm);
}

static double held_s(const struct bs_taker_record *r)
{
	const int64_t since = atomic_load(&r->since_ns);
	const int64_t ns = bs_now_ns() - since;

	return since != 0 && ns > 0 ? (double)ns * 1e-9 : 0.0;
}

static void put_askers(struct bs_text *t, const struct bs_images_record *r)
{
	bs_prom_family(t, "boreside_asker_missed_total", "counter",
		       "Images that went from the store before an archive had asked for them.");
	for (uint32_t i = 0; i < BS_ASKERS && r->asker[i].name[0] != '\0'; i++)
		bs_prom_count(t, "boreside_asker_missed_total",
			      BS_LABELS({ "asker", r->asker[i].name, sizeof(r->asker[i].name) }),
			      atomic_load(&r->asker[i].missed));
	bs_prom_family(t, "boreside_asker_current", "gauge",
		       "1 when the archive says that it has the newest image of the store.");
	for (uint32_t i = 0; i < BS_ASKERS && r->asker[i].name[0] != '\0'; i++)
		bs_prom_count(t, "boreside_asker_current",
			      BS_LABELS({ "asker", r->asker[i].name, sizeof(r->asker[i].name) }),
			      atomic_load(&r->asker[i].cursor) >= atomic_load(&r->last));
	bs_prom_one(t, "boreside_store_bytes", "gauge", "Of the images that are kept on disk.",
		    (double)atomic_load(&r->bytes));
}

void bs_metrics_takers(struct bs_text *t, const struct bs_shared *s)
{
	static const char *const rows[][3] = {
		{ "boreside_taker_taken_total", "counter", "Images made for it." },
		{ "boreside_taker_handed_total", "counter", "Images that it took." },
		{ "boreside_taker_failed_total", "counter", "Images that it refused." },
		{ "boreside_taker_shed_total", "counter",
		  "Images for which there was no room, or nobody there." },
		{ "boreside_taker_lost_total", "counter",
		  "Images given up: in hand, or in its connection, when that ended." },
		{ "boreside_taker_waiting", "gauge", "Images in the pool that wait for it." },
		{ "boreside_taker_behind", "gauge",
		  "Images that it will be given from the store." },
		{ "boreside_taker_in_hand_seconds", "gauge", "How long it is at the present one." },
		{ "boreside_taker_refuses", "gauge", "1 when it refused the last image." },
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		bs_prom_family(t, rows[r][0], rows[r][1], rows[r][2]);
		for (int i = 0; i < BS_TAKERS; i++) {
			const struct bs_taker_record *k = &s->taker[i];
			const double v[] = { (double)atomic_load(&k->taken),
					     (double)atomic_load(&k->handed),
					     (double)atomic_load(&k->failed),
					     (double)atomic_load(&k->shed),
					     (double)atomic_load(&k->lost),
					     (double)bs_taker_waiting(k),
					     (double)atomic_load(&k->behind),
					     held_s(k),
					     k->refusal[0] != '\0' };

			if (k->name[0] != '\0')
				bs_prom_real(t, rows[r][0],
					     BS_LABELS({ "taker", k->name, sizeof(k->name) }),
					     v[r]);
		}
	}
	put_askers(t, &s->images);
}

void bs_metrics_log(struct bs_text *t, const struct bs_shared *s)
{
	const struct bs_log_record *r = &s->log;

	if (!bs_site_logs(&s->site))
		return;
	const struct {
		const char *name, *type, *help;
		double v;
	} rows[] = {
		{ "boreside_log_failed", "gauge", "1 while the log cannot be written.",
		  atomic_load(&r->failed) != 0 },
		{ "boreside_log_unprotected", "gauge",
		  "1 while the log has failed or lags, and the scan goes on without it.",
		  atomic_load(&r->unprotected) != 0 },
		{ "boreside_log_lacking_total", "counter", "Messages that no log has.",
		  (double)atomic_load(&r->lacking) },
		{ "boreside_log_waiting_bytes", "gauge", "On their way to the disk.",
		  (double)(atomic_load(&r->head) - atomic_load(&r->tail)) },
		{ "boreside_log_buffer_bytes", "gauge", "The room for these.",
		  (double)s->pools.log_bytes },
		{ "boreside_log_bytes_total", "counter", "Messages that are durable.",
		  (double)atomic_load(&r->bytes) },
		{ "boreside_log_commits_total", "counter", "Commits to the disk.",
		  (double)atomic_load(&r->commits) },
		{ "boreside_log_segments_total", "counter", "Files that were begun.",
		  (double)atomic_load(&r->segments) },
		{ "boreside_log_unprepared_total", "counter",
		  "Of these, those for which there was no spare one.",
		  (double)atomic_load(&r->unprepared) },
		{ "boreside_log_failures_total", "counter", "Calls of the disk's that failed.",
		  (double)atomic_load(&r->failures) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bs_prom_one(t, rows[i].name, rows[i].type, rows[i].help, rows[i].v);
	bs_prom_family(t, "boreside_log_commit_seconds", "histogram", "How long a commit took.");
	bs_prom_times(t, "boreside_log_commit_seconds", NULL, &r->commit);
	bs_prom_family(t, "boreside_log_lag_seconds", "histogram",
		       "From a message's receipt to its being durable.");
	bs_prom_times(t, "boreside_log_lag_seconds", NULL, &r->lag);
}
