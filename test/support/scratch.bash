# test/support/scratch.bash - sourced by test scripts: a folder, a service, checks that tell
#
# $dir is a folder of the test's own; a process in $serve and the folder are gone when it ends.
# needs PLACE WORDS: skips the test, in these words, where its recordings are not.
# check WORDS COMMAND...: what the command says is kept in $dir/out.txt.
# expect STATUS WORDS -- ARGUMENTS...: of `boreside $command`, exit status and words.
# starts: the service of $dir/site.cfg runs and is ready; its log is $dir/log.txt. ends: it ends.
. "$(dirname "${BASH_SOURCE[0]}")/await.bash"
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
serve=
end() {
	[ -z "$serve" ] || { kill -KILL "$serve"; wait "$serve"; } 2>/dev/null
	rm -rf "$dir"
}
trap end EXIT
needs() {
	[ -e "$1" ] && return
	echo "skip $2: no recordings at $1"
	exit 0
}
check() {
	local words=$1
	shift
	if "$@" >>"$dir/out.txt" 2>&1; then echo "ok $words"; else
		echo "not ok $words [$*]"
		tail -q -n 5 "$dir/out.txt" "$dir/log.txt" | sed 's/^/# /'
	fi
}
expect() {
	local status=$1 words=$2 rc
	shift 3
	"$BORESIDE" $command "$@" >"$dir/log" 2>&1
	rc=$?
	if [ $rc -eq "$status" ] && grep -q -- "$words" "$dir/log"; then
		echo "ok $command $* -> $rc $words"
	else
		echo "not ok $command $* -> $rc: $(tail -n 2 "$dir/log")"
	fi
}
starts() {
	"$BORESIDE" serve -c "$dir/site.cfg" 2>"$dir/log.txt" &
	serve=$!
	until "$BORESIDE" status -c "$dir/site.cfg" --wait 2 >>"$dir/out.txt" 2>&1; do
		kill -0 "$serve" 2>/dev/null && continue
		echo "not ok the service starts: $(tail -n 3 "$dir/log.txt")"
		exit 1
	done
}
ends() {
	kill -TERM "$serve"
	wait "$serve"
	check "the service ends with 0" [ $? -eq 0 ]
	serve=
}
