/* drivers/tool/replay/repeat.c - see repeat.h */
#include "drivers/tool/replay/repeat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* length of a tick of acquisition_time_stamp, by the field's habit */
#define TICK_NS INT64_C(2500000)

/* Returns the first readout at least `after` repetitions behind the one at `from`; else count. */
static uint32_t begin_of(const struct bs_repeat *r, const uint16_t *repetition, uint32_t after)
{
	uint32_t i = r->from;

	while (i < r->count && repetition[i] < (uint32_t)repetition[r->from] + after)
		i++;
	return i;
}

int bs_repeat_find(struct bs_repeat *r, const uint16_t *repetition, uint32_t count, uint32_t wanted,
		   struct bs_fail *why)
{
	uint64_t total;

	memset(r, 0, sizeof(*r));
	r->count = count;
	while (r->from < count && repetition[r->from] == repetition[0])
		r->from++;
	if (r->from == count)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "the recording has one repetition: the second and later ones are "
			       "what comes again");
	for (uint32_t i = 1; i < count; i++)
		if (repetition[i] < repetition[i - 1] || repetition[i] - repetition[i - 1] > 1)
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "readout %u: repetition %u after %u, which do not come one "
				       "after the other",
				       i, repetition[i], repetition[i - 1]);
	r->repetitions = (uint32_t)(repetition[count - 1] - repetition[0]);
	if (wanted < 2 || wanted > (uint32_t)(UINT16_MAX - repetition[0]))
		return bs_fail(why, BS_ERR_USAGE, "%u repetitions: 2 to %u", wanted,
			       UINT16_MAX - repetition[0]);
	total = r->from + (uint64_t)((wanted - 1) / r->repetitions) * (count - r->from) +
		begin_of(r, repetition, (wanted - 1) % r->repetitions) - r->from;
	if (total > UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "%u repetitions have too many readouts", wanted);
	r->total = (uint32_t)total;
	return 0;
}

uint32_t bs_repeat_at(const struct bs_repeat *r, uint32_t n, uint32_t *round)
{
	const uint32_t again = r->count - r->from;

	*round = n < r->count ? 0 : (n - r->from) / again;
	return n - *round * again;
}

void bs_repeat_count(const struct bs_repeat *r, uint32_t n, struct bs_mrd_acq *head)
{
	uint32_t round;
	const uint32_t at = bs_repeat_at(r, n, &round);
	const int64_t later_ns = r->period_ns * round;

	head->idx.repetition = (uint16_t)(head->idx.repetition + round * r->repetitions);
	head->scan_counter += n - at;
	head->acquisition_time_stamp += (uint32_t)(later_ns / TICK_NS);
	if (r->microseconds) /* the counter wraps around, as a counter does */
		head->user_int[0] =
			(int32_t)((uint32_t)head->user_int[0] + (uint32_t)(later_ns / 1000));
	head->flags &= ~(uint64_t)BS_MRD_LAST_IN_MEASUREMENT;
	if (r->last && n + 1 == r->total)
		head->flags |= BS_MRD_LAST_IN_MEASUREMENT;
}

char *bs_repeat_xml(const char *xml, uint32_t wanted)
{
	static const char open[] = "<maximum>";
	const char *element = strstr(xml, "<repetition>");
	const char *end = element != NULL ? strstr(element, "</repetition>") : NULL;
	const char *at = element != NULL ? strstr(element, open) : NULL;
	const size_t size = strlen(xml) + 16;
	char *out = malloc(size);
	int before;

	if (out == NULL)
		return NULL;
	if (end == NULL || at == NULL || at > end) { /* the header says nothing of repetitions */
		memcpy(out, xml, strlen(xml) + 1);
		return out;
	}
	at += sizeof(open) - 1;
	before = (int)(at - xml);
	(void)snprintf(out, size, "%.*s%u%s", before, xml, wanted - 1,
		       at + strspn(at, " \t\r\n0123456789"));
	return out;
}
