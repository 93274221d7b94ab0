/*
 * board/tool/audit/frames.h - the bytes of one log: heads, seals, segments, records, padding
 *
 * Reads a log as drivers/log/reader does, by which `boreside log verify` reads, and looks at what
 * that passes over: the heads and seals of all its files, and what stands between its messages.
 * Messages are handed on in their order, each once. Memory: that of the longest record.
 */
#ifndef BS_BOARD_TOOL_AUDIT_FRAMES_H
#define BS_BOARD_TOOL_AUDIT_FRAMES_H

#include "board/tool/audit/promise.h"
#include "drivers/log/reader.h"

struct bs_audit_frames {
	struct bs_log_head begins; /* head of the log's first readable file */
	bool sealed, early;
	bool damaged;  /* messages are lost */
	bool uncut;    /* the log is sealed, and its file is longer than the seal says */
	bool gone;     /* the log was removed while it was read */
	bool restless; /* the log was, or may have been, written while it was read */
	enum bs_log_end end;
	uint64_t records, bytes;
	uint32_t segments;
};

/*
 * Reads a log whose first file is path. where, of BS_AUDIT_WHERE bytes, names the record that take
 * is called for.
 */
#define BS_AUDIT_WHERE 1200u
void bs_audit_frames(struct bs_findings *f, const char *path, char *where,
		     struct bs_audit_frames *out,
		     void (*each)(void *arg, const struct bs_log_message *m), void *arg);

#endif
