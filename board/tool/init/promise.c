/* board/tool/init/promise.c - see survey.h: what came, beside what the header promises */
#include <string.h>

#include "board/tool/init/choose.h"
#include "core/frame/recon.h"

void bs_survey_promises(const struct bs_survey *s, struct bs_lines *lines)
{
	struct bs_protocol p = { 0 };

	memcpy(p.encoded, s->info.encoded, sizeof(p.encoded));
	bs_lines_about(lines, &p, &s->info, &s->center);
}

bool bs_survey_promised(const struct bs_survey *s, const uint8_t *present)
{
	const uint32_t rows = s->size[0] * s->size[1];
	struct bs_lines lines;

	bs_survey_promises(s, &lines);
	return s->outside == 0 && !s->beyond &&
	       (bs_lines_missing(&lines, present, rows, NULL) == 0 ||
		bs_lines_shutter(&lines, present, rows));
}

/* Tells of lines beyond the header's, which frames that end by the header would lack. */
uint32_t bs_survey_lines(const struct bs_survey *s, const uint8_t *present)
{
	uint32_t count = 0;

	for (uint32_t row = 0; row < s->size[0] * s->size[1]; row++)
		count += present[row] != 0;
	if (s->alike)
		return bs_survey_promised(s, present) ? 0 : count;
	return s->beyond ? s->most_lines : 0;
}

bool bs_survey_on_grid(const struct bs_survey *s)
{
	return (bs_choose_on_header(s) || s->info.trajectory_name[0] == '\0') &&
	       (s->off_lines == 0 ||
		(bs_admit_ramps(&s->info) && s->kinds[BS_KIND_PHASE_CORRECTION] >= 3));
}

uint32_t bs_survey_averages(const struct bs_survey *s, bool path)
{
	const struct bs_limit *limit = &s->info.average;
	const uint32_t n =
		limit->given && limit->max + 1 > s->averages ? limit->max + 1 : s->averages;

	return n > 64 || (path && !s->repeats) ? 1 : n;
}
