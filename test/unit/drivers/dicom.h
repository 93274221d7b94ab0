/*
 * test/unit/drivers/dicom.h - images as DICOM files in a folder of the test's own, read back by
 * dcmdump
 */
#ifndef BS_TEST_DRIVERS_DICOM_H
#define BS_TEST_DRIVERS_DICOM_H

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/frame/recon.h"
#include "core/text.h"
#include "drivers/sink/sink.h"
#include "drivers/file/program.h"
#include "drivers/sink/dicomwords.h"
#include "test/support/check.h"
#define FOLDER "/tmp/boreside test-XXXXXX" /* a blank, as a site's folder may have */
#include "test/support/folder.h"

#define NX 7u
#define NY 6u
#define NZ 3u
#define N  (NX * NY * NZ)

static float pixels[2 * N];
static char words[4096] = "";

/* "name=value" each; a value may be several, with '|' between. */
static void make_words(char out[4096], const char *const said[], size_t n)
{
	struct bs_text t = { out, 4096, 0, false };

	bs_text_put(&t, "<ismrmrdMeta>");
	for (size_t i = 0; i < n; i++) {
		const char *value = strchr(said[i], '=') + 1;

		bs_text_put(&t, "<meta><name>%.*s</name>", (int)(value - 1 - said[i]), said[i]);
		for (size_t len = strcspn(value, "|");; len = strcspn(value, "|")) {
			bs_text_put(&t, "<value>%.*s</value>", (int)len, value);
			if (value[len] == '\0')
				break;
			value += len + 1;
		}
		bs_text_put(&t, "</meta>");
	}
	bs_text_put(&t, "</ismrmrdMeta>");
}

static struct bs_mrd_image head(uint16_t nz)
{
	static const float read[3] = { 0.36f, -0.48f, 0.8f };
	static const float phase[3] = { -0.48f, 0.64f, 0.6f };
	static const float slice[3] = { -0.8f, -0.6f, 0.0f };
	struct bs_mrd_image h;

	memset(&h, 0, sizeof(h));
	h.version = 1;
	h.data_type = BS_MRD_FLOAT;
	h.measurement_uid = 0xabcd;
	h.matrix_size[0] = NX;
	h.matrix_size[1] = NY;
	h.matrix_size[2] = nz;
	h.field_of_view[0] = 17.5f;
	h.field_of_view[1] = 18.0f;
	h.field_of_view[2] = 4.5f * (float)nz;
	h.channels = 1;
	h.position[0] = 12.5f;
	h.position[1] = -30.0f;
	h.position[2] = 107.25f;
	for (int d = 0; d < 3; d++) {
		h.read_dir[d] = read[d];
		h.phase_dir[d] = phase[d];
		h.slice_dir[d] = slice[d];
	}
	h.contrast = 1;
	h.image_index = 3;
	h.image_series_index = 1;
	return h;
}

/* What the command says, at most cap - 1 bytes of it; its exit status, or -1. */
static int run(char *said, size_t cap, const char *format, const char *path)
{
	char command[600];
	size_t n;
	FILE *p;

	(void)snprintf(command, sizeof(command), format, path);
	p = popen(command, "r");
	if (p == NULL)
		return -1;
	n = fread(said, 1, cap - 1, p);
	said[n] = '\0';
	while (fread(command, 1, sizeof(command), p) > 0)
		;
	n = (size_t)pclose(p);
	return WIFEXITED((int)n) ? WEXITSTATUS((int)n) : -1;
}

/* The value of an element as dcmdump prints it, from number which on; "" where it is not there. */
static const char *element(const char *path, const char *tag, int which)
{
	static char value[4][600];
	static int turn;
	char said[8192];
	char command[64];
	char *at = said;
	char *end;

	turn = (turn + 1) % 4;
	value[turn][0] = '\0';
	(void)snprintf(command, sizeof(command), "dcmdump -q +L +P %s '%%s' 2>&1", tag);
	(void)run(said, sizeof(said), command, path);
	for (; which > 0 && at != NULL; which--) {
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	at = at != NULL ? strstr(at, ") ") : NULL;
	end = at != NULL ? strchr(at, '\n') : NULL;
	if (end == NULL)
		return "";
	*end = '\0';
	at += 5;                /* ") VR " */
	end = strrchr(at, '#'); /* what dcmdump adds */
	while (end != NULL && end > at &&
	       (at[0] == '[' ? *end != ']' : end[-1] == ' ' || *end == '#'))
		end--;
	if (end != NULL)
		*end = '\0';
	(void)snprintf(value[turn], sizeof(value[turn]), "%s", at + (at[0] == '['));
	return value[turn];
}

static inline void says(const char *path, const char *tag, int which, const char *want)
{
	const char *is = element(path, tag, which);

	CHECK(strcmp(is, want) == 0, "%s: (%s) is '%s', wanted '%s'", strrchr(path, '/') + 1, tag,
	      is, want);
}

static int put_values(const char *name, const struct bs_mrd_image *h, const char *attributes,
		      const float *values, struct bs_fail *why)
{
	void *self = NULL;
	int rc = bs_sink_open(&bs_sink_dicom, &self, in_dir(name), why);

	if (rc == 0) {
		rc = bs_sink_put(&bs_sink_dicom, self, h, attributes, values, why);
		(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	}
	return rc;
}

static int put(const char *name, const struct bs_mrd_image *h, const char *attributes,
	       struct bs_fail *why)
{
	return put_values(name, h, attributes, pixels, why);
}

static bool there(const char *tool)
{
	return bs_program_there(tool, "", NULL) == 0;
}

static inline void validate(const char *path)
{
	static const struct {
		const char *tool, *command, *wrong;
	} all[] = {
		{ "dcmftest", "dcmftest '%s' 2>&1", "no:" },
		{ "dciodvfy", "dciodvfy '%s' 2>&1", "Error" },
		{ "gdcminfo", "gdcminfo '%s' 2>&1", "rror" },
	};
	static char said[65536];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int rc;

		if (!there(all[i].tool)) {
			printf("skip %s of %s: not installed\n", all[i].tool,
			       strrchr(path, '/') + 1);
			continue;
		}
		rc = run(said, sizeof(said), all[i].command, path);
		CHECK((rc == 0 || i == 1) && strstr(said, all[i].wrong) == NULL && said[0] != '\0',
		      "%s of %s: %d%s", all[i].tool, strrchr(path, '/') + 1, rc,
		      strstr(said, all[i].wrong) != NULL ? strstr(said, all[i].wrong) : "");
	}
}

/* How far the stored numbers, rescaled, are from these values, in steps. */
static inline double off_by(const char *path, const float *values, uint32_t n, bool with_sign)
{
	const double slope = strtod(element(path, "0028,1053", 0), NULL);
	const double intercept = strtod(element(path, "0028,1052", 0), NULL);
	char command[600];
	char said[64];
	uint16_t stored[N] = { 0 };
	double worst = 0.0;
	FILE *raw;

	(void)snprintf(command, sizeof(command),
		       "rm -rf '%s/raw' && mkdir '%s/raw' && dcmdump -q +W '%s/raw' '%%s' "
		       ">/dev/null 2>&1; cat '%s/raw/'*.raw >'%s/pixels'",
		       dir, dir, dir, dir, dir);
	(void)run(said, sizeof(said), command, path);
	raw = fopen(in_dir("pixels"), "rb");
	if (raw == NULL || fread(stored, sizeof(stored[0]), N, raw) != n)
		worst = 1e9;
	if (raw != NULL)
		(void)fclose(raw);
	for (uint32_t i = 0; i < n; i++) {
		const double s = with_sign ? (int16_t)stored[i] : stored[i];

		worst = fmax(worst, fabs(intercept + slope * s - (double)values[i]) / slope);
	}
	return worst;
}

/* False: there is nothing to test with. */
static bool dicom_open(void)
{
	uint64_t seed = 5;

	for (size_t i = 0; i < 2 * N; i++)
		pixels[i] = (float)check_uniform(&seed);
	return there("dump2dcm") && there("dcmdump") && there("storescu");
}

#endif
