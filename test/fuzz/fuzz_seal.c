/*
 * test/fuzz/fuzz_seal.c - hellos, their answers and sealed messages, of any bytes (libFuzzer)
 *
 * The first byte chooses who hears the rest: a service its hello, a client its answer, a connection
 * a message, or the readers of keys in words. Nothing but what the other side made may pass.
 */
#include "ipc/seal/hello.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bs_seal_keys service, client;

static void must(int what)
{
	if (!what)
		abort();
}

static void prepare(void)
{
	if (service.peers != 0)
		return;
	service.suite = client.suite = bs_suite_best();
	memset(service.own.secret, 1, BS_IK_KEY);
	memset(client.own.secret, 2, BS_IK_KEY);
	bs_ik_public(service.own.pub, service.own.secret);
	bs_ik_public(client.own.pub, client.own.secret);
	memcpy(service.peer[0].key, client.own.pub, BS_IK_KEY);
	memcpy(client.peer[0].key, service.own.pub, BS_IK_KEY);
	service.peer[0].roles = BS_ROLE_SCANNER;
	service.peers = client.peers = 1;
}

static void hello(const uint8_t *p, size_t n)
{
	struct bs_hello_answer a;
	struct bs_fail why;
	int rc = bs_hello_answer(&a, &service, "kspace", BS_ROLE_SCANNER, p, n, &why);

	must(rc != 0 && a.len <= 1 && (rc == BS_HELLO_AGAIN) == (a.len == 1));
}

static void answer(const uint8_t *p, size_t n)
{
	uint8_t said[BS_HELLO_FIRST];
	struct bs_seal out, in;
	struct bs_fail why;
	struct bs_ik ik;

	bs_hello_say(&ik, &client, "kspace", client.suite, said);
	must(bs_hello_hear(&ik, p, n, &out, &in, &why) != 0);
}

static void message(const uint8_t *p, size_t n)
{
	unsigned char *copy = malloc(n + BS_SEAL_TAG);
	struct bs_seal in;
	struct bs_seal out;

	must(copy != NULL);
	for (int suite = BS_SUITE_AESGCM; suite <= BS_SUITE_CHACHAPOLY; suite++) {
		if (!bs_suite_has((enum bs_suite)suite))
			continue;
		bs_seal_start(&in, (enum bs_suite)suite, service.own.pub);
		bs_seal_start(&out, (enum bs_suite)suite, service.own.pub);
		memcpy(copy, p, n);
		must(!bs_seal_open(&in, copy, n));
		memcpy(copy, p, n);
		must(bs_seal_close(&out, copy, n) && bs_seal_open(&in, copy, n + BS_SEAL_TAG) &&
		     memcmp(copy, p, n) == 0);
	}
	free(copy);
}

static void words(const uint8_t *p, size_t n)
{
	uint8_t key[BS_IK_KEY];
	char text[64];
	char again[BS_KEY_TEXT_MAX];

	n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
	memcpy(text, p, n);
	text[n] = '\0';
	if (bs_seal_key_parse(key, text, NULL) != 0)
		return;
	bs_seal_key_text(again, key);
	must(strlen(text) == 44 && strcmp(text, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const hears[4])(const uint8_t *p, size_t n) = { hello, answer, message,
								      words };

	prepare();
	if (size > 0)
		hears[data[0] % 4](data + 1, size - 1);
	return 0;
}
