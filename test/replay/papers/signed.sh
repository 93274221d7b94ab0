#!/bin/bash
# test/replay/papers/signed.sh - a service that signs: its logs, also one whose receiving process
# was killed in mid-scan, its audit lines and a certificate are what the node's key signed, on
# another machine; one changed byte, a missing file or line and another key are found. The secret
# is in no file but its own, nor in the status
# Holds: L12, L18, S7
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
cd "$dir" || exit 1
umask 022
for k in sign older; do "$BORESIDE" key new $k.key >$k.pub; done
pub=$("$BORESIDE" key signer sign.key) old=$("$BORESIDE" key signer older.key)
check "the key that it signs with is another than it seals with" [ "$pub" != "$(cat sign.pub)" ]
site() { # FORMAT
	cat >site.cfg <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; log_format = "$1"; $patient };
log: { dir = "logs"; };
keys: { sign = "sign.key"; };
sinks = ( { type = "cfl"; dir = "images"; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	coils = 2; samples = 64; readouts = 32; $quiet budget: { image_ms = 1000000.0; }; } );
CFG
}
site json
"$BORESIDE" phantom -c site.cfg -p cart --repetitions 20 --tr-us 4000 -o cart.h5 >out.txt 2>&1
status() { "$BORESIDE" status -c site.cfg --json >status.txt; }
pid() { status && sed -n "s/.*\"name\":\"$1\",\"pid\":\([0-9]*\).*/\1/p" status.txt; }
play() { "$BORESIDE" replay -c site.cfg $patience -p cart "$@" cart.h5 >>out.txt 2>&1; }
scanning() {
	status && grep -q '"scan":{"number":2,"open":true[^{]*"acquisitions":[1-9][0-9]' status.txt
}
starts
check "a scan" play --asap
play &
player=$!
await scanning
kill -KILL "$(pid ingest)"
check "a scan whose receiving process is killed" wait $player
status
ends
cp log.txt events.json
site text
starts
check "a scan of a service that logs words" play --asap
ends
cat log.txt >events.words

mkdir elsewhere && cp logs/*.bslog elsewhere
verify() { "$BORESIDE" log verify --key "$pub" "$@" >said.txt 2>&1; }
check "elsewhere its logs are what it signed" verify elsewhere
cat said.txt >>out.txt
check "all three" [ "$(grep -c 'whole; signed' said.txt)" -eq 3 ]
check "one says that it was recovered" [ "$(grep -c 'recovered' said.txt)" -eq 1 ]
"$BORESIDE" log verify --key "$old" elsewhere >said.txt 2>&1
check "an older key did not sign them" [ "$(grep -c 'signed by another key' said.txt)" -eq 3 ]
mkdir none.d
check "of a folder without a log nothing is said to be signed" eval \
	"verify none.d && grep -q 'none.d: there is no log in it' said.txt"
n=0 found=0
for f in elsewhere/*.bslog; do
	for at in 30 4200 4250 9000 20000; do
		cp "$f" whole
		byte=$(od -An -tu1 -j $at -N 1 "$f" | tr -d ' ')
		printf "\\x$(printf %x $((byte ^ 4)))" |
			dd of="$f" bs=1 seek=$at conv=notrunc 2>/dev/null
		n=$((n + 1))
		verify "$f" || found=$((found + 1))
		cp whole "$f"
	done
done
check "each of $n changed bytes is found" [ "$n" -ge 15 -a "$found" -eq "$n" ]
check "and what is right again is signed again" verify elsewhere
two=$(ls elsewhere | sed -n 's/-00001.bslog$//p')
mv "elsewhere/$two-00001.bslog" taken
verify elsewhere
check "a missing file is found" [ $? -eq 1 ]
mv taken "elsewhere/$two-00001.bslog"
first=$(ls elsewhere | head -n 1) last=$(ls elsewhere | tail -n 1)
cp "elsewhere/$first" taken
cp "elsewhere/$last" "elsewhere/$first"
verify elsewhere
check "another scan's file under this name is found" grep -q 'signed as' said.txt
mv taken "elsewhere/$first"

audit() { "$BORESIDE" log audit --key "$pub" --events "$@" elsewhere >said.txt 2>&1; }
check "its audit keeps its promises" audit events.json
check "so do words" audit events.words
check "log.signed was judged" eval "! grep 'not judged' said.txt | grep signed"
for events in events.json events.words; do
	sed 's/\(acquisitions[": ]*\)6/\17/' $events >changed
	audit changed
	check "a count that is another in $events is found" grep -q '^outcome.signed: ' said.txt
	sed 's/,"signed".*/}/; s/; signed .*//' $events >changed
	audit changed
	check "a line without its signature in $events" \
		grep -q '^outcome.signed: .*not signed' said.txt
done
cat events.json events.json | awk '/"audit":/ && ++n == 3 { next } { print }' >changed
audit changed
check "a line that is missing is found" \
	grep -q '^outcome.signed: .*is line 2, the one before it 2' said.txt
starts
play --asap
kill -STOP "$serve"
for i in {1..35}; do play --asap; done
kill -CONT "$serve"
ends
cp log.txt events.lost
check "who could not write a scan's line says so" grep -q ' 4 scans ended that have no line' log.txt
cp logs/*.bslog elsewhere
audit events.lost
check "and their lines are found to be missing" \
	grep -q '^outcome.signed: .*is line 6, the one before it 1' said.txt

"$BORESIDE" certify -c site.cfg -p cart --seconds 1 -o cert cart.h5 >>out.txt 2>&1
check "a certificate is signed" "$BORESIDE" log verify --key "$pub" cert/certificate.json
check "as is its page" "$BORESIDE" log verify --key "$pub" cert/certificate.md
check "by no other key" eval "! '$BORESIDE' log verify --key '$old' cert/certificate.json"
sed -i 's/"kept":true/"kept":false/; s/"n":\([0-9]\)/"n":1\1/' cert/certificate.json
check "what is changed is not" eval "! '$BORESIDE' log verify --key '$pub' cert/certificate.json"

secret=$(sed 's/boreside-secret //' sign.key)
check "its secret is in no other file, nor in the status" \
	eval "! grep -rqF '$secret' --exclude=sign.key --exclude=out.txt ."
"$BORESIDE" check site.cfg >printed.txt 2>&1
check "nor in what check prints" eval "! grep -qF '$secret' printed.txt"
chmod 640 sign.key
command=check expect 1 "keys.sign: .*others may read" -- site.cfg
command=serve expect 1 "others may read" -- -c site.cfg
