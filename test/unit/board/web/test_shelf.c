/* test/unit/board/web/test_shelf.c - the newest stay, within bounds; who reads holds nothing */
#include "board/web/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "test/support/check.h"

static int put(struct bs_shelf *s, unsigned char fill, size_t len)
{
	unsigned char *data = malloc(len > 0 ? len : 1);

	if (data == NULL)
		abort();
	memset(data, fill, len);
	return bs_shelf_put(s, data, len);
}

int main(void)
{
	struct bs_shelf s;
	unsigned char piece[64];
	uint64_t number = 0;
	int64_t at_ns;
	size_t len = 0;

	bs_shelf_open(&s, 4, 1000);
	CHECK(!bs_shelf_newest(&s, &number, &len, &at_ns) && !bs_shelf_find(&s, 0, &len) &&
		      bs_shelf_read(&s, 1, 0, piece, 4) == -1,
	      "an empty one has nothing");
	for (int i = 1; i <= 6; i++)
		CHECK(put(&s, (unsigned char)i, 100) == 0, "item %d", i);
	CHECK(bs_shelf_newest(&s, &number, &len, &at_ns) && number == 6 && len == 100,
	      "the newest is the sixth");
	CHECK(!bs_shelf_find(&s, 2, &len) && bs_shelf_find(&s, 3, &len) && s.bytes == 400,
	      "four of them are there");
	CHECK(bs_shelf_read(&s, 5, 90, piece, sizeof(piece)) == 10 && piece[0] == 5 &&
		      piece[9] == 5 && bs_shelf_read(&s, 5, 100, piece, 1) == 0 &&
		      bs_shelf_read(&s, 5, 101, piece, 1) == -1,
	      "a piece ends where its item ends");
	CHECK(put(&s, 7, 750) == 0 && bs_shelf_find(&s, 5, &len) && bs_shelf_find(&s, 6, &len) &&
		      !bs_shelf_find(&s, 4, &len) && s.bytes == 950,
	      "a large one takes the place of the oldest, as many as it needs");
	CHECK(bs_shelf_read(&s, 4, 0, piece, 1) == -1, "who was reading one of these is told");
	CHECK(put(&s, 8, 1000) == 0 && !bs_shelf_find(&s, 7, &len) && s.bytes == 1000,
	      "one as large as all is alone");
	CHECK(put(&s, 9, 1001) == BS_ERR_SIZE && bs_shelf_find(&s, 8, &len) && s.bytes == 1000,
	      "one that is larger is refused, and changes nothing");
	CHECK(put(&s, 10, 0) == 0 && bs_shelf_read(&s, 9, 0, piece, 1) == 0, "an empty one");
	bs_shelf_close(&s);
	return check_done();
}
