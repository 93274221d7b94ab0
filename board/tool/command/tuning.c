/* board/tool/command/tuning.c - see tuning.h */
#include "board/tool/command/tuning.h"

#include <stdio.h>

void bs_tuning_print(const struct bs_tuning *t, const char *name, const char *first,
		     const char *second)
{
	const struct bs_tune_trial *best = &t->trial[t->best];
	char words[BS_TUNE_TEXT];

	(void)printf(
		"%-24s %s: %s %.4f ms, %s %.4f ms with %s (without choices %.4f, %.4f); %s%s\n",
		name, t->kind->name, first, best->ms[0], second, best->ms[1],
		bs_tune_text(words, t->kind, &best->tune), t->trial[0].ms[0], t->trial[0].ms[1],
		t->from_disk ? "from the cache" : "measured now",
		t->cut ? ", not all variants in the time given" : "");
	for (uint32_t i = 0; i < t->trials; i++) {
		const struct bs_tune_trial *at = &t->trial[i];
		char ms[2][24] = { "-", "-" };

		for (int d = 0; d < 2; d++)
			if (at->ms[d] > 0.0)
				(void)snprintf(ms[d], sizeof(ms[d]), "%.4f", at->ms[d]);
		(void)printf("%-24s %c %9s %9s  %s%s%s\n", "", i == t->best ? '*' : ' ', ms[0],
			     ms[1], bs_tune_text(words, t->kind, &at->tune),
			     at->fault[0] != '\0' ? ": " : "", at->fault);
	}
	(void)fflush(stdout);
}
