/* board/emit/takers.c - see takers.h */
#include "board/emit/takers.h"

#include <stdio.h>
#include <string.h>

#include "board/emit/sinks.h"
#include "core/thread/clock.h"
#include "ipc/wire/envelope.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

#define LOOK_NS 20000000 /* between two looks at an archive that takes nothing */

/* What a taker's functions get as arg; sink: its number, or BS_TAKER_ARCHIVE. */
struct target {
	struct emit *e;
	uint32_t sink;
};
static struct target targets[BS_TAKERS];

static void say(void *arg, const char *line)
{
	struct target *t = arg;

	bs_emit_say(t->e, BS_EVENT_LIMIT, 0, line);
}

static void missed(void *arg, const unsigned char *msg, size_t len)
{
	struct target *t = arg;

	if (len >= BS_WIRE_BYTES)
		bs_emit_undelivered(t->e, bs_wire_session(msg), 1);
}

/* ---- a sink ---- */

static int put_file(void *arg, struct bs_taker *taker, const unsigned char *msg, size_t len,
		    struct bs_fail *why)
{
	struct target *t = arg;
	const unsigned char *payload = NULL;
	struct bs_mrd_image head;
	struct bs_wire w;
	size_t attr_at = 0;
	size_t pixels_at = 0;
	int rc = bs_wire_decode(&w, msg, len, &payload, why); /* it may come from disk */

	(void)taker;
	if (rc == 0)
		rc = bs_mrd_parse_image(&head, &attr_at, &pixels_at, payload, (size_t)w.payload_len,
					why);
	if (rc == 0 && pixels_at - attr_at > BS_POOLS_ATTRIBUTES)
		rc = bs_fail(why, BS_ERR_LENGTH, "image %u: attributes of %zu bytes",
			     head.image_index, pixels_at - attr_at);
	if (rc == 0)
		rc = bs_sinks_open(t->e, t->sink, why);
	if (rc == 0)
		rc = bs_sinks_put(t->e, t->sink, &head, payload + attr_at, pixels_at - attr_at,
				  payload + pixels_at, why);
	if (rc != 0)
		atomic_fetch_add(&t->e->env->shm.s->totals.sink_faults, 1);
	return rc == BS_ERR_ABORTED ? BS_ERR_IO : rc;
}

/* ---- the archive ---- */

static int attempt_archive(void *arg, const unsigned char *msg, size_t len)
{
	struct target *t = arg;

	return bs_emit_to_archive(t->e, msg, len, NULL) == 0;
}

/* Tries until the archive takes the image, has left (spill: waits for its return), or we end. */
static int send_archive(void *arg, struct bs_taker *taker, const unsigned char *msg, size_t len,
			struct bs_fail *why)
{
	struct target *t = arg;
	struct bs_endpoint *archive = &t->e->archive;
	bool spill = t->e->env->site.overload.archive == BS_POLICY_SPILL;

	for (;;) {
		int rc = bs_emit_to_archive(t->e, msg, len, why);
		bool gone = !bs_emit_has_archive(t->e);
		struct pollfd writable = { archive->send_fd, POLLIN, 0 };

		bs_taker_absent(taker, rc != 0 && gone);
		if (rc <= 0)
			return rc;
		if (bs_taker_quits(taker))
			return BS_ERR_ABORTED;
		if (gone && !spill)
			return bs_fail(why, BS_ERR_IO, "the archive has left");
		(void)bs_endpoint_wait(&writable, 1, bs_now_ns() + LOOK_NS, NULL);
	}
}

/* ---- all of them ---- */

static void name_record(struct emit *e, uint32_t i, const char *name, enum bs_policy policy)
{
	struct bs_taker_record *r = &e->env->shm.s->taker[i];

	/* nothing waits under this policy: a predecessor's image in hand is taken again */
	if (policy == BS_POLICY_WAIT)
		atomic_store(&r->taken, atomic_load(&r->handed) + atomic_load(&r->failed) +
						atomic_load(&r->shed) + atomic_load(&r->lost));
	atomic_store(&r->since_ns, 0);
	r->policy = policy;
	r->queue = policy == BS_POLICY_WAIT ? 0 : e->env->site.overload.queue;
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
}

static int open_taker(struct emit *e, uint32_t i, const char *name, const char *file,
		      enum bs_policy policy, struct bs_fail *why)
{
	const struct bs_overload *o = &e->env->site.overload;
	struct bs_taker_record *r = &e->env->shm.s->taker[i];
	struct bs_taker_spec spec = {
		.name = e->env->shm.s->taker[i].name,
		.file = file,
		.policy = policy,
		.queue = o->queue,
		.image_bytes = (size_t)e->env->shm.s->pools.image_bytes,
		.spill_dir = o->spill_dir,
		.spill_bytes = (uint64_t)o->spill_mib << 20,
		.deliver = i == BS_TAKER_ARCHIVE ? send_archive : put_file,
		.attempt = i == BS_TAKER_ARCHIVE ? attempt_archive : NULL,
		.missed = missed,
		.say = say,
		.arg = &targets[i],
	};

	name_record(e, i, name, policy);
	targets[i] = (struct target){ e, i };
	if (policy == BS_POLICY_WAIT)
		return 0;
	uint64_t lost = atomic_load(&r->lost);
	int rc = bs_taker_open(&e->taker[i], &spec, r, why);

	if (rc != 0 && policy == BS_POLICY_SPILL && bs_emit_succeeds(e)) {
		/* without this the reconstruction would wait for the folder to be usable */
		say(&targets[i], why->text);
		say(&targets[i], "until the next start images are shed, not spilled");
		spec.policy = BS_POLICY_KEEP_NEWEST;
		r->policy = BS_POLICY_KEEP_NEWEST;
		rc = bs_taker_open(&e->taker[i], &spec, r, why);
	}
	/* which scans they were of is not known any more: they count for the present one */
	bs_emit_undelivered(e, atomic_load(&e->session), atomic_load(&r->lost) - lost);
	return rc;
}

/* The name of a sink's pieces: by its type and folder, as its place in the site may change. */
static void name_file(char out[32], const struct bs_sink_spec *sink)
{
	(void)snprintf(out, 32, "%.8s-%08x", sink->type,
		       bs_crc32c(0, sink->dir, strlen(sink->dir)));
}

/* Spilled images of takers that the site no longer has would stay for good: the log says so. */
static void find_strangers(struct emit *e, const char *const *names, size_t n)
{
	const char *dir = e->env->site.overload.spill_dir;
	char file[300] = "";
	char line[BS_EVENT_TEXT];
	uint64_t found = dir[0] != '\0' ? bs_spill_strangers(dir, names, n, file, sizeof(file)) : 0;

	if (found == 0)
		return;
	(void)snprintf(
		line, sizeof(line),
		"%.160s: %llu spilled images belong to no taker of this site, as %.100s: they "
		"stay there",
		dir, (unsigned long long)found, file);
	say(&targets[0], line);
}

int bs_takers_open(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	static char files[BS_SINKS_MAX][32];
	const char *spilling[BS_SINKS_MAX + 1];
	size_t n = 0;
	int rc = 0;

	targets[0].e = e;
	for (uint32_t i = 0; rc == 0 && i < site->sinks; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "%.8s %.54s", site->sink[i].type,
			       site->sink[i].dir);
		name_file(files[i], &site->sink[i]);
		if (site->overload.sinks == BS_POLICY_SPILL)
			spilling[n++] = files[i];
		rc = open_taker(e, i, name, files[i], site->overload.sinks, why);
	}
	if (rc == 0 && e->archive.socket >= 0)
		rc = open_taker(e, BS_TAKER_ARCHIVE, "archive", "archive", site->overload.archive,
				why);
	if (e->archive.socket >= 0 && site->overload.archive == BS_POLICY_SPILL)
		spilling[n++] = "archive";
	if (e->viewers.socket >= 0)
		name_record(e, BS_TAKER_VIEWERS, "viewers", BS_POLICY_KEEP_NEWEST);
	if (rc == 0) /* else not all names are known */
		find_strangers(e, spilling, n);
	return rc;
}

bool bs_takers_quiet(struct emit *e)
{
	bool quiet = true;

	for (int i = 0; i < BS_TAKERS; i++)
		quiet = quiet && (e->taker[i] == NULL || bs_taker_quiet(e->taker[i]));
	return quiet;
}

void bs_takers_close(struct emit *e)
{
	for (int i = 0; i < BS_TAKERS; i++) {
		bs_taker_close(e->taker[i]);
		e->taker[i] = NULL;
	}
}
