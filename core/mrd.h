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
#define BS_MRD_IS_CALIBRATION       BS_MRD_FLAG(20) /* calibration alone, no line of the image */
#define BS_MRD_IS_CALIBRATION_TOO   BS_MRD_FLAG(21) /* a line of the image, and calibration */
#define BS_MRD_IS_REVERSE           BS_MRD_FLAG(22) /* sampled from +k to -k */
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
/* None of the standard's: of an encoding that the protocol does not use (core/frame/encoding.h) */
#define BS_MRD_OF_ANOTHER BS_MRD_FLAG(48)
/* Likewise: of other channels than the header says, or empty */
#define BS_MRD_MISFIT BS_MRD_FLAG(47)
/* Likewise: filled up with zeros; user_int[0] to user_int[1] - 1 were measured (bs_admit_copy) */
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
	float field_of_view[3]; /* mm */
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
	BS_CALIBRATION_INTERLEAVED, /* each repetition has other lines; together they are all */
	BS_CALIBRATION_SEPARATE,
	BS_CALIBRATION_EXTERNAL,
	BS_CALIBRATION_OTHER
};

/* acquisitionSystemInformation/coilLabel, in the header's order. */
#define BS_LABELS_MAX  64u /* kept */
#define BS_LABEL_BYTES 48u /* of a name, its end included */
struct bs_labels {
	uint32_t count;                 /* in the header */
	uint32_t number[BS_LABELS_MAX]; /* coilNumber; UINT32_MAX: not said, or no number */
	uint8_t cut[BS_LABELS_MAX];     /* 1: the name is longer */
	char name[BS_LABELS_MAX][BS_LABEL_BYTES]; /* coilName */
};

#define BS_ENCODINGS_MORE 4u /* that are kept */
#define BS_SCAN_ABOUT     4096u
#define BS_HEADER_WORDS   200u
#define BS_SCANKEYS       2u /* keys that a scan may set for itself (core/plan/scankey.h) */

/*
 * What the MRD XML header says that a protocol is checked against, and that a reconstruction needs
 * beside its readouts (ipc/wire/xml.h fills it). Texts are "" and numbers 0 when absent.
 */
struct bs_scan_info {
	char protocol[64];        /* measurementInformation/protocolName */
	char measurement[64];     /* measurementInformation/measurementID */
	char noise_scan[64];      /* measurementID of the measurementDependency of type Noise */
	char maps_scan[64];       /* of type SenMap */
	char field_scan[64];      /* of type FieldMap */
	char study[72];           /* studyInformation/studyInstanceUID */
	char vendor[32];          /* systemVendor */
	float noise_bandwidth;    /* relativeReceiverNoiseBandwidth */
	char trajectory_name[32]; /* encoding/trajectory: "cartesian", "radial", ... */
	char trajectory_unit[32]; /* userParameterString trajectory_units */
	uint32_t encoded[3];      /* encodedSpace/matrixSize */
	uint32_t recon[3];        /* reconSpace/matrixSize */
	float encoded_fov_mm[3];
	float fov_mm[3];      /* reconSpace/fieldOfView_mm */
	uint32_t channels;    /* receiverChannels */
	uint32_t encodings;   /* number of <encoding> elements */
	float tr_ms;          /* sequenceParameters/TR, the largest of several */
	float te_ms[2];       /* sequenceParameters/TE, the first two */
	uint32_t echoes;      /* how many TE are above 0 */
	float venc;           /* userParameterDouble VENC_0, cm/s */
	float venc_range[2];  /* the least and the largest of VENC_0, VENC_1, ... */
	uint32_t bits_stored; /* userParameterLong BitsStored, of images that go back */
	uint32_t scan_keys;   /* bit of enum bs_scankey: userParameters boreside_ID that came */
	double scan_value[BS_SCANKEYS]; /* their values; NaN: no number */
	uint32_t user_at;               /* bytes of the header before the end of userParameters */
	uint32_t user_there;            /* 0: there is none, before the header's own end */
	uint32_t acceleration[2];       /* parallelImaging/accelerationFactor, steps 1 and 2 */
	enum bs_calibration calibration;
	uint32_t bands; /* parallelImaging/multiband: slices at once; 0: it does not say */
	/* encoding/trajectoryDescription: its identifier, and the parameters of ConventionalEPI */
	char description[32];
	float ramp_up_us, ramp_down_us, flat_us; /* rampUpTime, rampDownTime, flatTopTime */
	float acquisition_delay_us;              /* acqDelayTime: from the gradient's rise */
	float readout_samples, readout_dwell_us; /* numSamples, dwellTime */
	struct bs_limit {
		uint32_t min, max, center;
		uint32_t given; /* 0: the header does not say */
	} step1, step2, slice, contrast, repetition, average, set, phase;
	/* encodings behind the first, by encoding_space_ref - 1; all above is of the first */
	struct bs_mrd_encoding {
		uint32_t encoded[3], recon[3];
		float encoded_fov_mm[3], fov_mm[3];
		uint32_t acceleration[2];
		struct bs_limit step1, step2;
	} more[BS_ENCODINGS_MORE];
	struct bs_labels labels;
	/* what is not taken as it is written, and what is taken instead; "": all is */
	char remark[BS_HEADER_WORDS];
	/* of patient, study, series, scanner and sequence: <meta> elements for the attributes of
	 * the scan's images (ipc/wire/about.h) */
	char about[BS_SCAN_ABOUT];
};

#endif
