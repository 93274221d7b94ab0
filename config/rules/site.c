/* config/rules/site.c - the rules of a site's own keys; see rules.h */
#include "config/rules.h"

#include <stdio.h>
#include <string.h>

#include "config/rule.h"
#include "core/memory/pools.h"
#include "core/peers.h"

enum reach { NOWHERE, LOOPBACK, BEYOND };

/* How far an address reaches: a.b.c.d:port or [::1]:port. */
static enum reach reach_of(const char *at)
{
	unsigned octet[4] = { 127 };
	unsigned port = 0;
	int n = 0;

	if (strncmp(at, "[::1]:", 6) == 0) {
		at += 6;
	} else {
		/* NOLINTNEXTLINE(cert-err34-c): three digits fit, and the count is checked */
		if (sscanf(at, "%3u.%3u.%3u.%3u:%n", &octet[0], &octet[1], &octet[2], &octet[3],
			   &n) != 4 ||
		    n == 0 || octet[0] > 255 || octet[1] > 255 || octet[2] > 255 || octet[3] > 255)
			return NOWHERE;
		at += n;
	}
	n = 0;
	/* NOLINTNEXTLINE(cert-err34-c): five digits fit */
	if (sscanf(at, "%5u%n", &port, &n) != 1 || at[n] != '\0' || port == 0 || port > 65535 ||
	    strspn(at, "0123456789") != strlen(at))
		return NOWHERE;
	return octet[0] == 127 ? LOOPBACK : BEYOND;
}

/*
 * Rules of a tcp URL. roles: those of peers that may speak there once it is sealed; 0: it cannot be
 * sealed.
 */
static void rule_tcp(const struct bs_scope *s, const char *key, const char *url, uint32_t roles)
{
	const struct bs_site *site = s->base;
	const enum reach reach = reach_of(url + 6);
	bool any = false;

	for (uint32_t i = 0; i < site->keys.peers; i++)
		any = any || (site->keys.peer[i].roles & roles) != 0;
	if (reach == BEYOND && roles == 0)
		fault(s, key,
		      "%s: tcp is open to loopback only here, for it cannot be sealed: takers of "
		      "other hosts ask at endpoints.images",
		      url);
	else if (reach == NOWHERE || (reach == BEYOND && site->keys.own[0] == '\0'))
		fault(s, key, "%s: tcp is open to loopback only: tcp://127.0.0.1:PORT%s", url,
		      reach == BEYOND ? "; beyond it with keys.own and keys.peers" : "");
	else if (bs_site_seals(site, url) && roles != 0 && !any)
		fault(s, key, "%s: none of keys.peers has a role for it", url);
}

static void rule_url(const struct bs_scope *s, const char *key, const char *url, bool needed,
		     uint32_t roles)
{
	size_t path = strlen(url) - (strlen(url) < 6 ? strlen(url) : 6);

	if (!sound(s, key, NULL))
		return;
	if (url[0] == '\0') {
		if (needed)
			fault(s, key, "must not be empty");
	} else if (strncmp(url, "tcp://", 6) == 0) {
		rule_tcp(s, key, url, roles);
	} else if (strncmp(url, "ws://", 5) == 0) {
		fault(s, key, "%s: ws is refused (crafted handshakes end the process)", url);
	} else if (strncmp(url, "ipc://", 6) != 0) {
		fault(s, key, "%s: neither ipc:// nor tcp://", url);
	} else if (path == 0) {
		fault(s, key, "a path must follow ipc://");
	} else if (path > BS_IPC_PATH_MAX) {
		fault_near(s, key, "node.run_dir",
			   "a socket's path of %zu characters is too long, at most %u", path,
			   BS_IPC_PATH_MAX);
	}
}

struct endpoint_role {
	const char *key, *url;
	uint32_t roles; /* roles, one of which a peer there must have; 0: it is never sealed */
};

static void rule_endpoints(const struct bs_scope *s, const struct bs_site *site)
{
	const struct endpoint_role all[] = {
		{ "endpoints.kspace", site->kspace_url, BS_ROLE_SCANNER },
		{ "endpoints.archive", site->archive_url, 0 },
		{ "endpoints.viewers", site->viewers_url, 0 },
		{ "endpoints.images", site->images_url, BS_ROLE_ARCHIVE | BS_ROLE_VIEWER },
		{ "endpoints.status", site->status_url, BS_ROLE_STATUS },
	};

	for (size_t i = 0; i < 5; i++) {
		rule_url(s, all[i].key, all[i].url, i == 0 || i == 4, all[i].roles);
		for (size_t j = 0; j < i; j++)
			if (all[i].url[0] != '\0' && strcmp(all[i].url, all[j].url) == 0)
				fault(s, all[i].key, "the same as %s", all[j].key);
	}
}

static void rule_memory(const struct bs_scope *s, const struct bs_site *site,
			const struct bs_scope *protocols)
{
	struct bs_pools pools;
	struct bs_fail why;

	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "matrix", "coils", "samples", "discard", "image.combine",
			   "image.output", "image.matrix", "image.volume", "slices", "method",
			   NULL))
			return;
	if (!sound(s, "node.acq_slots", "node.image_slots", "node.memory_mib", NULL))
		return;
	if (bs_pools_size(&pools, site, &why) != 0)
		fault(s, "node.acq_slots", "%s", why.text);
	else if (pools.total_bytes > (uint64_t)site->memory_mib << 20)
		fault(s, "node.memory_mib",
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
		if (bs_protocol_leaving_bytes(&site->protocol[i]) > bs_protocol_leaving_bytes(most))
			most = &site->protocol[i];
	return most;
}

static void rule_spill(const struct bs_scope *s, const struct bs_site *site,
		       const struct bs_scope *protocols)
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
		fault_near(s, "overload.spill_dir",
			   site->overload.sinks == BS_POLICY_SPILL ? "overload.sinks"
								   : "overload.archive",
			   "must be given: images are spilled to it");
	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "matrix", "coils", "image.combine", "image.output",
			   "image.matrix", "image.volume", "slices", "method", NULL))
			return;
	if (!bs_site_spills(site) || site->protocols == 0 || bs_pools_size(&pools, site, &why) != 0)
		return;
	need = pools.image_bytes;
	if (need > (uint64_t)site->overload.spill_mib << 20)
		fault_near(
			s, "overload.spill_mib", "overload.spill_dir",
			"%u MiB do not hold one image of protocol '%s': it takes %llu bytes, %llu "
			"MiB",
			site->overload.spill_mib, largest(site)->name, (unsigned long long)need,
			(unsigned long long)((need + (1u << 20) - 1) >> 20));
}

static void rule_log(const struct bs_scope *s, const struct bs_site *site,
		     const struct bs_scope *protocols)
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
		fault_near(s, "log.buffer_mib", "log.dir",
			   "%u MiB do not hold four messages of %llu bytes", site->log.buffer_mib,
			   (unsigned long long)most);
}

static void rule_sink(const struct bs_scope *s, const struct bs_site *site,
		      const struct bs_scope *sinks, uint32_t i)
{
	const struct bs_sink_spec *k = &site->sink[i];

	if (!sound(&sinks[i], "type", "dir", "store", NULL))
		return;
	if (k->dir[0] == '\0')
		fault(&sinks[i], "dir", "must not be empty");
	if (k->store[0] != '\0' && strcmp(k->type, "dicom") != 0)
		fault(&sinks[i], "store", "files of type %s are stored nowhere: dicom alone is",
		      k->type);
	else if (k->store[0] != '\0' && sound(s, "overload.sinks", NULL) &&
		 site->overload.sinks != BS_POLICY_SPILL)
		fault(&sinks[i], "store",
		      "needs overload.sinks = \"spill\": what a PACS that is away lacks waits "
		      "on the disk, and holds nothing up");
	for (uint32_t j = 0; j < i; j++)
		if (strcmp(site->sink[i].type, site->sink[j].type) == 0 &&
		    strcmp(site->sink[i].dir, site->sink[j].dir) == 0)
			fault(&sinks[i], "dir", "the same as %s (line %u)", sinks[j].label,
			      sinks[j].line);
}

void bs_rules_site(const struct bs_scope *s, const struct bs_site *site,
		   const struct bs_scope *sinks, const struct bs_scope *protocols)
{
	if (sound(s, "node.run_dir", NULL) && site->run_dir[0] == '\0')
		fault(s, "node.run_dir", "must not be empty");
	if (sound(s, "node.heartbeat_ms", "node.stall_ms", NULL) &&
	    site->stall_ms < 2.0 * site->heartbeat_ms)
		fault(s, "node.stall_ms", "%g is less than twice heartbeat_ms, %g", site->stall_ms,
		      site->heartbeat_ms);
	rule_endpoints(s, site);
	rule_spill(s, site, protocols);
	rule_log(s, site, protocols);
	for (uint32_t i = 0; i < site->sinks; i++)
		rule_sink(s, site, sinks, i);
	for (uint32_t i = 0; i < site->protocols; i++)
		for (uint32_t j = 0; j < i; j++)
			if (sound(&protocols[i], "name", NULL) &&
			    sound(&protocols[j], "name", NULL) &&
			    strcmp(site->protocol[i].name, site->protocol[j].name) == 0)
				fault(&protocols[i], "name",
				      "\"%s\" is already the name of %s (line %u)",
				      site->protocol[i].name, protocols[j].label,
				      protocols[j].line);
	for (uint32_t i = 0; i < site->protocols; i++)
		if (sound(&protocols[i], "ls.w", "ls.w_protocol", NULL))
			bs_rules_w_source(&protocols[i], site, &site->protocol[i]);
	rule_memory(s, site, protocols);
}

/* ---- the page ---- */

static void rule_web(const struct bs_scope *s, const struct bs_site *site)
{
	char url[sizeof(site->web.listen) + 8];
	struct bs_fail why;
	uint32_t address;
	uint16_t port;

	if (!sound(s, "web.listen", NULL) || site->web.listen[0] == '\0')
		return;
	(void)snprintf(url, sizeof(url), "tcp://%s", site->web.listen);
	if (bs_peers_url(&address, &port, url, &why) != 0)
		fault(s, "web.listen", "%s: not 127.0.0.1:PORT", site->web.listen);
	else if (address >> 24 != 127)
		fault(s, "web.listen",
		      "%s: the page is open to loopback only, 127.0.0.1:%u; elsewhere a proxy "
		      "serves it (board/doc/WEB.md)",
		      site->web.listen, port);
	if (sound(s, "endpoints.viewers", "endpoints.images", NULL) &&
	    site->viewers_url[0] == '\0' && site->images_url[0] == '\0')
		fault_near(s, "endpoints.viewers", "web.listen",
			   "must be given, or endpoints.images: the page gets its images there");
}

/* ---- bridges ---- */

static void rule_listen(const struct bs_scope *s, const struct bs_site *site)
{
	struct bs_peers peers;
	struct bs_fail why;
	uint32_t address = 0;
	uint16_t port;

	if (sound(s, "bridges.mrd.allow", NULL) &&
	    bs_peers_read(&peers, site->mrd.allow, &why) != 0) {
		fault(s, "bridges.mrd.allow", "%s", why.text);
		return;
	}
	if (site->mrd.listen[0] == '\0' ||
	    !sound(s, "bridges.mrd.listen", "bridges.mrd.allow", NULL))
		return;
	if (bs_peers_url(&address, &port, site->mrd.listen, &why) != 0)
		fault(s, "bridges.mrd.listen", "%s", why.text);
	else if (address >> 24 != 127 && peers.count == 0)
		fault(s, "bridges.mrd.listen",
		      "%s: beyond loopback only for the addresses that bridges.mrd.allow names",
		      site->mrd.listen);
	if (sound(s, "endpoints.images", NULL) && site->images_url[0] == '\0')
		fault_near(s, "endpoints.images", "bridges.mrd.listen",
			   "must be given: MRD clients get their images from there; as a rule "
			   "\"ipc://%.80s/images.ipc\"",
			   site->run_dir);
}

void bs_rules_bridges(const struct bs_scope *s, const struct bs_site *site,
		      const struct bs_scope *configs)
{
	const struct bs_mrd_site *m = &site->mrd;

	rule_web(s, site);
	rule_listen(s, site);
	for (uint32_t i = 0; i < m->configs; i++) {
		if (!sound(&configs[i], "name", "protocol", NULL))
			continue;
		if (m->config[i].protocol[0] != '\0' &&
		    bs_site_protocol(site, m->config[i].protocol) == NULL)
			fault(&configs[i], "protocol", "the site has no protocol '%s'",
			      m->config[i].protocol);
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(m->config[i].name, m->config[j].name) == 0)
				fault(&configs[i], "name", "\"%s\" is already the name of %s",
				      m->config[i].name, configs[j].label);
	}
}

/* ---- keys ---- */

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Returns true if the name is valid as a taker's name on the wire (ipc/wire/wire.h). */
static bool good_name(const char *name)
{
	return name[0] != '.' && strspn(name, ALNUM "._-") == strlen(name);
}

/* Returns true if the text is a key: 32 bytes in base64, as ipc/seal/keys.h reads them. */
static bool good_key(const char *key)
{
	return strspn(key, ALNUM "+/") == 43 && strcmp(key + 43, "=") == 0;
}

/*
 * Rules of a process beside the service that has a key of its own. needs: the endpoints that it
 * speaks to.
 */
static void rule_keyed(const struct bs_scope *s, const struct bs_site *site, const char *key,
		       const struct bs_keyed *who, const struct endpoint_role *needs)
{
	const struct bs_peer_spec *peer = NULL;

	if (who->file[0] == '\0' || !sound(s, key, "keys.own", "keys.service", NULL))
		return;
	for (uint32_t i = 0; i < site->keys.peers; i++)
		if (strcmp(site->keys.peer[i].name, who->name) == 0)
			peer = &site->keys.peer[i];
	if (site->keys.own[0] == '\0')
		fault(s, key, "nothing is sealed without keys.own");
	else if (site->keys.service[0] == '\0')
		fault(s, key, "keys.service must be given: the public key of keys.own");
	else if (peer == NULL)
		fault(s, key, "keys.peers has no \"%s\", with this key's public one", who->name);
	else
		for (int i = 0; i < 2; i++)
			if (bs_site_seals(site, needs[i].url) &&
			    (peer->roles & needs[i].roles) == 0)
				fault(s, key, "\"%s\" of keys.peers has no role for %s", who->name,
				      needs[i].key);
}

void bs_rules_keys(const struct bs_scope *s, const struct bs_site *site,
		   const struct bs_scope *peers)
{
	const struct bs_peer_spec *peer = site->keys.peer;
	const uint32_t takes = BS_ROLE_ARCHIVE | BS_ROLE_VIEWER;
	/* the page asks endpoints.images if there is no viewers socket */
	const bool shown = site->viewers_url[0] == '\0';

	if (sound(s, "keys.service", NULL) && site->keys.service[0] != '\0' &&
	    !good_key(site->keys.service))
		fault(s, "keys.service",
		      "not a public key: 44 characters, as `boreside key "
		      "show` prints them");
	rule_keyed(
		s, site, "bridges.mrd.key", &(struct bs_keyed){ BS_PEER_MRD, site->mrd.key },
		(struct endpoint_role[]){ { "endpoints.kspace", site->kspace_url, BS_ROLE_SCANNER },
					  { "endpoints.images", site->images_url, takes } });
	rule_keyed(s, site, "web.key", &(struct bs_keyed){ BS_PEER_PAGE, site->web.key },
		   (struct endpoint_role[]){
			   { "endpoints.status", site->status_url, BS_ROLE_STATUS },
			   { "endpoints.images", shown ? site->images_url : "", takes } });
	if (site->keys.peers > 0 && sound(s, "keys.own", NULL) && site->keys.own[0] == '\0')
		fault(s, "keys.own", "must be given: keys.peers has %u peers", site->keys.peers);
	for (uint32_t i = 0; i < site->keys.peers; i++) {
		const bool named = sound(&peers[i], "name", NULL);
		const bool keyed = sound(&peers[i], "key", NULL);

		if (named && !good_name(peer[i].name))
			fault(&peers[i], "name",
			      "\"%s\": letters, digits, '.', '_' and '-', the first no '.'",
			      peer[i].name);
		if (keyed && !good_key(peer[i].key))
			fault(&peers[i], "key",
			      "not a public key: 44 characters, as `boreside key show` prints "
			      "them");
		for (uint32_t j = 0; j < i; j++) {
			if (named && strcmp(peer[i].name, peer[j].name) == 0)
				fault(&peers[i], "name", "\"%s\" is the name of %s (line %u)",
				      peer[i].name, peers[j].label, peers[j].line);
			if (keyed && strcmp(peer[i].key, peer[j].key) == 0)
				fault(&peers[i], "key", "the key of %s (line %u), too",
				      peers[j].label, peers[j].line);
		}
	}
}
