/*
 * test/support/recording/multiband.c - multiband IN OUT references|bands N: a multiband recording
 * as of a sender whose header and flags do not say so. Its header loses the multiband element. Its
 * single-band references are repetition 0, without their flag, or left out; its lines of several
 * bands come N times, as the repetitions after that.
 * multiband IN OUT every N: an accelerated one. Of its lines of several bands each N-th comes, and
 * its header says so; all else is as in IN.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/source/recording.h"

static int put_header(struct bs_recording *to, struct bs_recording *from, struct bs_fail *why)
{
	static const char end[] = "</multiband>";
	const char *xml = bs_recording_xml(from);
	const char *first = strstr(xml, "<multiband>");
	const char *last = strstr(xml, end);
	char *without;
	int rc;

	if (first == NULL || last == NULL)
		return bs_fail(why, BS_ERR_XML, "the header has no multiband element");
	without = calloc(strlen(xml) + 1, 1);
	if (without == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the header");
	memcpy(without, xml, (size_t)(first - xml));
	strcat(without, last + sizeof(end) - 1);
	rc = bs_recording_put_xml(to, without, why);
	free(without);
	return rc;
}

/* The header with another acceleration along y. */
static int put_accelerated(struct bs_recording *to, struct bs_recording *from, long every,
			   struct bs_fail *why)
{
	static const char tag[] = "<accelerationFactor><kspace_encoding_step_1>";
	const char *xml = bs_recording_xml(from);
	const char *at = strstr(xml, tag);
	char *text;
	int rc;

	if (at == NULL || (text = calloc(strlen(xml) + 1, 1)) == NULL)
		return bs_fail(why, BS_ERR_XML, "the header has no acceleration");
	memcpy(text, xml, strlen(xml));
	text[at - xml + sizeof(tag) - 1] = (char)('0' + every);
	rc = bs_recording_put_xml(to, text, why);
	free(text);
	return rc;
}

static int put_every(struct bs_recording *to, struct bs_recording *from, long every,
		     struct bs_fail *why)
{
	struct bs_recorded a;
	int rc = put_accelerated(to, from, every, why);

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(from); i++) {
		rc = bs_recording_read(from, i, &a, why);
		if (rc != 0 || ((a.head.flags & BS_MRD_IS_CALIBRATION) == 0 &&
				a.head.idx.kspace_encode_step_1 % every != 0))
			continue;
		rc = bs_recording_append(to, &a.head, a.traj, a.data, why);
	}
	return rc;
}

/* The references, or the lines of several bands, as this repetition; last: the scan's. */
static int put_lines(struct bs_recording *to, struct bs_recording *from, bool references,
		     uint16_t repetition, bool last, struct bs_fail *why)
{
	struct bs_recorded a;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(from); i++) {
		rc = bs_recording_read(from, i, &a, why);
		if (rc != 0 || references != ((a.head.flags & BS_MRD_IS_CALIBRATION) != 0))
			continue;
		a.head.flags &= ~BS_MRD_IS_CALIBRATION;
		if (!last)
			a.head.flags &= ~BS_MRD_LAST_IN_MEASUREMENT;
		a.head.idx.repetition = repetition;
		rc = bs_recording_append(to, &a.head, a.traj, a.data, why);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct bs_recording *from = NULL;
	struct bs_recording *to = NULL;
	struct bs_fail why = { 0 };
	const bool references = argc == 5 && strcmp(argv[3], "references") == 0;
	const bool every = argc == 5 && strcmp(argv[3], "every") == 0;
	const long times = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
	int rc = times > 0 ? bs_recording_open(&from, argv[1], &why)
			   : bs_fail(&why, BS_ERR_USAGE, "IN OUT references|bands|every N");

	if (rc == 0)
		rc = bs_recording_create(&to, argv[2], &why);
	if (rc == 0)
		rc = every ? put_every(to, from, times, &why) : put_header(to, from, &why);
	if (rc == 0 && references)
		rc = put_lines(to, from, true, 0, false, &why);
	for (long n = 0; rc == 0 && n < times && !every; n++)
		rc = put_lines(to, from, false, (uint16_t)(n + references), n + 1 == times, &why);
	if (to != NULL && rc == 0)
		rc = bs_recording_close(to, &why);
	if (from != NULL)
		(void)bs_recording_close(from, NULL);
	if (rc != 0)
		(void)fprintf(stderr, "multiband: %s\n", why.text);
	return rc == 0 ? 0 : 1;
}
