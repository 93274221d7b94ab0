/* test/simulate/wakes.c - see wakes.h */
#define _GNU_SOURCE
#include "test/simulate/wakes.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ipc/shm/workers.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/emit/sockets.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/places.h"
#include "test/simulate/process.h"
#include "test/simulate/service.h"

#define EVENTS 16u /* the bells first */

int64_t wakes_clock_ahead_ns;

static uint64_t count[EVENTS];
static bool made[EVENTS];

static bool ours(int fd)
{
	return fd >= WAKES_BELL && fd < WAKES_BELL + (int)EVENTS;
}

void wakes_reset(void)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		count[i] = 0;
		made[i] = i < BS_BELLS;
	}
}

void wakes_process_gone(void)
{
	for (unsigned i = BS_BELLS; i < EVENTS; i++)
		made[i] = false;
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags)
{
	if (!process_inside())
		return __real_eventfd(value, flags);
	for (unsigned i = 0; i < EVENTS; i++)
		if (!made[i]) {
			made[i] = true;
			count[i] = value;
			return WAKES_BELL + (int)i;
		}
	errno = EMFILE;
	return -1;
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
	if (!ours(fd))
		return __real_write(fd, p, n);
	if (fd == WAKES_BELL + BS_SUPERVISOR)
		service_hears();
	else
		count[fd - WAKES_BELL]++;
	return (ssize_t)n;
}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
	ssize_t had;

	if (!ours(fd))
		return disk_read(fd, p, n, &had) ? had : __real_read(fd, p, n);
	if (count[fd - WAKES_BELL] == 0) {
		errno = EAGAIN;
		return -1;
	}
	*(uint64_t *)p = count[fd - WAKES_BELL];
	count[fd - WAKES_BELL] = 0;
	return (ssize_t)n;
}

struct wait {
	struct pollfd *fds;
	nfds_t n;
};

static bool readable(int fd)
{
	return ours(fd) ? count[fd - WAKES_BELL] > 0 : network_ready(fd) || sockets_ready(fd);
}

static bool any(void *arg)
{
	const struct wait *w = arg;

	for (nfds_t i = 0; i < w->n; i++)
		if (readable(w->fds[i].fd))
			return true;
	return false;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const void *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const void *mask)
{
	struct wait w = { fds, n };
	int ready = 0;

	(void)mask;
	SIM_PLACE();
	process_wait(t != NULL ? sim_now + (int64_t)t->tv_sec * 1000000000 + t->tv_nsec : INT64_MAX,
		     any, &w);
	for (nfds_t i = 0; i < n; i++) {
		fds[i].revents = readable(fds[i].fd) ? POLLIN : 0;
		ready += fds[i].revents != 0;
	}
	SIM_PLACE();
	return ready;
}

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (!process_inside())
		return __real_poll(fds, n, ms);
	fds->revents = readable(fds->fd) ? POLLIN : 0;
	return fds->revents != 0;
}

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	if (!process_inside())
		return __real_clock_gettime(id, t);
	const int64_t now = sim_now + (id == CLOCK_REALTIME ? wakes_clock_ahead_ns : 0);

	*t = (struct timespec){ (time_t)(now / 1000000000), (long)(now % 1000000000) };
	return 0;
}
