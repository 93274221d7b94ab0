/*
 * test/unit/board/tool/init/test_answers.c - a protocol from answers: mistyped ones are asked
 * again
 */
#include "board/tool/init/answers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/support/check.h"

static struct bs_answers a;
static struct bs_outline o;
static struct bs_fail why;

/* Standard input is this text. */
static int ask(const char *lines)
{
	FILE *f = tmpfile();

	if (f == NULL || fputs(lines, f) < 0 || fflush(f) != 0 || fseek(f, 0, SEEK_SET) != 0 ||
	    dup2(fileno(f), STDIN_FILENO) < 0)
		abort();
	clearerr(stdin);
	(void)setvbuf(stdin, NULL, _IONBF, 0); /* what a case leaves is not the next one's */
	(void)fclose(f);
	memset(&a, 0, sizeof(a));
	return bs_answers_ask(&a, &why);
}

static void test_asked_again(void)
{
	int rc = ask("\nradail\nradial\nabc\n0x3\n256\n256x256x3x1\n99999999x2\n64x48\n"
		     "\nx\n0\n4 coils\n4\n\n");

	CHECK(rc == 0 && strcmp(a.name, "scan") == 0 && strcmp(a.kind, "radial") == 0 &&
		      a.matrix[0] == 64 && a.matrix[1] == 48 && a.matrix[2] == 1 && a.coils == 4 &&
		      a.slices == 1,
	      "%s %s %ux%ux%u, %u coils, %u slices", a.name, a.kind, a.matrix[0], a.matrix[1],
	      a.matrix[2], a.coils, a.slices);
	rc = ask("brain\n\n32, 24 16\n8\n5\n");
	CHECK(rc == 0 && strcmp(a.name, "brain") == 0 && strcmp(a.kind, "cartesian") == 0 &&
		      a.matrix[2] == 16 && a.coils == 8 && a.slices == 5,
	      "blanks and commas, a default kind: %ux%ux%u", a.matrix[0], a.matrix[1], a.matrix[2]);
}

/* The input ends before any of the questions has an answer. */
static void test_end(void)
{
	static const struct {
		const char *lines, *asked;
	} table[] = { { "", "Name" },
		      { "n\n", "Samples lie" },
		      { "n\nstack\n", "Voxels" },
		      { "n\nstack\n64x64x8\n", "coils" },
		      { "n\nstack\n64x64x8\n2\n", "Slices" } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CHECK(ask(table[i].lines) == BS_ERR_USAGE &&
			      strstr(why.text, "no answer") != NULL &&
			      strstr(why.text, table[i].asked) != NULL,
		      "ended: %s", why.text);
}

static int outline(const char *kind, uint32_t z)
{
	a = (struct bs_answers){ .name = "p",
				 .kind = kind,
				 .matrix = { 64, 64, z },
				 .coils = 2,
				 .slices = z == 1 ? 3 : 1 };
	memset(&o, 0, sizeof(o));
	return bs_answers_outline(&a, &o, &why);
}

static bool has(const char *path, const char *value)
{
	const char *is = bs_outline_value(&o, path);

	return is != NULL && strcmp(is, value) == 0;
}

static void test_outline(void)
{
	char name[BS_NAME_MAX + 8];

	CHECK(outline("cartesian", 1) == 0 && has("method", "\"cartesian\"") &&
		      has("samples", "128") && has("slices", "3"),
	      "cartesian: twice the matrix along the readout");
	CHECK(outline("radial", 1) == 0 && has("readouts", "101") &&
		      has("trajectory.type", "\"radial2d\""),
	      "radial: pi/2 64 spokes");
	CHECK(outline("spiral", 1) == 0 && has("readouts", "16") &&
		      has("gridding.density", "\"pipe\""),
	      "a spiral's interleaves");
	CHECK(outline("stack", 8) == 0 && has("readouts", "128") &&
		      bs_outline_value(&o, "slices") == NULL,
	      "a stack: interleaves in each partition");
	CHECK(outline("radial3d", 64) == 0 && has("readouts", "6464"), "spokes of a volume");
	CHECK(outline("radial", 4) == BS_ERR_USAGE && strstr(why.text, "in 2D") != NULL &&
		      outline("spiral", 4) == BS_ERR_USAGE,
	      "no volume by 2D spokes: %s", why.text);
	CHECK(outline("stack", 1) == BS_ERR_USAGE && strstr(why.text, "in 3D") != NULL &&
		      outline("radial3d", 1) == BS_ERR_USAGE,
	      "no stack of one: %s", why.text);
	CHECK(outline("raidal", 1) == BS_ERR_USAGE && strstr(why.text, "radial") != NULL,
	      "a mistyped kind: %s", why.text);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)outline("radial", 1);
	a.name = name;
	CHECK(bs_answers_outline(&a, &o, &why) == BS_ERR_USAGE, "a long name: %s", why.text);
}

int main(void)
{
	test_asked_again();
	test_end();
	test_outline();
	return check_done();
}
