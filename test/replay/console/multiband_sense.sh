#!/bin/bash
# test/replay/console/multiband_sense.sh - slices that were excited at once, solved for together:
# each slice is an image of its own, complete, in its place, by maps of the references or of a file,
# within the bounds of an independent SENSE; the service gives recon's bytes, as 1 and 7 threads do.
# References with and without their bands' phases, flagged or as the first repetition; every second
# line, irregular lines. What does not fit is refused, or partial, in words.
set -u
. "$(dirname "$0")/console.bash"
begin "slices at once by SENSE"
multiband=$BUILD/test/support/recording/multiband
solver='ls: { iterations = 100; tolerance = 1e-6; lambda = 1e-4; };'

file_of() { # file_of NAME N: recon's image N
	[ "$2" -eq 1 ] && echo "$1.cfl" || printf '%s-%04d.cfl' "$1" "$2"
}
part() { # part NAME I: slice I of a reference of $x x $y as part.cfl
	local bytes=$((8 * x * y))
	tail -c +$((bytes * $2 + 1)) "$ref/$1.cfl" | head -c $bytes >part.cfl
	printf '# Dimensions\n%d %d 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n' "$x" "$y" >part.hdr
}
near() { # near WORDS IMAGE REFERENCE SLICE MOST
	part "$3" "$4"
	check "$1: at most $5 of $3, slice $4" "$BORESIDE" compare --max-unscaled "$5" "$2" part.cfl
}
sense() { # sense NAME IMAGE CONFIG: init's site file with SENSE, image: { IMAGE }, as CONFIG.cfg
	[ -e "$1.cfg" ] || "$BORESIDE" init --from "$from/$1.h5" -o "$1.cfg" >log 2>&1
	sed "s|slice_grappa\"|sense_sms\"; $solver image: { $2 }|" "$1.cfg" >"$3.cfg"
}
run() { # run CONFIG RECORDING NAME: recon's images, with what it says in NAME.log
	rm -f "$3".cfl "$3"-0*.cfl
	"$BORESIDE" recon -c "$1.cfg" -o "$3.cfl" "$2" >"$3.log" 2>&1
}
# row NAME X Y MOST SLICE...: by ESPIRiT's maps of the references
row() {
	local name=$1 most=$4 n=0 slice
	x=$2 y=$3
	shift 4
	sense "$name" 'maps = "espirit";' "$name.s" && mv "$name.s.cfg" "$name.cfg"
	run "$name" "$from/$name.h5" "$name"
	served "$name"
	is "$name" complete
	for slice in "$@"; do
		n=$((n + 1))
		near "$name: image $n" "$(file_of "$name" $n)" "${name}_true" "$slice" "$most"
	done
	check "$name: $n images" test "$(ls "$name".cfl "$name"-0*.cfl | wc -l)" -eq "$n"
	check "$name: none is partial" sh -c "! grep -q partial $name.log $name.out"
	for threads in 1 7; do
		sed "s/^\tname = \"boreside\";.*/&\n\tthreads = $threads;/" "$name.cfg" >threads.cfg
		run threads "$from/$name.h5" threads
		for n in $(seq $#); do
			cmp "$(file_of threads "$n")" "$(file_of "$name" "$n")" || break
		done >cmp.out 2>&1
		check "$name: $threads threads, the same bytes" test ! -s cmp.out
	done
}
row sms_mb2 30 36 0.013 0 1
row sms_mb2_blipped_ref 30 36 0.013 0 1
row sms_mb2_groups 20 24 0.013 0 2 1 3
row sms_mb3 30 30 0.022 0 1 2
check "which references these are" grep -q \
	"boreside_references</name><value>with their bands' phases, 0.03" sms_mb2_blipped_ref.text
"$BORESIDE" recon -c sms_mb2_groups.cfg -o place.nii "$from/sms_mb2_groups.h5" >log 2>&1
for image in place.nii place-000[234].nii; do
	od -A n -t f4 -j 276 -N 4 "$image"
done | tr -d ' ' | xargs >places
check "each slice in its place" test "$(cat places)" = "0 30 15 45"

# maps of a file: no references are needed, and the first repetition holds several slices
x=30 y=36
sed "s|maps = \"espirit\"|maps_file = \"$ref/sms_mb2_maps.cfl\"; output = \"complex\"|" \
	sms_mb2.cfg >given.cfg
run given "$from/sms_mb2.h5" given
# the lambda of the reference is 1e-4 of the mean diagonal of each voxel's own system
near "by given maps" given.cfl sms_mb2_sense 0 2e-4
near "by given maps" given-0002.cfl sms_mb2_sense 1 2e-4
"$multiband" "$from/sms_mb2.h5" bands.h5 bands 2 >log 2>&1
run given bands.h5 bands
check "by given maps, without references: 4 images" grep -q "^4 images" bands.log
check "none partial" sh -c "! grep -q partial bands.log"
for n in 1 2; do
	check "image $n, as with references" "$BORESIDE" compare --max-unscaled 1e-5 \
		"$(file_of bands $n)" "$(file_of given $n)"
	check "image $((n + 2)), the same" cmp "$(file_of bands $((n + 2)))" "$(file_of bands $n)"
done
"$multiband" "$from/sms_mb2.h5" external.h5 header "<calibrationMode>separate" \
	"<calibrationMode>external" >log 2>&1
run given external.h5 external
check "calibrationMode external: given maps" cmp external.cfl given.cfl

# accelerated in plane, at one step or not
for name in sms_mb2 sms_mb3; do
	"$multiband" "$from/$name.h5" "half_$name.h5" every 2 >log 2>&1
	run $name "half_$name.h5" "half_$name"
done
check "every second line does not tell of half a field of view" grep -q \
	"lines do not tell whether the references have their bands' phases" half_sms_mb2.log
check "and so refused" test ! -e half_sms_mb2.cfl
run given half_sms_mb2.h5 half
near "2 bands x 2 by given maps" half.cfl sms_mb2_sense 0 0.03
near "2 bands x 2 by given maps" half-0002.cfl sms_mb2_sense 1 0.03
sed 's/factor = 2;/& shift = 1.0;/' sms_mb2.cfg >none.cfg
run none half_sms_mb2.h5 none
near "2 bands x 2, said to be not moved" none.cfl sms_mb2_true 0 0.03
near "2 bands x 2, said to be not moved" none-0002.cfl sms_mb2_true 1 0.03
x=30 y=30
near "3 bands x 2" half_sms_mb3.cfl sms_mb3_true 0 0.09
near "3 bands x 2" half_sms_mb3-0002.cfl sms_mb3_true 1 0.09
near "3 bands x 2" half_sms_mb3-0003.cfl sms_mb3_true 2 0.09
"$multiband" "$from/sms_mb3.h5" center.h5 every 2 center >log 2>&1
run sms_mb3 center.h5 center
near "3 bands, lines of two steps" center.cfl sms_mb3_true 0 0.09
check "lines of two steps: none is partial" sh -c "! grep -q partial center.log"

# what a frame lacks is its own loss, and each repetition has a solve of its own
"$multiband" "$from/sms_mb2.h5" cut.h5 again 2 cut >log 2>&1
run sms_mb2 cut.h5 cut
check "a first frame of 8 lines is partial" grep -q \
	"image 1 is partial: 28 of 36 readouts did not come$" cut.log
for n in 1 2; do
	check "the next one is as without it" cmp "cut-000$((2 * n)).cfl" \
		"$(file_of sms_mb2 $n)"
done

# the first repetition has the slices one by one, and neither header nor flags say anything
x=20 y=24
"$multiband" "$from/sms_mb2_groups.h5" first.h5 references 2 >log 2>&1
run sms_mb2_groups first.h5 first
check "references as the first repetition: 12 images" grep -q "^12 images" first.log
check "none partial" sh -c "! grep -q partial first.log"
near "a reference is an image" first-0002.cfl sms_mb2_groups_true 1 0.026
for n in 1 2 3 4; do
	for again in 4 8; do
		check "image $((n + again)) is the one by flagged references" "$BORESIDE" compare \
			--max-unscaled 1e-5 "$(file_of first $((n + again)))" \
			"$(file_of sms_mb2_groups $n)"
	done
done

# volumes
sed 's/maps = "espirit";/& volume = true;/' sms_mb2_groups.cfg >volume.cfg
run volume "$from/sms_mb2_groups.h5" volume
check "joined to a volume" grep -q "^20 24 4" volume.hdr
cat sms_mb2_groups.cfl sms_mb2_groups-0003.cfl sms_mb2_groups-0002.cfl sms_mb2_groups-0004.cfl \
	>joined
check "of the same slices" cmp joined volume.cfl

# nothing to solve by, or what does not fit
sed 's/factor = 2;/& references = "flagged";/' sms_mb2.cfg >flagged.cfg
run flagged bands.h5 refused
check "no references" grep -q "group 0 of 2 slices: SENSE needs 1 line in a row of each slice" \
	refused.log
check "no image" test ! -e refused.cfl
run sms_mb2 external.h5 refused
check "calibration of another scan is refused" grep -q \
	"calibrationMode is 'external' at acceleration 1 x 1, slices at once: protocol" refused.log
sed 's/factor = 2;/& shift = 0.3;/' sms_mb2.cfg >shift.cfg
run shift "$from/sms_mb2.h5" shift
check "references that do not fit" grep -q \
	"image 1 is partial: the slices' references do not add up to the lines, of which 0.65" \
	shift.log
