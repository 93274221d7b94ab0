/* board/arm/anatomy.c - see anatomy.h */
#include "board/arm/anatomy.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/geometry.h"
#include "core/memory/stamp.h"
#include "core/thread/thread.h"

#define TABLE_MM 1.0 /* the table has moved by more than this */

/* One W: of which image, on which grid. */
struct order {
	const struct bs_kept *kept;
	const float *magnitude;
	uint64_t number; /* kept's number; 0: there is no order */
	struct bs_grid from, to;
};

struct bs_anatomy {
	const struct bs_protocol *p;
	struct bs_live live;
	/* The next members are of the recon thread. */
	struct bs_study *study;
	struct order scan; /* the present scan's W */
	bool posed;
	char lacks[BS_W_WORDS]; /* why the scan has no W; "": it has one */
	/* The next members are under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct order asked,
		made;       /* W to make next, number 0: none; W that is made, or being made */
	struct bs_fail why; /* why it could not be made; code 0: it is made */
	bool busy, ends;    /* busy: it is being made */
	pthread_t thread;
	bool started;
};

/* ---- making ---- */

int bs_anatomy_make(struct bs_csr *w, const struct bs_protocol *p, float *image, float *mask,
		    const struct bs_grid *to, const float *magnitude, const struct bs_grid *from,
		    struct bs_fail *why)
{
	const struct bs_prior_spec spec = bs_live_spec(p);
	int rc = bs_anatomy_resample(image, to, magnitude, from, why);

	if (rc == 0)
		rc = bs_anatomy_mask(mask, image, to->matrix, p->w.mask, p->w.margin, why);
	return rc == 0 && w != NULL ? bs_prior_fill(w, &spec, image, mask, why) : rc;
}

static void make(struct bs_anatomy *a, const struct order *o, struct bs_fail *why)
{
	struct bs_live *l = &a->live;

	why->code = 0;
	(void)bs_anatomy_make(&l->w, a->p, l->image, l->mask, &o->to, o->magnitude, &o->from, why);
	bs_stamp_after();
	if (atomic_load(&o->kept->number) != o->number)
		(void)bs_fail(why, BS_ERR_CALIBRATION, "the image was replaced meanwhile");
}

static void *run(void *arg)
{
	struct bs_anatomy *a = arg;

	(void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &(struct sched_param){ 0 });
	(void)pthread_mutex_lock(&a->lock);
	while (!a->ends) {
		struct order now = a->asked;
		struct bs_fail why;

		if (now.number == 0) {
			bs_lock_wait(&a->lock, &a->change, 0);
			continue;
		}
		a->made = now;
		a->asked.number = 0;
		a->busy = true;
		(void)pthread_mutex_unlock(&a->lock);
		make(a, &now, &why);
		(void)pthread_mutex_lock(&a->lock);
		a->why = why;
		a->busy = false;
		(void)pthread_cond_broadcast(&a->change);
	}
	(void)pthread_mutex_unlock(&a->lock);
	return NULL;
}

static bool same(const struct order *a, const struct order *b)
{
	return a->number == b->number && memcmp(&a->to, &b->to, sizeof(a->to)) == 0;
}

/* Asks for a W, unless it is made already or being made. */
static void ask(struct bs_anatomy *a, const struct order *o)
{
	(void)pthread_mutex_lock(&a->lock);
	a->asked = *o;
	if (same(&a->made, o) && (a->busy || a->why.code == 0))
		a->asked.number = 0;
	(void)pthread_cond_broadcast(&a->change);
	(void)pthread_mutex_unlock(&a->lock);
}

/* ---- scans ---- */

/* The W of the image in a slot, for a scan that lies where the image does. */
static void order_of(struct order *o, const struct bs_protocol *p, struct bs_study *study,
		     uint32_t slot, const float fov_mm[3])
{
	const struct bs_kept *k = &study->kept[BS_KEPT_IMAGE][slot];

	memset(o, 0, sizeof(*o)); /* orders are compared byte by byte */
	o->kept = k;
	o->magnitude = bs_study_data(study, BS_KEPT_IMAGE, slot);
	o->number = atomic_load(&k->number);
	o->from.pose = o->to.pose = k->pose[0];
	for (int i = 0; i < 3; i++) {
		o->from.matrix[i] = k->matrix[i];
		o->from.fov_mm[i] = k->fov_mm[i];
		o->to.matrix[i] = p->matrix[i];
		o->to.fov_mm[i] = fov_mm[i];
	}
}

bool bs_anatomy_ahead(struct bs_anatomy *a, struct bs_study *study, uint32_t slot)
{
	const float *fov_mm = a->p->fov_mm;
	struct order o;

	if (!(fov_mm[0] > 0.0f && fov_mm[1] > 0.0f && fov_mm[2] > 0.0f) ||
	    strcmp(study->kept[BS_KEPT_IMAGE][slot].protocol, a->p->w.protocol) != 0)
		return false;
	order_of(&o, a->p, study, slot, fov_mm);
	ask(a, &o);
	return true;
}

void bs_anatomy_scan(struct bs_anatomy *a, struct bs_study *study, const struct bs_scan_study *scan,
		     const struct bs_scan_info *info)
{
	float fov_mm[3];

	a->posed = a->live.made = a->live.aligned = false;
	memset(&a->live.report, 0, sizeof(a->live.report));
	a->live.report.asked = true;
	(void)snprintf(a->lacks, sizeof(a->lacks), "%s", scan->lacks);
	a->scan.number = 0;
	if (scan->taken[BS_KEPT_IMAGE] == BS_SCAN_TAKES_NONE)
		return;
	bs_geometry_fov(fov_mm, a->p, info);
	order_of(&a->scan, a->p, study, scan->taken[BS_KEPT_IMAGE], fov_mm);
}

void bs_anatomy_pose(struct bs_anatomy *a, const struct bs_mrd_acq *head)
{
	const struct bs_kept *k = a->scan.kept;

	if (a->posed || a->scan.number == 0)
		return;
	a->posed = true;
	for (int i = 0; i < 3; i++)
		if (!(fabs((double)head->patient_table_position[i] - (double)k->table_mm[i]) <=
		      TABLE_MM))
			(void)snprintf(a->lacks, sizeof(a->lacks),
				       "the table was at %g mm along %c in scan '%s', and is at %g "
				       "now",
				       (double)k->table_mm[i], "xyz"[i], k -> scan,
				       (double)head -> patient_table_position[i]);
	bs_pose_of(&a->scan.to.pose, head);
	if (a->lacks[0] == '\0')
		ask(a, &a->scan);
}

/* Waits for the scan's W; what does not fit ends the scan, or leaves it without W. */
static int settle(void *self, struct bs_fail *why)
{
	struct bs_anatomy *a = self;
	struct bs_live *l = &a->live;

	(void)pthread_mutex_lock(&a->lock);
	while (a->asked.number != 0 || a->busy)
		bs_lock_wait(&a->lock, &a->change, 0);
	if (a->lacks[0] == '\0' && a->why.code != 0)
		(void)snprintf(a->lacks, sizeof(a->lacks), "%.239s", a->why.text);
	(void)pthread_mutex_unlock(&a->lock);
	l->made = a->lacks[0] == '\0';
	(void)snprintf(l->report.lacks, sizeof(l->report.lacks), "%s", a->lacks);
	if (l->made || a->p->w.lacking == BS_W_LACKING_WITHOUT)
		return 0;
	return bs_fail(why, BS_ERR_CALIBRATION, "ls.w of protocol '%s': %s", a->p->name, a->lacks);
}

/* ---- life ---- */

uint64_t bs_anatomy_bytes(const struct bs_protocol *p)
{
	const struct bs_prior_spec spec = bs_live_spec(p);

	/* with three images, and a solver's product with W */
	return bs_prior_bytes(&spec) +
	       bs_protocol_voxels(p) * (3 + 1 + spec.neighbors / 2) * 2 * sizeof(float);
}

struct bs_live *bs_anatomy_live(struct bs_anatomy *a)
{
	return &a->live;
}

int bs_anatomy_open(struct bs_anatomy **out, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_anatomy *a = calloc(1, sizeof(*a));
	const size_t bytes = (size_t)bs_protocol_voxels(p) * 2 * sizeof(float);
	int rc;

	if (a == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "ls.w of protocol '%s'", p->name);
	*out = a;
	a->p = p;
	a->live.spec = bs_live_spec(p);
	a->live.limit = p->w.off;
	a->live.settle = settle;
	a->live.self = a;
	a->live.made = a->live.aligned = true; /* for timing before a scan */
	bs_lock_init(&a->lock, &a->change);
	a->live.image = malloc(3 * bytes);
	rc = a->live.image == NULL ? bs_fail(why, BS_ERR_NOMEM, "ls.w of protocol '%s'", p->name)
				   : bs_prior_make(&a->live.w, &a->live.spec, NULL, NULL, why);
	if (rc == 0) {
		memset(a->live.image, 0, 3 * bytes); /* no page fault comes after arm */
		a->live.mask = a->live.image + bytes / sizeof(float);
		a->live.work = a->live.mask + bytes / sizeof(float);
		a->started = bs_thread_start(&a->thread, run, a) == 0;
		rc = a->started ? 0 : bs_fail(why, BS_ERR_NOMEM, "a thread for ls.w");
	}
	return rc;
}

void bs_anatomy_close(struct bs_anatomy *a)
{
	if (a == NULL)
		return;
	if (a->started) {
		(void)pthread_mutex_lock(&a->lock);
		a->ends = true;
		(void)pthread_cond_broadcast(&a->change);
		(void)pthread_mutex_unlock(&a->lock);
		(void)pthread_join(a->thread, NULL);
	}
	bs_csr_close(&a->live.w);
	free(a->live.image);
	free(a);
}
