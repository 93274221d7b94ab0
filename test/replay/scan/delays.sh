#!/bin/bash
# test/replay/scan/delays.sh - a radial scan whose gradients were late: the delays that its spokes
# show, and with them the image of the true trajectory, by recon and through the service
set -u
. "$(dirname "$0")/../../support/scratch.bash"
scan=$DATA/scan/radial2d_delay_8ch.h5
needs "$scan" "delays"
cd "$dir" || exit 1

# the true ones (the recording's README): 0.31, -0.22, 0.10; 2e-3 is what is asked for
"$BORESIDE" delays --spokes 64 "$scan" >found 2>log
near=$(sed -n 's/.*delay = \[\([^,]*\), \([^,]*\),.*cross = \[\([^,]*\),.*/\
(\1-0.31)^2 < 4*10^-6 \&\& \
(\2+0.22)^2 < 4*10^-6 \&\& (\3-0.10)^2 < 4*10^-6/p' found | tr -d '\\\n')
[ -n "$near" ] && [ "$(echo "$near" | bc -l)" = 1 ] && echo "ok delays: $(head -n 1 found)" ||
	echo "not ok delays: $(cat found log)"
"$BORESIDE" delays --spokes 1 "$scan" >/dev/null 2>log
[ $? -eq 2 ] && echo "ok one spoke crosses none: usage" || echo "not ok --spokes 1: $(cat log)"

protocol() { # protocol NAME TRAJECTORY
	echo "{ name = \"$1\"; method = \"sense\"; backend = \"host\"; matrix = [128, 128];
	    coils = 8; samples = 256; readouts = 256; $quiet
	    image: { maps_file = \"$DATA/scan/ref/brain128_maps.cfl\"; output = \"complex\"; };
	    gridding: { accuracy = 1e-5; }; ls: { lambda = 0.001; iterations = 90; };
	    trajectory: { type = \"file\"; $2 }; }"
}
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; $patient };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = (
$(protocol nominal "file = \"$scan\";"),
$(protocol delayed "file = \"$scan\"; $(sed -n 's/^trajectory: { \(.*\) }$/\1/p' found)"),
$(protocol estimated "estimate_delay = true;" | sed 's/"file"/"stream"/'),
{ name = "frames"; method = "gridding"; matrix = [48, 48]; coils = 3; samples = 96; readouts = 40;
  $quiet gridding: { density = "ramp"; };
  trajectory: { type = "stream"; estimate_delay = true; }; },
{ name = "curves"; method = "gridding"; matrix = [48, 48]; coils = 3; samples = 400; readouts = 8;
  $quiet trajectory: { type = "stream"; estimate_delay = true; }; } );
CFG
# How far from conjugate gradients with the dense matrix of the true trajectory: 90 steps there and
# here have not converged (60 steps end 1.2e-2 away from it, 140 3.6e-3), so 3e-3 is asked for.
off() { "$BORESIDE" compare --mask "$DATA/scan/ref/brain128_mask.cfl" $2 "$1" \
	"$DATA/scan/ref/radial2d_delay_cgsense_true.cfl" 2>&1; }
for p in nominal delayed estimated; do
	"$BORESIDE" recon -c site.cfg -p $p "$scan" -o $p.cfl >log 2>&1 && echo "ok recon $p" ||
		echo "not ok recon $p: $(cat log)"
done
off delayed.cfl "--max-unscaled 3e-3" >log && echo "ok delayed: $(grep unscaled log)" ||
	echo "not ok delayed: $(cat log)"
off estimated.cfl "--max-unscaled 3.3e-3" >log && echo "ok estimated: $(grep unscaled log)" ||
	echo "not ok estimated: $(cat log)"
off nominal.cfl "--max-unscaled 1e-2" >log && echo "not ok nominal is no nearer: $(cat log)" ||
	echo "ok nominal: $(grep unscaled log)"

starts
"$BORESIDE" replay -c site.cfg --asap $patience -p delayed "$scan" >log 2>&1 &&
	echo "ok the stream, which has the trajectory that was asked for, is admitted" ||
	echo "not ok replay: $(cat log)"
written() { ls images/*.cfl >/dev/null 2>&1; }
await written
cmp -s images/*.cfl delayed.cfl && echo "ok the service's image is recon's, bit for bit" ||
	echo "not ok the service's image differs"

# Delays from the scan itself: two frames of it, both moved by what the first one tells.
phantom=("$BORESIDE" phantom --matrix 48,48 --coils 3)
"${phantom[@]}" --traj radial2d --samples 96 --readouts 40 --repetitions 2 --delay 0.7,-0.4,0.2 \
	-o frames.h5 >log 2>&1 || echo "not ok phantom: $(cat log)"
"${phantom[@]}" --traj spiral2d --samples 400 --readouts 8 -o curves.h5 >log 2>&1 ||
	echo "not ok phantom: $(cat log)"
"$BORESIDE" recon -c site.cfg -p frames frames.h5 -o frames-0001.cfl >log 2>&1
"$BORESIDE" recon -c site.cfg -p frames frames.h5 -o said.h5 >log 2>&1
said=$(grep -ao 'boreside_delay</name><value>[^<]*' said.h5 | sort -u | sed 's/.*>//')
awk -v said="$said" 'BEGIN { n = split(said, v, " ")
	near = n == 3 && (v[1] - 0.7)^2 < 1e-4 && (v[2] + 0.4)^2 < 1e-4
	print near ? "ok" : "not ok", "both images say the same delays:", said }'
rm -f images/*
"$BORESIDE" replay -c site.cfg --asap $patience -p frames frames.h5 >log 2>&1
written() { [ "$(find images -name '*.hdr' | wc -l)" -ge 2 ]; }
await written
mapfile -t made < <(find images -name '*.cfl' | sort)
cmp -s "${made[0]}" frames-0001.cfl && cmp -s "${made[1]}" frames-0001-0002.cfl &&
	echo "ok the service estimates as recon does, bit for bit" ||
	echo "not ok the service's images differ: $(cat log)"
"$BORESIDE" replay -c site.cfg --asap $patience -p curves curves.h5 >log 2>&1
grep -q 'estimate_delay: readout 0 is no straight' log &&
	echo "ok a scan of no spokes: $(grep -o 'trajectory.estimate_delay.*' log | head -n 1)" ||
	echo "not ok a scan of no spokes: $(cat log)"
