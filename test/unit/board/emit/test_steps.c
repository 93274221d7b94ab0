/*
 * test/unit/board/emit/test_steps.c - an image at its step, in the record that every emit process
 * reads: what is decided stays decided, and the pixels that recon made stay as they are
 */
#define _GNU_SOURCE
#include "board/emit/steps.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/step/door.h"
#include "drivers/step/start.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

#define FLOATS (16u * 16u)

static struct bs_site site;
static struct bs_shm shm;
static struct bs_worker_env env;
static struct emit e;
static struct bs_fail why;

/* An emit process that begins on the same memory. */
static void begin(void)
{
	memset(&e, 0, sizeof(e));
	env = (struct bs_worker_env){ .shm = shm,
				      .who = BS_WORKER_EMIT,
				      .me = &shm.s->worker[BS_WORKER_EMIT],
				      .site = site };
	bs_emit_init(&e, &env);
	CHECK(bs_emit_steps_open(&e, &why) == 0, "the step's socket is there: %s", why.text);
}

static float *pixels_of(unsigned char *slot)
{
	return (float *)(void *)(slot + BS_POOLS_PIXELS);
}

/* An image as recon leaves it, whose pixels are 1, 2, 3, ... */
static uint32_t image(void)
{
	struct bs_image_meta *m;
	uint32_t slot = 0;

	CHECK(bs_pool_take(shm.image_pool, BS_OWNER_EMIT, &slot), "a slot");
	m = &shm.image_meta[slot];
	memset(m, 0, sizeof(*m));
	m->image.head = (struct bs_mrd_image){
		.data_type = 5, .image_type = 1, .matrix_size = { 16, 16, 1 }, .channels = 1
	};
	m->image.number = 1;
	m->scan = 1;
	m->made_ns = bs_now_ns();
	for (unsigned i = 0; i < FLOATS; i++)
		pixels_of(bs_shm_image(&shm, slot))[i] = (float)(i + 1);
	return slot;
}

/* True if the image that recon made is as it was, and the one that leaves is sign times it. */
static bool leaves(uint32_t slot, float sign)
{
	const float *made = pixels_of(bs_shm_image(&shm, slot));
	const float *left = pixels_of(bs_shm_leaving(&shm, slot));
	bool good = true;

	for (unsigned i = 0; i < FLOATS; i++)
		good = good && made[i] == (float)(i + 1) && left[i] == sign * made[i];
	return good;
}

static const char *verdict(uint32_t slot)
{
	return bs_step_verdict_name(shm.image_meta[slot].step.verdict);
}

static bool is_ready(void)
{
	bs_emit_steps_look(&e);
	return atomic_load(&shm.s->step[0].ready) != 0;
}

static void test_decided(void)
{
	uint32_t slot = image();
	uint32_t other;
	pid_t pid = 0;

	begin();
	bs_emit_steps_run(&e, slot);
	CHECK(strcmp(verdict(slot), "absent") == 0 && leaves(slot, 1.0f), "without a step: %s",
	      verdict(slot));
	CHECK(bs_step_start(&pid, &site.step[0], NULL, &why) == 0, "the step starts");
	AWAIT(is_ready());
	bs_emit_steps_run(&e, slot);
	CHECK(strcmp(verdict(slot), "absent") == 0 && leaves(slot, 1.0f),
	      "what was decided stays, though the step is there now");
	other = image();
	bs_emit_steps_run(&e, other);
	CHECK(strcmp(verdict(other), "used") == 0 && leaves(other, -1.0f),
	      "the next one leaves with the step's pixels, beside those that were made: %s",
	      verdict(other));
	CHECK(strcmp(shm.image_meta[other].step.name, "s") == 0 &&
		      shm.image_meta[other].step.numbers == 2,
	      "and with its name and numbers");
	bs_emit_steps_close(&e);
	begin();
	bs_emit_steps_run(&e, other);
	CHECK(strcmp(verdict(other), "used") == 0 && leaves(other, -1.0f),
	      "a process that replaces this one asks no second time");
	shm.image_meta[slot].step.verdict = BS_STEP_NONE;
	while (bs_pool_take(shm.image_pool, BS_OWNER_RECON, &other))
		;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(bs_step_start(&pid, &site.step[0], NULL, &why) == 0, "the step starts again");
	AWAIT(is_ready());
	bs_emit_steps_run(&e, slot);
	CHECK(strcmp(verdict(slot), "busy") == 0 && leaves(slot, 1.0f),
	      "no slot is left for recon: the image leaves at once, %s", verdict(slot));
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(atomic_load(&shm.s->step[0].images[BS_STEP_USED]) == 1 &&
		      atomic_load(&shm.s->step[0].images[BS_STEP_ABSENT]) == 1 &&
		      atomic_load(&shm.s->step[0].images[BS_STEP_BUSY]) == 1,
	      "each image is counted once");
	bs_emit_steps_close(&e);
}

int main(void)
{
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_step_spec *step = &site.step[0];
	char dir[] = "/tmp/boreside-steps-XXXXXX";

	if (mkdtemp(dir) == NULL)
		abort();
	site.acq_slots = 2;
	site.image_slots = 4;
	site.protocols = site.steps = 1;
	site.protocol[0] = with_name(lines_of(16, 16, 1, 16, 1), "p");
	(void)snprintf(step->name, sizeof(step->name), "s");
	(void)snprintf(step->on, sizeof(step->on), "p");
	(void)snprintf(step->dir, sizeof(step->dir), "%s", dir);
	(void)snprintf(step->command, sizeof(step->command),
		       "%.200s/test/support/step/unruly invert", getenv("BUILD"));
	site.protocol[0].step = (struct bs_step_of){ .at = 1, .ms = 60000.0 };
	bs_plan_make(&site.protocol[0]);
	if (bs_shm_create(&shm, &site, tables, &why) != 0)
		abort();
	test_decided();
	bs_shm_close(&shm);
	CHECK(rmdir(dir) == 0, "no socket is left");
	return check_done();
}
