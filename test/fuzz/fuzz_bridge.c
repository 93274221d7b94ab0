/*
 * test/fuzz/fuzz_bridge.c - what MRD clients over TCP may send: the decoder, and what reads texts
 * (libFuzzer; make fuzz)
 *
 * The same bytes are shown whole and as they would come, a few more each time: both must find the
 * same messages, within the buffer, and never ask for more than the limits.
 */
#include "drivers/bridge/message.h"
#include "drivers/bridge/names.h"
#include "drivers/bridge/noise.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bs_bridge_limits limits = { 20000, 3000, 5000 };

static void must(int what)
{
	if (!what)
		abort();
}

static void read_texts(const struct bs_bridge_message *m)
{
	static struct bs_site site = { .protocol = { { .name = "p" } }, .protocols = 1 };
	char name[BS_NAMES_MAX];
	char scan[BS_NAME_MAX];
	char words[64];
	struct bs_bridge_noise noise;
	const char *protocol;

	bs_names_config(name, m->body, m->len);
	must(strlen(name) < sizeof(name));
	(void)bs_names_find(&protocol, &site, name, NULL, NULL);
	if (bs_names_noise(scan, m->body, m->len))
		must(strlen(scan) < sizeof(scan));
	if (m->id == BS_BRIDGE_TEXT)
		bs_chosen_read(&(struct bs_chosen){ 0 }, m->body, m->len);
	if (m->id == BS_BRIDGE_TEXT)
		(void)(bs_names_parameters(name, m->body, m->len) +
		       bs_names_unused(words, sizeof(words), m->body, m->len));
	if (m->id == BS_BRIDGE_ACQUISITION) {
		bs_bridge_noise_begin(&noise, "m");
		bs_bridge_noise_add(&noise, m->body, m->len);
	}
}

/* The message at the front of len bytes; its total, 0: it is not whole, or none. */
static size_t one(const uint8_t *data, size_t len)
{
	unsigned char *buf = malloc(len > 0 ? len : 1); /* of this very size */
	struct bs_bridge_message m;
	struct bs_fail why;
	size_t need = 0;
	size_t total = 0;
	int rc;

	must(buf != NULL);
	memcpy(buf, data, len);
	rc = bs_bridge_look(&m, buf, len, &limits, &need, &why);
	must(need <= bs_bridge_largest(&limits));
	must(rc < 0 || (rc == 0 ? need > len : m.total <= len));
	if (rc == 1) {
		must(m.body >= buf && m.len <= m.total && m.body + m.len <= buf + m.total);
		read_texts(&m);
		total = m.total;
	}
	/* as it comes: the same message, and no sooner */
	for (size_t have = 0; have < len && rc == 1 && have < total;) {
		size_t wanted = 0;

		must(bs_bridge_look(&m, buf, have, &limits, &wanted, &why) == 0);
		must(wanted > have && wanted <= total);
		have = wanted;
	}
	free(buf);
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0;
	size_t n;

	do {
		n = one(data + at, size - at);
		at += n;
	} while (n > 0 && at < size);
	return 0;
}
