/* board/web/documents.c - see documents.h */
#include "board/web/documents.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "board/status/ask.h"
#include "board/status/doc.h"
#include "board/status/prom.h"
#include "board/status/status.h"
#include "board/web/kept.h"
#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define WAIT_MS    1000   /* longest wait for the service's answer */
#define OWN_MAX    65536u /* bytes that the page adds to the answer */
#define FOLDERS    (BS_SINKS_MAX + 3u)
#define SHELF_MOST 16u /* documents of each kind: one is read within seconds */

/* Lists the folders whose disks the site fills. */
static uint32_t folders(const struct bs_site *site, const char *out[FOLDERS])
{
	const char *all[FOLDERS] = { site->run_dir, site->log.dir, site->overload.spill_dir };
	uint32_t n = 0;

	for (uint32_t i = 0; i < site->sinks; i++)
		all[3 + i] = site->sink[i].dir;
	for (uint32_t i = 0; i < FOLDERS; i++) {
		bool known = all[i] == NULL || all[i][0] == '\0';

		for (uint32_t j = 0; j < n; j++)
			known = known || strcmp(out[j], all[i]) == 0;
		if (!known)
			out[n++] = all[i];
	}
	return n;
}

struct room {
	double size, left;
};

/* Finds a folder's free space. False: the folder does not exist or cannot be read. */
static bool room_of(const char *folder, struct room *r)
{
	struct statvfs v;

	if (statvfs(folder, &v) != 0)
		return false;
	r->size = (double)v.f_blocks * (double)v.f_frsize;
	r->left = (double)v.f_bavail * (double)v.f_frsize;
	return true;
}

/* Writes the status document: the page's own facts, and the service's document within. */
static int compose_status(struct bs_documents *d, char *out, size_t cap, const char *service)
{
	const char *dirs[FOLDERS];
	const uint32_t n = folders(d->site, dirs);
	struct bs_doc doc;
	struct room r;

	bs_doc_begin(&doc, out, cap);
	bs_doc_flag(&doc, "answers", service[0] == '{');
	bs_doc_text(&doc, "node", d->site->name);
	bs_doc_number(&doc, "pictures", atomic_load(&d->pictures));
	bs_doc_number(&doc, "skipped", atomic_load(&d->skipped));
	bs_doc_open(&doc, "disks", '[');
	for (uint32_t i = 0; i < n; i++) {
		if (!room_of(dirs[i], &r))
			continue;
		bs_doc_open(&doc, NULL, '{');
		bs_doc_text(&doc, "folder", dirs[i]);
		bs_doc_value(&doc, "bytes", "%.0f", r.size);
		bs_doc_value(&doc, "free", "%.0f", r.left);
		bs_doc_close(&doc);
	}
	bs_doc_close(&doc);
	/* the line feed at the end of the service's document is a blank in JSON */
	bs_doc_value(&doc, "service", "%s", service[0] == '{' ? service : "null");
	return bs_doc_end(&doc);
}

static int compose_metrics(struct bs_documents *d, char *out, size_t cap, const char *service)
{
	static const char *const names[] = { "boreside_disk_bytes", "boreside_disk_free_bytes" };
	static const char *const helps[] = { "Of the disk that a folder of the site is on.",
					     "Of these, free." };
	struct bs_text t = { out, cap, 0, false };
	const char *dirs[FOLDERS];
	const uint32_t n = folders(d->site, dirs);
	struct room r;

	bs_text_put(&t, "%s", service);
	bs_prom_one(&t, "boreside_up", "gauge", "1 when the service answers the page.",
		    service[0] != '\0');
	bs_prom_family(&t, "boreside_web_requests_total", "counter",
		       "Requests that browsers and others made of the page.");
	bs_prom_count(&t, "boreside_web_requests_total", NULL, atomic_load(&d->requests));
	bs_prom_family(&t, "boreside_web_denied_total", "counter",
		       "Of these, without the token, or from another site's page.");
	bs_prom_count(&t, "boreside_web_denied_total", NULL, atomic_load(&d->denied));
	bs_prom_family(&t, "boreside_web_pictures_total", "counter",
		       "Images made pictures for the page.");
	bs_prom_count(&t, "boreside_web_pictures_total", NULL, atomic_load(&d->pictures));
	bs_prom_family(&t, "boreside_web_skipped_total", "counter",
		       "Images that the page left out: newer ones had come.");
	bs_prom_count(&t, "boreside_web_skipped_total", NULL, atomic_load(&d->skipped));
	for (int k = 0; k < 2; k++) {
		bs_prom_family(&t, names[k], "gauge", helps[k]);
		for (uint32_t i = 0; i < n; i++)
			if (room_of(dirs[i], &r))
				bs_prom_real(&t, names[k], BS_LABELS({ "folder", dirs[i], 0 }),
					     k == 0 ? r.size : r.left);
	}
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}

static void renew(struct bs_documents *d, enum bs_document which)
{
	static char service[BS_METRICS_MAX]; /* this thread alone uses the buffer */
	const struct bs_keyed self = { BS_PEER_PAGE, d->site->web.key };
	const size_t cap = (which == BS_DOCUMENT_STATUS    ? BS_STATUS_MAX
			    : which == BS_DOCUMENT_METRICS ? BS_METRICS_MAX
							   : 0) +
			   OWN_MAX;
	char *out = malloc(cap);
	struct bs_fail why;
	int n;

	if (out == NULL)
		return;
	service[0] = '\0';
	if (which != BS_DOCUMENT_SCANS)
		(void)bs_status_ask_own(d->site, &self,
					which == BS_DOCUMENT_STATUS ? "json" : "metrics", service,
					sizeof(service), WAIT_MS, &why);
	n = which == BS_DOCUMENT_STATUS    ? compose_status(d, out, cap, service)
	    : which == BS_DOCUMENT_METRICS ? compose_metrics(d, out, cap, service)
					   : bs_kept_put(out, cap, d->site);
	if (n < 0) {
		free(out);
		return;
	}
	char *fits = realloc(out, (size_t)n);

	(void)bs_shelf_put(&d->shelf[which], (unsigned char *)(fits != NULL ? fits : out),
			   (size_t)n);
}

static void *fetch_documents(void *arg)
{
	struct bs_documents *d = arg;

	(void)pthread_mutex_lock(&d->lock);
	while (!d->quit) {
		for (int i = 0; i < BS_DOCUMENTS; i++) {
			if (!d->wanted[i])
				continue;
			d->wanted[i] = false;
			(void)pthread_mutex_unlock(&d->lock);
			renew(d, (enum bs_document)i);
			(void)eventfd_write(d->done_fd, 1);
			(void)pthread_mutex_lock(&d->lock);
		}
		if (!d->quit && !d->wanted[0] && !d->wanted[1] && !d->wanted[2])
			bs_lock_wait(&d->lock, &d->change, bs_now_ns() + INT64_C(60000000000));
	}
	(void)pthread_mutex_unlock(&d->lock);
	return NULL;
}

int bs_documents_open(struct bs_documents *d, const struct bs_site *site, struct bs_fail *why)
{
	memset(d, 0, sizeof(*d));
	d->site = site;
	for (int i = 0; i < BS_DOCUMENTS; i++)
		bs_shelf_open(&d->shelf[i], SHELF_MOST,
			      (size_t)SHELF_MOST * (BS_METRICS_MAX + OWN_MAX));
	bs_lock_init(&d->lock, &d->change);
	d->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	d->has_thread = d->done_fd >= 0 && bs_thread_start(&d->thread, fetch_documents, d) == 0;
	return d->has_thread ? 0 : bs_fail(why, BS_ERR_NOMEM, "the page's thread for documents");
}

void bs_documents_want(struct bs_documents *d, enum bs_document which)
{
	(void)pthread_mutex_lock(&d->lock);
	d->wanted[which] = true;
	(void)pthread_cond_broadcast(&d->change);
	(void)pthread_mutex_unlock(&d->lock);
}

void bs_documents_close(struct bs_documents *d)
{
	(void)pthread_mutex_lock(&d->lock);
	d->quit = true;
	(void)pthread_cond_broadcast(&d->change);
	(void)pthread_mutex_unlock(&d->lock);
	if (d->has_thread)
		(void)pthread_join(d->thread, NULL);
	for (int i = 0; i < BS_DOCUMENTS; i++)
		bs_shelf_close(&d->shelf[i]);
	if (d->done_fd >= 0)
		(void)close(d->done_fd);
}
