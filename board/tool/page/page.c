/* board/tool/page/page.c - see page.h */
#include "board/tool/page/page.h"

#include <stdio.h>
#include <string.h>

#include "board/status/status.h"
#include "config/tool/keypage.h"

int bs_page_main(int argc, char **argv)
{
	static char fields[BS_STATUS_MAX];

	if (argc != 3 || strcmp(argv[1], "page") != 0)
		return -1;
	if (strcmp(argv[2], "keys") == 0)
		bs_config_print_keys(stdout);
	else if (bs_status_fields(fields, sizeof(fields)) > 0)
		(void)fputs(fields, stdout);
	return 0;
}
