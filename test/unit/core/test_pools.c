/* test/unit/core/test_pools.c - slots hold the largest message of any protocol, and never wrap */
#include "core/memory/pools.h"
#include "core/frame/attributes.h"
#include "ipc/wire/wire.h"
#include "test/support/check.h"

_Static_assert(BS_POOLS_ENVELOPE == BS_WIRE_BYTES, "the envelope of the wire");

static struct bs_site site;

int main(void)
{
	struct bs_pools pools;
	struct bs_fail why;
	struct bs_protocol *p = site.protocol;

	site.protocols = 2;
	site.acq_slots = 10;
	site.image_slots = 3;
	p[0] = (struct bs_protocol){ .matrix = { 64, 64, 1 },
				     .samples = 128,
				     .coils = 4,
				     .discard = 2,
				     .combine = BS_COMBINE_RSS };
	p[1] = (struct bs_protocol){ .matrix = { 16, 16, 16 },
				     .samples = 16,
				     .coils = 2,
				     .combine = BS_COMBINE_NONE,
				     .output = BS_OUTPUT_COMPLEX };
	bs_plan_make(&p[0]);
	bs_plan_make(&p[1]);
	CHECK(bs_pools_acq_message(&p[0]) == 64 + 340 + 130 * (12 + 4 * 8),
	      "envelope, header, three trajectory dimensions and four coils of 130 samples");
	CHECK(bs_pools_size(&pools, &site, &why) == 0, "sizes");
	/* 64 + 340 + 130 x 44 = 6124, up to 6144 */
	CHECK(pools.acq_bytes == 6144, "largest acquisition %llu",
	      (unsigned long long)pools.acq_bytes);
	/* 16^3 x 2 coils x 8 bytes; 64 + 198 + 8 + 12288 = 12558, up to 12608 */
	CHECK(pools.image_bytes == 12608 + 65536, "largest image %llu",
	      (unsigned long long)pools.image_bytes);
	CHECK(pools.total_bytes == 10 * 6144 + 3 * (12608 + 65536), "total");
	CHECK(BS_POOLS_PIXELS % BS_ALIGN == 0 && BS_POOLS_IMAGE_AT == 50, "pixels are aligned");

	/* where noise is summed, a slot holds the Gram matrix of one readout of it */
	p[1].coils = 40;
	p[1].whiten = BS_WHITEN_AUTO;
	p[1].combine = BS_COMBINE_RSS;
	bs_plan_make(&p[1]);
	CHECK(bs_pools_size(&pools, &site, &why) == 0 && pools.acq_bytes == 40 * 40 * 8,
	      "Gram matrix of 40 coils: %llu", (unsigned long long)pools.acq_bytes);

	/* the largest that config/ lets pass: no part of the arithmetic may wrap */
	p[0] = (struct bs_protocol){ .matrix = { 512, 512, 512 },
				     .samples = 65535,
				     .coils = 64,
				     .discard = 65535,
				     .output = BS_OUTPUT_COMPLEX };
	bs_plan_make(&p[0]);
	site.acq_slots = site.image_slots = UINT32_MAX;
	CHECK(bs_pools_size(&pools, &site, &why) == BS_ERR_NOMEM, "refused: %s", why.text);
	CHECK(pools.image_bytes == 12608 + (UINT64_C(1) << 36), "64 coils of 512^3 in 64 bits");
	return check_done();
}
