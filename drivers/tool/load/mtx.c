/* drivers/tool/load/mtx.c - see mtx.h */
#include "drivers/tool/load/mtx.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 1024

struct reader {
	const char *path;
	FILE *file;
	unsigned long long line; /* number of the current line, from 1 */
	char text[LINE_MAX_BYTES];
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct reader *r, struct bs_fail *why,
							const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return bs_fail(why, BS_ERR_FORMAT, "%s:%llu: %s", r->path, r->line, text);
}

/* Reads a line. Returns 1, 0 at the end; negative: it is too long or has a NUL byte. */
static int next_line(struct reader *r, struct bs_fail *why)
{
	size_t n;

	r->line++;
	if (fgets(r->text, sizeof(r->text), r->file) == NULL) {
		if (ferror(r->file))
			return bs_fail(why, BS_ERR_IO, "%s: %s", r->path, strerror(errno));
		return 0;
	}
	n = strlen(r->text);
	if ((n == 0 || r->text[n - 1] != '\n') && !feof(r->file))
		return refuse(r, why, n == 0 ? "not text" : "the line is longer than %d bytes",
			      LINE_MAX_BYTES - 2);
	return 1;
}

static bool blank(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return *p == '\0';
}

/* Reads a decimal count without a sign; moves *p behind it. */
static bool read_count(const char **p, unsigned long long *n)
{
	char *end;

	while (isspace((unsigned char)**p))
		(*p)++;
	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*n = strtoull(*p, &end, 10);
	*p = end;
	return errno == 0 && (*end == '\0' || isspace((unsigned char)*end));
}

static bool read_value(const char **p, float *value)
{
	char *end;
	double d = strtod(*p, &end);

	if (end == *p || (*end != '\0' && !isspace((unsigned char)*end)))
		return false;
	*p = end;
	*value = (float)d;
	return isfinite(*value);
}

static int read_banner(struct reader *r, bool *is_complex, struct bs_fail *why)
{
	char object[LINE_MAX_BYTES], format[LINE_MAX_BYTES], field[LINE_MAX_BYTES];
	char symmetry[LINE_MAX_BYTES];
	int rc = next_line(r, why);

	if (rc < 0)
		return rc;
	if (rc == 0 || sscanf(r->text, "%%%%MatrixMarket %1023s %1023s %1023s %1023s", object,
			      format, field, symmetry) != 4)
		return refuse(r, why, "does not start with %%%%MatrixMarket and four words");
	if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
		return refuse(r, why, "is '%.40s %.40s', not 'matrix coordinate'", object, format);
	*is_complex = strcasecmp(field, "complex") == 0;
	if (!*is_complex && strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
		return refuse(r, why, "values are '%.40s', not real, integer or complex", field);
	if (strcasecmp(symmetry, "general") != 0)
		return refuse(r, why, "symmetry '%.40s': only general is read", symmetry);
	return 0;
}

static int read_sizes(struct reader *r, unsigned long long n[3], struct bs_fail *why)
{
	struct stat st;
	const char *p;
	int rc;

	do {
		rc = next_line(r, why);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return refuse(r, why, "the file ends before the sizes");
	} while (r->text[0] == '%' || blank(r->text));
	p = r->text;
	if (!read_count(&p, &n[0]) || !read_count(&p, &n[1]) || !read_count(&p, &n[2]) || !blank(p))
		return refuse(r, why, "the sizes are not three counts");
	if (n[0] == 0 || n[1] == 0 || n[0] > UINT32_MAX || n[1] > UINT32_MAX)
		return refuse(r, why, "%llu x %llu: 1 to %lu each", n[0], n[1],
			      (unsigned long)UINT32_MAX);
	/* the shortest entry is "1 1 1" and a newline */
	if (fstat(fileno(r->file), &st) != 0 || st.st_size < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", r->path, strerror(errno));
	if (n[2] > (unsigned long long)st.st_size / 6 + 1)
		return refuse(r, why, "%llu entries do not fit a file of %lld bytes", n[2],
			      (long long)st.st_size);
	return 0;
}

/* Reads the entry on the current line. last: row (from 1) and column of the entry before. */
static int read_entry(struct reader *r, struct bs_csr *m, uint64_t e, unsigned long long last[2],
		      struct bs_fail *why)
{
	const char *p = r->text;
	unsigned long long row;
	unsigned long long col;
	float *value = m->value + e * (m->is_complex ? 2 : 1);

	if (!read_count(&p, &row) || !read_count(&p, &col))
		return refuse(r, why, "the entry does not start with a row and a column");
	if (row < 1 || row > m->rows || col < 1 || col > m->cols)
		return refuse(r, why, "row %llu, column %llu lie outside %llu x %llu", row, col,
			      (unsigned long long)m->rows, (unsigned long long)m->cols);
	if (!read_value(&p, &value[0]) || (m->is_complex && !read_value(&p, &value[1])))
		return refuse(r, why, "row %llu, column %llu: the value is not a finite float", row,
			      col);
	if (!blank(p))
		return refuse(r, why, "more follows the entry");
	if (row == last[0] && col == last[1])
		return refuse(r, why, "row %llu, column %llu is there twice", row, col);
	if (row < last[0] || (row == last[0] && col < last[1]))
		return refuse(r, why,
			      "row %llu, column %llu after row %llu, column %llu: not sorted", row,
			      col, last[0], last[1]);
	last[0] = row;
	last[1] = col;
	m->col[e] = (uint32_t)(col - 1);
	m->start[row]++;
	return 0;
}

static int read_entries(struct reader *r, struct bs_csr *m, struct bs_fail *why)
{
	unsigned long long last[2] = { 0, 0 };
	uint64_t e = 0;
	int rc;

	while ((rc = next_line(r, why)) > 0) {
		if (r->text[0] == '%' || blank(r->text))
			continue;
		if (e == m->entries)
			return refuse(r, why, "more than the %llu entries stated",
				      (unsigned long long)m->entries);
		rc = read_entry(r, m, e++, last, why);
		if (rc != 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	if (e != m->entries)
		return refuse(r, why, "the file ends after %llu of %llu entries",
			      (unsigned long long)e, (unsigned long long)m->entries);
	for (uint64_t i = 0; i < m->rows; i++) /* the rows' starts, of their counts */
		m->start[i + 1] += m->start[i];
	return 0;
}

int bs_mtx_read(struct bs_csr *m, const char *path, struct bs_fail *why)
{
	struct reader r = { .path = path, .file = fopen(path, "r") };
	unsigned long long n[3] = { 0 };
	bool is_complex = false;
	int rc;

	memset(m, 0, sizeof(*m));
	if (r.file == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	rc = read_banner(&r, &is_complex, why);
	if (rc == 0)
		rc = read_sizes(&r, n, why);
	if (rc == 0)
		rc = bs_csr_open(m, n[0], n[1], n[2], is_complex, why);
	if (rc == 0)
		rc = read_entries(&r, m, why);
	if (rc == 0)
		rc = bs_csr_seal(m, why);
	if (rc != 0)
		bs_csr_close(m);
	(void)fclose(r.file);
	return rc;
}
