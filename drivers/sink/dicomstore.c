/* drivers/sink/dicomstore.c - see dicomstore.h */
#include "drivers/sink/dicomstore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "drivers/file/program.h"

#define LIMIT_MS   90000
#define WAIT_MAX_S 10u

/*
 * storescu's exit status is 0, or the upper byte of the status that the PACS answered (PS3.4,
 * B.2.3), or a smaller number. That is 1 for every error before the answer: only storescu's words
 * tell these errors apart.
 */
#define MISMATCHED 0xa9
#define WARNED     0xb0
#define UNREAD     0xc0                                  /* first of the status values up to 0xcf */
#define NO_CONTEXT "No Acceptable Presentation Contexts" /* the PACS takes no such image */

int bs_dicomstore_parse(struct bs_dicomstore *s, const char *address, struct bs_fail *why)
{
	const char *at = strchr(address, '@');
	const char *colon = strrchr(address, ':');
	const char *host = at != NULL ? at + 1 : address;
	size_t n;

	memset(s, 0, sizeof(*s));
	if (at == NULL || colon == NULL || colon < at)
		return bs_fail(why, BS_ERR_CONFIG, "'%.100s' is not AET@host:port", address);
	n = (size_t)(at - address);
	if (n == 0 || n >= BS_DICOM_AET || address[0] == ' ' || address[0] == '-')
		return bs_fail(why, BS_ERR_CONFIG, "'%.*s': a title has 1 to 16 characters",
			       (int)(n < 100 ? n : 100), address);
	for (size_t i = 0; i < n; i++)
		if (address[i] < ' ' || address[i] > '~' || address[i] == '\\')
			return bs_fail(why, BS_ERR_CONFIG, "'%.*s': a title is plain letters",
				       (int)n, address);
	memcpy(s->aet, address, n);
	n = (size_t)(colon - host);
	if (n == 0 || n >= BS_DICOM_HOST || host[0] == '-' ||
	    strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != n)
		return bs_fail(why, BS_ERR_CONFIG, "'%.100s': no host before the port", address);
	memcpy(s->host, host, n);
	n = strlen(colon + 1);
	if (n == 0 || n > 5 || strspn(colon + 1, "0123456789") != n ||
	    strtol(colon + 1, NULL, 10) < 1 || strtol(colon + 1, NULL, 10) > 65535)
		return bs_fail(why, BS_ERR_CONFIG, "'%.100s': a port is 1 to 65535", address);
	memcpy(s->port, colon + 1, n + 1);
	return 0;
}

int bs_dicomstore_open(struct bs_dicomstore *s, const char *address, struct bs_fail *why)
{
	int rc = bs_dicomstore_parse(s, address, why);

	return rc != 0 ? rc : bs_program_there("storescu", "dcmtk", why);
}

bool bs_dicomstore_due(const struct bs_dicomstore *s, struct bs_fail *why)
{
	if (s->again_ns == 0 || bs_now_ns() >= s->again_ns)
		return true;
	(void)bs_fail(why, BS_ERR_IO, "%s", s->why);
	return false;
}

int bs_dicomstore_send(struct bs_dicomstore *s, const char *path, struct bs_fail *why)
{
	/* -R: proposes only what the file needs; -to, -ta, -td: time limits in s */
	const char *const argv[] = { "storescu", "-R",    "-to",  "5",           "-ta",  "15",
				     "-td",      "60",    "-aet", BS_DICOM_OURS, "-aec", s->aet,
				     s->host,    s->port, path,   NULL };
	char said[300];
	char status[16] = "";
	int rc = bs_program_run(argv, ".", LIMIT_MS, said, sizeof(said), why);

	if (rc == 0 || rc == WARNED) {
		s->again_ns = 0;
		s->wait_s = 0;
		return 0;
	}
	if (rc == MISMATCHED || (rc >= UNREAD && rc <= 0xcf) ||
	    (rc > 0 && strstr(said, NO_CONTEXT) != NULL))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "%s@%s:%s refuses it (%02x): %.120s",
			       s->aet, s->host, s->port, (unsigned)rc, said);
	s->wait_s = s->wait_s == 0 ? 1 : s->wait_s < WAIT_MAX_S / 2 ? 2 * s->wait_s : WAIT_MAX_S;
	s->again_ns = bs_now_ns() + (int64_t)s->wait_s * 1000000000;
	if (rc > 0)
		(void)snprintf(status, sizeof(status), " (%02x)", (unsigned)rc);
	(void)snprintf(s->why, sizeof(s->why), "%s@%.60s:%s does not store%s: %.100s", s->aet,
		       s->host, s->port, status, rc < 0 && why != NULL ? why->text : said);
	return bs_fail(why, BS_ERR_IO, "%s", s->why);
}
