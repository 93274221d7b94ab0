/* board/tool/doctor/finding.c - see finding.h: the words, and what files below root say */
#include "board/tool/doctor/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_ 1024u

void bs_doctor_say(struct bs_doctor *d, enum bs_health health, const char *what, const char *remedy,
		   const char *figure, ...)
{
	char text[512];
	va_list args;

	va_start(args, figure);
	(void)vsnprintf(text, sizeof(text), figure, args);
	va_end(args);
	d->count[health]++;
	d->tell(d->arg, health, what, text, remedy);
}

static FILE *open_below(const struct bs_doctor *d, const char *path)
{
	char full[LINE_MAX_];

	return snprintf(full, sizeof(full), "%s%s", d->root, path) < (int)sizeof(full)
		       ? fopen(full, "r")
		       : NULL;
}

bool bs_doctor_find(const struct bs_doctor *d, const char *path, const char *start, char *out,
		    size_t cap)
{
	const size_t n = strlen(start);
	FILE *f = open_below(d, path);
	char line[LINE_MAX_];
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
		found = strncmp(line, start, n) == 0;
		line[strcspn(line, "\n")] = '\0';
		if (found)
			(void)snprintf(out, cap, "%s", line + n + strspn(line + n, " \t"));
	}
	if (f != NULL)
		(void)fclose(f);
	return found;
}

bool bs_doctor_line(const struct bs_doctor *d, const char *path, char *out, size_t cap)
{
	return bs_doctor_find(d, path, "", out, cap);
}

bool bs_doctor_number(const struct bs_doctor *d, const char *path, int64_t *value)
{
	char line[64];
	char *end;

	if (!bs_doctor_line(d, path, line, sizeof(line)))
		return false;
	errno = 0;
	*value = strtoll(line, &end, 10);
	return end != line && errno == 0;
}

bool bs_doctor_cpus(const struct bs_doctor *d, const char *path, struct bs_cpus *set)
{
	char line[LINE_MAX_];

	return bs_doctor_line(d, path, line, sizeof(line)) && bs_cpus_parse(set, line, NULL) == 0;
}

bool bs_doctor_capable(const struct bs_doctor *d, int number)
{
	char text[64];

	return bs_doctor_find(d, "/proc/self/status", "CapEff:", text, sizeof(text)) &&
	       ((strtoull(text, NULL, 16) >> number) & 1u) != 0;
}
