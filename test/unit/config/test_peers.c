/*
 * test/unit/config/test_peers.c - faulty keys and addresses beyond loopback, each told at its line
 */
/* Holds: S5 */
#define _GNU_SOURCE
#include "test/support/site_file.h"

#define KEY_A "key = \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\";"
#define KEY_B "key = \"CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\";"
#define OWN   "keys: { own = \"k\"; peers = ( { "
#define PEER(roles)                                                                                \
	"keys: { own = \"k\"; peers = ( { name = \"a\"; roles = [" roles "]; " KEY_A " } ); };"

#define SERVICE "service = \"BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"; "
#define NAMED(name, roles)                                                                         \
	"keys: { own = \"k\"; " SERVICE "peers = ( { name = \"" name "\"; roles = [" roles         \
	"]; " KEY_A " }"
#define ALONE    " ); };"
#define OTHER    ", { name = \"all\"; roles = [\"archive\", \"status\"]; " KEY_B " } ); };"
#define BRIDGE   "bridges: { mrd: { key = \"b\"; }; }; "
#define PAGE     "web: { key = \"w\"; }; "
#define TCP(one) "endpoints: { " one " = \"tcp://127.0.0.1:5\"; }; "

/* clang-format off */
static const struct {
	unsigned line;
	const char *want, *text;
} refused[] = {
	{ 5, "endpoints.archive: tcp://10.0.0.1:5: tcp is open to loopback only here",
	  PROTOCOL("") "endpoints: { archive = \"tcp://10.0.0.1:5\"; }; " PEER("\"archive\"") },
	{ 5, "endpoints.images: tcp://10.0.0.1:5: none of keys.peers has a role for it",
	  PROTOCOL("") "endpoints: { images = \"tcp://10.0.0.1:5\"; }; " PEER("\"scanner\"") },
	{ 5, "endpoints.kspace: tcp://127.0.0.1:5: none of keys.peers has a role for it",
	  PROTOCOL("") "endpoints: { kspace = \"tcp://127.0.0.1:5\"; }; keys: { own = \"k\"; };" },
	{ 1, "keys.own: must be given",
	  PROTOCOL("") "keys: { peers = ( { name = \"a\"; "
		       "roles = [\"status\"]; " KEY_A " } ); };" },
	{ 5, "keys.peers.[0].roles: an array as [\"scanner\", \"archive\"] is wanted",
	  PROTOCOL("") PEER("") },
	{ 5, "keys.peers.[0].roles: \"root\" is none of", PROTOCOL("") PEER("\"root\"") },
	{ 5, "keys.peers.[0].roles: \"status\" is named twice",
	  PROTOCOL("") PEER("\"status\", \"status\"") },
	{ 5, "keys.peers.[0].key: not a public key",
	  PROTOCOL("") OWN "name = \"a\"; roles = [\"status\"]; key = "
		       "\"AAAA\"; } ); };" },
	{ 5, "keys.peers.[0].name: \"a b\": letters",
	  PROTOCOL("") OWN "name = \"a b\"; roles = [\"status\"]; " KEY_A " } ); };" },
	{ 5, "keys.peers.[1].key: the key of keys.peers.[0] (line 5), too",
	  PROTOCOL("") OWN "name = \"a\"; roles = [\"status\"]; " KEY_A
		       " }, { name = \"b\"; roles = [\"viewer\"]; " KEY_A " } ); };" },
	{ 5, "keys.peers.[0].key: missing",
	  PROTOCOL("") OWN "name = \"a\"; roles = [\"status\"]; } ); };" },
	{ 5, "keys.service: not a public key",
	  PROTOCOL("") "keys: { own = \"k\"; service = \"AAAA\"; };" },
	{ 5, "web.key: nothing is sealed without keys.own", PROTOCOL("") PAGE },
	{ 5, "bridges.mrd.key: keys.service must be given",
	  PROTOCOL("") BRIDGE PEER("\"scanner\"") },
	{ 5, "bridges.mrd.key: keys.peers has no \"bridge.mrd\"",
	  PROTOCOL("") BRIDGE NAMED("page", "\"scanner\"") ALONE },
	{ 5, "bridges.mrd.key: \"bridge.mrd\" of keys.peers has no role for endpoints.images",
	  PROTOCOL("") BRIDGE TCP("images") NAMED("bridge.mrd", "\"scanner\"") OTHER },
	{ 5, "web.key: \"page\" of keys.peers has no role for endpoints.status",
	  PROTOCOL("") PAGE TCP("status") NAMED("page", "\"viewer\"") OTHER },
	{ 5, "keys.peers: a list", PROTOCOL("") "keys: { own = \"k\"; peers = 3; };" },
};
/* clang-format on */

int main(void)
{
	open_folder();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char place[96];
		int rc = load(&site, refused[i].text);

		(void)snprintf(place, sizeof(place), "%s:%u: ", path, refused[i].line);
		CHECK(rc == BS_ERR_CONFIG && faults == 1 &&
			      strncmp(told, place, strlen(place)) == 0 &&
			      strstr(told, refused[i].want) != NULL,
		      "line %u: %s; told %s", refused[i].line, refused[i].want, told);
	}
	CHECK(load(&site, PROTOCOL("") "endpoints: { kspace = \"tcp://0.0.0.0:5\"; }; " PEER(
				  "\"scanner\", \"viewer\"")) == 0 &&
		      site.keys.peers == 1 &&
		      site.keys.peer[0].roles == (BS_ROLE_SCANNER | BS_ROLE_VIEWER),
	      "any address, with a key that has the role: %s", told);
	close_folder();
	return check_done();
}
