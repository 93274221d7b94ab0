#!/bin/bash
# test/replay/console/encodings.sh - headers with several encodings: a second one of the same matrix
# makes images with its own field of view, one of another matrix is in no image, counted and said;
# reference lines of an encoding of their own calibrate. Central lines do without a flag, and say
# so. By boreside init alone; the service gives recon's bytes.
# Holds: W52
set -u
. "$(dirname "$0")/console.bash"
begin "several encodings"
for name in second_encoding second_encoding_same_matrix epi_flash_reference acs_without_flags; do
	made $name
	served $name
done
bound second_encoding second_encoding_0 1e-6
is second_encoding partial
left="24 readouts are of encoding 1 (32 x 24 x 1, 320 x 240 x 8 mm), which this protocol does not"
tells second_encoding "$left"
check "recon says it" grep -q "image 1 is partial: $left" second_encoding.log
check "the outcome" grep -q "outcome: BS_OK.*$left" second_encoding.out
check "and the image" grep -q "$left" second_encoding.text

images second_encoding_same_matrix 2
bound second_encoding_same_matrix second_encoding_0 1e-6
bound second_encoding_same_matrix-0002 second_encoding_same_matrix_1 1e-6
is second_encoding_same_matrix complete
check "a second encoding that is used is none to speak of" \
	test ! -s second_encoding_same_matrix.err
"$BORESIDE" recon -c second_encoding_same_matrix.cfg -o mm.nii \
	"$from/second_encoding_same_matrix.h5" >out 2>&1
voxel() { od -A n -t f4 -j 80 -N 12 "$1" | tr -s ' '; }
check "voxels of the first" test "$(voxel mm.nii)" = " 5 5 5"
check "and of the second" test "$(voxel mm-0002.nii)" = " 10 10 8"

bound epi_flash_reference epi_flash_reference_full 0.02
is epi_flash_reference complete
check "its lines are used" grep -q "boreside_count_calibration</name><value>24<" \
	epi_flash_reference.text
bound acs_without_flags acs_without_flags_full 0.02
is acs_without_flags complete
own="the image's own central lines calibrate: none is flagged for it"
check "init says it" grep -q "$own" acs_without_flags.err
check "recon" grep -q "$own" acs_without_flags.log
check "the outcome" grep -q "outcome: BS_OK.*$own" acs_without_flags.out
check "and the image" grep -q "$own" acs_without_flags.text
