#!/bin/sh
# board/deploy/demo.sh PROGRAM: simulated scans stream through the service; images and their
# latencies come out. Ends with 1 when an image is missing.
set -eu
boreside=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
dir=$here/build/demo
site=$dir/demo.cfg
rm -rf "$dir"
mkdir -p "$dir/run" "$dir/out"
chmod 750 "$dir/run"
cp "$here/config/demo.cfg" "$site"

phantom() { # protocol, frames, further options
	p=$1 frames=$2
	shift 2
	"$boreside" phantom -c "$site" -p "$p" --snr 30 --repetitions "$frames" "$@" -o "$dir/$p.h5"
}

echo "1. the configuration: its memory plan and budgets"
"$boreside" check "$site" | sed -n '/^# Memory plan/,$p'
echo "2. two phantom scans: analytic k-space, with noise"
phantom demo_radial 20 --tr-us 3000
phantom demo_stack 4 --dwell-us 2 --tr-us 3000
echo "3. the service: it arms, measures what it can promise, and waits"
"$boreside" serve -c "$site" 2>"$dir/serve.log" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
tries=120
until "$boreside" status -c "$site" --wait 1 2>"$dir/wait.log"; do
	tries=$((tries - 1))
	if [ $tries -eq 0 ] || ! kill -0 $server 2>/dev/null; then
		cat "$dir/wait.log" "$dir/serve.log" >&2
		exit 1
	fi
done
echo "4. the scans, streamed in real time"
for p in demo_radial demo_stack; do
	"$boreside" replay -c "$site" -p $p "$dir/$p.h5"
done
echo "5. what the service measured, stage by stage"
"$boreside" status -c "$site" --latency | tee "$dir/latency.txt"

echo "6. images, from the last readout received to the image handed on, in ms"
missing=0
scan=0
line='%-24s %7s %8s %8s %8s %8s %7s %s\n'
# shellcheck disable=SC2059  # the format is the line above
printf "$line" images count p50 p99 max budget misses 'last one against the true image'
for want in demo_radial:20 demo_stack:4; do
	p=${want%:*}
	scan=$((scan + 1))
	images=$(find "$dir/out" -name "uid*-s00$scan-*.png" | wc -l)
	[ "$images" -eq "${want#*:}" ] || missing=1
	last=$(find "$dir/out" -name "uid*-s00$scan-*.h5" | sort | tail -n 1)
	error=$("$boreside" compare "$last" "$dir/${p}_true.cfl" | sed -n 's/^scaled *//p')
	# protocol image N p50 p99 p99.9 max misses explained "of a budget of" B "ms"
	set -- $(awk -v p=$p '$1 == p && $2 == "image" {
		printf "%.2f %.2f %.2f %s %s", $4 / 1e3, $5 / 1e3, $7 / 1e3, $14, $8 }' \
		"$dir/latency.txt")
	printf "$line" "$p" "$images" "$1" "$2" "$3" "$4" "$5" "$error"
done
echo "images: $dir/out/*.png"
[ $missing -eq 0 ] || { echo "demo: images are missing"; exit 1; }
