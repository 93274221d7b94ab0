#!/bin/bash
# test/unit/config/w.sh - rules of ls.w and ls.l2, and the defaults that study brings
set -u
. "$(dirname "$0")/../../support/scratch.bash"
command=check
cd "$dir" || exit 1
source='image: { volume = true; };'
write() { # method, keys of ls, more keys of the protocol
	cat >site.cfg <<CFG
node: { run_dir = "run"; cache_dir = ""; };
protocols = (
	{ name = "proton"; method = "cartesian"; matrix = [16, 16, 1]; encoded = [16, 16, 1];
	  coils = 1; samples = 16; readouts = 16; slices = 4; $source },
	{ name = "p"; method = "$1"; matrix = [16, 16, 1]; coils = 1; samples = 32; readouts = 32;
	  trajectory: { type = "radial2d"; }; $3 ls: { $2 }; } );
CFG
}
refused() { # words, method, keys of ls, more
	write "$2" "$3" "${4:-}"
	expect 1 "$1" -- site.cfg
}
study='w = "study"; w_protocol = "proton";'
write ls "$study" ""
expect 0 "is valid" -- site.cfg
expect 0 "W of the study" -- site.cfg
expect 0 "kept for the study" -- site.cfg
write ls "$study l2 = 0.0; lambda = 1.0; w_neighbors = 8;" ""
expect 0 "is valid" -- site.cfg
refused "ls.w: has no effect without method" gridding "$study"
refused "ls.w_protocol: missing" ls 'w = "study";'
refused "ls.w_protocol: no protocol 'q'" ls 'w = "study"; w_protocol = "q";'
refused "ls.lambda: is 0: W would have no effect" ls "$study lambda = 0.0;"
refused "ls.w_neighbors: 6 in 2D (4 or 8)" ls "$study w_neighbors = 6;"
refused "ls.w: study: in 3D, or of one slice, not of 2" ls "$study" "slices = 2;"
refused "backend: ls.w study has no CUDA engine" ls "$study" 'backend = "cuda";'
refused "backend: ls.l2 has no CUDA engine" ls 'w_file = "site.cfg"; lambda = 1.0; l2 = 0.1;' \
	'backend = "cuda";'
refused "ls.w_file: has no effect with ls.w study" ls "$study w_file = \"site.cfg\";"
refused "ls.w_edge: has no effect without ls.w study" ls "lambda = 1.0; w_edge = 0.2;"
refused "ls.l2: without W ls.lambda is the identity's weight" ls "lambda = 1.0; l2 = 0.1;"
refused "ls.w: study: not with solve.prior, start or damp" ls "$study" \
	'solve: { prior = "w"; lambda = 0.1; };'
refused "ls.w: study: not with solve.prior, start or damp" ls "$study" \
	'solve: { start = "last"; };'
source='image: { output = "phase"; volume = true; };'
refused "ls.w_protocol: 'proton' leaves no volume" ls "$study"
source=
refused "ls.w_protocol: 'proton' leaves no volume" ls "$study"
