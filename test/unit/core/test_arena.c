/* test/unit/core/test_arena.c - sizes that overflow are refused; a sealed arena gives nothing */
#include "core/memory/arena.h"
#include "test/support/check.h"

int main(void)
{
	struct bs_need need = { 0 };
	struct bs_arena a;
	struct bs_fail why;

	bs_need_add(&need, "grid", 3, 100);
	bs_need_add(&need, "nothing", 0, 100);
	CHECK(need.total_bytes == 384 && need.parts == 1, "3 x 100 bytes need %llu",
	      (unsigned long long)need.total_bytes);
	bs_need_add(&need, "huge", UINT64_MAX / 2, 100);
	CHECK(need.overflow, "count x bytes beyond 64 bits is seen");
	struct bs_need edge = { 0 };

	bs_need_add(&edge, "edge", 1, UINT64_MAX - 3);
	CHECK(edge.overflow, "rounding beyond 64 bits is seen");

	CHECK(bs_arena_open(&a, 384, &why) == 0, "arena of 384 bytes");
	CHECK(bs_arena_take(&a, 100, 64) == a.base, "first take at the base");
	CHECK(bs_arena_take(&a, 100, 64) == a.base + 128, "second take aligned");
	CHECK(bs_arena_take(&a, SIZE_MAX - 64, 64) == NULL, "a take that would wrap is refused");
	CHECK(bs_arena_take(&a, 257, 64) == NULL, "a take beyond the end is refused");
	a.sealed = true;
	CHECK(bs_arena_take(&a, 1, 1) == NULL, "a sealed arena gives nothing");
	bs_arena_close(&a);
	CHECK(bs_arena_open(&a, UINT64_MAX, &why) == BS_ERR_NOMEM, "refused: %s", why.text);
	return check_done();
}
