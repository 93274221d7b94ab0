#!/bin/bash
# test/replay/init/command.sh - boreside init: what it refuses, and protocols without a recording
set -u
. "$(dirname "$0")/init.bash"
"$BORESIDE" phantom --traj cartesian --matrix 32,32 --coils 2 -o plain.h5 >phantom.log 2>&1
init plain plain.h5 && echo "ok a plain scan"

# what is there is kept, unless it may go; what is no recording is refused, and nothing written
"$BORESIDE" init --from plain.h5 -o plain.cfg >log 2>&1
[ $? -eq 1 ] && grep -q 'is there already: --add' log && echo "ok a site file is not replaced" ||
	echo "not ok a site file is replaced: $(cat log)"
"$BORESIDE" init --from plain.h5 -o plain.cfg --force >log 2>&1 && echo "ok but by --force" ||
	echo "not ok --force: $(cat log)"
# a second protocol by a command: names are kept apart, what stands there stays
cp plain.cfg before.cfg
sed -i '1i # ours: "protocols = (", which is a comment' plain.cfg
"$BORESIDE" phantom --traj radial2d --matrix 32,32 --coils 3 -o spokes.h5 >phantom.log 2>&1
for recording in spokes plain; do
	"$BORESIDE" init --from $recording.h5 -o plain.cfg --add >log 2>&1 &&
		echo "ok $recording is added" || echo "not ok $recording is added: $(cat log)"
done
names=$("$BORESIDE" check plain.cfg |
	sed -n '/^protocols/,$s/^\tname = "\(.*\)";/\1/p' | tr '\n' ' ')
[ "$(echo $names | wc -w)" = 3 ] && [ "$(echo $names | tr ' ' '\n' | sort -u | wc -l)" = 3 ] &&
	[ -z "$(grep -vxFf plain.cfg before.cfg)" ] && grep -q '^# ours' plain.cfg &&
	echo "ok three protocols, each with its name: $names" ||
	echo "not ok three protocols: $names: $(diff before.cfg plain.cfg | tail -n 5)"
set -- $names # the newest first
for recording in plain spokes; do
	"$BORESIDE" recon -c plain.cfg -p "$1" $recording.h5 -o added.cfl >log 2>&1 &&
		echo "ok $recording by its own" || echo "not ok $recording: $(cat log)"
	shift
done
mv before.cfg plain.cfg
"$BORESIDE" init --from palin.h5 -o x.cfg >log 2>&1
[ $? -eq 1 ] && grep -q 'did you mean plain.h5?' log && echo "ok $(cat log)" ||
	echo "not ok a mistyped recording: $(cat log)"
"$BORESIDE" recon -c plain.cfg -o x.cfl palin.h5 >log 2>&1
[ $? -eq 1 ] && grep -q 'did you mean plain.h5?' log && echo "ok recon, too" ||
	echo "not ok a mistyped recording of recon: $(cat log)"
echo nothing >text.h5
"$BORESIDE" init --from text.h5 -o x.cfg >log 2>&1
[ $? -eq 1 ] && [ ! -e x.cfg ] && [ ! -e x.cfg.part ] && echo "ok $(tail -n 1 log)" ||
	echo "not ok a file that is no recording: $(cat log)"
"$BORESIDE" phantom --matrix 32,32 --snr 10 --coils 2 --traj cartesian --noise-scan 4,64 \
	--noise-only -o noisy.h5 >log 2>&1
"$BORESIDE" init --from noisy.h5 -o x.cfg >log 2>&1
[ $? -eq 1 ] && grep -q 'none of its 4 readouts is a line of an image' log &&
	echo "ok a scan of noise alone has no protocol" ||
	echo "not ok a scan of noise alone: $(cat log)"

refused() { # refused STATUS WORDS OPTIONS...: and nothing is left of the site file
	local status=$1 words=$2 got
	shift 2
	"$BORESIDE" init "$@" >log 2>&1 </dev/null
	got=$?
	[ $got -eq "$status" ] && grep -q -e "$words" log && [ -z "$(find . -name '*.part')" ] &&
		echo "ok refused: $(grep -e "$words" log | head -n 1 | cut -c 1-100)" ||
		echo "not ok '$words', $status, is $got: $(tail -n 2 log)"
}
long=$(printf '%0300d' 7)
mkdir -p folder.cfg "${long:0:200}/${long:0:200}"
cp plain.h5 "${long:0:200}/${long:0:200}/plain.h5"
refused 2 'is not given beside it' --from plain.h5 --coils 4 -o x.cfg
refused 1 'a valid site file is wanted' --from plain.h5 --add -o x.cfg
refused 2 'adds a protocol and nothing else' --from plain.h5 --add --web 8080 -o plain.cfg
refused 1 'nowhere/x.cfg.part: No such file' --from plain.h5 -o nowhere/x.cfg
refused 1 'folder.cfg: Is a directory' --from plain.h5 --force -o folder.cfg
refused 1 'too long a path' --from plain.h5 -o "$long"
refused 1 'too long a path' --from "${long:0:200}/${long:0:200}/plain.h5" -o x.cfg
[ ! -e x.cfg ] && [ -d folder.cfg ] && echo "ok and nothing is written" ||
	echo "not ok a site file is left: $(ls)"
ln -s plain.h5 'a "quoted" \ name.h5'
"$BORESIDE" init --from 'a "quoted" \ name.h5' -o quoted.cfg >log 2>&1 &&
	"$BORESIDE" check quoted.cfg >log 2>&1 && echo "ok a recording with quotes in its name" ||
	echo "not ok a recording with quotes in its name: $(cat log)"

# with what stands around the service
"$BORESIDE" init --from plain.h5 -o all.cfg --mrd 9002 --web 8080 \
	--pacs ORTHANC@127.0.0.1:4242 >log 2>&1 &&
	"$BORESIDE" check all.cfg >resolved 2>log &&
	grep -q 'listen = "tcp://127.0.0.1:9002"' resolved &&
	grep -q 'listen = "127.0.0.1:8080"' resolved &&
	grep -q 'store = "ORTHANC@127.0.0.1:4242"' resolved &&
	echo "ok MRD clients, a page and a PACS" || {
	grep -q 'DCMTK' log && echo "skip a PACS: $(tail -n 1 log)" ||
		echo "not ok MRD clients, a page and a PACS: $(tail -n 2 log)"
}
"$BORESIDE" init --from plain.h5 -o bad.cfg --pacs nowhere >log 2>&1
[ $? -eq 2 ] && [ ! -e bad.cfg ] && grep -q -e '--pacs nowhere: ' log &&
	echo "ok a PACS without a port" ||
	echo "not ok a PACS without a port: $(cat log)"

# for the installed service
"$BORESIDE" init --from plain.h5 --system -o system.cfg >log 2>&1 &&
	grep -q '^  systemctl enable --now boreside$' log && ! grep -q 'sees nothing' log &&
	echo "ok systemd starts an installed service" ||
	echo "not ok an installed service: $(cat log)"
"$BORESIDE" phantom --matrix 32,32 --coils 2 -o spokes.h5 >log 2>&1
away=$(mktemp -d /tmp/boreside-test-XXXXXX) # no unit sees it
cp spokes.h5 "$away"
"$BORESIDE" init --from "$away/spokes.h5" --system -o hidden.cfg >log 2>&1 &&
	grep -q 'its unit sees nothing in /tmp/: keep it elsewhere' log &&
	echo "ok a trajectory that the unit cannot read is said" ||
	echo "not ok a trajectory in /tmp: $(cat log)"
rm -rf "$away"

# without a recording
for kind in "cartesian 32x32" "radial 32x32" "spiral 24,24" "stack 16x16x2" \
	"radial3d 8x8x8"; do
	set -- $kind
	"$BORESIDE" init --kind "$1" --matrix "$2" --coils 4 --name "$1" -o "of_$1.cfg" \
		>log 2>&1 </dev/null && "$BORESIDE" check "of_$1.cfg" >log 2>&1 &&
		"$BORESIDE" phantom -c "of_$1.cfg" -p "$1" -o "of_$1.h5" >log 2>&1 &&
		"$BORESIDE" recon -c "of_$1.cfg" -o "of_$1.cfl" "of_$1.h5" >log 2>&1 &&
		echo "ok answers: $1" || echo "not ok answers: $1: $(tail -n 2 log)"
done
"$BORESIDE" init --kind stack --matrix 256x256x128 --coils 32 -o large.cfg >log 2>&1 </dev/null &&
	grep -q 'it is larger here' log && grep -q '^[^#]*memory_mib = ' large.cfg &&
	echo "ok $(grep -o 'pools and plans take [0-9]* MiB' log): the limit follows" ||
	echo "not ok a protocol of more memory: $(cat log)"
"$BORESIDE" init --matrix 64,64 -o x.cfg >log 2>&1 </dev/null
[ $? -eq 2 ] && grep -q -e '--matrix and --coils' log && echo "ok coils are not guessed" ||
	echo "not ok an answer that is missing: $(cat log)"
"$BORESIDE" init --kind raidal --matrix 64,64 --coils 1 -o x.cfg >log 2>&1 </dev/null
[ $? -eq 2 ] && grep -q 'did you mean radial?' log && echo "ok a mistyped kind" ||
	echo "not ok a mistyped kind: $(cat log)"
