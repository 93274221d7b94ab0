/* drivers/sink/uid.c - see uid.h */
#include "drivers/sink/uid.h"

#include <stdio.h>
#include <string.h>

#include "ipc/sha256.h"

void bs_uid_of(char uid[BS_UID_MAX], const char *words)
{
	char hex[BS_SHA256_HEX];
	char digits[40];
	size_t n = sizeof(digits);
	unsigned __int128 v = 0;

	bs_sha256(hex, words, strlen(words));
	for (int i = 0; i < 32; i++)
		v = v << 4 | (unsigned)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
	v &= ~((unsigned __int128)0xf << 76); /* digit 13 holds the version */
	v |= (unsigned __int128)8 << 76;
	v &= ~((unsigned __int128)3 << 62); /* the two highest bits of digit 17 hold the variant */
	v |= (unsigned __int128)2 << 62;
	digits[--n] = '\0';
	for (; v != 0; v /= 10)
		digits[--n] = (char)('0' + (int)(v % 10));
	(void)snprintf(uid, BS_UID_MAX, "2.25.%s", digits + n);
}

bool bs_uid_good(const char *uid)
{
	const size_t len = strlen(uid);

	if (len == 0 || len >= BS_UID_MAX || uid[strspn(uid, "0123456789.")] != '\0')
		return false;
	for (const char *c = uid;; c += strcspn(c, ".") + 1) {
		const size_t n = strcspn(c, ".");

		if (n == 0 || (n > 1 && c[0] == '0'))
			return false;
		if (c[n] == '\0')
			return true;
	}
}
