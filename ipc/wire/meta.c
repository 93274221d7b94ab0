/* ipc/wire/meta.c - see meta.h */
#include "ipc/wire/meta.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

struct reader {
	XML_Parser parser;
	bs_pair_each *each;
	void *arg;
	int depth; /* number of elements that are open */
	bool refused;
	bool in_meta;
	unsigned values;
	char name[BS_META_TEXT + 1], text[BS_META_TEXT + 1];
	size_t len;
	bool cut;
};

static void XMLCALL on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
	struct reader *r = arg;

	(void)attributes;
	r->depth++;
	r->len = 0;
	r->cut = false;
	if (r->depth == 2) {
		r->in_meta = strcmp(name, "meta") == 0;
		r->values = 0;
		r->name[0] = '\0';
	}
}

static void XMLCALL on_text(void *arg, const XML_Char *text, int len)
{
	struct reader *r = arg;
	const size_t n = bs_text_cut(text, (size_t)len, BS_META_TEXT - r->len);

	if (r->depth != 3 || r->cut)
		return;
	r->cut = n < (size_t)len;
	memcpy(r->text + r->len, text, n);
	r->len += n;
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
	struct reader *r = arg;

	r->text[r->len] = '\0';
	if (r->depth == 3 && r->in_meta && strcmp(name, "name") == 0)
		memcpy(r->name, r->text, r->len + 1);
	else if (r->depth == 3 && r->in_meta && strcmp(name, "value") == 0)
		r->each(r->arg, r->name, r->text, r->values++);
	r->depth--;
	r->len = 0;
}

static void XMLCALL on_doctype(void *arg, const XML_Char *name, const XML_Char *system_id,
			       const XML_Char *public_id, int internal_subset)
{
	struct reader *r = arg;

	(void)name;
	(void)system_id;
	(void)public_id;
	(void)internal_subset;
	r->refused = true;
	(void)XML_StopParser(r->parser, XML_FALSE);
}

static int read_bytes(const char *attributes, size_t len, bs_pair_each *each, void *arg,
		      struct bs_fail *why)
{
	struct reader r = { .each = each, .arg = arg };
	int rc = 0;

	if (len == 0)
		return 0;
	if (len > INT_MAX)
		return bs_fail(why, BS_ERR_XML, "attributes of %zu bytes", len);
	r.parser = XML_ParserCreate("UTF-8");
	if (r.parser == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory to read attributes");
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
	if (XML_Parse(r.parser, attributes, (int)len, XML_TRUE) != XML_STATUS_OK)
		rc = bs_fail(why, BS_ERR_XML, "attributes: %s",
			     r.refused ? "a document type"
				       : XML_ErrorString(XML_GetErrorCode(r.parser)));
	XML_ParserFree(r.parser);
	return rc;
}

int bs_meta_read(const char *attributes, bs_pair_each *each, void *arg, struct bs_fail *why)
{
	return read_bytes(attributes, strlen(attributes), each, arg, why);
}

#define VENC 64u /* bytes of a number */

static void take_venc(void *arg, const char *name, const char *value, unsigned index)
{
	if (index == 0 && strcmp(name, "boreside_venc") == 0)
		(void)snprintf(arg, VENC, "%s", value);
}

double bs_meta_reach(const struct bs_mrd_image *head, const char *attributes, size_t len)
{
	char venc[VENC] = "";

	if (head->image_type == BS_MRD_PHASE)
		(void)read_bytes(attributes, len, take_venc, venc, NULL);
	return bs_meta_reach_of(head, venc);
}
