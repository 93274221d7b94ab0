/* ipc/wire/answer.c - see answer.h */
#include "ipc/wire/answer.h"

#include <string.h>

#include "ipc/wire/bytes.h"

static void put_real(unsigned char *out, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bs_put_le(out, bits, 8);
}

static double get_real(const unsigned char *p)
{
	const uint64_t bits = bs_get_le(p, 8);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

size_t bs_wire_put_answer(unsigned char out[BS_WIRE_ANSWER_MAX], const struct bs_answer *a)
{
	const uint32_t n = a->numbers < BS_ANSWER_NUMBERS ? a->numbers : BS_ANSWER_NUMBERS;

	bs_put_le(out, (uint32_t)a->what + 1, 4);
	bs_put_le(out + 4, n, 4);
	bs_put_le(out + 8, a->readout, 8);
	bs_put_le(out + 16, a->scan_counter, 4);
	bs_put_le(out + 20, a->image, 4);
	bs_put_le(out + 24, (uint64_t)a->received_ns, 8);
	bs_put_le(out + 32, (uint64_t)a->computed_ns, 8);
	bs_put_le(out + 40, (uint64_t)a->by_ns, 8);
	put_real(out + 48, a->deviation);
	bs_put_le(out + 56, a->count, 4);
	bs_put_le(out + 60, a->row, 4);
	for (uint32_t i = 0; i < n; i++)
		put_real(out + BS_WIRE_ANSWER_HEAD + 8 * (size_t)i, a->number[i]);
	return BS_WIRE_ANSWER_HEAD + 8 * (size_t)n;
}

int bs_wire_get_answer(struct bs_answer *a, const unsigned char *p, size_t len, struct bs_fail *why)
{
	uint64_t what;

	if (len < BS_WIRE_ANSWER_HEAD)
		return bs_fail(why, BS_ERR_LENGTH, "answer of %zu bytes, at least %u", len,
			       BS_WIRE_ANSWER_HEAD);
	what = bs_get_le(p, 4);
	a->numbers = (uint32_t)bs_get_le(p + 4, 4);
	if (what == 0 || what > BS_ANSWER_WHATS || a->numbers > BS_ANSWER_NUMBERS)
		return bs_fail(why, BS_ERR_VALUE, "answer of kind %llu with %u numbers",
			       (unsigned long long)what, a->numbers);
	if (len != BS_WIRE_ANSWER_HEAD + 8 * (size_t)a->numbers)
		return bs_fail(why, BS_ERR_LENGTH, "answer of %zu bytes with %u numbers", len,
			       a->numbers);
	a->what = (enum bs_answer_what)(what - 1);
	a->readout = bs_get_le(p + 8, 8);
	a->scan_counter = (uint32_t)bs_get_le(p + 16, 4);
	a->image = (uint32_t)bs_get_le(p + 20, 4);
	a->received_ns = (int64_t)bs_get_le(p + 24, 8);
	a->computed_ns = (int64_t)bs_get_le(p + 32, 8);
	a->by_ns = (int64_t)bs_get_le(p + 40, 8);
	a->deviation = get_real(p + 48);
	a->count = (uint32_t)bs_get_le(p + 56, 4);
	a->row = (uint32_t)bs_get_le(p + 60, 4);
	for (uint32_t i = 0; i < a->numbers; i++)
		a->number[i] = get_real(p + BS_WIRE_ANSWER_HEAD + 8 * (size_t)i);
	return 0;
}
