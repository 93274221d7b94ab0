/* core/frame/kind.c - see kind.h */
#include "core/frame/kind.h"

#include "core/text.h"

static const char *const names[BS_KINDS] = {
	"imaging",          "noise",    "calibration", "navigation",
	"phase correction", "feedback", "dummy",       "other"
};

const char *bs_kind_name(enum bs_kind kind)
{
	return (unsigned)kind < BS_KINDS ? names[kind] : "?";
}

uint64_t bs_kinds_sum(const struct bs_kinds *k)
{
	uint64_t sum = 0;

	for (int i = 0; i < BS_KINDS; i++)
		sum += k->used[i] + k->unused[i];
	return sum;
}

const char *bs_kinds_words(char *out, size_t cap, const struct bs_kinds *k)
{
	struct bs_text t = { out, cap, 0, cap == 0 };
	const uint64_t sum = bs_kinds_sum(k);
	uint64_t unused = 0;
	int listed = 0;

	if (cap > 0)
		out[0] = '\0';
	for (int i = 0; i < BS_KINDS; i++) {
		const uint64_t n = k->unused[i];

		if (n == 0)
			continue;
		bs_text_put(&t, listed++ > 0 ? ", %llu" : "%llu", (unsigned long long)n);
		if (unused == 0)
			bs_text_put(&t, " of %llu readouts", (unsigned long long)sum);
		bs_text_put(&t, " %s %s", n == 1 ? "is" : "are", names[i]);
		unused += n;
	}
	if (listed > 0)
		bs_text_put(&t, "%s and this protocol does not use %s", listed > 1 ? "," : "",
			    unused == 1 ? "it" : "them");
	return out;
}
