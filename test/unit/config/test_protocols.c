/*
 * test/unit/config/test_protocols.c - protocols that nobody wrote: what is said of each
 *
 * From a fixed seed, PROTOCOLS site files of one protocol, their keys drawn from the axes below.
 * Each is taken, and its plan is said, or refused by the rules between keys or, of backend host,
 * by the memory plan, as boreside check would. What is said, how often, and a hash over all of it
 * in order stand in protocols.txt beside this file. A commit that means to change it writes that
 * file anew, and shows so what it changes: build/.../test_protocols FILE.
 */
#define _GNU_SOURCE
#include "board/arm/memplan.h"
#include "core/protocol.h"
#include "ipc/sha256.h"
#include "test/support/site_file.h"

#define PROTOCOLS 2000
#define SAID      "test/unit/config/protocols.txt"
#define WORDS_MAX 2000u

/* group: "" or that which the keys lie in; axes of one group in a row. */
static const struct axis {
	const char *group;
	bool even; /* all choices alike */
	const char *choice[11];
	/* clang-format off */
} axes[] = {
	{ "", true, { "method = \"gridding\";", "method = \"ls\";", "method = \"sense\";",
	  "method = \"cartesian\";", "method = \"cartesian\";", "method = \"cartesian_sense\";",
	  "method = \"noop\";" } },
	{ "", true, { "backend = \"host\";", "backend = \"host\";", "backend = \"cuda\";", "" } },
	{ "", false, { "coils = 4;", "coils = 1;" } },
	{ "", true, { "matrix = [32, 32]; samples = 64; readouts = 32;",
	  "matrix = [32, 32]; encoded = [64, 32, 1]; samples = 64; readouts = 32;",
	  "matrix = [32, 32]; encoded = [64, 32, 1]; samples = 64; readouts = 16;",
	  "matrix = [32, 32]; encoded = [64, 32, 1]; samples = 64; readouts = \"header\";",
	  "matrix = [32, 32]; samples = 64; readouts = \"header\"; readouts_max = 64;",
	  "matrix = [16, 16, 16]; encoded = [32, 16, 16]; samples = 32; readouts = 256;",
	  "matrix = [16, 16, 16]; samples = 32; readouts = 256;",
	  "matrix = [16, 16]; dims = 3; samples = 32; readouts = 64;" } },
	{ "", false, { "", "fov_mm = [200.0, 200.0, 5.0];" } },
	{ "", false, { "", "virtual_coils = 2;", "virtual_coils = 8;",
	  "virtual_coils = 2; compression = \"geometric\";" } },
	{ "", false, { "", "navigators = \"phase\";" } },
	{ "", false, { "", "reversed_center = \"stored\";" } },
	{ "", false, { "", "slices = 3;" } },
	{ "", false, { "", "contrasts = 2;" } },
	{ "", false, { "", "averages = 2;" } },
	{ "", false, { "", "parallel = \"grappa\";", "parallel = \"sense\";" } },
	{ "", false, { "", "partial_fourier = \"pocs\";" } },
	{ "noise", false, { "", "whiten = \"auto\";", "whiten = \"require\";" } },
	{ "epi", false, { "", "correct = true;" } },
	{ "trajectory", true, { "", "type = \"cartesian\";", "type = \"radial2d\";",
	  "type = \"spiral2d\";", "type = \"radial3d\";", "type = \"stack\";", "type = \"random\";",
	  "type = \"cones\";", "type = \"tpi\";", "type = \"stream\";",
	  "type = \"file\"; file = \"whole.cfl\";" } },
	{ "trajectory", false, { "", "unit = \"rad/m\";" } },
	{ "trajectory", false, { "", "delay = [0.5, 0.5];", "estimate_delay = true;" } },
	{ "field", false, { "", "map_file = \"whole\"; dwell_us = 5.0;", "map_file = \"whole\";",
	  "from = \"study\"; range_hz = 100.0; dwell_us = 5.0;",
	  "from = \"study\"; dwell_us = 5.0;", "from = \"echoes\";",
	  "map_file = \"whole\"; echo_spacing_us = 500.0;" } },
	{ "gridding", false, { "", "width = 5.0; oversampling = 1.5;", "width = 5.0;",
	  "accuracy = 1.0e-3; window = \"gauss\";" } },
	{ "gridding", false, { "", "density = \"none\";", "density = \"pipe\";",
	  "density = \"file\"; density_file = \"whole.cfl\";" } },
	{ "image", false, { "", "maps_file = \"whole\";", "maps = \"espirit\";",
	  "maps = \"walsh\";", "maps = \"study\";", "maps = \"espirit\"; map_sets = 2;" } },
	{ "image", false, { "", "combine = \"none\";", "combine = \"sense\";" } },
	{ "image", false, { "", "output = \"complex\";" } },
	{ "image", false, { "", "matrix = [48, 48];", "matrix = [48, 48, 48];" } },
	{ "grappa", false, { "", "lacking = \"zeros\";" } },
	{ "ls", false, { "", "fhd = \"exact\";", "q = \"exact\"; basis = \"box\";",
	  "preconditioner = \"circulant\";", "w_file = \"w.mtx\"; lambda = 0.1;" } },
	{ "frame", false, { "", "step = 8;", "step = 7;", "preview_every = 8;" } },
	{ "budget", false, { "", "image_ms = 50.0; on_miss = \"shed\";" } },
};
/* clang-format on */
#define AXES (sizeof(axes) / sizeof(axes[0]))

/* Every other protocol begins with one of these, whose keys fit; even axes are left out. */
static const struct base {
	const char *keys, *trajectory, *image;
} bases[] = {
#define FLAT  " matrix = [32, 32]; samples = 64; readouts = 32;"
#define GRID  " matrix = [32, 32]; encoded = [64, 32, 1]; samples = 64; readouts = 32;"
#define SOLID " matrix = [16, 16, 16]; samples = 32; readouts = 256;"
#define GRID3 " matrix = [16, 16, 16]; encoded = [32, 16, 16]; samples = 32; readouts = 256;"
	{ "method = \"gridding\";" FLAT, "type = \"radial2d\";", "" },
	{ "method = \"gridding\";" FLAT, "type = \"stream\";", "" },
	{ "method = \"gridding\";" FLAT, "type = \"file\"; file = \"whole.cfl\";", "" },
	{ "method = \"gridding\";" SOLID, "type = \"radial3d\";", "" },
	{ "method = \"gridding\";" SOLID, "type = \"stack\";", "" },
	{ "method = \"ls\";" FLAT, "type = \"spiral2d\";", "" },
	{ "method = \"ls\";" FLAT, "type = \"stream\";", "" },
	{ "method = \"ls\";" SOLID, "type = \"cones\";", "" },
	{ "method = \"sense\";" FLAT, "type = \"radial2d\";", "maps_file = \"whole\";" },
	{ "method = \"sense\";" FLAT, "type = \"spiral2d\";", "maps = \"espirit\";" },
	{ "method = \"sense\";" SOLID, "type = \"tpi\";", "maps = \"study\";" },
	{ "method = \"cartesian\";" GRID, "", "" },
	{ "method = \"cartesian\"; parallel = \"grappa\";" GRID, "", "" },
	{ "method = \"cartesian\"; parallel = \"sense\";" GRID, "", "maps = \"walsh\";" },
	{ "method = \"cartesian\";" GRID3, "", "combine = \"sense\"; maps = \"espirit\";" },
	{ "method = \"noop\";" FLAT, "type = \"random\";", "" },
};
#define BASES (sizeof(bases) / sizeof(bases[0]))

/* What was said of protocols so far: each words once. */
static struct {
	char words[300];
	unsigned times;
} said[WORDS_MAX];
static unsigned words;
static char all[4u << 20]; /* of one after the other */
static size_t all_len;

/* usual: of an axis that is not even, how often its first choice is drawn. */
static const char *draw(const struct axis *a, double usual, uint64_t *seed)
{
	const double u = check_uniform(seed);
	unsigned n = 0;

	while (n < sizeof(a->choice) / sizeof(a->choice[0]) && a->choice[n] != NULL)
		n++;
	if (a->even)
		return a->choice[(unsigned)(u * n)];
	return u < usual ? a->choice[0]
			 : a->choice[1 + (unsigned)((u - usual) / (1.0 - usual) * (n - 1))];
}

static void write_site(char *text, size_t cap, uint64_t *seed)
{
	const bool fits = check_uniform(seed) < 0.5;
	const struct base *base = &bases[(size_t)(check_uniform(seed) * BASES)];
	const char *group = "";
	size_t n = (size_t)snprintf(text, cap, "protocols = ( { name = \"p\"; %s",
				    fits ? base->keys : "");

	for (size_t i = 0; i < AXES; i++) {
		const char *keys = draw(&axes[i], fits ? 0.92 : 0.8, seed);

		if (strcmp(axes[i].group, group) != 0) {
			n += (size_t)snprintf(text + n, cap - n, "%s %s: {",
					      group[0] != '\0' ? "};" : "", axes[i].group);
			group = axes[i].group;
		}
		if (fits && axes[i].even && strcmp(group, "trajectory") == 0)
			keys = base->trajectory;
		else if (fits && axes[i].even)
			keys = "";
		else if (fits && base->image[0] != '\0' &&
			 strstr(axes[i].choice[1], "maps_file") != NULL)
			keys = base->image;
		n += (size_t)snprintf(text + n, cap - n, " %s", keys);
	}
	n += (size_t)snprintf(text + n, cap - n, " }; } );\n");
	if (n >= cap)
		abort();
}

/* One line of what was told, without its place in the file and without the file's folder. */
static void count(const char *verdict, const char *line)
{
	char as[300];
	size_t n = (size_t)snprintf(as, sizeof(as), "%s", verdict);
	unsigned i = 0;

	if (strncmp(line, path, strlen(path)) == 0)
		line += strlen(path);
	line += strspn(line, ":0123456789");
	for (const char *c = line; *c != '\0' && n + 1 < sizeof(as); c++) {
		if (strncmp(c, dir, strlen(dir)) == 0)
			c += strlen(dir);
		as[n++] = *c;
	}
	as[n] = '\0';
	all_len += (size_t)snprintf(all + all_len, sizeof(all) - all_len, "%s\n", as);
	if (all_len >= sizeof(all))
		abort();
	while (i < words && strcmp(said[i].words, as) != 0)
		i++;
	if (i == WORDS_MAX)
		abort();
	if (i == words)
		memcpy(said[words++].words, as, sizeof(as));
	said[i].times++;
}

static void count_all(const char *verdict)
{
	for (char *line = strtok(told, "\n"); line != NULL; line = strtok(NULL, "\n"))
		count(verdict, line);
}

/* Whether it was taken. */
static bool judge(uint64_t *seed)
{
	static struct bs_memplan plan;
	char text[4096];
	char plan_words[BS_PLAN_WORDS];
	const struct bs_plan *its = &site.protocol[0].plan;

	write_site(text, sizeof(text), seed);
	if (load(&site, text) != 0) {
		count_all("refused");
		return false;
	}
	told[0] = '\0';
	if (site.protocol[0].backend == BS_BACKEND_HOST &&
	    bs_memplan_make(&plan, &site, collect, NULL) != 0) {
		count_all("no room");
		return false;
	}
	(void)bs_plan_words(plan_words, sizeof(plan_words), its);
	count(its->host_only == BS_HOST_ONLY_STREAM ? "taken, on the host alone: " : "taken: ",
	      plan_words);
	return true;
}

static int by_words(const void *a, const void *b)
{
	return strcmp(a, b); /* their first member */
}

/* Beside what is expected: a line that has gone, and one that is new. */
static void show_other(const char *was, const char *is)
{
	const size_t n = strcspn(was, "\n");

	printf("# was %.*s\n# is  %.*s\n", (int)n, was, (int)strcspn(is, "\n"), is);
}

static void compare(const char *now)
{
	static char before[sizeof(all)];
	FILE *f = fopen(SAID, "rb");
	size_t n = f != NULL ? fread(before, 1, sizeof(before) - 1, f) : 0;
	const char *b = before;
	const char *a = now;

	if (f != NULL)
		(void)fclose(f);
	before[n] = '\0';
	while (*a != '\0' && *a == *b)
		a++, b++;
	CHECK(*a == *b, "%d protocols are taken and refused with the words of %s", PROTOCOLS, SAID);
	while (a > now && a[-1] != '\n')
		a--, b--;
	if (*a != *b || *a != '\0')
		show_other(b, a);
}

int main(int argc, char **argv)
{
	static char now[sizeof(all)];
	uint64_t seed = 0x5eed;
	unsigned taken = 0;
	char hash[BS_SHA256_HEX];
	size_t n = 0;
	FILE *f;

	open_folder();
	for (int i = 0; i < PROTOCOLS; i++)
		taken += judge(&seed);
	close_folder();
	qsort(said, words, sizeof(said[0]), by_words);
	for (unsigned i = 0; i < words; i++)
		n += (size_t)snprintf(now + n, sizeof(now) - n, "%4u %s\n", said[i].times,
				      said[i].words);
	bs_sha256(hash, all, all_len);
	(void)snprintf(now + n, sizeof(now) - n, "%u of %d are taken; one after the other: %s\n",
		       taken, PROTOCOLS, hash);
	if (argc > 1) {
		f = fopen(argv[1], "wb");
		return f == NULL || fputs(now, f) < 0 || fclose(f) != 0;
	}
	CHECK(taken > PROTOCOLS / 10 && taken < PROTOCOLS * 9 / 10, "%u are taken", taken);
	compare(now);
	return check_done();
}
