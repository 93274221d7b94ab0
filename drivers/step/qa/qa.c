/*
 * drivers/step/qa/qa.c - a step that measures a phantom: uniformity, ghosting, SNR, drift
 *
 *     cc -O2 -o qa qa.c -lm
 *     steps = ( { name = "qa"; on = "PHANTOM"; command = "/usr/local/bin/qa /var/lib/boreside/qa";
 *                 budget_ms = 50.0; } );
 *
 * Of each image of one uniform object in air, of a volume its middle slice, whatever its place:
 *   0 mean        signal in the large disc, 0.84 of the object's radius (ACR: 200 of 284 cm2)
 *   1 uniformity  %, 100 (1 - (max - min) / (max + min)) of the means of small discs, 0.0594 of its
 *                 radius (ACR: 1 cm2), that lie within the large one
 *   2 ghosting    %, |top + bottom - left - right| / 2 mean, of ellipses in the air beside the
 *                 object, midway to the image's edge (ACR: 40 x 10 mm); -1: there is no room
 *   3 SNR         mean of five squares' sqrt(2) mean / deviation of the difference from the image
 *                 before, of the same slice and size (NEMA MS 1, method 1); 0: there is none
 *   4 drift       % of the mean against the folder's first image of the slice
 *   5, 6 center   of the object, pixels from the image's first
 * They leave with the image, which stays as it is. The folder gets qa.csv (a line an image),
 * qa.prom (for Prometheus' textfile collector) and qa.svg (the trend). An image without an object
 * has no numbers. Source: ACR large phantom test guidance; NEMA MS 1-2008. Where discs, ellipses
 * and squares lie is as in GSTT's hazen 2.0, which test/replay/step/hazen.sh compares it with.
 */
#define _GNU_SOURCE
#include "ipc/step.h" /* installed: <boreside/step.h> */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEAN, UNIFORMITY, GHOSTING, SNR, DRIFT, CENTER_X, CENTER_Y, NUMBERS };
static const char *const names[NUMBERS] = { "mean",  "uniformity", "ghosting", "snr",
					    "drift", "center_x",   "center_y" };
#define SLICES 512u  /* slices whose last image and first mean are kept */
#define TREND  1000u /* images in the picture */

struct plane {
	int nx, ny;
	const float *at; /* [y][x] */
};
struct object {
	double x, y, rx, ry; /* center and radii, pixels */
};

static double kept_mean[SLICES];
static struct plane kept[SLICES];
static double trend[TREND][NUMBERS];
static unsigned long trends;

/* The mean over a box; *n: pixels that lie in the image. */
static double box_mean(const struct plane *p, int x0, int y0, int x1, int y1, long *n)
{
	double sum = 0.0;

	*n = 0;
	for (int y = y0 < 0 ? 0 : y0; y < y1 && y < p->ny; y++)
		for (int x = x0 < 0 ? 0 : x0; x < x1 && x < p->nx; x++, (*n)++)
			sum += (double)p->at[(size_t)y * (size_t)p->nx + (size_t)x];
	return *n > 0 ? sum / (double)*n : 0.0;
}

/* Finds the object: what is above half of the mean of the brighter half. False: there is none. */
static bool find_object(const struct plane *p, struct object *o)
{
	const long n = (long)p->nx * p->ny;
	double all = 0.0;
	double bright = 0.0;
	long count = 0;
	int x0 = p->nx, x1 = -1, y0 = p->ny, y1 = -1;

	for (long i = 0; i < n; i++)
		all += (double)p->at[i] / (double)n;
	for (long i = 0; i < n; i++)
		if ((double)p->at[i] > all) {
			bright += (double)p->at[i];
			count++;
		}
	if (count == 0)
		return false;
	bright /= (double)count;
	for (int y = 1; y + 1 < p->ny; y++)
		for (int x = 1; x + 1 < p->nx; x++) {
			long in;

			if (box_mean(p, x - 1, y - 1, x + 2, y + 2, &in) < 0.5 * bright)
				continue;
			x0 = x < x0 ? x : x0;
			x1 = x > x1 ? x : x1;
			y0 = y < y0 ? y : y0;
			y1 = y > y1 ? y : y1;
		}
	*o = (struct object){ 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (x1 - x0 + 1),
			      0.5 * (y1 - y0 + 1) };
	return x1 >= x0 && o->rx >= 5.0 && o->ry >= 5.0;
}

/* Mean over an ellipse about a voxel; *n: voxels of it that lie in the image. */
static double ellipse_mean(const struct plane *p, const double at[2], const double semi[2], long *n)
{
	double sum = 0.0;

	*n = 0;
	for (int y = 0; y < p->ny; y++)
		for (int x = 0; x < p->nx; x++) {
			const double u = (x - at[0]) / semi[0];
			const double v = (y - at[1]) / semi[1];

			if (u * u + v * v > 1.0)
				continue;
			sum += (double)p->at[(size_t)y * (size_t)p->nx + (size_t)x];
			(*n)++;
		}
	return *n > 0 ? sum / (double)*n : 0.0;
}

/* The object's radius times a share, in whole voxels. */
static double radius_of(const struct object *o, double share)
{
	return ceil(share * fmin(o->rx, o->ry));
}

/* Sums of each row from its first voxel on: [y][x], x up to nx. NULL: there is no memory. */
static double *sum_rows(const struct plane *p)
{
	double *sum = calloc((size_t)(p->nx + 1) * (size_t)p->ny, sizeof(*sum));

	for (int y = 0; sum != NULL && y < p->ny; y++)
		for (int x = 0; x < p->nx; x++) {
			const size_t i = (size_t)y * (size_t)(p->nx + 1) + (size_t)x;

			sum[i + 1] = sum[i] + (double)p->at[(size_t)y * (size_t)p->nx + (size_t)x];
		}
	return sum;
}

/* Mean over a disc of so many voxels' radius, by the rows' sums. It lies in the image. */
static double disc_mean(const struct plane *p, const double *sum, int x, int y, int radius)
{
	double all = 0.0;
	double n = 0.0;

	for (int d = -radius; d <= radius; d++) {
		const int half = (int)sqrt((double)(radius * radius - d * d));
		const double *row = sum + (size_t)(y + d) * (size_t)(p->nx + 1);

		all += row[x + half + 1] - row[x - half];
		n += 2 * half + 1;
	}
	return all / n;
}

static double uniformity(const struct plane *p, const struct object *o)
{
	const int small = (int)radius_of(o, 0.0594);
	const int reach = (int)radius_of(o, 0.84) - small;
	const int cx = (int)round(o->x), cy = (int)round(o->y);
	double *sum = sum_rows(p);
	double least = INFINITY;
	double most = -INFINITY;

	for (int y = -reach; sum != NULL && y <= reach; y++)
		for (int x = -reach; x <= reach; x++) {
			double mean;

			if (x * x + y * y > reach * reach || cx + x < small || cy + y < small ||
			    cx + x + small >= p->nx || cy + y + small >= p->ny)
				continue;
			mean = disc_mean(p, sum, cx + x, cy + y, small);
			least = fmin(least, mean);
			most = fmax(most, mean);
		}
	free(sum);
	return most + least > 0.0 ? 100.0 * (1.0 - (most - least) / (most + least)) : 0.0;
}

/* Air beside the object, from its edge to the image's: the mean of an ellipse. False: no room. */
static bool air_mean(const struct plane *p, const struct object *o, int side, double *mean)
{
	const int along = side / 2; /* 0: left and right; 1: above and below */
	const double center = along == 0 ? o->x : o->y;
	const double radius = along == 0 ? o->rx : o->ry;
	const int size = along == 0 ? p->nx : p->ny;
	const double room = side % 2 == 0 ? center - radius : size - 1 - (center + radius);
	const double thin = 0.105 * fmin(o->rx, o->ry);
	const double over = thin + 5.0 - 0.5 * room; /* five voxels are kept free at each edge */
	const double narrow = over > 0.0 ? thin - over : thin;
	double at[2] = { o->x, o->y };
	double semi[2];
	long n;

	if (narrow < 1.0)
		return false;
	at[along] = side % 2 == 0 ? 0.5 * room : size - 1 - 0.5 * room;
	semi[along] = narrow;
	semi[1 - along] = 4.0 * thin * thin / narrow;
	*mean = ellipse_mean(p, at, semi, &n);
	return n > 0;
}

static double ghosting(const struct plane *p, const struct object *o, double mean)
{
	double air[4];

	for (int side = 0; side < 4; side++)
		if (!air_mean(p, o, side, &air[side]) || mean <= 0.0)
			return -1.0;
	return 100.0 * fabs(air[2] + air[3] - air[0] - air[1]) / (2.0 * mean);
}

/* Signal over noise in five squares, by the image before. 0: there is no noise. */
static double snr(const struct plane *p, const float *before, const struct object *o)
{
	static const int place[5][2] = { { 0, 0 }, { -1, -1 }, { 1, -1 }, { -1, 1 }, { 1, 1 } };
	const double radius = fmin(o->rx, o->ry);
	const int half = (int)fmax(2.0, round(0.103 * radius));
	const int off = (int)round(0.412 * radius);
	double sum = 0.0;

	for (int i = 0; i < 5; i++) {
		const int x0 = (int)round(o->x) + off * place[i][0] - half;
		const int y0 = (int)round(o->y) + off * place[i][1] - half;
		double signal = 0.0, mean = 0.0, squares = 0.0;
		const double n = 4.0 * half * half;

		if (x0 < 0 || y0 < 0 || x0 + 2 * half > p->nx || y0 + 2 * half > p->ny)
			return 0.0;
		for (int k = 0; k < 4 * half * half; k++) {
			const size_t at = (size_t)(y0 + k / (2 * half)) * (size_t)p->nx +
					  (size_t)(x0 + k % (2 * half));
			const double d = (double)p->at[at] - (double)before[at];

			signal += (double)p->at[at] / n;
			mean += d / n;
			squares += d * d;
		}
		squares = (squares - n * mean * mean) / (n - 1.0);
		if (!(squares > 0.0))
			return 0.0;
		sum += sqrt(2.0 / squares) * signal / 5.0;
	}
	return sum;
}

/* Measures an image of a slice. keep: for the next one. False: there is no object in it. */
static bool measure(const struct plane *p, unsigned slice, bool keep, double number[NUMBERS])
{
	struct plane *before = &kept[slice];
	const size_t bytes = (size_t)p->nx * (size_t)p->ny * sizeof(float);
	struct object o;
	long n;

	memset(number, 0, NUMBERS * sizeof(*number));
	if (!find_object(p, &o))
		return false;
	number[MEAN] =
		ellipse_mean(p, (const double[2]){ o.x, o.y },
			     (const double[2]){ radius_of(&o, 0.84), radius_of(&o, 0.84) }, &n);
	number[UNIFORMITY] = uniformity(p, &o);
	number[GHOSTING] = ghosting(p, &o, number[MEAN]);
	if (before->at != NULL && before->nx == p->nx && before->ny == p->ny)
		number[SNR] = snr(p, before->at, &o);
	if (kept_mean[slice] == 0.0 && keep)
		kept_mean[slice] = number[MEAN];
	number[DRIFT] =
		kept_mean[slice] != 0.0 ? 100.0 * (number[MEAN] / kept_mean[slice] - 1.0) : 0.0;
	number[CENTER_X] = o.x;
	number[CENTER_Y] = o.y;
	if (!keep)
		return true;
	free((void *)(uintptr_t)before->at);
	*before = (struct plane){ p->nx, p->ny, malloc(bytes) };
	if (before->at != NULL)
		memcpy((void *)(uintptr_t)before->at, p->at, bytes);
	return true;
}

/* The middle slice's magnitudes, in memory that the caller frees. */
static struct plane plane_of(const struct bs_step_memory *m)
{
	const struct bs_step_image *in = &m->in;
	const size_t n = (size_t)in->matrix[0] * in->matrix[1];
	const unsigned floats = in->type == 7 ? 2 : 1;
	const float *from = (const float *)(const void *)((const char *)m + m->in_at) +
			    n * (in->matrix[2] / 2) * floats;
	float *to = malloc(n * sizeof(*to));

	for (size_t i = 0; to != NULL && i < n; i++)
		to[i] = floats == 2 ? hypotf(from[2 * i], from[2 * i + 1]) : fabsf(from[i]);
	return (struct plane){ (int)in->matrix[0], (int)in->matrix[1], to };
}

/* ---- files ---- */

static FILE *open_file(const char *folder, const char *name, const char *mode)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%.400s/%s", folder, name);
	return fopen(path, mode);
}

/* Puts what was written in place of the file before it. */
static void commit(FILE *f, const char *folder, const char *name)
{
	char from[512], to[512];

	(void)snprintf(from, sizeof(from), "%.400s/%s.new", folder, name);
	(void)snprintf(to, sizeof(to), "%.400s/%s", folder, name);
	if (fclose(f) == 0)
		(void)rename(from, to);
}

static void write_prom(const char *folder, const double number[NUMBERS], unsigned slice)
{
	FILE *f = open_file(folder, "qa.prom.new", "we");

	if (f == NULL)
		return;
	for (int i = 0; i < NUMBERS; i++)
		(void)fprintf(f, "# TYPE boreside_qa_%s gauge\nboreside_qa_%s{slice=\"%u\"} %.9g\n",
			      names[i], names[i], slice, number[i]);
	commit(f, folder, "qa.prom");
}

/* Draws the last images' numbers, a row each, from its least to its largest value. */
static void draw_trend(const char *folder)
{
	const unsigned long n = trends < TREND ? trends : TREND;
	FILE *f = open_file(folder, "qa.svg.new", "we");

	if (f == NULL)
		return;
	(void)fprintf(f,
		      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 820 %d' "
		      "font-family='sans-serif' font-size='12'>\n<rect width='820' height='%d' "
		      "fill='white'/>\n",
		      CENTER_X * 90 + 10, CENTER_X * 90 + 10);
	for (int i = 0; i < CENTER_X; i++) {
		double least = INFINITY;
		double most = -INFINITY;

		for (unsigned long k = trends - n; k < trends; k++) {
			least = fmin(least, trend[k % TREND][i]);
			most = fmax(most, trend[k % TREND][i]);
		}
		(void)fprintf(f,
			      "<text x='5' y='%d'>%s</text><text x='5' y='%d'>%.4g</text>"
			      "<text x='5' y='%d'>%.4g</text>\n<polyline fill='none' "
			      "stroke='#0b5fa5' points='",
			      i * 90 + 50, names[i], i * 90 + 22, most, i * 90 + 84, least);
		for (unsigned long k = trends - n; k < trends; k++)
			(void)fprintf(f, "%.1f,%.1f ",
				      100.0 + 700.0 * (double)(k + n - trends) /
						      (double)(n > 1 ? n - 1 : 1),
				      i * 90 + 84 -
					      66.0 * (most > least ? (trend[k % TREND][i] - least) /
									     (most - least)
								   : 0.5));
		(void)fprintf(f, "'/>\n");
	}
	(void)fprintf(f, "</svg>\n");
	commit(f, folder, "qa.svg");
}

/* Reads the first mean of each slice, which drift counts from. */
static void read_first(const char *folder)
{
	FILE *f = open_file(folder, "qa.csv", "re");
	char line[512];
	unsigned slice;
	double mean;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*[^,],%*u,%*u,%u,%lf", &slice, &mean) == 2 && slice < SLICES &&
		    kept_mean[slice] == 0.0)
			kept_mean[slice] = mean;
	if (f != NULL)
		(void)fclose(f);
}

static void write_files(const char *folder, const struct bs_step_image *in, unsigned slice,
			const double number[NUMBERS])
{
	FILE *f = open_file(folder, "qa.csv", "ae");
	const time_t now = time(NULL);
	struct tm utc;
	char at[32] = "";

	if (gmtime_r(&now, &utc) != NULL)
		(void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &utc);
	memcpy(trend[trends++ % TREND], number, sizeof(trend[0]));
	if (f != NULL) {
		(void)fprintf(f, "%s,%u,%u,%u", at, in->scan, in->image, slice);
		for (int i = 0; i < NUMBERS; i++)
			(void)fprintf(f, ",%.9g", number[i]);
		(void)fprintf(f, "\n");
		(void)fclose(f);
	}
	write_prom(folder, number, slice);
	draw_trend(folder);
}

int main(int argc, char **argv)
{
	const char *path = getenv(BS_STEP_SOCKET);
	int fd = -1;
	struct bs_step_memory *m = path != NULL && argc == 2 ? bs_step_open(path, &fd) : NULL;

	if (m == NULL) {
		(void)fprintf(stderr, "qa: %s\n",
			      argc == 2 ? "no service" : "usage: qa FOLDER, by the service");
		return 1;
	}
	read_first(argv[1]);
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	while (bs_step_wait(m, fd)) {
		const struct bs_step_image in = m->in;
		const unsigned slice = in.slice < SLICES ? in.slice : SLICES - 1;
		struct plane p = plane_of(m);
		double number[NUMBERS] = { 0.0 };
		const bool found = p.at != NULL && measure(&p, slice, in.scan != 0, number);

		m->out.what = BS_STEP_NUMBERS_ALONE;
		m->out.bytes = 0;
		m->out.numbers = found ? NUMBERS : 0;
		memcpy(m->out.number, number, sizeof(number));
		bs_step_store(&m->answered, m->asked);
		/* the image is on its way: what follows may only cost the next one time */
		if (found && in.scan != 0)
			write_files(argv[1], &in, slice, number);
		free((void *)(uintptr_t)p.at);
	}
	return 0;
}
