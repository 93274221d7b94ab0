/* board/web/kept.c - see kept.h */
#include "board/web/kept.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/status/doc.h"
#include "drivers/log/folder.h"
#include "ipc/wire/wire.h"

#define OPEN_AT (BS_LOG_RECORDS + BS_LOG_FRAME + BS_WIRE_BYTES) /* the protocol's name, in OPEN */

/* Reads the session from a log's name: UTC-SESSION-INDEX.bslog. */
static uint64_t session_of(const char *name)
{
	const char *at = strchr(name, '-');

	return at != NULL ? strtoull(at + 1, NULL, 16) : 0;
}

/* Reads only the protocol's name from a log's OPEN. "": the site lacks it, or it is unreadable. */
static const char *protocol_of(const struct bs_site *site, const char *name)
{
	char path[BS_PATH_MAX_ + BS_LOG_NAME + 1];
	char protocol[BS_WIRE_OPEN_NAME + 1] = "";
	const struct bs_protocol *known;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", site->log.dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return "";
	if (pread(fd, protocol, BS_WIRE_OPEN_NAME, OPEN_AT) != (ssize_t)BS_WIRE_OPEN_NAME)
		protocol[0] = '\0';
	(void)close(fd);
	known = bs_site_protocol(site, protocol);
	return known != NULL ? known->name : "";
}

/* made: the scan's images were made after the log was sealed early. */
static void put_one(struct bs_doc *d, const struct bs_site *site, const struct bs_log_entry *e,
		    bool made)
{
	const char *n = e->name; /* names begin with a time: 20260131T235959.000000-... */
	bool early = false;
	const int sealed = bs_log_folder_sealed(site->log.dir, e, &early);
	char text[32] = "";

	bs_doc_open(d, NULL, '{');
	if (strlen(n) > 15)
		(void)snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", n, n + 4,
			       n + 6, n + 9, n + 11, n + 13);
	bs_doc_text(d, "started", text);
	(void)snprintf(text, sizeof(text), "%016" PRIx64, session_of(n));
	bs_doc_text(d, "session", text);
	bs_doc_text(d, "protocol", protocol_of(site, n));
	bs_doc_number(d, "bytes", e->bytes);
	bs_doc_number(d, "segments", e->segments);
	bs_doc_text(d, "end",
		    sealed < 0       ? "unreadable"
		    : sealed == 0    ? "open"
		    : early && !made ? "images"
				     : "whole");
	bs_doc_close(d);
}

int bs_kept_put(char *out, size_t cap, const struct bs_site *site)
{
	struct bs_fail why = { 0, "no logs are kept (log.dir)" };
	struct bs_log_entry *list = NULL;
	struct bs_doc d;
	size_t count = 0;
	size_t made = 0; /* number of the oldest logs whose scans have all their images */
	uint64_t session;

	if (bs_site_logs(site) && bs_log_folder_list(site->log.dir, &list, &count, &why) == 0)
		why.text[0] = '\0';
	session = count > 0 ? bs_log_folder_made(site->log.dir) : 0;
	for (size_t i = 0; i < count; i++)
		if (session != 0 && session_of(list[i].name) == session)
			made = i + 1;
	bs_doc_begin(&d, out, cap);
	bs_doc_text(&d, "dir", site->log.dir);
	bs_doc_number(&d, "logs", count);
	bs_doc_text(&d, "why", why.text);
	bs_doc_open(&d, "kept", '[');
	for (size_t i = count; i > 0 && count - i < BS_KEPT_MOST; i--)
		put_one(&d, site, &list[i - 1], i <= made);
	bs_doc_close(&d);
	free(list);
	return bs_doc_end(&d);
}
