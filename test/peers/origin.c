/* test/peers/origin.c - see origin.h */
#include "test/peers/origin.h"

#include <stdio.h>
#include <string.h>

#define LIMIT(name, to, center)                                                                    \
	"<" name "><minimum>0</minimum><maximum>" to "</maximum><center>" center                   \
	"</center></" name ">"
#define STEP_1  LIMIT("kspace_encoding_step_1", "31", "16")
#define STEP_2  LIMIT("kspace_encoding_step_2", "0", "0")
#define SIEMENS "<systemVendor>SIEMENS</systemVendor>"
#define SYSTEM(v, more)                                                                            \
	"<acquisitionSystemInformation>" v "<receiverChannels>2</receiverChannels>" more           \
	"</acquisitionSystemInformation>"
#define LABELS                                                                                     \
	"<coilLabel><coilNumber>1</coilNumber><coilName>Head_20:1:H1</coilName></coilLabel>"       \
	"<coilLabel><coilNumber>5</coilNumber><coilName>Head_20:1:H2</coilName></coilLabel>"
#define HZ(n)                                                                                      \
	"<experimentalConditions><H1resonanceFrequency_Hz>" n                                      \
	"</H1resonanceFrequency_Hz></experimentalConditions>"

/* clang-format off */
const struct origin origin[ORIGINS] = {
	{ .name = "a live tap", .x = "32", .y = "32", .z = "1", .fov = "192", .limits = STEP_1
	  STEP_2 LIMIT("slice", "2", "0") LIMIT("repetition", "0", "0"), .before =
	  SYSTEM(SIEMENS, LABELS) HZ("123200000"), .after =
	  "<userParameters><userParameterLong><name>BitsStored</name><value>12</value>"
	  "</userParameterLong></userParameters>", .trajectory = "cartesian", .center = 32 },
	{ .name = "siemens_to_ismrmrd", .x = "64", .y = "32", .z = "1", .fov = "384", .limits =
	  STEP_1 STEP_2 LIMIT("slice", "2", "0") LIMIT("set", "0", "0"), .before =
	  SYSTEM(SIEMENS, LABELS) HZ("123200000"), .after =
	  "<parallelImaging><accelerationFactor><kspace_encoding_step_1>1"
	  "</kspace_encoding_step_1><kspace_encoding_step_2>1</kspace_encoding_step_2>"
	  "</accelerationFactor><calibrationMode>embedded</calibrationMode>" "</parallelImaging>",
	  .trajectory = "cartesian", .center = 32, .flags = true },
	{ .name = "ge_to_ismrmrd", .x = "64", .y = "32", .z = "1", .fov = "384", .limits = STEP_1
	  STEP_2 LIMIT("slice", "2", "1") LIMIT("contrast", "1", "0"), .before =
	  SYSTEM("<systemVendor>GE</systemVendor>", "") HZ("127740000"), .after = "", .trajectory =
	  "cartesian", .center = 32 },
	{ .name = "philips_to_ismrmrd", .x = "64", .y = "32", .z = "1", .fov = "384", .limits =
	  STEP_1 LIMIT("slice", "2", "1"), .before = SYSTEM("", "") HZ("0"), .after = "",
	  .trajectory = "cartesian", .center = 32, .lost_directions = true },
	{ .name = "bruker_to_ismrmrd", .x = "64", .y = "32", .z = "1", .fov = "384", .limits =
	  STEP_1 LIMIT("slice", "2", "1"), .before = SYSTEM("", "") HZ("300000000"), .after = "",
	  .trajectory = "cartesian", .center = 32, .each = true },
	{ .name = "nexus-console", .x = "64.0", .y = "32.0", .z = "1.0", .fov = "384.0", .limits =
	  STEP_1 STEP_2 LIMIT("slice", "2", "1"), .before = SYSTEM("", "") HZ("2046000.5"), .after =
	  "", .trajectory = "cartesian", .center = 0, .dimensions = 3 },
	{ .name = "KomaMRI", .x = "64", .y = "32", .z = "1", .fov = "384", .limits = STEP_1
	  LIMIT("kspace_encoding_step_2", "0", "1") LIMIT("slice", "0", "2") LIMIT("average", "0",
	  "1"), .before = SYSTEM("<systemVendor>KomaMRI.jl</systemVendor>", "") HZ("63000000"),
	  .after = "", .trajectory = "cartesian", .center = 32 },
	{ .name = "python's generator", .x = "64", .y = "32", .z = "1", .fov = "384", .limits =
	  STEP_1 LIMIT("slice", "2", "1"), .before = SYSTEM("", "") HZ("128000000"), .after = "",
	  .trajectory = "cartesian", .center = 32 },
	{ .name = "KomaMRI, custom", .x = "64", .y = "32", .z = "1", .fov = "384", .limits = STEP_1,
	  .before = SYSTEM("", "") HZ("63000000"), .after = "", .trajectory = "custom", .center =
	  32, .words = "custom" },
	{ .name = "MaRGE, without encoding", .x = NULL, .before = SYSTEM("", "") HZ("3.066"), .after
	  = "", .center = 0, .words = "encoding" },
};
/* clang-format on */

void origin_header(char *to, size_t size, const struct origin *o)
{
	char encoding[3000] = "";
	char limits[1500] = "";

	if (o->limits != NULL)
		(void)snprintf(limits, sizeof(limits), "<encodingLimits>%s</encodingLimits>",
			       o->limits);
	if (o->x != NULL)
		(void)snprintf(encoding, sizeof(encoding),
			       "<encoding><encodedSpace><matrixSize><x>%s</x><y>%s</y><z>%s</z>"
			       "</matrixSize><fieldOfView_mm><x>%s</x><y>192</y><z>5</z>"
			       "</fieldOfView_mm></encodedSpace><reconSpace><matrixSize><x>32</x>"
			       "<y>32</y><z>1</z></matrixSize><fieldOfView_mm><x>192</x><y>192</y>"
			       "<z>5</z></fieldOfView_mm></reconSpace>%s<trajectory>%s"
			       "</trajectory>%s</encoding>",
			       o->x, o->y, o->z, o->fov, limits, o->trajectory,
			       strncmp(o->after, "<par", 4) == 0 ? o->after : "");
	(void)snprintf(to, size,
		       "<?xml version=\"1.0\"?><ismrmrdHeader "
		       "xmlns=\"http://www.ismrm.org/ISMRMRD\"><measurementInformation>"
		       "<patientPosition>HFS</patientPosition><protocolName>t2_tse_tra"
		       "</protocolName></measurementInformation>%s%s%s</ismrmrdHeader>",
		       o->before, encoding, strncmp(o->after, "<par", 4) == 0 ? "" : o->after);
}
