#!/bin/sh
# board/demo.sh PROGRAM: a simulated scan streams through the service; images and latencies come out.
set -eu
boreside=$1
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$here/build/demo
rm -rf "$dir"
mkdir -p "$dir/run" "$dir/out"
chmod 750 "$dir/run"
cp "$here/config/demo.cfg" "$dir/demo.cfg"

echo "1. the configuration: its memory plan and budgets"
"$boreside" check "$dir/demo.cfg" | sed -n '/^# Memory plan/,$p'
echo "2. a phantom scan: analytic k-space, with noise"
"$boreside" phantom -c "$dir/demo.cfg" -p demo_radial --snr 30 --repetitions 10 -o "$dir/scan.h5"
echo "3. the service"
"$boreside" serve -c "$dir/demo.cfg" 2>"$dir/serve.log" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
"$boreside" status -c "$dir/demo.cfg" --wait 60
echo "4. the scan, streamed in real time"
"$boreside" replay -c "$dir/demo.cfg" -p demo_radial "$dir/scan.h5"
echo "5. latencies, from the last readout received to the image handed on"
"$boreside" status -c "$dir/demo.cfg"
"$boreside" compare "$(find "$dir/out" -name "*.h5" | sort | tail -n 1)" "$dir/scan_true.cfl" | grep "^scaled" | sed "s/^scaled/   last image against the true one, after scaling:/"
echo "images: $dir/out"
