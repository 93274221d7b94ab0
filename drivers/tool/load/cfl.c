/* drivers/tool/load/cfl.c - see cfl.h */
#include "drivers/tool/load/cfl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/whole.h"

#define HDR_BYTES_MAX 65536u /* most bytes of a header; BART adds only its command line */
#define VALUE_BYTES   (2 * sizeof(float))

/* Finds the line after "# Dimensions", which begins at *at. Returns its
 * length; 0: there is none. */
static size_t dimensions_line(const char *text, size_t len, const char **at)
{
	static const char title[] = "# Dimensions";
	const char *end = text + len;
	bool next = false;

	for (const char *p = text; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl != NULL ? nl : end) - p);

		if (next) {
			*at = p;
			return n;
		}
		while (n > 0 && (p[n - 1] == '\r' || p[n - 1] == ' '))
			n--;
		next = n == sizeof(title) - 1 && memcmp(p, title, n) == 0;
		p = nl != NULL ? nl + 1 : end;
	}
	return 0;
}

int bs_cfl_parse(uint64_t dims[BS_CFL_DIMS], uint64_t *size, const char *text, size_t len,
		 const char *name, struct bs_fail *why)
{
	const char *line = NULL;
	size_t n = dimensions_line(text, len, &line);
	unsigned count = 0;

	*size = 1;
	bs_cfl_sizes(dims, 1, 1, 1, 1);
	for (size_t i = 0; i < n;) {
		uint64_t v = 0;

		if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
			i++;
			continue;
		}
		if (line[i] < '0' || line[i] > '9')
			return bs_fail(why, BS_ERR_FORMAT, "%s: dimension %u is not a number", name,
				       count);
		for (; i < n && line[i] >= '0' && line[i] <= '9'; i++) {
			if (v > (INT64_MAX - 9) / 10)
				return bs_fail(why, BS_ERR_FORMAT, "%s: dimension %u is too large",
					       name, count);
			v = 10 * v + (uint64_t)(line[i] - '0');
		}
		if (v == 0)
			return bs_fail(why, BS_ERR_FORMAT, "%s: dimension %u is 0", name, count);
		if (count == BS_CFL_DIMS)
			return bs_fail(why, BS_ERR_FORMAT, "%s: more than %u dimensions", name,
				       BS_CFL_DIMS);
		if (v > INT64_MAX / VALUE_BYTES / *size)
			return bs_fail(why, BS_ERR_FORMAT,
				       "%s: the dimensions' product is too large", name);
		*size *= v;
		dims[count++] = v;
	}
	if (count == 0)
		return bs_fail(why, BS_ERR_FORMAT, "%s: has no '# Dimensions'", name);
	return 0;
}

static bool read_full(int fd, void *to, size_t len)
{
	if (bs_read_whole(fd, to, len, -1) == len)
		return true;
	errno = errno == 0 ? EIO : errno; /* the file has become shorter since it was opened */
	return false;
}

/* Opens a regular file and finds its length in bytes. */
static int open_regular(const char *path, uint64_t *bytes, struct bs_fail *why)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return bs_fail(why, BS_ERR_FORMAT, "%s: not a regular file", path);
	}
	*bytes = (uint64_t)st.st_size;
	return fd;
}

static int read_header(struct bs_cfl *c, const char *path, struct bs_fail *why)
{
	char text[HDR_BYTES_MAX];
	uint64_t bytes;
	int fd = open_regular(path, &bytes, why);
	int rc;

	if (fd < 0)
		return fd;
	if (bytes > sizeof(text))
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: a header of %" PRIu64 " bytes", path, bytes);
	else if (!read_full(fd, text, (size_t)bytes))
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	else
		rc = bs_cfl_parse(c->dims, &c->size, text, (size_t)bytes, path, why);
	(void)close(fd);
	return rc;
}

int bs_cfl_read(struct bs_cfl *c, const char *name, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH];
	uint64_t bytes;
	int fd;
	int rc;

	memset(c, 0, sizeof(*c));
	rc = bs_cfl_path(path, name, ".hdr", why);
	if (rc == 0)
		rc = read_header(c, path, why);
	if (rc == 0)
		rc = bs_cfl_path(path, name, ".cfl", why);
	if (rc != 0)
		return rc;
	fd = open_regular(path, &bytes, why);
	if (fd < 0)
		return fd;
	if (bytes != c->size * VALUE_BYTES)
		rc = bs_fail(why, BS_ERR_FORMAT,
			     "%s: holds %" PRIu64 " bytes, its header's dimensions need %" PRIu64,
			     path, bytes, (uint64_t)(c->size * VALUE_BYTES));
	else if ((c->data = malloc((size_t)bytes)) == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "%s: no memory for %" PRIu64 " bytes", path, bytes);
	else if (!read_full(fd, c->data, (size_t)bytes))
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	(void)close(fd);
	if (rc != 0)
		bs_cfl_free(c);
	return rc;
}

void bs_cfl_free(struct bs_cfl *c)
{
	free(c->data);
	memset(c, 0, sizeof(*c));
}
