/*
 * core/linkage.h - names as C has them, where a .cu file includes a header
 *
 * What a header declares for .cu files, too, stands between BS_C_BEGIN and BS_C_END. core/err.h
 * includes this.
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
