/*
 * test/fuzz/fuzz_mrd.c - the MRD decoder on any bytes (libFuzzer; make fuzz)
 *
 * The first byte chooses acquisition or image, and whether the lengths are made to agree, so that
 * what lies behind them is reached, too. What parses must lie inside the message and encode to the
 * same bytes.
 */
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
}

static void acquisition(const unsigned char *buf, size_t len)
{
	unsigned char again[BS_MRD_ACQ_BYTES];
	struct bs_mrd_acq a;
	struct bs_fail why;
	size_t traj_at;
	size_t data_at;

	if (bs_mrd_parse_acq(&a, &traj_at, &data_at, buf, len, &why) != 0)
		return;
	must(bs_mrd_acq_bytes(&a) == len);
	must(traj_at == BS_MRD_ACQ_BYTES && data_at >= traj_at && data_at <= len);
	must(data_at - traj_at == 4u * a.number_of_samples * (size_t)a.trajectory_dimensions);
	must(len - data_at == 8u * a.number_of_samples * (size_t)a.active_channels);
	bs_mrd_put_acq(again, &a);
	must(memcmp(again, buf, sizeof(again)) == 0);
}

static void image(const unsigned char *buf, size_t len)
{
	unsigned char again[BS_MRD_IMAGE_BYTES];
	struct bs_mrd_image h;
	struct bs_fail why;
	size_t attr_at;
	size_t pixels_at;

	if (bs_mrd_parse_image(&h, &attr_at, &pixels_at, buf, len, &why) != 0)
		return;
	must(attr_at == BS_MRD_IMAGE_BYTES + 8 && pixels_at >= attr_at && pixels_at <= len);
	must(pixels_at - attr_at == h.attribute_string_len);
	bs_mrd_put_image(again, &h);
	must(memcmp(again, buf, sizeof(again)) == 0);
}

/* Sizes small enough for the input, and the rest of the message as long as they say. */
static size_t agree(unsigned char *buf, size_t len, int is_image)
{
	struct bs_mrd_acq a;

	if (is_image || len < BS_MRD_ACQ_BYTES)
		return len;
	bs_put_le(buf, 1, 2);
	buf[35] = buf[37] = buf[39] = buf[177] = 0;
	buf[34] &= 15;
	buf[38] &= 3;
	buf[176] &= 3;
	bs_mrd_get_acq(&a, buf);
	return (size_t)bs_mrd_acq_bytes(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size > 0 ? size - 1 : 0;
	unsigned char *buf;

	if (size == 0)
		return 0;
	/* Exactly as long as the message, so that one byte beyond it is found. */
	if (data[0] & 2) {
		static unsigned char room[BS_MRD_ACQ_BYTES + 15 * (3 * 4 + 3 * 8)];

		memset(room, 0, sizeof(room));
		memcpy(room, data + 1, len < sizeof(room) ? len : sizeof(room));
		len = agree(room, sizeof(room), data[0] & 1);
		buf = malloc(len);
		must(buf != NULL);
		memcpy(buf, room, len);
	} else {
		buf = malloc(len > 0 ? len : 1);
		must(buf != NULL);
		memcpy(buf, data + 1, len);
	}
	if (data[0] & 1)
		image(buf, len);
	else
		acquisition(buf, len);
	free(buf);
	return 0;
}
