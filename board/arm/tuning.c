/* board/arm/tuning.c - see tuning.h */
#include "board/arm/tuning.h"

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

		(void)bs_tune_text(words, t->kind, &at->tune);
		if (at->ms[0] > 0.0 && at->ms[1] == 0.0) /* the first decided */
			(void)printf("%-24s   %9.4f %9s  %s\n", "", at->ms[0], "-", words);
		else if (at->ms[0] > 0.0)
			(void)printf("%-24s %c %9.4f %9.4f  %s\n", "", i == t->best ? '*' : ' ',
				     at->ms[0], at->ms[1], words);
		else
			(void)printf("%-24s   %9s %9s  %s: %s\n", "", "-", "-", words, at->fault);
	}
	(void)fflush(stdout);
}
