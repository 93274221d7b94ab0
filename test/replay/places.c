/*
 * test/replay/places.c - left is left: from the pixels of each sink's files and what the file says
 * of its place, the points of the phantom lie where the phantom put them, to 1e-3 mm
 *
 * Slices and volumes, oblique, of odd sizes, oversampled, resized. The formulas here are written
 * anew from what PHANTOM.md, WIRE.md and the formats say; nothing of the sinks' own is used.
 */
/* Holds: W38, I3 */
#define _GNU_SOURCE
#include "test/support/check.h"

#include <ismrmrd/dataset.h>
#include <nifti1_io.h>
#include <string.h>
#include <unistd.h>

#include "core/tool/phantom/phantom.h"
#include "drivers/tool/load/cfl.h"

#define POINTS BS_PHANTOM_POINTS_MADE
#define VALUES (UINT32_C(1) << 17)
#define DEGREE (3.141592653589793 / 180.0)

/* clang-format off */
static const struct scan {
	const char *name;
	unsigned matrix[3], encoded, leaves[3],
		slices; /* encoded: of x; leaves: the image's matrix */
	double fov[3], turn[2], position[3], spacing;
} scans[] = {
	{ "oblique", { 48, 64, 1 }, 48, { 48, 64, 1 }, 1, { 130, 200, 3 }, { 25, -40 },
	  { -7, 8, 99 }, 3 },
	{ "slices", { 64, 48, 1 }, 64, { 64, 48, 1 }, 3, { 192, 144, 4 }, { -60, 17 }, { 5, 6, -7 },
	  7.5 },
	{ "wide", { 64, 48, 1 }, 128, { 64, 48, 1 }, 1, { 192, 144, 5 }, { 90, 0 }, { 1, 2, 3 }, 5
	  },
	{ "odd", { 49, 41, 1 }, 49, { 49, 41, 1 }, 1, { 171.5, 164, 5 }, { 0, 90 }, { 1, 2, 3 }, 5
	  },
	{ "finer", { 64, 48, 1 }, 64, { 96, 80, 1 }, 1, { 192, 144, 5 }, { 12, 34 }, { 9, 8, 7 }, 5
	  },
	{ "volume", { 48, 40, 32 }, 48, { 48, 40, 32 }, 1, { 192, 120, 96 }, { 20, 30 },
	  { 10, -20, 30 }, 0 },
	{ "odd volume", { 45, 40, 33 }, 45, { 45, 40, 33 }, 1, { 180, 160, 66 }, { -80, 130 },
	  { 0, 1, 2 }, 0 },
};
/* clang-format on */

/* As a file says it; patient coordinates of DICOM and MRD, mm. */
struct image {
	unsigned n[3];
	double first[3], step[3][3];
	float v[VALUES];
};
static struct image image, by_mrd;
static char dir[] = "/tmp/boreside-test-XXXXXX";

/* ---- the truth ---- */

/* Turned by the first angle about x, then by the second about z. */
static void turn(double out[3], const double in[3], const double degrees[2])
{
	const double a = degrees[0] * DEGREE;
	const double b = degrees[1] * DEGREE;
	const double y = in[1] * cos(a) - in[2] * sin(a);
	const double z = in[1] * sin(a) + in[2] * cos(a);

	out[0] = in[0] * cos(b) - y * sin(b);
	out[1] = in[0] * sin(b) + y * cos(b);
	out[2] = z;
}

/* Where the phantom put point i; of a slice: the middle of what it left there. */
static void truth(double at[3], const struct scan *s, unsigned slice, unsigned i)
{
	double own[3];
	double center[3];
	double bright;

	bs_phantom_point(i, center, &bright);
	for (int a = 0; a < 3; a++)
		own[a] = center[a] * s->fov[a] / 2.0;
	if (s->matrix[2] == 1)
		own[2] = (slice - (s->slices - 1) / 2.0) * s->spacing;
	turn(at, own, s->turn);
	for (int d = 0; d < 3; d++)
		at[d] += s->position[d];
}

/* How bright it is in the slice, of what it is. */
static double brightness(const struct scan *s, unsigned slice, unsigned i)
{
	const double z = 1.6 * (slice + 0.5) / s->slices - 0.8;
	double center[3];
	double bright;
	double up;

	bs_phantom_point(i, center, &bright);
	up = s->slices > 1 ? (z - center[2]) / 2.0 : 0.0;
	return bright * exp(-3.141592653589793 * up * up);
}

/* ---- the pixels ---- */

static float at_voxel(const struct image *m, const unsigned n[3])
{
	return m->v[((size_t)n[2] * m->n[1] + n[1]) * m->n[0] + n[0]];
}

/* The brightest voxel that is none of those before it, nor near one. */
static void brightest(const struct image *m, unsigned peak[POINTS][3], unsigned i)
{
	float most = -1.0f;
	unsigned n[3];

	for (n[2] = 0; n[2] < m->n[2]; n[2]++)
		for (n[1] = 0; n[1] < m->n[1]; n[1]++)
			for (n[0] = 0; n[0] < m->n[0]; n[0]++) {
				bool near = false;

				for (unsigned j = 0; j < i; j++) {
					unsigned off = 0;

					for (int a = 0; a < 3; a++)
						off += (unsigned)abs((int)n[a] - (int)peak[j][a]);
					near = near || off < 10;
				}
				if (near || at_voxel(m, n) <= most)
					continue;
				most = at_voxel(m, n);
				memcpy(peak[i], n, sizeof(n));
			}
}

/* The peak's place by the parabola of logarithms along each axis, and its height. */
static double measure(const struct image *m, const unsigned peak[3], double at[3])
{
	double log_height = log((double)at_voxel(m, peak));

	memcpy(at, m->first, sizeof(m->first));
	for (int a = 0; a < 3; a++) {
		unsigned n[3] = { peak[0], peak[1], peak[2] };
		double l[3];
		double off = 0.0;

		if (m->n[a] > 1 && peak[a] > 0 && peak[a] + 1 < m->n[a]) {
			for (int i = 0; i < 3; i++) {
				n[a] = peak[a] + (unsigned)i - 1;
				l[i] = log((double)at_voxel(m, n));
			}
			off = (l[2] - l[0]) / (2.0 * (2.0 * l[1] - l[0] - l[2]));
			log_height += off * (l[2] - l[0]) / 4.0;
		}
		for (int d = 0; d < 3; d++)
			at[d] += (peak[a] + off) * m->step[a][d];
	}
	return exp(log_height);
}

static void check_points(const struct scan *s, unsigned slice, const char *format,
			 const struct image *m)
{
	unsigned peak[POINTS][3] = { 0 };
	double worst = 0.0;
	double dim = 0.0;
	double whole = 0.0;

	for (unsigned i = 0; i < POINTS; i++)
		brightest(m, peak, i);
	for (unsigned i = 0; i < POINTS; i++) {
		double least = INFINITY;
		double height = 0.0;
		double want[3];

		truth(want, s, slice, i);
		for (unsigned j = 0; j < POINTS; j++) {
			double at[3];
			const double h = measure(m, peak[j], at);
			const double off =
				hypot(hypot(at[0] - want[0], at[1] - want[1]), at[2] - want[2]);

			if (off < least) {
				least = off;
				height = h;
			}
		}
		worst = fmax(worst, least);
		/* all have one scale: that of the first */
		height /= brightness(s, slice, i);
		whole = i == 0 ? height : whole;
		dim = fmax(dim, fabs(height / whole - 1.0));
	}
	CHECK(worst < 1e-3 && dim < 1e-3,
	      "%s, slice %u, %s: points within %.1e mm, as bright as they are to %.0e", s->name,
	      slice, format, worst, dim);
}

/* ---- the files ---- */

static bool fits(const struct scan *s, const struct image *m, const char *what)
{
	bool same = true;

	for (int a = 0; a < 3; a++)
		same = same && m->n[a] == s->leaves[a];
	CHECK(same, "%s, %s: %u x %u x %u", s->name, what, m->n[0], m->n[1], m->n[2]);
	return same;
}

/* position is voxel (X/2, Y/2, Z/2). */
static bool read_mrd(const char *path, unsigned slice, struct image *m)
{
	ISMRMRD_Dataset d;
	ISMRMRD_Image im;
	bool good;

	(void)ismrmrd_init_dataset(&d, path, "/dataset");
	if (ismrmrd_open_dataset(&d, false) != ISMRMRD_NOERROR)
		return false;
	(void)ismrmrd_init_image(&im);
	good = ismrmrd_read_image(&d, "image_1", slice, &im) == ISMRMRD_NOERROR &&
	       im.head.slice == slice && ismrmrd_size_of_image_data(&im) <= sizeof(m->v);
	if (good) {
		const float *dirs[3] = { im.head.read_dir, im.head.phase_dir, im.head.slice_dir };

		memcpy(m->v, im.data, ismrmrd_size_of_image_data(&im));
		for (int x = 0; x < 3; x++)
			m->first[x] = (double)im.head.position[x];
		for (int a = 0; a < 3; a++) {
			m->n[a] = im.head.matrix_size[a];
			for (int x = 0; x < 3; x++) {
				m->step[a][x] = (double)im.head.field_of_view[a] / m->n[a] *
						(double)dirs[a][x];
				m->first[x] -= m->step[a][x] * (m->n[a] / 2);
			}
		}
	}
	(void)ismrmrd_cleanup_image(&im);
	(void)ismrmrd_close_dataset(&d);
	return good;
}

/* To the right, front and head. qform: by the quaternion. */
static bool read_nifti(const char *path, bool qform, struct image *m)
{
	nifti_image *im = nifti_image_read(path, 1);
	const mat44 *to = im == NULL ? NULL : qform ? &im->qto_xyz : &im->sto_xyz;
	bool good = im != NULL && im->datatype == DT_FLOAT32 && im->nvox <= VALUES;

	if (good) {
		memcpy(m->v, im->data, im->nvox * sizeof(float));
		m->n[0] = (unsigned)im->nx;
		m->n[1] = (unsigned)im->ny;
		m->n[2] = (unsigned)im->nz;
		for (int d = 0; d < 3; d++) {
			const double sign = d < 2 ? -1.0 : 1.0;

			m->first[d] = sign * (double)to->m[d][3];
			for (int a = 0; a < 3; a++)
				m->step[a][d] = sign * (double)to->m[d][a];
		}
	}
	nifti_image_free(im);
	return good;
}

/* What dcmdump says of the elements that are read below. */
static void dump(const char *path, char *said, size_t cap)
{
	static const char *const tags[] = { "0020,0032", "0020,0037", "0028,0030", "0028,0010",
					    "0028,0011", "0028,1053", "0028,1052" };
	char command[512];
	size_t n = (size_t)snprintf(command, sizeof(command), "dcmdump -q +L");
	FILE *p;

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " +P %s", tags[i]);
	(void)snprintf(command + n, sizeof(command) - n, " '%s' 2>/dev/null", path);
	p = popen(command, "r");
	n = p != NULL ? fread(said, 1, cap - 1, p) : 0;
	said[n] = '\0';
	if (p != NULL)
		(void)pclose(p);
}

/* The numbers of an element in what dcmdump said, in its order; how many there are. */
static unsigned numbers(const char *said, const char *tag, double *to, unsigned most)
{
	unsigned n = 0;

	while (n < most && (said = strstr(said, tag)) != NULL) {
		const char *at = said + strlen(tag) + 5; /* ") VR " */

		said = at;
		at += at[0] == '[';
		while (n < most) {
			char *end;
			const double v = strtod(at, &end);

			if (end == at)
				break;
			to[n++] = v;
			if (*end != '\\')
				break;
			at = end + 1;
		}
	}
	return n;
}

/* ImagePosition, ImageOrientation: rows run along its first half. Spacing: rows, then columns. */
static bool read_dicom(const char *path, struct image *m)
{
	static double places[3 * 512];
	static char said[65536];
	static uint16_t stored[VALUES];
	char command[512];
	double axes[6], spacing[2], rows, columns, slope, intercept;
	size_t n = 0;
	FILE *raw;
	unsigned frames;

	dump(path, said, sizeof(said));
	frames = numbers(said, "0020,0032", places, 3 * 512) / 3;
	if (frames == 0 || numbers(said, "0020,0037", axes, 6) != 6 ||
	    numbers(said, "0028,0030", spacing, 2) != 2 ||
	    numbers(said, "0028,0010", &rows, 1) != 1 ||
	    numbers(said, "0028,0011", &columns, 1) != 1 ||
	    numbers(said, "0028,1053", &slope, 1) != 1 ||
	    numbers(said, "0028,1052", &intercept, 1) != 1)
		return false;
	m->n[0] = (unsigned)columns;
	m->n[1] = (unsigned)rows;
	m->n[2] = frames;
	memcpy(m->first, places, sizeof(m->first));
	for (int d = 0; d < 3; d++) {
		m->step[0][d] = spacing[1] * axes[d];
		m->step[1][d] = spacing[0] * axes[3 + d];
		m->step[2][d] = frames > 1
					? (places[3 * (frames - 1) + d] - places[d]) / (frames - 1)
					: 0.0;
	}
	(void)snprintf(command, sizeof(command),
		       "rm -rf %s/raw && mkdir %s/raw && dcmdump -q +W %s/raw '%s' >/dev/null && "
		       "cat %s/raw/*",
		       dir, dir, dir, path, dir);
	raw = popen(command, "r");
	if (raw != NULL) {
		n = fread(stored, sizeof(stored[0]), VALUES, raw);
		(void)pclose(raw);
	}
	for (size_t i = 0; i < n; i++)
		m->v[i] = (float)(intercept + slope * stored[i]);
	return n == (size_t)m->n[0] * m->n[1] * m->n[2];
}

/* It says nothing of where it lies: its pixels are the MRD file's. */
static void check_cfl(const struct scan *s, unsigned slice, const char *path)
{
	struct bs_cfl c = { 0 };
	struct bs_fail why = { 0 };
	const size_t values = (size_t)by_mrd.n[0] * by_mrd.n[1] * by_mrd.n[2];
	bool same = bs_cfl_read(&c, path, &why) == 0 && c.size == values;

	for (size_t i = 0; same && i < values; i++)
		same = c.data[2 * i] == by_mrd.v[i];
	CHECK(same, "%s, slice %u, cfl: the pixels of mrd %s", s->name, slice, why.text);
	bs_cfl_free(&c);
}

/* What `boreside recon` calls the file of the image. */
static const char *file(const char *ext, unsigned slice)
{
	static char path[128];
	char again[8] = "";

	if (slice > 0 && strcmp(ext, ".h5") != 0)
		(void)snprintf(again, sizeof(again), "-%04u", slice + 1);
	(void)snprintf(path, sizeof(path), "%s/x%s%s", dir, again, ext);
	return path;
}

static bool make(const struct scan *s, const char *exts)
{
	const char *boreside = getenv("BORESIDE");
	char command[2048];
	char encoded[48];
	char sizes[48];
	FILE *site;

	(void)snprintf(command, sizeof(command), "%s/site.cfg", dir);
	site = fopen(command, "w");
	if (site == NULL || boreside == NULL)
		return false;
	(void)fprintf(
		site,
		"node: { run_dir = \"run\"; cache_dir = \"\"; threads = 1; };\n"
		"protocols: ( { name = \"p\"; method = \"cartesian\"; coils = 1; slices = %u;\n"
		"matrix = [%u, %u, %u]; encoded = [%u, %u, %u]; samples = %u; readouts = %u;\n"
		"image: { matrix = [%u, %u, %u]; }; } );\n",
		s->slices, s->matrix[0], s->matrix[1], s->matrix[2], s->encoded, s->matrix[1],
		s->matrix[2], s->encoded, s->matrix[1] * s->matrix[2], s->leaves[0], s->leaves[1],
		s->leaves[2]);
	(void)fclose(site);
	(void)snprintf(sizes, sizeof(sizes), s->matrix[2] > 1 ? "%u,%u,%u" : "%u,%u", s->matrix[0],
		       s->matrix[1], s->matrix[2]);
	(void)snprintf(encoded, sizeof(encoded), s->matrix[2] > 1 ? "%u,%u,%u" : "%u,%u",
		       s->encoded, s->matrix[1], s->matrix[2]);
	(void)snprintf(command, sizeof(command),
		       "cd %s && rm -f x* && %s phantom --traj cartesian --matrix %s --encoded %s "
		       "--samples %u --slices %u --object points --fov-mm %g,%g,%g "
		       "--oblique %g,%g --position-mm %g,%g,%g --spacing-mm %g --name p -o scan.h5 "
		       ">/dev/null && for e in %s; do %s recon -c site.cfg scan.h5 -o x$e 2>>log "
		       ">/dev/null || exit 1; done",
		       dir, boreside, sizes, encoded, s->encoded, s->slices, s->fov[0], s->fov[1],
		       s->fov[2], s->turn[0], s->turn[1], s->position[0], s->position[1],
		       s->position[2], s->spacing > 0.0 ? s->spacing : 1.0, exts, boreside);
	return system(command) == 0;
}

static void check_scan(const struct scan *s, bool dicom)
{
	const bool packed = (s - scans) % 2 == 1; /* both are written by the same code */
	const char *nifti = packed ? ".nii.gz" : ".nii";
	char exts[64];

	(void)snprintf(exts, sizeof(exts), ".h5 .cfl %s%s", nifti, dicom ? " .dcm" : "");
	if (!make(s, exts)) {
		CHECK(0, "%s: phantom and recon", s->name);
		return;
	}
	for (unsigned slice = 0; slice < s->slices; slice++) {
		if (!read_mrd(file(".h5", slice), slice, &by_mrd) || !fits(s, &by_mrd, "mrd")) {
			CHECK(0, "%s: its .h5 is read", s->name);
			continue;
		}
		check_points(s, slice, "mrd", &by_mrd);
		check_cfl(s, slice, file(".cfl", slice));
		for (int q = 0; q < 2; q++)
			if (read_nifti(file(nifti, slice), q == 1, &image) &&
			    fits(s, &image, "nifti"))
				check_points(s, slice, q == 0 ? "nifti, sform" : "nifti, qform",
					     &image);
			else
				CHECK(0, "%s: its NIfTI file is read", s->name);
		if (dicom && read_dicom(file(".dcm", slice), &image) && fits(s, &image, "dicom"))
			check_points(s, slice, "dicom", &image);
		else if (dicom)
			CHECK(0, "%s: its .dcm is read", s->name);
	}
}

int main(void)
{
	const bool dicom = system("command -v dump2dcm dcmdump >/dev/null") == 0;
	char clean[128];

	if (mkdtemp(dir) == NULL)
		return 1;
	if (!dicom)
		printf("skip DICOM's places: dump2dcm and dcmdump are not here\n");
	for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++)
		check_scan(&scans[i], dicom);
	(void)snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0 || check_done();
}
