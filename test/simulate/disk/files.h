/*
 * test/simulate/disk/files.h - the files of the simulated disk: their bytes and names as a process
 * sees them, and as they are on the disk
 */
#ifndef BS_TEST_SIMULATE_DISK_FILES_H
#define BS_TEST_SIMULATE_DISK_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define DISK_FILES    96u
#define DISK_NAME_MAX 80u
#define DISK_BLOCK    4096u

struct sim_file {
	bool used;
	unsigned char *now, *disk; /* cap bytes each */
	unsigned char *dirty;      /* a block each: written and not on the disk */
	size_t cap, size, disk_size;
	size_t top;      /* nothing but zeros is behind it, in both */
	unsigned opened; /* descriptors */
	int locked;      /* fd that has it; -1: none */
};

struct sim_name {
	char text[DISK_NAME_MAX];
	int file; /* -1: none */
};

extern struct sim_file sim_file[DISK_FILES];
/* The folder as it is seen, and on the disk. */
extern struct sim_name files_now[DISK_FILES], files_disk[DISK_FILES];
extern unsigned files_changes; /* of names, since the folder was synced */

/* Its place, or -1. */
int files_find(const struct sim_name *in, const char *text);
/* Change number c of names. */
void files_apply(struct sim_name *to, unsigned c);
void files_sync_folder(void);
/* from, to: "" for none. */
void files_rename(const char *from, const char *to, int f);
int files_make(const char *text);
/* What has neither a name nor a descriptor any more. */
void files_free_unnamed(void);
void files_grow(struct sim_file *f, size_t size);
void files_sync(struct sim_file *f);
/*
 * A sync that failed: what it did not write is taken for written from now on. A relaxed log, which
 * its writer does not sync, may lack it.
 */
void files_sync_badly(struct sim_file *f);
/* But for what was not synced, it is what the disk has. */
void files_forget(struct sim_file *f);

#endif
