/* gpu/device/isa.c - see isa.h */
#include "gpu/device/isa.h"

#include <stdlib.h>
#include <string.h>

static enum bs_isa of_machine(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
	    !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
		return BS_ISA_V2;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512vl"))
		return BS_ISA_V3;
	return BS_ISA_V4;
#else
	return BS_ISA_V2;
#endif
}

static enum bs_isa of_environment(void)
{
	static const char *const names[] = { "v2", "v3", "v4" };
	const char *word = getenv("BORESIDE_ISA");

	for (int i = BS_ISA_V2; word != NULL && i <= BS_ISA_V4; i++)
		if (strcmp(word, names[i]) == 0)
			return (enum bs_isa)i;
	return BS_ISA_V4;
}

enum bs_isa bs_isa(void)
{
	enum bs_isa best = of_machine();
	enum bs_isa wanted = of_environment();

	return wanted < best ? wanted : best;
}
