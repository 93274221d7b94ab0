/*
 * board/tool/audit/promise.h - what a site's files promise, and what was found against it
 *
 * A promise is a row of the table in promise.c: its name, the page that makes it, the page's rule.
 * begin -> { judged | found }* -> keep or drop, once for each log, file or folder that is looked
 * into: what is being written while it is read may be read again before anything is said of it.
 * found's where names the file and the place in it. Text from the files is printed without control
 * characters. Of one promise and one object three findings are printed, all are counted.
 */
#ifndef BS_BOARD_TOOL_AUDIT_PROMISE_H
#define BS_BOARD_TOOL_AUDIT_PROMISE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum bs_promise {
	BS_PROMISE_NAME,
	BS_PROMISE_MODE,
	BS_PROMISE_HEAD,
	BS_PROMISE_SEAL,
	BS_PROMISE_SEGMENTS,
	BS_PROMISE_RECORDS,
	BS_PROMISE_PADDING,
	BS_PROMISE_DURABLE,
	BS_PROMISE_SPARE,
	BS_PROMISE_PART,
	BS_PROMISE_CURSOR,
	BS_PROMISE_SIGNED,
	BS_PROMISE_MESSAGE,
	BS_PROMISE_SESSION,
	BS_PROMISE_OPEN,
	BS_PROMISE_ONCE,
	BS_PROMISE_ORDER,
	BS_PROMISE_READOUT,
	BS_PROMISE_CLOSE,
	BS_PROMISE_COUNT,
	BS_PROMISE_GAPS,
	BS_PROMISE_OUTCOME_SIGNED,
	BS_PROMISE_OUTCOME_LOG,
	BS_PROMISE_OUTCOME_SCAN,
	BS_PROMISE_OUTCOME_WHOLE,
	BS_PROMISE_OUTCOME_READOUTS,
	BS_PROMISE_OUTCOME_IMAGES,
	BS_PROMISE_OUTCOME_LATE,
	BS_PROMISE_STORE_FILE,
	BS_PROMISE_STORED,
	BS_PROMISE_NUMBERS,
	BS_PROMISE_BEFORE,
	BS_PROMISE_TAKERS,
	BS_PROMISE_TAKEN,
	BS_PROMISE_BOUND,
	BS_PROMISE_IMAGE_HEAD,
	BS_PROMISE_IMAGE_ONCE,
	BS_PROMISE_IMAGE_ORDER,
	BS_PROMISE_IMAGE_SERIES,
	BS_PROMISE_IMAGE_QUALITY,
	BS_PROMISE_IMAGE_LOG,
	BS_PROMISE_IMAGE_SCAN,
	BS_PROMISE_IMAGE_READOUTS,
	BS_PROMISES
};

#define BS_FOUND_LINES 24u  /* most findings kept of one object */
#define BS_FOUND_LINE  900u /* bytes of one finding's text */

struct bs_findings {
	FILE *to;
	uint64_t found;                /* number of all findings that were kept */
	uint64_t broken[BS_PROMISES];  /* findings of each promise */
	bool judged[BS_PROMISES];      /* each promise was judged at least once */
	uint64_t now, of[BS_PROMISES]; /* findings of the current object: in all, of each promise */
	uint32_t lines;
	char line[BS_FOUND_LINES][BS_FOUND_LINE];
};

const char *bs_promise_name(enum bs_promise p);
/* Prints all promises as a list in Markdown, which board/doc/LOG.md holds. */
void bs_promise_print(FILE *to);

void bs_found_begin(struct bs_findings *f);
void bs_judged(struct bs_findings *f, enum bs_promise p);
__attribute__((format(printf, 4, 5))) void bs_found(struct bs_findings *f, enum bs_promise p,
						    const char *where, const char *fmt, ...);
/* Prints at once something that is no finding. */
__attribute__((format(printf, 2, 3))) void bs_note(struct bs_findings *f, const char *fmt, ...);
void bs_found_keep(struct bs_findings *f);
void bs_found_drop(struct bs_findings *f);

#endif
