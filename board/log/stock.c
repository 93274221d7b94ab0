/* board/log/stock.c - see stock.h */
#include "board/log/stock.h"

#include <string.h>

#include "core/log.h"
#include "drivers/log/writer.h"

static void *work(void *arg)
{
	struct bs_stock *s = arg;
	bool said = false;

	while (!atomic_load(&s->stop)) {
		struct bs_fail why;
		int rc = 0;

		for (unsigned i = 0; rc == 0 && i < BS_STOCK_SPARES; i++)
			rc = bs_log_spare_fill(s->dir, i, s->segment_bytes, &why);
		if (rc != 0 && !said)
			bs_log(BS_LOG_WARN, "no spare segment: %s", why.text);
		said = rc != 0;
		while (sem_wait(&s->wake) != 0)
			;
	}
	return NULL;
}

int bs_stock_start(struct bs_stock *s, const char *dir, uint64_t segment_bytes, struct bs_fail *why)
{
	int rc = bs_log_spare_fill(dir, 0, segment_bytes, why);

	memset(s, 0, sizeof(*s));
	s->dir = dir;
	s->segment_bytes = segment_bytes;
	if (rc != 0)
		return rc;
	if (sem_init(&s->wake, 0, 0) != 0 || pthread_create(&s->thread, NULL, work, s) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: no thread for spare segments", dir);
	s->started = true;
	return 0;
}

void bs_stock_wake(struct bs_stock *s)
{
	(void)sem_post(&s->wake);
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
