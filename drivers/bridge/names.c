/* drivers/bridge/names.c - see names.h */
#include "drivers/bridge/names.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"
#include "core/text.h"
#include "ipc/wire/xml.h"

/* Begins a Gadgetron query for a measurement's noise statistics; the measurement's ID follows. */
#define NOISE "GadgetronNoiseCovarianceMatrix_"

static bool blank(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void bs_names_config(char out[BS_NAMES_MAX], const unsigned char *text, size_t len)
{
	out[0] = '\0';
	while (len > 0 && blank(text[0])) {
		text++;
		len--;
	}
	while (len > 0 && blank(text[len - 1]))
		len--;
	if (len == 0 || len >= BS_NAMES_MAX)
		return;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '<' || text[i] == '{')
			return;
	memcpy(out, text, len);
	out[len] = '\0';
}

bool bs_names_noise(char out[BS_NAME_MAX], const unsigned char *text, size_t len)
{
	const unsigned char *at = memmem(text, len, NOISE, strlen(NOISE));
	size_t n = 0;

	if (at == NULL)
		return false;
	at += strlen(NOISE);
	len -= (size_t)(at - text);
	while (n < len && n < BS_NAME_MAX - 1 && at[n] > 0x20 && at[n] < 0x7f &&
	       strchr("<>\"'&", at[n]) == NULL)
		n++;
	memcpy(out, at, n);
	out[n] = '\0';
	return true;
}

bool bs_names_parameters(char out[BS_NAMES_MAX], const unsigned char *text, size_t len)
{
	json_error_t error;
	json_t *root = json_loadb((const char *)text, len, 0, &error);
	const json_t *parameters = json_object_get(root, "parameters");
	const json_t *config = json_object_get(parameters, "config");
	const json_t *custom = json_object_get(parameters, "customconfig");
	const char *name = json_string_value(config);

	out[0] = '\0';
	/* a console has a field for a user's own name */
	if (json_string_length(custom) > 0)
		name = json_string_value(custom);
	if (name != NULL)
		bs_names_config(out, (const unsigned char *)name, strlen(name));
	json_decref(root);
	return out[0] != '\0';
}

bool bs_names_unused(char *words, size_t size, const unsigned char *text, size_t len)
{
	json_error_t error;
	json_t *root = json_loadb((const char *)text, len, 0, &error);
	json_t *parameters = json_object_get(root, "parameters");
	struct bs_text t = { words, size, 0, false };
	const char *id;
	json_t *value;

	words[0] = '\0';
	if (root == NULL)
		bs_text_put(&t, "a text that is no JSON");
	json_object_foreach (parameters, id, value) {
		char name[BS_NAMES_MAX];

		bs_names_config(name, (const unsigned char *)id, strlen(id));
		if (strcmp(id, "config") != 0 && strcmp(id, "customconfig") != 0 &&
		    bs_scankey_find(id) < 0)
			bs_text_put(&t, "%s'%.60s'", t.len > 0 ? ", " : "parameters ", name);
	}
	json_decref(root);
	return words[0] != '\0';
}

static const struct bs_mrd_config *row(const struct bs_site *site, const char *name)
{
	for (uint32_t i = 0; i < site->mrd.configs; i++)
		if (strcmp(site->mrd.config[i].name, name) == 0)
			return &site->mrd.config[i];
	return NULL;
}

static const char *by_name(const struct bs_site *site, const char *name)
{
	const struct bs_mrd_config *c = row(site, name);
	const struct bs_protocol *p;

	if (c != NULL)
		return c->protocol;
	p = bs_site_protocol(site, name);
	return p != NULL ? p->name : NULL;
}

/* Fails with a list of all configs that a client could have asked for. */
static void offer(struct bs_fail *why, const struct bs_site *site, const char *config)
{
	char words[300] = "";
	struct bs_text t = { words, sizeof(words), 0, false };

	for (uint32_t i = 0; i < site->mrd.configs; i++)
		bs_text_put(&t, "%s'%s'", t.len > 0 ? ", " : "", site->mrd.config[i].name);
	for (uint32_t i = 0; i < site->protocols; i++)
		bs_text_put(&t, "%s'%s'", t.len > 0 ? ", " : "", site->protocol[i].name);
	if (config[0] == '\0')
		(void)bs_fail(why, BS_ERR_PROTOCOL,
			      "no config is named, the header's protocol is none of this site's, "
			      "nor is one alone for such a header; there is %s%s",
			      words, t.full ? ", ..." : "");
	else
		(void)bs_fail(why, BS_ERR_PROTOCOL, "no config '%.60s' here; there is %s%s", config,
			      words, t.full ? ", ..." : "");
}

/* Finds a protocol by a config's name, with and without .xml; NULL: there is none. */
static const char *named(const struct bs_site *site, const char *config)
{
	const char *protocol = by_name(site, config);
	const size_t stem = bs_text_stem(config, ".xml");
	char bare[BS_NAMES_MAX];

	if (protocol != NULL || stem == 0 || stem + 4 >= sizeof(bare))
		return protocol;
	(void)snprintf(bare, sizeof(bare), "%.*s", (int)stem, config);
	return by_name(site, bare);
}

bool bs_names_known(const struct bs_site *site, const char *config)
{
	return named(site, config) != NULL;
}

/*
 * Returns the only protocol that takes this header, of several the only one with as many coils as
 * receiverChannels; NULL: there is none.
 */
static const char *only_one(const struct bs_site *site, const struct bs_scan_info *info)
{
	/* protocols that fit: with fewer coils, with as many */
	const char *found[2] = { NULL, NULL };
	uint32_t count[2] = { 0, 0 };

	for (uint32_t i = 0; info != NULL && i < site->protocols; i++) {
		const bool same = site->protocol[i].coils == info->channels;

		if (bs_admit_scan(&site->protocol[i], info, NULL) != 0)
			continue;
		found[same] = site->protocol[i].name;
		count[same]++;
	}
	return count[count[1] > 0] == 1 ? found[count[1] > 0] : NULL;
}

int bs_names_find(const char **protocol, const struct bs_site *site, const char *config,
		  const struct bs_scan_info *info, struct bs_fail *why)
{
	const struct bs_mrd_config *any = row(site, "*");
	const bool open = config[0] == '\0' || strcmp(config, "openrecon") == 0;

	*protocol = named(site, config);
	if (*protocol == NULL && any != NULL)
		*protocol = any->protocol;
	/* the service refuses a header that cannot be read, and says why */
	else if (*protocol == NULL && open &&
		 (info == NULL || bs_site_protocol(site, info->protocol) != NULL))
		*protocol = "";
	else if (*protocol == NULL)
		*protocol = only_one(site, info);
	if (*protocol != NULL)
		return 0;
	offer(why, site, config);
	return why != NULL ? why->code : BS_ERR_PROTOCOL;
}

/* ---- keys that a client sets for its scan ---- */

#define ROOM 200 /* most bytes of an XML element, and of the group around all elements */

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

/* Checks that the XML has all given keys and that the protocol takes their values. */
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
