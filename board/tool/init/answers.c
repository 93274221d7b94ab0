/* board/tool/init/answers.c - see answers.h */
#include "board/tool/init/answers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/hint/near.h"

enum kind { CARTESIAN, RADIAL, SPIRAL, STACK, RADIAL3D };
const char *const bs_answers_kinds[] = {
	[CARTESIAN] = "cartesian", [RADIAL] = "radial",     [SPIRAL] = "spiral",
	[STACK] = "stack",         [RADIAL3D] = "radial3d", NULL
};

#define INTERLEAVES    16u /* default number of a spiral's interleaves */
#define SPIRAL_SAMPLES 4096u

/* Asks a question. text: the answer; "" for an empty line. */
static int question(const char *words, char *text, size_t cap, struct bs_fail *why)
{
	size_t n;

	(void)fprintf(stderr, "%s: ", words);
	(void)fflush(stderr);
	if (fgets(text, (int)cap, stdin) == NULL)
		return bs_fail(why, BS_ERR_USAGE, "no answer to '%s'", words);
	n = strcspn(text, "\r\n");
	text[n] = '\0';
	return 0;
}

static int find_kind(const char *word, enum kind *kind, struct bs_fail *why)
{
	struct bs_near near;
	char hint[BS_NEAR_HINT];

	for (int i = 0; bs_answers_kinds[i] != NULL; i++)
		if (strcmp(word, bs_answers_kinds[i]) == 0) {
			*kind = (enum kind)i;
			return 0;
		}
	bs_near_begin(&near, word);
	bs_near_offer_all(&near, bs_answers_kinds);
	return bs_fail(why, BS_ERR_USAGE,
		       "'%.40s' is none of cartesian, radial, spiral, stack, radial3d%s", word,
		       bs_near_hint(&near, hint));
}

/* Reads up to three numbers with 'x', ',' or blanks between them. */
static bool read_matrix(uint32_t matrix[3], const char *text)
{
	uint32_t n = 0;

	while (n < 3 && *text != '\0') {
		char *end;
		const unsigned long v = strtoul(text, &end, 10);

		if (end == text || v < 1 || v > BS_AXIS_MAX)
			return false;
		matrix[n++] = (uint32_t)v;
		text = end + strspn(end, "x, ");
	}
	if (n < 2 || *text != '\0')
		return false;
	if (n == 2)
		matrix[2] = 1;
	return true;
}

static bool read_count(uint32_t *count, const char *text, uint32_t most)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || v < 1 || v > most)
		return false;
	*count = (uint32_t)v;
	return true;
}

static int ask_count(uint32_t *count, const char *words, uint32_t fallback, uint32_t most,
		     struct bs_fail *why)
{
	char text[64];
	int rc = 0;

	while (rc == 0 && *count == 0) {
		rc = question(words, text, sizeof(text), why);
		if (rc == 0 && text[0] == '\0' && fallback > 0)
			*count = fallback;
		else if (rc == 0 && !read_count(count, text, most))
			(void)fprintf(stderr, "  a number from 1 to %u, please\n", most);
	}
	return rc;
}

int bs_answers_ask(struct bs_answers *a, struct bs_fail *why)
{
	struct bs_fail reason;
	enum kind kind;
	char text[64];
	int rc = 0;

	if (a->name == NULL) {
		rc = question("Name of the protocol, as scans ask for it [scan]", a->texts[0],
			      sizeof(a->texts[0]), why);
		a->name = rc == 0 && a->texts[0][0] != '\0' ? a->texts[0] : "scan";
	}
	while (rc == 0 && a->kind == NULL) {
		rc = question(
			"Samples lie on: cartesian, radial, spiral, stack (of spirals, 3D) or "
			"radial3d [cartesian]",
			a->texts[1], sizeof(a->texts[1]), why);
		if (rc == 0 && a->texts[1][0] == '\0')
			a->kind = "cartesian";
		else if (rc == 0 && find_kind(a->texts[1], &kind, &reason) == 0)
			a->kind = a->texts[1];
		else if (rc == 0)
			(void)fprintf(stderr, "  %s\n", reason.text);
	}
	while (rc == 0 && a->matrix[0] == 0) {
		rc = question("Voxels of the image, as 256x256 or 64x64x32", text, sizeof(text),
			      why);
		if (rc == 0 && !read_matrix(a->matrix, text)) {
			a->matrix[0] = 0;
			(void)fprintf(stderr, "  two or three numbers from 1 to %u, please\n",
				      BS_AXIS_MAX);
		}
	}
	if (rc == 0)
		rc = ask_count(&a->coils, "Receive coils", 0, BS_COILS_MAX, why);
	return rc == 0 ? ask_count(&a->slices, "Slices [1]", 1, BS_FRAMES_MAX, why) : rc;
}

static void put_count(struct bs_outline *o, const char *path, uint32_t n, const char *why)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", n);
	bs_outline_put(o, path, text, "%s", why);
}

static void put_sizes(struct bs_outline *o, const char *path, const uint32_t n[3], const char *why)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "[%u, %u, %u]", n[0], n[1], n[2]);
	bs_outline_put(o, path, text, "%s", why);
}

static void cartesian(const struct bs_answers *a, struct bs_outline *o)
{
	const uint32_t encoded[3] = { 2 * a->matrix[0], a->matrix[1], a->matrix[2] };

	put_sizes(o, "encoded", encoded, "k-space, readout oversampling included");
	put_count(o, "samples", encoded[0],
		  "of a readout: twice the matrix, so that nothing folds");
	bs_outline_put(o, "readouts", "\"header\"",
		       "of a frame: the scan's header says, by its limits and acceleration");
	bs_outline_off(o, "parallel", "\"grappa\"",
		       "of accelerated scans with lines of calibration");
	bs_outline_off(o, "partial_fourier", "\"pocs\"", "of scans that leave out one end");
}

static void paths(const struct bs_answers *a, enum kind kind, struct bs_outline *o)
{
	static const char *const types[] = { [CARTESIAN] = "",
					     [RADIAL] = "\"radial2d\"",
					     [SPIRAL] = "\"spiral2d\"",
					     [STACK] = "\"stack\"",
					     [RADIAL3D] = "\"radial3d\"" };
	const uint32_t nyquist = (uint32_t)ceil(M_PI / 2.0 * a->matrix[0]);
	const bool winds = kind == SPIRAL || kind == STACK;

	put_count(o, "samples", winds ? SPIRAL_SAMPLES : 2 * a->matrix[0],
		  winds ? "of a readout" : "of a spoke: twice the matrix");
	if (kind == RADIAL)
		put_count(o, "readouts", nyquist, "of a frame: as many spokes as Nyquist asks");
	else if (kind == RADIAL3D)
		put_count(o, "readouts", nyquist * a->matrix[0],
			  "of a frame: about as many spokes as Nyquist asks");
	else
		put_count(o, "readouts", INTERLEAVES * a->matrix[2],
			  "of a frame: interleaves, in each partition");
	bs_outline_put(
		o, "trajectory.type", types[kind],
		"generated; where the scanner's differs: \"file\", or \"stream\", which each "
		"readout brings");
	if (winds)
		put_count(o, "trajectory.interleaves", INTERLEAVES, "");
	bs_outline_put(o, "gridding.density", winds ? "\"pipe\"" : "\"ramp\"",
		       winds ? "weights by iteration" : "by the distance from the center");
	bs_outline_say(o,
		       "the trajectory is %s with generated angles, %s: readouts of a scan that "
		       "lie elsewhere are refused. boreside init --from a recording takes its own",
		       bs_answers_kinds[kind],
		       winds ? "16 interleaves of 4096 samples" : "the golden angle");
}

int bs_answers_outline(const struct bs_answers *a, struct bs_outline *o, struct bs_fail *why)
{
	char quoted[200];
	enum kind kind;
	int rc = find_kind(a->kind, &kind, why);

	if (rc != 0)
		return rc;
	if (strlen(a->name) >= BS_NAME_MAX)
		return bs_fail(why, BS_ERR_USAGE, "a name of %zu characters: at most %u",
			       strlen(a->name), BS_NAME_MAX - 1);
	if ((kind == RADIAL || kind == SPIRAL) && a->matrix[2] != 1)
		return bs_fail(why, BS_ERR_USAGE, "%s is in 2D, the matrix has %u partitions",
			       a->kind, a->matrix[2]);
	if ((kind == STACK || kind == RADIAL3D) && a->matrix[2] == 1)
		return bs_fail(why, BS_ERR_USAGE, "%s is in 3D, the matrix has one partition",
			       a->kind);
	bs_outline_put(o, "name", bs_outline_quoted(quoted, sizeof(quoted), a->name),
		       "what a scan asks for");
	bs_outline_put(o, "method", kind == CARTESIAN ? "\"cartesian\"" : "\"gridding\"", NULL);
	put_sizes(o, "matrix", a->matrix, "voxels of the image");
	put_count(o, "coils", a->coils, "");
	if (a->slices > 1)
		put_count(o, "slices", a->slices, "frames of so many slices are open at once");
	if (kind == CARTESIAN)
		cartesian(a, o);
	else
		paths(a, kind, o);
	bs_outline_off(o, "budget.image_ms", "50.0",
		       "an image this long after its last readout is late; boreside check "
		       "--measure tells what this machine can promise");
	return 0;
}
