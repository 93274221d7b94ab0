/*
 * drivers/bridge/album.h - the images of a client's scan: which the client has, and the next one
 *
 * begin -> { put | sent | drop }*. Small images lie in `bytes` one after the other and count as
 * sent at once. A large image lies there alone and counts when all of it was sent. Until then its
 * bytes may be dropped; when the image is read from the store again, sending continues where it
 * stopped. So an album holds BS_ALBUM_SMALL bytes or one large image, however slowly the client
 * reads; later images stay in the service's store. Numbers are those of the store. One thread.
 * Test: test/replay/bridge/
 */
#ifndef BS_DRIVERS_BRIDGE_ALBUM_H
#define BS_DRIVERS_BRIDGE_ALBUM_H

#include "drivers/bridge/buffer.h"
#include "drivers/bridge/form.h"

#define BS_ALBUM_SMALL ((size_t)512 << 10) /* bytes of a small image */

struct bs_album {
	struct bs_buffer bytes;
	struct bs_form form;
	/* number of the last image that counts as sent; that of the scan's last one in the store */
	uint64_t has, newest;
	uint64_t hand; /* the large image that is being sent; 0: none */
	size_t sent;   /* bytes of image `hand` that were sent */
	double scale, hand_scale;
	bool hand_frame;       /* image `hand` is no preview */
	uint64_t images, lost; /* frames that the client has; images that could not be put */
};

/* Begins a scan that has no stored image up to number `after`. */
void bs_album_begin(struct bs_album *a, const struct bs_form *form, uint64_t after);
/* True if an image whose message has at most this many bytes may be put now. */
bool bs_album_takes(const struct bs_album *a, size_t bytes);
/* Puts the next image. BS_ERR_SEQUENCE: the image in hand is lost before all of it was sent. */
int bs_album_put(struct bs_album *a, uint64_t number, const struct bs_asked *image,
		 struct bs_fail *why);
/* Counts bytes that were sent. */
void bs_album_sent(struct bs_album *a, size_t bytes);
/* Drops the bytes of the large image in hand, which is put again later. */
void bs_album_drop(struct bs_album *a);
/* Ends the album: only a message whose sending has begun is finished. */
void bs_album_end(struct bs_album *a);
/* True if the next image must be read from the store. */
static inline bool bs_album_wants(const struct bs_album *a)
{
	return a->bytes.len == 0 && (a->hand != 0 || a->has < a->newest);
}
/* True if a message was sent in part and its other bytes were dropped: nothing else may be sent. */
static inline bool bs_album_torn(const struct bs_album *a)
{
	return a->bytes.len == 0 && a->sent > 0;
}
/* True if all images of the scan in the store were put and no large image is in hand. */
static inline bool bs_album_done(const struct bs_album *a)
{
	return a->hand == 0 && a->has >= a->newest;
}

#endif
