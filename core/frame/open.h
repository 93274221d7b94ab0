/*
 * core/frame/open.h - which frame a line belongs to, and when a frame is over
 *
 * The counters of its lines identify a frame: slice, contrast, phase, set, repetition, and average
 * where each average makes an image; and so does the encoding of its lines. Its lines come in any
 * order and any nesting; a changed counter ends nothing. Frames of one kind differ in repetition
 * alone (and in average).
 * A frame is over
 * - with the line that makes it whole: the last of the header's pattern, or of `readouts`; where
 * the header cannot know all lines (calibration between the lines, a shutter), the frame is whole
 * with as many lines as the whole frame of its kind before;
 * - with a line of its own flagged LAST_IN_SLICE, LAST_IN_REPETITION or LAST_IN_MEASUREMENT, where
 * no line is known to be missing, apart from a shutter's. Where a few lines are missing of a
 * pattern whose calibration has come, the flag is remembered: the last of the missing lines ends
 * the frame, if nothing else came in between (a flag in mid-frame is wrong). Elsewhere a flag has
 * no effect;
 * - with a later frame of its kind that began behind its last line: once that frame is whole, or,
 * where no line is known to be missing, once it has as many lines;
 * - early, when another frame needs its place and no line has come to it for the longest time;
 * - with the scan.
 * Lines that are missing only outside an ellipse (a shutter, lines.h) do not count as missing,
 * where no readout was lost on its way.
 *
 * make -> { scan -> { place -> begin -> row* -> line }* -> close }* -> free; and empty, once a
 * frame is over. Only make allocates. One thread.
 * Test: test/unit/core/frame/test_open.c
 */
#ifndef BS_CORE_FRAME_OPEN_H
#define BS_CORE_FRAME_OPEN_H

#include "core/frame/lines.h"
#include "core/mrd.h"
#include "core/protocol.h"

BS_C_BEGIN

/*
 * Writes "" if all frames that the header promises of a slice and contrast have places, even if all
 * but the repetitions are interleaved. Else it writes words that they may not have. Returns out,
 * NUL-terminated within cap.
 */
#define BS_OPEN_WORDS 256u
const char *bs_open_words(char *out, size_t cap, const struct bs_protocol *p,
			  const struct bs_scan_info *info);

enum { BS_ROW_IN = 1, BS_ROW_AGAIN };

struct bs_open {
	enum { BS_OPEN_EMPTY, BS_OPEN_FILLING, BS_OPEN_OVER } state;
	struct bs_mrd_idx idx; /* counters of the frame's first line */
	uint32_t have;         /* rows that have come */
	uint32_t lacked;       /* number of missing lines, behind a remembered flag; else 0 */
	/* rows that have come, on the grid, within the header's limits */
	uint32_t inside;
	/* [rows]: BS_ROW_IN: this readout is in; BS_ROW_AGAIN: it came more than once; else 0 */
	uint8_t *row;
	bool again;  /* a frame with the same counters was whole before this one */
	bool within; /* that earlier frame had no line beyond the header's limits */
	bool own;    /* a line of its own ended the frame */
	bool waits;  /* the frame is over, and its image waits for another one (core/flow/flow.h) */
	bool urged;  /* the frame has waited, and may not wait any more */
	/* began, touched: numbers of lines of the scan; ended: number among frames that are over */
	uint64_t began, touched, ended;
	struct { /* the last whole frame in this place; have 0: there was none */
		struct bs_mrd_idx idx;
		uint32_t have, inside;
	} whole;
};

struct bs_opens {
	struct bs_open *at; /* [slice][contrast][lane] places of frames */
	uint8_t *rows_of;
	uint32_t pairs, lanes, rows;
	const struct bs_protocol *p;
	const struct bs_lines *lines; /* lines of the scan; NULL: frames have readouts, not lines */
	bool exact;                   /* the pattern is exact: no lines lie between its lines */
	bool lost;                    /* a readout of the scan did not arrive, or was refused */
	bool crowded;                 /* a frame of the scan was ended early */
	uint64_t line, ended; /* numbers of the last line and of the last frame that ended */
	uint32_t over;        /* number of frames that are over and wait for nothing */
	/* number of lines beyond the header's limits whose frames were whole without them */
	uint64_t beyond;
};

#define BS_OPEN_NONE UINT32_MAX

/* Returns 0 or BS_ERR_NOMEM; call bs_opens_free in either case. */
int bs_opens_make(struct bs_opens *o, uint32_t pairs, uint32_t lanes, uint32_t rows);
void bs_opens_free(struct bs_opens *o);
/* A scan begins. lines: read whenever a line comes; they live as long as the scan. */
void bs_opens_scan(struct bs_opens *o, const struct bs_protocol *p, const struct bs_scan_info *info,
		   const struct bs_lines *lines);

/*
 * Returns the key that identifies a frame: a line's counters, with its encoding in place of the
 * last user counter, which identifies nothing.
 */
static inline struct bs_mrd_idx bs_open_key(const struct bs_mrd_acq *head)
{
	struct bs_mrd_idx key = head->idx;

	key.user[7] = head->encoding_space_ref;
	return key;
}

/*
 * alike: the frames a and b, of one slice and contrast, are of one kind. later: returns how much
 * later b is than a.
 */
bool bs_open_alike(const struct bs_mrd_idx *a, const struct bs_mrd_idx *b);
int64_t bs_open_later(const struct bs_mrd_idx *a, const struct bs_mrd_idx *b);
/* Returns true if lines with these keys, both of one slice and contrast, belong to one frame. */
bool bs_open_same(const struct bs_protocol *p, const struct bs_mrd_idx *a,
		  const struct bs_mrd_idx *b);
/* The place where the frame with these counters is open; BS_OPEN_NONE: nowhere. */
uint32_t bs_opens_find(const struct bs_opens *o, uint32_t pair, const struct bs_mrd_idx *idx);
/*
 * The place where a line belongs: its open frame, or an empty place. BS_OPEN_NONE: frames of this
 * pair are over (one may have been ended, or its waiting ended, to make room) and must leave first.
 */
uint32_t bs_opens_place(struct bs_opens *o, uint32_t pair, const struct bs_mrd_idx *idx);
void bs_opens_begin(struct bs_opens *o, uint32_t slot, const struct bs_mrd_idx *idx);
/* Notes that a row has come, with as many averages as it should be the mean of. */
void bs_opens_row(struct bs_opens *o, uint32_t slot, uint32_t row);
/*
 * Notes that a line of the frame was taken, or only looked at. waits: some rows lack some averages.
 */
void bs_opens_line(struct bs_opens *o, uint32_t slot, uint64_t flags, bool waits);
void bs_opens_end(struct bs_opens *o, uint32_t slot);
/* Notes that the frame has left; its place is free again. */
void bs_opens_empty(struct bs_opens *o, uint32_t slot);
/* Ends all open frames: slice by slice, contrast by contrast, in the order in which they began. */
void bs_opens_close(struct bs_opens *o);
/* A frame that is over begins to wait, or stops waiting. urged: it will not wait again. */
void bs_opens_wait(struct bs_opens *o, uint32_t slot, bool waits, bool urged);
/* The first frame that is over and waits for nothing; BS_OPEN_NONE: there is none. */
uint32_t bs_opens_over(const struct bs_opens *o);

/*
 * The number of readouts that the frame lacks. *shutter: lines that a shutter left out, which do
 * not count as missing.
 */
uint32_t bs_opens_missing(const struct bs_opens *o, uint32_t slot, uint32_t readouts,
			  uint32_t *shutter);

/*
 * Echoes that no counter identifies. Where a header has several TE but one contrast, some senders
 * write contrast 0 in every echo, and send a line's echoes one after the other. Then, of
 * consecutive lines with equal counters, the first is contrast 0, the next one 1, ... The first two
 * lines of a scan tell whether it is so. scan -> { decide -> next -> breaks -> came }* -> breaks.
 * Test: test/unit/core/frame/test_echo.c
 */
struct bs_echo {
	enum { BS_ECHO_NONE, BS_ECHO_FIRST, BS_ECHO_BY_ORDER, BS_ECHO_BY_COUNTER } state;
	struct bs_mrd_idx last; /* counters of the line before */
	uint16_t contrast;      /* contrast of the line before */
};

/* A scan begins. contrasts: how many lines that say contrast 0 may have. */
void bs_echo_scan(struct bs_echo *e, const struct bs_scan_info *info, uint32_t contrasts);
/* A line comes: decides whether echoes are identified by their order or by the counter. */
void bs_echo_decide(struct bs_echo *e, const struct bs_mrd_idx *idx);
/* Returns the line's contrast, of so many contrasts. */
uint16_t bs_echo_next(const struct bs_echo *e, const struct bs_mrd_idx *idx, uint32_t contrasts);
/*
 * The line before this one (idx NULL: before the end) had more or fewer echoes: which echo was
 * which is not known.
 */
bool bs_echo_breaks(const struct bs_echo *e, const struct bs_mrd_idx *idx, uint32_t contrasts);
void bs_echo_came(struct bs_echo *e, const struct bs_mrd_idx *idx, uint16_t contrast);

BS_C_END
#endif
