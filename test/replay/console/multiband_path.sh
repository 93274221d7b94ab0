#!/bin/bash
# test/replay/console/multiband_path.sh - slices that were excited at once along a trajectory,
# solved for together by maps of a file: each slice is an image of its own, complete, and that of an
# independent least squares, phase included; the service gives recon's bytes, as 1 and 7 threads do.
# What does not fit is refused in words.
set -u
. "$(dirname "$0")/console.bash"
begin "slices at once along spokes"
name=sms_radial_mb2
multiband=$BUILD/test/support/recording/multiband
# lambda is 1e-3 of the mean diagonal of the system: of 1632 samples, sum |S|^2 0.5912, 1152 voxels
solver='ls: { fhd = "exact"; q = "exact"; lambda = 8.3752e-4; iterations = 1000; '
solver+='tolerance = 1e-9; };'

part() { # part NAME I: slice I of a reference of 24 x 24 as part.cfl
	tail -c +$((4608 * $2 + 1)) "$ref/$1.cfl" | head -c 4608 >part.cfl
	printf '# Dimensions\n24 24 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n' >part.hdr
}
run() { # run CONFIG NAME: recon's images, with what it says in NAME.log
	rm -f "$2".cfl "$2"-0*.cfl
	"$BORESIDE" recon -c "$1.cfg" -o "$2.cfl" "$from/$name.h5" >"$2.log" 2>&1
}
"$BORESIDE" init --from "$from/$name.h5" -o gridded.cfg >log 2>&1
image="image: { output = \"complex\"; maps_file = \"$ref/${name}_maps.cfl\"; };"
bands="parallel = \"sense_sms\"; multiband: { factor = 2; };"
sed -e "s|method = \"gridding\";|method = \"sense\"; $solver $bands $image|" \
	-e '/^\t\tgridding: {/,/};/d' gridded.cfg >$name.cfg
run $name $name
served $name
is $name complete
check "none is partial" sh -c "! grep -q partial $name.log $name.out"
for n in 0 1; do
	image=$([ $n -eq 0 ] && echo $name.cfl || echo $name-0002.cfl)
	part ${name}_ls $n
	check "slice $n: at most 1e-3 of ${name}_ls" "$BORESIDE" compare --max-unscaled 1e-3 \
		"$image" part.cfl
	part ${name}_true $n
	check "slice $n: at most 0.04 of ${name}_true" "$BORESIDE" compare --max-unscaled 0.04 \
		"$image" part.cfl
done
sed 's/fhd = "exact"; q = "exact"; //' $name.cfg >nufft.cfg
run nufft nufft
part ${name}_ls 0
check "by the NUFFT: at most 2e-3" "$BORESIDE" compare --max-unscaled 2e-3 nufft.cfl part.cfl
for threads in 1 7; do
	sed "s/^\tname = \"boreside\";.*/&\n\tthreads = $threads;/" $name.cfg >threads.cfg
	run threads threads
	check "$threads threads, the same bytes" cmp threads.cfl $name.cfl
	check "$threads threads, slice 1" cmp threads-0002.cfl $name-0002.cfl
done

"$multiband" "$from/$name.h5" turn.h5 header "<deltaKz>0.01666667" "<deltaKz>0.00833333" >log 2>&1
"$BORESIDE" recon -c $name.cfg -o turn.cfl turn.h5 >turn.log 2>&1
check "another phase than the protocol's is refused" grep -q \
	"slice 1 of a group turns by 0.25 from readout to readout, the protocol is armed for 0.5" \
	turn.log
check "and no image" test ! -e turn.cfl
sed "s|maps_file = \"[^\"]*\"|maps = \"espirit\"|" $name.cfg >made.cfg
run made made
check "maps of the scan are refused" grep -q \
	"image.maps: of the scan: not with parallel sense_sms and method sense" made.log
