#!/bin/bash
# test/replay/record.sh - scans to logs, and logs in place of recordings: `boreside record` takes
# what `boreside replay` sends; the log, its export and the recording itself give the same images,
# byte by byte; `boreside log` lists, verifies and prunes.
set -u
: "${BORESIDE:?}"
. "$(dirname "$0")/../support/await.bash"
dir=$(mktemp -d)
recorder=
trap 'kill $recorder 2>/dev/null; wait; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

good() { # good WORDS COMMAND...: it succeeds
	local words=$1
	shift
	if "$@" >out 2>err; then echo "ok $words"; else echo \
		"not ok $words: $(tail -n 2 out err)"; fi
}
says() { # says FILE WORDS
	if grep -q -e "$2" "$1"; then echo "ok $2"; else echo "not ok no '$2': $(cat "$1")"; fi
}

cat >site.cfg <<END
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; $patient };
protocols = ( { name = "p"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	coils = 3; samples = 64; readouts = 32; } );
END
good 'a phantom' "$BORESIDE" phantom -c site.cfg -p p --repetitions 6 --snr 30 -o a.h5

record() { # record OPTIONS...: runs, and its endpoint is there
	"$BORESIDE" record -c site.cfg -o logs --message 1 --segment 2 "$@" 2>>record.log &
	recorder=$!
	await test -S run/kspace.ipc || echo "not ok no endpoint: $(cat record.log)"
}
record
for i in 1 2; do
	good "scan $i is recorded" "$BORESIDE" replay -c site.cfg --asap $patience a.h5
	says out 'acquisitions 192, images 0, gaps 0, duplicates 0, rejected 0'
	says out 'BS_OK: recorded, not reconstructed: [0-9T.]*-[0-9a-f]*-0000[0-9].bslog'
done
if "$BORESIDE" record -c site.cfg -o other 2>err; then
	echo "not ok two recorders at one endpoint"
else
	echo "ok a second recorder is refused: $(cat err)"
fi
kill -TERM $recorder
wait $recorder && echo "ok ends with status 0" || echo "not ok ends with $?: $(cat record.log)"

good 'list' "$BORESIDE" log list logs
says out 'sealed  logs/'
[ "$(grep -c sealed out)" -eq 2 ] && echo "ok both" || echo "not ok list: $(cat out)"
mapfile -t logs < <(ls logs/*-00000.bslog)
good 'verify' "$BORESIDE" log verify logs "${logs[0]}"
[ "$(grep -c '194 messages, 192 acquisitions, 0 waveforms.*: whole$' out)" -eq 3 ] &&
	echo "ok OPEN, 192 readouts and CLOSE, whole" || echo "not ok verify: $(cat out)"
[ "$(stat -c %a logs/*.bslog | sort -u)" = 640 ] && echo "ok mode 640" ||
	echo "not ok mode $(stat -c '%a %n' logs/*)"

good 'export' "$BORESIDE" log export "${logs[0]}" b.h5
says out '^b.h5: 192 acquisitions$'
for from in a.h5 b.h5 "${logs[0]}" "${logs[1]}"; do
	good "recon of $from" "$BORESIDE" recon -c site.cfg -p p "$from" -o "${from##*/}.cfl"
	if cmp -s a.h5.cfl "${from##*/}.cfl" && [ -s a.h5.cfl ]; then
		echo "ok the same bytes"
	else
		echo "not ok other bytes"
	fi
done

# a log as the recording that is replayed and recorded again
record
good 'a log is replayed' "$BORESIDE" replay -c site.cfg --asap $patience "${logs[0]}"
kill -TERM $recorder
wait $recorder
third=$(ls logs/*-00000.bslog | tail -n 1)
good 'recon of the log of a log' "$BORESIDE" recon -c site.cfg -p p "$third" -o third.cfl
cmp -s a.h5.cfl third.cfl && echo "ok the same bytes" || echo "not ok other bytes"

# one byte of a readout in the middle
cp "$third" damaged.bslog
printf '\377' | dd of=damaged.bslog bs=1 seek=60000 conv=notrunc 2>/dev/null
"$BORESIDE" log verify damaged.bslog >out 2>err && echo "not ok damage is not seen" ||
	echo "ok damage is status 1"
says err 'damaged.bslog: offset [0-9]*, record [0-9]*: .* records up to'
"$BORESIDE" recon -c site.cfg -p p damaged.bslog -o d.cfl >out 2>err && echo "not ok recon" ||
	echo "ok recon refuses it"
"$BORESIDE" log export damaged.bslog d.h5 >out 2>err && echo "not ok export" ||
	echo "ok export is status 1"
says out 'd.h5: [0-9]* acquisitions'
good 'what could be read is a recording' "$BORESIDE" recon -c site.cfg -p p d.h5 -o d.cfl
head -c 60000 "$third" >cut.bslog
"$BORESIDE" log verify cut.bslog >out 2>err && echo "not ok a cut is not seen" ||
	echo "ok a cut is status 1"

# what stays
before=$(ls logs/*.bslog | wc -l)
good 'nothing is too old' "$BORESIDE" log prune logs --keep-hours 1
says out '^0 logs'
size=$(stat -c %s "$third")
good 'prune' "$BORESIDE" log prune logs --keep 1
[ "$(ls logs/*.bslog | wc -l)" -lt "$before" ] && [ -e "$third" ] &&
	echo "ok the oldest went" || echo "not ok prune: $(cat out) $size $(ls -l logs)"
