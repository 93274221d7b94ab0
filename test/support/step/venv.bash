# test/support/step/venv.bash - sourced by tests of steps that need Python packages from PyPI
#
# has_python WORDS IMPORTS PACKAGE...: sets $python to an interpreter that can `import IMPORTS`:
# PYTHON, if it can; else that of a virtual environment in $BUILD, which gets the packages and is
# kept for the next run. Skips the test, in these words, where PyPI cannot be reached.
has_python() {
	local words=$1 imports=$2 venv=$BUILD/test/venv
	shift 2
	for python in "${PYTHON:-python3}" "$venv/bin/python3"; do
		"$python" -c "import $imports" 2>/dev/null && return
	done
	(
		flock 9
		[ -x "$python" ] || python3 -m venv "$venv" || exit 1
		nice timeout 300 "$python" -m pip install -q --retries 0 --timeout 20 "$@"
	) 9>"$venv.lock" >"$dir/pip.txt" 2>&1 && "$python" -c "import $imports" 2>/dev/null && return
	echo "skip $words: no $imports, and none from PyPI: $(tail -n 1 "$dir/pip.txt" | cut -c 1-200)"
	exit 0
}
