/* board/tool/offline/answered.c - see answered.h */
#include "board/tool/offline/answered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int bs_answered_open(struct bs_answered *a, const char *path, const struct bs_protocol *p,
		     const struct bs_scan_info *info, struct bs_fail *why)
{
	const uint64_t place = ((uint64_t)p->samples + p->discard) * p->coils * 8;

	if (path == NULL)
		return 0;
	if (p->answers.count == 0)
		return bs_fail(why, BS_ERR_USAGE, "--answers: the site has no answers on '%s'",
			       p->name);
	memset(a, 0, sizeof(*a));
	a->of = (struct bs_answering_of){ &a->state, calloc(BS_ANSWERS_MAX, (size_t)place), place,
					  p, info };
	a->path = path;
	if (a->of.places == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the answers");
	a->to = fopen(path, "we");
	if (a->to != NULL)
		return 0;
	free(a->of.places);
	return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
}

static void print_all(const struct bs_answered *a, const struct bs_answer *made, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bs_answer_print(a->to, &made[i]);
}

void bs_answered_readout(struct bs_answered *a, const struct bs_mrd_acq *head, const float *samples)
{
	struct bs_answer made[BS_ANSWERS_MAX];

	if (a->to != NULL)
		print_all(a, made, bs_answers_make(&a->of, head, ++a->readouts, samples, made));
}

void bs_answered_step(struct bs_answered *a, uint64_t image, const struct bs_step_result *step)
{
	struct bs_answer made[BS_ANSWERS_MAX];

	if (a->to != NULL && step != NULL && !bs_step_bypassed(step->verdict))
		print_all(a, made,
			  bs_answers_step(&a->of, (uint32_t)image, step->number, step->numbers,
					  made));
}

int bs_answered_close(struct bs_answered *a, int rc, struct bs_fail *why)
{
	bool lacks;

	if (a->to == NULL)
		return rc;
	lacks = ferror(a->to) != 0;
	lacks = fclose(a->to) != 0 || lacks;
	a->to = NULL;
	free(a->of.places);
	return rc == 0 && lacks ? bs_fail(why, BS_ERR_IO, "%s: cannot be written", a->path) : rc;
}
