/* board/status/ask.c - see ask.h */
#include "board/status/ask.h"

#include <string.h>

#include "ipc/endpoint.h"
#include "ipc/seal/keys.h"

int bs_status_ask_own(const struct bs_site *site, const struct bs_keyed *who, const char *request,
		      char *reply, size_t cap, int wait_ms, struct bs_fail *why)
{
	struct bs_seal_keys keys;
	int rc;

	if (!bs_site_seals(site, site->status_url))
		return bs_status_ask_sealed(site->status_url, NULL, request, reply, cap, wait_ms,
					    why);
	reply[0] = '\0';
	rc = bs_seal_keys_node(&keys, &site->keys, who, why);
	if (rc == 0)
		rc = bs_status_ask_sealed(site->status_url, &keys, request, reply, cap, wait_ms,
					  why);
	bs_seal_wipe_bytes(&keys, sizeof(keys));
	return rc;
}

int bs_status_ask_sealed(const char *url, const struct bs_seal_keys *keys, const char *request,
			 char *reply, size_t cap, int wait_ms, struct bs_fail *why)
{
	struct bs_endpoint e;
	size_t len = 0;
	int rc = bs_endpoint_connect_sealed(&e, BS_ENDPOINT_STATUS_ASK, url, cap, keys, why);

	reply[0] = '\0';
	if (rc != 0)
		return rc;
	rc = bs_endpoint_send(&e, request, strlen(request), NULL, 0, wait_ms, why);
	if (rc == 0)
		rc = bs_endpoint_recv(&e, reply, cap - 1, &len, wait_ms, why);
	reply[rc == 0 ? len : 0] = '\0';
	if (rc > 0)
		rc = bs_endpoint_refused(&e, why);
	else if (rc == 0)
		len = 1; /* an answer came, perhaps an empty one */
	bs_endpoint_close(&e);
	return rc == 0 && len == 0 ? bs_fail(why, BS_ERR_TIMEOUT, "no service answers") : rc;
}
