/* drivers/sink/sink.c - see sink.h */
#include "drivers/sink/sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUES_MAX (UINT64_C(1) << 36)

static const struct bs_sink *const known[] = { BS_SINKS };
#define SINKS (sizeof(known) / sizeof(known[0]))

const struct bs_sink *bs_sink_find(const char *type_or_name)
{
	const size_t len = strlen(type_or_name);

	for (size_t i = 0; i < SINKS; i++) {
		const size_t e = strlen(known[i]->ext);

		if (strcmp(type_or_name, known[i]->type) == 0 ||
		    (len >= e && strcmp(type_or_name + len - e, known[i]->ext) == 0))
			return known[i];
	}
	return NULL;
}

static int check_head(const struct bs_mrd_image *head, struct bs_fail *why)
{
	uint64_t n = head->channels;

	if (head->data_type != BS_MRD_FLOAT && head->data_type != BS_MRD_CXFLOAT)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image %u: data type %u is neither float nor complex float",
			       head->image_index, head->data_type);
	for (int a = 0; a < 3; a++) /* four u16: their product fits 64 bits */
		n *= head->matrix_size[a];
	if (n == 0 || n > VALUES_MAX)
		return bs_fail(why, BS_ERR_SIZE, "image %u: %u x %u x %u, %u channels",
			       head->image_index, head->matrix_size[0], head->matrix_size[1],
			       head->matrix_size[2], head->channels);
	return 0;
}

int bs_sink_put(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		const char *attributes, const void *pixels, struct bs_fail *why)
{
	int rc = check_head(head, why);

	return rc == 0 ? sink->put(self, head, attributes, pixels, why) : rc;
}

int bs_sink_put_pairs(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		      const char *attributes, const void *pixels, struct bs_fail *why)
{
	int rc = check_head(head, why);

	return rc == 0 ? sink->put_pairs(self, head, attributes, pixels, why) : rc;
}

int bs_sink_open(const struct bs_sink *sink, void **self, const char *target, struct bs_fail *why)
{
	void *state = calloc(1, sink->bytes);
	int rc = state == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a sink", target)
			       : bs_imagename_open(state, target, sink->ext, why);

	if (rc == 0 && sink->usable != NULL)
		rc = sink->usable(why);
	if (rc == 0 && sink->begin != NULL)
		sink->begin(state);
	if (rc != 0)
		free(state);
	else
		*self = state;
	return rc;
}

int bs_sink_close(const struct bs_sink *sink, void *self, struct bs_fail *why)
{
	int rc = sink->end != NULL ? sink->end(self, why) : 0;

	free(self);
	return rc;
}

bool bs_sink_has(const struct bs_sink *sink, void *self, const struct bs_mrd_image *head,
		 int64_t since_ns)
{
	return sink->has != NULL
		       ? sink->has(self, head, since_ns)
		       : bs_imagename_has(self, head, sink->last != NULL ? sink->last : sink->ext,
					  since_ns);
}

/* ---- names ---- */

int bs_imagename_open(struct bs_imagename *n, const char *target, const char *ext,
		      struct bs_fail *why)
{
	size_t len = strlen(target);
	size_t e = strlen(ext);
	struct stat st;

	memset(n, 0, sizeof(*n));
	if (len == 0 || len >= sizeof(n->target))
		return bs_fail(why, BS_ERR_IO, "a file name of %zu bytes", len);
	memcpy(n->target, target, len + 1);
	n->ext = ext;
	n->folder = stat(target, &st) == 0 && S_ISDIR(st.st_mode);
	n->mode = n->folder ? BS_DRAFT_KEEP : BS_DRAFT_REPLACE;
	if (n->folder)
		return 0;
	if (len <= e || strcmp(target + len - e, ext) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: is no folder and does not end in %s", target,
			       ext);
	n->target[len - e] = '\0';
	return 0;
}

int bs_imagename_make(const struct bs_imagename *n, char out[BS_DRAFT_PATH],
		      const struct bs_mrd_image *head, uint32_t try_number, struct bs_fail *why)
{
	char again[16] = "";
	int len;

	if (n->folder) {
		if (try_number > 0)
			(void)snprintf(again, sizeof(again), "-%u", try_number + 1);
		len = snprintf(out, BS_DRAFT_PATH, "%s/uid%08x-s%03u-i%05u%s%s", n->target,
			       head->measurement_uid, head->image_series_index, head->image_index,
			       again, n->ext);
	} else {
		if (n->images > 0)
			(void)snprintf(again, sizeof(again), "-%04u", n->images + 1);
		len = snprintf(out, BS_DRAFT_PATH, "%s%s%s", n->target, again, n->ext);
	}
	if (len < 0 || (size_t)len >= BS_DRAFT_PATH)
		return bs_fail(why, BS_ERR_IO, "%s: the image's name is too long", n->target);
	return 0;
}

int bs_imagename_commit(struct bs_imagename *n, struct bs_draft *d, int rc,
			const struct bs_mrd_image *head, struct bs_fail *why)
{
	rc = rc == 0 ? BS_DRAFT_EXISTS : rc;
	for (uint32_t t = 0; rc == BS_DRAFT_EXISTS; t++) {
		char path[BS_DRAFT_PATH];

		rc = bs_imagename_make(n, path, head, t, why);
		if (rc == 0)
			rc = bs_draft_commit(d, path, n->mode, why);
		if (rc == BS_DRAFT_EXISTS && t == BS_IMAGENAME_TRIES)
			rc = bs_fail(why, BS_ERR_IO, "%s and %u like it are taken", path, t);
	}
	if (rc == 0)
		n->images++;
	else
		bs_draft_drop(d);
	return rc;
}

static int64_t written_ns(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode)
		       ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec
		       : -1;
}

/* Returns when the file of the same name with extension `last` was written; -1: there is none. */
static int64_t other_ns(const struct bs_imagename *n, const char *path, const char *last)
{
	char other[BS_DRAFT_PATH + 8];

	(void)snprintf(other, sizeof(other), "%.*s%s", (int)(strlen(path) - strlen(n->ext)), path,
		       last);
	return written_ns(other);
}

void bs_imagename_at(void *self, uint32_t number)
{
	struct bs_imagename *n = self;

	n->images = number - 1;
}

int64_t bs_imagename_newest(const struct bs_imagename *n, char path[BS_DRAFT_PATH],
			    const struct bs_mrd_image *head)
{
	int64_t newest = -1;
	uint32_t t = 0;

	while (t < BS_IMAGENAME_TRIES && bs_imagename_make(n, path, head, t, NULL) == 0 &&
	       written_ns(path) >= 0) {
		newest = written_ns(path);
		t++;
	}
	return t > 0 && bs_imagename_make(n, path, head, t - 1, NULL) == 0 ? newest : -1;
}

bool bs_imagename_has(const struct bs_imagename *n, const struct bs_mrd_image *head,
		      const char *last, int64_t since_ns)
{
	char path[BS_DRAFT_PATH];
	int64_t newest;

	if (!n->folder)
		return bs_imagename_make(n, path, head, 0, NULL) == 0 &&
		       written_ns(path) >= since_ns && other_ns(n, path, last) >= since_ns;
	newest = bs_imagename_newest(n, path, head);
	if (newest < 0 || newest < since_ns)
		return false;
	if (other_ns(n, path, last) >= 0)
		return true;
	(void)unlink(path);
	return false;
}

/* ---- places ---- */

#define OFF 1e-3 /* tolerance of directions: singles, sometimes made from angles in degrees */

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Makes the directions exactly orthogonal and of length 1; they are so to 1e-3 already. */
static void straighten(double dir[3][3])
{
	for (int a = 0; a < 3; a++) {
		double length;

		for (int b = 0; b < a; b++) {
			const double along = dot(dir[a], dir[b]);

			for (int d = 0; d < 3; d++)
				dir[a][d] -= along * dir[b][d];
		}
		length = sqrt(dot(dir[a], dir[a]));
		for (int d = 0; d < 3; d++)
			dir[a][d] /= length;
	}
}

static int check_axes(const struct bs_place *p, const struct bs_mrd_image *head,
		      struct bs_fail *why)
{
	static const char *const names[] = { "read_dir", "phase_dir", "slice_dir" };

	for (int a = 0; a < 3; a++) {
		const double length = sqrt(dot(p->dir[a], p->dir[a]));

		if (!(fabs(length - 1.0) <= OFF))
			return bs_fail(why, BS_ERR_SIZE, "image %u: its %s has the length %g",
				       head->image_index, names[a], length);
		for (int b = 0; b < a; b++)
			if (!(fabs(dot(p->dir[a], p->dir[b])) <= OFF))
				return bs_fail(why, BS_ERR_SIZE,
					       "image %u: %s and %s are not at right angles",
					       head->image_index, names[b], names[a]);
	}
	return 0;
}

int bs_place_of(struct bs_place *p, const struct bs_mrd_image *head, struct bs_fail *why)
{
	struct bs_mrd_image h = *head; /* a copy, since the structure's fields are packed */
	float dir[3][3];
	float position[3];
	float fov[3];
	int rc;

	memcpy(dir[0], h.read_dir, sizeof(dir[0]));
	memcpy(dir[1], h.phase_dir, sizeof(dir[1]));
	memcpy(dir[2], h.slice_dir, sizeof(dir[2]));
	memcpy(position, h.position, sizeof(position));
	memcpy(fov, h.field_of_view, sizeof(fov));
	for (int a = 0; a < 3; a++) {
		for (int d = 0; d < 3; d++)
			p->dir[a][d] = (double)dir[a][d];
		p->spacing[a] = (double)fov[a] / h.matrix_size[a];
		if (h.matrix_size[a] == 0 || !(fov[a] > 0.0f) || !isfinite(fov[a]) ||
		    !isfinite(position[a]))
			return bs_fail(why, BS_ERR_SIZE,
				       "image %u: a field of view of %g mm along %c, at %g",
				       h.image_index, (double)fov[a], "xyz"[a],
				       (double)position[a]);
	}
	rc = check_axes(p, head, why);
	if (rc != 0)
		return rc;
	straighten(p->dir);
	for (int d = 0; d < 3; d++) {
		p->first[d] = (double)position[d];
		for (int a = 0; a < 3; a++) {
			p->step[a][d] = p->spacing[a] * p->dir[a][d];
			p->first[d] -= p->step[a][d] * (h.matrix_size[a] / 2);
		}
	}
	return 0;
}
