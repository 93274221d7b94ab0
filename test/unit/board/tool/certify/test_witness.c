/* test/unit/board/tool/certify/test_witness.c - what a certificate takes from a status document */
#define _GNU_SOURCE
#include "board/tool/certify/witness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/support/check.h"

static struct bs_certificate c;
static struct bs_protocol p;

static const char doc[] =
	"{\"protocols\":[{\"name\":\"other\",\"engine\":\"ls/host\",\"refused\":\"x\"},"
	"{\"name\":\"mine\",\"engine\":\"gridding/host\",\"refused\":\"\","
	"\"estimate\":{\"image_ms\":1}}],"
	"\"workers\":[{\"name\":\"ingest\",\"restarts\":0},{\"name\":\"recon\",\"restarts\":2},"
	"{\"name\":\"emit\",\"restarts\":1}],"
	"\"realtime\":{\"priority\":\"on\",\"unthrottled\":\"%s\",\"mps\":%s,"
	"\"threads\":[{\"thread\":\"ingest\",\"tid\":%d,\"priority\":62,"
	"\"minor_faults\":10,\"major_faults\":1,\"allocations\":7},"
	"{\"thread\":\"gone\",\"tid\":2147483647,\"priority\":60}]},"
	"\"latency\":[{\"protocol\":\"other\",\"stage\":\"add\",\"n\":5},"
	"{\"protocol\":\"mine\",\"stage\":\"image\",\"n\":9,\"p50_us\":120.5,\"max_us\":300}],"
	"\"log\":{\"mode\":\"durable\",\"commit\":{\"n\":4,\"p99_us\":1},"
	"\"lag\":{\"n\":8,\"p50_us\":2200,\"p99_us\":4000}}}";

static const char *filled(const char *unthrottled)
{
	static char out[sizeof(doc) + 64];

	(void)snprintf(out, sizeof(out), doc, unthrottled,
		       strcmp(unthrottled, "on") == 0 ? "true" : "false", (int)getpid());
	return out;
}

static void test_protocol(void)
{
	bs_witness_protocol(&c, filled("on"));
	CHECK(strcmp(c.engine, "gridding/host") == 0 && c.refused[0] == '\0' &&
		      strcmp(c.estimate, "{\"image_ms\":1}") == 0,
	      "the protocol's own engine and estimate: %s %s", c.engine, c.estimate);
	CHECK(strcmp(c.realtime, "{\"priority\":\"on\",\"unthrottled\":\"on\",\"mps\":true}") ==
			      0 &&
		      !c.throttled && c.mps,
	      "the settings without the threads: %s", c.realtime);
	bs_witness_protocol(&c, filled("refused"));
	CHECK(c.throttled && !c.mps, "a kernel that throttles what polls; no MPS");
	bs_witness_protocol(&c, filled("off"));
	CHECK(!c.throttled, "nobody polls");
	bs_witness_protocol(&c, "{\"protocols\":[{\"name\":\"m\\u0069ne\",\"engine\":\"x\","
				"\"refused\":\"no \\\"room\\\"\\u0020\\u2014 none\"}]}");
	CHECK(strcmp(c.engine, "x") == 0 && strcmp(c.refused, "no \"room\" \u2014 none") == 0,
	      "escapes of every kind: %s", c.refused);
	bs_witness_stages(&c, filled("on"));
	CHECK(c.stages == 2 && c.stage[0].n == 9.0 && c.stage[0].us[0] == 120.5,
	      "the protocol's own stages");
	CHECK(strcmp(c.stage[1].name, "lag") == 0 && c.stage[1].n == 8.0 &&
		      c.stage[1].us[1] == 4000.0,
	      "and the lag of the log");
}

static void test_processes(void)
{
	struct bs_cpus set;
	const char *text = filled("on");
	char *later = strdup(text);

	bs_witness_restarts(&c, text);
	CHECK(c.restarts == 3.0, "all processes' replacements: %g", c.restarts);
	bs_witness_may_run(&set, text);
	CHECK(set.count > 0, "where this process may run, a thread that is gone left out: %u",
	      set.count);
	bs_witness_may_run(&set, "{}");
	CHECK(set.count == 0, "no thread, no processor");
	if (later == NULL)
		abort();
	bs_witness_threads(&c, text, true);
	memcpy(strstr(later, "\"allocations\":7"), "\"allocations\":9", 15);
	bs_witness_threads(&c, later, false);
	CHECK(c.threads == 2 && c.thread[0].priority == 62.0 && c.thread[0].grown[2] == 2.0 &&
		      c.thread[0].grown[0] == 0.0,
	      "what grew since: %g allocations", c.thread[0].grown[2]);
	free(later);
}

/* A team of 64 and 3 processes: each thread has its place, and nothing else is written over. */
static void test_many_threads(void)
{
	static char text[8192] = "{\"realtime\":{\"threads\":[";
	size_t at = strlen(text);

	for (int i = 0; i < 67; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s{\"thread\":\"recon/%d\",\"priority\":%d}",
				       i > 0 ? "," : "", i, i);
	(void)snprintf(text + at, sizeof(text) - at, "]}}");
	c.minutes = 1.5;
	bs_witness_threads(&c, text, false);
	CHECK(c.threads == 67 && c.thread[66].priority == 66.0 &&
		      strcmp(c.thread[66].name, "recon/66") == 0 && c.minutes == 1.5,
	      "67 threads: %u, the last is %s", c.threads, c.thread[66].name);
}

int main(void)
{
	(void)snprintf(p.name, sizeof(p.name), "mine");
	c.p = &p;
	test_protocol();
	test_processes();
	test_many_threads();
	return check_done();
}
