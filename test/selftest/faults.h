/*
 * test/selftest/faults.h - which planted fault is in force; each source that faults.awk has changed
 * is compiled with it
 *
 * PLANTED in the environment is its number; 0, or none: every source is as it was. A .cu file has a
 * number of its own on the device. Each file's is set when the device is first asked what it is,
 * before anything runs there: faults.sh has bs_gpu_probe call bs_planted_send.
 */
#ifndef BS_TEST_FAULTS_H
#define BS_TEST_FAULTS_H

#define FLIP(n)  (BS_PLANTED == (n) ? -1 : 1) /* a sign */
#define TWICE(n) (BS_PLANTED == (n) ? 2 : 1)  /* a weight */
#define UNLESS(n)                                                                                  \
	if (BS_PLANTED == (n)) { /* what is not made, or not cleared, anew */                      \
	} else

#ifdef __CUDACC__
#define BS_PLANTED bs_planted_here()

extern "C" int bs_planted;
static __constant__ int bs_planted_on_device;

static __host__ __device__ __forceinline__ int bs_planted_here(void)
{
#ifdef __CUDA_ARCH__
	return bs_planted_on_device;
#else
	return bs_planted;
#endif
}

struct bs_planted_file {
	cudaError_t (*send)(void);
	struct bs_planted_file *next;
};
inline struct bs_planted_file *bs_planted_files;

static cudaError_t bs_planted_send_here(void)
{
	return cudaMemcpyToSymbol(bs_planted_on_device, &bs_planted, sizeof(int));
}

static struct bs_planted_file bs_planted_this = { bs_planted_send_here, NULL };
static bool bs_planted_list(void)
{
	bs_planted_this.next = bs_planted_files;
	bs_planted_files = &bs_planted_this;
	return true;
}

static const bool bs_planted_listed = bs_planted_list();

inline cudaError_t bs_planted_send(void)
{
	static bool sent;
	cudaError_t e = cudaSuccess;

	for (struct bs_planted_file *f = sent ? NULL : bs_planted_files; f != NULL; f = f->next)
		e = e == cudaSuccess ? f->send() : e;
	sent = e == cudaSuccess;
	return sent ? cudaDeviceSynchronize() : e;
}
#else
#define BS_PLANTED bs_planted

/* Not from stdlib.h: the source says first which of its names it wants. */
extern char *getenv(const char *);
extern int atoi(const char *);

__attribute__((weak)) int bs_planted;

__attribute__((constructor, weak)) void bs_planted_read(void);
__attribute__((constructor, weak)) void bs_planted_read(void)
{
	const char *number = getenv("PLANTED");

	bs_planted = number != (void *)0 ? atoi(number) : 0;
}
#endif

#endif
