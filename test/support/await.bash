# test/support/await.bash - sourced by test scripts: waiting for an event, however long a busy machine takes
#
# await COMMAND...: until it succeeds. A hang ends it after a minute, with status 1, and the check that
# follows fails: no test passes or fails by how fast the machine was. For the same reason a site's node
# holds $patient, its protocols $quiet, and replay gets $patience: no time limit of theirs is met by chance.
patient='heartbeat_ms = 100.0; stall_ms = 60000.0;'
quiet='silence_ms = 60000.0;'
patience='--patience 60'
await() {
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}
