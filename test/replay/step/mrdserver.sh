#!/bin/bash
# test/replay/step/mrdserver.sh - image modules of python-ismrmrd-server, as upstream has them, as
# steps: in `boreside recon` and in the service. MRDSERVER: a folder with the modules; else they are
# fetched. PYTHON: an interpreter with ismrmrd, numpy, scipy, matplotlib; else from PyPI.
# Holds: T5
set -u
. "$(dirname "$0")/../../support/scratch.bash"
. "$(dirname "$0")/../../support/step/venv.bash"
here=$(cd "$(dirname "$0")/../../.." && pwd)
from=https://raw.githubusercontent.com/kspaceKelvin/python-ismrmrd-server
from+=/df45f516ac5ecadda5f6ad46bee96f0c52069bdb
cd "$dir" || exit 1
mkdir mrd out
for f in invertcontrast.py mrdhelper.py constants.py custom/filter.py custom/filter.json; do
	cp "${MRDSERVER:-/none}/${f##*/}" mrd/ 2>/dev/null ||
		curl -fsS --connect-timeout 10 -m 60 -o "mrd/${f##*/}" "$from/$f" 2>curl.txt || {
		echo "skip modules of python-ismrmrd-server: $f: $(tail -n 1 curl.txt)"
		exit 0
	}
done
has_python "modules of python-ismrmrd-server" "ismrmrd, numpy, scipy, matplotlib" \
	ismrmrd==1.15.0 numpy scipy matplotlib
cat >sums <<'SUMS'
507d963c9027d07db3ea173f18d9006ddf7e70e5f191cb9bc135551c08a59565  mrd/constants.py
a3a46e60671c7a9f101d4fa99c8e3ee93c13dfaedeff9ca0143722e2ac017c58  mrd/filter.json
0dec239473a5dfc308f53b4011b4e5c6d3658642283012b48f450623b428ef29  mrd/filter.py
f24d268bfd331d66de3137b8e6d387bf26cd2a4c313c0235d1b30c81b1246a65  mrd/invertcontrast.py
2abfd5360ce39cbced184270f94d945e6fac641992302a853dd3871ab3ac77ad  mrd/mrdhelper.py
SUMS
check "the modules are upstream's, byte for byte" sha256sum -c --quiet sums
mkdir step
cp "$here"/drivers/step/mrdserver/mrdserver.py "$here"/drivers/step/example/boreside_step.py step
ln -s "$(command -v "$python")" step/python3 # a step's command has blanks between its words
runner="$dir/step/python3 $dir/step/mrdserver.py $dir/mrd"
[ -f "$(dirname "$python")/../pyvenv.cfg" ] && runner="$python $dir/step/mrdserver.py $dir/mrd"
cart='method = "cartesian"; matrix = [64, 48]; encoded = [128, 48, 1]; coils = 3; samples = 128;'
cart+=" readouts = 48; $quiet"
cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
sinks = ( { type = "cfl"; dir = "out"; }, { type = "mrd"; dir = "out"; } );
steps = ( { name = "invert"; on = "inverted"; budget_ms = 30000.0;
	command = "$runner invertcontrast"; },
	{ name = "filter"; on = "filtered"; budget_ms = 30000.0;
	command = "$runner filter $dir/mrd/filter.json"; } );
protocols = ( { name = "plain"; $cart }, { name = "inverted"; $cart },
	{ name = "filtered"; $cart } );
CFG
check "a phantom recording of 2 frames" "$BORESIDE" phantom -c site.cfg -p plain --repetitions 2 \
	--snr 20 -o rec.h5
for p in plain inverted filtered; do
	check "$p images" "$BORESIDE" recon -c site.cfg -p $p rec.h5 -o $p.cfl
done
check "are what the modules say: 12 bits, inverted; a median of 3 x 3" "$python" - <<'PY'
import numpy as np
from scipy.ndimage import median_filter
for n in ("", "-0002"):
    plain, inverted, filtered = (np.fromfile(f"{p}{n}.cfl", np.complex64).real.reshape(48, 64)
                                 for p in ("plain", "inverted", "filtered"))
    plain = plain.astype(np.float64)
    bits = np.around(plain * (4095 / plain.max())).astype(np.int16)
    assert (inverted == 4095 - bits).all()
    assert (filtered == median_filter(bits, 3)).all() and filtered.std() > 0
PY
starts
steps() { "$BORESIDE" status -c site.cfg --json | grep -o '"there":1,"ready":1' | wc -l; }
ready() { [ "$(steps)" -eq 2 ]; }
check "the service's steps are ready" await ready
for p in inverted filtered; do
	check "a scan, $p" "$BORESIDE" replay -c site.cfg --asap $patience -p $p rec.h5
done
written() { [ "$(ls out/*.cfl | wc -l)" -eq 4 ] && [ "$(ls out/*.h5 | wc -l)" -eq 4 ]; }
check "4 images" await written
check "inverted, the same to the byte" cmp out/*s001-i00002.cfl inverted-0002.cfl
check "filtered, the same to the byte" cmp out/*s002-i00002.cfl filtered-0002.cfl
check "and their step was used" bash -c '[ "$(strings out/*.h5 | grep -c \
	"<name>boreside_step_verdict</name><value>used<")" -eq 4 ]'
ends
left() { [ -z "$(find /dev/shm /tmp -maxdepth 1 -name 'boreside-invertcontrast-*' -uid $UID)" ]; }
check "nothing of the images is left in the modules' debug folder" left
