/*
 * drivers/sink/dicom.c - images as DICOM files, by DCMTK's dump2dcm; see sink.h, dicomhead.h
 *
 * DCMTK's library is C++, so the tool is used: whatever the tool does with a strange value, it does
 * in its own process. It takes some 20 ms for an image of 256^2, in the sink's own thread.
 */
#include "drivers/sink/sink.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame/recon.h"
#include "drivers/file/montage.h"
#include "drivers/sink/dicomhead.h"
#include "drivers/sink/dicomstore.h"
#include "drivers/file/program.h"
#include "ipc/wire/meta.h"
#include "ipc/sha256.h"

#define TOOL_MS    60000
#define STORED_MAX 65535.0
#define FIRST_MAX  32767.0 /* largest stored value of a series' first image */
#define SIGNED_MAX 32767.0
#define SERIES     8u                     /* series whose scales are kept */
#define BEFORE     64u                    /* image numbers to look back for a series' last image */
#define BYTES_MAX  (UINT64_C(0xfffffffe)) /* bytes of the pixel element, whose length has 32 bits */

struct scale {
	char series[BS_UID_MAX];
	double intercept, slope, window_center, window_width;
	bool recalled; /* the folder's earlier images were searched for the scale */
};

struct dicom {
	struct bs_imagename name;
	struct scale scale[SERIES];
	unsigned next;
	bool shared_out; /* other processes may write images of the same series */
	struct bs_dicomstore store;
	bool stores;
};

static int dicom_usable(struct bs_fail *why)
{
	return bs_program_there("dump2dcm", "dcmtk", why);
}

static int dicom_send_to(void *self, const char *address, struct bs_fail *why)
{
	struct dicom *d = self;
	int rc = bs_dicomstore_open(&d->store, address, why);

	d->stores = rc == 0;
	return rc;
}

static void dicom_at(void *self, uint32_t number)
{
	struct dicom *d = self;

	bs_imagename_at(&d->name, number);
	d->shared_out = true;
}

/* ---- pixels ---- */

static double value_at(const float *pixels, bool is_complex, uint64_t i)
{
	return is_complex ? hypot((double)pixels[2 * i], (double)pixels[2 * i + 1])
			  : (double)pixels[i];
}

/* Rounds a step up to three digits, so that a reader can tell two steps apart. */
static double rounded(double step)
{
	const double unit = pow(10.0, floor(log10(step)) - 2.0);

	return step > DBL_MIN * 1e6 ? ceil(step / unit - 1e-9) * unit : step;
}

/*
 * Sets the window, in whole numbers if that moves no edge by more than a hundredth of its width:
 * some viewers take only whole numbers.
 */
static void set_window(struct bs_dicomhead *d, double center, double width)
{
	if (width >= 100.0) {
		center = round(center);
		width = 2.0 * ceil(width / 2.0);
	}
	d->window_center = center;
	d->window_width = width;
}

/* Finds the scale of a series. *known: the series has one; otherwise it gets the
 * place of the oldest. */
static struct scale *scale_of(struct dicom *s, const char *series, bool *known)
{
	struct scale *to;

	for (unsigned i = 0; i < SERIES && !s->shared_out; i++)
		if (strcmp(s->scale[i].series, series) == 0) {
			*known = s->scale[i].slope > 0.0;
			return &s->scale[i];
		}
	*known = false;
	to = &s->scale[s->shared_out ? 0 : s->next++ % SERIES];
	to->slope = 0.0;
	to->recalled = false;
	(void)snprintf(to->series, sizeof(to->series), "%s", series);
	return to;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void folder_of(char folder[BS_DRAFT_PATH], const char *path)
{
	const size_t n = (size_t)(base(path) - path);

	memcpy(folder, path, n);
	(void)snprintf(folder + n, BS_DRAFT_PATH - n, "%s", n > 0 ? "" : ".");
}

/* The value of an element in dcmdump's output; "": the element is not there. */
static const char *dumped(const char *words, const char *tag)
{
	const char *at = strstr(words, tag);

	at = at != NULL ? strchr(at, '[') : NULL;
	return at != NULL ? at + 1 : "";
}

/* Reads the scale from a file. False: the file is not of this series. */
static bool read_scale(struct scale *to, const char *path)
{
	static const char *const argv[] = { "dcmdump",   "-q", "+L",        "+P", "0020,000e", "+P",
					    "0028,1052", "+P", "0028,1053", "+P", "0028,1050", "+P",
					    "0028,1051" };
	const size_t n = sizeof(argv) / sizeof(argv[0]);
	const char *all[sizeof(argv) / sizeof(argv[0]) + 2] = { 0 };
	const size_t len = strlen(to->series);
	char folder[BS_DRAFT_PATH];
	char said[1024];
	const char *uid;

	memcpy(all, argv, sizeof(argv));
	all[n] = base(path);
	folder_of(folder, path);
	if (bs_program_run(all, folder, TOOL_MS, said, sizeof(said), NULL) != 0)
		return false;
	uid = dumped(said, "(0020,000e)");
	to->intercept = strtod(dumped(said, "(0028,1052)"), NULL);
	to->window_center = strtod(dumped(said, "(0028,1050)"), NULL);
	to->window_width = strtod(dumped(said, "(0028,1051)"), NULL);
	if (strncmp(uid, to->series, len) == 0 && uid[len] == ']')
		to->slope = strtod(dumped(said, "(0028,1053)"), NULL);
	return to->slope > 0.0;
}

/*
 * Reads the scale of a series that another process has begun in this folder, from the last image
 * before this one.
 */
static bool recall_scale(const struct dicom *s, struct scale *to, const struct bs_mrd_image *h)
{
	struct bs_mrd_image before = *h;
	char path[BS_DRAFT_PATH];

	if (!s->name.folder || s->shared_out || to->recalled)
		return false;
	to->recalled = true;
	for (unsigned i = 1; i <= BEFORE && i < h->image_index; i++) {
		before.image_index = (uint16_t)(h->image_index - i);
		if (bs_imagename_newest(&s->name, path, &before) > 0)
			return read_scale(to, path);
	}
	return false;
}

/* Sets scale and window of an image of signal, by the range of its values. */
static int scale_signal(struct bs_dicomhead *d, struct dicom *s, const float *pixels, uint64_t n,
			struct bs_fail *why)
{
	const struct bs_mrd_image *h = d->image;
	const bool cx = h->data_type == BS_MRD_CXFLOAT;
	struct bs_montage m;
	struct scale *of;
	double least = 0.0;
	double most = 0.0;
	bool known;
	int rc;

	for (uint64_t i = 0; i < n; i++) {
		const double v = value_at(pixels, cx, i);

		if (!isfinite(v))
			continue;
		least = v < least ? v : least;
		most = v > most ? v : most;
	}
	of = scale_of(s, d->series, &known);
	known = known || recall_scale(s, of, h);
	if (known && least >= of->intercept &&
	    most - of->intercept <= of->slope * (STORED_MAX + 0.5)) {
		d->window_center = of->window_center;
		d->window_width = of->window_width;
	} else {
		rc = bs_montage_make(&m, pixels, cx, h->matrix_size[0], h->matrix_size[1],
				     h->matrix_size[2], why);
		if (rc != 0)
			return rc;
		set_window(d, 0.5 * m.window, m.window);
		d->rescaled = known;
		of->intercept = least;
		/* an image of zeros sets no scale for its series */
		of->slope = most > least ? rounded((most - least) / FIRST_MAX) : 0.0;
		of->window_center = d->window_center;
		of->window_width = d->window_width;
	}
	bs_dicom_decimal(d->intercept, of->intercept);
	bs_dicom_decimal(d->slope, of->slope > 0.0 ? of->slope : 1.0);
	return 0;
}

/*
 * Sets scale and window. Phases and velocities have a fixed range. In any other series the first
 * image fills half of the range; its scale and window are the series' until an image does not fit.
 */
static int scale(struct bs_dicomhead *d, struct dicom *s, const float *pixels, uint64_t n,
		 struct bs_fail *why)
{
	if (d->reach <= 0.0)
		return scale_signal(d, s, pixels, n, why);
	bs_dicom_decimal(d->intercept, 0.0);
	bs_dicom_decimal(d->slope, rounded(d->reach / SIGNED_MAX));
	d->window_center = 0.0;
	/* DICOM's LINEAR function puts the window half a unit lower */
	d->window_width = 2.0 * (d->reach >= 1.0 ? ceil(d->reach + 0.5) : d->reach);
	return 0;
}

/* Stores the pixels by the scale as the file's decimal strings have it. */
static void store_pixels(struct bs_dicomhead *d, uint16_t *to, const float *pixels, uint64_t n)
{
	const bool cx = d->image->data_type == BS_MRD_CXFLOAT;
	const double intercept = strtod(d->intercept, NULL);
	const double slope = strtod(d->slope, NULL);
	const double least = d->reach > 0.0 ? -SIGNED_MAX : 0.0;
	const double most = d->reach > 0.0 ? SIGNED_MAX : STORED_MAX;

	d->smallest = INT_MAX;
	d->largest = INT_MIN;
	for (uint64_t i = 0; i < n; i++) {
		const double v = value_at(pixels, cx, i);
		const double of = isfinite(v) ? v : 0.0;
		const int stored = (int)fmax(least, fmin(round((of - intercept) / slope), most));

		d->not_numbers += !isfinite(v);
		to[i] = (uint16_t)stored;
		d->smallest = stored < d->smallest ? stored : d->smallest;
		d->largest = stored > d->largest ? stored : d->largest;
	}
}

/* ---- the file ---- */

/* Writes an input file for the tool, beside the image's file, under a name without blanks. */
static int side_file(struct bs_draft *d, const char *folder, const char *name, const void *bytes,
		     size_t len, struct bs_fail *why)
{
	char path[BS_DRAFT_PATH + 32];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/.boreside-%s", folder, name);
	rc = bs_draft_open(d, path, why);
	if (rc == 0)
		rc = bs_draft_write(d, bytes, len, why);
	return rc;
}

static int run_dump2dcm(const char *folder, const char *dump, const char *out, struct bs_fail *why)
{
	/* +l: longest line of the text */
	const char *const argv[] = { "dump2dcm", "-q", "+l", "16384", dump, out, NULL };
	char said[400];
	int rc = bs_program_run(argv, folder, TOOL_MS, said, sizeof(said), why);

	if (rc > 0)
		rc = bs_fail(why, BS_ERR_IO, "%s/%s: dump2dcm ended with %d: %s", folder, out, rc,
			     said[0] != '\0' ? said : "it says nothing (is the disk full?)");
	return rc;
}

/* Writes the data set's text and runs the tool on it. pixel: the written file of pixels. */
static int convert(struct bs_dicomhead *d, const struct bs_draft *pixel, const struct bs_draft *out,
		   const char *folder, struct bs_fail *why)
{
	struct bs_draft dump = { .fd = -1 };
	char *words = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&words, &len);
	int rc;

	if (to == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s: no memory for an image's words", folder);
	d->pixel_file = base(pixel->temp);
	bs_dicomhead_put(d, to);
	d->pixel_file = NULL;
	rc = fclose(to) == 0
		     ? 0
		     : bs_fail(why, BS_ERR_NOMEM, "%s: no memory for an image's words", folder);
	if (rc == 0)
		rc = side_file(&dump, folder, "dump", words, len, why);
	if (rc == 0)
		rc = run_dump2dcm(folder, base(dump.temp), base(out->temp), why);
	bs_draft_drop(&dump);
	free(words);
	return rc;
}

/* Makes the DICOM file under its draft's name. */
static int make_file(struct dicom *s, struct bs_dicomhead *d, const float *pixels, const char *path,
		     struct bs_draft *out, struct bs_fail *why)
{
	const struct bs_mrd_image *h = d->image;
	const uint64_t n = (uint64_t)h->matrix_size[0] * h->matrix_size[1] * h->matrix_size[2];
	const size_t value = h->data_type == BS_MRD_CXFLOAT ? 8 : 4;
	struct bs_draft pixel = { .fd = -1 };
	char digest[BS_SHA256_HEX];
	char folder[BS_DRAFT_PATH];
	uint16_t *stored;
	int rc;

	if (n * 2 > BYTES_MAX)
		return bs_fail(why, BS_ERR_SIZE, "image %u: %llu pixels are more than DICOM takes",
			       h->image_index, (unsigned long long)n);
	bs_sha256(digest, pixels, (size_t)n * value);
	bs_dicomhead_identify(d, digest);
	rc = scale(d, s, pixels, n, why);
	if (rc != 0)
		return rc;
	stored = malloc((size_t)n * sizeof(*stored));
	if (stored == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "image %u: no memory for %llu pixels",
			       h->image_index, (unsigned long long)n);
	store_pixels(d, stored, pixels, n);
	folder_of(folder, path);
	rc = side_file(&pixel, folder, "pixels", stored, (size_t)n * sizeof(*stored), why);
	free(stored);
	if (rc == 0)
		rc = bs_draft_open(out, path, why);
	if (rc == 0)
		rc = convert(d, &pixel, out, folder, why);
	bs_draft_drop(&pixel);
	return rc;
}

/* Sends the file to the PACS. A preview is no image of the scan: it is filed, but not sent. */
static int send_file(struct dicom *d, const struct bs_mrd_image *head, const struct bs_draft *out,
		     struct bs_fail *why)
{
	if (!d->stores || (head->image_series_index & BS_PREVIEW_SERIES) != 0)
		return 0;
	return bs_dicomstore_send(&d->store, out->temp, why);
}

/* Makes the file, and sends and names it. BS_ERR_UNSUPPORTED: filed, but the PACS refused it. */
static int put_file(struct dicom *d, struct bs_dicomhead *data, const float *pixels,
		    struct bs_fail *why)
{
	const struct bs_mrd_image *head = data->image;
	struct bs_draft out = { .fd = -1 };
	char path[BS_DRAFT_PATH];
	bool refused;
	int rc = bs_imagename_make(&d->name, path, head, 0, why);

	if (rc == 0)
		rc = make_file(d, data, pixels, path, &out, why);
	if (rc == 0)
		rc = send_file(d, head, &out, why);
	refused = rc == BS_ERR_UNSUPPORTED && out.fd >= 0;
	rc = bs_imagename_commit(&d->name, &out, refused ? 0 : rc, head, refused ? NULL : why);
	return refused ? BS_ERR_UNSUPPORTED : rc;
}

/* Checks what does not depend on the attributes, then gives the image a place. */
static int check(struct dicom *d, struct bs_place *place, const struct bs_mrd_image *head,
		 struct bs_fail *why)
{
	if (head->channels != 1)
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "image %u: %u channels (image.combine none): DICOM has one",
			       head->image_index, head->channels);
	if (d->stores && !bs_dicomstore_due(&d->store, why))
		return BS_ERR_IO;
	return bs_place_of(place, head, why);
}

static int put(struct dicom *d, const struct bs_mrd_image *head, const char *attributes, bool pairs,
	       const void *pixels, struct bs_fail *why)
{
	struct bs_place place;
	struct bs_dicomhead data = { .image = head, .place = &place };
	struct bs_dicomwords *words;
	int rc = check(d, &place, head, why);

	if (rc != 0)
		return rc;
	words = calloc(1, sizeof(*words));
	if (words == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "image %u: no memory", head->image_index);
	words->contrast = head->contrast;
	if (pairs)
		(void)bs_text_pairs(attributes, bs_dicomwords_take, words);
	else
		rc = bs_meta_read(attributes, bs_dicomwords_take, words, why);
	data.words = words;
	data.reach = bs_meta_reach_of(head, bs_dicomwords_value(words, "boreside_venc"));
	if (rc == 0)
		rc = put_file(d, &data, pixels, why);
	free(words);
	return rc;
}

static int dicom_put(void *self, const struct bs_mrd_image *head, const char *attributes,
		     const void *pixels, struct bs_fail *why)
{
	return put(self, head, attributes, false, pixels, why);
}

static int dicom_put_pairs(void *self, const struct bs_mrd_image *head, const char *attributes,
			   const void *pixels, struct bs_fail *why)
{
	return put(self, head, attributes, true, pixels, why);
}

const struct bs_sink bs_sink_dicom = { .type = "dicom",
				       .ext = ".dcm",
				       .bytes = sizeof(struct dicom),
				       .put = dicom_put,
				       .put_pairs = dicom_put_pairs,
				       .at = dicom_at,
				       .usable = dicom_usable,
				       .send_to = dicom_send_to };
