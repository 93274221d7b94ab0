/* board/emit/solved.c - files what became of frames before their image leaves; see emit.h */
#include "board/emit/emit.h"

#include <unistd.h>

#include "drivers/log/solved.h"

/* The name of a file of the scan's log; "": there is none. */
static const char *log_of(const struct bs_shared *s, const struct bs_scan_record *scan)
{
	for (int i = 0; i < 2; i++)
		if (atomic_load(&s->reopened[i].scan) == atomic_load(&scan->id))
			return s->reopened[i].log;
	if (atomic_load(&scan->log.scan) == atomic_load(&scan->id))
		return scan->log.name;
	return s->log.session == scan->session ? s->log.name : "";
}

/* Opens the file of another scan than the last one's. */
static int open_file(struct emit *e, const struct bs_image_meta *m, const char *log,
		     struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	const struct bs_solved_head head = { m->session, site->protocol[m->protocol].name };

	if (e->solved.fd >= 0)
		(void)close(e->solved.fd);
	e->solved.scan = m->scan;
	e->solved.next = 0;
	e->solved.failed = false;
	return bs_solved_open(&e->solved.fd, site->log.dir, log, &head, why);
}

void bs_emit_file_solved(struct emit *e, const struct bs_image_meta *m)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan[m->scan & 1];
	const char *log = log_of(e->env->shm.s, scan);
	struct bs_fail why;
	int rc = 0;

	if (log[0] == '\0' || m->scan != atomic_load(&scan->id) || m->image.preview ||
	    atomic_load(&scan->solved.used) == 0)
		return;
	if (e->solved.scan != m->scan)
		rc = open_file(e, m, log, &why);
	if (rc == 0 && e->solved.fd >= 0)
		rc = bs_solved_add(e->solved.fd, &scan->solved, e->solved.next, m->image.frame[1],
				   &why);
	if (rc == 0 && m->image.frame[1] >= BS_SOLVED_MAX)
		rc = bs_fail(&why, BS_ERR_SIZE,
			     "frames beyond %u have no steps: made again, their images may differ",
			     BS_SOLVED_MAX);
	while ((bs_solved_of(&scan->solved, e->solved.next) & BS_SOLVED_FILED) != 0)
		e->solved.next++;
	if (rc != 0 && !e->solved.failed)
		bs_emit_say(e, BS_EVENT_FAULT, rc, why.text);
	e->solved.failed = e->solved.failed || rc != 0;
}
