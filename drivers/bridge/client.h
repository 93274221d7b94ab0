/*
 * drivers/bridge/client.h - one MRD client: its conversation, and the scan that it sends
 *
 *   CONFIG -> HEADER -> PARAMETERS -> WAITING -> OPENING -> STREAMING -> ENDING -> DRAINING
 * and from each, when CLOSE was said, LINGERING.
 *
 * The server (server.c) moves bytes between the socket and in and out; these functions say what
 * they mean. took is called when bytes came, advance at each turn: neither waits. One thread;
 * buffers grow with what comes, never beyond the limits (message.h), OUT_MOST and album.h's. A scan
 * counts until its outcome is here, however slowly the client takes its images.
 * Test: test/replay/bridge/
 */
#ifndef BS_DRIVERS_BRIDGE_CLIENT_H
#define BS_DRIVERS_BRIDGE_CLIENT_H

#include <stdarg.h>

#include "core/protocol.h"
#include "ipc/collector.h"
#include "drivers/bridge/album.h"
#include "drivers/bridge/buffer.h"
#include "drivers/bridge/feed.h"
#include "drivers/bridge/message.h"
#include "drivers/bridge/names.h"
#include "drivers/bridge/noise.h"

#define BS_CLIENT_OUT_HIGH ((size_t)64 << 10) /* of words; nothing is read while more wait */
#define BS_CLIENT_OUT_MOST ((size_t)4 << 20)
#define BS_CLIENT_HELLO_NS INT64_C(10000000000) /* for the next byte, before a scan */

enum bs_client_state {
	BS_CLIENT_CONFIG,     /* nothing yet */
	BS_CLIENT_HEADER,     /* a config came */
	BS_CLIENT_PARAMETERS, /* a header; TEXTs with parameters may follow it */
	BS_CLIENT_WAITING,    /* as many scans as the site takes are under way */
	BS_CLIENT_OPENING,    /* OPEN is out */
	BS_CLIENT_STREAMING,
	BS_CLIENT_ENDING,   /* CLOSE came: the scan's outcome is to come */
	BS_CLIENT_DRAINING, /* it is here; images are still on their way */
	BS_CLIENT_LINGERING /* CLOSE was said: what it still sends is dropped */
};

/* What all clients share. */
struct bs_client_env {
	const struct bs_site *site;
	struct bs_bridge_limits limits;
	struct bs_bridge_noises noises;
	size_t ring;                    /* bytes of a scan's sender */
	uint32_t scans;                 /* under way */
	int64_t none_ns;                /* bs_collector's */
	uint64_t newest;                /* number of the newest image in the store */
	uint64_t opened, ended, images; /* in all */
	int64_t said_ns;                /* lines of the log about what clients did wrong */
	uint32_t said, unsaid;
	uint64_t refused; /* clients that were told of an error */
	char error[160];  /* the last one */
};

struct bs_client {
	struct bs_client_env *env;
	int fd;        /* -1: it is gone, and its scan is not over yet */
	char peer[32]; /* "192.168.2.1:40123" */
	enum bs_client_state state;
	struct bs_buffer in, out;
	size_t need;                /* bytes that say more than those that are there */
	bool blocked;               /* what is in `in` waits */
	bool quiet;                 /* it sends no more */
	bool stuck;                 /* its connection takes no more for now */
	bool shut;                  /* so do we */
	int64_t heard_ns, wrote_ns; /* bytes came, or went */
	int64_t began_ns;           /* a message that is not whole; 0: none */
	int64_t since_ns;           /* of the state */
	char config[BS_NAMES_MAX], chosen[BS_NAMES_MAX]; /* chosen: by parameters; "": not */
	struct bs_chosen set;                            /* by parameters, too, for its scan */
	struct bs_picture_form form;
	bool asks_noise;
	char noise_scan[BS_NAME_MAX];
	unsigned char *xml;
	size_t xml_len;
	const char *protocol;
	/* its scan */
	bool passing;    /* its images go back to it: it counts in env->scans */
	bool feeding;    /* feed is open: likewise */
	bool finish_due; /* CLOSE is to be sent */
	struct bs_feed feed;
	struct bs_bridge_noise noise;
	struct bs_album album;
	struct bs_wire_outcome outcome;
	uint64_t session, told, passed, unused; /* images, and what is no image, that came */
};

void bs_client_begin(struct bs_client *c, struct bs_client_env *env, int fd, int64_t now_ns);
/* Bytes were added to in: everything that can be done with them. */
void bs_client_took(struct bs_client *c, int64_t now_ns);
void bs_client_advance(struct bs_client *c, int64_t now_ns);
/* Does it get the images of this scan? */
static inline bool bs_client_has(const struct bs_client *c, uint64_t session)
{
	return c->fd >= 0 && c->session == session && c->state != BS_CLIENT_LINGERING;
}
/* Something is to be sent to it, here or in the store. */
static inline bool bs_client_owed(const struct bs_client *c)
{
	return c->out.len > 0 || c->album.bytes.len > 0 || bs_album_wants(&c->album);
}
/* Its connection is no more. */
void bs_client_gone(struct bs_client *c, int64_t now_ns);
/* Nothing of it is left: neither connection nor scan. */
static inline bool bs_client_over(const struct bs_client *c)
{
	return c->fd < 0 && !c->feeding;
}
void bs_client_free(struct bs_client *c);

/* say.c: what it is told. A level is 8 characters, as consoles expect them. */
void bs_client_text(struct bs_client *c, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void bs_client_close(struct bs_client *c, int64_t now_ns);
/* TEXT with the reason, then CLOSE; its scan, if any, is ended with what came. */
void bs_client_fail(struct bs_client *c, const struct bs_fail *why, int64_t now_ns);
/* A line about what a client did wrong may be logged: 20 in 10 s, the others are counted. */
bool bs_client_may_log(struct bs_client_env *env, int64_t now_ns);
/* What became of its scan. */
void bs_client_outcome(struct bs_client *c);
void bs_client_noise(struct bs_client *c);
void bs_client_answer(struct bs_client *c, const struct bs_bridge_message *query);

#define BS_SAY_INFO    "INFO    "
#define BS_SAY_WARNING "WARNING "
#define BS_SAY_ERROR   "ERROR   "

#endif
