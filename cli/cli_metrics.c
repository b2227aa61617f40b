/*
 * The text of `netprof metrics`: OpenMetrics 1.0,
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 *
 * A node exporter reads the files of its textfile directory in the older text
 * format, which knows gauges and takes the lines on units and the end for
 * comments; it would refuse a file with the types that only OpenMetrics has.
 */
#include "cli_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

/* Of a family of gauges; unit is the end of its name, or NULL. */
static void family(FILE *f, const char *name, const char *unit,
		   const char *help)
{
	fprintf(f, "# TYPE netprof_%s gauge\n", name);
	if (unit)
		fprintf(f, "# UNIT netprof_%s %s\n", name, unit);
	fprintf(f, "# HELP netprof_%s %s\n", name, help);
}

static void put_label(FILE *f, const char *label, const char *value)
{
	char *plain = np_text_clean(value, strlen(value));

	fprintf(f, "%s=\"", label);
	for (const char *c = plain ? plain : "?"; *c; c++)
		if (*c == '\\' || *c == '"')
			fprintf(f, "\\%c", *c);
		else
			putc(*c, f);
	putc('"', f);
	free(plain);
}

static void put_value(FILE *f, double v)
{
	fprintf(f, " %.15g\n", v + 0.0 /* no "-0" */);
}

static void plain(FILE *f, const char *name, double v)
{
	fprintf(f, "netprof_%s", name);
	put_value(f, v);
}

static void labelled(FILE *f, const char *name, const char *label,
		     const char *value, double v)
{
	fprintf(f, "netprof_%s{", name);
	put_label(f, label, value);
	putc('}', f);
	put_value(f, v);
}

static void labelled_twice(FILE *f, const char *name,
			   const char *const label[2],
			   const char *const value[2], double v)
{
	fprintf(f, "netprof_%s{", name);
	put_label(f, label[0], value[0]);
	putc(',', f);
	put_label(f, label[1], value[1]);
	putc('}', f);
	put_value(f, v);
}

static void gauge(FILE *f, const char *name, const char *unit,
		  const char *help, double v)
{
	family(f, name, unit, help);
	plain(f, name, v);
}

/* The last decision of placement. */

static void put_snapshot(FILE *f, const struct cli_metrics *m)
{
	const struct np_state *s = &m->state;
	bool stale = cli_state_stale(s, m->now);

	gauge(f, "placement_snapshot_timestamp_seconds", "seconds",
	      "Date of the last decision, since 1970.", s->date);
	gauge(f, "placement_snapshot_age_seconds", "seconds",
	      "Age of the last decision when this was written.",
	      m->now - s->date);
	gauge(f, "placement_acting", NULL, "1: the last decision is fresh "
	      "enough to act on, and the mode is not off.",
	      !stale && *s->mode && strcmp(s->mode, "off"));
	gauge(f, "placement_interval_seconds", "seconds",
	      "Time between two decisions.", s->interval_sec);
	gauge(f, "placement_decision_duration_seconds", "seconds",
	      "Time that the last decision took.", s->decide_sec);
	gauge(f, "placement_trouble", NULL, "1: something keeps placement "
	      "from working fully; netprof status says what.", *s->trouble);
	gauge(f, "placement_profiles", NULL, "Profiles that placement knows.",
	      s->n_profiles);
	gauge(f, "placement_slowdown_limit_ratio", "ratio", "Jobs that would "
	      "slow each other by more are kept apart.", s->max_slowdown);
}

static void put_mode(FILE *f, const struct np_state *s)
{
	static const char *const modes[] = {
		"off", "advise", "prefer", "enforce",
	};

	family(f, "placement_mode", NULL, "1: of the mode of placement.");
	for (size_t i = 0; i < NP_ARRAY_SIZE(modes); i++)
		labelled(f, "placement_mode", "mode", modes[i],
			 !strcmp(*s->mode ? s->mode : "off", modes[i]));
}

static size_t count_pending(const struct np_state *s, const char *action,
			    bool applied)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_jobs; i++)
		n += s->job[i].pending && s->job[i].applied == applied &&
		     !strcmp(s->job[i].action, action);
	return n;
}

static void put_pending(FILE *f, const struct np_state *s)
{
	static const char *const actions[] = {
		"none", "anywhere", "confine", "defer",
	};
	static const char *const labels[] = { "action", "applied" };

	family(f, "placement_pending_jobs", NULL, "Pending jobs by what was "
	       "decided about them, and whether it is applied or advice.");
	for (size_t i = 0; i < NP_ARRAY_SIZE(actions); i++)
		for (int applied = 0; applied < 2; applied++)
			labelled_twice(f, "placement_pending_jobs", labels,
				(const char *[]){ actions[i], applied ?
						  "true" : "false" },
				(double)count_pending(s, actions[i], applied));
}

static void put_jobs(FILE *f, const struct np_state *s)
{
	size_t running[2] = { 0, 0 }, denied = s->more_denied;
	double longest = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct np_state_job *j = &s->job[i];

		running[j->known] += !j->pending;
		if (j->pending && j->held_sec > longest)
			longest = j->held_sec;
	}
	for (size_t i = 0; i < s->n_claims; i++)
		denied += s->claim[i].n_jobs;
	family(f, "placement_running_jobs", NULL, "Running jobs that placement "
	       "looks at, by whether it knows their profile.");
	labelled(f, "placement_running_jobs", "known", "true",
		 (double)running[true]);
	labelled(f, "placement_running_jobs", "known", "false",
		 (double)running[false]);
	gauge(f, "placement_longest_hold_seconds", "seconds", "The longest that "
	      "a pending job is held back so far.", longest);
	gauge(f, "placement_denied_jobs", NULL, "Jobs by a published name that "
	      "they may not claim.", (double)denied);
}

/* Leaf switches */

static void put_leaf_nodes(FILE *f, const struct np_state *s)
{
	static const char *const labels[] = { "leaf", "state" };

	family(f, "leaf_nodes", NULL, "Nodes of a leaf switch: busy, idle, or "
	       "away (down or drained).");
	for (size_t i = 0; i < s->n_leaves; i++) {
		const struct np_state_leaf *l = &s->leaf[i];
		double busy = (double)l->n_nodes - l->n_idle - l->n_away;

		labelled_twice(f, "leaf_nodes", labels, (const char *[]){
			       l->name, "busy" }, busy > 0 ? busy : 0);
		labelled_twice(f, "leaf_nodes", labels, (const char *[]){
			       l->name, "idle" }, l->n_idle);
		labelled_twice(f, "leaf_nodes", labels, (const char *[]){
			       l->name, "away" }, l->n_away);
	}
}

static double utilisation(const struct np_state_leaf *l)
{
	double here = (double)l->n_nodes - l->n_away;

	return here > l->n_idle ? (here - l->n_idle) / here : 0;
}

static double strain(const struct np_state_leaf *l)
{
	return l->strain;
}

static double jobs(const struct np_state_leaf *l)
{
	return l->n_jobs;
}

static double known_jobs(const struct np_state_leaf *l)
{
	return l->n_known;
}

static void put_leaves(FILE *f, const struct np_state *s)
{
	static const struct {
		const char *name, *unit, *help;
		double (*value)(const struct np_state_leaf *l);
	} facts[] = {
		{ "leaf_utilisation_ratio", "ratio", "Share of a leaf's nodes "
		  "that are busy, of those that are not away.", utilisation },
		{ "leaf_strain_ratio", "ratio", "Worst predicted slowdown of a "
		  "job there.", strain },
		{ "leaf_jobs", NULL, "Jobs that run on a leaf switch.", jobs },
		{ "leaf_known_jobs", NULL, "Those of them that have a profile.",
		  known_jobs },
	};

	put_leaf_nodes(f, s);
	for (size_t i = 0; i < NP_ARRAY_SIZE(facts); i++) {
		family(f, facts[i].name, facts[i].unit, facts[i].help);
		for (size_t k = 0; k < s->n_leaves; k++)
			labelled(f, facts[i].name, "leaf", s->leaf[k].name,
				 facts[i].value(&s->leaf[k]));
	}
}

/* The store */

static void put_store(FILE *f, const struct cli_metrics *m)
{
	gauge(f, "probed_steps", NULL, "Steps that are measured now.",
	      (double)m->n_probed_steps);
	gauge(f, "probe_processes", NULL, "Probes that run beside them.",
	      (double)m->n_probes);
	family(f, "store_users", NULL, "Users with records in the store, by "
	       "whether these can be read.");
	labelled(f, "store_users", "readable", "true",
		 (double)(m->n_users - m->n_closed));
	labelled(f, "store_users", "readable", "false", (double)m->n_closed);
	family(f, "check_findings", NULL, "What netprof check has to say of "
	       "the store, its contents and placement.");
	for (int i = 0; i < CLI_RESULTS; i++)
		labelled(f, "check_findings", "result",
			 cli_result_name((enum cli_result)i),
			 (double)m->n_findings[i]);
}

int cli_metrics_text(const struct cli_metrics *m, char **text)
{
	char *buf = NULL;
	size_t len;
	FILE *f = open_memstream(&buf, &len);
	bool bad;

	if (!f)
		return -ENOMEM;
	family(f, "build_info", NULL, "1: of the version of netprof.");
	labelled(f, "build_info", "version", NP_VERSION, 1);
	put_store(f, m);
	gauge(f, "placement_snapshot_readable", NULL, "1: there is a last "
	      "decision of placement, which the following is from.",
	      m->have_state);
	if (m->have_state) {
		put_snapshot(f, m);
		put_mode(f, &m->state);
		put_pending(f, &m->state);
		put_jobs(f, &m->state);
		put_leaves(f, &m->state);
	}
	fputs("# EOF\n", f);
	bad = ferror(f);
	if (fclose(f) || bad) {
		free(buf);
		return -ENOMEM;
	}
	*text = buf;
	return 0;
}
