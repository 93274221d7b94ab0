#!/bin/bash
# test/bench/stream/volumes.sh - volumes at their pace for as long as asked: the lag, and memory
#
# usage: BORESIDE=path test/bench/stream/volumes.sh [VOLUMES [TR_MS [SLICES [MATRIX [COILS]]]]]
# (120 500 12 48 2; an hour at 1 s: 3600 1000). EPI through serve, as MRD files and as one NIfTI
# series. Prints the latency (last line received to volume handed on) of the first and the last
# tenth, and the resident memory of each process by then. Judges nothing.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
volumes=${1:-120} tr=${2:-500} slices=${3:-12} matrix=${4:-48} coils=${5:-2}
cd "$dir" || exit 1
: >out.txt
"$BORESIDE" phantom -o scan.h5 --traj cartesian --scanner --epi --matrix $matrix,$matrix \
	--slices $slices --coils $coils --repetitions $volumes --slice-order interleaved \
	--dwell-us 2 --tr-us $((1000 * tr / slices)) --snr 40 >>out.txt || exit 1
"$BORESIDE" init --from scan.h5 -o init.cfg >>out.txt || exit 1
sed "s/^\t\tmatrix = /\t\timage: { volume = true; };\n&/
	s/{ type = \"png\"; dir = \"images\"; }/{ type = \"nifti_4d\"; dir = \"series\"; }/" \
	init.cfg >site.cfg
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null
rss() { # KiB: the service's processes by their names
	ps -o rss=,args= -p $serve --ppid $serve |
		awk '{ n = $3 == "worker" ? $4 : "serve"; printf "%s %d  ", n, $1 }'
}
filed() { ls images | grep -c 'h5$'; } 2>/dev/null
"$BORESIDE" replay -c site.cfg scan.h5 >replay.txt 2>&1 &
sender=$!
tenth=$((volumes / 10))
await test -d images
until [ "$(filed)" -ge $tenth ] || ! kill -0 $sender 2>/dev/null; do sleep 0.2; done
first=$(rss)
wait $sender
all() { [ "$(filed)" -ge $volumes ]; }
await all
last=$(rss)
lags() { # ms, volume by volume
	for i in images/*.h5; do
		grep -a -h -o 'boreside_latency_us</name><value>[^<]*' "$i" | sed 's/.*>//'
	done | awk '{ print $1 / 1000 }'
}
lags >lags.txt
spread() { sort -g | awk '{ v[NR] = $1 } END { printf "p50 %.3f max %.3f ms (N %d)\n",
	v[int((NR + 1) / 2)], v[NR], NR }'; }
grep -E 'outcome|due time' replay.txt
echo "$volumes volumes of $slices slices of $matrix^2, $coils coils, every $tr ms"
echo "lag, first tenth: $(head -n $tenth lags.txt | spread)"
echo "lag, last tenth:  $(tail -n $tenth lags.txt | spread)"
echo "lag, all:         $(spread <lags.txt)"
echo "KiB, first tenth: $first"
echo "KiB, at the end:  $last"
echo "volumes in the series: $(od -An -t d2 -j 48 -N 2 series/*.4d.nii | tr -d ' ')"
kill -TERM $serve
wait $serve
serve=
