/* drivers/bridge/names.c - see names.h */
#define _GNU_SOURCE /* memmem */
#include "drivers/bridge/names.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* What a Gadgetron chain for the statistics of a measurement's noise holds, and its ID behind it */
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
	/* a console's field for a name of one's own */
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
		if (strcmp(id, "config") != 0 && strcmp(id, "customconfig") != 0)
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

	if (c != NULL)
		return c->protocol;
	for (uint32_t i = 0; i < site->protocols; i++)
		if (strcmp(site->protocol[i].name, name) == 0)
			return site->protocol[i].name;
	return NULL;
}

/* All that a client could have asked for. */
static void offer(struct bs_fail *why, const struct bs_site *site, const char *config)
{
	char words[300] = "";
	struct bs_text t = { words, sizeof(words), 0, false };

	for (uint32_t i = 0; i < site->mrd.configs; i++)
		bs_text_put(&t, "%s'%s'", t.len > 0 ? ", " : "", site->mrd.config[i].name);
	for (uint32_t i = 0; i < site->protocols; i++)
		bs_text_put(&t, "%s'%s'", t.len > 0 ? ", " : "", site->protocol[i].name);
	(void)bs_fail(why, BS_ERR_PROTOCOL, "no config '%.60s' here; there is %s%s", config, words,
		      t.full ? ", ..." : "");
}

/* With and without .xml; NULL: neither. */
static const char *named(const struct bs_site *site, const char *config)
{
	const char *protocol = by_name(site, config);
	const size_t n = strlen(config);
	char bare[BS_NAMES_MAX];

	if (protocol != NULL || n <= 4 || n >= sizeof(bare) || strcmp(config + n - 4, ".xml") != 0)
		return protocol;
	(void)snprintf(bare, sizeof(bare), "%.*s", (int)n - 4, config);
	return by_name(site, bare);
}

bool bs_names_known(const struct bs_site *site, const char *config)
{
	return named(site, config) != NULL;
}

int bs_names_find(const char **protocol, const struct bs_site *site, const char *config,
		  struct bs_fail *why)
{
	const struct bs_mrd_config *any = row(site, "*");

	*protocol = named(site, config);
	if (*protocol == NULL && any != NULL)
		*protocol = any->protocol;
	else if (*protocol == NULL && (config[0] == '\0' || strcmp(config, "openrecon") == 0))
		*protocol = "";
	if (*protocol != NULL)
		return 0;
	offer(why, site, config);
	return why != NULL ? why->code : BS_ERR_PROTOCOL;
}
