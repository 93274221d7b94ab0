# test/replay/scan/scans.bash - sourced by scripts here: scans through a service of site.cfg in $dir,
# which is also the folder they are in; what leaves is held to what `boreside recon` makes of it
#
# replay PROTOCOL RECORDING: replay.txt has its words, the last line is the outcome; $scan counts.
# good: its outcome is BS_OK. refused and ended, with WORDS: so at OPEN, which counts no scan; later.
# of [FOLDER SUFFIX]: the images of the last scan. written N: so many are there.
# same WORDS N OPTIONS RECORDING: recon makes N images, and they are those of the last scan, bit for
# bit; ours and one name them. near, far WORDS IMAGE REFERENCE BOUND: within the bound, not within.
# says WORDS PATTERN [FILE]: replay.txt does. is WHAT WANTED FOUND.
# replaced: recon, killed as $old, has a successor that is ready.
. "$(dirname "${BASH_SOURCE[0]}")/../../support/scratch.bash"
scan=0
replay() {
	scan=$((scan + 1))
	"$BORESIDE" replay -c site.cfg --asap $patience -p "$1" "$2" >replay.txt 2>&1
	cat replay.txt >>out.txt
}
says() { check "$1" grep -q -- "$2" "${3:-replay.txt}"; }
good() {
	replay "$1" "$2"
	says "$2 of $1 through the service" 'outcome: BS_OK'
}
refused() {
	replay "$1" "$2"
	scan=$((scan - 1))
	says "$2 of $1 is refused at OPEN: $3" "refused: BS_ERR_CALIBRATION: .*$3"
}
ended() {
	replay "$1" "$2"
	says "$2 of $1 is ended: $3" "outcome: BS_ERR_CALIBRATION: .*$3"
}
of() { ls "${1:-images}"/*s"$(printf %03d $scan)"-*."${2:-cfl}" 2>/dev/null; }
written() { [ "$(of | wc -l)" -ge "$1" ]; }
same() {
	local words=$1 n=$2
	shift 2
	rm -f one*.cfl one*.hdr
	check "$words: in one process" "$BORESIDE" recon -c site.cfg "$@" -o one.cfl
	await written "$n"
	mapfile -t ours < <(of)
	one=(one.cfl one-*.cfl)
	check "$words: $n images" [ ${#ours[@]} -eq "$n" ]
	for ((i = 0; i < n && i < ${#ours[@]}; i++)); do
		check "$words: image $((i + 1)), bit for bit" cmp "${ours[$i]}" "${one[$i]}"
	done
}
near() { check "$1" "$BORESIDE" compare --max-unscaled "$4" "$2" "$3"; }
far() { check "$1" sh -c "! '$BORESIDE' compare --max-unscaled '$4' '$2' '$3'"; }
is() { [ "$2" = "$3" ] && echo "ok $1: $2" || echo "not ok $1: $3, not $2"; }
pid() {
	"$BORESIDE" status -c site.cfg --json | tr '{' '\n' |
		sed -n "s/.*\"name\":\"recon\",\"pid\":\([0-9]*\).*/\1/p"
}
ready() { "$BORESIDE" status -c site.cfg --json | grep -q '"state":"idle"'; }
replaced() { new=$(pid) && [ -n "$new" ] && [ "$new" != "$old" ] && ready; }
