/* ipc/seal/keys.c - see keys.h */
#include "ipc/seal/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD      "boreside-secret "
#define HEAD_LEN  (sizeof(HEAD) - 1)
#define TEXT_LEN  44u
#define LINE_LEN  (HEAD_LEN + TEXT_LEN + 1) /* bytes of the file's line, its newline included */
#define KEY_MODE  0600
#define NOT_OTHER (S_IRWXG | S_IRWXO)
/* mode bits that must be 0, but for a file of root's */
#define NOT_GROUP (S_IWGRP | S_IXGRP | S_IRWXO)

_Static_assert(sodium_base64_ENCODED_LEN(BS_IK_KEY, sodium_base64_VARIANT_ORIGINAL) == TEXT_LEN + 1,
	       "a key in words");

void bs_seal_key_text(char out[BS_KEY_TEXT_MAX], const uint8_t key[BS_IK_KEY])
{
	(void)sodium_bin2base64(out, TEXT_LEN + 1, key, BS_IK_KEY, sodium_base64_VARIANT_ORIGINAL);
}

int bs_seal_key_parse(uint8_t key[BS_IK_KEY], const char *text, struct bs_fail *why)
{
	size_t n = 0;
	const char *end = text;

	if (strlen(text) != TEXT_LEN ||
	    sodium_base642bin(key, BS_IK_KEY, text, TEXT_LEN, NULL, &n, &end,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    n != BS_IK_KEY || end != text + TEXT_LEN)
		return bs_fail(why, BS_ERR_KEY,
			       "not a public key: 44 characters of base64, as `boreside key show` "
			       "prints them");
	return 0;
}

int bs_seal_key_make(struct bs_ik_pair *pair, const char *path, struct bs_fail *why)
{
	char line[LINE_LEN + 1];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, KEY_MODE);
	int rc = 0;

	(void)bs_suite_best();
	if (fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path,
			       errno == EEXIST ? "is there; a key is never overwritten"
					       : strerror(errno));
	randombytes_buf(pair->secret, sizeof(pair->secret));
	bs_ik_public(pair->pub, pair->secret);
	memcpy(line, HEAD, HEAD_LEN);
	bs_seal_key_text(line + HEAD_LEN, pair->secret);
	line[LINE_LEN - 1] = '\n';
	errno = 0;
	if (fchmod(fd, KEY_MODE) != 0 || write(fd, line, LINE_LEN) != (ssize_t)LINE_LEN ||
	    fsync(fd) != 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path,
			     errno != 0 ? strerror(errno) : "not written whole");
	if (close(fd) != 0 && rc == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (rc != 0)
		(void)unlink(path);
	sodium_memzero(line, sizeof(line));
	return rc;
}

/* Checks that it is a regular file, and who may read it. */
static int check_file(int fd, const char *path, struct bs_fail *why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s: is no file", path);
	if ((st.st_mode & (st.st_uid == geteuid() ? NOT_OTHER : NOT_GROUP)) != 0)
		return bs_fail(why, BS_ERR_IO,
			       "%s: others may read or write this secret key (mode %03o): chmod "
			       "600, or make a new one",
			       path, (unsigned)st.st_mode & 0777);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return bs_fail(why, BS_ERR_IO, "%s: belongs to user %u, not to this one (%u)", path,
			       (unsigned)st.st_uid, (unsigned)geteuid());
	return 0;
}

int bs_seal_key_read(struct bs_ik_pair *pair, const char *path, struct bs_fail *why)
{
	char line[LINE_LEN + 2] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = 0;
	int rc;

	(void)bs_suite_best();
	if (fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	rc = check_file(fd, path, why);
	if (rc == 0)
		n = read(fd, line, LINE_LEN + 1);
	(void)close(fd);
	if (rc == 0 && (n != (ssize_t)LINE_LEN || memcmp(line, HEAD, HEAD_LEN) != 0 ||
			line[LINE_LEN - 1] != '\n'))
		rc = BS_ERR_FORMAT;
	line[LINE_LEN - 1] = '\0';
	if (rc == 0 && bs_seal_key_parse(pair->secret, line + HEAD_LEN, NULL) != 0)
		rc = BS_ERR_FORMAT;
	sodium_memzero(line, sizeof(line));
	if (rc == BS_ERR_FORMAT)
		return bs_fail(why, rc, "%s: not a secret key, as `boreside key new` makes them",
			       path);
	if (rc == 0)
		bs_ik_public(pair->pub, pair->secret);
	return rc;
}

int bs_seal_keys_load(struct bs_seal_keys *k, const struct bs_keys_spec *spec, struct bs_fail *why)
{
	char text[BS_KEY_TEXT_MAX];
	struct bs_fail own;
	int rc;

	memset(k, 0, sizeof(*k));
	rc = bs_seal_key_read(&k->own, spec->own, &own);
	if (rc != 0)
		return bs_fail(why, rc, "keys.own: %s", own.text);
	k->suite = bs_suite_best();
	k->connections = spec->connections;
	bs_seal_key_text(text, k->own.pub);
	if (spec->service[0] != '\0' && strcmp(spec->service, text) != 0)
		rc = bs_fail(why, BS_ERR_KEY, "keys.service is not keys.own's public key, %s",
			     text);
	for (uint32_t i = 0; rc == 0 && i < spec->peers && i < BS_KEYED_MAX; i++) {
		struct bs_seal_peer *p = &k->peer[i];
		const struct bs_seal_peer *twin;

		(void)snprintf(p->name, sizeof(p->name), "%s", spec->peer[i].name);
		p->roles = spec->peer[i].roles;
		rc = bs_seal_key_parse(p->key, spec->peer[i].key, &own);
		twin = rc == 0 ? bs_seal_keys_find(k, p->key) : NULL;
		if (rc == 0 && sodium_memcmp(p->key, k->own.pub, sizeof(p->key)) == 0)
			rc = bs_fail(&own, BS_ERR_KEY, "is this node's own key: each side has one");
		else if (twin != NULL)
			rc = bs_fail(&own, BS_ERR_KEY, "has the key of '%s'", twin->name);
		if (rc != 0)
			(void)bs_fail(why, rc, "keys.peers.[%u]: '%s': %s", i, p->name, own.text);
		k->peers++;
	}
	if (rc != 0) {
		sodium_memzero(k, sizeof(*k));
		return rc;
	}
	(void)snprintf(k->peer[k->peers].name, sizeof(k->peer[0].name), "(this node)");
	memcpy(k->peer[k->peers].key, k->own.pub, sizeof(k->own.pub));
	k->peer[k->peers++].roles = UINT32_MAX;
	return 0;
}

/* Reads the key of a process beside the service, which keys.peers has under its name. */
static int read_keyed(struct bs_seal_keys *k, const struct bs_keys_spec *spec,
		      const struct bs_keyed *who, struct bs_fail *why)
{
	char text[BS_KEY_TEXT_MAX];
	int rc = bs_seal_keys_client(k, who->file, spec->service, why);

	if (rc != 0)
		return rc;
	bs_seal_key_text(text, k->own.pub);
	for (uint32_t i = 0; i < spec->peers; i++)
		if (strcmp(spec->peer[i].name, who->name) == 0 &&
		    strcmp(spec->peer[i].key, text) == 0)
			return 0;
	sodium_memzero(k, sizeof(*k));
	return bs_fail(why, BS_ERR_KEY, "%s: keys.peers' '%s' has another public key than this, %s",
		       who->file, who->name, text);
}

int bs_seal_keys_node(struct bs_seal_keys *k, const struct bs_keys_spec *spec,
		      const struct bs_keyed *who, struct bs_fail *why)
{
	struct bs_fail own;
	int rc;

	if (who != NULL && who->file[0] != '\0')
		return read_keyed(k, spec, who, why);
	memset(k, 0, sizeof(*k));
	rc = bs_seal_key_read(&k->own, spec->own, &own);
	if (rc != 0)
		return bs_fail(why, rc, "keys.own: %s", own.text);
	memcpy(k->peer[0].key, k->own.pub, sizeof(k->own.pub));
	k->peers = 1;
	k->suite = bs_suite_best();
	return 0;
}

int bs_seal_keys_client(struct bs_seal_keys *k, const char *path, const char *service,
			struct bs_fail *why)
{
	struct bs_fail own;
	int rc;

	memset(k, 0, sizeof(*k));
	rc = bs_seal_key_read(&k->own, path, why);
	if (rc == 0 && bs_seal_key_parse(k->peer[0].key, service, &own) != 0)
		rc = bs_fail(why, BS_ERR_KEY, "the service's key: %s", own.text);
	k->peers = 1;
	k->suite = bs_suite_best();
	if (rc != 0)
		sodium_memzero(k, sizeof(*k));
	return rc;
}

void bs_seal_wipe_bytes(void *at, size_t bytes)
{
	sodium_memzero(at, bytes);
}

const struct bs_seal_peer *bs_seal_keys_find(const struct bs_seal_keys *k,
					     const uint8_t key[BS_IK_KEY])
{
	const struct bs_seal_peer *found = NULL;

	for (uint32_t i = 0; i < k->peers; i++)
		if (sodium_memcmp(k->peer[i].key, key, BS_IK_KEY) == 0)
			found = &k->peer[i];
	return found;
}
