/* board/status/seal.c - what came to sealed endpoints, and who was kept out; see members.h */
#include <inttypes.h>

#include "board/status/members.h"

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

		if (atomic_load(&r->on) == 0)
			continue;
		bs_text_put(t, "sealed %-7s %" PRIu64 " sessions", names[i],
			    atomic_load(&r->sessions));
		if (unknown + refused + forged > 0)
			bs_text_put(t,
				    "; kept out: %" PRIu64 " of unknown keys, %" PRIu64
				    " without the role, %" PRIu64 " whose messages did not open; "
				    "the last: %.150s",
				    unknown, refused, forged, r->last);
		bs_text_put(t, "\n");
	}
}
