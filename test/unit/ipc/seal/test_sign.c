/*
 * test/unit/ipc/seal/test_sign.c - the pair that a key file signs with, chains and lines, held to
 * what Python's hashlib and cryptography make of the same secret
 */
#define _GNU_SOURCE
#include "ipc/seal/sign.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc/seal/keys.h"
#include "test/support/check.h"

static const char secret[] = "boreside-secret AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\n";
static const char pub_text[] = "vLmRuN983muCkXf8CNYM3Hd6pcFjsTlCq1sQ8ZHCy3Y=";
static const char line[] = "audit: scan 1";
static const char line_7[] = "wLGmVVaaNJNqg2E2aa4SEzVGh9YOg3P8qMFfFO6xYHc/"
			     "BGDgBGl72xdbyucoEEF9BUMmA/p1gQcns1qLizMuCw==";
static const uint8_t abc_hash[] = { 0x5d, 0xb8, 0x27, 0xe5, 0xe9, 0x25, 0xe6, 0xb9,
				    0x33, 0xa8, 0x65, 0x96, 0xa0, 0x44, 0x6c, 0x34,
				    0x5c, 0x0d, 0x74, 0xd7, 0x7f, 0x55, 0xa7, 0x51,
				    0xad, 0xe5, 0xd7, 0xc7, 0x16, 0x2e, 0xea, 0xd8 };

static char dir[] = "/tmp/boreside-sign-XXXXXX";
static char path[64];
static struct bs_fail why;

static void put(const char *name, const char *text)
{
	const size_t n = strlen(text);
	const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || close(fd) != 0)
		abort();
}

static bool is_signed(const char *text, const struct bs_signer *s, uint64_t number, const char *of)
{
	uint8_t hash[BS_CHAIN];

	bs_hash_line(hash, number, of, sizeof(line) - 1);
	return bs_signed_text(text, s->pub, hash);
}

static void lines(const struct bs_signer *s)
{
	char text[BS_SIGN_TEXT];
	char changed[sizeof(line)];
	uint8_t hash[BS_CHAIN];
	int bad = 0;

	bs_hash_line(hash, 7, line, sizeof(line) - 1);
	bs_sign_text(text, s, hash);
	CHECK(strcmp(text, line_7) == 0, "line 7 has the signature that Python makes");
	CHECK(is_signed(line_7, s, 7, line), "which is good");
	CHECK(!is_signed(line_7, s, 8, line), "but not of line 8");
	for (size_t bit = 0; bit < 8 * (sizeof(line) - 1); bit++) {
		memcpy(changed, line, sizeof(line));
		changed[bit / 8] = (char)(changed[bit / 8] ^ 1 << bit % 8);
		bad += is_signed(line_7, s, 7, changed);
	}
	CHECK(bad == 0, "nor of a line with any one bit changed");
	for (size_t at = 0; at < sizeof(line_7) - 1; at++) {
		memcpy(text, line_7, sizeof(line_7));
		text[at] = text[at] == 'A' ? 'B' : 'A';
		/* the last character's lower bits are not of the signature */
		bad += at + 3 < sizeof(line_7) - 1 && is_signed(text, s, 7, line);
		text[at] = '\0';
		bad += is_signed(text, s, 7, line);
	}
	CHECK(bad == 0, "and no other text, nor a shorter one, is that signature");
}

int main(void)
{
	struct bs_signer s, other;
	struct bs_ik_pair pair;
	uint8_t chain[BS_CHAIN] = { 0 };
	char text[BS_KEY_TEXT_MAX];

	if (mkdtemp(dir) == NULL)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/key", dir);
	bs_chain_add(chain, "abc", 3);
	CHECK(memcmp(chain, abc_hash, BS_CHAIN) == 0, "a link is BLAKE2b of the last and the next");
	put(path, secret);
	CHECK(bs_signer_read(&s, path, &why) == 0, "a key file's pair %s", why.text);
	bs_seal_key_text(text, s.pub);
	CHECK(strcmp(text, pub_text) == 0, "is the one that Python derives");
	CHECK(bs_seal_key_read(&pair, path, &why) == 0 && memcmp(pair.pub, s.pub, BS_SIGN_KEY) != 0,
	      "and not the one that endpoints are sealed with");
	(void)chmod(path, 0640);
	CHECK(bs_signer_read(&other, path, &why) == BS_ERR_IO, "a key that others read: %s",
	      why.text);
	(void)unlink(path);
	if (bs_seal_key_make(&pair, path, &why) != 0 || bs_signer_read(&other, path, &why) != 0)
		abort();
	lines(&s);
	(void)unlink(path);
	(void)rmdir(dir);
	return check_done();
}
