/*
 * test/unit/drivers/log/test_kept.c - images that a study keeps over a restart: each is in its
 * slot again, with its number; what is damaged, too large or old is not
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory/arena.h"
#include "core/thread/clock.h"
#include "drivers/log/kept.h"
#include "test/support/check.h"

#define SIDE   6u
#define VOXELS (SIDE * SIDE * SIDE)
#define SLOTS  3u

static char dir[64];
static struct bs_fail why;

/* A store with room for images alone; bs_study_data needs no more than these members. */
static struct bs_study *store(uint64_t voxels)
{
	const size_t bytes = sizeof(struct bs_study) + 4096 + SLOTS * voxels * sizeof(float);
	struct bs_study *s = aligned_alloc(BS_ALIGN, (bytes + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN);

	if (s == NULL)
		exit(1);
	memset(s, 0, bytes);
	s->slots[BS_KEPT_IMAGE] = SLOTS;
	s->bytes[BS_KEPT_IMAGE] = voxels * sizeof(float);
	return s;
}

static void fill(struct bs_study *s, uint32_t slot, uint64_t number, float value)
{
	struct bs_kept *k = &s->kept[BS_KEPT_IMAGE][slot];
	float *to = bs_study_data(s, BS_KEPT_IMAGE, slot);

	for (int a = 0; a < 3; a++) {
		k->matrix[a] = SIDE;
		k->pose[0].position[a] = value + (float)a;
	}
	k->slices = 1;
	(void)snprintf(k->study, sizeof(k->study), "1.2.%llu", (unsigned long long)number);
	(void)snprintf(k->protocol, sizeof(k->protocol), "proton");
	for (uint32_t v = 0; v < VOXELS; v++)
		to[v] = value + (float)v;
	atomic_store(&k->number, number);
	if (number > atomic_load(&s->number))
		atomic_store(&s->number, number);
}

static bool equal(struct bs_study *a, struct bs_study *b, uint32_t slot)
{
	return memcmp(&a->kept[BS_KEPT_IMAGE][slot], &b->kept[BS_KEPT_IMAGE][slot],
		      sizeof(struct bs_kept)) == 0 &&
	       memcmp(bs_study_data(a, BS_KEPT_IMAGE, slot), bs_study_data(b, BS_KEPT_IMAGE, slot),
		      VOXELS * sizeof(float)) == 0;
}

static uint64_t number_in(const struct bs_study *s, uint32_t slot)
{
	return atomic_load(&s->kept[BS_KEPT_IMAGE][slot].number);
}

static void again(void)
{
	struct bs_study *s = store(VOXELS);
	struct bs_study *t = store(VOXELS);
	struct bs_kept_filed filed = { { 0 } };
	uint32_t count;

	fill(s, 0, 4, 1.0f);
	fill(s, 2, 3, 2.0f);
	CHECK(bs_kept_write(&filed, dir, s, &why) == 0 && filed.number[0] == 4 &&
		      filed.number[1] == 0 && filed.number[2] == 3,
	      "two images are filed");
	CHECK(bs_kept_read(t, dir, &count, &why) == 0 && count == 2 && equal(s, t, 0) &&
		      equal(s, t, 2) && number_in(t, 1) == 0 && atomic_load(&t->number) == 4,
	      "and read: %u, the last number is %llu", count,
	      (unsigned long long)atomic_load(&t->number));
	fill(s, 2, 5, 3.0f);
	CHECK(bs_kept_write(&filed, dir, s, &why) == 0 && filed.number[2] == 5, "one is replaced");
	memset(t->kept, 0, sizeof(t->kept));
	CHECK(bs_kept_read(t, dir, &count, &why) == 0 && equal(s, t, 2), "in its file, too");
	free(s);
	free(t);
}

static void unfit(void)
{
	struct bs_study *s = store(VOXELS);
	struct bs_study *small = store(VOXELS - 1);
	char path[96];
	uint32_t count;
	int fd;

	CHECK(bs_kept_read(small, dir, &count, &why) == BS_ERR_SIZE && count == 0 &&
		      number_in(small, 0) == 0,
	      "no room: %s", why.text);
	for (int i = 0; i < 3; i++) {
		static const off_t at[] = { 3, 200, 64 + (off_t)sizeof(struct bs_kept) + 100 };
		unsigned char was, byte;

		(void)snprintf(path, sizeof(path), "%s/2.kept", dir);
		fd = open(path, O_RDWR);
		(void)!pread(fd, &was, 1, at[i]);
		byte = was ^ 0x10;
		(void)!pwrite(fd, &byte, 1, at[i]);
		memset(s->kept, 0, sizeof(s->kept));
		CHECK(bs_kept_read(s, dir, &count, &why) == BS_ERR_FORMAT && count == 1 &&
			      number_in(s, 2) == 0 && number_in(s, 0) == 4,
		      "byte %lld is damaged: %s", (long long)at[i], why.text);
		(void)!pwrite(fd, &was, 1, at[i]);
		(void)close(fd);
	}
	CHECK(truncate(path, 3000) == 0 && bs_kept_read(s, dir, &count, &why) == BS_ERR_FORMAT,
	      "cut: %s", why.text);
	bs_kept_prune(dir, bs_utc_ns() - INT64_C(3600000000000));
	CHECK(access(path, F_OK) == 0, "it is younger than an hour, and stays");
	bs_kept_prune(dir, INT64_MAX);
	CHECK(access(path, F_OK) != 0 && bs_kept_read(s, dir, &count, &why) == 0 && count == 0,
	      "all are older than the end of time, and go");
	free(s);
	free(small);
}

int main(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/boreside-kept-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 1;
	again();
	unfit();
	(void)rmdir(dir);
	return check_done();
}
