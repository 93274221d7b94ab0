/* board/status/ask.c - see ask.h */
#include "board/status/ask.h"

#include <string.h>

#include "ipc/endpoint.h"

int bs_status_ask(const char *url, const char *request, char *reply, size_t cap, int wait_ms,
		  struct bs_fail *why)
{
	struct bs_endpoint e;
	size_t len = 0;
	int rc = bs_endpoint_connect(&e, BS_ENDPOINT_STATUS_ASK, url, cap, why);

	reply[0] = '\0';
	if (rc != 0)
		return rc;
	rc = bs_endpoint_send(&e, request, strlen(request), NULL, 0, wait_ms, why);
	if (rc == 0)
		rc = bs_endpoint_recv(&e, reply, cap - 1, &len, wait_ms, why);
	bs_endpoint_close(&e);
	reply[rc == 0 ? len : 0] = '\0';
	return rc == 0 ? 0 : rc > 0 ? bs_fail(why, BS_ERR_TIMEOUT, "no service answers") : rc;
}
