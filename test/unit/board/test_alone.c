/*
 * test/unit/board/test_alone.c - a scan stays on the first of several GPUs where that is faster
 *
 * Frames of given times; nothing is measured, and no GPU is asked.
 */
#define _GNU_SOURCE /* mkdtemp, usleep */
#include "board/arm/alone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/engine/engines.h"
#include "test/support/check.h"

/* ms by direction; the first frame of either takes ten times as long. */
struct times {
	double shared[2], alone[2];
	double jitter;    /* every second one of both is so much slower, from the second pair on */
	int slow_alone;   /* of ten frames alone, so many take twice as long */
	int fails_at;     /* this call; 0: none */
	int64_t sleep_us; /* each */
	int calls, frames[2];
};

static int frame(void *arg, bool alone, double ms[2], struct bs_fail *why)
{
	struct times *t = arg;
	const int n = t->frames[alone]++;
	double factor = n == 0 ? 10.0 : n % 2 == 0 ? 1.0 + t->jitter : 1.0;

	if (alone && n > 0 && n % 10 < t->slow_alone)
		factor *= 2.0;
	if (++t->calls == t->fails_at)
		return bs_fail(why, BS_ERR_GPU, "frame %d", t->calls);
	if (t->sleep_us > 0)
		(void)usleep((useconds_t)t->sleep_us);
	for (int d = 0; d < 2; d++)
		ms[d] = factor * (alone ? t->alone[d] : t->shared[d]);
	return 0;
}

static struct bs_tuning found; /* of the last trial */

static struct bs_alone judge(const char *what, struct times t, double seconds, bool chosen,
			     int least, int most)
{
	struct bs_fail why = { 0 };
	const int rc = bs_alone_judge(&found, frame, &t, seconds, &why);
	const struct bs_alone s = bs_alone_of(&found, 2);
	char words[64];

	bs_alone_words(words, sizeof(words), &s);
	CHECK(rc == 0 && s.chosen == chosen && t.calls >= least && t.calls <= most,
	      "%s: %s, %d frames (\"%s\")", what, s.chosen ? "stays on one" : "shared out", t.calls,
	      words);
	return s;
}

#define BOTH(a, b)                                                                                 \
	{                                                                                          \
		a, b                                                                               \
	}

static void decisions(void)
{
	const int all = 2 + 2 * BS_TUNE_RUNS;
	const struct times gridding = { .shared = BOTH(0.099, 2.0), .alone = BOTH(0.095, 1.1) };
	const struct times sense = { .shared = BOTH(17.5, 18.0), .alone = BOTH(33.4, 34.0) };
	const struct times equal = { .shared = BOTH(1.0, 2.0), .alone = BOTH(1.0, 2.0) };
	const struct times hardly = { .shared = BOTH(1.0, 2.0), .alone = BOTH(0.995, 2.0) };
	const struct times later = { .shared = BOTH(1.0, 10.0), .alone = BOTH(0.9, 11.0) };
	const struct times jumpy = { .shared = BOTH(0.099, 2.0),
				     .alone = BOTH(0.095, 1.1),
				     .jitter = 0.3 };
	struct times some = gridding;
	struct bs_alone s = judge("4 % faster on one", gridding, 60.0, true, 2 + 32, 2 + 32);

	CHECK(s.shared_ms == 0.099 && s.alone_ms == 0.095 && s.gpus == 2,
	      "the medians are known: %g, %g ms", s.shared_ms, s.alone_ms);
	(void)judge("half as long on two: three pairs are enough", sense, 60.0, false, 8, 8);
	(void)judge("as long on both", equal, 60.0, false, 2 + 12, all);
	(void)judge("less than 1 % faster on one", hardly, 60.0, false, 2 + 12, all);
	(void)judge("from the last readout faster, from the first slower", later, 60.0, false,
		    2 + 32, all);
	(void)judge("faster, though all jump by a third", jumpy, 60.0, true, 2 + 32, all);
	some.slow_alone = 2; /* two of ten: 16 of 21 pairs are still won */
	(void)judge("faster in 8 of 10", some, 60.0, true, 2 + 32, all);
	some.slow_alone = 5;
	(void)judge("faster in half", some, 60.0, false, 8, all);
}

static void time_is_up(void)
{
	struct times slow = { .shared = BOTH(9.9, 20.0),
			      .alone = BOTH(9.5, 11.0),
			      .sleep_us = 5000 };

	(void)judge("no time for a pair", slow, 0.0, false, 2, 2);
	CHECK(found.cut && found.trial[0].ms[0] == 99.0 && found.trial[1].ms[0] == 95.0,
	      "the first frames' times are told: %g, %g ms", found.trial[0].ms[0],
	      found.trial[1].ms[0]);
	(void)judge("time for a few pairs", slow, 0.05, false, 4, 2 + 30);
	CHECK(found.cut && found.trial[1].ms[0] == 9.5, "what they took is told: %g ms",
	      found.trial[1].ms[0]);
}

static void failures(void)
{
	for (int at = 1; at <= 4; at++) {
		struct times t = { .shared = BOTH(2.0, 2.0),
				   .alone = BOTH(1.0, 1.0),
				   .fails_at = at };
		struct bs_fail why = { 0 };
		const int rc = bs_alone_judge(&found, frame, &t, 60.0, &why);

		CHECK(rc == BS_ERR_GPU && t.calls == at && found.best == 0, "frame %d fails: %s",
		      at, why.text);
	}
}

static void words(void)
{
	struct bs_alone s = { .chosen = true, .gpus = 4, .shared_ms = 0.147, .alone_ms = 0.095 };
	char text[64];

	bs_alone_words(text, sizeof(text), &s);
	CHECK(strcmp(text, " alone: 0.095 ms, 0.147 on 4") == 0, "\"%s\"", text);
	s = (struct bs_alone){ .gpus = 2, .shared_ms = 17.474, .alone_ms = 33.37 };
	bs_alone_words(text, sizeof(text), &s);
	CHECK(strcmp(text, ", 17.474 ms, 33.370 alone") == 0, "\"%s\"", text);
	s = (struct bs_alone){ 0 };
	bs_alone_words(text, sizeof(text), &s);
	CHECK(text[0] == '\0', "not measured: nothing is said");
}

static void kept(void)
{
	const struct times gridding = { .shared = BOTH(0.099, 2.0), .alone = BOTH(0.095, 1.1) };
	static const char key[] = "sharing of a test";
	char folder[] = "/tmp/boreside-alone-XXXXXX";
	static struct bs_tuning read;
	char command[64];

	CHECK(mkdtemp(folder) != NULL, "a folder");
	(void)judge("once more", gridding, 60.0, true, 2 + 32, 2 + 32);
	bs_tune_save(&found, key, folder);
	CHECK(bs_tune_load(&read, found.kind, key, folder) && bs_alone_of(&read, 2).chosen &&
		      bs_alone_of(&read, 2).alone_ms == 0.095,
	      "what was found comes back from the cache");
	CHECK(!bs_tune_load(&read, found.kind, "sharing of another", folder), "no other's does");
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(bs_alone_keeps(folder), "a folder keeps what was found");
	CHECK(system(command) == 0 && !bs_alone_keeps(folder), "one that is gone does not");
}

/* Who is asked at all. */
static void asked(void)
{
	static const struct bs_engine cuda = { .place = BS_PLACE_GPU };
	struct bs_protocol p = { .method = BS_METHOD_GRIDDING,
				 .coils = 8,
				 .matrix = { 16, 16, 1 },
				 .gpu_devices = { 2, { 0, 1 } } };

	bs_plan_make(&p);
	CHECK(bs_alone_asked(&cuda, &p, "/var/cache"), "a scan that two GPUs can share");
	CHECK(!bs_alone_asked(&cuda, &p, ""), "without a cache: each start would find its own");
	CHECK(!bs_alone_asked(&bs_engine_host, &p, "/var/cache"), "on the host");
	p.gpu_share = BS_GPU_SHARE_ALWAYS;
	CHECK(!bs_alone_asked(&cuda, &p, "/var/cache"), "gpu.share always");
	p.gpu_share = BS_GPU_SHARE_AUTO;
	p.coils = 1;
	bs_plan_make(&p);
	CHECK(!bs_alone_asked(&cuda, &p, "/var/cache"), "one coil cannot be shared out");
	p.coils = 8;
	p.gpu_devices.count = 1;
	bs_plan_make(&p);
	CHECK(!bs_alone_asked(&cuda, &p, "/var/cache"), "one GPU");
}

int main(void)
{
	decisions();
	time_is_up();
	failures();
	words();
	kept();
	asked();
	return check_done();
}
