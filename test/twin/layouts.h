/* test/twin/layouts.h - where the parts of a scan lie in a test: on one GPU together, or each on its own */
#ifndef BS_TEST_TWIN_LAYOUTS_H
#define BS_TEST_TWIN_LAYOUTS_H

#include "gpu/device/link.h"
#include "test/support/check.h"

/* Where parts lie: all on the first device, or each on its own. */
struct layout {
	uint32_t parts;
	int own;
	enum bs_link_kind kind;
};

static struct layout layouts[24];
static int layout_count;

static inline void list_layouts(uint32_t devices)
{
	static const uint32_t shared[] = { 1, 2, 3, 5, 8 };

	for (unsigned i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		layouts[layout_count++] = (struct layout){ shared[i], 0, BS_LINK_COPY };
	for (uint32_t n = 2; n <= devices; n++) {
		layouts[layout_count++] = (struct layout){ n, 1, BS_LINK_COPY };
		layouts[layout_count++] = (struct layout){ n, 1, BS_LINK_NCCL };
	}
}

/* NULL: said why. */
static inline struct bs_link *open_link(const struct layout *l, char *words, size_t size)
{
	static const int zeros[BS_DEVICES_MAX];
	struct bs_link *link = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_link_open(&link, l->parts, l->own ? NULL : zeros, l->kind, &why);

	if (rc == BS_ERR_UNSUPPORTED && l->kind == BS_LINK_NCCL) {
		SKIP("%u GPUs by NCCL: %s", l->parts, why.text);
		return NULL;
	}
	CHECK(rc == 0, "link of %u parts %s", l->parts, why.text);
	if (rc == 0)
		(void)snprintf(words, size, "%u parts, %s, %s", l->parts,
			       l->own ? "a GPU each" : "one GPU", bs_link_name(link));
	return rc == 0 ? link : NULL;
}

#endif
