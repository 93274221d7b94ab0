/*
 * test/unit/drivers/test_mtx.c - Matrix Market files: read back what was written; each fault with
 * its line
 */
#define _POSIX_C_SOURCE 200809L
#include "drivers/tool/load/mtx.h"
#include "drivers/tool/written.h"
#include "test/support/check.h"

#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/boreside-mtx-XXXXXX";
static char path[64];

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		CHECK(0, "cannot write %s", path);
}

/* The reason must name this line of the file. */
static void refused(const char *what, int line, const char *text)
{
	struct bs_csr m;
	struct bs_fail why = { 0 };
	char mark[80];
	int rc;

	put(text);
	rc = bs_mtx_read(&m, path, &why);
	(void)snprintf(mark, sizeof(mark), "%s:%d: ", path, line);
	CHECK(rc == BS_ERR_FORMAT && strstr(why.text, mark) == why.text, "%s refused: %s", what,
	      why.text);
	if (rc == 0)
		bs_csr_close(&m);
}

#define BANNER "%%MatrixMarket matrix coordinate real general\n"

static void faults(void)
{
	refused("an empty file", 1, "");
	refused("no banner", 1, "3 3 1\n1 1 1\n");
	refused("a dense array", 1, "%%MatrixMarket matrix array real general\n1 1\n1\n");
	refused("a pattern", 1, "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n");
	refused("a symmetric one", 1,
		"%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n");
	refused("no sizes", 3, BANNER "% only a comment\n");
	refused("two sizes", 2, BANNER "3 3\n1 1 1\n");
	refused("a negative size", 2, BANNER "-3 3 1\n1 1 1\n");
	refused("no rows", 2, BANNER "0 3 0\n");
	refused("2^32 columns", 2, BANNER "3 4294967296 1\n1 1 1\n");
	refused("sizes beyond 64 bits", 2, BANNER "3 3 99999999999999999999999\n1 1 1\n");
	refused("more entries than bytes", 2, BANNER "3 3 1152921504606846976\n1 1 1\n");
	refused("row 0", 3, BANNER "3 3 1\n0 1 1\n");
	refused("a column out of range", 4, BANNER "3 3 2\n1 1 1\n2 4 1\n");
	refused("NaN", 3, BANNER "3 3 1\n1 1 nan\n");
	refused("infinity", 3, BANNER "3 3 1\n1 1 1e300\n");
	refused("a word for a value", 3, BANNER "3 3 1\n1 1 x\n");
	refused("a value too many", 3, BANNER "3 3 1\n1 1 1 2\n");
	refused("a value too few", 3, BANNER "3 3 1\n1 1\n");
	refused("half a complex value", 3,
		"%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 1 1\n");
	refused("rows out of order", 5, BANNER "3 3 2\n2 1 1\n% between\n1 1 1\n");
	refused("columns out of order", 4, BANNER "3 3 2\n2 2 1\n2 1 1\n");
	refused("a duplicate", 4, BANNER "3 3 2\n2 2 1\n2 2 1\n");
	refused("a truncated file", 4, BANNER "3 3 2\n1 1 1\n");
	refused("an entry too many", 4, BANNER "3 3 1\n1 1 1\n2 2 1\n");
	refused("a fractional row", 3, BANNER "3 3 1\n1.5 1 1\n");
}

static void long_line(void)
{
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", BANNER "3 3 1\n");

	memset(text + n, ' ', 3000);
	(void)snprintf(text + n + 3000, 100, "1 1 1\n");
	refused("a line of 3,000 bytes", 3, text);
}

static void round_trip(bool is_complex)
{
	struct bs_csr m;
	struct bs_csr back;
	struct bs_fail why = { 0 };
	uint64_t seed = 77;
	const uint64_t n = 4000;

	(void)bs_csr_open(&m, n, 2 * n, 2 * n, is_complex, &why);
	for (uint64_t i = 0; i < n; i++) {
		m.start[i + 1] = 2 * (i + 1);
		m.col[2 * i] = (uint32_t)i;
		m.col[2 * i + 1] = (uint32_t)(i + n);
	}
	for (uint64_t i = 0; i < 2 * n * (is_complex ? 2 : 1); i++)
		m.value[i] = (float)((check_uniform(&seed) - 0.5) *
				     pow(10.0, 30.0 * check_uniform(&seed)));
	CHECK(bs_csr_seal(&m, &why) == 0 && bs_mtx_write(path, &m, &why) == 0 &&
		      bs_mtx_read(&back, path, &why) == 0,
	      "written and read %s", why.text);
	CHECK(back.rows == m.rows && back.cols == m.cols && back.entries == m.entries &&
		      back.is_complex == is_complex &&
		      memcmp(back.start, m.start, (n + 1) * 8) == 0 &&
		      memcmp(back.col, m.col, 2 * n * 4) == 0 &&
		      memcmp(back.value, m.value, 2 * n * (is_complex ? 8u : 4u)) == 0,
	      "a %s matrix comes back as it was", is_complex ? "complex" : "real");
	bs_csr_close(&m);
	bs_csr_close(&back);
}

int main(void)
{
	struct bs_csr m;
	struct bs_fail why = { 0 };

	if (mkdtemp(folder) == NULL) {
		CHECK(0, "no folder %s", folder);
		return check_done();
	}
	(void)snprintf(path, sizeof(path), "%s/w.mtx", folder);
	CHECK(bs_mtx_read(&m, path, &why) == BS_ERR_IO, "no file: %s", why.text);
	faults();
	long_line();
	put("%%MatrixMarket MATRIX coordinate integer General\n"
	    "% a comment\n\n2 3 2\n1 3 -4\n2 1 5\n\n");
	CHECK(bs_mtx_read(&m, path, &why) == 0 && m.rows == 2 && m.cols == 3 &&
		      m.value[0] == -4.0f && m.col[0] == 2 && m.value[1] == 5.0f,
	      "comments, blank lines, integers and capitals are read %s", why.text);
	bs_csr_close(&m);
	round_trip(false);
	round_trip(true);
	(void)unlink(path);
	(void)rmdir(folder);
	return check_done();
}
