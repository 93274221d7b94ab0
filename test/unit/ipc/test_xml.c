/*
 * test/unit/ipc/test_xml.c - the MRD XML header: what is read of it, and what must be refused
 *
 * With DATA set, the headers of the recordings there are read, too (through libismrmrd).
 */
/* Holds: W29 */
#include "core/frame/attributes.h"
#include "core/text.h"
#include "ipc/wire/meta.h"
#include "ipc/wire/wire.h"
#include "test/unit/ipc/mrdxml.h"

#include <ismrmrd/dataset.h>
#include <string.h>

#define BANDS(inner)                                                                               \
	BARE("<encoding>" ENCODED(SIZES) RECON "<parallelImaging><multiband>" inner                \
					       "</multiband></parallelImaging></encoding>"         \
					       "<encoding><parallelImaging><multiband>"            \
					       "<multiband_factor>7</multiband_factor>"            \
					       "</multiband></parallelImaging></encoding>")
#define SPACING      "<spacing><dZ>0</dZ><dZ>30</dZ><dZ>60</dZ></spacing>"
#define FACTOR(text) "<multiband_factor>" text "</multiband_factor>"

/* Slices at once: those of the first encoding. */
static void bands(void)
{
	static const struct {
		const char *xml;
		uint32_t bands;
	} good[] = { { BANDS(SPACING SPACING "<deltaKz>0.01</deltaKz>" FACTOR("3")), 3 },
		     { BANDS(FACTOR(" 2 ")), 2 },
		     { BANDS(FACTOR("1") SPACING), 3 },
		     { BANDS(FACTOR("4294967295")), UINT32_MAX },
		     { BANDS(""), 0 },
		     { HEADER(FACTOR("2")), 0 } };
	static const char *const bad[] = { BANDS(FACTOR("-2")), BANDS(FACTOR("4294967296")),
					   BANDS(FACTOR("two")) };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(read_text(good[i].xml) == 0 && info.bands == good[i].bands,
		      "multiband %zu: %u, %s", i, info.bands, why.text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(read_text(bad[i]) == BS_ERR_XML, "no factor: %s", why.text);
	CHECK(read_text(good[0].xml) == 0 && info.places == 3 && info.band_mm[2] == 60.0f &&
		      info.steps == 1 && info.delta_kz == 0.01f,
	      "their places, and the phase from line to line");
	CHECK(read_text(BANDS("<spacing><dZ>0</dZ><dZ>x</dZ><dZ>60</dZ></spacing><deltaKz/>")) ==
			      0 &&
		      info.bands == 3 && info.places == 1 && info.steps == 0,
	      "a text that is no number counts as missing");
	CHECK(read_text(BANDS("<spacing><dZ>0</dZ></spacing><spacing><dZ>9</dZ><dZ>8</dZ>"
			      "</spacing>")) == 0 &&
		      info.bands == 2 && info.places == 1,
	      "places of the first group alone");
}

#define LABEL(number, name)                                                                        \
	"<coilLabel><coilNumber>" number "</coilNumber><coilName>" name "</coilName></coilLabel>"
#define TEN          "1234567890"
#define SYSTEM(what) "<acquisitionSystemInformation>" what "</acquisitionSystemInformation>"

static void labels(void)
{
	static char many[8192] = "<ismrmrdHeader>" ENCODING "<acquisitionSystemInformation>";
	const struct bs_labels *l = &info.labels;

	CHECK(read_text(HEADER(SYSTEM(LABEL("50", " Head:1:N12 ") LABEL(
		      "x", "Head:1:N11") "<coilLabel><coilName>A&amp;B</coilName></coilLabel>"))) ==
			      0 &&
		      l->count == 3 && l->number[0] == 50 && strcmp(l->name[0], "Head:1:N12") == 0,
	      "labels, in the header's order: %u, '%s' %s", l->count, l->name[0], why.text);
	CHECK(l->number[1] == UINT32_MAX && l->number[2] == UINT32_MAX &&
		      strcmp(l->name[2], "A&B") == 0,
	      "numbers that are none, or not there");
	CHECK(read_text(HEADER(SYSTEM(LABEL("1", TEN TEN TEN TEN "1234567")
					      LABEL("2", TEN TEN TEN TEN "12345678")))) == 0 &&
		      !l->cut[0] && l->cut[1] && strlen(l->name[1]) == BS_LABEL_BYTES - 1,
	      "a name that is too long says so: '%s'", l->name[1]);
	for (int i = 0; i < 70; i++)
		strcat(many, LABEL("1", "c"));
	strcat(many, "</acquisitionSystemInformation></ismrmrdHeader>");
	CHECK(read_text(many) == 0 && l->count == 70 && l->number[63] == 1,
	      "more than are kept: %u %s", l->count, why.text);
	CHECK(read_text(HEADER("")) == 0 && l->count == 0, "none");
}

static void epi(void)
{
	static const char epi[] = BARE(
		"<encoding>" ENCODED(SIZES) RECON
		"<trajectory>epi</trajectory><trajectoryDescription><identifier>ConventionalEPI"
		"</identifier><userParameterLong><name>rampUpTime</name><value>140</value>"
		"</userParameterLong><userParameterLong><name>rampDownTime</name><value>141</value>"
		"</userParameterLong><userParameterLong><name>flatTopTime</name><value>480</value>"
		"</userParameterLong><userParameterLong><name>acqDelayTime</name><value>30</value>"
		"</userParameterLong><userParameterLong><name>numSamples</name><value>256</value>"
		"</userParameterLong><userParameterDouble><name>dwellTime</name><value>2.3</value>"
		"</userParameterDouble></trajectoryDescription></encoding><encoding><trajectory>"
		"cartesian</trajectory><trajectoryDescription><identifier>other</identifier>"
		"<userParameterLong><name>rampUpTime</name><value>1</value></userParameterLong>"
		"</trajectoryDescription></encoding>");

	CHECK(read_text(epi) == 0, "EPI: %s", why.text);
	CHECK(strcmp(info.trajectory_name, "epi") == 0 &&
		      strcmp(info.description, "ConventionalEPI") == 0,
	      "'%s', '%s', of the first encoding", info.trajectory_name, info.description);
	CHECK(info.ramp_up_us == 140.0f && info.ramp_down_us == 141.0f && info.flat_us == 480.0f &&
		      info.acquisition_delay_us == 30.0f && info.readout_samples == 256.0f &&
		      info.readout_dwell_us == 2.3f,
	      "its trapezoid");
	CHECK(read_text(BARE("<encoding>" ENCODED(SIZES) RECON
			     "<trajectoryDescription><userParameterLong><name>numSamples</name>"
			     "<value>-1</value></userParameterLong></trajectoryDescription>"
			     "</encoding>")) == BS_ERR_XML,
	      "a negative number: %s", why.text);
}

static void calibration(void)
{
	static const char dependent[] = BARE(
		"<studyInformation><studyInstanceUID>1.2.840.1</studyInstanceUID>"
		"</studyInformation>"
		"<sequenceParameters><TE>4.92</TE><TE>7.38</TE><TE>9.84</TE></sequenceParameters>"
		"<measurementInformation><measurementID>a_30</measurementID>"
		"<measurementDependency><dependencyType>FieldMap</dependencyType><measurementID>"
		"a_27</measurementID></measurementDependency>"
		"<measurementDependency><dependencyType>SenMap</dependencyType><measurementID>"
		"a_28</measurementID></measurementDependency><measurementDependency>"
		"<dependencyType>Noise</dependencyType><measurementID>a_29</measurementID>"
		"</measurementDependency></measurementInformation>"
		"<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>0.793"
		"</relativeReceiverNoiseBandwidth></acquisitionSystemInformation>"
		"<encoding>" ENCODED(SIZES) RECON
		"<parallelImaging><accelerationFactor><kspace_encoding_step_1>3"
		"</kspace_encoding_step_1><kspace_encoding_step_2>2</kspace_encoding_step_2>"
		"</accelerationFactor><calibrationMode>embedded</calibrationMode>"
		"</parallelImaging></encoding>");

	CHECK(read_text(dependent) == 0, "a header with dependencies: %s", why.text);
	CHECK(strcmp(info.measurement, "a_30") == 0, "measurement '%s'", info.measurement);
	CHECK(strcmp(info.noise_scan, "a_29") == 0, "noise scan '%s'", info.noise_scan);
	CHECK(strcmp(info.maps_scan, "a_28") == 0, "maps of scan '%s'", info.maps_scan);
	CHECK(strcmp(info.field_scan, "a_27") == 0, "field map of scan '%s'", info.field_scan);
	CHECK(strcmp(info.study, "1.2.840.1") == 0, "study '%s'", info.study);
	CHECK(info.te_ms[0] == 4.92f && info.te_ms[1] == 7.38f, "echo times %g, %g ms",
	      (double)info.te_ms[0], (double)info.te_ms[1]);
	CHECK(info.noise_bandwidth == 0.793f, "bandwidth %g", (double)info.noise_bandwidth);
	CHECK(info.acceleration[0] == 3 && info.acceleration[1] == 2, "acceleration %u x %u",
	      info.acceleration[0], info.acceleration[1]);
	CHECK(info.calibration == BS_CALIBRATION_EMBEDDED, "calibration %d", info.calibration);
	CHECK(read_text(HEADER("")) == 0 && info.noise_scan[0] == '\0' &&
		      info.measurement[0] == '\0' && info.acceleration[0] == 0 &&
		      info.calibration == BS_CALIBRATION_UNSAID,
	      "a header that says nothing of it");
	CHECK(read_text(
		      HEADER("<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>none"
			     "</relativeReceiverNoiseBandwidth></acquisitionSystemInformation>")) ==
		      BS_ERR_XML,
	      "a bandwidth that is no number");
	CHECK(read_text(BARE("<encoding>" ENCODED(SIZES) RECON
			     "<parallelImaging><calibrationMode>sometimes</calibrationMode>"
			     "</parallelImaging></encoding>")) == 0 &&
		      info.calibration == BS_CALIBRATION_OTHER,
	      "a calibration mode that the standard does not have");
}

static void whole(void)
{
	static const char limits[] =
		"<ismrmrdHeader xmlns='http://www.ismrm.org/ISMRMRD'><measurementInformation>"
		"<protocolName> radial &amp; more </protocolName></measurementInformation>"
		"<acquisitionSystemInformation><receiverChannels>8</receiverChannels>"
		"</acquisitionSystemInformation><encoding>" ENCODED(SIZES) RECON
		"<encodingLimits><kspace_encoding_step_0><minimum>9</minimum>"
		"</kspace_encoding_step_0><kspace_encoding_step_1><minimum>1</minimum>"
		"<maximum>255</maximum><center>128</center></kspace_encoding_step_1>"
		"<kspace_encoding_step_2><maximum>15</maximum></kspace_encoding_step_2>"
		"<slice><maximum>4</maximum></slice><average><maximum>5</maximum></average>"
		"<contrast><maximum>6</maximum></contrast><phase><maximum>7</maximum></phase>"
		"<repetition><maximum>8</maximum></repetition><set><maximum>9</maximum></set>"
		"</encodingLimits><trajectory>radial</trajectory><parallelImaging>"
		"<accelerationFactor><kspace_encoding_step_1>2</kspace_encoding_step_1>"
		"</accelerationFactor></parallelImaging></encoding><encoding>"
		"<encodedSpace><matrixSize><x>1</x><y>1</y><z>1</z></matrixSize></encodedSpace>"
		"<trajectory>cartesian</trajectory></encoding><userParameters><userParameterString>"
		"<name>trajectory_units</name><value>cycles/voxel</value></userParameterString>"
		"</userParameters><sequenceParameters><TR>4.5</TR><TR> 1.25e1 </TR><TR>3</TR>"
		"</sequenceParameters></ismrmrdHeader>";

	CHECK(read_text(limits) == 0, "a whole header %s", why.text);
	CHECK(strcmp(info.protocol, "radial & more") == 0, "protocol '%s'", info.protocol);
	CHECK(info.channels == 8 && info.encodings == 2, "channels and encodings");
	CHECK(info.tr_ms == 12.5f, "TR: the largest of several is %g", (double)info.tr_ms);
	CHECK(read_text(HEADER("<sequenceParameters><TR>soon</TR></sequenceParameters>")) ==
			      BS_ERR_XML &&
		      strstr(why.text, "not a time in ms") != NULL,
	      "a TR that is no number: %s", why.text);
	CHECK(read_text(HEADER("<sequenceParameters><TR>-3</TR></sequenceParameters>")) ==
		      BS_ERR_XML,
	      "a negative TR: %s", why.text);
	CHECK(read_text(limits) == 0, "and the whole header again %s", why.text);
	CHECK(info.encoded[0] == 512 && info.encoded[1] == 256 && info.encoded[2] == 1 &&
		      info.recon[0] == 256 && info.recon[1] == 255 && info.recon[2] == 1,
	      "matrix sizes are the first encoding's");
	CHECK(info.encoded_fov_mm[0] == 600.0f && info.encoded_fov_mm[1] == 300.5f &&
		      info.encoded_fov_mm[2] == 6.0f && info.fov_mm[0] == 300.0f,
	      "fields of view, with spaces and exponents");
	CHECK(strcmp(info.trajectory_name, "radial") == 0 &&
		      strcmp(info.trajectory_unit, "cycles/voxel") == 0,
	      "trajectory and its unit");
	CHECK(info.step1.given && info.step1.min == 1 && info.step1.max == 255 &&
		      info.step1.center == 128 && info.step2.max == 15 && info.slice.max == 4 &&
		      info.average.max == 5 && info.contrast.max == 6 && info.phase.max == 7 &&
		      info.repetition.max == 8 && info.set.max == 9,
	      "limits");
	CHECK(read_text(HEADER("")) == 0 && info.channels == 0 && info.protocol[0] == '\0' &&
		      info.trajectory_unit[0] == '\0' && !info.step1.given,
	      "what a header does not say is empty");
	CHECK(bs_mrdxml_read(&info, HEADER(""), sizeof(HEADER("")), &why) == 0,
	      "a NUL at the end, counted");
	CHECK(read_text("<m:ismrmrdHeader xmlns:m='u'><m:encoding>"
			"<m:encodedSpace><m:matrixSize><m:x>16</m:x><m:y>16</m:y><m:z>1</m:z>"
			"</m:matrixSize></m:encodedSpace><m:reconSpace><m:matrixSize><m:x>16</m:x>"
			"<m:y>16</m:y><m:z>1</m:z></m:matrixSize></m:reconSpace></m:encoding>"
			"</m:ismrmrdHeader>") == 0 &&
		      info.encoded[0] == 16,
	      "a namespace's prefix");
	CHECK(read_text(HEADER("<encodingLimits/><x>no number</x><matrixSize><x>-</x></matrixSize>"
			       "<measurementInformation><n><protocolName>deep</protocolName></n>"
			       "</measurementInformation>")) == 0 &&
		      info.protocol[0] == '\0' && info.encoded[0] == 512,
	      "the same names elsewhere are not ours");
	CHECK(read_text(HEADER("<measurementInformation><protocolName>"
			       "0123456789012345678901234567890123456789012345678901234567890123"
			       "</protocolName></measurementInformation>")) == 0 &&
		      strlen(info.protocol) == 63 && strcmp(info.protocol + 60, "...") == 0,
	      "a protocol's name that is too long ends in dots: %s", info.protocol);
	CHECK(read_text(HEADER("<measurementInformation><protocolName>"
			       "012345678901234567890123456789012345678901234567890123456789012"
			       "</protocolName></measurementInformation>")) == 0 &&
		      strlen(info.protocol) == 63 && info.protocol[62] == '2',
	      "63 bytes are whole");
	CHECK(read_text("<?xml version='1.0' encoding='ISO-8859-1'?><ismrmrdHeader>" ENCODING
			"<measurementInformation><protocolName>\xe9</protocolName>"
			"</measurementInformation></ismrmrdHeader>") == 0 &&
		      strcmp(info.protocol, "\xc3\xa9") == 0,
	      "Latin-1 comes as UTF-8");
}

/* clang-format off */
static const struct {
	const char *what, *xml, *says;
} bad[] = {
	{ "nothing", "", "empty" },
	{ "no XML", "hello", "malformed" },
	{ "cut", "<ismrmrdHeader><encoding>", "malformed" },
	{ "crossed", "<ismrmrdHeader><a></b></ismrmrdHeader>", "malformed" },
	{ "two roots", HEADER("") "<x/>", "malformed" },
	{ "bytes that are no UTF-8", HEADER("<a>\xff</a>"), "malformed" },
	{ "an encoding nobody knows", "<?xml version='1.0' encoding='x-none'?>" BARE(ENCODING),
	  "malformed" },
	{ "another root", "<html>" ENCODING "</html>", "root" },
	{ "no encoding", "<ismrmrdHeader/>", "no <encoding>" },
	{ "encoding one level down", BARE("<a>" ENCODING "</a>"), "no <encoding>" },
	{ "no matrix", BARE("<encoding/>"), "encodedSpace/matrixSize/x" },
	{ "half a matrix", BARE("<encoding>" ENCODED("<x>1</x><z>1</z>") RECON "</encoding>"),
	  "encodedSpace/matrixSize/y" },
	{ "a word for a number", BARE("<encoding>" ENCODED("<x>many</x><y>1</y><z>1</z>") RECON
	  "</encoding>"), "many" },
	{ "a negative number", BARE("<encoding>" ENCODED("<x>-16</x><y>1</y><z>1</z>") RECON
	  "</encoding>"), "-16" },
	{ "a fraction", BARE("<encoding>" ENCODED("<x>16.5</x><y>1</y><z>1</z>") RECON
	  "</encoding>"), "16.5" },
	{ "nothing for a number", BARE("<encoding>" ENCODED("<x/><y>1</y><z>1</z>") RECON
	  "</encoding>"), "number" },
	{ "2^32", BARE("<encoding>" ENCODED("<x>4294967296</x><y>1</y><z>1</z>") RECON
	  "</encoding>"), "4294967296" },
	{ "2^64 + 16", BARE("<encoding>" ENCODED("<x>18446744073709551632</x><y>1</y><z>1</z>")
	  RECON "</encoding>"), "18446744073709551632" },
	{ "a field of view that is none",
	  BARE("<encoding><encodedSpace><fieldOfView_mm><x>NaN</x></fieldOfView_mm>"
	  "</encodedSpace></encoding>"), "NaN" },
	{ "an infinite field of view",
	  BARE("<encoding><encodedSpace><fieldOfView_mm><x>1e999</x></fieldOfView_mm>"
	  "</encodedSpace></encoding>"), "1e999" },
	{ "a limit that is none",
	  BARE("<encoding><encodingLimits><slice><maximum>x</maximum></slice>"
	  "</encodingLimits></encoding>"), "number" },
	{ "channels that are none",
	  HEADER("<acquisitionSystemInformation><receiverChannels>two</receiverChannels>"
	  "</acquisitionSystemInformation>"), "two" },
	{ "a parameter without value", USER("userParameterDouble", "<name>dwellTime_us</name>"),
	  "dwellTime_us" },
	{ "a parameter without name", USER("userParameterString", "<value>1</value>"),
	  "without name" },
	{ "a parameter without both", USER("userParameterLong", ""), "without name" },
	{ "a parameter without its own value, after one that has it",
	  HEADER("<userParameters><userParameterLong><name>a</name><value>1</value>"
	  "</userParameterLong><userParameterLong><name>b</name></userParameterLong>"
	  "</userParameters>"), "without value: b" },
	{ "a long of the trajectory that is none", BARE("<encoding>" ENCODED(SIZES) RECON
	  "<trajectoryDescription><userParameterLong><name>numSamples</name><value>true"
	  "</value></userParameterLong></trajectoryDescription></encoding>"),
	  "no number: numSamples" },
	{ "a unit as long as a book", USER("userParameterString",
	  "<name>trajectory_units</name><value>cycles per " "millimeter and furlong</value>"),
	  "trajectory_units" },
	{ "a document type", "<!DOCTYPE ismrmrdHeader>" BARE(ENCODING), "entities" },
	{ "an external document type", "<!DOCTYPE ismrmrdHeader SYSTEM 'file:///etc/passwd'>"
	  BARE(ENCODING), "entities" },
	{ "an external entity", "<!DOCTYPE h [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"
	  "<ismrmrdHeader>" ENCODING "&e;</ismrmrdHeader>", "entities" },
	{ "a billion laughs",
	  "<!DOCTYPE h [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
	  "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'>]>" "<ismrmrdHeader>" ENCODING
	  "&c;</ismrmrdHeader>", "entities" },
	{ "an entity that nobody declared", HEADER("<a>&nbsp;</a>"), "malformed" },
};
/* clang-format on */

/* Where a header's own words may get into the reason. */
static const char *const named[] = {
	BARE("<encoding>" ENCODED("<x>Doe</x><y>1</y><z>1</z>") RECON "</encoding>"),
	BARE("<encoding><encodedSpace><fieldOfView_mm><x>Doe</x></fieldOfView_mm></encodedSpace>"
	     "</encoding>"),
	BARE("<encoding><encodingLimits><slice><maximum>Doe</maximum></slice></encodingLimits>"
	     "</encoding>"),
	HEADER("<sequenceParameters><TR>Doe</TR></sequenceParameters>"),
	USER("userParameterDouble", "<name>Doe</name>"),
	USER("userParameterString",
	     "<name>trajectory_units</name><value>Doe Doe Doe Doe Doe Doe Doe "
	     "Doe Doe</value>"),
	"<Doe/>",
	"<!DOCTYPE Doe><ismrmrdHeader/>"
};
#define E8        "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
#define LONG_WORD "x" E8 E8 E8 E8 E8 E8

static void refused(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int rc = read_text(bad[i].xml);

		CHECK(rc == BS_ERR_XML && why.code == rc && strstr(why.text, bad[i].says) != NULL,
		      "%s: %s", bad[i].what, rc == 0 ? "was taken" : why.text);
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		CHECK(read_text(named[i]) == BS_ERR_XML &&
			      strstr(why.text, "Doe") >= why.text + bs_mrdxml_bare(why.text),
		      "words of a header are apart: %s", why.text);
	CHECK(read_text(HEADER("<sequenceParameters><TR>" LONG_WORD
			       "</TR></sequenceParameters>")) == BS_ERR_XML &&
		      strcmp(why.text + strlen(why.text) - 4, "\xc3\xa9\xc3\xa9") == 0 &&
		      strlen(why.text + bs_mrdxml_bare(why.text)) == 2 + 79,
	      "cut between two characters: %s", why.text);
	CHECK(read_text("<ismrmrdHeader>\n" ENCODING "\n  <a></b>") == BS_ERR_XML &&
		      strstr(why.text, "line 3, column 8") != NULL,
	      "where it was: %s", why.text);
}

/* n levels below the root. */
static int nested(int n)
{
	static char text[200000];
	size_t at = (size_t)snprintf(text, sizeof(text), "<ismrmrdHeader>" ENCODING);

	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "<a>");
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "</a>");
	(void)snprintf(text + at, sizeof(text) - at, "</ismrmrdHeader>");
	return read_text(text);
}

static void sizes(void)
{
	static char big[10u << 20];
	static const char head[] = "<ismrmrdHeader>" ENCODING "<!--";
	static const char tail[] = "--></ismrmrdHeader>";
	size_t len = BS_WIRE_XML_MAX;

	CHECK(nested(31) == 0, "32 levels are read");
	CHECK(nested(32) == BS_ERR_XML, "33 are not: %s", why.text);
	CHECK(nested(20000) == BS_ERR_XML, "nor are 20,000: %s", why.text);
	memset(big, ' ', sizeof(big));
	memcpy(big, head, sizeof(head) - 1);
	memcpy(big + len - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
	CHECK(bs_mrdxml_read(&info, big, len, &why) == 0, "a header of 1 MiB is read %s", why.text);
	CHECK(bs_mrdxml_read(&info, big, sizeof(big), &why) == BS_ERR_XML, "10 MiB: %s", why.text);
	memset(big, 'n', len);
	memcpy(big, "<ismrmrdHeader><", 16);
	CHECK(bs_mrdxml_read(&info, big, len, &why) == BS_ERR_XML, "a name of 1 MiB: %s", why.text);
	memset(big, 0, len);
	CHECK(bs_mrdxml_read(&info, big, len, &why) == BS_ERR_XML, "zeros: %s", why.text);
}

/* Every header cut at every byte: refused, or whole but for spaces. */
static void cuts(void)
{
	const char *xml = HEADER("<userParameters><userParameterLong><name>a</name><value>1</value>"
				 "</userParameterLong></userParameters>");
	size_t n = strlen(xml);
	int taken = 0;

	for (size_t i = 0; i < n; i++) {
		char *cut = malloc(i > 0 ? i : 1);

		memcpy(cut, xml, i);
		taken += bs_mrdxml_read(&info, cut, i, &why) != BS_ERR_XML;
		free(cut);
	}
	CHECK(taken == 0, "cut at each of %zu bytes: refused (%d were not)", n, taken);
}

static void recording(const char *folder, const char *file, uint32_t x, uint32_t y, uint32_t z,
		      uint32_t channels, const char *trajectory, const char *unit)
{
	char path[512];
	ISMRMRD_Dataset d;
	char *xml;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	(void)ismrmrd_init_dataset(&d, path, "dataset");
	if (ismrmrd_open_dataset(&d, 0) != ISMRMRD_NOERROR) {
		SKIP("%s: not here", path);
		return;
	}
	xml = ismrmrd_read_header(&d);
	CHECK(xml != NULL && read_text(xml) == 0, "%s: %s", file, why.text);
	CHECK(info.encoded[0] == x && info.encoded[1] == y && info.encoded[2] == z &&
		      info.channels == channels && strcmp(info.trajectory_name, trajectory) == 0 &&
		      strcmp(info.trajectory_unit, unit) == 0,
	      "%s: %u x %u x %u, %u channels, %s, '%s'", file, info.encoded[0], info.encoded[1],
	      info.encoded[2], info.channels, info.trajectory_name, info.trajectory_unit);
	free(xml);
	(void)ismrmrd_close_dataset(&d);
}

static void recordings(void)
{
	const char *data = getenv("DATA");
	char path[512];
	ISMRMRD_Dataset d;
	char *xml;

	if (data == NULL || data[0] == '\0') {
		SKIP("DATA is not set: no recordings");
		return;
	}
	recording(data, "brain3d_sos_4ch.h5", 64, 64, 16, 4, "spiral", "cycles/voxel");
	recording(data, "lung3d_radial_xe.h5", 64, 64, 64, 1, "radial", "cycles/voxel");
	recording(data, "spiral2d_bonn_clean_slc30.h5", 220, 220, 1, 1, "spiral", "cycles/voxel");
	recording(data, "cart2d_8ch.h5", 512, 256, 1, 8, "cartesian", "");
	recording(data, "bad/jemris_units_cycles_per_fov.h5", 220, 220, 1, 0, "other", "");
	(void)snprintf(path, sizeof(path), "%s/bad/pypulseq_gradient_traj_malformed_xml_1ch.h5",
		       data);
	(void)ismrmrd_init_dataset(&d, path, "dataset");
	if (ismrmrd_open_dataset(&d, 0) != ISMRMRD_NOERROR) {
		SKIP("%s: not here", path);
		return;
	}
	xml = ismrmrd_read_header(&d);
	CHECK(xml != NULL && read_text(xml) == BS_ERR_XML &&
		      strstr(why.text, "dwellTime_us") != NULL,
	      "pypulseq's header: %s", why.text);
	free(xml);
	(void)ismrmrd_close_dataset(&d);
}

static void collect(void *arg, const char *name, const char *value, unsigned index)
{
	struct bs_text *t = arg;

	bs_text_put(t, "%s[%u]=%s;", name, index, value);
}

static int about_bytes; /* of the XML */

/* As takers of the images have it: by way of XML and the attributes' reader. */
static const char *about(void)
{
	static char said[2 * BS_SCAN_ABOUT];
	static char pairs[2 * BS_SCAN_ABOUT];
	char text[BS_SCAN_ABOUT + 64];
	struct bs_text t = { said, sizeof(said), 0, false };
	struct bs_text listed = { pairs, sizeof(pairs), 0, false };

	said[0] = pairs[0] = '\0';
	about_bytes = bs_attributes_xml(text, sizeof(text), info.about) -
		      (int)strlen("<ismrmrdMeta></ismrmrdMeta>");
	CHECK(about_bytes >= 0 && bs_meta_read(text, collect, &t, &why) == 0 && !t.full,
	      "attributes: %s", why.text);
	(void)bs_text_pairs(info.about, collect, &listed);
	CHECK(strcmp(said, pairs) == 0, "the list says what the XML says: %s, %s", pairs, said);
	return said;
}

static void about_scan(void)
{
	char xml[16384];
	struct bs_text t = { xml, sizeof(xml), 0, false };

	CHECK(read_text(HEADER(
		      "<subjectInformation><patientName> M&amp;M^&lt;\xc3\xa4&gt; </patientName>"
		      "<patientID/></subjectInformation><measurementInformation>"
		      "<measurementID>m1</measurementID><measurementDependency>"
		      "<measurementID>m0</measurementID></measurementDependency>"
		      "<secret>x</secret></measurementInformation><sequenceParameters><TR>8</TR>"
		      "<TR>9</TR><TE>4.9</TE><flipAngle_deg>12</flipAngle_deg><TE>7</TE>"
		      "</sequenceParameters>")) == 0,
	      "a header about a scan: %s", why.text);
	CHECK(strcmp(about(),
		     "mrd_patientName[0]=M&M^<\xc3\xa4>;mrd_measurementID[0]=m1;"
		     "mrd_TR[0]=8;mrd_TR[1]=9;mrd_TE[0]=4.9;mrd_flipAngle_deg[0]=12;") == 0,
	      "what goes on to its images: %s", about());
	/* 127 bytes, then a character of two: it does not fit, and half of it is none */
	bs_text_put(&t,
		    "<ismrmrdHeader>" ENCODING "<subjectInformation><patientName>%0127d\xc3\xa4"
		    "x</patientName></subjectInformation></ismrmrdHeader>",
		    0);
	CHECK(read_text(xml) == 0 && strlen(about()) == strlen("mrd_patientName[0]=;") + 127,
	      "a long value is cut between characters: %zu", strlen(about()));
	t = (struct bs_text){ xml, sizeof(xml), 0, false };
	bs_text_put(&t, "<ismrmrdHeader>" ENCODING "<sequenceParameters>");
	for (int i = 0; i < 600; i++)
		bs_text_put(&t, "<TI>%d</TI>", 100 + i);
	bs_text_put(&t, "</sequenceParameters><subjectInformation><patientID>7</patientID>"
			"</subjectInformation></ismrmrdHeader>");
	CHECK(!t.full && read_text(xml) == 0 && about_bytes < (int)BS_SCAN_ABOUT &&
		      strstr(about(), "mrd_TI[199]=299;") != NULL &&
		      strstr(about(), "mrd_TI[300]") == NULL,
	      "what does not fit is left out, the rest whole: %d bytes", about_bytes);
	CHECK(bs_meta_read("<!DOCTYPE a []><ismrmrdMeta/>", collect, &t, &why) == BS_ERR_XML &&
		      bs_meta_read("<ismrmrdMeta><meta>", collect, &t, &why) == BS_ERR_XML,
	      "attributes that are none: %s", why.text);
}

int main(void)
{
	whole();
	calibration();
	epi();
	bands();
	labels();
	about_scan();
	refused();
	sizes();
	cuts();
	recordings();
	return check_done();
}
