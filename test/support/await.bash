# test/support/await.bash - sourced by test scripts: waiting for an event, however busy the machine
#
# No test passes or fails by how fast the machine was. await COMMAND...: until it succeeds; a hang
# ends it after five minutes, with status 1, and the check that follows fails. No time limit of a site
# is met by chance either: $patient for its node, $quiet for its protocols, $patience for replay,
# $ready for status: under a sanitizer, beside other work, a service arms for minutes.
patient='heartbeat_ms = 100.0; stall_ms = 60000.0;'
quiet='silence_ms = 60000.0;'
patience='--patience 60'
ready='--wait 600'
await() {
	local end=$((SECONDS + 300))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}
