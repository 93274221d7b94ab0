/* core/memory/pools.c - see pools.h */
#include "core/memory/pools.h"

#include "core/frame/step.h"
#include "core/study/study.h"

uint64_t bs_pools_acq_message(const struct bs_protocol *p)
{
	/* at most 2^17 samples x (12 + 64 x 8) bytes, which is far from 64 bits */
	uint64_t samples = (uint64_t)p->samples + p->discard;
	uint64_t sample_bytes = BS_POOLS_TRAJ_DIMS * sizeof(float) + (uint64_t)p->coils * 8u;

	return BS_POOLS_ENVELOPE + BS_MRD_ACQ_BYTES + samples * sample_bytes;
}

/* The bytes that a slot of each pool must have for a protocol. */
static void slot_bytes(const struct bs_protocol *p, uint64_t *acq, uint64_t *image)
{
	const uint64_t gram = (uint64_t)p->coils * p->coils * 8u;

	*acq = bs_pools_acq_message(p);
	*acq = bs_plan_has(&p->plan, BS_PLAN_WHITEN) && gram > *acq ? gram : *acq;
	*image = BS_POOLS_PIXELS + bs_protocol_leaving_bytes(p);
}

int bs_pools_hold(const struct bs_pools *pools, const struct bs_site *site, struct bs_fail *why)
{
	for (uint32_t i = 0; i < site->protocols; i++) {
		uint64_t acq;
		uint64_t image;

		slot_bytes(&site->protocol[i], &acq, &image);
		if (acq > pools->acq_bytes)
			return bs_fail(why, BS_ERR_NOMEM,
				       "protocol '%s': samples, discard, coils: a readout takes "
				       "%llu bytes, a slot of the pool that was laid out at the "
				       "service's start has %llu",
				       site->protocol[i].name, (unsigned long long)acq,
				       (unsigned long long)pools->acq_bytes);
		if (image > pools->image_bytes)
			return bs_fail(why, BS_ERR_NOMEM,
				       "protocol '%s': matrix, image.matrix, coils: an image takes "
				       "%llu bytes, a slot of the pool that was laid out at the "
				       "service's start has %llu",
				       site->protocol[i].name, (unsigned long long)image,
				       (unsigned long long)pools->image_bytes);
		if (bs_protocol_kspace_bytes(&site->protocol[i]) >
			    pools->step_bytes - pools->image_bytes &&
		    site->steps > 0)
			return bs_fail(why, BS_ERR_NOMEM,
				       "protocol '%s': coils, readouts, samples: its step takes "
				       "more of a frame than was laid out at the service's start",
				       site->protocol[i].name);
	}
	return 0;
}

/* The bytes of a slot for images of their steps: of an image, and of readouts. */
static uint64_t step_bytes(const struct bs_pools *pools, const struct bs_site *site)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < site->protocols; i++) {
		const uint64_t bytes = bs_protocol_kspace_bytes(&site->protocol[i]);

		most = bytes > most ? bytes : most;
	}
	return pools->image_bytes + bs_slot(most);
}

/* The number of slots that takers may hold while the reconstruction has node.image_slots. */
static uint64_t taker_slots(const struct bs_site *site, uint64_t image_bytes)
{
	bool archive = site->archive_url[0] != '\0';
	bool store = bs_site_stores(site);
	uint64_t n = archive ? bs_pools_unsafe(image_bytes) : 0;

	if (store || (archive && site->overload.archive != BS_POLICY_WAIT) ||
	    (site->sinks > 0 && site->overload.sinks != BS_POLICY_WAIT))
		n += site->overload.queue + (uint64_t)archive + store + site->sinks;
	return n;
}

int bs_pools_size(struct bs_pools *pools, const struct bs_site *site, struct bs_fail *why)
{
	uint64_t acq = 0;
	uint64_t image = 0;
	struct bs_need need = { 0 };

	for (uint32_t i = 0; i < site->protocols; i++) {
		uint64_t a;
		uint64_t m;

		slot_bytes(&site->protocol[i], &a, &m);
		acq = a > acq ? a : acq;
		image = m > image ? m : image;
	}
	*pools = (struct bs_pools){
		.acq_slots = site->acq_slots,
		.acq_bytes = bs_slot(acq),
		.image_bytes = bs_slot(image),
		.study_bytes = bs_study_bytes(site),
		.log_bytes = bs_site_logs(site) ? (uint64_t)site->log.buffer_mib << 20 : 0,
	};
	pools->image_slots = site->image_slots + taker_slots(site, pools->image_bytes);
	bs_need_add(&need, "acquisition slots", pools->acq_slots, pools->acq_bytes);
	bs_need_add(&need, "image slots", pools->image_slots, pools->image_bytes);
	pools->step_slots = site->steps > 0 ? pools->image_slots : 0;
	pools->step_bytes = site->steps > 0 ? step_bytes(pools, site) : 0;
	bs_need_add(&need, "images with their steps", pools->step_slots + 2 * (uint64_t)site->steps,
		    pools->step_bytes);
	pools->answer_slots = site->answers > 0 ? BS_ANSWERS_MAX : 0;
	bs_need_add(&need, "readouts that answers compare with", pools->answer_slots,
		    pools->acq_bytes);
	if (pools->study_bytes > 0)
		bs_need_add(&need, "kept for the study", 1, pools->study_bytes);
	if (pools->log_bytes > 0)
		bs_need_add(&need, "on the way to the log", 1, pools->log_bytes);
	pools->total_bytes = need.total_bytes;
	if (need.overflow || need.total_bytes > SIZE_MAX / 2)
		return bs_fail(why, BS_ERR_NOMEM,
			       "shared pools of %llu x %llu and %llu x %llu bytes do not fit",
			       (unsigned long long)pools->acq_slots,
			       (unsigned long long)pools->acq_bytes,
			       (unsigned long long)pools->image_slots,
			       (unsigned long long)pools->image_bytes);
	return 0;
}
