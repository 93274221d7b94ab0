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

#include "core/plan/plan.h"

#define BS_NAME_MAX      64u
#define BS_PATH_MAX_     256u
#define BS_COILS_MAX     64u
#define BS_AXIS_MAX      512u /* voxels; an axis has at least one */
#define BS_PROTOCOLS_MAX 16u
#define BS_SINKS_MAX     8u
#define BS_FRAMES_MAX    512u  /* slices x contrasts of a protocol */
#define BS_OPEN_MAX      4096u /* frames of a protocol that may be open at once */
#define BS_CONFIGS_MAX   32u
#define BS_MRD_SCANS_MAX 4u

enum bs_backend { BS_BACKEND_AUTO, BS_BACKEND_HOST, BS_BACKEND_CUDA };
enum bs_window { BS_WINDOW_KAISER_BESSEL, BS_WINDOW_GAUSS };
enum bs_density { BS_DENSITY_RAMP, BS_DENSITY_PIPE, BS_DENSITY_FILE, BS_DENSITY_NONE };
/* uniform: an image of ones comes back as one at its center voxel. */
enum bs_normalize { BS_NORMALIZE_AUTO, BS_NORMALIZE_NONE, BS_NORMALIZE_UNIFORM };
/* The end of k-space that a scan leaves out: zeros, or projections (gpu/image/pocs.h). */
enum bs_partial_fourier { BS_PARTIAL_FOURIER_NONE, BS_PARTIAL_FOURIER_POCS };
enum bs_combine { BS_COMBINE_NONE, BS_COMBINE_RSS, BS_COMBINE_SENSE };
/* How the lines that a Cartesian scan leaves out are made (key parallel). */
enum bs_parallel { BS_PARALLEL_NONE, BS_PARALLEL_GRAPPA, BS_PARALLEL_SENSE };
/* center_sample of reversed lines that has two readings (core/frame/readout.h). */
enum bs_reversed { BS_REVERSED_AUTO, BS_REVERSED_CONVERTER, BS_REVERSED_STORED };
/* What becomes of a scan without the lines that grappa calibrates by. */
enum bs_lacking { BS_LACKING_REFUSE, BS_LACKING_ZEROS };
/*
 * Where sensitivity maps come from: maps_file, the scan itself (gpu/calibrate/maps.h), or an
 * earlier scan (core/study/study.h).
 */
enum bs_maps_from { BS_MAPS_FILE, BS_MAPS_ESPIRIT, BS_MAPS_WALSH, BS_MAPS_STUDY };
/* velocity: set 0 leaves as magnitude, the others against it (core/flow/flow.h). */
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
	BS_UNIT_RAD_PER_M, /* this and what follows need fov_mm */
	BS_UNIT_CYCLES_PER_M
};
/* The GPUs that work on one scan, by CUDA's numbers; images are put together on the first. */
#define BS_DEVICES_MAX 8u
#define BS_GPU_BUS     20u /* bytes of a GPU's PCI address in words, 00000000:00:00.0 */
struct bs_devices {
	uint32_t count;
	uint32_t device[BS_DEVICES_MAX];
};

/* auto: mapped where the GPU shares the host's memory, else copy */
enum bs_gpu_memory { BS_GPU_MEMORY_AUTO, BS_GPU_MEMORY_COPY, BS_GPU_MEMORY_MAPPED };
/* What a GPU may be used for, from all that it offers to what each has (gpu/device/reach.h). */
enum bs_gpu_route {
	BS_GPU_ROUTE_AUTO,
	BS_GPU_ROUTE_SM_90, /* without warpgroups' products */
	BS_GPU_ROUTE_SM_80, /* nor clusters, early launches, more than 163 KiB of a block */
	BS_GPU_ROUTE_SM_86, /* nor more than 99 KiB */
	BS_GPU_ROUTE_PLAIN  /* nor tensor cores */
};
/* auto: a scan that is faster on the first of several GPUs stays there */
enum bs_gpu_share { BS_GPU_SHARE_AUTO, BS_GPU_SHARE_ALWAYS };
enum bs_sum { BS_SUM_EXACT, BS_SUM_NUFFT };
enum bs_basis { BS_BASIS_DELTA, BS_BASIS_BOX };
enum bs_precond { BS_PRECOND_NONE, BS_PRECOND_JACOBI, BS_PRECOND_CIRCULANT };
enum bs_miss { BS_MISS_FLAG, BS_MISS_SHED, BS_MISS_STOP };
/* Coils to virtual coils: one matrix, or one for each place along the readout. */
enum bs_compression { BS_COMPRESSION_SVD, BS_COMPRESSION_GEOMETRIC };
/* Readouts are made white by the covariance of the noise: never, where it is known, always. */
enum bs_whiten { BS_WHITEN_OFF, BS_WHITEN_AUTO, BS_WHITEN_REQUIRE };
/* What navigators are for: nothing, or the phase of the lines until the next one. */
enum bs_navigate { BS_NAVIGATE_OFF, BS_NAVIGATE_PHASE };
enum bs_admit { BS_ADMIT_MEASURE, BS_ADMIT_TRUST }; /* budgets: measured when armed, or not */
/*
 * The stages of an image's latency that may have a budget of their own. What lies between them (the
 * wait for an image slot) counts in the image's latency alone.
 */
enum bs_budget_stage {
	BS_BUDGET_RECEIVE,    /* last readout received -> recon takes it up: checks, copy, queue */
	BS_BUDGET_UPLOAD,     /* last samples to the device; none on the host */
	BS_BUDGET_ACCUMULATE, /* what was left of the sum after the last readout */
	BS_BUDGET_SOLVE,      /* ls, sense: the iterations */
	BS_BUDGET_COMBINE,    /* coils to one image */
	BS_BUDGET_DOWNLOAD,   /* image from the device; none on the host */
	BS_BUDGET_EMIT,       /* image made -> handed to the first sink */
	/* making coil matrices, weights and maps from the scan; on top of the image's own budget */
	BS_BUDGET_CALIBRATION,
	BS_BUDGET_STAGES
};

/*
 * Where the protocol's trajectory comes from: but for type stream known before the scan, and the
 * stream checked against it.
 */
struct bs_traj_spec {
	enum bs_traj_type type;
	char file[BS_PATH_MAX_]; /* type file: an MRD .h5 (its trajectory) or a BART .cfl */
	enum bs_traj_unit unit;  /* of the file and of the stream */
	uint32_t interleaves;    /* spiral2d, stack: in-plane interleaves */
	double turns;            /* spiral2d, stack, cones: turns of one interleaf; 0: Nyquist */
	double reach;       /* generated types: largest radius (random: half the cube); 0: 0.5 */
	uint64_t seed;      /* random */
	bool third_ignored; /* in 2D; else a third dimension must be 0 */
	float delay[3], delay_cross[3]; /* core/traj/delay.h, samples: xx, yy, zz; xy, xz, yz */
	bool estimate_delay; /* type stream: from each scan's own spokes (gpu/solve/paths.h) */
	double tolerance;    /* largest difference between stream and table, cycles per voxel */
	double min_extent;   /* |k| that the table must reach on each axis, cycles per voxel */
};

/* Where a field map comes from: map_file, or an earlier scan; or this one measures it. */
enum bs_field_from { BS_FIELD_FILE, BS_FIELD_STUDY, BS_FIELD_ECHOES };

/* Off resonance: exp(-i2pi f t) at each voxel, t from a readout's first sample. */
struct bs_field_spec {
	char map_file[BS_PATH_MAX_]; /* .cfl [x][y][z], slices in dimension 13, Hz; "": none */
	double dwell_us;             /* between two samples */
	double start_ms;             /* of the first sample */
	double error;                /* of the time segments (gpu/solve/segments.h) */
	enum bs_field_from from;
	double range_hz; /* from study: the largest |f| that is prepared for */
};

struct bs_protocol {
	char name[BS_NAME_MAX];
	enum bs_method method;
	enum bs_backend backend;
	enum bs_gpu_memory gpu_memory; /* the site's */
	enum bs_gpu_route gpu_route;   /* the site's */
	struct bs_devices gpu_devices; /* the site's */
	enum bs_gpu_share gpu_share;   /* the site's */
	uint32_t dims;                 /* 2 or 3 */
	uint32_t matrix[3];            /* voxels x, y, z that are reconstructed */
	uint32_t encoded[3]; /* cartesian: k-space matrix, readout oversampling included */
	float fov_mm[3];
	uint32_t coils;
	uint32_t virtual_coils; /* that readouts are compressed to; 0: not */
	enum bs_compression compression;
	enum bs_whiten whiten;
	enum bs_navigate navigators;
	enum bs_reversed reversed_center;
	bool epi_correct;      /* reversed lines by phase-correction lines; readouts on ramps */
	uint32_t samples;      /* of a readout, discarded ones not counted */
	uint32_t discard;      /* most samples of a readout that the stream may mark as discarded */
	uint32_t readouts;     /* of a frame; by_header: at most */
	uint32_t by_header;    /* 1: the scan says how many (core/frame/recon.h); behind readouts */
	uint32_t readouts_max; /* by_header, as it was given; 0: not at all */
	uint32_t slices;       /* frames open at once: all five multiplied (core/frame/open.h) */
	uint32_t contrasts;
	uint32_t phases, sets, repetitions; /* 0: 1 */
	uint32_t averages; /* of a line, at most, that are summed; 0, 1: each makes its own image */
	uint32_t uses;     /* bit of enum bs_kind: what it uses beside the lines of its images */
	double max_sample; /* largest legal |sample| */
	double silence_ms; /* a scan whose sender is silent for longer is aborted */
	struct bs_traj_spec traj;
	struct bs_field_spec field;

	/* gridding, and the NUFFT of ls and sense: accuracy, or width and oversampling */
	double accuracy;     /* 1e-1 .. 1e-6 anywhere; 0: width and oversampling are given */
	double width;        /* window width, oversampled grid cells */
	double oversampling; /* 1.25 .. 2 */
	enum bs_window window;
	enum bs_density density;
	char density_file[BS_PATH_MAX_];
	uint32_t density_iterations; /* pipe */
	enum bs_normalize normalize;
	uint32_t chunk_readouts; /* accumulate after this many; 0: chosen at arm */
	enum bs_combine combine;
	char maps_file[BS_PATH_MAX_]; /* sensitivities, .cfl [x][y][z][coil], 13: slice */
	enum bs_maps_from maps;
	uint32_t calibration_lines; /* of the scan around k = 0 that calibrate, an axis, at most */
	uint32_t espirit_kernel;    /* samples an axis; 0: chosen */
	double espirit_threshold;   /* kernels: of the largest eigenvalue */
	double espirit_crop;        /* maps are 0 where their eigenvalue is less */
	uint32_t walsh_block;       /* voxels an axis */
	uint32_t map_images;        /* that explain a voxel, each with maps of its own: 1 or 2 */
	uint32_t maps_every;        /* of a sliding window, images between new maps; 0: a pass */
	enum bs_output output;
	double venc;              /* output velocity, cm/s; 0: the header's */
	uint32_t scan_keys;       /* bit of enum bs_scankey: keys that it leaves to its scans */
	uint32_t image_matrix[3]; /* of the image that leaves, over the same FOV; 0: the matrix */

	/* ls, sense, cartesian with parallel sense */
	double lambda;
	uint32_t iterations;
	double tolerance; /* relative residual at which the solver stops; 0: by iterations alone */
	enum bs_sum fhd, q;
	enum bs_basis basis;
	enum bs_precond precond;
	char w_file[BS_PATH_MAX_]; /* Matrix Market; "": identity */

	/* cartesian */
	enum bs_parallel parallel;
	uint32_t grappa_kernel[3]; /* samples along x; lines of the window along y and z */
	uint32_t grappa_sources;   /* measured lines that a missing one is made of, at most */
	double grappa_lambda;      /* of the weights, relative; 0: by the noise */
	enum bs_lacking grappa_lacking;
	enum bs_partial_fourier partial_fourier;
	uint32_t pocs_iterations;
	double pocs_taper; /* of the symmetric center */

	/* deadlines */
	double image_ms;                   /* budget; 0: none declared */
	double stage_ms[BS_BUDGET_STAGES]; /* of the stages by themselves; 0: none declared */
	enum bs_miss on_miss;
	enum bs_admit admission;
	double margin;          /* of the estimate at arm, on top of the measured: 0.2 is 20 % */
	uint32_t frame_step;    /* sliding window: a frame every step readouts; 0: off */
	uint32_t preview_every; /* readouts between previews; 0: off */
	double interval_ms;     /* between two readouts of the stream; 0: as the header's TR says */

	struct bs_plan plan; /* what all that comes to (bs_plan_make) */
};

/* The node: one of these per site file. Threads, priorities and paths of the whole service. */
struct bs_sink_spec {
	char type[16]; /* "png", "cfl", "mrd", ...: drivers/sink/sink.h */
	char dir[BS_PATH_MAX_];
	char store[BS_PATH_MAX_]; /* "AET@host:port"; "": nowhere */
};

enum bs_wait { BS_WAIT_BLOCK, BS_WAIT_POLL };

/* How hard the node tries to be on time: group realtime of a site file. */
struct bs_realtime {
	char ingest_cpus[64], recon_cpus[64], emit_cpus[64]; /* core/thread/cpus.h; "": any */
	uint32_t priority;     /* SCHED_FIFO of recon; emit +1, ingest +2, supervisor +3; 0: none */
	enum bs_wait wait;     /* recon for readouts */
	enum bs_wait gpu_wait; /* recon for the GPU */
	uint32_t timer_slack_us; /* of threads without a priority */
	bool lock_memory;
	bool gpu_priority; /* streams of the highest priority */
	bool canary;       /* core/thread/canary.h */
};

/* What becomes of an image that its taker cannot have now. */
enum bs_policy {
	BS_POLICY_WAIT,        /* it waits, and in the end so does the reconstruction */
	BS_POLICY_KEEP_NEWEST, /* a queue of its own; when it is full the oldest is shed */
	BS_POLICY_SPILL        /* the same, but the oldest goes to disk while there is room */
};

/* What is known of a message before its sender may forget it. */
enum bs_log_mode {
	BS_LOG_MODE_OFF,     /* it is in memory */
	BS_LOG_MODE_RELAXED, /* it is written to the scan's log */
	BS_LOG_MODE_DURABLE  /* and on the disk */
};

/* The logs of scans: group log of a site file. */
struct bs_log_spec {
	char dir[BS_PATH_MAX_]; /* "": none are kept */
	double keep_hours;      /* since the last write to one; 0: any */
	uint64_t keep_mib;      /* of all logs; 0: any */
	double resume_s;        /* a scan that was left open waits so long for its sender */
	enum bs_log_mode mode;
	uint32_t buffer_mib; /* of messages that wait for the disk */
};

struct bs_overload {
	char spill_dir[BS_PATH_MAX_];
	uint32_t spill_mib; /* of the store of images */
	uint32_t queue;     /* images that may wait for each taker */
	enum bs_policy archive, sinks;
};

/* MRD over TCP (drivers/bridge): a process of its own, where listen is not "". */
enum bs_pixels { BS_PIXELS_INT16, BS_PIXELS_FLOAT };
struct bs_mrd_config {
	char name[BS_NAME_MAX];     /* that a client asks for; "*": any other */
	char protocol[BS_NAME_MAX]; /* "": the header's own */
};
struct bs_mrd_site {
	char listen[BS_PATH_MAX_]; /* tcp://A.B.C.D:PORT */
	char allow[BS_PATH_MAX_];  /* addresses beyond loopback, "192.168.2.1, 10.1.0.0/16" */
	enum bs_pixels pixels;     /* of the images that go back */
	uint32_t sessions;         /* scans at a time */
	double wait_s, idle_s;
	char key[BS_PATH_MAX_]; /* file of its own secret key; "": keys.own */
	struct bs_mrd_config config[BS_CONFIGS_MAX];
	uint32_t configs;
};

/* The page in a browser: group web of a site file. */
struct bs_web_spec {
	char listen[64]; /* 127.a.b.c:PORT; "": none */
	char token_file[BS_PATH_MAX_];
	char key[BS_PATH_MAX_]; /* file of its own secret key; "": keys.own */
};

/* What a peer with a key may do, as bits: group keys of a site file. */
enum bs_role {
	BS_ROLE_SCANNER = 1, /* send k-space */
	BS_ROLE_ARCHIVE = 2, /* ask for images */
	BS_ROLE_VIEWER = 4,  /* the same */
	BS_ROLE_STATUS = 8   /* ask for the status */
};

#define BS_KEYED_MAX 32u
struct bs_peer_spec {
	char name[BS_NAME_MAX]; /* letters, digits, '.', '_', '-' */
	char key[48];           /* its public key, base64 (ipc/seal/keys.h) */
	uint32_t roles;         /* enum bs_role */
};

/* Processes beside the service, as they are named when they have keys of their own. */
#define BS_PEER_MRD  "bridge.mrd"
#define BS_PEER_PAGE "page"
struct bs_keyed {
	const char *name, *file; /* file: of its secret key; "": it has the node's own */
};

/* Who may speak to the endpoints over tcp, and the node's own key. */
struct bs_keys_spec {
	char own[BS_PATH_MAX_]; /* file of the secret key; "": nothing is sealed */
	char service[48];       /* its public key, for who may not read that file; "": not given */
	uint32_t connections;   /* of one peer at an endpoint, at a time */
	struct bs_peer_spec peer[BS_KEYED_MAX];
	uint32_t peers;
};

struct bs_site {
	char file[BS_PATH_MAX_]; /* where it was read from */
	char name[BS_NAME_MAX];
	char board[32];               /* "host", "workstation", "jetson" */
	char run_dir[BS_PATH_MAX_];   /* sockets, pid file */
	char cache_dir[BS_PATH_MAX_]; /* what arming computes */
	char kspace_url[BS_PATH_MAX_], archive_url[BS_PATH_MAX_], viewers_url[BS_PATH_MAX_],
		images_url[BS_PATH_MAX_],
		status_url[BS_PATH_MAX_]; /* "" in archive, viewers or images: off */
	uint32_t threads;                 /* recon's team */
	uint32_t acq_slots;               /* shared pool, readouts */
	uint32_t image_slots;             /* shared pool, images */
	uint32_t memory_mib; /* shared pools and all protocols' plans together: at most this */
	struct bs_log_spec log;
	double heartbeat_ms;
	double drain_s;  /* after SIGTERM, for the scan in flight, and again for its images */
	double stall_ms; /* a worker that makes no progress for this long is replaced */
	int log_level;
	char log_format[8];   /* "text", "json" */
	uint32_t study_scans; /* kept for later scans (core/study/study.h) */
	struct bs_overload overload;
	enum bs_gpu_memory gpu_memory; /* how readouts reach the GPU */
	enum bs_gpu_route gpu_route;
	struct bs_devices gpu_devices;
	enum bs_gpu_share gpu_share;
	bool gpu_shared; /* with other programs */
	struct bs_mrd_site mrd;
	struct bs_web_spec web;
	struct bs_realtime realtime;
	struct bs_sink_spec sink[BS_SINKS_MAX];
	uint32_t sinks;
	struct bs_keys_spec keys;
	struct bs_protocol protocol[BS_PROTOCOLS_MAX];
	uint32_t protocols;
};

/* What crosses there is sealed. */
static inline bool bs_site_seals(const struct bs_site *s, const char *url)
{
	return s->keys.own[0] != '\0' && url[0] == 't';
}

/* Its scans are logged. */
static inline bool bs_site_logs(const struct bs_site *s)
{
	return s->log.dir[0] != '\0' && s->log.mode != BS_LOG_MODE_OFF;
}

/* Images are kept in a store: some taker is given them from there, or asks for them. */
static inline bool bs_site_stores(const struct bs_site *s)
{
	return (s->archive_url[0] != '\0' && s->overload.archive == BS_POLICY_SPILL) ||
	       (s->sinks > 0 && s->overload.sinks == BS_POLICY_SPILL) || s->images_url[0] != '\0';
}

/* It is in spill_dir. */
static inline bool bs_site_spills(const struct bs_site *s)
{
	return bs_site_stores(s) && s->overload.spill_dir[0] != '\0';
}

/* Its readouts lie elsewhere than the stream says. */
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
static inline uint64_t bs_protocol_samples(const struct bs_protocol *p) /* of a frame */
{
	return (uint64_t)p->samples * p->readouts;
}
/* Pairs of slice and contrast, and which one it is. */
static inline uint32_t bs_protocol_pairs(const struct bs_protocol *p)
{
	return p->slices * p->contrasts;
}
static inline uint32_t bs_protocol_pair(const struct bs_protocol *p, uint32_t slice,
					uint32_t contrast)
{
	return slice * p->contrasts + contrast;
}
/* Frames of each that may be open at once; a sliding window is one. */
static inline uint32_t bs_protocol_lanes(const struct bs_protocol *p)
{
	return p->frame_step > 0 ? 1
				 : (p->phases > 1 ? p->phases : 1) * (p->sets > 1 ? p->sets : 1) *
					   (p->repetitions > 1 ? p->repetitions : 1);
}
/* The frames that may be open at once, the first place of a pair among them, and whose one is. */
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
/* Sets of sensitivity maps that it works with, one a slice; 0: it uses none. */
static inline uint32_t bs_protocol_map_sets(const struct bs_protocol *p)
{
	return p->plan.maps != BS_PLAN_MAPS_NONE ? p->slices : 0;
}
/* Voxels of the image that leaves, along an axis and in all; of the matrix, or resized. */
static inline uint32_t bs_protocol_image_axis(const struct bs_protocol *p, int axis)
{
	return p->image_matrix[axis] > 0 ? p->image_matrix[axis] : p->matrix[axis];
}
static inline uint64_t bs_protocol_image_voxels(const struct bs_protocol *p)
{
	return (uint64_t)bs_protocol_image_axis(p, 0) * bs_protocol_image_axis(p, 1) *
	       bs_protocol_image_axis(p, 2);
}
/* Voxels of encodedSpace, of which the matrix is a part, or all: what units of paths refer to. */
static inline uint32_t bs_protocol_encoded_axis(const struct bs_protocol *p, uint32_t axis)
{
	return p->encoded[axis] > 0 ? p->encoded[axis] : p->matrix[axis];
}
static inline uint32_t bs_protocol_lines(const struct bs_protocol *p) /* of its grid, or 0 */
{
	return p->encoded[1] * (p->encoded[2] > 0 ? p->encoded[2] : 1);
}
/* Floats of a readout's own path [sample][dims], which stands behind its samples; or 0. */
static inline size_t bs_protocol_path(const struct bs_protocol *p)
{
	return p->plan.streams ? (size_t)p->samples * p->dims : 0;
}
/* Rows that admission can name: the frame's readouts, or every line of the encoded grid. */
static inline uint32_t bs_protocol_rows(const struct bs_protocol *p)
{
	return p->plan.encode == BS_ENCODE_LINES ? p->encoded[1] * p->encoded[2] : p->readouts;
}
/* The coils that engines see. */
static inline uint32_t bs_protocol_inner_coils(const struct bs_protocol *p)
{
	return p->virtual_coils > 0 ? p->virtual_coils : p->coils;
}
/* Images that are solved for, or combined, together: each has a set of maps. */
static inline uint32_t bs_protocol_map_images(const struct bs_protocol *p)
{
	return p->map_images > 1 ? p->map_images : 1;
}
/* Complex values of a slice's maps: [image][coil][z][y][x]. */
static inline uint64_t bs_protocol_map_values(const struct bs_protocol *p)
{
	return bs_protocol_voxels(p) * p->coils * bs_protocol_map_images(p);
}
/* Frames of set 0 whose coil images are kept for the velocities of the others, at most. */
static inline uint32_t bs_protocol_references(const struct bs_protocol *p)
{
	const uint32_t sets = p->sets > 1 ? p->sets : 1;

	return p->output == BS_OUTPUT_VELOCITY ? bs_protocol_frames(p) / sets : 0;
}
/* channels of the image that leaves: one a coil without combination, else one */
static inline uint32_t bs_protocol_channels(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_NONE && !p->plan.joint ? bs_protocol_inner_coils(p) : 1;
}
static inline uint64_t bs_protocol_image_bytes(const struct bs_protocol *p)
{
	return bs_protocol_image_voxels(p) * bs_protocol_channels(p) *
	       (p->output == BS_OUTPUT_COMPLEX ? 8u : 4u);
}

#endif
