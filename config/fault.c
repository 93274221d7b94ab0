/* config/fault.c - see fault.h */
#include "config/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bs_fault(struct bs_faults *f, unsigned line, const char *key, const char *fmt, ...)
{
	struct bs_fault_line *at = f->kept;
	va_list ap;
	int n = 0;

	if (f->count++ >= BS_FAULTS_MAX)
		return;
	at += f->count - 1;
	at->line = line;
	at->order = f->count;
	if (key[0] != '\0')
		n = snprintf(at->text, sizeof(at->text), "%.200s: ", key);
	va_start(ap, fmt);
	(void)vsnprintf(at->text + n, sizeof(at->text) - (size_t)n, fmt, ap);
	va_end(ap);
}

static int by_line(const void *pa, const void *pb)
{
	const struct bs_fault_line *a = pa;
	const struct bs_fault_line *b = pb;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void bs_faults_tell(struct bs_faults *f, const char *file, bs_tell_line *report, void *arg)
{
	unsigned kept = f->count < BS_FAULTS_MAX ? f->count : BS_FAULTS_MAX;
	char line[sizeof(f->kept[0].text) + 300];
	char at[16];

	if (report == NULL)
		return;
	qsort(f->kept, kept, sizeof(f->kept[0]), by_line);
	for (unsigned i = 0; i < kept; i++) {
		(void)snprintf(at, sizeof(at), ":%u", f->kept[i].line);
		(void)snprintf(line, sizeof(line), "%.255s%s: %s", file,
			       f->kept[i].line > 0 ? at : "", f->kept[i].text);
		report(arg, line);
	}
	if (f->count > kept) {
		(void)snprintf(line, sizeof(line), "%.255s:%u: and %u more faults", file,
			       f->kept[kept - 1].line, f->count - kept);
		report(arg, line);
	}
}
