/*
 * core/linkage.h - C linkage for headers that .cu files include
 *
 * Declarations for .c and .cu files stand between BS_C_BEGIN and BS_C_END. core/err.h includes
 * this.
 */
#ifndef BS_CORE_LINKAGE_H
#define BS_CORE_LINKAGE_H

#ifdef __cplusplus
#define BS_C_BEGIN extern "C" {
#define BS_C_END   }
#else
#define BS_C_BEGIN
#define BS_C_END
#endif

#endif
