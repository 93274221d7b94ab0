/* board/emit/archive.c - see archive.h */
#include "board/emit/archive.h"

#include <poll.h>

#include "board/emit/flight.h"
#include "board/emit/front.h"
#include "board/emit/taker.h"
#include "core/thread/clock.h"

#define LOOK_NS INT64_C(20000000)   /* time between two attempts at an archive that takes nothing */
#define WAIT_NS INT64_C(1000000000) /* under `wait`: longest wait for a connected archive */

void bs_push_absent(struct bs_taker *t)
{
	if (t->r->policy != BS_POLICY_KEEP_NEWEST || atomic_load(&t->r->hand) != 0 ||
	    bs_emit_has_archive(t->e))
		return;
	t->nobody = true;
	bs_front_pass(t->e, t->id, atomic_load(&t->e->env->shm.s->images.ready));
}

/*
 * Tries until the archive takes the image, or has left, or this process ends. Under `spill` the
 * image is offered again when the archive has come back.
 */
static int give(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why)
{
	struct bs_endpoint *archive = &t->e->archive;
	const int64_t until_ns = bs_now_ns() + WAIT_NS;
	bool spills = t->r->policy == BS_POLICY_SPILL;

	for (;;) {
		int rc = bs_flight_send(t, o, why);
		bool gone = !bs_emit_has_archive(t->e);
		struct pollfd writable = { archive->send_fd, POLLIN, 0 };

		atomic_store(&t->absent, rc != 0 && gone);
		if (rc <= 0)
			return rc;
		t->nobody = gone;
		if (spills && (gone || atomic_load(&t->e->quit)))
			return BS_ENDPOINT_TIMEOUT;
		if (gone || atomic_load(&t->e->quit) ||
		    (t->r->policy == BS_POLICY_WAIT && bs_now_ns() > until_ns))
			return BS_ERR_TIMEOUT;
		(void)bs_endpoint_wait(&writable, 1, bs_now_ns() + LOOK_NS, NULL);
	}
}

int bs_push_make(struct emit *e, struct bs_fail *why)
{
	return !bs_endpoint_is_open(&e->archive)
		       ? 0
		       : bs_taker_make(e, BS_TAKER_ARCHIVE, "archive", "+archive",
				       e->env->site.overload.archive, give, why);
}
