# board/deploy/man/complete.awk - completion for bash or zsh (-v shell=), from the rows of help.awk
# with "command NAME SUMMARY" before those of each command. What a value is, its word in --help says:
# PROTOCOL; DIR, FOLDER; a word that names a file; or nothing that a shell could know.
function kind(value) {
	return value == "PROTOCOL" ? "protocol" : value ~ /DIR|FOLDER/ ? "folder" : \
		value ~ /FILE|RECORDING|OUT|IMAGE|REFERENCE|PATH|^[AB]$|\.[a-z]/ ? "file" : "none"
}
# "list, verify or prune": the words themselves
function choices(help) {
	if (help !~ /^[a-z]+((, | or )[a-z]+)+$/)
		return ""
	gsub(/, | or /, " ", help)
	return help
}
function add(list, word) { of[name, list] = of[name, list] " " word }
function spec(s) { specs[name, ++count[name]] = s }
function quote(s) { gsub(/'/, "'\\''", s); return s }
function colons(s) { gsub(/\[|\]|:|\\/, "\\\\&", s); return quote(s) }
function action(value) {
	value = kind(value)
	return value == "file" ? "_files" : value == "folder" ? "_files -/" : \
		value == "protocol" ? "_boreside_protocols" : " "
}
function option(letter, long, value, help,   both, at) {
	add("options", long)
	if (value != "-")
		add(kind(value), long)
	if (letter != "-") {
		add("options", letter)
		if (value != "-")
			add(kind(value), letter)
	}
	at = value == "-" ? "" : ":" colons(value) ":" action(value)
	both = value == "-" ? letter "," long : letter "+," long "="
	spec(letter == "-" ? "'" long (value == "-" ? "" : "=") "[" colons(help) "]" at "'" \
		: "'(" letter " " long ")'{" both "}'[" colons(help) "]" at "'")
}
function operand(value, help,   words, many) {
	many = value ~ /\.\.\./ || index(usage, value "...")
	words = value ~ /^[a-z]+$/ ? value : choices(help)
	if (words != "")
		add("words", words)
	spec("'" (many ? "*" : "") ":" colons(value) ":" \
		(words != "" ? "(" words ")" : action(value) == " " ? "_files" : action(value)) "'")
}
function bash(   i) {
	print "# completion of boreside for bash, made from its own --help"
	print "_boreside_protocols() {"
	print "\tlocal i"
	print "\tfor ((i = 2; i < ${#COMP_WORDS[@]} - 1; i++)); do"
	print "\t\tcase ${COMP_WORDS[i]} in -c | --config)"
	print "\t\t\tsed -n '/^ *protocols/,$s/.*\\<name *= *\"\\([^\"]*\\)\".*/\\1/p' \\"
	print "\t\t\t\t\"${COMP_WORDS[i + 1]}\" 2>/dev/null ;;"
	print "\t\tesac"
	print "\tdone"
	print "}"
	print "_boreside() {"
	print "\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}"
	print "\tlocal commands='" all "'"
	print "\tlocal options= file= folder= protocol= none= words="
	print "\tCOMPREPLY=()"
	print "\t[[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}"
	print "\t[[ $cur != = ]] || cur="
	print "\tif ((COMP_CWORD == 1)); then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$commands help --help --version\" -- \"$cur\")"
	print "\t\treturn"
	print "\tfi"
	print "\tcase ${COMP_WORDS[1]} in"
	print "\thelp) words=$commands ;;"
	for (i = 1; i <= names; i++) {
		print "\t" command[i] ")"
		for (l = 1; l <= lists; l++)
			if (of[command[i], list[l]] != "")
				print "\t\t" list[l] "='" substr(of[command[i], list[l]], 2) "'"
		print "\t\t;;"
	}
	print "\tesac"
	print "\tif [[ \" $protocol \" == *\" $before \"* ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$(_boreside_protocols)\" -- \"$cur\")"
	print "\telif [[ \" $folder \" == *\" $before \"* ]]; then"
	print "\t\tcompopt -o filenames 2>/dev/null"
	print "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")"
	print "\telif [[ \" $none \" == *\" $before \"* ]]; then"
	print "\t\treturn"
	print "\telif [[ $cur == -* && \" $file \" != *\" $before \"* ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")"
	print "\telif [[ -n $words ]] && ((COMP_CWORD == 2)); then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")"
	print "\telse"
	print "\t\tcompopt -o filenames 2>/dev/null"
	print "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
	print "\tfi"
	print "}"
	print "complete -F _boreside boreside"
}
function zsh(   i, k) {
	print "#compdef boreside"
	print "# completion of boreside for zsh, made from its own --help"
	print "_boreside_protocols() {"
	print "\tlocal at=${words[(I)(-c|--config)]} names"
	print "\t(( at )) || return"
	print "\tnames=(${(f)\"$(sed -n '/^ *protocols/,$s/.*\\<name *= *\"\\([^\"]*\\)\".*/\\1/p' \\"
	print "\t\t\"${words[at + 1]}\" 2>/dev/null)\"})"
	print "\tcompadd -a names"
	print "}"
	print "_boreside() {"
	print "\tlocal -a commands"
	print "\tcommands=("
	for (i = 1; i <= names; i++)
		print "\t\t'" command[i] ":" quote(summary[i]) "'"
	print "\t\t'help:the options of a command'"
	print "\t)"
	print "\tif (( CURRENT == 2 )); then"
	print "\t\t_describe command commands"
	print "\t\treturn"
	print "\tfi"
	print "\tlocal command=$words[2]"
	print "\tshift words"
	print "\t(( CURRENT-- ))"
	print "\tcase $command in"
	print "\t(help) _describe command commands ;;"
	for (i = 1; i <= names; i++) {
		print "\t(" command[i] ")"
		printf "\t\t_arguments -s -S"
		for (k = 1; k <= count[command[i]]; k++)
			printf " \\\n\t\t\t%s", specs[command[i], k]
		print "\n\t\t;;"
	}
	print "\tesac"
	print "}"
	print "_boreside \"$@\""
}
BEGIN {
	FS = "\t"
	lists = split("options file folder protocol none words", list, " ")
}
$1 == "command" {
	if (names)
		option("-h", "--help", "-", "these options")
	command[++names] = name = $2
	summary[names] = $3
	all = all (names > 1 ? " " : "") name
}
$1 == "usage" { usage = $2 }
$1 == "option" { option($2, $3, $4, $5) }
$1 == "operand" { operand($2, $3) }
END {
	option("-h", "--help", "-", "these options")
	if (shell == "bash")
		bash()
	else
		zsh()
}
