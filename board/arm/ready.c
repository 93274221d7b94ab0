/* board/arm/ready.c - see ready.h */
#include "board/arm/ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "board/emit/folder.h"
#include "drivers/sink/dicomstore.h"
#include "drivers/sink/sink.h"
#include "drivers/step/start.h"
#include "gpu/nufft/density.h"
#include "ipc/seal/keys.h"
#include "ipc/seal/sign.h"
#include "ipc/url.h"

struct telling {
	bs_tell_line *report;
	void *arg;
	const struct bs_site *site;
	int first; /* error code of the first fault */
};

static void tell_fault(struct telling *t, int code, const char *what, const struct bs_fail *why)
{
	char line[800];

	if (code == 0)
		return;
	t->first = t->first != 0 ? t->first : code;
	(void)snprintf(line, sizeof(line), "%s: %s: %s", t->site->file, what, why->text);
	t->report(t->arg, line);
}

static void folder(struct telling *t, const char *key, const char *path)
{
	struct bs_fail why = { 0 };

	tell_fault(t, bs_folder_usable(path, &why), key, &why);
}

/* Checks one endpoint's address. seals: the endpoint's messages can be sealed. */
static void endpoint(struct telling *t, const char *key, const char *url, bool seals)
{
	struct bs_fail why = { 0 };

	if (url[0] != '\0')
		tell_fault(t,
			   bs_url_place(url, seals && bs_site_seals(t->site, url), t->site->run_dir,
					&why),
			   key, &why);
}

/* Checks that only this user can read the secret keys, and that all others are keys. */
static void keys(struct telling *t)
{
	struct bs_seal_keys k;
	struct bs_signer signer = { 0 };
	struct bs_fail why = { 0 };

	if (t->site->keys.sign[0] != '\0')
		tell_fault(t, bs_signer_read(&signer, t->site->keys.sign, &why), "keys.sign", &why);
	bs_seal_wipe_bytes(&signer, sizeof(signer));
	if (t->site->keys.own[0] == '\0')
		return;
	tell_fault(t, bs_seal_keys_load(&k, &t->site->keys, &why), "keys", &why);
	bs_seal_wipe_bytes(&k, sizeof(k));
}

/* Checks the token's file. Whether it can be read depends on the user whom the page runs as. */
static void token(struct telling *t)
{
	const char *file = t->site->web.token_file;
	struct bs_fail why = { 0 };
	struct stat st;

	if (file[0] != '\0' && stat(file, &st) == 0 && !S_ISREG(st.st_mode))
		tell_fault(t, bs_fail(&why, BS_ERR_CONFIG, "%.160s: not a regular file", file),
			   "web.token_file", &why);
}

/* Checks a sink's folder, the programs that it runs, and the address that it sends to. */
static void sink(struct telling *t, uint32_t i)
{
	const struct bs_sink_spec *s = &t->site->sink[i];
	const struct bs_sink *type = bs_sink_find(s->type);
	struct bs_fail why = { 0 };
	char key[32];

	(void)snprintf(key, sizeof(key), "sinks.[%u].dir", i);
	folder(t, key, s->dir);
	(void)snprintf(key, sizeof(key), "sinks.[%u].type", i);
	if (type != NULL && type->usable != NULL)
		tell_fault(t, type->usable(&why), key, &why);
	(void)snprintf(key, sizeof(key), "sinks.[%u].store", i);
	if (s->store[0] != '\0') {
		struct bs_dicomstore store;

		tell_fault(t, bs_dicomstore_open(&store, s->store, &why), key, &why);
	}
}

/* Checks a step's folder and, where the service starts it, its program. */
static void step(struct telling *t, uint32_t i)
{
	const struct bs_step_spec *s = &t->site->step[i];
	struct bs_fail why = { 0 };
	char key[32];

	/* its parent, where node.run_dir is, the service makes itself */
	if (strncmp(s->dir, t->site->run_dir, strlen(t->site->run_dir)) != 0) {
		(void)snprintf(key, sizeof(key), "steps.[%u].dir", i);
		folder(t, key, s->dir);
	}
	(void)snprintf(key, sizeof(key), "steps.[%u].command", i);
	tell_fault(t, bs_step_usable(s, &why), key, &why);
}

int bs_ready_places(const struct bs_site *site, bs_tell_line *report, void *arg)
{
	struct telling t = { report, arg, site, 0 };

	folder(&t, "node.run_dir", site->run_dir);
	if (site->cache_dir[0] != '\0')
		folder(&t, "node.cache_dir", site->cache_dir);
	endpoint(&t, "endpoints.kspace", site->kspace_url, true);
	endpoint(&t, "endpoints.archive", site->archive_url, false);
	endpoint(&t, "endpoints.viewers", site->viewers_url, false);
	endpoint(&t, "endpoints.images", site->images_url, true);
	endpoint(&t, "endpoints.status", site->status_url, true);
	keys(&t);
	token(&t);
	for (uint32_t i = 0; i < site->sinks; i++)
		sink(&t, i);
	for (uint32_t i = 0; i < site->steps; i++)
		step(&t, i);
	if (bs_site_logs(site))
		folder(&t, "log.dir", site->log.dir);
	if (bs_site_spills(site))
		folder(&t, "overload.spill_dir", site->overload.spill_dir);
	return t.first;
}

/* Checks weights that need no iteration (those of pipe take too long to make here). */
static int check_weights(const struct bs_loaded *l, const struct bs_protocol *p,
			 struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	struct bs_fail own = { 0 };
	float *weight;
	int rc;

	if (plan->weighs != BS_WEIGHS_ALWAYS || p->density == BS_DENSITY_PIPE || plan->streams)
		return 0;
	weight = malloc((size_t)l->tables.traj->samples * l->tables.traj->readouts *
			sizeof(*weight));
	if (weight == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "gridding.density: no memory");
	rc = bs_density(weight, p, l->tables.traj, l->tables.weight, NULL, &own);
	free(weight);
	return rc == 0 ? 0 : bs_fail(why, rc, "gridding.density: %s", own.text);
}

static int tell_protocol(struct telling *t, const struct bs_protocol *p, int rc,
			 const struct bs_fail *why)
{
	char what[BS_NAME_MAX + 16];

	(void)snprintf(what, sizeof(what), "protocol '%s'", p->name);
	tell_fault(t, rc, what, why);
	return rc;
}

int bs_ready_tables(struct bs_loaded *loaded, const struct bs_site *site,
		    const struct bs_protocol *p, bs_tell_line *report, void *arg)
{
	struct telling t = { report, arg, site, 0 };
	struct bs_fail why = { 0 };

	return tell_protocol(&t, p, bs_tables_load(loaded, p, &why), &why);
}

int bs_ready_protocol(const struct bs_site *site, const struct bs_protocol *p, bs_tell_line *report,
		      void *arg)
{
	struct telling t = { report, arg, site, 0 };
	struct bs_fail why = { 0 };
	struct bs_loaded loaded;
	int rc = bs_ready_tables(&loaded, site, p, report, arg);

	if (rc != 0)
		return rc;
	rc = check_weights(&loaded, p, &why);
	bs_tables_free(&loaded);
	return tell_protocol(&t, p, rc, &why);
}
