# Completion of the command netprof for bash.
# Install as /usr/share/bash-completion/completions/netprof

_netprof_apps() { # OPTIONS of netprof list
	netprof list --names "$@" 2>/dev/null | sort -u
}

# Jobs that wait or run, as placement sees them; those kept apart, for short.
_netprof_jobs() {
	netprof status --parsable 2>/dev/null | sed -n 's/^job|\([^|]*\)|.*/\1/p'
}

_netprof() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local commands="show list runs compare predict matrix plot publish accuracy \
		calibrate validate loggps status explain check release qn scale sharing replay \
		tolerance trace metrics report help version"
	local formats="--json --parsable" whose="--user= --published" words

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$commands --help --version"
		case $cur in
		-*) ;;
		*) words=$commands ;;
		esac
	elif [ "$prev" = --user ]; then
		mapfile -t COMPREPLY < <(compgen -u -- "$cur")
		return
	else
		case ${COMP_WORDS[1]}/$cur in
		show/-* | runs/-* | compare/-*) words="$formats $whose" ;;
		list/-*) words="$formats $whose --names --all" ;;
		predict/-*) words="$formats $whose --scope= --model=" ;;
		matrix/-*) words="--json --csv --plot= $whose --scope= --model=" ;;
		plot/-*) words="--json --output= --only= --ascii $whose" ;;
		publish/-*) words="--as=" ;;
		accuracy/-*) words="$formats --model= --without= --only= --traces= \
			--latency= --per-byte= --predictions= \
			--up-to= --cases --seed=" ;;
		report/-*) words="--output= $whose --scope= --model=" ;;
		show/* | runs/* | compare/* | report/* | publish/* | predict/* | \
		matrix/* | plot/*)
			words=$(_netprof_apps) ;;
		calibrate/-*) words="--levels= --choose= --seconds= --repeats= \
			--probe-seconds= --scope= --output= --fresh --dry-run \
			--app=" ;;
		loggps/-*) words="--blocks= --max-bytes= --max-trip= --across \
			--output= --dry-run --show --cluster= --json" ;;
		validate/-*) words="--json --repeats= --output= --plot= --model= \
			--scope= --fresh --dry-run" ;;
		status/-*) words="$formats --plot= --all" ;;
		explain/-*) words="$formats $whose" ;;
		explain/*) words=$(_netprof_jobs) ;;
		scale/-*) words="$formats --plot= --bandwidth= --latency= --variant= --at= \
			--speed=" ;;
		qn/-*) words="$formats --method= --customers= --memory= --percentile= --plot=" ;;
		trace/-*) words="$formats --goal --liballprof= --collective=" ;;
		check/-*) words="$formats --versions --make-store --make-users" ;;
		release/-*) words="--dry-run" ;;
		sharing/-*) words="$formats --plot= --static --dynamic --model= --set= \
			--fit= --summary" ;;
		replay/-*) words="$formats --plot= --model= --set= --bandwidth= --latency= \
			--eager= --nodes= --cores= --map= --seed=" ;;
		metrics/-*) words="--output=" ;;
		sharing/* | replay/* | validate/*) mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return ;;
		tolerance/-*) words="$formats --plot= --latency= --overhead= --per-byte= \
			--rendezvous= --first-byte-free --serial --gap= \
			--shared-links --overlap --noise= --topology= --wire= \
			--switch= --ranks-per-node= --place= --threshold= \
			--sweep= --up-to= --critical --pairs --collective=" ;;
		tolerance/*) mapfile -t COMPREPLY < <(compgen -f -- "$cur")
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
