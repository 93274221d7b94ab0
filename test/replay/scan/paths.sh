#!/bin/bash
# test/replay/scan/paths.sh - readouts that bring their own path (trajectory.type stream): golden
# angles that never repeat, through the service and through `boreside recon` the same bytes;
# measured recordings against their references; what no frame can be made of is refused
set -u
. "$(dirname "$0")/../../support/scratch.bash"
close_to() { # A B BOUND: relative difference
	"$BORESIDE" compare "$1" "$2" |
		awk -v bound="$3" '{ print } /^unscaled/ { good = $3 <= bound } END { exit !good }'
}
nth() { # NAME I: the I-th image of `boreside recon -o NAME.cfl`
	if [ "$2" -eq 1 ]; then echo "$1.cfl"; else printf '%s-%04d.cfl' "$1" "$2"; fi
}
spokes="$quiet"' matrix = [48, 48]; coils = 2; samples = 96; readouts = 60;'
delays='delay = [1.5, -0.7]; delay_cross = [0.4, 0.0, 0.0];'
own="$spokes"' backend = "host"; trajectory: { type = "stream"; };'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; acq_slots = 64;
  image_slots = 16; $patient };
sinks = ( { type = "cfl"; dir = "images"; }, { type = "mrd"; dir = "mrd"; } );
protocols = (
	{ name = "own"; method = "gridding"; $own },
	{ name = "own_pipe"; method = "gridding"; $own gridding: { density = "pipe"; }; },
	{ name = "own_ls"; method = "ls"; $own frame: { preview_every = 25; };
	  ls: { lambda = 0.01; iterations = 5; preconditioner = "jacobi"; }; },
	{ name = "own_sense"; method = "sense"; $own image: { maps_file = "go_maps.cfl"; };
	  gridding: { density = "ramp"; }; ls: { lambda = 0.01; iterations = 5; }; },
	{ name = "slide"; method = "gridding"; $own frame: { step = 12; }; },
	{ name = "slide_sense"; method = "sense"; $own frame: { step = 20; };
	  image: { maps_file = "go_maps.cfl"; }; ls: { lambda = 0.01; iterations = 5; }; },
	{ name = "mixed"; method = "gridding"; $own virtual_coils = 2; },
	{ name = "volume"; method = "gridding"; matrix = [20, 18, 15]; coils = 2; samples = 40;
	  $quiet readouts = 300; trajectory: { type = "stream"; };
	  gridding: { density = "pipe"; }; },
	{ name = "table"; method = "gridding"; backend = "host";
	  $spokes trajectory: { type = "radial2d"; };
	  gridding: { chunk_readouts = 60; }; },
	{ name = "table_pipe"; method = "gridding"; backend = "host";
	  $spokes trajectory: { type = "radial2d"; };
	  gridding: { density = "pipe"; chunk_readouts = 60; }; },
	{ name = "table_sense"; method = "sense"; backend = "host";
	  $spokes trajectory: { type = "radial2d"; };
	  image: { maps_file = "go_maps.cfl"; };
	  gridding: { density = "ramp"; }; ls: { lambda = 0.01; iterations = 5; }; },
	{ name = "delayed"; method = "gridding"; backend = "host"; $spokes
	  trajectory: { type = "stream"; $delays }; },
	{ name = "table_delayed"; method = "gridding"; backend = "host"; $spokes
	  trajectory: { type = "radial2d"; $delays }; gridding: { chunk_readouts = 60; }; } );
CFG
sed 's/threads = 2/threads = 1/' "$dir/site.cfg" >"$dir/one.cfg"
cd "$dir" || exit 1
phantom="--matrix 48,48 --coils 2 --samples 96 --readouts 60 --motion 0.4,2.5"
check "four frames whose angles go on" \
	"$BORESIDE" phantom $phantom --repetitions 4 --go-on --measurement 7 -o go.h5
check "the first of them" "$BORESIDE" phantom $phantom -o first.h5
check "volumes whose angles go on" "$BORESIDE" phantom --matrix 20,18,15 --coils 2 \
	--samples 40 --readouts 300 --traj radial3d --repetitions 3 --go-on -o volume.h5
"$BORESIDE" check site.cfg >all_keys.cfg 2>>out.txt
check "a site file with all keys written out is as good" "$BORESIDE" check all_keys.cfg
recon() { # PROTOCOL RECORDING OUT
	"$BORESIDE" recon -c site.cfg -p "$1" "$2" -o "$3.cfl"
}
starts
scan=0
frames_left() { ls images/*-s00"$scan"-*.cfl 2>/dev/null; } # the files of this scan
left() { [ "$(frames_left | wc -l)" -ge "$1" ]; }
same() { # PROTOCOL RECORDING FRAMES
	local p=$1 i j good=0 again=0
	scan=$((scan + 1))
	check "$p: through the service" "$BORESIDE" replay -c site.cfg --asap $patience -p "$p" "$2"
	check "$p: in one process" recon "$p" "$2" "$p"
	check "$p: on one thread" "$BORESIDE" recon -c one.cfg -p "$p" "$2" -o "one_$p.cfl"
	await left "$3"
	mapfile -t ours < <(frames_left)
	check "$p: $3 frames (${#ours[@]}) left" [ "${#ours[@]}" -eq "$3" ]
	for ((i = 1; i <= $3; i++)); do
		j=$i
		[ "$p" != own_ls ] || j=$((3 * i)) # two previews lead to each
		cmp -s "${ours[$((i - 1))]:-none}" "$(nth "$p" $j)" && good=$((good + 1))
		cmp -s "$(nth "one_$p" $j)" "$(nth "$p" $j)" && again=$((again + 1))
	done
	check "$p: $good of $3 are the same in both, $again on one thread, bit for bit" \
		[ "$good" -eq "$3" -a "$again" -eq "$3" ]
}
same own go.h5 4
same own_pipe go.h5 4
same own_ls go.h5 4
same own_sense go.h5 4
same slide go.h5 16
same slide_sense go.h5 10
same mixed go.h5 4
same volume volume.h5 3

# A table of the same angles, gridded in one chunk: the same arithmetic.
for p in "" _pipe; do
	recon table$p first.h5 table$p >>out.txt 2>&1
	check "a table has the bytes of the first frame (table$p)" cmp table$p.cfl own$p.cfl
done
# sense: five steps of conjugate gradients through Q and through the NUFFT, which is good to 1e-4
recon table_sense first.h5 table_sense >>out.txt 2>&1
check "a table's solution by Q is near" close_to table_sense.cfl own_sense.cfl 1e-3
recon table go.h5 none >refused.log 2>&1 && echo "not ok a table took the second frame" ||
	check "a table refuses the second frame: $(tail -n 1 refused.log)" \
		grep -q 'acquisition 61: .* is not where readout 0' refused.log
for i in 0 1 2 3; do # a window over one pass is that pass
	check "slide: frame $((5 * i + 1)) has the bytes of the frame $((i + 1))" \
		cmp "$(nth slide $((5 * i + 1)))" "$(nth own $((i + 1)))"
done
check "slide: what moves is seen between them" sh -c "! cmp -s $(nth slide 2) $(nth slide 3)"
# two virtual coils of two: a rotation, which the root of the sum of squares does not see
check "paths go with the readouts that wait for the matrix" close_to mixed-0002.cfl \
	own-0002.cfl 1e-5
for p in delayed table_delayed; do recon $p first.h5 $p >>out.txt 2>&1; done
check "delays move each path as they move a table" cmp delayed.cfl table_delayed.cfl
check "which makes another image" sh -c "! cmp -s delayed.cfl own.cfl"

# What does not come is said.
scan=$((scan + 1))
"$BORESIDE" replay -c site.cfg --asap $patience -p own --limit 200 go.h5 >partial.log 2>&1 &&
	echo "not ok a scan that ends early was good" ||
	check "what is missing is said: $(tail -n 1 partial.log)" \
		grep -q '40 readouts did not come; 1 images are partial' partial.log
await left 4
check "with the image of the others" left 4

# Recordings that others measured.
if [ -f "$DATA/spiral2d_bonn_clean_slc30.h5" ]; then
	cat >real.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 2; };
protocols = (
	{ name = "spiral"; method = "gridding"; matrix = [220, 220, 1]; coils = 1; samples = 4940;
	  readouts = 15; trajectory: { type = "stream"; };
	  gridding: { accuracy = 1e-5; density = "none"; };
	  image: { combine = "none"; output = "complex"; }; },
	{ name = "brain"; method = "sense"; matrix = [64, 64, 16]; coils = 4; samples = 4162;
	  readouts = 16; trajectory: { type = "stream"; }; gridding: { accuracy = 1e-5; };
	  image: { maps_file = "$DATA/ref/brain3d_maps.cfl"; output = "complex"; };
	  ls: { lambda = 0.1; iterations = 30; }; },
	{ name = "gradient"; method = "gridding"; matrix = [220, 220, 1]; coils = 1; samples = 974;
	  readouts = 110; trajectory: { type = "stream"; }; } );
CFG
	# the bounds of the same recordings by their tables (test/replay/site.bash)
	real() { # PROTOCOL RECORDING REFERENCE BOUND
		check "$1: $2" "$BORESIDE" recon -c real.cfg -p "$1" "$DATA/$2.h5" -o "$1.cfl"
		check "$1: within $4 of its reference" close_to "$1.cfl" "$DATA/ref/$3.cfl" "$4"
	}
	real spiral spiral2d_bonn_clean_slc30 spiral2d_bonn_clean_slc30_adj_w1 1e-4
	real brain brain3d_sos_4ch brain3d_cgsense_l0.1_i30 2e-3
	"$BORESIDE" recon -c real.cfg -p gradient "$DATA/bad/pulseq7T_gradient_traj_1ch.h5" \
		-o none.cfl >gradient.log 2>&1 && echo "not ok gradients were taken for a path" ||
		check "gradient waveforms are no path: $(tail -n 1 gradient.log)" \
			grep -qE 'BS_ERR_(TRAJECTORY|VALUE)' gradient.log
else
	echo "skip recordings that others measured: none at $DATA"
fi
ends
