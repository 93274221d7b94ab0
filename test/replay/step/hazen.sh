#!/bin/bash
# test/replay/step/hazen.sh - the QA step's figures of ACR's phantom, on scanners of three vendors,
# against those of hazen. HAZEN: a folder with hazen's tests/data/acr; else its files are fetched.
# PYTHON: an interpreter with hazen; else from PyPI.
# Holds: T8
set -u
. "$(dirname "$0")/../../support/scratch.bash"
. "$(dirname "$0")/../../support/step/venv.bash"
here=$(cd "$(dirname "$0")" && pwd)
from=https://raw.githubusercontent.com/GSTT-CSC/hazen
from+=/ce5426aa0c428bbc86937d3da261da301d6b2ecf/tests/data/acr
cd "$dir" || exit 1
for series in GE GE_Signa_Artist_1.5T_T1 PhilipsAchieva Siemens Siemens2 SiemensSolaFit; do
	mkdir $series
	for i in 0 1 2 3 4 5 6 7 8 9 10; do
		f=$series/$i.dcm
		[ $series != GE_Signa_Artist_1.5T_T1 ] || f=$series/$(printf %02d $i).dcm
		cp "${HAZEN:-/none}/$f" "$series/" 2>/dev/null ||
			curl -fsS --connect-timeout 10 -m 60 -o "$f" "$from/$f" 2>curl.txt || {
			echo "skip hazen's phantoms: $f: $(tail -n 1 curl.txt)"
			exit 0
		}
	done
done
has_python "hazen's figures" "hazenlib.tasks.acr_uniformity" hazen==2.0.0
sums() { find [GPS]* -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d " " -f 1; }
check "the phantoms are the ones that are meant, byte for byte" [ "$(sums)" = \
	f777292b4b5450a197a82eb437fc6aa6c019103431816cd34083d01c22d71e15 ]
timeout 600 "$python" -W ignore "$here/hazen.py" "$BUILD/drivers/step/qa/qa" "$dir" 2>err.txt ||
	{ echo "not ok hazen.py ends well"; tail -n 3 err.txt | sed 's/^/# /'; }
