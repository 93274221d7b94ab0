/* core/progress.c - see progress.h */
#include "core/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/thread/clock.h"

#define WIDTH 78 /* columns of a terminal that the line may use */

static bool used, terminal;
static const struct bs_progress *active; /* the outermost piece of work that was begun */

void bs_progress_use(void)
{
	used = true;
	terminal = isatty(STDERR_FILENO) != 0;
}

void bs_progress_begin(struct bs_progress *p, const char *what, uint64_t of, const char *unit)
{
	*p = (struct bs_progress){ .what = what, .unit = unit, .of = of };
	p->begun_ns = used ? bs_now_ns() : 0;
	if (used && active == NULL)
		active = p;
}

/* Writes "about 12 s left", or nothing. */
static int put_left(char *out, size_t cap, const struct bs_progress *p, uint64_t done,
		    int64_t now_ns)
{
	const double spent_s = (double)(now_ns - p->begun_ns) * 1e-9;

	if (p->of == 0 || done == 0 || done > p->of)
		return 0;
	return snprintf(out, cap, ", about %.0f s left",
			spent_s * (double)(p->of - done) / (double)done);
}

static void tell_progress(struct bs_progress *p, uint64_t done, int64_t now_ns)
{
	char line[200];
	int n = snprintf(line, sizeof(line), terminal ? "\r%.60s: " : "%.60s: ", p->what);

	if (p->of > 0)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%.0f %%",
			      100.0 * (double)done / (double)p->of);
	if (p->unit[0] != '\0')
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%llu %.30s",
			      p->of > 0 ? ", " : "", (unsigned long long)done, p->unit);
	n += put_left(line + n, sizeof(line) - (size_t)n, p, done, now_ns);
	if (!terminal)
		line[n++] = '\n';
	for (; terminal && n <= WIDTH; n++) /* the line before may be longer */
		line[n] = ' ';
	(void)!write(STDERR_FILENO, line, (size_t)n);
	p->told = true;
	p->told_ns = now_ns;
}

void bs_progress_at(struct bs_progress *p, uint64_t done)
{
	int64_t now_ns;
	int64_t due_ns;

	if (active != p || !used)
		return;
	now_ns = bs_now_ns();
	if (!p->told)
		due_ns = p->begun_ns + (terminal ? BS_PROGRESS_FIRST_NS : BS_PROGRESS_PLAIN_NS);
	else
		due_ns = p->told_ns + (terminal ? BS_PROGRESS_AGAIN_NS : BS_PROGRESS_PLAIN_NS);
	if (now_ns >= due_ns)
		tell_progress(p, done, now_ns);
}

void bs_progress_part(void *arg, double done)
{
	const double parts = done * BS_PROGRESS_WHOLE;

	bs_progress_at(arg, parts > 0.0 ? (uint64_t)parts : 0);
}

void bs_progress_hide(struct bs_progress *p)
{
	char blank[WIDTH + 3];

	if (active != p || !p->told || !terminal)
		return;
	memset(blank, ' ', sizeof(blank));
	blank[0] = blank[sizeof(blank) - 1] = '\r';
	(void)!write(STDERR_FILENO, blank, sizeof(blank));
}

void bs_progress_end(struct bs_progress *p)
{
	bs_progress_hide(p);
	if (active == p)
		active = NULL;
}
