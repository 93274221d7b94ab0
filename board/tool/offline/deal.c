/* board/tool/offline/deal.c - see deal.h */
#include "board/tool/offline/deal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text.h"
#include "drivers/log/folder.h"

static int by_size(const void *a, const void *b)
{
	const struct bs_dealt *x = a;
	const struct bs_dealt *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct bs_dealt *more(struct bs_dealt **list, size_t count)
{
	struct bs_dealt *grown = realloc(*list, (count + 1) * sizeof(*grown));

	if (grown == NULL)
		return NULL;
	*list = grown;
	return &grown[count];
}

static int add_file(struct bs_dealt **list, size_t *count, const char *name, size_t stem,
		    uint64_t bytes, struct bs_fail *why)
{
	struct bs_dealt *d = more(list, *count);

	if (d == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a list of recordings");
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
	(void)snprintf(d->stem, sizeof(d->stem), "%.*s", (int)stem, name);
	d->bytes = bytes;
	++*count;
	return 0;
}

static int add_files(struct bs_dealt **list, size_t *count, const char *folder, struct bs_fail *why)
{
	DIR *dir = opendir(folder);
	int rc = dir != NULL
			 ? 0
			 : bs_fail(why, BS_ERR_IO, "%s: cannot list: %s", folder, strerror(errno));

	for (struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;) {
		const size_t stem = bs_text_stem(e->d_name, ".h5");
		struct stat st;

		if (stem > 0 && e->d_name[0] != '.' &&
		    fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			rc = add_file(list, count, e->d_name, stem, (uint64_t)st.st_size, why);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return rc;
}

static int add_logs(struct bs_dealt **list, size_t *count, const char *folder, struct bs_fail *why)
{
	struct bs_log_entry *logs = NULL;
	size_t n = 0;
	int rc = bs_log_folder_list(folder, &logs, &n, why);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		uint32_t index;
		size_t stem = strlen(logs[i].name);

		(void)bs_log_split(logs[i].name, &stem, &index);
		rc = add_file(list, count, logs[i].name, stem, logs[i].bytes, why);
	}
	free(logs);
	return rc;
}

int bs_deal_list(const char *folder, struct bs_dealt **list, size_t *count, struct bs_fail *why)
{
	int rc;

	*list = NULL;
	*count = 0;
	rc = add_files(list, count, folder, why);
	if (rc == 0)
		rc = add_logs(list, count, folder, why);
	if (rc == 0 && *count == 0)
		rc = bs_fail(why, BS_ERR_FORMAT, "no recording (.h5, .bslog) in this folder");
	if (rc == 0) {
		qsort(*list, *count, sizeof(**list), by_size);
		return 0;
	}
	free(*list);
	*list = NULL;
	return rc;
}

int bs_deal_place(char *out, size_t cap, const char *given, const char *stem, struct bs_fail *why)
{
	const char *slash = strrchr(given, '/');
	const int folder = slash != NULL ? (int)(slash + 1 - given) : 0;
	int n = snprintf(out, cap, "%.*s%s", folder, given, stem);

	if (n > 0 && (size_t)n < cap && mkdir(out, 0750) != 0 && errno != EEXIST)
		return bs_fail(why, BS_ERR_IO, "%s: cannot make this folder: %s", out,
			       strerror(errno));
	n = snprintf(out, cap, "%.*s%s/%s", folder, given, stem, given + folder);
	return n > 0 && (size_t)n < cap
		       ? 0
		       : bs_fail(why, BS_ERR_IO, "%s: the name is too long", given);
}

bool bs_deal_share(size_t i, size_t n, uint32_t rank, uint32_t size, uint32_t *part,
		   uint32_t *parts)
{
	if (n >= size) {
		*part = 0;
		*parts = 1;
		return i % size == rank;
	}
	*part = (uint32_t)(rank / n);
	*parts = (uint32_t)((size - i + n - 1) / n);
	return rank % n == i;
}
