#!/bin/bash
# test/replay/papers/forget.sh - boreside forget: of two studies and a patient one is removed from
# logs, from the store of images and from image files of each type that says whose it is; the
# others' stay, byte for byte where nothing before them went, and are given to an archive; while a
# service runs nothing is removed; what is left is said
set -u
cd "$(dirname "$0")/../../.." || exit 1
. test/support/scratch.bash
command -v dump2dcm >/dev/null && dicom='{ type = "dicom"; dir = "dcm"; },'
cat >"$dir/site.cfg" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = ""; threads = 1; $patient };
endpoints: { archive = ""; viewers = ""; images = "ipc://run/images.ipc"; };
overload: { sinks = "spill"; spill_dir = "spill"; spill_mib = 64; };
log: { dir = "logs"; };
sinks = ( ${dicom-} { type = "mrd"; dir = "h5"; }, { type = "png"; dir = "png"; },
	{ type = "nifti"; dir = "nii"; }, { type = "nifti_4d"; dir = "4d"; },
	{ type = "cfl"; dir = "cfl"; } );
protocols = ( { name = "cart"; method = "cartesian"; matrix = [32, 32]; encoded = [64, 32, 1];
	coils = 2; samples = 64; readouts = 32; $quiet } );
CFG
cd "$dir" || exit 1
folders="${dicom+dcm} h5 png nii 4d"
for s in 1.2.3.4 1.2.3.5 1.2.3.6; do
	"$BORESIDE" phantom -c site.cfg -p cart --repetitions 3 --tr-us 4000 --study $s -o $s.h5 \
		>>out.txt 2>&1
done
# the third is known by its patient alone: the header's text is another, of the same length
was='<studyInformation><studyInstanceUID>1.2.3.6</studyInstanceUID></studyInformation>'
now='<subjectInformation><patientID>ann \&amp; co</patientID></subjectInformation>'
LC_ALL=C sed -i "s|$was|$(printf "%-$((${#was} + 1))s" "$now")|" 1.2.3.6.h5
forget() { "$BORESIDE" forget -c site.cfg "$@" >said.txt 2>&1; }
counts() { # logs, image files of each folder
	ls logs/*.bslog | wc -l
	for f in $folders; do ls $f/uid* | grep -vc 'txt$'; done
}
stored() { "$BORESIDE" receive -c site.cfg -o "$1" --name "$1" --type cfl --once >>out.txt 2>&1; }
starts
for s in 1.2.3.4 1.2.3.5 1.2.3.6 1.2.3.4 1.2.3.5; do
	check "a scan of $s" "$BORESIDE" replay -c site.cfg --asap $patience -p cart $s.h5
done
check "an archive takes all 15 images" stored early
forget 1.2.3.4
check "while the service runs nothing is forgotten" grep -q 'process [0-9]* runs on it' said.txt
"$BORESIDE" replay -c site.cfg $patience -p cart 1.2.3.4.h5 >>out.txt 2>&1 &
scan=$!
forget 1.2.3.4
check "nor in a scan of it" grep -q 'process [0-9]* runs on it, and may have a scan open' said.txt
check "which goes on" wait $scan
ends
check "six scans are there" [ "$(counts | head -n 1)" -eq 6 ]
mkdir before.d && cp -r logs h5 before.d
counts >before
check "a study that never was" forget 9.9.9
check "changes nothing" diff <(counts) before
forget --list 1.2.3.4
check "what would be removed is said: three logs" \
	grep -q 'would remove: 3 logs, 9 images kept for takers' said.txt
check "and nothing is" diff <(counts) before
forget 1.2.3.4
check "files that say nothing stay, named: status 1" [ $? -eq 1 ]
cat said.txt >>out.txt
check "they are the .cfl" eval "[ \$(grep -c '^left .*/cfl/uid.*whose it is' said.txt) -ge 18 ]"
check "three logs, nine images" grep -q '^removed: 3 logs, 9 images kept for takers' said.txt
check "what is left is said" grep -q "^left: archive 'early' may have taken" said.txt
check "its text is in no file" eval "! grep -rlaF 1.2.3.4 logs spill $folders"
check "spare files, which may hold old bytes, are gone" eval '! ls logs/*.spare 2>/dev/null'
check "half of the files" diff <(counts) <(
	echo 3
	for f in $folders; do [ $f = 4d ] && echo 3 || echo 9; done
)
series() { (cd 4d && ls ./*."$1" | sed "s/$1\$//"); }
check "the lines of a 4D series go with it" diff <(series txt) <(series nii)
for f in logs/*.bslog; do cmp -s "$f" "before.d/$f" || echo "not ok $f has changed"; done
for f in h5/*; do cmp -s "$f" "before.d/$f" || echo "not ok $f has changed"; done
check "what is left is whole" "$BORESIDE" log audit -c site.cfg
starts
check "an archive takes what is there" stored late
check "the other nine images" [ "$(ls late/*.cfl | wc -l)" -eq 9 ]
check "one that had all goes on" stored early
check "with no image twice" [ "$(ls early/*.cfl | wc -l)" -eq 15 ]
check "another scan" "$BORESIDE" replay -c site.cfg --asap $patience -p cart 1.2.3.5.h5
check "and takes what is new" stored early
check "alone" [ "$(ls early/*.cfl | wc -l)" -eq 18 ]
ends
cp "$(grep -laF 'ann &amp; co' logs/*.bslog)" ann.bslog
forget 'ann & co'
check "a patient" grep -q '^removed: 1 log, 3 images kept for takers' said.txt
check "whose name is in no file" eval "! grep -rlaF 'ann &amp; co' logs spill $folders"
[ -z "${dicom-}" ] || check "nor in DICOM's" eval "! grep -rlaF 'ann & co' dcm"
check "all is whole" "$BORESIDE" log audit -c site.cfg
cp ann.bslog logs/3.spare # what a log leaves that was removed for its age
check "a patient of whom a spare file alone is left" forget 'ann & co'
check "whose name is then in no file" eval "! grep -rlaF 'ann &amp; co' logs"
head -c 8192 /dev/urandom >logs/20261122T211002.123456-0123456789abcdef-00000.bslog
forget 1.2.3.5
check "a log that cannot be read stays, named" \
	grep -q '^left .*/logs/20261122.*cannot be read' said.txt
check "the last study" grep -q '^removed: 3 logs, 9 images' said.txt
