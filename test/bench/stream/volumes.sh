#!/bin/bash
# test/bench/stream/volumes.sh - volumes at their pace for as long as asked: lag, memory, takers
#
# usage: BORESIDE=path test/bench/stream/volumes.sh [hour | host | h200 | NAME=VALUE]...
# hour: 3,600 volumes at 1 s. host: multiband 2, 36 slices of 64^2, 38 coils to 12, 600 at 1 s.
# h200: multiband 4 x in plane 2, 72 slices of 104^2, 32 coils to 12, CUDA, 600 at 0.8 s, 9 minutes.
# Later names overrule: volumes, tr (ms), slices, matrix, coils, virtual, bands, ry, backend,
# threads, keep (a folder). boreside's libraries: LD_LIBRARY_PATH. Needs bash, awk and ps alone.
# EPI with references goes through serve: replay repeats a short recording. A sink writes one NIfTI
# series. One archive follows; another one takes an image and is then stopped. Prints the latency
# (last line received to volume handed on, what waited in the socket included) of the first volume,
# which calibrates, and of the first and the last tenth of the others; the stages; the memory of
# each process at a tenth and at the end; who has had which images; the machine's load. Judges none.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
volumes=120 tr=500 slices=12 matrix=48 coils=8 virtual=4 bands=2 ry=1 backend=host threads=2 keep=
host="volumes=600 tr=1000 slices=36 matrix=64 coils=38 virtual=12 bands=2 ry=1"
for word in "$@"; do
	case $word in
	hour) eval "$host volumes=3600" ;;
	host) eval "$host" ;;
	h200)
		eval "$host tr=800 slices=72 matrix=104 coils=32 bands=4 ry=2"
		backend=cuda threads=8
		;;
	volumes=* | tr=* | slices=* | matrix=* | coils=* | virtual=* | bands=* | ry=* | \
		backend=* | threads=* | keep=*) eval "$word" ;;
	*) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac
done
[ -z "$keep" ] || { mkdir -p "$keep" && rm -rf "$dir" && dir=$(cd "$keep" && pwd); } || exit 1
cd "$dir" || exit 1
"$BORESIDE" phantom -o scan.h5 --traj cartesian --scanner --epi --encoded $((2 * matrix)),$matrix \
	--matrix "$matrix,$matrix" --slices "$slices" --coils "$coils" --multiband "$bands" \
	--accel "$ry" --repetitions 3 --slice-order interleaved --dwell-us 1 --snr 40 \
	--tr-us $((1000 * tr * bands / slices)) --epi-phase 0.4 --epi-drift 0.01 >out.txt || exit 1
cat >site.cfg <<CFG
node: { name = "volumes"; run_dir = "run"; cache_dir = ""; threads = $threads;
	memory_mib = 16384; };
endpoints: { archive = ""; images = "ipc://run/images.ipc"; };
sinks = ( { type = "nifti_4d"; dir = "series"; } );
protocols = ( { name = "phantom"; method = "cartesian"; backend = "$backend";
	matrix = [$matrix, $matrix]; encoded = [$((2 * matrix)), $matrix, 1]; coils = $coils;
	samples = $((2 * matrix)); readouts = "header"; slices = $slices; virtual_coils = $virtual;
	epi: { correct = true; }; parallel = "slice_grappa"; multiband: { factor = $bands; };
	image: { volume = true; }; budget: { image_ms = $tr.0; calibration_ms = $tr.0;
	admission = "trust"; }; } );
CFG
# slice by slice, what the weights of all of them took; of a volume its last group's are told
sed 's/image: { volume = true; };//' site.cfg >slices.cfg
"$BORESIDE" recon -c slices.cfg -o slices.h5 scan.h5 >>out.txt 2>&1
weights=$(grep -a -h -o 'boreside_stage_calibration_us</name><value>[^<]*' slices*.h5 |
	sed 's/.*>//' | awk '{ s += $1 } END { printf "%.1f ms (N %d groups)", s / 1e3, NR }')
rm -f slices*.h5
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null
memory() { # KiB, private and shared: the service's processes by their names
	local pid
	for pid in $serve $(ps -o pid= --ppid $serve); do
		echo "$(tr '\0' ' ' <"/proc/$pid/cmdline" |
			awk '{ print $2 == "worker" ? $3 : $2 }')" \
			"$(awk '/RssAnon/ { a = $2 } /RssShmem/ { s = $2 } END { print a "+" s }' \
				"/proc/$pid/status")"
	done | xargs
}
"$BORESIDE" receive -c site.cfg -o follower --name follower >follower.txt 2>&1 &
follower=$!
"$BORESIDE" receive -c site.cfg -o stalled --name stalled >stalled.txt 2>&1 &
stalled=$!
gone() { kill -CONT $stalled; kill $stalled $follower; rm -f scan.h5; [ -n "$keep" ] || end; }
trap 'gone 2>/dev/null' EXIT
count() { find "$1" -name '*.h5' | wc -l; }
"$BORESIDE" replay -c site.cfg -p phantom --repeat "$volumes" scan.h5 >replay.txt 2>&1 &
sender=$!
until [ "$(count stalled)" -ge 1 ] || ! kill -0 $sender; do sleep 0.1; done 2>/dev/null
kill -STOP $stalled
tenth=$((volumes / 10))
until [ "$(count follower)" -ge $tenth ] || ! kill -0 $sender; do sleep 0.2; done 2>/dev/null
first=$(memory) load=$(cut -d' ' -f1-3 /proc/loadavg)
wait $sender
behind=$((volumes - $(count follower)))
busy() { # s of a processor, by the service's processes
	ps -o cputimes= -p $serve --ppid $serve | awk '{ s += $1 } END { print s }'
}
all() { [ "$(count follower)" -ge "$volumes" ]; }
await all
last=$(memory) used=$(busy)
LC_ALL=C grep -a -h -o 'boreside_[a-z_]*</name><value>[^<]*' follower/*.h5 >words.txt
said() { # said NAME: boreside_NAME of each volume that the follower has, in their order
	sed -n "s/^boreside_$1<.*>//p" words.txt
}
said latency_us | awk '{ print $1 / 1000 }' >lags.txt
spread() { # of the numbers, one a line
	sort -g | awk '{ v[NR] = $1 } END { if (NR > 0)
		printf "p50 %.3f p99 %.3f max %.3f ms (N %d)\n", v[int((NR + 1) / 2)],
			v[int((99 * NR + 99) / 100)], v[NR], NR }'
}
grep -E 'outcome|due time' replay.txt
echo "$volumes volumes of $slices slices of $matrix^2, multiband $bands x $ry, $coils coils" \
	"($virtual virtual), every $tr ms, on: $("$BORESIDE" status -c site.cfg --json |
		grep -o '"place":"[^"]*' | sed 's/.*"//'), $threads of $(nproc) threads"
echo "weights of all $slices slices, one after the other, by recon: $weights"
echo "first volume:     $(head -n 1 lags.txt) ms, of it its last group's weights" \
	"$(said stage_calibration_us | awk '{ printf "%.1f ms ", $1 / 1e3 }')"
echo "lag, first tenth: $(sed 1d lags.txt | head -n $tenth | spread)"
echo "lag, last tenth:  $(tail -n $tenth lags.txt | spread)"
echo "lag, all others:  $(sed 1d lags.txt | spread)"
for stage in upload accumulate combine download; do
	echo "stage $stage: $(said stage_${stage}_us | sed 1d | awk '{ print $1 / 1000 }' | spread)"
done
echo "the follower lacked $behind when the sender was done; stage taken, us:" \
	"$("$BORESIDE" status -c site.cfg --json | grep -o '"stage":"taken"[^}]*' | tail -n 1)"
echo "budget: $(said budget | sort | uniq -c | xargs); quality: $(said quality | sort | uniq -c |
	xargs); engines: $(said engine | sort -u | xargs)"
echo "images once: follower $(count follower), numbers 1 to $(ls follower | sed -n \
	's/.*-i0*\([0-9]*\)-.*/\1/p' | sort -nu | awk '{ if ($1 != NR) bad = 1 } END { print NR,
	bad ? "WITH GAPS" : "without a gap" }'); series $(od -An -t d2 -j 48 -N 2 series/*.4d.nii |
	tr -d ' '); the stalled archive has $(count stalled)"
echo "KiB private+shared, first tenth: $first"
echo "KiB private+shared, at the end:  $last"
echo "the service's processes took $used s of processors for $volumes volumes, arming included"
echo "load: $load at a tenth, $(cut -d' ' -f1-3 /proc/loadavg) at the end"
kill -TERM $serve
wait $serve
serve=
