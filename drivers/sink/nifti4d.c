/*
 * drivers/sink/nifti4d.c - a series of images as one NIfTI-1 file that grows; see sink.h
 *
 * A file has the images of one contrast, phase, set and slice of a scan, along the fourth axis, in
 * the order in which they come: FOLDER/uidUUUUUUUU-sSSS[-cN][-pN][-dN][-zN].4d.nii. It can be read
 * at any time: an image's pixels are on the disk before the header counts them (dim[4]), and the
 * header is replaced in one write. What a process that died has written behind the last counted
 * image is cut off. The header also names the scan (aux_file: its session) and the last image
 * (descrip), so that no image is there twice. An image of another size or place begins a file of
 * its own (-n2, -n3, ...), as does one behind 32767 others.
 * NAME.4d.txt has a line of fixed length for each image: its place along the fourth axis, number,
 * repetition and quality, and what it lacks.
 */
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
#include "drivers/sink/sink.h"
#include "ipc/wire/meta.h"

#define LINE     512u /* bytes of a line of NAME.4d.txt */
#define APART_MM 1e-3 /* mm, largest difference of two images' transforms */

struct series {
	struct bs_imagename name;
	char scan[24]; /* session of the scan, or a number of this process alone */
	bool failed;   /* the last put failed: its image may be in the file, and may come again */
};

/* An image, as its series' file and list have it. */
struct entry {
	const struct bs_mrd_image *head;
	struct nifti_1_header h; /* header of a file that has no other image */
	size_t bytes;            /* bytes of the image's pixels */
	char quality[16], lacks[LINE - 80];
	double tr_ms;
};

/* A file of the series. */
struct growing {
	char path[BS_DRAFT_PATH];
	struct bs_draft file;       /* the open file; fd -1: there is none of that name */
	struct nifti_1_header have; /* header of the open file */
	bool is_ours; /* the file is of this scan, and whole as far as its header counts */
	bool fits;    /* the file is ours, and the image belongs into it */
	bool counts;  /* the file's last image is the one to be put, whose earlier put failed */
};

static void series_begin(void *self)
{
	struct series *s = self;

	(void)snprintf(s->scan, sizeof(s->scan), "%016llx",
		       (unsigned long long)bs_utc_ns() ^ (unsigned long long)getpid() << 48);
}

static void series_scan(void *self, uint64_t session)
{
	struct series *s = self;

	(void)snprintf(s->scan, sizeof(s->scan), "%016llx", (unsigned long long)session);
}

/* ---- names and headers ---- */

static int make_name(const struct series *s, char path[BS_DRAFT_PATH], const struct bs_mrd_image *h,
		     uint32_t number, const char *ext, struct bs_fail *why)
{
	const struct {
		char letter;
		uint32_t value;
	} parts[] = { { 'a', h->average },
		      { 'c', h->contrast },
		      { 'p', h->phase },
		      { 'd', h->set },
		      { 'z', h->slice },
		      { 'n', number > 1 ? number : 0 },
		      { 0, 0 } };
	char kind[96] = "";
	int n = 0;

	if (s->name.folder)
		n = snprintf(kind, sizeof(kind), "/uid%08x-s%03u", h->measurement_uid,
			     h->image_series_index);
	for (int i = 0; parts[i].letter != 0; i++)
		if (parts[i].value > 0)
			n += snprintf(kind + n, sizeof(kind) - (size_t)n, "-%c%u", parts[i].letter,
				      parts[i].value);
	if (snprintf(path, BS_DRAFT_PATH, "%s%s%s", s->name.target, kind, ext) >=
	    (int)BS_DRAFT_PATH)
		return bs_fail(why, BS_ERR_IO, "%s: the image's name is too long", s->name.target);
	return 0;
}

static void take_attribute(void *arg, const char *name, const char *value, unsigned index)
{
	struct entry *e = arg;

	if (strcmp(name, "boreside_quality") == 0)
		(void)snprintf(e->quality, sizeof(e->quality), "%s", value);
	else if (strcmp(name, "boreside_lacks") == 0)
		(void)snprintf(e->lacks, sizeof(e->lacks), "%.400s", value);
	else if (strcmp(name, "mrd_TR") == 0 && index == 0)
		e->tr_ms = strtod(value, NULL);
}

static int make_entry(struct entry *e, const struct series *s, const struct bs_mrd_image *head,
		      const char *attributes, struct bs_fail *why)
{
	int rc = bs_nifti_header(&e->h, head, attributes, why);

	e->head = head;
	e->bytes = bs_nifti_pixel_bytes(head);
	if (rc == 0 && attributes[0] != '\0')
		rc = bs_meta_read(attributes, take_attribute, e, why);
	e->h.dim[0] = 4;
	e->h.pixdim[4] = e->tr_ms > 0.0 && isfinite(e->tr_ms) ? (float)(e->tr_ms * 1e-3) : 0.0f;
	e->h.xyzt_units = (char)(e->h.xyzt_units | NIFTI_UNITS_SEC);
	(void)snprintf(e->h.aux_file, sizeof(e->h.aux_file), "%s", s->scan);
	return rc;
}

/* Returns the number of the last image that a header counts. */
static uint16_t last_image(const struct nifti_1_header *h)
{
	char words[sizeof(h->descrip) + 1] = "";
	const char *at;

	memcpy(words, h->descrip, sizeof(h->descrip));
	at = strstr(words, " image ");
	return at != NULL ? (uint16_t)strtoul(at + 7, NULL, 10) : 0;
}

/* Returns how many of the file's bytes its header counts. */
static uint64_t counted(const struct growing *g, size_t bytes)
{
	return (uint64_t)g->have.vox_offset + (uint64_t)g->have.dim[4] * bytes;
}

/*
 * Returns true if the image has the size, the type and the place of those in the file, which has
 * room for it.
 */
static bool fits(const struct nifti_1_header *have, const struct nifti_1_header *h, bool counts)
{
	bool same = have->datatype == h->datatype &&
		    (counts || have->dim[4] < (short)BS_NIFTI_AXIS_MAX) &&
		    memcmp(&have->dim[1], &h->dim[1], 3 * sizeof(h->dim[1])) == 0;

	for (int i = 0; i < 4; i++)
		same = same && fabs((double)have->srow_x[i] - (double)h->srow_x[i]) <= APART_MM &&
		       fabs((double)have->srow_y[i] - (double)h->srow_y[i]) <= APART_MM &&
		       fabs((double)have->srow_z[i] - (double)h->srow_z[i]) <= APART_MM;
	return same;
}

/* Opens the series' file of that number, and reads its header. The caller closes the file. */
static int look(const struct series *s, struct growing *g, const struct entry *e, uint32_t number,
		struct bs_fail *why)
{
	struct stat st;
	int rc = make_name(s, g->path, e->head, number, s->name.ext, why);

	g->is_ours = g->fits = g->counts = false;
	g->file.fd = rc == 0 ? open(g->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (rc != 0 || (g->file.fd < 0 && errno == ENOENT))
		return rc;
	if (g->file.fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", g->path, strerror(errno));
	(void)snprintf(g->file.temp, sizeof(g->file.temp), "%s", g->path);
	if (pread(g->file.fd, &g->have, sizeof(g->have), 0) != (ssize_t)sizeof(g->have) ||
	    fstat(g->file.fd, &st) != 0 ||
	    memcmp(g->have.aux_file, e->h.aux_file, sizeof(e->h.aux_file)) != 0)
		return 0;
	g->counts = s->failed && memcmp(g->have.descrip, e->h.descrip, sizeof(e->h.descrip)) == 0;
	g->fits = fits(&g->have, &e->h, g->counts);
	g->is_ours = !g->fits || (uint64_t)st.st_size >= counted(g, e->bytes);
	g->fits = g->fits && g->is_ours;
	return 0;
}

/* ---- files ---- */

/* Writes at this place of an open file, whatever was there or behind it, to the disk. */
static int write_at(struct bs_draft *file, uint64_t at, const void *bytes, size_t len,
		    struct bs_fail *why)
{
	int rc = lseek(file->fd, (off_t)at, SEEK_SET) < 0
			 ? bs_fail(why, BS_ERR_IO, "%s: %s", file->temp, strerror(errno))
			 : bs_draft_write(file, bytes, len, why);

	if (rc == 0 && fdatasync(file->fd) != 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", file->temp, strerror(errno));
	return rc;
}

/* Writes the line of the n-th image, from 0, to the series' list. */
static int put_line(const struct series *s, const struct entry *e, uint32_t number, uint32_t n,
		    struct bs_fail *why)
{
	char line[LINE + 1];
	struct bs_draft list = { .fd = -1 };
	const int len = snprintf(line, sizeof(line), "%5u image %5u repetition %5u %-8s %s", n,
				 e->head->image_index, e->head->repetition, e->quality, e->lacks);
	int rc = make_name(s, list.temp, e->head, number, ".4d.txt", why);

	memset(line + len, ' ', LINE - (size_t)len);
	line[LINE - 1] = '\n';
	if (rc == 0)
		list.fd = open(list.temp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (rc == 0 && (list.fd < 0 || ftruncate(list.fd, (off_t)n * (off_t)LINE) != 0))
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", list.temp, strerror(errno));
	if (rc == 0)
		rc = write_at(&list, (uint64_t)n * LINE, line, LINE, why);
	if (list.fd >= 0)
		(void)close(list.fd);
	return rc;
}

/*
 * Pixels first, then the header that counts them. Where it counts them already, it may not be on
 * the disk: put has failed there.
 */
static int append(struct growing *g, const struct entry *e, const void *pixels, struct bs_fail *why)
{
	const uint64_t end = counted(g, e->bytes);
	int rc = 0;

	if (!g->counts) {
		rc = ftruncate(g->file.fd, (off_t)end) == 0
			     ? write_at(&g->file, end, pixels, e->bytes, why)
			     : bs_fail(why, BS_ERR_IO, "%s: %s", g->path, strerror(errno));
		g->have.dim[4]++;
		memcpy(g->have.descrip, e->h.descrip, sizeof(e->h.descrip));
	}
	return rc == 0 ? write_at(&g->file, 0, &g->have, sizeof(g->have), why) : rc;
}

static int create(const struct series *s, const char *path, const struct entry *e,
		  const char *attributes, const void *pixels, struct bs_fail *why)
{
	struct bs_draft d;
	int rc = bs_draft_open(&d, path, why);

	if (rc != 0)
		return rc;
	rc = bs_nifti_write(d.temp, &e->h, e->head, attributes, pixels, false, why);
	if (rc == 0)
		rc = bs_draft_commit(&d, path, s->name.mode, why);
	if (rc != 0)
		bs_draft_drop(&d);
	return rc;
}

/* Puts the image to the file of that number. BS_DRAFT_EXISTS: the file is another image's. */
static int put_to(const struct series *s, uint32_t number, const struct entry *e,
		  const char *attributes, const void *pixels, struct bs_fail *why)
{
	struct growing g;
	int rc = look(s, &g, e, number, why);

	if (rc == 0 && !g.fits && g.file.fd >= 0 && (g.is_ours || s->name.folder))
		rc = BS_DRAFT_EXISTS;
	if (rc == 0)
		rc = put_line(s, e, number, g.fits ? (uint32_t)(g.have.dim[4] - g.counts) : 0, why);
	if (rc == 0)
		rc = g.fits ? append(&g, e, pixels, why)
			    : create(s, g.path, e, attributes, pixels, why);
	if (g.file.fd >= 0)
		(void)close(g.file.fd);
	return rc;
}

static int series_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		      const void *pixels, struct bs_fail *why)
{
	struct series *s = self;
	struct entry e = { 0 };
	int rc = head->channels == 1
			 ? make_entry(&e, s, head, attributes, why)
			 : bs_fail(why, BS_ERR_UNSUPPORTED,
				   "image %u: %u channels: nifti_4d takes images of one",
				   head->image_index, head->channels);

	if (rc != 0)
		return rc;
	rc = BS_DRAFT_EXISTS;
	for (uint32_t n = 1; rc == BS_DRAFT_EXISTS && n < BS_IMAGENAME_TRIES; n++)
		rc = put_to(s, n, &e, attributes, pixels, why);
	s->failed = rc != 0;
	return rc != BS_DRAFT_EXISTS
		       ? rc
		       : bs_fail(why, BS_ERR_IO, "%s: all names are taken", s->name.target);
}

/*
 * Returns true if a file of the scan counts this image, or a later one of its kind. Images come in
 * the order of their numbers, those that wait in the store before those in the ring
 * (board/emit/taker.c): one that is not there behind a later one was refused for good.
 */
static bool series_has(void *self, const struct bs_mrd_image *head, int64_t since_ns)
{
	const struct series *s = self;
	struct growing g = { .file.fd = 0 };
	struct entry e = { 0 };
	bool has = false;

	(void)since_ns; /* the session of the scan says better whose file this is */
	if (make_entry(&e, s, head, "", NULL) != 0)
		return false;
	for (uint32_t n = 1; !has && n < BS_IMAGENAME_TRIES; n++) {
		if (look(s, &g, &e, n, NULL) != 0 || g.file.fd < 0)
			return false;
		(void)close(g.file.fd);
		has = g.is_ours && (int16_t)(last_image(&g.have) - head->image_index) >= 0;
	}
	return has;
}

const struct bs_sink bs_sink_nifti_4d = { .type = "nifti_4d",
					  .ext = ".4d.nii",
					  .bytes = sizeof(struct series),
					  .begin = series_begin,
					  .put = series_put,
					  .scan = series_scan,
					  .has = series_has };
