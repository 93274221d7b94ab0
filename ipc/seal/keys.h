/*
 * ipc/seal/keys.h - a side's own key, and those it knows
 *
 * A key is one of X25519: 32 bytes, the public one written in base64 (44 characters, the last a
 * '='). A secret key lies in a file of its own: one line, "boreside-secret " and the same base64;
 * nobody but its owner may read it (mode 0600 or less), and its owner is who reads it, or root.
 * Root's may be read by its group, too, where its reader is not root: so systemd hands one over.
 * So a public key cannot be taken for a secret one, nor the other way.
 * Wipe what load has filled. Test: test/unit/ipc/seal/test_keys.c
 */
#ifndef BS_IPC_SEAL_KEYS_H
#define BS_IPC_SEAL_KEYS_H

#include "core/err.h"
#include "core/protocol.h"
#include "ipc/seal/ik.h"

#define BS_KEY_TEXT_MAX 45u /* a public key in words, its NUL included */

struct bs_seal_peer {
	char name[BS_NAME_MAX];
	uint8_t key[BS_IK_KEY];
	uint32_t roles; /* enum bs_role */
	uint32_t here;  /* its connections, at the gate whose keys these are */
};

struct bs_seal_keys {
	struct bs_ik_pair own;
	enum bs_suite
		suite; /* the best that is spoken: the machine's, but a test may ask for less */
	struct bs_seal_peer peer[BS_KEYED_MAX + 1];
	uint32_t peers;
	uint32_t connections; /* of a peer at a time, but for the node; 0: any */
};

#define BS_ROLE_NODE (UINT32_C(1) << 31) /* who has the service's own key: commands on its node */

/* A fresh pair to a new file; BS_ERR_IO where the file is there. */
int bs_seal_key_make(struct bs_ik_pair *pair, const char *path, struct bs_fail *why);
int bs_seal_key_read(struct bs_ik_pair *pair, const char *path, struct bs_fail *why);
void bs_seal_key_text(char out[BS_KEY_TEXT_MAX], const uint8_t key[BS_IK_KEY]);
int bs_seal_key_parse(uint8_t key[BS_IK_KEY], const char *text, struct bs_fail *why);

/*
 * A service's; the last peer is the node itself, which may all. BS_ERR_KEY: a peer's key is none,
 * is known twice, or is the service's own.
 */
int bs_seal_keys_load(struct bs_seal_keys *k, const struct bs_keys_spec *spec, struct bs_fail *why);
/* A client's: its own key's file, and the service's public key, which is peer[0]. */
int bs_seal_keys_client(struct bs_seal_keys *k, const char *path, const char *service,
			struct bs_fail *why);
/*
 * On the service's node, by the same site file: the node's own, or (who, its file not "") that of a
 * process beside it. BS_ERR_KEY: keys.peers has another one under its name.
 */
int bs_seal_keys_node(struct bs_seal_keys *k, const struct bs_keys_spec *spec,
		      const struct bs_keyed *who, struct bs_fail *why);
void bs_seal_keys_wipe(struct bs_seal_keys *k);
void bs_seal_wipe_bytes(void *at, size_t bytes);
/* It has as many connections as it may. */
static inline bool bs_seal_keys_full(const struct bs_seal_keys *k, const struct bs_seal_peer *p)
{
	return k->connections != 0 && p->here >= k->connections && (p->roles & BS_ROLE_NODE) == 0;
}
/* NULL: it is not known. In constant time. */
const struct bs_seal_peer *bs_seal_keys_find(const struct bs_seal_keys *k,
					     const uint8_t key[BS_IK_KEY]);

#endif
