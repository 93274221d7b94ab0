/*
 * test/support/expect.h - one service, one sender, and what they are expected to say to each other
 */
#ifndef BS_TEST_SUPPORT_EXPECT_H
#define BS_TEST_SUPPORT_EXPECT_H

#include "ipc/wire/xml.h"
#include "test/support/service.h"

static struct service service;
static struct peer p;

/* The code's name and the words of the reply stand in the log, but for words of a header: they do
 * not. */
static inline bool logged(int code, const char *words)
{
	const size_t n = code == BS_ERR_XML ? bs_mrdxml_bare(words) : strlen(words);
	char part[200];

	(void)snprintf(part, sizeof(part), "%s: %.*s", bs_err_name(code), n < 150 ? (int)n : 150,
		       words);
	return service_logs(&service, part) &&
	       (words[n] == '\0' || !service_logged(&service, words));
}

static inline void good_after(const char *what)
{
	CHECK(peer_good_scan(&p, "cart", 1), "%s: a good scan right after succeeds", what);
}

/* A REFUSE with this code comes, in words, and stands in the log. */
static inline void expect_refuse(const char *what, int code)
{
	bool came = peer_await(&p, BS_WIRE_REFUSE);

	CHECK(came && p.answer.code == code, "%s: %s \"%s\"", what, bs_err_name(p.answer.code),
	      came ? p.answer.text : "(nothing came)");
	CHECK(came && p.answer.text[0] != '\0' && logged(code, p.answer.text), "%s: logged", what);
}

static inline void expect_outcome(const char *what, int code)
{
	bool came = p.w.kind == BS_WIRE_OUTCOME || peer_await(&p, BS_WIRE_OUTCOME);

	CHECK(came && p.outcome.code == code && p.w.session == p.session, "%s: outcome %s \"%s\"",
	      what, bs_err_name(p.outcome.code), came ? p.outcome.text : "(nothing came)");
	if (code != 0)
		CHECK(came && p.outcome.text[0] != '\0', "%s: the outcome has words", what);
}

static inline int expect_run(void (*const tests[])(void), size_t n)
{
	bool up = service_start(&service);
	long pid;

	CHECK(up, "the service starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	pid = service_number(&service, "\"name\":\"ingest\"", "pid");
	for (size_t i = 0; up && i < n; i++)
		tests[i]();
	CHECK(pid > 0 && service_number(&service, "\"name\":\"ingest\"", "pid") == pid &&
		      service_number(&service, "\"name\":\"ingest\"", "restarts") == 0 &&
		      service_number(&service, "\"name\":\"recon\"", "restarts") == 0 &&
		      service_number(&service, "\"name\":\"emit\"", "restarts") == 0,
	      "the same three workers live: none was replaced");
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0,
	      "no slot of the pool was lost");
	peer_close(&p);
	return service_end(&service);
}

#endif
