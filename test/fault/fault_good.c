/* test/fault/fault_good.c - good scans through the running service: images, counts, status, end */
#define _GNU_SOURCE
#include "test/support/service.h"

int main(void)
{
	static struct peer p;
	static char doc[200000];
	struct service s;

	CHECK(service_start(&s), "the service starts and answers");
	CHECK(peer_open(&p, &s), "a sender connects");
	CHECK(peer_good_scan(&p, "cart", 3), "a Cartesian scan of 3 frames ends with code 0");
	CHECK(peer_good_scan(&p, "radial", 3), "a radial scan of 3 frames ends with code 0");
	CHECK(service_number(&s, "\"totals\"", "images") == 6, "six images were made");
	CHECK(service_reaches(&s, "\"totals\"", "filed", 6) == 6, "six images were filed");
	CHECK(service_number(&s, "\"acquisitions\",\"slots\"", "in_use") == 0, "no slot is in use");
	CHECK(service_number(&s, "\"stage\":\"image\"", "n") == 3,
	      "latencies of 3 images are there");
	CHECK(service_ask(&s, "text", doc, sizeof(doc)) && strstr(doc, "p99.9") != NULL,
	      "the table for people is there, too");
	CHECK(service_ask(&s, "latency.json", doc, sizeof(doc)) &&
		      strstr(doc, "\"protocol\":\"cart\",\"budget_us\":0.000,\"misses\":0") !=
			      NULL &&
		      strstr(doc, "\"stage\":\"image\",\"n\":3") != NULL,
	      "latencies as a document");
	CHECK(service_ask(&s, "latency", doc, sizeof(doc)) && strstr(doc, "explained") != NULL &&
		      strstr(doc, "no budget") != NULL,
	      "and as a table");
	CHECK(service_ask(&s, "stalls", doc, sizeof(doc)) && strstr(doc, "\"stalls\":[") != NULL,
	      "the machine's stalls can be asked for");
	CHECK(service_stop(&s) == 0, "SIGTERM: the service ends with 0");
	peer_close(&p);
	service_remove(&s);
	return check_done();
}
