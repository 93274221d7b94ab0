/* drivers/file/cfl.c - see cfl.h */
#include "drivers/file/cfl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VALUE_BYTES (2 * sizeof(float))

int bs_cfl_path(char out[BS_DRAFT_PATH], const char *name, const char *ext, struct bs_fail *why)
{
	size_t n = strlen(name);

	if (n > 4 && (strcmp(name + n - 4, ".cfl") == 0 || strcmp(name + n - 4, ".hdr") == 0))
		n -= 4;
	if (n + 5 > BS_DRAFT_PATH)
		return bs_fail(why, BS_ERR_IO, "a file name of %zu bytes is too long", n);
	(void)snprintf(out, BS_DRAFT_PATH, "%.*s%s", (int)n, name, ext);
	return 0;
}

static int write_part(const char *path, enum bs_draft_mode mode, const void *bytes, size_t len,
		      struct bs_fail *why)
{
	struct bs_draft d;
	int rc = bs_draft_open(&d, path, why);

	if (rc != 0)
		return rc;
	return bs_draft_end(&d, bs_draft_write(&d, bytes, len, why), path, mode, why);
}

static int write_pair(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		      enum bs_draft_mode mode, struct bs_fail *why)
{
	char hdr[BS_DRAFT_PATH];
	char cfl[BS_DRAFT_PATH];
	char text[32 + 21 * BS_CFL_DIMS];
	int n = snprintf(text, sizeof(text), "# Dimensions\n");
	uint64_t size = 1;
	int rc;

	for (unsigned i = 0; i < BS_CFL_DIMS; i++) {
		if (dims[i] == 0 || dims[i] > INT64_MAX / VALUE_BYTES / size)
			return bs_fail(why, BS_ERR_SIZE, "%s: dimension %u is %" PRIu64, name, i,
				       dims[i]);
		size *= dims[i];
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%" PRIu64 " ", dims[i]);
	}
	text[n - 1] = '\n';
	rc = bs_cfl_path(hdr, name, ".hdr", why);
	if (rc == 0)
		rc = bs_cfl_path(cfl, name, ".cfl", why);
	if (rc == 0 && mode == BS_DRAFT_KEEP && access(hdr, F_OK) == 0)
		rc = BS_DRAFT_EXISTS;
	if (rc == 0)
		rc = write_part(cfl, mode, data, (size_t)size * VALUE_BYTES, why);
	if (rc != 0)
		return rc;
	rc = write_part(hdr, mode, text, (size_t)n, why);
	if (rc != 0)
		(void)unlink(cfl);
	return rc;
}

int bs_cfl_write(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		 struct bs_fail *why)
{
	return write_pair(name, dims, data, BS_DRAFT_REPLACE, why);
}

int bs_cfl_write_new(const char *name, const uint64_t dims[BS_CFL_DIMS], const float *data,
		     struct bs_fail *why)
{
	return write_pair(name, dims, data, BS_DRAFT_KEEP, why);
}

void bs_cfl_sizes(uint64_t dims[BS_CFL_DIMS], uint64_t x, uint64_t y, uint64_t z, uint64_t coils)
{
	const uint64_t first[] = { x, y, z, coils };

	for (unsigned i = 0; i < BS_CFL_DIMS; i++)
		dims[i] = i < 4 ? first[i] : 1;
}
