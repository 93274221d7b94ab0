#!/bin/bash
# test/device/gpu.sh [-b BUILD] [-d DATA] [-o FOLDER] [-s SECTIONS] [-x SECTIONS]
# What CI cannot run, on a machine with a GPU: one Markdown report, FOLDER/gpu-report.md.
#   -b  a folder built with GPU=1 (default build/gcc-gpu1; made here where make and nvcc are found)
#   -d  folder of recordings (default $DATA, ../shared/data); without one section service is skipped
#   -o  where the report, bench.json and logs go (default gpu-report)
#   -s  only these of twins,hash,fault,bench,service,sanitizer (comma-separated); -x  all but these
# The sanitizer runs SANITIZER_JOBS (4) programs at a time, each for SANITIZER_SECONDS (40) at most,
# and starts none after GPU_SECONDS (270); SANITIZER_TOOLS (memcheck racecheck) and SANITIZER_TESTS
# (twin_) name them. Shared libraries in BUILD/lib are used where there are any. A section goes on
# after a failure; ends non-zero when a test failed, the sanitizer found something or images differ.
# test/device/certify_gpu.sh and `make ladder` have reports of their own.
set -u
build=build/gcc-gpu1 data=${DATA:-../shared/data} out=gpu-report
only=twins,hash,fault,bench,service,sanitizer without=
while getopts b:d:o:s:x: option; do
	case $option in
	b) build=$OPTARG ;;
	d) data=$OPTARG ;;
	o) out=$OPTARG ;;
	s) only=$OPTARG ;;
	x) without=$OPTARG ;;
	*) sed -n '2,12s/^# //p' "$0"; exit 2 ;;
	esac
done
mkdir -p "$out"
if [ ! -x "$build/boreside" ]; then
	make -j"$(nproc)" GPU=1 all tests tools >"$out/build.log" 2>&1 ||
		{ tail -n 20 "$out/build.log"; exit 1; }
fi
build=$(cd "$build" && pwd) out=$(cd "$out" && pwd) here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$data" 2>/dev/null && pwd)
export BORESIDE=$build/boreside BUILD=$build DATA=$data
export PATH=$PATH:/usr/local/cuda/bin
export LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64
report=$out/gpu-report.md
failed=0 log=$out/last.log
say() { echo "$*" >>"$report"; }
wanted() {
	case ",$without," in *",$1,"*) return 1 ;; esac
	case ",$only," in *",$1,"*) return 0 ;; esac
	return 1
}
# section NAME TITLE FUNCTION
section() {
	wanted "$1" || return 0
	local start=$SECONDS
	say "" "" && say "## $2" && say ""
	echo "== $2" >&2
	"$3"
	say "" && say "($((SECONDS - start)) s)"
}
fail() {
	failed=$((failed + 1))
	say "" && say "**FAILED**: $*"
	echo "FAILED: $*" >&2
}
programs() {
	for t in "$build"/test/"$1"/"$2"* "$build"/test/"$1"/*/"$2"*; do
		case $t in *.o | *.d | *.so) ;; *) [ -x "$t" ] && echo "$t" ;; esac
	done
}

# one test program: a row, its failures and skips below
test_row() {
	local start=$SECONDS rc p f s
	timeout -k 5 "${2:-120}" "$1" >"$log" 2>&1
	rc=$?
	p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log") s=$(grep -c '^skip ' "$log")
	[ $rc -eq 0 ] || [ "$f" -ne 0 ] || f=1
	say "| ${1##*/} | $p | $f | $s | $((SECONDS - start)) s | $rc |"
	cp "$log" "$out/${1##*/}.log"
	if [ "$f" -ne 0 ]; then
		failed=$((failed + 1))
		{ grep '^not ok' "$log" || tail -n 5 "$log"; } | head -n 12 |
			sed 's/^/    /' >>"$out/failures.txt"
		{ echo "${1##*/}:"; grep -A2 '^not ok' "$log" || tail -n 8 "$log"; } |
			head -n 30 >&2
	fi
}
test_head() {
	say '| test | passed | failed | skipped | time | status |'
	say '|---|---|---|---|---|---|'
}
twins() {
	test_head
	for t in $(programs twin twin_); do test_row "$t" 100; done
	[ ! -s "$out/failures.txt" ] || { say "" && cat "$out/failures.txt" >>"$report"; }
}
hash_lines() {
	local of=$out/twin_engine.log
	[ -s "$of" ] || timeout -k 5 120 "$build/test/twin/engine/twin_engine" >"$of" 2>&1
	grep 'the same bytes' "$of" | sed 's/^/- /' >>"$report"
	grep '^not ok.*the same bytes' "$of" >/dev/null && fail "not the same bytes every time"
	grep -q '100 runs' "$of" || fail "twin_engine did not get as far as its 100 runs"
}
fault() {
	test_head
	test_row "$build/test/fault/fault_gpu" 120
	say "" && grep -E '^(ok|not ok|#)' "$out/fault_gpu.log" | sed 's/^/- /' >>"$report"
}
bench() {
	say "\`bench gpu --seconds 1.5 --json bench.json\`" && say ""
	timeout -k 5 150 "$build/test/bench/bench" gpu --seconds 1.5 --json "$out/bench.json" \
		>"$log" 2>&1 || fail "bench ended with $?"
	cp "$log" "$out/bench.log"
	grep -v ' threads$' "$log" >>"$report"
}

# serve + replay --asap with backend cuda; the host's image from boreside recon; throughput, latency
site() { # backend, gpu memory; or two: copied, on two GPUs
	local gpu="memory = \"$2\""
	[ "$2" != two ] || gpu='memory = "copy"; devices = [0, 1]'
	local site=$dir/$1$2
	( . "$here/../replay/site.bash" && write_site "$site" ) || return 1
	sed -i -e 's/accuracy = 1e-5/accuracy = 1e-6/' \
		-e "s/{ name = \\(.*; method\\)/{ backend = \"$1\"; name = \\1/" \
		"$site/site.cfg"
	echo "gpu: { $gpu; };" >>"$site/site.cfg"
}
one_recording() { # memory protocol recording
	local r=$dir/cuda$1 host=$dir/$2-$3 t0 t1 img rc rate
	rm -f "$r"/out/*
	t0=$(date +%s.%N)
	timeout -k 2 40 "$BORESIDE" replay -c "$r/site.cfg" -p "$2" --asap "$data/$3.h5" \
		>"$log" 2>&1
	rc=$?
	t1=$(date +%s.%N)
	if [ $rc -ne 0 ]; then
		say "| $2 | $3 | $1 | replay: $(tail -n 1 "$log") | | |"
		fail "$2 $1"
		return
	fi
	sleep 0.3
	img=$(find "$r/out" -name '*.cfl' | sort | head -n 1 | sed 's/\.cfl$//')
	[ -s "$host.cfl" ] || "$BORESIDE" recon -c "$dir/hostcopy/site.cfg" -p "$2" "$data/$3.h5" \
		-o "$host.cfl" >"$log" 2>&1
	"$BORESIDE" compare --max-unscaled 1e-5 "$img.cfl" "$host.cfl" >"$log" 2>&1
	rc=$?
	rate=$(echo "$t0 $t1 $(stat -c %s "$data/$3.h5")" |
		awk '{ printf "%.2f s, %.0f MB/s", $2 - $1, $3 / 1e6 / ($2 - $1) }')
	say "| $2 | $3 | $1 | $(grep -m 1 unscaled "$log" | tr '|' '/') | $rate |" \
		"$(find "$r/out" -name '*.cfl' | wc -l) |"
	[ $rc -eq 0 ] || fail "$2 of $3, memory $1: $(tail -n 1 "$log")"
}
service() {
	local server up cfg memories="copy mapped"
	if [ -z "$data" ] || [ ! -e "$data/cart2d_8ch.h5" ]; then
		say "skipped: no recordings at '$data'"
		return
	fi
	dir=$(mktemp -d)
	[ "$(nvidia-smi -L 2>/dev/null | wc -l)" -lt 2 ] || memories="$memories two"
	site host copy
	for memory in $memories; do site cuda "$memory"; done
	say "Recordings through \`serve\` and \`replay --asap\` on the GPU; the images against" \
		"the host's, at most 1e-5." && say ""
	say '| protocol | recording | gpu memory | l2 error | replay, with its start | images |'
	say '|---|---|---|---|---|---|'
	for memory in $memories; do
		cfg=$dir/cuda$memory/site.cfg
		"$BORESIDE" serve -c "$cfg" >"$out/serve-$memory.log" 2>&1 &
		server=$!
		up=$SECONDS
		"$BORESIDE" status -c "$cfg" --wait 600 >/dev/null 2>&1 ||
			fail "serve did not start: $(tail -n 2 "$out/serve-$memory.log")"
		up=$((SECONDS - up))
		while read -r protocol recording rest; do
			[ -z "$protocol" ] || [ ! -e "$data/$recording.h5" ] ||
				one_recording "$memory" "$protocol" "$recording"
		done <<-END
			brain_fhd brain3d_sos_4ch
			brain_sense brain3d_sos_4ch
			brain_sense_nufft brain3d_sos_4ch
			lung lung3d_radial_xe
			spiral_dcf spiral2d_bonn_clean_slc30
			cart cart2d_8ch
		END
		"$BORESIDE" status -c "$cfg" --latency >"$out/latency-$memory.txt" 2>&1
		"$BORESIDE" status -c "$cfg" --json >"$out/status-$memory.json" 2>&1
		kill -TERM $server 2>/dev/null
		wait $server
		printf '\nReady within %s s (Q, tables, graphs). Latency, gpu memory %s:\n\n' \
			"$up" "$memory" >>"$out/latency.md"
		sed 's/^/    /' "$out/latency-$memory.txt" >>"$out/latency.md"
	done
	say "" && cat "$out/latency.md" >>"$report"
	rm -rf "$dir"
}
# one program under one tool: its row, and its log where it failed
sanitized() {
	local tool=$1 t=$2 rc what start=$SECONDS log=$out/$1-${2##*/}.log
	if [ $((SECONDS - begun)) -ge "${GPU_SECONDS:-270}" ]; then
		echo "| $tool | ${t##*/} | not run: the time is up | |" >"$out/$tool-${t##*/}.row"
		return
	fi
	local options=(--tool "$tool" --error-exitcode 99)
	# calls that fail are the programs' own to find: some are made to
	[ "$tool" != memcheck ] || options+=(--report-api-errors no)
	BORESIDE_SMALL=1 timeout -k 5 "${SANITIZER_SECONDS:-40}" \
		compute-sanitizer "${options[@]}" "$t" >"$log" 2>&1
	rc=$?
	case $rc in
	0) what=clean ;;
	124 | 137) what="not finished in time, $(grep -c '^ok ' "$log") checks passed" ;;
	*) what="FAILED ($rc)" ;;
	esac
	what="$what; $(grep SUMMARY "$log" | tail -n 1 | sed 's/^=* *//; s/|/,/g')"
	echo "| $tool | ${t##*/} | $what | $((SECONDS - start)) s |" >"$out/$tool-${t##*/}.row"
	case $what in FAILED*) ;; *) rm -f "$log" ;; esac
}
sanitizer() {
	local tool t log
	if ! command -v compute-sanitizer >/dev/null 2>&1; then
		say "compute-sanitizer is not installed here"
		return
	fi
	say '| tool | test | result | time |' && say '|---|---|---|---|'
	for tool in ${SANITIZER_TOOLS:-memcheck racecheck}; do
		for t in $(for t in ${SANITIZER_TESTS:-twin_}; do programs twin "$t"; done); do
			while [ "$(jobs -rp | wc -l)" -ge "${SANITIZER_JOBS:-4}" ]; do wait -n; done
			sanitized "$tool" "$t" &
		done
	done
	wait
	for tool in ${SANITIZER_TOOLS:-memcheck racecheck}; do
		cat "$out/$tool"-*.row >>"$report"
		for log in "$out/$tool"-twin_*.log; do
			[ -e "$log" ] || continue
			failed=$((failed + 1))
			grep -E '=========|^not ok' "$log" | head -n 12 >&2
		done
	done
	rm -f "$out"/memcheck-*.row "$out"/racecheck-*.row
}

begun=$SECONDS
rm -f "$out/failures.txt" "$out/latency.md"
{
	echo "# GPU report"
	echo
	gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null)
	echo "$(date -u +%Y-%m-%d), ${gpu%%$'\n'*}," \
		"\`test/device/gpu.sh -s $only${without:+ -x $without}\`," \
		"$("$BORESIDE" version 2>&1 | head -n 1)"
} >"$report"
section twins 'Twin tests: the GPU against the host' twins
section hash '100 runs, one hash' hash_lines
section fault 'Faults' fault
section bench 'Times' bench
section service 'Through the service' service
section sanitizer 'compute-sanitizer (BORESIDE_SMALL=1)' sanitizer
say "" && say "$((SECONDS - begun)) s in all; $failed failures"
rm -f "$log"
cat "$report"
[ "$failed" -eq 0 ]
