# test/fault/start/starve.bash - a cgroup of the test's own whose processor time can be limited; `limit
# US` gives what is in it so many us of each 100,000 of one processor, `limit -1` all that it wants.
# starve_begin: false where no such group may be made. starve_end, when nothing is in it any more.
starve_name=boreside-test-$$
if [ -f /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
	starve_group=/sys/fs/cgroup/cpu/$starve_name
	limit() { echo "$1" >"$starve_group/cpu.cfs_quota_us"; }
else
	starve_group=/sys/fs/cgroup/$starve_name
	limit() { echo "${1/#-1/max} 100000" >"$starve_group/cpu.max"; }
fi
starve_begin() { mkdir "$starve_group" 2>/dev/null && limit -1 2>/dev/null; }
starve_end() { rmdir "$starve_group" 2>/dev/null; }
