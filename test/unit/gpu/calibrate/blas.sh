#!/bin/bash
# test/unit/gpu/calibrate/blas.sh - whichever LAPACK the machine has: the service's processes have
# no thread but theirs, signals end and reload it, status and certificate name the library, and
# images have the same bytes for any number of threads that it is offered; a machine without one is
# told so
#   OPENBLAS  folders, each with an OpenBLAS as liblapack.so.3; Debian's, where they are installed
set -u
. "$(dirname "$0")/../../../support/scratch.bash"
cd "$dir" || exit 1
lines='backend = "host"; method = "cartesian"; matrix = [96, 96]; encoded = [192, 96, 1];
	coils = 8; samples = 192; readouts = "header";'
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
	{ name = "maps"; $lines $quiet virtual_coils = 6; budget: { image_ms = 60000.0;
	  calibration_ms = 60000.0; admission = "trust"; };
	  image: { combine = "sense"; maps = "espirit"; }; },
	{ name = "grappa"; $lines $quiet parallel = "grappa"; },
	{ name = "plain"; $lines $quiet } );
CFG
check "maps: a phantom" "$BORESIDE" phantom -c site.cfg -p maps --repetitions 2 --motion 0.4,2.5 \
	-o maps.h5
check "grappa: a phantom" "$BORESIDE" phantom -c site.cfg -p grappa --repetitions 2 --accel 2 \
	--calibration embedded,24 -o grappa.h5
check "plain: a phantom" "$BORESIDE" phantom -c site.cfg -p plain -o plain.h5
json() { "$BORESIDE" status -c site.cfg --json; }
worker() { json | sed -n "s/.*\"name\":\"$1\",\"pid\":\([0-9]*\).*/\1/p"; }
threads() { # threads PID: each name, and how many have it
	cat "/proc/$1/task"/*/comm | sort | uniq -c | xargs
}
own_threads() { # own_threads WHEN
	local canaries
	canaries=$(json | sed 's/.*"canary"//; s/"kspace".*//' | grep -o '"cpu"' | wc -l)
	check "$1 the supervisor has a thread and $canaries canaries: $(threads $serve)" \
		[ "$(threads $serve)" = "1 $(basename "$BORESIDE") $canaries bs-canary" ]
	check "$1 ingest has one thread" [ "$(threads "$(worker ingest)")" = "1 bs-ingest" ]
	check "$1 recon has its team of two" [ "$(threads "$(worker recon)")" = "2 bs-recon" ]
	# its loop, the status, two that take (sink, archive), two of sockets (archive, viewers)
	check "$1 emit has six" [ "$(threads "$(worker emit)")" = "6 bs-emit" ]
}
written() { [ "$(ls images/*.cfl 2>/dev/null | wc -l)" -eq 4 ]; }
one() { # one WORDS FOLDER: a service with the LAPACK of a folder
	local words=$1 named p i recon scan=0
	export LD_LIBRARY_PATH=$2
	rm -rf images
	"$BORESIDE" serve -c site.cfg 2>log.txt &
	serve=$!
	# shellcheck disable=SC2086 # two words
	check "$words: a service" "$BORESIDE" status -c site.cfg $ready
	named=$(json | sed -n 's/.*"lapack":"\([^"]*\)".*/\1/p')
	check "$words: status names $named" [ -n "$named" -a -f "${named%%,*}" ]
	[ -z "$2" ] || check "$words: which lies there" \
		[ "$(dirname "${named%%,*}")" = "$(realpath "$2")" ]
	own_threads "$words: armed,"
	for p in maps grappa; do
		# shellcheck disable=SC2086 # two words
		check "$words: $p" "$BORESIDE" replay -c site.cfg --asap $patience -p $p $p.h5
	done
	check "$words: four images" await written
	own_threads "$words: after scans,"
	check "$words: SIGHUP: reload" "$BORESIDE" reload -c site.cfg
	check "$words: SIGUSR1: drain" "$BORESIDE" drain -c site.cfg
	wait $serve
	check "$words: and the service ends with 0" [ $? -eq 0 ]
	serve=
	for p in maps grappa; do
		for i in 1 4; do
			recon="env OPENBLAS_NUM_THREADS=$i OMP_NUM_THREADS=$i $BORESIDE recon"
			check "$words: $p alone, offered $i threads" $recon -c site.cfg -p $p \
				$p.h5 -o "$p$i.cfl"
		done
		check "$words: $p: the same bytes" cmp ${p}1.cfl ${p}4.cfl
		scan=$((scan + 1))
		check "$words: $p: and those of the service" \
			cmp ${p}1.cfl "$(ls images/*s00$scan-*.cfl | head -n 1)"
	done
	check "$words: a certificate" "$BORESIDE" certify -c site.cfg -p maps --seconds 1 \
		-o certificate maps.h5
	check "$words: names it for people" grep -qF "| LAPACK | $named |" \
		certificate/certificate.md
	check "$words: and for programs" grep -qF "\"lapack\":\"$named\"" \
		certificate/certificate.json
	rm -rf certificate
	unset LD_LIBRARY_PATH
}
one "the machine's" ""
found=
for folder in ${OPENBLAS:-/usr/lib/*/openblas-*}; do
	[ -e "$folder/liblapack.so.3" ] || continue
	one "${folder##*/}" "$folder"
	found=1
done
[ -n "$found" ] || echo "skip OpenBLAS: it is not here (libopenblas0-pthread)"

# ---- no LAPACK ----
mkdir no
: >no/liblapack.so.3
export LD_LIBRARY_PATH=$dir/no
"$BORESIDE" recon -c site.cfg -p maps maps.h5 -o no.cfl >said.txt 2>&1
check "no LAPACK: recon says so: $(cat said.txt)" grep -q \
	"BS_ERR_UNSUPPORTED.*LAPACK cannot be loaded: .*liblapack.so.3" said.txt
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
# shellcheck disable=SC2086 # two words
check "no LAPACK: a service" "$BORESIDE" status -c site.cfg $ready
check "no LAPACK: two protocols are refused with that reason" \
	[ "$(json | grep -o '"refused":"LAPACK cannot be loaded' | wc -l)" -eq 2 ]
check "no LAPACK: none is named" eval "json | grep -q '\"lapack\":\"\",'"
# shellcheck disable=SC2086 # two words
check "no LAPACK: the third one is served" "$BORESIDE" replay -c site.cfg --asap $patience \
	-p plain plain.h5
check "no LAPACK: drained" "$BORESIDE" drain -c site.cfg
wait $serve
check "no LAPACK: the service ends with 0" [ $? -eq 0 ]
serve=
