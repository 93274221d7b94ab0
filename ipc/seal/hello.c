/* ipc/seal/hello.c - see hello.h */
#include "ipc/seal/hello.h"

#include <stdio.h>
#include <string.h>

static void start_handshake(struct bs_ik *n, const struct bs_seal_keys *k, const char *endpoint,
			    enum bs_suite suite, const uint8_t *remote)
{
	char prologue[64];

	(void)snprintf(prologue, sizeof(prologue), "boreside 1 %s", endpoint);
	bs_ik_start(n, suite, prologue, &k->own, remote);
}

/* Returns 0 if the known key may come in; else the reason, which is also written to words. */
static int may(char words[BS_HELLO_WORDS], const struct bs_seal_keys *k,
	       const struct bs_seal_peer *who, const char *endpoint, uint32_t roles)
{
	words[0] = '\0';
	if ((who->roles & roles) == 0) {
		(void)snprintf(words, BS_HELLO_WORDS, "the key of '%.48s' has no role for %s",
			       who->name, endpoint);
		return BS_ERR_KEY;
	}
	if (!bs_seal_keys_full(k, who))
		return 0;
	(void)snprintf(words, BS_HELLO_WORDS,
		       "the key of '%.30s' has %u connections to %s (keys.connections)", who->name,
		       who->here, endpoint);
	return BS_ERR_STATE;
}

int bs_hello_answer(struct bs_hello_answer *a, const struct bs_seal_keys *k, const char *endpoint,
		    uint32_t roles, const uint8_t *hello, size_t len, struct bs_fail *why)
{
	const enum bs_suite suite = len > 0 ? (enum bs_suite)hello[0] : 0;
	char words[BS_HELLO_WORDS];
	struct bs_ik n;
	int rc;

	a->len = 0;
	a->who = NULL;
	if (len != BS_HELLO_FIRST || (suite != BS_SUITE_AESGCM && suite != BS_SUITE_CHACHAPOLY))
		return bs_fail(why, BS_ERR_KEY, "a peer did not say hello with a key");
	if (suite == BS_SUITE_AESGCM && k->suite != BS_SUITE_AESGCM) {
		a->bytes[0] = BS_SUITE_CHACHAPOLY;
		a->len = 1;
		return BS_HELLO_AGAIN;
	}
	start_handshake(&n, k, endpoint, suite, NULL);
	rc = bs_ik_read_first(&n, hello + 1, len - 1);
	if (rc == 0)
		a->who = bs_seal_keys_find(k, n.rs);
	if (a->who == NULL)
		rc = bs_fail(why, BS_ERR_KEY, "a key that is not known%s",
			     rc != 0 ? ", or meant for another service or endpoint" : "");
	else if (bs_ik_read_rest(&n, hello + 1, len - 1, NULL) != 0)
		rc = bs_fail(why, BS_ERR_KEY, "a peer that has not the key that it named");
	if (rc == 0) {
		const int barred = may(words, k, a->who, endpoint, roles);

		rc = bs_ik_second(&n, a->bytes, words, strlen(words));
		a->len = rc == 0 ? BS_IK_SECOND + strlen(words) : 0;
		if (rc == 0 && barred != 0)
			rc = bs_fail(why, barred, "%s", words);
		else if (rc == 0)
			bs_ik_split(&n, &a->out, &a->in);
		else
			(void)bs_fail(why, rc, "a hello with a key of small order");
	}
	bs_seal_wipe_bytes(&n, sizeof(n));
	return rc;
}

void bs_hello_say(struct bs_ik *n, const struct bs_seal_keys *k, const char *endpoint,
		  enum bs_suite suite, uint8_t hello[BS_HELLO_FIRST])
{
	start_handshake(n, k, endpoint, suite, k->peer[0].key);
	hello[0] = (uint8_t)suite;
	/* a service's key of small order gives a hello that nobody answers */
	(void)bs_ik_first(n, hello + 1, NULL, 0);
}

int bs_hello_hear(struct bs_ik *n, const uint8_t *answer, size_t len, struct bs_seal *out,
		  struct bs_seal *in, struct bs_fail *why)
{
	char words[BS_HELLO_WORDS + 1] = "";
	int rc;

	if (len == 1 && answer[0] == BS_SUITE_CHACHAPOLY && n->suite == BS_SUITE_AESGCM) {
		bs_seal_wipe_bytes(n, sizeof(*n));
		return BS_HELLO_AGAIN;
	}
	if (len < BS_IK_SECOND || len > BS_HELLO_SECOND)
		rc = bs_fail(why, BS_ERR_KEY, "an answer of %zu bytes to the hello", len);
	else if (bs_ik_read_second(n, answer, len, words) != 0)
		rc = bs_fail(why, BS_ERR_KEY, "what answers has not the service's key");
	else
		rc = 0;
	for (char *c = words; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	if (rc == 0 && words[0] != '\0')
		rc = bs_fail(why, BS_ERR_KEY, "the service refuses: %s", words);
	if (rc == 0)
		bs_ik_split(n, out, in);
	bs_seal_wipe_bytes(n, sizeof(*n));
	return rc;
}
