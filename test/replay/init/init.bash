# test/replay/init/init.bash - sourced by the tests of boreside init: a folder to work in, and words
: "${BORESIDE:?}"
. "$(dirname "${BASH_SOURCE[0]}")/../../support/scratch.bash"
cd "$dir" || exit 1

# init NAME RECORDING: NAME.cfg, which check takes, and NAME.cfl, NAME-0002.cfl, ... by it
init() {
	if ! "$BORESIDE" init --from "$2" -o "$1.cfg" >"$1.out" 2>"$1.err"; then
		echo "not ok init $1: $(tail -n 1 "$1.err")"
		return 1
	fi
	if ! "$BORESIDE" check "$1.cfg" >check.log 2>&1; then
		echo "not ok init $1: its site file is not valid: $(tail -n 1 check.log)"
		return 1
	fi
	if ! "$BORESIDE" recon -c "$1.cfg" -o "$1.cfl" "$2" >recon.log 2>&1; then
		echo "not ok init $1: recon: $(tail -n 1 recon.log)"
		return 1
	fi
}
says() { # says NAME WORDS...: each stands in the site file, but not as a comment
	local name=$1 words
	shift
	for words in "$@"; do
		if grep -v '^[[:space:]]*#' "$name.cfg" | grep -q -F -e "$words"; then
			echo "ok $name: $words"
		else
			echo "not ok $name: no '$words' in $(grep -v '#' "$name.cfg" | tr -d '\n\t')"
		fi
	done
}
tells() { # tells NAME WORDS: on standard error, and as a comment of the site file
	local start=${2%% *}
	if grep -q -e "$2" "$1.err" && grep -q "# .*$start" "$1.cfg"; then
		echo "ok $1: it says: $2"
	else
		echo "not ok $1: does not say '$2': $(cat "$1.err")"
	fi
}
near() { # near NAME REFERENCE BOUND OPTION...: NAME.cfl
	local name=$1 reference=$2 bound=$3
	shift 3
	if "$BORESIDE" compare "$name.cfl" "$reference" --max-nrmse "$bound" "$@" >log 2>&1; then
		echo "ok $name: $(grep -m 1 -o 'NRMSE [^ ]*' log) of ${reference##*/}, at most $bound"
	else
		echo "not ok $name: $(tail -n 2 log | tr '\n' ' ')"
	fi
}
images() { # images NAME COUNT
	local n
	n=$(find . -name "$1.cfl" -o -name "$1-0*.cfl" | wc -l)
	[ "$n" -eq "$2" ] && echo "ok $1: $n images" || echo "not ok $1: $n images, not $2"
}
# scan NAME OPTIONS...: a simulated one, and its site file
scan() {
	local name=$1
	shift
	"$BORESIDE" phantom "$@" -o "$name.h5" >phantom.log 2>&1 &&
		init "$name" "$name.h5" && return
	echo "not ok $name: $(tail -n 1 phantom.log)"
	return 1
}

# better NAME SHARE KEY...: without these keys the image is farther from plain.cfl, SHARE times at least
better() {
	local name=$1 share=$2 key with without
	shift 2
	cp "$name.cfg" less.cfg
	for key in "$@"; do
		sed -i "/^[[:space:]]*$key = /d" less.cfg
	done
	with=$(off "$name.cfl")
	"$BORESIDE" recon -c less.cfg -o less.cfl "$name.h5" >log 2>&1 && without=$(off less.cfl)
	awk -v a="$with" -v b="${without:-0}" -v s="$share" 'BEGIN { exit !(a > 0 && a * s <= b) }' &&
		echo "ok $name: $with of the plain scan, without $* $without" ||
		echo "not ok $name: $with of the plain scan, without $* $without"
}
off() { "$BORESIDE" compare "$1" plain.cfl | sed -n 's/^scaled *NRMSE *\([^ ]*\).*/\1/p'; }
