/* test/bench/bench.c - the program bench: timings beside a reference, as a table and as JSON */
#include "test/bench/bench.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "drivers/tool/load/load.h"

/*
 * Without a word the groups run that are not `named`, and those whose word the pattern begins with.
 */
static const struct {
	const char *word, *title;
	int (*run)(struct bs_bench *b);
	bool named; /* run by its word alone; prints its own heading */
} groups[] = {
	{ "nufft", "NUFFT, accuracy 1e-3, plan made; reference: FINUFFT, in this run",
	  bs_bench_nufft, false },
	{ "ls", "Least squares, plans made; references as each row says", bs_bench_ls, false },
	{ "gpu", "The speed demand on this GPU, device time of a graph", bs_bench_gpu,
	  BS_GPU == 0 },
	{ "tune",
	  "Variants of the GPU's operators, 1e-3, device time of a graph; reference: the project's "
	  "demand",
	  bs_bench_tune, true },
	{ "real", "Scans as scanners send them, from the last readout to the image", bs_bench_real,
	  true },
	{ "arm", "Arming in a new process, with an empty cache; reference: the project's demand",
	  bs_bench_arm, true },
	{ "multi", "One scan on several GPUs", bs_bench_multi, true },
	{ "seal", "Sealed connections: bytes a second, hellos, peers without a key", bs_bench_seal,
	  true },
	{ "step", "A site's step that changes nothing: what it adds to an image", bs_bench_step,
	  true },
	{ "log", "A scan's log: messages to the disk", bs_bench_log, true },
	{ "service", "The service beside a bare nanomsg loop, from a sender to an archive",
	  bs_bench_service, true },
	{ "durable", "A stream that is logged beside one that is not", bs_bench_durable, true },
	{ "beside", "A stream beside page, metrics, MRD bridge and 50 browsers, and alone",
	  bs_bench_beside, true },
	{ "prepared", "A stream that is whitened and compressed beside one that is not",
	  bs_bench_prepared, true },
	{ "sealed", "A stream whose k-space is sealed beside one that is not", bs_bench_sealed,
	  true },
	{ "signed", "A stream whose log is signed beside one whose is not", bs_bench_signed, true },
	{ "previews", "A stream with previews beside one without", bs_bench_previews, true },
	{ "second", "A stream beside a second service on the same GPU, and alone",
	  bs_bench_second_protocol, true },
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static const char usage_text[] =
	"usage: bench [GROUP] [options]\n"
	"  GROUP           nufft, ls, gpu (by default; CUFINUFFT=, FINUFFT=, BART= name rivals,\n"
	"                  ENERGY=SECONDS of each row and DRAWN=SEED, 20 rows more, for gpu;\n"
	"                  BORESIDE_ROUTE=N: as a lesser GPU, core/protocol.h),\n"
	"                  tune, real (DATA= as of make test), arm, multi (GPU), log, seal, step,\n"
	"                  service,\n"
	"                  durable (FRAMES=12000 TURNS=2 RATE=200 BACKEND=host|cuda LOGS=FOLDER,\n"
	"                  LAG_FRAMES=3000 WARM=100 WAIT=block|poll by the environment),\n"
	"                  beside, sealed, signed, prepared, previews (PREVIEW=8\n"
	"                  METHOD=gridding|ls),\n"
	"                  second (SHARE=PERCENT, under CUDA MPS) (the same, but LOGS)\n"
	"  --rows PATTERN  shell pattern of row names, e.g. 'radial2d*'; several: 'a*|b*'\n"
	"  --threads N     the team (2)\n"
	"  --seconds S     about this long on each row (1)\n"
	"  --json FILE     also write the rows there\n";

static bool group_wanted(size_t i, const char *word, const char *pattern)
{
	if (word != NULL)
		return strcmp(groups[i].word, word) == 0;
	return !groups[i].named || strncmp(pattern, groups[i].word, strlen(groups[i].word)) == 0 ||
	       (strcmp(groups[i].word, "tune") == 0 && strncmp(pattern, "gpu tune", 8) == 0);
}

static bool group_known(const char *word)
{
	for (size_t i = 0; i < GROUPS; i++)
		if (strcmp(groups[i].word, word) == 0)
			return true;
	return false;
}

static int run_groups(struct bs_bench *b, const char *word)
{
	int failed = 0;

	for (size_t i = 0; i < GROUPS; i++) {
		if (!group_wanted(i, word, b->pattern))
			continue;
		if (groups[i].named)
			(void)printf("%s\n", groups[i].title);
		else
			(void)printf("%s; %d threads\n%-34s %9s %9s %6s %9s %6s\n", groups[i].title,
				     b->threads, "row", "median ms", "min ms", "N", "reference",
				     "ratio");
		failed |= groups[i].run(b);
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct bs_bench b;
	const char *word;
	int rc;

	if (bs_load_asked(argc, argv)) /* what arms here starts this program to read files */
		return bs_load_main(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--bare") == 0)
		bs_bench_bare_receiver(argv[2]);
	if (argc == 4 && strcmp(argv[1], "--second") == 0)
		bs_bench_second(argv[2], argv[3]);
	rc = bs_bench_options(&b, "bench", usage_text, argc, argv);
	if (rc != 0)
		return rc < 0 ? 0 : rc;
	word = optind < argc ? argv[optind++] : NULL;
	if (optind < argc || (word != NULL && !group_known(word))) {
		(void)fprintf(stderr, "bench: no group '%s'; bench --help lists them\n",
			      optind < argc ? argv[optind] : word);
		return 2;
	}
	if (bs_bench_open(&b) != 0)
		return 1;
	rc = run_groups(&b, word);
	return bs_bench_close(&b) | rc;
}
