# Metrics, comparisons and reports. Needs no
# cluster; also runs alone:
#
#	[BUILD=build] [GOLDEN=write] bash t/integration/cli_report.sh
# shellcheck shell=bash

# shellcheck source=t/integration/cli.lib
. "$(dirname "${BASH_SOURCE[0]}")/cli.lib"
PARALLEL=80
LIMIT_SEC=600 # some tests run many commands, or a browser

# Hide the number of findings, which depends on the machine, and the version.
metrics() {
	netprof metrics | sed -E 's/^(netprof_check_findings.*) .*/\1 N/
		s/(netprof_build_info).*/\1{version="V"} 1/'
}

# A run of halo that is being measured, by 4 probes.
running_run() { # SECONDS before now that it was saved
	local halo=$S/store/users/$MY_UID/halo
	jq -c ".job_id = 4002 | .state = \"running\" | del(.exit_code) |
		.start = $NETPROF_NOW - 600 | .end = $NETPROF_NOW - $1" \
		"$(find "$halo" -name '*.json' | sort | head -n 1)" \
		>"$halo/20240612T095000Z-hpc-4002.0.json"
}

test_metrics_equal_the_golden_files() {
	setup
	running_run 5
	golden metrics.prom metrics
}

test_metrics_are_openmetrics() {
	setup
	jq -c '.leaves[0].name = "a\"b\\c\nd\u202ee" | .trouble = "no calibration"' \
		"$ROOT/t/data/placement/state.json" >"$S/store/placement/state.json"
	netprof metrics >"$S/metrics"
	is_openmetrics "$S/metrics" 40
	contains "a hostile leaf" "$(cat "$S/metrics")" \
		'^netprof_leaf_jobs\{leaf="a\\"b\\\\c\?d\?e"\} 2$'
	contains "trouble" "$(cat "$S/metrics")" '^netprof_placement_trouble 1$'
	is_plain "$S/metrics"
}

test_probes_count_while_their_run_is_saved() {
	setup
	probes() { netprof metrics | sed -n 's/^netprof_prob[a-z_]* //p' | xargs; }
	equal "none" "$(probes)" "0 0"
	running_run 5
	equal "one step" "$(probes)" "1 4"
	running_run 70
	equal "its writer has died" "$(probes)" "0 0"
}

test_there_are_metrics_without_a_decision() {
	setup
	without() {
		run 0 netprof metrics
		contains "it is said" "$OUT" '^netprof_placement_snapshot_readable 0$'
		[[ $OUT != *placement_acting* ]] || fail "it acts"
		equal "the end" "$(tail -n 1 "$S/out")" "# EOF"
	}
	echo '{' >"$S/store/placement/state.json"
	without
	contains "what is damaged" "$ERR" "^netprof: $S/store/placement/state.json: "
	rm "$S/store/placement/state.json"
	without
	equal "nothing is wrong" "$ERR" ""
	NETPROF_STORE=/nonexistent without
	contains "without a store" "$OUT" 'findings\{result="problem"\} [1-9]'
}

test_a_metrics_file_is_replaced_atomically() {
	local inode
	setup
	mkdir "$S/out.d"
	(umask 077; netprof metrics -o "$S/out.d/netprof.prom")
	equal "mode" "$(stat -c %a "$S/out.d/netprof.prom")" 644
	inode=$(stat -c %i "$S/out.d/netprof.prom")
	(cd "$S/out.d" && netprof metrics --output=netprof.prom)
	[ "$(stat -c %i "$S/out.d/netprof.prom")" != "$inode" ] ||
		fail "it was written in place"
	equal "files" "$(ls -A "$S/out.d")" netprof.prom
	equal "its end" "$(tail -n 1 "$S/out.d/netprof.prom")" "# EOF"
	run netprof metrics -o "$S/nowhere/netprof.prom"
	equal "no directory" "$RC $ERR" \
		"1 netprof: cannot write $S/nowhere/netprof.prom: No such file or directory"
	run netprof metrics -o /dev/null
	equal "a device" "$RC $ERR" \
		"1 netprof: cannot write /dev/null: expected a regular file, or none"
	run netprof metrics -o "$S/out.d"
	contains "a directory" "$ERR" 'out.d: Is a directory$'
	[ -c /dev/null ] || fail "/dev/null is no device any more"
}

test_a_dashboard_uses_existing_metrics() {
	local dashboard="$ROOT/etc/netprof-grafana.json" name
	setup
	netprof metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort >"$S/there"
	jq -r '[.. | .expr?, .query? | strings] | unique | .[]' "$dashboard" |
		grep -o 'netprof_[a-z_]*' | sort -u >"$S/asked"
	[ "$(wc -l <"$S/asked")" -ge 20 ] || fail "no queries are found"
	equal "not there" "$(comm -13 "$S/there" "$S/asked" | xargs)" ""
	# A condition on a label, which would match nothing if it were misspelt.
	netprof metrics >"$S/metrics"
	for name in $(jq -r '.. | .expr? | strings' "$dashboard" |
		grep -o ',[a-z]*="[a-z]*"' | tr -d ,); do
		grep -qF "$name" "$S/metrics" || fail "no sample has $name"
	done
	equal "panels with one number" "$(jq '[.panels[].id] | length - (unique | length)' \
		"$dashboard")" 0
}

test_comparisons_equal_the_golden_files() {
	setup_measured
	golden compare-run.txt netprof compare fft:4000
	golden compare-newest.txt netprof compare lammps
	golden compare-several.txt netprof compare fft:4000 fft:3001 halo fft
	golden compare.json netprof compare --json fft:4000 lammps
	golden compare.parsable netprof compare -P fft:4000 lammps
	equal "fields" "$(netprof compare -P fft halo serial lammps:1302 |
		awk -F'|' '{ print NF }' | sort -u)" 36
	LC_ALL=C COLUMNS=80 netprof compare fft:4000 halo lammps qmc serial >"$S/page"
	between "columns" "$(wc -L <"$S/page")" 60 80
	! grep ' $' "$S/page" || fail "blanks at the end"
}

# Another run of fft, job 4100, the newest, changed by a jq filter.
slow_run() { # FILTER
	local fft=$S/store/users/$MY_UID/fft
	jq -c ".job_id = 4100 | .start = 1718500000 | .end = 1718500084 | $1" \
		"$fft"/*-3001.0.json >"$fft/20240616T010640Z-hpc-4100.0.json"
}

test_a_comparison_says_what_was_different() {
	local filter wanted file
	setup
	for file in "$S/store/users/$MY_UID/fft"/*.json; do
		jq -c '.mpi_version = "Open MPI 4.1.4"' "$file" >"$S/with"
		cat "$S/with" >"$file"
	done
	contains "show" "$(netprof show fft)" '^Fabric .* leaf0, Open MPI 4\.1\.4$'
	while IFS=';' read -r filter wanted; do
		slow_run "$filter"
		contains "$filter" "$(netprof compare fft)" \
			'^fft:4100.0 took 84.0 s, 40 % longer than fft alone \(60.0 s, 2 runs\)'
		equal "$filter" "$(netprof compare fft | sed -n 2p)" "$wanted"
	done <<-END
		.;No recorded condition differs.
		.nodes = "n[4-7]";Different: the nodes.
		.ucx_version = "1.20.0";Different: the version of UCX.
		.mpi_version = "MPICH 4.0.2";Different: the MPI library.
		del(.mpi_version);No recorded condition differs.
		.n_tasks = 64 | .fingerprint = "0badf00d";Different: the number of tasks, the command.
		del(.slurm_version);No recorded condition differs.
	END
}

test_long_lists_of_nodes_are_compared_to_their_end() {
	local list file
	setup
	list=$(seq -s, 1001 2 1099)
	for file in "$S/store/users/$MY_UID/fft"/*.json; do
		jq -c --arg n "node[$list,2001]" '.nodes = $n' "$file" >"$S/with"
		cat "$S/with" >"$file"
	done
	slow_run ".nodes = \"node[$list,3001]\""
	equal "the end differs" "$(netprof compare fft | sed -n 2p)" "Different: the nodes."
	equal "for programs" "$(netprof compare --json fft |
		jq -r '[.compared[].conditions.nodes][-1]')" "node[$list,3001]"
}

test_congestion_counted_by_adapters_is_on_the_pages_of_a_profile_and_of_a_job() {
	local file line
	setup
	for file in "$S/store/users/$MY_UID/fft"/*.json; do
		jq -c '.nics = [{device: "mlx5_0:1", n_nodes: 4, node_sec: 100, sent: 9,
				wait: 5000, ecn: 0, cnp: 300, retries: 20},
			{device: "cxi0", n_nodes: 4, node_sec: 100, sent: 9, pause: 0},
			{device: "eth0", n_nodes: 4, node_sec: 100, sent: 9}]' \
			"$file" >"$S/with"
		cat "$S/with" >"$file"
	done
	line='Adapters mlx5_0:1 counted 50 ticks of waiting, 3 notifications, 0.2 retries per second and node; cxi0 counted no congestion'
	contains "show" "$(COLUMNS=300 netprof show fft | tr -s ' \n' ' ')" "$line"
	contains "explain" "$(COLUMNS=300 netprof explain 3001 | tr -s ' \n' ' ')" "$line"
	equal "explain --json" "$(netprof explain --json 3001 | jq -c '.steps[0].adapters |
		map([.device, .wait, .ecn, .pause])')" \
		'[["mlx5_0:1",5000,0,null],["cxi0",null,null,0],["eth0",null,null,null]]'
}

test_a_comparison_does_not_report_chance_as_a_cause() {
	setup
	slow_run '.end = 1718500062'
	contains "three percent" "$(netprof compare fft)" \
		'^fft:4100.0 took 62.0 s, 3 % longer than fft alone .60.0 s, 2 runs., which may be$'
	slow_run '.exit_code = 1'
	equal "it failed" "$(netprof compare fft | head -n 2)" \
		"$(printf '%s\n' 'The run times of fft cannot be compared: fewer than two are known.' \
			'Different: the exit code.')"
}

test_a_run_to_compare_is_found_or_an_error_says_so() {
	setup_measured
	cp "$S/store/users/$MY_UID/fft"/*-4000.0.json "$S/step"
	jq -c '.step_id = 1' "$S/step" \
		>"$S/store/users/$MY_UID/fft/20240612T084820Z-hpc-4000.1.json"
	run netprof compare fft:77
	equal "none" "$RC $ERR" '1 netprof: no run "77" of fft; netprof runs fft lists them'
	run netprof compare fft:4000
	contains "two steps" "$ERR" 'has several steps; name one of them, such as 4000\.[01] or 4000\.[01]$'
	run 0 netprof compare fft:4000.1
	run 1 netprof compare fft:400
	run 1 netprof compare fft:
	run netprof compare halo fftt
	contains "a slip" "$ERR" 'did you mean fft'
	run netprof compare "$(printf 'a%.0s' {1..300}):1"
	contains "too long" "$ERR" '^netprof: application name "a*'
}

test_a_report_is_one_self_contained_page() {
	local page what
	setup
	page=$S/page.html
	run netprof report -o "$page"
	equal "what it says" "$RC $OUT$ERR" \
		"0 wrote $page: 12 applications, 64 pairs"
	for what in 'src=' 'url(' '@import' '<link' 'http:' 'https:' '<iframe'; do
		! grep -F "$what" "$page" | grep -v 'url(#a[0-9]*-c[0-9]*)' ||
			fail "the page has $what"
	done
	is_plain "$page"
	contains "the verdict" "$(cat "$page")" \
		'<strong>3 of 12 applications would be slowed by more than 10 % by another; worst: fft by fft, \+50 %\.'
	equal "parts" "$(grep -c '<h2 id="a[0-9]*">' "$page")" 12
	equal "curves" "$(grep -c '<svg role="img"' "$page")" 5
	contains "advice" "$(cat "$page")" \
		'<dt>Avoid</dt><dd>sharing a leaf switch with a second fft job, lammps or halo: each slows fft by more than 10 %. To do so: sbatch --exclude=NODES.</dd>'
	contains "a cell" "$(cat "$page")" \
		'<td data-v="0.79[0-9]*" class="much" title="mixture, uncertain">\+79 %\?<small>71 to 111</small></td>'
	mkdir "$S/web"
	(umask 027; netprof report -o "$S/web" fft halo)
	equal "in a directory" "$(ls "$S/web") $(stat -c %a "$S/web/index.html")" \
		"index.html 640"
	equal "of two" "$(grep -c '<h2 id="a' "$S/web/index.html")" 2
	refused 1 'No such file or directory$' netprof report -o "$S/none/page.html"
	refused 1 'did you mean fft' netprof report -o "$page" fftt
}

test_a_report_can_be_read_without_knowing_netprof() {
	local page
	setup
	page=$S/page.html
	netprof report -o "$page"
	contains "whose it is" "$(cat "$page")" \
		"<title>netprof report: cluster hpc, applications of $(id -un)</title>"
	contains "its date has a zone" "$(cat "$page")" \
		"netprof [^ ]*, [0-9-]{10} [0-9:]{5} [+-][0-9]{4}\."
	! grep -nE '<td[^>]*>(-|)</td>' "$page" || fail "a cell is empty and does not say why"
	contains "a program without probes" "$(cat "$page")" 'class="dim">no probes<'
	equal "predictions without their interval" "$(netprof matrix --json |
		jq '[.pairs[] | select(.low != null)] | length')" \
		"$(sed -n '/id="matrix"/,/<\/table>/p' "$page" | grep -o '<small>' | wc -l)"
	equal "words of the head of the list that are not explained" "$(comm -13 \
		<(sed -n '/id="terms"/,$p' "$page" | grep -o '<dt>[^<]*' | sed 's/<dt>//' | sort) \
		<(printf '%s\n' "Delayed probes" "Use" "Slowdown" "Interval" "Load level" | sort))" ""
	netprof report --published -o "$page"
	contains "published ones" "$(cat "$page")" '<h1>netprof report: cluster hpc, published applications</h1>'
}

# cell APP COLUMN: the text in a column of the list, counted from 1.
cell() {
	sed -n "s|^<tr><th scope=\"row\"><a href=\"#a[0-9]*\">$1</a></th>||p" "$S/page.html" |
		sed 's/<[^>]*><span[^>]*>/<td>/g; s|</span>||g; s|</td></tr>||; s|</td><td[^>]*>|\n|g; s/<[^>]*>//g' |
		sed -n "$2p"
}

test_a_cell_without_a_value_says_why() {
	setup
	netprof report -o "$S/page.html"
	equal "a value" "$(cell hpcc 3)" "21 %"
	equal "of a short run" "$(cell hello 3)" "too few probes"
	equal "of one node" "$(cell serial 3)" "no probes"
	equal "of another fabric" "$(cell qmc 3)" "no idle baseline"
	equal "without runs under load" "$(cell NPmpi 4)" "not run under load"
}

test_without_a_calibration_a_report_says_what_is_missing() {
	setup
	rm -r "$S/store/fabric"
	netprof report -o "$S/page.html"
	contains "the pairs" "$(cat "$S/page.html")" \
		'<p>no calibration .*; an administrator measures it with: salloc -N8 --exclusive netprof calibrate</p>'
	contains "cells" "$(cat "$S/page.html")" 'class="dim">no calibration<'
	equal "parts" "$(grep -c '<h2 id="a[0-9]*">' "$S/page.html")" 12
}

test_a_report_has_sections_on_lost_node_hours_and_on_a_job() {
	local from lost pair
	setup
	costly '<b>halo'
	from=(--accounting="$S/accounting" --topology="$S/topology")
	netprof report --blame --explain=178 --metrics-url=none "${from[@]}" -o "$S/page.html"
	is_plain "$S/page.html"
	! grep -q '<b>' "$S/page.html" || fail "a name is markup"
	lost=$(netprof blame "${from[@]}" | sed -n 1p) # not head: SIGPIPE
	contains "lost" "$lost" '^Jobs lost [1-9]'
	grep -qF "<strong>$lost</strong>" "$S/page.html" || fail "the total differs from netprof blame"
	pair=$(netprof blame --json "${from[@]}" | jq -r '.pairs[0] | .slowed, .runs, (.node_hours |
		(.mean, .low, .high) * 10 | round / 10)' | xargs)
	equal "the pair of netprof blame" "$(sed -n 's|<tr><th scope="row">\(alice/fft\)</th><td class="word">bob/&lt;b&gt;halo</td><td data-v="\([0-9]*\)">[0-9]*</td><td data-v="[0-9.]*">\([0-9.]*\) (\([0-9.]*\) to \([0-9.]*\))</td></tr>|\1 \2 \3 \4 \5|p' "$S/page.html")" \
		"$pair"
	contains "the leaf switch" "$(cat "$S/page.html")" \
		'<th scope="row">leaf0</th><td data-v="[0-9.]*">[0-9.]* \([0-9.]* to [0-9.]*\)</td>'
	contains "the node" "$(cat "$S/page.html")" '<th scope="row">n6</th><td data-v="12">12</td>'
	netprof explain --metrics-url=none "${from[@]}" 178 |
		sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/'"'"'/\&#39;/g; s/"/\&quot;/g' >"$S/explained"
	sed -n '/^<section><h2 id="job">Job 178/,/^<\/pre>/p' "$S/page.html" |
		sed '1d; s/^<pre>//; /^<\/pre>$/d' >"$S/section"
	equal "as netprof explain" "$(cat "$S/section")" "$(cat "$S/explained")"
	# A terminal of 50 columns has no effect on the page, nor have its colours.
	TERM=xterm script -qec "stty cols 50; netprof report --blame --explain=178 \
		--metrics-url=none ${from[*]} -o $S/narrow.html" /dev/null </dev/null >"$S/said"
	cmp "$S/page.html" "$S/narrow.html" || fail "the page depends on the terminal"
	COLUMNS=50 netprof report --blame --explain=178 --metrics-url=none "${from[@]}" \
		-o "$S/narrow.html"
	cmp "$S/page.html" "$S/narrow.html" || fail "the page depends on COLUMNS"
	contains "its figure" "$(cat "$S/page.html")" '<svg role="img" aria-label="The job and its neighbours"'
	run netprof report --explain=7 "${from[@]}" -o "$S/none.html"
	equal "no such job" "$RC $ERR" \
		"1 netprof: job 7 is not in $S/accounting, or never started"
	run netprof report --blame --accounting=/dev/null/x -o "$S/none.html"
	equal "no such file" "$RC $(wc -l <<<"$ERR")" "1 1"
	[ ! -e "$S/none.html" ] || fail "it wrote a page"
}

test_a_report_has_a_section_on_a_simulated_queue() {
	local queue verdict
	setup
	queue=$S/data/queue
	sed 's/|alice|/|<b>alice|/' "$queue/small.sacct" >"$S/log"
	netprof simulate --sacct="$S/log" --leaves=4x4 --cpus-per-node=4 --pairs="$queue/pairs" \
		--rules="$queue/rules" --policy=off,prefer,enforce --json >"$S/queue.json" 2>/dev/null
	netprof report --simulate="$S/queue.json" -o "$S/page.html"
	is_plain "$S/page.html"
	! grep -q '<b>' "$S/page.html" || fail "a name is markup"
	verdict=$(jq -r .verdict "$S/queue.json")
	contains "verdict" "$verdict" '^(Over these|Placement would)'
	grep -qF "<p><strong>$verdict</strong></p>" "$S/page.html" || fail "another verdict: $verdict"
	equal "waits of the policies" "$(sed -n '/id="simulate"/,/<\/section>/p' "$S/page.html" |
		sed -n 's|<tr><th scope="row">\([a-z]*\)</th><td data-v="[0-9.]*">\([0-9.]*\)</td><td data-v="[0-9.]*">\([0-9.]*\)</td><td.*|\1 \2 \3|p')" \
		"$(jq -r '.policies[] | "\(.policy) \(.wait_mean_sec / 3600) \(.wait_p95_sec / 3600)"' \
			"$S/queue.json" | awk '{ printf "%s %.2f %.2f\n", $1, $2, $3 }')"
	equal "rows of those who paid" "$(sed -n '/id="simulate"/,/<\/section>/p' "$S/page.html" |
		grep -c '^<tr><th scope="row">\(user\|size\|partition\)<')" \
		"$(jq '.groups | length' "$S/queue.json")"
	{ cat "$S/queue.json"; echo '{}'; } >"$S/two"
	head -c 100 "$S/queue.json" >"$S/cut"
	jq '.schema = 99' "$S/queue.json" >"$S/newer"
	jq '.command = "show"' "$S/queue.json" >"$S/other"
	jq '.nodes = "abc"' "$S/queue.json" >"$S/word"
	while read -r bad why; do
		run netprof report --simulate="$bad" -o "$S/none.html"
		equal "$bad" "$RC $(wc -l <<<"$ERR")" "1 1"
		contains "$bad" "$ERR" "^netprof: $bad:.*$why"
	done <<-END
		$queue/pairs expected JSON, got
		$S/none No such file
		$S/two damaged
		$S/cut damaged
		$S/newer schema: expected
		$S/other expected the output of
		$S/word expected the output of
	END
	[ ! -e "$S/none.html" ] || fail "it wrote a page"
	jq '.policies[0].utilisation = "abc"' "$S/queue.json" >"$S/word"
	netprof report --simulate="$S/word" -o "$S/page.html"
	equal "a word for a number" "$(sed -n '/id="simulate"/,/<\/section>/p' "$S/page.html" |
		grep -cE '^<tr><th scope="row">off</th>(<td [^>]*>[^<]*</td>){2}<td data-v="">-</td>')" 1
}

# A cluster, a leaf and a transport with hostile names.
hostile_names() {
	local f bad='"><script>document.title=1</script>&amp;\u202e\u0007'"'"
	for f in "$S"/store/users/"$MY_UID"/halo/*.json; do
		jq -c --arg bad "$(jq -rn "\"${bad//\"/\\\"}\"")" \
			'.leaves[0].name = $bad | .probe.transport = $bad |
			.executable = $bad' "$f" >"$S/one" && mv "$S/one" "$f"
	done
}

test_names_in_a_report_are_only_text() {
	setup
	hostile_names
	mkdir "$S/store/users/$MY_UID/<b>bold"
	netprof report -o "$S/page.html"
	is_plain "$S/page.html"
	equal "scripts" "$(grep -o '<script' "$S/page.html" | wc -l)" 1
	contains "the leaf" "$(cat "$S/page.html")" \
		'leaf &quot;&gt;&lt;script&gt;document.title=1&lt;/script&gt;&amp;amp;\?\?&#39;'
	! grep -q '<b>' "$S/page.html" || fail "a name is markup"
}

# dom PAGE SCRIPT: the result of a script in the page, run by a real browser, whose
# messages about the page are in $S/console.
dom() {
	cat "$1" - >"$S/tested.html" <<-END
		<pre id="result"></pre><script>'use strict';
		document.getElementById('result').textContent = (() => { $2 })();
		</script>
	END
	timeout 500 chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$S/browser" --enable-logging=stderr \
		--dump-dom "file://$S/tested.html" 2>"$S/log" >"$S/dom"
	grep CONSOLE "$S/log" >"$S/console" || :
	sed -n 's|.*<pre id="result">\(.*\)</pre>.*|\1|p' "$S/dom"
}

needs_browser() {
	command -v chromium >/dev/null || skip "no chromium is installed"
}

# The first cells of rows after clicks on the head of a column.
SORTED='const press = (table, name, times) => {
	const b = [...table.tHead.querySelectorAll("button")].find(x => x.textContent === name);
	for (let i = 0; i < times; i++) { b.focus(); b.click(); }
	if (document.activeElement !== b) return "no focus";
	return [...table.tBodies[0].rows].map(r => r.cells[0].textContent.trim()).join(" ") +
		" " + [...table.tHead.rows[0].cells].map(c => c.getAttribute("aria-sort")).filter(x => x).join(); };'

test_a_browser_sorts_the_tables_of_a_report() {
	local matrix='const m = document.getElementById("matrix");'
	needs_browser
	setup
	hostile_names
	netprof report -o "$S/page.html"
	equal "by a column, the worst first" \
		"$(dom "$S/page.html" "$SORTED $matrix return press(m, \"lammps\", 1)")" \
		"fft lammps NPmpi cp2k hello hpcc postprocess descending"
	equal "nothing is wrong with the page" "$(cat "$S/console")" ""
	equal "and back, without values last" \
		"$(dom "$S/page.html" "$SORTED $matrix return press(m, \"lammps\", 2)")" \
		"lammps fft NPmpi cp2k hello hpcc postprocess ascending"
	equal "by name, and only by that" \
		"$(dom "$S/page.html" "$SORTED $matrix press(m, \"fft\", 1); press(m, \"with\", 1); return press(m, \"with\", 1)")" \
		"postprocess NPmpi lammps hpcc hello fft cp2k descending"
	equal "the list, by words" "$(dom "$S/page.html" "$SORTED
		return press(document.querySelector(\"table\"), \"Use\", 1).split(\" \").slice(0, 4).join()")" \
		"cp2k,fft,lammps,postprocess"
	equal "no name became markup" "$(dom "$S/page.html" \
		'return [document.title, document.scripts.length, document.querySelectorAll("h2").length].join()')" \
		"netprof report: cluster hpc, applications of $(id -un),2,15"
	dom "$S/page.html" 'throw new Error("as it should")' >/dev/null
	contains "errors would be seen" "$(cat "$S/console")" 'as it should'
}

# As wide as a phone: only the tables scroll sideways, not the page.
test_wide_tables_of_a_report_scroll_on_a_phone() {
	local table='const t = document.querySelector(`#matrix`).parentNode;'
	needs_browser
	setup
	costly '<b>halo'
	netprof report --blame --accounting="$S/accounting" --topology="$S/topology" -o "$S/page.html"
	cat >>"$S/page.html" <<-'END'
		<script>document.documentElement.style.width = '500px';
		document.body.style.maxWidth = 'none';</script>
	END
	equal "nothing is wider than the page" "$(dom "$S/page.html" \
		'return [...document.querySelectorAll("body *")].filter(e =>
			!e.closest(".scroll, pre, svg") &&
			e.getBoundingClientRect().right > 500).map(e => e.tagName).join()')" ""
	equal "the matrix is, and scrolls" "$(dom "$S/page.html" "$table
		return [t.scrollWidth > t.clientWidth, t.clientWidth <= 500,
			getComputedStyle(t).overflowX].join()")" "true,true,auto"
}

# 200 additional applications, each with ten runs.
many_applications() {
	local users=$S/store/users/$MY_UID
	mkdir "$users"/app{100..299}
	awk -v to="$users" '{
		n = split(FILENAME, path, "/")
		for (i = 100; i < 300; i++) {
			line = $0
			sub(/"app":"halo"/, "\"app\":\"app" i "\"", line)
			file = to "/app" i "/" path[n]
			print line >file
			close(file)
		}
	}' "$users"/halo/*.json
}

# Seconds of a processor, as others use this machine, too.
cpu_sec() { # CMD...
	local TIMEFORMAT='%U %S'
	{ time "$@" >"$S/said"; } 2>&1 | awk '{ print $1 + $2 }'
}

# Three seconds, or more where 20 million rounds of perl take longer than half a second.
test_a_report_of_two_hundred_applications_is_quick() {
	local sec control
	setup
	many_applications
	control=$(cpu_sec perl -e '$x += $_ for 1 .. 2e7')
	sec=$(cpu_sec netprof report -o "$S/page.html")
	contains "all of them" "$(cat "$S/said")" ': 212 applications, 43264 pairs$'
	between "seconds" "$sec" 0.1 "$(awk "BEGIN { s = 6 * $control; print (s > 3 ? s : 3) }")"
	command -v chromium >/dev/null || return 0
	equal "sorted" "$(dom "$S/page.html" '
		const time = f => { const t = performance.now(); f(); return performance.now() - t; };
		const m = document.getElementById("matrix"), row = m.tBodies[0].rows;
		const least = f => Math.min(time(f), time(f), time(f)); // others only add to it
		const control = least(() => [...Array(3e5).keys()].map(i => i * 7919 % 3e5).sort());
		const ms = least(() => m.tHead.querySelectorAll("button")[1].click());
		return row[0].cells[0].textContent + " of " + row.length +
			(ms < Math.max(1000, 4 * control) ? "" : ": " + ms + " ms, control " + control);')" "fft of 208"
	equal "nothing is wrong with the page" "$(cat "$S/console")" ""
}

[ "$0" != "${BASH_SOURCE[0]}" ] || run_alone "$0"
