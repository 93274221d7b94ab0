#!/bin/bash
# test/unit/board/ready.sh - what the service would not start with is refused by check, in one line
# that names key and reason, and by serve in the same words
set -u
: "${BORESIDE:?}"
. "$(dirname "$0")/../../support/await.bash"
dir=$(mktemp -d /tmp/boreside-ready-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
touch file
"$BORESIDE" phantom --matrix 16x16 --coils 2 --traj cartesian -o a.h5 >/dev/null
# value HEX: a complex number with this real part, little-endian
value() {
	local v=${1}00000000
	printf "\\x${v:6:2}\\x${v:4:2}\\x${v:2:2}\\x${v:0:2}\\0\\0\\0\\0"
}
# array NAME DIMS HEX...
array() {
	local name=$1
	printf '# Dimensions\n%s\n' "$2" >"$name.hdr"
	shift 2
	for v in "$@"; do value "$v"; done >"$name.cfl"
}
# a trajectory of three samples, and weights that see the second alone: there the transform of an
# image of ones is negative
array path '3 3 1' bf000000 bf000000 0 3dc00000 0 0 3e800000 3e800000 0
array blind '1 3 1' 0 3f800000 0
printf '%%%%MatrixMarket matrix coordinate real general\n1 9 1\n1 9 0.5\n' >w.mtx

node= more= keys=
site() { # site METHOD: the protocol, with the keys under trial
	cat >site.cfg <<END
node: { run_dir = "run"; cache_dir = ""; threads = 1; image_slots = 2; acq_slots = 8;
	heartbeat_ms = 100.0; stall_ms = 60000.0; $node };
$more
protocols = ( { name = "p"; method = "$1"; matrix = [16, 16]; coils = 2; $keys } );
END
}
# refused METHOD KEY REASON: by check in one line, by serve in the same words
refused() {
	local rc line
	site "$1"
	rm -rf run
	"$BORESIDE" check site.cfg >out 2>err
	rc=$?
	line=$(sed "s|^$dir/site.cfg: ||" err)
	if [ $rc -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [[ $line == *"$2"*"$3"* ]]; then
		echo "ok check: $line"
	else
		echo "not ok check, $2, '$3': status $rc, $(cat err)"
	fi
	[ ! -e run ] && echo "ok check made no folder" || echo "not ok check made a folder"
	timeout 600 "$BORESIDE" serve -c site.cfg >out 2>log
	rc=$?
	if [ $rc -eq 1 ] && [ -n "$line" ] && grep -q -F -e "${line:0:150}" log; then
		echo "ok serve: the same words"
	else
		echo "not ok serve, $2: status $rc, $(cat log)"
	fi
	node= more= keys=
}
sizes='samples = 16; readouts = 16;'
grid="$sizes encoded = [16, 16];"
radial="$sizes trajectory: { type = \"radial2d\"; };"

keys=$grid node='run_dir = "file/run";'
site cartesian
sed -i 's/run_dir = "run"; //' site.cfg
"$BORESIDE" check site.cfg >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'node.run_dir: folder .*Not a directory' err &&
	echo "ok check: $(cat err)" || echo "not ok a run_dir under a file: $(cat err)"
"$BORESIDE" serve -c site.cfg 2>log
[ $? -eq 1 ] && grep -q -F -e "$(cat err)" log && echo "ok serve: the same words" ||
	echo "not ok serve, a run_dir under a file: $(cat log)"
node= keys=$grid more='endpoints: { kspace = "ipc://none/k.ipc"; };'
refused cartesian endpoints.kspace 'No such file or directory'
keys=$grid more='endpoints: { archive = "ipc://file"; };'
refused cartesian endpoints.archive 'a file that is no socket stands there'
keys=$grid more='sinks = ( { type = "png"; dir = "out_"; }, { type = "cfl"; dir = "file/x"; } );'
refused cartesian 'sinks.[1].dir' 'Not a directory'
keys=$grid more='sinks = ( { type = "png"; dir = "ouput/png"; } );'
refused cartesian 'sinks.[0].dir' '/out?); only the last part of a path is made'
keys=$grid node='cache_dir = "no/cache";'
site cartesian
sed -i 's/cache_dir = ""; //' site.cfg
"$BORESIDE" check site.cfg >out 2>err
[ $? -eq 1 ] && grep -q 'node.cache_dir: .*/no is not there' err && echo "ok check: $(cat err)" ||
	echo "not ok a cache_dir whose parent is not there: $(cat err)"
node=
keys=$grid more='overload: { archive = "spill"; spill_dir = "file"; };'
refused cartesian overload.spill_dir 'is no folder'
keys="$sizes trajectory: { type = \"file\"; file = \"path.cfl\"; };"
refused gridding "protocol 'p': trajectory.file: " '3 samples in 1 readouts'
keys="$radial gridding: { density = \"file\"; density_file = \"blind.cfl\"; };"
refused gridding "protocol 'p': gridding.density_file: " 'needs [1, 16, 16]'
keys="$grid slices = 3; image: { combine = \"sense\"; maps_file = \"a_maps.cfl\"; };"
refused cartesian "protocol 'p': image.maps_file: " 'with 3 in dimension 13'
keys="$radial image: { maps_file = \"a_true.cfl\"; };"
refused sense "protocol 'p': image.maps_file: " 'needs [16, 16, 1, 2, 1]'
keys="$radial ls: { lambda = 1.0; w_file = \"w.mtx\"; };"
refused ls "protocol 'p': ls.w_file: " 'has 9 columns, the image 256 voxels'
node='memory_mib = 64; '
keys="samples = 512; readouts = 2000; slices = 16; trajectory: { type = \"radial2d\"; };"
refused gridding node.memory_mib "64 MiB are too few for protocol 'p'"
keys="samples = 3; readouts = 1; trajectory: { type = \"file\"; file = \"path.cfl\"; };
	gridding: { density = \"file\"; density_file = \"blind.cfl\"; normalize = \"uniform\"; };"
site gridding
"$BORESIDE" check site.cfg >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'gridding.density: .*see nothing' err &&
	echo "ok check: $(cat err)" || echo "not ok weights that see nothing: $(cat err)"
timeout 600 "$BORESIDE" serve -c site.cfg >out 2>log
[ $? -eq 1 ] && grep -q 'its weights see nothing of an image of ones' log &&
	echo "ok serve: the same words" || echo "not ok serve, weights: $(cat log)"
# what is good is taken, also beside a service that runs
keys=$grid node= more=
site cartesian
"$BORESIDE" check site.cfg >out 2>err && [ ! -s err ] && echo "ok a good one" ||
	echo "not ok a good site file: $(cat err)"
"$BORESIDE" serve -c site.cfg 2>log &
server=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null
"$BORESIDE" check site.cfg >out 2>err && [ ! -s err ] && echo "ok while its service runs" ||
	echo "not ok while its service runs: $(cat err)"
kill $server
wait $server

keys=$grid more='web: { token_file = "/dev/zero"; };'
refused cartesian web.token_file 'not a regular file'
keys=$grid more='bridges: { mrd: { allow = "10.0.0.1, 0.0.0.0/0"; }; };'
site cartesian
"$BORESIDE" check site.cfg >out 2>err && grep -q 'bridges.mrd.allow: warning: .*anybody' err &&
	echo "ok addresses of everybody are warned of" || echo "not ok allow: $(cat err)"

# a sink that runs programs, where they are not
keys=$grid more='sinks = ( { type = "dicom"; dir = "images"; } );'
site cartesian
if PATH=/nonexistent "$BORESIDE" check site.cfg >out 2>err; then
	echo "not ok check: dicom without dump2dcm"
elif grep -q 'sinks.\[0\].type: the program dump2dcm is not there (.*package dcmtk)' err; then
	echo "ok check: $(sed 's|.*site.cfg: ||' err)"
else
	echo "not ok check, dump2dcm: $(cat err)"
fi
if command -v dump2dcm storescu >/dev/null; then
	keys=$grid more='overload: { sinks = "spill"; spill_dir = "spill"; };
		sinks = ( { type = "dicom"; dir = "images"; store = "PACS at home"; } );'
	refused cartesian 'sinks.[0].store' "'PACS at home' is not AET@host:port"
else
	echo "skip a PACS's address: DCMTK's tools are not here"
fi
