/*
 * ipc/seal/hello.h - the first messages of a sealed connection: who is there, and may they connect
 *
 * The client's hello: u8 suite (enum bs_suite), then Noise IK's first message, without a payload.
 * The service's answer: Noise IK's second message, with a payload of 0 to BS_HELLO_WORDS bytes of
 * UTF-8. No payload is a welcome; words say why a known key is refused (it does not have the role,
 * or has as many connections as it may), and then the service closes. Where the service does not
 * speak the suite, its answer is one byte: the suite that it speaks; the client says hello again
 * with that. To a key that is not known the service answers nothing and closes.
 * The prologue is "boreside 1 " and the endpoint's name ("kspace", "images", "status"): a hello for
 * one endpoint is not valid for another.
 *
 * A hello that is recorded and replayed is answered, but no message after it opens: only the owner
 * of that connection's ephemeral key can seal (gate.c ranks such peers with the unknown).
 * Allocates nothing. Source: see ik.h. Test: test/unit/ipc/seal/test_hello.c
 */
#ifndef BS_IPC_SEAL_HELLO_H
#define BS_IPC_SEAL_HELLO_H

#include "ipc/seal/keys.h"

#define BS_HELLO_FIRST  (1 + BS_IK_FIRST)
#define BS_HELLO_WORDS  96u
#define BS_HELLO_SECOND (BS_IK_SECOND + BS_HELLO_WORDS) /* bytes of an answer, at most */
#define BS_HELLO_AGAIN  1

struct bs_hello_answer {
	uint8_t bytes[BS_HELLO_SECOND];
	size_t len;                     /* bytes of the answer; 0: there is none */
	const struct bs_seal_peer *who; /* whose key it is; NULL: it is not known */
	struct bs_seal out, in;         /* set where the peer may connect */
};

/*
 * Answers the hello of one connection, on the service's side. Returns 0: the peer may connect.
 * BS_HELLO_AGAIN: the answer asks for the other suite. BS_ERR_KEY, or BS_ERR_STATE (too many
 * connections of this key): the connection is to be closed; the reason is in why.
 */
int bs_hello_answer(struct bs_hello_answer *a, const struct bs_seal_keys *k, const char *endpoint,
		    uint32_t roles, const uint8_t *hello, size_t len, struct bs_fail *why);

/* The client's side: writes its hello. k: from bs_seal_keys_client. */
void bs_hello_say(struct bs_ik *n, const struct bs_seal_keys *k, const char *endpoint,
		  enum bs_suite suite, uint8_t hello[BS_HELLO_FIRST]);
/*
 * The client's side: reads the answer. Returns 0: out and in are set. BS_HELLO_AGAIN: say hello
 * again, with the other suite. BS_ERR_KEY: refused, with the service's words; or the peer is not
 * the service. n is wiped.
 */
int bs_hello_hear(struct bs_ik *n, const uint8_t *answer, size_t len, struct bs_seal *out,
		  struct bs_seal *in, struct bs_fail *why);

#endif
