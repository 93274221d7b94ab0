/* drivers/tool/replay/replay.c - see replay.h */
#include "drivers/tool/replay/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "drivers/tool/load/recording.h"
#include "drivers/tool/replay/asking.h"
#include "drivers/tool/replay/pace.h"
#include "drivers/tool/replay/repeat.h"
#include "ipc/wire/mrd.h"

#define RING_BYTES     (64u << 20)
#define PRELOAD_BYTES  (1u << 30)
#define PROGRESS_NS    INT64_C(200000000)
#define STUCK          3 /* connections without an answer after which a socket is replaced */
#define QUIET_NS       INT64_C(2000000000)
#define MESSAGES_AHEAD 64 /* messages sent before the socket is looked at again */

/* One acquisition's message. */
struct readout {
	unsigned char *payload; /* payload; NULL: not in memory, read when it is to be sent */
	size_t len;
	int64_t stamp_ns; /* time after the first readout, at the recording's own pace */
};

struct bs_replay {
	struct bs_recording *recording;
	struct bs_sender sender;
	struct readout *readout; /* [count] readouts */
	uint32_t count;
	uint32_t loaded; /* number of readouts in memory, from the first on */
	enum bs_replay_clock clock;
	struct bs_repeat repeat; /* total: readouts of a scan; without repetition the recording's */
	char *xml;               /* the header with what is changed of it; NULL: the recording's */
	/* [count] heads as recorded, of the readouts that come again; or NULL */
	struct bs_mrd_acq *head;
	struct bs_hist lateness;
	struct bs_departures departures;

	/* number of readouts, from the first on, whose stamps are set */
	uint32_t stamped;
	struct bs_mrd_acq last; /* header of readout stamped - 1, and its stamp */
	double last_us;

	/* the readout last read from disk while playing; NULL: none */
	uint32_t at;
	unsigned char *spare;
};

static void set_stamp(struct bs_replay *r, uint32_t index, const struct bs_mrd_acq *head)
{
	if (index != r->stamped)
		return;
	if (index > 0)
		r->last_us += bs_pace_step_us(r->clock, &r->last, head);
	r->readout[index].stamp_ns = llrint(r->last_us * 1e3);
	r->last = *head;
	r->stamped++;
}

/*
 * Chooses the clock. user_int[0] may mean anything: it counts as microseconds only if it leaves
 * each readout its sampling time, less a tenth for rounding.
 */
static int choose_clock(struct bs_replay *r, struct bs_fail *why)
{
	struct bs_recorded acq;
	struct bs_mrd_acq first;
	double needed;
	int rc = bs_recording_read(r->recording, 0, &acq, why);

	if (rc != 0)
		return rc;
	first = acq.head;
	rc = bs_recording_read(r->recording, r->count - 1, &acq, why);
	if (rc != 0)
		return rc;
	needed = 0.9 * bs_pace_duration_us(&acq.head) * (r->count > 1 ? 1 : 0);
	if (bs_pace_step_us(BS_REPLAY_MICROSECONDS, &first, &acq.head) >=
		    needed * (r->count - 1.0) &&
	    acq.head.user_int[0] != first.user_int[0])
		r->clock = BS_REPLAY_MICROSECONDS;
	else if (acq.head.acquisition_time_stamp != first.acquisition_time_stamp)
		r->clock = BS_REPLAY_TICKS;
	else
		r->clock = BS_REPLAY_SAMPLING;
	return 0;
}

/* Reads one acquisition as its message's payload; sets its length and stamp. */
static int load_readout(struct bs_replay *r, uint32_t index, unsigned char **payload,
			struct bs_fail *why)
{
	struct bs_recorded acq;
	size_t traj;
	size_t len;
	int rc = bs_recording_read(r->recording, index, &acq, why);

	if (rc != 0)
		return rc;
	traj = (size_t)acq.head.number_of_samples * acq.head.trajectory_dimensions * 4;
	len = (size_t)bs_mrd_acq_bytes(&acq.head);
	*payload = malloc(len);
	if (*payload == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "acquisition %u: %zu bytes", index, len);
	bs_mrd_put_acq(*payload, &acq.head);
	if (traj > 0)
		memcpy(*payload + BS_MRD_ACQ_BYTES, acq.traj, traj);
	if (len > BS_MRD_ACQ_BYTES + traj)
		memcpy(*payload + BS_MRD_ACQ_BYTES + traj, acq.data, len - BS_MRD_ACQ_BYTES - traj);
	r->readout[index].len = len;
	set_stamp(r, index, &acq.head);
	return 0;
}

static int preload(struct bs_replay *r, struct bs_fail *why)
{
	uint64_t total = 0;

	while (r->loaded < r->count && total < PRELOAD_BYTES) {
		int rc = load_readout(r, r->loaded, &r->readout[r->loaded].payload, why);

		if (rc != 0)
			return rc;
		total += r->readout[r->loaded++].len;
	}
	return 0;
}

int bs_replay_open(struct bs_replay **out, const char *path, uint32_t limit, struct bs_fail *why)
{
	struct bs_replay *r = calloc(1, sizeof(*r));
	int rc;

	*out = NULL;
	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory", path);
	bs_departures_open(&r->departures);
	rc = bs_recording_open(&r->recording, path, why);
	if (rc == 0) {
		r->count = bs_recording_count(r->recording);
		if (limit > 0 && r->count > limit)
			r->count = limit;
		if (r->count == 0)
			rc = bs_fail(why, BS_ERR_FORMAT, "%s: no acquisitions", path);
	}
	if (rc == 0) {
		r->readout = calloc(r->count, sizeof(*r->readout));
		if (r->readout == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "%s: %u acquisitions", path, r->count);
	}
	r->repeat = (struct bs_repeat){ .count = r->count, .total = r->count };
	if (rc == 0)
		rc = choose_clock(r, why);
	if (rc == 0)
		rc = preload(r, why);
	if (rc == 0)
		rc = bs_sender_open(&r->sender, RING_BYTES, why);
	if (rc != 0)
		bs_replay_close(r);
	else
		*out = r;
	return rc;
}

void bs_replay_close(struct bs_replay *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; r->readout != NULL && i < r->count; i++)
		free(r->readout[i].payload);
	free(r->readout);
	free(r->spare);
	free(r->xml);
	free(r->head);
	bs_sender_close(&r->sender);
	if (r->recording != NULL)
		(void)bs_recording_close(r->recording, NULL);
	free(r);
}

/* Returns the time from the beginning of what comes again to its next beginning. */
static int64_t period_of(const struct bs_replay *r)
{
	const uint32_t from = r->repeat.from;
	const int64_t *last = &r->readout[r->count - 1].stamp_ns;
	/*
	 * time from the end of the last repetition to the first one, as from the first to the
	 * second
	 */
	const int64_t pause_ns = r->readout[from].stamp_ns - r->readout[from - 1].stamp_ns;

	return *last - r->readout[from].stamp_ns + pause_ns;
}

int bs_replay_repeat(struct bs_replay *r, uint32_t repetitions, struct bs_fail *why)
{
	uint16_t *of = malloc(r->count * sizeof(*of));
	int rc;

	r->head = malloc(r->count * sizeof(*r->head));
	if (of == NULL || r->head == NULL || r->loaded < r->count) {
		free(of);
		return bs_fail(why, BS_ERR_NOMEM,
			       "a recording whose repetitions come again must fit in memory");
	}
	for (uint32_t i = 0; i < r->count; i++) {
		bs_mrd_get_acq(&r->head[i], r->readout[i].payload);
		of[i] = r->head[i].idx.repetition;
	}
	rc = bs_repeat_find(&r->repeat, of, r->count, repetitions, why);
	free(of);
	if (rc != 0)
		return rc;
	r->repeat.microseconds = r->clock == BS_REPLAY_MICROSECONDS;
	r->repeat.last = (r->head[r->count - 1].flags & BS_MRD_LAST_IN_MEASUREMENT) != 0;
	r->repeat.period_ns = period_of(r);
	r->xml = bs_repeat_xml(bs_recording_xml(r->recording), repetitions);
	return r->xml != NULL ? 0 : bs_fail(why, BS_ERR_NOMEM, "the header");
}

const char *bs_replay_xml(const struct bs_replay *r)
{
	return r->xml != NULL ? r->xml : bs_recording_xml(r->recording);
}

int bs_replay_ask(struct bs_replay *r, struct bs_fail *why)
{
	char *xml = bs_asking_xml(bs_replay_xml(r), why);

	if (xml == NULL)
		return why->code;
	free(r->xml);
	r->xml = xml;
	return 0;
}

enum bs_replay_clock bs_replay_clock(const struct bs_replay *r)
{
	return r->clock;
}

const char *bs_replay_note(const struct bs_replay *r)
{
	return bs_recording_note(r->recording);
}

uint32_t bs_replay_count(const struct bs_replay *r)
{
	return r->repeat.total;
}

const struct bs_hist *bs_replay_lateness(const struct bs_replay *r)
{
	return &r->lateness;
}

const struct bs_departures *bs_replay_departures(const struct bs_replay *r)
{
	return &r->departures;
}

/* State of playing one scan. */
struct play {
	struct bs_replay *r;
	struct bs_endpoint *e;
	const struct bs_replay_options *o;
	struct bs_replay_report *report;
	int64_t begun_ns; /* time of OPEN */
	int64_t start_ns; /* time of ACCEPT, the recording's time 0 */
	int64_t shown_ns; /* time of the last progress report */
	uint64_t connections;
	uint64_t heard_on;  /* number of connections when the service last sent something */
	int64_t renewed_ns; /* time when the socket was last replaced */
	uint64_t session;
	uint32_t next;   /* next acquisition to queue */
	uint32_t shaped; /* acquisitions whose samples were changed */
	bool window_full, line_full;
};

/*
 * Gets the payload of the n-th readout of a scan. One that is not in memory is read, and stays
 * until the next such.
 */
static int fetch(struct bs_replay *r, uint32_t n, const unsigned char **payload,
		 struct bs_fail *why)
{
	uint32_t round;
	const uint32_t index = bs_repeat_at(&r->repeat, n, &round);
	int rc = 0;

	if (r->head != NULL) {
		struct bs_mrd_acq head = r->head[index];

		bs_repeat_count(&r->repeat, n, &head);
		bs_mrd_put_acq(r->readout[index].payload, &head);
	}
	if (index >= r->loaded && (r->spare == NULL || r->at != index)) {
		free(r->spare);
		r->spare = NULL;
		r->at = index;
		rc = load_readout(r, index, &r->spare, why);
	}
	*payload = index < r->loaded ? r->readout[index].payload : r->spare;
	return rc;
}

/* Returns the time at which the next readout is due; without a pace, the present. */
static int64_t due_ns(const struct play *p)
{
	const struct bs_repeat *repeat = &p->r->repeat;
	uint32_t round;
	const uint32_t index = bs_repeat_at(repeat, p->next, &round);

	if (p->o->speed <= 0.0)
		return p->start_ns;
	return p->start_ns +
	       llrint((double)(p->r->readout[index].stamp_ns + repeat->period_ns * round) /
		      p->o->speed);
}

static bool stopping(const struct play *p)
{
	return p->o->stop != NULL && *p->o->stop != 0;
}

/* Queues the next readout, or CLOSE after the last. Returns 1; 0: it is not due, or no room. */
static int queue_one(struct play *p, int64_t now_ns, struct bs_fail *why)
{
	struct bs_replay *r = p->r;
	struct bs_sender *s = &r->sender;
	const unsigned char *payload;
	uint32_t round;
	size_t len;
	int64_t due;
	int rc;

	p->window_full = false;
	if (s->state != BS_SENDER_STREAMING)
		return 0;
	if (p->next == r->repeat.total || stopping(p)) {
		rc = bs_sender_finish(s, now_ns, why);
		p->window_full = rc == BS_SENDER_FULL;
		return rc == 0 ? 1 : rc == BS_SENDER_FULL ? 0 : rc;
	}
	rc = fetch(r, p->next, &payload, why);
	if (rc != 0)
		return rc;
	due = due_ns(p);
	if (due > now_ns)
		return 0;
	if (p->o->speed <= 0.0)
		due = now_ns;
	if (p->o->shape != NULL && p->shaped == p->next) /* once, however often it is tried */
		p->o->shape(p->o->shape_arg, (unsigned char *)(uintptr_t)payload, p->shaped++);
	len = r->readout[bs_repeat_at(&r->repeat, p->next, &round)].len;
	rc = bs_sender_put(s, BS_WIRE_ACQ, payload, len, due, why);
	p->window_full = rc == BS_SENDER_FULL;
	if (rc != 0)
		return p->window_full ? 0 : rc;
	if (p->o->speed > 0.0) {
		bs_hist_add(&r->lateness, now_ns - due);
		bs_departures_queued(&r->departures, due);
	}
	p->report->bytes += BS_WIRE_BYTES + len;
	p->next++;
	return 1;
}

/*
 * Sends again after a new connection what the old one had sent. Replaces a stuck socket: one that
 * connects again and again without an answer, or that is silent for QUIET_NS (heartbeats come
 * faster).
 */
static int look_for_reconnect(struct play *p, struct bs_fail *why)
{
	uint64_t n = bs_endpoint_connections(p->e);
	int64_t now_ns = bs_now_ns();
	int rc = 0;

	if (n != p->connections)
		bs_sender_reconnected(&p->r->sender, now_ns);
	p->connections = n;
	if (n - p->heard_on < STUCK && now_ns - p->r->sender.heard_ns < QUIET_NS)
		return 0;
	if (now_ns - p->renewed_ns < QUIET_NS)
		return 0; /* the last new socket has time to connect and get an answer */
	rc = bs_endpoint_renew(p->e, why);
	p->connections = p->heard_on = 0;
	p->renewed_ns = now_ns;
	return rc;
}

/* Sends OPEN of a scan, which is played from its first readout. */
static int begin_scan(struct play *p, struct bs_fail *why)
{
	const char *xml = bs_replay_xml(p->r);

	p->next = p->shaped = 0;
	p->report->bytes = 0;
	p->r->sender.state = BS_SENDER_IDLE; /* forgets an earlier scan */
	return bs_sender_begin(&p->r->sender, p->session, p->o->protocol, xml, strlen(xml),
			       bs_now_ns(), why);
}

/* Sends a message through the plan of faults, as bs_endpoint_send without waiting. */
static int send_faulty(struct play *p, const unsigned char *msg, size_t len, struct bs_fail *why)
{
	struct bs_sender *s = &p->r->sender;
	int64_t before = bs_now_ns();
	int rc = bs_faults_send(p->o->faults, p->e, msg, len, why);
	int64_t now_ns = bs_now_ns();

	s->heard_ns += now_ns - before; /* nobody listened meanwhile, so that time is not silence */
	if (rc != BS_FAULTS_ANEW && rc != BS_FAULTS_KILLED)
		return rc;
	p->connections = p->heard_on = 0;
	p->renewed_ns = now_ns;
	bs_sender_reconnected(s, now_ns);
	if (rc == BS_FAULTS_KILLED) {
		p->session = p->session + 1 == 0 ? 1 : p->session + 1;
		rc = begin_scan(p, why);
	}
	return rc < 0 ? rc : BS_ENDPOINT_TIMEOUT;
}

/* Hands the sender's messages to the socket until it is full. */
static int send_some(struct play *p, struct bs_fail *why)
{
	struct bs_sender *s = &p->r->sender;
	const unsigned char *msg;
	size_t len;
	int rc;

	p->line_full = false;
	rc = look_for_reconnect(p, why);
	if (rc != 0)
		return rc;
	for (int n = 0; n < MESSAGES_AHEAD && bs_sender_next(s, bs_now_ns(), &msg, &len); n++) {
		bs_departures_sent(&p->r->departures, bs_now_ns());
		rc = p->o->faults != NULL ? send_faulty(p, msg, len, why)
					  : bs_endpoint_send(p->e, msg, len, NULL, 0, 0, why);
		p->line_full = rc == BS_ENDPOINT_TIMEOUT;
		if (rc != 0)
			return rc < 0 ? rc : 0;
		bs_sender_sent(s, bs_now_ns());
	}
	return 0;
}

static int receive_all(struct play *p, struct bs_fail *why)
{
	struct bs_sender *s = &p->r->sender;
	unsigned char msg[BS_REPLAY_MESSAGE_MAX];
	size_t len;

	for (;;) {
		enum bs_sender_state before = s->state;
		const uint64_t answers = s->answers;
		int rc = bs_endpoint_recv(p->e, msg, sizeof(msg), &len, 0, why);

		if (rc == BS_ENDPOINT_TIMEOUT || rc == BS_ENDPOINT_INTERRUPTED)
			return 0;
		if (rc != 0 && rc != BS_ERR_LENGTH)
			return rc;
		p->heard_on = p->connections;
		if (rc == 0)
			(void)bs_sender_heard(s, msg, len, bs_now_ns(), NULL);
		if (s->answers != answers && p->o->answered != NULL)
			p->o->answered(p->o->answered_arg, &s->answer);
		if (before == BS_SENDER_OPENING && s->state == BS_SENDER_STREAMING)
			p->start_ns = bs_now_ns();
	}
}

static void tell_report(struct play *p, int64_t now_ns)
{
	const struct bs_sender *s = &p->r->sender;
	struct bs_replay_report *t = p->report;

	if (p->o->faults != NULL)
		bs_faults_heard(p->o->faults,
				s->state == BS_SENDER_ENDED     ? s->next_seq
				: s->state == BS_SENDER_OPENING ? 0
								: s->ack.held + 1,
				now_ns);
	t->session = p->session;
	t->ack = s->ack;
	t->state = s->state;
	t->sent = p->next;
	t->total = p->r->repeat.total;
	t->kept = s->count;
	t->resent = s->resent;
	t->complaints = s->complaints;
	t->strays = s->strays;
	t->complaint = s->complaint;
	t->elapsed_ns = now_ns - p->begun_ns;
	t->code = s->code;
	t->refused = s->refused;
	t->outcome = s->outcome;
	if (p->o->progress != NULL && s->state != BS_SENDER_ENDED &&
	    now_ns - p->shown_ns >= PROGRESS_NS) {
		p->shown_ns = now_ns;
		p->o->progress(p->o->arg, t);
	}
}

/* Sleeps until a message, room on the line, a readout's due time or the sender's own time. */
static int sleep_until_next(struct play *p, struct bs_fail *why)
{
	struct bs_sender *s = &p->r->sender;
	struct pollfd fds[2] = { { .fd = p->e->receive_fd, .events = POLLIN },
				 { .fd = p->e->send_fd, .events = POLLIN } };
	int64_t until = p->line_full ? INT64_MAX : bs_sender_due(s);
	int64_t silent = s->heard_ns + p->o->patience_ns;
	int64_t begin = bs_now_ns();
	int64_t shown = begin + PROGRESS_NS;
	bool owed = s->state != BS_SENDER_STREAMING || s->count > 0;
	int rc;

	if (s->state == BS_SENDER_STREAMING && !p->window_full && p->next < p->r->repeat.total &&
	    due_ns(p) < until)
		until = due_ns(p);
	until = until < silent ? until : silent;
	/* wakes in time to notice a stop or a new connection */
	until = until < shown ? until : shown;
	rc = bs_endpoint_wait(fds, p->line_full ? 2 : 1, until, why);
	bs_departures_slept(&p->r->departures, begin, bs_now_ns(), owed);
	return rc < 0 ? rc : 0;
}

static int step_play(struct play *p, struct bs_fail *why)
{
	struct bs_sender *s = &p->r->sender;
	const unsigned char *msg;
	size_t len;
	int queued;
	int rc = receive_all(p, why);

	if (rc != 0 || s->state == BS_SENDER_ENDED)
		return rc;
	if (stopping(p) && s->state == BS_SENDER_OPENING)
		return bs_fail(why, BS_ERR_ABORTED, "stopped before the service answered");
	queued = queue_one(p, bs_now_ns(), why);
	if (queued < 0)
		return queued;
	rc = send_some(p, why);
	if (rc != 0)
		return rc;
	tell_report(p, bs_now_ns());
	if (s->state == BS_SENDER_OPENING && bs_endpoint_refused(p->e, why) != 0)
		return BS_ERR_KEY;
	if (bs_now_ns() - s->heard_ns >= p->o->patience_ns)
		return bs_fail(why, BS_ERR_TIMEOUT, "%s for %.1f s",
			       s->state == BS_SENDER_OPENING ? "no service answered"
							     : "the service said nothing",
			       (double)(bs_now_ns() - s->heard_ns) * 1e-9);
	if (queued == 0 && (p->line_full || !bs_sender_next(s, bs_now_ns(), &msg, &len)))
		return sleep_until_next(p, why);
	return 0;
}

int bs_replay_run(struct bs_replay *r, struct bs_endpoint *e, const struct bs_replay_options *o,
		  struct bs_replay_report *report, struct bs_fail *why)
{
	struct play p = { .r = r, .e = e, .o = o, .report = report, .session = o->session };
	int rc;

	memset(report, 0, sizeof(*report));
	p.begun_ns = p.shown_ns = bs_now_ns();
	p.connections = p.heard_on = bs_endpoint_connections(e);
	if (o->faults != NULL)
		bs_faults_start(o->faults);
	rc = begin_scan(&p, why);
	while (rc == 0 && r->sender.state != BS_SENDER_ENDED)
		rc = step_play(&p, why);
	tell_report(&p, bs_now_ns());
	return rc;
}
