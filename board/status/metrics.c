/* board/status/metrics.c - the service's numbers as Prometheus reads them; see status.h */
#include <stdio.h>

#include "board/service/worker.h"
#include "board/status/members.h"
#include "board/status/prom.h"
#include "board/status/status.h"
#include "core/frame/state.h"
#include "core/thread/clock.h"
#include "core/version.h"
#include "ipc/gate.h"

/* A number that lies somewhere in the shared memory, or in a record of it. */
struct row {
	const char *name, *help;
	size_t at; /* of an _Atomic uint64_t */
};

static uint64_t at(const void *record, size_t offset)
{
	return atomic_load((const _Atomic uint64_t *)((const char *)record + offset));
}

static void put_totals(struct bs_text *t, const struct bs_shared *s)
{
#define ROW(field, help)                                                                           \
	{                                                                                          \
		"boreside_" #field "_total", help, offsetof(struct bs_totals, field)               \
	}
	static const struct row rows[] = {
		ROW(scans, "Scans that were accepted."),
		ROW(refused, "Headers of scans that were refused."),
		ROW(messages, "Messages received at the k-space endpoint."),
		ROW(bytes, "Bytes received at the k-space endpoint."),
		ROW(rejected, "Messages that were rejected."),
		ROW(gaps, "Messages that never came: gaps in the senders' numbers."),
		ROW(duplicates, "Messages that came twice."),
		ROW(late, "Messages that came after their gap was given up."),
		{ "boreside_scans_failed_total", "Scans whose outcome was not well.",
		  offsetof(struct bs_totals, failed) },
		ROW(images, "Images that were made."),
		ROW(engine_faults, "Failures of the engines that reconstruct."),
		ROW(published, "Images sent to viewers."),
		ROW(sink_faults, "Images that a taker of images refused."),
		ROW(repeated, "Images given again since they were in hand when a process ended."),
		ROW(lost, "Images given up: in hand when processes ended by themselves, twice."),
	};
#undef ROW

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bs_prom_family(t, rows[i].name, "counter", rows[i].help);
		bs_prom_count(t, rows[i].name, NULL, at(&s->totals, rows[i].at));
	}
	bs_prom_family(t, "boreside_nonsense_total", "counter",
		       "Peers of emit's sockets that did not speak the protocol.");
	bs_prom_count(t, "boreside_nonsense_total", NULL, bs_gate_nonsense());
	bs_prom_family(t, "boreside_warnings_total", "counter",
		       "Lines of the log that were warnings or errors.");
	bs_prom_count(t, "boreside_warnings_total", NULL, atomic_load(&s->errors));
}

static void put_service(struct bs_text *t, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	const uint32_t state = atomic_load(&bs_scan_newest(s->scan)->state);
	char ready[8];

	bs_prom_family(t, "boreside_build_info", "gauge", "The release and the node's name.");
	bs_prom_count(t, "boreside_build_info",
		      BS_LABELS({ "version", BS_VERSION, 0 },
				{ "node", s->site.name, sizeof(s->site.name) }),
		      1);
	bs_prom_family(t, "boreside_state", "gauge", "1 for the state that the service is in.");
	for (uint32_t i = 0; i < BS_STATES; i++)
		bs_prom_count(t, "boreside_state",
			      BS_LABELS({ "state", bs_state_name((enum bs_state)i), 0 }),
			      i == state);
	(void)bs_status_ready(ready, sizeof(ready), shm);
	bs_prom_one(t, "boreside_ready", "gauge", "1 when a scan would be taken now.",
		    ready[0] == 'y');
	bs_prom_one(t, "boreside_uptime_seconds", "gauge", "Since the service started.",
		    (double)(bs_now_ns() - s->started_ns) * 1e-9);
	bs_prom_one(t, "boreside_site_generation", "gauge",
		    "Of the site file in force; one more with each reload.",
		    (double)atomic_load(&s->generation));
	bs_prom_one(t, "boreside_reload_refused", "gauge", "1 when the last reload was refused.",
		    s->reload.code != 0);
	bs_prom_one(t, "boreside_shared_memory_bytes", "gauge", "That the processes share.",
		    (double)s->at.total_bytes);
	bs_prom_one(t, "boreside_shared_memory_locked", "gauge", "1 when it cannot be swapped out.",
		    s->locked != 0);
}

static void put_workers(struct bs_text *t, const struct bs_shared *s)
{
	static const struct row rows[] = {
		{ "boreside_worker_up", "1 when the process is ready.", 0 },
		{ "boreside_worker_restarts_total", "Times that it was started again.", 1 },
		{ "boreside_worker_stalls_total", "Times it was replaced for lack of progress.",
		  2 },
		{ "boreside_worker_waits_total", "Times it had to wait for the next stage.", 3 },
		{ "boreside_events_lost_total", "Log lines of it that did not fit.", 4 },
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		bs_prom_family(t, rows[r].name, r == 0 ? "gauge" : "counter", rows[r].help);
		for (int i = 0; i < BS_WORKERS; i++) {
			const struct bs_worker_state *w = &s->worker[i];
			const uint32_t starts = atomic_load(&w->epoch);
			const uint64_t v[] = { atomic_load(&w->phase) == BS_PHASE_READY,
					       starts > 0 ? starts - 1 : 0, atomic_load(&w->stalls),
					       atomic_load(&w->waits),
					       atomic_load(&w->events.lost) };

			bs_prom_count(t, rows[r].name,
				      BS_LABELS({ "worker", bs_worker_name((enum bs_worker)i), 0 }),
				      v[rows[r].at]);
		}
	}
}

/* Those that were started. */
static void put_bridges(struct bs_text *t, const struct bs_shared *s)
{
	for (int r = 0; r < 2; r++) {
		if (r == 0)
			bs_prom_family(t, "boreside_bridge_up", "gauge",
				       "1 while a process beside the path of images runs.");
		else
			bs_prom_family(t, "boreside_bridge_starts_total", "counter",
				       "Times that it was started.");
		for (int i = 0; i < BS_BRIDGES; i++) {
			const struct bs_bridge_state *h = &s->bridge[i];
			const uint32_t starts = atomic_load(&h->starts);

			if (starts != 0)
				bs_prom_count(t,
					      r == 0 ? "boreside_bridge_up"
						     : "boreside_bridge_starts_total",
					      BS_LABELS({ "bridge",
							  bs_bridge_name((enum bs_bridge)i), 0 }),
					      r == 0 ? atomic_load(&h->pid) != 0 : starts);
		}
	}
}

static void put_pools(struct bs_text *t, const struct bs_shm *m)
{
	static const char *const names[] = { "boreside_pool_slots", "boreside_pool_used_slots",
					     "boreside_pool_high_water_slots",
					     "boreside_pool_refusals_total" };
	static const char *const helps[] = { "Slots of the shared pool.", "Slots in use.",
					     "The most that were in use at once.",
					     "Times that no slot was free." };
	const struct {
		const char *name;
		const struct bs_pool *p;
	} pools[] = { { "acquisitions", m->acq_pool }, { "images", m->image_pool } };

	for (int r = 0; r < 4; r++) {
		bs_prom_family(t, names[r], r == 3 ? "counter" : "gauge", helps[r]);
		for (int i = 0; i < 2; i++) {
			const struct bs_pool *p = pools[i].p;
			const uint64_t v[] = { p->slots, bs_pool_in_use(p),
					       atomic_load(&p->high_water),
					       atomic_load(&p->refusals) };

			bs_prom_count(t, names[r], BS_LABELS({ "pool", pools[i].name, 0 }), v[r]);
		}
	}
	bs_prom_one(t, "boreside_recon_queue", "gauge", "Readouts that wait for recon.",
		    (double)bs_ring_count(m->acq_ring));
	bs_prom_one(
		t, "boreside_emit_queue", "gauge", "Images that wait for emit.",
		(double)(atomic_load(&m->image_ring->head) - atomic_load(&m->s->images.closed)));
}

static void put_kspace(struct bs_text *t, const struct bs_shared *s)
{
	static const struct row rows[] = {
		{ "boreside_kspace_connected_total", "Connections, since ingest started.",
		  offsetof(struct bs_kspace_record, connected) },
		{ "boreside_kspace_let_go_total", "Peers for whom there was no place any more.",
		  offsetof(struct bs_kspace_record, let_go) },
		{ "boreside_kspace_nonsense_total", "Peers that did not speak the protocol.",
		  offsetof(struct bs_kspace_record, nonsense) },
	};

	bs_prom_one(t, "boreside_kspace_peers", "gauge", "Connected at the k-space endpoint.",
		    atomic_load(&s->kspace.peers));
	bs_prom_one(t, "boreside_kspace_waiting", "gauge", "Of these, whose header waits.",
		    atomic_load(&s->kspace.waiting));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bs_prom_family(t, rows[i].name, "counter", rows[i].help);
		bs_prom_count(t, rows[i].name, NULL, at(&s->kspace, rows[i].at));
	}
}

static void put_canaries(struct bs_text *t, const struct bs_shared *s)
{
	const uint32_t n = atomic_load(&s->canaries);
	char cpu[16];

	bs_prom_family(t, "boreside_machine_stalls_total", "counter",
		       "Times that the machine itself stalled a thread that only wakes each "
		       "millisecond.");
	for (uint32_t i = 0; i < n && i < BS_CANARIES; i++) {
		(void)snprintf(cpu, sizeof(cpu), "%d", atomic_load(&s->canary[i].cpu));
		bs_prom_count(t, "boreside_machine_stalls_total", BS_LABELS({ "cpu", cpu, 0 }),
			      atomic_load(&s->canary[i].stalls));
	}
}

static void put_gpus(struct bs_text *t, const struct bs_shared *s)
{
	static const char *const names[] = { "boreside_gpu_memory_bytes",
					     "boreside_gpu_memory_free_bytes" };
	static const char *const helps[] = { "Memory of the GPU.",
					     "What was free when the protocols had been armed." };
	const uint32_t n = atomic_load(&s->gpus);
	char number[16];

	for (int r = 0; r < 2 && n > 0; r++) {
		bs_prom_family(t, names[r], "gauge", helps[r]);
		for (uint32_t i = 0; i < n && i < BS_DEVICES_MAX; i++) {
			const struct bs_gpu_record *g = &s->gpu[i];

			(void)snprintf(number, sizeof(number), "%u", g->number);
			bs_prom_count(t, names[r],
				      BS_LABELS({ "gpu", number, 0 },
						{ "name", g->name, sizeof(g->name) }),
				      r == 0 ? g->total_bytes : g->free_bytes);
		}
	}
}

int bs_status_metrics(char *out, size_t cap, const struct bs_shm *shm)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	put_service(&t, shm);
	put_totals(&t, shm->s);
	put_workers(&t, shm->s);
	put_bridges(&t, shm->s);
	put_kspace(&t, shm->s);
	bs_metrics_seal(&t, shm->s);
	put_pools(&t, shm);
	put_canaries(&t, shm->s);
	put_gpus(&t, shm->s);
	bs_metrics_protocols(&t, shm);
	bs_metrics_takers(&t, shm->s);
	bs_metrics_log(&t, shm->s);
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}
