/*
 * gpu/device/simd.h - the vectors of the instruction set that a *_simd.c file is built for
 *
 * Only *_simd.c files and the loops they include use this. VW: number of floats in a vector.
 * EVEN, ODD: every other lane of two vectors. LOW, HIGH: the lower and the upper halves of two
 * vectors, interleaved.
 */
#ifndef BS_GPU_DEVICE_SIMD_H
#define BS_GPU_DEVICE_SIMD_H

#include "gpu/device/isa.h"

#if defined(__AVX512F__)
#define VW 16
#define EVEN(a, b)                                                                                 \
	__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b)                                                                                  \
	__builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW(a, b)                                                                                  \
	__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b)                                                                                 \
	__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined(__AVX__)
#define VW         8
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define VW         4
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7)
#define LOW(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

typedef float vf __attribute__((vector_size(4 * VW), aligned(4 * VW), may_alias));
typedef float vfu __attribute__((vector_size(4 * VW), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(4 * VW), aligned(4 * VW), may_alias));
typedef double vdu __attribute__((vector_size(4 * VW), aligned(4), may_alias));

/*
 * UNROLL unrolls loops that are a few registers long. KERNEL makes one copy of a function for each
 * constant that it is called with. Under a sanitizer both do nothing: so many checks in
 * straight-line code take minutes to compile.
 */
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

#endif
