/* test/simulate/emit/sockets.c - see sockets.h; the linker puts these functions before the real */
#include "test/simulate/emit/sockets.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/endpoint.h"
#include "ipc/gate.h"
#include "ipc/wire/wire.h"
#include "test/simulate/emit/pictures.h"
#include "test/simulate/emit/takers.h"
#include "test/simulate/places.h"
#include "test/simulate/process.h"
#include "test/simulate/totals.h"

#define MESSAGE   16384u
#define QUESTIONS 8u
#define KERNEL    3u /* messages that the connection holds, beside the library's one */
#define FRAME     9u
#define COUNTED   768u /* by the kernel, for a message beside its bytes */
#define FD_SEND   5000000

static struct {
	unsigned asker;
	uint64_t id;
	size_t len;
	unsigned char bytes[BS_WIRE_BYTES + BS_WIRE_TAKER];
} question[QUESTIONS];
static unsigned questions;
static bool images_open, there[PICTURE_ASKERS];
static unsigned asked_by; /* the question that is being answered */
static uint64_t asked_id; /* 0: none is */

static struct {
	size_t len;
	unsigned char bytes[MESSAGE];
} lies[KERNEL + 1], out; /* the last one that lies is the library's where the kernel is full */
static unsigned lying;
static bool push_open, connected;
static uint64_t connections;

void sockets_reset(void)
{
	questions = lying = 0;
	images_open = push_open = connected = false;
	connections = 0;
	memset(there, 0, sizeof(there));
}

void sockets_process_gone(void)
{
	questions = 0;
	asked_id = 0;
	images_open = push_open = connected = false;
	if (lying > KERNEL)
		lying = KERNEL;
	connections = 0;
}

bool sockets_ready(int fd)
{
	return fd == FD_SEND && connected && lying <= KERNEL;
}

/* ---- the peers' ends ---- */

void sockets_asker_connects(unsigned asker, bool is_there)
{
	there[asker] = is_there;
}

bool sockets_ask(unsigned asker, uint64_t id, uint64_t after)
{
	struct bs_wire w = { .kind = BS_WIRE_NEXT, .seq = after };
	unsigned char *at = question[questions].bytes;
	char name[] = "asker-0";

	if (!images_open || questions == QUESTIONS)
		return false;
	name[6] = (char)('0' + asker);
	bs_wire_put_next(at + BS_WIRE_BYTES, name);
	bs_wire_encode(at, &w, at + BS_WIRE_BYTES, BS_WIRE_TAKER);
	question[questions].asker = asker;
	question[questions].id = id;
	question[questions++].len = BS_WIRE_BYTES + BS_WIRE_TAKER;
	return true;
}

bool sockets_connect(void)
{
	if (!push_open || lying > 0) /* a dead one's is read to its end first */
		return false;
	connected = true;
	connections++;
	return true;
}

bool sockets_connected(void)
{
	return connected;
}

void sockets_break(void)
{
	connected = false;
	lying = 0;
}

bool sockets_waits(void)
{
	return lying > 0;
}

const unsigned char *sockets_pull(size_t *len)
{
	if (lying == 0)
		return NULL;
	out = lies[0];
	lying--;
	memmove(lies, lies + 1, lying * sizeof(lies[0]));
	*len = out.len;
	return out.bytes;
}

void sockets_each(void (*call)(const unsigned char *msg, size_t len))
{
	for (unsigned i = 0; i < lying; i++)
		call(lies[i].bytes, lies[i].len);
}

/* ---- the service's ---- */

/* Of the gate only this is asked: what no simulated peer does. */
uint64_t bs_gate_nonsense(void)
{
	return 0;
}

/* Nothing is sealed here. */
int __wrap_bs_endpoint_bind_sealed(struct bs_endpoint *e, enum bs_endpoint_role role,
				   const char *url, size_t message_max,
				   const struct bs_endpoint_seal *seal, struct bs_fail *why);
int __wrap_bs_endpoint_bind_sealed(struct bs_endpoint *e, enum bs_endpoint_role role,
				   const char *url, size_t message_max,
				   const struct bs_endpoint_seal *seal, struct bs_fail *why)
{
	(void)e;
	(void)role;
	(void)url;
	(void)message_max;
	(void)seal;
	return bs_fail(why, BS_ERR_UNSUPPORTED, "the simulated network is not sealed");
}

bool bs_endpoint_is_sealed(const struct bs_endpoint *e)
{
	(void)e;
	return false;
}

const char *__wrap_bs_endpoint_asker(const struct bs_endpoint *e);
const char *__wrap_bs_endpoint_asker(const struct bs_endpoint *e)
{
	(void)e;
	return NULL;
}

int __wrap_bs_endpoint_bind(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			    size_t message_max, struct bs_fail *why);
int __wrap_bs_endpoint_bind(struct bs_endpoint *e, enum bs_endpoint_role role, const char *url,
			    size_t message_max, struct bs_fail *why)
{
	(void)url;
	(void)why;
	SIM_PLACE();
	*e = (struct bs_endpoint){
		.socket = (int)role, .receive_fd = -1, .send_fd = FD_SEND, .role = role
	};
	e->message_max = message_max;
	if (role == BS_ENDPOINT_IMAGES)
		images_open = true;
	else
		push_open = true;
	return 0;
}

static bool asked(void *arg)
{
	(void)arg;
	return questions > 0;
}

int __wrap_bs_endpoint_recv(struct bs_endpoint *e, void *buf, size_t cap, size_t *len,
			    int timeout_ms, struct bs_fail *why);
int __wrap_bs_endpoint_recv(struct bs_endpoint *e, void *buf, size_t cap, size_t *len,
			    int timeout_ms, struct bs_fail *why)
{
	(void)e;
	(void)why;
	SIM_PLACE();
	process_wait(sim_now + timeout_ms * MS, asked, NULL);
	if (questions == 0)
		return BS_ENDPOINT_TIMEOUT;
	asked_by = question[0].asker;
	asked_id = question[0].id;
	*len = question[0].len;
	if (*len > cap)
		return BS_ERR_LENGTH;
	memcpy(buf, question[0].bytes, *len);
	questions--;
	memmove(question, question + 1, questions * sizeof(question[0]));
	return 0;
}

static int push(const void *msg, size_t len)
{
	if (!connected || lying > KERNEL)
		return BS_ENDPOINT_TIMEOUT;
	if (len > MESSAGE)
		abort();
	memcpy(lies[lying].bytes, msg, len);
	lies[lying++].len = len;
	SIM_PLACE();
	return 0;
}

int __wrap_bs_endpoint_send(struct bs_endpoint *e, const void *head, size_t head_len,
			    const void *tail, size_t tail_len, int timeout_ms, struct bs_fail *why);
int __wrap_bs_endpoint_send(struct bs_endpoint *e, const void *head, size_t head_len,
			    const void *tail, size_t tail_len, int timeout_ms, struct bs_fail *why)
{
	static unsigned char whole[MESSAGE];
	const uint64_t id = asked_id;

	(void)timeout_ms;
	(void)why;
	SIM_PLACE();
	if (e->role == BS_ENDPOINT_ARCHIVE_OUT)
		return push(head, head_len);
	if (head_len + tail_len > MESSAGE)
		abort();
	memcpy(whole, head, head_len);
	if (tail_len > 0)
		memcpy(whole + head_len, tail, tail_len);
	asked_id = 0;
	if (id != 0)
		askers_hear(asked_by, id, whole, head_len + tail_len);
	SIM_PLACE();
	return 0;
}

uint64_t __wrap_bs_endpoint_connections(const struct bs_endpoint *e);
uint64_t __wrap_bs_endpoint_connections(const struct bs_endpoint *e)
{
	(void)e;
	return connections;
}

uint64_t __wrap_bs_endpoint_connections_now(const struct bs_endpoint *e);
uint64_t __wrap_bs_endpoint_connections_now(const struct bs_endpoint *e)
{
	uint64_t n = 0;

	if (e->socket < 0)
		return 0;
	if (e->role == BS_ENDPOINT_ARCHIVE_OUT)
		return connected;
	for (unsigned i = 0; i < PICTURE_ASKERS; i++)
		n += there[i];
	return n;
}

uint64_t __wrap_bs_endpoint_unsent(const struct bs_endpoint *e);
uint64_t __wrap_bs_endpoint_unsent(const struct bs_endpoint *e)
{
	uint64_t bytes = 0;

	(void)e;
	if (!connected)
		return 0;
	for (unsigned i = 0; i < lying && i < KERNEL; i++)
		bytes += lies[i].len + FRAME + COUNTED;
	return bytes + (lying > KERNEL);
}

void __wrap_bs_endpoint_close(struct bs_endpoint *e);
void __wrap_bs_endpoint_close(struct bs_endpoint *e)
{
	e->socket = -1;
}

void __wrap_bs_endpoint_tune_malloc(size_t message_max);
void __wrap_bs_endpoint_tune_malloc(size_t message_max)
{
	(void)message_max;
}
