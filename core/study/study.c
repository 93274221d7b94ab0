/* core/study/study.c - see study.h */
#include "core/study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/frame/geometry.h"
#include "core/frame/recon.h"
#include "core/hash.h"
#include "core/memory/arena.h"
#include "core/memory/stamp.h"
#include "core/text.h"

static const char *const what[BS_KEPT_KINDS] = { "image.maps", "field.from", "ls.w" };

/* ---- layout ---- */

/* The bytes of what the protocol takes; a field map or an image may be on any matrix. */
static uint64_t taken_bytes(const struct bs_protocol *p, enum bs_kept_kind kind)
{
	if (!p->plan.takes[kind])
		return 0;
	return kind == BS_KEPT_MAPS ? p->slices * bs_protocol_map_values(p) * 8 : 1;
}

static uint64_t left_bytes(const struct bs_site *site, const struct bs_protocol *p,
			   enum bs_kept_kind kind)
{
	if (kind == BS_KEPT_IMAGE && bs_study_wants(site, kind, p))
		return (p->volume ? p->slices : 1) * bs_protocol_image_voxels(p) * sizeof(float);
	if (kind != BS_KEPT_FIELD || !bs_plan_has(&p->plan, BS_PLAN_ECHOES))
		return 0;
	return p->slices * bs_protocol_voxels(p) * sizeof(float);
}

/* The bytes of a slot; 0: no protocol takes any. */
static uint64_t slot_bytes(const struct bs_site *site, enum bs_kept_kind kind)
{
	uint64_t taken = 0;
	uint64_t left = 0;

	for (uint32_t i = 0; i < site->protocols; i++) {
		const uint64_t a = taken_bytes(&site->protocol[i], kind);
		const uint64_t b = left_bytes(site, &site->protocol[i], kind);

		taken = a > taken ? a : taken;
		left = b > left ? b : left;
	}
	if (taken == 0)
		return 0;
	taken = left > taken ? left : taken;
	return bs_slot(taken);
}

static uint64_t head_bytes(void)
{
	return bs_slot(sizeof(struct bs_study));
}

uint64_t bs_study_bytes(const struct bs_site *site)
{
	uint64_t sum = 0;

	/* at most 2^9 slices x 2^1 sets x 2^6 coils x 2^27 voxels x 2^3 bytes x
	 * 2^4 scans: 2^50 bytes */
	for (int k = 0; k < BS_KEPT_KINDS; k++)
		sum += site->study_scans * slot_bytes(site, (enum bs_kept_kind)k);
	return sum > 0 ? head_bytes() + sum : 0;
}

void bs_study_init(struct bs_study *s, const struct bs_site *site)
{
	for (int k = 0; k < BS_KEPT_KINDS; k++) {
		s->bytes[k] = slot_bytes(site, (enum bs_kept_kind)k);
		s->slots[k] = s->bytes[k] > 0 ? site->study_scans : 0;
	}
}

bool bs_study_holds(const struct bs_study *s, const struct bs_site *site)
{
	for (int k = 0; k < BS_KEPT_KINDS; k++)
		if (s->slots[k] > BS_STUDY_SCANS_MAX ||
		    s->bytes[k] < slot_bytes(site, (enum bs_kept_kind)k))
			return false;
	return true;
}

void *bs_study_data(struct bs_study *s, enum bs_kept_kind kind, uint32_t slot)
{
	uint64_t at = head_bytes() + slot * s->bytes[kind];

	for (int k = 0; k < (int)kind; k++)
		at += s->slots[k] * s->bytes[k];
	return (unsigned char *)s + at;
}

/* ---- what a scan takes ---- */

static bool near(float a, float b, double tolerance)
{
	return fabs((double)a - (double)b) <= tolerance;
}

static void match(struct bs_match *m, const struct bs_kept *k, const struct bs_scan_info *info)
{
	bs_match_channels(m, (struct bs_named){ &k->labels, k->scan },
			  (struct bs_named){ &info->labels, info->measurement }, k->coils);
}

struct patient {
	char *patient, *lies;
};

static void take_patient(void *arg, const char *name, const char *value, unsigned index)
{
	const struct patient *to = arg;

	if (index == 0 && strcmp(name, "mrd_patientID") == 0)
		(void)snprintf(to->patient, sizeof(((struct bs_kept *)0)->patient), "%s", value);
	if (index == 0 && strcmp(name, "mrd_patientPosition") == 0)
		(void)snprintf(to->lies, sizeof(((struct bs_kept *)0)->lies), "%s", value);
}

/* Writes the patient's ID and position by the header into a slot. */
static void name_patient(struct bs_kept *k, const struct bs_scan_info *info)
{
	k->patient[0] = k->lies[0] = '\0';
	(void)bs_text_pairs(info->about, take_patient, &(struct patient){ k->patient, k->lies });
}

/* Checks that both headers tell the same patient, as far as they tell. */
static int same_patient(const struct bs_kept *k, const struct bs_scan_info *info,
			struct bs_fail *why)
{
	struct bs_kept own = { 0 };

	name_patient(&own, info);
	if (k->patient[0] != '\0' && own.patient[0] != '\0' && strcmp(k->patient, own.patient) != 0)
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "the image of scan '%s' is of another patient", k->scan);
	if (k->lies[0] != '\0' && own.lies[0] != '\0' && strcmp(k->lies, own.lies) != 0)
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "the patient lay %s in scan '%s', and lies %s now", k->lies, k->scan,
			       own.lies);
	return 0;
}

/* Checks a kept scan against the present one's header. */
static int fits(const struct bs_kept *k, enum bs_kept_kind kind, const struct bs_protocol *p,
		const struct bs_scan_info *info, struct bs_fail *why)
{
	const uint32_t *n = k->matrix;
	struct bs_match m;
	float fov_mm[3];

	if (kind == BS_KEPT_IMAGE)
		return same_patient(k, info, why);
	bs_geometry_fov(fov_mm, p, info);
	if (k->slices != p->slices)
		return bs_fail(why, BS_ERR_CALIBRATION, "scan '%s' has %u slices, this one %u",
			       k->scan, k->slices, p->slices);
	for (int a = 0; a < 3; a++)
		if (!near(k->fov_mm[a], fov_mm[a], 1e-3 * (double)fov_mm[a]))
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "the field of view of scan '%s' is %g mm along %c, of this "
				       "one %g",
				       k->scan, (double)k->fov_mm[a], "xyz"[a], (double)fov_mm[a]);
	if (kind == BS_KEPT_FIELD)
		return (double)k->most_hz <= p->field.range_hz
			       ? 0
			       : bs_fail(why, BS_ERR_CALIBRATION,
					 "the field map of scan '%s' reaches %.1f Hz, "
					 "field.range_hz is %g",
					 k->scan, (double)k->most_hz, p->field.range_hz);
	if (memcmp(n, p->matrix, sizeof(p->matrix)) != 0 || k->coils != p->coils ||
	    k->images != bs_protocol_map_images(p))
		return bs_fail(
			why, BS_ERR_CALIBRATION,
			"the maps of scan '%s' are %u x %u x %u of %u coils in %u sets, this "
			"one needs %u x %u x %u of %u in %u",
			k->scan, n[0], n[1], n[2], k->coils, k->images, p->matrix[0], p->matrix[1],
			p->matrix[2], p->coils, bs_protocol_map_images(p));
	match(&m, k, info);
	return m.by != BS_MATCHED_NONE ? 0 : bs_fail(why, BS_ERR_CALIBRATION, "%s", m.words);
}

/*
 * The newest kept scan that has this text at this place of bs_kept and that fits; else the reason
 * why the newest with the text does not fit.
 */
static uint32_t newest(const struct bs_study *s, enum bs_kept_kind kind, size_t at,
		       const char *text, const struct bs_protocol *p,
		       const struct bs_scan_info *info, struct bs_fail *why)
{
	uint64_t number = 0;
	uint64_t misfit = 0;
	uint32_t found = BS_SCAN_TAKES_NONE;

	for (uint32_t i = 0; i < s->slots[kind]; i++) {
		const struct bs_kept *k = &s->kept[kind][i];
		const uint64_t its = atomic_load(&k->number);
		struct bs_fail reason = { 0 };

		if (its == 0 || strcmp((const char *)k + at, text) != 0 ||
		    (kind == BS_KEPT_IMAGE && strcmp(k->protocol, p->w.protocol) != 0))
			continue;
		if (fits(k, kind, p, info, &reason) != 0) {
			if (its > misfit)
				*why = reason;
			misfit = its > misfit ? its : misfit;
		} else if (its > number) {
			number = its;
			found = i;
		}
	}
	return found;
}

/* Chooses the slot of the scan that the header names, or of the study. */
static int slot_of(uint32_t *slot, const struct bs_study *s, enum bs_kept_kind kind,
		   const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_fail *why)
{
	const char *scan = kind == BS_KEPT_MAPS    ? info->maps_scan
			   : kind == BS_KEPT_FIELD ? info->field_scan
						   : "";
	struct bs_fail reason = { 0 };

	*slot = BS_SCAN_TAKES_NONE;
	if (s == NULL)
		return bs_fail(why, BS_ERR_CALIBRATION, "%s of protocol '%s': no scan came before",
			       what[kind], p->name);
	if (scan[0] != '\0')
		*slot = newest(s, kind, offsetof(struct bs_kept, scan), scan, p, info, &reason);
	else if (info->study[0] != '\0')
		*slot = newest(s, kind, offsetof(struct bs_kept, study), info->study, p, info,
			       &reason);
	if (*slot != BS_SCAN_TAKES_NONE)
		return 0;
	if (reason.code != 0)
		return bs_fail(why, BS_ERR_CALIBRATION, "%s of protocol '%s': %s", what[kind],
			       p->name, reason.text);
	if (scan[0] != '\0')
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "%s of protocol '%s': scan '%s', which the header names, has left "
			       "none, or is not known",
			       what[kind], p->name, scan);
	if (info->study[0] != '\0')
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "%s of protocol '%s': no scan of study '%s' has left any",
			       what[kind], p->name, info->study);
	return bs_fail(why, BS_ERR_CALIBRATION,
		       "%s of protocol '%s': the header names neither a scan that it takes them "
		       "from nor a study",
		       what[kind], p->name);
}

int bs_scan_study_open(struct bs_scan_study *scan, const struct bs_study *study,
		       const struct bs_protocol *p, const struct bs_scan_info *info,
		       struct bs_fail *why)
{
	struct bs_fail lacks;
	int rc = 0;

	scan->lacks[0] = '\0';
	scan->begun = 0;
	scan->whitened = 0;
	memset(scan->posed, 0, sizeof(scan->posed));
	for (int k = 0; k < BS_KEPT_KINDS; k++) {
		scan->taken[k] = BS_SCAN_TAKES_NONE;
		if (rc == 0 && p->plan.takes[k])
			rc = slot_of(&scan->taken[k], study, (enum bs_kept_kind)k, p, info, &lacks);
		if (rc != 0 && k == BS_KEPT_IMAGE && p->w.lacking == BS_W_LACKING_WITHOUT) {
			(void)snprintf(scan->lacks, sizeof(scan->lacks), "%.199s", lacks.text);
			rc = 0;
		}
	}
	if (rc != 0)
		return bs_fail(why, rc, "%s", lacks.text);
	if (scan->taken[BS_KEPT_MAPS] != BS_SCAN_TAKES_NONE)
		match(&scan->match, bs_scan_study_taken(scan, study, BS_KEPT_MAPS), info);
	return rc;
}

const struct bs_kept *bs_scan_study_taken(const struct bs_scan_study *scan,
					  const struct bs_study *study, enum bs_kept_kind kind)
{
	return scan->taken[kind] != BS_SCAN_TAKES_NONE ? &study->kept[kind][scan->taken[kind]]
						       : NULL;
}

/* ---- what a scan's readouts tell ---- */

static bool lies_there(const struct bs_kept *k, const struct bs_pose *a, const struct bs_pose *b)
{
	const double most =
		fmax(fmax((double)k->fov_mm[0], (double)k->fov_mm[1]), (double)k->fov_mm[2]);

	for (int i = 0; i < 3; i++)
		if (!near(a->position[i], b->position[i], 1e-3 * most) ||
		    !near(a->read_dir[i], b->read_dir[i], 1e-3) ||
		    !near(a->phase_dir[i], b->phase_dir[i], 1e-3) ||
		    !near(a->slice_dir[i], b->slice_dir[i], 1e-3))
			return false;
	return true;
}

/* A hash of the noise that whitens the coils: the same noise gives the same whitening matrix. */
static uint64_t whitening(const struct bs_protocol *p, const struct bs_noise *n)
{
	uint64_t h = BS_HASH_START;

	if (!bs_plan_has(&p->plan, BS_PLAN_WHITEN) || n->samples == 0 || n->coils != p->coils)
		return 0;
	h = bs_hash_bytes(h, &n->samples, sizeof(n->samples));
	h = bs_hash_words(h, n->sum, (size_t)n->coils * n->coils * sizeof(n->sum[0]));
	return h != 0 ? h : 1;
}

int bs_scan_study_line(struct bs_scan_study *scan, const struct bs_study *study,
		       const struct bs_protocol *p, const struct bs_noise *noise,
		       const struct bs_mrd_acq *head, struct bs_fail *why)
{
	const struct bs_kept *maps = bs_scan_study_taken(scan, study, BS_KEPT_MAPS);
	const uint32_t slice = head->idx.slice;
	struct bs_pose *pose;

	if (!scan->begun) {
		scan->whitened = whitening(p, noise);
		scan->named = noise->match.by != BS_MATCHED_NUMBER;
		if (maps != NULL && maps->whitened != scan->whitened)
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "image.maps of protocol '%s': the coils of scan '%s' were "
				       "%s, those of this one are %s",
				       p->name, maps->scan,
				       maps->whitened != 0 ? "whitened" : "not whitened",
				       scan->whitened == 0   ? "not"
				       : maps->whitened != 0 ? "so by another noise"
							     : "whitened");
		if (maps != NULL && maps->whitened != 0 && !(maps->named && scan->named) &&
		    bs_match_moves(&scan->match, p->coils))
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "image.maps of protocol '%s': the coils of scan '%s' stand "
				       "in another order, and whose noise is which was taken by "
				       "number",
				       p->name, maps->scan);
		scan->begun = 1;
	}
	if (slice >= p->slices || bs_scan_study_posed(scan, slice))
		return 0;
	pose = &scan->pose[slice];
	bs_pose_of(pose, head);
	for (int k = 0; k < BS_KEPT_KINDS; k++) {
		const struct bs_kept *kept = bs_scan_study_taken(scan, study, (enum bs_kept_kind)k);

		if (kept != NULL && k != BS_KEPT_IMAGE &&
		    !lies_there(kept, &kept->pose[slice], pose))
			return bs_fail(why, BS_ERR_CALIBRATION,
				       "%s of protocol '%s': slice %u of scan '%s' lies at (%g, "
				       "%g, %g) mm, this one at (%g, %g, %g), or its axes differ",
				       what[k], p->name, slice, kept->scan,
				       (double)kept->pose[slice].position[0],
				       (double)kept->pose[slice].position[1],
				       (double)kept->pose[slice].position[2],
				       (double)pose->position[0], (double)pose->position[1],
				       (double)pose->position[2]);
	}
	scan->posed[slice] = 1;
	return 0;
}

/* ---- what a scan leaves ---- */

/*
 * Returns true if the protocol makes what later scans may take. Virtual coils differ in each scan,
 * so their maps are of no use to another one.
 */
static bool makes(const struct bs_protocol *p, enum bs_kept_kind kind)
{
	const struct bs_plan *plan = &p->plan;

	if (kind == BS_KEPT_IMAGE)
		return bs_study_images(p);
	return kind == BS_KEPT_MAPS
		       ? plan->maps == BS_PLAN_MAPS_SCAN && !bs_plan_has(plan, BS_PLAN_COMPRESS)
		       : bs_plan_has(plan, BS_PLAN_ECHOES);
}

bool bs_study_images(const struct bs_protocol *p)
{
	return p->plan.encode != BS_ENCODE_NOTHING && bs_protocol_channels(p) == 1 &&
	       (p->output == BS_OUTPUT_MAGNITUDE || p->output == BS_OUTPUT_COMPLEX) &&
	       (p->slices == 1 || p->volume);
}

bool bs_study_wants(const struct bs_site *site, enum bs_kept_kind kind, const struct bs_protocol *p)
{
	for (uint32_t i = 0; makes(p, kind) && i < site->protocols; i++) {
		const struct bs_protocol *q = &site->protocol[i];

		if (kind == BS_KEPT_IMAGE && q->plan.takes[kind] &&
		    strcmp(q->w.protocol, p->name) == 0)
			return true;
		if (kind != BS_KEPT_IMAGE && q->plan.takes[kind] && q->slices == p->slices &&
		    (kind == BS_KEPT_FIELD ||
		     (q->coils == p->coils &&
		      bs_protocol_map_images(q) == bs_protocol_map_images(p) &&
		      memcmp(q->matrix, p->matrix, sizeof(q->matrix)) == 0)))
			return true;
	}
	return false;
}

struct bs_kept *bs_study_fill(struct bs_study *s, enum bs_kept_kind kind,
			      const struct bs_scan_study *scan, const struct bs_protocol *p,
			      const struct bs_scan_info *info, void **data)
{
	uint32_t at = 0;
	struct bs_kept *k;

	if (info->measurement[0] == '\0' && info->study[0] == '\0')
		return NULL;
	for (uint32_t i = 1; i < s->slots[kind]; i++)
		if (atomic_load(&s->kept[kind][i].number) < atomic_load(&s->kept[kind][at].number))
			at = i;
	for (uint32_t i = 0; info->measurement[0] != '\0' && i < s->slots[kind]; i++)
		if (strcmp(s->kept[kind][i].scan, info->measurement) == 0)
			at = i;
	k = &s->kept[kind][at];
	atomic_store(&k->number, 0);
	bs_stamp_before(); /* the writes below are not seen under the slot's old number */
	memcpy(k->scan, info->measurement, sizeof(k->scan));
	memcpy(k->study, info->study, sizeof(k->study));
	memcpy(k->protocol, p->name, sizeof(k->protocol));
	name_patient(k, info);
	memcpy(k->matrix, p->matrix, sizeof(k->matrix));
	k->slices = p->slices;
	k->coils = p->coils;
	k->images = bs_protocol_map_images(p);
	k->whitened = scan->whitened;
	k->named = scan->named;
	k->labels = info->labels;
	bs_geometry_fov(k->fov_mm, p, info);
	memcpy(k->pose, scan->pose, p->slices * sizeof(k->pose[0]));
	*data = bs_study_data(s, kind, at);
	return k;
}

void bs_study_keep(struct bs_study *s, struct bs_kept *kept)
{
	const uint64_t number = atomic_load(&s->number) + 1;

	atomic_store(&s->number, number);
	atomic_store(&kept->number, number);
}

/* The image is whole, made as the protocol makes images, and the first of its kinds. */
static bool serves(const struct bs_recon_image *image)
{
	const struct bs_mrd_image *h = &image->head;

	return !image->preview && !image->report.gridded && !image->report.quadratic &&
	       image->lacks[0] == '\0' && image->missing == 0 && h->channels == 1 &&
	       h->contrast == 0 && h->phase == 0 && h->set == 0;
}

uint32_t bs_study_image(struct bs_study *s, const struct bs_site *site,
			const struct bs_scan_study *scan, const struct bs_protocol *p,
			const struct bs_scan_info *info, const struct bs_recon_image *image)
{
	const struct bs_mrd_image *h = &image->head;
	const uint64_t voxels = (uint64_t)h->matrix_size[0] * h->matrix_size[1] * h->matrix_size[2];
	const uint32_t parts = h->data_type == BS_MRD_CXFLOAT ? 2 : 1;
	struct bs_kept *k;
	void *data;
	float *to;

	if (!serves(image) || !bs_study_wants(site, BS_KEPT_IMAGE, p) ||
	    voxels * sizeof(float) > s->bytes[BS_KEPT_IMAGE])
		return BS_SCAN_TAKES_NONE;
	k = bs_study_fill(s, BS_KEPT_IMAGE, scan, p, info, &data);
	if (k == NULL)
		return BS_SCAN_TAKES_NONE;
	to = data;
	for (int a = 0; a < 3; a++) {
		k->matrix[a] = h->matrix_size[a];
		k->fov_mm[a] = h->field_of_view[a];
		k->table_mm[a] = h->patient_table_position[a];
		k->pose[0].position[a] = h->position[a];
		k->pose[0].read_dir[a] = h->read_dir[a];
		k->pose[0].phase_dir[a] = h->phase_dir[a];
		k->pose[0].slice_dir[a] = h->slice_dir[a];
	}
	for (uint64_t v = 0; v < voxels; v++)
		to[v] = parts == 1 ? image->pixels[v]
				   : hypotf(image->pixels[2 * v], image->pixels[2 * v + 1]);
	bs_study_keep(s, k);
	return (uint32_t)(k - s->kept[BS_KEPT_IMAGE]);
}
