/* drivers/bridge/choose.c - see choose.h */
#include "drivers/bridge/choose.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "ipc/wire/xml.h"

#define ROOM 200 /* bytes of an element, and of the group around all */

static double number_of(const json_t *value)
{
	double v;

	if (json_is_string(value) && bs_text_number(json_string_value(value), &v))
		return v;
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
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

/* They stand in it, and the protocol takes them. */
static int check_written(const struct bs_chosen *c, const struct bs_protocol *p, const char *xml,
			 size_t len, struct bs_fail *why)
{
	static struct bs_scan_info info;

	if (bs_mrdxml_read(&info, xml, len, NULL) != 0 || (c->given & ~info.scan_keys) != 0)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "nothing can be added to this header");
	return bs_scankey_admit(p, &info, why);
}

int bs_chosen_write(const struct bs_chosen *c, const struct bs_protocol *p,
		    const struct bs_scan_info *info, unsigned char **xml, size_t *len,
		    struct bs_fail *why)
{
	char words[ROOM * (BS_SCANKEYS + 1)];
	struct bs_text t = { words, sizeof(words), 0, false };
	char *to = malloc(*len + sizeof(words));
	int rc;

	if (to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the header");
	bs_text_put(&t, info->user_there ? "" : "<userParameters>");
	for (unsigned i = 0; i < BS_SCANKEYS; i++)
		if (c->given >> i & 1u)
			bs_text_put(&t,
				    "<userParameterDouble><name>" BS_SCANKEY_PREFIX "%s</name>"
				    "<value>%.17g</value></userParameterDouble>",
				    bs_scankey_id((enum bs_scankey)i), c->value[i]);
	bs_text_put(&t, info->user_there ? "" : "</userParameters>");
	memcpy(to, *xml, info->user_at);
	memcpy(to + info->user_at, words, t.len);
	memcpy(to + info->user_at + t.len, *xml + info->user_at, *len - info->user_at);
	rc = check_written(c, p, to, *len + t.len, why);
	free(rc == 0 ? (char *)*xml : to);
	if (rc != 0)
		return rc;
	*xml = (unsigned char *)to;
	*len += t.len;
	return 0;
}
