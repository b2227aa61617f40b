/* Pairs that netprof validate measured, from the store. */
#include "cli_measured.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_validate.h"
#include "np_pairs_store.h"

/* One measurement of a victim, and its slowdowns. */
struct cli_measured_file {
	struct np_pairs pairs;
	struct np_validate_result result;
};

/* Compute the slowdowns of n measurements, which a owns from now on. */
static int take_files(struct cli_known_app *a, struct np_pairs *p, size_t n)
{
	int rc = 0;

	a->measured = calloc(n + 1, sizeof(*a->measured));
	for (size_t i = 0; i < n; i++) {
		if (a->measured && !rc)
			rc = np_validate_result_make(&p[i],
						     &a->measured[i].result);
		if (!a->measured || rc) {
			np_pairs_free(&p[i]);
			continue;
		}
		a->measured[i].pairs = p[i];
		a->n_measured++;
	}
	return a->measured ? rc : -ENOMEM;
}

int cli_measured_load(struct cli_known *k, struct cli_store *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < k->n; i++) {
		struct cli_known_app *a = k->app[i];
		struct np_err err = NP_ERR_INIT;
		struct np_pairs *p;
		size_t n;

		rc = np_pairs_store_load(s->store, a->r.owner, a->r.uid,
					 a->r.runs.app, cli_warn_line, NULL, &p,
					 &n, &err);
		if (!rc)
			rc = take_files(a, p, n);
		free(p);
		if (rc == -EACCES)
			rc = 0;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* The index of a program in a measurement; its number of programs: none. */
static size_t program_at(const struct np_pairs *p, const char *name)
{
	size_t i = 0;

	while (i < p->n_programs && strcmp(p->program[i].name, name))
		i++;
	return i;
}

/* The pair in one measurement. */
static bool find_in(const struct cli_measured_file *f, const char *victim,
		    const char *corunner, struct cli_measured *out)
{
	size_t v = program_at(&f->pairs, victim);
	size_t c = program_at(&f->pairs, corunner), n = f->pairs.n_programs;
	const struct np_validate_pair *pair;

	if (v == n || c == n)
		return false;
	pair = &f->result.pair[v * n + c];
	if (!pair->slowdown.n && !pair->refused)
		return false;
	*out = (struct cli_measured){
		.slowdown = pair->slowdown, .date = f->pairs.date,
		.control = pair->apart.n ? pair->apart.mean : NAN,
		.victim_nodes = f->pairs.program[v].nodes,
		.corunner_nodes = f->pairs.program[c].nodes,
	};
	return true;
}

/* Was it measured on the cluster of the calibration? */
static bool is_of_cluster(const struct cli_known *k, const struct np_pairs *p)
{
	return !p->place.cluster || !k->calibrated || !*k->cal.cluster ||
	       !strcmp(p->place.cluster, k->cal.cluster);
}

bool cli_measured_find(const struct cli_known *k, size_t victim, size_t corunner,
		       enum np_scope scope, struct cli_measured *out)
{
	const struct cli_known_app *a = k->app[victim];

	for (size_t i = 0; scope == NP_SCOPE_LEAF && i < a->n_measured; i++)
		if (is_of_cluster(k, &a->measured[i].pairs) &&
		    find_in(&a->measured[i], a->r.runs.app,
			    k->app[corunner]->r.runs.app, out))
			return true;
	return false;
}

void cli_measured_free(struct cli_known_app *a)
{
	for (size_t i = 0; i < a->n_measured; i++) {
		np_pairs_free(&a->measured[i].pairs);
		np_validate_result_free(&a->measured[i].result);
	}
	free(a->measured);
	a->measured = NULL;
	a->n_measured = 0;
}
