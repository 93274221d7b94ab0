/* board/tool/forget/logs.c - scans' logs, and what tells whose they are; see forget.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/tool/forget/forget.h"
#include "core/text.h"
#include "drivers/log/folder.h"
#include "drivers/log/kept.h"
#include "drivers/log/reader.h"
#include "drivers/log/solved.h"
#include "ipc/wire/meta.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "ipc/wire/xml.h"

struct asked {
	const char *id;
	bool found;
	char name[BS_META_TEXT];
};

static void take_pair(void *arg, const char *name, const char *value, unsigned index)
{
	static const char *const names[] = { "mrd_patientID", "mrd_studyInstanceUID",
					     "mrd_studyID" };
	struct asked *a = arg;

	(void)index;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0 && strcmp(value, a->id) == 0)
			a->found = true;
}

bool bs_forget_pairs(const struct bs_forget *f, const char *pairs)
{
	struct asked a = { .id = f->id };

	(void)bs_text_pairs(pairs, take_pair, &a);
	return a.found;
}

bool bs_forget_attributes(const struct bs_forget *f, const char *xml, size_t len)
{
	struct asked a = { .id = f->id };
	char *text = strndup(xml, len);

	if (text != NULL)
		(void)bs_meta_read(text, take_pair, &a, NULL);
	free(text);
	return a.found;
}

int bs_forget_note(struct bs_forget *f, const struct bs_forgotten *scan, struct bs_fail *why)
{
	struct bs_forgotten *more;

	if (f->scans > 0 && f->scan[f->scans - 1].uid == scan->uid &&
	    f->scan[f->scans - 1].scan == scan->scan)
		return 0;
	if (f->scans == f->room) {
		f->room = f->room != 0 ? 2 * f->room : 64;
		more = realloc(f->scan, f->room * sizeof(*more));
		if (more == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "a list of %zu scans", f->room);
		f->scan = more;
	}
	f->scan[f->scans++] = *scan;
	return 0;
}

int bs_forget_remove(struct bs_forget *f, const char *path, struct bs_fail *why)
{
	if (!f->lists && unlink(path) != 0 && errno != ENOENT)
		return bs_fail(why, BS_ERR_IO, "%s: cannot be removed: %s", path, strerror(errno));
	(void)printf("%s %s\n", f->lists ? "would remove" : "removed", path);
	return 0;
}

/* Whose log it is. 1: the id's; 0: another's; negative: that cannot be read. */
static int look_into(const struct bs_forget *f, const char *path, struct bs_forgotten *scan)
{
	static struct bs_scan_info info;
	char protocol[BS_WIRE_OPEN_NAME];
	const unsigned char *payload;
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_mrd_acq head;
	struct bs_wire w;
	const char *xml;
	size_t len;
	size_t traj;
	int rc = bs_log_open(&r, path, NULL);

	if (rc != 0)
		return rc;
	*scan = (struct bs_forgotten){ .scan = bs_log_begins(r)->scan };
	rc = bs_log_next(r, &m, NULL) == 1 ? 0 : BS_ERR_FORMAT;
	if (rc == 0)
		rc = bs_wire_decode(&w, m.bytes, m.len, &payload, NULL);
	if (rc == 0)
		rc = bs_wire_get_open(protocol, &xml, &len, payload, (size_t)w.payload_len, NULL);
	if (rc == 0)
		rc = bs_mrdxml_read(&info, xml, len, NULL);
	if (rc == 0) {
		memcpy(scan->study, info.study, sizeof(scan->study));
		rc = bs_forget_pairs(f, info.about);
	}
	while (rc == 1 && bs_log_next(r, &m, NULL) == 1)
		if (bs_wire_decode(&w, m.bytes, m.len, &payload, NULL) == 0 &&
		    w.kind == BS_WIRE_ACQ &&
		    bs_mrd_parse_acq(&head, &traj, &len, payload, (size_t)w.payload_len, NULL) ==
			    0) {
			scan->uid = head.measurement_uid;
			break;
		}
	bs_log_close(r);
	return rc;
}

/* Removes the spare files: logs that are gone may have left their bytes in them. */
static int remove_spares(struct bs_forget *f, const char *dir, struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < BS_LOG_SPARES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u.spare", dir, i);
		if (access(path, F_OK) == 0)
			rc = bs_forget_remove(f, path, why);
	}
	return rc;
}

/* Removes all files of a log, the first one last. */
static int remove_log(struct bs_forget *f, const char *path, struct bs_fail *why)
{
	struct bs_log_reader *r;
	int rc = bs_log_open(&r, path, why);

	if (rc != 0)
		return rc;
	for (uint32_t i = bs_log_segments(r); rc == 0 && i-- > 0;)
		rc = bs_forget_remove(f, bs_log_path(r, i), why);
	bs_log_close(r);
	return rc;
}

/* Removes the file beside a log that has what became of its frames. */
static void remove_solved(const char *dir, const char *log)
{
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	bs_solved_remove(fd, log);
	(void)close(fd);
}

static bool is_of(const struct bs_forget *f, const struct bs_kept *k)
{
	if (strcmp(k->study, f->id) == 0 || strncmp(k->patient, f->id, sizeof(k->patient) - 1) == 0)
		return true;
	for (size_t i = 0; i < f->scans; i++)
		if (f->scan[i].study[0] != '\0' && strcmp(f->scan[i].study, k->study) == 0)
			return true;
	return false;
}

int bs_forget_kept(struct bs_forget *f, const char *dir, struct bs_fail *why)
{
	static struct bs_kept kept;
	char path[BS_DRAFT_PATH];
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < BS_STUDY_SCANS_MAX; i++) {
		const int fd = open(bs_kept_path(path, dir, i), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (fd < 0)
			continue;
		/* what cannot be read is of another version: the service will not read it either */
		if (bs_kept_whose(&kept, fd, path, NULL) != 0 || is_of(f, &kept)) {
			rc = bs_forget_remove(f, path, why);
			f->kept += rc == 0;
		}
		(void)close(fd);
	}
	return rc;
}

int bs_forget_logs(struct bs_forget *f, const char *dir, struct bs_fail *why)
{
	struct bs_log_entry *list;
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	size_t n;
	struct bs_forgotten scan;
	int rc = bs_log_folder_list(dir, &list, &n, why);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, list[i].name);
		const int its = look_into(f, path, &scan);

		if (its < 0) {
			(void)printf("left %s: it cannot be read whose it is\n", path);
			f->unknown++;
		}
		if (its != 1)
			continue;
		rc = bs_forget_note(f, &scan, why);
		if (rc == 0)
			rc = remove_log(f, path, why);
		if (rc == 0 && !f->lists)
			remove_solved(dir, list[i].name);
		f->logs += rc == 0;
	}
	free(list);
	return rc == 0 ? remove_spares(f, dir, why) : rc;
}
