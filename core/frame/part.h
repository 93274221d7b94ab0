/*
 * core/frame/part.h - inside a reconstruction: for recon.c (frames) and those beside it
 */
#ifndef BS_CORE_FRAME_PART_H
#define BS_CORE_FRAME_PART_H

#include "core/frame/averages.h"
#include "core/frame/bands.h"
#include "core/frame/encoding.h"
#include "core/flow/flow.h"
#include "core/frame/lines.h"
#include "core/frame/open.h"
#include "core/frame/recon.h"

struct seat;

/* A sliding window: which groups it has, by their number in the table. */
struct window {
	uint8_t *held;   /* [group]: 1 = its share belongs to the next image */
	uint32_t *count; /* [group]: readouts in its share */
	uint32_t group;  /* the newest one */
	uint32_t passed; /* groups that have gone by since the scan began, up to a window's */
	bool unfolded;   /* the newest one's sum is not its share yet (core/engine.h: fold) */
};

/* Beside each struct bs_open, used again for each frame there (and each group of a window). */
struct frame {
	uint32_t summed;         /* readouts that its rows are made of */
	uint32_t strongest;      /* row; only where partial Fourier is completed */
	float energy;            /* its */
	const struct seat *seat; /* the engine that it began with */
	struct bs_mrd_acq first, last;
	int64_t last_ns;
	int64_t calibration_ns; /* the slice's, of its first contrast: not yet told */
	bool preview_due;
	bool passed; /* another makes it, or it is made: no image here */
	bool absent; /* nor do its readouts reach an engine */
	bool imaged; /* in this scan, by the protocol's own engine */
	struct window w;
};

struct seat {
	const struct bs_engine *engine; /* NULL: none */
	void *self;
};

struct bs_recon {
	const struct bs_protocol *p;
	struct bs_plan plan;
	struct seat
		seat[2]; /* the engine of the method, and the gridding that may stand in for it */
	struct bs_aim aim;
	const struct bs_engine *preview; /* whose peek makes previews; NULL: there are none */
	void *preview_self;              /* its own, or that of seat[0] */
	struct bs_protocol preview_p, stand_in_p;
	struct bs_opens opens;
	struct frame *frame; /* [frames], as opens.at */
	uint32_t frames, rows;
	uint32_t groups;             /* of a window; 0: none */
	struct bs_scan_info info;    /* the scan's */
	struct bs_lines lines;       /* on the grid */
	struct bs_center center;     /* of these */
	bool centered;               /* a line has come */
	struct bs_readouts readouts; /* on the grid: lines and calibration */
	struct bs_encodings_left others;
	struct bs_averages *averages; /* NULL: each makes an image of its own */
	uint32_t expected;            /* of a row, in this scan */
	struct bs_prepared prepared;
	struct bs_corrected corrected;
	struct bs_earlier earlier;
	struct bs_kinds kinds; /* of the scan so far */
	uint64_t seen;         /* a hash of its first readout; 0: none has come */
	struct bs_bands bands;
	struct bs_flows flows;
	bool embedded; /* calibration lines are lines of the image: other lines lie between them */
	uint64_t images, previews;    /* numbers of the last ones */
	uint64_t passed;              /* images up to this number were handed on before */
	const struct bs_share *share; /* NULL: all are made here */
	uint64_t begun;               /* frames */
	bool alone;                   /* a frame leaves the engine nothing for later ones */
	uint16_t series;
	float fov_mm[3];
};

/* Its lines are told by the grid, and the header says which there are. */
static inline bool bs_recon_has_lines(const struct bs_recon *r)
{
	return r->plan.on_grid && r->groups == 0;
}

/* Its frames must know their strongest line: partial Fourier is completed about the center. */
static inline bool bs_recon_weighs(const struct bs_recon *r)
{
	return r->p->partial_fourier == BS_PARTIAL_FOURIER_POCS && bs_recon_has_lines(r);
}

/* What the slice's next image has waited for; it is told once. */
static inline int64_t bs_recon_take_calibration(struct bs_recon *r, uint32_t slot)
{
	const uint32_t slice = bs_protocol_frame_slice(r->p, slot);
	struct frame *first = &r->frame[bs_protocol_frame(r->p, slice, 0)];
	const int64_t spent_ns = first->calibration_ns;

	first->calibration_ns = 0;
	return spent_ns;
}

/* A preview is due; a frame that is complete needs none any more. */
static inline bool bs_frame_previews(const struct bs_recon *r, uint32_t slot)
{
	return r->frame[slot].preview_due && r->opens.at[slot].state == BS_OPEN_FILLING;
}

/* image.c: the scan's first line says where the center of k-space is, others nothing else. */
int bs_recon_center(struct bs_recon *r, const struct bs_mrd_acq *head, struct bs_fail *why);
/* Where bs_recon_weighs: is this row the frame's strongest? Of equals the first is. */
void bs_frame_weigh(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		    uint32_t row, const float *data);
/* All that image->head and the image's words say of a frame, but what making it tells. image.c */
void bs_frame_describe(const struct bs_recon *r, uint32_t slot, struct bs_recon_image *image);
/* The scan's first readout, which tells it from others where its header does not. */
void bs_recon_see(struct bs_recon *r, const struct bs_mrd_acq *head, const float *data);
/* Behind that, once it is made: what it lacks. */
void bs_frame_say_left(struct bs_recon_image *image);

/*
 * window.c: a readout belongs to a later group than the one that is being filled; its group begins;
 * no more of it will come; the image of those that are held, image as in core/engine.h.
 */
bool bs_window_goes_on(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_idx *idx,
		       uint32_t row);
void bs_window_enter(const struct bs_recon *r, struct frame *f, const struct bs_mrd_idx *idx,
		     uint32_t group);
int bs_window_end(struct bs_recon *r, uint32_t slot);
int bs_window_image(struct bs_recon *r, uint32_t slot, float *image, int64_t deadline_ns,
		    struct bs_report *report);

#endif
