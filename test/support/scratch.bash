# test/support/scratch.bash - sourced by test scripts: a folder, a service, checks that tell
#
# $dir is a folder of the test's own; a process in $serve and the folder are gone when it ends. check
# keeps what its command says in $dir/out.txt; the service's log is $dir/log.txt.
. "$(dirname "${BASH_SOURCE[0]}")/await.bash"
dir=$(mktemp -d /tmp/boreside-test-XXXXXX)
serve=
end() {
	[ -z "$serve" ] || kill -KILL "$serve" 2>/dev/null
	rm -rf "$dir"
}
trap end EXIT
check() { # words, then a command
	local words=$1
	shift
	if "$@" >>"$dir/out.txt" 2>&1; then echo "ok $words"; else
		echo "not ok $words [$*]"
		tail -n 5 "$dir/out.txt" "$dir/log.txt" | sed 's/^/# /'
	fi
}
