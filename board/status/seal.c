/* board/status/seal.c - what came to sealed endpoints, and who was kept out; see members.h */
#include <inttypes.h>

#include "board/status/members.h"
#include "board/status/prom.h"

static const char *const names[BS_SEAL_PLACES] = { "kspace", "images", "status" };

void bs_status_seal(struct bs_doc *d, const struct bs_shared *s)
{
	bs_doc_open(d, "sealed", '[');
	for (int i = 0; i < BS_SEAL_PLACES; i++) {
		const struct bs_seal_record *r = &s->seal[i];

		if (atomic_load(&r->on) == 0)
			continue;
		bs_doc_line(d, NULL);
		bs_doc_text(d, "endpoint", names[i]);
		bs_doc_number(d, "sessions", atomic_load(&r->sessions));
		bs_doc_number(d, "unknown", atomic_load(&r->unknown));
		bs_doc_number(d, "refused", atomic_load(&r->refused));
		bs_doc_number(d, "forged", atomic_load(&r->forged));
		bs_doc_number(d, "crowded", atomic_load(&r->crowded));
		bs_doc_chars(d, "last", r->last, sizeof(r->last));
		bs_doc_close(d);
	}
	bs_doc_close(d);
}

void bs_status_seal_table(struct bs_text *t, const struct bs_shared *s)
{
	for (int i = 0; i < BS_SEAL_PLACES; i++) {
		const struct bs_seal_record *r = &s->seal[i];
		const uint64_t unknown = atomic_load(&r->unknown);
		const uint64_t refused = atomic_load(&r->refused);
		const uint64_t forged = atomic_load(&r->forged);
		const uint64_t crowded = atomic_load(&r->crowded);

		if (atomic_load(&r->on) == 0)
			continue;
		bs_text_put(t, "sealed %-7s %" PRIu64 " sessions", names[i],
			    atomic_load(&r->sessions));
		if (unknown + refused + forged + crowded > 0)
			bs_text_put(t,
				    "; kept out: %" PRIu64 " of unknown keys, %" PRIu64
				    " without the role, %" PRIu64
				    " beyond keys.connections, %" PRIu64
				    " whose messages did not open; the last: %.150s",
				    unknown, refused, crowded, forged, r->last);
		bs_text_put(t, "\n");
	}
}

void bs_metrics_seal(struct bs_text *t, const struct bs_shared *s)
{
	static const char *const whys[] = { "unknown", "role", "connections", "forged" };

	bs_prom_family(t, "boreside_sealed_sessions_total", "counter",
		       "Connections to sealed endpoints whose first message opened.");
	for (int i = 0; i < BS_SEAL_PLACES; i++)
		if (atomic_load(&s->seal[i].on) != 0)
			bs_prom_count(t, "boreside_sealed_sessions_total",
				      BS_LABELS({ "endpoint", names[i], 0 }),
				      atomic_load(&s->seal[i].sessions));
	bs_prom_family(t, "boreside_sealed_refused_total", "counter",
		       "Connections to sealed endpoints that were ended: of unknown keys, without "
		       "the role, beyond keys.connections, at a message that did not open.");
	for (int i = 0; i < BS_SEAL_PLACES; i++) {
		const struct bs_seal_record *r = &s->seal[i];
		const uint64_t n[] = { atomic_load(&r->unknown), atomic_load(&r->refused),
				       atomic_load(&r->crowded), atomic_load(&r->forged) };

		for (int w = 0; w < 4 && atomic_load(&r->on) != 0; w++)
			bs_prom_count(t, "boreside_sealed_refused_total",
				      BS_LABELS({ "endpoint", names[i], 0 }, { "why", whys[w], 0 }),
				      n[w]);
	}
}
