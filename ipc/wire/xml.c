/*
 * ipc/wire/xml.c - see xml.h
 *
 * Expat reports elements; a stack of local names has their path. Only the paths in the tables below
 * are read, all others are ignored. A document type is refused before anything in it is read, so no
 * entity, internal or external, is ever declared or followed.
 */
#include "ipc/wire/xml.h"

#include <expat.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"
#include "ipc/wire/about.h"
#include "ipc/wire/encodings.h"
#include "ipc/wire/limits.h"
#include "ipc/wire/multiband.h"
#include "ipc/wire/wire.h"

#define DEPTH_MAX 32
#define NAME_MAX_ 40  /* bytes; no name that is read is longer */
#define TEXT_MAX_ 256 /* bytes of a value that is read */

struct reader {
	XML_Parser parser;
	struct bs_scan_info *info;
	struct bs_fail *why;
	int rc;
	int depth;
	char name[DEPTH_MAX][NAME_MAX_];
	char text[TEXT_MAX_]; /* text of the innermost element, spaces at both ends removed */
	size_t text_len;
	bool text_cut;
	unsigned sizes_seen;             /* bits of the first encoding's sizes that were read */
	struct bs_limits limits;         /* limits of the first encoding */
	struct bs_encoding_written more; /* later encoding that is being read */
	char depends_type[16], depends_on[64]; /* measurementDependency that is being read */
	uint32_t echo_times;                   /* number of TE read */
	struct bs_multiband_read bands;        /* spacing that is being read */
	struct {
		bool named, valued;
		bool value_cut;
		char name[TEXT_MAX_], value[TEXT_MAX_];
	} user;
};

/* Stops the parser; the first reason stays. what: no ": " in it; detail: the header's own words. */
static void fail_at(struct reader *r, const char *what, const char *detail)
{
	const size_t n = bs_text_cut(detail, strlen(detail), 80);

	if (r->rc != 0)
		return;
	r->rc = bs_fail(r->why, BS_ERR_XML, "MRD header, line %lu, column %lu: %s%s%.*s",
			(unsigned long)XML_GetCurrentLineNumber(r->parser),
			(unsigned long)XML_GetCurrentColumnNumber(r->parser) + 1, what,
			n > 0 ? ": " : "", (int)n, detail);
	(void)XML_StopParser(r->parser, XML_FALSE);
}

/* Returns the local name: "mrd:encoding" and "encoding" are the same element. */
static const char *local(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon != NULL ? colon + 1 : name;
}

/* Returns true if the innermost element is root/path, a path such as "a/b/c". */
static bool at(const struct reader *r, const char *path)
{
	int level = 1;

	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (level >= r->depth || strlen(r->name[level]) != n ||
		    memcmp(r->name[level], path, n) != 0)
			return false;
		path += path[n] == '/' ? n + 1 : n;
		level++;
	}
	return level == r->depth;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool read_u32(struct reader *r, uint32_t *v)
{
	double n;

	if (r->text_cut || !bs_text_whole(r->text, &n) || !(n >= 0.0 && n <= UINT32_MAX)) {
		fail_at(r, "not an unsigned number of 32 bits", r->text);
		return false;
	}
	*v = (uint32_t)n;
	if (strtod(r->text, NULL) != n)
		bs_about_remark(r->info, "%s/%s %s of the header is taken as %u",
				r->name[r->depth - 2], r->name[r->depth - 1], r->text, *v);
	return true;
}

static void read_real(struct reader *r, float *v, double least, double most, const char *not_a)
{
	double d;

	if (r->text_cut || !bs_text_number(r->text, &d) || !(d >= least && d <= most))
		fail_at(r, not_a, r->text);
	else
		*v = (float)d;
}

/* Copies text. A name that does not fit ends in "...", so that it equals no whole name. */
static void copy_text(const struct reader *r, char *out, size_t bytes)
{
	if (r->text_len < bytes && !r->text_cut) {
		memcpy(out, r->text, r->text_len + 1);
		return;
	}
	memcpy(out, r->text, bytes - 4);
	memcpy(out + bytes - 4, "...", 4);
}

/* Reads encoding/encodingLimits/WHICH/minimum|maximum|center: depth 5 with the root. */
static void end_limit(struct reader *r)
{
	double n;

	if (r->depth != 5 || strcmp(r->name[1], "encoding") != 0 ||
	    strcmp(r->name[2], "encodingLimits") != 0 || r->text_len == 0)
		return;
	if (r->text_cut || !bs_text_whole(r->text, &n) || fabs(n) > UINT32_MAX)
		fail_at(r, "not a whole number of 32 bits", r->text);
	else
		(void)bs_limits_put(&r->limits, r->name[3], r->name[4], (int64_t)n);
}

/* Reads encoding/parallelImaging/multiband. */
static void end_bands(struct reader *r)
{
	const char *text = r->text_cut ? "" : r->text;
	uint32_t n;

	if (at(r, "encoding/parallelImaging/multiband/spacing/dZ"))
		bs_multiband_place(&r->bands, r->info, text);
	else if (at(r, "encoding/parallelImaging/multiband/deltaKz"))
		bs_multiband_step(r->info, text);
	else if (at(r, "encoding/parallelImaging/multiband/multiband_factor") && read_u32(r, &n))
		bs_multiband_factor(r->info, n);
}

static bool read_ms(struct reader *r, double *ms)
{
	if (!r->text_cut && bs_text_number(r->text, ms) && *ms >= 0.0 && *ms <= 1e9)
		return true;
	fail_at(r, "not a time in ms", r->text);
	return false;
}

/* Reads TR; of several the largest counts. */
static void end_tr(struct reader *r, float *tr_ms)
{
	double ms;

	if (read_ms(r, &ms) && (float)ms > *tr_ms)
		*tr_ms = (float)ms;
}

/* Reads TE, one per contrast. */
static void end_te(struct reader *r, float te_ms[2])
{
	double ms;

	if (!read_ms(r, &ms))
		return;
	r->info->echoes += ms > 0.0;
	if (r->echo_times < 2)
		te_ms[r->echo_times++] = (float)ms;
}

/* The calibration mode; one that the standard does not have counts as another one. */
static enum bs_calibration calibration_of(const char *text)
{
	static const char *const words[] = {
		[BS_CALIBRATION_EMBEDDED] = "embedded",
		[BS_CALIBRATION_INTERLEAVED] = "interleaved",
		[BS_CALIBRATION_SEPARATE] = "separate",
		[BS_CALIBRATION_EXTERNAL] = "external",
	};

	for (int i = BS_CALIBRATION_EMBEDDED; i <= BS_CALIBRATION_EXTERNAL; i++)
		if (strcasecmp(text, words[i]) == 0)
			return (enum bs_calibration)i;
	return BS_CALIBRATION_OTHER;
}

/* Reads measurementInformation/measurementDependency: a scan that this one depends on. */
static void end_dependency(struct reader *r)
{
	const struct {
		const char *type;
		char *to;
	} table[] = {
		{ "noise", r->info->noise_scan },
		{ "senmap", r->info->maps_scan },
		{ "fieldmap", r->info->field_scan },
	};

	if (at(r, "measurementInformation/measurementDependency/dependencyType"))
		copy_text(r, r->depends_type, sizeof(r->depends_type));
	else if (at(r, "measurementInformation/measurementDependency/measurementID"))
		copy_text(r, r->depends_on, sizeof(r->depends_on));
	else if (!at(r, "measurementInformation/measurementDependency"))
		return;
	else
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (strcasecmp(r->depends_type, table[i].type) == 0)
				memcpy(table[i].to, r->depends_on, sizeof(r->depends_on));
}

/* A missing or wrong label is no fault: only later scans ask for labels. */
static void start_label(struct reader *r)
{
	struct bs_labels *l = &r->info->labels;

	if (at(r, "acquisitionSystemInformation/coilLabel") && l->count++ < BS_LABELS_MAX)
		l->number[l->count - 1] = UINT32_MAX;
}

static void end_label(struct reader *r)
{
	struct bs_labels *l = &r->info->labels;
	const uint32_t i = l->count - 1; /* the present label; before the first there is none */

	if (i >= BS_LABELS_MAX)
		return;
	if (at(r, "acquisitionSystemInformation/coilLabel/coilNumber")) {
		const size_t digits = strspn(r->text, "0123456789");

		if (digits > 0 && digits < 10 && r->text[digits] == '\0')
			l->number[i] = (uint32_t)strtoul(r->text, NULL, 10);
	} else if (at(r, "acquisitionSystemInformation/coilLabel/coilName")) {
		l->cut[i] = r->text_cut || r->text_len >= BS_LABEL_BYTES;
		copy_text(r, l->name[i], BS_LABEL_BYTES);
	}
}

/* Elements read by their path. The first REQUIRED ones must be there; reconSpace's, behind them,
 * have substitutes. An empty element counts as missing. */
#define REQUIRED  3
#define MATRICES  6
#define AT(field) offsetof(struct bs_scan_info, field)
static const struct {
	const char *path;
	enum { NUMBER, LENGTH_MM, SHARE, TEXT, TR, TE, CALIBRATION } kind;
	uint16_t at, bytes; /* bytes: size of a text field */
} known[] = {
	{ "encoding/encodedSpace/matrixSize/x", NUMBER, AT(encoded[0]), 0 },
	{ "encoding/encodedSpace/matrixSize/y", NUMBER, AT(encoded[1]), 0 },
	{ "encoding/encodedSpace/matrixSize/z", NUMBER, AT(encoded[2]), 0 },
	{ "encoding/reconSpace/matrixSize/x", NUMBER, AT(recon[0]), 0 },
	{ "encoding/reconSpace/matrixSize/y", NUMBER, AT(recon[1]), 0 },
	{ "encoding/reconSpace/matrixSize/z", NUMBER, AT(recon[2]), 0 },
	{ "encoding/encodedSpace/fieldOfView_mm/x", LENGTH_MM, AT(encoded_fov_mm[0]), 0 },
	{ "encoding/encodedSpace/fieldOfView_mm/y", LENGTH_MM, AT(encoded_fov_mm[1]), 0 },
	{ "encoding/encodedSpace/fieldOfView_mm/z", LENGTH_MM, AT(encoded_fov_mm[2]), 0 },
	{ "encoding/reconSpace/fieldOfView_mm/x", LENGTH_MM, AT(fov_mm[0]), 0 },
	{ "encoding/reconSpace/fieldOfView_mm/y", LENGTH_MM, AT(fov_mm[1]), 0 },
	{ "encoding/reconSpace/fieldOfView_mm/z", LENGTH_MM, AT(fov_mm[2]), 0 },
	{ "encoding/parallelImaging/accelerationFactor/kspace_encoding_step_1", NUMBER,
	  AT(acceleration[0]), 0 },
	{ "encoding/parallelImaging/accelerationFactor/kspace_encoding_step_2", NUMBER,
	  AT(acceleration[1]), 0 },
	{ "encoding/parallelImaging/calibrationMode", CALIBRATION, AT(calibration), 0 },
	{ "encoding/trajectoryDescription/identifier", TEXT, AT(description),
	  sizeof(((struct bs_scan_info *)0)->description) },
	{ "encoding/trajectory", TEXT, AT(trajectory_name),
	  sizeof(((struct bs_scan_info *)0)->trajectory_name) },
	{ "measurementInformation/protocolName", TEXT, AT(protocol),
	  sizeof(((struct bs_scan_info *)0)->protocol) },
	{ "measurementInformation/measurementID", TEXT, AT(measurement),
	  sizeof(((struct bs_scan_info *)0)->measurement) },
	{ "acquisitionSystemInformation/systemVendor", TEXT, AT(vendor),
	  sizeof(((struct bs_scan_info *)0)->vendor) },
	{ "acquisitionSystemInformation/receiverChannels", NUMBER, AT(channels), 0 },
	{ "acquisitionSystemInformation/relativeReceiverNoiseBandwidth", SHARE, AT(noise_bandwidth),
	  0 },
	{ "studyInformation/studyInstanceUID", TEXT, AT(study),
	  sizeof(((struct bs_scan_info *)0)->study) },
	{ "sequenceParameters/TR", TR, AT(tr_ms), 0 },
	{ "sequenceParameters/TE", TE, AT(te_ms), 0 },
};

static void end_known(struct reader *r)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		void *to = (char *)r->info + known[i].at;

		if (!at(r, known[i].path) || (r->text_len == 0 && i >= REQUIRED))
			continue;
		switch (known[i].kind) {
		case NUMBER:
			if (read_u32(r, to) && i < MATRICES)
				r->sizes_seen |= 1u << i;
			break;
		case LENGTH_MM:
			read_real(r, to, -1e9, 1e9, "not a length in mm");
			break;
		case SHARE:
			/* share of the sampling bandwidth; by the standard about 0.79 */
			read_real(r, to, FLT_MIN, 10.0, "not a share between 0 and 10");
			break;
		case TEXT:
			copy_text(r, to, known[i].bytes);
			break;
		case CALIBRATION:
			*(enum bs_calibration *)to = calibration_of(r->text);
			break;
		case TR:
			end_tr(r, to);
			break;
		case TE:
			end_te(r, to);
			break;
		}
	}
}

static bool user_parameter(const char *element)
{
	return strncmp(element, "userParameter", 13) == 0 && element[13] != '\0' &&
	       strcmp(element, "userParameters") != 0;
}

/* Reads a parameter of the first encoding's trajectoryDescription; times in us. */
static void end_described(struct reader *r, double value)
{
	struct bs_scan_info *info = r->info;
	const struct {
		const char *name;
		float *to;
	} table[] = {
		{ "rampUpTime", &info->ramp_up_us },
		{ "rampDownTime", &info->ramp_down_us },
		{ "flatTopTime", &info->flat_us },
		{ "acqDelayTime", &info->acquisition_delay_us },
		{ "numSamples", &info->readout_samples },
		{ "dwellTime", &info->readout_dwell_us },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(r->user.name, table[i].name) != 0)
			continue;
		if (!(value >= 0.0 && value <= 1e6))
			fail_at(r, "trajectoryDescription is not between 0 and 1e6", r->user.name);
		else
			*table[i].to = (float)value;
	}
}

static void end_user(struct reader *r)
{
	const char *element = r->name[r->depth - 1];
	const bool described = r->depth == 4 && strcmp(r->name[1], "encoding") == 0 &&
			       r->info->encodings == 1 &&
			       strcmp(r->name[2], "trajectoryDescription") == 0;
	size_t len = strlen(r->user.value);
	double d = 0.0;

	if (!r->user.named || r->user.name[0] == '\0') {
		fail_at(r, "a parameter without name", element);
		return;
	}
	if (!r->user.valued) {
		fail_at(r, "a parameter without value", r->user.name);
		return;
	}
	if ((strcmp(element, "userParameterLong") == 0 ||
	     strcmp(element, "userParameterDouble") == 0) &&
	    (r->user.value_cut || !bs_text_number(r->user.value, &d))) {
		if (described)
			fail_at(r, "a parameter whose value is no number", r->user.name);
		else
			bs_about_remark(r->info, "%s %.40s of the header is '%.40s', no number",
					element, r->user.name, r->user.value);
	} else if (described && strcmp(element, "userParameterString") != 0) {
		end_described(r, d);
	}
	if (r->depth == 3)
		bs_about_user(r->info, r->user.name, r->user.value_cut ? "" : r->user.value, d);
	if (strcmp(r->user.name, "trajectory_units") != 0 || r->depth != 3)
		return;
	if (r->user.value_cut || len >= sizeof(r->info->trajectory_unit))
		fail_at(r, "trajectory_units, no unit has so long a name", r->user.value);
	else
		memcpy(r->info->trajectory_unit, r->user.value, len + 1);
}

static void end_in_user(struct reader *r)
{
	const char *inner = r->name[r->depth - 1];

	if (strcmp(inner, "name") == 0) {
		r->user.named = true;
		memcpy(r->user.name, r->text, r->text_len + 1);
	} else if (strcmp(inner, "value") == 0) {
		r->user.valued = true;
		r->user.value_cut = r->text_cut;
		memcpy(r->user.value, r->text, r->text_len + 1);
	}
}

static void XMLCALL on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
	struct reader *r = arg;

	(void)attributes;
	if (r->rc != 0)
		return;
	name = local(name);
	if (r->depth == DEPTH_MAX) {
		fail_at(r, "more than 32 levels", name);
		return;
	}
	if (r->depth == 0 && strcmp(name, "ismrmrdHeader") != 0) {
		fail_at(r, "the root element is not ismrmrdHeader", name);
		return;
	}
	/* A name that is too long for the stack is replaced by one that equals nothing. */
	(void)snprintf(r->name[r->depth], NAME_MAX_, "%s", strlen(name) < NAME_MAX_ ? name : "-");
	r->depth++;
	r->text_len = 0;
	r->text_cut = false;
	if (at(r, "encoding"))
		r->info->encodings++;
	if (at(r, "encoding/parallelImaging/multiband/spacing"))
		bs_multiband_spacing(&r->bands);
	if (at(r, "measurementInformation/measurementDependency"))
		r->depends_type[0] = r->depends_on[0] = '\0';
	start_label(r);
	if (user_parameter(r->name[r->depth - 1]))
		memset(&r->user, 0, sizeof(r->user));
}

static void XMLCALL on_text(void *arg, const XML_Char *text, int len)
{
	struct reader *r = arg;

	for (int i = 0; i < len; i++) {
		if (r->text_len == 0 && blank(text[i]))
			continue;
		if (r->text_len == TEXT_MAX_ - 1) {
			r->text_cut = r->text_cut || !blank(text[i]);
			continue;
		}
		r->text[r->text_len++] = text[i];
	}
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
	struct reader *r = arg;

	if (r->rc != 0)
		return;
	if (XML_GetCurrentByteCount(r->parser) > 0) /* an empty element's end has no position */
		bs_about_end(r->info, r->depth, local(name), XML_GetCurrentByteIndex(r->parser));
	while (r->text_len > 0 && blank(r->text[r->text_len - 1]))
		r->text_len--;
	r->text[r->text_len] = '\0';
	if (user_parameter(r->name[r->depth - 1]))
		end_user(r);
	else if (r->depth >= 2 && user_parameter(r->name[r->depth - 2]))
		end_in_user(r);
	else if (r->depth < 2 || strcmp(r->name[1], "encoding") != 0) {
		end_known(r);
		end_dependency(r);
		end_label(r);
		if (r->depth == 3)
			bs_about_add(r->info, r->name[1], r->name[2], r->text);
	} else if (r->info->encodings == 1) {
		end_known(r);
		end_limit(r);
		end_bands(r);
	} else if (r->depth == 5 && !r->text_cut) {
		bs_encodings_put(&r->more, (const char *[]){ r->name[2], r->name[3], r->name[4] },
				 r->text);
	} else if (r->depth == 2) {
		bs_encodings_take(&r->more, r->info);
	}
	r->depth--;
	r->text_len = 0; /* later text belongs to the parent, whose text is not read */
	r->text_cut = false;
}

static void XMLCALL on_doctype(void *arg, const XML_Char *name, const XML_Char *system_id,
			       const XML_Char *public_id, int internal_subset)
{
	(void)system_id;
	(void)public_id;
	(void)internal_subset;
	fail_at(arg, "document types and entities are not read", name);
}

static void check_whole(struct reader *r)
{
	if (r->info->encodings == 0) {
		r->rc = bs_fail(r->why, BS_ERR_XML, "MRD header: no <encoding>");
		return;
	}
	for (unsigned i = 0; i < REQUIRED && r->rc == 0; i++)
		if (!(r->sizes_seen >> i & 1))
			r->rc = bs_fail(r->why, BS_ERR_XML, "MRD header: <encoding> without %s",
					known[i].path + strlen("encoding/"));
}

/* Takes encodedSpace where reconSpace is missing. */
static void take_recon(struct reader *r)
{
	struct bs_scan_info *info = r->info;
	char lacks[4];
	int n = 0;

	for (int a = 0; a < 3; a++) {
		if (r->sizes_seen >> (REQUIRED + a) & 1)
			continue;
		info->recon[a] = info->encoded[a];
		info->fov_mm[a] = info->encoded_fov_mm[a];
		lacks[n++] = "xyz"[a];
	}
	lacks[n] = '\0';
	if (n > 0)
		bs_about_remark(info,
				"reconSpace of the header has no matrix (%s): encodedSpace taken",
				lacks);
}

/* Python's XML writers declare "ascii", which is no registered name; it means US-ASCII. */
static int on_encoding(void *user, const XML_Char *name, XML_Encoding *to)
{
	(void)user;
	if (strcasecmp(name, "ascii") != 0)
		return XML_STATUS_ERROR;
	for (int c = 0; c < 256; c++)
		to->map[c] = c < 128 ? c : -1;
	to->data = NULL;
	to->convert = NULL;
	to->release = NULL;
	return XML_STATUS_OK;
}

size_t bs_mrdxml_bare(const char *text)
{
	const char *what = strstr(text, ": ");
	const char *words = what != NULL ? strstr(what + 2, ": ") : NULL;

	return words != NULL ? (size_t)(words - text) : strlen(text);
}

int bs_mrdxml_read(struct bs_scan_info *info, const char *xml, size_t len, struct bs_fail *why)
{
	struct reader r = { .info = info, .why = why };

	memset(info, 0, sizeof(*info));
	if (len > BS_WIRE_XML_MAX)
		return bs_fail(why, BS_ERR_XML, "MRD header of %zu bytes, at most %u are read", len,
			       BS_WIRE_XML_MAX);
	while (len > 0 && xml[len - 1] == '\0') /* some senders count the string's final NUL */
		len--;
	if (len == 0)
		return bs_fail(why, BS_ERR_XML, "MRD header: empty");
	r.parser = XML_ParserCreate(NULL);
	if (r.parser == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "MRD header: no memory for the parser");
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
	XML_SetUnknownEncodingHandler(r.parser, on_encoding, NULL);
	if (XML_Parse(r.parser, xml, (int)len, XML_TRUE) != XML_STATUS_OK && r.rc == 0)
		fail_at(&r, "malformed", XML_ErrorString(XML_GetErrorCode(r.parser)));
	if (r.rc == 0)
		check_whole(&r);
	if (r.rc == 0) {
		take_recon(&r);
		bs_limits_take(&r.limits, info);
	}
	XML_ParserFree(r.parser);
	return r.rc;
}
