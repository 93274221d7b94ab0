/* board/tool/forget/files.c - image files of one study; see forget.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board/tool/forget/forget.h"
#include "core/text.h"

#define SERIES_OF_SCAN                                                                             \
	16384u /* series are the scan's number, and this many and twice as many more */
#define PATTERN 1200u

static const char *const elements[] = { "mrd_patientID", "mrd_studyInstanceUID", "mrd_studyID" };
/* The same in DICOM: the element's tag and VR, explicit little-endian; a length follows. */
static const struct {
	const char tag[7];
} dicom[] = { { "\x10\x00\x20\x00LO" }, { "\x20\x00\x0d\x00UI" }, { "\x20\x00\x10\x00SH" } };

/* True if the bytes say the id in an element of DICOM: padded to an even length. */
static bool dicom_says(const char *id, const unsigned char *p, size_t len)
{
	const size_t n = strlen(id);

	for (size_t i = 0; i < sizeof(dicom) / sizeof(dicom[0]); i++)
		for (const unsigned char *at = p; at != NULL;) {
			at = memmem(at, len - (size_t)(at - p), dicom[i].tag, 6);
			if (at == NULL)
				break;
			at += 6;
			if (len - (size_t)(at - p) < 2 + n)
				break;
			const size_t is = at[0] | (size_t)at[1] << 8;

			if ((is == n || is == n + 1) && memcmp(at + 2, id, n) == 0)
				return true;
		}
	return false;
}

/* True if the bytes say the id in an image's attributes, or in a DICOM file. */
static bool bytes_say(const char *id, const unsigned char *p, size_t len)
{
	char pattern[PATTERN];

	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
		struct bs_text t = { pattern, sizeof(pattern), 0, false };

		bs_text_put(&t, "<name>%s</name><value>", elements[i]);
		bs_text_xml(&t, id);
		bs_text_put(&t, "</value>");
		if (!t.full && memmem(p, len, pattern, t.len) != NULL)
			return true;
	}
	return dicom_says(id, p, len);
}

/* 1: the file says the id; 0: it does not; BS_ERR_IO. */
static int file_says(const char *id, const char *path, struct bs_fail *why)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	void *p = MAP_FAILED;
	int says = 0;

	if (fd < 0 || fstat(fd, &st) != 0)
		says = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	else if (st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (says == 0 && st.st_size > 0 && p == MAP_FAILED)
		says = bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	if (p != MAP_FAILED) {
		says = bytes_say(id, p, (size_t)st.st_size);
		(void)munmap(p, (size_t)st.st_size);
	}
	if (fd >= 0)
		(void)close(fd);
	return says;
}

/* True if the name is that of an image of a scan that was found. */
static bool is_named(const struct bs_forget *f, const char *name)
{
	unsigned uid;
	unsigned series;

	if (sscanf(name, "uid%8x-s%u", &uid, &series) != 2)
		return false;
	for (size_t i = 0; i < f->scans; i++)
		if (f->scan[i].uid == uid && f->scan[i].scan == series % SERIES_OF_SCAN)
			return true;
	return false;
}

/* A 4D series has a file of lines beside it. */
static int remove_beside(struct bs_forget *f, const char *path, struct bs_fail *why)
{
	const size_t stem = bs_text_stem(path, ".4d.nii");
	char beside[4096];

	if (stem == 0)
		return 0;
	(void)snprintf(beside, sizeof(beside), "%.*s.4d.txt", (int)stem, path);
	return access(beside, F_OK) == 0 ? bs_forget_remove(f, beside, why) : 0;
}

static int look_at_file(struct bs_forget *f, const char *dir, const char *name, struct bs_fail *why)
{
	char path[4096];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (bs_text_stem(name, ".cfl") > 0 || bs_text_stem(name, ".hdr") > 0 ||
	    bs_text_stem(name, ".nii.gz") > 0) {
		if (is_named(f, name)) {
			(void)printf("left %s: it has the name of a scan that was found, and "
				     "nothing in it that says whose it is\n",
				     path);
			f->unknown++;
		}
		return 0;
	}
	rc = file_says(f->id, path, why);
	if (rc != 1)
		return rc;
	rc = bs_forget_remove(f, path, why);
	f->files += rc == 0;
	return rc == 0 ? remove_beside(f, path, why) : rc;
}

static int image_name(const struct dirent *e)
{
	return strncmp(e->d_name, "uid", 3) == 0 && bs_text_stem(e->d_name, ".txt") == 0;
}

int bs_forget_files(struct bs_forget *f, const char *dir, struct bs_fail *why)
{
	struct dirent **list;
	const int n = scandir(dir, &list, image_name, alphasort);
	int rc = 0;

	if (n < 0)
		return errno == ENOENT ? 0
				       : bs_fail(why, BS_ERR_IO, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = look_at_file(f, dir, list[i]->d_name, why);
		free(list[i]);
	}
	free(list);
	return rc;
}
