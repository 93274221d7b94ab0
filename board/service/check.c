/* board/service/check.c - the process that checks a changed site file; see worker.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/arm/memplan.h"
#include "board/arm/ready.h"
#include "board/service/worker.h"
#include "config/config.h"
#include "config/live.h"
#include "core/log.h"

struct checking {
	struct bs_shm *shm;
	const struct bs_site *now;
	struct bs_site next;
	struct bs_memplan plan;
	struct bs_loaded loaded[BS_PROTOCOLS_MAX];
	uint32_t from[BS_PROTOCOLS_MAX];
	int rc;
};

/* Logs every fault. The reload is refused with the first. */
static void log_it(void *arg, const char *line)
{
	struct checking *c = arg;
	struct bs_reload *r = &c->shm->s->reload;

	if (r->text[0] == '\0')
		(void)snprintf(r->text, sizeof(r->text), "%.383s", line);
	bs_log(BS_LOG_WARN, "%s", line);
}

static void note(struct checking *c, int rc)
{
	c->rc = c->rc != 0 ? c->rc : rc;
}

static void fail(struct checking *c, const struct bs_fail *why)
{
	char line[BS_PATH_MAX_ + 400];

	(void)snprintf(line, sizeof(line), "%s: %s", c->next.file, why->text);
	log_it(c, line);
	note(c, why->code);
}

/* Finds protocols whose keys are unchanged: they stay, also one that could not be armed. */
static void match(struct checking *c)
{
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		c->from[i] = BS_RELOAD_NEW;
		for (uint32_t j = 0; i < c->next.protocols && j < c->now->protocols; j++)
			if (bs_live_same(&c->next.protocol[i], &c->now->protocol[j]))
				c->from[i] = j;
	}
}

/* Counts memory of replaced protocols, too: it is held until the new ones are armed. */
static void check_both(struct checking *c)
{
	uint64_t bytes = c->plan.total_bytes;
	struct bs_fail why;

	for (uint32_t j = 0; j < c->now->protocols; j++) {
		bool stays = false;

		for (uint32_t i = 0; i < c->next.protocols; i++)
			stays = stays || c->from[i] == j;
		if (!stays &&
		    (atomic_load(&c->shm->s->armed[j]) || atomic_load(&c->shm->s->owed[j])))
			bytes += c->shm->s->arm_bytes[j];
	}
	if (bytes <= (uint64_t)c->next.memory_mib << 20)
		return;
	(void)bs_fail(
		&why, BS_ERR_NOMEM,
		"node.memory_mib: %u MiB do not hold what is replaced beside what replaces it, "
		"%llu MiB: the service would have to be started anew",
		c->next.memory_mib, (unsigned long long)(bytes >> 20) + 1);
	fail(c, &why);
}

/* Checks that the pools laid out at the start suffice for the changed site. */
static void check_room(struct checking *c)
{
	const struct bs_shm *shm = c->shm;
	struct bs_fail why;

	if (bs_pools_hold(&shm->s->pools, &c->next, &why) != 0)
		fail(c, &why);
	if (bs_study_bytes(&c->next) > 0 &&
	    (shm->study == NULL || !bs_study_holds(shm->study, &c->next))) {
		(void)bs_fail(
			&why, BS_ERR_NOMEM,
			"image.maps, field.from: study: what is kept of a scan is larger than "
			"the room that was laid out for it at the service's start");
		fail(c, &why);
	}
}

/* Asks everything that a good site needs, with the functions of boreside check. */
static void check_site(struct checking *c)
{
	note(c, bs_live_check(c->now, &c->next, log_it, c));
	if (c->rc != 0)
		return; /* the site's folders and sockets belong to another service */
	note(c, bs_ready_places(&c->next, log_it, c));
	for (uint32_t i = 0; i < c->next.protocols; i++)
		if (c->from[i] == BS_RELOAD_NEW)
			note(c, bs_ready_protocol(&c->next, &c->next.protocol[i], log_it, c));
	check_room(c);
	if (c->rc != 0)
		return;
	note(c, bs_memplan_make(&c->plan, &c->next, log_it, c));
	if (c->rc == 0)
		check_both(c);
}

/* Stages the site. Protocols that stay keep the tables that their readouts were checked against. */
static void stage(struct checking *c)
{
	struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_shared *s = c->shm->s;
	struct bs_fail why;

	memset(tables, 0, sizeof(tables));
	for (uint32_t i = 0; c->rc == 0 && i < c->next.protocols; i++) {
		if (c->from[i] != BS_RELOAD_NEW) {
			(void)bs_shm_table(c->shm, c->from[i], &tables[i]);
			continue;
		}
		note(c, bs_ready_tables(&c->loaded[i], &c->next, &c->next.protocol[i], log_it, c));
		if (c->rc == 0 && c->loaded[i].tables.traj != NULL)
			tables[i] = c->loaded[i].traj;
	}
	if (c->rc != 0)
		return;
	if (bs_shm_stage(c->shm, &s->reload.next, &c->next, tables, &why) != 0)
		fail(c, &why);
	memcpy(s->reload.from, c->from, sizeof(c->from));
}

int bs_worker_check(struct bs_shm *shm)
{
	struct checking *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return BS_EXIT_REPLACE;
	(void)nice(10);
	c->shm = shm;
	c->now = &shm->s->site;
	note(c, bs_config_load(&c->next, c->now->file, log_it, c));
	if (c->rc == 0) {
		match(c);
		check_site(c);
	}
	if (c->rc == 0)
		stage(c);
	rc = c->rc;
	for (uint32_t i = 0; i < c->next.protocols; i++)
		bs_tables_free(&c->loaded[i]);
	free(c);
	return rc != 0;
}
