/* drivers/tool/phantom/scanxml.c - see scanxml.h */
#include "drivers/tool/phantom/scanxml.h"

#include "core/text.h"
#include "core/tool/ramps.h"

static void put_element(struct bs_text *t, const char *name, const char *value)
{
	bs_text_put(t, "<%s>", name);
	bs_text_xml(t, value);
	bs_text_put(t, "</%s>", name);
}

static void put_space(struct bs_text *t, const char *name, const uint32_t matrix[3],
		      const float fov[3])
{
	bs_text_put(t,
		    "<%s><matrixSize><x>%u</x><y>%u</y><z>%u</z></matrixSize>"
		    "<fieldOfView_mm><x>%.9g</x><y>%.9g</y><z>%.9g</z></fieldOfView_mm></%s>\n",
		    name, matrix[0], matrix[1], matrix[2], (double)fov[0], (double)fov[1],
		    (double)fov[2], name);
}

static void put_limit(struct bs_text *t, const char *name, const struct bs_limit *l)
{
	if (l->given)
		bs_text_put(
			t,
			"<%s><minimum>%u</minimum><maximum>%u</maximum><center>%u</center></%s>\n",
			name, l->min, l->max, l->center, name);
}

/* Puts the places of each group's bands, counted from its first slice. */
static void put_multiband(struct bs_text *t, const struct bs_scanxml_multiband *m)
{
	if (m->bands == 0)
		return;
	bs_text_put(t, "<multiband>");
	for (uint32_t g = 0; g < m->groups; g++) {
		bs_text_put(t, "<spacing>");
		for (uint32_t b = 0; b < m->bands; b++)
			bs_text_put(t, "<dZ>%.9g</dZ>", m->gap_mm * b);
		bs_text_put(t, "</spacing>");
	}
	bs_text_put(t,
		    "<deltaKz>%.9g</deltaKz><multiband_factor>%u</multiband_factor>"
		    "<calibration>separable2D</calibration>"
		    "<calibration_encoding>0</calibration_encoding></multiband>",
		    m->delta_kz, m->bands);
}

/* Puts acceleration, which is left out of a header without any. */
static void put_parallel(struct bs_text *t, const struct bs_scan_info *info,
			 const struct bs_scanxml_multiband *multiband)
{
	static const char *const modes[] = {
		[BS_CALIBRATION_EMBEDDED] = "embedded",
		[BS_CALIBRATION_INTERLEAVED] = "interleaved",
		[BS_CALIBRATION_SEPARATE] = "separate",
		[BS_CALIBRATION_EXTERNAL] = "external",
		[BS_CALIBRATION_OTHER] = "other",
	};

	if (info->acceleration[0] == 0)
		return;
	bs_text_put(t,
		    "<parallelImaging><accelerationFactor><kspace_encoding_step_1>%u"
		    "</kspace_encoding_step_1><kspace_encoding_step_2>%u</kspace_encoding_step_2>"
		    "</accelerationFactor>",
		    info->acceleration[0], info->acceleration[1]);
	if (info->calibration != BS_CALIBRATION_UNSAID)
		put_element(t, "calibrationMode", modes[info->calibration]);
	put_multiband(t, multiband);
	bs_text_put(t, "</parallelImaging>\n");
}

static void put_dependency(struct bs_text *t, const char *type, const char *scan)
{
	if (scan[0] == '\0')
		return;
	bs_text_put(t, "<measurementDependency>");
	put_element(t, "dependencyType", type);
	put_element(t, "measurementID", scan);
	bs_text_put(t, "</measurementDependency>");
}

/* Puts the scan's and the study's identity, and the scans that it depends on. */
static void put_measurement(struct bs_text *t, const struct bs_scan_info *info)
{
	if (info->study[0] != '\0') {
		bs_text_put(t, "<studyInformation>");
		put_element(t, "studyInstanceUID", info->study);
		bs_text_put(t, "</studyInformation>\n");
	}
	bs_text_put(t, "<measurementInformation>");
	if (info->measurement[0] != '\0')
		put_element(t, "measurementID", info->measurement);
	bs_text_put(t, "<patientPosition>HFS</patientPosition>");
	put_element(t, "protocolName", info->protocol);
	put_dependency(t, "Noise", info->noise_scan);
	put_dependency(t, "SenMap", info->maps_scan);
	put_dependency(t, "FieldMap", info->field_scan);
	bs_text_put(t, "</measurementInformation>\n");
}

static void put_string(struct bs_text *t, const char *name, const char *value)
{
	bs_text_put(t, "<userParameterString>");
	put_element(t, "name", name);
	put_element(t, "value", value);
	bs_text_put(t, "</userParameterString>\n");
}

static void put_long(struct bs_text *t, const char *name, double value)
{
	bs_text_put(t, "<userParameterLong>");
	put_element(t, "name", name);
	bs_text_put(t, "<value>%.0f</value></userParameterLong>\n", value);
}

/* Puts the description of EPI readouts, in the form of Siemens' converter. */
static void put_epi(struct bs_text *t, const struct bs_trapezoid *epi, uint32_t lines)
{
	bs_text_put(t, "<trajectoryDescription><identifier>ConventionalEPI</identifier>\n");
	put_long(t, "etl", lines);
	put_long(t, "numberOfNavigators", 3);
	put_long(t, "rampUpTime", epi->ramp_us);
	put_long(t, "rampDownTime", epi->ramp_us);
	put_long(t, "flatTopTime", epi->flat_us);
	put_long(t, "echoSpacing", bs_trapezoid_spacing_us(epi));
	put_long(t, "acqDelayTime", epi->delay_us);
	put_long(t, "numSamples", epi->samples);
	bs_text_put(t,
		    "<userParameterDouble><name>dwellTime</name><value>%.9g</value>"
		    "</userParameterDouble>\n<comment>Conventional 2D EPI sequence</comment>"
		    "</trajectoryDescription>\n",
		    epi->dwell_us);
}

static void put_encoding(struct bs_text *t, const struct bs_scanxml *x)
{
	const struct bs_scan_info *info = x->info;

	bs_text_put(t, "<encoding>\n");
	put_space(t, "encodedSpace", info->encoded, info->encoded_fov_mm);
	put_space(t, "reconSpace", info->recon, info->fov_mm);
	bs_text_put(t, "<encodingLimits>\n");
	put_limit(t, "kspace_encoding_step_1", &info->step1);
	put_limit(t, "kspace_encoding_step_2", &info->step2);
	put_limit(t, "average", &info->average);
	put_limit(t, "slice", &info->slice);
	put_limit(t, "contrast", &info->contrast);
	put_limit(t, "phase", &info->phase);
	put_limit(t, "repetition", &info->repetition);
	put_limit(t, "set", &info->set);
	bs_text_put(t, "</encodingLimits>\n");
	put_element(t, "trajectory", info->trajectory_name);
	bs_text_put(t, "\n");
	if (x->epi != NULL)
		put_epi(t, x->epi, x->train);
	put_parallel(t, info, &x->multiband);
	bs_text_put(t, "</encoding>\n");
}

int bs_scanxml_write(char *out, size_t size, const struct bs_scanxml *x, struct bs_fail *why)
{
	const struct bs_scan_info *info = x->info;
	struct bs_text t = { out, size, 0, size == 0 };

	bs_text_put(&t, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n");
	put_measurement(&t, info);
	bs_text_put(&t, "<acquisitionSystemInformation>");
	put_element(&t, "systemVendor", x->system);
	if (info->noise_bandwidth > 0.0f)
		bs_text_put(&t,
			    "<relativeReceiverNoiseBandwidth>%.6g</relativeReceiverNoiseBandwidth>",
			    (double)info->noise_bandwidth);
	bs_text_put(&t, "<receiverChannels>%u</receiverChannels></acquisitionSystemInformation>\n",
		    info->channels);
	bs_text_put(&t, "<experimentalConditions><H1resonanceFrequency_Hz>123200000"
			"</H1resonanceFrequency_Hz></experimentalConditions>\n");
	put_encoding(&t, x);
	bs_text_put(&t, "<sequenceParameters><TR>%.9g</TR>", x->tr_ms);
	for (size_t i = 0; i < sizeof(x->te_ms) / sizeof(x->te_ms[0]) && x->te_ms[i] > 0.0; i++)
		bs_text_put(&t, "<TE>%.9g</TE>", x->te_ms[i]);
	put_element(&t, "sequence_type", x->sequence);
	bs_text_put(&t, "</sequenceParameters>\n<userParameters>\n");
	if (info->trajectory_unit[0])
		put_string(&t, "trajectory_units", info->trajectory_unit);
	put_string(&t, "user_int_0", "readout start, microseconds from first readout");
	bs_text_put(&t, "</userParameters>\n</ismrmrdHeader>\n");
	if (t.full)
		return bs_fail(why, BS_ERR_NOMEM, "the MRD header does not fit %zu bytes", size);
	return 0;
}
