# test/selftest/faults.awk - a source with a fault planted in each line that can have one, none of
# them in force (faults.h): awk -v first=NUMBER -v file=NAME -v list=FILE -v without=LINES -f
# faults.awk SOURCE. Appended to the list, of each: NUMBER FILE LINE WHAT, the number being first
# and the line. without: " 12 40 ", lines
# that the compiler did not take. A line has the first of: a call left out (a stale cache, a table
# that is not made), a sign, a weight.
function plant(what, line) {
	print first + FNR, file, FNR, what >>list
	$0 = line
}
# within a function's statements, of values: a size or a place that is wrong ends a process, and
# so does a loop that goes astray; neither is an image
/^\t/ && !/^\t*(for|while|if|else|switch|case|return bs_fail|static|const struct|goto|do)\>/ &&
/;$/ && !/"|sizeof|alloc|bs_fail|assert|\/\*|->(rc|why)|why\)|\<rc\>|BS_ALIGN|take\(/ &&
!/size_t|u?int(8|16|32|64)_t|bytes|need|room|index|lanes|chunk|_ns\>|first|count/ &&
index(without, " " FNR " ") == 0 {
	number = first + FNR
	if (begins && match($0, /^\t+(bs_)?[a-z_]+\(.*\);$/) &&
	    !/close|free|open|lock|wait|run\(/) {
		match($0, /^\t+/)
		plant("left out", substr($0, 1, RLENGTH) "UNLESS(" number ") " \
			substr($0, RLENGTH + 1))
	} else if (match($0, / [-+]=? /)) {
		plant("sign", substr($0, 1, RSTART + RLENGTH - 1) "FLIP(" number ") * " \
			substr($0, RSTART + RLENGTH))
	} else if (match($0, / \*=? /)) {
		plant("weight", substr($0, 1, RSTART + RLENGTH - 1) "TWICE(" number ") * " \
			substr($0, RSTART + RLENGTH))
	}
}
{
	begins = /[;{}]$|^\t*(if|for|while|else).*[)e]$|^$/
	print
}
