#!/bin/bash
# test/replay/certify.sh - boreside certify: a contract that cannot be broken is kept, one that
# cannot be kept is broken, and the certificate says all that it must. No timing fails it.
# Holds: D8
set -u
. "$(dirname "$0")/../support/await.bash"
dir=$(mktemp -d)
mkdir -p "$dir/tmp"
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir/tmp
protocol() { # protocol NAME METHOD BUDGET
	echo "{ name = \"$1\"; method = \"$2\"; backend = \"host\"; matrix = [32, 32]; coils = 2;
		samples = 64; readouts = 16; $quiet trajectory: { type = \"radial2d\"; }; $3 }"
}
cat >"$dir/site.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 64; $patient };
sinks = ( { type = "cfl"; dir = "never"; } );
protocols = ( $(protocol ample gridding "budget: { image_ms = 1000000.0; };"),
	$(protocol never gridding "budget: { image_ms = 0.000001; admission = \"trust\"; };"),
	$(protocol refused gridding "budget: { image_ms = 0.000001; };"),
	$(protocol own noop "budget: { image_ms = 1000000.0; };"),
	$(protocol slides gridding "frame: { step = 4; };
		budget: { image_ms = 1000000.0; admission = \"trust\"; };"),
	$(protocol sheds ls "ls: { iterations = 4; };
		budget: { image_ms = 0.01; on_miss = \"shed\"; admission = \"trust\"; };"),
	$(protocol even gridding "budget: { image_ms = EVEN; admission = \"trust\"; };"),
	$(protocol none gridding "") );
END
sed -i 's/EVEN/1.0/' "$dir/site.cfg"
"$BORESIDE" phantom -c "$dir/site.cfg" -p ample --repetitions 5 --tr-us 2000 \
	-o "$dir/scan.h5" >/dev/null
certify() { # certify STATUS PROTOCOL OPTIONS...: into $dir/PROTOCOL. STATUS 01: kept or not
	status=$1 p=$2
	shift 2
	timeout 250 "$BORESIDE" certify -c "$dir/site.cfg" -p "$p" -o "$dir/$p" "$@" \
		"$dir/scan.h5" >"$dir/out" 2>"$dir/err"
	rc=$?
	[ $rc -eq "$status" ] || { [ "$status" = 01 ] && [ $rc -eq 0 ]; } &&
		echo "ok $p: exit status $rc: $(head -n 1 "$dir/out" | cut -c1-150)" ||
		echo "not ok $p: exit status $rc, not $status:" \
			"$(cat "$dir/out" "$dir/err" | tail -n 3)"
}
says() { # says PROTOCOL FILE TEXT...
	p=$1 file=$dir/$1/$2
	shift 2
	for text; do
		grep -q -- "$text" "$file" && echo "ok $p: ${file##*/} has $text" ||
			echo "not ok $p: ${file##*/} lacks $text"
	done
}
number() { # number PROTOCOL KEY: the first of that name
	grep -o -m1 "\"$2\":[0-9.e+-]*" "$dir/$1/certificate.json" | head -n 1 | cut -d: -f2
}
is() { # is WHAT A B
	[ -n "$2" ] && [ "$2" = "$3" ] && echo "ok $1: $2" || echo "not ok $1: '$2' is not '$3'"
}

# the first processor that this test may use: a canary watches there
processor=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
certify 0 ample --seconds 1.2 --speed 8 --load cpu,io
says ample certificate.json '^{"kept":true,' '"verdict":"kept"' '"why":\[\]' \
	'"config_sha256":"[0-9a-f]\{64\}"' '"cpu":"' '"kernel":"Linux' '"load":"cpu, io"' \
	'"gridding/host"' '"estimate":{"image_ms":' '"due_ms":{"n":' '"p999":' '"jitter":' \
	'"archive_ms":{"n":' '"stamp_to_received_ms":{"n":' '"sent_to_received_ms":{"n":' \
	'"handed_to_archive_ms":{"n":' '"transport_ms":{"n":' '"sender_ms":{"n":' \
	'"sender_overslept_ms":{"n":' '"misses":\[\]' \
	'"stage":"send"' '"stage":"receive"' '"stage":"image"' '"allocations":' '"minor_faults":' \
	"\"cpu\":$processor,\"priority\":" '"speed":8,'
says ample certificate.md 'The contract was kept' '0 attributed to the service' \
	'proves at most 3/N' 'p99.9/p50' '## At 8 times' 'minor faults' \
	'wakes every millisecond' '!\[latency](latency.svg)' '^| transport in: ' \
	'## At the recording.s own pace' '^| transport out: ' \
	'^| transport, in and out together | [1-9]' 'without transport'
is "every image that the recording makes was made" "$(number ample made)" "$(number ample expected)"
is "every readout was taken" "$(number ample readouts_taken)" "$(number ample readouts)"
is "every image was taken" "$(number ample images)" "$(number ample made)"
is "five a scan" "$(number ample images)" "$(($(number ample scans) * 5))"
is "every one has its latency" "$(number ample n)" "$(number ample images)"
is "none is partial" "$(number ample partial)" 0
[ "$(number ample load_io_fsyncs)" -gt 0 ] && echo "ok the disk was written to" ||
	echo "not ok no fsync"
picture() { # the XML of the picture, and its labels beside the numbers of the JSON
	python3 - "$dir/ample" <<'PY'
import json, sys, xml.etree.ElementTree as tree
unit = {"us": 1e-3, "ms": 1.0, "s": 1e3}
whole = json.load(open(sys.argv[1] + "/certificate.json"))
due = whole["runs"][0]["due_ms"]
texts = [e.text for e in tree.parse(sys.argv[1] + "/latency.svg").iter() if e.text]
want = {"p50": due["p50"], "p99": due["p99"], "p99.9": due["p999"], "max": due["max"],
        "budget": whole["budget_ms"]}
for name, ms in want.items():
    said = [t.split() for t in texts if t.startswith(name + " ")]
    good = len(said) == 1 and abs(float(said[0][1]) * unit[said[0][2]] - ms) <= 1e-3 * ms
    print("ok" if good else "not ok", "latency.svg:", name, said, "for", ms, "ms")
title = "Latency of N = %d images, method gridding, protocol ample" % due["n"]
print("ok" if title in texts else "not ok", "latency.svg:", title, texts[:1])
PY
}
if ! python3 -c '' 2>/dev/null; then
	echo "skip latency.svg: no python3 here"
elif ! picture; then
	echo "not ok latency.svg is no picture of the JSON"
fi
rule=$(awk -v n="$(number ample images)" 'BEGIN { printf "%.2e", 2.99573227 / n }')
raw=$(awk -v r="$(number ample rate_95_raw)" 'BEGIN { printf "%.2e", r }')
is "the bound is 3/N" "$raw" "$rule"

# A budget that about every other image keeps: whichever do, image, outcome and certificate agree.
median=$(grep -o '"received_ms":{[^}]*"p50":[0-9.]*' "$dir/ample/certificate.json" |
	head -n 1 | sed 's/.*://')
sed -i "s/budget: { image_ms = 1.0;/budget: { image_ms = $median;/" "$dir/site.cfg"
certify 01 even --images 200 --alone
is "image by image the same" "$(number even disagreed)" 0
is "late by the images' words and by the outcomes" \
	"$(number even late_by_the_service)" "$(number even late_by_its_outcomes)"
echo "# $(number even late_by_the_service) of $(number even images) late by a budget of" \
	"$median ms, $(number even missed_raw) from due"

# A site that logs its scans: beside its own logs, and nothing of that stays.
cp "$dir/site.cfg" "$dir/none.cfg"
mkdir "$dir/logs"
: >"$dir/logs/a.bslog"
echo 'log: { dir = "logs"; };' >>"$dir/site.cfg"
certify 0 own --images 10 --alone
says own certificate.md '^| lag | [1-9]' '^| log | '
is "the site's own logs are as they were" "$(ls -A "$dir/logs")" a.bslog
cp "$dir/none.cfg" "$dir/site.cfg"
certify 0 slides --images 60 --alone
is "a sliding window's images are all expected" "$(number slides made)" "$(number slides expected)"
[ "$(number slides made)" -gt "$(number slides scans)" ] && echo "ok it slides" ||
	echo "not ok one image a scan"
certify 1 sheds --images 20 --alone
says sheds certificate.json '"verdict":"broken"' 'less than the protocol.s method'
[ "$(number sheds rung_gridding)" -gt 0 ] && echo "ok images by gridding are counted as such" ||
	echo "not ok none by gridding"
certify 0 own --images 10 --alone
says own certificate.json '"own_ms":{"n":10,' '"alone":1,'
is "--images ends the run" "$(number own images)" 10
# Its images are counted without the maps that combine its coils.
cat >"$dir/head.cfg" <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; acq_slots = 128; $patient };
protocols = ( { name = "head"; method = "cartesian"; backend = "host"; matrix = [32, 32];
	encoded = [64, 32, 1]; coils = 2; samples = 64; readouts = 32; $quiet
	trajectory: { type = "cartesian"; };
	image: { combine = "sense"; maps_file = "head_maps.cfl"; };
	budget: { image_ms = 1000000.0; }; } );
END
"$BORESIDE" phantom --matrix 32x32 --coils 2 --traj cartesian --samples 64 --repetitions 2 \
	--name head -o "$dir/head.h5" >/dev/null
timeout 250 "$BORESIDE" certify -c "$dir/head.cfg" --images 4 -o "$dir/head" "$dir/head.h5" \
	>"$dir/out" 2>&1
is "cartesian, combined by maps: exit status" "$?" 0
is "cartesian, combined by maps: images" "$(number head images)" "$(number head expected)"
# Canaries watch where the service may run, as the system says, and nowhere else.
cp "$dir/site.cfg" "$dir/all.cfg"
echo "realtime: { ingest_cpus = \"$processor\"; recon_cpus = \"$processor\";
	emit_cpus = \"$processor\"; };" >>"$dir/site.cfg"
certify 0 own --images 5 --alone
there=$(sed -n '/"canaries":/,$p' "$dir/own/certificate.json" |
	grep -o '"cpu":[0-9]*' | tr '\n' ' ')
is "pinned to processor $processor: one canary, there" "$there" "\"cpu\":$processor "
cp "$dir/all.cfg" "$dir/site.cfg"
certify 1 never --images 5
says never certificate.json '^{"kept":false,'
# a stall of a busy machine may explain one of them, or some
left=$(number never missed_attributed)
is "what no stall explains is the service's" \
	"$((left + $(number never missed_explained)))" "$(number never missed_raw)"
says never certificate.md 'The contract was broken' "\*\*$left attributed to the service\*\*"
is "all were missed" "$(number never missed_raw)" "$(number never images)"
says never certificate.md "Misses attributed to the service, the first $left,"
times='"image":[0-9]*,"due_ns":[0-9]*,"before_ns":.*"awake_ns":.*"sent_ns":.*"handed_ns":'
is "each attributed miss is listed with its times" \
	"$(grep -c "$times" "$dir/never/certificate.json")" "$left"
is "the sender's sleep explains none of a budget that nothing can keep" \
	"$(number never missed_overslept)" 0
certify 1 refused --images 5
says refused certificate.json '^{"kept":false,' '"verdict":"broken"' \
	'"refused":".*budget.image_ms is 1e-06'
says refused certificate.md 'The service refused it'
"$BORESIDE" certify -c "$dir/site.cfg" -p ample -o "$dir/killed" "$dir/scan.h5" >"$dir/out" \
	2>"$dir/err" &
asked=$!
began() { # the service, after the child that tries the recording
	service=$(cut -d ' ' -f 1 "/proc/$asked/task/$asked/children" 2>/dev/null)
	[ -n "$service" ] && grep -qz '^serve$' "/proc/$service/cmdline"
}
await began
kill -KILL "$service"
wait $asked
is "a service that is killed gives no certificate: exit status" $? 1
grep -q 'ended by signal 9, Killed, perhaps by the system' "$dir/err" && echo "ok it says so" ||
	echo "not ok killed: $(cat "$dir/out" "$dir/err")"
[ ! -e "$dir/killed/certificate.json" ] && echo "ok none is there" || echo "not ok certificate"
certify 1 none
grep -q "declares no budget" "$dir/err" && echo "ok without a budget there is no contract" ||
	echo "not ok $(cat "$dir/err")"
certify 1 unknown
certify 2 ample --load tape
certify 2 ample --minutes 0
[ -z "$(ls -A "$dir/tmp")" ] && echo "ok nothing stays behind" ||
	echo "not ok left: $(ls -R "$dir/tmp" | head -n 5)"
[ ! -e "$dir/never/run" ] && [ ! -e "$dir/run" ] &&
	echo "ok the site's own folders were not touched" || echo "not ok run folder"
