#!/bin/bash
# test/replay/console/paths.sh - trajectories that readouts bring: a radial scan with oversampling
# comes on reconSpace's field of view; paths beside the lines of an EPI win over the header's word,
# and no protocol on the grid takes them for lines; readouts of one sample each. By boreside init
# alone; the service gives recon's bytes.
set -u
. "$(dirname "$0")/console.bash"
begin "paths of readouts"
voxel() { # voxel NAME: mm along x, y and z, of its NIfTI file
	"$BORESIDE" recon -c "$1.cfg" -o "$1.nii" "$from/$1.h5" >out 2>&1
	od -A n -t f4 -j 80 -N 12 "$1.nii" | tr -s ' '
}
for name in radial_header radial_header_small; do
	made $name
	scaled $name ${name}_adjoint 0.04
	check "$name: voxels of 1 mm" test "$(voxel $name)" = " 1 1 5"
done
says radial_header "matrix = [192, 192, 1];" "encoded = [384, 384, 1];"
made epi_trajectory
scaled epi_trajectory epi_trajectory_ls 0.02
made epi_ramp_trajectory
scaled epi_ramp_trajectory epi_ramp_trajectory_ls 0.005
for name in epi_trajectory epi_ramp_trajectory; do
	tells $name "the header says epi, but 32 readouts bring paths"
done
made single_sample_readouts
scaled single_sample_readouts single_sample_readouts 1e-3
for name in radial_header_small epi_trajectory single_sample_readouts; do
	served $name
	is $name complete
done

# a protocol on the grid
sed -e 's/method = "ls"/method = "cartesian"; encoded = [32, 32, 1]/' \
	-e '/^\t\ttrajectory: {/,/};/d' -e '/^\t\tls: {/,/};/d' epi_trajectory.cfg >grid.cfg
"$BORESIDE" recon -c grid.cfg -o grid.cfl "$from/epi_trajectory.h5" >grid.log 2>&1
check "lines are not what they bring" grep -q \
	"BS_ERR_TRAJECTORY: .*brings a trajectory off its line of the grid" grid.log
# and one along paths
"$BORESIDE" recon -c epi_trajectory.cfg -o no.cfl "$from/reversed_center_mdh.h5" >no.log 2>&1
check "a scan that brings none" test ! -e no.cfl
