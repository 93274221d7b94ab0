/*
 * core/frame/part.h - the inside of a reconstruction, for recon.c (frames) and the files beside it
 */
#ifndef BS_CORE_FRAME_PART_H
#define BS_CORE_FRAME_PART_H

#include "core/multiband/apart.h"
#include "core/frame/averages.h"
#include "core/multiband/bands.h"
#include "core/frame/encoding.h"
#include "core/flow/flow.h"
#include "core/frame/lines.h"
#include "core/frame/open.h"
#include "core/frame/recon.h"
#include "core/frame/step.h"
#include "core/volume/volume.h"

struct seat;

/* A sliding window: which groups of readouts it has, by their number in the table. */
struct window {
	uint8_t *held;   /* [group]: 1: the group's share belongs to the next image */
	uint32_t *count; /* [group] number of readouts in the group's share */
	uint32_t group;  /* number of the newest group */
	/* groups that have gone by since the scan began, at most a window's number of them */
	uint32_t passed;
	bool unfolded; /* the newest group's sum is not its share yet (core/engine.h: fold) */
};

/*
 * What a reconstruction keeps beside each struct bs_open, used again for each frame there (and for
 * each group of a window).
 */
struct frame {
	uint32_t summed; /* number of readouts that the frame's rows are made of */
	struct { /* number of rows that calibrate, and of the readouts that they are made of */
		uint32_t rows, summed;
	} calibrating;
	uint32_t again[2]; /* number of rows that came more than once: [0] lines, [1] calibration */
	uint32_t spare;    /* number of readouts beyond all averages of their row */
	uint32_t strongest; /* row of the strongest line; only where partial Fourier is completed */
	float energy;       /* energy of the strongest line */
	const struct seat *seat; /* the engine that the frame began with */
	uint64_t number;         /* of the scan's frames, from 0, in the order of their begin */
	struct bs_mrd_acq first, last;
	uint32_t began, ended; /* numbers of the first and the last line of its group */
	int64_t last_ns;
	/* ns that the slice's calibration took, not reported yet; kept in its first contrast */
	int64_t calibration_ns;
	bool preview_due;
	bool passed; /* no image is made here: another process makes it, or it is made already */
	bool absent; /* the frame is passed over, and its readouts reach no engine */
	/* the frame's slice and contrast had an image in this scan, by the protocol's own engine */
	bool imaged;
	struct window w;
};

struct seat {
	const struct bs_engine *engine; /* engine of a place; NULL: there is no such engine */
	void *self;
	const char *name; /* name of the engine: "gridding/host" */
};

struct bs_recon {
	const struct bs_protocol *p;
	/* [0]: the engine of the method; [1]: the gridding that may stand in for it */
	struct seat seat[2];
	struct bs_aim aim;
	struct seat preview; /* makes previews; its self is its own or that of seat[0] */
	struct bs_protocol preview_p, stand_in_p;
	struct bs_opens opens;
	struct frame *frame; /* [frames] indexed as opens.at */
	uint32_t frames, rows;
	/* [frames][coil][row][sample] complex: readouts for the protocol's step; or NULL */
	float *kspace;
	uint32_t groups;          /* groups of a window; 0: there is no window */
	struct bs_scan_info info; /* header of the scan */
	struct bs_lines lines;    /* lines of the scan, on the grid */
	struct bs_center center;  /* center of the scan's lines */
	bool centered;            /* a line has come, and center is known */
	/* on the grid: facts about the lines and calibration that came */
	struct bs_readouts readouts;
	struct bs_encodings_left others;
	/* averages of rows; NULL: each average makes an image of its own */
	struct bs_averages *averages;
	uint32_t expected; /* number of averages expected of a row in this scan */
	struct bs_prepared prepared;
	struct bs_corrected corrected;
	struct bs_earlier earlier;
	struct bs_kinds kinds; /* counts of the scan's readouts so far */
	uint64_t seen;         /* a hash of the scan's first readout; 0: none has come */
	struct bs_bands bands;
	struct bs_apart apart;
	struct bs_flows flows;
	struct bs_volumes volumes;
	bool embedded; /* calibration lines are lines of the image: other lines lie between them */
	struct {
		uint64_t count;
		uint16_t channels, samples; /* channels and samples of the last misfit */
	} misfit; /* the readouts that are marked BS_MRD_MISFIT (core/frame/encoding.h) */
	struct bs_echo echo;
	struct {
		uint64_t lines; /* number of lines with another number of echoes than before */
		/*
		 * number of images that had left when the first line with another number of echoes
		 * came
		 */
		uint64_t before;
	} broken;
	/* number of images that had left when opens.beyond first was above 0; 0: it is 0 */
	uint64_t beyond;
	bool several;                 /* calibration lines have come of averages that are summed */
	uint64_t images, previews;    /* numbers of the last image and the last preview */
	uint64_t passed;              /* number of the last image that was handed on before */
	const struct bs_share *share; /* images that this process makes; NULL: all */
	uint64_t begun;               /* number of frames that have begun */
	uint32_t newest;              /* slot of the one that began last */
	struct bs_solved *solved;     /* what became of frames; NULL: time decides nothing */
	/* pops volumes (bs_volume_pop); NULL: frames leave */
	int (*pop)(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		   struct bs_fail *why);
	bool alone; /* a frame leaves the engine nothing for later ones */
	uint16_t series;
	float fov_mm[3];
};

/* Returns true if previews have an engine of their own. */
static inline bool bs_recon_previews_beside(const struct bs_recon *r)
{
	return r->preview.engine != NULL && r->preview.self != r->seat[0].self;
}

/* Returns true if another process, or an earlier run, has made this image. */
static inline bool bs_share_made(const struct bs_share *s, uint64_t number)
{
	return s->made != NULL && s->made(s->arg, number);
}

/* All engines that a readout may go to, the protocol's own first; without an engine: none. */
#define BS_SEATS 3
static inline void bs_recon_seats(const struct bs_recon *r, struct seat to[BS_SEATS])
{
	to[0] = r->seat[0];
	to[1] = r->seat[1];
	to[2] = bs_recon_previews_beside(r) ? r->preview : (struct seat){ NULL, NULL, NULL };
}

/*
 * Returns true if the scan's readouts are lines of the grid, and the header says which lines there
 * are.
 */
static inline bool bs_recon_has_lines(const struct bs_recon *r)
{
	return r->p->plan.on_grid && r->groups == 0;
}

/*
 * Returns true if frames must know their strongest line: partial Fourier is completed about the
 * center.
 */
static inline bool bs_recon_weighs(const struct bs_recon *r)
{
	return bs_plan_has(&r->p->plan, BS_PLAN_POCS) && bs_recon_has_lines(r);
}

/* The calibration time that the slice's next image has waited for; it is given once. */
static inline int64_t bs_recon_take_calibration(struct bs_recon *r, uint32_t slot)
{
	const uint32_t slice = bs_protocol_frame_slice(r->p, slot);
	struct frame *first = &r->frame[bs_protocol_frame(r->p, slice, 0)];
	const int64_t spent_ns = first->calibration_ns;

	first->calibration_ns = 0;
	return spent_ns;
}

/* Decides anew which of the frames that are over wait for others. */
static inline void bs_recon_wait(struct bs_recon *r)
{
	bs_flows_wait(&r->flows, &r->opens);
	if (r->apart.bands > 1)
		bs_apart_hold(&r->apart, &r->opens);
}

/* Returns true if a preview is due; a frame that is complete needs none any more. */
static inline bool bs_frame_previews(const struct bs_recon *r, uint32_t slot)
{
	return r->frame[slot].preview_due && r->opens.at[slot].state == BS_OPEN_FILLING;
}

/*
 * In image.c. The scan's first line says where the center of k-space is; a later one must say the
 * same.
 */
int bs_recon_center(struct bs_recon *r, const struct bs_mrd_acq *head, struct bs_fail *why);
/*
 * Notes this row if it is the frame's strongest so far, where bs_recon_weighs is true; of equally
 * strong rows the first counts.
 */
void bs_frame_weigh(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_acq *head,
		    uint32_t row, const float *data);
/*
 * In image.c. Fills image->head and the image's words with all that is known of the frame before
 * the image is made.
 */
void bs_frame_describe(const struct bs_recon *r, uint32_t slot, struct bs_recon_image *image);
/* Notes the scan's first readout, whose hash identifies a scan that its header does not name. */
void bs_recon_see(struct bs_recon *r, const struct bs_mrd_acq *head, const float *data);
/* Adds to a described image, once it is made, what it lacks. */
void bs_frame_say_left(struct bs_recon_image *image);

/*
 * In recon.c. Makes, at a frame's end, the mean of the readouts that came of each row that lacks
 * averages.
 */
int bs_frame_rest(struct bs_recon *r, uint32_t slot);
/* Clears what is kept for the step of a frame, or of the group of a window that the row is of. */
void bs_frame_clear(struct bs_recon *r, uint32_t slot, uint32_t row);

/*
 * In make.c. make makes the image of a frame that is over and has left its place; it returns 1.
 * pass makes only what that image leaves for later frames, and describes it; it returns 0. Both
 * return the engine's error where it has one.
 */
int bs_frame_make(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image, bool preview,
		  int64_t deadline_ns, struct bs_fail *why);
int bs_frame_pass(struct bs_recon *r, uint32_t slot, struct bs_recon_image *image,
		  struct bs_fail *why);

/* In core/volume/pop.c. Pops a volume once its slices are made, as bs_recon_pop pops an image. */
int bs_volume_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		  struct bs_fail *why);

/*
 * In window.c. goes_on: a readout belongs to a later group than the one that is being filled.
 * enter: this group begins. end: no more readouts of the current group will come. image: makes the
 * image of the held groups, image as in core/engine.h.
 */
bool bs_window_goes_on(const struct bs_recon *r, uint32_t slot, const struct bs_mrd_idx *idx,
		       uint32_t row);
void bs_window_enter(const struct bs_recon *r, struct frame *f, const struct bs_mrd_idx *idx,
		     uint32_t group);
int bs_window_end(struct bs_recon *r, uint32_t slot);
int bs_window_image(struct bs_recon *r, uint32_t slot, float *image, int64_t deadline_ns,
		    struct bs_report *report);

#endif
