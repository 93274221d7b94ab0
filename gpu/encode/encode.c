/* gpu/encode/encode.c - the rows of the encodings; see encode.h */
#include "gpu/encode/encode.h"

static const struct bs_encoding *const rows[BS_ENCODES] = {
	[BS_ENCODE_NOTHING] = NULL,           [BS_ENCODE_GRID] = &bs_encode_grid,
	[BS_ENCODE_EXACT] = &bs_encode_exact, [BS_ENCODE_FIELD] = &bs_encode_field,
	[BS_ENCODE_PATH] = &bs_encode_path,   [BS_ENCODE_LINES] = &bs_encode_lines,
};

struct bs_encoder bs_encoder_of(const struct bs_protocol *p)
{
	return (struct bs_encoder){ .row = rows[bs_plan_of(p).encode], .p = p, .coils = p->coils };
}
