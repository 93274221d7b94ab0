/*
 * gpu/fft/fft_simd.h - what the kernels of one instruction set share: the vector and its width
 *
 * Only *_simd.c files include this. BS_ISA names the build; BS_SYM(x) is x with its suffix.
 */
#ifndef BS_GPU_FFT_FFT_SIMD_H
#define BS_GPU_FFT_FFT_SIMD_H

#include "gpu/device/simd.h"

#define BS_JOIN2(a, b) a##_##b
#define BS_JOIN(a, b)  BS_JOIN2(a, b)
#define BS_SYM(x)      BS_JOIN(x, BS_ISA)
#define BS_STR2(x)     #x
#define BS_STR(x)      BS_STR2(x)

#if defined(__AVX512F__)
#define VW 16
#elif defined(__AVX__)
#define VW 8
#else
#define VW 4
#endif

typedef float vf __attribute__((vector_size(4 * VW), aligned(4 * VW), may_alias));
typedef float vfu __attribute__((vector_size(4 * VW), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(4 * VW), aligned(4 * VW), may_alias));
typedef double vdu __attribute__((vector_size(4 * VW), aligned(4), may_alias));

/* UNROLL: loops over a few registers' worth. KERNEL: one copy for each constant that it is called
 * with. Under a sanitizer the same code runs rolled, once for all: so many checks in straight-line code
 * take minutes to compile. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(undefined_behavior_sanitizer)
#define BS_CHECKED 1
#endif
#endif
#if defined(BS_CHECKED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNROLL
#define KERNEL static __attribute__((noinline))
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 48")
#endif
#if !defined(KERNEL)
#define KERNEL static inline __attribute__((always_inline))
#endif
#define INLINE static inline __attribute__((always_inline))

INLINE vf loadu(const float *p)
{
	return *(const vfu *)p;
}

INLINE void storeu(float *p, vf v)
{
	*(vfu *)p = v;
}

extern const bs_spread_fn BS_SYM(bs_spread_table)[BS_TAPS_MAX + 1][5];
extern const bs_spread_fn BS_SYM(bs_interpolate_table)[BS_TAPS_MAX + 1][5];

#endif
