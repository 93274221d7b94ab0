/* test/bench/power.cu - see power.h */
#include "test/bench/power.h"

#include <atomic>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "core/thread/thread.h"
#include "gpu/device/check.h"
#include "gpu/tool/energy.h"

#define IDLE_NS INT64_C(3000000000)
#define WARM_NS INT64_C(200000000)
#define BATCH   4.0 /* ms of runs that are queued together; two batches are under way */

static struct {
	struct bs_energy energy;
	double seconds; /* 0: not asked for, or not known */
} power;

void bs_power_open(const char *bus, char *words, size_t cap)
{
	const char *asked = getenv("ENERGY");
	char address[1][BS_GPU_BUS];
	struct bs_energy_span idle;
	struct bs_fail why;

	words[0] = '\0';
	if (asked == NULL || strtod(asked, NULL) <= 0.0)
		return;
	(void)snprintf(address[0], sizeof(address[0]), "%s", bus);
	if (bs_energy_open(&power.energy, NULL, address, 1, &why) != 0 ||
	    bs_energy_asleep(&power.energy, IDLE_NS, &idle, &why) != 0) {
		bs_energy_close(&power.energy);
		(void)snprintf(words, cap, "%s", why.text);
		return;
	}
	power.seconds = strtod(asked, NULL);
	(void)snprintf(words, cap,
		       "mJ: of the whole board, %g s back to back; idle, asleep for %.1f s, it "
		       "takes %.1f W",
		       power.seconds, idle.seconds, idle.mj / idle.seconds * 1e-3);
}

bool bs_power_asked(void)
{
	return power.seconds > 0.0;
}

void bs_power_close(void)
{
	bs_energy_close(&power.energy);
	power.seconds = 0.0;
}

struct reader {
	struct bs_energy_span span;
	struct bs_fail why;
	int rc;
	std::atomic<bool> done;
};

/* Beside the thread that keeps the GPU at work. */
static void *read_counter(void *arg)
{
	struct reader *r = (struct reader *)arg;

	bs_sleep_ns(WARM_NS);
	r->rc = bs_energy_asleep(&power.energy, (int64_t)(power.seconds * 1e9), &r->span, &r->why);
	r->done.store(true);
	return NULL;
}

static int queue(struct bs_stopwatch *w, cudaGraphExec_t exec, bs_stopwatch_work work, void *arg,
		 int runs, cudaEvent_t after, struct bs_fail *why)
{
	int rc = 0;

	for (int i = 0; i < runs && rc == 0; i++) {
		if (exec != NULL)
			BS_CUDA(cudaGraphLaunch(exec, w->stream), why);
		else
			rc = work(arg, w->stream, why);
	}
	if (rc == 0)
		BS_CUDA(cudaEventRecord(after, w->stream), why);
	return rc;
}

/* Batch after batch until the reader is done; ms: of one run. */
static int keep_busy(struct bs_stopwatch *w, cudaGraphExec_t exec, bs_stopwatch_work work,
		     void *arg, int batch, struct reader *r, double *ms, struct bs_fail *why)
{
	const cudaEvent_t after[2] = { w->from, w->to };
	int64_t from_ns = 0;
	int64_t batches = -1; /* whose end was seen since from_ns */
	int rc = queue(w, exec, work, arg, batch, after[0], why);

	for (int i = 1; rc == 0 && !(r->done.load() && batches > 0); i ^= 1) {
		rc = queue(w, exec, work, arg, batch, after[i], why);
		if (rc == 0)
			BS_CUDA(cudaEventSynchronize(after[i ^ 1]), why);
		if (batches++ < 0)
			from_ns = bs_now_ns();
	}
	*ms = (double)(bs_now_ns() - from_ns) * 1e-6 / ((double)batches * batch);
	BS_CUDA(cudaStreamSynchronize(w->stream), why);
	return rc;
}

int bs_power_measure(struct bs_stopwatch *w, bool graph, bs_stopwatch_work work, void *arg,
		     double ms, double *mj, struct bs_fail *why)
{
	cudaGraphExec_t exec = NULL;
	struct reader r = {};
	pthread_t thread;
	double each_ms = 0.0;
	int rc;

	*mj = 0.0;
	if (!bs_power_asked())
		return 0;
	rc = graph ? bs_stopwatch_record(w, work, arg, &exec, why) : 0;
	if (rc == 0 && bs_thread_start(&thread, read_counter, &r) != 0)
		rc = bs_fail(why, BS_ERR_NOMEM, "energy: no thread");
	if (rc == 0) {
		const int batch = ms < BATCH / 2 ? (int)(BATCH / ms) : 1;

		rc = keep_busy(w, exec, work, arg, batch, &r, &each_ms, why);
		(void)pthread_join(thread, NULL);
	}
	if (exec != NULL)
		(void)cudaGraphExecDestroy(exec);
	if (rc == 0 && r.rc != 0)
		return bs_fail(why, r.rc, "%s", r.why.text);
	if (rc == 0)
		*mj = r.span.mj / r.span.seconds * each_ms * 1e-3;
	return rc;
}
