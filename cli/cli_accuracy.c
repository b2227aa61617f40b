#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_accuracy.h"

static bool listed(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static bool involves(const struct np_measured_set *s,
		     const struct np_measured_case *c, const char *const *list,
		     size_t n)
{
	if (listed(s->app[c->victim].name, list, n))
		return true;
	for (size_t i = 0; i < c->n_co; i++)
		if (listed(s->app[c->co[i]].name, list, n))
			return true;
	return false;
}

bool accuracy_takes(const struct accuracy_opt *opt,
		    const struct np_measured_set *s,
		    const struct np_measured_case *c)
{
	return c->slowdown.mean <= opt->up_to &&
	       !involves(s, c, opt->without, opt->n_without) &&
	       (!opt->n_only || involves(s, c, opt->only, opt->n_only));
}

static bool known_name(const struct np_measured *m, const char *name)
{
	for (size_t i = 0; i < m->n_sets; i++)
		for (size_t a = 0; a < m->set[i].n_apps; a++)
			if (!strcmp(m->set[i].app[a].name, name))
				return true;
	return false;
}

static int check_names(const struct accuracy_file *f, const char *const *list,
		       size_t n, struct np_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!known_name(&f->measured, list[i]))
			return np_errf(err, -EINVAL, "%s: no program \"%s\"",
				       f->path, list[i]);
	return 0;
}

/* DIR/NAME of each program, a trace or a graph. */
static int read_traces(struct accuracy_file *f, const struct accuracy_opt *opt,
		       struct np_err *err)
{
	const struct np_loggps *net = opt->net.G_ns < 0 ? NULL : &opt->net;
	unsigned needs = 0;

	for (size_t i = 0; i < opt->n_models; i++)
		needs |= opt->model[i]->needs;
	f->traced = calloc(f->measured.n_sets + 1, sizeof(*f->traced));
	for (size_t i = 0; f->traced && i < f->measured.n_sets; i++) {
		struct np_measured_set *s = &f->measured.set[i];

		f->traced[i] = calloc(s->n_apps + 1, sizeof(**f->traced));
		if (!f->traced[i])
			break;
		for (size_t a = 0; a < s->n_apps; a++) {
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/%s", opt->traces,
				 s->app[a].name);
			cli_traced_read(path, net, needs, &f->traced[i][a]);
			cli_traced_give(&f->traced[i][a], &s->app[a]);
		}
		if (i + 1 == f->measured.n_sets)
			return 0;
	}
	return np_errf(err, -ENOMEM, "%s: no memory", f->path);
}

/* One model over all sets. */
static int run_model(struct accuracy_file *f, const struct np_model *model,
		     const struct np_predict_opt *opt, struct np_err *err)
{
	struct accuracy_run *r = &f->run[f->n_runs++];
	size_t n = f->measured.n_sets;
	int rc = 0;

	r->model = model;
	r->out = calloc(n + 1, sizeof(*r->out));
	r->rc = calloc(n + 1, sizeof(*r->rc));
	if (!r->out || !r->rc)
		return np_errf(err, -ENOMEM, "%s: no memory", f->path);
	for (size_t i = 0; !rc && i < n; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		r->out[i] = calloc(s->n_rows + 1, sizeof(**r->out));
		r->rc[i] = calloc(s->n_rows + 1, sizeof(**r->rc));
		if (!r->out[i] || !r->rc[i])
			return np_errf(err, -ENOMEM, "%s: no memory", f->path);
		rc = np_evaluate(s, model, opt, r->out[i], r->rc[i], &r->why,
				 err);
	}
	return rc;
}

/* The cases of one kind; with run NULL, only what was measured. */
static size_t gather(const struct accuracy_file *f,
		     const struct accuracy_opt *opt,
		     const struct accuracy_run *run, bool groups,
		     struct np_scored *to)
{
	static const struct np_prediction none;
	size_t n = 0;

	for (size_t i = 0; i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		for (size_t k = 0; k < s->n_rows; k++) {
			const struct np_measured_case *c = &s->row[k];

			if ((c->n_co > 1) != groups ||
			    !accuracy_takes(opt, s, c))
				continue;
			to[n++] = np_evaluate_scored(
				run ? &run->out[i][k] : &none, c);
		}
	}
	return n;
}

static size_t all_rows(const struct accuracy_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->measured.n_sets; i++)
		n += f->measured.set[i].n_rows;
	return n;
}

static int score_constant(struct np_scored *s, size_t n,
			  struct accuracy_line *line)
{
	int rc = np_accuracy_best_constant(s, n, &line->constant);

	line->model = "best constant";
	for (size_t i = 0; i < n; i++) {
		s[i].predicted = line->constant;
		s[i].low = s[i].high = NAN;
	}
	return rc ? rc : np_accuracy_score(s, n, &line->score);
}

static int score_part(struct accuracy_file *f, const struct accuracy_opt *opt,
		      bool groups, struct np_scored *s)
{
	struct accuracy_part *p = &f->part[f->n_parts];
	size_t n = gather(f, opt, NULL, groups, s);
	int rc;

	if (!n)
		return 0;
	f->n_parts++;
	p->groups = groups;
	p->n_cases = n;
	rc = score_constant(s, n, &p->line[p->n_lines++]);
	for (size_t i = 0; !rc && i < f->n_runs; i++) {
		struct accuracy_line *l = &p->line[p->n_lines++];

		l->model = f->run[i].model->name;
		l->constant = NAN;
		l->why = f->run[i].why;
		n = gather(f, opt, &f->run[i], groups, s);
		rc = np_accuracy_score(s, n, &l->score);
	}
	return rc;
}

int accuracy_run(const char *path, const struct accuracy_opt *opt,
		 struct accuracy_file *f, struct np_err *err)
{
	struct np_scored *s = NULL;
	int rc;

	*f = (struct accuracy_file){ .path = path };
	rc = np_measured_load(path, &f->measured, err);
	if (!rc)
		rc = check_names(f, opt->without, opt->n_without, err);
	if (!rc)
		rc = check_names(f, opt->only, opt->n_only, err);
	if (!rc && opt->traces)
		rc = read_traces(f, opt, err);
	for (size_t i = 0; !rc && i < opt->n_models; i++)
		rc = run_model(f, opt->model[i], &opt->predict, err);
	if (rc)
		return rc;
	s = calloc(all_rows(f) + 1, sizeof(*s));
	if (!s || score_part(f, opt, false, s) || score_part(f, opt, true, s))
		rc = np_errf(err, -ENOMEM, "%s: no memory", path);
	free(s);
	if (!rc && !f->n_parts)
		rc = np_errf(err, -ENODATA, "%s: no measured pair to compare "
			     "with", path);
	return rc;
}

void accuracy_free(struct accuracy_file *f)
{
	for (size_t r = 0; r < f->n_runs; r++) {
		for (size_t i = 0; i < f->measured.n_sets; i++) {
			if (f->run[r].out)
				free(f->run[r].out[i]);
			if (f->run[r].rc)
				free(f->run[r].rc[i]);
		}
		free(f->run[r].out);
		free(f->run[r].rc);
	}
	for (size_t i = 0; f->traced && i < f->measured.n_sets; i++) {
		for (size_t a = 0; f->traced[i] &&
				   a < f->measured.set[i].n_apps; a++)
			cli_traced_free(&f->traced[i][a]);
		free(f->traced[i]);
	}
	free(f->traced);
	np_measured_free(&f->measured);
}
