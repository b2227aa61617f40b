/* The pages of netprof status. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_status.h"

#define LINE 1024
#define FEWEST_ROWS 3 /* of leaves and of jobs, however little room there is */
#define FEW_CLAIMS 3  /* that do not hold, unless all are asked for */

static void say_first(const struct cli_status *t)
{
	char line[LINE];
	bool stale = cli_state_stale(t->s, t->now);

	cli_say(stale ? CLI_RED : CLI_BOLD, 0, "%s",
		cli_say_mode(t->s, t->now, t->places, line, sizeof(line)));
}

static void say_decided(const struct cli_status *t)
{
	const struct np_state *s = t->s;
	char age[96], every[CLI_NUMBER], took[CLI_NUMBER];

	cli_labelled(stdout, "Decided",
		     "%s by %.64s on %.64s, every %s, took %s",
		     cli_age(s->date, t->now, age, sizeof(age)),
		     *s->controller ? s->controller : "slurmctld",
		     *s->cluster ? s->cluster : "a cluster",
		     cli_setting_sec(s->interval_sec, every),
		     cli_sec(s->decide_sec, took));
	cli_labelled(stdout, "Jobs", "%zu run, %zu of them known; %zu wait, "
		     "%zu of them kept apart; %u profiles", t->n_running,
		     t->n_known, t->n_pending, t->n_apart, s->n_profiles);
}

/* A line that may be missing; how many lines it takes. */
static int say_text(const char *label, const char *text)
{
	const size_t width = CLI_COLUMNS - CLI_LABEL;

	cli_labelled(stdout, label, "%s", text);
	return (int)((strlen(text) + width - 1) / width);
}

/* Who goes by a published name and may not. */
static int say_claims(const struct cli_status *t)
{
	size_t n = t->s->n_claims;
	size_t shown = t->all || n <= FEW_CLAIMS ? n : FEW_CLAIMS - 1;
	char line[LINE];
	int lines = 0;

	for (size_t i = 0; i < shown; i++)
		lines += say_text(i ? "" : "Claims",
				  cli_say_claim(&t->s->claim[i], line,
						sizeof(line)));
	if (shown < n) {
		snprintf(line, sizeof(line), "%zu more (--all)", n - shown);
		lines += say_text("", line);
	}
	if (t->s->more_denied) {
		snprintf(line, sizeof(line), "%u more jobs of others",
			 t->s->more_denied);
		lines += say_text("", line);
	}
	return lines;
}

static int say_facts(const struct cli_status *t)
{
	int lines = 4; /* the first takes two */

	say_first(t);
	say_decided(t);
	lines += say_text("Fabric", t->s->fabric);
	lines += say_text("Trouble", t->s->trouble);
	return lines + say_claims(t);
}

static void leaf_row(const struct cli_status *t, const struct np_state_leaf *l)
{
	bool much = l->strain > t->s->max_slowdown;

	cli_left(stdout, *l->name ? l->name : "(none)", 20);
	printf("%6u%6u%6u%6u%7u", l->n_nodes, l->n_idle, l->n_away, l->n_jobs,
	       l->n_known);
	if (much)
		fputs(cli_colour(CLI_YELLOW), stdout);
	cli_right_as(cli_change, l->n_known ? l->strain : NAN, 9);
	printf("%s\n", much ? cli_colour(CLI_PLAIN) : "");
}

static void say_other_leaves(const struct cli_status *t, size_t from)
{
	uint32_t nodes = 0, idle = 0;
	char strain[CLI_NUMBER];

	for (size_t i = from; i < t->s->n_leaves; i++) {
		nodes += t->leaf[i]->n_nodes;
		idle += t->leaf[i]->n_idle;
	}
	printf("%zu more leaves: %u nodes, %u idle, strain at most %s "
	       "(--all)\n", t->s->n_leaves - from, nodes, idle,
	       cli_change(t->leaf[from]->strain, strain));
}

static void say_leaves(const struct cli_status *t, size_t rows)
{
	size_t n = t->s->n_leaves, shown = n <= rows ? n : rows - 1;

	cli_head("%-20s%6s%6s%6s%6s%7s%9s", "Leaf", "Nodes", "Idle", "Away",
		 "Jobs", "Known", "Strain");
	for (size_t i = 0; i < shown; i++)
		leaf_row(t, t->leaf[i]);
	if (shown < n)
		say_other_leaves(t, shown);
}

/* "only leaf[0-1]", "until 14:03:05" */
static void say_kept(const struct np_state_job *j, char *buf, size_t len)
{
	char date[CLI_NUMBER];
	const char *as = j->applied ? "" : "advice: ";

	if (!strcmp(j->action, "defer")) {
		cli_date(j->until, date);
		snprintf(buf, len, "%suntil %s", as,
			 strchr(date, 'T') ? strchr(date, 'T') + 1 : date);
	} else {
		snprintf(buf, len, "%sonly %s", as, j->leaves);
	}
}

/* "17 lmp, 2 more" */
static void say_from(const struct np_state_job *j,
		     const struct np_state_cause *worst, char *buf, size_t len)
{
	size_t others = 0;

	for (size_t i = 0; i < j->n_causes; i++) {
		bool seen = j->cause[i].other == worst->other;

		for (size_t k = 0; !seen && k < i; k++)
			seen = j->cause[k].other == j->cause[i].other;
		others += !seen;
	}
	if (others)
		snprintf(buf, len, "%u +%zu", worst->other, others);
	else
		snprintf(buf, len, "%u %.64s", worst->other,
			 cli_app_name(worst->other_app));
}

static void apart_row(const struct np_state_job *j)
{
	const struct np_state_cause *c = cli_worst_cause(j);
	char id[CLI_NUMBER], kept[LINE], from[128] = "-", why[128] = "-";
	char by[CLI_NUMBER], shown[160];

	say_kept(j, kept, sizeof(kept));
	cli_job_name(j->id, j->array, j->task, id);
	if (c) {
		say_from(j, c, from, sizeof(from));
		if (cli_victim_self(j, c))
			snprintf(why, sizeof(why), "it %s", cli_change(
				 c->slowdown, by));
		else
			snprintf(why, sizeof(why), "%u %s", c->victim,
				 cli_change(c->slowdown, by));
	}
	printf("%-11s ", id);
	cli_left(stdout, cli_app_name(j->app), 13);
	putchar(' ');
	cli_left(stdout, kept, 24);
	putchar(' ');
	cli_left(stdout, from, 14);
	printf(" %s\n", cli_cut(why, 14, shown, sizeof(shown)));
}

static void say_apart(const struct cli_status *t, size_t rows)
{
	size_t n = t->n_apart, shown = n <= rows ? n : rows - 1;

	if (!n)
		return;
	cli_head("%-11s %-13s %-24s %-14s %s", "Job", "Application", "Kept",
		 "From", "Would slow");
	for (size_t i = 0; i < shown; i++)
		apart_row(t->apart[i]);
	if (shown < n)
		printf("%zu more (--all)\n", n - shown);
}

/* Both tables get what they need, or share the room. */
static void share_room(size_t room, size_t *leaves, size_t *jobs)
{
	size_t half = room / 2;

	if (*leaves + *jobs <= room)
		return;
	if (*leaves <= half)
		*jobs = room - *leaves;
	else if (*jobs <= half)
		*leaves = room - *jobs;
	else
		*leaves = half, *jobs = room - half;
	if (*leaves < FEWEST_ROWS)
		*leaves = FEWEST_ROWS;
	if (*jobs < FEWEST_ROWS)
		*jobs = FEWEST_ROWS;
}

int cli_status_text(const struct cli_status *t)
{
	size_t leaves = t->s->n_leaves, jobs = t->n_apart;
	int left = CLI_LINES - say_facts(t) - 4 /* empty lines and heads */;

	if (!t->all)
		share_room(left > 0 ? (size_t)left : 0, &leaves, &jobs);
	say_leaves(t, leaves);
	say_apart(t, jobs);
	return CLI_DONE;
}

static void put_leaf(json_object *list, const struct np_state_leaf *l)
{
	json_object *j = cli_append_object(list);

	cli_put_text(j, "name", l->name);
	cli_put_count(j, "n_nodes", l->n_nodes);
	cli_put_count(j, "idle", l->n_idle);
	cli_put_count(j, "away", l->n_away);
	cli_put_count(j, "jobs", l->n_jobs);
	cli_put_count(j, "known", l->n_known);
	cli_put_real(j, "strain", l->strain);
}

static void put_claim(json_object *list, const struct np_state_claim *c)
{
	json_object *j = cli_append_object(list);
	char user[CLI_NUMBER];

	cli_put_count(j, "uid", c->uid);
	cli_put_text(j, "user", cli_user(c->uid, user));
	cli_put_text(j, "app", c->app);
	cli_put_count(j, "jobs", c->n_jobs);
	cli_put_bool(j, "refuted", c->refuted);
	cli_put_text(j, "why", c->why);
}

static const struct cli_table table = {
	"Kind|Name|App|Leaves|Nodes|Idle|Away|Jobs|Known|Strain|Action|"
	"Applied|Until|HeldSec|From|Slowdown|Mode|AgeSec|Stale",
	{
		{ "leaves", "=leaf|name|||n_nodes|idle|away|jobs|known|strain|||"
			    "||||../mode|../age_sec|../stale" },
		{ "apart", "=job|job|app|leaves|n_nodes||||||action|applied|"
			   "@until|held_sec|causes/0/other|causes/0/slowdown|mode|"
			   "../age_sec|../stale" },
		{ "claims", "=claim|uid|app|||||jobs|||=none||||||../mode|"
			    "../age_sec|../stale" },
	},
};

int cli_status_data(const struct cli_status *t, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;
	const struct np_state *s = t->s;

	cli_put_snapshot(j, s, t->now);
	cli_put_text(j, "fabric", s->fabric);
	cli_put_text(j, "slurm_version", s->slurm_version);
	cli_put_text(j, "netprof_version", s->netprof_version);
	cli_put_count(j, "profiles", s->n_profiles);
	cli_put_real(j, "decide_sec", s->decide_sec);
	cli_put_count(j, "running", t->n_running);
	cli_put_count(j, "known", t->n_known);
	cli_put_count(j, "pending", t->n_pending);
	list = cli_put_array(j, "leaves");
	for (size_t i = 0; i < s->n_leaves; i++)
		put_leaf(list, &s->leaf[i]);
	list = cli_put_array(j, "apart");
	for (size_t i = 0; i < t->n_apart; i++)
		cli_put_job(cli_append_object(list), t->apart[i]);
	list = cli_put_array(j, "claims");
	for (size_t i = 0; i < s->n_claims; i++)
		put_claim(list, &s->claim[i]);
	return cli_print_page(format, "status", j, &table);
}
