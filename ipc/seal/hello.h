/*
 * ipc/seal/hello.h - the first messages of a sealed connection: who is there, and may he
 *
 * The client's hello: u8 suite (enum bs_suite), then Noise IK's first message, without a payload.
 * The service's: Noise IK's second message, its payload 0 to BS_HELLO_WORDS bytes of UTF-8: none
 * is a welcome, words say why a known key is refused (it has not the role, or as many connections
 * as it may); then the service closes. Or, where it does
 * not speak the suite, one byte: the one that it speaks; the client says hello again with that.
 * To a key that is not known the service says nothing and closes.
 * The prologue is "boreside 1 " and the endpoint's name ("kspace", "images", "status"): a hello for
 * one endpoint is none for another.
 *
 * A hello that is recorded and said again is answered, but nothing that follows opens: only who
 * has the ephemeral key of that connection can seal (gate.c ranks such peers with the unknown).
 * Allocates nothing. Source: see ik.h. Test: test/unit/ipc/seal/test_hello.c
 */
#ifndef BS_IPC_SEAL_HELLO_H
#define BS_IPC_SEAL_HELLO_H

#include "ipc/seal/keys.h"

#define BS_HELLO_FIRST  (1 + BS_IK_FIRST)
#define BS_HELLO_WORDS  96u
#define BS_HELLO_SECOND (BS_IK_SECOND + BS_HELLO_WORDS) /* at most */
#define BS_HELLO_AGAIN  1

/*
 * The service's side of one connection. out_len: bytes of the answer, 0: none. who: NULL, or whose
 * key it is. 0: out and in are set, and who may. BS_HELLO_AGAIN: the other suite, please.
 * BS_ERR_KEY, or BS_ERR_STATE (too many of this key): the connection is to be closed; the reason
 * is in why.
 */
int bs_hello_answer(const struct bs_seal_keys *k, const char *endpoint, uint32_t roles,
		    const uint8_t *hello, size_t len, uint8_t answer[BS_HELLO_SECOND],
		    size_t *answer_len, struct bs_seal *out, struct bs_seal *in,
		    const struct bs_seal_peer **who, struct bs_fail *why);

/* The client's: say, hear. k: bs_seal_keys_client's. */
void bs_hello_say(struct bs_ik *n, const struct bs_seal_keys *k, const char *endpoint,
		  enum bs_suite suite, uint8_t hello[BS_HELLO_FIRST]);
/*
 * 0: out and in are set. BS_HELLO_AGAIN: say it again, with the other suite. BS_ERR_KEY: refused,
 * with the service's words; or this is not the service. n is wiped.
 */
int bs_hello_hear(struct bs_ik *n, const uint8_t *answer, size_t len, struct bs_seal *out,
		  struct bs_seal *in, struct bs_fail *why);

#endif
