/*
 * test/unit/drivers/test_step.c - the service's side of a step against real processes that keep to
 * ipc/step.h, and that do not
 */
/* Holds: T1, T3, T4 */
#define _GNU_SOURCE
#include "drivers/step/door.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/step/start.h"
#include "ipc/step.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define FLOATS 1025u

static char dir[] = "/tmp/test_step.XXXXXX";
static struct bs_door door;
static float image[FLOATS], out[FLOATS];
static pid_t pid;
static unsigned beats;

static void beat(void *arg)
{
	(void)arg;
	beats++;
}

/* Starts the unruly step with these words. */
static bool start(const char *words)
{
	struct bs_step_spec spec = { .name = "s" };
	struct bs_fail why = { 0 };

	(void)snprintf(spec.dir, sizeof(spec.dir), "%s", dir);
	(void)snprintf(spec.command, sizeof(spec.command), "%s/test/support/step/unruly %s",
		       getenv("BUILD"), words);
	if (bs_step_start(&pid, &spec, NULL, &why) != 0)
		printf("# %s\n", why.text);
	AWAIT((bs_door_look(&door), bs_door_ready(&door)));
	return bs_door_ready(&door);
}

/* Ends the process, if it has not ended, and has the door notice. */
static void end(void)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	AWAIT((bs_door_look(&door), door.memory == NULL));
}

/* Runs one image. ms: until the image leaves; 0: the time is over; below: no limit. */
static struct bs_step_result run(uint32_t number, double ms)
{
	struct bs_mrd_image head = { .data_type = 5, .image_type = 1, .channels = 1 };
	struct bs_door_job job = { .head = &head,
				   .pixels = image,
				   .bytes = sizeof(image),
				   .scan = 3,
				   .image = number,
				   .by_ns = ms < 0 ? INT64_MAX : bs_now_ns() + bs_ns_of_ms(ms),
				   .beat = beat };
	struct bs_step_result r = { 0 };

	head.matrix_size[0] = FLOATS;
	head.matrix_size[1] = head.matrix_size[2] = 1;
	memset(out, 0xff, sizeof(out));
	bs_door_run(&door, &job, out, &r);
	return r;
}

static void good(void)
{
	struct bs_step_result r;
	float most = 0.0f;

	CHECK(run(1, -1.0).verdict == BS_STEP_ABSENT, "nobody has connected");
	CHECK(start("identity invert number"), "a step connects and is ready");
	r = run(1, -1.0);
	CHECK(r.verdict == BS_STEP_USED && memcmp(out, image, sizeof(image)) == 0,
	      "identity: the same bytes, %s", bs_step_verdict_name(r.verdict));
	CHECK(r.numbers == 2 && r.number[0] == 1.0 && r.number[1] == (double)image[FLOATS / 2],
	      "and two numbers, of the image's counter and of its pixels");
	r = run(2, -1.0);
	for (unsigned i = 0; i < FLOATS; i++)
		most = out[i] + image[i] > most ? out[i] + image[i] : most;
	CHECK(r.verdict == BS_STEP_USED && most == 0.0f, "inverted, to the bit");
	r = run(3, -1.0);
	CHECK(r.verdict == BS_STEP_NUMBERED && r.numbers == 2 && r.number[0] == 3.0,
	      "numbers alone: the image leaves as it came");
	end();
	CHECK(run(4, -1.0).verdict == BS_STEP_DIED, "without it: it died");
}

/*
 * All that a step can read is the contract's: behind its layout there are zeros, and what else an
 * image's head says (of the measurement, of the time) is nowhere.
 */
static void sees(void)
{
	const uint32_t other = 0x7a51c3e9;
	struct bs_mrd_image head = { .measurement_uid = other,
				     .data_type = 5,
				     .image_type = 1,
				     .channels = 1,
				     .acquisition_time_stamp = other,
				     .matrix_size = { FLOATS, 1, 1 } };
	struct bs_door_job job = { .head = &head,
				   .pixels = image,
				   .bytes = sizeof(image),
				   .by_ns = INT64_MAX,
				   .beat = beat };
	struct bs_step_result r = { 0 };
	unsigned more = 0;
	unsigned found = 0;

	for (int i = 0; i < 8; i++) {
		memcpy(&head.user_int[i], &other, sizeof(other));
		memcpy(&head.user_float[i], &other, sizeof(other));
	}
	for (int i = 0; i < 3; i++) {
		head.physiology_time_stamp[i] = other;
		memcpy(&head.patient_table_position[i], &other, sizeof(other));
	}
	CHECK(start("identity"), "a step that looks at all that it has");
	bs_door_run(&door, &job, out, &r);
	CHECK(r.verdict == BS_STEP_USED, "an image whose head says more");
	const unsigned char *at = (const unsigned char *)door.memory;

	for (size_t i = 0; at != NULL && i + sizeof(other) <= door.bytes; i++) {
		const bool within = i < sizeof(struct bs_step_memory) || i >= 4096;

		found += memcmp(at + i, &other, sizeof(other)) == 0;
		more += at[i] != 0 && !within;
	}
	CHECK(at != NULL && found == 0 && more == 0,
	      "of the rest it sees nothing: %u times a word of it, %u bytes beside the contract",
	      found, more);
	end();
}

/* Each answer that is not taken, and that the step goes on after it. */
static void wrong(void)
{
	static const struct {
		const char *word;
		enum bs_step_verdict verdict;
	} all[] = { { "size", BS_STEP_SIZE },
		    { "many", BS_STEP_SIZE },
		    { "nan", BS_STEP_NAN },
		    { "odd", BS_STEP_NAN } };

	CHECK(start("size many nan odd identity"), "a step that answers wrongly");
	for (unsigned i = 0; i < 4; i++) {
		const struct bs_step_result r = run(i + 1, -1.0);

		CHECK(r.verdict == all[i].verdict && r.numbers == 0, "%s: %s", all[i].word,
		      bs_step_verdict_name(r.verdict));
	}
	CHECK(run(5, -1.0).verdict == BS_STEP_USED && door.cut == 0, "and goes on after that");
	end();
	/* not a number anywhere in the pixels, also in the odd one out at the end */
	for (unsigned at = 0; at < FLOATS; at += FLOATS - 1) {
		const float kept = image[at];

		image[at] = -1.0f / 0.0f;
		CHECK(start("identity") && run(1, -1.0).verdict == BS_STEP_NAN,
		      "minus infinity at %u of %u", at, FLOATS);
		image[at] = kept;
		end();
	}
}

static void stale(void)
{
	const uint64_t cut = door.cut;

	CHECK(start("stale identity"), "a step that gives an answer that was not asked");
	CHECK(run(1, -1.0).verdict == BS_STEP_STALE && door.cut == cut + 1, "it is cut off");
	CHECK(run(2, -1.0).verdict == BS_STEP_STALE, "and stays so until it connects again");
	end();
	CHECK(start("identity") && run(3, -1.0).verdict == BS_STEP_USED, "another one is taken");
	end();
}

static void ahead(void)
{
	const uint64_t cut = door.cut;

	for (unsigned looks = 0; looks < 2; looks++) {
		CHECK(start("ahead") && run(1, -1.0).verdict == BS_STEP_USED,
		      "a step that gives the next answer, too, before it is asked");
		AWAIT(door.memory->answered == 2);
		if (looks != 0)
			bs_door_look(&door);
		CHECK(run(2, -1.0).verdict == BS_STEP_STALE && door.cut == cut + looks + 1,
		      "the last image's pixels are not taken for the next one's");
		end();
	}
}

static void late(void)
{
	const uint64_t cut = door.cut;
	struct bs_step_result r;

	CHECK(start("late identity"), "a step that takes 60 ms");
	r = run(1, 5.0);
	CHECK(r.verdict == BS_STEP_LATE, "its image leaves without it: %s",
	      bs_step_verdict_name(r.verdict));
	r = run(2, 5.0);
	CHECK(r.verdict == BS_STEP_BUSY || r.verdict == BS_STEP_USED,
	      "it is busy with that meanwhile, unless the machine was: %s",
	      bs_step_verdict_name(r.verdict));
	AWAIT((bs_door_look(&door), door.owed_ns == 0));
	r = run(3, -1.0);
	CHECK(r.verdict == BS_STEP_USED && r.number[0] == 3.0 &&
		      memcmp(out, image, sizeof(image)) == 0,
	      "the late answer is dropped, and the next one is that of its image");
	r = run(4, 0.0);
	CHECK(r.verdict == BS_STEP_BUSY, "an image whose time is over is not given");
	end();
	CHECK(start("die") && run(1, -1.0).verdict == BS_STEP_DIED, "one that dies over an image");
	end();
	beats = 0;
	CHECK(start("hang") && run(1, 50.0).verdict == BS_STEP_LATE && beats >= 2,
	      "one that hangs, with %u beats in 50 ms", beats);
	AWAIT((bs_door_look(&door), door.memory == NULL));
	CHECK(door.cut == cut + 1 && run(2, -1.0).verdict == BS_STEP_HUNG,
	      "after a second and twice the budget it is cut off");
	end();
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static long mapped_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = -1;

	if (f != NULL && fscanf(f, "%ld", &pages) != 1)
		pages = -1;
	if (f != NULL)
		(void)fclose(f);
	return pages;
}

/* 100 steps one after the other, each of which dies over an image. */
static void flat(void)
{
	const unsigned files = descriptors();
	const long pages = mapped_pages();
	unsigned died = 0;

	for (unsigned i = 0; i < 100; i++) {
		died += start("identity die") && run(1, -1.0).verdict == BS_STEP_USED &&
			run(2, -1.0).verdict == BS_STEP_DIED;
		end();
	}
	CHECK(died == 100, "%u of 100 steps came, answered and died", died);
	CHECK(descriptors() == files, "%u descriptors, %u before", descriptors(), files);
	CHECK(mapped_pages() == pages, "%ld pages, %ld before", mapped_pages(), pages);
}

int main(void)
{
	struct bs_fail why = { 0 };
	static struct bs_door second;
	struct stat st;
	char path[64];

	if (mkdtemp(dir) == NULL)
		abort();
	for (unsigned i = 0; i < FLOATS; i++)
		image[i] = (float)i * 0.37f - 11.0f;
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	CHECK(bs_door_open(&door, dir, "s", sizeof(image), 10.0, &why) == 0, "opened: %s",
	      why.text);
	CHECK(bs_door_open(&second, dir, "s", sizeof(image), 10.0, &why) == BS_ERR_STATE,
	      "a second service does not take the socket: %s", why.text);
	bs_door_close(&second);
	bs_door_look(&door); /* lets the second one in, which is gone */
	bs_door_look(&door);
	door.away = BS_STEP_ABSENT;
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0660, "its group may connect");
	good();
	sees();
	wrong();
	stale();
	ahead();
	late();
	flat();
	bs_door_close(&door);
	CHECK(stat(path, &st) != 0, "the socket is gone");
	(void)rmdir(dir);
	return check_done();
}
