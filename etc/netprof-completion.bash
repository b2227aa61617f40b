# Completion of the command netprof for bash.
# Install as /usr/share/bash-completion/completions/netprof

_netprof_apps() { # OPTIONS of netprof list
	netprof list --names "$@" 2>/dev/null | sort -u
}

# Jobs that wait or run, as placement sees them; those kept apart, for short.
_netprof_jobs() {
	netprof status --parsable 2>/dev/null | sed -n 's/^job|\([^|]*\)|.*/\1/p'
}

# What the option before the cursor takes: words, or "users" or "files".
_netprof_values() {
	local option=${COMP_WORDS[COMP_CWORD - 1]}

	[ "$option" != = ] || option=${COMP_WORDS[COMP_CWORD - 2]}
	[ "${COMP_WORDS[COMP_CWORD]}" != = ] || option=${COMP_WORDS[COMP_CWORD - 1]}
	case ${COMP_WORDS[1]} in sharing | replay) return ;; esac
	case $option in
	--user) echo users ;;
	--output | --plot | --predictions | --fit | --accounting | -o | \
	--swf | --sacct | --topology | --rules | --pairs | --shares | --events | \
	--save | --latencies | --ibnetdiscover | --lldp | --slurm | --fabric | \
	--traces | --liballprof | --simulate) echo files ;;
	--scope) case ${COMP_WORDS[1]} in
		calibrate) echo node leaf ;;
		*) echo node leaf uplink ;;
		esac ;;
	--model) netprof accuracy --model=? /dev/null 2>&1 |
		sed -n 's/, or .*//; s/,/ /g; s/.*expected //p' | head -n 1 ;;
	--only) [ "${COMP_WORDS[1]}" != plot ] || echo latency curve time ;;
	--method) echo exact convolution linearizer schweitzer ;;
	--variant) echo published consistent ;;
	--app) _netprof_apps ;;
	esac
}

# Runs of APP, as netprof compare and netprof forget take them.
_netprof_runs() { # APP
	netprof runs --parsable "$1" 2>/dev/null | sed -n '2,$s/|.*//p'
}

_netprof() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local commands="show list runs compare predict matrix plot publish unpublish forget accuracy \
		calibrate validate loggps status explain blame check topology release qn scale sharing replay \
		tolerance trace metrics report simulate help version"
	local formats="--json --parsable --noheader --format= --sort=" whose="--user= --published" words

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$commands --help --version"
		case $cur in
		-*) ;;
		*) words=$commands ;;
		esac
	elif words=$(_netprof_values); [ -n "$words" ]; then
		# The word before "=" is one by itself, as COMP_WORDBREAKS has "=".
		[ "$cur" != = ] || cur=
		case $words in
		users) mapfile -t COMPREPLY < <(compgen -u -- "$cur") ;;
		files) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
		esac
		return
	else
		case ${COMP_WORDS[1]}/$cur in
		show/-* | runs/-* | compare/-*) words="$formats $whose" ;;
		list/-*) words="$formats $whose --names --all" ;;
		predict/-*) words="$formats $whose --scope= --model=" ;;
		matrix/-*) words="--json --csv --plot= $whose --scope= --model=" ;;
		plot/-*) words="--json --output= --only= --ascii $whose" ;;
		publish/-*) words="--as=" ;;
		forget/-* | unpublish/-*) words="--yes" ;;
		forget/* | unpublish/*)
			[ "$COMP_CWORD" = 2 ] && words=$(_netprof_apps) ||
				words=$(_netprof_runs "${COMP_WORDS[2]}") ;;
		accuracy/-*) words="$formats --model= --without= --only= --traces= \
			--latency= --per-byte= --predictions= \
			--up-to= --cases --seed=" ;;
		simulate/-*) words="$formats --plot= --swf= --sacct= --last= --leaves= \
			--topology= --cpus-per-node= --rules= --mix= --pairs= \
			--policy= --set= --seeds= --events= --order= --shares= --fixed-run-times \
			--queue-depth= --bf-interval= --bf-window= \
			--bf-resolution= --bf-max-job-test= --half-life= --completing=" ;;
		report/-*) words="--output= $whose --scope= --model= --blame --explain= --simulate= \
			--since= --accounting= --topology= --metrics-url=" ;;
		show/* | runs/* | compare/* | report/* | publish/* | predict/* | \
		matrix/* | plot/*)
			words=$(_netprof_apps) ;;
		calibrate/-*) words="--levels= --choose= --seconds= --repeats= \
			--probe-seconds= --scope= --rail= --output= --fresh --dry-run \
			--app=" ;;
		loggps/-*) words="--blocks= --max-bytes= --max-trip= --across \
			--output= --dry-run --show --cluster= --json" ;;
		validate/-*) words="--json --repeats= --output= --plot= --model= \
			--fresh --dry-run" ;;
		status/-*) words="$formats --plot= --all" ;;
		explain/-*) words="$formats --plot= --since= --metrics-url= \
			--accounting= --topology= $whose" ;;
		blame/-*) words="$formats --since= --metrics --output= \
			--accounting= --topology=" ;;
		explain/*) words=$(_netprof_jobs) ;;
		scale/-*) words="$formats --plot= --bandwidth= --latency= --variant= --at= \
			--speed=" ;;
		qn/-*) words="$formats --method= --customers= --memory= --percentile= --plot=" ;;
		trace/-*) words="$formats --goal --liballprof= --collective=" ;;
		check/-*) words="$formats --versions --make-store --make-users --fabric= \
			--seconds=" ;;
		topology/-*) words="--ibnetdiscover= --lldp= --latencies= --slurm= \
			--save= --write= --times= --repeats=" ;;
		release/-*) words="--dry-run" ;;
		sharing/-*) words="$formats --plot= --static --dynamic --model= --set= \
			--fit= --summary" ;;
		replay/-*) words="$formats --plot= --model= --set= --bandwidth= --latency= \
			--eager= --nodes= --cores= --map= --seed=" ;;
		metrics/-*) words="--output=" ;;
		tolerance/-*) words="$formats --plot= --latency= --overhead= \
			--overhead-per-byte= --per-byte= --rendezvous= --first-byte-free --serial --gap= \
			--shared-links --overlap --noise= --topology= --wire= \
			--switch= --ranks-per-node= --place= --threshold= \
			--sweep= --up-to= --critical --pairs --collective=" ;;
		accuracy/* | qn/* | replay/* | scale/* | sharing/* | validate/*)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return ;;
		tolerance/* | trace/*)
			mapfile -t COMPREPLY < <(compgen -W "$(_netprof_apps)" -- "$cur"
				compgen -f -- "$cur")
			return ;;
		help/*) words=$commands ;;
		*) return ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	# More is to follow "--user=".
	case ${COMPREPLY[0]-} in
	*=) compopt -o nospace 2>/dev/null ;;
	esac
}

complete -F _netprof netprof
