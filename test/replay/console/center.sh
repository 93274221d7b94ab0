#!/bin/bash
# test/replay/console/center.sh - partial Fourier whose header has the center of a whole scan, as
# converters write it: filled about the center that readouts say, by boreside init alone; where they
# say none and the strongest line is not the header's, zeros and words. The service gives recon's
# bytes, and its outcome the same words.
set -u
. "$(dirname "$0")/console.bash"
begin "partial Fourier's center"
moved="the center of k-space is line 16 by idx.user\[5\] of the readouts, not 32 as by the header"
moved3="line 8 by idx.user\[5\] of the readouts, not 16 as by the header; partition 4 by"
zeros="not filled, the center is not known (readouts say none that fits): line 32 by the header"
for name in pf_center_2d pf_center_2d_told pf_center_2d_untold pf_center_3d; do
	made $name
done
bound pf_center_2d pf_center_2d_full 0.010
bound pf_center_2d_told pf_center_2d_full 0.010
bound pf_center_3d pf_center_3d_full 0.060
check "which center it was changes nothing" cmp pf_center_2d.cfl pf_center_2d_told.cfl
# where lines of zeros lie is a phase
bound pf_center_2d_untold pf_center_2d_zeros 1e-6
bound pf_center_2d_untold pf_center_2d_full 0.0523
tells pf_center_2d "$moved"
tells pf_center_3d "$moved3"
tells pf_center_2d_untold "$zeros"
check "recon says it" grep -q "$moved" pf_center_2d.log
check "and of two axes" grep -q "$moved3" pf_center_3d.log
check "and what is not known" grep -q "is partial: .*$zeros, the strongest is 16" \
	pf_center_2d_untold.log
check "a header that is right needs no words" test ! -s pf_center_2d_told.err

# the service, by the site file that init made
for name in pf_center_2d pf_center_2d_untold pf_center_3d; do served $name; done
check "its outcome says where the center is" grep -q "outcome: BS_OK.*$moved" pf_center_2d.out
check "and of two axes" grep -q "outcome: BS_OK.*$moved3" pf_center_3d.out
check "and what is not known" grep -q "outcome: BS_OK.*$zeros" pf_center_2d_untold.out
check "and so does its status" grep -q "\"remark\":\"$moved\"" pf_center_2d.json
is pf_center_2d complete
check "and says it" grep -q "boreside_center</name><value>line 16 by idx.user" pf_center_2d.text
is pf_center_2d_untold partial
