#!/bin/bash
# test/replay/orthanc.sh - images to a real PACS (Debian's orthanc) by C-STORE: while it is away
# they wait, and neither scan nor other sinks wait with them; once it is there it has each of them
# once, however often the service makes them, with the tags that the file has
# Holds: I6, I10
set -u
. "$(dirname "$0")/../support/await.bash"
for program in Orthanc storescu dump2dcm dcmdump; do
	command -v $program >/dev/null && continue
	echo "skip a PACS: $program is not installed"
	exit 0
done
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
name=boreside-test-$$-$RANDOM
server= pacs=
end() {
	for p in $server $pacs; do
		kill "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	rm -rf "$dir"
}
trap end EXIT
cd "$dir" || exit 1

get() { # get PATH: what the PACS's REST interface answers
	exec 3<>"/dev/tcp/127.0.0.1/$http" || return 1
	printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$1" >&3
	timeout 20 cat <&3
	exec 3<&- 3>&-
} 2>/dev/null
ours() { get /system | grep -q "\"$name\""; }
ours_or_over() { ours || ! kill -0 "$pacs" 2>/dev/null; }
# On ports that nobody has; or somebody has them after all: then it ends, and others are tried.
pacs_starts() {
	cat >orthanc.json <<EOF
{ "Name": "$name", "StorageDirectory": "$dir/pacs", "IndexDirectory": "$dir/pacs",
  "HttpPort": $http, "DicomPort": $port, "DicomAet": "ORTHANC", "DicomCheckCalledAet": true,
  "DicomAlwaysAllowStore": true, "DicomServerEnabled": true, "HttpServerEnabled": true,
  "RemoteAccessAllowed": false, "AuthenticationEnabled": false, "Plugins": [] }
EOF
	mkdir -p pacs
	Orthanc orthanc.json >orthanc.log 2>&1 &
	pacs=$!
	await ours_or_over
	ours
}
pacs_stops() {
	kill "$pacs"
	wait "$pacs" 2>/dev/null
	pacs=
}
found=
for _ in 1 2 3 4 5 6 7 8; do
	port=$((RANDOM % 20000 + 10000)) http=$((RANDOM % 20000 + 10000))
	[ $port -ne $http ] && pacs_starts && found=1 && break
	[ -z "$pacs" ] || pacs_stops
done
if [ -z "$found" ]; then
	echo "skip a PACS: Orthanc does not start: $(tail -n 1 orthanc.log)"
	exit 0
fi
echo "ok the PACS answers"
pacs_stops

cat >site.cfg <<EOF
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; acq_slots = 64;
	$patient };
endpoints: { archive = ""; };
overload: { sinks = "spill"; spill_dir = "spill"; spill_mib = 64; };
sinks: ( { type = "dicom"; dir = "dicom"; store = "ORTHANC@127.0.0.1:$port"; },
	{ type = "nifti"; dir = "nifti"; } );
protocols: ( { name = "scan"; method = "cartesian"; matrix = [32, 24]; encoded = [32, 24, 1];
	coils = 1; samples = 32; readouts = 24; $quiet } );
EOF
"$BORESIDE" phantom --traj cartesian --matrix 32,24 --fov-mm 160,120,5 --object marker \
	--repetitions 5 --motion 0.2,4 --name scan --te-ms 4.9 --study 1.2.840.7.99 \
	--measurement m7 --oblique 20,30 --position-mm 10,-20,30 -o scan.h5 >/dev/null
"$BORESIDE" serve -c site.cfg 2>log &
server=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null ||
	echo "not ok the service starts: $(tail -n 3 log)"

files() { ls "$1" 2>/dev/null | grep -c "$2\$"; }
five() { [ "$(files "$1" "$2")" -eq "${3:-5}" ]; }
send() {
	if "$BORESIDE" replay -c site.cfg -p scan --asap $patience scan.h5 >replay.log 2>&1; then
		echo "ok a scan of five images ends well"
	else
		echo "not ok replay: $(cat replay.log)"
	fi
}
refused() { "$BORESIDE" status -c site.cfg --json | grep -q 'does not store'; }
send
await five nifti .nii && echo "ok the other sink has them" ||
	echo "not ok nifti: $(files nifti .nii) files"
await refused && echo "ok the status says that the PACS does not store" ||
	echo "not ok status: $("$BORESIDE" status -c site.cfg --json | grep -o '"refusal":[^,]*')"
five dicom .dcm 0 && echo "ok what is not stored is not filed" ||
	echo "not ok dicom: $(files dicom .dcm) files"

# the same ports: somebody else may have taken them meanwhile, though nobody is given them
again() { pacs_starts || { pacs_stops; false; }; }
if ! await again; then
	echo "skip the PACS that comes back: its ports are taken"
	exit 0
fi
instances() { get /instances | grep -o '"[0-9a-f-]*"' | tr -d '"' | sort -u; }
stored() { [ "$(instances | wc -l)" -eq "$1" ]; }
await stored 5 && echo "ok it is back, and has the five" ||
	echo "not ok it has $(instances | wc -l), log: $(tail -n 3 log)"
await five dicom .dcm && echo "ok and each is filed" || echo "not ok dicom: $(ls dicom)"

# made again: other files, the same instances
send
await five dicom .dcm 10 && await five nifti .nii 10 && echo "ok the scan again" ||
	echo "not ok the scan again: $(ls dicom nifti)"
stored 5 && echo "ok and the PACS still has five: the same images" ||
	echo "not ok the PACS has $(instances | wc -l)"

tags() { for i in $(instances); do get "/instances/$i/simplified-tags"; done; }
tags >tags
tag() { # tag NAME GROUP,ELEMENT: the same in the PACS and in the files
	local is want
	is=$(grep -o "\"$1\" : \"[^\"]*" tags | sed 's/.*: "//; s/\\\\/\\/g' | sort)
	want=$(for f in dicom/*s001-i*.dcm; do dcmdump -q +L +P "$2" "$f"; done |
		sed 's/^[^[]*\[//; s/\].*//' | sort)
	[ -n "$is" ] && [ "$is" = "$want" ] && echo "ok $1: $(uniq <<<"$is" | paste -s -d ' ')" ||
		echo "not ok $1: '$is', the files have '$want'"
}
tag SOPInstanceUID 0008,0018
tag StudyInstanceUID 0020,000d
tag SeriesInstanceUID 0020,000e
tag InstanceNumber 0020,0013
tag ProtocolName 0018,1030
tag EchoTime 0018,0081
tag ImagePositionPatient 0020,0032
tag ImageOrientationPatient 0020,0037
tag PixelSpacing 0028,0030
kill $server
wait $server
rc=$?
server=
[ $rc -eq 0 ] && echo "ok the service ends with 0" || echo "not ok the service ends with $rc"
