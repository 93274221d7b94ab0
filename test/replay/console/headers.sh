#!/bin/bash
# test/replay/console/headers.sh - headers as tools write them: by boreside init alone each gives
# the image of a header that is whole, and says what of it was not taken as it is written; the
# service gives recon's bytes and the same words. A scan without a readout is no success anywhere.
# Holds: W30
set -u
. "$(dirname "$0")/console.bash"
begin "headers as tools write them"
row() { # row NAME REFERENCE FOV_Z WORDS: "": none
	local name=$1 words=$4
	made "$name" || return
	bound "$name" "$2" 1e-6
	served "$name"
	"$BORESIDE" recon -c "$name.cfg" -o "$name.nii" "$DATA/console/$name.h5" >recon.log 2>&1
	check "$name: $3 mm thick" \
		test "$(od -A n -t f4 -j 88 -N 4 "$name.nii" | tr -d ' ')" = "$3"
	is "$name" complete
	if [ -z "$words" ]; then
		check "$name: nothing is to be said" test ! -s "$name.err"
		return
	fi
	tells "$name" "$words"
	check "$name: recon says it" grep -q "$words" recon.log
	check "$name: the image" grep -q "boreside_header</name><value>.*$words" "$name.text"
	check "$name: the outcome" grep -q "outcome: BS_OK.*$words" "$name.out"
	check "$name: status" grep -q "\"remark\":\"$words" "$name.json"
}

as_they_are="counters as they are, center 10 taken"
row header_no_recon_space small 5 \
	"reconSpace of the header has no matrix (xyz): encodedSpace taken"
row header_value_true small 5 "userParameterLong NormFilter of the header is 'true', no number"
row header_negative_limits small 5 \
	"kspace_encoding_step_1 of encodingLimits is -10 to 9, center 0: $as_they_are"
row header_zero_limits small 5 \
	"kspace_encoding_step_1 of encodingLimits is 0 to 0, center 0: $as_they_are"
row header_z2 small 5 \
	"encodedSpace has 2 partitions, but .*: one partition taken, 5 mm by reconSpace"
row slice_thickness slice_thickness 5 ""
row dates_out_of_range small 5 "patientBirthdate is no date: DICOM files leave it empty"
row header_bom_cdata small 5 ""
check "header_value_true: and the empty one" grep -q "userParameterDouble Offset .* is ''" \
	header_value_true.err
check "dates_out_of_range: and the time" grep -q "studyTime 25:61:61.5 is no time" \
	dates_out_of_range.err

if command -v dump2dcm >/dev/null && command -v dcmdump >/dev/null; then
	for name in dates_out_of_range slice_thickness; do
		"$BORESIDE" recon -c $name.cfg -o $name.dcm "$DATA/console/$name.h5" >out 2>&1
		dcmdump -q +L $name.dcm >$name.dump 2>&1
	done
	for tag in 0008,0030 0010,0030; do
		check "DICOM ($tag) is empty" grep -q "^($tag) .. (no value" dates_out_of_range.dump
	done
	check "DICOM's study date" grep -q "^(0008,0020) DA \[20201231\]" dates_out_of_range.dump
	check "DICOM's slice thickness" grep -q "^(0018,0050) DS \[5 *\]" slice_thickness.dump
else
	echo "skip dates and thickness in DICOM: dump2dcm and dcmdump are not installed"
fi

# a header, and not one readout
none=$DATA/console/no_readouts.h5
check "init refuses no_readouts" test "$("$BORESIDE" init --from "$none" -o none.cfg 2>&1)" = \
	"boreside init: none of its 0 readouts is a line of an image"
"$BORESIDE" recon -c header_z2.cfg -o none.cfl "$none" >log 2>&1
check "recon of it is no success" test $? -ne 0
check "and says why" grep -q "BS_ERR_LENGTH: it has a header and no readout" log
check "once" test "$(wc -l <log)" -eq 1
"$BORESIDE" replay -c header_z2.cfg -p scan --asap "$none" >log 2>&1
check "nor is its replay" test $? -ne 0
check "which says why" grep -q "no_readouts.h5: no acquisitions" log
