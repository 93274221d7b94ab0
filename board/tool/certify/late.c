/* board/tool/certify/late.c - see late.h */
#include "board/tool/certify/late.h"

enum bs_blame bs_late_blame(struct bs_late *m, int64_t budget_ns, const struct bs_canary *c,
			    uint32_t n, int64_t now_ns)
{
	int64_t due = m->left.due_ns;
	int64_t slept = bs_departure_overslept(&m->left);
	int64_t woke = due + slept;

	/* a readout received before it was sent cannot be this image's */
	if (m->before_ns > due || woke > m->received_ns || woke > m->handed_ns)
		woke = due;
	m->overslept_ns = woke - due;
	m->stalled_ns = bs_canary_stalled(c, n, due, m->handed_ns, now_ns);
	if (m->overslept_ns > 0 && m->handed_ns - woke <= budget_ns)
		return BS_BLAME_SENDER;
	if (bs_canary_explains(c, n, due, m->handed_ns, budget_ns, now_ns) ||
	    bs_canary_explains(c, n, woke, m->handed_ns, budget_ns, now_ns))
		return BS_BLAME_MACHINE;
	return BS_BLAME_SERVICE;
}
