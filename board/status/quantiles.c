/* board/status/quantiles.c - see quantiles.h */
#include "board/status/quantiles.h"

#include <inttypes.h>

static double us(const struct bs_hist *h, double q)
{
	return (double)bs_hist_quantile(h, q) * 1e-3;
}

void bs_quantiles_put(struct bs_doc *d, const struct bs_hist *h)
{
	bs_doc_real(d, "p50_us", us(h, 0.5));
	bs_doc_real(d, "p99_us", us(h, 0.99));
	bs_doc_real(d, "p999_us", us(h, 0.999));
	bs_doc_real(d, "max_us", us(h, 1.0));
}

void bs_quantiles_table(struct bs_text *t, const struct bs_shm *shm, uint32_t protocol,
			enum bs_stage stage, int digits)
{
	const struct bs_hist *h = bs_shm_hist(shm, protocol, stage);

	bs_text_put(t, "%-20s %-8s %9" PRIu64 " %*.1f %*.1f %*.1f %*.1f",
		    shm->s->site.protocol[protocol].name, bs_stage_name(stage),
		    atomic_load(&h->count), digits, us(h, 0.5), digits, us(h, 0.99), digits,
		    us(h, 0.999), digits, us(h, 1.0));
}
