#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Is this case among those asked for? */
static bool takes(const struct accuracy_opt *opt,
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
	size_t n = 0;

	for (size_t i = 0; i < opt->n_models; i++)
		needs |= opt->model[i]->needs;
	if (!(needs & NP_NEED_TRACE))
		return 0;
	for (size_t i = 0; i < f->measured.n_sets; i++)
		n += f->measured.set[i].n_apps;
	f->traced = calloc(n + 1, sizeof(*f->traced));
	n = 0;
	if (!f->traced)
		return np_errf(err, -ENOMEM, "%s: no memory", f->path);
	for (size_t i = 0; i < f->measured.n_sets; i++) {
		struct np_measured_set *s = &f->measured.set[i];

		for (size_t a = 0; a < s->n_apps; a++) {
			struct cli_traced *t = &f->traced[n++];
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/%s", opt->traces,
				 s->app[a].name);
			cli_traced_read(path, geteuid(), net, t);
			cli_traced_give(t, &s->app[a]);
		}
	}
	return 0;
}

static size_t all_rows(const struct accuracy_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->measured.n_sets; i++)
		n += f->measured.set[i].n_rows;
	return n;
}

static int list_cases(struct accuracy_file *f, const struct accuracy_opt *opt,
		      struct np_err *err)
{
	size_t at = 0;

	f->one = calloc(all_rows(f) + 1, sizeof(*f->one));
	if (!f->one)
		return np_errf(err, -ENOMEM, "%s: no memory", f->path);
	for (size_t i = 0; i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		for (size_t k = 0; k < s->n_rows; k++, at++)
			if (takes(opt, s, &s->row[k]))
				f->one[f->n_cases++] = (struct accuracy_case){
					s, &s->row[k], at };
	}
	return 0;
}

/* One model over all sets. */
static int run_model(struct accuracy_file *f, const struct np_model *model,
		     const struct np_predict_opt *opt, struct np_err *err)
{
	struct accuracy_run *r = &f->run[f->n_runs++];
	size_t n = all_rows(f), at = 0;
	int *rcs = calloc(n + 1, sizeof(*rcs)), rc = 0;

	r->name = model->name;
	r->out = calloc(n + 1, sizeof(*r->out));
	if (!r->out || !rcs)
		rc = np_errf(err, -ENOMEM, "%s: no memory", f->path);
	for (size_t i = 0; !rc && i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		rc = np_evaluate(s, model, opt, &r->out[at], rcs, &r->why, err);
		at += s->n_rows;
	}
	free(rcs);
	return rc;
}

/* Of pairs; a case without one, or beside several programs, has no answer. */
static int run_others(struct accuracy_file *f, const struct accuracy_opt *opt,
		      struct np_err *err)
{
	struct accuracy_run *r = &f->run[f->n_runs++];
	size_t at = 0;

	r->name = basename(opt->predictions);
	r->out = calloc(all_rows(f) + 1, sizeof(*r->out));
	if (!r->out)
		return np_errf(err, -ENOMEM, "%s: no memory", f->path);
	np_errf(&r->why, -ENODATA, "it has none of these");
	for (size_t i = 0; i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		for (size_t k = 0; k < s->n_rows; k++, at++) {
			const struct np_measured_case *c = &s->row[k];
			const struct cli_predicted *p = c->n_co != 1 ? NULL :
				cli_predictions_find(&opt->others,
						     s->app[c->victim].name,
						     s->app[c->co[0]].name);

			r->out[at].slowdown = p ? p->slowdown : NAN;
			r->out[at].low = p ? p->low : NAN;
			r->out[at].high = p ? p->high : NAN;
		}
	}
	return 0;
}

/* What is predicted for a program that no file has is a mistake. */
static int check_predicted(const struct accuracy_file *f,
			   const struct accuracy_opt *opt, struct np_err *err)
{
	for (size_t i = 0; i < opt->others.n; i++) {
		const struct cli_predicted *p = &opt->others.row[i];
		const char *name[] = { p->victim, p->co };
		int rc = check_names(f, name, 2, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* The cases of one kind; with run NULL, only what was measured. */
static size_t gather(const struct accuracy_file *f,
		     const struct accuracy_run *run, bool groups,
		     struct np_scored *to)
{
	static const struct np_prediction none;
	size_t n = 0;

	for (size_t i = 0; i < f->n_cases; i++) {
		const struct accuracy_case *c = &f->one[i];

		if ((c->c->n_co > 1) == groups)
			to[n++] = np_evaluate_scored(
				run ? &run->out[c->at] : &none, c->c);
	}
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

static int score_part(struct accuracy_file *f, bool groups,
		      struct np_scored *s)
{
	struct accuracy_part *p = &f->part[f->n_parts];
	size_t n = gather(f, NULL, groups, s);
	int rc;

	if (!n)
		return 0;
	f->n_parts++;
	p->groups = groups;
	p->n_cases = n;
	rc = score_constant(s, n, &p->line[p->n_lines++]);
	for (size_t i = 0; !rc && i < f->n_runs; i++) {
		struct accuracy_line *l = &p->line[p->n_lines++];

		l->model = f->run[i].name;
		l->constant = NAN;
		l->why = f->run[i].why;
		n = gather(f, &f->run[i], groups, s);
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
	if (!rc)
		rc = list_cases(f, opt, err);
	if (!rc && opt->predictions)
		rc = check_predicted(f, opt, err);
	if (!rc && opt->predictions)
		rc = run_others(f, opt, err);
	for (size_t i = 0; !rc && i < opt->n_models; i++)
		rc = run_model(f, opt->model[i], &opt->predict, err);
	if (rc)
		return rc;
	s = calloc(f->n_cases + 1, sizeof(*s));
	if (!s || score_part(f, false, s) || score_part(f, true, s))
		rc = np_errf(err, -ENOMEM, "%s: no memory", path);
	free(s);
	if (!rc && !f->n_parts)
		rc = np_errf(err, -ENODATA, "%s: no measured pair to compare "
			     "with", path);
	return rc;
}

void accuracy_free(struct accuracy_file *f)
{
	for (size_t r = 0; r < f->n_runs; r++)
		free(f->run[r].out);
	free(f->traced);
	free(f->one);
	np_measured_free(&f->measured);
}
