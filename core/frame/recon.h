/*
 * core/frame/recon.h - from readouts to images: one armed protocol, one scan at a time
 *
 * arm -> { scan -> readout* -> close }* -> disarm, and after each readout and after close: pop
 * until it returns 0. The service's recon worker and `boreside recon` run this same code.
 *
 * open.h has the rule of which frame a line belongs to, and of when a frame is over.
 *
 * On the grid the first line tells where the center of k-space is (center.h); a later one that says
 * another is refused.
 *
 * Averages (protocol's averages > 1): the lines of a frame are means of several readouts
 * (averages.h); a line is complete with all that the scan promises of it, a frame with all lines.
 *
 * Sliding window (protocol's frame_step > 0). The table's `readouts` rows are the window;
 * frame_step rows in a line are a group. The stream goes through the table in its order, over and
 * over, and counts its passes in idx.repetition (or does not count). When a group ends, because it
 * is complete or because the stream has gone on, an image is made of the newest readouts of every
 * group, as soon as the whole table has gone by once. A group that was lost as a whole counts as
 * missing and makes no image of its own. close makes one more image if readouts have come that were
 * in none. An image is the sum of one share a group, in the order of the table: it depends on its
 * own readouts alone, to the bit.
 *
 * Readouts that bring their own path (trajectory.type stream): a frame is so many readouts by their
 * number, kspace_encode_step_1 * P + kspace_encode_step_2, P the partitions of the header's limits
 * (of frames of more than 65536 readouts step_2 * 65536 + step_1). The row is the number modulo the
 * frame's readouts; where numbers go on from frame to frame, each pass counts as a repetition.
 *
 * Previews (preview_every > 0): pop makes one each time so many readouts of a frame have come,
 * while the frame is incomplete.
 *
 * Images are numbered in the order of making, and so are frames whose engine failed: the same
 * readouts give the same numbers, however often they come (resume), and whoever makes which of them
 * (share).
 *
 * Gridding as a stand-in (on_miss shed, a solver whose engine names a .preview, no sliding window):
 * a gridding engine of the same trajectory is armed beside the solver's, for the ladder of
 * core/latency/budget.h. Its weights are the protocol's, or Pipe and Menon's where the least
 * squares has none, scaled so that its images are as bright as the solver's. A frame goes to the
 * one or to the other, as aim says when it begins, and keeps to it: whoever must do less does not
 * sum twice. (To feed both would allow the choice when a frame is complete, at the price of a
 * second sum in every frame of every scan. An image made from the solver's F^H d would lack the
 * density compensation, which belongs under the sum.) Its memory is in the protocol's need, taken
 * at arm.
 *
 * bs_admit_scan is the check that a scan's header must pass before it is believed; readouts pass
 * intake.h. Ingest runs both before it acknowledges, recon relies on them.
 * Thread rules: one thread per bs_recon. Only arm and disarm allocate.
 * Test: test/unit/core/test_recon.c
 */
#ifndef BS_CORE_FRAME_RECON_H
#define BS_CORE_FRAME_RECON_H

#include "core/latency/budget.h"
#include "core/engine.h"
#include "core/frame/bands.h"
#include "core/frame/intake.h"
#include "core/frame/lines.h"
#include "core/frame/readout.h"
#include "core/mrd.h"

struct bs_recon;

/* A readout that has lost what was discarded: so many samples are left. */
static inline void bs_acq_trim(struct bs_mrd_acq *h, uint32_t samples)
{
	h->center_sample = h->center_sample > h->discard_pre
				   ? (uint16_t)(h->center_sample - h->discard_pre)
				   : 0;
	h->number_of_samples = (uint16_t)samples;
	h->discard_pre = h->discard_post = 0;
}

/* What became of the readouts before an engine saw them (gpu/engine/front.h). All 0: nothing. */
struct bs_prepared {
	bool asked; /* to be whitened, where the noise is known */
	bool whitened;
	struct bs_match match; /* of the noise; where not whitened its words say why */
	char noise_scan[sizeof(((struct bs_scan_info *)0)->measurement)];
	uint64_t noise_samples;        /* of each coil */
	float noise_scale;             /* that their covariance was multiplied by */
	uint32_t coils;                /* as they came */
	float deviation[BS_COILS_MAX]; /* of each coil's complex noise, so scaled */
	uint32_t virtual_coils;        /* 0: not compressed */
	float kept; /* share of the calibration data's energy, of the slice where it is least */
};

/* What was done to their phases (gpu/engine/phases.h), in the scan until then. All 0: nothing. */
struct bs_corrected {
	uint32_t navigators;   /* that were used */
	float navigator_phase; /* radians, the largest that was taken off */
	uint32_t triples;      /* of phase-correction lines */
	float epi_phase; /* radians, of reversed lines against the others: the last triple's */
	float epi_shift; /* samples, likewise: they lie so much later in k */
	bool ramps;      /* readouts were brought from ramps to the grid */
};

/* The earlier scans that something was taken from (core/study/study.h). "": none. */
struct bs_earlier {
	char maps[sizeof(((struct bs_scan_info *)0)->study)];
	char field[sizeof(((struct bs_scan_info *)0)->study)];
	struct bs_match match; /* of the maps' coils */
};

struct bs_recon_image {
	struct bs_mrd_image head;
	float *pixels; /* where pop writes: the caller's, bs_protocol_image_bytes */
	struct bs_report report;
	uint64_t number;   /* in the scan, from 1; image_index is its lower 16 bits */
	bool preview;      /* of a frame that goes on; previews are numbered by themselves */
	uint32_t averages; /* of each line that it should hold; 0: they are kept apart */
	uint32_t readouts; /* that the image holds, averages counted */
	uint32_t missing;  /* that it should have held */
	bool elsewhere;    /* these may have come, for another frame */
	char lacks[BS_LACKS_WORDS];     /* "": nothing; of a preview always (core/frame/lines.h) */
	char zeros[BS_LACKS_WORDS];     /* what is zero and does not lack; as lacks */
	char center[BS_CENTER_WORDS];   /* "": where the header has it (core/frame/center.h) */
	char readout[BS_READOUT_WORDS]; /* "": lines lie as is said (core/frame/readout.h) */
	char header[BS_HEADER_WORDS];   /* the scan's bs_scan_info.remark */
	char scan[17];         /* of a header without names: told by its first readout; else "" */
	struct bs_kinds kinds; /* readouts of the scan until then, by what they are for */
	struct bs_prepared prepared;
	struct bs_corrected corrected;
	struct bs_earlier earlier;
	bool own;        /* a line of its own made it whole: the one that was at hand */
	int64_t last_ns; /* when the last readout that it needed was received */
	uint32_t last_scan_counter;
};

/*
 * What the scan's reader should know beside what images lack, in words; "": nothing. Returns out,
 * NUL-terminated within cap.
 */
#define BS_REMARK_WORDS 640u
const char *bs_image_remark(char *out, size_t cap, const struct bs_recon_image *image);

/*
 * The header against the protocol: matrix, channels, unit, field of view (core/frame/geometry.h),
 * where the calibration is. The reason names the element.
 */
int bs_admit_scan(const struct bs_protocol *p, const struct bs_scan_info *info,
		  struct bs_fail *why);

/* What the log should have of an admitted header, in words; "": nothing. Returns words. */
#define BS_ADMIT_WORDS 480u
const char *bs_admit_words(char words[BS_ADMIT_WORDS], const struct bs_protocol *p,
			   const struct bs_scan_info *info);

/* The header describes EPI whose readouts begin on the gradient's ramp. */
bool bs_admit_ramps(const struct bs_scan_info *info);

/* What arm will take from the arena: the need of the engine and of what is armed beside it. device:
 * the same of device memory, as far as engines tell it; field as core/engine.h has it. */
int bs_recon_need(const struct bs_protocol *p, const struct bs_engine *engine, struct bs_need *need,
		  struct bs_fail *why);
int bs_recon_device(const struct bs_protocol *p, const struct bs_engine *engine, const float *field,
		    struct bs_need *need, struct bs_fail *why);
int bs_recon_arm(struct bs_recon **out, const struct bs_protocol *p, const struct bs_engine *engine,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why);
void bs_recon_disarm(struct bs_recon *r);
/* From now on: which engine frames go to when they begin, and how many iterations images take. */
void bs_recon_aim(struct bs_recon *r, const struct bs_aim *aim);
bool bs_recon_stands_in(const struct bs_recon *r); /* there is a gridding to aim at */

void bs_recon_scan(struct bs_recon *r, const struct bs_scan_info *info);
/*
 * After scan: its readouts come once more, from the first on. Images up to this number were handed
 * on before: pop passes over them, with image->pixels as working space, and there are no previews
 * meanwhile; later previews have numbers beyond this one.
 */
void bs_recon_resume(struct bs_recon *r, uint64_t images, uint64_t previews);
/*
 * After arm, for the scans from then on: of the frames, counted as they begin, those whose number
 * modulo parts is part are made here; of a sliding window those of its images. What another process
 * makes, or what made says is there (of an image's number; it may be asked twice), pop passes over
 * as above. Readouts of such a frame do not reach an engine that keeps nothing for later frames.
 * share lives as long as r.
 */
struct bs_share {
	uint32_t part, parts;
	bool (*made)(void *arg, uint64_t number); /* NULL: none is */
	void *arg;
};
void bs_recon_share(struct bs_recon *r, const struct bs_share *share);
/*
 * An admitted acquisition and its row, received at now_ns. data: 4-byte aligned, behind it a line's
 * path where the protocol's comes with the stream; it is copied before this returns, unless it lies
 * in the pool that the engine was armed with: then as bs_recon_reading says. 0: taken (what the
 * protocol does not use is counted; its data are not looked at). BS_RECON_POP_FIRST: it begins a
 * new frame and one before it is over, perhaps to make room; pop, then call again with the same
 * readout. BS_ERR_INDEX: this row is in the frame already.
 */
#define BS_RECON_POP_FIRST 1
int bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why);
/* As core/engine.h's reading; both 0 where every readout is copied at once. */
void bs_recon_reading(struct bs_recon *r, bool wait, uint64_t *made, uint64_t *read);
/* A readout of the scan did not arrive, or was refused: what lacks from now on was not left out. */
void bs_recon_lost(struct bs_recon *r);
/* No more readouts: frames that were begun become images that say what is missing. */
void bs_recon_close(struct bs_recon *r);
/* 1: *image was made. 0: no frame is complete. Negative: the engine failed. */
int bs_recon_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		 struct bs_fail *why);
/* Images that pops would make now, for a caller that must find an image slot first. */
uint32_t bs_recon_ready(struct bs_recon *r);
/* Of these the previews: pop makes them after the frames. They may be left out. */
uint32_t bs_recon_previews(const struct bs_recon *r);
void bs_recon_skip_previews(struct bs_recon *r);
/* Images say so from now on, until the next scan. */
void bs_recon_prepared(struct bs_recon *r, const struct bs_prepared *prepared);
void bs_recon_corrected(struct bs_recon *r, const struct bs_corrected *corrected);
void bs_recon_earlier(struct bs_recon *r, const struct bs_earlier *earlier);
/* The maps of all slices, or their field maps, are others than they were; between two scans. */
int bs_recon_maps(struct bs_recon *r, struct bs_fail *why);
/* Each slice and contrast has had an image in this scan, by the protocol's own method. */
bool bs_recon_imaged(const struct bs_recon *r);
/* What the slice's next image has waited for before its readouts came here (gpu/engine/front.h). */
void bs_recon_calibrated(struct bs_recon *r, uint32_t slice, int64_t spent_ns);
/* The number of the last image, made or passed over. */
uint64_t bs_recon_images(const struct bs_recon *r);
/* The scan's readouts so far. */
const struct bs_kinds *bs_recon_kinds(const struct bs_recon *r);
/* What images that have left should have said, and was not known then (core/frame/bands.h). */
const char *bs_recon_words(const struct bs_recon *r, char *out, size_t cap);
/* Images of the scan may hold several slices each. */
bool bs_recon_folded(const struct bs_recon *r);
/* The engine that made it: "gridding/host". */
const char *bs_recon_engine(const struct bs_recon *r, const struct bs_recon_image *image);

/* image_series_index: frames have that of their scan; its previews, and its velocities, have that
 * and one of these bits. */
#define BS_PREVIEW_SERIES  0x8000u
#define BS_VELOCITY_SERIES 0x4000u

#endif
