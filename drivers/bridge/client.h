/*
 * drivers/bridge/client.h - one MRD client: its conversation, and the scan that it sends
 *
 *   CONFIG -> HEADER -> PARAMETERS -> WAITING -> OPENING -> STREAMING -> ENDING -> DRAINING
 * and from each state, once CLOSE is sent, LINGERING.
 *
 * The server (server.c) moves bytes between the socket and the buffers `in` and `out`; these
 * functions read and write the messages. took is called when bytes came, advance in each loop
 * iteration; neither waits. One thread. Buffers grow as needed, up to the limits of message.h,
 * BS_CLIENT_OUT_MOST and album.h. A scan counts as under way until its outcome is here, however
 * slowly the client takes its images.
 * Test: test/replay/bridge/
 */
#ifndef BS_DRIVERS_BRIDGE_CLIENT_H
#define BS_DRIVERS_BRIDGE_CLIENT_H

#include "core/protocol.h"
#include "drivers/bridge/album.h"
#include "drivers/bridge/buffer.h"
#include "drivers/bridge/feed.h"
#include "drivers/bridge/message.h"
#include "drivers/bridge/names.h"
#include "drivers/bridge/noise.h"

#define BS_CLIENT_OUT_HIGH ((size_t)64 << 10)   /* bytes in `out` at which reading stops */
#define BS_CLIENT_OUT_MOST ((size_t)4 << 20)    /* most bytes in `out` */
#define BS_CLIENT_HELLO_NS INT64_C(10000000000) /* longest wait for the next byte before a scan */

enum bs_client_state {
	BS_CLIENT_CONFIG,     /* no message has come yet */
	BS_CLIENT_HEADER,     /* a config has come */
	BS_CLIENT_PARAMETERS, /* a header has come; TEXTs with parameters may follow */
	BS_CLIENT_WAITING,    /* the scan waits: as many as the site takes are under way */
	BS_CLIENT_OPENING,    /* OPEN is sent to the service */
	BS_CLIENT_STREAMING,
	BS_CLIENT_ENDING,   /* the client's CLOSE has come; the scan's outcome has not */
	BS_CLIENT_DRAINING, /* the outcome is here; images are still to be sent */
	BS_CLIENT_LINGERING /* CLOSE is sent; what the client still sends is dropped */
};

/* State that all clients share. */
struct bs_client_env {
	const struct bs_site *site;
	struct bs_bridge_limits limits;
	struct bs_bridge_noises noises;
	size_t ring;                    /* bytes of the ring of a scan's sender */
	uint32_t scans;                 /* number of scans under way */
	int64_t none_ns;                /* copy of bs_collector's */
	uint64_t newest;                /* number of the newest image in the store */
	uint64_t opened, ended, images; /* scans opened and ended, images sent; in all */
	/* time since which lines about clients' errors are counted */
	int64_t said_ns;
	/* number of lines that were logged, and of lines that were left out */
	uint32_t said, unsaid;
	uint64_t refused; /* clients that were told of an error */
	char error[160];  /* text of the last error */
};

struct bs_client {
	struct bs_client_env *env;
	int fd;        /* socket; -1: the client is gone, but its scan may not be over */
	char peer[32]; /* address of the client, "192.168.2.1:40123" */
	enum bs_client_state state;
	struct bs_buffer in, out;
	size_t need;                /* bytes in `in` that are needed to go on */
	bool blocked;               /* the message in `in` waits */
	bool quiet;                 /* the client sends no more */
	bool stuck;                 /* the connection takes no more bytes for now */
	bool shut;                  /* this side has ended its sending */
	int64_t heard_ns, wrote_ns; /* when bytes last came, and were last sent */
	int64_t began_ns;           /* when an incomplete message began; 0: there is none */
	int64_t since_ns;           /* when the state was entered */
	/* config: name in a CONFIG message; chosen: name in parameters, "": none */
	char config[BS_NAMES_MAX], chosen[BS_NAMES_MAX];
	struct bs_chosen set; /* keys that parameters set for the scan */
	struct bs_form form;
	bool asks_noise;
	char noise_scan[BS_NAME_MAX];
	unsigned char *xml;
	size_t xml_len;
	const char *protocol;
	/* the client's scan */
	bool passing;    /* the client's images go back to it; the client counts in env->scans */
	bool feeding;    /* feed is open; counts in env->scans */
	bool finish_due; /* CLOSE is to be sent to the service */
	struct bs_feed feed;
	struct bs_bridge_noise noise;
	struct bs_album album;
	struct bs_wire_outcome outcome;
	/* told: the service's refusals that were passed on; passed: images that came and went back;
	 * unused: messages that came and were not used */
	uint64_t session, told, passed, unused;
};

void bs_client_begin(struct bs_client *c, struct bs_client_env *env, int fd, int64_t now_ns);
/* Handles the bytes that were added to `in`, as far as they go. */
void bs_client_took(struct bs_client *c, int64_t now_ns);
void bs_client_advance(struct bs_client *c, int64_t now_ns);
/* True if the client gets the images of this session. */
static inline bool bs_client_has(const struct bs_client *c, uint64_t session)
{
	return c->fd >= 0 && c->session == session && c->state != BS_CLIENT_LINGERING;
}
/* True if bytes wait to be sent to the client, here or in the store. */
static inline bool bs_client_owed(const struct bs_client *c)
{
	return c->out.len > 0 || c->album.bytes.len > 0 || bs_album_wants(&c->album);
}
/* Closes the client's connection. */
void bs_client_gone(struct bs_client *c, int64_t now_ns);
/* True if the client has neither a connection nor a scan any more. */
static inline bool bs_client_over(const struct bs_client *c)
{
	return c->fd < 0 && !c->feeding;
}
void bs_client_free(struct bs_client *c);

/* say.c: texts to the client. A level has 8 characters, as consoles expect. */
void bs_client_text(struct bs_client *c, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void bs_client_close(struct bs_client *c, int64_t now_ns);
/* Sends TEXT with the reason, then CLOSE; ends the client's scan with the readouts that came. */
void bs_client_fail(struct bs_client *c, const struct bs_fail *why, int64_t now_ns);
/* True if a line about a client's error may be logged: 20 in 10 s; the others are counted. */
bool bs_client_may_log(struct bs_client_env *env, int64_t now_ns);
/* Tells the client what became of its scan. */
void bs_client_outcome(struct bs_client *c);
void bs_client_noise(struct bs_client *c);
void bs_client_answer(struct bs_client *c, const struct bs_bridge_message *query);
/* Passes on the service's answer to the scan, as JSON; client: a struct bs_client. */
void bs_client_answered(void *client, const struct bs_answer *a);

#define BS_SAY_INFO    "INFO    "
#define BS_SAY_WARNING "WARNING "
#define BS_SAY_ERROR   "ERROR   "

#endif
