/* board/tool/command/obeying.c - see obeying.h */
#include "board/tool/command/obeying.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/chart.h"
#include "ipc/wire/xml.h"

#define RADIUS_MM 80.0 /* of a head: where a rotation is read as a distance */
#define PICTURE   16384u

int bs_obeying_read(struct bs_obeying *b, struct bs_fail *why)
{
	const char *at = b->latency != NULL ? b->latency : "0";
	char *end;

	do {
		if (b->count == BS_OBEYING_MOST)
			return bs_fail(why, BS_ERR_USAGE, "--latency: more than %u",
				       BS_OBEYING_MOST);
		b->ms[b->count] = strtod(at, &end);
		if (end == at || (*end != ',' && *end != '\0') ||
		    !(b->ms[b->count] >= 0.0 && b->ms[b->count] <= 1e6))
			return bs_fail(why, BS_ERR_USAGE, "--latency %s: ms from 0 on, with ','",
				       b->latency);
		b->count++;
		at = end + 1;
	} while (*end == ',');
	return 0;
}

int bs_obeying_open(struct bs_obeying *b, struct bs_replay *r, struct bs_replay_options *o,
		    struct bs_fail *why)
{
	struct bs_scan_info *info = malloc(sizeof(*info));
	int rc = info != NULL ? bs_replay_ask(r, why) : bs_fail(why, BS_ERR_NOMEM, "no memory");

	if (rc == 0)
		rc = bs_mrdxml_read(info, bs_replay_xml(r), strlen(bs_replay_xml(r)), why);
	if (rc == 0)
		rc = bs_obey_open(&b->scanner, info, bs_replay_count(r), &b->o, why);
	free(info);
	o->shape = bs_obey_shape;
	o->shape_arg = b->scanner;
	o->answered = bs_obey_heard;
	o->answered_arg = b->scanner;
	return rc;
}

void bs_obeying_begin(struct bs_obeying *b, uint32_t n)
{
	bs_obey_begin(b->scanner, llrint(b->ms[n] * 1e6));
}

void bs_obeying_end(struct bs_obeying *b, uint32_t n)
{
	const struct bs_obeyed e = bs_obey_error(b->scanner);

	b->off_mm[n] = hypot(e.mm, e.degrees / 57.29577951308232 * RADIUS_MM);
	(void)printf("  obeyed %u answers, each %g ms late: the pose was off by %.3f mm and %.3f "
		     "degrees, root mean square\n",
		     e.answers, b->ms[n], e.mm, e.degrees);
	(void)fflush(stdout);
}

/* The picture's x is logarithmic: what is below 1 ms stands at 1. */
static int draw(const struct bs_obeying *b, struct bs_fail *why)
{
	static char svg[PICTURE];
	struct bs_text t = { svg, sizeof(svg), 0, false };
	struct bs_chart c = { .t = &t, .upper = 60, .lower = 340, .label = bs_chart_time };
	double x[BS_OBEYING_MOST];
	FILE *to;

	for (uint32_t i = 0; i < b->count; i++) {
		x[i] = fmax(b->ms[i], 1.0);
		c.last = fmax(c.last, log10(x[i]));
		c.top = fmax(c.top, 1.1 * b->off_mm[i]);
	}
	c.last = fmax(c.last, 1.0);
	bs_chart_begin(&t, 400);
	bs_chart_words(&t, 40, 30, 16, "",
		       "How far off a scanner is that obeys: a head that moves by %g mm and %g "
		       "degrees",
		       b->o.motion[0], b->o.motion[1]);
	bs_chart_axes(&c, "latency that is added to each answer", "mm, 80 mm from the center");
	bs_chart_curve(&c, x, b->off_mm, b->count);
	bs_chart_end(&t);
	to = fopen(b->picture, "we");
	if (to == NULL || fwrite(svg, 1, t.len, to) != t.len || fclose(to) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", b->picture, strerror(errno));
	return 0;
}

int bs_obeying_close(struct bs_obeying *b, struct bs_fail *why)
{
	const int rc = b->picture != NULL && b->scanner != NULL ? draw(b, why) : 0;

	bs_obey_close(b->scanner);
	b->scanner = NULL;
	return rc;
}
