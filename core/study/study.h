/*
 * core/study/study.h - what a scan leaves to later scans of its study: maps, field maps, an image
 *
 * A store of slots, a number of them for each kind, laid out once from the site; it has no slots
 * where no protocol takes any. It lies in memory that outlives the process that fills it. There is
 * one writer, and nobody reads while it writes: it fills a slot after a scan, and a scan is bound
 * to a slot before it begins. A slot has no number while it is being filled: a slot that a dying
 * writer left is not used. The oldest slot is replaced first.
 *
 * Which slot a scan takes: that of the scan that its header names (measurementDependency of type
 * SenMap or FieldMap), else the newest of the same studyInstanceUID that fits. A slot fits with the
 * same slices and field of view (to 0.1 %); maps also with the same matrix and coils, by their
 * names (labels.h), whatever their order. open checks all that the header tells, so that a scan is
 * refused at OPEN. An image (ls.w study) is the newest of the study that protocol w_protocol has
 * made, whatever its grid, of the same patient, who lies in the same way. Where there is none, key
 * ls.w_lacking decides; what only readouts tell of it is looked at by board/arm/anatomy.h.
 * What only readouts tell of the others is checked with the first readout that has it: position
 * (to 0.1 % of the largest field of view) and directions (to 1e-3) of each slice, and that the
 * maps' coils were whitened by the same noise, or not at all.
 * No I/O, no allocation. Test: test/unit/core/study/test_study.c, test_image.c
 */
#ifndef BS_CORE_STUDY_STUDY_H
#define BS_CORE_STUDY_STUDY_H

#include <stdatomic.h>

#include "core/err.h"
#include "core/study/noise.h"
#include "core/mrd.h"
#include "core/protocol.h"

#define BS_STUDY_SCANS_MAX 16u /* scans that may be kept of each kind */

/* Position and directions of a slice, from its readouts. */
struct bs_pose {
	float position[3], read_dir[3], phase_dir[3], slice_dir[3];
};
static inline void bs_pose_of(struct bs_pose *pose, const struct bs_mrd_acq *head)
{
	for (int a = 0; a < 3; a++) {
		pose->position[a] = head->position[a];
		pose->read_dir[a] = head->read_dir[a];
		pose->phase_dir[a] = head->phase_dir[a];
		pose->slice_dir[a] = head->slice_dir[a];
	}
}

struct bs_kept {
	/* number that grows with each scan that is kept; 0: the slot is empty */
	_Atomic uint64_t number;
	char scan[sizeof(((struct bs_scan_info *)0)->measurement)];
	char study[sizeof(((struct bs_scan_info *)0)->study)];
	uint32_t matrix[3], slices;
	float fov_mm[3];
	uint32_t coils;          /* number of coils of maps */
	struct bs_labels labels; /* labels of the maps' coils */
	uint32_t images;         /* number of sets of maps (bs_protocol_map_images) */
	float most_hz;           /* largest |f| of a field map */
	/* maps: hash of the noise that their coils were whitened by; 0: not whitened */
	uint64_t whitened;
	uint32_t named; /* 1 if the labels identified each coil of the maps */
	/* image: the protocol that made it, the patient by the header, and where the table was */
	char protocol[BS_NAME_MAX], patient[64], lies[8];
	float table_mm[3];
	struct bs_pose pose[BS_FRAMES_MAX];
};

struct bs_study {
	uint32_t slots[BS_KEPT_KINDS];
	uint64_t bytes[BS_KEPT_KINDS]; /* bytes that one slot keeps, at most */
	_Atomic uint64_t number;       /* the last number that a slot was given */
	struct bs_kept kept[BS_KEPT_KINDS][BS_STUDY_SCANS_MAX];
};

/* The bytes of a store for this site; 0: no protocol takes any. */
uint64_t bs_study_bytes(const struct bs_site *site);
/* Lays out a store in s: bs_study_bytes of memory, all zeros. */
void bs_study_init(struct bs_study *s, const struct bs_site *site);
/* Returns true if the store has room for what protocols of this site take and leave. */
bool bs_study_holds(const struct bs_study *s, const struct bs_site *site);
/* The data of a slot, aligned to BS_ALIGN from the store's begin. */
void *bs_study_data(struct bs_study *s, enum bs_kept_kind kind, uint32_t slot);

/* The protocol makes images that W may be made of: a volume or one slice, of one channel. */
bool bs_study_images(const struct bs_protocol *p);

/*
 * The scan in flight: which slots it takes, and what it tells of itself. It may lie in shared
 * memory.
 */
struct bs_scan_study {
	/* slot that the scan takes of each kind; BS_SCAN_TAKES_NONE: none */
	uint32_t taken[BS_KEPT_KINDS];
	struct bs_match match; /* how the scan's coils match those of the maps that it takes */
	char lacks[200];       /* why it takes no image, which it would; "": it takes one */
	uint32_t begun;        /* a readout that the protocol uses has come */
	uint64_t whitened; /* hash of the noise that readouts are whitened by; 0: not whitened */
	uint32_t named;    /* 1 if the labels identify each coil */
	uint8_t posed[BS_FRAMES_MAX]; /* the slice's pose is known */
	struct bs_pose pose[BS_FRAMES_MAX];
};
#define BS_SCAN_TAKES_NONE UINT32_MAX

/* The slice's first line has come, and has told all that lines of the slice can tell. */
static inline bool bs_scan_study_posed(const struct bs_scan_study *scan, uint32_t slice)
{
	return slice < BS_FRAMES_MAX && scan->posed[slice];
}

/*
 * Chooses the scan's slots. study: NULL where there is none. BS_ERR_CALIBRATION: what the protocol
 * takes is not there.
 */
int bs_scan_study_open(struct bs_scan_study *scan, const struct bs_study *study,
		       const struct bs_protocol *p, const struct bs_scan_info *info,
		       struct bs_fail *why);
/*
 * Checks a readout that the protocol uses and that is no noise. BS_ERR_CALIBRATION: what the scan
 * takes does not fit it.
 */
int bs_scan_study_line(struct bs_scan_study *scan, const struct bs_study *study,
		       const struct bs_protocol *p, const struct bs_noise *noise,
		       const struct bs_mrd_acq *head, struct bs_fail *why);
/* The slot that the scan takes of a kind; NULL: none. */
const struct bs_kept *bs_scan_study_taken(const struct bs_scan_study *scan,
					  const struct bs_study *study, enum bs_kept_kind kind);

/* Returns true if some protocol of the site may take what a scan of p makes. */
bool bs_study_wants(const struct bs_site *site, enum bs_kept_kind kind,
		    const struct bs_protocol *p);
/*
 * Finds a slot to fill, the same scan's or the oldest, and writes what header and readouts tell
 * into it. *data: where the slot's data go. Returns NULL where neither scan nor study has a name.
 * Call bs_study_keep when the slot is filled.
 */
struct bs_kept *bs_study_fill(struct bs_study *s, enum bs_kept_kind kind,
			      const struct bs_scan_study *scan, const struct bs_protocol *p,
			      const struct bs_scan_info *info, void **data);
void bs_study_keep(struct bs_study *s, struct bs_kept *kept);
/*
 * Keeps the magnitude of an image, if it is whole, of the first contrast, phase and set, and some
 * protocol takes it. Returns the slot; BS_SCAN_TAKES_NONE: it is not kept.
 */
struct bs_recon_image; /* core/frame/recon.h */
uint32_t bs_study_image(struct bs_study *s, const struct bs_site *site,
			const struct bs_scan_study *scan, const struct bs_protocol *p,
			const struct bs_scan_info *info, const struct bs_recon_image *image);

#endif
