/*
 * test/unit/board/test_memplan.c - the plan's sum is that of its parts; a site that is too large is
 * refused
 */
#include "board/arm/memplan.h"
#include "drivers/log/writer.h"
#include "ipc/wire/wire.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#include <string.h>

static struct bs_site site;
static struct bs_memplan plan;
static char told[2048];
static unsigned lines;

static void collect(void *arg, const char *line)
{
	(void)arg;
	lines++;
	(void)snprintf(told, sizeof(told), "%s", line);
}

static int make(void)
{
	lines = 0;
	told[0] = '\0';
	return bs_memplan_make(&plan, &site, collect, NULL);
}

static uint64_t parts(const struct bs_need *need)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < need->parts; i++)
		sum += need->part[i].count * need->part[i].bytes;
	return sum;
}

static void make_site(void)
{
	struct bs_protocol *p = site.protocol;

	(void)snprintf(site.file, sizeof(site.file), "site.cfg");
	site.acq_slots = 1000;
	site.image_slots = 2;
	site.memory_mib = 64;
	site.protocols = 2;
	p[0] = with_name(lines_of(64, 64, 1, 128, 4), "a");
	p[0].backend = BS_BACKEND_HOST;
	p[0].slices = 3;
	p[0].combine = BS_COMBINE_RSS;
	p[1] = p[0];
	(void)snprintf(p[1].name, sizeof(p[1].name), "b");
	p[1].method = BS_METHOD_NOOP;
	bs_plan_make(&p[1]);
}

/* A scan of slices at once, EPI, left out in plane, coils compressed, volumes: of many parts. */
static void test_many_parts(void)
{
	const struct bs_protocol kept = site.protocol[0];
	struct bs_protocol *p = &site.protocol[0];

	p->parallel = BS_PARALLEL_SLICES;
	p->uses = 1u << BS_KIND_CALIBRATION | 1u << BS_KIND_PHASE_CORRECTION;
	p->slices = 4;
	p->virtual_coils = 3;
	p->epi_correct = p->volume = true;
	p->grappa_kernel[0] = 5;
	p->grappa_kernel[1] = 9;
	p->grappa_kernel[2] = 1;
	p->grappa_sources = 2;
	p->multiband.factor = 2;
	p->multiband.kernel[0] = p->multiband.kernel[1] = 5;
	bs_plan_make(p);
	CHECK(make() == 0 && plan.protocol[0].need.parts > 80, "%u parts: %s",
	      plan.protocol[0].need.parts, told);
	*p = kept;
}

int main(void)
{
	struct bs_protocol *p = site.protocol;
	uint64_t sum = 0;
	int rc = 0;

	make_site();
	CHECK(make() == 0 && lines == 0, "two protocols fit 64 MiB: %s", told);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(plan.protocol[i].engine != NULL, "protocol %u has an engine", i);
		sum += parts(&plan.protocol[i].need) + parts(&plan.protocol[i].tables);
	}
	sum += plan.pools.acq_slots * plan.pools.acq_bytes +
	       plan.pools.image_slots * plan.pools.image_bytes;
	CHECK(plan.total_bytes == sum, "the sum of all parts is %llu",
	      (unsigned long long)plan.total_bytes);
	/* three frames of encoded k-space for four coils are the least that Cartesian needs */
	CHECK(plan.protocol[0].need.total_bytes >= UINT64_C(3) * 4 * 64 * 64 * 8, "%llu bytes",
	      (unsigned long long)plan.protocol[0].need.total_bytes);

	p[0].image_matrix[0] = p[0].image_matrix[1] = 96;
	p[0].image_matrix[2] = 1;
	bs_plan_make(&p[0]);
	uint64_t plain = plan.protocol[0].need.total_bytes;
	uint64_t slot = plan.pools.image_bytes;

	/* besides the resized image one that is resized along x alone; and larger slots */
	CHECK(make() == 0 &&
		      plan.protocol[0].need.total_bytes - plain >=
			      UINT64_C(96) * 96 * 8 + UINT64_C(96) * 64 * 8 &&
		      plan.pools.image_bytes - slot == UINT64_C(4) * (96 * 96 - 64 * 64),
	      "an image on 96 x 96 takes %llu bytes more, and %llu in each slot",
	      (unsigned long long)(plan.protocol[0].need.total_bytes - plain),
	      (unsigned long long)(plan.pools.image_bytes - slot));
	memset(p[0].image_matrix, 0, sizeof(p[0].image_matrix));
	CHECK(make() == 0 && plan.total_bytes == sum, "and without it what it took before");
	test_many_parts();

	site.sinks = 2;
	site.overload.sinks = BS_POLICY_SPILL;
	site.overload.queue = 3;
	/* each taker one in hand, all of them a queue; a buffer for what comes from the store: the
	 * slot, an envelope and eight bytes more; of the store's own two such, and its writer's */
	CHECK(make() == 0 && plan.pools.image_slots == 2 + 3 + 3 &&
		      plan.total_bytes > sum + plan.pools.image_bytes * 6 +
						 UINT64_C(4) * (plan.pools.image_bytes + 72),
	      "two takers that spill from a queue of three add six slots, and the store: %llu",
	      (unsigned long long)(plan.total_bytes - sum));
	site.sinks = 0;
	CHECK(make() == 0 && plan.total_bytes == sum, "and without them what it took before");

	const uint64_t beside = sum - plan.pools.total_bytes;

	site.memory_mib = 256;
	site.log = (struct bs_log_spec){ .dir = "logs",
					 .mode = BS_LOG_MODE_DURABLE,
					 .buffer_mib = 32 };
	CHECK(make() == 0 && plan.total_bytes == plan.pools.total_bytes + beside +
							 bs_log_writer_bytes(BS_WIRE_OPEN_MAX),
	      "what is committed to a log at once holds a header: %llu bytes",
	      (unsigned long long)(plan.total_bytes - plan.pools.total_bytes - beside));
	site.log.dir[0] = '\0';

	site.memory_mib = (uint32_t)(sum >> 20); /* less than the sum, by less than 1 MiB */
	rc = make();
	CHECK(rc == BS_ERR_NOMEM && lines == 1 &&
		      strstr(told, "site.cfg: node.memory_mib: ") != NULL,
	      "too little: %s", told);

	/* what config/ would refuse, but must not wrap here either */
	site.memory_mib = UINT32_MAX;
	site.acq_slots = site.image_slots = UINT32_MAX;
	p[1].coils = 64;
	p[1].combine = BS_COMBINE_NONE;
	p[1].matrix[0] = p[1].matrix[1] = p[1].matrix[2] = 512;
	bs_plan_make(&p[1]);
	CHECK(make() == BS_ERR_NOMEM && lines >= 1, "beyond 64 bits: %s", told);
	return check_done();
}
