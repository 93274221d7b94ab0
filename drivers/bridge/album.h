/*
 * drivers/bridge/album.h - the images of a client's scan: those that it has, and the next one
 *
 * begin -> { put | sent | drop }*. Small images lie in bytes one after the other, and count as had
 * at once. A large one lies there alone, and counts when all of it went: until then its bytes
 * may be dropped, and put again, from where they were, when it is asked for once more. So an album
 * holds BS_ALBUM_SMALL, or one large image, however slowly the client reads; what follows stays in
 * the service's store. Numbers are those of the store. One thread. Test: test/replay/bridge/
 */
#ifndef BS_DRIVERS_BRIDGE_ALBUM_H
#define BS_DRIVERS_BRIDGE_ALBUM_H

#include "drivers/bridge/buffer.h"
#include "drivers/bridge/picture.h"

#define BS_ALBUM_SMALL ((size_t)512 << 10) /* bytes */

struct bs_album {
	struct bs_buffer bytes;
	struct bs_picture_form form;
	uint64_t has, newest; /* of its scan; newest is beyond has: there are more in the store */
	uint64_t hand;        /* the large one that is on its way; 0: none */
	size_t sent;          /* bytes of it that went */
	double scale, hand_scale;
	bool hand_frame;       /* it is no preview */
	uint64_t images, lost; /* frames that it has; images that could not be put */
};

/* A scan, of which nothing is stored up to number `after`. */
void bs_album_begin(struct bs_album *a, const struct bs_picture_form *form, uint64_t after);
/* May an image whose message is of at most so many bytes be put now? */
bool bs_album_takes(const struct bs_album *a, size_t bytes);
/* The image that follows what it has. BS_ERR_SEQUENCE: the rest of the one in hand is no more. */
int bs_album_put(struct bs_album *a, uint64_t number, const struct bs_asked *image,
		 struct bs_fail *why);
/* So many bytes went. */
void bs_album_sent(struct bs_album *a, size_t bytes);
/* The bytes of the large image go; it is put again later. */
void bs_album_drop(struct bs_album *a);
/* No more than what was begun to be sent. */
void bs_album_end(struct bs_album *a);
/* The bytes that come next are to be asked for. */
static inline bool bs_album_wants(const struct bs_album *a)
{
	return a->bytes.len == 0 && (a->hand != 0 || a->has < a->newest);
}
/* It is within a message whose next bytes are not here: nothing else may be sent. */
static inline bool bs_album_torn(const struct bs_album *a)
{
	return a->bytes.len == 0 && a->sent > 0;
}
/* All that there is was put, and no large image is on its way. */
static inline bool bs_album_done(const struct bs_album *a)
{
	return a->hand == 0 && a->has >= a->newest;
}

#endif
