/* board/arm/armed.c - see armed.h */
#include "board/arm/armed.h"

#include "ipc/shm/shm.h"

#include <string.h>

void bs_armed_close(struct bs_armed *a)
{
	bs_phases_disarm(a->phases);
	bs_mixer_disarm(a->mixer);
	bs_recon_disarm(a->recon);
	bs_arena_close(&a->arena);
	bs_tables_free(&a->loaded);
	bs_anatomy_close(a->anatomy);
	memset(a, 0, sizeof(*a));
}

void bs_armed_scan(const struct bs_armed *a, const struct bs_scan_info *info,
		   const struct bs_noise *noise)
{
	if (a->mixer != NULL)
		bs_mixer_scan(a->mixer, info, noise);
	else
		bs_recon_scan(a->recon, info);
	bs_phases_scan(a->phases, info);
}

void bs_armed_trial(const struct bs_armed *a, const struct bs_scan_info *info,
		    const struct bs_noise *noise)
{
	bs_armed_scan(a, info, noise);
	bs_phases_trial(a->phases);
}

int bs_armed_correct(const struct bs_armed *a, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why)
{
	struct bs_mrd_acq h = *head;
	int rc = bs_phases_readout(a->phases, &h, &data, why);

	if (rc < 0)
		return rc;
	/* a readout that serves phase correction alone is only counted, by recon */
	return a->mixer != NULL && rc == 0 ? bs_mixer_readout(a->mixer, &h, row, data, now_ns, why)
					   : bs_recon_readout(a->recon, &h, row, data, now_ns, why);
}

int bs_armed_scan_close(const struct bs_armed *a, struct bs_fail *why)
{
	if (a->mixer != NULL)
		return bs_mixer_close(a->mixer, why);
	bs_recon_close(a->recon);
	return 0;
}

bool bs_armed_on_gpu(const struct bs_shared *s)
{
	char name[sizeof(s->engine[0]) + 1] = "";

	for (uint32_t i = 0; i < s->site.protocols && i < BS_PROTOCOLS_MAX; i++) {
		if (!atomic_load(&s->armed[i])) /* recon may still be writing the engine's name */
			continue;
		memcpy(name, s->engine[i], sizeof(s->engine[i]));
		if (strstr(name, "cuda") != NULL) /* the names are bs_plan_engine's */
			return true;
	}
	return false;
}
