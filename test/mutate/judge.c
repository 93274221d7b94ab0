/* test/mutate/judge.c - see judge.h */
#include "test/mutate/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EXACT     1e-5 /* NRMSE: floats, and single precision transforms */
#define CORRECTED 1e-3 /* of EPI, whose lines are freed of their phase as measured */
#define GRIDDED   0.04 /* scaled: as data/console/README.md has it */

static void find_wrong(struct judgment *j, const char *words, ...)
{
	va_list ap;

	if (j->verdict == WRONG)
		return;
	j->verdict = WRONG;
	va_start(ap, words);
	(void)vsnprintf(j->words, sizeof(j->words), words, ap);
	va_end(ap);
}

static void find_partial(struct judgment *j, const char *words)
{
	if (j->verdict != RIGHT)
		return;
	j->verdict = PARTIAL;
	(void)snprintf(j->words, sizeof(j->words), "%.390s", words);
}

/* ---- images ---- */

/* ||image - truth|| / ||truth||, after the best scale where that is not known. */
static double distance(const float *image, const double *truth, size_t voxels, bool scaled)
{
	double ab = 0.0;
	double aa = 0.0;
	double bb = 0.0;
	double e = 0.0;

	for (size_t v = 0; v < voxels; v++) {
		ab += (double)image[v] * truth[v];
		aa += (double)image[v] * image[v];
		bb += truth[v] * truth[v];
	}
	for (size_t v = 0; v < voxels; v++) {
		const double d = (double)image[v] * (scaled && aa > 0.0 ? ab / aa : 1.0) - truth[v];

		e += d * d;
	}
	return isfinite(e) ? sqrt(e / bb) : 1e9;
}

/* What an image is held to. */
struct truth {
	uint32_t matrix[3];
	double voxel[3]; /* of the plan's voxels, which have 5 mm */
	double weight[16];
	bool scaled;
	size_t voxels;
	double *rss, *zeros; /* zeros: what is there without anything filled in, or NULL */
	double bound;
};

static void set_grid(struct truth *t, const struct scan *s, const ISMRMRD_ImageHeader *h)
{
	const struct plan *p = &s->plan;
	const uint32_t own[3] = { p->nx, p->path == PATH_RADIAL ? p->nx : p->ny, p->nz };
	bool is_own = true;

	for (int a = 0; a < 3; a++)
		is_own = is_own && own[a] == h->matrix_size[a];
	t->voxels = 1;
	for (int a = 0; a < 3; a++) {
		t->matrix[a] = is_own ? own[a] : s->recon[a];
		t->voxel[a] = is_own ? 1.0 : s->voxel_mm[a] / 5.0;
		t->voxels *= t->matrix[a];
	}
	if (s->no_field_of_view && !is_own)
		t->voxel[0] = (double)plan_samples(p) / t->matrix[0];
}

static bool fills(const struct plan *p)
{
	return p->accel > 1 || p->skip > 0 || p->skip_parts > 0 || p->early > 0 || p->late > 0;
}

/* The bound where lines are filled in is far below what zeros in their place give. */
static void make_truth(struct truth *t, const struct scan *s, const struct frame *f,
		       const struct image *i)
{
	const struct plan *p = &s->plan;
	char word[16];
	/* samples behind k = 0 are zeros, and that is said */
	const bool cut = p->late > 0 && strstr(i->attributes, "samples") != NULL &&
			 strstr(i->attributes, "were not measured (asymmetric echo)") != NULL;
	struct frame all = *f;
	const bool white =
		strcmp(image_word(i, "boreside_whitened", word, sizeof(word)), "yes") == 0;

	memset(t, 0, sizeof(*t));
	set_grid(t, s, &i->head);
	for (uint32_t c = 0; c < p->coils; c++)
		t->weight[c] = white && s->noise[c] > 0.0 ? 1.0 / s->noise[c] : 1.0;
	t->scaled = white || p->path == PATH_RADIAL;
	t->rss = malloc(sizeof(*t->rss) * t->voxels);
	t->bound = p->path == PATH_RADIAL ? GRIDDED : p->path == PATH_EPI ? CORRECTED : EXACT;
	if (p->path == PATH_RADIAL) {
		object_adjoint(p, f, t->weight, t->rss);
		return;
	}
	all.came = malloc((size_t)p->nz * p->ny);
	memset(all.came, 1, (size_t)p->nz * p->ny);
	object_image(p, p->elliptical ? f : &all, !p->elliptical && !cut, t->weight, t->matrix,
		     t->voxel, t->rss);
	free(all.came);
	if (fills(p)) {
		float *zeros = malloc(sizeof(*zeros) * t->voxels);

		t->zeros = malloc(sizeof(*t->zeros) * t->voxels);
		object_image(p, f, false, t->weight, t->matrix, t->voxel, t->zeros);
		for (size_t v = 0; v < t->voxels; v++)
			zeros[v] = (float)t->zeros[v];
		t->bound =
			distance(zeros, t->rss, t->voxels, t->scaled) * (p->accel > 1 ? 0.5 : 0.8);
		t->bound = fmax(t->bound, 10 * EXACT);
		free(zeros);
	}
}

static double error_of(const struct scan *s, const struct frame *f, const struct image *i,
		       bool mean, double *bound)
{
	struct frame one = *f;
	struct truth t;
	double e = 2.0;

	one.scale = mean ? 1.0 : f->scale;
	make_truth(&t, s, &one, i);
	*bound = t.bound;
	if (memcmp(t.matrix,
		   (uint32_t[3]){ i->head.matrix_size[0], i->head.matrix_size[1],
				  i->head.matrix_size[2] },
		   sizeof(t.matrix)) == 0)
		e = distance(i->pixels, t.rss, t.voxels, t.scaled);
	/* zeros that are said */
	if (e < 2.0 && e > t.bound && t.zeros != NULL && s->plan.accel == 1 &&
	    strstr(i->attributes, "not measured") != NULL &&
	    distance(i->pixels, t.zeros, t.voxels, t.scaled) <= 10 * EXACT)
		e = t.bound;
	free(t.rss);
	free(t.zeros);
	return e;
}

static bool has_counters(const struct frame *f, const ISMRMRD_ImageHeader *h, bool mean)
{
	return h->slice == f->at[SLICE] && h->contrast == f->at[CONTRAST] &&
	       h->phase == f->at[PHASE] && h->set == f->at[SET] &&
	       h->repetition == f->at[REPETITION] && (mean || h->average == f->at[AVERAGE]);
}

/* Without a field of view in the header there is none in the image, which is said. */
static bool is_place(const struct frame *f, const struct scan *s, const struct answer *a,
		     const struct image *i)
{
	struct truth t;

	set_grid(&t, s, &i->head);
	for (int x = 0; x < 3; x++) {
		const double fov = 5.0 * t.voxel[x] * t.matrix[x];
		const double got = (double)i->head.field_of_view[x];

		if (fabs((double)i->head.position[x] - f->position[x]) > 1e-3)
			return false;
		if (fabs(got - fov) > 1e-3 * fov &&
		    (got != 0.0 || strstr(a->said, "field of view is 0") == NULL))
			return false;
	}
	return true;
}

/* ---- reasons ---- */

static bool is_absent(const struct scan *s, const struct frame *f, int axis, unsigned from,
		      unsigned to)
{
	const unsigned n = axis == 0 ? s->plan.ny : s->plan.nz;

	for (unsigned z = 0; z < s->plan.nz; z++)
		for (unsigned y = 0; y < s->plan.ny; y++) {
			const unsigned at = axis == 0 ? y : z;

			if (at >= from && at <= to && f->came[z * s->plan.ny + y] != 0)
				return false;
		}
	return from <= to && to < n;
}

static unsigned absent_lines(const struct scan *s, const struct frame *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->plan.ny * s->plan.nz; i++)
		n += f->came[i] == 0;
	return n;
}

static unsigned lost_of(const struct scan *s, const struct frame *f)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->frame_count; i++)
		if (f == NULL || memcmp(&f->at[SLICE], &s->frames[i].at[SLICE],
					sizeof(f->at[0]) * (AVERAGE - SLICE)) == 0)
			n += s->frames[i].lost; /* of all averages, which may be summed */
	return n;
}

/* By the counters that were sent two lines of images are one and the same. */
static bool is_one(const struct line *a, const struct line *b)
{
	return a->role == ROLE_IMAGE && b->role == ROLE_IMAGE &&
	       a->head.encoding_space_ref == b->head.encoding_space_ref &&
	       memcmp(&a->head.idx, &b->head.idx, offsetof(ISMRMRD_EncodingCounters, segment)) == 0;
}

static bool comes_again(const struct scan *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (is_one(&s->lines[i], &s->lines[j]))
				return true;
	return false;
}

/* Is it so? f: the frame, or NULL: any. */
static bool is_true(const struct scan *s, const struct frame *f, const char *reason)
{
	unsigned a;
	unsigned b;
	unsigned n;

	if (strstr(reason, " did not come again") != NULL)
		return s->again || (s->relabeled && comes_again(s));
	if (strstr(reason, "since more frames began than may be open") != NULL)
		return s->other_protocol;
	if (strstr(reason, "did not come in the order of echoes") != NULL)
		return s->relabeled;
	if (strstr(reason, "which is which is not known") != NULL)
		return s->relabeled && (s->again || lost_of(s, NULL) > 0 || s->lines_refused > 0);
	if (strstr(reason, " came more than once") != NULL)
		return s->again || s->relabeled;
	if (sscanf(reason, "not filled: the center, line %u", &a) == 1)
		return s->center_untold || s->again ||
		       (f != NULL && is_absent(s, f, 0, s->plan.ny / 2, s->plan.ny / 2));
	if (strstr(reason, " did not come") != NULL && strstr(reason, "readout") != NULL) {
		a = 1;
		(void)sscanf(reason, "%u", &a);
		n = strstr(reason, "refused") != NULL || strstr(reason, "as the header") != NULL
			    ? s->lines_refused
			    : 0;
		return a <= lost_of(s, f) + n || s->limits_lie;
	}
	/* of its first repetition */
	if (strstr(reason, "parallel grappa needs") != NULL ||
	    strstr(reason, " have come: lines that were left out are zeros") != NULL)
		return s->plan.moves && f != NULL && f->at[REPETITION] == 0;
	if (sscanf(reason, "accelerated %u x", &a) == 1)
		return a == s->plan.accel || s->acceleration_lies;
	if (sscanf(reason, "lines %u to %u of %u", &a, &b, &n) == 3)
		return s->limits_lie || s->center_untold || f == NULL || is_absent(s, f, 0, a, b);
	if (sscanf(reason, "partitions %u to %u of %u", &a, &b, &n) == 3)
		return s->limits_lie || s->center_untold || f == NULL || is_absent(s, f, 1, a, b);
	if (strstr(reason, "outside of an ellipse") != NULL)
		return s->plan.elliptical;
	if (strstr(reason, "(lower resolution)") != NULL)
		return f == NULL || absent_lines(s, f) > 0;
	if (sscanf(reason, "%u of %u lines were not measured", &a, &n) == 2)
		return f == NULL || a <= absent_lines(s, f);
	if (strstr(reason, "(asymmetric echo)") != NULL)
		return s->plan.early + s->plan.late > 0;
	/* what comes behind a whole frame has no center of its own */
	if (strstr(reason, "the center is not known") != NULL ||
	    strstr(reason, "not filled") != NULL)
		return s->center_untold || s->again;
	if (strstr(reason, "samples differs by one") != NULL)
		return s->center_differs;
	if (strstr(reason, "nothing tells which is right") != NULL)
		return s->reversed_untold;
	if (strstr(reason, "phase of their own (ghosts)") != NULL)
		return s->plan.path == PATH_EPI;
	if (strstr(reason, "multiband") != NULL || strstr(reason, "slice") != NULL)
		return s->plan.bands;
	if (strstr(reason, "encoding") != NULL)
		return s->second_unused;
	return false;
}

/* The first of several that is not so, or NULL. */
static const char *find_false(const struct scan *s, const struct frame *f, const char *reasons)
{
	static char one[400];

	while (*reasons != '\0') {
		const char *end = strstr(reasons, "; ");
		const int n = end != NULL ? (int)(end - reasons) : (int)strlen(reasons);

		(void)snprintf(one, sizeof(one), "%.*s", n, reasons);
		/* the second half of the sentence about reversed lines */
		if (strncmp(one, "center_sample of reversed", 25) == 0) {
			(void)snprintf(one, sizeof(one), "%s", reasons);
			return is_true(s, f, one) ? NULL : one;
		}
		if (!is_true(s, f, one))
			return one;
		reasons += n + (end != NULL ? 2 : 0);
	}
	return NULL;
}

/* "images 5 to 6 left before it was known", "image 3 left before" */
static bool is_named(const struct answer *a, unsigned number)
{
	const char *at = strstr(a->said, " left before");
	unsigned from = 0;
	unsigned to = 0;

	if (at == NULL)
		return false;
	while (at > a->said && at[-1] != '\n' && at[-1] != ';' && at[-1] != ':')
		at--;
	at = strstr(at, "image");
	if (at == NULL)
		return false;
	if (sscanf(at, "images %u to %u", &from, &to) == 2 ||
	    sscanf(at, "images %u and %u", &from, &to) == 2)
		return number >= from && number <= to;
	return sscanf(at, "image %u", &from) == 1 && number == from;
}

/* ---- one image, all images ---- */

/* The frame that it is of: by its counters, else whichever it is nearest to. */
static struct frame *frame_of(struct scan *s, const struct image *i, bool mean, double *error,
			      double *bound)
{
	struct frame *best = NULL;

	for (int any = 0; any <= (s->relabeled ? 1 : 0) && best == NULL; any++)
		for (uint32_t n = 0; n < s->frame_count; n++) {
			struct frame *f = &s->frames[n];
			double b;
			double e;

			if (f->matched || (any == 0 && !has_counters(f, &i->head, mean)))
				continue;
			e = error_of(s, f, i, mean, &b);
			if (any == 1 && e > b)
				continue;
			if (best == NULL || e < *error) {
				best = f;
				*error = e;
				*bound = b;
			}
		}
	return best;
}

static void match(struct scan *s, struct frame *f, bool mean)
{
	for (uint32_t n = 0; n < s->frame_count; n++)
		if (memcmp(&s->frames[n].at[SLICE], &f->at[SLICE],
			   sizeof(f->at[0]) * (AVERAGE - SLICE)) == 0 &&
		    (mean || &s->frames[n] == f))
			s->frames[n].matched = true;
}

static void judge_image(struct judgment *j, struct scan *s, const struct answer *a, unsigned number)
{
	const struct image *i = &a->images[number];
	char quality[16];
	char lacks[600];
	char zeros[600];
	char word[16];
	const bool mean = image_word(i, "boreside_averages", word, sizeof(word))[0] > '1';
	double error = 0.0;
	double bound = 0.0;
	struct frame *f = frame_of(s, i, mean, &error, &bound);
	const char *lie;

	(void)image_word(i, "boreside_quality", quality, sizeof(quality));
	(void)image_word(i, "boreside_lacks", lacks, sizeof(lacks));
	(void)image_word(i, "boreside_zeros", zeros, sizeof(zeros));
	lie = find_false(s, f, lacks);
	if (lie == NULL)
		lie = find_false(s, f, zeros);
	if (lie != NULL)
		find_wrong(j, "image %u: a reason that is not so: %s", number + 1, lie);
	if (f == NULL) {
		if (strcmp(quality, "complete") == 0 && !is_named(a, number + 1) && !s->more_images)
			find_wrong(j,
				   "image %u is of no frame: slice %u contrast %u phase %u set %u "
				   "repetition %u average %u, %s",
				   number + 1, i->head.slice, i->head.contrast, i->head.phase,
				   i->head.set, i->head.repetition, i->head.average, quality);
		else
			find_partial(j, lacks);
		j->untold += s->relabeled && strcmp(quality, "partial") == 0;
		return;
	}
	match(s, f, mean);
	if (strcmp(quality, "partial") == 0) {
		if (lacks[0] == '\0')
			find_wrong(j, "image %u is partial and does not say why", number + 1);
		/* frames of which counters make one frame have no images of their own */
		if (s->relabeled && strstr(lacks, "(no counter tells what they differ in)") != NULL)
			j->untold += s->frame_count - 1;
		find_partial(j, lacks);
		return;
	}
	if (error <= bound && is_place(f, s, a, i) && !f->many)
		return;
	if (is_named(a, number + 1)) {
		find_partial(j, "images left before it was known");
		return;
	}
	if (error <= bound && !f->many)
		find_wrong(j, "image %u is %s and lies elsewhere: %g x %g x %g mm at %g %g %g",
			   number + 1, quality, i->head.field_of_view[0], i->head.field_of_view[1],
			   i->head.field_of_view[2], i->head.position[0], i->head.position[1],
			   i->head.position[2]);
	else
		find_wrong(
			j,
			"image %u is %s and wrong: %.2g of the object, at most %.2g; %u x %u x %u",
			number + 1, quality, error, bound, i->head.matrix_size[0],
			i->head.matrix_size[1], i->head.matrix_size[2]);
}

static bool is_words(const char *why)
{
	unsigned spaces = 0;

	for (; *why != '\0'; why++)
		spaces += *why == ' ';
	return spaces >= 3;
}

void judge(struct judgment *j, struct scan *s, const struct answer *a)
{
	uint32_t missing = 0;

	memset(j, 0, sizeof(*j));
	for (uint32_t n = 0; n < s->frame_count; n++)
		s->frames[n].matched = s->plan.bands && s->frames[n].at[REPETITION] > 0 &&
				       s->frames[n].at[SLICE] > 0;
	if (a->init == ENDED_BADLY || a->scan == ENDED_BADLY)
		find_wrong(j, "died or hung: %.200s", a->why);
	for (uint32_t i = 0; i < a->count; i++)
		judge_image(j, s, a, i);
	if (a->scan == ENDED_REFUSED) {
		if (!is_words(a->why))
			find_wrong(j, "refused without words: '%s'", a->why);
		else if (strstr(a->why, " did not come") != NULL && !is_true(s, NULL, a->why))
			find_wrong(j, "refused for a reason that is not so: %s", a->why);
		if (j->verdict == WRONG)
			return;
		j->verdict = REFUSED;
		(void)snprintf(j->words, sizeof(j->words), "%.390s", a->why);
		return;
	}
	for (uint32_t n = 0; n < s->frame_count; n++)
		missing += !s->frames[n].matched && !s->no_lines;
	if (missing > j->untold)
		find_wrong(j, "%u of %u images are missing, the scan ended well", missing,
			   s->frame_count);
}

bool judge_same(struct judgment *j, const struct answer *served, const struct answer *recon)
{
	if (recon->scan != ENDED_WELL)
		return true;
	if (served->count != recon->count)
		find_wrong(j, "served: %u images, recon made %u: %.200s", served->count,
			   recon->count, served->said);
	for (uint32_t i = 0; i < served->count && i < recon->count; i++) {
		const struct image *a = &served->images[i];
		const struct image *b = &recon->images[i];
		const size_t bytes = sizeof(float) * a->head.matrix_size[0] *
				     a->head.matrix_size[1] * a->head.matrix_size[2];
		char said[2][600];

		if (memcmp(a->head.matrix_size, b->head.matrix_size, sizeof(a->head.matrix_size)) !=
			    0 ||
		    memcmp(a->pixels, b->pixels, bytes) != 0)
			find_wrong(j, "served: image %u is not that of recon", i + 1);
		(void)image_word(a, "boreside_lacks", said[0], sizeof(said[0]));
		(void)image_word(b, "boreside_lacks", said[1], sizeof(said[1]));
		if (strcmp(said[0], said[1]) != 0)
			find_wrong(j, "served: image %u lacks '%.120s', by recon '%.120s'", i + 1,
				   said[0], said[1]);
	}
	return j->verdict != WRONG;
}
