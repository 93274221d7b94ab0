/* board/status/takers.c - who takes images, what waits for each, what was shed; see members.h */
#include <inttypes.h>

#include "board/status/members.h"
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

static void askers(struct bs_doc *d, const struct bs_images_record *r)
{
	bs_doc_open(d, "images", '{');
	bs_doc_number(d, "last", atomic_load(&r->last));
	bs_doc_number(d, "bytes", atomic_load(&r->bytes));
	bs_doc_open(d, "askers", '[');
	for (uint32_t i = 0; i < BS_ASKERS && r->asker[i].name[0] != '\0'; i++) {
		bs_doc_open(d, NULL, '{');
		bs_doc_chars(d, "asker", r->asker[i].name, sizeof(r->asker[i].name));
		bs_doc_number(d, "has", atomic_load(&r->asker[i].cursor));
		bs_doc_number(d, "missed", atomic_load(&r->asker[i].missed));
		bs_doc_close(d);
	}
	bs_doc_close(d);
	bs_doc_close(d);
}

void bs_status_takers(struct bs_doc *d, const struct bs_shared *s)
{
	bs_doc_open(d, "consumers", '[');
	for (int i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = &s->taker[i];

		if (r->name[0] == '\0')
			continue;
		bs_doc_open(d, NULL, '{');
		bs_doc_chars(d, "consumer", r->name, sizeof(r->name));
		bs_doc_text(d, "policy", policy_name(r->policy));
		bs_doc_number(d, "queue", r->queue);
		bs_doc_number(d, "waiting", bs_taker_waiting(r));
		bs_doc_number(d, "taken", atomic_load(&r->taken));
		bs_doc_number(d, "handed", atomic_load(&r->handed));
		bs_doc_number(d, "failed", atomic_load(&r->failed));
		bs_doc_number(d, "shed", atomic_load(&r->shed));
		bs_doc_number(d, "lost", atomic_load(&r->lost));
		bs_doc_number(d, "behind", atomic_load(&r->behind));
		bs_doc_real(d, "in_hand_ms", held_ms(r));
		bs_doc_chars(d, "refusal", r->refusal, sizeof(r->refusal) - 1);
		bs_doc_close(d);
	}
	bs_doc_close(d);
	askers(d, &s->images);
}

void bs_status_takers_table(struct bs_text *t, const struct bs_shared *s)
{
	for (int i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = &s->taker[i];
		uint64_t lost = atomic_load(&r->lost);

		if (r->name[0] == '\0')
			continue;
		bs_text_put(t,
			    "to %-28.64s %-11s %" PRIu64 " handed, %" PRIu64 " shed, %" PRIu64
			    " failed, %" PRIu64 " waiting",
			    r->name, policy_name(r->policy), atomic_load(&r->handed),
			    atomic_load(&r->shed), atomic_load(&r->failed), bs_taker_waiting(r));
		if (r->policy == BS_POLICY_SPILL)
			bs_text_put(t, ", %" PRIu64 " in the store", atomic_load(&r->behind));
		if (lost != 0)
			bs_text_put(t, ", %" PRIu64 " lost", lost);
		bs_text_put(t, "%s\n", held_ms(r) > 1000.0 ? ", stuck" : "");
		if (r->refusal[0] != '\0')
			bs_text_put(t, "  refused the last one: %.383s\n", r->refusal);
	}
}
