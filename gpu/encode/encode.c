/* gpu/encode/encode.c - the rows of the encodings; see encode.h */
#include "gpu/encode/encode.h"

static const struct bs_encoding *row_of(enum bs_encode encode)
{
	switch (encode) {
	case BS_ENCODE_GRID:
		return &bs_encode_grid;
	case BS_ENCODE_EXACT:
		return &bs_encode_exact;
	case BS_ENCODE_FIELD:
		return &bs_encode_field;
	case BS_ENCODE_PATH:
		return &bs_encode_path;
	case BS_ENCODE_LINES:
		return &bs_encode_lines;
	case BS_ENCODE_NOTHING:
	case BS_ENCODES:
		break;
	}
	return NULL;
}

struct bs_encoder bs_encoder_of(const struct bs_protocol *p)
{
	return (struct bs_encoder){ .row = row_of(p->plan.encode), .p = p, .coils = p->coils };
}
