/*
 * ipc/step.h - the contract between the service and a step: a site's own program that gets each
 * image of a protocol before it leaves, and gives back another one, or numbers, or both
 *
 * Nothing is linked. A step sees pixels, geometry and counters, and no word of the patient. The
 * service never waits for it beyond the time that the site declared: a late image leaves without.
 * A step's life: open -> ready -> { wait -> answer }* -> end
 *   open    connects to the socket that the environment names (BORESIDE_STEP; SOCK_SEQPACKET). It
 *           gets one message: the magic, and a descriptor (SCM_RIGHTS) of the memory to map whole
 *   ready   has loaded what it needs, at its leisure, and stores 1 in `ready`
 *   wait    until asked differs from answered: then an image lies in `in` and at in_at
 *   answer  writes `out` and, where it has pixels, at out_at; then stores asked in answered
 *   end     the socket is closed: the memory is nobody's. A step ends, and is started again
 *
 * Who owns what. While asked and answered are the same both slots are the service's; while they
 * differ both are the step's. Whoever hands over writes first, then stores its number (release),
 * then wakes the other (futex, not private); the other loads that number (acquire) and then reads.
 * Sizes and offsets never change while the memory lives.
 *
 * What may be late: the answer. by_ns is when the service stops waiting. A step answers all the
 * same: that answer is dropped, and the next image given. While one is owed images leave without
 * the step. Who owes one for a second, and twice the declared time, counts as hung: the socket is
 * closed, and what the service has started itself is killed.
 *
 * Scan 0 is none: a new step is timed with images of the protocol's size, to keep nothing of.
 * What is not taken: pixels of another size, NaN or infinity among the pixels or the numbers (the
 * image leaves without the step, the step goes on), and a number in answered that was not asked (a
 * stale answer; the socket is closed). What became of each image stands in its attributes.
 *
 * Offsets, for other languages: 0 magic, 8 version, 16 bytes, 24 slot_bytes, 32 in_at, 40 out_at,
 * 64 ready, 128 asked, 192 answered, 256 in, 448 out. Numbers are little-endian. C11 or C++ by
 * gcc or clang, _GNU_SOURCE defined before the first include. Test: test/unit/drivers/test_step.c
 */
#ifndef BS_IPC_STEP_H
#define BS_IPC_STEP_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BS_STEP_MAGIC   UINT64_C(0x3130305045545342) /* the letters "BSTEP001" */
#define BS_STEP_VERSION 1u /* of this layout; a step that knows another one ends */
#define BS_STEP_SOCKET  "BORESIDE_STEP"
#define BS_STEP_NUMBERS 64u /* most numbers of an answer */
#define BS_STEP_ALIGNED __attribute__((aligned(64)))

/*
 * Written by the service: an image, [channel][z][y][x], x fastest; or (the site's takes = "frame")
 * its readouts as they came, [coil][1][row][sample], row: of the trajectory, or ky + kz * all ky.
 */
struct bs_step_image {
	uint32_t matrix[3], channels;
	uint32_t type;  /* of a pixel, MRD's number: 5 float, 7 complex float */
	uint32_t kind;  /* MRD's image type: 1 magnitude, 2 phase, 5 complex; 0: readouts */
	uint64_t bytes; /* of all pixels */
	float fov_mm[3], position_mm[3]; /* whole image; its center, in the patient's system */
	float read_dir[3], phase_dir[3], slice_dir[3];
	uint32_t scan, image; /* number of the scan, 0: none; of the image in it, from 1 */
	uint32_t slice, contrast, phase, repetition, set, average;
	int64_t by_ns; /* CLOCK_MONOTONIC: when the answer must be there; INT64_MAX: at any time */
	/* of the image that leaves, and so of an answer's pixels; as above, but for readouts */
	uint32_t image_matrix[3], image_channels, image_type, unused;
	uint64_t image_bytes;
};

enum bs_step_what {
	BS_STEP_PIXELS = 1,       /* the image leaves with the pixels at out_at */
	BS_STEP_NUMBERS_ALONE = 2 /* the image leaves as it came, with the numbers */
};

/* An answer, written by the step. */
struct bs_step_answer {
	uint32_t what;    /* enum bs_step_what */
	uint32_t numbers; /* how many of number are set, 0 to 64; they go into the attributes */
	uint64_t bytes;   /* of the pixels at out_at: in.image_bytes; 0 without pixels */
	double number[BS_STEP_NUMBERS];
};

struct bs_step_memory {
	uint64_t magic;
	uint32_t version, unused;
	uint64_t bytes;                    /* of the whole memory */
	uint64_t slot_bytes;               /* room for pixels at in_at, and as much at out_at */
	uint64_t in_at, out_at;            /* offsets from the memory's start */
	BS_STEP_ALIGNED uint32_t ready;    /* the step: 1 once it can work */
	BS_STEP_ALIGNED uint32_t asked;    /* the service: number of the image in `in`; a futex */
	BS_STEP_ALIGNED uint32_t answered; /* the step: number of the image answered; a futex */
	BS_STEP_ALIGNED struct bs_step_image in;
	BS_STEP_ALIGNED struct bs_step_answer out;
};

/* Connects and maps the memory. NULL: it failed. *fd: the socket, which stays open. */
static inline struct bs_step_memory *bs_step_open(const char *path, int *fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint64_t magic = 0;
	struct iovec word = { &magic, sizeof(magic) };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} extra;
	struct msghdr m = { .msg_iov = &word, .msg_iovlen = 1, .msg_control = &extra };
	struct bs_step_memory *memory = (struct bs_step_memory *)MAP_FAILED;
	int file = -1;

	m.msg_controllen = sizeof(extra);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (strlen(path) >= sizeof(at.sun_path))
		return NULL;
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (connect(*fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    recvmsg(*fd, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(magic) ||
	    magic != BS_STEP_MAGIC || CMSG_FIRSTHDR(&m) == NULL)
		return NULL;
	memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(file));
	memory = (struct bs_step_memory *)mmap(NULL, (size_t)lseek(file, 0, SEEK_END),
					       PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	(void)close(file);
	return memory != MAP_FAILED && memory->version == BS_STEP_VERSION ? memory : NULL;
}

/* Stores a number for the other side and wakes it. */
static inline void bs_step_store(uint32_t *at, uint32_t number)
{
	__atomic_store_n(at, number, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, at, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits for an image. 1: it is in `in`. 0: the socket is closed, and the step should end. */
static inline int bs_step_wait(struct bs_step_memory *m, int fd)
{
	const struct timespec moment = { 0, 100000000 }; /* between two looks at the socket */
	char byte;

	while (__atomic_load_n(&m->asked, __ATOMIC_ACQUIRE) == m->answered) {
		if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
			return 0;
		(void)syscall(SYS_futex, &m->asked, FUTEX_WAIT, m->answered, &moment, NULL, 0);
	}
	return 1;
}

#endif
