/*
 * test/unit/drivers/tool/test_signedfile.c - a signed file: its signature is what Python's hashlib
 * and cryptography make of the same secret, and good of nothing else
 */
#define _GNU_SOURCE
#include "drivers/tool/signedfile.h"

#include <fcntl.h>
#include <string.h>

#include "test/support/check.h"

static const char secret[] = "boreside-secret AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\n";
static const char page_signed[] = "u9AWmlI3GWm34sCTegQEeoLlx6fh4vu+vuJneiRxgP9J"
				  "7HCqj0VEG99BW3yJFUXcyy75U6DidfMtmPvpmo74AA==\n";
static char dir[] = "/tmp/boreside-signed-XXXXXX";
static char path[64], file[64], beside[72];
static struct bs_fail why;

static void put(const char *name, const char *text, size_t n)
{
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

/* Two blocks and some: 400 lines. */
static size_t make_page(char *out, size_t cap)
{
	size_t n = 0;

	for (int i = 0; i < 400; i++)
		n += (size_t)snprintf(out + n, cap - n, "line %d of a certificate\n", i);
	return n;
}

int main(void)
{
	static char page[20000];
	const size_t n = make_page(page, sizeof(page));
	struct bs_signer s;
	struct bs_signer other;
	unsigned bad = 0;

	if (mkdtemp(dir) == NULL)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/key", dir);
	(void)snprintf(file, sizeof(file), "%s/page", dir);
	(void)snprintf(beside, sizeof(beside), "%s.sig", file);
	put(path, secret, strlen(secret));
	if (bs_signer_read(&s, path, &why) != 0)
		abort();
	other = s;
	other.pub[3] ^= 1;
	put(file, page, n);
	CHECK(!bs_signedfile_is(file) && bs_signed_file(s.pub, file, &why) == BS_ERR_IO,
	      "no signature: %s", why.text);
	CHECK(bs_sign_file(&s, file, &why) == 0 && has(beside, page_signed),
	      "a file of %zu bytes has the signature that Python makes beside it", n);
	CHECK(bs_signedfile_is(file) && bs_signed_file(s.pub, file, &why) == 0, "it is good");
	CHECK(bs_signed_file(other.pub, file, &why) == BS_ERR_KEY, "by no other key: %s", why.text);
	for (size_t at = 0; at < n; at += 97) {
		page[at] ^= 1;
		put(file, page, n);
		bad += bs_signed_file(s.pub, file, &why) != BS_ERR_KEY;
		page[at] ^= 1;
	}
	put(file, page, n - 1);
	bad += bs_signed_file(s.pub, file, &why) != BS_ERR_KEY;
	CHECK(bad == 0, "nor of a changed or shorter file: %s", why.text);
	put(beside, "abc\n", 4);
	CHECK(bs_signed_file(s.pub, file, &why) == BS_ERR_FORMAT, "%s", why.text);
	(void)unlink(file);
	CHECK(bs_sign_file(&s, file, &why) == BS_ERR_IO &&
		      bs_signed_file(s.pub, file, &why) == BS_ERR_IO,
	      "a file that is not there: %s", why.text);
	(void)unlink(path);
	(void)unlink(beside);
	(void)rmdir(dir);
	return check_done();
}
