/*
 * gpu/device/isa.h - which instruction set the host operators use
 *
 * Each gpu/X_simd.c is compiled once per instruction set, with BS_ISA = v2, v3, v4 (x86-64 levels)
 * or native (any other machine). It names its exports BS_ISA_NAME(x); X.c picks one of the tables
 * of functions with BS_ISA_PICK(x) when a plan is made.
 * bs_isa: the best level that this machine has; the environment variable BORESIDE_ISA (v2, v3, v4)
 * lowers it, so that a test can run every level. Any thread.
 */
#ifndef BS_GPU_DEVICE_ISA_H
#define BS_GPU_DEVICE_ISA_H

#include "core/linkage.h"

BS_C_BEGIN

enum bs_isa { BS_ISA_V2, BS_ISA_V3, BS_ISA_V4 };

enum bs_isa bs_isa(void);

#define BS_ISA_JOIN2(a, b) a##_##b
#define BS_ISA_JOIN(a, b)  BS_ISA_JOIN2(a, b)
#define BS_ISA_NAME(name)  BS_ISA_JOIN(name, BS_ISA)

#if defined(__x86_64__)
#define BS_ISA_DECLARE(type, name) extern type name##_v2, name##_v3, name##_v4
#define BS_ISA_PICK(name)                                                                          \
	(bs_isa() == BS_ISA_V4 ? &name##_v4 : bs_isa() == BS_ISA_V3 ? &name##_v3 : &name##_v2)
#else
#define BS_ISA_DECLARE(type, name) extern type name##_native
#define BS_ISA_PICK(name)          (&name##_native)
#endif

BS_C_END
#endif
