/* test/simulate/logs.c - see logs.h */
#include "test/simulate/logs.h"

#include <stdio.h>
#include <string.h>

#include "drivers/log/reader.h"
#include "test/simulate/books.h"
#include "test/simulate/disk.h"

static void read_log(const char *name)
{
	char path[200];
	struct bs_log_reader *r;
	struct bs_log_message m;
	struct bs_fail why;
	int rc;

	(void)snprintf(path, sizeof(path), DISK_DIR "/%s", name);
	if (bs_log_open(&r, path, &why) != 0) {
		sim_broken("%s cannot be read: %s", name, why.text);
		return;
	}
	while ((rc = bs_log_next(r, &m, &why)) == 1)
		books_logged(m.bytes, m.len);
	if (rc != 0)
		sim_broken("%s is damaged: %s", name, why.text);
	bs_log_close(r);
}

/* Is there a file of the same log with a smaller index? */
static bool is_first(const char *name, size_t stem, uint32_t index)
{
	const char *other;

	for (unsigned i = 0; (other = disk_name(i)) != NULL; i++) {
		size_t its_stem;
		uint32_t its_index;

		if (bs_log_split(other, &its_stem, &its_index) && its_stem == stem &&
		    its_index < index && memcmp(other, name, stem) == 0)
			return false;
	}
	return true;
}

void logs_judge(void)
{
	const char *name;

	for (unsigned i = 0; (name = disk_name(i)) != NULL; i++) {
		size_t stem;
		uint32_t index;

		if (bs_log_split(name, &stem, &index) && is_first(name, stem, index))
			read_log(name);
	}
	books_judge_logs();
}
