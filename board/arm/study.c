/* board/arm/study.c - what an armed protocol takes from earlier scans and leaves to later ones */
#include <stdio.h>
#include <string.h>

#include "board/arm/armed.h"

/* What images call the earlier scan. */
static void name_it(char *to, size_t size, const struct bs_kept *k)
{
	(void)snprintf(to, size, "%s", k->scan[0] != '\0' ? k->scan : k->study);
}

static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return p->slices * p->coils * bs_protocol_voxels(p) * 8;
}

int bs_armed_take(struct bs_armed *a, struct bs_study *study, const struct bs_scan_study *scan,
		  struct bs_fail *why)
{
	const struct bs_kept *maps = bs_scan_study_taken(scan, study, BS_KEPT_MAPS);
	struct bs_earlier earlier = { "", "" };
	uint64_t number;

	if (maps == NULL)
		return 0;
	name_it(earlier.maps, sizeof(earlier.maps), maps);
	bs_recon_earlier(a->recon, &earlier);
	number = atomic_load(&maps->number);
	if (number == a->taken[BS_KEPT_MAPS])
		return 0;
	memcpy(a->loaded.maps, bs_study_data(study, BS_KEPT_MAPS, scan->taken[BS_KEPT_MAPS]),
	       (size_t)maps_bytes(a->protocol));
	a->taken[BS_KEPT_MAPS] = number;
	return bs_recon_maps(a->recon, why);
}

void bs_armed_leave(const struct bs_armed *a, const struct bs_site *site, struct bs_study *study,
		    const struct bs_scan_study *scan, const struct bs_scan_info *info)
{
	const struct bs_protocol *p = a->protocol;
	struct bs_kept *kept;
	void *data;

	if (study == NULL || !bs_study_wants(site, BS_KEPT_MAPS, p) || !bs_recon_imaged(a->recon))
		return;
	kept = bs_study_fill(study, BS_KEPT_MAPS, scan, p, info, &data);
	if (kept == NULL)
		return;
	memcpy(data, a->loaded.maps, (size_t)maps_bytes(p));
	bs_study_keep(study, kept);
}
