/* drivers/tool/replay/asking.c - see asking.h */
#include "drivers/tool/replay/asking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/wire/about.h"
#include "ipc/wire/xml.h"

#define PARAMETER                                                                                  \
	"<userParameterLong><name>" BS_ABOUT_ANSWERS "</name><value>1</value></userParameterLong>"

char *bs_asking_xml(const char *xml, struct bs_fail *why)
{
	struct bs_scan_info *info = malloc(sizeof(*info));
	const size_t size = strlen(xml) + sizeof("<userParameters></userParameters>" PARAMETER);
	char *out = info != NULL ? malloc(size) : NULL;

	if (out == NULL) {
		(void)bs_fail(why, BS_ERR_NOMEM, "no memory for the header");
	} else if (bs_mrdxml_read(info, xml, strlen(xml), why) != 0) {
		free(out);
		out = NULL;
	} else {
		(void)snprintf(out, size, "%.*s%s" PARAMETER "%s%s", (int)info->user_at, xml,
			       info->user_there ? "" : "<userParameters>",
			       info->user_there ? "" : "</userParameters>", xml + info->user_at);
	}
	free(info);
	return out;
}
