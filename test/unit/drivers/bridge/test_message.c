/*
 * test/unit/drivers/bridge/test_message.c - MRD's messages over TCP, from tables of bytes: at every
 * length that has come, at every bound, and what a client gets back
 */
#include "drivers/bridge/message.h"

#include <stdbool.h>
#include <string.h>

#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"
#include "test/support/check.h"

static const struct bs_bridge_limits limits = { .acquisition = 340 + 2 * 4 * 2 + 2 * 2 * 8,
						.waveform = 40 + 4 * 6,
						.header = 1000 };
static unsigned char buf[4096];

/* What look says of the first n bytes; need must grow, and never beyond what it takes. */
static int look(struct bs_bridge_message *m, size_t n, size_t *need, struct bs_fail *why)
{
	memset(m, 0, sizeof(*m));
	return bs_bridge_look(m, buf, n, &limits, need, why);
}

/* The message of n bytes is whole at n, and at no fewer; another byte behind it changes nothing. */
static void exactly(const char *what, size_t n, enum bs_bridge_id id, size_t body, size_t len)
{
	struct bs_bridge_message m;
	struct bs_fail why;
	size_t need = 0;
	bool good = true;

	for (size_t have = 0; have < n; have++) {
		const int rc = look(&m, have, &need, &why);

		good = good && rc == 0 && need > have && need <= n;
	}
	CHECK(good, "%s: more is needed at each of its first %zu bytes, never beyond its end", what,
	      n);
	for (size_t have = n; have <= n + 1; have++)
		CHECK(look(&m, have, &need, &why) == 1 && m.id == id && m.total == n &&
			      m.body == buf + body && m.len == len,
		      "%s: whole with %zu bytes, %zu of body", what, have, m.len);
}

static void refused(const char *what, size_t n, int code, const char *words)
{
	struct bs_bridge_message m;
	struct bs_fail why = { 0 };
	size_t need = 0;
	const int rc = look(&m, n, &need, &why);

	CHECK(rc == code && strstr(why.text, words) != NULL, "%s: %s (%d)", what, why.text, rc);
}

static size_t put_id(unsigned id)
{
	memset(buf, 0, sizeof(buf));
	bs_put_le(buf, id, 2);
	return 2;
}

static void texts(void)
{
	static const unsigned char header[] = { 3, 0, 5, 0, 0, 0, '<', 'a', '/', '>', 0 };
	static const unsigned char text[] = { 5, 0, 2, 0, 0, 0, '{', '}' };
	static const unsigned char config[] = { 2, 0, 3, 0, 0, 0, 'a', 0, 0 };
	static const unsigned char close[] = { 4, 0 };
	static const unsigned char query[] = { 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0,   0,
					       0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 'h', 'i' };
	struct bs_bridge_message m;
	struct bs_fail why;
	size_t need;

	memcpy(buf, header, sizeof(header));
	exactly("a header with a NUL", sizeof(header), BS_BRIDGE_HEADER, 6, 4);
	memcpy(buf, text, sizeof(text));
	exactly("a text without", sizeof(text), BS_BRIDGE_TEXT, 6, 2);
	memcpy(buf, config, sizeof(config));
	exactly("a config with two", sizeof(config), BS_BRIDGE_CONFIG_TEXT, 6, 1);
	memcpy(buf, close, sizeof(close));
	exactly("a close", sizeof(close), BS_BRIDGE_CLOSE, 2, 0);
	memcpy(buf, query, sizeof(query));
	exactly("a query", sizeof(query), BS_BRIDGE_QUERY, 26, 2);
	CHECK(look(&m, sizeof(query), &need, &why) == 1 && m.correlation == 0x0100000000000007,
	      "and its correlation");
	bs_put_le(buf + 2, 0, 8);
	bs_put_le(buf + 18, UINT64_MAX, 8);
	refused("a query of 2^64 - 1 bytes", 26, BS_ERR_LENGTH, "at most 1048576");
	(void)put_id(BS_BRIDGE_HEADER);
	bs_put_le(buf + 2, 1001, 4);
	refused("a header beyond its bound", 6, BS_ERR_LENGTH, "1001 bytes, at most 1000");
	bs_put_le(buf + 2, UINT32_MAX, 4);
	refused("a header of 4 GiB", 6, BS_ERR_LENGTH, "4294967295 bytes");
	(void)put_id(BS_BRIDGE_TEXT);
	bs_put_le(buf + 2, BS_BRIDGE_TEXT_MAX + 1, 4);
	refused("a text beyond its bound", 6, BS_ERR_LENGTH, "at most 1048576");
	(void)put_id(BS_BRIDGE_TEXT);
	exactly("an empty text", 6, BS_BRIDGE_TEXT, 6, 0);
}

static void names(void)
{
	(void)put_id(BS_BRIDGE_CONFIG_FILE);
	memcpy(buf + 2, "simplefft", 10);
	exactly("a config's name", 1026, BS_BRIDGE_CONFIG_FILE, 2, 9);
	memcpy(buf + 2, "ab\0junk behind it", 17);
	exactly("a name with junk behind it", 1026, BS_BRIDGE_CONFIG_FILE, 2, 2);
	memset(buf + 2, 'x', 1023);
	exactly("the longest name", 1026, BS_BRIDGE_CONFIG_FILE, 2, 1023);
	buf[1025] = 'x';
	refused("a name without an end", 1026, BS_ERR_LENGTH, "more than 1023 bytes");
}

/* samples, channels, dimensions; returns the message's bytes. */
static size_t put_acq(uint16_t samples, uint16_t channels, uint16_t dims)
{
	struct bs_mrd_acq a = { .version = 1,
				.scan_counter = 17,
				.number_of_samples = samples,
				.available_channels = channels,
				.active_channels = channels,
				.trajectory_dimensions = dims };

	(void)put_id(BS_BRIDGE_ACQUISITION);
	bs_mrd_put_acq(buf + 2, &a);
	return 2 + (size_t)bs_mrd_acq_bytes(&a);
}

static void acquisitions(void)
{
	size_t n = put_acq(2, 2, 2);

	CHECK(n == 2 + limits.acquisition, "the largest acquisition");
	exactly("an acquisition", n, BS_BRIDGE_ACQUISITION, 2, n - 2);
	n = put_acq(0, 0, 0);
	exactly("one without samples", n, BS_BRIDGE_ACQUISITION, 2, 340);
	n = put_acq(2, 2, 2);
	buf[2] = 2;
	refused("another version", n, BS_ERR_VERSION, "MRD version 2");
	for (unsigned flag = 53; flag <= 54; flag++) {
		char words[40];

		(void)put_acq(2, 2, 2);
		bs_put_le(buf + 4, BS_MRD_FLAG(flag), 8);
		(void)snprintf(words, sizeof(words), "compressed (flag %u)", flag);
		refused("compressed", 342, BS_ERR_UNSUPPORTED, words);
	}
	(void)put_acq(65535, 65535, 4);
	refused("34 GB of samples", 342, BS_ERR_SIZE, "acquisition 17: 65535 samples of 65535");
	(void)put_acq(3, 2, 2);
	refused("a sample more than the limit", 342, BS_ERR_SIZE, "the largest");
	(void)put_acq(1, 1, 5);
	refused("five dimensions", 342, BS_ERR_SIZE, "5 trajectory dimensions");
}

static void waveforms(void)
{
	(void)put_id(BS_BRIDGE_WAVEFORM);
	bs_put_le(buf + 2 + 28, 3, 2);
	bs_put_le(buf + 2 + 30, 2, 2);
	exactly("a waveform", 2 + 40 + 24, BS_BRIDGE_WAVEFORM, 2, 64);
	bs_put_le(buf + 2 + 28, 4, 2);
	refused("a longer one", 42, BS_ERR_SIZE, "a waveform of 72 bytes, at most 64");
	bs_put_le(buf + 2 + 28, 65535, 2);
	bs_put_le(buf + 2 + 30, 65535, 2);
	refused("16 GB of it", 42, BS_ERR_SIZE, "at most 64");
}

/* An image of so many voxels an axis and attributes; returns the message's bytes. */
static size_t put_picture(uint16_t x, uint16_t y, uint16_t z, uint16_t channels, uint64_t words)
{
	const struct bs_mrd_image h = { .version = 1,
					.data_type = BS_MRD_CXFLOAT,
					.matrix_size = { x, y, z },
					.channels = channels };

	(void)put_id(BS_BRIDGE_IMAGE);
	bs_mrd_put_image(buf + 2, &h);
	bs_put_le(buf + 2 + BS_MRD_IMAGE_BYTES, words, 8);
	return 2 + BS_MRD_IMAGE_BYTES + 8 + (size_t)words + (size_t)8 * x * y * z * channels;
}

static void images(void)
{
	size_t n = put_picture(3, 2, 1, 2, 5);

	exactly("an image", n, BS_BRIDGE_IMAGE, 2, n - 2);
	n = put_picture(0, 2, 1, 2, 0);
	exactly("one without pixels and attributes", n, BS_BRIDGE_IMAGE, 2, n - 2);
	(void)put_picture(65535, 65535, 65535, 65535, 0);
	refused("one of 2^67 bytes", 208, BS_ERR_SIZE, "at most 16777216 bytes");
	(void)put_picture(1449, 1449, 1, 1, 0);
	refused("one beyond the limit", 208, BS_ERR_SIZE, "at most 16777216 bytes");
	(void)put_picture(1, 1, 1, 1, UINT64_MAX);
	refused("attributes of 2^64 bytes", 208, BS_ERR_SIZE, "at most 16777216 bytes");
	(void)put_picture(1, 1, 1, 1, 0);
	buf[2 + 2] = 9;
	refused("a type that is none", 208, BS_ERR_VERSION, "data type 9");
}

/* Ids that a client may not send, or that nobody has. */
static void others(void)
{
	static const unsigned ids[] = { 0,    7,    8,    9,    255,  256,  1001, 1007,
					1009, 1018, 1019, 1023, 1024, 1030, 1050, 0xffff };
	bool good = true;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct bs_bridge_message m;
		struct bs_fail why;
		size_t need;

		(void)put_id(ids[i]);
		good = good && look(&m, 1, &need, &why) == 0 && need == 2 &&
		       look(&m, 2, &need, &why) == BS_ERR_KIND;
	}
	CHECK(good, "%zu ids that no client sends are refused by their two bytes",
	      sizeof(ids) / sizeof(ids[0]));
	refused("the last of them", 2, BS_ERR_KIND, "id 65535");
	CHECK(bs_bridge_largest(&limits) >= 2 + 26 + BS_BRIDGE_TEXT_MAX - 2,
	      "the largest message is known");
}

static void heads(void)
{
	static const struct {
		const char *what;
		size_t len;
		unsigned char bytes[BS_BRIDGE_HEAD];
	} wanted[] = {
		{ "close", 2, { 4, 0 } },
		{ "text", 6, { 5, 0, 0x04, 0x03, 0x02, 0x01 } },
		{ "response", 18, { 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x27, 0, 0, 0, 0, 0, 0 } },
		{ "dependency", 10, { 0xfb, 3, 0x10, 0x27, 0, 0, 0, 0, 0, 0 } },
		{ "image", 2, { 0xfe, 3 } },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		unsigned char out[BS_BRIDGE_HEAD] = { 0 };
		static const enum bs_bridge_id id[] = { BS_BRIDGE_CLOSE, BS_BRIDGE_TEXT,
							BS_BRIDGE_RESPONSE, BS_BRIDGE_DEPENDENCY,
							BS_BRIDGE_IMAGE };
		const size_t n = bs_bridge_put(out, id[i], 9, i == 1 ? 0x01020304 : 10000);

		CHECK(n == wanted[i].len && memcmp(out, wanted[i].bytes, n) == 0, "%s is written",
		      wanted[i].what);
	}
}

int main(void)
{
	texts();
	names();
	acquisitions();
	waveforms();
	images();
	others();
	heads();
	return check_done();
}
