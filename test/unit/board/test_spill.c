/* test/unit/board/test_spill.c - pieces come back whole and in order, within the bound */
#define _GNU_SOURCE
#include "board/emit/spill.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/check.h"

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

static void drop(void)
{
	CHECK(bs_spill_drop(&s, &why) == 0, "dropped");
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
	drop();
	CHECK(comes(1, 901) && atomic_load(&s.bytes) == 1803, "then the next");
	CHECK(bs_spill_put_back(&s, piece(0), 900, &why) == 0 && comes(0, 900),
	      "what is put back comes first again");
	drop();
	CHECK(comes(1, 901) && atomic_load(&s.bytes) == 1803, "and then the next");
}

/* As the next process finds it. */
static void restart(void)
{
	struct bs_spill other;
	char path[200];

	CHECK(bs_spill_open(&other, dir, "sink1", 3000, &why) == 0 &&
		      atomic_load(&other.pieces) == 0,
	      "another taker's pieces are not ours");
	bs_spill_close(&other);
	bs_spill_close(&s);
	CHECK(bs_spill_open(&s, dir, "archive", 3000, &why) == 0 && atomic_load(&s.pieces) == 2 &&
		      atomic_load(&s.bytes) == 1803,
	      "a successor finds two");
	CHECK(bs_spill_put(&s, piece(7), 10, &why) == 0 && comes(1, 901),
	      "goes on with the oldest");
	drop();
	(void)snprintf(path, sizeof(path), "%s/archive-%020llu.image", dir, NUMBER(2));
	CHECK(unlink(path) == 0 &&
		      bs_spill_take(&s, out, sizeof(out), &(size_t){ 0 }, &why) == BS_ERR_IO &&
		      strstr(why.text, path) != NULL,
	      "says of one that somebody removed that it is gone: %s", why.text);
	CHECK(comes(7, 10), "and goes on behind it");
	drop();
	CHECK(atomic_load(&s.pieces) == 0 && atomic_load(&s.bytes) == 0 && rmdir(dir) == 0,
	      "and leaves nothing behind");
	bs_spill_close(&s);
	(void)mkdir(dir, 0755);
}

static void path_of(char path[200], unsigned n, const char *ending)
{
	(void)snprintf(path, 200, "%s/a-%020llu.%s", dir, NUMBER(n), ending);
}

/* A piece that can never be taken is set aside and not counted, now and after a restart. */
static void given_up(void)
{
	char path[200];
	char bad[200];
	size_t len;

	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0, "a fresh one");
	CHECK(bs_spill_put(&s, piece(0), 900, &why) == 0 &&
		      bs_spill_put(&s, piece(1), 90, &why) == 0 &&
		      bs_spill_put(&s, piece(2), 80, &why) == 0,
	      "three pieces");
	path_of(path, 0, "image");
	path_of(bad, 0, "bad");
	CHECK(bs_spill_take(&s, out, 100, &len, &why) == BS_ERR_LENGTH &&
		      strstr(why.text, path) != NULL,
	      "longer than expected: %s", why.text);
	CHECK(access(path, F_OK) != 0 && access(bad, F_OK) == 0, "it is set aside, not destroyed");
	CHECK(atomic_load(&s.pieces) == 2 && atomic_load(&s.bytes) == 170,
	      "its bytes are off the count: %llu are left",
	      (unsigned long long)atomic_load(&s.bytes));
	CHECK(comes(1, 90) &&
		      bs_spill_give_up(&s, BS_ERR_FORMAT, "no image", &why) == BS_ERR_FORMAT,
	      "one that is whole and yet no image: %s", why.text);
	CHECK(atomic_load(&s.pieces) == 1 && atomic_load(&s.bytes) == 80, "its bytes, too");
	bs_spill_close(&s);
	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0 && atomic_load(&s.pieces) == 1 &&
		      atomic_load(&s.bytes) == 80,
	      "the next start counts neither again");
	CHECK(comes(2, 80), "the third comes");
	drop();
	bs_spill_close(&s);
	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0 &&
		      bs_spill_put(&s, piece(3), 70, &why) == 0 && comes(3, 70),
	      "a later piece");
	CHECK(bs_spill_give_up(&s, BS_ERR_FORMAT, "no image", &why) == BS_ERR_FORMAT, "given up");
	CHECK(unlink(bad) == 0, "does not write over the first one set aside");
	for (unsigned n = 1; n < 3; n++) {
		path_of(bad, n, "bad");
		CHECK(unlink(bad) == 0, "%s", bad);
	}
	bs_spill_close(&s);
}

/* Somebody clears the folder while more comes: each removed piece is reported once. */
static void removed(void)
{
	char path[200];
	unsigned told = 0;
	size_t len;

	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0, "a fresh one");
	for (unsigned i = 0; i < 4; i++)
		(void)bs_spill_put(&s, piece(i), 900, &why);
	for (unsigned n = 0; n < 3; n++) {
		path_of(path, n, "image");
		(void)unlink(path);
	}
	while (bs_spill_take(&s, out, sizeof(out), &len, &why) == BS_ERR_IO)
		told++;
	CHECK(told == 3 && atomic_load(&s.pieces) == 1 && atomic_load(&s.bytes) == 900 &&
		      comes(3, 900),
	      "three of four removed: told %u times, %llu bytes are left", told,
	      (unsigned long long)atomic_load(&s.bytes));
	drop();
	CHECK(atomic_load(&s.bytes) == 0 && bs_spill_take(&s, out, sizeof(out), &len, &why) == 0,
	      "then nothing");
	bs_spill_close(&s);
	/* removed while no process was there: the missing numbers are not reported */
	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0, "again");
	for (unsigned i = 0; i < 3; i++)
		(void)bs_spill_put(&s, piece(i), 900, &why);
	bs_spill_close(&s);
	path_of(path, 1, "image");
	CHECK(unlink(path) == 0 && bs_spill_open(&s, dir, "a", 10000, &why) == 0 &&
		      atomic_load(&s.pieces) == 2,
	      "one of three is removed between two processes");
	CHECK(comes(0, 900), "the first");
	drop();
	CHECK(comes(2, 900), "and the third, without a word");
	drop();
	bs_spill_close(&s);
}

/* Pieces of a taker that the site no longer has are found and can be reported. */
static void strangers(void)
{
	static const char *const names[] = { "archive", "cfl-1a2b3c4d" };
	static const char *const files[] = { "archive-00000000000000000001.image",
					     "cfl-1a2b3c4d-00000000000000000002.image",
					     "cfl-11111111-00000000000000000003.image",
					     "cfl-11111111-00000000000000000004.image",
					     "cfl-11111111-00000000000000000005.bad",
					     "archive-0003.image",
					     "boreside.lock" };
	char path[200];
	char file[100] = "";

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		FILE *f = fopen(path, "w");

		CHECK(f != NULL && fclose(f) == 0, "%s", files[i]);
	}
	CHECK(bs_spill_strangers(dir, names, 2, file, sizeof(file)) == 2 &&
		      strncmp(file, "cfl-11111111-", 13) == 0,
	      "two are nobody's, as %s", file);
	CHECK(bs_spill_strangers(dir, NULL, 0, file, sizeof(file)) == 4, "four without any taker");
	CHECK(bs_spill_strangers("/nonexistent", names, 2, file, sizeof(file)) == 0, "no folder");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		(void)unlink(path);
	}
}

static void trouble(void)
{
	char path[200];
	FILE *part;

	CHECK(bs_spill_open(&s, "/nonexistent", "a", 1, &why) == BS_ERR_IO, "no folder: %s",
	      why.text);
	bs_spill_close(&s);
	path_of(path, 5, "part");
	part = fopen(path, "w");
	CHECK(part != NULL && fclose(part) == 0 && bs_spill_open(&s, dir, "a", 10000, &why) == 0 &&
		      access(path, F_OK) != 0 && atomic_load(&s.pieces) == 0,
	      "what a process left that died while it wrote is removed");
	CHECK(rmdir(dir) == 0, "nothing else is there");
	CHECK(bs_spill_put(&s, piece(0), 10, &why) == BS_ERR_IO, "a folder that is gone: %s",
	      why.text);
	CHECK(atomic_load(&s.bytes) == 0 && atomic_load(&s.pieces) == 0, "nothing is counted");
	bs_spill_close(&s);
}

/* A number far away (a copied folder, a damaged name): the gap is passed over in one step. */
static void far_away(void)
{
	char path[200];
	char far[200];

	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0 &&
		      bs_spill_put(&s, piece(0), 60, &why) == 0 &&
		      bs_spill_put(&s, piece(1), 50, &why) == 0,
	      "two pieces");
	const uint64_t next = s.next;

	bs_spill_close(&s);
	(void)snprintf(path, sizeof(path), "%s/a-%020llu.image", dir, (unsigned long long)next - 1);
	(void)snprintf(far, sizeof(far), "%s/a-%020llu.image", dir, 1ull << 60);
	CHECK(rename(path, far) == 0, "the second is renamed 2^60");
	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0 && atomic_load(&s.pieces) == 2 &&
		      s.next == (1ull << 60) + 1,
	      "%llu numbers have no piece", (unsigned long long)s.holes);
	CHECK(bs_spill_put(&s, piece(2), 40, &why) == 0, "one is put behind them");
	CHECK(comes(0, 60), "the first");
	drop();
	CHECK(comes(1, 50) && s.holes == 0, "the second, without a look for each number");
	drop();
	CHECK(comes(2, 40), "the third");
	drop();
	bs_spill_close(&s);
	/* all between had no piece, and the one behind them was removed: only that is reported */
	CHECK(bs_spill_open(&s, dir, "a", 10000, &why) == 0 &&
		      bs_spill_put(&s, piece(0), 60, &why) == 0,
	      "one piece");
	(void)snprintf(path, sizeof(path), "%s/a-%020llu.image", dir,
		       (unsigned long long)s.next - 1);
	bs_spill_close(&s);
	CHECK(rename(path, far) == 0 && bs_spill_open(&s, dir, "a", 10000, &why) == 0 &&
		      bs_spill_put(&s, piece(1), 50, &why) == 0 && unlink(far) == 0,
	      "the oldest is removed");
	CHECK(bs_spill_take(&s, out, sizeof(out), &(size_t){ 0 }, &why) == BS_ERR_IO &&
		      strstr(why.text, far) != NULL && comes(1, 50),
	      "it is named: %s", why.text);
	drop();
	bs_spill_close(&s);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	in_order();
	restart();
	given_up();
	removed();
	far_away();
	strangers();
	trouble();
	return check_done();
}
