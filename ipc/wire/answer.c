/* ipc/wire/answer.c - see answer.h */
#include "ipc/wire/answer.h"

#include "ipc/wire/bytes.h"

static const struct bs_field fields[] = { BS_FIELD(4, bs_answer, numbers),
					  BS_FIELD(8, bs_answer, readout),
					  BS_FIELD(16, bs_answer, scan_counter),
					  BS_FIELD(20, bs_answer, image),
					  BS_FIELD(24, bs_answer, received_ns),
					  BS_FIELD(32, bs_answer, computed_ns),
					  BS_FIELD(40, bs_answer, by_ns),
					  BS_FIELD(48, bs_answer, deviation),
					  BS_FIELD(56, bs_answer, count),
					  BS_FIELD(60, bs_answer, row),
					  { 0 } };

size_t bs_wire_put_answer(unsigned char out[BS_WIRE_ANSWER_MAX], const struct bs_answer *a)
{
	const uint32_t n = a->numbers < BS_ANSWER_NUMBERS ? a->numbers : BS_ANSWER_NUMBERS;

	bs_put_le(out, (uint32_t)a->what + 1, 4);
	bs_put_fields(out, a, fields);
	bs_put_le(out + 4, n, 4);
	memcpy(out + BS_WIRE_ANSWER_HEAD, a->number, n * sizeof(a->number[0]));
	return BS_WIRE_ANSWER_HEAD + 8 * (size_t)n;
}

int bs_wire_get_answer(struct bs_answer *a, const unsigned char *p, size_t len, struct bs_fail *why)
{
	uint64_t what;

	if (len < BS_WIRE_ANSWER_HEAD)
		return bs_fail(why, BS_ERR_LENGTH, "answer of %zu bytes, at least %u", len,
			       BS_WIRE_ANSWER_HEAD);
	what = bs_get_le(p, 4);
	bs_get_fields(a, p, fields);
	if (what == 0 || what > BS_ANSWER_WHATS || a->numbers > BS_ANSWER_NUMBERS)
		return bs_fail(why, BS_ERR_VALUE, "answer of kind %llu with %u numbers",
			       (unsigned long long)what, a->numbers);
	if (len != BS_WIRE_ANSWER_HEAD + 8 * (size_t)a->numbers)
		return bs_fail(why, BS_ERR_LENGTH, "answer of %zu bytes with %u numbers", len,
			       a->numbers);
	a->what = (enum bs_answer_what)(what - 1);
	memcpy(a->number, p + BS_WIRE_ANSWER_HEAD, a->numbers * sizeof(a->number[0]));
	return 0;
}
