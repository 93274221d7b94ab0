/* drivers/sink/dicomwords.c - see dicomwords.h */
#include "drivers/sink/dicomwords.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/date.h"
#include "core/text.h"
#include "ipc/sha256.h"

enum as { NOT, TEXT, DATE, TIME, SEX, NUMBER, MEGAHERTZ };

/* One element of the data set. An element of type 2 is written without a value if it is unknown. */
static const struct row {
	const char *name; /* the attribute; NULL: none has the value */
	uint32_t tag;
	char vr[3];
	enum as as;
	uint8_t chars;
	bool always;
} rows[] = {
	{ "mrd_patientName", 0x00100010, "PN", TEXT, 64, true },
	{ "mrd_patientID", 0x00100020, "LO", TEXT, 64, true },
	{ "mrd_patientBirthdate", 0x00100030, "DA", DATE, 8, true },
	{ "mrd_patientGender", 0x00100040, "CS", SEX, 1, true },
	{ "mrd_patientHeight_m", 0x00101020, "DS", NUMBER, 16, false },
	{ "mrd_patientWeight_kg", 0x00101030, "DS", NUMBER, 16, false },
	{ "mrd_studyDate", 0x00080020, "DA", DATE, 8, true },
	{ "mrd_studyTime", 0x00080030, "TM", TIME, 13, true },
	{ "mrd_studyID", 0x00200010, "SH", TEXT, 16, true },
	{ "mrd_accessionNumber", 0x00080050, "SH", TEXT, 16, true },
	{ "mrd_referringPhysicianName", 0x00080090, "PN", TEXT, 64, true },
	{ "mrd_studyDescription", 0x00081030, "LO", TEXT, 64, false },
	{ "mrd_seriesDate", 0x00080021, "DA", DATE, 8, false },
	{ "mrd_seriesTime", 0x00080031, "TM", TIME, 13, false },
	{ "mrd_protocolName", 0x00181030, "LO", TEXT, 64, false },
	{ "mrd_institutionName", 0x00080080, "LO", TEXT, 64, false },
	{ "mrd_stationName", 0x00081010, "SH", TEXT, 16, false },
	{ "mrd_H1resonanceFrequency_Hz", 0x00180084, "DS", MEGAHERTZ, 16, false },
	/* dicomhead.c writes these: only one of the two storage classes has them in this place */
	{ "mrd_patientPosition", 0, "", NOT, 0, false },
	{ "mrd_bodyPartExamined", 0, "", NOT, 0, false },
	{ "mrd_systemVendor", 0, "", NOT, 0, false },
	{ "mrd_systemModel", 0, "", NOT, 0, false },
	{ "mrd_deviceSerialNumber", 0, "", NOT, 0, false },
	{ "mrd_deviceID", 0, "", NOT, 0, false },
	{ "mrd_studyInstanceUID", 0, "", NOT, 0, false },
	{ "mrd_frameOfReferenceUID", 0, "", NOT, 0, false },
	{ "mrd_seriesInstanceUIDRoot", 0, "", NOT, 0, false },
	{ "mrd_initialSeriesNumber", 0, "", NOT, 0, false },
	{ "mrd_measurementID", 0, "", NOT, 0, false },
	{ "mrd_systemFieldStrength_T", 0, "", NOT, 0, false },
	{ "mrd_TR", 0, "", NOT, 0, false },
	{ "mrd_TE", 0, "", NOT, 0, false },
	{ "mrd_TI", 0, "", NOT, 0, false },
	{ "mrd_flipAngle_deg", 0, "", NOT, 0, false },
	{ "mrd_seriesDescription", 0, "", NOT, 0, false },
	{ "mrd_sequenceName", 0, "", NOT, 0, false },
	{ "mrd_sequence_type", 0, "", NOT, 0, false },
	{ "boreside_protocol", 0, "", NOT, 0, false },
	{ "boreside_engine", 0, "", NOT, 0, false },
	{ "boreside_quality", 0, "", NOT, 0, false },
	{ "boreside_budget", 0, "", NOT, 0, false },
	{ "boreside_lambda", 0, "", NOT, 0, false },
	{ "boreside_iterations", 0, "", NOT, 0, false },
	{ "boreside_residual", 0, "", NOT, 0, false },
	{ "boreside_latency_us", 0, "", NOT, 0, false },
	{ "boreside_missing", 0, "", NOT, 0, false },
	{ "boreside_readouts", 0, "", NOT, 0, false },
	{ "boreside_scan", 0, "", NOT, 0, false },
	{ "boreside_slice_thickness", 0, "", NOT, 0, false },
	{ "boreside_venc", 0, "", NOT, 0, false },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= BS_DICOM_ROWS, "a place for each");

/* Copies at most cap bytes with the NUL, and no half of a character. */
static void copy(char *to, size_t cap, const char *from)
{
	const size_t n = bs_text_cut(from, strlen(from), cap - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

void bs_dicom_cut(char to[BS_DICOM_WORD], const char *from, size_t chars)
{
	size_t n = 0;

	while (from[n] != '\0' && (((unsigned char)from[n] & 0xc0) == 0x80 || chars-- > 0))
		n++;
	copy(to, n + 1 < BS_DICOM_WORD ? n + 1 : BS_DICOM_WORD, from);
}

void bs_dicomwords_take(void *arg, const char *name, const char *value, unsigned index)
{
	struct bs_dicomwords *w = arg;

	if (strcmp(name, "boreside_lacks") == 0)
		copy(w->lacks, sizeof(w->lacks), value);
	if (index > w->contrast)
		return;
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			copy(w->value[i], BS_DICOM_WORD, value);
}

const char *bs_dicomwords_value(const struct bs_dicomwords *w, const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return w->value[i];
	return "";
}

static bool number(const char *text, double *v)
{
	return bs_text_number(text, v) && isfinite(*v);
}

double bs_dicomwords_number(const struct bs_dicomwords *w, const char *name, double fallback)
{
	double v;

	return number(bs_dicomwords_value(w, name), &v) ? v : fallback;
}

void bs_dicom_text(FILE *to, unsigned tag, const char *vr, const char *text, size_t chars)
{
	const char *end = text + strlen(text);
	bool any = false;

	while (end > text && end[-1] == ' ')
		end--;
	if (end == text) {
		(void)fprintf(to, "(%04x,%04x) %s (no value available)\n", tag >> 16, tag & 0xffff,
			      vr);
		return;
	}
	(void)fprintf(to, "(%04x,%04x) %s [", tag >> 16, tag & 0xffff, vr);
	for (const char *c = text; c < end; c++) {
		const unsigned char b = (unsigned char)*c;

		if ((b & 0xc0) != 0x80 && chars-- == 0)
			break;
		if (!any && b == ' ')
			continue;
		any = true;
		(void)fputc(b < ' ' || b == 0x7f ? ' ' : b == '\\' ? '/' : b, to);
	}
	(void)fputs("]\n", to);
}

/* Converts MRD's value to DICOM's form; "": the value is not valid. */
static void convert(char out[BS_DICOM_WORD], const struct row *r, const char *value)
{
	double v;

	out[0] = '\0';
	switch (r->as) {
	case TEXT:
		copy(out, BS_DICOM_WORD, value);
		break;
	case DATE:
		(void)bs_date_of(out, value);
		break;
	case TIME:
		(void)bs_time_of(out, value);
		break;
	case SEX:
		if (strlen(value) == 1 && strchr("MFO", value[0]) != NULL)
			copy(out, 2, value);
		break;
	case NUMBER:
		if (number(value, &v))
			(void)snprintf(out, BS_DICOM_WORD, "%.8g", v);
		break;
	case MEGAHERTZ:
		if (number(value, &v) && v > 0.0) /* some headers have MHz */
			(void)snprintf(out, BS_DICOM_WORD, "%.9g", v < 1e4 ? v : v * 1e-6);
		break;
	case NOT:
		break;
	}
}

void bs_dicomwords_put(const struct bs_dicomwords *w, FILE *to)
{
	for (size_t i = 0; i < ROWS; i++) {
		char value[BS_DICOM_WORD] = "";

		if (rows[i].tag == 0)
			continue;
		convert(value, &rows[i], w->value[i]);
		if (value[0] != '\0' || rows[i].always)
			bs_dicom_text(to, rows[i].tag, rows[i].vr, value, rows[i].chars);
	}
}

/* ---- identifiers ---- */

void bs_uid_of(char uid[BS_UID_MAX], const char *words)
{
	char hex[BS_SHA256_HEX];
	char digits[40];
	size_t n = sizeof(digits);
	unsigned __int128 v = 0;

	bs_sha256(hex, words, strlen(words));
	for (int i = 0; i < 32; i++)
		v = v << 4 | (unsigned)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
	v &= ~((unsigned __int128)0xf << 76); /* digit 13 holds the version */
	v |= (unsigned __int128)8 << 76;
	v &= ~((unsigned __int128)3 << 62); /* the two highest bits of digit 17 hold the variant */
	v |= (unsigned __int128)2 << 62;
	digits[--n] = '\0';
	for (; v != 0; v /= 10)
		digits[--n] = (char)('0' + (int)(v % 10));
	(void)snprintf(uid, BS_UID_MAX, "2.25.%s", digits + n);
}

bool bs_uid_good(const char *uid)
{
	const size_t len = strlen(uid);

	if (len == 0 || len >= BS_UID_MAX || uid[strspn(uid, "0123456789.")] != '\0')
		return false;
	for (const char *c = uid;; c += strcspn(c, ".") + 1) {
		const size_t n = strcspn(c, ".");

		if (n == 0 || (n > 1 && c[0] == '0'))
			return false;
		if (c[n] == '\0')
			return true;
	}
}
