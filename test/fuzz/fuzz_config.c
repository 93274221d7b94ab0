/* test/fuzz/fuzz_config.c - any bytes as a site file: refused, or read and printed as the same site
 */
#define _GNU_SOURCE /* open_memstream */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* libconfig 1.5 loses strings when a syntax error follows them; its leak, not ours. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig\n";
}

static char path[] = "/tmp/fuzz_config.XXXXXX";

static void remove_file(void)
{
	(void)unlink(path);
}

static int load(struct bs_site *site, const void *text, size_t size)
{
	static int fd = -1;

	if (fd < 0) {
		fd = mkstemp(path);
		(void)atexit(remove_file);
	}
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, text, size, 0) != (ssize_t)size)
		abort();
	return bs_config_load(site, path, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct bs_site site, again;
	char *text = NULL;
	size_t n = 0;
	FILE *to = NULL;

	if (load(&site, data, size) != 0)
		return 0;
	to = open_memstream(&text, &n);
	if (to == NULL)
		abort();
	bs_config_print(to, &site);
	(void)fclose(to);
	if (load(&again, text, n) != 0 || memcmp(&site, &again, sizeof(site)) != 0)
		abort();
	free(text);
	return 0;
}
