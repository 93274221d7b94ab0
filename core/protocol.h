/*
 * core/protocol.h - a protocol: one kind of scan that the node prepares for
 *
 * Plain data, filled by config/ from a site file (config/keys.c has key, unit, default and range
 * of every field), never changed after that. Axes are x, y, z, x fastest in memory; a 2D protocol
 * has matrix[2] = 1. All strings are NUL-terminated; "" means not given.
 */
#ifndef BS_CORE_PROTOCOL_H
#define BS_CORE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/multiband/spec.h"
#include "core/plan/answerspec.h"
#include "core/plan/plan.h"
#include "core/plan/stepspec.h"
#include "core/solve/priorspec.h"
#include "core/solve/wspec.h"

#define BS_NAME_MAX      64u
#define BS_PATH_MAX_     256u
#define BS_COILS_MAX     64u
#define BS_AXIS_MAX      512u /* voxels; an axis has at least one */
#define BS_PROTOCOLS_MAX 16u
#define BS_SINKS_MAX     8u
#define BS_FRAMES_MAX    512u  /* most slices x contrasts of a protocol */
#define BS_OPEN_MAX      4096u /* frames of a protocol that may be open at once */
#define BS_CONFIGS_MAX   32u
#define BS_MRD_SCANS_MAX 4u

enum bs_backend { BS_BACKEND_AUTO, BS_BACKEND_HOST, BS_BACKEND_CUDA };
enum bs_window { BS_WINDOW_KAISER_BESSEL, BS_WINDOW_GAUSS };
enum bs_density { BS_DENSITY_RAMP, BS_DENSITY_PIPE, BS_DENSITY_FILE, BS_DENSITY_NONE };
/* uniform: the image of an object of ones is one at the center voxel. */
enum bs_normalize { BS_NORMALIZE_AUTO, BS_NORMALIZE_NONE, BS_NORMALIZE_UNIFORM };
/* Filling of the end of k-space that a scan leaves out: zeros, or POCS (gpu/image/pocs.h). */
enum bs_partial_fourier { BS_PARTIAL_FOURIER_NONE, BS_PARTIAL_FOURIER_POCS };
enum bs_combine { BS_COMBINE_NONE, BS_COMBINE_RSS, BS_COMBINE_SENSE };
/* How center_sample of reversed lines is read, which has two readings (core/frame/readout.h). */
enum bs_reversed { BS_REVERSED_AUTO, BS_REVERSED_CONVERTER, BS_REVERSED_STORED };
/* Treatment of a scan that lacks the lines that GRAPPA calibrates by. */
enum bs_lacking { BS_LACKING_REFUSE, BS_LACKING_ZEROS };
/*
 * Source of sensitivity maps: maps_file, the scan itself (gpu/calibrate/maps.h), or an earlier scan
 * (core/study/study.h).
 */
enum bs_maps_from { BS_MAPS_FILE, BS_MAPS_ESPIRIT, BS_MAPS_WALSH, BS_MAPS_STUDY };
/* velocity: set 0 leaves as a magnitude, others as velocities against it (core/flow/flow.h) */
enum bs_output { BS_OUTPUT_MAGNITUDE, BS_OUTPUT_COMPLEX, BS_OUTPUT_PHASE, BS_OUTPUT_VELOCITY };
enum bs_traj_type {
	BS_TRAJ_FILE,
	BS_TRAJ_CARTESIAN,
	BS_TRAJ_RADIAL2D,
	BS_TRAJ_SPIRAL2D,
	BS_TRAJ_RADIAL3D,
	BS_TRAJ_STACK,
	BS_TRAJ_RANDOM,
	BS_TRAJ_CONES,
	BS_TRAJ_TPI,
	BS_TRAJ_STREAM /* no table: each readout brings its own path */
};
enum bs_traj_unit {
	BS_UNIT_CYCLES_PER_VOXEL,
	BS_UNIT_CYCLES_PER_FOV,
	BS_UNIT_RAD_PER_VOXEL,
	BS_UNIT_RAD_PER_M, /* BS_UNIT_RAD_PER_M and BS_UNIT_CYCLES_PER_M need fov_mm */
	BS_UNIT_CYCLES_PER_M
};
/* The GPUs that work on one scan, by CUDA's numbers; the first puts the images together. */
#define BS_DEVICES_MAX 8u
#define BS_GPU_BUS     20u /* bytes of a GPU's PCI address, "00000000:00:00.0" */
struct bs_devices {
	uint32_t count;
	uint32_t device[BS_DEVICES_MAX];
};

/* Way of readouts to the GPU. auto: mapped where the GPU shares the host's memory, else copy. */
enum bs_gpu_memory { BS_GPU_MEMORY_AUTO, BS_GPU_MEMORY_COPY, BS_GPU_MEMORY_MAPPED };
/* Features of a GPU in use: each route leaves out more than the last (gpu/device/reach.h). */
enum bs_gpu_route {
	BS_GPU_ROUTE_AUTO,
	BS_GPU_ROUTE_SM_90, /* all but matrix products of warpgroups */
	/* all that SM_90 has but clusters, early launches, over 163 KiB shared memory per block */
	BS_GPU_ROUTE_SM_80,
	BS_GPU_ROUTE_SM_86 /* all that SM_80 has but over 99 KiB shared memory per block */
};
/* auto: a scan that is faster on the first of several GPUs alone stays there. */
enum bs_gpu_share { BS_GPU_SHARE_AUTO, BS_GPU_SHARE_ALWAYS };
enum bs_sum { BS_SUM_EXACT, BS_SUM_NUFFT };
enum bs_basis { BS_BASIS_DELTA, BS_BASIS_BOX };
enum bs_precond { BS_PRECOND_NONE, BS_PRECOND_JACOBI, BS_PRECOND_CIRCULANT };
enum bs_miss { BS_MISS_FLAG, BS_MISS_SHED, BS_MISS_STOP };
/*
 * How coils are compressed to virtual coils: by one matrix, or by one for each place along the
 * readout.
 */
enum bs_compression { BS_COMPRESSION_SVD, BS_COMPRESSION_GEOMETRIC };
/* When readouts are whitened by the covariance of the noise: never; where it is known; always. */
enum bs_whiten { BS_WHITEN_OFF, BS_WHITEN_AUTO, BS_WHITEN_REQUIRE };
/* Use of navigators: none, or the phase of the lines until the next navigator. */
enum bs_navigate { BS_NAVIGATE_OFF, BS_NAVIGATE_PHASE };
/* Whether the costs of an image are measured at arm and judged by the budgets. */
enum bs_admit { BS_ADMIT_MEASURE, BS_ADMIT_TRUST };
/*
 * The stages of an image's latency that may have a budget of their own. The time between two stages
 * (the wait for an image slot) counts in the image's latency alone.
 */
enum bs_budget_stage {
	/* stage from the last readout's receipt until recon takes it up: checks, copy, queue */
	BS_BUDGET_RECEIVE,
	BS_BUDGET_UPLOAD,     /* stage of uploading the last samples to the device; 0 on the host */
	BS_BUDGET_ACCUMULATE, /* stage of the rest of the sum after the last readout */
	BS_BUDGET_SOLVE,      /* stage of the iterations of ls and sense */
	BS_BUDGET_COMBINE,    /* stage of combining the coils to one image */
	BS_BUDGET_DOWNLOAD,   /* stage of downloading the image from the device; 0 on the host */
	BS_BUDGET_EMIT,       /* stage from the image's making until the first sink has it */
	/* making coil matrices, weights and maps from the scan; on top of the image's budget */
	BS_BUDGET_CALIBRATION,
	BS_BUDGET_STAGES
};

/*
 * Source of the protocol's trajectory. It is known before the scan, and the stream is checked
 * against it; of type stream it comes with the readouts.
 */
struct bs_traj_spec {
	enum bs_traj_type type;
	/* MRD .h5 (its trajectory) or BART .cfl, for type file */
	char file[BS_PATH_MAX_];
	enum bs_traj_unit unit; /* unit of the file and of the stream */
	uint32_t interleaves;   /* types spiral2d and stack: number of in-plane interleaves */
	/* types spiral2d, stack and cones: revolutions of one interleaf; 0: as Nyquist asks */
	double turns;
	/* generated: largest radius in cycles per voxel (random: half the cube's edge); 0: 0.5 */
	double reach;
	uint64_t seed; /* seed of type random */
	/* 2D: a third dimension of the trajectory is ignored; else it must be 0 */
	bool third_ignored;
	/* delays in samples: xx, yy, zz; xy, xz, yz (core/traj/delay.h) */
	float delay[3], delay_cross[3];
	/* type stream: delays are estimated from each scan's own spokes (gpu/encode/path.c) */
	bool estimate_delay;
	double tolerance;  /* largest difference between stream and table in cycles per voxel */
	double min_extent; /* |k| that the table must reach on each axis, cycles per voxel */
};

/* Where a field map comes from: map_file, an earlier scan, or the echoes of this scan. */
enum bs_field_from { BS_FIELD_FILE, BS_FIELD_STUDY, BS_FIELD_ECHOES };

/* Correction of off resonance: exp(-i2pi f t) at each voxel, t from a readout's first sample. */
struct bs_field_spec {
	/* file of the field map, Hz, .cfl [x][y][z], slices in dimension 13; "": none */
	char map_file[BS_PATH_MAX_];
	double dwell_us;        /* time in us between two samples */
	double start_ms;        /* time of the first sample */
	double echo_spacing_us; /* method cartesian: time from a line along y to the next */
	double error;           /* largest error of the time segments (gpu/solve/segments.h) */
	enum bs_field_from from;
	double range_hz; /* largest |f| in Hz that arm prepares for, with maps from study */
};

struct bs_protocol {
	char name[BS_NAME_MAX];
	enum bs_method method;
	enum bs_backend backend;
	enum bs_gpu_memory gpu_memory; /* copy of the site's gpu_memory */
	enum bs_gpu_route gpu_route;   /* copy of the site's gpu_route */
	struct bs_devices gpu_devices; /* copy of the site's gpu_devices */
	enum bs_gpu_share gpu_share;   /* copy of the site's gpu_share */
	uint32_t dims;                 /* number of dimensions, 2 or 3 */
	uint32_t matrix[3];            /* voxels x, y, z that are reconstructed */
	uint32_t encoded[3]; /* cartesian: size of the k-space matrix, with oversampling */
	float fov_mm[3];
	uint32_t coils;
	/* virtual coils that readouts are compressed to; 0: no compression */
	uint32_t virtual_coils;
	enum bs_compression compression;
	enum bs_whiten whiten;
	enum bs_navigate navigators;
	enum bs_reversed reversed_center;
	/* EPI: corrects reversed lines, and regrids readouts on ramps */
	bool epi_correct;
	uint32_t samples;  /* samples of a readout, without discarded ones */
	uint32_t discard;  /* most samples of a readout that the stream may mark as discarded */
	uint32_t readouts; /* readouts of a frame; with by_header the most */
	/*
	 * 1 if the scan's header says how many (core/frame/recon.h); stands directly behind
	 * readouts (BS_KEY_COUNT)
	 */
	uint32_t by_header;
	/* the key readouts_max, which bounds readouts where by_header is 1; 0: not given */
	uint32_t readouts_max;
	/*
	 * slices, contrasts, phases, sets, repetitions: the product of their numbers of frames may
	 * be open at once (core/frame/open.h)
	 */
	uint32_t slices;
	uint32_t contrasts;
	uint32_t phases, sets, repetitions; /* number of each; 0 counts as 1 */
	/* averages of a line that are summed, at most; 0, 1: each average makes its own image */
	uint32_t averages;
	/* bits of enum bs_kind: kinds of readouts that are used beside the lines of images */
	uint32_t uses;
	double max_sample; /* largest legal |sample| */
	double silence_ms; /* a scan whose sender is silent for longer is aborted */
	struct bs_traj_spec traj;
	struct bs_field_spec field;

	/* The next members are about gridding, and the NUFFT of ls and sense. */
	/* largest relative error anywhere, 1e-1 .. 1e-6; 0: width and oversampling are given */
	double accuracy;
	double width;        /* width of the window in cells of the oversampled grid */
	double oversampling; /* ratio of the oversampled grid to the matrix, 1.25 to 2 */
	enum bs_window window;
	enum bs_density density;
	char density_file[BS_PATH_MAX_];
	uint32_t density_iterations; /* iterations of density pipe */
	enum bs_normalize normalize;
	uint32_t chunk_readouts; /* readouts that are accumulated together; 0: arm chooses */
	enum bs_combine combine;
	/* file of sensitivity maps, .cfl [x][y][z][coil], slices in dimension 13 */
	char maps_file[BS_PATH_MAX_];
	enum bs_maps_from maps;
	uint32_t calibration_lines; /* most lines around k = 0 that calibrate, on each axis */
	uint32_t espirit_kernel;    /* samples on each axis of ESPIRiT's kernel; 0: arm chooses */
	/* smallest eigenvalue of a kernel that counts, relative to the largest */
	double espirit_threshold;
	double espirit_crop;  /* maps are 0 where their eigenvalue is smaller */
	uint32_t walsh_block; /* voxels on each axis of Walsh's block */
	/* images of a voxel, each with its own maps: 1 or 2 */
	uint32_t map_images;
	uint32_t maps_every; /* sliding window: images between new maps; 0: one pass of the table */
	enum bs_output output;
	double venc; /* output velocity: VENC in cm/s; 0: the header's */
	/* bits of enum bs_scankey: keys that the protocol leaves to its scans */
	uint32_t scan_keys;
	/* voxels of the image that leaves, over the same field of view; 0: the matrix */
	uint32_t image_matrix[3];
	bool volume; /* slices leave joined in volumes (core/volume/volume.h) */

	/* Methods ls and sense, and cartesian with parallel sense. */
	double lambda;
	uint32_t iterations;
	/* relative residual at which the solver stops; 0: it stops after its iterations alone */
	double tolerance;
	enum bs_sum fhd, q;
	enum bs_basis basis;
	enum bs_precond precond;
	char w_file[BS_PATH_MAX_]; /* file of W, Matrix Market; "": W is the identity */
	struct bs_w_spec w;
	struct bs_prior_keys prior;

	/* The next members are for method cartesian. */
	enum bs_parallel parallel;
	uint32_t grappa_kernel[3]; /* window of GRAPPA: samples along x, lines along y and z */
	uint32_t grappa_sources;   /* measured lines that a missing line is made of, at most */
	/* relative regularization of the weights; 0: derived from the noise */
	double grappa_lambda;
	enum bs_lacking grappa_lacking;
	struct bs_multiband multiband;
	enum bs_partial_fourier partial_fourier;
	uint32_t pocs_iterations;
	double pocs_taper; /* width of the taper, of the symmetric center */

	/* The next members are about deadlines. */
	double image_ms;                   /* budget of an image, ms; 0: none is declared */
	double stage_ms[BS_BUDGET_STAGES]; /* budgets of single stages, ms; 0: none is declared */
	enum bs_miss on_miss;
	enum bs_admit admission;
	double margin; /* added to the measured estimate at arm, relative: 0.2 is 20 % */
	/* sliding window: readouts from one image to the next; 0: no sliding window */
	uint32_t frame_step;
	uint32_t preview_every; /* readouts from one preview to the next; 0: no previews */
	double interval_ms; /* ms between two readouts of the stream; 0: the header's TR says it */
	struct bs_step_of step;       /* what the site's list of steps says of it */
	struct bs_answers_of answers; /* what the site's list of answers says of it */

	struct bs_plan plan; /* the plan made of all members above (bs_plan_make) */
};

struct bs_sink_spec {
	char type[16]; /* type of the sink: "png", "cfl", "mrd", ... (drivers/sink/sink.h) */
	char dir[BS_PATH_MAX_];
	char store[BS_PATH_MAX_]; /* DICOM node "AET@host:port"; "": images are sent nowhere */
};

enum bs_wait { BS_WAIT_BLOCK, BS_WAIT_POLL };

/* Settings for being on time: group realtime of a site file. */
struct bs_realtime {
	/* processors that each may use (core/thread/cpus.h); "": any */
	char ingest_cpus[64], recon_cpus[64], emit_cpus[64];
	/* SCHED_FIFO priority of recon; emit has 1 more, ingest 2, the supervisor 3; 0: none */
	uint32_t priority;
	enum bs_wait wait;       /* how recon waits for readouts */
	enum bs_wait gpu_wait;   /* how recon waits for the GPU */
	uint32_t timer_slack_us; /* timer slack in us of threads without a priority */
	bool lock_memory;
	bool gpu_priority; /* CUDA streams get the highest priority */
	bool canary;       /* canaries run (core/thread/canary.h) */
};

/* Treatment of an image that its taker cannot have now. */
enum bs_policy {
	BS_POLICY_WAIT, /* the image waits; with no slot left the reconstruction waits, too */
	BS_POLICY_KEEP_NEWEST, /* each taker has a queue; when full, its oldest is dropped */
	BS_POLICY_SPILL /* as keep_newest, but the oldest image goes to disk while there is room */
};

/* How safe a message is before its sender may forget it. */
enum bs_log_mode {
	BS_LOG_MODE_OFF,     /* the message is in the service's memory */
	BS_LOG_MODE_RELAXED, /* the message was written to the scan's log */
	BS_LOG_MODE_DURABLE  /* the message is in the scan's log, on the disk */
};

/* Settings for logs of scans: group log of a site file. */
struct bs_log_spec {
	char dir[BS_PATH_MAX_]; /* folder of scans' logs; "": none are kept */
	double keep_hours; /* hours that a scan's log is kept after its last write; 0: no limit */
	uint64_t keep_mib; /* size of all scans' logs together, at most; 0: no limit */
	double resume_s;   /* seconds that a scan left open waits for its sender */
	enum bs_log_mode mode;
	uint32_t buffer_mib; /* buffer for messages that wait for the disk */
};

struct bs_overload {
	char spill_dir[BS_PATH_MAX_];
	uint32_t spill_mib; /* size of the store of images */
	uint32_t queue;     /* images that may wait for each taker */
	enum bs_policy archive, sinks;
};

/* MRD over TCP (drivers/bridge): a process of its own, which runs where listen is not "". */
enum bs_pixels { BS_PIXELS_INT16, BS_PIXELS_FLOAT };
struct bs_mrd_config {
	char name[BS_NAME_MAX];     /* configuration that a client asks for; "*": any other */
	char protocol[BS_NAME_MAX]; /* its protocol; "": the one that the header names */
};
struct bs_mrd_site {
	char listen[BS_PATH_MAX_]; /* address on which the bridge listens, tcp://A.B.C.D:PORT */
	/* addresses that may connect, "192.168.2.1, 10.1.0.0/16" */
	char allow[BS_PATH_MAX_];
	enum bs_pixels pixels; /* pixel type of the images that go back */
	uint32_t sessions;     /* most scans at the same time */
	double wait_s, idle_s;
	char key[BS_PATH_MAX_]; /* file of the bridge's secret key; "": keys.own */
	struct bs_mrd_config config[BS_CONFIGS_MAX];
	uint32_t configs;
};

/* Settings of the page in a browser: group web of a site file. */
struct bs_web_spec {
	char listen[64]; /* address of the page, 127.a.b.c:PORT; "": there is no page */
	char token_file[BS_PATH_MAX_];
	char key[BS_PATH_MAX_]; /* file of the page's secret key; "": keys.own */
};

/* Rights of a peer with a key, as bits: group keys of a site file. */
enum bs_role {
	BS_ROLE_SCANNER = 1, /* the peer may send k-space */
	BS_ROLE_ARCHIVE = 2, /* the peer may ask for images */
	BS_ROLE_VIEWER = 4,  /* the peer may ask for images, as an archive may */
	BS_ROLE_STATUS = 8   /* the peer may ask for the status */
};

#define BS_KEYED_MAX 32u
struct bs_peer_spec {
	char name[BS_NAME_MAX]; /* name of the peer: letters, digits, '.', '_', '-' */
	char key[48];           /* public key of the peer, base64 (ipc/seal/keys.h) */
	uint32_t roles;         /* bits of enum bs_role */
};

/*
 * Names of the processes beside the service, in the list of peers, where they have keys of their
 * own.
 */
#define BS_PEER_MRD  "bridge.mrd"
#define BS_PEER_PAGE "page"
struct bs_keyed {
	/* file of the secret key; "": the process uses the node's own key */
	const char *name, *file;
};

/* Who may connect to the endpoints over tcp, and the node's own key. */
struct bs_keys_spec {
	char own[BS_PATH_MAX_]; /* file of the node's secret key; "": nothing is sealed */
	/* file of the key that logs, audit lines and certificates are signed with; "": none are */
	char sign[BS_PATH_MAX_];
	/* the node's public key, for processes that may not read that file; "": not given */
	char service[48];
	uint32_t connections; /* most connections of one peer to an endpoint at a time */
	struct bs_peer_spec peer[BS_KEYED_MAX];
	uint32_t peers;
};

struct bs_site {
	char file[BS_PATH_MAX_]; /* the site file that was read */
	char name[BS_NAME_MAX];
	char board[32];               /* kind of machine: "host", "workstation", "jetson" */
	char run_dir[BS_PATH_MAX_];   /* folder of sockets and pid file */
	char cache_dir[BS_PATH_MAX_]; /* folder of what arm computes and keeps */
	char kspace_url[BS_PATH_MAX_], archive_url[BS_PATH_MAX_], viewers_url[BS_PATH_MAX_],
		images_url[BS_PATH_MAX_],
		/* archive, viewers and images may be "": the endpoint is off */
		status_url[BS_PATH_MAX_];
	uint32_t threads;     /* threads of recon's team */
	uint32_t acq_slots;   /* number of slots in the shared pool of readouts */
	uint32_t image_slots; /* number of slots in the shared pool of images */
	/* MiB that the shared pools and all protocols' plans may take together */
	uint32_t memory_mib;
	struct bs_log_spec log;
	double heartbeat_ms;
	/* seconds after SIGTERM for the current scan, and as many again for its images */
	double drain_s;
	double stall_ms; /* a worker that makes no progress for this long is replaced */
	int log_level;
	char log_format[8];   /* form of the service's log: "text", "json" */
	uint32_t study_scans; /* scans kept for later ones (core/study/study.h) */
	struct bs_overload overload;
	enum bs_gpu_memory gpu_memory; /* how readouts reach the GPU */
	enum bs_gpu_route gpu_route;
	struct bs_devices gpu_devices;
	enum bs_gpu_share gpu_share;
	bool gpu_shared; /* the GPU is shared with other programs */
	struct bs_mrd_site mrd;
	struct bs_web_spec web;
	struct bs_realtime realtime;
	struct bs_sink_spec sink[BS_SINKS_MAX];
	uint32_t sinks;
	struct bs_step_spec step[BS_STEPS_MAX];
	uint32_t steps;
	struct bs_answer_spec answer[BS_ANSWERS_SITE_MAX];
	uint32_t answers;
	struct bs_keys_spec keys;
	struct bs_protocol protocol[BS_PROTOCOLS_MAX];
	uint32_t protocols;
};

/* Returns the site's protocol of that name; NULL: it has none. */
const struct bs_protocol *bs_site_protocol(const struct bs_site *s, const char *name);
/* Returns true if messages at the endpoint url are sealed. */
static inline bool bs_site_seals(const struct bs_site *s, const char *url)
{
	return s->keys.own[0] != '\0' && url[0] == 't';
}
/* Returns true if the site keeps logs of its scans. */
static inline bool bs_site_logs(const struct bs_site *s)
{
	return s->log.dir[0] != '\0' && s->log.mode != BS_LOG_MODE_OFF;
}
/* Returns true if the site keeps images in a store, for takers that fall behind or ask. */
static inline bool bs_site_stores(const struct bs_site *s)
{
	return (s->archive_url[0] != '\0' && s->overload.archive == BS_POLICY_SPILL) ||
	       (s->sinks > 0 && s->overload.sinks == BS_POLICY_SPILL) || s->images_url[0] != '\0';
}

/* Returns true if the site's store of images is in spill_dir. */
static inline bool bs_site_spills(const struct bs_site *s)
{
	return bs_site_stores(s) && s->overload.spill_dir[0] != '\0';
}

/* Returns true if the trajectory has delays: readouts lie elsewhere than the stream says. */
static inline bool bs_traj_delayed(const struct bs_traj_spec *t)
{
	for (int a = 0; a < 3; a++)
		if (t->delay[a] != 0.0f || t->delay_cross[a] != 0.0f)
			return true;
	return false;
}

/* Derived sizes; all of them fit 64 bits for every protocol that config/ accepts. */
static inline uint64_t bs_protocol_voxels(const struct bs_protocol *p)
{
	return (uint64_t)p->matrix[0] * p->matrix[1] * p->matrix[2];
}
/* Returns the samples of a frame. */
static inline uint64_t bs_protocol_samples(const struct bs_protocol *p)
{
	return (uint64_t)p->samples * p->readouts;
}
/* pairs: returns the number of pairs of slice and contrast. pair: returns the index of one. */
static inline uint32_t bs_protocol_pairs(const struct bs_protocol *p)
{
	return p->slices * p->contrasts;
}
static inline uint32_t bs_protocol_pair(const struct bs_protocol *p, uint32_t slice,
					uint32_t contrast)
{
	return slice * p->contrasts + contrast;
}
/* Frames of one pair that may be open at once; a sliding window has one. */
static inline uint32_t bs_protocol_lanes(const struct bs_protocol *p)
{
	return p->frame_step > 0 ? 1
				 : (p->phases > 1 ? p->phases : 1) * (p->sets > 1 ? p->sets : 1) *
					   (p->repetitions > 1 ? p->repetitions : 1);
}
/*
 * frames: how many frames may be open at once. frame: the first frame of a pair. frame_slice and
 * frame_contrast: the slice and the contrast of a frame.
 */
static inline uint32_t bs_protocol_frames(const struct bs_protocol *p)
{
	return bs_protocol_pairs(p) * bs_protocol_lanes(p);
}
static inline uint32_t bs_protocol_frame(const struct bs_protocol *p, uint32_t slice,
					 uint32_t contrast)
{
	return bs_protocol_pair(p, slice, contrast) * bs_protocol_lanes(p);
}
static inline uint32_t bs_protocol_frame_slice(const struct bs_protocol *p, uint32_t frame)
{
	return frame / bs_protocol_lanes(p) / p->contrasts;
}
static inline uint32_t bs_protocol_frame_contrast(const struct bs_protocol *p, uint32_t frame)
{
	return frame / bs_protocol_lanes(p) % p->contrasts;
}
/* Sets of sensitivity maps that the protocol works with, one per slice; 0: it uses none. */
static inline uint32_t bs_protocol_map_sets(const struct bs_protocol *p)
{
	return p->plan.maps != BS_PLAN_MAPS_NONE ? p->slices : 0;
}
/* Voxels of an image along an axis and in all: of the matrix, or of the resized image. */
static inline uint32_t bs_protocol_image_axis(const struct bs_protocol *p, int axis)
{
	return p->image_matrix[axis] > 0 ? p->image_matrix[axis] : p->matrix[axis];
}
static inline uint64_t bs_protocol_image_voxels(const struct bs_protocol *p)
{
	return (uint64_t)bs_protocol_image_axis(p, 0) * bs_protocol_image_axis(p, 1) *
	       bs_protocol_image_axis(p, 2);
}
/*
 * Voxels of encodedSpace along an axis, which the units of trajectories refer to. The matrix is a
 * part or all of it.
 */
static inline uint32_t bs_protocol_encoded_axis(const struct bs_protocol *p, uint32_t axis)
{
	return p->encoded[axis] > 0 ? p->encoded[axis] : p->matrix[axis];
}
/* Returns the lines of the protocol's grid, or 0. */
static inline uint32_t bs_protocol_lines(const struct bs_protocol *p)
{
	return p->encoded[1] * (p->encoded[2] > 0 ? p->encoded[2] : 1);
}
/* Floats of a readout's own path [sample][dims], which lies behind its samples; 0: it has none. */
static inline size_t bs_protocol_path(const struct bs_protocol *p)
{
	return p->plan.streams ? (size_t)p->samples * p->dims : 0;
}
/* Rows that admission can name: the frame's readouts, or every line of the encoded grid. */
static inline uint32_t bs_protocol_rows(const struct bs_protocol *p)
{
	return p->plan.encode == BS_ENCODE_LINES ? p->encoded[1] * p->encoded[2] : p->readouts;
}
/* Coils that engines see: virtual ones after compression. */
static inline uint32_t bs_protocol_inner_coils(const struct bs_protocol *p)
{
	return p->virtual_coils > 0 ? p->virtual_coils : p->coils;
}
/* Images that are solved for, or combined, together; each has a set of maps. */
static inline uint32_t bs_protocol_map_images(const struct bs_protocol *p)
{
	return p->map_images > 1 ? p->map_images : 1;
}
/* Returns the complex values of a slice's maps, [image][coil][z][y][x]. */
static inline uint64_t bs_protocol_map_values(const struct bs_protocol *p)
{
	return bs_protocol_voxels(p) * p->coils * bs_protocol_map_images(p);
}
/* Frames of set 0 whose coil images are kept for the velocities of other sets, at most. */
static inline uint32_t bs_protocol_references(const struct bs_protocol *p)
{
	const uint32_t sets = p->sets > 1 ? p->sets : 1;

	return p->output == BS_OUTPUT_VELOCITY ? bs_protocol_frames(p) / sets : 0;
}
/* Channels of the image that leaves: one per coil without combination, else one. */
static inline uint32_t bs_protocol_channels(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_NONE && !p->plan.joint ? bs_protocol_inner_coils(p) : 1;
}
/* image_bytes: of a slice's or a slab's image. leaving_bytes: of the image that leaves, at most. */
static inline uint64_t bs_protocol_image_bytes(const struct bs_protocol *p)
{
	return bs_protocol_image_voxels(p) * bs_protocol_channels(p) *
	       (p->output == BS_OUTPUT_COMPLEX ? 8u : 4u);
}
static inline uint64_t bs_protocol_leaving_bytes(const struct bs_protocol *p)
{
	return bs_protocol_image_bytes(p) * (p->volume ? p->slices : 1);
}

#endif
