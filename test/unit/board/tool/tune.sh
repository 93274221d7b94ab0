# test/unit/board/tool/tune.sh - boreside tune: predictions where theory knows them, proposals,
# refusals
. "$(dirname "$0")/../../../support/scratch.bash"
command=tune
cat >"$dir/site.cfg" <<'END'
node: { run_dir = "run"; cache_dir = ""; };
protocols = (
{ name = "grid"; method = "ls"; matrix = [16, 16]; encoded = [16, 16]; coils = 2; samples = 16;
  readouts = 16; trajectory: { type = "cartesian"; }; ls: { iterations = 5; lambda = 0.1; }; },
{ name = "sense"; method = "sense"; matrix = [16, 16]; encoded = [16, 16]; coils = 4; samples = 16;
  readouts = 16; trajectory: { type = "cartesian"; }; image: { maps_file = "m_maps.cfl"; };
  ls: { iterations = 40; lambda = 0.1; }; },
{ name = "plain"; method = "gridding"; matrix = [16, 16]; coils = 2; samples = 32; readouts = 26;
  trajectory: { type = "radial2d"; }; } );
END
"$BORESIDE" phantom --matrix 16x16 --coils 4 -o "$dir/m.h5" >/dev/null || echo "not ok phantom"

c="-c $dir/site.cfg"
expect 2 "-p PROTOCOL is missing" -- $c
expect 2 "HI must be above LO" -- $c -p grid --lambda 1:0.1
expect 2 "not .*number" -- $c -p grid --noise -1
expect 2 "not .*number" -- $c -p grid --steps 1
expect 2 "not .*number" -- $c -p grid --at 3
expect 2 "exclude each other" -- $c -p grid --max-noise 1 --resolution 1
expect 1 "no protocol" -- $c -p other
expect 1 "not of method" -- $c -p plain
expect 1 "outside 16 x 16" -- $c -p grid --at 16,3
expect 1 "no lambda from" -- $c -p grid --steps 2 --trials 1 --resolution 0.5

# all of k-space, no W: F^H F is 256 times the identity, so noise is 0.5/16/(1 + lambda), gain is
# 1/(1 + lambda), width one voxel. 100 noise images of 256 complex values: 5 deviations are 2.3 %
expect 0 "grid" -- $c -p grid --noise 0.5 --trials 100 --lambda 0.01:100 --steps 5 \
	--svg "$dir/t.svg"
awk '!/^#/ && NF == 4 && $1 + 0 > 0 { n++; want = 0.5 / 16 / (1 + $1);
	if ($2 / want > 1.023 || $2 / want < 0.977 || $3 != 1) bad++
	else if (($4 - 1 / (1 + $1)) ^ 2 > 1e-6) bad++ }
	END { print (n == 5 && !bad ? "ok" : "not ok"), n, "lambdas against theory,",
		bad + 0, "off" }' "$dir/log"
grep -q '>width, voxels</text>' "$dir/t.svg" && grep -q '^</svg>' "$dir/t.svg" &&
	echo "ok a chart" || echo "not ok a chart: $(ls -l "$dir"/t.*)"
# noise falls through 0.25/16 at lambda 1; between points the proposal interpolates
expect 0 "proposed: lambda" -- $c -p grid --noise 0.5 --trials 100 --lambda 0.25:4 --steps 33 \
	--max-noise 0.015625
awk '/^proposed/ { l = $3 }
	END { print (l > 0.93 && l < 1.07 ? "ok" : "not ok"), "proposal", l, "of 1" }' "$dir/log"
# coils: with 40 iterations and hardly any lambda an impulse comes back as it was
expect 0 "sense" -- $c -p sense --lambda 1e-6:1e-5 --steps 2 --trials 1 --at 9,4
awk '!/^#/ && NF == 4 && $1 + 0 > 0 { n++; if (($3 - 1) ^ 2 > 1e-4 || ($4 - 1) ^ 2 > 1e-6) bad++ }
	END { print (n == 2 && !bad ? "ok" : "not ok"), "coils: an impulse comes back,",
		bad + 0, "off" }' "$dir/log"
