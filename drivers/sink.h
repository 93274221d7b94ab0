/*
 * drivers/sink.h - where images go
 *
 * open -> put* -> close, in the emit worker or in `boreside recon`. put may block and allocate
 * (emit is not on the reconstruction's path) and must leave a whole file or none behind.
 * attributes: the MRD meta XML, NUL-terminated. The reason names the file.
 */
#ifndef BS_DRIVERS_SINK_H
#define BS_DRIVERS_SINK_H

#include "core/err.h"
#include "core/mrd.h"
#include "core/protocol.h"

struct bs_sink {
	const char *type; /* "png", "cfl", "mrd" */
	/* target: a folder (the service; files are named scan and image) or a file name (recon -o) */
	int (*open)(void **self, const char *target, struct bs_fail *why);
	int (*put)(void *self, const struct bs_mrd_image *head, const char *attributes,
		   const void *pixels, struct bs_fail *why);
	int (*close)(void *self, struct bs_fail *why);
};

extern const struct bs_sink bs_sink_png, bs_sink_cfl, bs_sink_mrd;

/* By type, or by the extension of a file name (".png", ".cfl", ".h5"). NULL: none. */
const struct bs_sink *bs_sink_find(const char *type_or_name);

#endif
