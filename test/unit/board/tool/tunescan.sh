# test/unit/board/tool/tunescan.sh - boreside tune with a recording: lambda of a prior, of least
# squares and of a W of the study; what a lesion keeps there is what the prediction without a
# recording says; pictures; refusals
. "$(dirname "$0")/../../../support/scratch.bash"
command=tune
radial='matrix = [32, 32]; coils = 3; samples = 64; readouts = 13;
  trajectory: { type = "radial2d"; }; image: { maps_file = "r_maps.cfl"; };'
cat >"$dir/site.cfg" <<END
node: { run_dir = "run"; cache_dir = ""; threads = 2; };
protocols = (
{ name = "sparse"; method = "sense"; $radial ls: { iterations = 30; lambda = 0.01; };
  solve: { prior = "wavelet"; lambda = 0.1; }; },
{ name = "plain"; method = "sense"; $radial
  ls: { iterations = 200; lambda = 0.01; tolerance = 1e-7; }; },
{ name = "lines"; method = "cartesian_sense"; matrix = [32, 32, 1]; encoded = [32, 32, 1];
  coils = 3; samples = 32; readouts = 32; image: { maps_file = "r_maps.cfl"; };
  solve: { prior = "tv"; lambda = 0.1; }; },
{ name = "proton"; method = "cartesian"; matrix = [24, 24, 24]; encoded = [24, 24, 24]; coils = 1;
  samples = 24; readouts = 576; },
{ name = "sodium"; method = "ls"; matrix = [12, 12, 12]; coils = 1; samples = 24; readouts = 200;
  fov_mm = [24.0, 24.0, 24.0]; trajectory: { type = "radial3d"; };
  ls: { iterations = 60; w = "study"; w_protocol = "proton"; }; } );
END
cd "$dir" || exit 1
make() { check "a phantom: $2" "$BORESIDE" phantom "${@:3}" $1 -o "$2.h5"; }
make "--traj radial2d --matrix 32,32 --coils 3 --samples 64 --readouts 13 --snr 20" r
make "--traj cartesian --matrix 32,32 --coils 3" l
place="--oblique 20,10 --position-mm 3,-2,5 --study 1.2.3"
make "$place --snr 100" p -c site.cfg -p proton --measurement p
make "$place --snr 40" n -c site.cfg -p sodium --measurement n

c="-c site.cfg"
expect 1 "give a RECORDING of one" -- $c -p sparse
expect 1 "one --before, or W as --w" -- $c -p sodium
expect 1 "along a path that is known" -- $c -p lines l.h5 --ball 9,9
expect 1 "outside 32 x 32" -- $c -p sparse r.h5 --ball 40,9
expect 0 "solve.lambda" -- $c -p sparse r.h5 --lambda 0.001:3 --steps 7 --noise 5 --ball 15,20 \
	--png s.png --svg s.svg
awk '!/^#/ && NF == 5 && $1 + 0 > 0 { n++
	if ($2 < change || (noise != "" && $3 > noise * 1.01) || (n > 1 && $5 > kept * 1.01)) bad++
	change = $2; noise = $3; kept = $5 }
	END { print (n == 7 && !bad && change > 0.05 && kept < 0.9 ? "ok" : "not ok"), n,
		"lambdas: more changes, less noise, less of the lesion,", bad + 0, "off" }' log
check "the lesion's warning" grep -q "^warning: from lambda" log
check "a chart" sh -c "grep -q '>contrast kept</text>' s.svg && grep -q '^</svg>' s.svg"
# seven planes of 32 x 32 in three columns
check "a picture of 96 x 96" sh -c \
	"[ \"\$(od -A n -t x1 -j 16 -N 8 s.png | tr -d ' ')\" = 0000006000000060 ]"
expect 0 "ls.lambda" -- $c -p plain r.h5 --lambda 0.01:1 --steps 3 --noise 5 --ball 15,20
awk '!/^#/ && NF == 5 && $1 + 0 > 0 { print $1, $5 }' log >scanned.txt
expect 0 "gain" -- $c -p plain --lambda 0.01:1 --steps 3 --trials 1 --ball 15,20
awk '!/^#/ && NF == 5 && $1 + 0 > 0 { print $1, $5 }' log >said.txt
paste -d ' ' scanned.txt said.txt | awk '{ n++; if ($2 / $4 > 1.02 || $2 / $4 < 0.98) bad++ }
	END { print (n == 3 && !bad ? "ok" : "not ok"), n,
		"lambdas: in the data and predicted alike,", bad + 0, "off" }'
expect 0 "ls.lambda" -- $c -p sodium --before proton=p.h5 n.h5 --lambda 0.003:3 --steps 4 \
	--noise 1 --ball 5,6,5 --radius 1.5 --png w.png
awk '!/^#/ && NF == 5 && $1 + 0 > 0 { n++; first = n == 1 ? $5 : first; last = $5 }
	END { print (n == 4 && last < 0.8 * first ? "ok" : "not ok"), "W of the study:", first,
		"to", last, "of the lesion is kept" }' log
expect 1 "no scan came before" -- $c -p sodium n.h5 --steps 2
