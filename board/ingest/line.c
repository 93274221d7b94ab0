/* board/ingest/line.c - headers that wait until a scan can begin; see ingest.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

/* Returns the state letter of a process of this host, from /proc/PID/stat; '\0': not known. */
static char process_state(int pid)
{
	char path[32];
	char stat[256] = "";
	const char *name_end;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '\0';
	if (read(fd, stat, sizeof(stat) - 1) < 0)
		stat[0] = '\0';
	(void)close(fd);
	name_end = strrchr(stat, ')');
	return name_end != NULL && name_end[1] == ' ' ? name_end[2] : '\0';
}

/*
 * True if the newest scan's sender cannot say anything: its process is stopped by a signal or a
 * debugger, or both its process and its connection are gone.
 */
static bool is_mute(const struct ingest *in)
{
	const char state = in->now.pid > 0 ? process_state(in->now.pid) : '\0';

	if (in->now.pid <= 0 || state == 'T' || state == 't')
		return in->now.pid > 0;
	return !bs_gate_here(&in->gate, in->now.peer) &&
	       (state == 'Z' || (kill(in->now.pid, 0) != 0 && errno == ESRCH));
}

bool bs_ingest_gives_way(const struct ingest *in, uint64_t to)
{
	const int64_t silent_ns = bs_now_ns() - in->now.heard_ns;

	if (bs_ingest_reopen_closed(in))
		return false;
	if (bs_ingest_log_apart(in, &in->now))
		return bs_ingest_reopen_yields(in);
	return to == in->now.peer || silent_ns > BS_SILENT_NS ||
	       (silent_ns > BS_GONE_NS && !bs_gate_here(&in->gate, in->now.peer)) ||
	       (silent_ns > BS_MUTE_NS && is_mute(in));
}

static void drop(struct ingest *in, uint32_t at)
{
	bs_gate_forgo(&in->gate, in->line[at].msg);
	in->lined--;
	memmove(&in->line[at], &in->line[at + 1], (in->lined - at) * sizeof(in->line[0]));
}

/*
 * True if a header of this session waits already; it goes on waiting, now for the peer that sent it
 * again. A peer has one place: its waiting header of another session is refused (WIRE.md, 11).
 */
static bool is_lined(struct ingest *in, uint64_t session)
{
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_STATE,
		      "another header (session %016llx) came before the scan began",
		      (unsigned long long)session);
	for (uint32_t i = 0; i < in->lined; i++) {
		if (in->line[i].session == session) {
			in->line[i].peer = in->from;
			return true;
		}
		if (in->line[i].peer == in->from) {
			bs_ingest_refuse_open(in, in->line[i].session, &why);
			drop(in, i--);
		}
	}
	return false;
}

bool bs_ingest_line_up(struct ingest *in, const struct bs_wire *w, const unsigned char *payload,
		       bool alone)
{
	const int64_t now = bs_now_ns();
	struct bs_fail why;

	if (is_lined(in, w->session))
		return false;
	if (in->lined < BS_LINE_MAX && bs_gate_keep(&in->gate, in->from)) {
		in->line[in->lined++] =
			(struct bs_line){ .msg = payload - BS_WIRE_BYTES,
					  .len = (size_t)w->payload_len + BS_WIRE_BYTES,
					  .peer = in->from,
					  .session = w->session,
					  .since_ns = now,
					  .said_ns = now,
					  .alone = alone };
		bs_count(&in->env->me->waits, 1);
		return true;
	}
	(void)bs_fail(&why, BS_ERR_STATE, "the service is %s, and %u scans wait already",
		      bs_state_name(in->now.state), in->lined);
	bs_ingest_refuse_open(in, w->session, &why);
	return false;
}

void bs_ingest_refuse_draining(struct ingest *in, uint64_t session)
{
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_ABORTED,
		      "the service is draining: it finishes what it has and takes no new scan");
	bs_ingest_refuse_open(in, session, &why);
}

static void open_first(struct ingest *in)
{
	const struct bs_line l = in->line[0];
	const unsigned char *payload;
	struct bs_wire w;

	in->from = l.peer;
	if (bs_wire_decode(&w, l.msg, l.len, &payload, NULL) == 0)
		in->line[0].alone = bs_ingest_open(in, &w, payload) == BS_INGEST_ALONE;
	if (!in->line[0].alone)
		drop(in, 0);
}

static void tend(struct ingest *in)
{
	const int64_t now = bs_now_ns();

	for (uint32_t i = 0; i < in->lined;) {
		const struct bs_line l = in->line[i];
		const bool draining = bs_worker_stop(in->env);
		const bool late = now - l.since_ns > BS_OPEN_NS;

		in->from = l.peer;
		if (draining) {
			bs_ingest_refuse_draining(in, l.session);
		} else if (late) {
			struct bs_fail why;

			(void)bs_fail(&why, BS_ERR_STATE, "the service is still %s after %d s",
				      bs_state_name(in->now.state), (int)(BS_OPEN_NS / 1000000000));
			bs_ingest_refuse_open(in, l.session, &why);
		}
		if (draining || late || !bs_gate_here(&in->gate, l.peer))
			drop(in, i);
		else
			i++;
	}
	if (in->lined > 0 && bs_ingest_may_open(in, in->line[0].alone))
		open_first(in);
}

void bs_ingest_end_for(struct ingest *in, uint64_t session)
{
	struct bs_fail why;

	if (bs_ingest_log_apart(in, &in->now))
		(void)bs_fail(&why, BS_ERR_STATE,
			      "the service was killed and started again, the scan's sender did not "
			      "come back within %d s, after number %llu, and another header "
			      "(session %016llx) came",
			      (int)(BS_RETURN_NS / 1000000000),
			      (unsigned long long)(in->now.order.next - 1),
			      (unsigned long long)session);
	else
		(void)bs_fail(&why, BS_ERR_STATE,
			      "another header (session %016llx) came before the scan was closed",
			      (unsigned long long)session);
	bs_ingest_abort(in, &in->now, &why, BS_ON_FAULT);
}

void bs_ingest_serve_line(struct ingest *in)
{
	tend(in);
	if (in->lined > 0 && in->now.state == BS_STATE_SCANNING &&
	    bs_ingest_gives_way(in, in->line[0].peer))
		bs_ingest_end_for(in, in->line[0].session);
}
