/*
 * gpu/device/memory.h - the GPU's memory of one armed protocol, and pinned memory
 *
 * An arena as in core/memory/arena.h, on the device: need (struct bs_need) -> open -> take* -> seal
 * -> close. open makes one cudaMalloc (devmem) or one cudaHostAlloc (pinned, mapped into the
 * device's address space); nothing else in gpu/ allocates either kind. Contents are undefined
 * until written. C callers get device memory as void pointers and must not dereference them. Every
 * error is BS_ERR_GPU with the failed call, its file and line and CUDA's own words; when memory
 * ran out it is BS_ERR_NOMEM with the need and the free bytes.
 * Thread rules: one thread arms. Only with GPU=1. Test: test/twin/twin_devmem.c
 */
#ifndef BS_GPU_DEVICE_MEMORY_H
#define BS_GPU_DEVICE_MEMORY_H

#include "core/err.h"
#include "core/protocol.h"

BS_C_BEGIN

/*
 * Alignment in bytes: memory transactions of every width are whole, as cuFFT and bulk copies want.
 */
#define BS_DEV_ALIGN 256u

struct bs_devmem {
	unsigned char *base; /* first byte, a device address */
	size_t size, used;   /* bytes of the memory, and bytes taken */
	bool sealed;
	/*
	 * Pinned host memory for readouts that the device reads in place; mapped_size 0: readouts
	 * lie in base.
	 */
	unsigned char *mapped; /* address on the device */
	size_t mapped_size, mapped_used;
};

struct bs_pinned {
	unsigned char *host; /* address in this process */
	unsigned char *dev;  /* address of the same bytes on the device */
	size_t size;         /* bytes of the memory */
};

struct bs_gpu_info {
	char name[64];
	uint32_t major, minor; /* compute capability, major and minor */
	uint32_t multiprocessors;
	uint64_t total_bytes, free_bytes;
	uint32_t driver; /* version of the driver, 13000 for 13.0 */
	uint64_t l2_bytes;
	bool integrated; /* the GPU shares the host's memory (Jetson) */
	char bus[BS_GPU_BUS];
	/* CUDA's MPS is on: kernels of several processes run at the same time, not in turns */
	bool mps;
};

/* Returns 0 if there is a device, else BS_ERR_UNSUPPORTED with the reason.
 * Takes no device memory. */
int bs_gpu_answers(struct bs_fail *why);
uint32_t bs_gpu_count(void); /* number of devices; 0: none answers */
/* Like bs_gpu_answers, and checks that the current device works: starts the CUDA runtime on it. */
int bs_gpu_probe(struct bs_gpu_info *info, struct bs_fail *why);
/* Makes a device current for this thread. */
int bs_gpu_use(uint32_t device, struct bs_fail *why);

int bs_devmem_open(struct bs_devmem *m, uint64_t bytes, const char *protocol, struct bs_fail *why);
void bs_devmem_close(struct bs_devmem *m);
int bs_pinned_open(struct bs_pinned *m, uint64_t bytes, struct bs_fail *why);
void bs_pinned_close(struct bs_pinned *m);

/*
 * Lets the device read these bytes of the host's memory in place: page-locks the pages around them.
 * One call per process is enough; more calls do no harm. Where the system refuses, returns false
 * and logs a line: readouts then go through our own pinned memory.
 */
bool bs_gpu_share(const void *base, size_t bytes);
/*
 * Returns true if the device should read readouts from the host's memory instead of a copy, as
 * `auto` chooses.
 */
bool bs_gpu_integrated(void);

/* The bytes that a take of this size adds to a need, so that takes fit in any order. */
static inline uint64_t bs_devmem_round(uint64_t bytes)
{
	return (bytes + BS_DEV_ALIGN - 1) & ~(uint64_t)(BS_DEV_ALIGN - 1);
}

/* Returns NULL when the memory is sealed or full. The result is aligned to BS_DEV_ALIGN. */
static inline void *bs_devmem_take(struct bs_devmem *m, size_t bytes)
{
	size_t at = (m->used + BS_DEV_ALIGN - 1) & ~(size_t)(BS_DEV_ALIGN - 1);

	if (m->sealed || at > m->size || bytes > m->size - at)
		return NULL;
	m->used = at + bytes;
	return m->base + at;
}

/*
 * Takes memory and copies a table of the host into it. to: the address of the pointer to the table.
 */
int bs_devmem_upload(struct bs_devmem *m, void *to, const void *from, uint64_t bytes,
		     struct bs_fail *why);

/*
 * A part's memory in one list of calls, which sum its bytes up or take them, as struct bs_room does
 * on the host. to: the address of the pointer to the piece, which is set where there is memory.
 */
struct bs_devroom {
	struct bs_devmem *mem; /* memory to take from; NULL: none is taken */
	uint64_t bytes;
	bool full; /* there was no room for a piece */
};
void bs_devroom_take(struct bs_devroom *r, void *to, uint64_t bytes);
/* Returns 0, or BS_ERR_NOMEM in words where a piece found no room. what: the part's name. */
int bs_devroom_check(const struct bs_devroom *r, const char *what, struct bs_fail *why);

/* Takes memory for readouts: from the mapped memory, where there is any. */
static inline void *bs_devmem_take_readouts(struct bs_devmem *m, size_t bytes)
{
	size_t at = (m->mapped_used + BS_DEV_ALIGN - 1) & ~(size_t)(BS_DEV_ALIGN - 1);

	if (m->mapped_size == 0)
		return bs_devmem_take(m, bytes);
	if (m->sealed || at > m->mapped_size || bytes > m->mapped_size - at)
		return NULL;
	m->mapped_used = at + bytes;
	return m->mapped + at;
}

BS_C_END
#endif
