/* gpu/solve/watch.cu - see watch.h */
#include "gpu/solve/watch.h"

#include "core/thread/clock.h"
#include "gpu/device/check.h"
#include "gpu/device/stream.h"

int bs_watch_open(struct bs_watch *w, struct bs_fail *why)
{
	int rc = bs_stream_event(&w->done[0], why);

	return rc != 0 ? rc : bs_stream_event(&w->done[1], why);
}

void bs_watch_close(struct bs_watch *w)
{
	for (int i = 0; i < 2; i++)
		if (w->done[i] != NULL)
			(void)cudaEventDestroy(w->done[i]);
}

int bs_watch_run(struct bs_watch *w, uint32_t most, int64_t deadline_ns,
		 int (*next)(void *arg, cudaEvent_t done, struct bs_fail *why), void *arg,
		 bool *late, struct bs_fail *why)
{
	int64_t longest = w->longest_ns;
	int64_t before = bs_now_ns();
	int rc = 0;

	*late = false;
	w->longest_ns = 0;
	for (uint32_t queued = 0; queued < most && rc == 0; queued++) {
		int64_t now;

		if (queued >= 2 || (queued == 1 && longest == 0)) {
			BS_CUDA(cudaEventSynchronize(w->done[queued >= 2 ? queued % 2 : 0]), why);
			now = bs_now_ns();
			w->longest_ns = now - before > w->longest_ns ? now - before : w->longest_ns;
			longest = w->longest_ns > longest ? w->longest_ns : longest;
			before = now;
		}
		now = bs_now_ns();
		/*
		 * Time for three: an iteration still under way, this one after it, and what ends
		 * the solve.
		 */
		if (queued > 0 && now > deadline_ns - 3 * longest) {
			*late = true;
			break;
		}
		rc = next(arg, w->done[queued % 2], why);
	}
	return rc;
}
