#!/bin/bash
# test/walk/walk.sh - the walk of a readout, and that of an image to its file, as ARCHITECTURE.md
# in board/doc has them: which .c files are entered, of a build in which each function says so
# (make walk)
#
# A radial protocol of 64^2, 4 coils, one thread, no log, no archive, no viewers; images as DICOM
# files. In the middle of a scan, below ingest's bs_ingest_receive, recon's take_entry, emit's
# take_entry and advance_taker (taker.c): the files of the tables' rows, all of them and no others,
# and in each the functions that its row names.
set -u
. "$(dirname "$0")/../support/await.bash"
root=$PWD
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
serve=
sender=
cleanup() {
	for p in $sender $serve; do kill -KILL "$p" 2>/dev/null; done
	rm -rf "$dir"
}
trap cleanup EXIT
if ! command -v dump2dcm >/dev/null; then
	echo "skip no dump2dcm (Debian's package dcmtk)"
	exit 0
fi
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
endpoints: { archive = ""; viewers = ""; };
sinks = ( { type = "dicom"; dir = "images"; } );
protocols = ( { name = "radial"; method = "gridding"; matrix = [64, 64]; coils = 4; samples = 128;
	readouts = 101; $quiet trajectory: { type = "radial2d"; }; } );
CFG
cd "$dir" || exit 1
"$BORESIDE" phantom -c site.cfg -p radial --repetitions 200 -o radial.h5 >/dev/null || exit 1

at() { # offset of a function in the program, the one of this name in that file
	nm "$BORESIDE" | awk -v name="$1" '$3 == name { print $1 }' | while read -r offset; do
		case $(addr2line -e "$BORESIDE" "$offset") in *"/$2:"*) echo "$offset" ;; esac
	done
}
roots=$(at bs_ingest_receive ingest/receive.c),$(at take_entry recon/recon.c)
roots+=,$(at take_entry emit/worker.c),$(at advance_taker emit/taker.c)
bytes=$(stat -c %s "$BORESIDE")
truncate -s "$bytes" map none
WALK_MAP=$dir/map WALK_ROOTS=$roots LD_PRELOAD=$BUILD/test/walk/walk_hook.so \
	"$BORESIDE" serve -c site.cfg 2>log.txt &
serve=$!
"$BORESIDE" status -c site.cfg $ready >/dev/null
"$BORESIDE" replay -c site.cfg $patience -p radial radial.h5 >sent.txt 2>&1 &
sender=$!
written() { [ "$(find images -name '*.dcm' 2>/dev/null | wc -l)" -ge "$1" ]; }
await written 2
dd if=/dev/zero of=map bs="$bytes" count=1 conv=notrunc 2>/dev/null
await written $(($(find images -name '*.dcm' | wc -l) + 3))
cp map walk
kill -TERM $sender
kill -TERM $serve
wait $serve
serve=

# ROOT'S BIT, FILE, FUNCTION of what was entered; the walk of a readout ends with recon.
cmp -l walk none | awk '{ printf "%x %s\n", $1 - 1, $2 }' >entered.txt
cut -d ' ' -f 1 entered.txt | addr2line -f -e "$BORESIDE" | sed 's/ (disc.*//' | paste - - |
	paste -d ' ' - entered.txt | awk -v root="$root/" '{
		sub(":[0-9?]*$", "", $2); sub(root, "", $2); sub("^\\./", "", $2)
		bits = int($4 / 10) * 8 + $4 % 10
		print bits < 4 ? "readout" : "image", $2, $1
		if (bits >= 4 && bits % 4) print "readout", $2, $1
	}' | sort -u >walked.txt

# WALK, FILE, FUNCTION or nothing, of the rows of the tables
awk '/^#/ { walk = "" }
	/^## The walk of a readout/ { walk = "readout" }
	/^## The walk of an image/ { walk = "image" }
	walk && /^\|/ && split($0, cell, "|") > 4 {
		file = cell[3] ~ /\.c/ ? cell[3] : cell[4]; gsub(" ", "", file)
		if (file !~ /\.c$/) next
		print walk, file
		rest = $0
		while (match(rest, /[a-z0-9]+(_[a-z0-9]+)+/)) {
			word = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			if (!index(file, word)) print walk, file, word
		}
	}' "$root/board/doc/ARCHITECTURE.md" >promised.txt

failed=0
say() { # words if there are no lines on standard input; else these, each a failure
	local line none=1
	while read -r line; do
		echo "not ok $line"
		none=0 failed=1
	done
	[ $none -eq 0 ] || echo "ok $1"
}
for walk in readout image; do
	grep "^$walk .*\.c " walked.txt | cut -d ' ' -f 1,2 | sort -u >files.txt
	grep "^$walk " promised.txt | cut -d ' ' -f 1,2 | sort -u >rows.txt
	echo "ok $walk: $(wc -l <files.txt) files are entered"
	comm -23 files.txt rows.txt | sed 's/$/ is entered and no row of its table/' |
		say "$walk: each of them is a row"
	comm -13 files.txt rows.txt | sed 's/$/ is a row of its table and not entered/' |
		say "$walk: each row is entered"
	grep -E "^$walk [^ ]+ [^ ]+" promised.txt | while read -r _ file word; do
		grep -q "^$walk .* $word\$" walked.txt || echo "$walk: $file: $word is not entered"
	done | say "$walk: the functions of its rows are entered"
done
[ $failed -eq 0 ] || sed 's/^/# /' log.txt sent.txt
exit $failed
