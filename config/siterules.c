/* config/siterules.c - the rules of a site's own keys; see rules.h */
#include "config/rules.h"

#include <stdio.h>
#include <string.h>

#include "config/rule.h"
#include "core/memory/pools.h"

/* 127.a.b.c:port or [::1]:port */
static bool loopback(const char *at)
{
	unsigned octet[4];
	unsigned port = 0;
	int n = 0;

	if (strncmp(at, "[::1]:", 6) == 0) {
		at += 6;
	} else {
		/* NOLINTNEXTLINE(cert-err34-c): three digits fit, and the count is checked */
		if (sscanf(at, "%3u.%3u.%3u.%3u:%n", &octet[0], &octet[1], &octet[2], &octet[3],
			   &n) != 4 ||
		    n == 0 || octet[0] != 127 || octet[1] > 255 || octet[2] > 255 || octet[3] > 255)
			return false;
		at += n;
	}
	n = 0;
	/* NOLINTNEXTLINE(cert-err34-c): five digits fit */
	return sscanf(at, "%5u%n", &port, &n) == 1 && at[n] == '\0' && port > 0 && port < 65536 &&
	       strspn(at, "0123456789") == strlen(at);
}

static void rule_url(const struct bs_reading *r, const struct bs_scope *s, const char *key,
		     const char *url, bool needed)
{
	size_t path = strlen(url) - (strlen(url) < 6 ? strlen(url) : 6);

	if (!sound(s, key, NULL))
		return;
	if (url[0] == '\0') {
		if (needed)
			fault(r, s, key, "must not be empty");
	} else if (strncmp(url, "tcp://", 6) == 0) {
		if (!loopback(url + 6))
			fault(r, s, key, "%s: tcp is open to loopback only: tcp://127.0.0.1:PORT",
			      url);
	} else if (strncmp(url, "ws://", 5) == 0) {
		fault(r, s, key, "%s: ws is refused (crafted handshakes end the process)", url);
	} else if (strncmp(url, "ipc://", 6) != 0) {
		fault(r, s, key, "%s: neither ipc:// nor tcp://", url);
	} else if (path == 0) {
		fault(r, s, key, "a path must follow ipc://");
	} else if (path > BS_IPC_PATH_MAX) {
		fault_near(r, s, key, "node.run_dir",
			   "a socket's path of %zu characters is too long, at most %u", path,
			   BS_IPC_PATH_MAX);
	}
}

static void rule_endpoints(const struct bs_reading *r, const struct bs_scope *s,
			   const struct bs_site *site)
{
	const struct {
		const char *key, *url;
	} all[] = {
		{ "endpoints.kspace", site->kspace_url },
		{ "endpoints.archive", site->archive_url },
		{ "endpoints.viewers", site->viewers_url },
		{ "endpoints.images", site->images_url },
		{ "endpoints.status", site->status_url },
	};

	for (size_t i = 0; i < 5; i++) {
		rule_url(r, s, all[i].key, all[i].url, i == 0 || i == 4);
		for (size_t j = 0; j < i; j++)
			if (all[i].url[0] != '\0' && strcmp(all[i].url, all[j].url) == 0)
				fault(r, s, all[i].key, "the same as %s", all[j].key);
	}
}

static void rule_memory(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_site *site, const struct bs_scope *protocols)
{
	struct bs_pools pools;
	struct bs_fail why;

	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "matrix", "coils", "samples", "discard", "image.combine",
			   "image.output", "image.matrix", "method", NULL))
			return;
	if (!sound(s, "node.acq_slots", "node.image_slots", "node.memory_mib", NULL))
		return;
	if (bs_pools_size(&pools, site, &why) != 0)
		fault(r, s, "node.acq_slots", "%s", why.text);
	else if (pools.total_bytes > (uint64_t)site->memory_mib << 20)
		fault(r, s, "node.memory_mib",
		      "%u MiB are too few: the shared pools need %llu x %llu + %llu x %llu bytes",
		      site->memory_mib, (unsigned long long)pools.acq_slots,
		      (unsigned long long)pools.acq_bytes, (unsigned long long)pools.image_slots,
		      (unsigned long long)pools.image_bytes);
}

/* The protocol with the largest image; all of them go to every taker. */
static const struct bs_protocol *largest(const struct bs_site *site)
{
	const struct bs_protocol *most = &site->protocol[0];

	for (uint32_t i = 1; i < site->protocols; i++)
		if (bs_protocol_image_bytes(&site->protocol[i]) > bs_protocol_image_bytes(most))
			most = &site->protocol[i];
	return most;
}

static void rule_spill(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_site *site, const struct bs_scope *protocols)
{
	struct bs_pools pools;
	struct bs_fail why;
	uint64_t need;

	if (!sound(s, "overload.archive", "overload.sinks", "overload.spill_dir",
		   "overload.spill_mib", NULL))
		return;
	if ((site->overload.archive == BS_POLICY_SPILL ||
	     site->overload.sinks == BS_POLICY_SPILL) &&
	    site->overload.spill_dir[0] == '\0')
		fault_near(r, s, "overload.spill_dir",
			   site->overload.sinks == BS_POLICY_SPILL ? "overload.sinks"
								   : "overload.archive",
			   "must be given: images are spilled to it");
	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "matrix", "coils", "image.combine", "image.output",
			   "image.matrix", "method", NULL))
			return;
	if (!bs_site_spills(site) || site->protocols == 0 || bs_pools_size(&pools, site, &why) != 0)
		return;
	need = pools.image_bytes;
	if (need > (uint64_t)site->overload.spill_mib << 20)
		fault_near(
			r, s, "overload.spill_mib", "overload.spill_dir",
			"%u MiB do not hold one image of protocol '%s': it takes %llu bytes, %llu "
			"MiB",
			site->overload.spill_mib, largest(site)->name, (unsigned long long)need,
			(unsigned long long)((need + (1u << 20) - 1) >> 20));
}

static void rule_log(const struct bs_reading *r, const struct bs_scope *s,
		     const struct bs_site *site, const struct bs_scope *protocols)
{
	uint64_t most = 0;

	if (!sound(s, "log.dir", "log.mode", "log.buffer_mib", NULL))
		return;
	for (uint32_t i = 0; i < site->protocols; i++) {
		if (!sound(&protocols[i], "coils", "samples", "discard", NULL))
			return;
		if (bs_pools_acq_message(&site->protocol[i]) > most)
			most = bs_pools_acq_message(&site->protocol[i]);
	}
	if (bs_site_logs(site) && most > (uint64_t)site->log.buffer_mib << 18)
		fault_near(r, s, "log.buffer_mib", "log.dir",
			   "%u MiB do not hold four messages of %llu bytes", site->log.buffer_mib,
			   (unsigned long long)most);
}

void bs_rules_site(const struct bs_reading *r, const struct bs_scope *s, const struct bs_site *site,
		   const struct bs_scope *sinks, const struct bs_scope *protocols)
{
	if (sound(s, "node.run_dir", NULL) && site->run_dir[0] == '\0')
		fault(r, s, "node.run_dir", "must not be empty");
	if (sound(s, "node.heartbeat_ms", "node.stall_ms", NULL) &&
	    site->stall_ms < 2.0 * site->heartbeat_ms)
		fault(r, s, "node.stall_ms", "%g is less than twice heartbeat_ms, %g",
		      site->stall_ms, site->heartbeat_ms);
	rule_endpoints(r, s, site);
	rule_spill(r, s, site, protocols);
	rule_log(r, s, site, protocols);
	for (uint32_t i = 0; i < site->sinks; i++) {
		if (!sound(&sinks[i], "type", "dir", NULL))
			continue;
		if (site->sink[i].dir[0] == '\0')
			fault(r, &sinks[i], "dir", "must not be empty");
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(site->sink[i].type, site->sink[j].type) == 0 &&
			    strcmp(site->sink[i].dir, site->sink[j].dir) == 0)
				fault(r, &sinks[i], "dir", "the same as %s (line %u)",
				      sinks[j].label, sinks[j].line);
	}
	for (uint32_t i = 0; i < site->protocols; i++)
		for (uint32_t j = 0; j < i; j++)
			if (sound(&protocols[i], "name", NULL) &&
			    sound(&protocols[j], "name", NULL) &&
			    strcmp(site->protocol[i].name, site->protocol[j].name) == 0)
				fault(r, &protocols[i], "name",
				      "\"%s\" is already the name of %s (line %u)",
				      site->protocol[i].name, protocols[j].label,
				      protocols[j].line);
	rule_memory(r, s, site, protocols);
}
