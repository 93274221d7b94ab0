/* core/err.c - see err.h */
#include "core/err.h"

#include <stdarg.h>
#include <stdio.h>

const char *bs_err_name(int code)
{
	static const char *const names[] = {
		"BS_OK",
		"BS_ERR_NOMEM",
		"BS_ERR_IO",
		"BS_ERR_CONFIG",
		"BS_ERR_GPU",
		"BS_ERR_UNSUPPORTED",
		"BS_ERR_STATE",
		"BS_ERR_MAGIC",
		"BS_ERR_VERSION",
		"BS_ERR_KIND",
		"BS_ERR_LENGTH",
		"BS_ERR_CRC",
		"BS_ERR_SEQUENCE",
		"BS_ERR_XML",
		"BS_ERR_PROTOCOL",
		"BS_ERR_SIZE",
		"BS_ERR_TRAJECTORY",
		"BS_ERR_VALUE",
		"BS_ERR_INDEX",
		"BS_ERR_TIMEOUT",
		"BS_ERR_ABORTED",
		"BS_ERR_BUDGET",
		"BS_ERR_FORMAT",
		"BS_ERR_USAGE",
		"BS_ERR_CALIBRATION",
		"BS_ERR_KEY",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == -BS_ERR_LAST, "one name per error");

	if (code > 0 || code <= BS_ERR_LAST)
		return "BS_ERR_?";
	return names[-code];
}

#undef bs_fail /* the function, which the macro of this name calls, follows */
int bs_fail(struct bs_fail *why, int code, const char *fmt, ...)
{
	va_list ap;

	if (why == NULL)
		return code;
	why->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return code;
}
