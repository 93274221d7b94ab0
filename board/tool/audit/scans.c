/* board/tool/audit/scans.c - see scans.h */
#include "board/tool/audit/scans.h"

#include <search.h>
#include <stdlib.h>

static int by_session(const void *a, const void *b)
{
	const struct bs_audit_scan *x = a;
	const struct bs_audit_scan *y = b;

	return (x->session > y->session) - (x->session < y->session);
}

struct bs_audit_scan *bs_audit_scan(struct bs_audit_scans *s, uint64_t session)
{
	struct bs_audit_scan key = { .session = session };
	struct bs_audit_scan *made;
	void *at = tfind(&key, &s->tree, by_session);

	if (at != NULL)
		return *(struct bs_audit_scan **)at;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return NULL;
	made->session = session;
	if (tsearch(made, &s->tree, by_session) == NULL) {
		free(made);
		return NULL;
	}
	s->count++;
	return made;
}

struct walk {
	void (*each)(void *arg, struct bs_audit_scan *scan);
	void *arg;
};

static void visit(const void *node, VISIT which, void *arg)
{
	const struct walk *w = arg;

	if (which == postorder || which == leaf)
		w->each(w->arg, *(struct bs_audit_scan *const *)node);
}

void bs_audit_scans_each(const struct bs_audit_scans *s,
			 void (*each)(void *arg, struct bs_audit_scan *scan), void *arg)
{
	struct walk w = { each, arg };

	twalk_r(s->tree, visit, &w);
}

void bs_audit_scans_free(struct bs_audit_scans *s)
{
	tdestroy(s->tree, free);
	s->tree = NULL;
}
