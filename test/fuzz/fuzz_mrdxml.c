/* test/fuzz/fuzz_mrdxml.c - the MRD XML header's reader on any bytes (libFuzzer; make fuzz) */
#include "ipc/wire/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bs_scan_info info;
	struct bs_fail why = { 0 };
	int rc = bs_mrdxml_read(&info, (const char *)data, size, &why);

	must(memchr(info.protocol, 0, sizeof(info.protocol)) != NULL);
	must(memchr(info.remark, 0, sizeof(info.remark)) != NULL);
	must(memchr(info.trajectory_name, 0, sizeof(info.trajectory_name)) != NULL);
	must(memchr(info.trajectory_unit, 0, sizeof(info.trajectory_unit)) != NULL);
	for (int i = 0; i < 3; i++)
		must(isfinite(info.fov_mm[i]) && isfinite(info.encoded_fov_mm[i]));
	if (rc == 0)
		must(info.encodings > 0);
	else
		must(why.code == rc && why.text[0] != '\0');
	return 0;
}
