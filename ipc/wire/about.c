/* ipc/wire/about.c - see about.h */
#include "ipc/wire/about.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/date.h"
#include "core/plan/scankey.h"
#include "core/text.h"

static const struct {
	const char *section, *element;
} known[] = {
	{ "subjectInformation", "patientName" },
	{ "subjectInformation", "patientID" },
	{ "subjectInformation", "patientBirthdate" },
	{ "subjectInformation", "patientGender" },
	{ "subjectInformation", "patientWeight_kg" },
	{ "subjectInformation", "patientHeight_m" },
	{ "studyInformation", "studyDate" },
	{ "studyInformation", "studyTime" },
	{ "studyInformation", "studyID" },
	{ "studyInformation", "accessionNumber" },
	{ "studyInformation", "referringPhysicianName" },
	{ "studyInformation", "studyDescription" },
	{ "studyInformation", "studyInstanceUID" },
	{ "studyInformation", "bodyPartExamined" },
	{ "measurementInformation", "measurementID" },
	{ "measurementInformation", "seriesDate" },
	{ "measurementInformation", "seriesTime" },
	{ "measurementInformation", "patientPosition" },
	{ "measurementInformation", "initialSeriesNumber" },
	{ "measurementInformation", "protocolName" },
	{ "measurementInformation", "sequenceName" },
	{ "measurementInformation", "seriesDescription" },
	{ "measurementInformation", "seriesInstanceUIDRoot" },
	{ "measurementInformation", "frameOfReferenceUID" },
	{ "acquisitionSystemInformation", "systemVendor" },
	{ "acquisitionSystemInformation", "systemModel" },
	{ "acquisitionSystemInformation", "systemFieldStrength_T" },
	{ "acquisitionSystemInformation", "institutionName" },
	{ "acquisitionSystemInformation", "stationName" },
	{ "acquisitionSystemInformation", "deviceID" },
	{ "acquisitionSystemInformation", "deviceSerialNumber" },
	{ "acquisitionSystemInformation", "receiverChannels" },
	{ "experimentalConditions", "H1resonanceFrequency_Hz" },
	{ "sequenceParameters", "TR" },
	{ "sequenceParameters", "TE" },
	{ "sequenceParameters", "TI" },
	{ "sequenceParameters", "flipAngle_deg" },
	{ "sequenceParameters", "sequence_type" },
	{ "sequenceParameters", "echo_spacing" },
};

static bool is_known(const char *section, const char *element)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].section, section) == 0 &&
		    strcmp(known[i].element, element) == 0)
			return true;
	return false;
}

static const char more[] = "; and more";
#define APART 2u /* bytes of `more` that stand between two remarks */

void bs_about_remark(struct bs_scan_info *info, const char *format, ...)
{
	const size_t room = sizeof(info->remark) - strlen(more);
	const size_t before = strlen(info->remark);
	struct bs_text t = { info->remark, room, before, false };
	char words[BS_HEADER_WORDS];
	va_list args;

	if (strstr(info->remark, more + APART) != NULL)
		return;
	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	for (char *c = words; *c != '\0'; c++) /* the cut left no half of a character */
		if (*c < ' ' || *c > '~')
			*c = '?';
	bs_text_put(&t, "%s%s", before > 0 ? "; " : "", words);
	if (t.full)
		(void)snprintf(info->remark + before, sizeof(more), "%s",
			       before > 0 ? more : more + APART);
}

/*
 * Remarks an invalid date, which DICOM files leave empty. The patient's birth date itself stands in
 * images alone (mrd_patientBirthdate).
 */
static void check_date(struct bs_scan_info *info, const char *element, const char *text)
{
	static const struct {
		const char *element;
		bool is_time;
	} dates[] = { { "patientBirthdate", false },
		      { "studyDate", false },
		      { "seriesDate", false },
		      { "studyTime", true },
		      { "seriesTime", true } };
	char out[BS_TIME_BYTES];

	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++)
		if (strcmp(element, dates[i].element) == 0 &&
		    !(dates[i].is_time ? bs_time_of(out, text) : bs_date_of(out, text)))
			bs_about_remark(info, "%s%s%.24s is no %s: DICOM files leave it empty",
					element, i > 0 ? " " : "", i > 0 ? text : "",
					dates[i].is_time ? "time" : "date");
}

struct listed {
	const char *name, *last;
	bool there;
};

static void look_for(void *arg, const char *name, const char *value, unsigned index)
{
	struct listed *l = arg;

	(void)value;
	(void)index;
	l->last = name;
	l->there = l->there || strcmp(name, l->name) == 0;
}

void bs_about_add(struct bs_scan_info *info, const char *section, const char *element,
		  const char *text)
{
	const size_t n = bs_text_cut(text, strlen(text), BS_ABOUT_VALUE);
	char name[64], value[BS_ABOUT_VALUE + 1], xml[5 * BS_ABOUT_VALUE + 1];
	struct bs_text t = { info->about, sizeof(info->about), 0, false };
	struct bs_text x = { xml, sizeof(xml), 0, false };
	struct listed l = { name, "", false };

	if (n == 0 || !is_known(section, element))
		return;
	check_date(info, element, text);
	(void)snprintf(name, sizeof(name), "mrd_%s", element);
	(void)snprintf(value, sizeof(value), "%.*s", (int)n, text);
	bs_text_xml(&x, value);
	t.len = bs_text_pairs(info->about, look_for, &l);
	x.len += strlen(l.there ? "<value></value>" : "<meta><name></name><value></value></meta>") +
		 (l.there ? 0 : strlen(name));
	/* the list has the element already: the value is added if that is the last element */
	if ((l.there && strcmp(l.last, name) != 0) ||
	    info->about_bytes + x.len >= sizeof(info->about))
		return;
	info->about_bytes += (uint32_t)x.len;
	bs_text_pair(&t, l.there ? "+" : name, "%s", value);
}

static void take_venc(struct bs_scan_info *info, const char *name, const char *text, double value)
{
	float *range = info->venc_range;

	/* a VENC of 0: a direction that is not used */
	if (strncmp(name, "VENC_", 5) != 0 || value == 0.0)
		return;
	if (!(value >= 1e-3 && value <= 1e5)) {
		bs_about_remark(info, "%.40s of the header is %.40s, no velocity in cm/s", name,
				text);
		return;
	}
	if (strcmp(name, "VENC_0") == 0)
		info->venc = (float)value;
	range[0] = range[1] > 0.0f && range[0] < (float)value ? range[0] : (float)value;
	range[1] = range[1] > (float)value ? range[1] : (float)value;
}

void bs_about_user(struct bs_scan_info *info, const char *name, const char *text, double value)
{
	if (strcmp(name, BS_ABOUT_ANSWERS) == 0) {
		info->answers = value == 1.0;
		return;
	}
	if (strcmp(name, "BitsStored") == 0 && value >= 1.0 && value <= 16.0)
		info->bits_stored = (uint32_t)value;
	else if (!bs_scankey_take(info, name, text))
		take_venc(info, name, text, value);
	if (strncmp(name, BS_SCANKEY_PREFIX, strlen(BS_SCANKEY_PREFIX)) == 0 &&
	    bs_scankey_find(name + strlen(BS_SCANKEY_PREFIX)) < 0)
		bs_about_remark(info, "%.40s of the header is no key that a scan sets: not used",
				name);
}

void bs_about_end(struct bs_scan_info *info, int depth, const char *name, long at)
{
	const bool user = depth == 2 && strcmp(name, "userParameters") == 0;

	if (!user && (depth != 1 || info->user_there))
		return;
	info->user_at = (uint32_t)at;
	info->user_there = user;
}
