/*
 * test/replay/geometry.c - the size, place and matrix of images as an archive reads them off the
 * wire, by the offsets of ipc/WIRE.md; a protocol that contradicts the header is refused
 */
/* Holds: W37, W38 */
#define _GNU_SOURCE
#include "test/support/expect.h"

#define IMAGE 65536

/* Twofold oversampling; an odd part of the lines; the image leaves on a matrix of its own. */
static const char body[] =
	"protocols = (\n"
	"{ name = \"cart\"; method = \"cartesian\"; matrix = [32, 31]; encoded = [64, 32];\n"
	"  coils = 2; samples = 64; readouts = 32; silence_ms = 60000.0;\n"
	"  image: { matrix = [48, 20]; }; },\n"
	"{ name = \"radial\"; method = \"gridding\"; " SERVICE_SPOKES "},\n"
	"{ name = \"firm\"; method = \"gridding\"; fov_mm = [250.0, 0.0]; " SERVICE_SPOKES "} );\n";

static struct bs_endpoint archive;

static float float_at(const unsigned char *from, size_t at)
{
	float v;

	memcpy(&v, from + at, sizeof(v));
	return v;
}

static unsigned u16_at(const unsigned char *from, size_t at)
{
	return from[at] + 256u * from[at + 1];
}

/* encodedSpace of x by 32 voxels over so many mm; a reconSpace that agrees with neither. */
static bool begin(const char *protocol, unsigned x, const char *fov)
{
	char xml[SERVICE_XML_MAX];
	int n = snprintf(
		xml, sizeof(xml),
		"<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><experimentalConditions>"
		"<H1resonanceFrequency_Hz>123000000</H1resonanceFrequency_Hz>"
		"</experimentalConditions><encoding><encodedSpace>"
		"<matrixSize><x>%u</x><y>32</y><z>1</z></matrixSize>"
		"<fieldOfView_mm>%s</fieldOfView_mm></encodedSpace>"
		"<reconSpace><matrixSize><x>128</x><y>128</y><z>1</z></matrixSize>"
		"<fieldOfView_mm><x>111</x><y>112</y><z>60</z></fieldOfView_mm></reconSpace>"
		"<encodingLimits></encodingLimits><trajectory>%s</trajectory></encoding>"
		"</ismrmrdHeader>",
		x, fov, x == 64 ? "cartesian" : "radial");

	return peer_begin_with(&p, protocol, xml, (size_t)n);
}

/* One oblique frame; its image, from the version on. */
static const unsigned char *image_of(const char *protocol)
{
	static unsigned char message[IMAGE];
	_Alignas(8) unsigned char payload[4096];
	static const float place[12] = { 12.5f,  -30.0f, 7.25f, 0.36f, -0.48f, 0.8f,
					 -0.48f, 0.64f,  0.6f,  -0.8f, -0.6f,  0.0f };
	size_t len;

	for (unsigned i = 0; i < 32; i++) {
		size_t n = peer_readout(payload, protocol, i, 0);

		memcpy(payload + 182, place, sizeof(place)); /* position, read, phase, slice */
		if (!peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, n))
			return NULL;
	}
	if (!peer_end(&p, 32) || p.outcome.code != 0 ||
	    bs_endpoint_recv(&archive, message, sizeof(message), &len, AWAIT_MS, NULL) != 0)
		return NULL;
	for (size_t i = 0; i < 12; i++)
		CHECK(float_at(message + 64 + 36, 4 * i) == place[i],
		      "%s: number %zu of position and directions: %g", protocol, i,
		      (double)float_at(message + 64 + 36, 4 * i));
	return message + 64;
}

static void expect_image(const char *protocol, const unsigned char *image, const unsigned matrix[3],
			 const double fov[3])
{
	if (image == NULL) {
		CHECK(0, "%s: an image comes: %s %s", protocol, p.answer.text, p.outcome.text);
		return;
	}
	for (size_t a = 0; a < 3; a++) {
		CHECK(u16_at(image, 16 + 2 * a) == matrix[a], "%s: %u voxels along %c", protocol,
		      u16_at(image, 16 + 2 * a), "xyz"[a]);
		CHECK(fabs((double)float_at(image, 22 + 4 * a) - fov[a]) <= 1e-7 * fov[a],
		      "%s: %g mm along %c", protocol, (double)float_at(image, 22 + 4 * a),
		      "xyz"[a]);
	}
}

static void sizes(void)
{
	const unsigned cart[3] = { 48, 20, 1 };
	const unsigned radial[3] = { 32, 32, 1 };

	CHECK(begin("cart", 64, "<x>480</x><y>224</y><z>3.5</z>"), "cart: accepted %s",
	      p.answer.text);
	expect_image("cart", image_of("cart"), cart, (const double[3]){ 240, 217, 3.5 });
	CHECK(begin("radial", 32, "<x>256</x><y>200</y><z>4</z>"), "radial: accepted %s",
	      p.answer.text);
	expect_image("radial", image_of("radial"), radial, (const double[3]){ 256, 200, 4 });
}

static void unsaid(void)
{
	const unsigned radial[3] = { 32, 32, 1 };

	CHECK(begin("firm", 32, "<x>0</x><y>0</y><z>4</z>"), "firm: accepted %s", p.answer.text);
	expect_image("firm", image_of("firm"), radial, (const double[3]){ 250, 0, 4 });
	CHECK(service_logs(&service, "the images' field of view is 0 along y:"), "the log says so");
}

static void contradiction(void)
{
	CHECK(begin("firm", 32, "<x>250.2</x><y>200</y><z>4</z>"), "firm: to a thousandth %s",
	      p.answer.text);
	CHECK(image_of("firm") != NULL, "and an image comes");
	CHECK(!begin("firm", 32, "<x>256</x><y>200</y><z>4</z>") && p.answer.code == BS_ERR_SIZE &&
		      strstr(p.answer.text, "250") != NULL && strstr(p.answer.text, "256") != NULL,
	      "refused: %s", p.answer.text);
}

int main(void)
{
	CHECK(service_start_with(&service, SERVICE_PATIENT, body, NULL) && peer_open(&p, &service),
	      "the service starts");
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, IMAGE, NULL) ==
			      0 &&
		      service_meets(&service, &archive),
	      "an archive connects");
	sizes();
	unsaid();
	contradiction();
	bs_endpoint_close(&archive);
	peer_close(&p);
	return service_end(&service);
}
