/*
 * core/mrd.h - MRD (ISMRMRD v1) headers, in memory as on the wire
 *
 * Field names, widths, meaning and layout are the standard's: no gaps, little-endian (ipc/WIRE.md).
 * Take no address of a field: it may be unaligned. Bytes become headers and the reverse in
 * ipc/wire/mrd.c alone. An acquisition's body is trajectory [samples][dims] float (dims fastest),
 * then data [channels][samples] complex float.
 */
#ifndef BS_CORE_MRD_H
#define BS_CORE_MRD_H

#include <stdint.h>

#define BS_MRD_ACQ_BYTES   340u
#define BS_MRD_IMAGE_BYTES 198u

/* Flags are numbered from 1 in the standard. */
#define BS_MRD_FLAG(n)              (UINT64_C(1) << ((n)-1))
#define BS_MRD_LAST_IN_ENCODE_STEP1 BS_MRD_FLAG(2)
#define BS_MRD_LAST_IN_SLICE        BS_MRD_FLAG(8)
#define BS_MRD_LAST_IN_REPETITION   BS_MRD_FLAG(14)
#define BS_MRD_IS_NOISE             BS_MRD_FLAG(19)
/* the readout is for calibration alone, no line of the image */
#define BS_MRD_IS_CALIBRATION BS_MRD_FLAG(20)
/* the readout is a line of the image, and for calibration */
#define BS_MRD_IS_CALIBRATION_TOO   BS_MRD_FLAG(21)
#define BS_MRD_IS_REVERSE           BS_MRD_FLAG(22) /* the readout was sampled from +k to -k */
#define BS_MRD_IS_NAVIGATION        BS_MRD_FLAG(23)
#define BS_MRD_IS_PHASE_CORRECTION  BS_MRD_FLAG(24)
#define BS_MRD_LAST_IN_MEASUREMENT  BS_MRD_FLAG(25)
#define BS_MRD_LAST                 (BS_MRD_FLAG(8) | BS_MRD_FLAG(14) | BS_MRD_FLAG(25))
#define BS_MRD_IS_FEEDBACK          BS_MRD_FLAG(26)
#define BS_MRD_IS_DUMMY             BS_MRD_FLAG(27)
#define BS_MRD_IS_RT_FEEDBACK       BS_MRD_FLAG(28)
#define BS_MRD_IS_COIL_CORRECTION   BS_MRD_FLAG(29)
#define BS_MRD_IS_STABILIZATION_REF BS_MRD_FLAG(30)
#define BS_MRD_IS_STABILIZATION     BS_MRD_FLAG(31)
/*
 * Boreside's own flag: the readout is of an encoding that the protocol does not use
 * (core/frame/encoding.h).
 */
#define BS_MRD_OF_ANOTHER BS_MRD_FLAG(48)
/* Boreside's own flag: the readout has other channels than the header says, or is empty. */
#define BS_MRD_MISFIT BS_MRD_FLAG(47)
/* Boreside's own flag: the line holds all slices of its group at once (core/multiband/apart.h). */
#define BS_MRD_FOLDED BS_MRD_FLAG(45)
/*
 * Boreside's own flag: the line was filled up with zeros; samples [user_int[0], user_int[1]) were
 * measured (bs_admit_copy).
 */
#define BS_MRD_FILLED BS_MRD_FLAG(46)

#pragma pack(push, 2)
struct bs_mrd_idx {
	uint16_t kspace_encode_step_1, kspace_encode_step_2, average, slice, contrast, phase,
		repetition, set, segment, user[8];
};

struct bs_mrd_acq {
	uint16_t version;
	uint64_t flags;
	uint32_t measurement_uid, scan_counter, acquisition_time_stamp, physiology_time_stamp[3];
	uint16_t number_of_samples, available_channels, active_channels;
	uint64_t channel_mask[16];
	uint16_t discard_pre, discard_post, center_sample, encoding_space_ref,
		trajectory_dimensions;
	float sample_time_us, position[3], read_dir[3], phase_dir[3], slice_dir[3],
		patient_table_position[3];
	struct bs_mrd_idx idx;
	int32_t user_int[8];
	float user_float[8];
};

enum bs_mrd_type { BS_MRD_FLOAT = 5, BS_MRD_CXFLOAT = 7 };
enum bs_mrd_image_type { BS_MRD_MAGNITUDE = 1, BS_MRD_PHASE = 2, BS_MRD_COMPLEX = 5 };

struct bs_mrd_image {
	uint16_t version, data_type;
	uint64_t flags;
	uint32_t measurement_uid;
	uint16_t matrix_size[3];
	float field_of_view[3]; /* field of view in mm */
	uint16_t channels;
	float position[3], read_dir[3], phase_dir[3], slice_dir[3], patient_table_position[3];
	uint16_t average, slice, contrast, phase, repetition, set;
	uint32_t acquisition_time_stamp, physiology_time_stamp[3];
	uint16_t image_type, image_index, image_series_index;
	int32_t user_int[8];
	float user_float[8];
	uint32_t attribute_string_len;
};
#pragma pack(pop)

/* encoding/parallelImaging/calibrationMode: where the lines that calibrate come from. */
enum bs_calibration {
	BS_CALIBRATION_UNSAID,
	BS_CALIBRATION_EMBEDDED,
	/* the repetitions measure different lines, which together are all */
	BS_CALIBRATION_INTERLEAVED,
	BS_CALIBRATION_SEPARATE,
	BS_CALIBRATION_EXTERNAL,
	BS_CALIBRATION_OTHER
};

/* Coils of the header, acquisitionSystemInformation/coilLabel, in its order. */
#define BS_LABELS_MAX  64u /* labels that are kept */
#define BS_LABEL_BYTES 48u /* bytes of a name, its NUL included */
struct bs_labels {
	uint32_t count;                 /* labels in the header, kept or not */
	uint32_t number[BS_LABELS_MAX]; /* coilNumber; UINT32_MAX: not said, or no number */
	uint8_t cut[BS_LABELS_MAX];     /* 1 if the name was longer and is cut */
	char name[BS_LABELS_MAX][BS_LABEL_BYTES]; /* text of coilName */
};

#define BS_ENCODINGS_MORE 4u /* encodings behind the first that are kept */
#define BS_SCAN_ABOUT     4096u
#define BS_HEADER_WORDS   200u
#define BS_SCANKEYS       2u /* keys that a scan may set for itself (core/plan/scankey.h) */

/*
 * What the MRD XML header says that a protocol is checked against, and that a reconstruction needs
 * beside its readouts (ipc/wire/xml.h fills it). Each member names its element. Texts are "" and
 * numbers 0 when absent.
 */
struct bs_scan_info {
	char protocol[64];        /* element measurementInformation/protocolName */
	char measurement[64];     /* element measurementInformation/measurementID */
	char noise_scan[64];      /* measurementID of the measurementDependency of type Noise */
	char maps_scan[64];       /* measurementID of the measurementDependency of type SenMap */
	char field_scan[64];      /* measurementID of the measurementDependency of type FieldMap */
	char study[72];           /* element studyInformation/studyInstanceUID */
	char vendor[32];          /* element systemVendor */
	float noise_bandwidth;    /* element relativeReceiverNoiseBandwidth */
	char trajectory_name[32]; /* element encoding/trajectory: "cartesian", "radial", ... */
	char trajectory_unit[32]; /* userParameterString trajectory_units */
	uint32_t encoded[3];      /* element encodedSpace/matrixSize */
	uint32_t recon[3];        /* element reconSpace/matrixSize */
	float encoded_fov_mm[3];
	float fov_mm[3];     /* element reconSpace/fieldOfView_mm */
	uint32_t channels;   /* element receiverChannels */
	uint32_t encodings;  /* number of <encoding> elements */
	float tr_ms;         /* element sequenceParameters/TR, the largest of several */
	float te_ms[2];      /* element sequenceParameters/TE, the first two */
	uint32_t echoes;     /* how many TE are above 0 */
	float venc;          /* userParameterDouble VENC_0, in cm/s */
	float venc_range[2]; /* least and largest of VENC_0, VENC_1, ... */
	/* userParameterLong BitsStored, for images that go back to an MRD client */
	uint32_t bits_stored;
	uint32_t scan_keys; /* bits of enum bs_scankey: which userParameters boreside_ID came */
	/* values of the userParameters that scankeys names; NaN: the value is not a number */
	double scan_value[BS_SCANKEYS];
	uint32_t user_at; /* bytes of the header up to the end of userParameters */
	/* 1 if there are userParameters; 0: user_at is the header's own end */
	uint32_t user_there;
	/* 1 if the sender asks for answers: userParameterLong boreside_answers */
	uint32_t answers;
	uint32_t acceleration[2]; /* element parallelImaging/accelerationFactor, steps 1 and 2 */
	enum bs_calibration calibration;
	uint32_t bands; /* parallelImaging/multiband: slices at once; 0: the header does not say */
	/*
	 * multiband: place of each band, mm from the first one along slice_dir, in the first group;
	 * deltaKz, cycles/mm from a line to the next
	 */
	float band_mm[16];
	float delta_kz;
	uint32_t places; /* bands whose place the header says */
	uint32_t steps;  /* number of deltaKz in the header, 0 or 1 */
	/* Members of encoding/trajectoryDescription: its identifier, and parameters
	 * of ConventionalEPI. */
	char description[32];
	/* parameters rampUpTime, rampDownTime and flatTopTime of the trajectoryDescription */
	float ramp_up_us, ramp_down_us, flat_us;
	/* parameter acqDelayTime of the trajectoryDescription, from the gradient's rise */
	float acquisition_delay_us;
	/* parameters numSamples and dwellTime of the trajectoryDescription */
	float readout_samples, readout_dwell_us;
	struct bs_limit {
		uint32_t min, max, center;
		uint32_t given; /* 0 if the header does not give these limits */
	} step1, step2, slice, contrast, repetition, average, set, phase;
	/*
	 * The encodings behind the first, at encoding_space_ref - 1; the members above are of the
	 * first.
	 */
	struct bs_mrd_encoding {
		uint32_t encoded[3], recon[3];
		float encoded_fov_mm[3], fov_mm[3];
		uint32_t acceleration[2];
		struct bs_limit step1, step2;
	} more[BS_ENCODINGS_MORE];
	struct bs_labels labels;
	/*
	 * Words: what is not taken as the header has it, and what is taken instead; "": all is
	 * taken as it is.
	 */
	char remark[BS_HEADER_WORDS];
	/*
	 * What the header says of patient, study, series, scanner and sequence, for the attributes
	 * of the scan's images: pairs (core/text.h; ipc/wire/about.h).
	 */
	char about[BS_SCAN_ABOUT];
	uint32_t about_bytes; /* bytes of about as XML, at most BS_SCAN_ABOUT */
};

#endif
