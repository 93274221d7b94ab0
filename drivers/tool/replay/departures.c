/* drivers/tool/replay/departures.c - see departures.h */
#include "drivers/tool/replay/departures.h"

#include <string.h>

int64_t bs_departure_overslept(const struct bs_departure *d)
{
	if (d->owed || d->slept_ns == 0 || d->slept_ns > d->due_ns || d->woke_ns <= d->due_ns)
		return 0;
	return d->woke_ns - d->due_ns;
}

/* Writes to every page, so that no page is touched for the first time during a measurement. */
void bs_departures_open(struct bs_departures *d)
{
	memset(d, 0, sizeof(*d));
}

void bs_departures_slept(struct bs_departures *d, int64_t begin_ns, int64_t end_ns, bool owed)
{
	d->now.slept_ns = begin_ns;
	d->now.woke_ns = end_ns;
	d->now.owed = owed;
}

void bs_departures_queued(struct bs_departures *d, int64_t due_ns)
{
	uint64_t n = atomic_load(&d->count);
	size_t i = n % BS_DEPARTURES;

	d->now.due_ns = due_ns;
	bs_hist_add(&d->overslept, bs_departure_overslept(&d->now));
	atomic_store(&d->at[i].due_ns, due_ns);
	atomic_store(&d->at[i].slept_ns, d->now.slept_ns);
	atomic_store(&d->at[i].woke_ns, d->now.woke_ns);
	atomic_store(&d->at[i].owed, d->now.owed);
	atomic_store(&d->at[i].sent_ns, 0);
	atomic_store(&d->count, n + 1);
}

void bs_departures_sent(struct bs_departures *d, int64_t now_ns)
{
	for (uint64_t n = atomic_load(&d->count); d->sent < n; d->sent++)
		atomic_store(&d->at[d->sent % BS_DEPARTURES].sent_ns, now_ns);
}

bool bs_departures_find(const struct bs_departures *d, int64_t due_ns, struct bs_departure *out)
{
	uint64_t n = atomic_load(&d->count);

	for (uint64_t i = n; i-- > 0 && n - i < BS_DEPARTURES;) {
		size_t at = i % BS_DEPARTURES;

		out->due_ns = atomic_load(&d->at[at].due_ns);
		out->slept_ns = atomic_load(&d->at[at].slept_ns);
		out->woke_ns = atomic_load(&d->at[at].woke_ns);
		out->sent_ns = atomic_load(&d->at[at].sent_ns);
		out->owed = atomic_load(&d->at[at].owed);
		/* a place that the writer may have reused meanwhile does not count */
		if (atomic_load(&d->count) - i >= BS_DEPARTURES || out->due_ns < due_ns)
			return false;
		if (out->due_ns == due_ns)
			return true;
	}
	return false;
}
