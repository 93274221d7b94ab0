/* gpu/device/link.cu - see link.h */
#include "gpu/device/link.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/device/stream.h"

#ifdef BS_NCCL
#include <nccl.h>

/* The functions of NCCL that are called. */
struct nccl_calls {
	void *library;
	decltype(&ncclGetVersion) version;
	decltype(&ncclCommInitAll) init;
	decltype(&ncclCommDestroy) destroy;
	decltype(&ncclGetErrorString) words;
	decltype(&ncclGroupStart) begin;
	decltype(&ncclGroupEnd) end;
	decltype(&ncclSend) send;
	decltype(&ncclRecv) receive;
	decltype(&ncclAllGather) allgather;
};
#endif

struct part {
	int device;
	cudaStream_t stream;
	cudaEvent_t ready, taken;
};

struct bs_link {
	uint32_t parts;
	struct part part[BS_DEVICES_MAX];
	char name[192];
	bool nccl;
#ifdef BS_NCCL
	struct nccl_calls call;
	ncclComm_t comm[BS_DEVICES_MAX];
#endif
};

/* ---- devices ------------------------------------------------------------------------------ */

static bool capability(int device, int *major, int *minor)
{
	return cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device) ==
		       cudaSuccess &&
	       cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device) ==
		       cudaSuccess;
}

int bs_link_check(uint32_t parts, const int *device, struct bs_fail *why)
{
	int count = 0;
	int first[2];
	int other[2];

	if (parts < 1 || parts > BS_DEVICES_MAX)
		return bs_fail(why, BS_ERR_SIZE, "%u GPUs: 1 to %u", parts, BS_DEVICES_MAX);
	BS_CUDA(cudaGetDeviceCount(&count), why);
	for (uint32_t i = 0; i < parts; i++) {
		const int d = device != NULL ? device[i] : (int)i;

		if (d < 0 || d >= count)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "GPU %d was asked for, %d %s here",
				       d, count, count == 1 ? "is" : "are");
		if (!capability(d, &other[0], &other[1]))
			return bs_cuda_fail(why, cudaGetLastError(), "compute capability", __FILE__,
					    __LINE__);
		if (i == 0)
			memcpy(first, other, sizeof(first));
		if (other[0] != first[0] || other[1] != first[1])
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "GPU %d has compute capability %d.%d, the first one %d.%d: "
				       "GPUs that share a scan are of one kind",
				       d, other[0], other[1], first[0], first[1]);
	}
	return 0;
}

/*
 * Opens direct access, which makes copies between devices direct; else they pass through the host.
 */
static int open_peers(struct bs_link *l, uint32_t i, struct bs_fail *why)
{
	for (uint32_t j = 0; j < l->parts; j++) {
		int can = 0;
		cudaError_t e;

		if (l->part[j].device == l->part[i].device)
			continue;
		BS_CUDA(cudaDeviceCanAccessPeer(&can, l->part[i].device, l->part[j].device), why);
		if (!can)
			continue;
		e = cudaDeviceEnablePeerAccess(l->part[j].device, 0);
		if (e == cudaErrorPeerAccessAlreadyEnabled)
			(void)cudaGetLastError();
		else
			BS_CUDA(e, why);
	}
	return 0;
}

static int open_part(struct bs_link *l, uint32_t i, struct bs_fail *why)
{
	struct part *p = &l->part[i];

	BS_CUDA(cudaSetDevice(p->device), why);
	int err = bs_stream_open(&p->stream, why);

	if (err == 0)
		err = bs_stream_event(&p->ready, why);
	if (err == 0)
		err = bs_stream_event(&p->taken, why);
	return err != 0 ? err : open_peers(l, i, why);
}

static bool shared_device(const struct bs_link *l)
{
	for (uint32_t i = 0; i < l->parts; i++)
		for (uint32_t j = 0; j < i; j++)
			if (l->part[i].device == l->part[j].device)
				return true;
	return false;
}

/* ---- NCCL --------------------------------------------------------------------------------- */

#ifdef BS_NCCL
static int nccl_fail(struct bs_link *l, struct bs_fail *why, ncclResult_t r, const char *call)
{
	if (why == NULL)
		bs_log(BS_LOG_ERROR, "%s: %s", call, l->call.words(r));
	return bs_fail(why, BS_ERR_GPU, "%s: %s", call, l->call.words(r));
}

#define NCCL(l, call_, why)                                                                        \
	do {                                                                                       \
		ncclResult_t bs_n_ = (l)->call.call_;                                              \
		if (bs_n_ != ncclSuccess)                                                          \
			return nccl_fail(l, why, bs_n_, "nccl " #call_);                           \
	} while (0)

template <class F> static bool find(struct nccl_calls *c, F *f, const char *name)
{
	*f = (F)dlsym(c->library, name);
	return *f != NULL;
}

static int load(struct nccl_calls *c, struct bs_fail *why)
{
	/* otherwise NCCL's communicators would use NVLink's multicast where there is any */
	if (setenv("NCCL_NVLS_ENABLE", "0", 1) != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "NCCL_NVLS_ENABLE could not be set");
	c->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	if (c->library == NULL) {
		const char *reason = dlerror();

		return bs_fail(why, BS_ERR_UNSUPPORTED, "%s",
			       reason != NULL ? reason : "libnccl.so.2 could not be loaded");
	}
	if (find(c, &c->version, "ncclGetVersion") && find(c, &c->init, "ncclCommInitAll") &&
	    find(c, &c->destroy, "ncclCommDestroy") && find(c, &c->words, "ncclGetErrorString") &&
	    find(c, &c->begin, "ncclGroupStart") && find(c, &c->end, "ncclGroupEnd") &&
	    find(c, &c->send, "ncclSend") && find(c, &c->receive, "ncclRecv") &&
	    find(c, &c->allgather, "ncclAllGather"))
		return 0;
	return bs_fail(why, BS_ERR_UNSUPPORTED, "libnccl.so.2 lacks a call that is needed");
}

static int open_nccl(struct bs_link *l, struct bs_fail *why)
{
	int devices[BS_DEVICES_MAX];
	int version = 0;
	int err = load(&l->call, why);

	if (err != 0)
		return err;
	for (uint32_t i = 0; i < l->parts; i++)
		devices[i] = l->part[i].device;
	NCCL(l, version(&version), why);
	const ncclResult_t r = l->call.init(l->comm, (int)l->parts, devices);

	if (r != ncclSuccess) {
		memset(l->comm, 0, sizeof(l->comm));
		return nccl_fail(l, why, r, "ncclCommInitAll");
	}
	l->nccl = true;
	(void)snprintf(l->name, sizeof(l->name), "NCCL %d.%d.%d", version / 10000,
		       version / 100 % 100, version % 100);
	return 0;
}

static void close_nccl(struct bs_link *l)
{
	for (uint32_t i = 0; i < l->parts; i++)
		if (l->comm[i] != NULL)
			(void)l->call.destroy(l->comm[i]);
	/* The library stays loaded, since its threads may outlive the communicators. */
}

/* Nothing may return early between group begin and end: the first failure is kept until then. */
static int gather_nccl(struct bs_link *l, const void *const *from, void *const *to,
		       const size_t *bytes, struct bs_fail *why)
{
	ncclResult_t r = ncclSuccess;

	NCCL(l, begin(), why);
	for (uint32_t i = 1; i < l->parts && r == ncclSuccess; i++) {
		if (bytes[i] == 0)
			continue;
		r = l->call.send(from[i], bytes[i], ncclInt8, 0, l->comm[i], l->part[i].stream);
		if (r == ncclSuccess)
			r = l->call.receive(to[i], bytes[i], ncclInt8, (int)i, l->comm[0],
					    l->part[0].stream);
	}
	const ncclResult_t end = l->call.end();

	if (r != ncclSuccess || end != ncclSuccess)
		return nccl_fail(l, why, r != ncclSuccess ? r : end, "nccl send and receive");
	return 0;
}

static int allgather_nccl(struct bs_link *l, void *const *all, size_t bytes, struct bs_fail *why)
{
	ncclResult_t r = ncclSuccess;

	NCCL(l, begin(), why);
	for (uint32_t i = 0; i < l->parts && r == ncclSuccess; i++)
		r = l->call.allgather((const char *)all[i] + i * bytes, all[i], bytes, ncclInt8,
				      l->comm[i], l->part[i].stream);
	const ncclResult_t end = l->call.end();

	if (r != ncclSuccess || end != ncclSuccess)
		return nccl_fail(l, why, r != ncclSuccess ? r : end, "nccl allgather");
	return 0;
}
#else
static int open_nccl(struct bs_link *, struct bs_fail *why)
{
	return bs_fail(why, BS_ERR_UNSUPPORTED, "this program was built without nccl.h");
}

static void close_nccl(struct bs_link *)
{
}

static int gather_nccl(struct bs_link *, const void *const *, void *const *, const size_t *,
		       struct bs_fail *why)
{
	return bs_fail(why, BS_ERR_UNSUPPORTED, "this program was built without nccl.h");
}

static int allgather_nccl(struct bs_link *, void *const *, size_t, struct bs_fail *why)
{
	return bs_fail(why, BS_ERR_UNSUPPORTED, "this program was built without nccl.h");
}
#endif

/* ---- copies ------------------------------------------------------------------------------- */

static int mark(struct bs_link *l, uint32_t i, cudaEvent_t event, struct bs_fail *why)
{
	BS_CUDA(cudaSetDevice(l->part[i].device), why);
	return BS_CUDA_RC(cudaEventRecord(event, l->part[i].stream), why);
}

/*
 * Part 0's stream waits for the data that it takes; the givers' streams wait until part 0 has it.
 */
static int gather_copies(struct bs_link *l, const void *const *from, void *const *to,
			 const size_t *bytes, struct bs_fail *why)
{
	int err = 0;

	for (uint32_t i = 1; i < l->parts && err == 0; i++)
		err = mark(l, i, l->part[i].ready, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaSetDevice(l->part[0].device), why);
	for (uint32_t i = 1; i < l->parts; i++) {
		BS_CUDA(cudaStreamWaitEvent(l->part[0].stream, l->part[i].ready, 0), why);
		if (bytes[i] > 0)
			BS_CUDA(cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDefault,
						l->part[0].stream),
				why);
	}
	err = mark(l, 0, l->part[0].taken, why);
	for (uint32_t i = 1; i < l->parts && err == 0; i++) {
		BS_CUDA(cudaSetDevice(l->part[i].device), why);
		BS_CUDA(cudaStreamWaitEvent(l->part[i].stream, l->part[0].taken, 0), why);
	}
	return err;
}

/* Copies parts among all GPUs. A part takes from the others once these are ready, and goes on once
 * the others have taken. */
static int allgather_copies(struct bs_link *l, void *const *all, size_t bytes, struct bs_fail *why)
{
	int err = 0;

	for (uint32_t i = 0; i < l->parts && err == 0; i++)
		err = mark(l, i, l->part[i].ready, why);
	for (uint32_t j = 0; j < l->parts && err == 0; j++) {
		BS_CUDA(cudaSetDevice(l->part[j].device), why);
		for (uint32_t i = 0; i < l->parts; i++) {
			if (i == j)
				continue;
			BS_CUDA(cudaStreamWaitEvent(l->part[j].stream, l->part[i].ready, 0), why);
			BS_CUDA(cudaMemcpyAsync((char *)all[j] + i * bytes,
						(const char *)all[i] + i * bytes, bytes,
						cudaMemcpyDefault, l->part[j].stream),
				why);
		}
		err = mark(l, j, l->part[j].taken, why);
	}
	for (uint32_t i = 0; i < l->parts && err == 0; i++) {
		BS_CUDA(cudaSetDevice(l->part[i].device), why);
		for (uint32_t j = 0; j < l->parts; j++)
			if (i != j)
				BS_CUDA(cudaStreamWaitEvent(l->part[i].stream, l->part[j].taken, 0),
					why);
	}
	return err;
}

/* ---- the link ----------------------------------------------------------------------------- */

static int choose_transport(struct bs_link *l, enum bs_link_kind kind, struct bs_fail *why)
{
	struct bs_fail reason;
	int err;

	(void)snprintf(l->name, sizeof(l->name), "copies");
	if (kind == BS_LINK_COPY || (kind == BS_LINK_AUTO && l->parts == 1))
		return 0;
	memset(&reason, 0, sizeof(reason));
	err = shared_device(l) ? bs_fail(&reason, BS_ERR_UNSUPPORTED, "parts share a device")
			       : open_nccl(l, &reason);
	if (err == 0)
		return 0;
	if (kind == BS_LINK_NCCL)
		return bs_fail(why, err, "NCCL: %s", reason.text);
	(void)snprintf(l->name, sizeof(l->name), "copies (%.160s)", reason.text);
	return 0;
}

int bs_link_open(struct bs_link **out, uint32_t parts, const int *device, enum bs_link_kind kind,
		 struct bs_fail *why)
{
	struct bs_link *l;
	int err = bs_link_check(parts, device, why);

	*out = NULL;
	if (err != 0)
		return err;
	l = (struct bs_link *)calloc(1, sizeof(*l));
	if (l == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "several GPUs");
	l->parts = parts;
	for (uint32_t i = 0; i < parts; i++)
		l->part[i].device = device != NULL ? device[i] : (int)i;
	for (uint32_t i = 0; i < parts && err == 0; i++)
		err = open_part(l, i, why);
	if (err == 0)
		err = choose_transport(l, kind, why);
	if (err == 0)
		err = bs_link_enter(l, 0, why);
	if (err != 0) {
		bs_link_close(l);
		return err;
	}
	*out = l;
	return 0;
}

void bs_link_close(struct bs_link *l)
{
	if (l == NULL)
		return;
	close_nccl(l);
	for (uint32_t i = 0; i < l->parts; i++) {
		struct part *p = &l->part[i];

		if (cudaSetDevice(p->device) != cudaSuccess)
			continue;
		if (p->ready != NULL)
			(void)cudaEventDestroy(p->ready);
		if (p->taken != NULL)
			(void)cudaEventDestroy(p->taken);
		if (p->stream != NULL)
			(void)cudaStreamDestroy(p->stream);
	}
	(void)cudaSetDevice(l->part[0].device);
	free(l);
}

uint32_t bs_link_parts(const struct bs_link *l)
{
	return l->parts;
}

const char *bs_link_name(const struct bs_link *l)
{
	return l->name;
}

int bs_link_enter(struct bs_link *l, uint32_t part, struct bs_fail *why)
{
	return BS_CUDA_RC(cudaSetDevice(l->part[part].device), why);
}

struct CUstream_st *bs_link_stream(struct bs_link *l, uint32_t part)
{
	return l->part[part].stream;
}

int bs_link_leave(struct bs_link *l, int err, struct bs_fail *why)
{
	struct bs_fail second; /* reason of a later failure, dropped: the first one is reported */
	int left = bs_link_enter(l, 0, err == 0 ? why : &second);

	return err != 0 ? err : left;
}

static int gather(struct bs_link *l, const void *const *from, void *const *to, const size_t *bytes,
		  struct bs_fail *why)
{
	int err = bs_link_enter(l, 0, why);

	if (err != 0)
		return err;
	if (bytes[0] > 0 && from[0] != to[0])
		BS_CUDA(cudaMemcpyAsync(to[0], from[0], bytes[0], cudaMemcpyDeviceToDevice,
					l->part[0].stream),
			why);
	if (l->parts == 1)
		return 0;
	return l->nccl ? gather_nccl(l, from, to, bytes, why)
		       : gather_copies(l, from, to, bytes, why);
}

int bs_link_gather(struct bs_link *l, const void *const *from, void *const *to, const size_t *bytes,
		   struct bs_fail *why)
{
	return bs_link_leave(l, gather(l, from, to, bytes, why), why);
}

int bs_link_allgather(struct bs_link *l, void *const *all, size_t bytes, struct bs_fail *why)
{
	if (l->parts == 1)
		return 0;
	return bs_link_leave(l,
			     l->nccl ? allgather_nccl(l, all, bytes, why)
				     : allgather_copies(l, all, bytes, why),
			     why);
}

int bs_link_wait(struct bs_link *l, struct bs_fail *why)
{
	const int err = bs_link_each(l, why, [=](uint32_t i) {
		return BS_CUDA_RC(cudaStreamSynchronize(l->part[i].stream), why);
	});

	return bs_link_leave(l, err, why);
}
