#!/bin/bash
# test/replay/console/reversed.sh - reversed lines whose center_sample is what Siemens' converter
# copies, N / 2 in both directions, or what MRD's text says: exact by boreside init alone, by
# phase-correction lines, vendor or, where nothing tells, in words and not complete. The service
# gives recon's bytes, and its outcome the same words.
set -u
if [ ! -d "$DATA/console" ]; then
	echo "skip reversed lines' center: no folder of recordings at $DATA/console"
	exit 0
fi
. "$(dirname "$0")/../../support/await.bash"
. "$(dirname "$0")/../init/init.bash"
serve=
trap '[ -z "$serve" ] || kill -KILL "$serve" 2>/dev/null; rm -rf "$dir"' EXIT
ref=$DATA/console/ref
says="center_sample of reversed lines is 32: k = 0 is taken at sample"
copied="$says 31 (as Siemens' converter copies it), not 32 (by MRD's text)"
stored="$says 32 (by MRD's text), not 31 (as Siemens' converter copies it)"
untold="$copied; nothing tells which is right but the key reversed_center"
check() { # words, then a command
	local words=$1
	shift
	if "$@" >out 2>&1; then echo "ok $words"; else echo "not ok $words: $(tail -n 3 out)"; fi
}
bound() { # bound NAME REFERENCE MOST: unscaled
	check "$1: at most $3 of $2" "$BORESIDE" compare --max-unscaled "$3" "$1.cfl" "$ref/$2.cfl"
}
# served NAME: the service by the site file that init made; NAME.out, NAME/images
served() {
	mkdir "$1"
	sed -e "s/^\tname = \"boreside\";.*/&\n\t$patient/" \
		-e 's/^sinks = (/&\n\t{ type = "cfl"; dir = "images"; },/' "$1.cfg" >"$1/site.cfg"
	"$BORESIDE" serve -c "$1/site.cfg" 2>log &
	serve=$!
	"$BORESIDE" status -c "$1/site.cfg" $ready >/dev/null
	"$BORESIDE" replay -c "$1/site.cfg" -p scan --asap $patience "$DATA/console/$1.h5" \
		>"$1.out" 2>&1
	await test -n "$(ls "$1"/images/*.cfl 2>/dev/null)"
	check "$1 through the service: bit for bit" cmp "$1"/images/*.cfl "$1.cfl"
	kill -TERM $serve
	wait $serve
	serve=
	strings -n 8 "$1"/images/*.h5 | sed "s/&apos;/'/g" >"$1.text"
}
for name in reversed_center_mdh reversed_center_mrd reversed_center_untold epi_center_mdh \
	epi_center_mrd epi_center_literal bipolar_asym_mdh bipolar_asym_mrd; do
	init $name "$DATA/console/$name.h5"
	mv recon.log $name.log
done
for name in mdh mrd untold; do bound reversed_center_$name reversed_center 1e-6; done
for name in mdh mrd literal; do bound epi_center_$name epi_center 1e-5; done
for name in mdh mrd; do bound bipolar_asym_$name bipolar_asym_pocs 0.015; done
for n in "" -0002; do
	check "both echoes, whichever way it is said$n" cmp bipolar_asym_{mdh,mrd}$n.cfl
done
check "by the vendor" grep -q -F "$copied, by systemVendor" reversed_center_mdh.log
check "of late echoes, too" grep -q -F "$copied, by systemVendor" bipolar_asym_mdh.log
check "by phase-correction lines" grep -q -F "$copied, by the phase-cor" epi_center_mdh.log
check "which say the other, too" grep -q -F "$stored, by the phase-cor" epi_center_literal.log
check "by nothing" grep -q -F "is partial: $untold" reversed_center_untold.log
check "and init says so" grep -q -F "$untold" reversed_center_untold.err
check "and so it does of others" grep -q -F "$copied, by systemVendor" reversed_center_mdh.err
check "what is plain needs no words" test -z "$(cat reversed_center_mrd.log epi_center_mrd.log \
	bipolar_asym_mrd.log reversed_center_mrd.err | grep center_sample)"

# phases between the echoes: a sample off is a cycle over the field of view
for name in mdh mrd; do
	sed 's/method = .*/&\n\t\timage: { output = "complex"; };/' bipolar_asym_$name.cfg >c.cfg
	"$BORESIDE" recon -c c.cfg -o c.cfl "$DATA/console/bipolar_asym_$name.h5" >out 2>&1
	check "$name: no phase between the echoes" "$BORESIDE" compare --max-unscaled 0.02 \
		c-0002.cfl c.cfl
done

# the key
for word in stored converter; do
	sed "s/method = .*/&\n\t\treversed_center = \"$word\";/" reversed_center_untold.cfg >k.cfg
	"$BORESIDE" recon -c k.cfg -o $word.cfl "$DATA/console/reversed_center_untold.h5" \
		>$word.log 2>&1
done
check "converter" cmp converter.cfl reversed_center_untold.cfl
check "it is the key" grep -q -F "warn: $copied, by reversed_center" converter.log
check "and not partial" test -z "$(grep partial converter.log)"
check "stored" grep -q -F "warn: $stored, by reversed_center" stored.log
check "which is another image" "$BORESIDE" compare --max-unscaled 0.7 stored.cfl \
	"$ref/reversed_center.cfl"
"$BORESIDE" compare --max-unscaled 0.5 stored.cfl "$ref/reversed_center.cfl" >out 2>&1 &&
	echo "not ok stored is the same image" || echo "ok a sample off"

for name in reversed_center_mdh reversed_center_untold epi_center_literal; do served $name; done
check "its outcome says it" grep -q -F "$copied, by systemV" reversed_center_mdh.out
check "and what nothing tells" grep -q -F "are partial, the first: $untold" \
	reversed_center_untold.out
check "and which the lines told" grep -q -F "$stored, by the phase" epi_center_literal.out
check "its image says it" grep -q "boreside_readout</name><value>$says 31" \
	reversed_center_mdh.text
check "which is whole" grep -q 'boreside_quality</name><value>complete<' reversed_center_mdh.text
check "and not" grep -q 'boreside_quality</name><value>partial<' reversed_center_untold.text
