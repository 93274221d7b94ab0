/*
 * test/unit/ipc/test_habits.c - the MRD XML header as tools write it: what is taken, what is said
 */
/* Holds: W30 */
#include "core/text.h"
#include "test/unit/ipc/mrdxml.h"

#include <string.h>

#define GRID(inner, rest)                                                                          \
	BARE("<encoding>" ENCODED(inner) RECON "<encodingLimits>" rest                             \
					       "</encodingLimits></encoding>")
#define STEP1(inner) "<kspace_encoding_step_1>" inner "</kspace_encoding_step_1>"
#define FULL         STEP1("<minimum>0</minimum><maximum>255</maximum><center>128</center>")

#define DOUBLE(name, v)                                                                            \
	"<userParameterDouble><name>" name "</name><value>" v "</value></userParameterDouble>"

/* In cm/s; of several the first, and what they span. */
static void vencs(void)
{
	static const struct {
		const char *xml;
		float venc, least, most;
		const char *says;
	} cases[] = {
		{ HEADER("<userParameters>" DOUBLE("VENC_0", "150.0") "</userParameters>"), 150,
		  150, 150, "" },
		{ HEADER("<userParameters>" DOUBLE("VENC_1", "80")
				 DOUBLE("VENC_0", "150") "</userParameters>"),
		  150, 80, 150, "" },
		{ HEADER("<userParameters>" DOUBLE("VENC_0", "60")
				 DOUBLE("VENC_1", "0") "</userParameters>"),
		  60, 60, 60, "" },
		{ HEADER("<userParameters>" DOUBLE("VENC_0", "-3") "</userParameters>"), 0, 0, 0,
		  "VENC_0 of the header is -3, no velocity in cm/s" },
		{ HEADER("<userParameters>" DOUBLE("VENC_0", "fast") "</userParameters>"), 0, 0, 0,
		  "VENC_0 of the header is 'fast', no number" },
		{ HEADER(""), 0, 0, 0, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(read_text(cases[i].xml) == 0 && info.venc == cases[i].venc &&
			      info.venc_range[0] == cases[i].least &&
			      info.venc_range[1] == cases[i].most &&
			      strstr(info.remark, cases[i].says) != NULL,
		      "VENC %zu: %g, %g to %g, '%s'", i, (double)info.venc,
		      (double)info.venc_range[0], (double)info.venc_range[1], info.remark);
}

/* As tools write them: each says what of the header was not taken as it is. */
int main(void)
{
	static const struct {
		const char *xml, *says;
	} said[] = {
		{ GRID(SIZES, FULL), "" },
		{ GRID("<x>512.0</x><y>256.00</y><z>1.0</z>", FULL), "" },
		{ GRID("<x>512</x><y>255.9996</y><z>1</z>", FULL),
		  "matrixSize/y 255.9996 of the header is taken as 256" },
		{ BARE("<encoding>" ENCODED(SIZES) "<encodingLimits>" FULL
						   "</encodingLimits></encoding>"),
		  "reconSpace of the header has no matrix (xyz): encodedSpace taken" },
		{ BARE("<encoding>" ENCODED(SIZES) "<reconSpace><matrixSize><x>256</x><y/><z>1</z>"
						   "</matrixSize></reconSpace><encodingLimits>" FULL
						   "</encodingLimits></encoding>"),
		  "reconSpace of the header has no matrix (y): encodedSpace taken" },
		{ USER("userParameterLong", "<name>n</name><value>true</value>"),
		  "userParameterLong n of the header is 'true', no number" },
		{ USER("userParameterDouble", "<name>n</name><value/>"),
		  "userParameterDouble n of the header is '', no number" },
		{ HEADER("<userParameters/><sequenceParameters><TR/><TE> </TE><echoTrainLength/>"
			 "</sequenceParameters><acquisitionSystemInformation><receiverChannels/>"
			 "<relativeReceiverNoiseBandwidth/></acquisitionSystemInformation>"
			 "<experimentalConditions><H1resonanceFrequency_Hz>123.2"
			 "</H1resonanceFrequency_Hz>"
			 "</experimentalConditions>"),
		  "kspace_encoding_step_1 of encodingLimits is not there" },
		{ HEADER("<subjectInformation><patientBirthdate>1970-02-31</patientBirthdate>"
			 "</subjectInformation><studyInformation><studyDate>2020-12-31</studyDate>"
			 "<studyTime>25:61:61.5</studyTime></studyInformation>"),
		  "patientBirthdate is no date: DICOM files leave it empty; studyTime "
		  "25:61:61.5 is no time" },
		{ HEADER("<studyInformation><studyDate>2020-1\xc3\xa4</studyDate>"
			 "</studyInformation>"),
		  "studyDate 2020-1?? is no date" },
	};
	char many[8192];
	struct bs_text t = { many, sizeof(many), 0, false };

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		CHECK(read_text(said[i].xml) == 0 && strstr(info.remark, said[i].says) != NULL &&
			      (said[i].says[0] != '\0') == (info.remark[0] != '\0'),
		      "%zu: '%s' %s", i, info.remark, why.text);
	CHECK(read_text(said[3].xml) == 0 && info.recon[0] == 512 && info.fov_mm[1] == 300.5f,
	      "reconSpace is encodedSpace");
	CHECK(read_text(said[4].xml) == 0 && info.recon[0] == 256 && info.recon[1] == 256,
	      "and of one axis");
	CHECK(read_text(said[7].xml) == 0 && info.channels == 0 && info.tr_ms == 0.0f,
	      "what is empty is not there");
	bs_text_put(&t, "<ismrmrdHeader>" ENCODING "<userParameters>");
	for (int i = 0; i < 30; i++)
		bs_text_put(&t,
			    "<userParameterLong><name>parameter%d</name><value/>"
			    "</userParameterLong>",
			    i);
	bs_text_put(&t, "</userParameters></ismrmrdHeader>");
	CHECK(!t.full && read_text(many) == 0 && strlen(info.remark) < sizeof(info.remark) &&
		      strcmp(info.remark + strlen(info.remark) - 10, "; and more") == 0,
	      "more than there is room for: '%s'", info.remark);
	vencs();
	return check_done();
}
