/*
 * core/log.h - the process's log: one line of words per event, on standard error
 *
 * A line reads "boreside[ingest] warn: text"; under systemd the journal adds the time. In the
 * format json (node.log_format) a line is {"time":"2026-11-23T17:30:00.123456Z","process":"ingest",
 * "level":"warn","text":"..."}. Each line is one write(2), so lines of several processes do not
 * mix. Not for real-time threads: these raise events (core/thread/event.h) and another thread makes
 * the words. Allocates nothing.
 */
#ifndef BS_CORE_LOG_H
#define BS_CORE_LOG_H

#include <stdbool.h>

#include "core/linkage.h"

BS_C_BEGIN

enum bs_log_level { BS_LOG_ERROR, BS_LOG_WARN, BS_LOG_INFO, BS_LOG_DEBUG };
extern const char *const bs_log_levels[]; /* names of the levels: "error" ...; then NULL */

/* json: lines are JSON, else words. Call it before other threads run. */
void bs_log_format(bool json);
bool bs_log_is_json(void);

/*
 * Call once per process. who: "ingest", "recon", ...: kept by pointer. Lines above level are
 * dropped.
 */
void bs_log_init(const char *who, enum bs_log_level level);

/* Makes the text what a line of words shows of it: without control characters. */
void bs_log_plain(char *text);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void bs_log(enum bs_log_level level, const char *fmt, ...);
/*
 * Writes members of a JSON object, "\"a\":1,\"b\":\"x\"", in place of the text where lines are
 * JSON. who: the process that the line is from; NULL: this one.
 */
void bs_log_members(enum bs_log_level level, const char *who, const char *text,
		    const char *members);

BS_C_END
#endif
