# board/deploy/man/help.awk - the text of `boreside COMMAND --help` as rows, one a line, tabs between:
#   usage TEXT | note TEXT | group TEXT | option -l --name VALUE HELP | operand NAME HELP | after TEXT
# A field that is empty is "-". board/command/options.c prints that text: what it says of an option
# begins in column 27; the first heading ends with a colon, where notes stand above it. summary is the command's line of `boreside help`.
function flush() {
	if (kind == "option" || kind == "operand")
		print kind, left, text
	else if (kind != "" && text != "")
		print kind, text
	kind = text = ""
}
function row(line,   name, part, n) {
	flush()
	name = line
	if (length(line) > 26 && substr(line, 26, 1) == " ") {
		name = substr(line, 3, 23)
		text = substr(line, 27)
	}
	gsub(/^ +| +$/, "", name)
	rows = 1
	if (name !~ /^-/) {
		kind = "operand"
		left = name
		return
	}
	kind = "option"
	n = split(name, part, / +/)
	left = "-"
	if (part[1] ~ /^-[^-],$/) {
		left = substr(part[1], 1, 2)
		sub(/^[^ ]+ +/, "", name)
	}
	n = split(name, part, / +/)
	left = left "\t" part[1] "\t" (n > 1 ? substr(name, length(part[1]) + 2) : "-")
}
BEGIN { OFS = "\t" }
{ line[NR] = $0 }
END {
	print "usage", substr(line[1], 8)
	# the summary may be wrapped
	for (at = 2; at <= NR && length(said) < length(summary); at++)
		said = said (said == "" ? "" : " ") line[at]
	for (; at <= NR; at++) {
		if (line[at] ~ /^  [^ ]/) {
			row(line[at])
		} else if (line[at] ~ /^ /) {
			gsub(/^ +/, "", line[at])
			text = text (text == "" ? "" : " ") line[at]
		} else if ((line[at] ~ /:$/ || rows) && line[at + 1] ~ /^  [^ ]/) {
			flush()
			print "group", line[at]
		} else {
			if (kind == "option" || kind == "operand")
				flush()
			kind = rows ? "after" : "note"
			text = text (text == "" ? "" : " ") line[at]
		}
	}
	flush()
}
