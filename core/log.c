/* core/log.c - see log.h */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const bs_log_levels[] = { "error", "warn", "info", "debug", NULL };

static const char *log_who = "main";
static enum bs_log_level log_level = BS_LOG_INFO;

void bs_log_init(const char *who, enum bs_log_level level)
{
	log_who = who;
	log_level = level;
}

void bs_log(enum bs_log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	if (level > log_level)
		return;
	n = snprintf(line, sizeof(line), "boreside[%s] %s: ", log_who, bs_log_levels[level]);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	for (int i = 0; i < n;
	     i++) /* text from outside must not forge a line or drive a terminal */
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = ' ';
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)n);
}
