#!/bin/bash
# test/replay/init/real.sh - boreside init --from each real recording: within what
# board/doc/SCANS.md says is reachable of the recording's independent reference.
set -u
. "$(dirname "$0")/init.bash"
needs "$DATA/scan/ref" "real recordings"
ref=$DATA/scan/ref
mask="--mask $ref/prisma2d_mask.cfl"
for recording in "$DATA"/*.h5 "$DATA"/scan/*.h5; do
	name=$(basename "$recording" .h5)
	init "$name" "$recording" && echo "ok $name: $(grep tried "$name.out")"
done
near cart2d_8ch "$DATA/ref/cart2d_rss_rep0.cfl" 1e-5
images cart2d_8ch 3
# of the phantom, against all of its lines; the bounds: SCANS.md, "reachable", and a tenth more
while read -r name bound; do
	near "prisma2d_$name" prisma2d_dual_20ch.cfl "$bound" $mask
done <<END
nav 1e-6
navdrift 1e-5
reversed 1e-6
R2_acs16 2.4e-3
R3_acs24 6e-3
R3_sep 8.8e-3
pf6_8 3.1e-2
pf6_8_early 3.2e-2
asym 2.9e-2
END
near prisma2d_noise_20ch "$ref/prisma2d_noise_whitened_rss_noisefree.cfl" 3e-2 $mask
near brain2d_pf6_8_8ch "$ref/brain2d_pf6_8_true_rss.cfl" 8e-3 --mask "$ref/brain128_mask.cfl"
images prisma2d_dual_20ch 2
images shepp2d_R4_acs24_8ch 2
near shepp2d_R4_acs24_8ch "$ref/shepp2d_R4_acs24_grappa_rss.cfl" 5e-2
# paths: with the references' weights, and of each coil, the same sum
exact() { # exact RECORDING DENSITY REFERENCE BOUND
	sed -e "s/density = .*/density = \"$2\"; accuracy = 1e-5; normalize = \"none\";/" \
		-e '/^\t\tcoils = /s/$/ image: { combine = "none"; output = "complex"; };/' \
		"$1.cfg" >exact.cfg
	"$BORESIDE" recon -c exact.cfg -o exact.cfl "$DATA/$1.h5" >log 2>&1 &&
		near exact "$DATA/ref/$3.cfl" "$4" || echo "not ok $1, exact: $(tail -n 1 log)"
}
exact lung3d_radial_xe ramp lung3d_adj_r2_64 1e-5
exact brain3d_sos_4ch none brain3d_fhd_coils 1e-5
exact spiral2d_bonn_clean_slc30 none spiral2d_bonn_clean_slc30_adj_w1 1e-5
# iterated weights are not the reference's |k x dk|/|k|
for name in clean CS Susc70Mhz; do
	exact spiral2d_bonn_${name}_slc30 pipe spiral2d_bonn_${name}_slc30_adj_dcf 7e-2
done
