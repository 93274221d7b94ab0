/* drivers/tool/signedfile.c - see signedfile.h */
#include "drivers/tool/signedfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int hash_file(uint8_t hash[BS_CHAIN], const char *file, struct bs_fail *why)
{
	unsigned char bytes[4096];
	FILE *f = fopen(file, "rb");
	size_t n;
	int rc = 0;

	memset(hash, 0, BS_CHAIN);
	if (f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", file, strerror(errno));
	while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
		bs_chain_add(hash, bytes, n);
	if (ferror(f))
		rc = bs_fail(why, BS_ERR_IO, "%s: cannot be read", file);
	(void)fclose(f);
	return rc;
}

static const char *beside(char path[1024], const char *file)
{
	(void)snprintf(path, 1024, "%.1000s.sig", file);
	return path;
}

int bs_sign_file(const struct bs_signer *s, const char *file, struct bs_fail *why)
{
	char path[1024];
	char text[BS_SIGN_TEXT];
	uint8_t hash[BS_CHAIN];
	FILE *f;
	int rc = hash_file(hash, file, why);

	if (rc != 0)
		return rc;
	bs_sign_text(text, s, hash);
	f = fopen(beside(path, file), "w");
	if (f == NULL || fprintf(f, "%s\n", text) < 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (f != NULL && fclose(f) != 0 && rc == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	return rc;
}

bool bs_signedfile_is(const char *file)
{
	char path[1024];

	return access(beside(path, file), F_OK) == 0;
}

int bs_signed_file(const uint8_t key[BS_SIGN_KEY], const char *file, struct bs_fail *why)
{
	char path[1024];
	char text[BS_SIGN_TEXT + 1] = "";
	uint8_t hash[BS_CHAIN];
	FILE *f;
	int rc = hash_file(hash, file, why);

	f = rc == 0 ? fopen(beside(path, file), "r") : NULL;
	if (rc == 0 && f == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (rc == 0 &&
	    (fread(text, 1, BS_SIGN_TEXT, f) != BS_SIGN_TEXT || text[BS_SIGN_TEXT - 1] != '\n'))
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: no signature", path);
	if (f != NULL)
		(void)fclose(f);
	if (rc == 0 && !bs_signed_text(text, key, hash))
		rc = bs_fail(why, BS_ERR_KEY,
			     "%s: is not what this key signed: the file was changed, or another "
			     "key signed it",
			     file);
	return rc;
}
