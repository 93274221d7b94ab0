/*
 * core/frame/recon.h - from readouts to images: one armed protocol, one scan at a time
 *
 * arm -> { scan -> readout* -> close }* -> disarm; after each readout and after close: pop until it
 * returns 0. The service's recon worker and `boreside recon` run this same code.
 *
 * open.h has the rule of which frame a line belongs to, and of when a frame is over.
 *
 * On the grid the first line tells where the center of k-space is (center.h); a later line that
 * tells another center is refused.
 *
 * Averages (protocol's averages > 1): the lines of a frame are means of several readouts
 * (averages.h). A line is complete with all averages that the scan promises of it, a frame with all
 * lines.
 *
 * Sliding window (protocol's frame_step > 0). The table's `readouts` rows are the window;
 * frame_step consecutive rows are a group. The stream passes through the table in its order, over
 * and over, and counts its passes in idx.repetition (or does not count). When a group ends, because
 * it is complete or because the stream has gone on, an image is made of the newest readouts of
 * every group, provided that the whole table has been passed once. A group that was lost as a whole
 * counts as missing and makes no image of its own. close makes one more image if readouts have come
 * that were in no image. An image is the sum of one share per group, in the order of the table: it
 * depends on its own readouts alone, to the bit.
 *
 * Readouts that bring their own path (trajectory.type stream): a frame is a number of readouts by
 * their number, kspace_encode_step_1 * P + kspace_encode_step_2, with P the partitions of the
 * header's limits (of frames of more than 65536 readouts: step_2 * 65536 + step_1). The row is this
 * number modulo the frame's readouts; where numbers go on from frame to frame, each pass counts as
 * a repetition.
 *
 * Previews (preview_every > 0): pop makes one each time that many readouts of a frame have come,
 * while the frame is incomplete.
 *
 * Images are numbered in the order of making, and so are frames whose engine failed. The same
 * readouts give the same numbers, however often they come (resume), and whichever process makes
 * which of them (share).
 *
 * Gridding as a stand-in (on_miss shed, a solver whose engine names a .preview, no sliding window):
 * a gridding engine of the same trajectory is armed beside the solver's, for the ladder of
 * core/latency/budget.h. Its weights are the protocol's, or Pipe and Menon's where the least
 * squares has none, scaled so that its images are as bright as the solver's. A frame goes to one of
 * the two engines, as aim says when it begins, and stays there: under load nothing is summed twice.
 * (To feed both would allow the choice when a frame is complete, at the price of a second sum in
 * every frame of every scan. An image made from the solver's F^H d would lack the density
 * compensation, which belongs under the sum.) Its memory is in the protocol's need, taken at arm.
 *
 * bs_admit_scan is the check that a scan's header must pass before it is believed; readouts pass
 * intake.h. Ingest runs both before it acknowledges; recon relies on them.
 * Thread rules: one thread per bs_recon. Only arm and disarm allocate.
 * Test: test/unit/core/test_recon.c
 */
#ifndef BS_CORE_FRAME_RECON_H
#define BS_CORE_FRAME_RECON_H

#include "core/latency/budget.h"
#include "core/engine.h"
#include "core/frame/intake.h"
#include "core/frame/lines.h"
#include "core/frame/readout.h"
#include "core/solve/solved.h"
#include "core/mrd.h"
#include "core/plan/scankey.h"

struct bs_recon;

/* Makes head that of a readout without its discarded samples; samples: how many are left. */
static inline void bs_acq_trim(struct bs_mrd_acq *h, uint32_t samples)
{
	h->center_sample = h->center_sample > h->discard_pre
				   ? (uint16_t)(h->center_sample - h->discard_pre)
				   : 0;
	h->number_of_samples = (uint16_t)samples;
	h->discard_pre = h->discard_post = 0;
}

/*
 * How readouts were prepared before an engine saw them (gpu/engine/mixer.h). All members 0: the
 * readouts were not prepared.
 */
struct bs_prepared {
	bool asked; /* whitening was asked for, where the noise is known */
	bool whitened;
	struct bs_match match; /* match of the noise scan; where not whitened, its words say why */
	char noise_scan[sizeof(((struct bs_scan_info *)0)->measurement)];
	uint64_t noise_samples; /* number of noise samples of each coil */
	float noise_scale;      /* factor that the noise covariance was multiplied by */
	uint32_t coils;         /* coils of the readouts as they came */
	/* standard deviation of each coil's complex noise, after noise_scale */
	float deviation[BS_COILS_MAX];
	uint32_t virtual_coils; /* number of coils after compression; 0: not compressed */
	/*
	 * share of the calibration data's energy that compression kept, of the slice where it is
	 * least
	 */
	float kept;
};

/*
 * How the phases of readouts were corrected (gpu/engine/phases.h), in the scan until then. All 0:
 * they were not.
 */
struct bs_corrected {
	uint32_t navigators;   /* navigators that were used */
	float navigator_phase; /* radians, the largest phase that was taken off */
	uint32_t triples;      /* number of triples of phase-correction lines */
	/* phase of reversed lines against the others by the last triple, in radians */
	float epi_phase;
	float epi_shift; /* samples that reversed lines lie later in k, by the last triple */
	bool ramps;      /* readouts on gradient ramps were regridded */
};

/*
 * The earlier scans that maps, a field map and W's image were taken from (core/study/study.h). "":
 * none.
 */
struct bs_earlier {
	char maps[sizeof(((struct bs_scan_info *)0)->study)];
	char field[sizeof(((struct bs_scan_info *)0)->study)];
	char image[sizeof(((struct bs_scan_info *)0)->study)];
	struct bs_match match; /* match of the maps' coils with the scan's */
};

/* The slices that an image was joined of (core/volume/volume.h). */
struct bs_joined {
	uint32_t slices;                /* number of slices of a volume; 0: the image is none */
	float thickness_mm;             /* thickness of a slice, mm; 0: not told */
	uint16_t number[BS_FRAMES_MAX]; /* [z]: counter of the slice */
};

struct bs_recon_image {
	struct bs_mrd_image head;
	float *pixels; /* where pop writes: memory of the caller, bs_protocol_leaving_bytes */
	/* readouts of the frame (bs_protocol_kspace_bytes), until the next readout; or NULL */
	const float *kspace;
	struct bs_report report;
	uint64_t number; /* number in the scan, from 1; image_index is its lower 16 bits */
	/* the frame, or the first and the last one of a volume, in the order of their begin */
	uint64_t frame[2];
	bool preview; /* the image is of an incomplete frame; previews have numbers of their own */
	/* averages of each line that it should hold; 0: averages are kept apart */
	uint32_t averages;
	uint32_t readouts; /* number of readouts that the image holds, averages counted */
	uint32_t missing;  /* number of readouts that the image lacks */
	bool elsewhere;    /* missing readouts may have come, in another frame */
	/* what the image lacks (core/frame/lines.h); "": nothing; always "" in a preview */
	char lacks[BS_LACKS_WORDS];
	char zeros[BS_LACKS_WORDS]; /* what is zero without being missing; "": nothing */
	/* where the center of k-space is (core/frame/center.h); "": where the header has it */
	char center[BS_CENTER_WORDS];
	/* where lines lie (core/frame/readout.h); "": where the header says */
	char readout[BS_READOUT_WORDS];
	char header[BS_HEADER_WORDS];     /* remark on the scan's header, bs_scan_info.remark */
	char scan_keys[BS_SCANKEY_WORDS]; /* keys that the scan set; "": none */
	uint32_t iterations;              /* number of iterations that the scan set; 0: none */
	/* name of the scan, made from its first readout, where the header has none; else "" */
	char scan[17];
	struct bs_kinds kinds; /* readouts of the scan until this image, by kind */
	struct bs_prepared prepared;
	struct bs_corrected corrected;
	struct bs_earlier earlier;
	struct bs_joined joined;
	bool own;        /* a line of its own made the frame whole: the latest readout */
	int64_t last_ns; /* time at which the last readout that it needed was received */
	uint32_t last_scan_counter;
};

/*
 * Writes what the reader of the image should know beside what it lacks, in words; "": nothing.
 * Returns out, NUL-terminated within cap.
 */
#define BS_REMARK_WORDS 640u
const char *bs_image_remark(char *out, size_t cap, const struct bs_recon_image *image);

/*
 * Checks the header against the protocol: matrix, channels, unit, field of view
 * (core/frame/geometry.h), where the calibration is. The reason names the element.
 */
int bs_admit_scan(const struct bs_protocol *p, const struct bs_scan_info *info,
		  struct bs_fail *why);

/* Words about an admitted header for the service's log; "": nothing. Returns words. */
#define BS_ADMIT_WORDS 480u
const char *bs_admit_words(char words[BS_ADMIT_WORDS], const struct bs_protocol *p,
			   const struct bs_scan_info *info);

/* Returns true if the header describes EPI whose readouts begin on the gradient's ramp. */
bool bs_admit_ramps(const struct bs_scan_info *info);

/*
 * recon_need: what arm will take from the arena, for the engine and for those armed beside it.
 * recon_device: the same of device memory, as far as engines tell it; field as in core/engine.h.
 */
int bs_recon_need(const struct bs_protocol *p, const struct bs_engine *engine, struct bs_need *need,
		  struct bs_fail *why);
int bs_recon_device(const struct bs_protocol *p, const struct bs_engine *engine, const float *field,
		    struct bs_need *need, struct bs_fail *why);
int bs_recon_arm(struct bs_recon **out, const struct bs_protocol *p, const struct bs_engine *engine,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why);
void bs_recon_disarm(struct bs_recon *r);
/*
 * Sets, from now on, which engine frames go to when they begin, and how many iterations images
 * take.
 */
void bs_recon_aim(struct bs_recon *r, const struct bs_aim *aim);
bool bs_recon_stands_in(const struct bs_recon *r); /* a gridding stands in */

void bs_recon_scan(struct bs_recon *r, const struct bs_scan_info *info);
/*
 * Call after scan, when its readouts come once more, from the first on. Images up to this number
 * were handed on before: pop passes over them, with image->pixels as working space, and no previews
 * are made meanwhile. Later previews have numbers beyond the given one.
 */
void bs_recon_resume(struct bs_recon *r, uint64_t images, uint64_t previews);
/* Call before a scan's readouts. Frames that have a word are made by it; others leave theirs. */
void bs_recon_solved(struct bs_recon *r, struct bs_solved *solved);
/*
 * Call after arm, for all scans from then on. Of frames, counted as they begin, this process makes
 * those whose number modulo parts is part; of a sliding window, images are counted instead. pop
 * passes over an image that another process makes, or that made reports as there (made may be asked
 * twice for an image's number), as it does after resume. Readouts of such a frame do not reach an
 * engine that keeps nothing for later frames. share lives as long as r.
 */
struct bs_share {
	uint32_t part, parts;
	/* Returns true if this image is made already; NULL: none is. */
	bool (*made)(void *arg, uint64_t number);
	void *arg;
};
void bs_recon_share(struct bs_recon *r, const struct bs_share *share);
/*
 * Takes an admitted acquisition and its row, received at now_ns. data: 4-byte aligned; a line's
 * path lies behind it where the protocol's path comes with the stream. data is copied before this
 * returns, unless it lies in the pool that the engine was armed with: then see bs_recon_reading.
 * Returns 0: taken (a readout that the protocol does not use is counted; its data are not looked
 * at). BS_RECON_POP_FIRST: the readout begins a new frame while an earlier frame is over, perhaps
 * ended to make room; pop, then call again with the same readout. BS_ERR_INDEX: this row is in the
 * frame already, and its sum has begun.
 */
#define BS_RECON_POP_FIRST 1
int bs_recon_readout(struct bs_recon *r, const struct bs_mrd_acq *head, uint32_t row,
		     const float *data, int64_t now_ns, struct bs_fail *why);
/* Works as reading of core/engine.h; both numbers are 0 where every readout is copied at once. */
void bs_recon_reading(struct bs_recon *r, bool wait, uint64_t *made, uint64_t *read);
/*
 * A readout of the scan did not arrive, or was refused: from now on, missing lines count as lost,
 * not as left out by the scanner.
 */
void bs_recon_lost(struct bs_recon *r);
/* Ends the scan: frames that have begun become images that say what is missing. */
void bs_recon_close(struct bs_recon *r);
/* Returns 1: *image was made. 0: no frame is complete. Negative: the engine failed. */
int bs_recon_pop(struct bs_recon *r, struct bs_recon_image *image, int64_t deadline_ns,
		 struct bs_fail *why);
/* The number of images that pop would make now, for a caller that must find an image slot first. */
uint32_t bs_recon_ready(struct bs_recon *r);
/*
 * The number of previews among bs_recon_ready's images: pop makes them after the frames, and
 * skip_previews leaves them out.
 */
uint32_t bs_recon_previews(const struct bs_recon *r);
void bs_recon_skip_previews(struct bs_recon *r);
/* These set what images say of their preparation from now on, until the next scan. */
void bs_recon_prepared(struct bs_recon *r, const struct bs_prepared *prepared);
void bs_recon_corrected(struct bs_recon *r, const struct bs_corrected *corrected);
void bs_recon_earlier(struct bs_recon *r, const struct bs_earlier *earlier);
/* The maps or field maps of all slices have changed. Call between two scans. */
int bs_recon_maps(struct bs_recon *r, struct bs_fail *why);
/* Returns true if each slice and contrast has had an image in this scan, by the
 * protocol's own method. */
bool bs_recon_imaged(const struct bs_recon *r);
/*
 * Makes, while nothing else is to be done, what one frame will need of calibration that has come.
 * Returns true if something was made. Images are the same without it.
 */
bool bs_recon_ahead(struct bs_recon *r);
/*
 * The time that the slice's next image has waited for calibration before its readouts came here
 * (gpu/engine/mixer.h).
 */
void bs_recon_calibrated(struct bs_recon *r, uint32_t slice, int64_t spent_ns);
/* The number of the last image, made or passed over. */
uint64_t bs_recon_images(const struct bs_recon *r);
/* Counts of the scan's readouts so far. */
const struct bs_kinds *bs_recon_kinds(const struct bs_recon *r);
/* Words that images should have said that left before it was known (core/multiband/bands.h). */
const char *bs_recon_words(const struct bs_recon *r, char *out, size_t cap);
/* Images of the scan may hold several slices each (core/multiband/bands.h). */
bool bs_recon_folded(const struct bs_recon *r);
/* The name of the engine that made the image: "gridding/host". */
const char *bs_recon_engine(const struct bs_recon *r, const struct bs_recon_image *image);

/*
 * Bits of image_series_index: frames have the index of their scan; previews and velocities have
 * that index with one of these bits.
 */
#define BS_PREVIEW_SERIES  0x8000u
#define BS_VELOCITY_SERIES 0x4000u

#endif
