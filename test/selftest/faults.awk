# test/selftest/faults.awk - a source with a fault planted in each line that can have one, none of
# them in force (faults.h): awk -v first=NUMBER -v file=NAME -v list=FILE -v without=LINES -f
# faults.awk SOURCE. Appended to the list, of each: NUMBER FILE LINE WHAT, the number being first
# and the line. without: " 12 40 ", lines
# that the compiler did not take. A line has the first of: a call left out (a stale cache, a table
# that is not made; of CUDA a kernel, a copy), a sign, a weight.
function plant(what, line) {
	print first + FNR, file, FNR, what >>list
	$0 = line
}
function leave_out() {
	match($0, /^\t+/)
	plant("left out", substr($0, 1, RLENGTH) "UNLESS(" number ") " substr($0, RLENGTH + 1))
}
# the line without the operators within brackets, which say a place, and in a template's arguments
function outside(line) {
	while (match(line, /\[[^][]*\]|<[A-Z][^<>;()]*>/))
		line = substr(line, 1, RSTART - 1) substr(places, 1, RLENGTH) \
			substr(line, RSTART + RLENGTH)
	return line
}
BEGIN {
	cuda = file ~ /\.cuh?$/
	places = sprintf("%200s", "")
	gsub(" ", "_", places)
}
/constexpr .*\)$/ && !/if constexpr/ { # the compiler runs the function
	match($0, /^\t*/)
	ends = substr($0, 1, RLENGTH) "}"
}
$0 == ends {
	ends = ""
}
cuda && /static (const|constexpr) / { # a size may go on in the next lines
	size = 1
}
{
	number = first + FNR
	may = /^\t/ && ends == "" && !size && index(without, " " FNR " ") == 0
}
may && cuda && begins && /^\t+(BS_CUDA\(cudaMem(cpy|set)|[a-z_]+(<[^<>]*>)?<<<)/ {
	leave_out()
	may = 0
}
# of CUDA: whole numbers, places, the order of what threads do, zeros, times
cuda && (/[^a-z_0-9](int|unsigned|long|dim3|uint[234]|at|static|for|if|while|else)[^a-z_]/ ||
/threadIdx|blockIdx|ldc?g\(|\*[a-z_]+ = |pitch|(float|double)2\(0/ ||
/constexpr|::[A-Z]|sync|arrive|_previous|fence|asm|cuda|_ns[^a-z]/) {
	may = 0
}
# within a function's statements, of values: a size or a place that is wrong ends a process, and
# so does a loop that goes astray; neither is an image
may && !/^\t*(for|while|if|else|switch|case|return bs_fail|static|const struct|goto|do)\>/ &&
/;$/ && !/"|sizeof|alloc|bs_fail|assert|\/\*|->(rc|why)|why\)|\<rc\>|BS_ALIGN|take\(/ &&
!/size_t|u?int(8|16|32|64)_t|bytes|need|room|index|lanes|chunk|_ns\>|first|count/ {
	values = cuda ? outside($0) : $0
	if (begins && match($0, /^\t+(bs_)?[a-z_]+\(.*\);$/) &&
	    !/close|free|open|lock|wait|run\(/) {
		leave_out()
	} else if (match(values, cuda ? " [-+]=? [^0-9]" : " [-+]=? .")) {
		RLENGTH--
		plant("sign", substr($0, 1, RSTART + RLENGTH - 1) "FLIP(" number ") * " \
			substr($0, RSTART + RLENGTH))
	} else if (match(values, / \*=? /)) {
		plant("weight", substr($0, 1, RSTART + RLENGTH - 1) "TWICE(" number ") * " \
			substr($0, RSTART + RLENGTH))
	} else if (cuda && match(values, /(fmaf?|make_(float|double)2)\(/)) {
		plant("sign", substr($0, 1, RSTART + RLENGTH - 1) "FLIP(" number ") * " \
			substr($0, RSTART + RLENGTH))
	}
}
{
	begins = /[;{}]$|^\t*(if|for|while|else).*[)e]$|^$/
	print
	size = size && !/;$/
}
