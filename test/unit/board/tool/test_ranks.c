/*
 * test/unit/board/tool/test_ranks.c - which process of how many this is, by the environments that
 * launchers leave; its part of a host; recordings dealt out
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "board/tool/offline/deal.h"
#include "board/tool/offline/ranks.h"
#include "test/support/check.h"

#define RECORDINGS_MAX 9u
#define RANKS_MAX      9u

static const char *const names[] = { "OMPI_COMM_WORLD_RANK",
				     "OMPI_COMM_WORLD_SIZE",
				     "OMPI_COMM_WORLD_LOCAL_RANK",
				     "OMPI_COMM_WORLD_LOCAL_SIZE",
				     "PMI_RANK",
				     "PMI_SIZE",
				     "MPI_LOCALRANKID",
				     "MPI_LOCALNRANKS",
				     "SLURM_PROCID",
				     "SLURM_NTASKS",
				     "SLURM_STEP_NUM_TASKS",
				     "SLURM_LOCALID",
				     "SLURM_STEP_TASKS_PER_NODE" };

static struct bs_fail why;

/* NAME=VALUE words, and no others. */
static int read_in(struct bs_ranks *r, const char *words)
{
	char copy[256];
	char *rest = copy;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
	(void)snprintf(copy, sizeof(copy), "%s", words);
	for (char *w; (w = strtok_r(rest, " ", &rest)) != NULL;) {
		char *equals = strchr(w, '=');

		*equals = '\0';
		(void)setenv(w, equals + 1, 1);
	}
	return bs_ranks_read(r, &why);
}

static void test_read(void)
{
	static const struct {
		const char *words;
		struct bs_ranks is;
	} good[] = {
		{ "", { false, 0, 1, 0, 1 } },
		{ "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
		  "OMPI_COMM_WORLD_LOCAL_SIZE=4",
		  { true, 5, 8, 1, 4 } },
		{ "PMI_RANK=2 PMI_SIZE=3", { true, 2, 3, 2, 3 } },
		{ "PMI_RANK=2 PMI_SIZE=3 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1",
		  { true, 2, 3, 0, 1 } },
		{ "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=1 "
		  "SLURM_STEP_TASKS_PER_NODE=2(x2)",
		  { true, 3, 4, 1, 2 } },
		/* a batch script that runs it alone */
		{ "SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_LOCALID=0", { false, 0, 1, 0, 1 } },
		/* mpirun in a step of Slurm's */
		{ "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 SLURM_PROCID=0 "
		  "SLURM_STEP_NUM_TASKS=1",
		  { true, 1, 2, 1, 2 } },
	};
	static const char *const bad[] = { "PMI_RANK=2 PMI_SIZE=2", "PMI_RANK=x PMI_SIZE=2",
					   "PMI_RANK=-1 PMI_SIZE=2", "PMI_RANK=0 PMI_SIZE=99999999",
					   "PMI_RANK=0 PMI_SIZE=" };
	struct bs_ranks r;
	char words[BS_RANKS_WORDS];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct bs_ranks *is = &good[i].is;

		CHECK(read_in(&r, good[i].words) == 0 && r.launched == is->launched &&
			      r.rank == is->rank && r.size == is->size && r.local == is->local &&
			      r.local_size == is->local_size,
		      "rank %u of %u, %u of %u here: %s", r.rank, r.size, r.local, r.local_size,
		      good[i].words);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(read_in(&r, bad[i]) == BS_ERR_USAGE, "refused: %s: %s", bad[i], why.text);
	(void)read_in(&r, good[1].words);
	CHECK(strcmp(bs_ranks_words(words, &r), "rank 5 of 8") == 0, "it is called %s", words);
	(void)read_in(&r, "");
	CHECK(bs_ranks_words(words, &r)[0] == '\0', "one that is alone has no such name");
}

static void test_host(void)
{
	static struct bs_site site;
	static const struct {
		struct bs_ranks ranks;
		uint32_t threads, gpus;
		struct bs_devices listed;
		uint32_t gets, gpu;
	} rows[] = {
		{ { true, 5, 8, 1, 4 }, 16, 4, { 1, { 0 } }, 4, 1 },
		{ { true, 7, 8, 3, 4 }, 2, 2, { 1, { 0 } }, 1, 1 },
		{ { true, 3, 4, 3, 4 }, 8, 8, { 2, { 4, 6 } }, 2, 6 },
		{ { true, 3, 4, 3, 4 }, 8, 8, { 1, { 5 } }, 2, 5 },
		{ { true, 1, 2, 1, 2 }, 8, 0, { 1, { 0 } }, 4, 0 },
		{ { true, 0, 1, 0, 1 }, 8, 4, { 2, { 0, 1 } }, 8, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		site.protocols = 1;
		site.threads = rows[i].threads;
		site.gpu_devices = site.protocol[0].gpu_devices = rows[i].listed;
		bs_ranks_share_host(&rows[i].ranks, rows[i].gpus, &site);
		CHECK(site.threads == rows[i].gets && site.protocol[0].gpu_devices.count == 1 &&
			      site.protocol[0].gpu_devices.device[0] == rows[i].gpu &&
			      site.gpu_devices.device[0] == rows[i].gpu,
		      "rank %u of %u here: %u of %u threads, GPU %u", rows[i].ranks.local,
		      rows[i].ranks.local_size, site.threads, rows[i].threads,
		      site.gpu_devices.device[0]);
	}
	site.threads = 8;
	site.gpu_devices = (struct bs_devices){ 2, { 0, 1 } };
	bs_ranks_share_host(&(struct bs_ranks){ .size = 1, .local_size = 1 }, 2, &site);
	CHECK(site.threads == 8 && site.gpu_devices.count == 2, "one that is alone has all of it");
}

/* Every image of every recording is one rank's. */
static void test_deal(void)
{
	bool good = true;
	bool even = true;

	for (uint32_t size = 1; size <= RANKS_MAX; size++)
		for (uint32_t n = 1; n <= RECORDINGS_MAX; n++) {
			uint32_t has[RANKS_MAX] = { 0 };

			for (uint32_t i = 0; i < n; i++) {
				uint32_t seen = 0;
				uint32_t of = 0;

				for (uint32_t rank = 0; rank < size; rank++) {
					uint32_t part;
					uint32_t parts;

					if (!bs_deal_share(i, n, rank, size, &part, &parts))
						continue;
					good = good && part < parts && (of == 0 || of == parts) &&
					       (seen >> part & 1) == 0;
					seen |= 1u << part;
					of = parts;
					has[rank]++;
				}
				good = good && of > 0 && seen == (1u << of) - 1;
			}
			for (uint32_t rank = 0; rank < size; rank++)
				even = even && has[rank] >= (n / size > 0 ? n / size : 1) &&
				       has[rank] <= (n + size - 1) / size;
		}
	CHECK(good, "each part of each recording is one rank's, for up to %u of both", RANKS_MAX);
	CHECK(even, "no rank has more than its share, or nothing");
}

int main(void)
{
	test_read();
	test_host();
	test_deal();
	return check_done();
}
