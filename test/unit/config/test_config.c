/* test/unit/config/test_config.c - every refusal with its line */
#define _GNU_SOURCE /* mkdtemp */
#include "test/support/site_file.h"

#define GRAPPA(more)                                                                               \
	"protocols = (\n{ name = \"p\"; method = \"cartesian\"; parallel = \"grappa\";\n"          \
	"matrix = [64, 48]; encoded = [64, 48, 1]; coils = 2; samples = 64; readouts = 24;\n"      \
	"grappa: { " more " }; } );\n"

/* Two protocols; an image of the second is just over a MiB. */
/* The rest of line 4. */
#define UNFOLDS(more)                                                                              \
	"protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"              \
	"encoded = [128, 64, 1]; coils = 1; samples = 128; readouts = 32;\n"                       \
	"parallel = \"sense\"; image: { maps_file = \"whole\"; }; " more " } );"
#define GRID                                                                                       \
	"protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"              \
	"encoded = [128, 64]; coils = 4; samples = 128; readouts = 64; "
#define TWO_SIZES                                                                                  \
	PROTOCOL(                                                                                  \
		"}, { name = \"big\"; method = \"gridding\"; matrix = [512, 512];\n"               \
		"coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; };")

#define STREAM(method, more)                                                                       \
	"protocols = (\n{ name = \"p\"; method = \"" method "\"; matrix = [64, 64];\n"             \
	"coils = 2; samples = 64; readouts = 64;\ntrajectory: { type = \"stream\"; "               \
	" };\n" more " } );"

/* clang-format off */
#define ASKED "endpoints: { images = \"ipc:///i\"; };"

#define CONFIGS(rows) "bridges: { mrd: { configs = ( " rows " ); }; };"
static const struct {
	unsigned line;
	const char *want, *text; /* want: behind "file:line: " */
} refused[] = {
	/* the file as a whole */
	{ 0, "the file is empty", "" },
	{ 0, "the file is empty", " \n\t\n" },
	{ 1, "the file is empty", "# nothing\n" },
	{ 2, "@include is refused", "a = 1;\n@include \"other.cfg\"\n" },
	{ 3, "@include is refused", "/*\n\n \t@include \"other.cfg\"\n*/" PROTOCOL("") },
	{ 4, "a string or comment that never ends", PROTOCOL("image: { maps_file = \"maps; };") },
	{ 5, "a string or comment that never ends", PROTOCOL("") "/* *" },
	{ 2, "syntax error", "node: {\n name = ; };" PROTOCOL("") },
	{ 2, "syntax error (the '[' of line 2 is not closed)",
	  "node: {\n threads = [1;\n};" PROTOCOL("") },
	{ 3, "syntax error (the '{' of line 1 is not closed)", "node: {\n threads = 1;\n" },
	{ 4, "syntax error (the '(' of line 2 is not closed)",
	  "node: { name = \"(#\"; /* [ */ };\nprotocols = ( { }, # ]\n { }\n" },
	{ 2, "syntax error (a word stands in quotes: \"bay-3\")", NODE("name = bay-3;") },
	{ 3, "syntax error (a word stands in quotes: \"gridding\")",
	  "protocols = (\n{ name = \"p\"; \nmethod = gridding; } );" },
	{ 2, "syntax error (a word stands in quotes: \"/data/run\")",
	  NODE("run_dir = /data/run;") },
	{ 3, "duplicate setting name", "node: { name = \"a\";\n\nname = \"b\"; };" PROTOCOL("") },
	{ 1, "protocols: missing", "node: { };" },
	{ 2, "protocols: the list is empty", "\nprotocols = ();" },
	{ 2, "protocols: a list ( { ... }", "\nprotocols: { name = \"p\"; };" },
	{ 1, "node: a group { } is wanted", "node = 5;" PROTOCOL("") },
	{ 5, "sinks.[0]: a group { } is wanted", PROTOCOL("") "sinks = ( 5 );" },
	/* unknown keys */
	{ 2, "node.nam: unknown key (did you mean node.name?)", NODE("nam = \"x\";") },
	{ 1, "nodes: unknown key (did you mean node?)", "nodes: { };" PROTOCOL("") },
	{ 5, "protocls: unknown key (did you mean protocols?)", PROTOCOL("") "protocls = ( );" },
	{ 2, "node.logs: unknown key (did you mean node.log?)", NODE("logs = \"info\";") },
	{ 2, "node.run_dri: unknown key (did you mean node.run_dir?)", NODE("run_dri = \"x\";") },
	{ 2, "node.matrix: unknown key", NODE("matrix = [64, 64];") },
	{ 4, "protocols.[0].lambda: unknown key (did you mean ls.lambda?)",
	  PROTOCOL("lambda = 0.1;") },
	{ 4, "protocols.[0].frobnicate: unknown key", PROTOCOL("frobnicate = 1;") },
	{ 4, "protocols.[0].ls.densty: unknown key (did you mean gridding.density?)",
	  PROTOCOL("ls: { densty = 1; };") },
	{ 4, "protocols.[0].trajectry: unknown key (did you mean trajectory?)",
	  PROTOCOL("trajectry: { type = \"radial2d\"; };") },
	{ 4, "protocols.[0].iteratons: unknown key (did you mean ls.iterations?)",
	  PROTOCOL("iteratons = 5;") },
	{ 1, "matrix: unknown key (did you mean protocols.[..].matrix?)",
	  "matrix = [64, 64];" PROTOCOL("") },
	{ 1, "dir: unknown key (did you mean sinks.[..].dir?)", "dir = \"out\";" PROTOCOL("") },
	/* wrong type */
	{ 2, "node.threads: 5.7 is not an integer: write 5 or 6", NODE("threads = 5.7;") },
	{ 2, "node.threads: 4 is not an integer: write 4", NODE("threads = 4.0;") },
	{ 2, "node.threads: 70.5 is not an integer; 0 .. 64 threads is wanted",
	  NODE("threads = 70.5;") },
	{ 2, "node.threads: an integer is wanted, not a string: write 5 without quotes",
	  NODE("threads = \"5\";") },
	{ 2, "node.threads: an integer is wanted, not a string", NODE("threads = \"all\";") },
	{ 2, "node.name: a string is wanted, not an integer", NODE("name = 5;") },
	{ 2, "node.heartbeat_ms: a number is wanted, not a boolean", NODE("heartbeat_ms = true;") },
	{ 4, "protocols.[0].trajectory: a group { } is wanted",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\ncoils = 1; "
	  "samples = "
	  "64; readouts = 64; encoded = [64, 64];\ntrajectory = \"x\"; } );" },
	{ 4, "protocols.[0].ls: a group { } is wanted", PROTOCOL("ls = 1;") },
	{ 4, "protocols.[0].fov_mm: an array [x, y]", PROTOCOL("fov_mm = 5.0;") },
	{ 4, "protocols.[0].encoded: an array [x, y] or [x, y, z] is wanted, not an integer: write "
	     "[64, 64]",
	  PROTOCOL("encoded = 64;") },
	{ 4, "protocols.[0].fov_mm: an array of 2 or 3 is wanted, not of 1",
	  PROTOCOL("fov_mm = [5.0];") },
	{ 4, "protocols.[0].encoded: 64.5 is not an integer", PROTOCOL("encoded = [64.5, 1.0];") },
	{ 5, "protocols.[0].trajectory.third_ignored: true or false is wanted, not an integer: "
	     "write true",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"radial2d\";\n\n"
	  "third_ignored = 1; }; } );" },
	/* out of range */
	{ 2, "node.threads: 65 is outside 0 .. 64 threads", NODE("threads = 65;") },
	{ 2, "node.acq_slots: -5 is outside 8 .. 65536 slots", NODE("acq_slots = -5;") },
	{ 2, "node.board: \"pc\" is none of \"host\", \"workstation\", \"jetson\"",
	  NODE("board = \"pc\";") },
	{ 2, "\"info\", \"debug\" (did you mean info?)", NODE("log = \"inof\";") },
	{ 4, "protocols.[0].gridding.accuracy: 0.2 is outside 0 .. 0.1",
	  PROTOCOL("gridding: { accuracy = 0.2; };") },
	{ 4,
	  "protocols.[0].gridding.accuracy: 1e-07 is out of reach in single precision: 1e-06 to "
	  "0.1",
	  PROTOCOL("gridding: { accuracy = 1e-7; };") },
	{ 4, "protocols.[0].fov_mm: -1 is outside", PROTOCOL("fov_mm = [256.0, -1.0];") },
	/* numbers that libconfig reads as others */
	{ 2, "node.acq_slots: 4294967808 does not fit 32 bits", NODE("acq_slots = 4294967808;") },
	{ 2, "node.acq_slots: 0x100000200 does not fit 32 bits", NODE("acq_slots = 0x100000200;") },
	{ 3, "node.acq_slots: 99999999999999999999L does not fit 64 bits",
	  NODE("acq_slots =\n99999999999999999999L;") },
	{ 2, "node.heartbeat_ms: 1.0e400 does not fit a double", NODE("heartbeat_ms = 1.0e400;") },
	{ 2, "node.heartbeat_ms: 1.0e-400 does not fit a double",
	  NODE("heartbeat_ms = 1.0e-400;") },
	{ 4, "protocols.[0].encoded: 4294967360 does not fit 32 bits",
	  PROTOCOL("encoded = [64, 4294967360];") },
	{ 4, "protocols.[0].max_sample: 9007199254740993 is not exact",
	  PROTOCOL("max_sample = 9007199254740993L;") },
	/* strings */
	{ 2, "node.name: \\x00 ends a string early", NODE("name = \"a\\x00b\";") },
	{ 2, "node.name: character 2 of the string (0x0a) is not printable",
	  NODE("name = \"a\\nb\";") },
	{ 2, "node.name: must not be empty", NODE("name = \"\";") },
	{ 2, "node.name: 64 characters are too long, at most 63",
	  NODE("name = \"0123456789012345678901234567890123456789012345678901234567890123\";") },
	{ 4, "protocols.[1].name: \"p\" is already the name of protocols.[0] (line 2)",
	  PROTOCOL("}, { name = \"p\"; method = \"gridding\"; matrix = [64, 48];\n"
		   "coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; "
		   "};") },
	{ 1, "protocols.[0].name: \"a/b\": no '/'",
	  "protocols = ( { name = \"a/b\"; method = \"gridding\"; matrix = [64, 48];\n"
	  "coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; }; } );" },
	/* missing */
	{ 2, "protocols.[0].coils: missing",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 48];\n"
	  "samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; }; } );" },
	{ 2, "protocols.[0].trajectory.type: missing",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 48];\n"
	  "coils = 1; samples = 128; readouts = 100; } );" },
	{ 5, "sinks.[0].dir: missing", PROTOCOL("") "sinks = ( { type = \"png\"; } );" },
	/* the page */
	{ 5, "web.listen: ipc:///x: not 127.0.0.1:PORT",
	  PROTOCOL("") "web: { listen = \"ipc:///x\"; };" },
	{ 5, "web.listen: 0.0.0.0:8080: the page is open to loopback only, 127.0.0.1:8080;",
	  PROTOCOL("") "web: { listen = \"0.0.0.0:8080\"; };" },
	{ 5, "endpoints.viewers: must be given, or endpoints.images: the page gets its images",
	  PROTOCOL("") "web: { listen = \"127.0.0.1:0\"; }; endpoints: { viewers = \"\"; };" },
	/* bridges */
	{ 5, "bridges.mrd.listen: ipc:///x: not tcp://ADDRESS:PORT",
	  PROTOCOL("") "bridges: { mrd: { listen = \"ipc:///x\"; }; }; " ASKED },
	{ 5, "bridges.mrd.listen: tcp://0.0.0.0:9002: beyond loopback only for the addresses that",
	  PROTOCOL("") "bridges: { mrd: { listen = \"tcp://0.0.0.0:9002\"; }; }; " ASKED },
	{ 5, "bridges.mrd.allow: '10.0.0.300' begins with no IPv4 address",
	  PROTOCOL("") "bridges: { mrd: { allow = \"10.0.0.300\"; }; };" },
	{ 5, "endpoints.images: must be given: MRD clients get their images from there",
	  PROTOCOL("") "bridges: { mrd: { listen = \"tcp://127.0.0.1:9002\"; }; };" },
	{ 5, "bridges.mrd.sessions: 5 is outside 1 .. 4 scans",
	  PROTOCOL("") "bridges: { mrd: { sessions = 5; }; };" },
	{ 5, "bridges.mrd.configs: a list ( {",
	  PROTOCOL("") "bridges: { mrd: { configs = \"x\"; }; };" },
	{ 5, "bridges.mrd.configs.[0].name: missing",
	  PROTOCOL("") "bridges: { mrd: { configs = ( { protocol = \"p\"; } ); }; };" },
	{ 5, "bridges.mrd.configs.[0].name: must not be empty",
	  PROTOCOL("") "bridges: { mrd: { configs = ( { name = \"\"; } ); }; };" },
	{ 5, "bridges.mrd.configs.[0].protocol: the site has no protocol 'q'",
	  PROTOCOL("") CONFIGS("{ name = \"a\"; protocol = \"q\"; }") },
	{ 5, "bridges.mrd.configs.[1].name: \"a\" is already the name of bridges.mrd.configs.[0]",
	  PROTOCOL("") CONFIGS("{ name = \"a\"; }, { name = \"a\"; }") },
	/* endpoints and folders */
	{ 5, "endpoints.kspace: tcp://*:5555: tcp is open to loopback only",
	  PROTOCOL("") "endpoints: { kspace = \"tcp://*:5555\"; };" },
	{ 5, "endpoints.kspace: tcp://192.168.0.5:5555: tcp is open to loopback only: tcp://127.",
	  PROTOCOL("") "endpoints: { kspace = \"tcp://192.168.0.5:5555\"; };" },
	{ 5, "endpoints.kspace: tcp://127.0.0.1.evil.com:5555: tcp is open",
	  PROTOCOL("") "endpoints: { kspace = \"tcp://127.0.0.1.evil.com:5555\"; };" },
	{ 5, "endpoints.kspace: tcp://127.0.0.1:99999: tcp is open",
	  PROTOCOL("") "endpoints: { kspace = \"tcp://127.0.0.1:99999\"; };" },
	{ 5, "endpoints.viewers: ws://127.0.0.1:80: ws is refused",
	  PROTOCOL("") "endpoints: { viewers = \"ws://127.0.0.1:80\"; };" },
	{ 5, "endpoints.viewers: inproc://a: neither ipc:// nor tcp://",
	  PROTOCOL("") "endpoints: { viewers = \"inproc://a\"; };" },
	{ 5, "endpoints.status: must not be empty", PROTOCOL("") "endpoints: { status = \"\"; };" },
	{ 5, "endpoints.status: a path must follow",
	  PROTOCOL("") "endpoints: { status = \"ipc://\"; };" },
	{ 5, "endpoints.archive: the same as endpoints.kspace",
	  PROTOCOL("") "endpoints: { kspace = \"ipc:///a\"; archive = \"ipc:///b/../a\"; };" },
	{ 5, "endpoints.kspace: a socket's path of 110 characters is too long, at most 107",
	  PROTOCOL("") "endpoints: { kspace = \"ipc:///"
		       "0123456789012345678901234567890123456789012345678901234567890123456789"
		       "012345678901234567890123456789012345678\"; };" },
	{ 5, "sinks.[1].dir: the same as sinks.[0] (line 5)",
	  PROTOCOL("") "sinks = ( { type = \"png\"; dir = \"a\"; }, { type = \"png\"; dir = "
	  "\"./a\"; } );" },
	{ 5, "sinks.[0].dir: must not be empty",
	  PROTOCOL("") "sinks = ( { type = \"png\"; dir = \"\"; } );" },
	{ 5, "sinks.[0].type: \"gif\" is none of",
	  PROTOCOL("") "sinks = ( { type = \"gif\"; dir = \"a\"; } );" },
	{ 5, "sinks.[0].store: files of type cfl are stored nowhere",
	  PROTOCOL("") "sinks = ( { type = \"cfl\"; dir = \"a\"; store = \"P@h:104\"; } );" },
	{ 5, "sinks.[0].store: needs overload.sinks = \"spill\"",
	  PROTOCOL("") "sinks = ( { type = \"dicom\"; dir = \"a\"; store = \"P@h:104\"; } );" },
	{ 5, "sinks.[8]: more than 8",
	  PROTOCOL("") "sinks = ( { type = \"png\"; dir = \"1\"; }, { type = \"png\"; dir = "
	  "\"2\"; },"
		       "{ type = \"png\"; dir = \"3\"; }, { type = \"png\"; dir = \"4\"; },"
		       "{ type = \"png\"; dir = \"5\"; }, { type = \"png\"; dir = \"6\"; },"
		       "{ type = \"png\"; dir = \"7\"; }, { type = \"png\"; dir = \"8\"; },"
		       "{ type = \"png\"; dir = \"9\"; } );" },
	{ 2, "node.run_dir: must not be empty",
	  "node: {\nrun_dir = \"\"; }; endpoints: { kspace = \"ipc:///k\"; archive = \"\"; "
	  "viewers = \"\"; "
	  "status = \"ipc:///s\"; };" PROTOCOL("") },
	{ 2, "node.stall_ms: 600 is less than twice heartbeat_ms, 500", NODE("stall_ms = 600;") },
	/* sizes */
	{ 4, "protocols.[0].dims: 1 is neither 2 nor 3", PROTOCOL("dims = 1;") },
	{ 2, "protocols.[0].matrix: z is 64: it must be 1 in 2D",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 48, 64]; dims = 2;\n"
	  "coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; }; } );" },
	{ 3, "protocols.[0].gridding.density: ramp: the lines of a grid are no spokes",
	  "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 48]; encoded = [64, 48];\n"
	  "gridding: { density = \"ramp\"; }; trajectory: { type = \"cartesian\"; };\n"
	  "coils = 1; samples = 64; readouts = 48; } );" },
	{ 2, "protocols.[0].matrix: 0 is outside 1 .. 512 voxels",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 0];\n"
	  "coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; }; } );" },
	{ 2, "protocols.[0].matrix: 513 is outside 1 .. 512 voxels",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [513, 64];\n"
	  "coils = 2; samples = 128; readouts = 100; trajectory: { type = \"radial2d\"; }; } );" },
	{ 4, "protocols.[0].discard: samples and discard are 65628 together",
	  PROTOCOL("discard = 65500;") },
	{ 3, "protocols.[0].readouts: a frame of 1048576000 samples is beyond the limit",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 2; samples = 1000; readouts = 1048576; trajectory: { type = \"radial2d\"; }; "
	  "} );" },
	{ 4, "protocols.[0].readouts_max: has no effect without readouts \"header\"",
	  PROTOCOL("readouts_max = 100;") },
	{ 2, "protocols.[0].readouts: \"header\" needs a grid, or a trajectory's file",
	  "protocols = ( { name = \"p\"; method = \"gridding\"; matrix = [64, 48]; coils = 2;\n"
	  "readouts = \"header\"; samples = 128; trajectory: { type = \"radial2d\"; }; } );" },
	{ 2, "protocols.[0].readouts: an integer or \"header\" is wanted, not \"many\"",
	  "protocols = ( { name = \"p\"; method = \"gridding\"; matrix = [64, 48]; coils = 2;\n"
	  "readouts = \"many\"; samples = 128; trajectory: { type = \"radial2d\"; }; } );" },
	{ 4, "protocols.[0].slices: 512 slices x 2 contrasts",
	  PROTOCOL("slices = 512; contrasts = 2;") },
	{ 1, "gpu.devices: an array as [0, 1] is wanted, not an integer",
	  "gpu: { devices = 1; };\n" PROTOCOL("") },
	{ 1, "gpu.devices: an array of 1 to 8 is wanted, not of 0",
	  "gpu: { devices = []; };\n" PROTOCOL("") },
	{ 1, "gpu.devices: an array of 1 to 8 is wanted, not of 9",
	  "gpu: { devices = [0, 1, 2, 3, 4, 5, 6, 7, 8]; };\n" PROTOCOL("") },
	{ 1, "gpu.devices: 64 is outside 0 .. 63", "gpu: { devices = [0, 64]; };\n" PROTOCOL("") },
	{ 1, "gpu.devices: -1 is outside 0 .. 63", "gpu: { devices = [-1]; };\n" PROTOCOL("") },
	{ 1, "gpu.devices: an integer is wanted, not a string",
	  "gpu: { devices = [\"0\"]; };\n" PROTOCOL("") },
	{ 1, "gpu.share: \"both\" is none of", "gpu: { share = \"both\"; };\n" PROTOCOL("") },
	{ 1, "gpu.devices: 1 is named twice", "gpu: { devices = [0, 1, 1]; };\n" PROTOCOL("") },
	{ 2, "node.memory_mib: 64 MiB are too few: the shared pools need 65536 x",
	  NODE("memory_mib = 64; acq_slots = 65536;") },
	{ 1, "overload.spill_dir: must be given: images are spilled to it",
	  "overload: { archive = \"spill\"; };\n" PROTOCOL("") },
	{ 2, "overload.spill_mib: 1 MiB do not hold one image of protocol 'big': it takes "
	  "1061184 bytes, 2 MiB",
	  "overload: { archive = \"spill\"; spill_dir = \"s\";\nspill_mib = 1; };\n" TWO_SIZES },
	{ 2, "overload.spill_mib: 1 MiB do not hold one image of protocol 'big'",
	  "overload: { sinks = \"spill\"; spill_dir = \"s\";\nspill_mib = 1; };\n"
	  "sinks = ( { type = \"cfl\"; dir = \"/a\"; } );\n" TWO_SIZES },
	{ 4, "protocols.[0].frame.step: 101 is more than the frame's 100",
	  PROTOCOL("frame: { step = 101; };") },
	{ 4, "protocols.[0].averages: a sliding window (frame.step) sums none",
	  PROTOCOL("averages = 2; frame: { step = 50; };") },
	{ 4, "protocols.[0].averages: 65 is outside 1 .. 64", PROTOCOL("averages = 65;") },
	{ 4, "protocols.[0].frame.step: the frame's 100 readouts are no multiple of 30",
	  PROTOCOL("frame: { step = 30; };") },
	{ 4, "protocols.[0].gridding.chunk_readouts: frame.step, 25, is no multiple of 10",
	  PROTOCOL("gridding: { chunk_readouts = 10; }; frame: { step = 25; };") },
	{ 4, "protocols.[0].image.volume: not with a sliding window (frame.step)",
	  PROTOCOL("image: { volume = true; }; frame: { step = 50; };") },
	{ 4, "protocols.[0].frame.preview_every: a sliding window (frame.step) has no previews",
	  PROTOCOL("frame: { step = 25; preview_every = 30; };") },
	{ 4, "protocols.[0].frame.step: method cartesian has no sliding window",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64]; coils = 1; samples = 64; readouts = 64;\n"
	  "frame: { step = 16; }; } );" },
	{ 4, "protocols.[0].frame.preview_every: method cartesian has no previews",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64]; coils = 1; samples = 64; readouts = 64;\n"
	  "frame: { preview_every = 16; }; } );" },
	{ 4, "protocols.[0].frame.preview_every: 101 is more",
	  PROTOCOL("frame: { preview_every = 101; };") },
	{ 4, "protocols.[0].gridding.chunk_readouts: 101 is more",
	  PROTOCOL("gridding: { chunk_readouts = 101; };") },
	/* cartesian */
	{ 2, "protocols.[0].encoded: missing; a cartesian trajectory needs it",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; } );" },
	{ 3, "protocols.[0].encoded: y is 32: less than the matrix's 64",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 32]; coils = 1; samples = 64; readouts = 32; } );" },
	{ 3, "protocols.[0].samples: 129 is more than encoded x, 128",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64]; coils = 1; samples = 129; readouts = 64; } );" },
	{ 3, "protocols.[0].readouts: 65 is more than the 64 x 1 lines",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64]; coils = 1; samples = 128; readouts = 65; } );" },
	{ 4, "protocols.[0].trajectory.type: method cartesian needs a cartesian trajectory, not "
	  "random",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64]; coils = 1; samples = 128; readouts = 64;\n"
	  "trajectory: { type = \"random\"; }; } );" },
	{ 3, "protocols.[0].encoded: z is 2: it must be 1 in 2D",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64, 2]; coils = 1; samples = 128; readouts = 64; } );" },
	/* trajectory */
	{ 4, "/folder.h5: Invalid argument",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"file\";\nfile = "
	  "\"folder.h5\"; }; } );" },
	{ 4, "protocols.[0].trajectory.file: a string is wanted",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"file\";\nfile = 5; }; "
	  "} );" },
	{ 3, "protocols.[0].trajectory.type: stack has 3 dimensions, the protocol 2",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"stack\"; }; } );" },
	{ 3, "protocols.[0].trajectory.file: missing; trajectory.type file needs it",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"file\"; }; } );" },
	{ 4, "/nowhere.h5: No such file or directory",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"file\";\nfile = "
	  "\"nowhere.h5\"; }; } );" },
	{ 4, "/half.hdr: No such file or directory",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"file\";\nfile = "
	  "\"half\"; }; } );" },
	{ 4, "protocols.[0].trajectory.file: has no effect without trajectory.type file",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"random\";\nfile = "
	  "\"x.h5\"; }; } );" },
	{ 4, "protocols.[0].trajectory.interleaves: 64 readouts are no multiple of 7",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = "
	  "\"spiral2d\";\ninterleaves = 7; }; } );" },
	{ 4, "protocols.[0].trajectory.interleaves: has no effect",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = "
	  "\"radial2d\";\ninterleaves = 8; }; } );" },
	{ 5, "protocols.[0].trajectory.delay: has no effect with method cartesian",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [64, 64]; coils = 1; samples = 64; readouts = 64;\n"
	  "trajectory: {\ndelay = [0.5, 0.0]; }; } );" },
	{ 5, "protocols.[0].gridding.density: file: weights of a trajectory that is known before",
	  STREAM("gridding", "gridding: { density = \"file\"; density_file = \"whole\"; };") },
	{ 5, "protocols.[0].gridding.chunk_readouts: has no effect with trajectory.type stream",
	  STREAM("gridding", "gridding: { chunk_readouts = 8; };") },
	{ 5, "protocols.[0].field.map_file: not with trajectory.type stream",
	  STREAM("gridding", "field: { map_file = \"whole\"; dwell_us = 2.5; };") },
	{ 5, "protocols.[0].image.maps: of the scan: its center is found before, not with",
	  STREAM("gridding", "image: { combine = \"sense\"; maps = \"walsh\"; };") },
	{ 5, "protocols.[0].image.map_sets: 2: not with trajectory.type stream",
	  STREAM("sense", "image: { maps_file = \"whole\"; map_sets = 2; };") },
	{ 5, "protocols.[0].averages: not with trajectory.type stream",
	  STREAM("gridding", "averages = 2;") },
	{ 5, "protocols.[0].backend: trajectory.type stream has a CUDA engine in 2D alone",
	  STREAM("ls", "backend = \"cuda\"; ls: { preconditioner = \"jacobi\"; };") },
	{ 5, "protocols.[0].ls.q: exact: trajectory.type stream is for the NUFFT alone",
	  STREAM("ls", "ls: { q = \"exact\"; };") },
	{ 5, "protocols.[0].ls.basis: box: not with trajectory.type stream",
	  STREAM("ls", "ls: { basis = \"box\"; };") },
	{ 5, "protocols.[0].ls.preconditioner: circulant is made from Q: not with trajectory.type",
	  STREAM("ls", "ls: { preconditioner = \"circulant\"; };") },
	{ 5, "protocols.[0].field.dwell_us: has no effect with method cartesian",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [64, 64]; coils = 1; samples = 64; readouts = 64;\n"
	  "field: {\necho_spacing_us = 9.0; map_file = \"whole\"; dwell_us = 2.5; }; } );" },
	{ 4, "protocols.[0].field.dwell_us: has no effect without field.map_file",
	  PROTOCOL("field: { dwell_us = 2.5; };") },
	{ 4, "protocols.[0].field.dwell_us: missing; field.map_file needs it",
	  PROTOCOL("field: { map_file = \"whole\"; };") },
	{ 4, "half.hdr: No such file",
	  PROTOCOL("field: { map_file = \"half\"; dwell_us = 2.5; };") },
	{ 4, "protocols.[0].field.error: 0.2 is outside",
	  PROTOCOL("field: { map_file = \"whole\"; dwell_us = 2.5; error = 0.2; };") },
	{ 4, "protocols.[0].ls.q: exact: field.map_file is for the NUFFT alone",
	  "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"random\"; };\n"
	  "ls: { q = \"exact\"; }; field: { map_file = \"whole\"; dwell_us = 2.5; }; } );" },
	{ 4, "protocols.[0].ls.preconditioner: circulant is made from Q",
	  "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"random\"; };\n"
	  "ls: { preconditioner = \"circulant\"; };\n"
	  "field: { map_file = \"whole\"; dwell_us = 2.5; }; } );" },
	{ 4, "protocols.[0].ls.basis: box: not with field.map_file",
	  "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"random\"; };\n"
	  "ls: { basis = \"box\"; }; field: { map_file = \"whole\"; dwell_us = 2.5; }; } );" },
	{ 4, "protocols.[0].trajectory.third_ignored: is for 2D only",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = "
	  "\"random\";\nthird_ignored = true; }; } );" },
	{ 4, "protocols.[0].fov_mm: z is missing; trajectory.unit rad/m needs it",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"random\"; unit = "
	  "\"rad/m\"; };\n"
	  "fov_mm = [220.0, 220.0]; } );" },
	/* gridding, image, solver, budget */
	{ 4, "protocols.[0].image.matrix: x is 0: outside 1 .. 512 voxels",
	  PROTOCOL("image: { matrix = [0, 64]; };") },
	{ 4, "protocols.[0].image.matrix: 513 is outside 0 .. 512 voxels",
	  PROTOCOL("image: { matrix = [64, 513]; };") },
	{ 4, "protocols.[0].image.matrix: z is 2: it must be 1 in 2D",
	  PROTOCOL("image: { matrix = [64, 64, 2]; };") },
	{ 4, "protocols.[0].image.matrix: z is 1, or missing: the matrix has 32 in 3D",
	  "protocols = (\n{ name = \"p\"; method = \"gridding\"; matrix = [64, 64, 32];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"random\"; };\n"
	  "image: { matrix = [64, 64]; }; } );" },
	{ 4, "protocols.[0].gridding.width: either accuracy, or width and oversampling: not both",
	  PROTOCOL("gridding: { accuracy = 1e-3; width = 6.0; };") },
	{ 4, "protocols.[0].gridding.oversampling: 0 is outside 1.25 .. 2 (without accuracy)",
	  PROTOCOL("gridding: { width = 6.0; };") },
	{ 4, "protocols.[0].gridding.width: 1.5 is outside 2 .. 16 cells (without accuracy)",
	  PROTOCOL("gridding: { width = 1.5; oversampling = 2.0; };") },
	{ 4, "protocols.[0].gridding.density_file: missing; gridding.density file needs it",
	  PROTOCOL("gridding: { density = \"file\"; };") },
	{ 4, "protocols.[0].gridding.density_file: has no effect without gridding.density file",
	  PROTOCOL("gridding: { density_file = \"w\"; };") },
	{ 4, "protocols.[0].image.maps_file: missing; image.combine sense needs it",
	  PROTOCOL("image: { combine = \"sense\"; };") },
	{ 4, "protocols.[0].compression: has no effect without virtual_coils",
	  PROTOCOL("compression = \"geometric\";") },
	{ 4, "protocols.[0].compression: geometric needs method cartesian",
	  PROTOCOL("virtual_coils = 1; compression = \"geometric\";") },
	{ 4, "protocols.[0].virtual_coils: 3 of 2 coils", PROTOCOL("virtual_coils = 3;") },
	{ 4, "protocols.[0].image.maps_file: holds the coils as they are: not with noise.whiten",
	  PROTOCOL("noise: { whiten = \"auto\"; };"
		   " image: { combine = \"sense\"; maps_file = \"whole\"; };") },
	{ 4, "protocols.[0].image.maps_file: holds the coils as they are: not with virtual_coils",
	  PROTOCOL("virtual_coils = 1;"
		   " image: { combine = \"sense\"; maps_file = \"whole\"; };") },
	{ 4, "protocols.[0].epi.correct: method gridding has no lines",
	  PROTOCOL("epi: { correct = true; };") },
	{ 4, "protocols.[0].reversed_center: has no effect along trajectories",
	  PROTOCOL("reversed_center = \"stored\";") },
	{ 4, "protocols.[0].reversed_center: has no effect with epi.correct",
	  GRAPPA("kernel = [5, 5, 1]; }; epi: { correct = true; }; reversed_center = "
		 "\"stored\"; budget: { ") },
	{ 4, "protocols.[0].parallel: method gridding has no lines",
	  PROTOCOL("parallel = \"grappa\";") },
	{ 4, "protocols.[0].grappa.kernel: has no effect without parallel grappa",
	  PROTOCOL("grappa: { kernel = [5, 5]; };") },
	{ 4, "protocols.[0].grappa.sources: has no effect without parallel grappa",
	  PROTOCOL("grappa: { sources = 3; };") },
	{ 4, "protocols.[0].grappa.lacking: has no effect without parallel grappa",
	  PROTOCOL("grappa: { lacking = \"zeros\"; };") },
	{ 4, "protocols.[0].grappa.kernel: y is 4: an odd number is wanted",
	  GRAPPA("kernel = [5, 4, 1];") },
	{ 4, "protocols.[0].grappa.kernel: 9 x 3 x 1: at most 7 samples along x",
	  GRAPPA("kernel = [9, 3, 1];") },
	{ 4, "protocols.[0].grappa.kernel: z is 3: it must be 1 in 2D",
	  GRAPPA("kernel = [5, 3, 3];") },
	{ 4, "protocols.[0].image.maps_file: has no effect",
	  PROTOCOL("image: { maps_file = \"maps\"; };") },
	{ 4, "protocols.[0].image.maps: has no effect without image.combine sense",
	  PROTOCOL("image: { maps = \"espirit\"; };") },
	{ 4, "protocols.[0].image.maps: has no effect without image.combine sense",
	  PROTOCOL("image: { maps = \"study\"; };") },
	{ 4, "protocols.[0].field.range_hz: has no effect without field.from study",
	  PROTOCOL("field: { range_hz = 100.0; };") },
	{ 4, "protocols.[0].field.range_hz: missing; field.from study needs it",
	  PROTOCOL("field: { from = \"study\"; dwell_us = 2.0; };") },
	{ 4, "protocols.[0].field.dwell_us: missing; field.from needs it",
	  PROTOCOL("field: { from = \"study\"; range_hz = 100.0; };") },
	{ 4, "protocols.[0].field.map_file: has no effect without field.from file",
	  PROTOCOL("field: { from = \"study\"; range_hz = 9.0; dwell_us = 2.0;"
		   " map_file = \"whole\"; };") },
	{ 4, "protocols.[0].field.from: echoes: of 2 contrasts, not 1",
	  PROTOCOL("field: { from = \"echoes\"; };") },
	{ 4, "protocols.[0].field.from: echoes: not with frame.preview_every",
	  PROTOCOL("contrasts = 2; frame: { preview_every = 9; };"
		   " field: { from = \"echoes\"; };") },
	{ 4, "protocols.[0].field.from: echoes: not with frame.step",
	  PROTOCOL("contrasts = 2; field: { from = \"echoes\"; }; frame: { step = 10; };") },
	{ 4, "protocols.[0].field.from: echoes: method gridding or cartesian, not ls",
	  "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64]; contrasts = 2;\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"radial2d\"; };\n"
	  "field: { from = \"echoes\"; }; } );" },
	{ 4, "protocols.[0].image.maps: study: virtual coils are others in each scan",
	  PROTOCOL("virtual_coils = 1; image: { combine = \"sense\"; maps = \"study\"; };") },
	{ 4, "protocols.[0].image.map_sets: has no effect without image.combine sense",
	  PROTOCOL("image: { map_sets = 2; };") },
	{ 4, "protocols.[0].image.map_sets: 2: image.maps walsh makes one",
	  PROTOCOL("image: { combine = \"sense\"; maps = \"walsh\"; map_sets = 2; };") },
	{ 4, "protocols.[0].backend: image.map_sets 2 has no CUDA engine",
	  PROTOCOL("backend = \"cuda\";"
		   " image: { combine = \"sense\"; maps = \"espirit\"; map_sets = 2; };") },
	{ 4, "protocols.[0].image.maps_every: has no effect without frame.step",
	  PROTOCOL("image: { combine = \"sense\"; maps = \"walsh\"; maps_every = 2; };") },
	{ 3, "protocols.[0].image.maps_file: has no effect without image.maps file",
	  GRID "image: { combine = \"sense\"; maps = \"walsh\"; maps_file = \"m\"; }; } );" },
	{ 3, "protocols.[0].walsh.block: 6 is even",
	  GRID "image: { combine = \"sense\"; maps = \"walsh\"; }; walsh: { block = 6; }; } );" },
	{ 4, "protocols.[0].image.output: the root of a sum of squares has no phase",
	  PROTOCOL("image: { combine = \"rss\"; output = \"complex\"; };") },
	{ 4, "protocols.[0].image.output: the root of a sum of squares has no phase",
	  PROTOCOL("image: { combine = \"rss\"; output = \"phase\"; };") },
	{ 3, "protocols.[0].image.output: velocity: not with combine none, frame.step",
	  GRID "image: { combine = \"none\"; output = \"velocity\"; }; } );" },
	{ 4, "protocols.[0].image.output: velocity: not with combine none, frame.step",
	  PROTOCOL("image: { output = \"velocity\"; }; frame: { step = 20; };") },
	{ 4, "protocols.[0].image.venc: has no effect without image.output velocity",
	  PROTOCOL("image: { output = \"phase\"; venc = 100.0; };") },
	{ 2, "protocols.[0].image.maps_file: missing; method sense needs it",
	  "protocols = (\n{ name = \"p\"; method = \"sense\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"radial2d\"; }; } );" },
	{ 4, "protocols.[0].image.combine: method sense combines by sensitivities",
	  "protocols = (\n{ name = \"p\"; method = \"sense\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"radial2d\"; };\n"
	  "image: { combine = \"rss\"; maps_file = \"whole\"; }; } );" },
	{ 4, "protocols.[0].ls.w_file: has no effect without method ls or sense or cartesian_sense",
	  PROTOCOL("ls: { w_file = \"w.mtx\"; };") },
	{ 2, "protocols.[0].ls.lambda: is 0: w_file would have no effect",
	  "protocols = (\n{ name = \"p\"; method = \"ls\"; matrix = [64, 64];\n"
	  "coils = 1; samples = 64; readouts = 64; trajectory: { type = \"radial2d\"; };\n"
	  "ls: { w_file = \"w.mtx\"; }; } );" },
	{ 4, "protocols.[0].partial_fourier: has no effect with method gridding",
	  PROTOCOL("partial_fourier = \"pocs\";") },
	{ 2, "protocols.[0].image.maps_file: missing; method cartesian_sense needs it",
	  "protocols = (\n{ name = \"p\"; method = \"cartesian\"; matrix = [64, 64];\n"
	  "encoded = [128, 64, 1]; coils = 1; samples = 128; readouts = 32;\n"
	  "parallel = \"sense\"; } );" },
	{ 4, "protocols.[0].ls.preconditioner: has no effect with method cartesian_sense",
	  UNFOLDS("ls: { preconditioner = \"jacobi\"; };") },
	{ 4, "protocols.[0].ls.fhd: has no effect with method gridding",
	  PROTOCOL("ls: { fhd = \"exact\"; };") },
	{ 4, "protocols.[0].ls.fhd: has no effect with method cartesian_sense",
	  UNFOLDS("ls: { fhd = \"exact\"; };") },
	{ 4, "protocols.[0].ls.q: has no effect with method cartesian_sense",
	  UNFOLDS("ls: { q = \"exact\"; };") },
	{ 4, "protocols.[0].ls.basis: has no effect", PROTOCOL("ls: { basis = \"box\"; };") },
	{ 4, "protocols.[0].budget.on_miss: has no effect without budget.image_ms",
	  PROTOCOL("budget: { on_miss = \"stop\"; };") },
	{ 4, "protocols.[0].budget.on_miss: has no effect without budget.image_ms",
	  PROTOCOL("budget: { on_miss = \"shed\"; };") },
	{ 4, "protocols.[0].budget.emit_ms: 3 is more than the whole image's 2.5",
	  PROTOCOL("budget: { image_ms = 2.5; emit_ms = 3.0; };") },
	{ 4, "protocols.[0].budget.solve_ms: has no effect without method ls or sense",
	  PROTOCOL("budget: { image_ms = 2.5; solve_ms = 1.0; };") },
	{ 4, "protocols.[0].budget.upload_ms: has no effect with backend host",
	  PROTOCOL("backend = \"host\"; budget: { upload_ms = 1.0; };") },
	{ 4, "protocols.[0].budget.download_ms: has no effect with backend host",
	  PROTOCOL("backend = \"host\"; budget: { download_ms = 1.0; };") },
	{ 4, "protocols.[0].budget.calibration_ms: has no effect: nothing is calibrated",
	  PROTOCOL("budget: { image_ms = 2.5; calibration_ms = 1.0; };") },
	{ 4, "protocols.[0].budget.receive_ms: -1 is outside",
	  PROTOCOL("budget: { receive_ms = -1.0; };") },
};
/* clang-format on */

static void refusals(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char place[96];
		int rc = load(&site, refused[i].text);

		(void)snprintf(place, sizeof(place), refused[i].line > 0 ? "%s:%u: " : "%s: ", path,
			       refused[i].line); /* 0: the file as a whole */
		CHECK(rc == BS_ERR_CONFIG && faults == 1 &&
			      strncmp(told, place, strlen(place)) == 0 &&
			      strstr(told, refused[i].want) != NULL,
		      "line %u: %s; told %s", refused[i].line, refused[i].want, told);
	}
	CHECK(bs_config_load(&site, "/nowhere/x.cfg", collect, NULL) == BS_ERR_CONFIG, "no file");
	CHECK(bs_config_load(&site, dir, NULL, NULL) == BS_ERR_CONFIG, "a folder, told to nobody");
	CHECK(load_bytes(&site, "a\0b", 3) == BS_ERR_CONFIG &&
		      strstr(told, "a NUL at byte 1") != NULL,
	      "a NUL: %s", told);
}

int main(void)
{
	open_folder();
	refusals();
	close_folder();
	return check_done();
}
