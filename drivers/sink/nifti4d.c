/*
 * drivers/sink/nifti4d.c - a series of images as one NIfTI-1 file that grows; see sink.h
 *
 * A file has the images of one contrast, phase, set and slice of a scan, along the fourth axis, in
 * the order in which they come: FOLDER/scanUUUUUUUU-sSSS[-cN][-pN][-dN][-zN].4d.nii. It can be read
 * at any time: an image's pixels are on the disk before the header counts them (dim[4]), and the
 * header is replaced in one write. What a process that died has written behind the last counted
 * image is cut off. The header also names the scan (aux_file: its session) and the last image
 * (descrip), so that no image is there twice. An image of another size or place begins a file of
 * its own (-2, -3, ...), as does one behind 32767 others.
 * NAME.4d.txt has a line of fixed length for each image: its place along the fourth axis, number
 * and repetition, its quality, and what it lacks.
 */
#define _GNU_SOURCE
#include "drivers/sink/nifti.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/sink/name.h"
#include "drivers/sink/sink.h"
#include "ipc/wire/meta.h"

#define LINE     512u /* bytes of a line of NAME.4d.txt */
#define APART_MM 1e-3 /* mm, largest difference of two images' transforms */

struct series {
	struct bs_imagename name;
	char scan[24]; /* the scan's session, or this process's own number */
	bool is_own;   /* no session was told: the target is a file, of this process alone */
};

/* What of an image's attributes a line of the list has, and the header. */
struct told {
	char quality[16], lacks[LINE - 80];
	double tr_ms;
};

static int series_open(void **self, const char *target, struct bs_fail *why)
{
	struct series *s = calloc(1, sizeof(*s));
	int rc = s == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s: no memory for a sink", target)
			   : bs_imagename_open(&s->name, target, ".4d.nii", why);

	if (rc != 0) {
		free(s);
		return rc;
	}
	s->is_own = true;
	(void)snprintf(s->scan, sizeof(s->scan), "%016llx",
		       (unsigned long long)bs_utc_ns() ^ (unsigned long long)getpid() << 48);
	*self = s;
	return 0;
}

static void series_scan(void *self, uint64_t session)
{
	struct series *s = self;

	s->is_own = false;
	(void)snprintf(s->scan, sizeof(s->scan), "%016llx", (unsigned long long)session);
}

/* ---- names and headers ---- */

static void put_counter(char *to, size_t cap, char letter, unsigned value)
{
	const size_t n = strlen(to);

	if (value > 0)
		(void)snprintf(to + n, cap - n, "-%c%u", letter, value);
}

static int make_name(const struct series *s, char path[BS_DRAFT_PATH], const struct bs_mrd_image *h,
		     uint32_t number, const char *ext, struct bs_fail *why)
{
	char kind[64] = "";

	if (s->name.folder)
		(void)snprintf(kind, sizeof(kind), "/scan%08x-s%03u", h->measurement_uid,
			       h->image_series_index);
	put_counter(kind, sizeof(kind), 'c', h->contrast);
	put_counter(kind, sizeof(kind), 'p', h->phase);
	put_counter(kind, sizeof(kind), 'd', h->set);
	put_counter(kind, sizeof(kind), 'z', h->slice);
	put_counter(kind, sizeof(kind), 'n', number > 0 ? number + 1 : 0);
	if (snprintf(path, BS_DRAFT_PATH, "%s%s%s", s->name.target, kind, ext) >=
	    (int)BS_DRAFT_PATH)
		return bs_fail(why, BS_ERR_IO, "%s: the image's name is too long", s->name.target);
	return 0;
}

static void take_told(void *arg, const char *name, const char *value, unsigned index)
{
	struct told *t = arg;

	if (strcmp(name, "boreside_quality") == 0)
		(void)snprintf(t->quality, sizeof(t->quality), "%s", value);
	else if (strcmp(name, "boreside_lacks") == 0)
		(void)snprintf(t->lacks, sizeof(t->lacks), "%.*s", (int)sizeof(t->lacks) - 1,
			       value);
	else if (strcmp(name, "mrd_TR") == 0 && index == 0)
		t->tr_ms = strtod(value, NULL);
}

/* The header of a file whose only image this is. */
static int first_header(const struct series *s, struct nifti_1_header *h,
			const struct bs_mrd_image *head, const char *attributes,
			const struct told *told, struct bs_fail *why)
{
	int rc = bs_nifti_header(h, head, attributes, why);

	h->dim[0] = 4;
	h->dim[4] = 1;
	h->pixdim[4] =
		told->tr_ms > 0.0 && isfinite(told->tr_ms) ? (float)(told->tr_ms * 1e-3) : 0.0f;
	h->xyzt_units = (char)(h->xyzt_units | NIFTI_UNITS_SEC);
	(void)snprintf(h->aux_file, sizeof(h->aux_file), "%s", s->scan);
	return rc;
}

/* The file's bytes that its header counts; 0: the header is none of ours. */
static uint64_t counted(const struct nifti_1_header *h, size_t bytes)
{
	return h->sizeof_hdr == (int)sizeof(*h) && h->dim[0] == 4 && h->dim[4] > 0 &&
			       h->vox_offset >= (float)sizeof(*h)
		       ? (uint64_t)h->vox_offset + (uint64_t)h->dim[4] * bytes
		       : 0;
}

static bool is_of_scan(const struct nifti_1_header *have, const struct nifti_1_header *h)
{
	const char *end = strstr(h->descrip, " image ");

	return memcmp(have->aux_file, h->aux_file, sizeof(h->aux_file)) == 0 && end != NULL &&
	       strncmp(have->descrip, h->descrip, (size_t)(end - h->descrip)) == 0;
}

/* The number of the last image that a header counts. */
static uint16_t last_image(const struct nifti_1_header *h)
{
	char words[sizeof(h->descrip) + 1] = "";
	const char *at;

	memcpy(words, h->descrip, sizeof(h->descrip));
	at = strstr(words, " image ");
	return at != NULL ? (uint16_t)strtoul(at + 7, NULL, 10) : 0;
}

/* The image has the size, the type and the place of those in the file, which has room for it. */
static bool fits(const struct nifti_1_header *have, const struct nifti_1_header *h)
{
	const float *a[3] = { have->srow_x, have->srow_y, have->srow_z };
	const float *b[3] = { h->srow_x, h->srow_y, h->srow_z };
	bool same = have->datatype == h->datatype && have->dim[4] < (short)BS_NIFTI_AXIS_MAX;

	for (int i = 1; i <= 3; i++)
		same = same && have->dim[i] == h->dim[i];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 4; j++)
			same = same && fabs((double)a[i][j] - (double)b[i][j]) <= APART_MM;
	return same;
}

/* ---- files ---- */

static int io_fail(struct bs_fail *why, const char *path, const char *what)
{
	return bs_fail(why, BS_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

static bool write_at(int fd, const void *bytes, size_t len, uint64_t at)
{
	const unsigned char *from = bytes;

	while (len > 0) {
		const ssize_t n = pwrite(fd, from, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

/* Writes the line of the n-th image, from 0, and cuts off what lies behind it. */
static int put_line(const struct series *s, const struct bs_mrd_image *head, uint32_t number,
		    uint32_t n, const struct told *t, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH];
	char line[LINE + 1];
	int fd;
	int rc = make_name(s, path, head, number, ".4d.txt", why);
	int len = snprintf(line, sizeof(line), "%5u image %5u repetition %5u %-8s %s", n,
			   head->image_index, head->repetition, t->quality, t->lacks);

	if (rc != 0)
		return rc;
	memset(line + len, ' ', LINE - (size_t)len);
	line[LINE - 1] = '\n';
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return io_fail(why, path, "cannot be opened");
	if (!write_at(fd, line, LINE, (uint64_t)n * LINE) ||
	    ftruncate(fd, (off_t)(n + 1) * (off_t)LINE) != 0 || fdatasync(fd) != 0)
		rc = io_fail(why, path, "cannot be written");
	(void)close(fd);
	return rc;
}

/* Appends an image to an open file: pixels, then the header that counts them. */
static int append(int fd, const char *path, struct nifti_1_header *have,
		  const struct nifti_1_header *h, const struct bs_mrd_image *head,
		  const void *pixels, struct bs_fail *why)
{
	const size_t bytes = bs_nifti_pixel_bytes(head);
	const uint64_t end = counted(have, bytes);

	if (ftruncate(fd, (off_t)end) != 0 || !write_at(fd, pixels, bytes, end) ||
	    fdatasync(fd) != 0)
		return io_fail(why, path, "cannot be written");
	have->dim[4]++;
	memcpy(have->descrip, h->descrip, sizeof(have->descrip));
	if (!write_at(fd, have, sizeof(*have), 0) || fdatasync(fd) != 0)
		return io_fail(why, path, "cannot be written");
	return 0;
}

static int create(struct series *s, const char *path, const struct nifti_1_header *h,
		  const struct bs_mrd_image *head, const char *attributes, const void *pixels,
		  struct bs_fail *why)
{
	struct bs_draft d;
	int rc = bs_draft_open(&d, path, why);

	if (rc != 0)
		return rc;
	rc = bs_nifti_write(d.temp, h, head, attributes, pixels, false, why);
	if (rc == 0)
		rc = bs_draft_commit(&d, path, s->is_own ? BS_DRAFT_REPLACE : BS_DRAFT_KEEP, why);
	if (rc != 0)
		bs_draft_drop(&d);
	return rc;
}

/*
 * Looks at the file of that number. *fd: the open file, or -1: there is none. Returns whether it is
 * of the scan and whole as far as its header counts.
 */
static bool look(int *fd, const char *path, struct nifti_1_header *have,
		 const struct nifti_1_header *h, size_t bytes)
{
	struct stat st;
	uint64_t end;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0)
		return false;
	if (pread(*fd, have, sizeof(*have), 0) != (ssize_t)sizeof(*have) || fstat(*fd, &st) != 0 ||
	    !S_ISREG(st.st_mode) || !is_of_scan(have, h))
		return false;
	if (!fits(have, h)) /* it is of the scan: other images of it may fit */
		return true;
	end = counted(have, bytes);
	return end > 0 && (uint64_t)st.st_size >= end;
}

/* Puts the image to the file of that number. BS_DRAFT_EXISTS: it belongs to another one. */
static int put_to(struct series *s, uint32_t number, struct nifti_1_header *h,
		  const struct bs_mrd_image *head, const char *attributes, const void *pixels,
		  const struct told *told, struct bs_fail *why)
{
	struct nifti_1_header have;
	char path[BS_DRAFT_PATH];
	bool ours;
	int fd;
	int rc = make_name(s, path, head, number, s->name.ext, why);

	if (rc != 0)
		return rc;
	ours = look(&fd, path, &have, h, bs_nifti_pixel_bytes(head));
	if (fd < 0 && errno != ENOENT)
		return io_fail(why, path, "cannot be opened");
	if (ours ? !fits(&have, h) : fd >= 0 && !s->is_own)
		rc = BS_DRAFT_EXISTS;
	if (rc == 0)
		rc = put_line(s, head, number, ours ? (uint32_t)have.dim[4] : 0, told, why);
	if (rc == 0)
		rc = ours ? append(fd, path, &have, h, head, pixels, why)
			  : create(s, path, h, head, attributes, pixels, why);
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static int series_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		      const void *pixels, struct bs_fail *why)
{
	struct series *s = self;
	struct told told = { "", "", 0.0 };
	struct nifti_1_header h;
	int rc;

	if (head->channels != 1)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image %u: %u channels: nifti_4d takes images of one",
			       head->image_index, head->channels);
	if (attributes[0] != '\0' && (rc = bs_meta_read(attributes, take_told, &told, why)) != 0)
		return rc;
	rc = first_header(s, &h, head, attributes, &told, why);
	if (rc != 0)
		return rc;
	rc = BS_DRAFT_EXISTS;
	for (uint32_t n = 0; rc == BS_DRAFT_EXISTS && n < BS_IMAGENAME_TRIES; n++)
		rc = put_to(s, n, &h, head, attributes, pixels, &told, why);
	return rc == BS_DRAFT_EXISTS
		       ? bs_fail(why, BS_ERR_IO, "%s: all names are taken", s->name.target)
		       : rc;
}

/* A file of the scan counts this image, or a later one of its kind. */
static bool series_has(void *self, const struct bs_mrd_image *head, int64_t since_ns)
{
	const struct series *s = self;
	const struct told told = { "", "", 0.0 };
	struct nifti_1_header h;
	bool has = false;

	(void)since_ns; /* the scan's session says it better */
	if (first_header(s, &h, head, "", &told, NULL) != 0)
		return false;
	for (uint32_t n = 0; !has && n < BS_IMAGENAME_TRIES; n++) {
		struct nifti_1_header have;
		char path[BS_DRAFT_PATH];
		bool ours;
		int fd = -1;

		if (make_name(s, path, head, n, s->name.ext, NULL) != 0)
			return false;
		ours = look(&fd, path, &have, &h, bs_nifti_pixel_bytes(head));
		if (fd < 0)
			return false;
		(void)close(fd);
		has = ours && (int16_t)(last_image(&have) - head->image_index) >= 0;
	}
	return has;
}

const struct bs_sink bs_sink_nifti_4d = { .type = "nifti_4d",
					  .ext = ".4d.nii",
					  .open = series_open,
					  .put = series_put,
					  .scan = series_scan,
					  .has = series_has,
					  .close = bs_imagename_free };
