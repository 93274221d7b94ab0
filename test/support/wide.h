/*
 * test/support/wide.h - scans whose images are large, of two coils and 32 short spokes: sockets'
 * buffers are soon full
 */
#ifndef BS_TEST_SUPPORT_WIDE_H
#define BS_TEST_SUPPORT_WIDE_H

#include "test/support/service.h"

#define WIDE_BYTES(side) ((side) * (side)*8u * 2u)
/* A row of protocols; side: digits, of its square matrix */
#define WIDE_ROW(name, side)                                                                       \
	"{ name = \"" name "\"; method = \"noop\"; matrix = [" side ", " side "]; coils = 2;\n"    \
	"    samples = 64; readouts = 32; silence_ms = 60000.0;\n"                                 \
	"    image: { output = \"complex\"; }; trajectory: { type = \"radial2d\"; }; }"

/* A new session of such a protocol; true when it was accepted. */
static inline bool wide_begin(struct peer *p, const char *protocol, unsigned side)
{
	static const char matrix[] = "<matrixSize><x>32</x><y>32</y>";
	char xml[SERVICE_XML_MAX];
	char wide[SERVICE_XML_MAX];
	const char *from = xml;
	const char *at;
	size_t out = 0;

	xml[peer_xml(xml, protocol, false)] = '\0';
	for (; (at = strstr(from, matrix)) != NULL; from = at + strlen(matrix))
		out += (size_t)snprintf(wide + out, sizeof(wide) - out,
					"%.*s<matrixSize><x>%u</x><y>%u</y>", (int)(at - from),
					from, side, side);
	out += (size_t)snprintf(wide + out, sizeof(wide) - out, "%s", from);
	return peer_begin_with(p, protocol, wide, out);
}

#endif
