/* test/mutate/header.c - see scan.h: the elements in the order of ismrmrd.xsd */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/mutate/scan.h"

static void put(FILE *to, const char *name, const char *value)
{
	if (value[0] != '\0')
		(void)fprintf(to, "<%s>%s</%s>\n", name, value, name);
}

static void put_triple(FILE *to, const char *name, const char value[3][WORD])
{
	static const char *const axis[] = { "x", "y", "z" };

	(void)fprintf(to, "<%s>", name);
	for (int a = 0; a < 3; a++)
		put(to, axis[a], value[a]);
	(void)fprintf(to, "</%s>\n", name);
}

static void put_space(FILE *to, const char *name, const char matrix[3][WORD],
		      const char fov[3][WORD])
{
	if (matrix[0][0] == '\0')
		return;
	(void)fprintf(to, "<%s>", name);
	put_triple(to, "matrixSize", matrix);
	put_triple(to, "fieldOfView_mm", fov);
	(void)fprintf(to, "</%s>\n", name);
}

static void put_limits(FILE *to, const struct header *h)
{
	static const char *const name[LIMITS] = { "kspace_encoding_step_1",
						  "kspace_encoding_step_2",
						  "average",
						  "slice",
						  "contrast",
						  "phase",
						  "repetition",
						  "set",
						  "segment" };

	(void)fprintf(to, "<encodingLimits>");
	for (int i = 0; i < LIMITS && !h->no_limits; i++)
		if (h->limit[i].given)
			(void)fprintf(to,
				      "<%s><minimum>%ld</minimum><maximum>%ld</maximum>"
				      "<center>%ld</center></%s>\n",
				      name[i], h->limit[i].min, h->limit[i].max, h->limit[i].center,
				      name[i]);
	(void)fprintf(to, "</encodingLimits>\n");
}

static void put_encoding(FILE *to, const struct header *h)
{
	(void)fprintf(to, "<encoding>");
	put_space(to, "encodedSpace", h->encoded, h->encoded_fov);
	put_space(to, "reconSpace", h->recon, h->recon_fov);
	put_limits(to, h);
	put(to, "trajectory", h->trajectory);
	(void)fprintf(to, "%s", h->description);
	if (h->accel[0][0] != '\0')
		(void)fprintf(to,
			      "<parallelImaging><accelerationFactor>"
			      "<kspace_encoding_step_1>%s</kspace_encoding_step_1>"
			      "<kspace_encoding_step_2>%s</kspace_encoding_step_2>"
			      "</accelerationFactor>\n",
			      h->accel[0], h->accel[1]);
	if (h->accel[0][0] != '\0') {
		put(to, "calibrationMode", h->calibration);
		(void)fprintf(to, "%s</parallelImaging>\n", h->parallel);
	}
	(void)fprintf(to, "</encoding>\n%s", h->second);
}

char *header_text(const struct header *h)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = h->raw != NULL ? NULL : open_memstream(&text, &len);

	if (to == NULL)
		return h->raw != NULL ? strdup(h->raw) : NULL;
	(void)fprintf(to, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
			  "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n");
	(void)fprintf(to, "%s%s<measurementInformation>", h->subject, h->study);
	put(to, "measurementID", h->measurement);
	put(to, "patientPosition", h->position);
	(void)fprintf(to, "%s</measurementInformation>\n<acquisitionSystemInformation>",
		      h->dependency);
	put(to, "systemVendor", h->vendor);
	put(to, "receiverChannels", h->channels);
	(void)fprintf(to, "%s</acquisitionSystemInformation>\n<experimentalConditions>", h->labels);
	put(to, "H1resonanceFrequency_Hz", h->h1);
	(void)fprintf(to, "</experimentalConditions>\n");
	if (!h->no_encoding)
		put_encoding(to, h);
	(void)fprintf(to, "<sequenceParameters>");
	for (int i = 0; i < 3; i++)
		put(to, "TE", h->te[i]);
	(void)fprintf(to, "%s</sequenceParameters>\n", h->sequence);
	if (h->user[0] != '\0')
		put(to, "userParameters", h->user);
	(void)fprintf(to, "%s</ismrmrdHeader>\n", h->unknown);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
