/*
 * test/support/page.h - what the page in a browser answers, for the tests beside test/replay/page.c
 *
 * page_get asks once; reads end after AWAIT_MS: a hang. Include after test/support/service.h.
 */
#ifndef BS_TEST_SUPPORT_PAGE_H
#define BS_TEST_SUPPORT_PAGE_H

#include "test/support/mrd_client.h"

static char page_text[1 << 20]; /* the last answer, headers and all */

static inline bool page_get(unsigned port, const char *path)
{
	char request[128];
	const int n =
		snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	struct mrd_client c; /* a socket, with its limits */
	size_t len = 0;
	ssize_t more = 1;

	if (!mrd_open(&c, (int)port) || !mrd_send(&c, request, (size_t)n))
		more = 0;
	while (more > 0 && len < sizeof(page_text) - 1) {
		more = recv(c.fd, page_text + len, sizeof(page_text) - 1 - len, 0);
		len += more > 0 ? (size_t)more : 0;
	}
	page_text[len] = '\0';
	mrd_shut(&c);
	return strncmp(page_text, "HTTP/1.1 200", 12) == 0;
}

/* It has this in its answer. */
static inline bool page_has(unsigned port, const char *path, const char *words)
{
	return page_get(port, path) && strstr(page_text, words) != NULL;
}

/* The port that the newest page said in the log, where so many pages have; 0: not yet. */
static inline unsigned page_port(const struct service *s, unsigned pages)
{
	static char text[1 << 20];
	const char *words = "the page is at http://127.0.0.1:";
	const int fd = open(s->log, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	unsigned port = 0;

	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (const char *at = strstr(text, words); at != NULL && pages > 0;
	     at = strstr(at + 1, words), pages--)
		port = strchr(at, '\n') != NULL ? (unsigned)strtoul(at + strlen(words), NULL, 10)
						: 0;
	return pages == 0 ? port : 0;
}

#endif
