/* drivers/tool/load/proof.c - see proof.h */
#include "drivers/tool/load/proof.h"

#include <string.h>

#include "drivers/log/parts.h"
#include "ipc/seal/keys.h"

static int fail_proof(struct bs_fail *why, int code, const char *path, const char *what)
{
	return bs_fail(why, code, "%s: %s", path, what);
}

/* Checks a seal's signature. *chain: what it says of the records. BS_ERR_KEY. */
static int check_seal(uint8_t chain[BS_CHAIN], const unsigned char *block,
		      const uint8_t key[BS_SIGN_KEY], struct bs_fail *why)
{
	static const uint8_t none[BS_SIGN_KEY];
	unsigned char text[BS_LOG_BLOCK];
	char words[BS_KEY_TEXT_MAX];

	if (block[8] == 1 || memcmp(block + BS_LOG_KEY_AT, none, BS_SIGN_KEY) == 0)
		return bs_fail(why, BS_ERR_KEY, "is not signed%s",
			       block[8] == 1 ? ": a log of version 1" : "");
	bs_seal_key_text(words, block + BS_LOG_KEY_AT);
	if (memcmp(block + BS_LOG_KEY_AT, key, BS_SIGN_KEY) != 0)
		return bs_fail(why, BS_ERR_KEY, "is signed by another key, %s", words);
	bs_log_unsigned(text, block);
	if (!bs_signed_by(block + BS_LOG_SIGNATURE_AT, key, text, sizeof(text)))
		return bs_fail(why, BS_ERR_KEY,
			       "the signature is not that of the seal: it was changed");
	memcpy(chain, block + BS_LOG_CHAIN_AT, BS_CHAIN);
	return 0;
}

/* Checks that the file has its head's name, and its head the seal's fields. */
static int check_place(const struct bs_log_part *p, const char *path, struct bs_fail *why)
{
	const char *slash = strrchr(path, '/');
	unsigned char head[BS_LOG_BLOCK];
	char name[BS_LOG_NAME];

	bs_log_name(name, &p->ends);
	bs_log_put_head(head, &p->ends);
	if (memcmp(head, p->head, sizeof(head)) != 0)
		return fail_proof(why, BS_ERR_FORMAT, path,
				  "the head is not the one that was signed");
	return strcmp(slash != NULL ? slash + 1 : path, name) == 0
		       ? 0
		       : bs_fail(why, BS_ERR_KEY, "%s: holds what was signed as %s", path, name);
}

static int prove_part(const struct bs_log_parts *l, uint32_t i, const uint8_t key[BS_SIGN_KEY],
		      uint8_t before[BS_CHAIN], struct bs_fail *why)
{
	const struct bs_log_part *p = &l->part[i];
	const char *path = bs_log_path(l->r, i);
	struct bs_fail bad = { 0 };
	uint8_t chain[BS_CHAIN];
	uint8_t is[BS_CHAIN];
	int rc;

	if (!p->sealed)
		return fail_proof(why, BS_ERR_KEY, path, "has no seal, so it is not signed");
	rc = check_seal(chain, p->seal, key, &bad);
	if (rc != 0)
		return fail_proof(why, rc, path, bad.text);
	rc = check_place(p, path, why);
	bs_log_chain_before(l, i, is, before);
	if (rc == 0)
		rc = bs_log_chain_of(path, p->ends.end, is, why);
	if (rc == 0 && memcmp(is, chain, BS_CHAIN) != 0)
		rc = fail_proof(why, BS_ERR_FORMAT, path,
				"its records are not those that were signed");
	memcpy(before, chain, BS_CHAIN);
	return rc;
}

int bs_log_prove(const char *path, const uint8_t key[BS_SIGN_KEY], struct bs_log_proof *sum,
		 struct bs_fail *why)
{
	uint8_t before[BS_CHAIN] = { 0 };
	struct bs_log_parts l = { 0 };
	bool all;
	int rc = bs_log_open_parts(&l, path, why);

	*sum = (struct bs_log_proof){ 0 };
	if (rc != 0)
		return rc;
	rc = bs_log_read_parts(&l, &all, why);
	for (uint32_t i = 0; rc == 0 && i < l.count; i++) {
		const struct bs_log_part *p = &l.part[i];

		if (p->end == 0 && !p->sealed && i + 1 < l.count)
			continue; /* nothing of it counts */
		rc = prove_part(&l, i, key, before, why);
		sum->segments++;
		sum->recovered += p->ends.recovered;
	}
	bs_log_close_parts(&l);
	return rc;
}
