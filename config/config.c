/* config/config.c - see config.h */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/hint/near.h"
#include "config/hint/place.h"
#include "config/rules.h"
#include "core/thread/team.h"

struct loading {
	struct bs_faults faults;
	struct bs_text text;
	struct bs_reading reading;
	struct bs_scope node, item[BS_SCOPES][BS_KEY_LIST_MAX]; /* item: of lists, by their scope */
};

/* Offers the keys of the scope, and their groups, that may have been meant. */
static void offer_keys(struct bs_near *near, enum bs_key_scope scope)
{
	char group[BS_NEAR_MAX];

	for (size_t i = 0; i < bs_keys_count; i++) {
		const char *path = bs_keys[i].path;

		if (bs_keys[i].scope != scope)
			continue;
		bs_near_offer(near, path);
		(void)snprintf(group, sizeof(group), "%.*s", (int)strcspn(path, "."), path);
		bs_near_offer(near, group);
	}
	if (scope == BS_SCOPE_SITE) {
		bs_near_offer(near, "protocols");
		bs_near_offer(near, "sinks");
		bs_near_offer(near, "steps");
		bs_near_offer(near, "answers");
	}
}

/* The key of the scope whose last part is near to the last part of path; NULL: there is none. */
static const char *elsewhere(enum bs_key_scope scope, const char *path)
{
	const char *leaf = strrchr(path, '.') != NULL ? strrchr(path, '.') + 1 : path;
	const char *found = NULL;
	struct bs_near near;

	bs_near_begin(&near, leaf);
	/* goes backwards, so that of several near keys one of ls.* wins over one of grappa.* */
	for (size_t i = bs_keys_count; i-- > 0;) {
		const char *dot = strrchr(bs_keys[i].path, '.');
		const unsigned steps = near.steps;

		if (bs_keys[i].scope != scope)
			continue;
		bs_near_offer(&near, dot != NULL ? dot + 1 : bs_keys[i].path);
		if (near.steps < steps)
			found = bs_keys[i].path;
	}
	return found;
}

static void unknown(struct loading *l, const struct bs_scope *s, const char *path, unsigned line)
{
	const char *found;
	struct bs_near near;
	char hint[BS_NEAR_HINT + 16] = "";
	char name[160];

	bs_near_begin(&near, path);
	offer_keys(&near, s->scope);
	(void)bs_near_hint(&near, hint);
	for (int i = 0; i < BS_SCOPES && hint[0] == '\0'; i++) {
		const char *list = bs_key_lists[i].path;

		if (bs_key_find((enum bs_key_scope)i, path) != NULL)
			(void)snprintf(hint, sizeof(hint), " (did you mean %s%s%.64s?)",
				       list != NULL ? list : "", list != NULL ? ".[..]." : "",
				       path);
	}
	found = hint[0] == '\0' ? elsewhere(s->scope, path) : NULL;
	if (found != NULL)
		(void)snprintf(hint, sizeof(hint), " (did you mean %s?)", found);
	bs_scope_name(name, s, path);
	bs_fault(&l->faults, line, name, "unknown key%s", hint);
}

static void read_list(struct loading *l, const config_setting_t *list, enum bs_key_scope scope);

/* The scope of the list of that path; BS_SCOPE_SITE: there is none. */
static enum bs_key_scope list_of(const struct bs_scope *s, const char *path)
{
	for (int i = 0; s->scope == BS_SCOPE_SITE && i < BS_SCOPES; i++)
		if (bs_key_lists[i].path != NULL && strcmp(bs_key_lists[i].path, path) == 0)
			return (enum bs_key_scope)i;
	return BS_SCOPE_SITE;
}

/* Reads the members of one group. prefix: its path within the scope, "" at the top. */
static void read_group(struct loading *l, struct bs_scope *s, const config_setting_t *group,
		       const char *prefix)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *v = config_setting_get_elem(group, (unsigned)i);
		const struct bs_key *key = NULL;
		char path[120];
		char name[160];

		(void)snprintf(path, sizeof(path), "%s%s%.64s", prefix,
			       prefix[0] != '\0' ? "." : "", v->name);
		key = bs_key_find(s->scope, path);
		bs_scope_name(name, s, path);
		if (key != NULL)
			bs_value_set(s, key, v);
		else if (list_of(s, path) != BS_SCOPE_SITE)
			read_list(l, v, list_of(s, path));
		else if (!bs_key_is_group(s->scope, path))
			unknown(l, s, path, v->line);
		else if (config_setting_is_group(v))
			read_group(l, s, v, path);
		else
			bs_fault(&l->faults, v->line, name, "a group { } is wanted here");
	}
}

/* Replaces "{run_dir}", which only the table's own defaults contain. */
static void expand(char *out, size_t size, const char *fallback, const char *run_dir)
{
	const char *mark = strstr(fallback, "{run_dir}");

	if (mark == NULL)
		(void)snprintf(out, size, "%s", fallback);
	else
		(void)snprintf(out, size, "%.*s%s%s", (int)(mark - fallback), fallback, run_dir,
			       mark + strlen("{run_dir}"));
}

/*
 * Fills in defaults in the table's order, in which node.board and node.run_dir come before the keys
 * that depend on them.
 */
static void fill_defaults(struct loading *l, struct bs_scope *s, const struct bs_site *site)
{
	char text[BS_PATH_MAX_ + 64];
	char name[160];

	for (size_t i = 0; i < bs_keys_count; i++) {
		const struct bs_key *key = &bs_keys[i];
		const char *fallback = bs_key_fallback(key, site->board);

		if (key->scope != s->scope || s->at[i] != 0)
			continue;
		bs_scope_name(name, s, key->path);
		if (fallback == NULL) {
			s->bad[i] = true;
			bs_fault(&l->faults, s->line, name, "missing");
			continue;
		}
		expand(text, sizeof(text), fallback, site->run_dir);
		if (bs_value_default(s, key, text) != 0) {
			s->bad[i] = true;
			bs_fault(&l->faults, s->line, name, "its default %s is not valid here",
				 text);
		}
	}
}

/* Reads a list of groups. */
static void read_list(struct loading *l, const config_setting_t *list, enum bs_key_scope scope)
{
	const struct bs_key_list *its = &bs_key_lists[scope];
	struct bs_site *site = l->node.base;
	uint32_t n = 0;

	if (!config_setting_is_list(list)) {
		bs_fault(&l->faults, list->line, its->path,
			 "a list ( { ... }, { ... } ) is wanted here");
		return;
	}
	if (scope == BS_SCOPE_PROTOCOL && config_setting_length(list) == 0)
		bs_fault(&l->faults, list->line, its->path, "the list is empty");
	for (int i = 0; i < config_setting_length(list); i++) {
		const config_setting_t *v = config_setting_get_elem(list, (unsigned)i);
		struct bs_scope *s = &l->item[scope][n];
		char label[sizeof(s->label)];

		(void)snprintf(label, sizeof(label), "%s.[%d]", its->path, i);
		if (n == its->most) {
			bs_fault(&l->faults, v->line, label, "more than %u", n);
			break;
		}
		if (!config_setting_is_group(v)) {
			bs_fault(&l->faults, v->line, label, "a group { } is wanted here");
			continue;
		}
		s->reading = &l->reading;
		s->scope = scope;
		s->base = bs_key_item(site, scope, n++);
		s->line = v->line;
		memcpy(s->label, label, sizeof(label));
		read_group(l, s, v, "");
	}
	*(uint32_t *)(void *)((char *)site + its->count) = n;
}

static void check_all(struct loading *l, struct bs_site *site)
{
	fill_defaults(l, &l->node, site);
	if (site->threads == 0)
		site->threads = (uint32_t)bs_team_whole();
	for (int k = BS_SCOPE_SINK; k < BS_SCOPE_PROTOCOL; k++)
		for (uint32_t i = 0; i < bs_key_items(site, (enum bs_key_scope)k); i++)
			fill_defaults(l, &l->item[k][i], site);
	for (uint32_t i = 0; i < site->protocols; i++) {
		struct bs_scope *s = &l->item[BS_SCOPE_PROTOCOL][i];

		fill_defaults(l, s, site);
		site->protocol[i].gpu_memory = site->gpu_memory;
		site->protocol[i].gpu_route = site->gpu_route;
		site->protocol[i].gpu_devices = site->gpu_devices;
		site->protocol[i].gpu_share = site->gpu_share;
		bs_rules_share_steps(site, &site->protocol[i]);
		bs_rules_share_answers(site, &site->protocol[i]);
		bs_rules_derive(s, &site->protocol[i]);
		bs_rules_protocol(s, &site->protocol[i]);
		bs_rules_prior(s, &site->protocol[i]);
		bs_rules_multiband(s, &site->protocol[i]);
	}
	bs_rules_site(&l->node, site, l->item[BS_SCOPE_SINK], l->item[BS_SCOPE_PROTOCOL]);
	bs_rules_steps(site, l->item[BS_SCOPE_STEP], l->item[BS_SCOPE_PROTOCOL]);
	bs_rules_answers(site, l->item[BS_SCOPE_ANSWER], l->item[BS_SCOPE_PROTOCOL]);
	bs_rules_bridges(&l->node, site, l->item[BS_SCOPE_CONFIG]);
	bs_rules_keys(&l->node, site, l->item[BS_SCOPE_PEER]);
}

/* Reports literals that the scan of the text found, of keys that the table lacks. */
static void tell_spots(struct loading *l)
{
	for (unsigned i = 0; i < l->text.spots && i < BS_TEXT_SPOTS; i++)
		if (!l->text.spot[i].told)
			bs_fault(&l->faults, l->text.spot[i].line, l->text.spot[i].key, "%s",
				 l->text.spot[i].why);
	if (l->text.spots > BS_TEXT_SPOTS)
		bs_fault(&l->faults, 1, "", "%u literals in all would be misread", l->text.spots);
}

static void parse(struct loading *l, struct bs_site *site)
{
	char hint[BS_TEXT_KEY_MAX + 64];
	unsigned line;
	config_t c;

	config_init(&c);
	if (config_read_string(&c, l->text.text) != CONFIG_TRUE) {
		line = config_error_line(&c) > 0 ? (unsigned)config_error_line(&c) : 1;
		bs_fault(&l->faults, line, "", "%s%s",
			 config_error_text(&c) != NULL ? config_error_text(&c) : "not readable",
			 bs_text_hint(&l->text, line, hint));
	} else if (config_setting_length(config_root_setting(&c)) == 0) {
		bs_fault(&l->faults, 1, "", "the file is empty");
	} else {
		read_group(l, &l->node, config_root_setting(&c), "");
		if (config_lookup(&c, "protocols") == NULL)
			bs_fault(&l->faults, 1, "protocols", "missing");
		check_all(l, site);
	}
	config_destroy(&c);
}

/* Sets site->file, and the folder that relative paths start from. */
static int locate(struct loading *l, struct bs_site *site, const char *path, struct bs_fail *why)
{
	char *real = realpath(path, NULL);
	const char *words = strerror(errno);
	char hint[BS_PLACE_HINT];
	size_t n = 0;

	if (real == NULL)
		return bs_fail(why, BS_ERR_IO, "cannot be read: %s%s", words,
			       bs_place_hint(path, hint));
	n = strlen(real);
	if (n >= sizeof(site->file)) {
		free(real);
		return bs_fail(why, BS_ERR_FORMAT,
			       "its path of %zu characters is too long, at most %zu", n,
			       sizeof(site->file) - 1);
	}
	memcpy(site->file, real, n + 1);
	memcpy(l->reading.folder, real, n + 1);
	*strrchr(l->reading.folder, '/') = '\0';
	if (l->reading.folder[0] == '\0')
		memcpy(l->reading.folder, "/", 2);
	free(real);
	return 0;
}

int bs_config_load(struct bs_site *site, const char *path, bs_tell_line *report, void *arg)
{
	struct loading *l = calloc(1, sizeof(*l));
	struct bs_fail why;
	int rc = 0;

	memset(site, 0, sizeof(*site));
	if (l == NULL) {
		if (report != NULL)
			report(arg, "no memory to read the configuration");
		return BS_ERR_CONFIG;
	}
	l->reading.faults = &l->faults;
	l->reading.text = &l->text;
	l->node = (struct bs_scope){ &l->reading, BS_SCOPE_SITE, site, .line = 1 };
	if (locate(l, site, path, &why) != 0 || bs_text_read(&l->text, path, &why) != 0) {
		bs_fault(&l->faults, 0, "", "%s", why.text);
	} else {
		bs_text_scan(&l->text);
		if (l->text.include != 0)
			bs_fault(&l->faults, l->text.include, "",
				 "@include is refused: one site, one file");
		else if (l->text.open != 0)
			bs_fault(&l->faults, l->text.open, "",
				 "a string or comment that never ends");
		else
			parse(l, site);
		tell_spots(l);
	}
	if (l->faults.count > 0)
		rc = BS_ERR_CONFIG;
	bs_faults_tell(&l->faults, path, report, arg);
	bs_text_free(&l->text);
	free(l);
	return rc;
}

static void not_found(const struct bs_site *site, const char *name, struct bs_fail *why)
{
	struct bs_near near;
	char hint[BS_NEAR_HINT];
	char all[256] = "";
	size_t n = 0;

	bs_near_begin(&near, name);
	for (uint32_t i = 0; i < site->protocols; i++) {
		bs_near_offer(&near, site->protocol[i].name);
		if (n + strlen(site->protocol[i].name) + 8 < sizeof(all))
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s'%s'", n > 0 ? ", " : "",
					      site->protocol[i].name);
	}
	if (name[0] == '\0')
		(void)bs_fail(why, BS_ERR_PROTOCOL, "no protocol is named, and the site has %u: %s",
			      site->protocols, all);
	else
		(void)bs_fail(why, BS_ERR_PROTOCOL, "the site has no protocol '%s'%s; it has %s",
			      name, bs_near_hint(&near, hint), all);
}

const struct bs_protocol *bs_config_choose(const struct bs_site *site, const char *asked,
					   const char *header, struct bs_fail *why)
{
	const bool is_asked = asked != NULL && asked[0] != '\0';
	const char *name = is_asked ? asked : header != NULL ? header : "";
	const struct bs_protocol *p = bs_site_protocol(site, name);

	if (p == NULL && !is_asked && site->protocols == 1)
		return &site->protocol[0];
	if (p == NULL)
		not_found(site, name, why);
	return p;
}
