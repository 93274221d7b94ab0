# test/replay/scan/mask.sed - what a service says of itself, without what differs from run to run
#
# sed -E -f mask.sed: in the lines, JSON or metrics of `boreside status` process numbers, sessions,
# times, and what follows from times (commits, wakes, high-water marks, messages that ask again,
# what threads had allocated when they last wrote it)
# become *; blanks that align them become one.
s/"(session|holder|solved|sender|solved_sender|ended|loaded)":"[^"]+"/"\1":"*"/g
s/"(pid|tid|cpu|waits|wakes|stalls|preempted|notes|allocations|(minor|major)_faults)":-?[0-9]+/"\1":*/g
s/"(seconds|[a-z0-9]+_(ms|us|s)|messages|commits|high_water|in_use)":[0-9.e+]+/"\1":*/g
s/("messages":\*,"bytes":|"commit":\{"n":|"last":|"has":)[0-9]+/\1*/g
s/("last":\*,"bytes":)[0-9]+/\1*/g
s/[0-9]{8}T[0-9.]+-[0-9a-f]{16}-[0-9]+\.bslog/*/g
s/(pid|processor|high-water) -?[0-9]+/\1 */g
s/[0-9]+ stalls in [0-9]+ wakes/* stalls in * wakes/
s/up [0-9]+ s,/up * s,/
s/session [0-9a-f]{16}/session */g
s/: [0-9]+ in use/: * in use/
s/in [0-9]+ commits/in * commits/
s/([^"0-9.])[0-9]+\.[0-9]+/\1*/g
s/^(boreside_[a-z_]*_seconds(_bucket|_sum)?(\{.*\})?) .*/\1 */
s/^(boreside_(log_commit_seconds_count|(messages|bytes|log_commits|worker_waits)_total)(\{.*\})?) .*/\1 */
s/^(boreside_(machine_stalls_total|pool_(high_water|used)_slots)(\{.*\})?) .*/\1 */
s/^(boreside_store_bytes) .*/\1 */
s/ cpu="-?[0-9]+"/ cpu="*"/
s/  +/ /g
