#!/bin/bash
# test/replay/record.sh - scans to logs, and logs in place of recordings: `boreside record` takes
# what `boreside replay` sends, plain or sealed, and goes on with the scan that it was killed in;
# the log, its export and the recording itself give the same images, byte by byte; `boreside log`
# lists, verifies and prunes.
# Holds: L5, L7
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
	says out 'BS_OK: recorded, not reconstructed; log [0-9T.]*-[0-9a-f]*-0000[0-9].bslog'
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

# a recorder that is killed in mid-scan, while the sender pauses: the next one goes on, in the log
record
printf 'at 100 stall 3000 ms\n' >pause.plan
logs() { find logs -name '*-00000.bslog' | wc -l; }
before=$(logs)
"$BORESIDE" replay -c site.cfg --asap $patience --faults pause.plan a.h5 >resumed 2>err &
replay=$!
begun() { [ "$(logs)" -gt "$before" ]; }
await begun || echo "not ok no fourth log: $(cat record.log)"
kill -KILL $recorder
wait $recorder 2>/dev/null
rm -f run/kspace.ipc
record
wait $replay && echo "ok a scan outlives its recorder" ||
	echo "not ok replay: $(cat resumed err)"
says resumed 'acquisitions 192, images 0, gaps 0, .*rejected 0'
says record.log 'the service before was killed in that scan, which goes on from the log'
[ "$(logs)" -eq $((before + 1)) ] && echo "ok one log" || echo "not ok logs: $(ls logs)"
fourth=$(find logs -name '*-00000.bslog' | sort | tail -n 1)
good 'verify' "$BORESIDE" log verify "$fourth"
says out '194 messages, 192 acquisitions, 0 waveforms.*: whole$'
good 'recon of it' "$BORESIDE" recon -c site.cfg -p p "$fourth" -o fourth.cfl
cmp -s a.h5.cfl fourth.cfl && echo "ok the same bytes" || echo "not ok other bytes"
kill -TERM $recorder
wait $recorder

# what crosses tcp is sealed: a stranger is not heard
for k in node scanner stranger; do "$BORESIDE" key new $k.key >$k.pub; done
port=10000
while (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || [ $port -eq 10000 ]; do
	port=$((RANDOM % 20000 + 10001))
done
cat >sealed.cfg <<END
$(sed '/^protocols/,$d' site.cfg)
endpoints: { kspace = "tcp://127.0.0.1:$port"; };
keys: { own = "node.key"; peers = (
	{ name = "mr1"; key = "$(cat scanner.pub)"; roles = [ "scanner" ]; } ); };
$(sed -n '/^protocols/,$p' site.cfg)
END
"$BORESIDE" record -c sealed.cfg -o logs --message 1 --segment 2 2>>record.log &
recorder=$!
url=tcp://127.0.0.1:$port
send() { # send KEY
	"$BORESIDE" replay --url "$url" --key "$1" --service-key "$(cat node.pub)" --asap \
		$patience a.h5
}
good 'a sealed scan' send scanner.key
says out 'BS_OK: recorded, not reconstructed; log '
send stranger.key >out 2>err && echo "not ok a stranger is heard" ||
	says err 'does not know this key'
kill -TERM $recorder
wait $recorder

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
last=$(ls logs/*-00000.bslog | tail -n 1)
good 'prune' "$BORESIDE" log prune logs --keep 1
[ "$(ls logs/*.bslog | wc -l)" -lt "$before" ] && [ -e "$last" ] &&
	echo "ok the oldest went" || echo "not ok prune: $(cat out) $(ls -l logs)"
