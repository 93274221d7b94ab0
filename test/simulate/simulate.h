/*
 * test/simulate/simulate.h - what the parts of the simulator share: chance, time, words
 *
 * simulate.c   the program: its options, the schedules one after the other, the table
 * schedule.c   one schedule: who goes next, which fault comes when, the calm at its end
 * faults.c     the faults
 * totals.c     the tables of what was covered
 * places.c     where processes may be killed
 * senders/     the scanner that faults are about (scanner.c); who connects beside it (others.c);
 *              one scan after the other over one link (lane.c), by the service's own sender code or
 *              the page's rules (peer.c); ipc/gate.h's functions over a network that loses and
 *              changes messages (network.c)
 * books.c      what the sender knows of each scan, and what it must find in the end
 * answers.c    what it is told of its readouts while it measures
 * service.c    the shared memory, ingest as a process, the supervisor's part
 * disk/logs.c  the logs, read back by their real reader
 * recon.c      a model of the reconstruction: takes ring entries and books what it saw
 * disk/disk.c  the system's calls on files, over a disk that fails, and loses what it was not told
 *              to sync
 * emit/        schedules of another kind: images, emit as a process, those who take them
 * wakes.c      what a process waits for
 * process.c    a program that can be stopped, and killed, between any two of its steps
 * The real code is linked as it is (its steps are counted, see step.h); what is below it is
 * simulated. One thread, no real time: the same seed gives the same schedule.
 */
#ifndef BS_TEST_SIMULATE_SIMULATE_H
#define BS_TEST_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS INT64_C(1000000)

/* The clock, ns; bs_now_ns reads it. */
extern int64_t sim_now;

/* splitmix64 */
extern uint64_t sim_state;

static inline uint64_t sim_random(void)
{
	uint64_t z = (sim_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 to n - 1 */
static inline uint32_t sim_below(uint32_t n)
{
	return (uint32_t)(((sim_random() >> 32) * n) >> 32);
}

static inline bool sim_chance(uint32_t in_1000)
{
	return sim_below(1000) < in_1000;
}

/* 1 to 2^bits, each power of two as likely as the next */
static inline uint32_t sim_spread(uint32_t bits)
{
	return 1 + sim_below(1u << sim_below(bits + 1));
}

/* A line of the story, where it is asked for. */
extern bool sim_verbose;
void sim_say(const char *words, ...) __attribute__((format(printf, 1, 2)));
#define SAY(...)                                                                                   \
	do {                                                                                       \
		if (sim_verbose)                                                                   \
			sim_say(__VA_ARGS__);                                                      \
	} while (0)

/* Of 1000 schedules so many are of images (emit/). */
extern uint32_t sim_images;

/* A promise was broken. The first one of a schedule is kept. */
void sim_broken(const char *words, ...) __attribute__((format(printf, 1, 2)));
bool sim_is_broken(void);

#endif
