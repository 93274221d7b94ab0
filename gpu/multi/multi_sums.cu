/* gpu/multi/multi_sums.cu - see multi_sums.h */
#include "gpu/multi/multi_sums.h"

static int queue_step(struct bs_link *link, uint32_t part, const struct bs_multi_sum *s,
		      uint64_t step, uint64_t steps, size_t stride, struct bs_fail *why)
{
	struct CUstream_st *stream = bs_link_stream(link, part);
	int err = bs_link_enter(link, part, why);

	if (err == 0)
		err = bs_exact_cuda_step(s->plan, 0, step, s->data, stride, stream, why);
	if (err == 0 && step + 1 == steps)
		err = bs_exact_cuda_finish(s->plan, 0, s->image, stream, why);
	return err;
}

int bs_multi_sums(struct bs_link *link, const struct bs_multi_sum *sum, size_t stride,
		  struct bs_fail *why)
{
	const uint32_t parts = bs_link_parts(link);
	uint64_t steps[BS_DEVICES_MAX] = { 0 };
	uint64_t most = 0;
	int err = 0;

	for (uint32_t i = 0; i < parts; i++) {
		struct bs_exact_cuda_info info;

		if (sum[i].plan == NULL)
			continue;
		bs_exact_cuda_begin(sum[i].plan, 0);
		bs_exact_cuda_info(sum[i].plan, &info);
		steps[i] = info.steps;
		most = steps[i] > most ? steps[i] : most;
	}
	for (uint64_t n = 0; n < most; n++)
		for (uint32_t i = 0; i < parts && err == 0; i++)
			if (n < steps[i])
				err = queue_step(link, i, &sum[i], n, steps[i], stride, why);
	return err;
}
