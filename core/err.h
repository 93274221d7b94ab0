/*
 * core/err.h - coded errors and the reason that travels with them
 *
 * Every function that can fail returns 0 or a negative enum bs_err. Where a caller must be told
 * why in words, the function also takes a struct bs_fail: the code and one line of text that names
 * what was wrong and where. A fail may be NULL when nobody wants the words.
 * Thread rules: none needed; a bs_fail belongs to its caller. Allocates nothing.
 */
#ifndef BS_CORE_ERR_H
#define BS_CORE_ERR_H

#include "core/linkage.h"

BS_C_BEGIN

/* Error codes. They cross the wire (ipc/WIRE.md): append only, never renumber. */
enum bs_err {
	BS_OK = 0,
	BS_ERR_NOMEM = -1,       /* a pool or an arena is too small, or the system refused memory */
	BS_ERR_IO = -2,          /* a file or a socket failed; errno's words are in the reason */
	BS_ERR_CONFIG = -3,      /* the configuration is not valid */
	BS_ERR_GPU = -4,         /* a CUDA call failed; the context may have to be rebuilt */
	BS_ERR_UNSUPPORTED = -5, /* the request is valid, but this build or machine cannot do it */
	BS_ERR_STATE = -6,       /* the message is not legal in the scan's present state */
	BS_ERR_MAGIC = -7,       /* the envelope does not start with the magic */
	BS_ERR_VERSION = -8,     /* the envelope or the MRD header has another version */
	BS_ERR_KIND = -9,        /* the message is of an unknown kind */
	/* a message is truncated, or longer or shorter than its own header says */
	BS_ERR_LENGTH = -10,
	BS_ERR_CRC = -11,         /* the checksum does not match */
	BS_ERR_SEQUENCE = -12,    /* a sequence number was skipped and not resent */
	BS_ERR_XML = -13,         /* the MRD XML header is malformed, too large or too deep */
	BS_ERR_PROTOCOL = -14,    /* no protocol of that name is armed */
	BS_ERR_SIZE = -15,        /* samples, channels or matrix differ from the protocol's */
	BS_ERR_TRAJECTORY = -16,  /* the trajectory is out of range or not the one that was armed */
	BS_ERR_VALUE = -17,       /* a sample is NaN, infinite or absurdly large */
	BS_ERR_INDEX = -18,       /* an encoding counter is outside the protocol's range */
	BS_ERR_TIMEOUT = -19,     /* the peer fell silent */
	BS_ERR_ABORTED = -20,     /* the scan was ended by the service (worker died, shutdown) */
	BS_ERR_BUDGET = -21,      /* the latency budget cannot be met */
	BS_ERR_FORMAT = -22,      /* a file is not what its name says, or damaged */
	BS_ERR_USAGE = -23,       /* the command line is wrong */
	BS_ERR_CALIBRATION = -24, /* the scan lacks what calibrates it: noise, central lines */
	BS_ERR_KEY = -25, /* a key is not known, lacks a role, or what was sealed was altered */
	BS_ERR_LAST = -26
};

struct bs_fail {
	int code;
	char text[384];
};

/* The name of a code: "BS_ERR_CRC" for -11; "BS_ERR_?" for a number that is no code. */
const char *bs_err_name(int code);

/* Fills *why (when not NULL) and returns code, so that it can end a function. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int bs_fail(struct bs_fail *why, int code, const char *fmt, ...);

/* Takes a line of a report, such as a fault of a file in words. */
typedef void bs_tell_line(void *arg, const char *line);
#ifdef __clang_analyzer__ /* the analyzer does not see that bs_fail returns the code */
#define bs_fail(why, code, ...) ((void)(bs_fail)(why, code, __VA_ARGS__), (code))
#endif

BS_C_END
#endif
