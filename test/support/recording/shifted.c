/*
 * test/support/recording/shifted.c - shifted IN OUT SLICE MM REPETITION: a recording whose slice
 * lies so many mm further along slice_dir, from a repetition on
 */
#include <stdio.h>
#include <stdlib.h>

#include "drivers/tool/load/recording.h"

static int put_lines(struct bs_recording *to, struct bs_recording *from, char **argv,
		     struct bs_fail *why)
{
	const long slice = strtol(argv[3], NULL, 10);
	const float mm = strtof(argv[4], NULL);
	const long repetition = strtol(argv[5], NULL, 10);
	struct bs_recorded a;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(from); i++) {
		rc = bs_recording_read(from, i, &a, why);
		if (rc != 0)
			break;
		for (int d = 0;
		     d < 3 && a.head.idx.slice == slice && a.head.idx.repetition >= repetition; d++)
			a.head.position[d] += mm * a.head.slice_dir[d];
		rc = bs_recording_append(to, &a.head, a.traj, a.data, why);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct bs_recording *from = NULL;
	struct bs_recording *to = NULL;
	struct bs_fail why = { 0 };
	int rc = argc == 6 ? bs_recording_open(&from, argv[1], &why)
			   : bs_fail(&why, BS_ERR_USAGE, "IN OUT SLICE MM REPETITION");

	if (rc == 0)
		rc = bs_recording_create(&to, argv[2], &why);
	if (rc == 0)
		rc = bs_recording_put_xml(to, bs_recording_xml(from), &why);
	if (rc == 0)
		rc = put_lines(to, from, argv, &why);
	if (to != NULL && rc == 0)
		rc = bs_recording_close(to, &why);
	if (from != NULL)
		(void)bs_recording_close(from, NULL);
	if (rc != 0)
		(void)fprintf(stderr, "shifted: %s\n", why.text);
	return rc == 0 ? 0 : 1;
}
