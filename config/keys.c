/* config/keys.c - see keys.h: the table itself */
#include "config/keys.h"

#include "core/plan/scankey.h"
#include "core/study/study.h"
#include "core/log.h"
#include "core/traj/traj.h"

/* Words that keys may have, in the order of the enums in core/protocol.h. */
static const char *const boards[] = { "host", "workstation", "jetson", NULL };
static const char *const sink_types[] = { "png",      "cfl",      "mrd",   "nifti",
					  "nifti_gz", "nifti_4d", "dicom", NULL };
static const char *const takes[] = { "image", "frame", NULL };
static const char *const lates[] = { "bypass", "mark", NULL };
static const char *const whats[] = {
	"frequency", "phase", "shift", "motion", "gate", "step", NULL
};
static const char *const ofs[] = { "navigation", "phase_correction", "feedback", "image", NULL };
static const char *const roles[] = { "scanner", "archive", "viewer", "status", NULL };
static const char *const backends[] = { "auto", "host", "cuda", NULL };
static const char *const gpu_memories[] = { "auto", "copy", "mapped", NULL };
static const char *const gpu_shares[] = { "auto", "always", NULL };
static const char *const gpu_routes[] = { "auto", "sm_90", "sm_80", "sm_86", NULL };
static const char *const windows[] = { "kaiser_bessel", "gauss", NULL };
static const char *const densities[] = { "ramp", "pipe", "file", "none", NULL };
static const char *const normalizes[] = { "auto", "none", "uniform", NULL };
static const char *const combines[] = { "none", "rss", "sense", NULL };
static const char *const compressions[] = { "svd", "geometric", NULL };
static const char *const whitens[] = { "off", "auto", "require", NULL };
static const char *const navigations[] = { "off", "phase", NULL };
static const char *const maps_from[] = { "file", "espirit", "walsh", "study", NULL };
static const char *const fields_from[] = { "file", "study", "echoes", NULL };
static const char *const parallels[] = { "none",         "grappa",    "sense",
					 "slice_grappa", "sense_sms", NULL };
static const char *const references[] = { "auto", "flagged", "first", NULL };
static const char *const reverseds[] = { "auto", "converter", "stored", NULL };
static const char *const lackings[] = { "refuse", "zeros", NULL };
static const char *const ws_from[] = { "file", "study", NULL };
static const char *const w_lackings[] = { "refuse", "without", NULL };
static const char *const partial_fouriers[] = { "none", "pocs", NULL };
static const char *const outputs[] = { "magnitude", "complex", "phase", "velocity", NULL };
static const char *const traj_types[] = { "file",     "cartesian", "radial2d", "spiral2d",
					  "radial3d", "stack",     "random",   "cones",
					  "tpi",      "stream",    NULL };
static const char *const sums[] = { "exact", "nufft", NULL };
static const char *const bases[] = { "delta", "box", NULL };
static const char *const preconds[] = { "none", "jacobi", "circulant", NULL };
static const char *const starts[] = { "zero", "last", NULL };
static const char *const pixels[] = { "int16", "float", NULL };
static const char *const formats[] = { "text", "json", NULL };
static const char *const admissions[] = { "measure", "trust", NULL };

/* The status uses these words, too. */
const char *const bs_policy_words[] = { [BS_POLICY_WAIT] = "wait",
					[BS_POLICY_KEEP_NEWEST] = "keep_newest",
					[BS_POLICY_SPILL] = "spill",
					NULL };
const char *const bs_log_mode_words[] = { [BS_LOG_MODE_OFF] = "off",
					  [BS_LOG_MODE_RELAXED] = "relaxed",
					  [BS_LOG_MODE_DURABLE] = "durable",
					  NULL };
const char *const bs_wait_words[] = { [BS_WAIT_BLOCK] = "block", [BS_WAIT_POLL] = "poll", NULL };
const char *const bs_miss_words[] = {
	[BS_MISS_FLAG] = "flag", [BS_MISS_SHED] = "shed", [BS_MISS_STOP] = "stop", NULL
};

/* The types, one bit each, of keys that may fill such a field; other types are errors. */
#define KEY(type) (1u << (type))
#define KEYS(field)                                                                                \
	_Generic((field),                                                                          \
		uint32_t: KEY(BS_KEY_INT) | KEY(BS_KEY_WORD) | KEY(BS_KEY_WORDS) |                 \
			KEY(BS_KEY_COUNT),                                                         \
		int: KEY(BS_KEY_WORD),                                                             \
		uint64_t: KEY(BS_KEY_LONG),                                                        \
		double: KEY(BS_KEY_NUMBER),                                                        \
		bool: KEY(BS_KEY_BOOL),                                                            \
		char *: KEY(BS_KEY_WORD_TEXT) | KEY(BS_KEY_TEXT) | KEY(BS_KEY_PATH) |              \
			KEY(BS_KEY_URL) | KEY(BS_KEY_CPUS),                                        \
		uint32_t *: KEY(BS_KEY_INT3),                                                      \
		float *: KEY(BS_KEY_NUMBER3),                                                      \
		struct bs_devices: KEY(BS_KEY_DEVICES))
#define ROW(scope, object, path, type, unit, fallback, min, max, words, field, help)               \
	{                                                                                          \
		scope, path,                                                                       \
			(type) + 0 * sizeof(char[KEYS(((struct object *)0)->field) & KEY(type)     \
							 ? 1                                       \
							 : -1]),                                   \
			unit, fallback, min, max, words, help, offsetof(struct object, field),     \
			sizeof(((struct object *)0)->field)                                        \
	}
#define S(...) ROW(BS_SCOPE_SITE, bs_site, __VA_ARGS__)
#define K(...) ROW(BS_SCOPE_SINK, bs_sink_spec, __VA_ARGS__)
#define L(...) ROW(BS_SCOPE_STEP, bs_step_spec, __VA_ARGS__)
#define A(...) ROW(BS_SCOPE_ANSWER, bs_answer_spec, __VA_ARGS__)
#define M(...) ROW(BS_SCOPE_CONFIG, bs_mrd_config, __VA_ARGS__)
#define E(...) ROW(BS_SCOPE_PEER, bs_peer_spec, __VA_ARGS__)
#define P(...) ROW(BS_SCOPE_PROTOCOL, bs_protocol, __VA_ARGS__)

#define STAGE(name, stage, help)                                                                   \
	P("budget." name "_ms", BS_KEY_NUMBER, "ms", "0.0", 0, 3600000, NULL, stage_ms[stage],     \
	  "budget of a stage, counted when missed: " help "; 0: none")

/* clang-format off */
const struct bs_key bs_keys[] = {
S("node.name", BS_KEY_TEXT, "", "\"boreside\"", 0, 0, NULL, name,
  "the node's name in status and logs"),
S("node.board", BS_KEY_WORD_TEXT, "", "\"host\"", 0, 0, boards, board,
  "the kind of machine; sets the defaults of other node keys"),
S("node.run_dir", BS_KEY_PATH, "", "\"/run/boreside\"", 0, 0, NULL, run_dir,
  "folder for sockets and the pid file; only the service's group should enter it"),
S("node.cache_dir", BS_KEY_PATH, "", "\"/var/cache/boreside\"", 0, 0, NULL, cache_dir,
  "folder for what arming computes (FFT plans, Q); \"\": nothing is kept"),
S("node.threads", BS_KEY_INT, "threads", "0", 0, 64, NULL, threads,
  "threads of the reconstruction; 0: one for each processor"),
S("node.acq_slots", BS_KEY_INT, "slots", "512", 8, 65536, NULL, acq_slots,
  "readouts that the shared pool holds"),
S("node.image_slots", BS_KEY_INT, "slots", "8", 2, 256, NULL, image_slots,
  "images that the shared pool holds"),
S("node.study_scans", BS_KEY_INT, "scans", "4", 1, BS_STUDY_SCANS_MAX, NULL, study_scans,
  "scans whose coil maps, field maps and images are kept for later ones; no memory is taken "
  "where no protocol takes any (image.maps, field.from, ls.w: study)"),
S("node.memory_mib", BS_KEY_INT, "MiB", "4096", 64, 1048576, NULL, memory_mib,
  "shared pools and all protocols' plans together may take at most this"),
S("node.heartbeat_ms", BS_KEY_NUMBER, "ms", "500.0", 10, 60000, NULL, heartbeat_ms,
  "time between heartbeats on an idle k-space connection"),
S("node.stall_ms", BS_KEY_NUMBER, "ms", "2000.0", 50, 600000, NULL, stall_ms,
  "a worker that makes no progress for this long is replaced"),
S("node.drain_s", BS_KEY_NUMBER, "s", "60.0", 0, 86400, NULL, drain_s,
  "SIGTERM: so long a scan that is open may go on, then it is ended; images of what came have as "
  "long again to be made and delivered. A second SIGTERM ends the scan at once"),
S("node.log", BS_KEY_WORD, "", "\"info\"", 0, 0, bs_log_levels, log_level,
  "the least important lines that are logged"),
S("node.log_format", BS_KEY_WORD_TEXT, "", "\"text\"", 0, 0, formats, log_format,
  "text: a line of words; json: an object a line, for whoever collects logs (board/doc/WEB.md)"),
S("gpu.memory", BS_KEY_WORD, "", "\"auto\"", 0, 0, gpu_memories, gpu_memory,
  "how readouts reach the GPU; copy: uploaded from the shared pool; mapped: it reads them in the "
  "host's memory; auto: mapped where the GPU shares that memory, else copy"),
S("gpu.devices", BS_KEY_DEVICES, "", "[0]", 0, 63, NULL, gpu_devices,
  "the GPUs, by CUDA's numbers, 1 to 8 of one kind; a scan is shared out among them "
  "(core/plan/plan.h), what cannot be, and what gpu.share keeps there, runs on the first"),
S("gpu.share", BS_KEY_WORD, "", "\"auto\"", 0, 0, gpu_shares, gpu_share,
  "with several GPUs; always: whatever can be is shared out; auto: but what is faster on the "
  "first alone, as frames of noise show when a protocol is first armed (kept in node.cache_dir; "
  "where that is \"\" or cannot be written, as always)"),
S("gpu.route", BS_KEY_WORD, "", "\"auto\"", 0, 0, gpu_routes, gpu_route,
  "kernels that need no more than a lesser GPU offers, to try them on this one; sm_90: no matrix "
  "products of warpgroups; sm_80: nor clusters, early launches, more than 163 KiB of shared "
  "memory; sm_86: nor more than 99 KiB; auto: all that the GPU has"),
S("gpu.shared", BS_KEY_BOOL, "", "false", 0, 0, NULL, gpu_shared,
  "other programs use the GPUs beside a scan: their kernels must run beside the service's, in a "
  "part of the GPU (CUDA MPS, board/doc/DEADLINES.md); where they would take turns the service "
  "says so"),

S("endpoints.kspace", BS_KEY_URL, "", "\"ipc://{run_dir}/kspace.ipc\"", 0, 0, NULL, kspace_url,
  "PAIR to each of many peers: k-space comes in, answers and acknowledgements go out; over tcp "
  "beyond loopback with keys.own"),
S("endpoints.archive", BS_KEY_URL, "", "\"ipc://{run_dir}/archive.ipc\"", 0, 0, NULL, archive_url,
  "PUSH: every image, to one archive; while nobody is connected each counts as undelivered; "
  "\"\": off"),
S("endpoints.viewers", BS_KEY_URL, "", "\"ipc://{run_dir}/viewers.ipc\"", 0, 0, NULL, viewers_url,
  "PUB: images to any number of viewers, which may miss some; \"\": off"),
S("endpoints.images", BS_KEY_URL, "", "\"\"", 0, 0, NULL, images_url,
  "REP: an archive asks for the image that follows the last one it has, and gets each exactly "
  "once; "
  "\"\": off; over tcp as kspace"),
S("endpoints.status", BS_KEY_URL, "", "\"ipc://{run_dir}/status.ipc\"", 0, 0, NULL, status_url,
  "REP: one JSON document for each request; over tcp as kspace"),

S("realtime.priority", BS_KEY_INT, "", "0", 0, 90, NULL, realtime.priority,
  "SCHED_FIFO priority of the reconstruction and its threads; emit has one more, ingest two, the "
  "supervisor three; 0: ordinary scheduling"),
S("realtime.ingest_cpus", BS_KEY_CPUS, "", "\"\"", 0, 0, NULL, realtime.ingest_cpus,
  "processors that receive, \"0-1,4\"; \"\": any"),
S("realtime.recon_cpus", BS_KEY_CPUS, "", "\"\"", 0, 0, NULL, realtime.recon_cpus,
  "processors that reconstruct; \"\": any"),
S("realtime.emit_cpus", BS_KEY_CPUS, "", "\"\"", 0, 0, NULL, realtime.emit_cpus,
  "processors that hand images on (files are written on any); \"\": any"),
S("realtime.lock_memory", BS_KEY_BOOL, "", "false", 0, 0, NULL, realtime.lock_memory,
  "all of the workers' memory is made present and kept from being swapped out"),
S("realtime.wait", BS_KEY_WORD, "", "\"block\"", 0, 0, bs_wait_words, realtime.wait,
  "how messages, readouts and images are waited for; poll: ingest, recon and emit keep a processor "
  "each busy while a scan runs, and want them for themselves"),
S("realtime.gpu_wait", BS_KEY_WORD, "", "\"poll\"", 0, 0, bs_wait_words, realtime.gpu_wait,
  "how it waits for the GPU; poll: the processor spins until the GPU is done"),
S("realtime.gpu_priority", BS_KEY_BOOL, "", "true", 0, 0, NULL, realtime.gpu_priority,
  "the GPU prefers our work to that of other streams of this process"),
S("realtime.timer_slack_us", BS_KEY_INT, "us", "1", 1, 1000, NULL, realtime.timer_slack_us,
  "a timer of a thread without real-time priority may be this late"),
S("realtime.canary", BS_KEY_BOOL, "", "true", 0, 0, NULL, realtime.canary,
  "threads that wake each millisecond and record when the machine itself stalls"),

S("overload.archive", BS_KEY_WORD, "", "\"wait\"", 0, 0, bs_policy_words, overload.archive,
  "when the archive is slow; wait: the stream waits, too, at most a second for an image; "
  "keep_newest: "
  "nothing waits, the oldest is shed and counted; spill: nothing waits, what is kept on disk is "
  "given to it later"),
S("overload.sinks", BS_KEY_WORD, "", "\"wait\"", 0, 0, bs_policy_words, overload.sinks,
  "the same for the files of each sink; wait: as long as it takes (for replay faster than real "
  "time)"),
S("overload.queue", BS_KEY_INT, "images", "4", 1, 64, NULL, overload.queue,
  "newest images that stay in the pool, beyond image_slots, for takers that are behind; not used "
  "by wait"),
S("overload.spill_dir", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, overload.spill_dir,
  "spill: the folder of the store, of one service alone; what a taker has not had of it is "
  "delivered after the next start; for endpoints.images, too, which without it keeps `queue` "
  "images in run_dir"),
S("overload.spill_mib", BS_KEY_INT, "MiB", "1024", 1, 1048576, NULL, overload.spill_mib,
  "about so much the store holds, at least one image; beyond it the oldest go, counted for each "
  "taker that has not had them"),

S("log.dir", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, log.dir,
  "folder of the scans' logs (board/doc/LOG.md), of one service alone; \"\": no log is kept"),
S("log.mode", BS_KEY_WORD, "", "\"durable\"", 0, 0, bs_log_mode_words, log.mode,
  "with log.dir: when a sender may forget a message; durable: it is on the disk; relaxed: it is "
  "written, a loss of power may take the last ones; off: it is in memory, no log is kept"),
S("log.buffer_mib", BS_KEY_INT, "MiB", "64", 32, 16384, NULL, log.buffer_mib,
  "messages that wait for the disk; should hold what comes in a second"),
S("log.resume_s", BS_KEY_NUMBER, "s", "30.0", 0, 3600, NULL, log.resume_s,
  "after a start: a scan that the service before was killed in waits so long for its sender, "
  "unless another scan's OPEN comes after the first second; then its last images are made of what "
  "came; 0: it does not wait"),
S("log.keep_mib", BS_KEY_LONG, "MiB", "0", 0, 1073741824, NULL, log.keep_mib,
  "after each scan the oldest logs go until they are no more than this; 0: any"),
S("log.keep_hours", BS_KEY_NUMBER, "h", "0.0", 0, 1000000, NULL, log.keep_hours,
  "logs that were last written to longer ago go, too; 0: none"),

S("web.listen", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, web.listen,
  "127.0.0.1:PORT, as a rule 8080: a page in a browser, and /metrics (board/doc/WEB.md); loopback "
  "only, elsewhere behind a proxy; port 0: a free one, run_dir/web.url says which; \"\": off"),
S("web.token_file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, web.token_file,
  "a file with one line, the token that whoever asks for anything but the bare page must send; "
  "\"\": none is needed"),
S("web.key", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, web.key,
  "file of the page's own secret key, for a page that another user runs than the service's: the "
  "key of \"page\" among keys.peers (board/doc/SEALED.md); \"\": keys.own"),

S("bridges.mrd.listen", BS_KEY_URL, "", "\"\"", 0, 0, NULL, mrd.listen,
  "tcp://ADDRESS:PORT where MRD clients connect (board/doc/BRIDGES.md), as a rule port 9002; 0: a "
  "free one, which the log says; beyond loopback only with allow; \"\": off"),
S("bridges.mrd.allow", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, mrd.allow,
  "IPv4 addresses that may connect beside this machine's own, \"192.168.2.1, 10.1.0.0/16\"; "
  "nothing is sealed on this wire"),
S("bridges.mrd.pixels", BS_KEY_WORD, "", "\"int16\"", 0, 0, pixels, mrd.pixels,
  "images that go back; int16: magnitude, scaled to 12 bits; float: as they were made"),
S("bridges.mrd.sessions", BS_KEY_INT, "scans", "1", 1, BS_MRD_SCANS_MAX, NULL, mrd.sessions,
  "scans of MRD clients at a time; others wait"),
S("bridges.mrd.wait_s", BS_KEY_NUMBER, "s", "30.0", 0, 3600, NULL, mrd.wait_s,
  "so long, then they are refused"),
S("bridges.mrd.idle_s", BS_KEY_NUMBER, "s", "300.0", 1, 86400, NULL, mrd.idle_s,
  "a client that sends nothing within a scan for so long has ended it"),
S("bridges.mrd.key", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, mrd.key,
  "file of the bridge's own secret key, for a bridge that another user runs than the service's: "
  "the key of \"bridge.mrd\" among keys.peers (board/doc/SEALED.md); \"\": keys.own"),
S("keys.service", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, keys.service,
  "the public key of keys.own, 44 characters (boreside key show), for bridges.mrd.key and web.key: "
  "who has one of those does not read keys.own"),
S("keys.connections", BS_KEY_INT, "connections", "16", 1, 512, NULL, keys.connections,
  "of one key at an endpoint at a time: more of it are refused, and counted; the node's own is not "
  "bounded"),
S("keys.sign", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, keys.sign,
  "file of a secret key (boreside key new), of mode 600, which may be that of keys.own: logs, "
  "lines audit and certificates are signed with what is derived from it (board/doc/LOG.md); \"\": "
  "nothing is signed"),
S("keys.own", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, keys.own,
  "file of this node's secret key (boreside key new), of mode 600: what crosses kspace, images and "
  "status over tcp is sealed, and nobody is heard whose key is not one of keys.peers; \"\": tcp on "
  "loopback alone, not sealed"),

K("type", BS_KEY_WORD_TEXT, "", NULL, 0, 0, sink_types, type,
  "png: windowed magnitude for looking; cfl: BART files; mrd: one MRD .h5 for each image; nifti, "
  "nifti_gz: NIfTI-1 (.nii, .nii.gz) with its place in the patient; nifti_4d: the repetitions of "
  "a series in one growing .nii; dicom: MR Image and Enhanced MR Image, by DCMTK's tools"),
K("dir", BS_KEY_PATH, "", NULL, 0, 0, NULL, dir,
  "folder that the files go to"),
K("store", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, store,
  "type dicom: each image is also sent to this PACS by C-STORE (title@host:port), again until it "
  "is stored; needs overload.sinks spill; \"\": none"),

L("name", BS_KEY_TEXT, "", NULL, 0, 0, NULL, name,
  "what images and status call the step, and its socket's name; letters, digits, '.', '_', '-'"),
L("on", BS_KEY_TEXT, "", NULL, 0, 0, NULL, on,
  "the protocol whose images, but previews, pass the step before they leave; one step a protocol"),
L("command", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, command,
  "what the service starts, as its own user: words between blanks, first the program's whole path; "
  "\"\": somebody else does, as the unit boreside-step@NAME (board/doc/STEPS.md)"),
L("dir", BS_KEY_PATH, "", "\"{run_dir}/step\"", 0, 0, NULL, dir,
  "folder of the step's socket; a unit of another user needs one that it may enter"),
L("budget_ms", BS_KEY_NUMBER, "ms", NULL, 0.01, 60000, NULL, budget_ms,
  "how long after an image was made its step's answer is waited for; part of budget.image_ms"),
L("on_late", BS_KEY_WORD, "", "\"bypass\"", 0, 0, lates, on_late,
  "an image that leaves without the step, as where there is none, says so; mark: is degraded, too"),
L("takes", BS_KEY_WORD, "", "\"image\"", 0, 0, takes, takes,
  "what the step gets to make the image of: the image as it was made, or the frame's readouts"),

A("on", BS_KEY_TEXT, "", NULL, 0, 0, NULL, on,
  "the protocol whose senders get the answer, where they ask for answers (ipc/WIRE.md)"),
A("what", BS_KEY_WORD, "", NULL, 0, 0, whats, what,
  "of readouts: frequency (Hz, without a gradient), phase (radians) or shift (mm along them), the "
  "last two against the scan's first one; of images: a step's numbers, as motion, gate or step"),
A("of", BS_KEY_WORD, "", "\"navigation\"", 0, 0, ofs, of,
  "readouts by their flag in MRD, at most as long as a line; image: each image's step"),
A("deadline_ms", BS_KEY_NUMBER, "ms", NULL, 0.001, 60000, NULL, deadline_ms,
  "later after the readout came, or the image's last one, it is dropped, and counted"),

M("name", BS_KEY_TEXT, "", NULL, 0, 0, NULL, name,
  "a config that MRD clients name; \"*\": any that no other row nor protocol has the name of"),
M("protocol", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, protocol,
  "the protocol that it stands for; \"\": the one that the scan's header names"),
E("name", BS_KEY_TEXT, "", NULL, 0, 0, NULL, name,
  "what status and log call the peer; an archive asks under this name and no other; letters, "
  "digits, '.', '_', '-'"),
E("key", BS_KEY_TEXT, "", NULL, 0, 0, NULL, key,
  "its public key, 44 characters (boreside key show)"),
E("roles", BS_KEY_WORDS, "", NULL, 0, 0, roles, roles,
  "what it may do; scanner: send k-space; archive, viewer: ask for images; status: ask for the "
  "status"),

P("name", BS_KEY_TEXT, "", NULL, 0, 0, NULL, name,
  "the protocol's name, as scans ask for it; no two alike, no '/'"),
P("method", BS_KEY_WORD, "", NULL, 0, 0, bs_method_names, method,
  "gridding: density-compensated adjoint; ls: least squares, coil by coil; sense: least squares "
  "with coil sensitivities; cartesian: FFT; cartesian_sense: "
  "cartesian with parallel sense; noop: receives and emits empty images (for timing); pass: images "
  "and waveforms of a client of bridges.mrd go back to it as they came, readouts are not used"),
P("backend", BS_KEY_WORD, "", "\"auto\"", 0, 0, backends, backend,
  "auto: CUDA where a GPU answers, else host"),
P("dims", BS_KEY_INT, "", "0", 0, 3, NULL, dims,
  "2 or 3; 0: 2 where matrix z is 1, else 3"),
P("matrix", BS_KEY_INT3, "voxels", NULL, 1, BS_AXIS_MAX, NULL, matrix,
  "image size [x, y] or [x, y, z], 1 to 512 an axis; z is 1 in 2D"),
P("encoded", BS_KEY_INT3, "samples", "[0, 0, 0]", 0, 2 * BS_AXIS_MAX, NULL, encoded,
  "k-space size, readout oversampling included; at least the matrix; along paths, where [0, 0, 0] "
  "is the matrix: encodedSpace of the header, of whose voxels the matrix keeps the middle ones"),
P("fov_mm", BS_KEY_NUMBER3, "mm", "[0.0, 0.0, 0.0]", 0, 10000, NULL, fov_mm,
  "field of view of the matrix; 0: as encodedSpace of the scan's header says. A header that says "
  "something else, by more than 0.1 %, is refused"),
P("coils", BS_KEY_INT, "", NULL, 1, BS_COILS_MAX, NULL, coils,
  "receive coils"),
P("virtual_coils", BS_KEY_INT, "", "0", 0, BS_COILS_MAX, NULL, virtual_coils,
  "compress readouts to so many virtual coils, those that hold most of the signal at the center "
  "of k-space; 0: not"),
P("compression", BS_KEY_WORD, "", "\"svd\"", 0, 0, compressions, compression,
  "virtual_coils; svd: one matrix; geometric: one for each place along the readout, on the "
  "grid, where fewer virtual coils hold as much"),
P("noise.whiten", BS_KEY_WORD, "", "\"off\"", 0, 0, whitens, whiten,
  "make the noise white and of deviation 1 in every coil, by the scan's own readouts of noise or "
  "those of the scan that its header names; auto: where they are known, else as it comes, and "
  "images say so; require: a scan without is refused"),
P("navigators", BS_KEY_WORD, "", "\"off\"", 0, 0, navigations, navigators,
  "what navigators are for; off: nothing; phase: the phase of each against the scan's first one of "
  "its slice and contrast is taken off the lines that follow, until the next"),
P("reversed_center", BS_KEY_WORD, "", "\"auto\"", 0, 0, reverseds, reversed_center,
  "on the grid: center_sample of reversed lines that is one more than N - 1 - center; converter: "
  "k = 0 lies one sample before it, as Siemens' converter copies it from the scanner; stored: it "
  "lies there, as MRD says; auto: by systemVendor of the header, else as converter, and images "
  "are partial; with epi.correct phase-correction lines tell"),
P("epi.correct", BS_KEY_BOOL, "", "false", 0, 0, NULL, epi_correct,
  "method cartesian: reversed lines get the phase and the shift along the readout that three "
  "phase-correction lines of their slice tell, and readouts on ramps, which the header describes, "
  "are brought to the grid; a reversed line before such a triple ends the scan"),
P("samples", BS_KEY_INT, "", NULL, 1, 65535, NULL, samples,
  "samples of a readout, discarded ones not counted"),
P("discard", BS_KEY_INT, "samples", "64", 0, 65535, NULL, discard,
  "most samples of a readout that the stream may mark as discarded (they come on top)"),
P("readouts", BS_KEY_COUNT, "", NULL, 1, 1048576, NULL, readouts,
  "readouts of a frame: of one image or volume; \"header\": as many as the scan's header (limits, "
  "acceleration) and the flags of its last lines say, or as a trajectory's file has"),
P("readouts_max", BS_KEY_INT, "", "0", 0, 1048576, NULL, readouts_max,
  "readouts \"header\": the most that a frame may have; 0: all lines of encoded (a trajectory's "
  "file needs a number)"),
P("slices", BS_KEY_INT, "", "1", 1, 512, NULL, slices,
  "slices whose frames may be open at once"),
P("contrasts", BS_KEY_INT, "", "1", 1, 64, NULL, contrasts,
  "contrasts (echoes) whose frames may be open at once"),
P("phases", BS_KEY_INT, "", "1", 1, 512, NULL, phases,
  "phases (of a heartbeat) whose frames may be open at once: as many as come in turns"),
P("sets", BS_KEY_INT, "", "1", 1, 512, NULL, sets,
  "sets (of flow encoding) whose frames may be open at once: as many as come in turns"),
P("repetitions", BS_KEY_INT, "", "2", 1, 512, NULL, repetitions,
  "repetitions (and averages that make an image each) whose frames may be open at once; 2: one "
  "that lacks lines waits until the next one is whole"),
P("averages", BS_KEY_INT, "", "1", 1, 64, NULL, averages,
  "most averages of a line (idx.average) that are summed: an image is made of the mean of those "
  "that came, of as many as the header's limits say, or, where they say nothing, of so many; 1: "
  "each average makes an image of its own"),
P("max_sample", BS_KEY_NUMBER, "", "1.0e12", 1e-30, 1e30, NULL, max_sample,
  "a sample of larger magnitude is refused as absurd"),
P("silence_ms", BS_KEY_NUMBER, "ms", "5000.0", 100, 3600000, NULL, silence_ms,
  "a scan whose sender is silent for longer is aborted"),
P("scan_keys", BS_KEY_WORDS, "", "[]", 0, 0, bs_scankey_names, scan_keys,
  "keys that a scan may set for itself, up to what is armed (board/doc/SCANS.md)"),

P("trajectory.type", BS_KEY_WORD, "", "\"cartesian\"", 0, 0, traj_types, traj.type,
  "where in k-space the samples lie; must be given unless the method is cartesian; stream: nothing "
  "of it is known before, each readout brings its own path"),
P("trajectory.file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, traj.file,
  "type file: an MRD .h5 (its trajectory) or a BART .cfl"),
P("trajectory.unit", BS_KEY_WORD, "", "\"cycles/voxel\"", 0, 0, bs_traj_units, traj.unit,
  "unit of the file's and of the stream's trajectory; rad/m and 1/m need fov_mm"),
P("trajectory.interleaves", BS_KEY_INT, "", "0", 0, 65535, NULL, traj.interleaves,
  "spiral2d, stack: in-plane interleaves; 0: as many as the readouts allow"),
P("trajectory.turns", BS_KEY_NUMBER, "turns", "0.0", 0, 10000, NULL, traj.turns,
  "spiral2d, stack, cones: turns of one interleaf (at the equator); 0: as many as Nyquist asks"),
P("trajectory.reach", BS_KEY_NUMBER, "cycles/voxel", "0.5", 0.05, 0.5, NULL, traj.reach,
  "generated types but cartesian: how far from the center of k-space samples lie"),
P("trajectory.seed", BS_KEY_LONG, "", "1", 0, 0x1p63, NULL, traj.seed,
  "random: the seed"),
P("trajectory.third_ignored", BS_KEY_BOOL, "", "false", 0, 0, NULL, traj.third_ignored,
  "2D with three trajectory dimensions in the stream: ignore the third (else it must be 0)"),
P("trajectory.delay", BS_KEY_NUMBER3, "samples", "[0.0, 0.0, 0.0]", -64, 64, NULL, traj.delay,
  "gradient delays of x, y, z: each sample lies so many samples farther along its readout's own "
  "motion on that axis than the trajectory says (boreside delays finds them)"),
P("trajectory.delay_cross", BS_KEY_NUMBER3, "samples", "[0.0, 0.0, 0.0]", -64, 64, NULL,
  traj.delay_cross,
  "the same between axes, xy, xz, yz: motion along the one moves the samples along the other, too"),
P("trajectory.estimate_delay", BS_KEY_BOOL, "", "false", 0, 0, NULL, traj.estimate_delay,
  "type stream, in 2D: delay and delay_cross in the plane are estimated from the crossings of the "
  "spokes of each scan's first frame (of its slice and contrast), and move its paths and those of "
  "the frames that follow; readouts that are no spokes through the center end the scan"),
P("trajectory.tolerance", BS_KEY_NUMBER, "cycles/voxel", "1.0e-4", 0, 1, NULL, traj.tolerance,
  "largest difference between the stream's trajectory and the protocol's; without effect for type "
  "stream"),
P("trajectory.min_extent", BS_KEY_NUMBER, "cycles/voxel", "0.25", 0, 0.5, NULL, traj.min_extent,
  "the trajectory must reach at least this far on each axis of more than one voxel, or it is not "
  "in the stated unit; type stream: that of each whole frame"),

P("field.map_file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, field.map_file,
  "the field map in Hz that corrects for off resonance (method cartesian: of EPI), as .cfl "
  "[x, y, z], slices along dimension 13; a voxel of f has the phase -2 pi f t; \"\": none"),
P("field.from", BS_KEY_WORD, "", "\"file\"", 0, 0, fields_from, field.from,
  "where the field map comes from; file: map_file; study: from an earlier scan of the study; a "
  "scan without is refused. echoes: this protocol, gridding or cartesian, makes its images as "
  "without, and measures a field map by its first two contrasts for later scans, on the host"),
P("field.range_hz", BS_KEY_NUMBER, "Hz", "0.0", 0, 1e5, NULL, field.range_hz,
  "field.from study: the largest frequency, of either sign, that is prepared for; a map beyond it "
  "is refused"),
P("field.dwell_us", BS_KEY_NUMBER, "us", "0.0", 0, 1e6, NULL, field.dwell_us,
  "time between two samples of a readout, which off resonance needs. A scan whose readouts say "
  "another one, by more than 0.1 %, is ended"),
P("field.start_ms", BS_KEY_NUMBER, "ms", "0.0", 0, 1e6, NULL, field.start_ms,
  "t of a readout's first sample that is not discarded: 0 where the map's phase is in the "
  "sensitivities or not wanted, the echo time where it is"),
P("field.echo_spacing_us", BS_KEY_NUMBER, "us", "0.0", 0, 1e6, NULL, field.echo_spacing_us,
  "method cartesian, EPI: time from a line of k-space to the next one along y, by which the field "
  "map moves voxels back: the train's echo spacing over acceleration and shots (what BIDS calls "
  "EffectiveEchoSpacing)"),
P("field.error", BS_KEY_NUMBER, "", "1.0e-3", 1e-5, 0.1, NULL, field.error,
  "error of the time segments, root mean square over the map's voxels at any t; it says how many "
  "there are, 64 at most"),
P("gridding.accuracy", BS_KEY_NUMBER, "", "1.0e-4", 0, 0.1, NULL, accuracy,
  "relative error of the transform, which holds everywhere in the image, 1e-6 to 1e-1; 0, or not "
  "given beside width and oversampling: those say"),
P("gridding.width", BS_KEY_NUMBER, "cells", "0.0", 0, 16, NULL, width,
  "width of the window on the oversampled grid, 2 to 16; instead of accuracy"),
P("gridding.oversampling", BS_KEY_NUMBER, "", "0.0", 0, 2, NULL, oversampling,
  "oversampled grid over matrix, 1.25 to 2; beside width"),
P("gridding.window", BS_KEY_WORD, "", "\"kaiser_bessel\"", 0, 0, windows, window,
  "shape of the convolution window"),
P("gridding.density", BS_KEY_WORD, "", "\"ramp\"", 0, 0, densities, density,
  "density compensation; for ls and sense the weights of the samples. Default none for these, and "
  "where trajectory.type is cartesian"),
P("gridding.density_file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, density_file,
  "density file: weights as .cfl, [1, samples, readouts] or [samples, readouts]"),
P("gridding.density_iterations", BS_KEY_INT, "", "20", 1, 1000, NULL, density_iterations,
  "density pipe: iterations"),
P("gridding.normalize", BS_KEY_WORD, "", "\"auto\"", 0, 0, normalizes, normalize,
  "scale of the weights; uniform: an image of ones comes back as one at its center; none: as they "
  "are; auto: none for density file and none, else uniform"),
P("gridding.chunk_readouts", BS_KEY_INT, "readouts", "0", 0, 1048576, NULL, chunk_readouts,
  "readouts that are gridded together while the scan runs; 0: chosen when armed"),

P("image.combine", BS_KEY_WORD, "", "\"rss\"", 0, 0, combines, combine,
  "coils to one image; rss: root of the sum of squares; none: one image a coil; sense: with "
  "maps. Default none where output is complex, sense where method is sense or output phase"),
P("image.maps_file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, maps_file,
  "combine sense, method sense: coil sensitivities as .cfl [x, y, z, coil], those of each slice in "
  "dimension 13, where BART has slices"),
P("image.maps", BS_KEY_WORD, "", "\"file\"", 0, 0, maps_from, maps,
  "where coil sensitivities come from; file: maps_file; espirit, walsh: made from the scan's own "
  "calibration lines, or the central lines or samples of its first images, for each slice "
  "(ESPIRiT; adaptive combination); study: those that an earlier scan of the study has left "
  "(board/doc/SCANS.md); a scan without is refused"),
P("image.map_sets", BS_KEY_INT, "sets", "1", 1, 2, NULL, map_images,
  "sets of maps of a slice: 2 (soft SENSE) where a field of view smaller than the object leaves "
  "two places in a voxel. Each has an image, which are solved for together; their root of the sum "
  "of squares leaves, of complex output the first. With image.maps espirit, or a file that has "
  "them in dimension 4, where BART has them; on the host"),
P("image.maps_every", BS_KEY_INT, "images", "0", 0, 65536, NULL, maps_every,
  "sliding windows: maps are made from the scan again with every so many images of a slice, from "
  "the readouts of that image's window; 0: with each pass of the window"),
P("image.output", BS_KEY_WORD, "", "\"magnitude\"", 0, 0, outputs, output,
  "magnitude; complex; phase: radians; velocity: cm/s, a set against set 0 (board/doc/SCANS.md)"),
P("image.venc", BS_KEY_NUMBER, "cm/s", "0.0", 0, 100000, NULL, venc,
  "output velocity, where the header has no VENC_0: the velocity whose phase is pi"),
P("image.matrix", BS_KEY_INT3, "voxels", "[0, 0, 0]", 0, BS_AXIS_MAX, NULL, image_matrix,
  "size of the image that leaves, [x, y] or [x, y, z], 1 to 512 an axis, z 1 in 2D; the "
  "field of view stays: the k-space of each coil's image is zero-filled, or cut. Default the "
  "matrix"),
P("image.volume", BS_KEY_BOOL, "", "false", 0, 0, NULL, volume,
  "the slices of a repetition (contrast, phase, set) leave as one image, in the order of their "
  "positions, with one latency and one budget; not with 3D, previews or sliding windows"),

P("parallel", BS_KEY_WORD, "", "\"none\"", 0, 0, parallels, parallel,
  "method cartesian: how lines that the scan leaves out are made; none: they are zeros; grappa: "
  "from their neighbors, with weights from the scan's calibration lines; sense: by conjugate "
  "gradients with image.maps and keys ls.*, whichever lines come; slice_grappa: slices that were "
  "excited at once come apart (keys multiband.*), then grappa; sense_sms: these by sense, with "
  "maps of all of them, of method sense, too. readouts then counts the lines that come, embedded "
  "calibration lines included, separate ones not"),
P("grappa.kernel", BS_KEY_INT3, "samples", "[0, 0, 0]", 0, 63, NULL, grappa_kernel,
  "samples along x, and the window's lines along y and z, measured or not; odd. Default [5, 9] in "
  "2D, [5, 5, 5] in 3D"),
P("grappa.sources", BS_KEY_INT, "lines", "0", 0, 62, NULL, grappa_sources,
  "measured lines of the window that a missing one is made of, the nearest, at most; 0: 2 in 2D, 8 "
  "in 3D"),
P("grappa.lambda", BS_KEY_NUMBER, "", "0.0", 0, 1e3, NULL, grappa_lambda,
  "regularization of the weights: lambda times the norm of S^H S over its rows is added to the "
  "diagonal (the scale of pygrappa's mdgrappa); 0: chosen by the noise of the calibration lines, "
  "3e-4 or more"),
P("grappa.lacking", BS_KEY_WORD, "", "\"refuse\"", 0, 0, lackings, grappa_lacking,
  "a scan without the calibration lines that the weights need; refuse: it is ended, with the "
  "reason; zeros: lines that it leaves out stay zeros, its images are partial and say so"),

P("multiband.factor", BS_KEY_INT, "slices", "0", 0, BS_BANDS_MAX, NULL, multiband.factor,
  "parallel slice_grappa and sense_sms: slices that are excited at once, 2 or more; slice s comes "
  "with s + slices / factor, and so on; slices is a multiple of it"),
P("multiband.references", BS_KEY_WORD, "", "\"auto\"", 0, 0, references, multiband.references,
  "lines of one slice alone, by which slices come apart; flagged: as calibration (flag 20); first: "
  "the first repetition's images; auto: flagged, if one comes before any line of an image"),
P("multiband.shift", BS_KEY_NUMBER, "fields of view", "0.0", -1, 1, NULL, multiband.shift,
  "how far each slice is moved along y against the one before (blipped CAIPI); 0: as the header "
  "says, else 1 / factor; 1: not at all"),
P("multiband.kernel", BS_KEY_INT3, "samples", "[5, 5, 1]", 0, 15, NULL, multiband.kernel,
  "samples along x, 7 at most, and lines along y that a sample of a slice is made of; odd"),
P("multiband.lambda", BS_KEY_NUMBER, "", "0.0001", 0, 1e3, NULL, multiband.lambda,
  "regularization of the weights: times the mean of the diagonal"),
P("multiband.split", BS_KEY_BOOL, "", "false", 0, 0, NULL, multiband.split,
  "weights keep other slices out (split slice-GRAPPA), instead of making the best of their sum"),

P("calibration.lines", BS_KEY_INT, "lines", "24", 4, 128, NULL, calibration_lines,
  "lines and samples around the center of k-space that are calibrated from, an axis, at most; "
  "fewer where a trajectory leaves gaps between these"),
P("espirit.kernel", BS_KEY_INT, "samples", "0", 0, 16, NULL, espirit_kernel,
  "size of the kernels, an axis; 0: 6, in 3D 4; half of the calibration's lines at most"),
P("espirit.threshold", BS_KEY_NUMBER, "", "0.001", 0, 1, NULL, espirit_threshold,
  "kernels are the eigenvectors of the calibration data whose eigenvalues are more than this times "
  "the largest (the scale of BART's ecalib -t)"),
P("espirit.crop", BS_KEY_NUMBER, "", "0.8", 0, 1, NULL, espirit_crop,
  "maps are 0 where their eigenvalue, 0 to 1, is less (BART's ecalib -c)"),
P("walsh.block", BS_KEY_INT, "voxels", "7", 1, 33, NULL, walsh_block,
  "size of the region whose signal makes a voxel's map, an axis; odd"),

P("partial_fourier", BS_KEY_WORD, "", "\"none\"", 0, 0, partial_fouriers, partial_fourier,
  "method cartesian: the end of k-space that a scan leaves out (lines, partitions, the start of "
  "readouts); none: zeros; pocs: projections with the symmetric center's phase, after parallel"),
P("pocs.iterations", BS_KEY_INT, "", "10", 1, 1000, NULL, pocs_iterations,
  "partial_fourier pocs: iterations"),
P("pocs.taper", BS_KEY_NUMBER, "", "0.5", 0, 1, NULL, pocs_taper,
  "partial_fourier pocs: share of the symmetric center over which its weights fall to 0"),

#include "config/keys_solve.h"

P("budget.image_ms", BS_KEY_NUMBER, "ms", "0.0", 0, 3600000, NULL, image_ms,
  "latency budget, from the last readout received to the image handed on; 0: none declared"),
P("budget.on_miss", BS_KEY_WORD, "", "\"flag\"", 0, 0, bs_miss_words, on_miss,
  "what a late image brings; flag: it is marked; shed: less is done for the next ones (fewer "
  "iterations, then no prior, then gridding); stop: the scan ends, once the image has left"),
P("budget.admission", BS_KEY_WORD, "", "\"measure\"", 0, 0, admissions, admission,
  "measure: arming times every stage, and a budget or a scan that cannot be kept up with is "
  "refused; trust: not"),
P("budget.margin", BS_KEY_NUMBER, "", "0.2", 0, 10, NULL, margin,
  "admission: share that is added to the worst that was measured"),
STAGE("receive", BS_BUDGET_RECEIVE,
  "the last readout's checks, copy and way to the reconstruction"),
STAGE("upload", BS_BUDGET_UPLOAD, "the last samples to the device"),
STAGE("accumulate", BS_BUDGET_ACCUMULATE,
  "what is left of F^H d or of the gridding after the last readout"),
STAGE("solve", BS_BUDGET_SOLVE, "ls, sense: the iterations"),
STAGE("combine", BS_BUDGET_COMBINE, "the coils to one image, on image.matrix"),
STAGE("download", BS_BUDGET_DOWNLOAD, "the image from the device"),
STAGE("emit", BS_BUDGET_EMIT, "the image made to the image handed to the first sink"),

P("budget.calibration_ms", BS_KEY_NUMBER, "ms", "0.0", 0, 3600000, NULL,
  stage_ms[BS_BUDGET_CALIBRATION],
  "budget for making maps, GRAPPA's weights, whitening and compression from the scan; an image "
  "that calibrates may take image_ms and this; 0: none, such an image has image_ms"),

P("frame.step", BS_KEY_INT, "readouts", "0", 0, 1048576, NULL, frame_step,
  "sliding window: an image every so many readouts, over the last `readouts`, which must be a "
  "multiple of it. The stream goes through the trajectory's rows in their order, over and over (a "
  "golden angle that begins again after `readouts`; angles that never repeat have no table to be "
  "armed with), and counts its passes in idx.repetition or leaves that alone. 0: off"),
P("frame.preview_every", BS_KEY_INT, "readouts", "0", 0, 1048576, NULL, preview_every,
  "a preview by gridding every so many readouts of a frame, in a series of its own; 0: off"),
P("frame.interval_ms", BS_KEY_NUMBER, "ms", "0.0", 0, 3600000, NULL, interval_ms,
  "time between two readouts of the stream, for admission; 0: the header's TR over its contrasts"),
};
/* clang-format on */
const size_t bs_keys_count = sizeof(bs_keys) / sizeof(bs_keys[0]);
_Static_assert(sizeof(bs_keys) / sizeof(bs_keys[0]) <= BS_KEYS_MAX, "raise BS_KEYS_MAX");
