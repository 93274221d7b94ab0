/* board/web/answer.c - see answer.h */
#include "board/web/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "board/status/doc.h"
#include "board/web/page.h"
#include "board/web/picture.h"
#include "core/thread/clock.h"

#define FRESH_NS  INT64_C(400000000)   /* largest age of a document that a browser is given */
#define LATEST_NS INT64_C(30000000000) /* longest time to read an answer */
#define BLOCK     32768u               /* bytes read from a shelf at a time */
#define LIST_MAX  ((size_t)BS_SHELF_MAX * 512)

/* State of a connection that waits for a document. */
struct request {
	int64_t asked_ns;
	int tries;
};

static const char *const csp =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static enum MHD_Result send_it(struct MHD_Connection *c, unsigned status, const char *type,
			       struct MHD_Response *r)
{
	enum MHD_Result done;

	if (r == NULL)
		return MHD_NO;
	(void)MHD_add_response_header(r, "Content-Type", type);
	(void)MHD_add_response_header(r, "Content-Security-Policy", csp);
	(void)MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	(void)MHD_add_response_header(r, "X-Frame-Options", "DENY");
	(void)MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	(void)MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	(void)MHD_add_response_header(r, "Cache-Control", "no-store");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_UNAUTHORIZED)
		(void)MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *words)
{
	return send_it(c, status, "text/plain; charset=utf-8",
		       MHD_create_response_from_buffer(strlen(words), (void *)(uintptr_t)words,
						       MHD_RESPMEM_MUST_COPY));
}

/* ---- who may ask ---- */

/* Compares tokens in a time that does not depend on where they differ. */
static bool same_token(const char *given, const char *token)
{
	const size_t n = strlen(given);
	const size_t m = strlen(token);
	unsigned differ = n != m;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned)((unsigned char)given[i] ^ (unsigned char)token[i % m]);
	return differ == 0;
}

/*
 * Without a token, only a request whose Host is a loopback name is answered. A page of another site
 * whose name was made to point here sends that site's name.
 */
static bool host_good(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	const char *colon = host != NULL ? strrchr(host, ':') : NULL;
	size_t n;

	if (host == NULL)
		return false;
	n = colon != NULL && strchr(colon, ']') == NULL ? (size_t)(colon - host) : strlen(host);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && strncasecmp(names[i], host, n) == 0)
			return true;
	return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool token_good(const struct bs_web *w, struct MHD_Connection *c)
{
	const char *given = header(c, "Authorization");

	return given != NULL && strncasecmp(given, "Bearer ", 7) == 0 &&
	       same_token(given + 7, w->token);
}

/* ---- answers from a shelf ---- */

struct reading {
	struct bs_shelf *shelf;
	uint64_t number;
	size_t from;
	int64_t until_ns;
};

static ssize_t read_on(void *arg, uint64_t at, char *to, size_t n)
{
	const struct reading *r = arg;
	const long got = bs_shelf_read(r->shelf, r->number, r->from + (size_t)at, to, n);

	if (got <= 0 || bs_now_ns() > r->until_ns)
		return MHD_CONTENT_READER_END_WITH_ERROR; /* newer items took its place */
	return (ssize_t)got;
}

static enum MHD_Result send_shelved(struct MHD_Connection *c, struct bs_shelf *shelf,
				    uint64_t number, size_t from, size_t len, const char *type)
{
	struct reading *r = malloc(sizeof(*r));

	if (r == NULL)
		return MHD_NO;
	*r = (struct reading){ shelf, number, from, bs_now_ns() + LATEST_NS };
	return send_it(c, MHD_HTTP_OK, type,
		       MHD_create_response_from_callback(len, BLOCK, read_on, r, free));
}

static enum MHD_Result send_document(struct bs_web *w, struct MHD_Connection *c, struct request *q,
				     enum bs_document which)
{
	struct bs_shelf *shelf = &w->documents.shelf[which];
	/* metrics must be as new as the question, since their reader gives them a time */
	const int64_t since = q->asked_ns - (which != BS_DOCUMENT_METRICS ? FRESH_NS : 0);
	uint64_t number;
	int64_t at_ns;
	size_t len;

	if (bs_shelf_newest(shelf, &number, &len, &at_ns) && at_ns >= since)
		return send_shelved(c, shelf, number, 0, len,
				    which != BS_DOCUMENT_METRICS
					    ? "application/json"
					    : "text/plain; version=0.0.4; charset=utf-8");
	if (q->tries++ > 2 || w->waiting == BS_WEB_CONNECTIONS)
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory for an answer, try again\n");
	bs_documents_want(&w->documents, which);
	w->waits[w->waiting++] = c;
	MHD_suspend_connection(c);
	return MHD_YES;
}

void bs_web_resume(struct bs_web *w)
{
	const uint32_t n = w->waiting;

	w->waiting = 0;
	for (uint32_t i = 0; i < n; i++)
		MHD_resume_connection(w->waits[i]);
}

/* ---- pictures ---- */

static void put_picture(struct bs_doc *d, const struct bs_picture *p, uint64_t number)
{
	static const char *const qualities[] = { "complete", "partial", "late", "degraded" };
	char session[24];

	bs_doc_open(d, NULL, '{');
	bs_doc_number(d, "number", number);
	(void)snprintf(session, sizeof(session), "%016" PRIx64, p->session);
	bs_doc_text(d, "session", session);
	bs_doc_number(d, "image", p->image & UINT32_MAX);
	bs_doc_flag(d, "preview", p->image >> 32 != 0);
	bs_doc_value(d, "matrix", "[%u,%u,%u]", p->matrix[0], p->matrix[1], p->matrix[2]);
	bs_doc_value(d, "shown", "[%u,%u,%u]", p->nx, p->ny, p->planes);
	bs_doc_value(d, "fov_mm", "[%.6g,%.6g,%.6g]", (double)p->fov_mm[0], (double)p->fov_mm[1],
		     (double)p->fov_mm[2]);
	bs_doc_value(d, "least", "%.9g", (double)p->least);
	bs_doc_value(d, "most", "%.9g", (double)p->most);
	bs_doc_value(d, "at", "[%u,%u,%u]", p->slice, p->contrast, p->repetition);
	bs_doc_value(d, "latency_us", "%d", p->latency_us);
	bs_doc_value(d, "budget_us", "%d", p->budget_us);
	bs_doc_flag(d, "missed", p->missed != 0);
	bs_doc_value(d, "iterations", "%d", p->iterations);
	bs_doc_value(d, "missing", "%d", p->missing);
	bs_doc_text(d, "quality", (unsigned)p->quality < 4 ? qualities[(unsigned)p->quality] : "?");
	bs_doc_close(d);
}

/* Sends the list of pictures on the shelf, the newest last. */
static enum MHD_Result send_list(struct bs_web *w, struct MHD_Connection *c)
{
	struct bs_shelf *shelf = &w->taker.shelf;
	char *out = malloc(LIST_MAX);
	uint64_t last = 0;
	int64_t at_ns;
	struct bs_doc d;
	size_t len;
	int n;

	if (out == NULL)
		return MHD_NO;
	(void)bs_shelf_newest(shelf, &last, &len, &at_ns);
	bs_doc_begin(&d, out, LIST_MAX);
	bs_doc_flag(&d, "taken", w->taker.has_thread);
	bs_doc_flag(&d, "connected", atomic_load(&w->taker.connected));
	bs_doc_open(&d, "pictures", '[');
	for (uint64_t i = last > BS_SHELF_MAX ? last - BS_SHELF_MAX + 1 : 1; i <= last; i++) {
		struct bs_picture p;

		if (bs_shelf_read(shelf, i, 0, &p, sizeof(p)) == (long)sizeof(p))
			put_picture(&d, &p, i);
	}
	bs_doc_close(&d);
	n = bs_doc_end(&d);
	if (n < 0) {
		free(out);
		return MHD_NO;
	}
	return send_it(c, MHD_HTTP_OK, "application/json",
		       MHD_create_response_from_buffer((size_t)n, out, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result send_picture(struct bs_web *w, struct MHD_Connection *c, const char *text)
{
	char *end;
	const uint64_t number = strtoull(text, &end, 10);
	size_t len;

	if (*text < '0' || *text > '9' || *end != '\0')
		return say(c, MHD_HTTP_NOT_FOUND, "/picture/NUMBER: a number of /pictures.json\n");
	if (!bs_shelf_find(&w->taker.shelf, number, &len))
		return say(c, MHD_HTTP_NOT_FOUND, "this picture is not there any more\n");
	return send_shelved(c, &w->taker.shelf, number, sizeof(struct bs_picture),
			    len - sizeof(struct bs_picture), "application/octet-stream");
}

/* ---- a request ---- */

static enum MHD_Result send_data(struct bs_web *w, struct MHD_Connection *c, const char *url,
				 struct request *q)
{
	if (w->token[0] == '\0' ? !host_good(header(c, "Host")) : !token_good(w, c)) {
		atomic_fetch_add(&w->documents.denied, 1);
		return w->token[0] == '\0'
			       ? say(c, MHD_HTTP_FORBIDDEN,
				     "without a token only localhost may be asked, by that name\n")
			       : say(c, MHD_HTTP_UNAUTHORIZED,
				     "Authorization: Bearer TOKEN is needed (web.token_file)\n");
	}
	if (strcmp(url, "/status.json") == 0)
		return send_document(w, c, q, BS_DOCUMENT_STATUS);
	if (strcmp(url, "/metrics") == 0)
		return send_document(w, c, q, BS_DOCUMENT_METRICS);
	if (strcmp(url, "/scans.json") == 0)
		return send_document(w, c, q, BS_DOCUMENT_SCANS);
	if (strcmp(url, "/pictures.json") == 0)
		return send_list(w, c);
	if (strncmp(url, "/picture/", 9) == 0)
		return send_picture(w, c, url + 9);
	return say(c, MHD_HTTP_NOT_FOUND,
		   "there is /, /metrics, /status.json, /scans.json, /pictures.json and "
		   "/picture/NUMBER\n");
}

enum MHD_Result bs_web_answer(void *web, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **own)
{
	struct bs_web *w = web;
	struct request *q = *own;

	(void)version;
	(void)upload;
	*upload_size = 0;
	if (q == NULL) { /* the first call for a request: its headers are there */
		q = *own = calloc(1, sizeof(*q));
		if (q == NULL)
			return MHD_NO;
		q->asked_ns = bs_now_ns();
		atomic_fetch_add(&w->documents.requests, 1);
		/* an answer in this call ends the connection, which suits requests with a body */
		return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0
			       ? MHD_YES
			       : say(c, MHD_HTTP_METHOD_NOT_ALLOWED,
				     "only GET and HEAD: a page to look at\n");
	}
	for (const struct bs_page *p = bs_pages; p->url != NULL; p++)
		/* the page needs no token: it holds only the program's own words */
		if (strcmp(url, p->url) == 0)
			return send_it(c, MHD_HTTP_OK, p->type,
				       MHD_create_response_from_buffer((size_t)(p->end - p->begin),
								       (void *)(uintptr_t)p->begin,
								       MHD_RESPMEM_PERSISTENT));
	return send_data(w, c, url, q);
}

void bs_web_answered(void *web, struct MHD_Connection *c, void **own,
		     enum MHD_RequestTerminationCode why)
{
	struct bs_web *w = web;

	(void)why;
	for (uint32_t i = 0; i < w->waiting; i++)
		if (w->waits[i] == c)
			w->waits[i--] = w->waits[--w->waiting];
	free(*own);
	*own = NULL;
}
