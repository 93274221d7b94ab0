/* board/service/herald.c - see herald.h */
#include "board/service/herald.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef BS_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "core/date.h"
#include "core/text.h"
#include "core/thread/clock.h"
#include "core/frame/state.h"
#include "ipc/seal/sign.h"

/* A peer that sends only nonsense must not fill the disk: a burst of lines is
 * allowed, then a rate. */
#define LINES_AT_ONCE 2000.0
#define LINES_PER_S   50.0

static void keep_error(struct bs_shared *s, const char *line)
{
	uint64_t n = atomic_load(&s->errors);
	char at[BS_UTC_BYTES];

	(void)snprintf(s->error[n % BS_LAST_ERRORS], sizeof(s->error[0]), "%s %s",
		       bs_utc_text(at, BS_UTC_ISO, time(NULL)), line);
	atomic_store(&s->errors, n + 1);
}

void bs_herald_say(struct bs_shm *shm, enum bs_log_level level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	bs_log(level, "%s", line);
	if (level <= BS_LOG_WARN)
		keep_error(shm->s, line);
}

/* True if the rate allows one more line. */
static bool within_rate(void)
{
	static double left = LINES_AT_ONCE;
	static int64_t last_ns;
	static uint64_t left_out;
	int64_t now = bs_now_ns();

	left += (double)(now - last_ns) * 1e-9 * LINES_PER_S;
	if (left > LINES_AT_ONCE)
		left = LINES_AT_ONCE;
	last_ns = now;
	if (left < 1.0) {
		left_out++;
		return false;
	}
	left -= 1.0;
	if (left_out != 0)
		bs_log(BS_LOG_WARN, "%llu lines were left out", (unsigned long long)left_out);
	left_out = 0;
	return true;
}

/* Writes a log line. In JSON the process that says it is a member of its own. */
static void say_of(enum bs_log_level level, const char *who, const char *words, const char *line)
{
	char members[6 * 480 + 16];
	struct bs_text t = { members, sizeof(members), 0, false };

	bs_text_put(&t, "\"text\":\"");
	bs_text_json(&t, words, 480);
	bs_text_put(&t, "\"");
	if (bs_log_is_json())
		bs_log_members(level, who, words, members);
	else
		bs_log(level, "%s", line);
}

static struct bs_signer signer;
static bool signs;

int bs_herald_sign(const char *file, struct bs_fail *why)
{
	const int rc = file[0] != '\0' ? bs_signer_read(&signer, file, why) : 0;

	signs = rc == 0 && file[0] != '\0';
	return rc;
}

/* Adds to an audit line its scan's number since the service began, and its signature. */
static void sign_line(struct bs_text *t, bool json, uint64_t number)
{
	char signature[BS_SIGN_TEXT];
	uint8_t hash[BS_CHAIN];

	bs_hash_line(hash, number, t->out, t->len);
	bs_sign_text(signature, &signer, hash);
	bs_text_put(t,
		    json ? ",\"signed\":{\"line\":%llu,\"signature\":\"%s\"}" : "; signed %llu %s",
		    (unsigned long long)number, signature);
}

/*
 * Writes one line for one scan, with all that may be asked for later and nothing of a patient.
 * nth: it is the nth since the service began.
 */
static void audit(const struct bs_scan_past *p, uint64_t nth)
{
	char members[4096];
	char words[900 + 128]; /* with a signature */
	char when[BS_UTC_BYTES];
	struct bs_text t = { members, sizeof(members), 0, false };
	struct bs_text line = { words, sizeof(words), 0, false };

	(void)bs_utc_text(when, BS_UTC_ISO, p->ended_ns / 1000000000);
	(void)snprintf(
		words, 900,
		"audit: scan %llu, session %016llx, protocol '%.63s', ended %s after %.3f "
		"s: %s; acquisitions %llu, images %llu, gaps %llu, duplicates %llu, rejected "
		"%llu, late %llu, undelivered %llu%s%.383s",
		(unsigned long long)p->number, (unsigned long long)p->session, p->protocol, when,
		(double)p->took_ns * 1e-9, bs_err_name(p->code),
		(unsigned long long)p->acquisitions, (unsigned long long)p->images,
		(unsigned long long)p->gaps, (unsigned long long)p->duplicates,
		(unsigned long long)p->rejected, (unsigned long long)p->late,
		(unsigned long long)p->undelivered, p->text[0] != '\0' ? "; " : "", p->text);
	bs_text_put(&t, "\"audit\":{\"scan\":%llu,\"session\":\"%016llx\",\"protocol\":\"",
		    (unsigned long long)p->number, (unsigned long long)p->session);
	bs_text_json(&t, p->protocol, sizeof(p->protocol));
	bs_text_put(&t,
		    "\",\"ended\":\"%s\",\"seconds\":%.3f,\"code\":%d,\"name\":\"%s\","
		    "\"acquisitions\":%llu,\"images\":%llu,\"gaps\":%llu,\"duplicates\":%llu,"
		    "\"rejected\":%llu,\"late\":%llu,\"undelivered\":%llu,\"text\":\"",
		    when, (double)p->took_ns * 1e-9, p->code, bs_err_name(p->code),
		    (unsigned long long)p->acquisitions, (unsigned long long)p->images,
		    (unsigned long long)p->gaps, (unsigned long long)p->duplicates,
		    (unsigned long long)p->rejected, (unsigned long long)p->late,
		    (unsigned long long)p->undelivered);
	bs_text_json(&t, p->text, sizeof(p->text));
	bs_text_put(&t, "\"}");
	bs_log_plain(words);
	line.len = strlen(words);
	if (signs)
		sign_line(bs_log_is_json() ? &t : &line, bs_log_is_json(), nth);
	bs_log_members(BS_LOG_INFO, "serve", words, members);
}

static void audit_all(struct bs_shm *shm)
{
	static uint64_t told;
	const uint64_t n = atomic_load(&shm->s->past_scans);
	/* the place of one more may be written to */
	const uint64_t lost = n - told >= BS_SCANS_PAST ? n - told - (BS_SCANS_PAST - 1) : 0;

	if (lost != 0)
		bs_herald_say(shm, BS_LOG_ERROR,
			      "%llu scans ended that have no line audit: this process did not run",
			      (unsigned long long)lost);
	for (told += lost; told != n; told++)
		audit(&shm->s->past[told % BS_SCANS_PAST], told + 1);
}

void bs_herald_drain(struct bs_shm *shm)
{
	static uint64_t lost[BS_WORKERS];
	struct bs_event e;
	char words[480];

	for (int i = 0; i < BS_WORKERS; i++) {
		struct bs_event_ring *r = &shm->s->worker[i].events;
		const char *who = bs_worker_name((enum bs_worker)i);

		while (bs_event_take(r, &e)) {
			enum bs_log_level level = bs_event_words(&e, words, sizeof(words));
			char line[512];

			(void)snprintf(line, sizeof(line), "%s: %s", who, words);
			if (within_rate())
				say_of(level, who, words, line);
			if (level <= BS_LOG_WARN)
				keep_error(shm->s, line);
		}
		uint64_t n = atomic_load(&r->lost);

		if (n != lost[i])
			bs_herald_say(shm, BS_LOG_WARN,
				      "%s: %llu events were lost (their ring was full)", who,
				      (unsigned long long)(n - lost[i]));
		lost[i] = n;
	}
	audit_all(shm);
}

void bs_herald_notify(const char *state)
{
#ifdef BS_SYSTEMD
	(void)sd_notify(0, state);
#else
	(void)state;
#endif
}

void bs_herald_alive(const struct bs_shm *shm, int64_t now_ns)
{
#ifdef BS_SYSTEMD
	static uint64_t period_us = UINT64_MAX;
	static int64_t last_ns;

	if (period_us == UINT64_MAX && sd_watchdog_enabled(0, &period_us) <= 0)
		period_us = 2000000; /* without a watchdog only the status line is sent */
	if (now_ns - last_ns < (int64_t)period_us * 500)
		return;
	last_ns = now_ns;
	/* Each message extends TimeoutStopSec while the service ends; node.drain_s is the limit. */
	(void)sd_notifyf(
		0, "WATCHDOG=1\n%sSTATUS=%s, scans: %llu, images: %llu",
		atomic_load(&shm->s->stop) != 0 ? "EXTEND_TIMEOUT_USEC=10000000\n" : "",
		bs_state_name((enum bs_state)atomic_load(&bs_scan_newest(shm->s->scan)->state)),
		(unsigned long long)atomic_load(&shm->s->totals.scans),
		(unsigned long long)atomic_load(&shm->s->totals.images));
#else
	(void)shm;
	(void)now_ns;
#endif
}
