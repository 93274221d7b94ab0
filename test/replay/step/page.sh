#!/bin/bash
# test/replay/step/page.sh - the first section of STEPS.md, its commands run as they stand, in an
# empty folder, with the files of this tree
set -u
. "$(dirname "$0")/../../support/scratch.bash"
here=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$dir" || exit 1
mkdir bin walk
ln -s "$BORESIDE" bin/boreside
sed -n '/^## From nothing/,/^## A step that measures/s/^       //p' "$here/board/doc/STEPS.md" |
	sed "s|/usr/local/share/doc/boreside/step|$here/drivers/step/example|" >commands
check "the page has commands" [ "$(wc -l <commands)" -ge 18 ]
check "it starts the service" grep -q '^boreside serve' commands
{ cat commands; echo 'echo $! >../pid'; } >script
(cd walk && PATH=$dir/bin:$PATH bash -e ../script) >said.txt 2>&1
check "all of them end well" [ $? -eq 0 ]
[ -s pid ] && serve=$(cat pid)
grep -q no.service said.txt && echo "ok without a service the step says so" ||
	{ echo "not ok the step without a service"; tail -n 5 said.txt; }
check "an image is there, twice" bash -c 'ls walk/inverted.png walk/out/*.png'
told() { grep -q "step 'invert' armed: p50" walk/log; }
check "the log has what the step takes" await told
used() {
	"$BORESIDE" status -c walk/site.cfg | grep -q 'step invert .*connected, last image: used'
}
again() {
	"$BORESIDE" replay -c walk/site.cfg -p first --asap walk/scan.h5
	used
}
check "and a scan's image passes it" await again
kill -TERM "$serve"
ended() { ! kill -0 "$serve"; }
check "the service ends" await ended
serve=
