/* drivers/bridge/message.c - see message.h */
#include "drivers/bridge/message.h"

#include <string.h>

#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"

#define ID         2u
#define COMPRESSED (BS_MRD_FLAG(53) | BS_MRD_FLAG(54))

/* 1: the message, a head of `head` bytes and len more, is here. 0: *need bytes are needed. */
static int whole(struct bs_bridge_message *m, const unsigned char *buf, size_t have, size_t head,
		 uint64_t len, size_t *need)
{
	m->body = buf + head;
	m->len = (size_t)len;
	m->total = *need = head + (size_t)len;
	return have >= m->total;
}

/* Reads a length of `width` bytes, `skip` bytes behind the id, and a text of that length. */
static int look_text(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
		     unsigned skip, unsigned width, uint64_t most, size_t *need,
		     struct bs_fail *why)
{
	const size_t head = ID + skip + width;
	uint64_t len;

	*need = head;
	if (have < head)
		return 0;
	len = bs_get_le(buf + ID + skip, width);
	if (len > most)
		return bs_fail(why, BS_ERR_LENGTH,
			       "a message of id %u says %llu bytes, at most %llu are taken", m->id,
			       (unsigned long long)len, (unsigned long long)most);
	if (!whole(m, buf, have, head, len, need))
		return 0;
	while (m->len > 0 && m->body[m->len - 1] == '\0')
		m->len--;
	return 1;
}

static int look_acquisition(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
			    uint64_t most, size_t *need, struct bs_fail *why)
{
	struct bs_mrd_acq a;
	uint64_t bytes;

	*need = ID + BS_MRD_ACQ_BYTES;
	if (have < *need)
		return 0;
	bs_mrd_get_acq(&a, buf + ID);
	if (a.version != 1)
		return bs_fail(why, BS_ERR_VERSION, "an acquisition of MRD version %u, not 1",
			       a.version);
	if (a.flags & COMPRESSED)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "acquisition %u: its samples are compressed (flag %u), which this "
			       "server does not take: send them as they are (no -P, -T)",
			       a.scan_counter, a.flags & BS_MRD_FLAG(53) ? 53 : 54);
	if (a.trajectory_dimensions > 4)
		return bs_fail(why, BS_ERR_SIZE, "acquisition %u: %u trajectory dimensions",
			       a.scan_counter, a.trajectory_dimensions);
	bytes = bs_mrd_acq_bytes(&a);
	if (bytes > most)
		return bs_fail(why, BS_ERR_SIZE,
			       "acquisition %u: %u samples of %u channels, %llu bytes; the "
			       "largest that the site's service takes has %llu",
			       a.scan_counter, a.number_of_samples, a.active_channels,
			       (unsigned long long)bytes, (unsigned long long)most);
	return whole(m, buf, have, ID, bytes, need);
}

static int look_waveform(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
			 uint64_t most, size_t *need, struct bs_fail *why)
{
	uint64_t bytes;

	*need = ID + BS_BRIDGE_WAVE_BYTES;
	if (have < *need)
		return 0;
	bytes = BS_BRIDGE_WAVE_BYTES +
		4 * bs_get_le(buf + ID + 28, 2) * bs_get_le(buf + ID + 30, 2);
	if (bytes > most)
		return bs_fail(why, BS_ERR_SIZE, "a waveform of %llu bytes, at most %llu are taken",
			       (unsigned long long)bytes, (unsigned long long)most);
	return whole(m, buf, have, ID, bytes, need);
}

static int look_image(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
		      size_t *need, struct bs_fail *why)
{
	const size_t head = BS_MRD_IMAGE_BYTES + 8;
	struct bs_mrd_image h;
	uint64_t bytes;
	uint64_t words;

	*need = ID + head;
	if (have < *need)
		return 0;
	bs_mrd_get_image(&h, buf + ID);
	bytes = bs_mrd_pixel_bytes(h.data_type);
	words = bs_get_le(buf + ID + BS_MRD_IMAGE_BYTES, 8);
	if (h.version != 1 || bytes == 0)
		return bs_fail(why, BS_ERR_VERSION, "an image of MRD version %u, data type %u",
			       h.version, h.data_type);
	bytes *= h.channels;
	for (int a = 0; a < 3 && bytes <= BS_BRIDGE_IMAGE_MAX; a++)
		bytes *= h.matrix_size[a];
	if (bytes > BS_BRIDGE_IMAGE_MAX || words > BS_BRIDGE_IMAGE_MAX - bytes ||
	    head > BS_BRIDGE_IMAGE_MAX - bytes - words)
		return bs_fail(
			why, BS_ERR_SIZE,
			"an image of %u x %u x %u, %u channels and %llu bytes of attributes: "
			"at most %u bytes are taken",
			h.matrix_size[0], h.matrix_size[1], h.matrix_size[2], h.channels,
			(unsigned long long)words, BS_BRIDGE_IMAGE_MAX);
	return whole(m, buf, have, ID, head + words + bytes, need);
}

static int look_name(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
		     size_t *need, struct bs_fail *why)
{
	const unsigned char *end;

	if (!whole(m, buf, have, ID, BS_BRIDGE_NAME_BYTES, need))
		return 0;
	end = memchr(m->body, '\0', BS_BRIDGE_NAME_BYTES);
	if (end == NULL)
		return bs_fail(why, BS_ERR_LENGTH, "a config's name of more than %u bytes",
			       BS_BRIDGE_NAME_BYTES - 1);
	m->len = (size_t)(end - m->body);
	return 1;
}

int bs_bridge_look(struct bs_bridge_message *m, const unsigned char *buf, size_t have,
		   const struct bs_bridge_limits *limits, size_t *need, struct bs_fail *why)
{
	int rc;

	*need = ID;
	if (have < ID)
		return 0;
	*m = (struct bs_bridge_message){ .id = (enum bs_bridge_id)bs_get_le(buf, ID) };
	switch (m->id) {
	case BS_BRIDGE_CONFIG_FILE:
		return look_name(m, buf, have, need, why);
	case BS_BRIDGE_CONFIG_TEXT:
	case BS_BRIDGE_TEXT:
		return look_text(m, buf, have, 0, 4, BS_BRIDGE_TEXT_MAX, need, why);
	case BS_BRIDGE_HEADER:
		return look_text(m, buf, have, 0, 4, limits->header, need, why);
	case BS_BRIDGE_CLOSE:
		return whole(m, buf, have, ID, 0, need);
	case BS_BRIDGE_QUERY:
		rc = look_text(m, buf, have, 16, 8, BS_BRIDGE_TEXT_MAX, need, why);
		if (rc == 1)
			m->correlation = bs_get_le(buf + ID + 8, 8);
		return rc;
	case BS_BRIDGE_ACQUISITION:
		return look_acquisition(m, buf, have, limits->acquisition, need, why);
	case BS_BRIDGE_IMAGE:
		return look_image(m, buf, have, need, why);
	case BS_BRIDGE_WAVEFORM:
		return look_waveform(m, buf, have, limits->waveform, need, why);
	case BS_BRIDGE_RESPONSE:
	case BS_BRIDGE_DEPENDENCY:
		break;
	}
	return bs_fail(why, BS_ERR_KIND, "a message of id %u, which this server does not take",
		       m->id);
}

size_t bs_bridge_largest(const struct bs_bridge_limits *limits)
{
	uint64_t most = BS_BRIDGE_IMAGE_MAX;

	most = most > limits->acquisition ? most : limits->acquisition;
	most = most > limits->waveform ? most : limits->waveform;
	most = most > limits->header + 4 ? most : limits->header + 4;
	return ID + (size_t)most;
}

size_t bs_bridge_put(unsigned char out[BS_BRIDGE_HEAD], enum bs_bridge_id id, uint64_t correlation,
		     uint64_t len)
{
	const unsigned before = id == BS_BRIDGE_RESPONSE ? 8 : 0;
	const unsigned width = id == BS_BRIDGE_TEXT                                     ? 4
			       : id == BS_BRIDGE_RESPONSE || id == BS_BRIDGE_DEPENDENCY ? 8
											: 0;

	bs_put_le(out, id, ID);
	bs_put_le(out + ID, correlation, before);
	bs_put_le(out + ID + before, len, width);
	return ID + before + width;
}
