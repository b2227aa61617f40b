/* netprof status: what placement does at this moment. */
#include <errno.h>
#include <stdlib.h>

#include "cli_profile.h"
#include "cli_status.h"
#include "np_conf.h"

static int by_strain(const void *a, const void *b)
{
	const struct np_state_leaf *x = *(const struct np_state_leaf *const *)a;
	const struct np_state_leaf *y = *(const struct np_state_leaf *const *)b;

	if (x->strain != y->strain)
		return x->strain < y->strain ? 1 : -1;
	return x < y ? -1 : x > y; /* as the cluster lists them */
}

static int by_number(const void *a, const void *b)
{
	const struct np_state_job *x = *(const struct np_state_job *const *)a;
	const struct np_state_job *y = *(const struct np_state_job *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void sort_jobs(struct cli_status *t)
{
	for (size_t i = 0; i < t->s->n_jobs; i++) {
		const struct np_state_job *j = &t->s->job[i];

		t->n_running += !j->pending;
		t->n_known += !j->pending && j->known;
		t->n_pending += j->pending;
		if (cli_kept_apart(j))
			t->apart[t->n_apart++] = j;
	}
	if (t->n_apart)
		qsort(t->apart, t->n_apart, sizeof(*t->apart), by_number);
}

static void cli_status_free(struct cli_status *t)
{
	free(t->leaf);
	free(t->apart);
}

static int cli_status_make(const struct np_state *s, double now,
			   struct cli_status *out)
{
	struct cli_status t = { .s = s, .now = now };

	t.leaf = calloc(s->n_leaves + 1, sizeof(*t.leaf));
	t.apart = calloc(s->n_jobs + 1, sizeof(*t.apart));
	if (!t.leaf || !t.apart) {
		cli_status_free(&t);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->n_leaves; i++)
		t.leaf[i] = &s->leaf[i];
	if (s->n_leaves)
		qsort(t.leaf, s->n_leaves, sizeof(*t.leaf), by_strain);
	sort_jobs(&t);
	*out = t;
	return 0;
}

static int load(struct np_state *s, bool *places)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;
	int rc;

	rc = cli_conf_read(&conf);
	if (rc >= 0)
		return rc;
	*places = cli_places(&conf.place);
	rc = np_state_load(conf.store, s, &err);
	if (rc == -ENOENT && !*places)
		return cli_fail("placement is off: there is no Placement= in "
				"netprof.conf that asks for it");
	if (rc == -ENOENT)
		return cli_fail("%s; netprof check says what is missing",
				err.text);
	return rc ? cli_fail("%s", err.text) : -1;
}

static int run_status(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_status t;
	struct cli_options o;
	struct np_state s;
	bool places;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc < 0)
		rc = load(&s, &places);
	if (rc >= 0)
		return rc;
	if (cli_status_make(&s, cli_now(), &t)) {
		np_state_free(&s);
		return cli_fail("out of memory");
	}
	t.places = places;
	t.all = o.all;
	rc = o.plot ? cli_status_plot(&t, o.plot) :
	     o.format ? cli_status_data(&t, o.format) : cli_status_text(&t);
	cli_status_free(&t);
	np_state_free(&s);
	return rc;
}

const struct cli_cmd cmd_status = {
	.name = "status", .args = "[--json|--parsable|--plot=FILE] [--all]",
	.help = "what placement does: leaves, load, jobs kept apart",
	.text =
"What the placement in slurmctld last decided, and when: its mode, the leaf\n"
"switches with their nodes, jobs and strain (the worst predicted slowdown of\n"
"a job there), and the jobs that are kept apart, from whom and why.\n\n"
"  --all               every leaf and job, not only as many as fit a screen\n"
"  --plot=FILE         leaves as a picture: .svg, .png or .pdf\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct",
	.examples =
"  netprof status\n"
"  netprof status --all\n"
"  netprof status --plot=leaves.svg\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_ALL | CLI_TAKES_PLOT,
	.run = run_status,
};
