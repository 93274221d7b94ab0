/*
 * drivers/step/qa/qa.c - a step that measures a phantom: uniformity, ghosting, SNR, drift
 *
 *     cc -O2 -o qa qa.c -lm
 *     steps = ( { name = "qa"; on = "PHANTOM"; command = "/usr/local/bin/qa /var/lib/boreside/qa";
 *                 budget_ms = 50.0; } );
 *
 * Of each image of one uniform object in air, of a volume its middle slice, whatever its place:
 *   0 mean        signal in a disc of 0.75 of the object's radius
 *   1 uniformity  %, 100 (1 - (max - min) / (max + min)) of the means of boxes of a tenth of its
 *                 diameter inside 0.85 of its radius (ACR, percent integral uniformity)
 *   2 ghosting    %, |top + bottom - left - right| / 2 mean, of the air beside the object (ACR);
 *                 -1: it leaves no air on some side
 *   3 SNR         sqrt(2) mean / deviation of the difference from the image before, of the same
 *                 slice and size (NEMA MS 1, method 1); 0: there is none
 *   4 drift       % of the mean against the folder's first image of the slice
 *   5, 6 center   of the object, pixels from the image's first
 * They leave with the image, which stays as it is. The folder gets qa.csv (a line an image),
 * qa.prom (for Prometheus' textfile collector) and qa.svg (the trend). An image without an object
 * has no numbers. Source: ACR phantom test guidance, 2005; NEMA MS 1-2008.
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

static bool within(const struct object *o, double x, double y, double share)
{
	const double u = (x - o->x) / (share * o->rx);
	const double v = (y - o->y) / (share * o->ry);

	return u * u + v * v <= 1.0;
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

/* Mean of p less that of q, and the deviation, over a disc; q NULL: of p alone. */
static double disc(const struct plane *p, const float *q, const struct object *o, double *deviation)
{
	double sum = 0.0;
	double squares = 0.0;
	double n = 0.0;

	for (int y = 0; y < p->ny; y++)
		for (int x = 0; x < p->nx; x++) {
			const size_t i = (size_t)y * (size_t)p->nx + (size_t)x;
			const double v = (double)p->at[i] - (q != NULL ? (double)q[i] : 0.0);

			if (!within(o, x, y, 0.75))
				continue;
			sum += v;
			squares += v * v;
			n += 1.0;
		}
	sum = n > 0.0 ? sum / n : 0.0;
	*deviation = n > 1.0 ? sqrt(fmax(squares / n - sum * sum, 0.0) * n / (n - 1.0)) : 0.0;
	return sum;
}

static double uniformity(const struct plane *p, const struct object *o)
{
	const int half = (int)fmax(1.0, round(0.1 * fmin(o->rx, o->ry)));
	double least = INFINITY;
	double most = -INFINITY;

	for (int y = half; y + half < p->ny; y++)
		for (int x = half; x + half < p->nx; x++) {
			double mean;
			long n;

			if (!within(o, x + (x < o->x ? -half : half), y + (y < o->y ? -half : half),
				    0.85))
				continue;
			mean = box_mean(p, x - half, y - half, x + half + 1, y + half + 1, &n);
			least = fmin(least, mean);
			most = fmax(most, mean);
		}
	return most + least > 0.0 ? 100.0 * (1.0 - (most - least) / (most + least)) : 0.0;
}

/* Air beside the object: boxes from the image's edge to a tenth of the radius before the object. */
static double ghosting(const struct plane *p, const struct object *o, double mean)
{
	const int left = (int)(o->x - 1.1 * o->rx), right = (int)(o->x + 1.1 * o->rx) + 1;
	const int top = (int)(o->y - 1.1 * o->ry), bottom = (int)(o->y + 1.1 * o->ry) + 1;
	const int x0 = (int)(o->x - 0.5 * o->rx), x1 = (int)(o->x + 0.5 * o->rx);
	const int y0 = (int)(o->y - 0.5 * o->ry), y1 = (int)(o->y + 0.5 * o->ry);
	long n[4];
	const double side[4] = { box_mean(p, x0, 0, x1, top, &n[0]),
				 box_mean(p, x0, bottom, x1, p->ny, &n[1]),
				 box_mean(p, 0, y0, left, y1, &n[2]),
				 box_mean(p, right, y0, p->nx, y1, &n[3]) };

	if (n[0] == 0 || n[1] == 0 || n[2] == 0 || n[3] == 0 || mean <= 0.0)
		return -1.0;
	return 100.0 * fabs(side[0] + side[1] - side[2] - side[3]) / (2.0 * mean);
}

/* Measures an image of a slice. keep: for the next one. False: there is no object in it. */
static bool measure(const struct plane *p, unsigned slice, bool keep, double number[NUMBERS])
{
	struct plane *before = &kept[slice];
	const size_t bytes = (size_t)p->nx * (size_t)p->ny * sizeof(float);
	struct object o;
	double deviation;

	memset(number, 0, NUMBERS * sizeof(*number));
	if (!find_object(p, &o))
		return false;
	number[MEAN] = disc(p, NULL, &o, &deviation);
	number[UNIFORMITY] = uniformity(p, &o);
	number[GHOSTING] = ghosting(p, &o, number[MEAN]);
	if (before->at != NULL && before->nx == p->nx && before->ny == p->ny) {
		(void)disc(p, before->at, &o, &deviation);
		number[SNR] = deviation > 0.0 ? sqrt(2.0) * number[MEAN] / deviation : 0.0;
	}
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
