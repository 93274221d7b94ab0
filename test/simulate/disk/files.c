/* test/simulate/disk/files.c - see files.h */
#include "test/simulate/disk/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/simulate/simulate.h"

#define CHANGES 128u

struct sim_file sim_file[DISK_FILES];
struct sim_name files_now[DISK_FILES], files_disk[DISK_FILES];
unsigned files_changes;
static struct {
	char from[DISK_NAME_MAX], to[DISK_NAME_MAX]; /* "" : none */
	int file;
} change[CHANGES];

int files_find(const struct sim_name *in, const char *text)
{
	for (unsigned i = 0; i < DISK_FILES; i++)
		if (in[i].file >= 0 && strcmp(in[i].text, text) == 0)
			return (int)i;
	return -1;
}

static void put_name(struct sim_name *in, const char *text, int f)
{
	int at = files_find(in, text);

	for (unsigned i = 0; at < 0 && i < DISK_FILES; i++)
		if (in[i].file < 0)
			at = (int)i;
	if (at < 0)
		abort();
	(void)snprintf(in[at].text, DISK_NAME_MAX, "%s", text);
	in[at].file = f;
}

static void remove_name(struct sim_name *in, const char *text)
{
	int at = files_find(in, text);

	if (at >= 0)
		in[at].file = -1;
}

static bool is_named(const struct sim_name *in, int f)
{
	for (unsigned i = 0; i < DISK_FILES; i++)
		if (in[i].file == f)
			return true;
	return false;
}

void files_free_unnamed(void)
{
	for (unsigned i = 0; i < DISK_FILES; i++)
		if (sim_file[i].used && sim_file[i].opened == 0 && !is_named(files_now, (int)i) &&
		    !is_named(files_disk, (int)i)) {
			bool wanted = false;

			for (unsigned c = 0; c < files_changes; c++)
				wanted = wanted || change[c].file == (int)i;
			sim_file[i].used = wanted;
		}
}

void files_apply(struct sim_name *to, unsigned c)
{
	if (change[c].from[0] != '\0')
		remove_name(to, change[c].from);
	if (change[c].to[0] != '\0')
		put_name(to, change[c].to, change[c].file);
}

void files_sync_folder(void)
{
	for (unsigned c = 0; c < files_changes; c++)
		files_apply(files_disk, c);
	files_changes = 0;
	files_free_unnamed();
}

void files_rename(const char *from, const char *to, int f)
{
	if (files_changes == CHANGES) /* the disk does that by itself, too */
		files_sync_folder();
	(void)snprintf(change[files_changes].from, DISK_NAME_MAX, "%s", from);
	(void)snprintf(change[files_changes].to, DISK_NAME_MAX, "%s", to);
	change[files_changes].file = f;
	files_apply(files_now, files_changes++);
}

int files_make(const char *text)
{
	for (unsigned i = 0; i < DISK_FILES; i++) {
		struct sim_file *f = &sim_file[i];

		if (f->used)
			continue;
		f->used = true;
		f->size = f->disk_size = 0;
		f->opened = 0;
		f->locked = -1;
		if (f->cap > 0) {
			memset(f->now, 0, f->top);
			memset(f->disk, 0, f->top);
			memset(f->dirty, 0, f->cap / DISK_BLOCK);
		}
		f->top = 0;
		files_rename("", text, (int)i);
		return (int)i;
	}
	abort();
}

void files_grow(struct sim_file *f, size_t size)
{
	size_t cap = (size + 65535) & ~(size_t)65535;
	size_t top = (size + DISK_BLOCK - 1) & ~(size_t)(DISK_BLOCK - 1);

	f->top = top > f->top ? top : f->top;
	if (cap <= f->cap)
		return;
	f->now = realloc(f->now, cap);
	f->disk = realloc(f->disk, cap);
	f->dirty = realloc(f->dirty, cap / DISK_BLOCK);
	if (f->now == NULL || f->disk == NULL || f->dirty == NULL)
		abort();
	memset(f->now + f->cap, 0, cap - f->cap);
	memset(f->disk + f->cap, 0, cap - f->cap);
	memset(f->dirty + f->cap / DISK_BLOCK, 0, (cap - f->cap) / DISK_BLOCK);
	f->cap = cap;
}

void files_sync(struct sim_file *f)
{
	for (size_t b = 0; b < f->cap / DISK_BLOCK; b++)
		if (f->dirty[b]) {
			memcpy(f->disk + b * DISK_BLOCK, f->now + b * DISK_BLOCK, DISK_BLOCK);
			f->dirty[b] = 0;
		}
	f->disk_size = f->size;
}

void files_forget(struct sim_file *f)
{
	for (size_t b = 0; b < f->cap / DISK_BLOCK; b++)
		if (!f->dirty[b])
			memcpy(f->now + b * DISK_BLOCK, f->disk + b * DISK_BLOCK, DISK_BLOCK);
}

void files_sync_badly(struct sim_file *f)
{
	for (size_t b = 0; b < f->cap / DISK_BLOCK; b++) {
		if (f->dirty[b] && sim_chance(300))
			memcpy(f->disk + b * DISK_BLOCK, f->now + b * DISK_BLOCK, DISK_BLOCK);
		f->dirty[b] = 0;
	}
}
