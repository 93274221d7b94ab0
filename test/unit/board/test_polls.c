/* test/unit/board/test_polls.c - which processors let three threads poll at real-time priorities */
#include "board/service/polls.h"

#include <string.h>

#include "test/support/check.h"

static bool fit(const char *ingest, const char *recon, const char *emit)
{
	const char *const text[BS_POLLS] = { ingest, recon, emit };
	struct bs_cpus may[BS_POLLS];

	memset(may, 0, sizeof(may));
	for (int i = 0; i < BS_POLLS; i++)
		if (bs_cpus_parse(&may[i], text[i], NULL) != 0)
			return false;
	return bs_polls_fit(may);
}

int main(void)
{
	CHECK(fit("0-3", "0-3", "0-3"), "three threads on four processors");
	CHECK(!fit("0-2", "0-2", "0-2"), "on three none is left for the rest");
	CHECK(!fit("0-1", "0-1", "0-1"), "two: one would wait for the whole scan");
	CHECK(fit("0-1", "2-3", "4-5"), "two for each");
	CHECK(!fit("0-1", "2", "3-4"), "recon's team has no place beside it");
	CHECK(!fit("1000", "0-9", "0-9"), "ingest's log cannot be written beside it");
	CHECK(!fit("0-1", "0-1", "2-9"), "two threads that poll on the same two processors");
	CHECK(fit("0-2", "0-2", "2-9"), "on three");
	CHECK(!fit("", "0-9", "0-9"), "nowhere");
	return check_done();
}
