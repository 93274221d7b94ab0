/* drivers/bridge/album.c - see album.h */
#include "drivers/bridge/album.h"

#include "ipc/wire/wire.h"

void bs_album_begin(struct bs_album *a, const struct bs_form *form, uint64_t after)
{
	*a = (struct bs_album){ .form = *form, .has = after, .newest = after };
}

bool bs_album_takes(const struct bs_album *a, size_t bytes)
{
	return a->bytes.len == 0 || (a->hand == 0 && a->bytes.len + bytes <= BS_ALBUM_SMALL);
}

static void got_hand(struct bs_album *a)
{
	a->has = a->hand;
	a->scale = a->hand_scale;
	a->images += a->hand_frame;
	a->hand = 0;
	a->sent = 0;
}

int bs_album_put(struct bs_album *a, uint64_t number, const struct bs_asked *image,
		 struct bs_fail *why)
{
	const bool again = number == a->hand;
	double scale = a->scale;
	int rc;

	if (a->sent > 0 && !again)
		return bs_fail(why, BS_ERR_SEQUENCE,
			       "the rest of an image is not in the store any more");
	rc = bs_form_add(&a->bytes, SIZE_MAX / 2, &a->form, &scale, image, why);
	if (rc != 0) {
		a->lost += !again;
		a->has = number;
		a->hand = 0;
		return rc;
	}
	a->hand = number;
	a->hand_scale = scale;
	a->hand_frame = image->number < BS_WIRE_PREVIEWS;
	bs_buffer_taken(&a->bytes, a->sent);
	if (a->bytes.len + a->sent <= BS_ALBUM_SMALL)
		got_hand(a);
	return 0;
}

void bs_album_sent(struct bs_album *a, size_t bytes)
{
	bs_buffer_taken(&a->bytes, bytes);
	if (a->hand == 0)
		return;
	a->sent += bytes;
	if (a->bytes.len == 0)
		got_hand(a);
}

void bs_album_drop(struct bs_album *a)
{
	if (a->hand != 0)
		bs_buffer_free(&a->bytes);
}

void bs_album_end(struct bs_album *a)
{
	if (a->sent == 0) {
		bs_album_drop(a);
		a->hand = 0;
	}
	a->newest = a->has;
}
