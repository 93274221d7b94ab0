/*
 * test/unit/ipc/seal/test_keys.c - files of secret keys, keys in words, who is known
 */
/* Holds: S1, S2 */
#define _GNU_SOURCE
#include "ipc/seal/keys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "test/support/check.h"

static char dir[] = "/tmp/boreside-keys-XXXXXX";
static char path[64], other[64];

static void write_file(const char *text, size_t n, mode_t mode)
{
	int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || fchmod(fd, mode) != 0 || close(fd) != 0)
		abort();
}

static void files(void)
{
	struct bs_ik_pair made, read_back, twin;
	struct bs_fail why = { 0 };
	char line[128];
	struct stat st;
	ssize_t n;
	int fd;

	CHECK(bs_seal_key_make(&made, path, &why) == 0 && stat(path, &st) == 0 &&
		      (st.st_mode & 0777) == 0600,
	      "a new key's file is of mode 600 %s", why.text);
	CHECK(bs_seal_key_read(&read_back, path, &why) == 0 &&
		      memcmp(&made, &read_back, sizeof(made)) == 0,
	      "and reads back %s", why.text);
	CHECK(bs_seal_key_make(&twin, path, &why) == BS_ERR_IO &&
		      strstr(why.text, "never overwritten") != NULL,
	      "no key is overwritten: %s", why.text);
	fd = open(path, O_RDONLY);
	n = fd >= 0 ? read(fd, line, sizeof(line)) : -1;
	(void)close(fd);
	if (n < 20)
		abort();
	write_file(line, (size_t)n, 0640);
	CHECK(bs_seal_key_read(&twin, other, &why) == BS_ERR_IO &&
		      strstr(why.text, "mode 640") != NULL,
	      "a key that others may read is refused: %s", why.text);
	write_file(line, (size_t)n, 0400);
	CHECK(bs_seal_key_read(&twin, other, &why) == 0, "one that nobody writes is not");
	for (ssize_t cut = 0; cut < n; cut++) {
		(void)unlink(other);
		write_file(line, (size_t)cut, 0600);
		if (bs_seal_key_read(&twin, other, &why) != BS_ERR_FORMAT)
			break;
		if (cut == n - 1)
			CHECK(1, "cut at any of %zd bytes it is none: %s", n, why.text);
	}
	(void)unlink(other);
	write_file("boreside-secret \0aaa", 20, 0600);
	CHECK(bs_seal_key_read(&twin, other, &why) == BS_ERR_FORMAT, "nor is a zero in it");
	CHECK(bs_seal_key_read(&twin, dir, &why) == BS_ERR_IO, "nor a folder: %s", why.text);
	(void)unlink(other);
}

static void words(void)
{
	uint8_t key[BS_IK_KEY], again[BS_IK_KEY];
	char text[BS_KEY_TEXT_MAX];
	struct bs_fail why;

	for (int i = 0; i < 32; i++)
		key[i] = (uint8_t)(i * 9 + 200);
	bs_seal_key_text(text, key);
	CHECK(strlen(text) == 44 && bs_seal_key_parse(again, text, &why) == 0 &&
		      memcmp(key, again, sizeof(key)) == 0,
	      "a key in words: %s", text);
	text[43] = 'A';
	CHECK(bs_seal_key_parse(again, text, &why) == BS_ERR_KEY, "without its '=' it is none");
	CHECK(bs_seal_key_parse(again, "", &why) == BS_ERR_KEY &&
		      bs_seal_key_parse(again, "boreside-secret", &why) == BS_ERR_KEY,
	      "nor is anything else: %s", why.text);
}

static void known(void)
{
	struct bs_keys_spec spec = { .peers = 2 };
	struct bs_seal_keys k;
	struct bs_ik_pair a;
	struct bs_fail why = { 0 };
	uint8_t nobody[BS_IK_KEY] = { 1 };

	(void)snprintf(spec.own, sizeof(spec.own), "%s", path);
	memset(a.secret, 7, sizeof(a.secret));
	bs_ik_public(a.pub, a.secret);
	bs_seal_key_text(spec.peer[0].key, a.pub);
	(void)snprintf(spec.peer[0].name, sizeof(spec.peer[0].name), "one");
	(void)snprintf(spec.peer[1].name, sizeof(spec.peer[1].name), "two");
	spec.peer[0].roles = BS_ROLE_ARCHIVE;
	memcpy(spec.peer[1].key, spec.peer[0].key, sizeof(spec.peer[1].key));
	CHECK(bs_seal_keys_load(&k, &spec, &why) == BS_ERR_KEY &&
		      strstr(why.text, "'two': has the key of 'one'") != NULL,
	      "one key, one name: %s", why.text);
	spec.peers = 1;
	CHECK(bs_seal_keys_load(&k, &spec, &why) == 0 &&
		      bs_seal_keys_find(&k, a.pub) == &k.peer[0] &&
		      bs_seal_keys_find(&k, nobody) == NULL,
	      "who is known, and who not");
	CHECK(bs_seal_keys_find(&k, k.own.pub) != NULL &&
		      (bs_seal_keys_find(&k, k.own.pub)->roles & BS_ROLE_NODE) != 0,
	      "the node itself");
	bs_seal_key_text(spec.peer[0].key, k.own.pub);
	CHECK(bs_seal_keys_load(&k, &spec, &why) == BS_ERR_KEY, "no peer has the node's own: %s",
	      why.text);
	(void)snprintf(spec.own, sizeof(spec.own), "%s/none", dir);
	CHECK(bs_seal_keys_load(&k, &spec, &why) == BS_ERR_IO, "no file: %s", why.text);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		abort();
	(void)snprintf(path, sizeof(path), "%s/key", dir);
	(void)snprintf(other, sizeof(other), "%s/other", dir);
	files();
	words();
	known();
	(void)unlink(path);
	(void)rmdir(dir);
	return check_done();
}
