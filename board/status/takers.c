/* board/status/takers.c - who takes images, what waits for each, and what was shed */
#include "board/status/doc.h"
#include "core/thread/clock.h"

static const char *policy_name(uint32_t policy)
{
	static const char *const names[] = { "wait", "keep_newest", "spill" };

	return policy < 3 ? names[policy] : "?";
}

static double held_ms(const struct bs_taker_record *r)
{
	int64_t since = atomic_load(&r->since_ns);

	return since != 0 ? (double)(bs_now_ns() - since) * 1e-6 : 0.0;
}

void bs_status_takers(struct doc *d, const struct bs_shared *s)
{
	key(d, "consumers");
	open_with(d, "[");
	for (int i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = &s->taker[i];

		if (r->name[0] == '\0')
			continue;
		next(d);
		open_with(d, "{");
		key(d, "consumer");
		text(d, r->name, sizeof(r->name));
		member(d, "policy", policy_name(r->policy));
		number(d, "queue", r->queue);
		number(d, "waiting", atomic_load(&r->waiting));
		number(d, "taken", atomic_load(&r->taken));
		number(d, "handed", atomic_load(&r->handed));
		number(d, "failed", atomic_load(&r->failed));
		number(d, "shed", atomic_load(&r->shed));
		number(d, "lost", atomic_load(&r->lost));
		number(d, "spilled", atomic_load(&r->spilled));
		number(d, "spill_waiting", atomic_load(&r->spill_waiting));
		number(d, "spill_bytes", atomic_load(&r->spill_bytes));
		real(d, "in_hand_ms", held_ms(r));
		close_with(d, "}");
	}
	close_with(d, "]");
}

void bs_status_takers_table(struct doc *d, const struct bs_shared *s)
{
	for (int i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = &s->taker[i];

		if (r->name[0] == '\0')
			continue;
		put(d, "to %-28.64s %-11s %llu handed, %llu shed, %llu failed, %u waiting", r->name,
		    policy_name(r->policy), (unsigned long long)atomic_load(&r->handed),
		    (unsigned long long)atomic_load(&r->shed),
		    (unsigned long long)atomic_load(&r->failed), atomic_load(&r->waiting));
		if (r->policy == BS_POLICY_SPILL)
			put(d, ", %llu on disk (%llu bytes)",
			    (unsigned long long)atomic_load(&r->spill_waiting),
			    (unsigned long long)atomic_load(&r->spill_bytes));
		if (atomic_load(&r->lost) != 0)
			put(d, ", %llu lost", (unsigned long long)atomic_load(&r->lost));
		put(d, "%s\n", held_ms(r) > 1000.0 ? ", stuck" : "");
	}
}
