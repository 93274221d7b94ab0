/*
 * test/soak/soak_kill.c - workers killed and stopped at random while scans run, for as long as
 * asked
 *
 * usage: BORESIDE=path soak_kill [seconds [seed]]. Every scan ends with an outcome: code 0 with all
 * its images, or BS_ERR_ABORTED. At the end no slot is missing and a scan is good.
 */
#define _GNU_SOURCE
#include "test/support/service.h"

static struct service service;
static struct peer p;

static pid_t worker_pid(const char *worker)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "\"name\":\"%s\",\"pid\"", worker);
	return (pid_t)service_number(&service, where, "pid");
}

static void hurt(uint64_t *seed)
{
	static const char *const workers[] = { "ingest", "recon", "emit" };
	pid_t pid = worker_pid(workers[(int)(check_uniform(seed) * 3)]);

	if (pid > 0)
		(void)kill(pid, check_uniform(seed) < 0.9 ? SIGKILL : SIGSTOP);
}

/* Reads what is there; true when the outcome has come. */
static bool over(int ms)
{
	int64_t until = bs_now_ns() + (int64_t)ms * 1000000;

	do {
		if (peer_hear(&p, ms) && p.w.kind == BS_WIRE_OUTCOME && p.w.session == p.session)
			return true;
	} while (bs_now_ns() < until);
	return false;
}

/* OPEN, again every second until it is answered. */
static bool begin(void)
{
	char xml[SERVICE_XML_MAX];
	size_t n = peer_xml(xml, "cart", true);
	int64_t give_up = await_limit();

	(void)peer_new_session(&p);
	while (bs_now_ns() < give_up) {
		int64_t again = bs_now_ns() + 1000000000;

		(void)peer_header(&p, "cart", xml, n);
		while (bs_now_ns() < again) {
			peer_mend(&p);
			if (!peer_hear(&p, 100) || p.w.session != p.session)
				continue;
			if (p.w.kind == BS_WIRE_ACCEPT)
				return true;
			if (p.w.kind ==
			    BS_WIRE_OUTCOME) /* its ACCEPT was lost, and it fell silent */
				(void)peer_new_session(&p);
		}
	}
	return false;
}

/* Sends a scan as WIRE.md asks, sending again what is not acknowledged; false: no outcome came. */
static bool scan(uint64_t *seed, unsigned frames, bool disturb)
{
	unsigned total = frames * 32;
	unsigned hurt_at = (unsigned)(check_uniform(seed) * total);
	int64_t give_up;
	int64_t moved = bs_now_ns();
	uint64_t last = 0;
	unsigned char close[8];

	if (!begin())
		return false;
	give_up = await_limit();
	for (unsigned i = 0; bs_now_ns() < give_up;) {
		if (over(i < total && i < p.acked + 200 ? 0 : 20))
			return true;
		if (i < total && i < p.acked + 200) {
			if (disturb && i == hurt_at)
				hurt(seed);
			p.seq = i + 1;
			(void)peer_acq(&p, "cart", i % 32, i / 32);
			i++;
			if (i == total) {
				bs_wire_put_u64(close, total);
				(void)peer_say(&p, BS_WIRE_CLOSE, total + 1, close, 8);
			}
		}
		peer_mend(&p);
		if (p.acked != last) {
			last = p.acked;
			moved = bs_now_ns();
		}
		if (bs_now_ns() - moved > 1000000000) { /* again, oldest first */
			moved = bs_now_ns();
			i = (unsigned)(p.acked < total ? p.acked : total - 1);
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 60;
	uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 12345;
	int64_t until;
	unsigned scans = 0;
	unsigned good = 0;
	unsigned aborted = 0;
	unsigned other = 0;
	unsigned silent = 0;

	CHECK(service_start_with(&service, "heartbeat_ms = 100.0; stall_ms = 500.0;",
				 SERVICE_SINKS SERVICE_PROTOCOLS, NULL),
	      "the service starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	until = bs_now_ns() + (int64_t)seconds * 1000000000;
	while (bs_now_ns() < until && silent == 0) {
		unsigned frames = 1 + (unsigned)(check_uniform(&seed) * 8);

		scans++;
		if (!scan(&seed, frames, true)) {
			silent++;
			printf("# scan %u: no outcome; acknowledged %llu; %llu connections, now "
			       "%llu\n",
			       scans, (unsigned long long)p.acked,
			       (unsigned long long)bs_endpoint_connections(&p.socket),
			       (unsigned long long)bs_endpoint_connections_now(&p.socket));
		} else if (p.outcome.code == 0 && p.outcome.images == frames)
			good++;
		else if (p.outcome.code == BS_ERR_ABORTED)
			aborted++;
		else if (++other < 5)
			printf("# scan %u: outcome %s, %llu of %u images: %s\n", scans,
			       bs_err_name(p.outcome.code), (unsigned long long)p.outcome.images,
			       frames, p.outcome.text);
	}
	printf("# %u scans: %u whole, %u aborted, %u otherwise, %u without an end\n", scans, good,
	       aborted, other, silent);
	CHECK(silent == 0, "every scan had an outcome");
	CHECK(other == 0, "whole or aborted, nothing else");
	await_pause_ms(1500);
	CHECK(scan(&seed, 3, false) && p.outcome.code == 0,
	      "a scan that nobody disturbs is good: %s", p.outcome.text);
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "no slot is missing");
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	service_remove(&service);
	return check_done();
}
