/* gpu/nufft/trajectory.c - see trajectory.h */
#include "gpu/nufft/trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int bs_nufft_check_k(const struct bs_nufft_spec *s, const float *k, struct bs_fail *why)
{
	for (uint64_t i = 0; i < s->samples * s->dims; i++)
		if (!(k[i] >= -0.5f && k[i] <= 0.5f))
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "sample %llu, axis %u: k = %g is outside [-0.5, 0.5) "
				       "cycles per voxel",
				       (unsigned long long)(i / s->dims), (unsigned)(i % s->dims),
				       (double)k[i]);
	return 0;
}

uint64_t bs_nufft_positions_max(const struct bs_nufft_spec *s)
{
	/*
	 * A stack may lack a fifth of its partitions (partial sampling); with fewer it does not
	 * pay.
	 */
	return s->samples / 4 * 5 / s->matrix[2] + 1;
}

struct entry {
	float kx, ky;
	uint32_t partition, sample;
};

static int by_place(const void *a, const void *b)
{
	const struct entry *p = a;
	const struct entry *q = b;

	if (p->kx != q->kx)
		return p->kx < q->kx ? -1 : 1;
	if (p->ky != q->ky)
		return p->ky < q->ky ? -1 : 1;
	if (p->partition != q->partition)
		return p->partition < q->partition ? -1 : 1;
	return p->sample < q->sample ? -1 : 1;
}

struct position {
	uint32_t earliest, id;
};

static int by_time(const void *a, const void *b)
{
	const struct position *p = a;
	const struct position *q = b;

	return p->earliest < q->earliest ? -1 : p->earliest > q->earliest;
}

/* Returns false when a kz is farther off the partitions than its single precision can explain. */
static bool entries(const struct bs_nufft_spec *s, const float *k, struct entry *e)
{
	int64_t nz = s->matrix[2];

	if (s->dims != 3 || nz == 1)
		return false;
	for (uint64_t i = 0; i < s->samples; i++) {
		double z = (double)k[3 * i + 2] * (double)nz;
		int64_t j = llround(z);

		if (fabs(z - (double)j) > (double)nz * 0x1p-24)
			return false;
		if (e != NULL)
			e[i] = (struct entry){ k[3 * i], k[3 * i + 1],
					       (uint32_t)((j % nz + nz) % nz), (uint32_t)i };
	}
	return true;
}

/* Place in source of the sample of a position and a partition. */
struct table {
	uint32_t *source;
	/* steps from one position, and from one partition, to the next */
	uint64_t position, partition;
};

/*
 * Walks the sorted entries. The r-th sample at one place and partition belongs to the r-th position
 * there (every interleave of a spiral starts at the center). Returns the number of positions. With
 * a table, fills it for the positions whose rank is given.
 */
static uint64_t walk(const struct bs_nufft_spec *s, const struct entry *e, struct position *p,
		     const uint32_t *rank, const struct table *t)
{
	uint64_t found = 0;

	for (uint64_t i = 0; i < s->samples;) {
		uint64_t most = 0;
		uint64_t end = i;

		while (end < s->samples && e[end].kx == e[i].kx && e[end].ky == e[i].ky) {
			uint64_t same = 0;
			uint32_t partition = e[end].partition;

			for (; end < s->samples && e[end].kx == e[i].kx && e[end].ky == e[i].ky &&
			       e[end].partition == partition;
			     end++, same++) {
				uint64_t id = found + same;

				if (p != NULL && (same >= most || e[end].sample < p[id].earliest))
					p[id] = (struct position){ e[end].sample, (uint32_t)id };
				if (t != NULL)
					t->source[rank[id] * t->position +
						  partition * t->partition] = e[end].sample;
			}
			most = same > most ? same : most;
		}
		found += most;
		i = end;
	}
	return found;
}

int bs_nufft_stack_find(const struct bs_nufft_spec *s, const float *k, bool by_partition,
			uint32_t **source, uint64_t *positions, struct bs_fail *why)
{
	struct table t = { NULL, 1, 1 };
	struct position *p = NULL;
	uint32_t *rank = NULL;
	struct entry *e;
	uint64_t n;
	int rc = 0;

	*positions = 0;
	if (!entries(s, k, NULL))
		return 0;
	e = malloc(s->samples * sizeof(*e));
	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "looking for partitions");
	(void)entries(s, k, e);
	qsort(e, s->samples, sizeof(*e), by_place);
	n = walk(s, e, NULL, NULL, NULL);
	if (n > bs_nufft_positions_max(s))
		goto out;
	p = malloc(n * sizeof(*p));
	rank = malloc(n * sizeof(*rank));
	t.source = malloc(n * s->matrix[2] * sizeof(*t.source));
	if (p == NULL || rank == NULL || t.source == NULL) {
		rc = bs_fail(why, BS_ERR_NOMEM, "a stack of %llu positions", (unsigned long long)n);
		free(t.source);
		goto out;
	}
	/*
	 * Positions are in the order of their first sample, so that neighbors in time stay
	 * neighbors.
	 */
	(void)walk(s, e, p, NULL, NULL);
	qsort(p, n, sizeof(*p), by_time);
	for (uint64_t i = 0; i < n; i++)
		rank[p[i].id] = (uint32_t)i;
	memset(t.source, 0xff, n * s->matrix[2] * sizeof(*t.source));
	if (by_partition)
		t.partition = n;
	else
		t.position = s->matrix[2];
	(void)walk(s, e, NULL, rank, &t);
	*source = t.source;
	*positions = n;
out:
	free(e);
	free(p);
	free(rank);
	return rc;
}
