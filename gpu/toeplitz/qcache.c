/* gpu/toeplitz/qcache.c - see qcache.h */
#include "gpu/toeplitz/qcache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/log.h"
#include "core/whole.h"

#define PATH 1024u
#define PART (1u << 20) /* bytes that are read and compared at a time */

/*
 * The header is written as it is in memory. On a machine of the other byte order the magic number
 * does not match.
 */
struct header {
	uint64_t magic;
	uint32_t version, dims;
	uint32_t matrix[3], basis;
	uint64_t samples;
	double accuracy;
	uint32_t sum, weighted;
	uint32_t maker, unused; /* number of the arithmetic that made Q; 0: the host's */
	uint64_t k_bytes, weight_bytes, q_bytes;
};

#define MAGIC   UINT64_C(0x3145484341435142) /* the letters "BQCACHE1" */
#define VERSION 3u

static struct header header_of(const struct bs_q_spec *s, uint32_t maker, const float *weight)
{
	struct header h;

	memset(&h, 0, sizeof(h));
	h.magic = MAGIC;
	h.version = VERSION;
	h.dims = s->dims;
	memcpy(h.matrix, s->matrix, sizeof(h.matrix));
	h.basis = (uint32_t)s->basis;
	h.samples = s->samples;
	h.sum = (uint32_t)s->sum;
	h.accuracy = s->sum == BS_SUM_NUFFT ? s->accuracy : 0.0;
	h.weighted = weight != NULL;
	h.maker = maker;
	h.k_bytes = s->samples * s->dims * 4;
	h.weight_bytes = weight != NULL ? s->samples * 4 : 0;
	h.q_bytes = bs_q_size(s) * 8;
	return h;
}

/* Returns true when the file's next n bytes equal `wanted`. */
static bool same(int fd, const void *wanted, size_t n, unsigned char *part)
{
	const unsigned char *p = wanted;

	while (n > 0) {
		size_t now = n < PART ? n : PART;

		if (bs_read_whole(fd, part, now, -1) < now || memcmp(part, p, now) != 0)
			return false;
		p += now;
		n -= now;
	}
	return true;
}

/* Reads q. Returns NULL, or why it could not. */
static const char *load_q(float *q, const struct header *h, const float *k, const float *weight,
			  const char *path, uint64_t key)
{
	const char *fault = NULL;
	unsigned char *part = malloc(PART);
	uint64_t sum;
	uint64_t stored;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || part == NULL)
		fault = fd < 0 && errno == ENOENT ? "" : "cannot be opened";
	else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
		 (uint64_t)st.st_size != sizeof(*h) + h->k_bytes + h->weight_bytes + h->q_bytes + 8)
		fault = "has the wrong size";
	else if (!same(fd, h, sizeof(*h), part))
		fault = "has another header";
	else if (!same(fd, k, h->k_bytes, part) ||
		 (weight != NULL && !same(fd, weight, h->weight_bytes, part)))
		fault = "is of another trajectory, or damaged";
	else if (bs_read_whole(fd, q, h->q_bytes, -1) < h->q_bytes ||
		 bs_read_whole(fd, &stored, sizeof(stored), -1) < sizeof(stored))
		fault = "cannot be read";
	if (fault == NULL) {
		sum = bs_hash_words(key, q, h->q_bytes);
		if (sum != stored)
			fault = "is damaged: its checksum does not match";
	}
	free(part);
	if (fd >= 0)
		(void)close(fd);
	return fault;
}

/* Keeps Q in the cache. False: it is not kept, which is logged. */
static bool save(const float *q, const struct header *h, const float *k, const float *weight,
		 const char *path, uint64_t key)
{
	uint64_t sum = bs_hash_words(key, q, h->q_bytes);
	char temp[PATH + 16];
	int fd;
	bool good;

	(void)snprintf(temp, sizeof(temp), "%s.part-XXXXXX", path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		bs_log(BS_LOG_WARN, "%s cannot be kept: %s", path, strerror(errno));
		return false;
	}
	/* The write is not waited for: a file torn by a loss of power is found by its checksum. */
	good = bs_write_whole(fd, h, sizeof(*h), -1) && bs_write_whole(fd, k, h->k_bytes, -1) &&
	       (weight == NULL || bs_write_whole(fd, weight, h->weight_bytes, -1)) &&
	       bs_write_whole(fd, q, h->q_bytes, -1) && bs_write_whole(fd, &sum, sizeof(sum), -1) &&
	       fchmod(fd, 0640) == 0;
	good = close(fd) == 0 && good;
	if (good && rename(temp, path) == 0)
		return true;
	bs_log(BS_LOG_WARN, "%s cannot be kept: %s", path, strerror(errno));
	(void)unlink(temp);
	return false;
}

int bs_qcache_get_by(float *q, const struct bs_q_spec *s, const float *k, const float *weight,
		     const struct bs_q_making *how, const struct bs_q_maker *maker,
		     struct bs_fail *why)
{
	struct header h = header_of(s, maker->rounding, weight);
	const char *cache_dir = how->cache_dir != NULL ? how->cache_dir : "";
	enum bs_qcache_from from = BS_QCACHE_COMPUTED;
	char path[PATH] = "";
	uint64_t key = 0;
	const char *fault = "";
	int rc = 0;

	if (h.q_bytes != 0 && s->samples <= UINT64_C(1) << 36 && cache_dir[0] != '\0') {
		key = bs_hash_words(bs_hash_words(BS_HASH_START, &h, sizeof(h)), k, h.k_bytes);
		if (weight != NULL)
			key = bs_hash_words(key, weight, h.weight_bytes);
		if (snprintf(path, sizeof(path), "%s/q-%016llx.bsq", cache_dir,
			     (unsigned long long)key) >= (int)sizeof(path))
			path[0] = '\0';
	}
	if (path[0] != '\0')
		fault = load_q(q, &h, k, weight, path, key);
	if (fault == NULL) {
		from = BS_QCACHE_DISK;
	} else {
		if (fault[0] != '\0')
			bs_log(BS_LOG_WARN, "%s %s: Q is computed anew", path, fault);
		rc = maker->make(maker->arg, q, why);
		if (rc == 0 && path[0] != '\0' && !save(q, &h, k, weight, path, key))
			from = BS_QCACHE_NOT_KEPT;
	}
	if (how->from != NULL)
		*how->from = from;
	return rc;
}

struct host_job {
	const struct bs_q_spec *spec;
	const float *k, *weight;
	const struct bs_q_making *how;
};

static int make_on_host(void *arg, float *q, struct bs_fail *why)
{
	const struct host_job *j = arg;

	return bs_q_make(q, j->spec, j->k, j->weight, j->how, why);
}

int bs_qcache_get(float *q, const struct bs_q_spec *s, const float *k, const float *weight,
		  const struct bs_q_making *how, struct bs_fail *why)
{
	struct host_job j = { s, k, weight, how };
	const struct bs_q_maker host = { BS_QCACHE_HOST, make_on_host, &j };

	return bs_qcache_get_by(q, s, k, weight, how, &host, why);
}
