# test/replay/site.bash - sourced by the replay tests: a site file for the real recordings in $DATA
. "$(dirname "${BASH_SOURCE[0]}")/../support/scratch.bash"
# write_site DIR: DIR gets site.cfg, a run folder for sockets, a cache and out/ for .cfl images.
write_site() {
	mkdir -p "$1/run" "$1/cache" "$1/out"
	chmod 750 "$1/run"
	cat >"$1/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; acq_slots = 64;
  $patient };
sinks: ( { type = "cfl"; dir = "out"; } );
protocols: (
  { name = "brain_fhd"; method = "gridding"; matrix = [64, 64, 16]; coils = 4; samples = 4162;
    readouts = 16;
    $quiet trajectory: { type = "file"; file = "$DATA/brain3d_sos_4ch.h5"; };
    gridding: { accuracy = 1e-5; density = "none"; };
    image: { combine = "none"; output = "complex"; }; },
  { name = "brain_sense"; method = "sense"; matrix = [64, 64, 16]; coils = 4; samples = 4162;
    readouts = 16;
    $quiet trajectory: { type = "file"; file = "$DATA/brain3d_sos_4ch.h5"; };
    image: { maps_file = "$DATA/ref/brain3d_maps.cfl"; output = "complex"; };
    ls: { lambda = 0.1; iterations = 30; fhd = "exact"; q = "exact"; }; },
  { name = "brain_sense_nufft"; method = "sense"; matrix = [64, 64, 16]; coils = 4;
    samples = 4162; readouts = 16;
    $quiet trajectory: { type = "file"; file = "$DATA/brain3d_sos_4ch.h5"; };
    gridding: { accuracy = 1e-5; };
    image: { maps_file = "$DATA/ref/brain3d_maps.cfl"; output = "complex"; };
    ls: { lambda = 0.1; iterations = 30; fhd = "nufft"; q = "nufft"; }; },
  { name = "lung"; method = "gridding"; matrix = [64, 64, 64]; coils = 1; samples = 45;
    readouts = 4601;
    $quiet trajectory: { type = "file"; file = "$DATA/lung3d_radial_xe.h5"; };
    gridding: { accuracy = 1e-5; density = "ramp"; normalize = "none"; };
    image: { combine = "none"; output = "complex"; }; },
  { name = "spiral_dcf"; method = "gridding"; matrix = [220, 220, 1]; coils = 1; samples = 4940;
    readouts = 15;
    $quiet trajectory: { type = "file"; file = "$DATA/spiral2d_bonn_clean_slc30.h5"; };
    gridding: { accuracy = 1e-5; density = "file";
    density_file = "$DATA/ref/spiral2d_bonn_dcf.cfl"; };
    image: { combine = "none"; output = "complex"; }; },
  { name = "spiral_w1"; method = "gridding"; matrix = [220, 220, 1]; coils = 1; samples = 4940;
    readouts = 15;
    $quiet trajectory: { type = "file"; file = "$DATA/spiral2d_bonn_clean_slc30.h5"; };
    gridding: { accuracy = 1e-5; density = "none"; };
    image: { combine = "none"; output = "complex"; }; },
  { name = "cart"; method = "cartesian"; matrix = [256, 256, 1]; encoded = [512, 256, 1]; coils = 8;
    samples = 512; readouts = 256; $quiet image: { combine = "rss"; output = "magnitude"; }; }
);
END
}

# protocol, recording, reference, largest relative l2 error with no scaling at all
RECORDINGS="
brain_fhd  brain3d_sos_4ch               brain3d_fhd_coils                     1e-5
brain_sense       brain3d_sos_4ch        brain3d_cgsense_l0.1_i30              1e-4
brain_sense_nufft brain3d_sos_4ch        brain3d_cgsense_l0.1_i30              2e-3
lung       lung3d_radial_xe              lung3d_adj_r2_64                      1e-4
spiral_dcf spiral2d_bonn_clean_slc30     spiral2d_bonn_clean_slc30_adj_dcf     1e-4
spiral_dcf spiral2d_bonn_CS_slc30        spiral2d_bonn_CS_slc30_adj_dcf        1e-4
spiral_dcf spiral2d_bonn_Susc70Mhz_slc30 spiral2d_bonn_Susc70Mhz_slc30_adj_dcf 1e-4
spiral_w1  spiral2d_bonn_clean_slc30     spiral2d_bonn_clean_slc30_adj_w1      1e-4
cart       cart2d_8ch                    cart2d_rss_rep0                       1e-5
"
