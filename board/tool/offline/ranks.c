/* board/tool/offline/ranks.c - see ranks.h */
#include "board/tool/offline/ranks.h"

#include <stdio.h>
#include <stdlib.h>

static const struct launcher {
	const char *rank, *size, *local, *local_size;
} launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	  "OMPI_COMM_WORLD_LOCAL_SIZE" },
	{ "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE" },
};

/* Reads a number, alone or with a repetition as Slurm writes tasks of several hosts: "4(x2)". */
static bool read_number(const char *name, uint32_t *value)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (text == NULL || *text < '0' || *text > '9')
		return false;
	v = strtoul(text, &end, 10);
	if (v > BS_RANKS_MAX || (*end != '\0' && *end != '(' && *end != ','))
		return false;
	*value = (uint32_t)v;
	return true;
}

static int read_launcher(struct bs_ranks *r, const struct launcher *l, struct bs_fail *why)
{
	const char *rank = getenv(l->rank);
	const char *size = getenv(l->size);

	if (!read_number(l->rank, &r->rank) || !read_number(l->size, &r->size) ||
	    r->rank >= r->size)
		return bs_fail(why, BS_ERR_USAGE, "%s is %s and %s is %s: no rank of at most %u",
			       l->rank, rank != NULL ? rank : "not set", l->size,
			       size != NULL ? size : "not set", BS_RANKS_MAX);
	r->launched = true;
	if (!read_number(l->local, &r->local) || !read_number(l->local_size, &r->local_size) ||
	    r->local >= r->local_size) { /* assumes one host for all, the safe side */
		r->local = r->rank;
		r->local_size = r->size;
	}
	return 0;
}

int bs_ranks_read(struct bs_ranks *r, struct bs_fail *why)
{
	*r = (struct bs_ranks){ .size = 1, .local_size = 1 };
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (getenv(launchers[i].rank) != NULL && getenv(launchers[i].size) != NULL)
			return read_launcher(r, &launchers[i], why);
	return 0;
}

const char *bs_ranks_words(char out[BS_RANKS_WORDS], const struct bs_ranks *r)
{
	out[0] = '\0';
	if (r->launched)
		(void)snprintf(out, BS_RANKS_WORDS, "rank %u of %u", r->rank, r->size);
	return out;
}

void bs_ranks_share_host(const struct bs_ranks *r, uint32_t gpus, struct bs_site *site)
{
	struct bs_devices *d = &site->gpu_devices;

	if (!r->launched)
		return;
	site->threads = site->threads > r->local_size ? site->threads / r->local_size : 1;
	if (d->count == 1 && d->device[0] == 0)
		d->device[0] = gpus > 0 ? r->local % gpus : 0;
	else
		d->device[0] = d->device[r->local % d->count];
	d->count = 1;
	for (uint32_t i = 0; i < site->protocols; i++)
		site->protocol[i].gpu_devices = *d;
}
