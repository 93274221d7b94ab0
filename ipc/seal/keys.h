/*
 * ipc/seal/keys.h - a side's own key, and the keys that it knows
 *
 * A key is one of X25519: 32 bytes. A public key is written in base64 (44 characters, the last a
 * '='). A secret key lies in a file of its own: one line, "boreside-secret " and the same base64;
 * so neither can be taken for the other. Nobody but its owner may read the file (mode 0600 or
 * less), and the owner is the user who reads it, or root. The group may read root's file, too,
 * where the reader is not root: this is how systemd hands one over.
 * Wipe what load has filled. Test: test/unit/ipc/seal/test_keys.c
 */
#ifndef BS_IPC_SEAL_KEYS_H
#define BS_IPC_SEAL_KEYS_H

#include "core/err.h"
#include "core/protocol.h"
#include "ipc/seal/ik.h"

#define BS_KEY_TEXT_MAX 45u /* bytes of a public key in words, with its terminator */

struct bs_seal_peer {
	char name[BS_NAME_MAX];
	uint8_t key[BS_IK_KEY];
	uint32_t roles; /* bits of enum bs_role */
	uint32_t here;  /* connections of the peer at the gate that has these keys */
};

struct bs_seal_keys {
	struct bs_ik_pair own;
	/* the best suite to speak: the machine's best, unless a test asks for less */
	enum bs_suite suite;
	struct bs_seal_peer peer[BS_KEYED_MAX + 1];
	uint32_t peers;
	/* most connections of one peer at a time, but for the node's own; 0: no limit */
	uint32_t connections;
};

/* role of a peer with the service's own key: commands on its node */
#define BS_ROLE_NODE (UINT32_C(1) << 31)

/* Makes a fresh pair and writes it to a new file; BS_ERR_IO where the file exists. */
int bs_seal_key_make(struct bs_ik_pair *pair, const char *path, struct bs_fail *why);
int bs_seal_key_read(struct bs_ik_pair *pair, const char *path, struct bs_fail *why);
void bs_seal_key_text(char out[BS_KEY_TEXT_MAX], const uint8_t key[BS_IK_KEY]);
int bs_seal_key_parse(uint8_t key[BS_IK_KEY], const char *text, struct bs_fail *why);

/*
 * Loads a service's keys; the last peer is the node itself, which has all roles. BS_ERR_KEY: a
 * peer's key is not valid, stands there twice, or is the service's own.
 */
int bs_seal_keys_load(struct bs_seal_keys *k, const struct bs_keys_spec *spec, struct bs_fail *why);
/*
 * Loads a client's keys: its own from the file at path, and the service's public key, which is
 * peer[0].
 */
int bs_seal_keys_client(struct bs_seal_keys *k, const char *path, const char *service,
			struct bs_fail *why);
/*
 * Loads keys of a process on the service's node, by the same site file: the node's own, or that of
 * process who, where its file is not "". BS_ERR_KEY: keys.peers has another key under its name.
 */
int bs_seal_keys_node(struct bs_seal_keys *k, const struct bs_keys_spec *spec,
		      const struct bs_keyed *who, struct bs_fail *why);
/* Writes zeros over keys, and what was made of them, when they are no longer needed. */
void bs_seal_wipe_bytes(void *at, size_t bytes);
/* Returns true if the peer has as many connections as it may. */
static inline bool bs_seal_keys_full(const struct bs_seal_keys *k, const struct bs_seal_peer *p)
{
	return k->connections != 0 && p->here >= k->connections && (p->roles & BS_ROLE_NODE) == 0;
}
/* The peer with this key; NULL: it is not known. Takes constant time. */
const struct bs_seal_peer *bs_seal_keys_find(const struct bs_seal_keys *k,
					     const uint8_t key[BS_IK_KEY]);

#endif
