/*
 * core/frame/open.h - which frame a line belongs to, and when a frame is over
 *
 * A frame is known by the counters of its lines: slice, contrast, phase, set, repetition, average
 * where averages make an image each; and by the encoding that they are of. Its lines come in any
 * order and any nesting; a counter that changes ends nothing. Frames of one kind differ in
 * repetition alone (and in average).
 * A frame is over
 * - with the line that makes it whole: the last of the header's pattern, of `readouts`, or, where
 *   the header cannot know all (calibration between the lines, a shutter), with as many as the
 *   whole frame of its kind before;
 * - with a line of its own flagged LAST_IN_SLICE, LAST_IN_REPETITION or LAST_IN_MEASUREMENT, where
 *   no line is known to lack, a shutter's aside; where a few lines lack of a pattern whose
 *   calibration has come, the flag is remembered: the last of these ends the frame, if nothing else
 *   came in between (a flag in mid-frame lies); elsewhere a flag says nothing;
 * - with a later one of its kind that began behind its last line: once that is whole, or, where no
 *   line is known to lack, once it has as many lines;
 * - when another one needs its place and it is the one untouched longest: early;
 * - with the scan.
 * Lines outside an ellipse alone (a shutter, lines.h) do not lack, where none was lost on its way.
 *
 * make -> { scan -> { place -> begin -> row* -> line }* -> close }* -> free, and where a frame is
 * over, empty. Only make allocates. One thread.
 * Test: test/unit/core/frame/test_open.c
 */
#ifndef BS_CORE_FRAME_OPEN_H
#define BS_CORE_FRAME_OPEN_H

#include "core/frame/lines.h"
#include "core/mrd.h"
#include "core/protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * "": what the header promises of a slice and contrast has places, even if all of it but its
 * repetitions comes in turns. Else that it may not. Returns out, NUL-terminated within cap.
 */
#define BS_OPEN_WORDS 256u
const char *bs_open_words(char *out, size_t cap, const struct bs_protocol *p,
			  const struct bs_scan_info *info);

enum { BS_ROW_IN = 1, BS_ROW_AGAIN };

struct bs_open {
	enum { BS_OPEN_EMPTY, BS_OPEN_FILLING, BS_OPEN_OVER } state;
	struct bs_mrd_idx idx;          /* of its first line */
	uint32_t have;                  /* rows */
	uint32_t lacked;                /* lines, behind a flag that is remembered; else 0 */
	uint32_t inside;                /* of these on the grid, between the header's limits */
	uint8_t *row;                   /* [rows]: BS_ROW_IN: this readout is in; AGAIN: it came
					 * more than once; else 0 */
	bool again;                     /* one with these counters was whole before it */
	bool own;                       /* a line of its own ended it */
	bool waits;                     /* over, and its image for another's (core/flow/flow.h) */
	bool urged;                     /* it waited, and may not any more */
	uint64_t began, touched, ended; /* numbers of the scan's lines; of what is over */
	struct {                        /* the last whole one in this place; have 0: none was */
		struct bs_mrd_idx idx;
		uint32_t have;
	} whole;
};

struct bs_opens {
	struct bs_open *at; /* [slice][contrast][lane] */
	uint8_t *rows_of;
	uint32_t pairs, lanes, rows;
	const struct bs_protocol *p;
	const struct bs_lines *lines; /* of the scan; NULL: frames have readouts, not lines */
	bool exact;                   /* nothing comes between the lines of the pattern */
	bool lost;                    /* a readout of the scan did not arrive, or was refused */
	bool crowded;                 /* a frame of the scan was early */
	uint64_t line, ended;         /* numbers of the last one */
	uint32_t over;                /* how many are, and wait for nothing */
};

#define BS_OPEN_NONE UINT32_MAX

/* BS_ERR_NOMEM; what was made is freed by free. */
int bs_opens_make(struct bs_opens *o, uint32_t pairs, uint32_t lanes, uint32_t rows);
void bs_opens_free(struct bs_opens *o);
/* lines: read whenever a line comes; they live as long as the scan. */
void bs_opens_scan(struct bs_opens *o, const struct bs_protocol *p, const struct bs_scan_info *info,
		   const struct bs_lines *lines);

/*
 * What tells frames apart: a line's counters, and its encoding in place of the last of user's,
 * which tells nothing.
 */
static inline struct bs_mrd_idx bs_open_key(const struct bs_mrd_acq *head)
{
	struct bs_mrd_idx key = head->idx;

	key.user[7] = head->encoding_space_ref;
	return key;
}

/* Of one slice and contrast: lines of one frame, by their keys. */
bool bs_open_same(const struct bs_protocol *p, const struct bs_mrd_idx *a,
		  const struct bs_mrd_idx *b);
/* Where the frame with these counters is open; BS_OPEN_NONE: nowhere. */
uint32_t bs_opens_find(const struct bs_opens *o, uint32_t pair, const struct bs_mrd_idx *idx);
/*
 * Where a line belongs: its open frame, or an empty place. BS_OPEN_NONE: frames of this pair are
 * over (one may have just become that, or waited, to make room) and must leave first.
 */
uint32_t bs_opens_place(struct bs_opens *o, uint32_t pair, const struct bs_mrd_idx *idx);
void bs_opens_begin(struct bs_opens *o, uint32_t slot, const struct bs_mrd_idx *idx);
/* A row is in, of as many averages as it should be the mean of. */
void bs_opens_row(struct bs_opens *o, uint32_t slot, uint32_t row);
/* A line of the frame was taken, or was only looked at. waits: rows lack some averages. */
void bs_opens_line(struct bs_opens *o, uint32_t slot, uint64_t flags, bool waits);
void bs_opens_end(struct bs_opens *o, uint32_t slot);
/* Its place is free again. */
void bs_opens_empty(struct bs_opens *o, uint32_t slot);
/* All that are open end: slice by slice, contrast by contrast, those that began first. */
void bs_opens_close(struct bs_opens *o);
/* One that is over waits, or does no more; urged: it will not again. */
void bs_opens_wait(struct bs_opens *o, uint32_t slot, bool waits, bool urged);
/* The first of those that are over and wait for nothing; BS_OPEN_NONE: none is. */
uint32_t bs_opens_over(const struct bs_opens *o);

/* Readouts that it should have had; *shutter: lines that a shutter left out, which do not lack. */
uint32_t bs_opens_missing(const struct bs_opens *o, uint32_t slot, uint32_t readouts,
			  uint32_t *shutter);

/*
 * Echoes that no counter tells. Of a header with several TE whose contrasts are one, some senders
 * say contrast 0 of every echo, and send a line's echoes one after the other: of lines in a row
 * with equal counters the first is contrast 0, the next one 1, ... The first two lines of a scan
 * tell whether it is so. scan -> { decide -> next -> breaks -> came }* -> breaks.
 * Test: test/unit/core/frame/test_echo.c
 */
struct bs_echo {
	enum { BS_ECHO_NONE, BS_ECHO_FIRST, BS_ECHO_BY_ORDER, BS_ECHO_BY_COUNTER } state;
	struct bs_mrd_idx last; /* of the line before */
	uint16_t contrast;      /* its */
};

/* So many contrasts may lie in lines that say 0. */
void bs_echo_scan(struct bs_echo *e, const struct bs_scan_info *info, uint32_t contrasts);
/* A line comes. */
void bs_echo_decide(struct bs_echo *e, const struct bs_mrd_idx *idx);
/* Its contrast, of so many. */
uint16_t bs_echo_next(const struct bs_echo *e, const struct bs_mrd_idx *idx, uint32_t contrasts);
/*
 * The line before it (idx NULL: before the end) had more or fewer echoes: which was which is not
 * known.
 */
bool bs_echo_breaks(const struct bs_echo *e, const struct bs_mrd_idx *idx, uint32_t contrasts);
void bs_echo_came(struct bs_echo *e, const struct bs_mrd_idx *idx, uint16_t contrast);

#ifdef __cplusplus
}
#endif
#endif
