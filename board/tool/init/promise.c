/* board/tool/init/promise.c - see survey.h: lines that came, and lines that the header promises */
#include <string.h>

#include "board/tool/init/survey.h"

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

/* Frames that end by the header would lack the lines beyond it. */
uint32_t bs_survey_lines(const struct bs_survey *s, const uint8_t *present)
{
	uint32_t count = 0;

	for (uint32_t row = 0; row < s->size[0] * s->size[1]; row++)
		count += present[row] != 0;
	if (s->alike)
		return bs_survey_promised(s, present) ? 0 : count;
	return s->beyond ? s->most_lines : 0;
}
