#include "np_validate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_level.h"
#include "np_moments.h"
#include "np_read.h"
#include "np_words.h"

static void free_words(struct np_validate_words *to)
{
	for (size_t i = 0; i < to->n; i++)
		free(to->word[i]);
	free(to->word);
	*to = (struct np_validate_words){ .n = 0 };
}

void np_validate_list_free(struct np_validate_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->program[i].directory);
		free_words(&l->program[i].srun);
		free_words(&l->program[i].run);
		free_words(&l->program[i].longer);
	}
	free(l->program);
	*l = (struct np_validate_list){ .n = 0 };
}

const struct np_validate_words *
np_validate_longer(const struct np_validate_program *p)
{
	return p->longer.n ? &p->longer : &p->run;
}

/* ---- parsing the list ---- */

/* Line "program NAME": begin a new program with its defaults. */
static void begin_program(struct np_words *w, struct np_validate_list *l)
{
	const char *name = np_words_at(w, 1);
	struct np_level level;
	struct np_err why;

	if (w->n != 2)
		np_words_fail(w, -EINVAL, "expected program and its name");
	else if (np_app_check(name, &why))
		np_words_fail(w, -EINVAL, "%s", why.text);
	else if (!strcmp(name, "idle") || !np_level_parse(name, &level, NULL))
		np_words_fail(w, -EINVAL, "\"%s\": expected another name, as "
			      "idle and the levels' names are reserved", name);
	for (size_t i = 0; !w->rc && i < l->n; i++)
		if (!strcmp(l->program[i].name, name))
			np_words_fail(w, -EINVAL, "%s: a program of that name "
				      "exists already", name);
	if (!w->rc && l->n == NP_VALIDATE_MAX_PROGRAMS)
		np_words_fail(w, -EINVAL, "more than %d programs",
			      NP_VALIDATE_MAX_PROGRAMS);
	if (w->rc)
		return;
	if (np_array_grow(&l->program, l->n, sizeof(*l->program))) {
		np_words_no_memory(w);
		return;
	}
	l->program[l->n] = (struct np_validate_program){
		.per_node = 1, .begins_sec = NP_VALIDATE_BEGINS_SEC,
	};
	strcpy(l->program[l->n++].name, name);
}

/* A line that is a command or options; each may be given once. */
static void take_words(struct np_words *w, struct np_validate_words *to,
		       size_t most)
{
	if (to->n)
		np_words_fail(w, -EINVAL, "%s: given twice", w->word[0]);
	else if (w->n < 2 || w->n - 1 > most)
		np_words_fail(w, -EINVAL, "%s: expected 1 to %zu words",
			      w->word[0], most);
	if (w->rc)
		return;
	to->word = calloc(w->n, sizeof(*to->word));
	while (to->word && to->n < w->n - 1) {
		to->word[to->n] = strdup(w->word[to->n + 1]);
		if (!to->word[to->n])
			break;
		to->n++;
	}
	if (to->n < w->n - 1)
		np_words_no_memory(w);
}

/* A line with one number. */
static void take_count(struct np_words *w, uint32_t *to, uint32_t most)
{
	uint64_t n = np_words_count(w, 1, most);

	if (!w->rc && (w->n != 2 || !n))
		np_words_fail(w, -EINVAL, "%s: expected one number, 1 to %u",
			      w->word[0], most);
	*to = (uint32_t)n;
}

/* A line with one time. */
static void take_time(struct np_words *w, double *to)
{
	*to = np_words_time(w, 1);
	if (!w->rc && w->n != 2)
		np_words_fail(w, -EINVAL, "%s: expected one time", w->word[0]);
}

/* A line with the directory to run in. */
static void take_directory(struct np_words *w, struct np_validate_program *p)
{
	const char *path = np_words_at(w, 1);

	if (w->n != 2 || *path != '/' || p->directory) {
		np_words_fail(w, -EINVAL, "directory: expected one absolute "
			      "path, once");
		return;
	}
	p->directory = strdup(path);
	if (!p->directory)
		np_words_no_memory(w);
}

/* One line of the list belongs to the program that was begun last. */
static void parse_line(struct np_words *w, struct np_validate_list *l)
{
	struct np_validate_program *p = l->n ? &l->program[l->n - 1] : NULL;

	if (np_words_is(w, 0, "program"))
		begin_program(w, l);
	else if (!p)
		np_words_fail(w, -EINVAL, "\"%.40s\": expected program and its "
			      "name first", w->word[0]);
	else if (np_words_is(w, 0, "nodes"))
		take_count(w, &p->nodes, NP_VALIDATE_MAX_NODES);
	else if (np_words_is(w, 0, "per-node"))
		take_count(w, &p->per_node, NP_VALIDATE_MAX_TASKS);
	else if (np_words_is(w, 0, "directory"))
		take_directory(w, p);
	else if (np_words_is(w, 0, "srun"))
		take_words(w, &p->srun, NP_VALIDATE_MAX_OPTIONS);
	else if (np_words_is(w, 0, "run"))
		take_words(w, &p->run, NP_VALIDATE_MAX_WORDS);
	else if (np_words_is(w, 0, "longer"))
		take_words(w, &p->longer, NP_VALIDATE_MAX_WORDS);
	else if (np_words_is(w, 0, "begins"))
		take_time(w, &p->begins_sec);
	else if (np_words_is(w, 0, "takes"))
		take_time(w, &p->takes_sec);
	else
		np_words_fail(w, -EINVAL, "\"%.40s\": expected program, nodes, "
			      "per-node, directory, srun, run, longer, begins "
			      "or takes", w->word[0]);
}

/* Check that the list and each program are complete. */
static void check_complete(struct np_words *w, const struct np_validate_list *l)
{
	if (!l->n)
		np_words_fail(w, -EINVAL,
			      "expected a line with program and its "
			      "name");
	for (size_t i = 0; i < l->n; i++) {
		if (!l->program[i].nodes)
			np_words_fail(w, -EINVAL, "program %s: expected a line "
				      "with nodes", l->program[i].name);
		if (!l->program[i].run.n)
			np_words_fail(w, -EINVAL, "program %s: expected a line "
				      "with run and its command",
				      l->program[i].name);
	}
}

int np_validate_list_parse(const char *text, size_t len, const char *source,
			   struct np_validate_list *out, struct np_err *err)
{
	struct np_validate_list l = { .n = 0 };
	struct np_words w;

	np_words_open(&w, text, len, source, err);
	while (np_words_next(&w))
		parse_line(&w, &l);
	check_complete(&w, &l);
	if (w.rc)
		np_validate_list_free(&l);
	else
		*out = l;
	return w.rc;
}

int np_validate_list_read(const char *path, struct np_validate_list *out,
			  struct np_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = np_read_file(path, NP_VALIDATE_MAX_BYTES, &text, &len, err);

	if (!rc)
		rc = np_validate_list_parse(text, len, path, out, err);
	free(text);
	return rc;
}

/* Append words to the line that identifies the list. */
static void put_words(FILE *f, const char *what,
		      const struct np_validate_words *words)
{
	if (words->n)
		fprintf(f, " %s", what);
	for (size_t i = 0; i < words->n; i++)
		fprintf(f, " %s", words->word[i]);
}

char *np_validate_list_text(const struct np_validate_list *l)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct np_validate_program *p = &l->program[i];

		fprintf(f, "%s%s nodes %u per-node %u", i ? "; " : "",
			p->name, p->nodes, p->per_node);
		if (p->directory)
			fprintf(f, " directory %s", p->directory);
		put_words(f, "srun", &p->srun);
		put_words(f, "run", &p->run);
		put_words(f, "longer", &p->longer);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- nodes ---- */

#define START_SEC 1.0 /* of srun, before and after its step */
#define SLOWER 1.3    /* guess of a run time with a co-runner */

/* First repeat number of extra runs alone; plans never use it. */
#define EXTRA 1000000u


void np_validate_roles_free(struct np_validate_roles *s)
{
	free(s->leaf);
	free(s->victim.list);
	free(s->corunner.list);
	free(s->apart.list);
	*s = (struct np_validate_roles){ .leaf = NULL };
}

/* Move nodes to another owner. */
static void move_hosts(struct np_cal_hosts *to, struct np_cal_hosts *from)
{
	*to = *from;
	*from = (struct np_cal_hosts){ .n = 0 };
}

/*
 * Find nodes for co-runners under another leaf switch, placed as in this one.
 */
static int find_other_leaf(const struct np_cal_node *node, size_t n,
			   uint32_t most, struct np_validate_roles *s)
{
	struct np_cal_node *rest = calloc(n + 1, sizeof(*rest));
	struct np_cal_roles other;
	size_t n_rest = 0;
	int rc;

	if (!rest)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (strcmp(node[i].leaf, s->leaf))
			rest[n_rest++] = node[i];
	rc = np_cal_roles_make(rest, n_rest, &other, NULL);
	free(rest);
	if (rc)
		return rc == -ENODEV ? 0 : rc;
	if (other.aggressor.n >= most)
		move_hosts(&s->apart, &other.aggressor);
	else if (!other.aggressor.n && other.victim.n >= most)
		move_hosts(&s->apart, &other.victim);
	np_cal_roles_free(&other);
	return 0;
}

/* Does each program fit into half of the leaf switch? */
static int check_fit(const struct np_validate_list *l,
		     const struct np_validate_roles *s, struct np_err *err)
{
	size_t room = s->victim.n < s->corunner.n ? s->victim.n : s->corunner.n;

	if (!room)
		return np_errf(err, -ENODEV, "leaf %s: expected four nodes or "
			       "more, half of them for each of two programs",
			       s->leaf);
	for (size_t i = 0; i < l->n; i++)
		if (l->program[i].nodes > room)
			return np_errf(err, -ENODEV,
				       "%s: %u nodes, but half of "
				       "leaf %s has %zu",
				       l->program[i].name, l->program[i].nodes,
				       s->leaf, room);
	return 0;
}

int np_validate_roles_make(const struct np_cal_node *node, size_t n,
			   const struct np_validate_list *l,
			   struct np_validate_roles *out, struct np_err *err)
{
	struct np_validate_roles s = { .leaf = NULL };
	struct np_cal_roles here;
	uint32_t most = 0;
	int rc = np_cal_roles_make(node, n, &here, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l->n; i++)
		if (l->program[i].nodes > most)
			most = l->program[i].nodes;
	s.leaf = here.leaf;
	here.leaf = NULL;
	move_hosts(&s.victim, &here.victim);
	move_hosts(&s.corunner, &here.aggressor);
	np_cal_roles_free(&here);
	rc = check_fit(l, &s, err);
	if (!rc && find_other_leaf(node, n, most, &s))
		rc = np_errf(err, -ENOMEM, "out of memory");
	if (rc)
		np_validate_roles_free(&s);
	else
		*out = s;
	return rc;
}

char *np_validate_hosts(const struct np_cal_hosts *h, size_t want)
{
	const char *end = h->list ? h->list : "";

	for (size_t i = 0; i < want && *end; i++) {
		end += *end == ',';
		end += strcspn(end, ",");
	}
	return strndup(h->list ? h->list : "", (size_t)(end - h->list));
}

/* ---- runs ---- */

struct task_list {
	struct np_validate_task *task;
	size_t n;
	int rc;
	const struct np_validate_list *programs;
	const struct np_pairs *done;
	bool fresh; /* the list has a recent run of this victim alone */
};

/* Name of a program by its index; NULL: none. */
static const char *name_of(const struct np_validate_list *l, size_t i)
{
	return i == NP_CAL_NONE ? NULL : l->program[i].name;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Is this run among those that are done? */
static bool is_done(const struct task_list *l, const struct np_validate_task *t)
{
	for (size_t i = 0; i < l->done->n_runs; i++) {
		const struct np_pairs_run *r = &l->done->run[i];

		if (r->kind == t->kind && r->repeat == t->repeat &&
		    same_text(r->victim, name_of(l->programs, t->victim)) &&
		    same_text(r->corunner, name_of(l->programs, t->corunner)))
			return true;
	}
	return false;
}

/* Append a run to the plan; the first failure is kept in l->rc. */
static void append_task(struct task_list *l, struct np_validate_task t)
{
	if (!l->rc)
		l->rc = np_array_grow(&l->task, l->n, sizeof(*l->task));
	if (!l->rc)
		l->task[l->n++] = t;
}

/* The repeat number of a further run alone, which no plan has used. */
static uint32_t next_extra(const struct np_pairs *done, const char *victim)
{
	uint32_t next = EXTRA;

	for (size_t i = 0; i < done->n_runs; i++)
		if (done->run[i].kind == NP_PAIRS_ALONE &&
		    !strcmp(done->run[i].victim, victim) &&
		    done->run[i].repeat >= next)
			next = done->run[i].repeat + 1;
	return next;
}

/*
 * Append a run unless it is done.  A pair whose victim has no recent run alone
 * gets one before it.
 */
static void add_task(struct task_list *l, enum np_pairs_kind kind,
		     size_t victim, size_t corunner, uint32_t repeat)
{
	struct np_validate_task t = { kind, victim, corunner, repeat };

	if (is_done(l, &t))
		return;
	if (corunner != NP_CAL_NONE && !l->fresh) {
		uint32_t extra = next_extra(l->done,
					    name_of(l->programs, victim));

		append_task(l,
			    (struct np_validate_task){ NP_PAIRS_ALONE, victim,
						       NP_CAL_NONE, extra });
		l->fresh = true;
	}
	append_task(l, t);
	if (kind == NP_PAIRS_ALONE)
		l->fresh = true;
}

/* One victim with all co-runners, in one repeat. */
static void add_victim(struct task_list *l, size_t victim, uint32_t repeat,
		       bool apart)
{
	size_t n = l->programs->n;
	uint32_t per_repeat = (uint32_t)(1 + (n + NP_VALIDATE_STRETCH - 1) /
					 NP_VALIDATE_STRETCH);
	uint32_t alone = repeat * per_repeat;

	l->fresh = false;
	add_task(l, NP_PAIRS_ALONE, victim, NP_CAL_NONE, alone++);
	for (size_t c = 0; c < n; c++) {
		add_task(l, NP_PAIRS_LEAF, victim, c, repeat);
		if (apart && !repeat)
			add_task(l, NP_PAIRS_APART, victim, c, 0);
		if ((c + 1) % NP_VALIDATE_STRETCH == 0 || c + 1 == n)
			add_task(l, NP_PAIRS_ALONE, victim, NP_CAL_NONE,
				 alone++);
	}
}

int np_validate_plan(const struct np_validate_list *programs, uint32_t repeats,
		     bool apart, const struct np_pairs *done,
		     struct np_validate_task **out, size_t *n)
{
	struct task_list l = { .programs = programs, .done = done };

	for (size_t v = 0; v < programs->n; v++)
		for (uint32_t r = 0; r < NP_VALIDATE_LAUNCHES; r++)
			add_task(&l, NP_PAIRS_LAUNCH, v, NP_CAL_NONE, r);
	for (size_t v = 0; v < programs->n; v++)
		add_task(&l, NP_PAIRS_PROFILE, v, NP_CAL_NONE, 0);
	for (uint32_t r = 0; r < repeats; r++)
		for (size_t v = 0; v < programs->n; v++)
			add_victim(&l, v, r, apart);
	if (l.rc) {
		free(l.task);
		return l.rc;
	}
	*out = l.task;
	*n = l.n;
	return 0;
}

/* The newest run time alone, or else the expected one. */
static double takes_sec(const struct np_validate_program *p,
			const struct np_pairs *done)
{
	double sec = p->takes_sec > 0 ? p->takes_sec : NP_VALIDATE_TAKES_SEC;

	for (size_t i = 0; i < done->n_runs; i++)
		if (done->run[i].kind == NP_PAIRS_ALONE &&
		    !strcmp(done->run[i].victim, p->name))
			sec = done->run[i].sec;
	return sec;
}

double np_validate_cost_sec(const struct np_validate_list *l,
			    const struct np_pairs *done,
			    const struct np_validate_task *t)
{
	const struct np_validate_program *p = &l->program[t->victim];
	double sec = takes_sec(p, done);

	switch (t->kind) {
	case NP_PAIRS_LAUNCH:
		return START_SEC;
	case NP_PAIRS_PROFILE:
		return START_SEC + (p->longer.n ?
				    fmax(NP_VALIDATE_PROFILE_SEC, sec) :
				    SLOWER * sec);
	case NP_PAIRS_ALONE:
		return START_SEC + sec;
	case NP_PAIRS_LEAF:
		sec *= SLOWER;
		break;
	case NP_PAIRS_APART:
		break;
	}
	return 2 * START_SEC + l->program[t->corunner].begins_sec + sec;
}

/* ---- results ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Is it a run of this kind, victim and co-runner (NULL: any)? */
static bool is_of(const struct np_pairs_run *r, enum np_pairs_kind kind,
		  const char *victim, const char *corunner)
{
	return r->kind == kind && !strcmp(r->victim, victim) &&
	       (!corunner || !strcmp(r->corunner, corunner));
}

/* Median duration of the launches; 0: there are none. */
static int launch_time(const struct np_pairs *p, size_t app, double *out)
{
	double *sec = calloc(p->n_runs + 1, sizeof(*sec));
	size_t n = 0;

	if (!sec)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_runs; i++)
		if (is_of(&p->run[i], NP_PAIRS_LAUNCH, p->program[app].name,
			  NULL))
			sec[n++] = p->run[i].sec;
	qsort(sec, n, sizeof(*sec), by_value);
	*out = !n ? 0 : (sec[n / 2] + sec[(n - 1) / 2]) / 2;
	free(sec);
	return 0;
}

/* Mean and drift of the runs of a program alone. */
static void alone_time(const struct np_pairs *p, size_t app,
		       struct np_validate_app *a)
{
	struct np_moments m = { .n = 0 };

	for (size_t i = 0; i < p->n_runs; i++)
		if (is_of(&p->run[i], NP_PAIRS_ALONE, p->program[app].name,
			  NULL) && p->run[i].sec > a->launch_sec)
			np_moments_add(&m, p->run[i].sec - a->launch_sec);
	a->drift = NAN;
	if (!m.n)
		return;
	a->alone_sec = np_mean_of(&m);
	if (m.n > 1)
		a->drift = (m.max - m.min) / m.mean;
}

/* The date of the middle of a run. */
static double middle_of(const struct np_pairs_run *r)
{
	return r->start + r->sec / 2;
}

/* The run alone that is nearest in time; NULL: there is none. */
static const struct np_pairs_run *nearest_alone(const struct np_pairs *p,
						const struct np_pairs_run *to)
{
	const struct np_pairs_run *best = NULL;

	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i];

		if (is_of(r, NP_PAIRS_ALONE, to->victim, NULL) &&
		    (!best || fabs(middle_of(r) - middle_of(to)) <
				      fabs(middle_of(best) - middle_of(to))))
			best = r;
	}
	return best;
}

/*
 * Slowdowns of a pair's runs of one kind.  *between: difference of the first
 * two, NaN: there are not two.
 */
static struct np_mean slowdowns(const struct np_pairs *p, size_t victim,
				size_t corunner, enum np_pairs_kind kind,
				double launch_sec, double *between)
{
	const char *v = p->program[victim].name;
	const char *c = p->program[corunner].name;
	double first = NAN;
	struct np_moments m = { .n = 0 };

	*between = NAN;
	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i], *base;
		double slowdown;

		if (!is_of(r, kind, v, c))
			continue;
		base = nearest_alone(p, r);
		if (!base || base->sec <= launch_sec || r->sec <= launch_sec)
			continue;
		slowdown = (r->sec - launch_sec) / (base->sec - launch_sec) - 1;
		if (m.n == 0)
			first = slowdown;
		else if (m.n == 1)
			*between = fabs(slowdown - first);
		np_moments_add(&m, slowdown);
	}
	return m.n ? np_mean_of(&m) : (struct np_mean){ .n = 0 };
}

struct sums {
	double repeat, control;
};

/*
 * Evaluate a pair: subtract its control, or refuse it if the control is too
 * slow itself.
 */
static void judge_pair(const struct np_pairs *p, size_t victim, size_t corunner,
		       struct np_validate_result *r, struct sums *sums)
{
	struct np_validate_pair *pair = &r->pair[victim * r->n_programs +
						 corunner];
	double launch_sec = r->app[victim].launch_sec, ignored;

	pair->slowdown = slowdowns(p, victim, corunner, NP_PAIRS_LEAF,
				   launch_sec, &pair->between);
	pair->apart = slowdowns(p, victim, corunner, NP_PAIRS_APART,
				launch_sec, &ignored);
	if (pair->apart.n) {
		double size = fabs(pair->apart.mean);

		r->n_controls++;
		sums->control += size;
		r->control_most = fmax(r->control_most, size);
		pair->refused = size > NP_VALIDATE_CONTROL_MOST;
	}
	if (pair->refused) {
		r->n_refused++;
		pair->slowdown = (struct np_mean){ .n = 0 };
	}
	if (!pair->slowdown.n)
		return;
	if (pair->apart.n)
		pair->slowdown.mean -= pair->apart.mean;
	r->n_pairs++;
	if (!isnan(pair->between)) {
		r->n_repeated++;
		sums->repeat += 100 * pair->between;
	}
}

int np_validate_result_make(const struct np_pairs *p,
			    struct np_validate_result *out)
{
	size_t n = p->n_programs;
	struct np_validate_result r = {
		.n_programs = n, .control_most = NAN,
		.app = calloc(n + 1, sizeof(*r.app)),
		.pair = calloc(n * n + 1, sizeof(*r.pair)),
	};
	struct sums sums = { 0, 0 };
	int rc = r.app && r.pair ? 0 : -ENOMEM;

	for (size_t a = 0; !rc && a < n; a++) {
		rc = launch_time(p, a, &r.app[a].launch_sec);
		if (!rc)
			alone_time(p, a, &r.app[a]);
	}
	for (size_t i = 0; !rc && i < n * n; i++)
		judge_pair(p, i / n, i % n, &r, &sums);
	if (rc) {
		np_validate_result_free(&r);
		return rc;
	}
	r.repeat_points = r.n_repeated ? sums.repeat / (double)r.n_repeated :
					 NAN;
	r.control_mean = r.n_controls ? sums.control / (double)r.n_controls :
					NAN;
	*out = r;
	return 0;
}

void np_validate_result_free(struct np_validate_result *r)
{
	free(r->app);
	free(r->pair);
	*r = (struct np_validate_result){ .n_programs = 0 };
}

static int make_table(size_t n, struct np_mean **table)
{
	free(*table);
	*table = calloc(n + 1, sizeof(**table));
	return *table ? 0 : -ENOMEM;
}

int np_validate_result_store(const struct np_validate_result *r,
			    struct np_pairs *p)
{
	size_t n = r->n_programs;

	if (make_table(n, &p->alone_sec) || make_table(n * n, &p->together) ||
	    make_table(n * n, &p->apart))
		return -ENOMEM;
	for (size_t a = 0; a < n; a++)
		p->alone_sec[a] = r->app[a].alone_sec;
	for (size_t i = 0; i < n * n; i++) {
		p->together[i] = r->pair[i].slowdown;
		p->apart[i] = r->pair[i].apart;
	}
	return 0;
}
