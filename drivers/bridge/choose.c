/* drivers/bridge/choose.c - see choose.h */
#include "drivers/bridge/choose.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "ipc/wire/xml.h"

#define PREFIX_MAX 32 /* bytes of a namespace's prefix, its colon included */
#define ROOM       (200 + 4 * PREFIX_MAX) /* bytes of an element, and of the group around all */

static double number_of(const json_t *value)
{
	double v = (double)NAN;

	if (json_is_number(value))
		v = json_number_value(value);
	else if (!json_is_string(value) || !bs_text_number(json_string_value(value), &v))
		v = (double)NAN;
	return v;
}

void bs_chosen_read(struct bs_chosen *c, const unsigned char *text, size_t len)
{
	json_error_t error;
	json_t *root = json_loadb((const char *)text, len, 0, &error);
	json_t *parameters = json_object_get(root, "parameters");

	for (unsigned i = 0; i < BS_SCANKEYS; i++) {
		const json_t *v = json_object_get(parameters, bs_scankey_id((enum bs_scankey)i));

		if (v == NULL || json_is_null(v))
			continue;
		c->given |= 1u << i;
		c->value[i] = number_of(v);
	}
	json_decref(root);
}

bool bs_chosen_drop(struct bs_chosen *c, const struct bs_protocol *p, char *words, size_t size)
{
	struct bs_text t = { words, size, 0, false };

	words[0] = '\0';
	for (unsigned i = 0; i < BS_SCANKEYS; i++)
		if (c->given & ~(p != NULL ? p->scan_keys : 0u) & 1u << i)
			bs_text_put(&t, "%s'%s'", t.len > 0 ? ", " : "parameters ",
				    bs_scankey_id((enum bs_scankey)i));
	c->given &= p != NULL ? p->scan_keys : 0u;
	return words[0] != '\0';
}

/* The last end tag of this local name: its offset, SIZE_MAX: none; and the prefix of its name. */
static size_t end_of(const unsigned char *xml, size_t len, const char *name,
		     char prefix[PREFIX_MAX])
{
	const size_t n = strlen(name);

	for (size_t at = len; at-- > 2;) {
		size_t from = at;

		if (len - at < n || memcmp(xml + at, name, n) != 0 || xml[at - 1] == '<')
			continue;
		while (from > 2 && at - from < PREFIX_MAX - 1 && xml[from - 1] != '/')
			from--;
		if (xml[from - 1] != '/' || xml[from - 2] != '<')
			continue;
		(void)snprintf(prefix, PREFIX_MAX, "%.*s", (int)(at - from), (const char *)xml + from);
		return from - 2;
	}
	return SIZE_MAX;
}

static void put_elements(struct bs_text *t, const struct bs_chosen *c, const char *p)
{
	for (unsigned i = 0; i < BS_SCANKEYS; i++)
		if (c->given >> i & 1u)
			bs_text_put(t,
				    "<%suserParameterDouble><%sname>" BS_SCANKEY_PREFIX
				    "%s</%sname><%svalue>%.17g</%svalue></%suserParameterDouble>",
				    p, p, bs_scankey_id((enum bs_scankey)i), p, p, c->value[i], p, p);
}

/* They stand in it, with these values. */
static bool holds(const struct bs_chosen *c, const unsigned char *xml, size_t len)
{
	static struct bs_scan_info info;

	if (bs_mrdxml_read(&info, (const char *)xml, len, NULL) != 0 || info.scan_keys != c->given)
		return false;
	for (unsigned i = 0; i < BS_SCANKEYS; i++)
		if ((c->given >> i & 1u) && info.scan_value[i] != c->value[i])
			return false;
	return true;
}

static int check_values(const struct bs_chosen *c, struct bs_fail *why)
{
	for (unsigned i = 0; i < BS_SCANKEYS; i++)
		if ((c->given >> i & 1u) && !isfinite(c->value[i]))
			return bs_fail(why, BS_ERR_VALUE, "parameter '%s' is no number",
				       bs_scankey_id((enum bs_scankey)i));
	return 0;
}

int bs_chosen_write(const struct bs_chosen *c, unsigned char **xml, size_t *len,
		    struct bs_fail *why)
{
	char words[ROOM * (BS_SCANKEYS + 1)];
	char p[PREFIX_MAX] = "";
	struct bs_text t = { words, sizeof(words), 0, false };
	size_t at = end_of(*xml, *len, "userParameters", p);
	const bool group = at == SIZE_MAX;
	unsigned char *to;
	int rc = check_values(c, why);

	if (rc != 0)
		return rc;
	if (group)
		at = end_of(*xml, *len, "ismrmrdHeader", p);
	if (group)
		bs_text_put(&t, "<%suserParameters>", p);
	put_elements(&t, c, p);
	if (group)
		bs_text_put(&t, "</%suserParameters>", p);
	to = at != SIZE_MAX ? malloc(*len + t.len) : NULL;
	if (to != NULL) {
		memcpy(to, *xml, at);
		memcpy(to + at, words, t.len);
		memcpy(to + at + t.len, *xml + at, *len - at);
	}
	if (to == NULL || !holds(c, to, *len + t.len)) {
		free(to);
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "parameters cannot be set: this header has no place for them");
	}
	free(*xml);
	*xml = to;
	*len += t.len;
	return 0;
}
