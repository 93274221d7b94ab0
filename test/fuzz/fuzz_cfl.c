/* test/fuzz/fuzz_cfl.c - the .hdr reader on any text: refuses, or gives sizes that multiply up */
#include <stdlib.h>

#include "drivers/tool/load/cfl.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len)
{
	uint64_t dims[BS_CFL_DIMS];
	uint64_t size;
	uint64_t product = 1;
	struct bs_fail why;
	int rc = bs_cfl_parse(dims, &size, (const char *)data, len, "fuzz.hdr", &why);

	if (rc != 0)
		return rc == BS_ERR_FORMAT ? 0 : (abort(), 0);
	for (unsigned i = 0; i < BS_CFL_DIMS; i++) {
		if (dims[i] == 0 || __builtin_mul_overflow(product, dims[i], &product))
			abort();
	}
	if (product != size || size > INT64_MAX / 8)
		abort();
	return 0;
}
