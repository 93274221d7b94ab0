# test/support/said.bash - sourced: checks of commands whose words matter only where they fail, in
# $dir/said, a folder of the test's own
check() { # check WHAT COMMAND...
	local what=$1
	shift
	if "$@" >"$dir/said" 2>&1; then
		echo "ok $what"
	else
		echo "not ok $what: $(tail -n 8 "$dir/said" | tr '\n' ' ')"
	fi
}
refused() { ! "$@"; }
