/*
 * ipc/wire/xml.h - what a scan's MRD XML header says, read with expat
 *
 * Refuses (BS_ERR_XML, with line and column): malformed text, a document type or entity
 * declaration, more than 32 levels, more than BS_WIRE_XML_MAX bytes, invalid numbers, a
 * userParameter without name or value, no <encoding>. Where tools write otherwise than the
 * standard, their text is taken as WIRE.md says (OPEN), and remarked in info->remark. Expat
 * allocates while it reads (a scan is not yet accepted then); nothing is kept. Test:
 * test/unit/ipc/test_xml.c, test/unit/ipc/test_habits.c, test/fuzz/fuzz_mrdxml.c
 */
#ifndef BS_IPC_WIRE_XML_H
#define BS_IPC_WIRE_XML_H

#include <stddef.h>

#include "core/err.h"
#include "core/mrd.h"

int bs_mrdxml_read(struct bs_scan_info *info, const char *xml, size_t len, struct bs_fail *why);
/*
 * The bytes of a reason text before the words that it repeats from the header. Those words are for
 * the sender alone: they may name a patient, whom no service's log, status or page may name.
 */
size_t bs_mrdxml_bare(const char *text);

#endif
