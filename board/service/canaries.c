/* board/service/canaries.c - the service's canaries: where they run, and at which priority */
#include "board/service/realtime.h"
#include "board/service/supervisor.h"

/* True: the service may run there. Where no list names processors, everywhere. */
static bool of_service(const struct bs_site *site, uint32_t cpu)
{
	const char *const lists[] = { site->realtime.ingest_cpus, site->realtime.recon_cpus,
				      site->realtime.emit_cpus };
	struct bs_cpus set;

	for (int i = 0; i < 3; i++)
		if (lists[i][0] == '\0' || bs_cpus_parse(&set, lists[i], NULL) != 0 ||
		    bs_cpus_has(&set, cpu))
			return true;
	return false;
}

/*
 * At the highest priority of the service, whether the service itself has one or not: what keeps a
 * canary from running is then the machine, never our own threads and hardly another process.
 */
void bs_rt_canaries(struct bs_canaries *all, struct bs_shm *shm)
{
	const struct bs_site *site = &shm->s->site;
	struct bs_cpus mine = { 0 };
	struct bs_cpus where = { 0 };

	if (!site->realtime.canary)
		return;
	(void)bs_cpus_may_run(&mine, 0);
	for (uint32_t cpu = 0; cpu < BS_CPUS_MAX; cpu++)
		if (bs_cpus_has(&mine, cpu) && of_service(site, cpu))
			bs_cpus_add(&where, cpu);
	bs_canaries_start(all, shm->s->canary, BS_CANARIES, where.count > 0 ? &where : NULL,
			  (int)site->realtime.priority + 4);
	atomic_store(&shm->s->canaries, all->count);
	if (all->count == 0)
		bs_herald_say(shm, BS_LOG_WARN, "no canary: no late image will be explained");
	else if (all->unwatched > 0)
		bs_herald_say(
			shm, BS_LOG_WARN,
			"canaries watch %u processors, the service may use %u more: a stall of "
			"those explains no late image",
			all->count, all->unwatched);
}
