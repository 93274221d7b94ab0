/* board/emit/sinks.c - see sinks.h */
#include "board/emit/sinks.h"

#include <stdio.h>
#include <string.h>

#include "board/emit/folder.h"
#include "drivers/file/draft.h"

int bs_sinks_open(struct emit *e, uint32_t sink, struct bs_fail *why)
{
	const char *dir = e->env->site.sink[sink].dir;
	int rc;

	if (e->sink[sink].self != NULL)
		return 0;
	rc = bs_folder_make(dir, 0755, why);
	if (rc != 0)
		return rc;
	(void)bs_draft_sweep(dir);
	return e->sink[sink].type->open(&e->sink[sink].self, dir, why);
}

int bs_sinks_open_all(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < site->sinks; i++) {
		e->sink[i].type = bs_sink_find(site->sink[i].type);
		if (e->sink[i].type == NULL)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "sink %u: no type '%s'", i + 1,
				       site->sink[i].type);
		if (!bs_emit_succeeds(e))
			rc = bs_sinks_open(e, i, why);
	}
	return rc;
}

/* Somebody deleted the sink's folder: it is made again, and that is said. */
static bool made_again(struct emit *e, uint32_t sink)
{
	const char *dir = e->env->site.sink[sink].dir;
	char line[BS_EVENT_TEXT];

	if (!bs_folder_gone(dir) || bs_folder_make(dir, 0755, NULL) != 0)
		return false;
	(void)snprintf(line, sizeof(line), "%s was deleted: it is made again", dir);
	bs_emit_say(e, BS_EVENT_LIMIT, 0, line);
	return true;
}

int bs_sinks_put(struct emit *e, uint32_t sink, const struct bs_mrd_image *head,
		 const unsigned char *attributes, size_t n, const unsigned char *pixels,
		 struct bs_fail *why)
{
	struct bs_taker_record *r = &e->env->shm.s->taker[sink];
	char text[BS_POOLS_ATTRIBUTES + 1];
	struct bs_fail own = { 0 };
	int rc;

	memcpy(text, attributes, n);
	text[n] = '\0';
	rc = bs_sink_put(e->sink[sink].type, e->sink[sink].self, head, text, pixels, &own);
	if (rc != 0 && made_again(e, sink)) {
		own = (struct bs_fail){ 0 };
		rc = bs_sink_put(e->sink[sink].type, e->sink[sink].self, head, text, pixels, &own);
	}
	(void)snprintf(r->refusal, sizeof(r->refusal), "%s", own.text);
	if (rc != 0 && why != NULL)
		*why = own;
	return rc;
}

void bs_sinks_close_all(struct emit *e)
{
	struct bs_fail why = { 0 };

	for (uint32_t i = 0; i < e->env->site.sinks; i++)
		if (e->sink[i].self != NULL && e->sink[i].type->close(e->sink[i].self, &why) != 0)
			bs_emit_fault(e, &why);
}
