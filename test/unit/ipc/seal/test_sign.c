/*
 * test/unit/ipc/seal/test_sign.c - the pair that a key file signs with, chains, lines and files,
 * held to what Python's hashlib and cryptography make of the same secret
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
static const char page[] = "a certificate\n";
static const char page_signed[] = "L0CFO/NByd2ftKB2maDiO8wvddXqxu6XMyja1qVDyaPY"
				  "Wq9cIUTVTX3kvll4TH1qIJqz1IP6HU/O9qI6/e9TDA==\n";
static const uint8_t abc_hash[] = { 0x5d, 0xb8, 0x27, 0xe5, 0xe9, 0x25, 0xe6, 0xb9,
				    0x33, 0xa8, 0x65, 0x96, 0xa0, 0x44, 0x6c, 0x34,
				    0x5c, 0x0d, 0x74, 0xd7, 0x7f, 0x55, 0xa7, 0x51,
				    0xad, 0xe5, 0xd7, 0xc7, 0x16, 0x2e, 0xea, 0xd8 };

static char dir[] = "/tmp/boreside-sign-XXXXXX";
static char path[64], file[64], beside[72];
static struct bs_fail why;

static void put(const char *name, const char *text)
{
	const size_t n = strlen(text);
	const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || close(fd) != 0)
		abort();
}

static bool has(const char *name, const char *text)
{
	char is[256] = "";
	const int fd = open(name, O_RDONLY);
	const ssize_t n = fd >= 0 ? read(fd, is, sizeof(is) - 1) : -1;

	if (fd >= 0)
		(void)close(fd);
	return n == (ssize_t)strlen(text) && strcmp(is, text) == 0;
}

static void lines(const struct bs_signer *s)
{
	char text[BS_SIGN_TEXT];
	char changed[sizeof(line)];
	int bad = 0;

	bs_sign_line(text, s, 7, line, sizeof(line) - 1);
	CHECK(strcmp(text, line_7) == 0, "line 7 has the signature that Python makes");
	CHECK(bs_signed_line(line_7, s->pub, 7, line, sizeof(line) - 1), "which is good");
	CHECK(!bs_signed_line(line_7, s->pub, 8, line, sizeof(line) - 1), "but not of line 8");
	for (size_t bit = 0; bit < 8 * (sizeof(line) - 1); bit++) {
		memcpy(changed, line, sizeof(line));
		changed[bit / 8] = (char)(changed[bit / 8] ^ 1 << bit % 8);
		bad += bs_signed_line(line_7, s->pub, 7, changed, sizeof(line) - 1);
	}
	CHECK(bad == 0, "nor of a line with any one bit changed");
	for (size_t at = 0; at < sizeof(line_7) - 1; at++) {
		memcpy(text, line_7, sizeof(line_7));
		text[at] = text[at] == 'A' ? 'B' : 'A';
		/* the last character's lower bits are not of the signature */
		bad += at + 3 < sizeof(line_7) - 1 &&
		       bs_signed_line(text, s->pub, 7, line, sizeof(line) - 1);
		text[at] = '\0';
		bad += bs_signed_line(text, s->pub, 7, line, sizeof(line) - 1);
	}
	CHECK(bad == 0, "and no other text, nor a shorter one, is that signature");
}

static void files(const struct bs_signer *s, const struct bs_signer *other)
{
	put(file, page);
	CHECK(bs_signed_file(s->pub, file, &why) == BS_ERR_IO, "no signature: %s", why.text);
	CHECK(bs_sign_file(s, file, &why) == 0 && has(beside, page_signed),
	      "a file has the signature that Python makes beside it");
	CHECK(bs_signed_file(s->pub, file, &why) == 0, "it is good");
	CHECK(bs_signed_file(other->pub, file, &why) == BS_ERR_KEY, "by no other key: %s",
	      why.text);
	put(file, "a certificatf\n");
	CHECK(bs_signed_file(s->pub, file, &why) == BS_ERR_KEY, "nor of a changed file: %s",
	      why.text);
	put(beside, "abc\n");
	CHECK(bs_signed_file(s->pub, file, &why) == BS_ERR_FORMAT, "%s", why.text);
	(void)unlink(file);
	CHECK(bs_sign_file(s, file, &why) == BS_ERR_IO &&
		      bs_signed_file(s->pub, file, &why) == BS_ERR_IO,
	      "a file that is not there: %s", why.text);
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
	(void)snprintf(file, sizeof(file), "%s/page", dir);
	(void)snprintf(beside, sizeof(beside), "%s.sig", file);
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
	files(&s, &other);
	(void)unlink(path);
	(void)unlink(beside);
	(void)rmdir(dir);
	return check_done();
}
