/*
 * test/fault/start/fault_selftest.c - a service in which one engine's image is mirrored: its
 * protocol is kept out, in words, in status and metrics; the others are served
 *
 * This program is the service, too (as test/fault/fault_gpu.c): bs_engine_find is wrapped, and the
 * engine of protocols whose name begins with "bad" has a fault.
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include "board/command/command.h"
#include "board/recon/recon.h"
#include "board/service/worker.h"
#include "board/tool/selftest/selftest.h"
#include "gpu/engine/engines.h"

static const struct bs_engine *real;
static struct bs_engine mirrored;

static int image_mirrored(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			  float *image, struct bs_report *report)
{
	const int rc = real->image(self, frame, held, deadline_ns, image, report);

	for (size_t y = 0; y < 32; y++) /* the images of this site: 32 x 32 magnitudes */
		for (size_t x = 0; x < 16; x++) {
			const float was = image[y * 32 + x];

			image[y * 32 + x] = image[y * 32 + 31 - x];
			image[y * 32 + 31 - x] = was;
		}
	return rc;
}

int __real_bs_engine_find(const struct bs_engine **e, const struct bs_protocol *p,
			  struct bs_fail *why);
int __wrap_bs_engine_find(const struct bs_engine **e, const struct bs_protocol *p,
			  struct bs_fail *why);
int __wrap_bs_engine_find(const struct bs_engine **e, const struct bs_protocol *p,
			  struct bs_fail *why)
{
	const int rc = __real_bs_engine_find(e, p, why);

	if (rc != 0 || strncmp(p->name, "bad", 3) != 0)
		return rc;
	real = *e;
	mirrored = *real;
	mirrored.image = image_mirrored;
	*e = &mirrored;
	return 0;
}

static const char site[] =
	SERVICE_SINKS "protocols = (\n" SERVICE_CART "{ name = \"bad\"; " SERVICE_LINES
		      "silence_ms = 60000.0; },\n"
		      "{ name = \"radial\"; method = \"gridding\"; " SERVICE_SPOKES "} );\n";

static bool says(const struct service *s, const char *what, const char *words)
{
	static char doc[200000];

	if (!service_ask(s, what, doc, sizeof(doc)))
		return false;
	if (strstr(doc, words) == NULL)
		printf("# %s\n", doc);
	return strstr(doc, words) != NULL;
}

static int scan(const struct service *s, const char *protocol)
{
	char command[900];

	(void)snprintf(command, sizeof(command),
		       "cd %s && { test -e scan.h5 || '%s' phantom -c %s -p cart -o scan.h5; } "
		       ">words 2>&1 && '%s' replay --url %s --asap --patience 60 -p %s scan.h5 "
		       ">>words 2>&1",
		       s->dir, getenv("REAL_BORESIDE"), s->site, getenv("REAL_BORESIDE"), s->kspace,
		       protocol);
	return system(command);
}

static void test_kept_out(void)
{
	struct service s;

	CHECK(service_start_with(&s, SERVICE_PATIENT, site, NULL),
	      "a service with a mirrored engine starts");
	CHECK(service_logged(&s, "protocol 'bad': its self-test is off by"), "it says which");
	CHECK(says(&s, "text", "refused  protocol 'bad': its self-test is off by") &&
		      says(&s, "json", "\"selftest\":\"its self-test is off by"),
	      "so does its status");
	CHECK(says(&s, "metrics", "boreside_protocol_armed{protocol=\"bad\"} 0") &&
		      says(&s, "metrics",
			   "boreside_protocol_selftest_tolerance_ppm{protocol=\"bad\"} 100"),
	      "so do the metrics");
	CHECK(says(&s, "json", "\"selftest\":\"passed\""), "the others have passed");
	CHECK(scan(&s, "bad") != 0, "a scan of it is refused");
	CHECK(scan(&s, "cart") == 0, "a scan of another is not");
	CHECK(service_stop(&s) == 0, "the service ends with 0");
	service_remove(&s);
}

int main(int argc, char **argv)
{
	bs_recon_selftest = bs_selftest;
	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return bs_options_run(&bs_command_serve, argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		return bs_worker_main(argc - 1, argv + 1);
	if (getenv("BORESIDE") == NULL) {
		SKIP("a mirrored engine: BORESIDE names no program");
		return check_done();
	}
	(void)setenv("REAL_BORESIDE", getenv("BORESIDE"), 1);
	(void)setenv("BORESIDE", "/proc/self/exe", 1);
	test_kept_out();
	return check_done();
}
