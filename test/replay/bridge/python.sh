#!/bin/bash
# test/replay/bridge/python.sh - PyPI's ismrmrd, as it is, streams a recording to the bridge of a
# running service and reads its images. PYTHON: the interpreter that has it (python3).
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/scratch.bash"
python=${PYTHON:-python3}
if ! "$python" -c 'import ismrmrd; ismrmrd.ProtocolSerializer; ismrmrd.ConfigFile' 2>/dev/null; then
	echo "skip $python has no ismrmrd with ProtocolSerializer (PyPI's 1.15)"
	exit 0
fi
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; $patient };
endpoints: { archive = ""; images = "ipc://run/images.ipc"; };
overload: { spill_dir = "spill"; spill_mib = 16; };
bridges: { mrd: { listen = "tcp://127.0.0.1:0";
	configs = ( { name = "simplefft.xml"; protocol = "cart"; } ); }; };
protocols = ( { name = "cart"; method = "cartesian"; matrix = [64, 48]; encoded = [128, 48, 1];
	coils = 3; samples = 128; readouts = 48; $quiet } );
CFG
cd "$dir" || exit 1
check "a recording of 3 frames" "$BORESIDE" phantom -c site.cfg -p cart --repetitions 3 --snr 20 \
	-o rec.h5
check "its images in one process" "$BORESIDE" recon -c site.cfg -p cart rec.h5 -o ref.cfl
"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
listens() { grep -q 'may connect to 127.0.0.1:[0-9]' log.txt; }
check "a service with a bridge" await listens
port=$(sed -n 's/.*may connect to 127.0.0.1:\([0-9]*\).*/\1/p' log.txt)
for i in 1 2; do
	check "session $i: three images, int16, and CLOSE" timeout 120 "$python" "$here/client.py" \
		"$port" simplefft.xml rec.h5 ref.cfl ref-0002.cfl ref-0003.cfl
done
timeout 120 "$python" "$here/client.py" "$port" unknown rec.h5 ref.cfl ref-0002.cfl \
	ref-0003.cfl >said.txt 2>&1
check "a config that nobody knows is the only protocol, in words" \
	grep -q "config 'unknown' is none of this site's: protocol cart" said.txt
ends
