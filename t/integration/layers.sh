# The sources follow the table of doc/developer/architecture.md.
# shellcheck shell=bash

PARALLEL=20

# Lines "DIR WHAT...": the directories and libraries that a directory may include from.
allowed() {
	awk -F ' *[|] *' '/^[|] `[a-z\/]+` [|]/ {
		gsub(/[`,]/, "")
		print $2, $4, $5
	}' "$ROOT/doc/developer/architecture.md"
}

source_dirs() { allowed | cut -d' ' -f1; }

# Lines "DIR FILE NEED" for every include from another directory or a library.
needs() {
	local dir
	for dir in $(source_dirs); do
		(cd "$ROOT" && grep -oE '^#include ("(np|cli)_|<(json-c|gsl|slurm|pmix|uc[pst]|rdma|gelf|cairo|zlib|curl))[^">]*' \
			"$dir"/*.[ch] | sed 's/:#include ./ /')
	done | awk 'NR == FNR {
			home[substr($1, match($1, /[^\/]*$/))] = dir_of($1)
			next
		}
		{
			need = $2 in home ? home[$2] : library($2)
			if (need != dir_of($1))
				print dir_of($1), $1, need
		}
		function dir_of(file) { sub(/\/[^\/]*$/, "", file); return file }
		function library(header) {
			sub(/^uc[pst]\/.*/, "ucx", header)
			sub(/^rdma.*/, "libfabric", header)
			sub(/^pmix.*/, "pmix", header)
			sub(/^gelf.*/, "libelf", header)
			sub(/^cairo.*/, "cairo", header)
			sub(/^zlib.*/, "zlib", header)
			sub(/^curl.*/, "libcurl", header)
			sub(/\/.*/, "", header)
			return header
		}' <(source_dirs | while read -r dir; do (cd "$ROOT" && ls "$dir"/*.h); done) -
}

test_every_directory_of_the_sources_is_in_the_table() {
	equal "directories" "$(source_dirs | sort)" "$(cd "$ROOT" && printf "%s\n" predictor/* \
		profiler/* plot spank jobsubmit cli analysis/*/ | sed 's,/$,,' | sort)"
}

# Headers are included by name without a directory, so names are unique.
test_a_name_is_that_of_one_file() {
	equal "names of two files" "$(cd "$ROOT" &&
		printf '%s\n' $(source_dirs | sed 's,$,/*.h,') |
		sed 's,.*/,,' | sort | uniq -d)" ""
}

test_directories_include_only_what_the_table_allows() {
	needs >"$TMPDIR/needs"
	[ "$(wc -l <"$TMPDIR/needs")" -gt 200 ] || fail "includes are not found"
	allowed | awk 'NR == FNR {
			for (i = 2; i <= NF; i++)
				may[$1, $i]
			next
		}
		{ used[$1, $3] }
		!(($1, $3) in may) { print $2 " includes of " $3; bad = 1 }
		END {
			for (k in may)
				if (!(k in used)) {
					sub(SUBSEP, " may use ", k)
					print k ", and does not"
					bad = 1
				}
			exit bad
		}' - "$TMPDIR/needs" >"$TMPDIR/bad" || fail "$(paste -sd';' "$TMPDIR/bad")"
}

# The package netprof-analysis is separate: it exchanges data with the core in files,
# never in code.
test_the_core_includes_nothing_of_the_analysis() {
	local headers
	headers=$(cd "$ROOT/analysis" && ls -- */*.h | sed 's,.*/,,')
	[ "$(wc -l <<<"$headers")" -gt 20 ] || fail "no headers of analysis/"
	cd "$ROOT" || return
	! grep -nE '^#include "' {predictor,profiler}/*/*.[ch] \
		{plot,spank,jobsubmit,cli}/*.[ch] | grep -Ff <(sed 's/.*/"&"/' \
		<<<"$headers") >"$TMPDIR/bad" || fail "$(head -n 3 "$TMPDIR/bad")"
	! grep -n "analysis/" {predictor,profiler}/*/*.[ch] \
		{plot,spank,jobsubmit,cli}/*.[ch] | grep include >"$TMPDIR/bad" ||
		fail "$(head -n 3 "$TMPDIR/bad")"
}

test_the_core_links_nothing_of_the_analysis() {
	local b=$ROOT/${BUILD:-build} a
	nm "$b"/libnetprof-{latency,sharing,queueing}.a |
		awk '$2 ~ /^[TDRB]$/ { print $3 }' | sort -u >"$TMPDIR/analysis"
	[ "$(wc -l <"$TMPDIR/analysis")" -gt 100 ] || fail "no objects of analysis/"
	(cd "$ROOT" && ls -- {cli,spank,jobsubmit}/*.c) | sed "s,\(.*\)c$,$b/\1o," \
		>"$TMPDIR/objects"
	# shellcheck disable=SC2046 # sources of a plugin alone have none
	nm -u "$b"/libnetprof.a $(xargs ls 2>/dev/null <"$TMPDIR/objects" || :) |
		awk '{ print $2 }' | sort -u | comm -12 - "$TMPDIR/analysis" >"$TMPDIR/bad"
	[ ! -s "$TMPDIR/bad" ] || fail "the core calls $(xargs <"$TMPDIR/bad")"
	for a in netprof netprof-{collector,saver,release,impactb,compressionb}; do
		nm "$b/$a" | awk '$2 ~ /^[TDRB]$/ { print $3 }' | sort -u |
			comm -12 - "$TMPDIR/analysis" >"$TMPDIR/bad"
		[ ! -s "$TMPDIR/bad" ] || fail "$a holds $(xargs <"$TMPDIR/bad")"
	done
}

# Lines "FILE FILE" for every source that needs a symbol of another.
uses() {
	local f dir objects=()
	for f in "$@"; do
		dir=$BUILD
		case $f in analysis/latency/shim_*)
			# Compiled and linked in one step for each MPI, without objects.
			dir=$TMPDIR/shim
			mkdir -p "$dir/analysis/latency"
			# shellcheck disable=SC2046
			$(cat "$BUILD/flags") $(pkg-config --cflags mpich) \
				-c "$f" -o "$dir/${f%.c}.o" || return ;;
		esac
		# Sources used only by a plugin have no object.
		[ ! -e "$dir/${f%.c}.o" ] || objects+=("$dir/${f%.c}.o")
	done
	nm -o "${objects[@]}" | awk -v a="$BUILD/" -v b="$TMPDIR/shim/" '{
			sub(/[.]o:.*/, ".c", $1)
			$1 = substr($1, 1 + length(index($1, b) == 1 ? b : a))
		}
		$(NF - 1) ~ /^[TDRB]$/ { home[$NF] = $1 }
		$(NF - 1) == "U" { needs[$1, $NF] }
		END {
			for (k in needs) {
				split(k, use, SUBSEP)
				if (use[2] in home && home[use[2]] != use[1])
					print use[1], home[use[2]]
			}
		}'
}

# Dependencies between files have no cycle, within a directory or between directories.
test_files_have_no_circular_dependencies() {
	local dir files=()
	cd "$ROOT" || return
	for dir in $(source_dirs); do
		files+=("$dir"/*.c)
	done
	uses "${files[@]}" >"$TMPDIR/uses"
	[ "$(wc -l <"$TMPDIR/uses")" -gt 100 ] || fail "uses are not found"
	tsort <"$TMPDIR/uses" >/dev/null 2>"$TMPDIR/circles" ||
		fail "$(sed 's/^tsort: //' "$TMPDIR/circles" | paste -sd' ')"
}

# Plugins are loaded with immediate binding, so no symbol may be missing.
test_plugins_have_all_symbols_they_need() {
	local so missing
	for so in spank_netprof job_submit_netprof netprof_placement; do
		so=$ROOT/${BUILD:-build}/$so.so
		[ -e "$so" ] || fail "no $so"
		missing=$(nm -D --undefined-only "$so" | grep -o ' np_.*') ||
			continue
		fail "$so calls$missing"
	done
}

# The figures of architecture.md: a feature whose files were renamed is an error.
test_the_size_of_each_part_and_feature_can_be_counted() {
	local rc=0
	"$ROOT/t/size" >"$TMPDIR/size" 2>"$TMPDIR/err" || rc=$?
	[ "$rc" != 3 ] || skip "$(cat "$TMPDIR/err")"
	[ "$rc" = 0 ] || fail "t/size fails: $(cat "$TMPDIR/err")"
	awk -F ' *[|] *' '$2 == "core" && $3 > 10000 && $4 > 100 && $6 > 0 { core = 1 }
		/simulate/ && $3 > 1000 { feature = 1 }
		END { exit !(core && feature) }' "$TMPDIR/size" ||
		fail "$(head -n 5 "$TMPDIR/size")"
}
