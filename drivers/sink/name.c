/* drivers/sink/name.c - see name.h */
#define _POSIX_C_SOURCE 200809L
#include "drivers/sink/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int bs_imagename_new(void **self, const char *target, const char *ext, struct bs_fail *why)
{
	struct bs_imagename *n = malloc(sizeof(*n));
	int rc = n == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a sink", target)
			   : bs_imagename_open(n, target, ext, why);

	if (rc != 0)
		free(n);
	else
		*self = n;
	return rc;
}

int bs_imagename_free(void *self, struct bs_fail *why)
{
	(void)why;
	free(self);
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

int bs_imagename_commit(struct bs_imagename *n, struct bs_draft *d, const struct bs_mrd_image *head,
			struct bs_fail *why)
{
	int rc = BS_DRAFT_EXISTS;

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

/* When the file of the same name with extension `last` was written; -1: there is none. */
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
