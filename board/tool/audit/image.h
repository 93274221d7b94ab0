/*
 * board/tool/audit/image.h - an image of the store, against itself and against its scan's log
 *
 * take is called for each image in the order in which they are stored. attributes: memory that
 * grows to the longest, freed by who has it.
 */
#ifndef BS_BOARD_TOOL_AUDIT_IMAGE_H
#define BS_BOARD_TOOL_AUDIT_IMAGE_H

#include "board/tool/audit/part.h"
#include "ipc/wire/wire.h"

struct bs_audit_images {
	struct bs_audit *a;
	uint64_t session; /* session of the image before; 0: none */
	bool logged;      /* an earlier image's scan has its log here, so each later one must */
	bool all;         /* the store's oldest image is the first that it ever had */
	char *attributes;
	size_t room;
};

/* Judges the image of an IMAGE message (w, payload), at a->where. May return BS_ERR_NOMEM. */
int bs_audit_image(struct bs_audit_images *i, const struct bs_wire *w, const unsigned char *payload,
		   struct bs_fail *why);

#endif
