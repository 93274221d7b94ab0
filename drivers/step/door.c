/* drivers/step/door.c - see door.h */
#include "drivers/step/door.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/thread/clock.h"
#include "ipc/step.h"

#define SLICE_NS INT64_C(20000000)

_Static_assert(offsetof(struct bs_step_memory, ready) == 64 &&
		       offsetof(struct bs_step_memory, asked) == 128 &&
		       offsetof(struct bs_step_memory, answered) == 192 &&
		       offsetof(struct bs_step_memory, in) == 256 &&
		       offsetof(struct bs_step_memory, out) == 448 &&
		       offsetof(struct bs_step_image, image_bytes) == 160 &&
		       sizeof(struct bs_step_memory) == 1024,
	       "the offsets that the contract names");
_Static_assert(BS_STEP_NUMBERS == BS_STEP_NUMBERS_MAX, "room for all numbers");

/* True if somebody listens there: not what a process that was killed has left. */
static bool is_in_use(const struct sockaddr_un *at)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const bool used =
		connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno == EAGAIN;

	if (fd >= 0)
		(void)close(fd);
	return used;
}

int bs_door_open(struct bs_door *d, const char *dir, const char *name, uint64_t slot_bytes,
		 double budget_ms, struct bs_fail *why)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	*d = (struct bs_door){ .listening = -1, .peer = -1, .away = BS_STEP_ABSENT };
	d->slot_bytes = (slot_bytes + 4095) & ~UINT64_C(4095);
	d->bytes = 4096 + 2 * d->slot_bytes;
	d->hung_ns = BS_DOOR_HUNG_NS + 2 * bs_ns_of_ms(budget_ms);
	(void)snprintf(d->path, sizeof(d->path), "%s/%s", dir, name);
	if (strlen(d->path) >= sizeof(at.sun_path))
		return bs_fail(why, BS_ERR_IO, "%s: too long for a socket", d->path);
	memcpy(at.sun_path, d->path, strlen(d->path) + 1);
	if (is_in_use(&at))
		return bs_fail(why, BS_ERR_STATE, "step '%s': another service listens at %s", name,
			       d->path);
	(void)unlink(d->path); /* of a process before this one */
	d->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->listening < 0 || bind(d->listening, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    chmod(d->path, 0660) != 0 || listen(d->listening, 1) != 0) {
		(void)bs_fail(why, BS_ERR_IO, "the socket of step '%s', %s: %s", name, d->path,
			      strerror(errno));
		bs_door_close(d);
		return BS_ERR_IO;
	}
	return 0;
}

/* Ends the connection. away: what images say until the next one. */
static void part(struct bs_door *d, uint32_t away)
{
	d->lost += d->memory != NULL;
	if (d->memory != NULL)
		(void)munmap(d->memory, (size_t)d->bytes);
	if (d->peer >= 0)
		(void)close(d->peer);
	d->memory = NULL;
	d->peer = -1;
	d->owed_ns = 0;
	d->away = away;
}

static void cut_off(struct bs_door *d, uint32_t away)
{
	d->cut++;
	part(d, away);
}

void bs_door_close(struct bs_door *d)
{
	part(d, BS_STEP_ABSENT);
	if (d->listening >= 0) {
		(void)close(d->listening);
		(void)unlink(d->path);
	}
	d->listening = -1;
}

/* Makes the memory of a connection. Returns its descriptor, or -1. */
static int make_memory(struct bs_door *d)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const int fd = memfd_create("boreside-step", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct bs_step_memory *m;

	if (fd < 0)
		return -1;
	m = ftruncate(fd, (off_t)d->bytes) == 0 && fallocate(fd, 0, 0, (off_t)d->bytes) == 0 &&
			    fcntl(fd, F_ADD_SEALS, seals) == 0
		    ? mmap(NULL, (size_t)d->bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, fd, 0)
		    : MAP_FAILED;
	if (m == MAP_FAILED) {
		(void)close(fd);
		return -1;
	}
	m->magic = BS_STEP_MAGIC;
	m->version = BS_STEP_VERSION;
	m->bytes = d->bytes;
	m->slot_bytes = d->slot_bytes;
	m->in_at = 4096;
	m->out_at = 4096 + d->slot_bytes;
	d->memory = m;
	return fd;
}

static bool send_memory(int peer, int fd)
{
	uint64_t magic = BS_STEP_MAGIC;
	struct iovec word = { &magic, sizeof(magic) };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} extra = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &word,
			    .msg_iovlen = 1,
			    .msg_control = &extra,
			    .msg_controllen = sizeof(extra) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(peer, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(magic);
}

/* Lets the next one in that waits to connect. */
static void let_in(struct bs_door *d)
{
	int fd;

	d->peer = accept4(d->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (d->peer < 0)
		return;
	d->asked = 0;
	fd = make_memory(d);
	if (fd < 0 || !send_memory(d->peer, fd))
		part(d, d->away);
	d->came++;
	if (fd >= 0)
		(void)close(fd);
}

static uint32_t answered(const struct bs_door *d)
{
	return __atomic_load_n(&d->memory->answered, __ATOMIC_ACQUIRE);
}

/* Takes note of an answer, also of one that nobody asked for. Its pixels are not looked at. */
static void settle(struct bs_door *d)
{
	const uint32_t number = answered(d);

	if (number == d->asked)
		d->owed_ns = 0;
	else if (d->owed_ns == 0 || number != d->asked - 1)
		cut_off(d, BS_STEP_STALE);
	else if (bs_now_ns() - d->owed_ns > d->hung_ns)
		cut_off(d, BS_STEP_HUNG);
}

static bool is_gone(const struct bs_door *d)
{
	char byte;
	const ssize_t n = recv(d->peer, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void bs_door_look(struct bs_door *d)
{
	if (d->peer >= 0 && is_gone(d))
		part(d, BS_STEP_DIED);
	else if (d->peer >= 0)
		settle(d);
	if (d->peer < 0)
		let_in(d);
}

bool bs_door_ready(const struct bs_door *d)
{
	return d->memory != NULL && __atomic_load_n(&d->memory->ready, __ATOMIC_ACQUIRE) == 1;
}

/* ---- an image ---- */

static uint64_t given_bytes(const struct bs_door_job *job)
{
	return job->kspace == NULL ? job->bytes
				   : (uint64_t)job->coils * job->rows * job->samples * 8u;
}

/* Says what the pixels are, that they are readouts. */
static void describe_frame(struct bs_step_image *in, const struct bs_door_job *job)
{
	in->matrix[0] = job->samples;
	in->matrix[1] = job->rows;
	in->matrix[2] = 1;
	in->channels = job->coils;
	in->type = BS_MRD_CXFLOAT;
	in->kind = 0;
	in->bytes = given_bytes(job);
}

static void put_image(struct bs_door *d, const struct bs_door_job *job)
{
	const struct bs_mrd_image *h = job->head;
	struct bs_step_memory *m = d->memory;
	struct bs_step_image in = { .channels = h->channels,
				    .type = h->data_type,
				    .kind = h->image_type,
				    .bytes = job->bytes,
				    .scan = job->scan,
				    .image = job->image,
				    .slice = h->slice,
				    .contrast = h->contrast,
				    .phase = h->phase,
				    .repetition = h->repetition,
				    .set = h->set,
				    .average = h->average,
				    .by_ns = job->by_ns,
				    .image_channels = h->channels,
				    .image_type = h->data_type,
				    .image_bytes = job->bytes };

	for (int i = 0; i < 3; i++)
		in.matrix[i] = in.image_matrix[i] = h->matrix_size[i];
	memcpy(in.fov_mm, h->field_of_view, sizeof(in.fov_mm));
	memcpy(in.position_mm, h->position, sizeof(in.position_mm));
	memcpy(in.read_dir, h->read_dir, sizeof(in.read_dir));
	memcpy(in.phase_dir, h->phase_dir, sizeof(in.phase_dir));
	memcpy(in.slice_dir, h->slice_dir, sizeof(in.slice_dir));
	if (job->kspace != NULL)
		describe_frame(&in, job);
	m->in = in;
	memcpy((char *)m + 4096, job->kspace != NULL ? job->kspace : job->pixels, (size_t)in.bytes);
}

/* Waits until the answer is there, the step is gone, or it is too late. True: it is there. */
static bool await(struct bs_door *d, const struct bs_door_job *job)
{
	for (;;) {
		const int64_t left_ns = job->by_ns - bs_now_ns();
		const struct timespec slice =
			bs_timespec(left_ns < SLICE_NS ? (left_ns > 0 ? left_ns : 0) : SLICE_NS);

		if (answered(d) != d->asked - 1)
			return true;
		if (left_ns > 0 && bs_now_ns() - d->owed_ns < job->spin_ns) {
			bs_pause();
			continue;
		}
		if (left_ns <= 0 || is_gone(d))
			return false;
		(void)syscall(SYS_futex, &d->memory->answered, FUTEX_WAIT, d->asked - 1, &slice,
			      NULL, 0);
		if (job->beat != NULL)
			job->beat(job->arg);
	}
}

/* True if all floats are finite: an exponent of ones overflows into the sign's place. */
static bool all_finite(const void *floats, uint64_t bytes)
{
	const uint64_t exponents = UINT64_C(0x7f8000007f800000);
	const uint64_t ones = UINT64_C(0x0080000000800000);
	const uint64_t signs = UINT64_C(0x8000000080000000);
	const unsigned char *at = floats;
	uint64_t found = 0;
	uint64_t two;
	uint32_t last = 0;

	for (; bytes >= 8; bytes -= 8, at += 8) {
		memcpy(&two, at, 8);
		found |= (two & exponents) + ones;
	}
	if (bytes >= 4)
		memcpy(&last, at, 4);
	found |= ((uint64_t)last & exponents) + ones;
	return (found & signs) == 0;
}

/* Judges an answer, which is copied first: the step may still write. */
static enum bs_step_verdict take_answer(struct bs_door *d, const struct bs_door_job *job, void *out,
					struct bs_step_result *r)
{
	const struct bs_step_answer a = d->memory->out;
	const bool pixels = a.what == BS_STEP_PIXELS;

	if ((!pixels && a.what != BS_STEP_NUMBERS_ALONE) || a.numbers > BS_STEP_NUMBERS ||
	    a.bytes != (pixels ? job->bytes : 0))
		return BS_STEP_SIZE;
	for (uint32_t i = 0; i < a.numbers; i++)
		if (!isfinite(a.number[i]))
			return BS_STEP_NAN;
	if (pixels)
		memcpy(out, (const char *)d->memory + 4096 + d->slot_bytes, (size_t)job->bytes);
	if (pixels && !all_finite(out, job->bytes))
		return BS_STEP_NAN;
	r->numbers = a.numbers;
	memcpy(r->number, a.number, a.numbers * sizeof(r->number[0]));
	return pixels ? BS_STEP_USED : BS_STEP_NUMBERED;
}

/* Gives the image to the step and takes its answer. */
static enum bs_step_verdict ask(struct bs_door *d, const struct bs_door_job *job, void *out,
				struct bs_step_result *r)
{
	put_image(d, job);
	settle(d); /* an answer to what was not asked yet would be taken for this one's */
	if (d->memory == NULL)
		return BS_STEP_STALE;
	d->owed_ns = bs_now_ns();
	bs_step_store(&d->memory->asked, ++d->asked);
	if (!await(d, job)) {
		if (!is_gone(d))
			return BS_STEP_LATE;
		part(d, BS_STEP_DIED);
		return BS_STEP_DIED;
	}
	settle(d);
	return d->memory != NULL ? take_answer(d, job, out, r) : BS_STEP_STALE;
}

void bs_door_run(struct bs_door *d, const struct bs_door_job *job, void *out,
		 struct bs_step_result *r)
{
	const int64_t begun_ns = bs_now_ns();

	r->numbers = 0;
	if (d->memory == NULL)
		r->verdict = d->away;
	else if (!bs_door_ready(d))
		r->verdict = BS_STEP_LOADING;
	else if (job->bytes > d->slot_bytes || given_bytes(job) > d->slot_bytes)
		r->verdict = BS_STEP_SIZE;
	else if (d->owed_ns != 0 || begun_ns >= job->by_ns)
		r->verdict = BS_STEP_BUSY;
	else
		r->verdict = ask(d, job, out, r);
	r->ns = bs_now_ns() - begun_ns;
}
