/*
 * test/twin/twin_devmem.c - too large a request is refused with a reason; a sealed device arena
 * gives none
 */
#include "test/support/check.h"
#include "gpu/device/memory.h"
#include "test/twin/device.h"

#include <string.h>

static void check_device(void)
{
	struct bs_devmem m;
	struct bs_fail why;

	CHECK(bs_devmem_open(&m, 4096, "small", &why) == 0, "4,096 bytes on %s", gpu.name);
	CHECK(bs_devmem_take(&m, 1000) == m.base, "the first piece lies at the base");
	CHECK(bs_devmem_take(&m, 1000) == m.base + 1024, "the second is aligned");
	CHECK(bs_devmem_take(&m, SIZE_MAX - 2048) == NULL, "a size that would wrap is refused");
	CHECK(bs_devmem_take(&m, 2049) == NULL, "a size beyond the end is refused");
	m.sealed = true;
	CHECK(bs_devmem_take(&m, 1) == NULL, "a sealed arena gives nothing");
	bs_devmem_close(&m);
	CHECK(bs_devmem_open(&m, UINT64_MAX / 4, "huge", &why) == BS_ERR_NOMEM &&
		      strstr(why.text, "huge") != NULL,
	      "refused: %s", why.text);
}

static void check_pinned(void)
{
	struct bs_pinned m;
	struct bs_fail why;

	CHECK(bs_pinned_open(&m, 8192, &why) == 0, "8,192 pinned bytes");
	memset(m.host, 1, m.size);
	bs_pinned_close(&m);
}

static void compare_all(void)
{
	check_device();
	check_pinned();
}

int main(void)
{
	return twin_main("device memory", 0, compare_all);
}
