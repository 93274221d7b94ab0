#!/bin/bash
# test/replay/scan/anatomy.sh - W of an image of the study (ls.w study): the service and `boreside
# recon` give the same bytes, also after recon's end; they are those of the W that `boreside prior`
# makes of the same image; images say whose image and how far off it lies; what does not fit is
# refused in words, or solved without W
set -u
. "$(dirname "$0")/scans.bash"
proton='method = "cartesian"; matrix = [40, 40, 40]; encoded = [40, 40, 40]; coils = 1;
  samples = 40; readouts = 1600;'
sodium='method = "ls"; matrix = [20, 20, 20]; coils = 1; samples = 40; readouts = 400;
  trajectory: { type = "radial3d"; }; image: { output = "complex"; };'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; acq_slots = 64; $patient
  study_scans = 2; };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "mrd"; } );
protocols = (
	{ name = "proton"; $proton $quiet },
	{ name = "other"; $proton $quiet },
	{ name = "sodium"; $sodium $quiet fov_mm = [40.0, 40.0, 40.0];
	  ls: { iterations = 30; w = "study"; w_protocol = "proton"; }; },
	{ name = "later"; $sodium $quiet
	  ls: { iterations = 30; w = "study"; w_protocol = "proton"; w_neighbors = 26;
	  preconditioner = "jacobi"; }; },
	{ name = "lenient"; $sodium $quiet
	  ls: { iterations = 30; w = "study"; w_protocol = "proton"; w_lacking = "without"; }; },
	{ name = "trusting"; $sodium $quiet
	  ls: { iterations = 30; w = "study"; w_protocol = "proton"; w_off = 0.0; }; },
	{ name = "plain"; $sodium $quiet ls: { iterations = 30; lambda = 0.1; }; },
	{ name = "unfold"; method = "cartesian_sense"; matrix = [20, 20, 1]; encoded = [20, 20, 1];
	  coils = 4; samples = 20; readouts = 10; $quiet image: { maps_file = "u_maps.cfl"; };
	  ls: { iterations = 20; w = "study"; w_protocol = "proton"; }; } );
CFG
cd "$dir" || exit 1
phantom() { # protocol, file, more
	local p=$1 id=$2
	shift 2
	check "a phantom: $id" "$BORESIDE" phantom -c site.cfg -p "$p" --measurement "$id" -o \
		"$id.h5" "$@"
}
place="--oblique 20,10 --position-mm 3,-2,5"
check "a phantom: maps" "$BORESIDE" phantom --traj cartesian --matrix 20,20 --coils 4 --accel 2 \
	--scanner --fov-mm 40,40,2 --study 1.2.3 $place -o u.h5
phantom proton p1 --study 1.2.3 $place --snr 100
phantom proton p2 --study 1.2.3 $place --snr 100 --seed 2
phantom proton foreign --study 3.2.1
phantom other p3 --study 1.2.3 $place
noise="--snr 40"
phantom sodium n1 --study 1.2.3 $place $noise
phantom sodium off --study 1.2.3 $noise --oblique 20,10 --position-mm 5,-2,5
phantom sodium half --study 1.2.3 $noise --oblique 20,10 --position-mm 4,-2,5
phantom sodium far --study 1.2.3 $noise --oblique 20,10 --position-mm 203,-2,5
phantom sodium stranger --study 1.2.4 $noise
starts
refused sodium n1.h5 "ls.w of protocol 'sodium': no scan of study '1.2.3' has left"
good lenient n1.h5
same "solved without W" 1 -p lenient n1.h5
good proton foreign.h5
good other p3.h5
refused sodium n1.h5 "no scan of study" # images of another protocol or study are not taken
good proton p1.h5
good sodium n1.h5
same "with W" 1 -p sodium --before proton=p1.h5 n1.h5
cp one.cfl w.cfl
cp one.hdr w.hdr
check "the image that W was made of" "$BORESIDE" recon -c site.cfg -p proton p1.h5 -o p.h5
check "prior makes W of it" "$BORESIDE" prior -c site.cfg -p sodium --scan n1.h5 -o W.mtx p.h5
from='w = "study"; w_protocol = "proton";'
sed "0,/$from/s//lambda = 0.03; l2 = 0.1; w_file = \"W.mtx\";/" site.cfg >file.cfg
check "W of the file" "$BORESIDE" recon -c file.cfg -p sodium n1.h5 -o file.cfl
check "the bytes of the W that prior makes" cmp file.cfl w.cfl
check "a W that does something" sh -c \
	"! \"$BORESIDE\" compare --max-unscaled 1e-3 w.cfl \"$(ls images/*s001-*.cfl)\""
command=prior
expect 1 "only MRD images (.h5) tell their place" -- -c site.cfg -p sodium --scan n1.h5 -o X.mtx \
	w.cfl
expect 1 "has no ls.w \"study\"" -- -c site.cfg -p plain --scan n1.h5 -o X.mtx p.h5
expect 1 "no object in common" -- -c site.cfg -p sodium --scan far.h5 -o X.mtx p.h5
good later n1.h5
same "26 neighbors, made with the first readout" 1 -p later --before proton=p1.h5 n1.h5
good unfold u.h5
same "Cartesian SENSE, a slice through the volume" 1 -p unfold --before proton=p1.h5 u.h5
good sodium half.h5
same "half a voxel off" 1 -p sodium --before proton=p1.h5 half.h5
good sodium off.h5
same "a voxel off" 1 -p sodium --before proton=p1.h5 off.h5
cp one.cfl off.cfl
cp one.hdr off.hdr
good lenient stranger.h5
await written 1
"$BORESIDE" recon -c site.cfg -p lenient off.h5 -o without.cfl >>out.txt 2>&1
check "a voxel off W is not used" cmp off.cfl without.cfl
good trusting off.h5
same "unless the site trusts it" 1 -p trusting --before proton=p1.h5 off.h5
check "which makes another image" sh -c "! cmp -s one.cfl off.cfl"
ended sodium far.h5 "no object in common"
good lenient far.h5
same "far away, without W" 1 -p lenient --before proton=p1.h5 far.h5
old=$(pid)
check "recon is killed" kill -KILL "$old"
await replaced
good sodium n1.h5
await written 1
check "its successor has the image, and makes the same W" cmp "$(of)" w.cfl
good proton p2.h5
good sodium n1.h5
same "the newest image of the study" 1 -p sodium --before proton=p1.h5 --before proton=p2.h5 n1.h5
check "which is another" sh -c "! cmp -s one.cfl w.cfl"
filed() { [ "$(ls mrd/*.h5 2>/dev/null | wc -l)" -ge 8 ]; }
await filed
ends
strings -n 6 mrd/*.h5 >words.txt
says "images say whose image W was made of" 'boreside_w_scan</name><value>p1<' words.txt
says "and p2's" 'boreside_w_scan</name><value>p2<' words.txt
says "that W was used" 'boreside_w</name><value>used<' words.txt
says "that it was not" 'boreside_w</name><value>not used<' words.txt
says "that it lies a voxel off" 'boreside_w_offset</name><value>-\{0,1\}\(0.9\|1.0\)' words.txt
says "that it does not" 'boreside_w_offset</name><value>-\{0,1\}0.[01]' words.txt
says "the weight of W, where the site gives none" 'boreside_lambda</name><value>0.03<' words.txt
says "the weight of the identity" 'boreside_l2</name><value>0.1<' words.txt
check "and why it was not used" grep -q "without W: the scan lies .* voxels from W's image" log.txt
