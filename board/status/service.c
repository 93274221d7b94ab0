/* board/status/service.c - rows of the service as a whole: site, processes, pools, totals */
#include "board/status/rows.h"
#include "board/status/status.h"
#include "core/frame/state.h"
#include "core/thread/clock.h"
#include "core/version.h"
#include "ipc/gate.h"

static const uint32_t one = 1;
static const char *const version = BS_VERSION;
static const struct bs_row release_rows[] = {
	{ "boreside", "The release.", FIXED(version), .label = "version" },
	{ "node", "The node's name.", IN(site.name), .label = "node" },
	{ NULL, "The release and the node's name.", FIXED(one), GAUGE, .as = "build_info" },
	{ 0 }
};

struct state {
	bool now;
};

static bool open_state(struct bs_item *x)
{
	const uint32_t state = atomic_load(&bs_scan_newest(x->m->s->scan)->state);

	FILL(state, x)->now = x->at[0] == state;
	return true;
}

static const struct bs_row state_rows[] = { { NULL, NULL, PLACE(bs_state_name), .label = "state" },
					    { NULL, "1 for the state that the service is in.",
					      VIEW(state, now), GAUGE, .as = "state" },
					    { 0 } };

static const struct bs_row reload_rows[] = {
	{ "number", "Of the last that has ended.", IN(reload.ended) },
	{ "state", "`none`, `checking`, `waiting for the scan in flight`, `arming`, ...",
	  IN(reload.step), .word = bs_reload_name },
	{ "refused", "1 when the last reload was refused.", IN(reload.code), .unit = BS_YES,
	  GAUGE },
	{ "text", "How the last one ended: the reason where it was refused.", IN(reload.text) },
	{ "held_ms", "How long headers waited in the last one that was made.", IN(reload.held_ns),
	  .unit = BS_MS },
	{ 0 }
};

static const struct bs_row site_rows[] = {
	{ "file", "That the service was started with.", IN(site.file) },
	{ "generation", "Of the site file in force; one more with each reload.", IN(generation),
	  GAUGE },
	{ "loaded", "When it was.", IN(loaded_s), .unit = BS_UTC },
	{ "reload", "Changes of it in service.", .rows = reload_rows, .prefix = "reload_" },
	{ 0 }
};

static const char *const phases[] = { "down", "arming", "ready", "stopped", NULL };
static const struct bs_row worker_rows[] = {
	{ "name", "`ingest`, `recon` or `emit`.", PLACE(bs_worker_name), .label = "worker" },
	{ "pid", "Its process.", EACH(worker, pid) },
	{ "phase", "`down`, `arming`, `ready` or `stopped`.", EACH(worker, phase),
	  .words = phases },
	{ NULL, "1 when the process is ready.", EACH(worker, phase), .is = BS_PHASE_READY, GAUGE,
	  .as = "worker_up" },
	{ "restarts", "Times that it was started again.", EACH(worker, epoch), .less_one = true,
	  COUNTER },
	{ "stalls", "Times it was replaced for lack of progress.", EACH(worker, stalls), COUNTER },
	{ "restart_ms", "Its last end, as seen, to its last start.", EACH(worker, restart_ns),
	  .unit = BS_MS },
	{ "waits", "Times it had to wait for the next stage.", EACH(worker, waits), COUNTER },
	{ "events_lost", "Log lines of it that did not fit.", EACH(worker, events.lost), COUNTER,
	  .as = "events_lost_total" },
	{ "last_end", "How the last one ended.", EACH(worker, last_end),
	  WHEN(EACH(worker, epoch), .less_one = true) },
	{ 0 }
};

static bool open_clients(struct bs_item *x)
{
	return x->at[0] == BS_BRIDGE_MRD;
}

static const struct bs_row client_rows[] = {
	{ "connected", "`mrd` alone, since it was started: clients now.",
	  EACH(bridge, clients.connected) },
	{ "scans", "Scans that they began.", EACH(bridge, clients.scans) },
	{ "active", "Of these, under way.", EACH(bridge, clients.active) },
	{ "images", "Images sent to them.", EACH(bridge, clients.images) },
	{ "refused", "Clients that were told of an error, and scans that did not end well.",
	  EACH(bridge, clients.refused) },
	{ "last_error", "The last of these: whose, and why.", EACH(bridge, clients.error) },
	{ 0 }
};

static const struct bs_row bridge_rows[] = {
	{ "name", "`mrd` or `web`.", PLACE(bs_bridge_name), .label = "bridge" },
	{ "pid", "0: it is about to be started again.", EACH(bridge, pid) },
	{ "restarts", "Times that it was started again.", EACH(bridge, starts), .less_one = true },
	{ NULL, "1 while a process beside the path of images runs.", EACH(bridge, pid),
	  .unit = BS_YES, GAUGE, .as = "bridge_up" },
	{ NULL, "Times that it was started.", EACH(bridge, starts), COUNTER,
	  .as = "bridge_starts_total" },
	{ "last_end", "How the last one ended.", EACH(bridge, last_end) },
	{ .view = open_clients,
	  .rows = client_rows,
	  .line = "  clients: connected {connected}, scans {scans} (now {active}), images "
		  "{images}, errors {refused}[last_error?; the last: {last_error}]\n" },
	{ 0 }
};

static const struct bs_row step_image_rows[] = {
	{ "verdict", "`used`, `numbers`, or why the image left without the step.",
	  PLACE(bs_step_verdict_name), .label = "verdict" },
	{ "n", "Images.", EACH_OF(step, images), COUNTER, .as = "step_images_total" },
	{ 0 }
};

static const struct bs_row step_rows[] = {
	{ "name", "Its name.", EACH(site.step, name), .label = "step" },
	{ "on", "The protocol whose images it gets.", EACH(site.step, on) },
	{ "pid", "Where the service starts it. 0: it is about to be started again.",
	  EACH(step, pid) },
	{ "starts", "Times that it was started.", EACH(step, starts), COUNTER,
	  .as = "step_starts_total" },
	{ "there", "1 while a process is connected.", EACH(step, there), GAUGE, .as = "step_up" },
	{ "ready", "1 when it says that it is ready.", EACH(step, ready) },
	{ "cut", "Connections that were ended since it hung, or gave stale answers.",
	  EACH(step, cut) },
	{ "last", "What became of the last image at it.", EACH(step, last),
	  .word = bs_step_verdict_name },
	{ "trials", "Images that it was timed with, of no scan; 0: it was not yet.",
	  EACH(step, trials) },
	{ "trial", "What became of the last of these.", EACH(step, trial),
	  .word = bs_step_verdict_name },
	{ "trial_p50_us", "Their median.", EACH(step, trial_p50_ns), .unit = BS_US },
	{ "trial_worst_us", "The worst that one takes, with the margin.",
	  EACH(step, trial_worst_ns), .unit = BS_US, GAUGE, .as = "step_worst_seconds" },
	{ "last_end", "How its last process ended.", EACH(step, last_end) },
	{ "images", "What became of images at it.", .most = BS_STEP_VERDICTS,
	  .rows = step_image_rows },
	{ 0 }
};

struct pool {
	const char *name;
	uint32_t slots, in_use, high_water;
	uint64_t slot_bytes, refusals;
};

static bool open_pool(struct bs_item *x)
{
	const struct bs_pools *sizes = &x->m->s->pools;
	const bool acq = x->at[0] == 0;
	const struct bs_pool *p = acq ? x->m->acq_pool : x->m->image_pool;

	*FILL(pool, x) = (struct pool){ acq ? "acquisitions" : "images",
					p->slots,
					bs_pool_in_use(p),
					atomic_load(&p->high_water),
					acq ? sizes->acq_bytes : sizes->image_bytes,
					atomic_load(&p->refusals) };
	return true;
}

static const struct bs_row pool_rows[] = {
	{ "name", "`acquisitions` or `images`.", VIEW(pool, name), .label = "pool" },
	{ "slots", "Slots of the shared pool.", VIEW(pool, slots), GAUGE },
	{ "slot_bytes", "Of each.", VIEW(pool, slot_bytes), .unit = BS_BYTES },
	{ "in_use", "Slots in use.", VIEW(pool, in_use), GAUGE, .as = "pool_used_slots" },
	{ "high_water", "The most that were in use at once.", VIEW(pool, high_water), GAUGE,
	  .as = "pool_high_water_slots" },
	{ "refusals", "Times that no slot was free.", VIEW(pool, refusals), COUNTER },
	{ 0 }
};

struct queues {
	uint64_t recon, emit;
};

static bool open_queues(struct bs_item *x)
{
	const struct bs_shm *m = x->m;

	FILL(queues, x)->recon = bs_ring_count(m->acq_ring);
	FILL(queues, x)->emit =
		atomic_load(&m->image_ring->head) - atomic_load(&m->s->images.closed);
	return true;
}

static const struct bs_row queue_rows[] = { { "recon", "Readouts that wait for recon.",
					      VIEW(queues, recon), GAUGE, .as = "recon_queue" },
					    { "emit", "Images that wait for emit.",
					      VIEW(queues, emit), GAUGE, .as = "emit_queue" },
					    { 0 } };

struct totals {
	uint64_t filed, nonsense;
};

static bool open_totals(struct bs_item *x)
{
	struct totals *v = FILL(totals, x);

	*v = (struct totals){ .nonsense = bs_gate_nonsense() };
	for (uint32_t i = 0; i < BS_SINKS_MAX; i++)
		v->filed += atomic_load(&x->m->s->taker[i].handed);
	return true;
}

#define TOTAL(field) IN(totals.field), COUNTER
static const struct bs_row total_rows[] = {
	{ "scans", "Scans that were accepted.", TOTAL(scans) },
	{ "refused", "Headers of scans that were refused.", TOTAL(refused) },
	{ "messages", "Messages received at the k-space endpoint.", TOTAL(messages) },
	{ "bytes", "Bytes received at the k-space endpoint.", TOTAL(bytes) },
	{ "rejected", "Messages that were rejected.", TOTAL(rejected) },
	{ "gaps", "Messages that never came: gaps in the senders' numbers.", TOTAL(gaps) },
	{ "duplicates", "Messages that came twice.", TOTAL(duplicates) },
	{ "too_late", "Messages that came after their gap was given up.", TOTAL(late),
	  .as = "late_total" },
	{ "answers", "Answers that senders were told (ipc/WIRE.md).", TOTAL(answers) },
	{ "answers_late", "Answers that were dropped: too late.", TOTAL(answers_late) },
	{ NULL, "Scans whose outcome was not well.", TOTAL(failed), .as = "scans_failed_total" },
	{ "images", "Images that were made.", TOTAL(images) },
	{ "engine_faults", "Failures of the engines that reconstruct.", TOTAL(engine_faults) },
	{ "archived", "Images that the archive took.", IN(taker[BS_TAKER_ARCHIVE].handed) },
	{ "archive_shed", "Shed: a connected archive took nothing for 1 s, or none was there.",
	  IN(taker[BS_TAKER_ARCHIVE].shed) },
	{ "published", "Images sent to viewers.", TOTAL(published) },
	{ "filed", "Images that sinks took.", VIEW(totals, filed) },
	{ "sink_faults", "Images that a taker of images refused.", TOTAL(sink_faults) },
	{ "repeated", "Images given again since they were in hand when a process ended.",
	  TOTAL(repeated) },
	{ "lost", "Images given up: in hand when processes ended by themselves, twice.",
	  TOTAL(lost) },
	{ "unsent", "Images for which there was no taker.", TOTAL(unsent) },
	{ "nonsense", "Peers of emit's sockets that did not speak the protocol.",
	  VIEW(totals, nonsense), COUNTER },
	{ NULL, "Lines of the log that were warnings or errors.", IN(errors), COUNTER,
	  .as = "warnings_total" },
	{ 0 }
};

static const struct bs_row error_rows[] = { { "", "", ITEM(error) }, { 0 } };

struct service {
	int64_t up_ns;
	bool ready;
};

static bool open_service(struct bs_item *x)
{
	const struct bs_shared *s = x->m->s;
	char ready[8];

	x->at[0] = (uint32_t)(bs_scan_newest(s->scan) - s->scan);
	(void)bs_status_ready(ready, sizeof(ready), x->m);
	*FILL(service, x) = (struct service){ bs_now_ns() - s->started_ns, ready[0] == 'y' };
	return true;
}

static const struct bs_row top_rows[] = {
	{ .rows = release_rows },
	{ "state", "`starting`, `idle`, `scanning`, `draining`, `aborting` or `stopped`.",
	  EACH(scan, state), .word = bs_state_name },
	{ .most = BS_STATES, .view = open_state, .rows = state_rows },
	{ NULL, "1 when a scan would be taken now.", VIEW(service, ready), GAUGE, .as = "ready" },
	{ "site", "The site file.", .rows = site_rows,
	  .line = "site file      generation {generation}, {file}"
		  "[reload.refused?; the last reload was refused: {reload.text}]\n",
	  .prefix = "site_", .rounded = true, .pass = 1 },
	{ "uptime_s", "Since the service started.", VIEW(service, up_ns), .unit = BS_S, GAUGE,
	  .as = "uptime_seconds" },
	{ "shared_bytes", "That the processes share.", IN(at.total_bytes), .unit = BS_BYTES, GAUGE,
	  .as = "shared_memory_bytes", .pass = 1 },
	{ "memory_locked", "1 when it cannot be swapped out.", IN(locked), .unit = BS_YES, GAUGE,
	  .as = "shared_memory_locked", .pass = 1 },
	{ "lapack",
	  "The files of the LAPACK, and of another BLAS, that recon has loaded; or empty.",
	  IN(lapack) },
	{ .rows = bs_status_protocols },
	{ "workers", "The service's processes.", .most = BS_WORKERS, .rows = worker_rows,
	  .line = "{name:-14} pid {pid}, {phase}, restarts {restarts}"
		  "[restarts?, last: {last_end}]\n",
	  .prefix = "worker_", .pass = 3 },
	{ "bridges", "Processes beside the path of images that the service started.",
	  .most = BS_BRIDGES, .rows = bridge_rows,
	  .line = "{name:-14} pid {pid}, restarts {restarts}[restarts?, last: {last_end}]\n",
	  WHEN(EACH(bridge, starts)), .pass = 4 },
	{ "steps", "The site's own steps.", .most = BS_STEPS_MAX, NUMBER(site.steps),
	  .rows = step_rows,
	  .line = "step {name:-9} on {on}, pid {pid}, [there?connected][!there?not connected]"
		  "[!ready?, not ready], last image: {last}[last_end?; its last end: {last_end}]\n",
	  .pass = 4 },
	{ .rows = bs_status_machine },
	{ .rows = bs_status_scans },
	{ .rows = bs_status_log },
	{ "pools", "The shared pools.", .most = 2, .view = open_pool, .rows = pool_rows,
	  .line = "{name:-14} {slots:6} x {slot_bytes:10} bytes: {in_use} in use, high-water "
		  "{high_water}, refusals {refusals}\n",
	  .prefix = "pool_", .pass = 7 },
	{ "queues", "What waits.", .view = open_queues, .rows = queue_rows, .rounded = true,
	  .pass = 7 },
	{ .rows = bs_status_latency },
	{ "totals", "Since the service started.", .view = open_totals, .rows = total_rows,
	  .prefix = "", .pass = 2 },
	{ .rows = bs_status_takers },
	{ "errors",
	  "The log's last 16 lines that were warnings or worse, each behind its time (UTC), "
	  "newest last.",
	  .most = BS_LAST_ERRORS, RING(errors, BS_LAST_ERRORS), .rows = error_rows,
	  .line = "! {}\n" },
	{ 0 }
};
const struct bs_row bs_status_top = {
	.view = open_service,
	.rows = top_rows,
	.line = "{node}: {state}, up {uptime_s:.0} s, scans: {totals.scans}, images: "
		"{totals.images}\n[lapack?LAPACK         {lapack}\n]",
	.prefix = "",
	.rounded = true,
};
