/* board/log/stock.c - see stock.h */
#include "board/log/stock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "drivers/log/finish.h"
#include "drivers/log/folder.h"
#include "drivers/log/parts.h"
#include "drivers/log/writer.h"

static int prune(const struct bs_stock_options *o, struct bs_fail *why)
{
	struct bs_log_limits limits = bs_log_limits_of(o->keep_mib, o->keep_hours);
	struct bs_log_pruned done;
	int rc;

	if (limits.most_bytes == 0 && limits.oldest_ns == 0)
		return 0;
	limits.segment_bytes = o->segment_bytes;
	bs_kept_prune(o->dir, limits.oldest_ns);
	rc = bs_log_folder_prune(o->dir, &limits, &done, why);
	if (done.logs > 0)
		bs_log(BS_LOG_INFO, "%u logs of %.1f MB are removed", done.logs,
		       (double)done.bytes * 1e-6);
	return rc;
}

static void seal(const struct bs_stock_options *o, const char *name)
{
	struct bs_fail why = { 0 };
	uint64_t records;
	const int rc = bs_log_finish(o->dir, name, o->signer, &records, &why);

	if (rc == 0)
		bs_log(BS_LOG_INFO, "log %s, which had no end, is sealed: %llu messages", name,
		       (unsigned long long)records);
	else
		bs_log(BS_LOG_WARN, "log %s, which had no end, %s: %s", name,
		       rc == BS_ERR_FORMAT ? "is sealed and damaged" : "cannot be sealed",
		       why.text);
}

enum { NOTHING, TAKEN, SEAL, MADE, CUT };

static void note_made(const char *dir, uint64_t session)
{
	struct bs_fail why;

	if (bs_log_folder_set_made(dir, session, &why) != 0)
		bs_log(BS_LOG_WARN, "the folder of logs: %s: images may be made once more",
		       why.text);
}

/* Cuts a log's last file, and signs what a killed writer has not. */
static void cut(const struct bs_stock_options *o, const char *name)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	uint8_t chain[BS_CHAIN];
	struct bs_fail why;

	(void)snprintf(path, sizeof(path), "%s/%s", o->dir, name);
	if (bs_log_cut(o->dir, name, &why) != 0 ||
	    (o->signer != NULL && bs_log_mend(path, o->signer, chain, &why) != 0))
		bs_log(BS_LOG_WARN, "the folder of logs: %s", why.text);
}

static void do_asked(struct bs_stock *s)
{
	for (uint32_t i = 0; s->o.asks != NULL && i < BS_LOG_ASKED; i++) {
		struct bs_log_asked *a = &s->o.asks->place[i];
		const uint32_t what = atomic_load(&a->what);

		if (what == NOTHING || what == TAKEN)
			continue;
		if (what == SEAL && !bs_log_has_end(s->o.dir, a->name))
			seal(&s->o, a->name);
		else if (what == MADE)
			note_made(s->o.dir, a->session);
		else if (what == CUT)
			cut(&s->o, a->name);
		atomic_store(&a->what, NOTHING);
	}
}

/*
 * Where it is due, seals logs that have no seal and that nobody uses, and cuts those that a killed
 * process did not cut. The service's first look leaves the newest log alone, since it may be
 * continued. So is a log that was sealed before its images were made, since it may be read again.
 */
static void look_through(struct bs_stock *s)
{
	struct bs_log_asks *asks = s->o.asks;
	const uint64_t looked = asks != NULL ? atomic_load(&asks->looked) : 0;
	const uint64_t due = asks != NULL ? 1 + atomic_load(&asks->dropped) : 0;
	struct bs_log_entry *list;
	struct bs_fail why;
	bool early;
	bool left = false; /* the newest log, which is used and may lack an end */
	size_t n;

	if (looked == due)
		return;
	if (bs_log_folder_list(s->o.dir, &list, &n, &why) != 0) {
		bs_log(BS_LOG_WARN, "logs that have no end get none yet: %s", why.text);
		return;
	}
	for (size_t i = 0; i < n - (n > 0 && looked == 0); i++)
		if (bs_log_folder_sealed(s->o.dir, &list[i], &early) == 1) {
			if (!early)
				cut(&s->o, list[i].last);
		} else if (s->o.used == NULL || !s->o.used(s->o.arg, list[i].name, i + 1 == n)) {
			seal(&s->o, list[i].name);
		} else {
			left = i + 1 == n;
		}
	free(list);
	if (!left)
		atomic_store(&asks->looked, due);
}

static void *run_stock(void *arg)
{
	struct bs_stock *s = arg;
	struct bs_kept_filed filed = { { 0 } };
	bool said = false;

	if (s->o.enter != NULL)
		s->o.enter();
	while (!atomic_load(&s->stop)) {
		struct bs_fail why;
		/* before a scan's images are noted as made: else they are made once more */
		int rc = s->o.study != NULL ? bs_kept_write(&filed, s->o.dir, s->o.study, &why) : 0;

		do_asked(s);
		look_through(s);
		rc = rc == 0 ? prune(&s->o, &why) : rc;

		for (unsigned i = 0; rc == 0 && i < BS_STOCK_SPARES; i++)
			rc = bs_log_spare_fill(s->o.dir, i, s->o.segment_bytes, &why);
		if (rc != 0 && !said)
			bs_log(BS_LOG_WARN, "the folder of logs: %s", why.text);
		said = rc != 0;
		while (sem_wait(&s->wake) != 0)
			;
	}
	do_asked(s);
	look_through(s);
	return NULL;
}

int bs_stock_start(struct bs_stock *s, const struct bs_stock_options *o, struct bs_fail *why)
{
	memset(s, 0, sizeof(*s));
	s->o = *o;
	for (uint32_t i = 0; o->asks != NULL && i < BS_LOG_ASKED; i++)
		/* killed before it had asked */
		if (atomic_load(&o->asks->place[i].what) == TAKEN) {
			atomic_store(&o->asks->place[i].what, NOTHING);
			atomic_fetch_add(&o->asks->dropped, 1);
		}
	if (sem_init(&s->wake, 0, 0) != 0 || pthread_create(&s->thread, NULL, run_stock, s) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: no thread for spare segments", o->dir);
	s->started = true;
	return 0;
}

void bs_stock_wake(struct bs_stock *s)
{
	(void)sem_post(&s->wake);
}

static void ask(struct bs_stock *s, uint32_t what, const char *name, uint64_t session)
{
	struct bs_log_asked *a;
	uint32_t nothing = NOTHING;
	uint32_t i = 0;

	if (s->o.asks == NULL)
		return;
	a = s->o.asks->place;
	while (i < BS_LOG_ASKED && !atomic_compare_exchange_strong(&a[i].what, &nothing, TAKEN)) {
		nothing = NOTHING;
		i++;
	}
	if (i == BS_LOG_ASKED) {
		atomic_fetch_add(&s->o.asks->dropped, 1);
		bs_stock_wake(s);
		return;
	}
	(void)snprintf(a[i].name, sizeof(a[i].name), "%s", name);
	a[i].session = session;
	atomic_store(&a[i].what, what);
	bs_stock_wake(s);
}

void bs_stock_seal(struct bs_stock *s, const char *name)
{
	if (name[0] != '\0') /* the scan has a log */
		ask(s, SEAL, name, 0);
}

void bs_stock_made(struct bs_stock *s, uint64_t session)
{
	ask(s, MADE, "", session);
}

void bs_stock_cut(struct bs_stock *s, const char *name)
{
	ask(s, CUT, name, 0);
}

void bs_stock_stop(struct bs_stock *s)
{
	if (!s->started)
		return;
	atomic_store(&s->stop, true);
	bs_stock_wake(s);
	(void)pthread_join(s->thread, NULL);
	(void)sem_destroy(&s->wake);
	s->started = false;
}
