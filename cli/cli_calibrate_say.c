/* What `netprof calibrate` says. */
#include "cli_calibrate.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define CALIBRATE_TIME 32

/* "about 12 min" */
static const char *calibrate_time(double sec, char buf[CALIBRATE_TIME])
{
	if (sec < 90)
		snprintf(buf, CALIBRATE_TIME, "%.0f s", sec);
	else if (sec < 90 * 60)
		snprintf(buf, CALIBRATE_TIME, "%.0f min", sec / 60);
	else
		snprintf(buf, CALIBRATE_TIME, "%.1f h", sec / 3600);
	return buf;
}

static void say_sites(const struct np_cal_sites *s)
{
	fprintf(stderr, "leaf %s: ", *s->leaf ? s->leaf : "(no topology)");
	if (s->aggressor.n)
		fprintf(stderr, "levels on %s press on %s\n",
			s->aggressor.list, s->victim.list);
	else
		fprintf(stderr, "levels share the nodes %s, as there are "
			"fewer than four\n", s->victim.list);
	if (s->aggressor_across.n)
		fprintf(stderr, "uplink: a ring of %s presses on one of %s\n",
			s->aggressor_across.list, s->victim_across.list);
	else
		fprintf(stderr, "uplink: not measured, as there are too few "
			"nodes on a second leaf\n");
}

void calibrate_say_plan(const struct np_calibrate *c,
			const struct np_cal_sites *sites,
			const struct np_cal_estimate *e)
{
	const struct np_cal_setup *s = &c->setup;
	size_t chosen = s->keep < s->n_levels ? s->keep : s->n_levels;
	char t[CALIBRATE_TIME];

	say_sites(sites);
	fprintf(stderr, "levels:");
	for (size_t i = 0; i < s->n_levels; i++)
		fprintf(stderr, " %s", s->level[i].name);
	fprintf(stderr, "\n%zu of them beside each other, %u times, %g s "
		"each\n", chosen, s->repeats, s->seconds);
	fprintf(stderr, "%zu measurements, about %s", e->n,
		calibrate_time(e->sec, t));
	if (e->n_done)
		fprintf(stderr, "; %zu of them are done, about %s left",
			e->n_done, calibrate_time(e->left_sec, t));
	fputc('\n', stderr);
}

void calibrate_say_progress(const struct np_cal_progress *p)
{
	static int last = -1;
	unsigned percent = p->n ? (unsigned)(100 * p->n_done / p->n) : 100;
	char t[CALIBRATE_TIME];

	calibrate_time(p->left_sec, t);
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r%3u %%  %zu of %zu  about %s left  "
			"%.40s\033[K", percent, p->n_done, p->n, t,
			p->key ? p->key : "");
		if (!p->key)
			fputc('\n', stderr);
		fflush(stderr);
		return;
	}
	if ((int)percent / 10 == last)
		return;
	last = (int)percent / 10;
	fprintf(stderr, "%3u %%  %zu of %zu  about %s left\n", percent,
		p->n_done, p->n, t);
}

static void say_mean(const struct np_mean *m, double factor)
{
	if (!m->n)
		printf("%8s", "-");
	else
		printf("%8.*f", factor == 1 ? 2 : 1, factor * m->mean);
}

static void say_coupling(const struct np_calibrate *c)
{
	for (int i = 0; i < NP_N_SCOPES; i++) {
		enum np_scope scope = (enum np_scope)i;
		struct np_mean l = np_cal_loss(&c->setup, c->state, scope);
		struct np_mean k = np_cal_coupling(&c->setup, c->state,
						   c->scope, scope);

		printf("%-8s", np_scope_name(scope));
		say_mean(&l, 100);
		say_mean(&k, 1);
		if (k.n > 1)
			printf(" +- %.2f (%u times)", k.sd / sqrt(k.n), k.n);
		putchar('\n');
	}
}

void calibrate_say_result(const struct np_calibrate *c)
{
	const struct np_cal_setup *s = &c->setup;

	printf("slowdown in %% of each level (row) beside each (column), "
	       "scope %s:\n\n%-20s", np_scope_name(c->scope), "");
	for (size_t p = 0; p < c->n_chosen; p++)
		printf("%8.7s", s->level[c->chosen[p]].name);
	putchar('\n');
	for (size_t v = 0; v < c->n_chosen; v++) {
		printf("%-20.20s", s->level[c->chosen[v]].name);
		for (size_t p = 0; p < c->n_chosen; p++) {
			struct np_mean m = np_cal_matrix(s, c->state, c->scope,
							 c->chosen[v],
							 c->chosen[p]);

			say_mean(&m, 100);
		}
		putchar('\n');
	}
	printf("\nlevel %s beside level %s:\n%-8s%8s%8s\n",
	       s->level[np_cal_middle(s)].name,
	       s->level[np_cal_strongest(s)].name, "scope", "loss %",
	       "coupling");
	say_coupling(c);
}
