#include "t.h"
#include "np_calibrate.h"

#define MAX_NODES 24

/* "leaf/node" words; what each role gets. */
static const struct {
	const char *name, *nodes, *leaf, *victim, *aggressor, *across;
	int rc;
} places[] = {
	{ "four nodes of a leaf are halved", "l/a l/b l/c l/d", "l", "a,b",
	  "c,d", "-", 0 },
	{ "of five, one has no part", "l/a l/b l/c l/d l/e", "l", "a,b", "c,d",
	  "-", 0 },
	{ "three share their nodes", "l/a l/b l/c", "l", "a,b,c", "-", "-", 0 },
	{ "the largest leaf is calibrated", "l/a m/b m/c m/d m/e", "m", "b,c",
	  "d,e", "-", 0 },
	{ "no topology is one leaf", "/a /b", "", "a,b", "-", "-", 0 },
	{ "rings across two leaves share no node", "l/a l/b l/c l/d m/e m/f",
	  "l", "a,b", "c,d", "a,e c,f", 0 },
	{ "and are as large as the halves",
	  "l/a l/b l/c l/d l/e l/f l/g l/h m/i m/j m/k m/l", "l", "a,b,c,d",
	  "e,f,g,h", "a,b,i,j e,f,k,l", 0 },
	{ "no two nodes on one leaf", "l/a m/b", NULL, NULL, NULL, NULL, -19 },
	{ "no nodes", "", NULL, NULL, NULL, NULL, -19 },
};

static const char *list(const struct np_cal_hosts *h)
{
	return h->n ? h->list : "-";
}

static void check_roles(size_t i, const struct np_cal_roles *s)
{
	char across[128];

	snprintf(across, sizeof(across), "%s%s%s", list(&s->victim_across),
		 s->aggressor_across.n ? " " : "",
		 s->aggressor_across.n ? s->aggressor_across.list : "");
	T_ROW(places[i].name, !strcmp(s->leaf, places[i].leaf));
	T_ROW(places[i].name, !strcmp(list(&s->victim), places[i].victim));
	T_ROW(places[i].name,
	      !strcmp(list(&s->aggressor), places[i].aggressor));
	T_ROW(places[i].name, !strcmp(across, places[i].across));
	T_ROW(places[i].name, !!np_cal_roles_aggressor(s, NP_SCOPE_LEAF)->n ==
				      (places[i].aggressor[0] != '-'));
	T_ROW(places[i].name, !!np_cal_roles_aggressor(s, NP_SCOPE_UPLINK)->n ==
				      (places[i].across[0] != '-'));
}

T_TEST("nodes are dealt to those that slow and those that are slowed")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(places); i++) {
		char text[256], *save = NULL;
		struct np_cal_node node[MAX_NODES];
		struct np_cal_roles s;
		size_t n = 0;
		int rc;

		strcpy(text, places[i].nodes);
		for (char *w = strtok_r(text, " ", &save); w;
		     w = strtok_r(NULL, " ", &save)) {
			char *slash = strchr(w, '/');

			*slash = '\0';
			node[n++] = (struct np_cal_node){ slash + 1, w };
		}
		rc = np_cal_roles_make(node, n, &s, NULL);
		T_ROW(places[i].name, rc == places[i].rc);
		if (rc)
			continue;
		check_roles(i, &s);
		np_cal_roles_free(&s);
	}
}

static const struct {
	const char *name, *text;
	size_t nodes, n;
	const char *first, *last;
} lists[] = {
	{ "eight by default, by their load", "default", 4, 8, "c0", "c7" },
	{ "the 40 of the source", "all", 18, 40, "P1:M1:B9.6154ms",
	  "P17:M10:B9.615us" },
	{ "clipped to the nodes there are, without twins", "all", 5, 16,
	  "P1:M1:B9.6154ms", "P4:M10:B9.615us" },
	{ "and on two nodes", "all", 2, 8, "P1:M1:B9.6154ms",
	  "P1:M10:B9.615us" },
	{ "names, sorted by their load", "c7,c0,c3", 4, 3, "c0", "c7" },
	{ "a level given twice counts once", "c3,c0,c3", 4, 2, "c0", "c3" },
	{ "one is not enough", "c3", 4, 0, NULL, NULL },
	{ "twins are one", "P3:M1:B1ms,P5:M1:B1ms", 4, 0, NULL, NULL },
	{ "unknown", "c0,c99", 4, 0, NULL, NULL },
	{ "nothing", "", 4, 0, NULL, NULL },
	{ "an empty name", "c0,,c1", 4, 0, NULL, NULL },
};

T_TEST("levels that are the same on so few nodes are measured once")
{
	T_EACH(r, lists) {
		struct np_level level[NP_CAL_MAX_LEVELS];
		struct np_err err = NP_ERR_INIT;
		size_t n = 0;
		int rc =
			np_cal_levels_parse(r->text, r->nodes, level, &n, &err);

		T_ROW(r->name, n == r->n && !rc == (n > 0));
		if (rc)
			T_ROW(r->name, err.text[0]);
		else
			T_ROW(r->name,
			      !strcmp(level[0].name, r->first) &&
				      !strcmp(level[n - 1].name, r->last));
		for (size_t k = 0; k < n && !strcmp(r->text, "default"); k++)
			T_ROW(r->name,
			      !strcmp(level[k].name, np_levels[k].name));
	}
}

/* Slowdowns, and the indices that are chosen. */
static const struct {
	const char *name;
	double slowdown[8];
	size_t n, keep;
	const char *chosen;
} choices[] = {
	{ "all, if they are no more", { 1, 2, 3 }, 3, 8, "012" },
	{ "mildest and strongest", { 1, 0, 2, 9 }, 4, 2, "13" },
	{ "evenly over the logarithm",
	  { 0, 0.01, 0.02, 1, 3, 7, 15, 16 },
	  8,
	  5,
	  "03457" },
	{ "equal ones are no harm", { 1, 1, 1, 1 }, 4, 3, "012" },
	{ "what is not known comes last", { NAN, 0.1, 3, NAN }, 4, 3, "012" },
	{ "nothing known", { NAN, NAN, NAN }, 3, 2, "01" },
	{ "a level that speeds up is the mildest", { 0, -0.2, 4 }, 3, 2, "12" },
};

T_TEST("levels are spread over their impacts")
{
	T_EACH(r, choices) {
		size_t chosen[8], n;
		char got[16] = "";

		n = np_cal_select_levels(r->slowdown, r->n, r->keep, chosen);
		for (size_t k = 0; k < n; k++)
			got[k] = (char)('0' + chosen[k]);
		T_ROW(r->name, !strcmp(got, r->chosen));
	}
}

static struct np_cal_setup setup(const char *levels, size_t keep)
{
	struct np_cal_setup s = {
		.keep = keep,
		.repeats = 2,
		.seconds = 3,
		.probe_seconds = 15,
		.has = { true, true, true },
	};

	T_CHECK(!np_cal_levels_parse(levels, 4, s.level, &s.n_levels, NULL));
	return s;
}

#define MAX_TASKS 64

/* List all measurements of a stage. */
static size_t list_tasks(const struct np_cal_setup *s, enum np_cal_stage stage,
			 const size_t *chosen, size_t n_chosen,
			 struct np_cal_task t[MAX_TASKS])
{
	struct np_calibrate c = { .setup = *s,
				  .scope = NP_SCOPE_LEAF,
				  .n_selected = n_chosen };
	size_t n = 0;

	memcpy(c.selected, chosen, n_chosen * sizeof(*chosen));
	while (n < MAX_TASKS && np_cal_task_at(&c, stage, s->repeats, n, &t[n]))
		n++;
	return n;
}

static size_t plan_size(const struct np_cal_setup *s, enum np_cal_stage stage,
			double *sec)
{
	static const size_t chosen[] = { 0, 2, 4, 7 };
	struct np_cal_task t[MAX_TASKS];
	size_t n = list_tasks(s, stage, chosen, s->keep < 4 ? s->keep : 4, t);

	*sec = 0;
	for (size_t i = 0; i < n; i++) {
		char a[NP_CAL_KEY], b[NP_CAL_KEY];

		*sec += np_cal_cost_sec(s, &t[i], i ? &t[i - 1] : NULL);
		np_cal_key(s, &t[i], a);
		for (size_t k = 0; k < i; k++) {
			np_cal_key(s, &t[k], b);
			T_ROW(a, strcmp(a, b));
		}
	}
	return n;
}

T_TEST("a plan has every measurement once, and says how long it takes")
{
	struct np_cal_setup s = setup("default", 4);
	double sec, longer;

	/* idle; three scopes, as often as repeats says */
	T_CHECK(plan_size(&s, NP_CAL_FIRST, &sec) == 1 + 3 * 2);
	T_CHECK(sec > 15 + 6 * 4.5 && sec < 2 * (15 + 6 * 4.5));
	/* probes under each, and a middle level under each to choose */
	T_CHECK(plan_size(&s, NP_CAL_SECOND, &sec) == 8 + 8);
	T_CHECK(plan_size(&s, NP_CAL_THIRD, &sec) == 2 * 4 * 4);
	s.keep = 8; /* nothing to choose */
	T_CHECK(plan_size(&s, NP_CAL_SECOND, &longer) == 8);
	s.has[NP_SCOPE_LEAF] = s.has[NP_SCOPE_UPLINK] = false;
	T_CHECK(plan_size(&s, NP_CAL_FIRST, &sec) == 1 + 2);
	s.seconds = 6;
	T_CHECK(plan_size(&s, NP_CAL_FIRST, &longer) == 3 && longer > sec);
}

/* A victim is started once for a whole row. */
T_TEST("steps are started no more often than needed")
{
	struct np_cal_setup s = setup("c0,c3,c7", 3);
	static const size_t chosen[] = { 0, 1, 2 };
	struct np_cal_task t[MAX_TASKS];
	size_t n = list_tasks(&s, NP_CAL_THIRD, chosen, 3, t), starts = 0;

	for (size_t i = 0; i < n; i++)
		starts += !i || !np_cal_same_base(&t[i], &t[i - 1]);
	T_CHECK(n == 18 && starts == 6);
	T_CHECK(t[0].repeat == 0 && t[n - 1].repeat == 1);
	T_CHECK(np_cal_middle(&s) == 1 && np_cal_strongest(&s) == 2);
	s.n_levels = 2; /* a victim that is not the strongest itself */
	T_CHECK(np_cal_middle(&s) == 0 && np_cal_strongest(&s) == 1);
}
