/* test/unit/core/test_cpus.c - lists of processors, right and wrong */
#include "core/thread/cpus.h"

#include "test/support/check.h"

static struct bs_cpus set;

static void good(const char *text, uint32_t count, uint32_t in, uint32_t out)
{
	struct bs_fail why = { 0 };

	CHECK(bs_cpus_parse(&set, text, &why) == 0 && set.count == count && bs_cpus_has(&set, in) &&
		      !bs_cpus_has(&set, out),
	      "\"%s\": %u processors, %u among them, %u not %s", text, set.count, in, out,
	      why.text);
}

static void bad(const char *text)
{
	struct bs_fail why = { 0 };

	CHECK(bs_cpus_parse(&set, text, &why) == BS_ERR_CONFIG, "refused: %s", why.text);
}

int main(void)
{
	static const char *const wrong[] = { ",",    "0,",     "0,,1",  "-3",
					     "3-",   "5-2",    "0 - 3", "a",
					     "1024", "0-1024", "0x1",   " 1",
					     "1;2",  "1-2-",   "1-2-3", "99999999999999999999" };

	CHECK(bs_cpus_parse(&set, "", NULL) == 0 && set.count == 0, "\"\": anywhere");
	good("0", 1, 0, 1);
	good("0-3,6", 5, 6, 5);
	good("63-64", 2, 64, 65);
	good("2,2,2-3", 2, 3, 1);
	good("1023", 1, 1023, 1024);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		bad(wrong[i]);
	return check_done();
}
