/* drivers/sink/dicomhead.c - see dicomhead.h */
#include "drivers/sink/dicomhead.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/frame/recon.h"
#include "core/version.h"

#define MR_IMAGE    "1.2.840.10008.5.1.4.1.1.4"
#define MR_ENHANCED "1.2.840.10008.5.1.4.1.1.4.1"
#define ITEM        "(fffe,e000) na\n"
#define ITEM_END    "(fffe,e00d) na\n"
#define SQ_END      "(fffe,e0dd) na\n"

void bs_dicom_decimal(char out[BS_DICOM_DECIMAL], double v)
{
	char text[32];
	int precision = 12;

	do
		(void)snprintf(text, sizeof(text), "%.*g", precision--, v + 0.0);
	while (strlen(text) >= BS_DICOM_DECIMAL);
	memcpy(out, text, strlen(text) + 1);
}

/* ---- identifiers ---- */

static const char *said(const struct bs_dicomhead *d, const char *name)
{
	return bs_dicomwords_value(d->words, name);
}

/* Kinds of images; each kind of a scan has its own series. */
enum kind { SIGNAL, PHASE, VELOCITY };

static enum kind kind_of(const struct bs_dicomhead *d)
{
	if (d->reach <= 0.0)
		return SIGNAL;
	return (d->image->image_series_index & BS_VELOCITY_SERIES) != 0 ? VELOCITY : PHASE;
}

/*
 * An identifier depends on the pixels, their place, the scan and the parameters, but not on times,
 * quality or machine: the same image has the same identifier whoever makes it and when.
 */
void bs_dicomhead_identify(struct bs_dicomhead *d, const char *digest)
{
	const struct bs_mrd_image h = *d->image;
	char scan[512];
	char words[1024];

	(void)snprintf(scan, sizeof(scan), "%s|%s|%u|%s%s", said(d, "mrd_studyInstanceUID"),
		       said(d, "mrd_measurementID"), h.measurement_uid,
		       said(d, "boreside_protocol"), said(d, "boreside_scan"));
	if (bs_uid_good(said(d, "mrd_studyInstanceUID"))) {
		(void)snprintf(d->study, sizeof(d->study), "%s", said(d, "mrd_studyInstanceUID"));
	} else {
		(void)snprintf(words, sizeof(words), "boreside study|%s|%s|%s|%s",
			       said(d, "mrd_patientID"), said(d, "mrd_studyID"),
			       said(d, "mrd_studyDate"), scan);
		bs_uid_of(d->study, words);
	}
	if (bs_uid_good(said(d, "mrd_frameOfReferenceUID"))) {
		(void)snprintf(d->frame, sizeof(d->frame), "%s",
			       said(d, "mrd_frameOfReferenceUID"));
	} else {
		(void)snprintf(words, sizeof(words), "boreside frame of reference|%s", d->study);
		bs_uid_of(d->frame, words);
	}
	(void)snprintf(words, sizeof(words), "boreside series|%s|%s|%s|%u", d->study, scan,
		       said(d, "mrd_seriesInstanceUIDRoot"),
		       (h.image_series_index & BS_PREVIEW_SERIES) | (unsigned)kind_of(d));
	bs_uid_of(d->series, words);
	(void)snprintf(words, sizeof(words),
		       "boreside instance|%s|%u|%u %u %u %u %u %u|%s|%.9g %.9g %.9g|%s", d->series,
		       h.image_index, h.average, h.slice, h.contrast, h.phase, h.repetition, h.set,
		       said(d, "boreside_lambda"), d->place->first[0], d->place->first[1],
		       d->place->first[2], digest);
	bs_uid_of(d->instance, words);
}

/* ---- elements ---- */

static void text(FILE *to, unsigned tag, const char *vr, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void text(FILE *to, unsigned tag, const char *vr, const char *format, ...)
{
	va_list args;

	(void)fprintf(to, "(%04x,%04x) %s [", tag >> 16, tag & 0xffff, vr);
	va_start(args, format);
	(void)vfprintf(to, format, args);
	va_end(args);
	(void)fputs("]\n", to);
}

/* Writes an element of type US, UL, FD or SQ, whose value has no brackets. */
static void plain(FILE *to, unsigned tag, const char *vr, const char *value)
{
	(void)fprintf(to, "(%04x,%04x) %s %s\n", tag >> 16, tag & 0xffff, vr, value);
}

static void whole(FILE *to, unsigned tag, const char *vr, int value)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%d", value);
	plain(to, tag, vr, digits);
}

static void decimals(FILE *to, unsigned tag, const double *v, int n)
{
	(void)fprintf(to, "(%04x,%04x) DS [", tag >> 16, tag & 0xffff);
	for (int i = 0; i < n; i++) {
		char digits[BS_DICOM_DECIMAL];

		bs_dicom_decimal(digits, v[i]);
		(void)fprintf(to, "%s%s", i > 0 ? "\\" : "", digits);
	}
	(void)fputs("]\n", to);
}

/* Writes an element from a number of the scan's header, if the header has it. */
static void number(const struct bs_dicomhead *d, FILE *to, unsigned tag, const char *name)
{
	const double v = bs_dicomwords_number(d->words, name, -1.0);

	if (v >= 0.0)
		decimals(to, tag, &v, 1);
}

static void sequence(FILE *to, unsigned tag)
{
	plain(to, tag, "SQ", "");
	(void)fputs(ITEM, to);
}

static void sequence_end(FILE *to)
{
	(void)fputs(ITEM_END SQ_END, to);
}

/* ---- what both kinds have ---- */

static void put_equipment(const struct bs_dicomhead *d, FILE *to, bool enhanced)
{
	const char *serial = said(d, "mrd_deviceSerialNumber");
	const char *position = said(d, "mrd_patientPosition");
	const char *unknown = enhanced ? "unknown" : ""; /* an enhanced image needs a value */

	if (serial[0] == '\0')
		serial = said(d, "mrd_deviceID");
	bs_dicom_text(to, 0x00080070, "LO",
		      said(d, "mrd_systemVendor")[0] ? said(d, "mrd_systemVendor") : unknown, 64);
	if (enhanced || said(d, "mrd_systemModel")[0])
		bs_dicom_text(to, 0x00081090, "LO",
			      said(d, "mrd_systemModel")[0] ? said(d, "mrd_systemModel") : unknown,
			      64);
	if (enhanced || serial[0])
		bs_dicom_text(to, 0x00181000, "LO", serial[0] ? serial : unknown, 64);
	text(to, 0x00181020, "LO", "boreside %s", BS_VERSION);
	if (position[strspn(position, "HFSPDLR")] != '\0' || strlen(position) > 4)
		position = "";
	bs_dicom_text(to, 0x00185100, "CS", position, 16);
	if (said(d, "mrd_bodyPartExamined")[0] &&
	    said(d, "mrd_bodyPartExamined")[strspn(said(d, "mrd_bodyPartExamined"),
						   "ABCDEFGHIJKLMNOPQRSTUVWXYZ_ ")] == '\0')
		bs_dicom_text(to, 0x00180015, "CS", said(d, "mrd_bodyPartExamined"), 16);
}

/*
 * The series' number comes from the header: the service's own count of scans would differ when the
 * scan is made again. The numbers after the scan's own belong to other scans.
 */
static double series_number(const struct bs_dicomhead *d)
{
	static const double beyond[] = { [SIGNAL] = 0, [PHASE] = 1000, [VELOCITY] = 2000 };
	const double more = beyond[kind_of(d)];
	double n = bs_dicomwords_number(d->words, "mrd_initialSeriesNumber", -1.0);

	if (!(n >= 0.0 && n <= INT32_MAX))
		n = d->image->measurement_uid & INT32_MAX;
	return n + more <= INT32_MAX ? n + more : n - more;
}

/* Writes the series' description: from the header or the protocol, with the kind of image. */
static void put_description(const struct bs_dicomhead *d, FILE *to)
{
	static const char *const from[] = { "mrd_seriesDescription", "mrd_protocolName",
					    "boreside_protocol" };
	static const char *const kinds[] = {
		[SIGNAL] = "", [PHASE] = "phase", [VELOCITY] = "velocity"
	};
	const bool preview = (d->image->image_series_index & BS_PREVIEW_SERIES) != 0;
	const char *kind = preview ? "preview" : kinds[kind_of(d)];
	char words[BS_DICOM_WORD + 16];
	size_t i = 0;
	int cut;

	while (i < 2 && said(d, from[i])[0] == '\0')
		i++;
	cut = kind[0] != '\0' ? 63 - (int)strlen(kind) : 64;
	bs_dicom_cut(words, said(d, from[i]), (size_t)cut);
	(void)snprintf(words + strlen(words), 16, "%s%s", words[0] && kind[0] ? " " : "", kind);
	if (words[0] != '\0')
		bs_dicom_text(to, 0x0008103e, "LO", words, 64);
}

static const char *type_of(const struct bs_dicomhead *d, bool enhanced)
{
	static const char *const types[] = { [SIGNAL] = "ORIGINAL\\PRIMARY\\OTHER",
					     [PHASE] = "ORIGINAL\\PRIMARY\\PHASE MAP",
					     [VELOCITY] = "DERIVED\\PRIMARY\\VELOCITY MAP" };

	return enhanced ? "DERIVED\\PRIMARY\\VOLUME\\NONE" : types[kind_of(d)];
}

static void put_identity(const struct bs_dicomhead *d, FILE *to, bool enhanced)
{
	const struct bs_mrd_image h = *d->image;
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	const time_t now = fixed != NULL ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
	struct tm t;
	char date[16];
	char clock[16];

	(void)localtime_r(&now, &t);
	(void)strftime(date, sizeof(date), "%Y%m%d", &t);
	(void)strftime(clock, sizeof(clock), "%H%M%S", &t);
	text(to, 0x00020010, "UI", "1.2.840.10008.1.2.1"); /* explicit, little-endian */
	text(to, 0x00080005, "CS", "ISO_IR 192");
	text(to, 0x00080008, "CS", "%s", type_of(d, enhanced));
	text(to, 0x00080012, "DA", "%s", date);
	text(to, 0x00080013, "TM", "%s", clock);
	text(to, 0x00080016, "UI", enhanced ? MR_ENHANCED : MR_IMAGE);
	text(to, 0x00080018, "UI", "%s", d->instance);
	text(to, 0x00080023, "DA", "%s", date);
	text(to, 0x00080033, "TM", "%s", clock);
	text(to, 0x00080060, "CS", "MR");
	text(to, 0x0020000d, "UI", "%s", d->study);
	text(to, 0x0020000e, "UI", "%s", d->series);
	put_description(d, to);
	text(to, 0x00200011, "IS", "%.0f", series_number(d));
	text(to, 0x00200012, "IS", "%u", h.repetition + 1u);
	text(to, 0x00200013, "IS", "%u", h.image_index);
	text(to, 0x00200052, "UI", "%s", d->frame);
	bs_dicom_text(to, 0x00201040, "LO", "", 0);
	/*
	 * the private group is in a volume, too, beside the standard's groups, which want values
	 * that no header has
	 */
	number(d, to, 0x00180080, "mrd_TR");
	number(d, to, 0x00180082, "mrd_TI");
	number(d, to, 0x00180087, "mrd_systemFieldStrength_T");
	number(d, to, 0x00181314, "mrd_flipAngle_deg");
}

static void put_pixels(const struct bs_dicomhead *d, FILE *to)
{
	const struct bs_mrd_image h = *d->image;

	whole(to, 0x00280002, "US", 1);
	text(to, 0x00280004, "CS", "MONOCHROME2");
	whole(to, 0x00280010, "US", h.matrix_size[1]);
	whole(to, 0x00280011, "US", h.matrix_size[0]);
	whole(to, 0x00280100, "US", 16);
	whole(to, 0x00280101, "US", 16);
	whole(to, 0x00280102, "US", 15);
	whole(to, 0x00280103, "US", d->reach > 0.0);
	whole(to, 0x00280106, d->reach > 0.0 ? "SS" : "US", d->smallest);
	whole(to, 0x00280107, d->reach > 0.0 ? "SS" : "US", d->largest);
	(void)fprintf(to, "(7fe0,0010) OW =%s\n", d->pixel_file);
}

static void put_rescale(const struct bs_dicomhead *d, FILE *to)
{
	text(to, 0x00281052, "DS", "%s", d->intercept);
	text(to, 0x00281053, "DS", "%s", d->slope);
	text(to, 0x00281054, "LO",
	     kind_of(d) == VELOCITY ? "cm/s"
	     : kind_of(d) == PHASE  ? "rad"
				    : "US"); /* US, unspecified: signal has no unit */
}

static void put_window(const struct bs_dicomhead *d, FILE *to)
{
	decimals(to, 0x00281050, &d->window_center, 1);
	decimals(to, 0x00281051, &d->window_width, 1);
	if (d->window_width < 100.0) /* LINEAR, the default, would take 1 off the width */
		text(to, 0x00281056, "CS", "LINEAR_EXACT");
}

/* Writes the private group (lambda, iterations, quality), and in words what a reader must know. */
static void put_own(const struct bs_dicomhead *d, FILE *to)
{
	static const struct {
		unsigned tag;
		const char *vr, *name;
	} own[] = {
		{ 0x00291001, "LO", "boreside_protocol" },
		{ 0x00291002, "LO", "boreside_engine" },
		{ 0x00291003, "DS", "boreside_lambda" },
		{ 0x00291004, "IS", "boreside_iterations" },
		{ 0x00291005, "DS", "boreside_residual" },
		{ 0x00291006, "LO", "boreside_quality" },
		{ 0x00291008, "LO", "boreside_budget" },
		{ 0x00291009, "DS", "boreside_latency_us" },
		{ 0x0029100a, "IS", "boreside_readouts" },
		{ 0x0029100b, "IS", "boreside_missing" },
		{ 0x0029100c, "LO", "mrd_measurementID" },
	};
	const char *quality = said(d, "boreside_quality");
	char words[BS_DICOM_LACKS + 200];
	int n = 0;

	text(to, 0x00290010, "LO", "BORESIDE");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (said(d, own[i].name)[0] != '\0')
			bs_dicom_text(to, own[i].tag, own[i].vr, said(d, own[i].name),
				      own[i].vr[0] == 'L' ? 64 : 16);
	if (d->words->lacks[0] != '\0')
		bs_dicom_text(to, 0x00291007, "LT", d->words->lacks, BS_DICOM_LACKS);
	if (quality[0] != '\0' && strcmp(quality, "complete") != 0)
		n = snprintf(words, sizeof(words), "%s%s%s", quality,
			     d->words->lacks[0] ? ": " : "", d->words->lacks);
	if (d->not_numbers > 0 && n >= 0 && (size_t)n < sizeof(words))
		n += snprintf(words + n, sizeof(words) - (size_t)n,
			      "%s%llu pixels were no numbers and are 0", n > 0 ? "; " : "",
			      (unsigned long long)d->not_numbers);
	if (d->rescaled && n >= 0 && (size_t)n < sizeof(words))
		n += snprintf(words + n, sizeof(words) - (size_t)n,
			      "%sanother rescale slope than the images of the series before it",
			      n > 0 ? "; " : "");
	if (n > 0)
		bs_dicom_text(to, 0x00204000, "LT", words, sizeof(words));
}

/* ---- one slice ---- */

static void put_slice(const struct bs_dicomhead *d, FILE *to)
{
	const struct bs_mrd_image h = *d->image;
	const struct bs_place *p = d->place;
	const double axes[6] = { p->dir[0][0], p->dir[0][1], p->dir[0][2],
				 p->dir[1][0], p->dir[1][1], p->dir[1][2] };
	/* spacing between rows, then between columns */
	const double spacing[2] = { p->spacing[1], p->spacing[0] };
	const double location = p->first[0] * p->dir[2][0] + p->first[1] * p->dir[2][1] +
				p->first[2] * p->dir[2][2];
	const char *name = said(d, "mrd_sequenceName");

	if (name[0] == '\0')
		name = said(d, "mrd_sequence_type");
	text(to, 0x00180020, "CS", "RM"); /* the header does not name the kind of sequence */
	text(to, 0x00180021, "CS", "NONE");
	bs_dicom_text(to, 0x00180022, "CS", "", 0);
	text(to, 0x00180023, "CS", "2D");
	if (name[0] != '\0')
		bs_dicom_text(to, 0x00180024, "SH", name, 16);
	decimals(to, 0x00180050, &p->spacing[2], 1);
	if (bs_dicomwords_number(d->words, "mrd_TR", -1.0) < 0.0)
		bs_dicom_text(to, 0x00180080, "DS", "", 0);
	if (bs_dicomwords_number(d->words, "mrd_TE", -1.0) < 0.0)
		bs_dicom_text(to, 0x00180081, "DS", "", 0);
	number(d, to, 0x00180081, "mrd_TE");
	text(to, 0x00180085, "SH", "1H");
	text(to, 0x00180086, "IS", "%u", h.contrast + 1u);
	bs_dicom_text(to, 0x00180091, "IS", "", 0);
	bs_dicom_text(to, 0x00200060, "CS", "", 0);
	decimals(to, 0x00200032, p->first, 3);
	decimals(to, 0x00200037, axes, 6);
	decimals(to, 0x00201041, &location, 1);
	decimals(to, 0x00280030, spacing, 2);
	put_rescale(d, to);
	put_window(d, to);
}

/* ---- a volume ---- */

static void put_frame_type(const struct bs_dicomhead *d, FILE *to)
{
	text(to, 0x00089205, "CS", "MONOCHROME");
	text(to, 0x00089206, "CS", "VOLUME");
	text(to, 0x00089207, "CS", "NONE");
	text(to, 0x00089208, "CS", kind_of(d) == SIGNAL ? "MAGNITUDE" : "PHASE");
	text(to, 0x00089209, "CS", kind_of(d) == VELOCITY ? "FLOW_ENCODED" : "UNKNOWN");
}

/* Writes the echo time as a binary number, in a sequence of its own. */
static void put_echo(const struct bs_dicomhead *d, FILE *to)
{
	const double te = bs_dicomwords_number(d->words, "mrd_TE", -1.0);
	char digits[BS_DICOM_DECIMAL];

	if (te < 0.0)
		return;
	sequence(to, 0x00189114);
	bs_dicom_decimal(digits, te);
	plain(to, 0x00189082, "FD", digits);
	sequence_end(to);
}

static void put_shared(const struct bs_dicomhead *d, FILE *to)
{
	const struct bs_place *p = d->place;
	const double axes[6] = { p->dir[0][0], p->dir[0][1], p->dir[0][2],
				 p->dir[1][0], p->dir[1][1], p->dir[1][2] };
	const double spacing[2] = { p->spacing[1], p->spacing[0] };
	/* joined slices may have gaps between them */
	const double thickness =
		bs_dicomwords_number(d->words, "boreside_slice_thickness", p->spacing[2]);

	sequence(to, 0x52009229);
	sequence(to, 0x00289110);
	decimals(to, 0x00180050, &thickness, 1);
	decimals(to, 0x00180088, &p->spacing[2], 1);
	decimals(to, 0x00280030, spacing, 2);
	sequence_end(to);
	sequence(to, 0x00209116);
	decimals(to, 0x00200037, axes, 6);
	sequence_end(to);
	sequence(to, 0x00209071); /* the code means: part of the body not known */
	text(to, 0x00209072, "CS", "U");
	sequence(to, 0x00082218);
	text(to, 0x00080100, "SH", "38266002");
	text(to, 0x00080102, "SH", "SCT");
	text(to, 0x00080104, "LO", "Entire body");
	sequence_end(to);
	sequence_end(to);
	sequence(to, 0x00189226);
	text(to, 0x00089007, "CS", "DERIVED\\PRIMARY\\VOLUME\\NONE");
	put_frame_type(d, to);
	sequence_end(to);
	sequence(to, 0x00289145);
	put_rescale(d, to);
	sequence_end(to);
	sequence(to, 0x00289132);
	put_window(d, to);
	sequence_end(to);
	put_echo(d, to);
	sequence_end(to);
}

static void put_frames(const struct bs_dicomhead *d, FILE *to)
{
	const struct bs_place *p = d->place;

	plain(to, 0x52009230, "SQ", "");
	for (unsigned z = 0; z < d->image->matrix_size[2]; z++) {
		double first[3];

		for (int i = 0; i < 3; i++)
			first[i] = p->first[i] + z * p->step[2][i];
		(void)fputs(ITEM, to);
		sequence(to, 0x00209111);
		text(to, 0x00209056, "SH", "1");
		whole(to, 0x00209057, "UL", z + 1);
		whole(to, 0x00209157, "UL", z + 1);
		sequence_end(to);
		sequence(to, 0x00209113);
		decimals(to, 0x00200032, first, 3);
		sequence_end(to);
		(void)fputs(ITEM_END, to);
	}
	(void)fputs(SQ_END, to);
}

static void put_volume(const struct bs_dicomhead *d, FILE *to)
{
	char words[BS_UID_MAX + 32];
	char dimensions[BS_UID_MAX];

	(void)snprintf(words, sizeof(words), "boreside dimensions|%s", d->series);
	bs_uid_of(dimensions, words);
	text(to, 0x00280008, "IS", "%u", d->image->matrix_size[2]);
	sequence(to, 0x00209221);
	text(to, 0x00209164, "UI", "%s", dimensions);
	sequence_end(to);
	sequence(to, 0x00209222); /* frames are in the order of their place in the stack */
	plain(to, 0x00209165, "AT", "(0020,9057)");
	plain(to, 0x00209167, "AT", "(0020,9111)");
	text(to, 0x00209164, "UI", "%s", dimensions);
	sequence_end(to);
	plain(to, 0x00400555, "SQ", "");
	(void)fputs(SQ_END, to);
	put_frame_type(d, to);
	text(to, 0x00189004, "CS", "RESEARCH");
	text(to, 0x00189100, "CS", "1H");
	text(to, 0x00189174, "CS", "IEC"); /* required element: the standard that scanners obey */
	text(to, 0x00280301, "CS", "NO");
	text(to, 0x00282110, "CS", "00");
	text(to, 0x20500020, "CS", "IDENTITY");
	put_shared(d, to);
	put_frames(d, to);
}

void bs_dicomhead_put(const struct bs_dicomhead *d, FILE *to)
{
	const bool enhanced = d->image->matrix_size[2] > 1;

	put_identity(d, to, enhanced);
	put_equipment(d, to, enhanced);
	bs_dicomwords_put(d->words, to);
	put_own(d, to);
	if (enhanced)
		put_volume(d, to);
	else
		put_slice(d, to);
	put_pixels(d, to);
}
