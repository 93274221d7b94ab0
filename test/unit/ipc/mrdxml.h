/* test/unit/ipc/mrdxml.h - headers in MRD's XML, made of parts, and how they are read */
#ifndef BS_TEST_IPC_MRDXML_H
#define BS_TEST_IPC_MRDXML_H

#include <string.h>

#include "ipc/wire/xml.h"
#include "test/support/check.h"

#define ENCODED(inner)                                                                             \
	"<encodedSpace><matrixSize>" inner "</matrixSize><fieldOfView_mm><x>600</x><y>300.5</y>"   \
	"<z> 6 </z></fieldOfView_mm></encodedSpace>"
#define RECON                                                                                      \
	"<reconSpace><matrixSize><x>256</x><y>255</y><z>1</z></matrixSize><fieldOfView_mm>"        \
	"<x>3e2</x><y>300</y><z>6</z></fieldOfView_mm></reconSpace>"
#define SIZES            "<x>512</x><y>256</y><z>1</z>"
#define ENCODING         "<encoding>" ENCODED(SIZES) RECON "</encoding>"
#define HEADER(rest)     "<?xml version=\"1.0\"?><ismrmrdHeader>" ENCODING rest "</ismrmrdHeader>"
#define BARE(encoding)   "<ismrmrdHeader>" encoding "</ismrmrdHeader>"
#define USER(kind, what) HEADER("<userParameters><" kind ">" what "</" kind "></userParameters>")

static struct bs_scan_info info;
static struct bs_fail why;

static int read_text(const char *xml)
{
	/* a copy of this very size, for the sanitizer: the reader must not need an end */
	size_t n = strlen(xml);
	char *copy = malloc(n > 0 ? n : 1);
	int rc;

	why.text[0] = '\0';
	memcpy(copy, xml, n);
	rc = bs_mrdxml_read(&info, copy, n, &why);
	free(copy);
	return rc;
}

#endif
