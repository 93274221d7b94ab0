/* drivers/sink/sink.c - see sink.h */
#include "drivers/sink/sink.h"

#include <string.h>

#define VALUES_MAX (UINT64_C(1) << 36)

static const struct bs_sink *const known[] = { BS_SINKS };
#define SINKS (sizeof(known) / sizeof(known[0]))

const struct bs_sink *bs_sink_find(const char *type_or_name)
{
	const size_t len = strlen(type_or_name);

	for (size_t i = 0; i < SINKS; i++) {
		const size_t e = strlen(known[i]->ext);

		if (strcmp(type_or_name, known[i]->type) == 0 ||
		    (len >= e && strcmp(type_or_name + len - e, known[i]->ext) == 0))
			return known[i];
	}
	return NULL;
}

static int check_head(const struct bs_mrd_image *head, struct bs_fail *why)
{
	uint64_t n = head->channels;

	if (head->data_type != BS_MRD_FLOAT && head->data_type != BS_MRD_CXFLOAT)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image %u: data type %u is neither float nor complex float",
			       head->image_index, head->data_type);
	for (int a = 0; a < 3; a++) /* four u16: their product fits 64 bits */
		n *= head->matrix_size[a];
	if (n == 0 || n > VALUES_MAX)
		return bs_fail(why, BS_ERR_SIZE, "image %u: %u x %u x %u, %u channels",
			       head->image_index, head->matrix_size[0], head->matrix_size[1],
			       head->matrix_size[2], head->channels);
	return 0;
}

int bs_sink_put(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		const char *attributes, const void *pixels, struct bs_fail *why)
{
	int rc = check_head(head, why);

	return rc == 0 ? sink->put(self, head, attributes, pixels, why) : rc;
}

int bs_sink_put_pairs(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		      const char *attributes, const void *pixels, struct bs_fail *why)
{
	int rc = check_head(head, why);

	return rc == 0 ? sink->put_pairs(self, head, attributes, pixels, why) : rc;
}
