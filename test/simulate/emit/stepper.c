/* test/simulate/emit/stepper.c - see stepper.h; the linker puts these functions before the real */
#define _GNU_SOURCE
#include "test/simulate/emit/stepper.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "drivers/step/door.h"
#include "ipc/shm/slots.h"
#include "ipc/step.h"
#include "test/simulate/emit/pictures.h"
#include "test/simulate/places.h"
#include "test/simulate/process.h"
#include "test/simulate/totals.h"

#define FD_SOCKET 7000000 /* that listens, or asks whether somebody does */
#define FD_PEER   7000001
#define FD_MEMORY 7000002
#define BYTES     16384u
#define CALLS     6
#define NOTICE_NS (100 * MS) /* time between two of its looks at the socket */
#define LATE_NS   (1 * MS)   /* beyond the budget */

/* What it makes of an image. */
enum does { ANSWERS, NUMBERS, LATE, NEVER, STALE, SIZE, NAN_, DIES, DOES };

static _Alignas(4096) unsigned char memory[2][BYTES]; /* of this connection and the one before */
static unsigned newest;
static bool there, listens; /* the site has a step; the service waits for it */
static bool connected;      /* the service has not closed the connection, */
static bool alive;          /* nor the step */
static unsigned lives;      /* processes of the service so far */
static uint32_t unruly;     /* of 1000 images so many are not answered well */

static enum { GONE, DIALS, LOADS, WORKS } state;
static struct bs_step_memory *mine;
static enum does does;
static uint32_t hand; /* number of the image that it is at; 0: none */
static uint32_t done; /* number of the last one that it was asked for */
static int64_t next_ns;

void stepper_reset(bool is_there)
{
	there = is_there;
	listens = connected = alive = false;
	lives = 0;
	state = GONE;
	hand = 0;
	if (!there)
		return;
	unruly = sim_chance(700) ? sim_below(600) : 0;
	next_ns = sim_now + (sim_chance(700) ? 0 : (int64_t)sim_spread(9) * MS);
}

/* The service's end is closed: the step notices. */
static void part(void)
{
	if (connected && next_ns > sim_now + NOTICE_NS)
		next_ns = sim_now + NOTICE_NS;
	connected = false;
}

void stepper_process_gone(void)
{
	listens = false;
	lives++;
	part();
}

void stepper_calm(void)
{
	unruly = 0;
}

/* ---- the step ---- */

static void die(void)
{
	SAY("the step ends");
	alive = false;
	state = GONE;
	hand = 0;
	next_ns = sim_now + (int64_t)sim_spread(10) * MS;
}

static float *pixels_at(uint64_t offset)
{
	return (float *)(void *)((unsigned char *)mine + offset);
}

static void take_image(void)
{
	const unsigned i = mine->in.scan == 0
				   ? PICTURES
				   : pictures_seen(mine->in.image, pixels_at(mine->in_at));

	hand = done = mine->asked;
	does = sim_chance(unruly) ? (enum does)(1 + sim_below(DOES - 1)) : ANSWERS;
	next_ns = sim_now + (int64_t)sim_spread(24); /* 16.8 ms at most */
	if (does == LATE)
		next_ns += (int64_t)sim_spread(11) * MS;
	if (does == NEVER)
		next_ns = INT64_MAX;
	SAY("the step is asked for number %u, image %u of scan %u", hand, mine->in.image,
	    mine->in.scan);
	if (mine->in.scan == 0)
		return;
	if (i == PICTURES)
		sim_broken("the step has an image that nobody made");
	else if (picture[i].verdict[0] != '\0' || picture[i].asked == lives + 1)
		sim_broken("the step is asked for image %u once more", i);
	else
		picture[i].asked = lives + 1;
}

static void answer(void)
{
	struct bs_step_answer *a = &mine->out;
	uint32_t number = hand;

	if (does == DIES && sim_chance(500)) {
		die();
		return;
	}
	*a = (struct bs_step_answer){ .what = BS_STEP_PIXELS, .bytes = mine->in.image_bytes };
	pictures_step(pixels_at(mine->out_at), pixels_at(mine->in_at));
	a->number[a->numbers++] = (double)mine->in.image;
	if (does == NUMBERS)
		*a = (struct bs_step_answer){ .what = BS_STEP_NUMBERS_ALONE, .numbers = 1 };
	if (does == SIZE && sim_chance(500))
		a->bytes += 4;
	else if (does == SIZE)
		a->numbers = BS_STEP_NUMBERS + 1;
	if (does == NAN_ && sim_chance(500))
		pixels_at(mine->out_at)[sim_below(PICTURE_PIXELS)] = INFINITY;
	else if (does == NAN_)
		a->number[0] = NAN;
	if (does == STALE)
		number += sim_chance(500) ? 1 + sim_below(4) : UINT32_MAX - 1;
	if (does == DIES) {
		die();
		return;
	}
	mine->answered = number;
	hand = 0;
}

int64_t stepper_due(void)
{
	if (!there || state == DIALS)
		return INT64_MAX;
	if (state == WORKS && connected && hand == 0)
		return mine->asked != done ? sim_now : INT64_MAX;
	return next_ns;
}

bool stepper_turn(void)
{
	if (stepper_due() > sim_now)
		return false;
	if (state == GONE) {
		state = DIALS;
	} else if (!connected) {
		die();
	} else if (state == LOADS) {
		mine->ready = 1;
		state = WORKS;
	} else if (hand == 0) {
		take_image();
	} else {
		answer();
	}
	return true;
}

/* ---- the service's calls ---- */

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	if (!process_inside())
		return __real_socket(domain, type, protocol);
	return FD_SOCKET;
}

int __real_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	if (fd != FD_SOCKET)
		return __real_connect(fd, to, len);
	errno = ECONNREFUSED;
	return -1;
}

int __real_bind(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *to, socklen_t len)
{
	return fd == FD_SOCKET ? 0 : __real_bind(fd, to, len);
}

int __real_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode)
{
	return process_inside() ? 0 : __real_chmod(path, mode);
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
	if (fd != FD_SOCKET)
		return __real_listen(fd, backlog);
	SIM_PLACE();
	listens = true;
	return 0;
}

int __real_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	if (fd != FD_SOCKET)
		return __real_accept4(fd, from, len, flags);
	SIM_PLACE();
	if (!listens || state != DIALS) {
		errno = EAGAIN;
		return -1;
	}
	connected = alive = true;
	state = LOADS;
	next_ns = INT64_MAX; /* it waits for the memory */
	return FD_PEER;
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	if (!process_inside())
		return __real_memfd_create(name, flags);
	SIM_PLACE();
	newest = !newest;
	memset(memory[newest], 0, BYTES);
	return FD_MEMORY;
}

int __real_fallocate(int fd, int mode, off_t at, off_t len);
int __wrap_fallocate(int fd, int mode, off_t at, off_t len);
int __wrap_fallocate(int fd, int mode, off_t at, off_t len)
{
	if (fd != FD_MEMORY)
		return __real_fallocate(fd, mode, at, len);
	if ((size_t)len > BYTES)
		abort();
	return 0;
}

int __real_fcntl(int fd, int cmd, ...);
int __wrap_fcntl(int fd, int cmd, ...);
int __wrap_fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return fd == FD_MEMORY ? 0 : __real_fcntl(fd, cmd, arg);
}

void *sim_mmap(void *at, size_t len, int may, int flags, int fd, off_t from);
void *sim_mmap(void *at, size_t len, int may, int flags, int fd, off_t from)
{
	return fd == FD_MEMORY ? memory[newest] : mmap(at, len, may, flags, fd, from);
}

int __real_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len)
{
	return at == memory[0] || at == memory[1] ? 0 : __real_munmap(at, len);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (fd != FD_PEER)
		return __real_sendmsg(fd, m, flags);
	SIM_PLACE();
	mine = (struct bs_step_memory *)(void *)memory[newest];
	done = 0;
	next_ns = sim_now + (int64_t)sim_spread(sim_chance(800) ? 1 : 10) * MS;
	return (ssize_t)m->msg_iov->iov_len;
}

ssize_t __real_recv(int fd, void *p, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *p, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *p, size_t len, int flags)
{
	if (fd != FD_PEER)
		return __real_recv(fd, p, len, flags);
	errno = EAGAIN;
	return alive ? -1 : 0;
}

bool stepper_closes(int fd)
{
	if (fd == FD_PEER)
		part();
	if (fd == FD_SOCKET)
		listens = false;
	return fd >= FD_SOCKET && fd <= FD_MEMORY;
}

bool stepper_sizes(int fd)
{
	return fd == FD_MEMORY;
}

struct word {
	const uint32_t *at;
	uint32_t was;
};

static bool has_changed(void *arg)
{
	const struct word *w = arg;

	return *w->at != w->was;
}

/* It waits for a word of the memory to change; who stores it wakes it. */
static long wait_for_word(const struct word *w, const struct timespec *t)
{
	SIM_PLACE();
	process_wait(sim_now + (int64_t)t->tv_sec * 1000000000 + t->tv_nsec, has_changed,
		     (void *)(uintptr_t)w);
	SIM_PLACE();
	return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long arg[CALLS];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < CALLS; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (!process_inside() || number != SYS_futex)
		return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if ((int)arg[1] != FUTEX_WAIT)
		return 0;
	const struct word word = { (const uint32_t *)arg[0], (uint32_t)arg[2] };

	return wait_for_word(&word, (const struct timespec *)arg[3]);
}

static void see(uint32_t verdict)
{
	if (verdict == BS_STEP_USED)
		sim_saw(SEEN_STEP_USED);
	else if (verdict == BS_STEP_NUMBERED)
		sim_saw(SEEN_STEP_NUMBERED);
	else if (verdict == BS_STEP_LATE)
		sim_saw(SEEN_STEP_LATE);
	else if (verdict == BS_STEP_DIED)
		sim_saw(SEEN_STEP_DIED);
	else if (verdict == BS_STEP_HUNG)
		sim_saw(SEEN_STEP_HUNG);
	else if (verdict == BS_STEP_SIZE || verdict == BS_STEP_NAN || verdict == BS_STEP_STALE)
		sim_saw(SEEN_STEP_WRONG);
	else
		sim_saw(SEEN_STEP_WITHOUT);
}

void __real_bs_door_run(struct bs_door *d, const struct bs_door_job *job, void *out,
			struct bs_step_result *r);
void __wrap_bs_door_run(struct bs_door *d, const struct bs_door_job *job, void *out,
			struct bs_step_result *r);
void __wrap_bs_door_run(struct bs_door *d, const struct bs_door_job *job, void *out,
			struct bs_step_result *r)
{
	const int64_t begun_ns = sim_now;
	const int64_t stalled_ns = process_stalled();
	const int64_t by_ns = job->by_ns > begun_ns ? job->by_ns : begun_ns;
	const struct bs_image_meta *m = (const void *)((const char *)job->head -
						       offsetof(struct bs_image_meta, image.head));

	if (job->scan != 0 && m->step.verdict != BS_STEP_NONE)
		sim_broken("the step is asked for an image that leaves as %s",
			   bs_step_verdict_name(m->step.verdict));
	__real_bs_door_run(d, job, out, r);
	if (sim_now - (process_stalled() - stalled_ns) > by_ns + LATE_NS)
		sim_broken("an image is held for %.3f ms, %.3f ms beyond its budget",
			   (double)(sim_now - begun_ns) * 1e-6, (double)(sim_now - by_ns) * 1e-6);
	if (job->scan != 0)
		see(r->verdict);
}
