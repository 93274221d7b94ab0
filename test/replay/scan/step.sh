#!/bin/bash
# test/replay/scan/step.sh - a site's own step (ipc/step.h): the example in C, and that in Python,
# in the service and in `boreside recon`, which gives it all the time it takes; what check says
# Holds: T2
set -u
. "$(dirname "$0")/../../support/scratch.bash"
here=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$dir" || exit 1
mkdir out
cart='method = "cartesian"; matrix = [64, 64]; encoded = [128, 64, 1]; coils = 3; samples = 128;'
cart+=" readouts = 64; $quiet"
site() { # FILE, what follows the steps' name: command, keys
	cat >"$1" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 2; $patient };
sinks = ( { type = "cfl"; dir = "out"; }, { type = "mrd"; dir = "out"; } );
$2
protocols = ( { name = "cart"; $cart }, { name = "plain"; $cart }${3:-} );
CFG
}
step() { echo "steps = ( { name = \"s\"; on = \"cart\"; budget_ms = 30000.0; $* } );"; }
unruly=$BUILD/test/support/step/unruly
invert=$BUILD/drivers/step/example/invert
python="/usr/bin/python3 $here/drivers/step/example/invert.py"
dft="/usr/bin/python3 $here/test/support/step/dft.py"
site site.cfg "$(step "command = \"$invert\"; }, { name = \"f\"; on = \"framed\";
	takes = \"frame\"; budget_ms = 30000.0; command = \"$dft\";")" \
	", { name = \"framed\"; $cart }"
site python.cfg "$(step "command = \"$python\";")"
site late.cfg "$(step "command = \"$unruly late\"; on_late = \"mark\";")"
site die.cfg "$(step "command = \"$unruly identity die\";")"
site unit.cfg "$(step "dir = \"$dir\";")"
check "a phantom recording of 3 frames" "$BORESIDE" phantom -c site.cfg -p cart --repetitions 3 \
	--snr 20 -o cart.h5
recon() { "$BORESIDE" recon -c "$1.cfg" -p "$2" cart.h5 -o "$1-$2.cfg.cfl" >recon.log 2>&1; }
attribute() { strings "$1" | grep -o "<name>boreside_$2</name><value>[^<]*" | sed 's/.*>//'; }

check "without a step" recon site plain
check "with the example in C" recon site cart
check "with the example in Python" recon python cart
check "both are the same, to the byte" cmp site-cart.cfg.cfl python-cart.cfg.cfl
check "and not the image without" bash -c '! cmp -s site-plain.cfg.cfl site-cart.cfg.cfl'
check "they sum up to one value, the image's largest" /usr/bin/python3 - <<'PY'
import array
def real(name):
    a = array.array('f'); a.frombytes(open(name, 'rb').read()); return a[::2]
p, s = real('site-plain.cfg.cfl'), real('site-cart.cfg.cfl')
assert len(p) == 64 * 64 and max(p) > 0
assert all(abs(a + b - max(p)) <= 2e-6 * max(p) for a, b in zip(p, s))
PY
# the readouts that an image was made of, made an image by the step: the service's own, but scaled
check "with a step that takes frames" recon site framed
check "its image is the one without, but for a factor" /usr/bin/python3 - <<'PY'
import array
def real(name):
    a = array.array('f'); a.frombytes(open(name, 'rb').read()); return a[::2]
p, s = real('site-plain.cfg.cfl'), real('site-framed.cfg.cfl')
factor = sum(a * b for a, b in zip(p, s)) / sum(b * b for b in s)
off = sum((a - factor * b) ** 2 for a, b in zip(p, s)) / sum(a * a for a in p)
print(f"# NRMSE {off ** 0.5:.2e}")
assert factor > 0 and off ** 0.5 < 1e-5
PY
check "a step that takes longer than others is waited for" recon late cart
check "its image is the plain one, identity" cmp site-plain.cfg.cfl late-cart.cfg.cfl
check "one that dies ends the reconstruction" bash -c '! "$0" recon -c die.cfg -p cart cart.h5 \
	-o die.cfl >die.log 2>&1 && grep -q "step .s. at image 2: died" die.log' "$BORESIDE"
check "one that somebody else starts is said to be missing" bash -c '"$0" recon -c unit.cfg \
	-p cart cart.h5 -o unit.h5 >unit.log 2>&1 && grep -q "no command" unit.log' "$BORESIDE"
check "in the image, too" [ "$(attribute unit.h5 step_verdict | head -n 1)" = absent ]

says() { "$BORESIDE" check "$1" 2>&1 | grep -q -- "$2"; }
check "check: a child has no sandbox" says site.cfg "of the service's own user"
check "check: a unit's name and socket" says unit.cfg "boreside-step@s connects to $dir/s"
check "check: it is in the plan" says site.cfg "plan: lines > combine, step"
refuses() {
	site wrong.cfg "$2" ", { name = \"vol\"; slices = 4; image: { volume = true; }; $cart }"
	says wrong.cfg "$3" && ! "$BORESIDE" check wrong.cfg >/dev/null 2>&1
	check "refused: $1" [ $? -eq 0 ]
}
refuses "a program that is not there" "$(step 'command = "/nowhere/at/all";')" "/nowhere/at/all: No"
refuses "a program by its name alone" "$(step 'command = "invert";')" "whole path"
refuses "a protocol that is not there" \
	'steps = ( { name = "s"; on = "none"; budget_ms = 1.0; } );' "no protocol 'none'"
refuses "two steps on a protocol" 'steps = ( { name = "a"; on = "cart"; budget_ms = 1.0; },
	{ name = "b"; on = "cart"; budget_ms = 1.0; } );' "has a step"
refuses "a frame of a protocol that joins slices" "$(step 'takes = "frame"; command = "";' |
	sed 's/on = "cart"/on = "vol"/')" "joined of several frames"
refuses "a name that is no file's" \
	'steps = ( { name = "a/b"; on = "cart"; budget_ms = 1.0; } );' "letters, digits"

site hang.cfg "steps = ( { name = \"s\"; on = \"cart\"; budget_ms = 5.0;
	command = \"$unruly hang\"; } );"
sed -i 's/name = "cart";/& budget: { image_ms = 60000.0; };/' hang.cfg
check "certify: images without their step break the promise" bash -c '! "$@" >certify.log 2>&1 &&
	grep -q "left without the protocol.s step: " certify.log' - timeout 250 "$BORESIDE" \
	certify -c hang.cfg -p cart --minutes 0.05 -o "$dir/certificate" cart.h5
check "its step had a socket of its own" [ ! -e run/step ]

starts
steps() { "$BORESIDE" status -c site.cfg --json | grep -o '"there":1,"ready":1' | wc -l; }
ready() { [ "$(steps)" -eq 2 ]; }
check "the service's steps are ready" await ready
check "a scan whose images pass it" "$BORESIDE" replay -c site.cfg --asap $patience -p cart \
	cart.h5
check "a scan of the other protocol" "$BORESIDE" replay -c site.cfg --asap $patience -p plain \
	cart.h5
check "a scan whose step takes frames" "$BORESIDE" replay -c site.cfg --asap $patience -p framed \
	cart.h5
written() { [ "$(ls out/*.cfl | wc -l)" -eq 9 ] && [ "$(ls out/*.h5 | wc -l)" -eq 9 ]; }
check "9 images" await written
check "image 1 is recon's, to the byte" cmp out/*s001-i00001.cfl site-cart.cfg.cfl
check "that of the other protocol, too" cmp out/*s002-i00001.cfl site-plain.cfg.cfl
check "that of frames, too" cmp out/*s003-i00001.cfl site-framed.cfg.cfl
for a in "step s" "step_image with" "step_verdict used"; do
	check "its attributes: $a" [ "$(attribute out/*s001-i00001.h5 "${a% *}")" = "${a#* }" ]
done
check "two numbers" [ "$(attribute out/*s001-i00001.h5 step_numbers | wc -w)" -eq 2 ]
check "none of the other's say a word of a step" bash -c \
	'! strings out/*s002-*.h5 | grep -q boreside_step'
ends
