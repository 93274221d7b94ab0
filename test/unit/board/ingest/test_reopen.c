/*
 * test/unit/board/ingest/test_reopen.c - which logs a start takes up: the newest, and the one
 * before it where that was sealed before its images were made
 */
#define _GNU_SOURCE /* mkdtemp */
#include "board/ingest/ingest.h"

#include "drivers/log/folder.h"
#include "test/unit/drivers/log/scanlog.h"

#define LOGS 4

enum end { NO_LOG, EARLY, WHOLE, NONE }; /* how a log ends */

static struct bs_worker_env env;
static struct bs_shared shared;
static struct bs_keeper keeper; /* a log is kept: no more is asked of it */

static bool write_log(uint64_t session, int64_t at, uint64_t messages, enum end end)
{
	struct bs_log_writer w;
	struct bs_fail why = { 0 };
	int rc = bs_log_writer_open(&w, &scanlog_room, session,
				    1700000000000000000 + at * 1000000000, &why);

	for (uint64_t i = 0; rc == 0 && i < messages; i++)
		rc = scanlog_append(&w, i, &why);
	if (rc == 0)
		rc = bs_log_writer_commit(&w, &why);
	w.early = end == EARLY;
	if (rc == 0 && end != NONE)
		rc = bs_log_writer_seal(&w, &why);
	bs_log_writer_close(&w);
	return rc == 0;
}

/* A service's first ingest. */
static void start(void)
{
	static struct ingest in;

	memset(&shared, 0, sizeof(shared));
	memset(&in, 0, sizeof(in));
	env.shm.s = &shared;
	env.me = &shared.worker[BS_WORKER_INGEST];
	in.env = &env;
	in.now.record = shared.scan;
	in.log = &keeper;
	bs_ingest_reopen_start(&in);
}

int main(void)
{
	/* clang-format off */
	static const struct {
		const char *what;
		struct {
			uint64_t session, messages;
			enum end end;
		} log[LOGS];          /* the oldest first */
		uint64_t made, older; /* sessions; 0: none */
	} at[] = {
		{ "a scan alone", { { 7, 5, NONE } }, 0, 0 },
		{ "the one before it was closed", { { 6, 5, EARLY }, { 7, 5, NONE } }, 0, 6 },
		{ "and had its images", { { 6, 5, EARLY }, { 7, 5, NONE } }, 6, 0 },
		{ "or was over", { { 6, 5, WHOLE }, { 7, 5, NONE } }, 0, 0 },
		{ "ingest died when it had logged another OPEN", { { 5, 5, EARLY }, { 6, 1, NONE },
		  { 7, 5, NONE } }, 0, 5 },
		{ "twice, and a start has sealed one of these logs", { { 4, 5, EARLY },
		  { 5, 1, WHOLE }, { 6, 1, NONE }, { 7, 5, NONE } }, 0, 4 },
		{ "a scan between them was over", { { 5, 5, EARLY }, { 6, 5, WHOLE }, { 7, 5, NONE }
		  }, 0, 0 },
		{ "the older one did not go on, and its sender began anew", { { 7, 5, EARLY },
		  { 7, 5, NONE } }, 0, 0 },
		{ "with an OPEN alone", { { 7, 1, EARLY }, { 7, 1, WHOLE } }, 0, 0 },
	};
	/* clang-format on */
	const struct bs_reopened *o = shared.reopened;

	CHECK(mkdtemp(scanlog_dir) != NULL, "a folder");
	(void)snprintf(env.site.log.dir, sizeof(env.site.log.dir), "%s", scanlog_dir);
	start();
	CHECK(o[0].step == BS_REOPEN_OVER && o[1].step == BS_REOPEN_OVER, "no log");
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		bool good = true;

		(void)scanlog_clean();
		for (int n = 0; n < LOGS && at[i].log[n].end != NO_LOG; n++)
			good = good && write_log(at[i].log[n].session, n, at[i].log[n].messages,
						 at[i].log[n].end);
		if (at[i].made != 0)
			good = good && bs_log_folder_set_made(scanlog_dir, at[i].made, NULL) == 0;
		CHECK(good, "logs");
		start();
		CHECK(o[1].session == 7 && o[1].step != BS_REOPEN_OVER, "%s: the newest",
		      at[i].what);
		CHECK(o[0].step == (at[i].older != 0 ? BS_REOPEN_FOUND : BS_REOPEN_OVER) &&
			      (at[i].older == 0 || o[0].session == at[i].older),
		      "%s: before it %s", at[i].what,
		      at[i].older != 0 ? "the one that was closed" : "none");
	}
	(void)scanlog_clean();
	(void)rmdir(scanlog_dir);
	return check_done();
}
