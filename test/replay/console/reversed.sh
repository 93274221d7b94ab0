#!/bin/bash
# test/replay/console/reversed.sh - reversed lines whose center_sample is what Siemens' converter
# copies, N / 2 in both directions, or what MRD's text says: exact by boreside init alone, by
# phase-correction lines, vendor or, where nothing tells, in words and not complete. The service
# gives recon's bytes, and its outcome the same words.
# Holds: W54
set -u
. "$(dirname "$0")/console.bash"
begin "reversed lines' center"
says="center_sample of reversed lines is 32: k = 0 is taken at sample"
copied="$says 31 (as Siemens' converter copies it), not 32 (by MRD's text)"
stored="$says 32 (by MRD's text), not 31 (as Siemens' converter copies it)"
untold="$copied; nothing tells which is right but the key reversed_center"
for name in reversed_center_mdh reversed_center_mrd reversed_center_untold epi_center_mdh \
	epi_center_mrd epi_center_literal bipolar_asym_mdh bipolar_asym_mrd; do
	made $name
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
is reversed_center_mdh complete
is reversed_center_untold partial
