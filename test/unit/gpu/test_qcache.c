/* test/unit/gpu/test_qcache.c - Q from the cache: the same bits; whatever is damaged is made
 * anew */
#define _GNU_SOURCE
#include "gpu/toeplitz/qcache.h"
#include "test/support/check.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLES 200u

static char folder[] = "/tmp/boreside-qcache-XXXXXX";
static char path[400];
static float k[SAMPLES * 2], weight[SAMPLES];
static struct bs_team *team;
static struct bs_q_spec spec = { 2, { 10, 9, 1 }, SAMPLES, BS_BASIS_DELTA, BS_SUM_EXACT, 1e-4 };
static float *truth, *q;

/* The number of files; path becomes the last one's. */
static int files(void)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.') {
			(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
			n++;
		}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static void get(enum bs_qcache_from wanted, const char *what)
{
	enum bs_qcache_from from = BS_QCACHE_DISK;
	struct bs_fail why = { 0 };
	size_t bytes = bs_q_size(&spec) * 8;
	int rc;

	memset(q, 0xff, bytes);
	rc = bs_qcache_get(q, &spec, k, weight,
			   &(struct bs_q_making){ team, NULL, NULL, folder, &from }, &why);
	CHECK(rc == 0 && from == wanted && memcmp(q, truth, bytes) == 0, "%s: %s, the same bits %s",
	      what, from == BS_QCACHE_DISK ? "from disk" : "computed", why.text);
}

static void damage(long at, const char *what)
{
	FILE *f = fopen(path, "r+");
	struct stat st;
	int c;

	if (f == NULL || fstat(fileno(f), &st) != 0)
		return;
	at = at < 0 ? (long)st.st_size + at : at;
	(void)fseek(f, at, SEEK_SET);
	c = fgetc(f);
	(void)fseek(f, at, SEEK_SET);
	(void)fputc(c ^ 0x10, f);
	(void)fclose(f);
	get(BS_QCACHE_COMPUTED, what);
	get(BS_QCACHE_DISK, "and it was repaired");
}

static void other(const char *what, int count)
{
	enum bs_qcache_from from = BS_QCACHE_DISK;

	CHECK(bs_qcache_get(q, &spec, k, weight,
			    &(struct bs_q_making){ team, NULL, NULL, folder, &from }, NULL) == 0 &&
		      from == BS_QCACHE_COMPUTED && files() == count,
	      "%s: a file of its own, %d now", what, count);
}

static unsigned made; /* by the other maker */

/* Q as another device might round it. */
static int make_otherwise(void *arg, float *to, struct bs_fail *why)
{
	const float *like = arg;

	(void)why;
	memcpy(to, like, bs_q_size(&spec) * 8);
	to[2] += 1.0f;
	made++;
	return 0;
}

/* Two makers of one Q: neither is given the other's. */
static void makers(int count)
{
	size_t bytes = bs_q_size(&spec) * 8;
	float *other_q = malloc(bytes);
	enum bs_qcache_from from = BS_QCACHE_DISK;
	struct bs_fail why = { 0 };
	int rc = bs_qcache_get_by(q, &spec, k, weight,
				  &(struct bs_q_making){ .cache_dir = folder, .from = &from },
				  &(struct bs_q_maker){ 7, make_otherwise, truth }, &why);

	CHECK(rc == 0 && from == BS_QCACHE_COMPUTED && made == 1 && files() == count,
	      "another maker: a file of its own, %d now", count);
	memcpy(other_q, q, bytes);
	get(BS_QCACHE_DISK, "the host's is still there");
	memset(q, 0, bytes);
	rc = bs_qcache_get_by(q, &spec, k, weight,
			      &(struct bs_q_making){ .cache_dir = folder, .from = &from },
			      &(struct bs_q_maker){ 7, make_otherwise, truth }, &why);
	CHECK(rc == 0 && from == BS_QCACHE_DISK && made == 1 && memcmp(q, other_q, bytes) == 0,
	      "the other maker finds its own bits");
	rc = bs_qcache_get_by(q, &spec, k, weight,
			      &(struct bs_q_making){ .cache_dir = folder, .from = &from },
			      &(struct bs_q_maker){ 9, make_otherwise, truth }, &why);
	CHECK(rc == 0 && from == BS_QCACHE_COMPUTED && made == 2 && files() == count + 1,
	      "the same maker at another rounding: once more");
	free(other_q);
}

int main(void)
{
	enum bs_qcache_from from = BS_QCACHE_DISK;
	struct bs_fail why = { 0 };
	uint64_t seed = 8;
	char clean[64];

	if (mkdtemp(folder) == NULL)
		return 1;
	for (uint32_t i = 0; i < SAMPLES * 2; i++)
		k[i] = (float)(check_uniform(&seed) - 0.5);
	for (uint32_t i = 0; i < SAMPLES; i++)
		weight[i] = (float)check_uniform(&seed);
	(void)bs_team_open(&team, 2, NULL);
	truth = malloc(bs_q_size(&spec) * 8);
	q = malloc(bs_q_size(&spec) * 8);
	CHECK(bs_q_make(truth, &spec, k, weight, &(struct bs_q_making){ .team = team }, &why) == 0,
	      "Q %s", why.text);
	get(BS_QCACHE_COMPUTED, "an empty cache");
	CHECK(files() == 1, "one file, no drafts left");
	get(BS_QCACHE_DISK, "the second time");
	damage(0, "magic");
	damage(9, "version");
	damage(100, "trajectory");
	damage(-9, "the last of Q");
	damage(-1, "checksum");
	CHECK(truncate(path, 5000) == 0, "cut short");
	get(BS_QCACHE_COMPUTED, "a truncated file");
	CHECK(truncate(path, 0) == 0, "cut to nothing");
	get(BS_QCACHE_COMPUTED, "an empty file");
	CHECK(files() == 1, "still one file");
	makers(2);
	spec.basis = BS_BASIS_BOX;
	other("another basis", 4);
	spec.basis = BS_BASIS_DELTA;
	spec.sum = BS_SUM_NUFFT;
	other("by NUFFT", 5);
	spec.accuracy = 1e-3;
	other("at another accuracy", 6);
	spec.sum = BS_SUM_EXACT;
	get(BS_QCACHE_DISK, "an exact Q does not ask for the accuracy");
	weight[7] += 1.0f;
	other("other weights", 7);
	k[7] *= 0.5f;
	other("another trajectory", 8);
	CHECK(bs_qcache_get(q, &spec, k, weight,
			    &(struct bs_q_making){ team, NULL, NULL, "/nonexistent/folder", &from },
			    &why) == 0 &&
		      from == BS_QCACHE_NOT_KEPT,
	      "a cache that cannot be written costs nothing but time, and says so %s", why.text);
	spec.matrix[0] = 0;
	CHECK(bs_qcache_get(q, &spec, k, weight,
			    &(struct bs_q_making){ team, NULL, NULL, folder, NULL },
			    &why) == BS_ERR_CONFIG,
	      "a matrix of 0 refused: %s", why.text);
	(void)snprintf(clean, sizeof(clean), "rm -rf '%s'", folder);
	bs_team_close(team);
	free(truth);
	free(q);
	return system(clean) != 0 || check_done();
}
