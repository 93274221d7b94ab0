/* test/unit/test_spill.c - pieces come back in order and whole, within the bound, over a restart */
#define _GNU_SOURCE
#include "board/spill.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/check.h"

#define NUMBER(n) ((unsigned long long)(BS_SPILL_FIRST + (n)))

static char dir[] = "/tmp/boreside-spill-XXXXXX";
static struct bs_spill s;
static struct bs_fail why;
static unsigned char in[1000], out[1000];

static const unsigned char *piece(unsigned seed)
{
	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(seed * 31 + i);
	return in;
}

static bool comes(unsigned seed, size_t size)
{
	size_t len = 0;

	return bs_spill_take(&s, out, sizeof(out), &len, &why) == 1 && len == size &&
	       memcmp(out, piece(seed), size) == 0;
}

static void in_order(void)
{
	bool good = true;

	CHECK(bs_spill_open(&s, dir, "archive", 3000, &why) == 0, "an empty folder");
	CHECK(bs_spill_take(&s, out, sizeof(out), &(size_t){ 0 }, &why) == 0, "nothing in it");
	for (unsigned i = 0; i < 3; i++)
		good = good && bs_spill_put(&s, piece(i), 900 + i, &why) == 0;
	CHECK(good && atomic_load(&s.pieces) == 3 && atomic_load(&s.bytes) == 2703,
	      "three pieces, 2,703 bytes");
	CHECK(bs_spill_put(&s, piece(3), 298, &why) == BS_ERR_NOMEM, "beyond the bound: %s",
	      why.text);
	CHECK(bs_spill_put(&s, piece(3), SIZE_MAX, &why) == BS_ERR_NOMEM, "far beyond it: %s",
	      why.text);
	CHECK(comes(0, 900) && comes(0, 900), "the oldest comes first, until it is dropped");
	bs_spill_drop(&s);
	CHECK(comes(1, 901) && atomic_load(&s.bytes) == 1803, "then the next");
	CHECK(bs_spill_put_back(&s, piece(0), 900, &why) == 0 && comes(0, 900),
	      "what is put back comes first again");
	bs_spill_drop(&s);
	CHECK(comes(1, 901) && atomic_load(&s.bytes) == 1803, "and then the next");
}

/* As a successor finds it. */
static void restart(void)
{
	struct bs_spill other;
	char path[200];

	CHECK(bs_spill_open(&other, dir, "sink1", 3000, &why) == 0 &&
		      atomic_load(&other.pieces) == 0,
	      "another consumer's pieces are not ours");
	CHECK(bs_spill_open(&s, dir, "archive", 3000, &why) == 0 && atomic_load(&s.pieces) == 2 &&
		      atomic_load(&s.bytes) == 1803,
	      "a successor finds two");
	CHECK(bs_spill_put(&s, piece(7), 10, &why) == 0 && comes(1, 901),
	      "goes on with the oldest");
	bs_spill_drop(&s);
	(void)snprintf(path, sizeof(path), "%s/archive-%020llu.image", dir, NUMBER(2));
	CHECK(unlink(path) == 0 && comes(7, 10), "passes over one that somebody removed");
	bs_spill_drop(&s);
	CHECK(access(path, F_OK) != 0 && rmdir(dir) == 0, "and leaves nothing behind");
	(void)mkdir(dir, 0755);
}

static void trouble(void)
{
	size_t len;
	char path[200];

	CHECK(bs_spill_open(&s, "/nonexistent", "a", 1, &why) == BS_ERR_IO, "no folder: %s",
	      why.text);
	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0, "a fresh one");
	CHECK(bs_spill_put(&s, piece(0), 900, &why) == 0, "a piece");
	CHECK(bs_spill_take(&s, out, 100, &len, &why) == BS_ERR_LENGTH, "longer than expected: %s",
	      why.text);
	CHECK(bs_spill_take(&s, out, sizeof(out), &len, &why) == 0, "it is given up");
	(void)snprintf(path, sizeof(path), "%s/a-%020llu.image", dir, NUMBER(0));
	CHECK(access(path, F_OK) == 0 && unlink(path) == 0, "but not destroyed");
	CHECK(bs_spill_put(&s, piece(1), 900, &why) == 0, "a piece");
	(void)snprintf(path, sizeof(path), "%s/a-%020llu.image", dir, NUMBER(1));
	(void)unlink(path);
	CHECK(bs_spill_take(&s, out, sizeof(out), &len, &why) == BS_ERR_IO &&
		      atomic_load(&s.bytes) == 0,
	      "a folder that was emptied: %s", why.text);
	(void)rmdir(dir);
	CHECK(bs_spill_put(&s, piece(0), 10, &why) == BS_ERR_IO, "a folder that is gone: %s",
	      why.text);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	in_order();
	restart();
	trouble();
	return check_done();
}
