#!/bin/bash
# test/replay/console/obey.sh - a scanner that obeys: a head that moves by 2 or 3 mm and 3 or 2
# degrees, in 2D and in 3D, is followed by the answers of a step that registers each image with the
# first. Its images are nearly those of a head that lies still; without answers they are far from
# them
set -u
. "$(dirname "$0")/../../support/scratch.bash"
cd "$dir" || exit 1
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
endpoints: { archive = ""; viewers = ""; };
sinks = ( { type = "cfl"; dir = "out"; } );
steps = ( { name = "motion"; on = "cart"; budget_ms = 30000.0;
	command = "$BUILD/drivers/step/motion/motion"; },
	{ name = "register"; on = "volume"; budget_ms = 30000.0;
	command = "$BUILD/drivers/step/register/register"; } );
answers = ( { on = "cart"; what = "motion"; of = "image"; deadline_ms = 60000.0; },
	{ on = "volume"; what = "motion"; of = "image"; deadline_ms = 60000.0; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [64, 64]; encoded = [128, 64, 1];
	coils = 1; samples = 128; readouts = 64; $quiet },
	{ name = "volume"; method = "cartesian"; matrix = [32, 32, 24]; encoded = [64, 32, 24];
	coils = 1; samples = 64; readouts = 768; $quiet } );
CFG
for p in cart volume; do
	check "$p: a recording of 40 frames, for its counters and times" "$BORESIDE" phantom \
		-c site.cfg -p $p --repetitions 40 -o $p.h5
done
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c site.cfg $ready
obey() { # NAME ARGUMENTS...: a scan of $protocol, whose images become the folder NAME
	"$BORESIDE" replay -c site.cfg -p $protocol $patience "${@:2}" $protocol.h5 >"$1.txt" 2>&1
	status=$?
	rm -rf "$1"
	mv out "$1"
	return $status
}
cat >compare.py <<'PY'
import array, glob
def load(name):
    a = array.array('f'); a.frombytes(open(name, 'rb').read())
    return [(x * x + y * y) ** 0.5 for x, y in zip(a[::2], a[1::2])]
truth = load(sorted(glob.glob('truth/*.cfl'))[0])
def nrmse(folder):
    files = sorted(glob.glob(folder + '/*.cfl'))
    assert len(files) == 40, folder
    e = [sum((a - b) ** 2 for a, b in zip(load(f), truth)) for f in files]
    return (sum(e) / len(e) / sum(b * b for b in truth)) ** 0.5
still, followed, blind = nrmse('still'), nrmse('followed'), nrmse('blind')
print('NRMSE still %.4f followed %.4f blind %.4f' % (still, followed, blind))
assert followed <= 1.2 * still and blind >= 3 * still
PY
still=(--obey '1e-9,1e-9' --blind)
for scan in cart,3,2,1 volume,2,3,4; do
	IFS=, read -r protocol mm degrees speed <<<"$scan"
	moves=(--obey "$mm,$degrees" --noise 0.04)
	check "$protocol: a head that lies still, without noise" obey truth "${still[@]}" --asap
	check "$protocol: the same with noise" obey still "${still[@]}" --noise 0.04 --asap
	check "$protocol: one that moves, and nobody obeys" obey blind "${moves[@]}" --blind --asap
	check "$protocol: one that moves, and the scanner obeys" \
		obey followed "${moves[@]}" --speed $speed
	cat followed.txt >>out.txt
	check "$protocol: its answers were obeyed" grep -q 'obeyed 3[0-9] answers' followed.txt
	check "$protocol: its images are nearly as of one that lies still; blind, 3 times worse" \
		/usr/bin/python3 compare.py
done
check "a scan for each latency, and a picture" "$BORESIDE" replay -c site.cfg -p cart $patience \
	--obey 3,2 --latency 0,10,40 --speed 20 --picture obey.svg cart.h5
check "which is a picture" /usr/bin/python3 -c 'import xml.dom.minidom as x
assert x.parse("obey.svg").getElementsByTagName("path")'
refused() { ! "$BORESIDE" replay -c site.cfg "${@:2}" cart.h5 >refused.txt 2>&1 &&
	grep -q -- "$1" refused.txt; }
check "a latency that is none is refused" refused "latency" --obey 3,2 --latency 1,x
ends
