/* board/tool/command/forget.c - boreside forget: a study's, or a patient's, data is removed */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/emit/folder.h"
#include "board/tool/command/tools.h"
#include "board/tool/forget/forget.h"
#include "core/text.h"
#include "drivers/file/draft.h"
#include "drivers/log/cursor.h"

struct request {
	const char *config, *id;
	char **folders;
	bool lists;
};

static const struct bs_option options[] = {
	{ BS_OPTION_TEXT, 'c', "config", "FILE", offsetof(struct request, config),
	  .help = "the site file", .required = true },
	{ BS_OPTION_FLAG, 0, "list", NULL, offsetof(struct request, lists),
	  .help = "say what would be removed, and remove nothing" },
	{ BS_OPERAND, 0, NULL, "STUDY|PATIENT", offsetof(struct request, id),
	  .help = "studyInstanceUID, studyID or patientID of the scans' headers, to the letter",
	  .required = true },
	{ BS_OPERANDS, 0, NULL, "FOLDER...", offsetof(struct request, folders),
	  .help = "further folders of logs (boreside record) and of image files" },
	{ 0 },
};

/*
 * Locks a folder against a service that starts now. A service that runs holds what scans of a study
 * left in its memory, and its files are open.
 */
static int lock_folder(int *fd, const char *dir, const char *file, struct bs_fail *why)
{
	struct bs_fail held;
	pid_t pid = 0;
	int other = -1;

	*fd = -1;
	if (dir[0] == '\0' || bs_folder_gone(dir))
		return 0;
	if (bs_folder_holder(&other, &pid, dir, file, &held) == 0) {
		(void)close(other);
		return bs_fail(why, BS_ERR_STATE,
			       "%s: process %ld runs on it, and may have a scan open or hold what "
			       "one left: end it (boreside drain), then forget, and start it again",
			       dir, (long)pid);
	}
	return bs_folder_lock(fd, dir, file, why);
}

/* Who took images by itself: each has a cursor in the store. */
static void name_takers(const char *store)
{
	DIR *d = opendir(store);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		const char *tail = strrchr(e->d_name, '.');

		if (tail != NULL && strcmp(tail, BS_CURSOR_SUFFIX) == 0 && e->d_name[0] != '+')
			(void)printf("left: archive '%.*s' may have taken images of it\n",
				     (int)(tail - e->d_name), e->d_name);
	}
	if (d != NULL)
		(void)closedir(d);
}

static void say_what_is_left(const struct bs_site *site, const char *store)
{
	name_takers(store);
	for (uint32_t i = 0; i < site->sinks; i++)
		if (site->sink[i].store[0] != '\0')
			(void)printf("left: what was sent to %s\n", site->sink[i].store);
	if (site->archive_url[0] != '\0' || site->viewers_url[0] != '\0')
		(void)printf("left: what archives and viewers were given at endpoints.archive and "
			     "endpoints.viewers\n");
	(void)printf("left: backups, recordings and files elsewhere; the bytes of removed files on "
		     "the disk, until they are written over\n");
}

/* Files that were being written when the service was killed: nobody can say whose they are. */
static void sweep(const struct bs_site *site, char *const *more)
{
	(void)bs_draft_sweep(site->log.dir);
	for (uint32_t i = 0; i < site->sinks; i++)
		(void)bs_draft_sweep(site->sink[i].dir);
	for (size_t i = 0; more != NULL && more[i] != NULL; i++)
		(void)bs_draft_sweep(more[i]);
}

/* The site's folders, and those that were named. store: the folder of images kept for takers. */
static int forget_all(struct bs_forget *f, const struct bs_site *site, const char *store,
		      char *const *more, struct bs_fail *why)
{
	int rc = 0;

	if (!f->lists)
		sweep(site, more);
	if (site->log.dir[0] != '\0' && !bs_folder_gone(site->log.dir))
		rc = bs_forget_logs(f, site->log.dir, why);
	if (rc == 0 && site->log.dir[0] != '\0')
		rc = bs_forget_kept(f, site->log.dir, why);
	if (rc == 0)
		rc = bs_forget_store(f, store, why);
	for (size_t i = 0; rc == 0 && more != NULL && more[i] != NULL; i++)
		rc = bs_forget_logs(f, more[i], why);
	for (uint32_t i = 0; rc == 0 && i < site->sinks; i++)
		rc = bs_forget_files(f, site->sink[i].dir, why);
	for (size_t i = 0; rc == 0 && more != NULL && more[i] != NULL; i++)
		rc = bs_forget_files(f, more[i], why);
	return rc;
}

static int forget(const struct request *q, const struct bs_site *site)
{
	struct bs_forget f = { .id = q->id, .lists = q->lists };
	const bool spills = bs_site_spills(site);
	char store[BS_PATH_MAX_ + 8];
	struct bs_fail why = { 0 };
	int lock[3] = { -1, -1, -1 };
	int rc = lock_folder(&lock[0], site->run_dir, BS_FOLDER_PID, &why);

	(void)snprintf(store, sizeof(store), "%s/images",
		       spills ? site->overload.spill_dir : site->run_dir);
	if (rc == 0)
		rc = lock_folder(&lock[1], site->log.dir, "boreside.lock", &why);
	if (rc == 0 && spills)
		rc = lock_folder(&lock[2], site->overload.spill_dir, "boreside.lock", &why);
	if (rc == 0)
		rc = forget_all(&f, site, store, q->folders, &why);
	for (int i = 0; i < 3; i++)
		if (lock[i] >= 0)
			(void)close(lock[i]);
	free(f.scan);
	if (rc != 0)
		return bs_command_fail("%s", why.text);
	(void)printf("%s: %llu log%s, %llu image%s kept for takers, %llu image file%s, %llu kept "
		     "for W\n",
		     q->lists ? "would remove" : "removed", (unsigned long long)f.logs,
		     bs_text_s(f.logs), (unsigned long long)f.images, bs_text_s(f.images),
		     (unsigned long long)f.files, bs_text_s(f.files), (unsigned long long)f.kept);
	say_what_is_left(site, store);
	return f.unknown != 0;
}

static int run_forget(void *request)
{
	struct request *q = request;
	struct bs_site *site;
	int status;

	if (q->id[0] == '\0')
		return bs_options_wrong("STUDY|PATIENT is empty");
	site = bs_command_site(q->config);
	if (site == NULL)
		return 1;
	status = forget(q, site);
	free(site);
	return status;
}

const struct bs_command bs_command_forget = {
	.name = "forget",
	.summary = "remove what a site holds of a study or a patient, and say what is left",
	.options = options,
	.after = "Removes logs of scans, images kept for takers or for W, image files and spare "
		 "files. Exit status 1: some files may be the study's and say nothing of it; they "
		 "are named and stay. No service may run on the site: what it holds of studies in "
		 "memory (maps, the image that W is made of) goes with it. See "
		 "board/doc/OPERATE.md.",
	.request = &(struct request){ 0 },
	.run = run_forget,
};
