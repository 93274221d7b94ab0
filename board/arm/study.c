/* board/arm/study.c - what an armed protocol takes from earlier scans and leaves to later ones */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "board/arm/armed.h"
#include "gpu/image/linear.h"

/* Writes the name by which images call the earlier scan. */
static void name_it(char *to, size_t size, const struct bs_kept *k)
{
	(void)snprintf(to, size, "%s", k->scan[0] != '\0' ? k->scan : k->study);
}

static void take_field(struct bs_armed *a, const struct bs_kept *kept, const float *hz)
{
	const struct bs_protocol *p = a->protocol;
	const uint64_t from = (uint64_t)kept->matrix[0] * kept->matrix[1] * kept->matrix[2];

	for (uint32_t s = 0; s < p->slices; s++)
		bs_linear_resize(hz + s * from, kept->matrix,
				 a->loaded.field + s * bs_protocol_voxels(p), p->matrix);
}

/* Finds the order of coils. Noise orders whitened coils, so both scans must have its
 * order (compress.h). */
static void order_of(uint8_t of[BS_LABELS_MAX], const struct bs_kept *kept,
		     const struct bs_match *match)
{
	for (uint32_t c = 0; c < BS_LABELS_MAX; c++)
		of[c] = kept->whitened == 0 ? match->of[c] : (uint8_t)c;
}

static void take_maps(struct bs_armed *a, const float *maps)
{
	const struct bs_protocol *p = a->protocol;
	const uint64_t map = 2 * bs_protocol_voxels(p);
	const uint64_t sets = (uint64_t)p->slices * bs_protocol_map_images(p);

	for (uint64_t s = 0; s < sets; s++)
		for (uint32_t c = 0; c < p->coils; c++)
			memcpy(a->loaded.maps + (s * p->coils + a->of[c]) * map,
			       maps + (s * p->coils + c) * map, (size_t)map * sizeof(*maps));
}

/* Takes one kind of data (maps or a field) into the tables, unless it lies there already. */
static int take_kept(struct bs_armed *a, struct bs_study *study, const struct bs_scan_study *scan,
		     enum bs_kept_kind kind, struct bs_fail *why)
{
	const struct bs_kept *kept = bs_scan_study_taken(scan, study, kind);
	const uint64_t number = kept != NULL ? atomic_load(&kept->number) : 0;
	const void *data;
	uint8_t of[BS_LABELS_MAX];

	if (kept == NULL)
		return 0;
	order_of(of, kept, &scan->match);
	if (number == a->taken[kind] &&
	    (kind != BS_KEPT_MAPS || memcmp(of, a->of, sizeof(of)) == 0))
		return 0;
	data = bs_study_data(study, kind, scan->taken[kind]);
	a->taken[kind] = number;
	if (kind == BS_KEPT_FIELD)
		take_field(a, kept, data);
	else {
		memcpy(a->of, of, sizeof(of));
		take_maps(a, data);
	}
	return bs_recon_maps(a->recon, why);
}

int bs_armed_take(struct bs_armed *a, struct bs_study *study, const struct bs_scan_study *scan,
		  const struct bs_scan_info *info, struct bs_fail *why)
{
	const struct bs_kept *maps = bs_scan_study_taken(scan, study, BS_KEPT_MAPS);
	const struct bs_kept *field = bs_scan_study_taken(scan, study, BS_KEPT_FIELD);
	const struct bs_kept *image = bs_scan_study_taken(scan, study, BS_KEPT_IMAGE);
	struct bs_earlier earlier = { .maps = "" };
	int rc;

	if (maps != NULL) {
		name_it(earlier.maps, sizeof(earlier.maps), maps);
		earlier.match = scan->match;
	}
	if (field != NULL)
		name_it(earlier.field, sizeof(earlier.field), field);
	if (image != NULL)
		name_it(earlier.image, sizeof(earlier.image), image);
	if (a->anatomy != NULL)
		bs_anatomy_scan(a->anatomy, study, scan, info);
	bs_recon_earlier(a->recon, &earlier);
	rc = take_kept(a, study, scan, BS_KEPT_MAPS, why);
	return rc != 0 ? rc : take_kept(a, study, scan, BS_KEPT_FIELD, why);
}

int bs_armed_field(const struct bs_armed *a, const struct bs_scan_info *info, float *hz,
		   float *most_hz, struct bs_fail *why)
{
	const struct bs_protocol *p = a->protocol;
	const uint64_t voxels = bs_protocol_voxels(p);
	const double range_hz = 500.0 / fabs((double)info->te_ms[1] - (double)info->te_ms[0]);
	const double scale = -500.0 / M_PI / ((double)info->te_ms[1] - (double)info->te_ms[0]);
	float most = 0.0f;

	if (bs_recon_folded(a->recon))
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "field.from echoes of protocol '%s': images may hold several slices "
			       "(multiband): no map",
			       p->name);
	for (uint32_t s = 0; s < p->slices; s++) {
		const float *step = a->loaded.phase_step + s * voxels;

		if (isnan(step[0]))
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "field.from echoes of protocol '%s': slice %u has no pair "
				       "of echoes",
				       p->name, s);
		if (isinf(step[0]))
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "field.from echoes of protocol '%s': slice %u: the field is "
				       "beyond the +-%.1f Hz that these echo times tell, or jumps: "
				       "no map",
				       p->name, s, range_hz);
		for (uint64_t v = 0; v < voxels; v++) {
			const float f = (float)(scale * (double)step[v]);

			most = fmaxf(most, fabsf(f));
			if (hz != NULL)
				hz[s * voxels + v] = f;
		}
	}
	*most_hz = most;
	return 0;
}

static void leave_maps(const struct bs_armed *a, struct bs_study *study,
		       const struct bs_scan_study *scan, const struct bs_scan_info *info)
{
	void *data;
	struct bs_kept *kept;

	if (!bs_recon_imaged(a->recon) || bs_recon_folded(a->recon))
		return;
	kept = bs_study_fill(study, BS_KEPT_MAPS, scan, a->protocol, info, &data);
	if (kept == NULL)
		return;
	memcpy(data, a->loaded.maps,
	       (size_t)(a->protocol->slices * bs_protocol_map_values(a->protocol) * 8));
	bs_study_keep(study, kept);
}

static int leave_field(const struct bs_armed *a, const struct bs_site *site, struct bs_study *study,
		       const struct bs_scan_study *scan, const struct bs_scan_info *info,
		       struct bs_fail *why)
{
	float most_hz;
	struct bs_kept *kept;
	void *data;
	int rc = bs_armed_field(a, info, NULL, &most_hz, why);

	if (rc != 0 || study == NULL || !bs_study_wants(site, BS_KEPT_FIELD, a->protocol))
		return rc;
	kept = bs_study_fill(study, BS_KEPT_FIELD, scan, a->protocol, info, &data);
	if (kept == NULL)
		return 0;
	(void)bs_armed_field(a, info, data, &kept->most_hz, why);
	bs_study_keep(study, kept);
	return 0;
}

int bs_armed_leave(const struct bs_armed *a, const struct bs_site *site, struct bs_study *study,
		   const struct bs_scan_study *scan, const struct bs_scan_info *info,
		   struct bs_fail *why)
{
	if (study != NULL && bs_study_wants(site, BS_KEPT_MAPS, a->protocol))
		leave_maps(a, study, scan, info);
	return bs_plan_has(&a->own.plan, BS_PLAN_ECHOES)
		       ? leave_field(a, site, study, scan, info, why)
		       : 0;
}
