/* test/mutate/header_mutations.c - matrices, words and numbers of the header; see mutations.h */
#include <stdlib.h>
#include <string.h>

#include "test/mutate/mutations.h"

#define SET_WORD(to, ...) (void)snprintf(to, sizeof(to), __VA_ARGS__)

static void without_oversampling(struct scan *s)
{
	SET_WORD(s->header.encoded[0], "%u", s->plan.nx);
	SET_WORD(s->header.encoded_fov[0], "%u", 5 * s->plan.nx);
}

static void odd_oversampling(struct scan *s)
{
	SET_WORD(s->header.encoded[0], "%u", s->plan.nx * 3 / 2);
	SET_WORD(s->header.encoded_fov[0], "%u", 5 * s->plan.nx * 3 / 2);
}

static void as_it_is(struct scan *s)
{
	(void)s;
}

static void word_propellor(struct scan *s)
{
	SET_WORD(s->header.trajectory, "propellor");
}

static void word_custom(struct scan *s)
{
	SET_WORD(s->header.trajectory, "custom");
}

static void word_absent(struct scan *s)
{
	s->header.trajectory[0] = '\0';
}

static void epi_as_cartesian(struct scan *s)
{
	SET_WORD(s->header.trajectory, "cartesian");
	SET_WORD(s->header.description,
		 "<trajectoryDescription><identifier>ConventionalEPI</identifier>"
		 "<userParameterLong><name>etl</name><value>%u</value></userParameterLong>"
		 "<userParameterLong><name>numberOfNavigators</name><value>3</value>"
		 "</userParameterLong>"
		 "<userParameterLong><name>rampUpTime</name><value>100</value></userParameterLong>"
		 "<userParameterLong><name>rampDownTime</name><value>100</value>"
		 "</userParameterLong>"
		 "<userParameterLong><name>flatTopTime</name><value>%u</value>"
		 "</userParameterLong>"
		 "<userParameterLong><name>acqDelayTime</name><value>100</value>"
		 "</userParameterLong>"
		 "<userParameterLong><name>numSamples</name><value>%u</value></userParameterLong>"
		 "<userParameterDouble><name>dwellTime</name><value>5</value>"
		 "</userParameterDouble></trajectoryDescription>",
		 s->plan.ny, 5 * plan_samples(&s->plan), plan_samples(&s->plan));
}

static void two_partitions(struct scan *s)
{
	SET_WORD(s->header.encoded[2], "2");
	SET_WORD(s->header.encoded_fov[2], "10");
}

static void two_partitions_double_y(struct scan *s)
{
	two_partitions(s);
	SET_WORD(s->header.recon[1], "%u", 2 * s->plan.ny);
	s->recon[1] *= 2;
	s->voxel_mm[1] /= 2.0;
}

static void embedded_without_acceleration(struct scan *s)
{
	SET_WORD(s->header.calibration, "embedded");
}

static void acceleration_fraction(struct scan *s)
{
	SET_WORD(s->header.accel[0], "1.5");
	s->acceleration_lies = true;
}

static void acceleration_zero(struct scan *s)
{
	SET_WORD(s->header.accel[0], "0");
}

static void two_te(struct scan *s)
{
	SET_WORD(s->header.te[0], "4.9");
	SET_WORD(s->header.te[1], "0");
}

static void empty_number(struct scan *s)
{
	SET_WORD(s->header.sequence, "<echoTrainLength></echoTrainLength><flipAngle_deg/>");
	SET_WORD(s->header.user, "<userParameterDouble><name>Offset</name><value></value>"
				 "</userParameterDouble>");
}

static void numbers_with_points(struct scan *s)
{
	for (int a = 0; a < 3; a++) {
		strcat(s->header.encoded[a], ".0");
		strcat(s->header.recon[a], ".0");
	}
}

static void near_numbers(struct scan *s)
{
	SET_WORD(s->header.encoded[2], "%u.9996", s->plan.nz - 1);
}

static void frequency_fraction(struct scan *s)
{
	SET_WORD(s->header.h1, "3.1587");
}

static void no_encoding(struct scan *s)
{
	s->header.no_encoding = true;
}

static void no_channels(struct scan *s)
{
	s->header.channels[0] = '\0';
}

static void no_channels_and_vendor(struct scan *s)
{
	no_channels(s);
	s->header.vendor[0] = '\0';
}

static void more_channels(struct scan *s)
{
	SET_WORD(s->header.channels, "32");
}

static void zero_channels(struct scan *s)
{
	SET_WORD(s->header.channels, "0");
}

static void no_patient_position(struct scan *s)
{
	s->header.position[0] = '\0';
}

static void no_measurement(struct scan *s)
{
	s->header.position[0] = s->header.measurement[0] = '\0';
}

static void unknown_elements(struct scan *s)
{
	SET_WORD(s->header.unknown, "<siteSpecific a=\"1\"><deep><deeper>2</deeper></deep>"
				    "</siteSpecific><another/>");
	SET_WORD(s->header.sequence,
		 "<diffusionDimension>contrast</diffusionDimension><diffusion><gradientDirection>"
		 "<rl>0</rl><ap>0</ap><fh>1</fh></gradientDirection><bvalue>1000</bvalue>"
		 "</diffusion>");
}

static void one_band(struct scan *s)
{
	if (s->header.parallel[0] != '\0') /* another says more */
		return;
	SET_WORD(s->header.parallel,
		 "<multiband><spacing><dZ>0</dZ></spacing><deltaKz>1</deltaKz>"
		 "<multiband_factor>1</multiband_factor><calibration>separable2D</calibration>"
		 "<calibration_encoding>0</calibration_encoding></multiband>");
}

static void two_bands_said(struct scan *s)
{
	one_band(s);
	SET_WORD(s->header.parallel,
		 "<multiband><spacing><dZ>0</dZ><dZ>8</dZ></spacing><deltaKz>1</deltaKz>"
		 "<multiband_factor>2</multiband_factor><calibration>separable2D</calibration>"
		 "<calibration_encoding>0</calibration_encoding></multiband>");
	s->plan.bands = true;
	for (uint32_t n = 0; n < s->frame_count; n++)
		s->frames[n].many = true;
}

static void labels_with_gaps(struct scan *s)
{
	size_t n = 0;

	for (uint32_t c = 0; c < s->plan.coils; c++)
		n += (size_t)snprintf(s->header.labels + n, sizeof(s->header.labels) - n,
				      "<coilLabel><coilNumber>%u</coilNumber>"
				      "<coilName>HeadNeck_64:1:H%u</coilName></coilLabel>",
				      40 - 7 * c, c + 3);
}

static void fewer_labels(struct scan *s)
{
	SET_WORD(s->header.labels, "<coilLabel><coilNumber>9</coilNumber>"
				   "<coilName>Body:1:B1</coilName></coilLabel>");
}

static void depends_on(struct scan *s, const char *type, const char *id)
{
	const size_t n = strlen(s->header.dependency);

	(void)snprintf(s->header.dependency + n, sizeof(s->header.dependency) - n,
		       "<measurementDependency><dependencyType>%s</dependencyType>"
		       "<measurementID>%s</measurementID></measurementDependency>",
		       type, id);
}

static void unknown_noise(struct scan *s)
{
	depends_on(s, "NOISE", "45_1_2_1");
}

static void one_id(struct scan *s)
{
	depends_on(s, "SenMap", "45_1_2_2");
	depends_on(s, "Noise", "45_1_2_2");
}

static void field_of_view_in_metres(struct scan *s)
{
	for (int a = 0; a < 3; a++) {
		SET_WORD(s->header.encoded_fov[a], "%g",
			 strtod(s->header.encoded_fov[a], NULL) / 1e3);
		SET_WORD(s->header.recon_fov[a], "%g", strtod(s->header.recon_fov[a], NULL) / 1e3);
	}
}

static void field_of_view_zero(struct scan *s)
{
	for (int a = 0; a < 3; a++) {
		SET_WORD(s->header.encoded_fov[a], "0");
		SET_WORD(s->header.recon_fov[a], "0");
	}
	s->no_field_of_view = true;
}

static void no_xml(struct scan *s)
{
	s->header.raw = "{ \"header\": \"this is no XML\" }";
}

static void cut_xml(struct scan *s)
{
	s->header.raw = "<?xml version=\"1.0\"?><ismrmrdHeader><encoding><encodedSpace>";
}

const struct mutation header_mutations[] = {
	{ "1a", TAKE, "CSEPGID", "encodedSpace without the oversampling", NULL,
	  without_oversampling },
	{ "2a", TAKE, "CSEPGIRD", "encodedSpace with it", NULL, as_it_is },
	{ "3a", REFUSE, "CSEPGD", "samples are no multiple of encodedSpace", NULL,
	  odd_oversampling },
	{ "38a", TAKE, "I", "cartesian and ConventionalEPI", NULL, epi_as_cartesian },
	{ "39a", REFUSE, "CSD", "trajectory propellor", NULL, word_propellor },
	{ "39b", REFUSE, "CSD", "trajectory custom", NULL, word_custom },
	{ "39c", REFUSE, "CSD", "no trajectory element", NULL, word_absent },
	{ "42a", MIND, "CSE", "two partitions encoded, one measured", NULL, two_partitions },
	{ "42b", MIND, "CSE", "the same, and reconSpace twice as long in y", NULL,
	  two_partitions_double_y },
	{ "44a", TAKE, "CSEPD", "calibrationMode embedded without acceleration", NULL,
	  embedded_without_acceleration },
	{ "45a", REFUSE, "CSEPGD", "acceleration 1.5", NULL, acceleration_fraction },
	{ "45b", REFUSE, "CSEPD", "acceleration 0", NULL, acceleration_zero },
	{ "46b", REFUSE, "S", "multiband 2 in the header", NULL, two_bands_said },
	{ "47a", TAKE, "CSPGIRD", "two TE of one contrast, the second 0", NULL, two_te },
	{ "48a", MIND, "CSEPGIRD", "an empty number", NULL, empty_number },
	{ "48b", MIND, "CSEPGIRD", "64.0", NULL, numbers_with_points },
	{ "48c", MIND, "CSEPGIRD", "35.9996 partitions", NULL, near_numbers },
	{ "48d", MIND, "CSEPGIRD", "H1 frequency with a fraction", NULL, frequency_fraction },
	{ "49a", REFUSE, "CR", "no encoding", NULL, no_encoding },
	{ "49b", MIND, "CSEPGIRD", "no receiverChannels", NULL, no_channels },
	{ "49c", MIND, "CR", "nothing of the system", NULL, no_channels_and_vendor },
	{ "49d", TAKE, "CSEPGIRD", "receiverChannels 32 of fewer", NULL, more_channels },
	{ "49e", MIND, "CSR", "receiverChannels 0", NULL, zero_channels },
	{ "50a", TAKE, "CSEPGIRD", "no patientPosition", NULL, no_patient_position },
	{ "50b", TAKE, "CSEPGIRD", "no measurementInformation", NULL, no_measurement },
	{ "50c", TAKE, "CSEPGIRD", "unknown elements, diffusion", NULL, unknown_elements },
	{ "50d", TAKE, "CSEPGID", "multiband factor 1", NULL, one_band },
	{ "51a", TAKE, "CSEPGIRD", "coilLabel with gaps, unsorted", NULL, labels_with_gaps },
	{ "51b", TAKE, "CSEPGIRD", "fewer labels than channels", NULL, fewer_labels },
	{ "52a", MIND, "CSEPGIRD", "an unknown NOISE", NULL, unknown_noise },
	{ "52b", MIND, "CSEPGIRD", "one id for SenMap and Noise", NULL, one_id },
	{ "53a", REFUSE, "CSR", "field of view in metres", NULL, field_of_view_in_metres },
	{ "53b", REFUSE, "CSR", "field of view 0", NULL, field_of_view_zero },
	{ "70a", REFUSE, "CR", "a header that is no XML", NULL, no_xml },
	{ "70b", REFUSE, "C", "a header that is cut", NULL, cut_xml },
	{ 0 },
};
