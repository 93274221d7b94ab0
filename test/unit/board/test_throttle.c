/* test/unit/board/test_throttle.c - when the kernel's limit on real-time threads matters */
#define _GNU_SOURCE
#include "board/arm/armed.h"
#include "ipc/shm/shm.h"
#include "board/service/throttle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/engine/engines.h"
#include "test/support/check.h"

static char path[] = "/tmp/boreside-throttle-XXXXXX";

static bool read_as(const char *text, int64_t *us)
{
	FILE *f = fopen(path, "w");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
	return bs_throttle_read(path, us);
}

static void test_read(void)
{
	int64_t us = 7;
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	(void)close(fd);
	CHECK(read_as("950000\n", &us) && us == 950000, "what Linux has by default: %lld",
	      (long long)us);
	CHECK(read_as("-1\n", &us) && us == BS_THROTTLE_NONE, "no limit: %lld", (long long)us);
	CHECK(!read_as("", &us) && !read_as("\n", &us) && !read_as("soon\n", &us) &&
		      !read_as("1x\n", &us) && !read_as("99999999999999999999\n", &us),
	      "what is no number is none");
	(void)unlink(path);
	CHECK(!bs_throttle_read(path, &us), "no file, as on a kernel without the limit");
}

static void test_matters(void)
{
	static const struct {
		uint32_t priority;
		enum bs_wait wait, gpu_wait;
		bool gpu, matters;
		const char *what;
	} table[] = {
		{ 60, BS_WAIT_BLOCK, BS_WAIT_POLL, true, true, "it polls for the GPU" },
		{ 60, BS_WAIT_BLOCK, BS_WAIT_POLL, false, false, "it would, and has none" },
		{ 60, BS_WAIT_BLOCK, BS_WAIT_BLOCK, true, false, "it blocks" },
		{ 60, BS_WAIT_POLL, BS_WAIT_BLOCK, false, true, "it polls for readouts" },
		{ 0, BS_WAIT_POLL, BS_WAIT_POLL, true, false, "it polls at ordinary priority" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct bs_realtime rt = { .priority = table[i].priority,
						.wait = table[i].wait,
						.gpu_wait = table[i].gpu_wait };

		CHECK(bs_throttle_matters(&rt, table[i].gpu) == table[i].matters, "%s: %s",
		      table[i].what, table[i].matters ? "warned of" : "nothing to say");
	}
}

static void test_words(void)
{
	struct bs_realtime rt = { .priority = 90, .wait = BS_WAIT_BLOCK, .gpu_wait = BS_WAIT_POLL };
	char words[BS_REMEDY];

	bs_throttle_words(words, &rt, 950000);
	CHECK(strstr(words, "after 950000 us") != NULL &&
		      strstr(words, "sched_rt_runtime_us=-1") != NULL &&
		      strstr(words, "realtime.gpu_wait = \"block\"") != NULL &&
		      strstr(words, "realtime.priority = 0") != NULL,
	      "%s", words);
	rt.wait = BS_WAIT_POLL;
	bs_throttle_words(words, &rt, INT64_MAX);
	CHECK(strstr(words, "realtime.wait = \"block\"") != NULL && strstr(words, "priority = 0"),
	      "%s", words);
}

/* By the engines' names; a name without an end; not armed; beyond the site's protocols. */
static void test_on_gpu(void)
{
	static struct bs_shared s;

	s.site.protocols = 2;
	(void)snprintf(s.engine[0], sizeof(s.engine[0]), "gridding/host");
	(void)snprintf(s.engine[1], sizeof(s.engine[1]), "gridding/cuda");
	(void)snprintf(s.engine[2], sizeof(s.engine[2]), "gridding/cuda");
	atomic_store(&s.armed[0], 1);
	atomic_store(&s.armed[2], 1);
	CHECK(!bs_armed_on_gpu(&s), "the one on a GPU is not armed, another is none of the site");
	atomic_store(&s.armed[1], 1);
	CHECK(bs_armed_on_gpu(&s), "it is armed");
	s.site.protocols = BS_PROTOCOLS_MAX + 1;
	memset(s.engine, 'x', sizeof(s.engine));
	/* half of it in the next one's */
	memcpy((char *)s.engine + sizeof(s.engine[0]) - 2, "cuda", 4);
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		atomic_store(&s.armed[i], 1);
	CHECK(!bs_armed_on_gpu(&s), "a record of names without an end");
}

int main(void)
{
	test_on_gpu();
	test_read();
	test_matters();
	test_words();
	return check_done();
}
