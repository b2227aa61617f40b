#include "t.h"
#include "np_tolerance.h"

#include <json-c/json.h>

#include "alloc.h"
#include "np_rng.h"
#include "np_tolerance_impl.h"
#include "some_goal.h"
#include "some_graph.h"
#include "some_lp.h"

static double number(json_object *j, const char *key)
{
	json_object *v = json_object_object_get(j, key);

	return v ? json_object_get_double(v) : 0;
}

static struct np_tolerance_opt options_of(json_object *c)
{
	json_object *S = json_object_object_get(c, "S");
	const char *bytes = json_object_get_string(
		json_object_object_get(c, "bytes_charged"));

	return (struct np_tolerance_opt){
		.net = {
			.L_ns = number(c, "L_base"),
			.o_ns = number(c, "o"), .G_ns = number(c, "G"),
			.S = S ? (uint64_t)json_object_get_int64(S) :
				 NP_LOGGPS_NO_RENDEZVOUS,
			.first_byte_free = bytes && !strcmp(bytes, "s-1"),
		},
		.x = NP_LOGGPS_L,
	};
}

static bool points_agree(struct np_tolerance *t, json_object *c)
{
	json_object *points = json_object_object_get(c, "points");
	size_t n = json_object_array_length(points);
	bool ok = n > 0;

	for (size_t i = 0; i < n; i++) {
		json_object *p = json_object_array_get_idx(points, i);
		double solver = number(p, "clp_reduced_cost"), ns;
		double L = number(p, "L");
		struct np_runtime r;

		np_tolerance_at(t, L, &r);
		np_tolerance_times(t, &L, 1, &ns);
		ok &= t_close(r.ns, number(p, "T"), 1e-12) &&
		      t_close(ns, number(p, "T"), 1e-12) &&
		      r.left == number(p, "lambda_left") &&
		      r.right == number(p, "lambda_right") &&
		      r.left <= solver && solver <= r.right;
	}
	return ok;
}

static bool limits_agree(struct np_tolerance *t, json_object *c)
{
	json_object *limits = json_object_object_get(c, "tolerance");
	bool ok = json_object_object_length(limits) == 3;

	json_object_object_foreach(limits, share, want)
		ok &= t_close(np_tolerance_limit(t, number(c, "L_base"),
						 atof(share)),
			      json_object_get_double(want), 1e-12);
	return ok;
}

static bool changes_agree(struct np_tolerance *t, json_object *c)
{
	json_object *in = json_object_object_get(c, "critical_interval");
	json_object *want = json_object_object_get(c, "critical");
	struct np_critical *got = NULL;
	size_t n = 0;
	bool ok = !np_tolerance_critical(
		t, json_object_get_double(json_object_array_get_idx(in, 0)),
		json_object_get_double(json_object_array_get_idx(in, 1)), &got,
		&n, NULL);

	ok &= n == json_object_array_length(want);
	for (size_t i = 0; ok && i < n; i++) {
		json_object *at = json_object_array_get_idx(want, i);

		ok &= t_close(got[i].x,
			      json_object_get_double(
				      json_object_array_get_idx(at, 0)),
			      1e-12) &&
		      got[i].slope == json_object_get_double(
					      json_object_array_get_idx(at, 1));
	}
	free(got);
	return ok;
}

T_TEST("reference solutions agree exactly")
{
	json_object *all = json_object_from_file(t_data("loggps/answers.json"));
	json_object *cases = json_object_object_get(all, "cases");
	size_t n = cases ? json_object_array_length(cases) : 0;

	T_CHECK(n == 8);
	for (size_t i = 0; i < n; i++) {
		json_object *c = json_object_array_get_idx(cases, i);
		struct np_tolerance_opt opt = options_of(c);
		struct np_tolerance *t = NULL;
		struct np_graph *g = NULL;
		char name[128];
		int rc;

		snprintf(name, sizeof(name), "loggps/%s",
			 json_object_get_string(
				 json_object_object_get(c, "file")));
		T_ROW(name, !some_goal_file(name, &g, NULL));
		rc = g ? np_tolerance_new(g, &opt, &t, NULL) : -1;
		if (json_object_object_get(c, "expect")) {
			T_ROW(name, rc == -EDEADLK);
		} else if (!rc) {
			T_ROW(name, points_agree(t, c));
			T_ROW(name, limits_agree(t, c));
			T_ROW(name, changes_agree(t, c));
		} else {
			T_ROW(name, false);
		}
		np_tolerance_free(t);
		np_graph_free(g);
	}
	json_object_put(all);
}

/* "T(500) = 1615; the largest L with T <= 2000 is 885" */
T_TEST("the running example of the source")
{
	const struct np_tolerance_opt opt = {
		.net = { .G_ns = 5,
			 .S = NP_LOGGPS_NO_RENDEZVOUS,
			 .first_byte_free = true },
	};
	struct np_tolerance *t;
	struct np_runtime r;
	struct np_graph *g;

	T_CHECK(!some_goal_file("loggps/paper_example.goal", &g, NULL));
	T_CHECK(!np_tolerance_new(g, &opt, &t, NULL));
	np_tolerance_at(t, 500, &r);
	T_CHECK(r.ns == 1615 && r.left == 1 && r.right == 1);
	T_CHECK(np_tolerance_limit(t, 0, 1) == 1885); /* of 3000 ns */
	T_CHECK(np_tolerance_limit(t, 0, 0) == 385);
	np_tolerance_free(t);
	np_graph_free(g);
}

T_TEST("a deadlock is reported with its cycle")
{
	struct np_cycle cycle;
	const struct np_tolerance_opt opt = {
		.net = { .S = 4096 },
		.cycle = &cycle,
	};
	struct np_err err = NP_ERR_INIT;
	struct np_tolerance *t;
	struct np_graph *g;

	T_CHECK(!some_goal_file("loggps/deadlock_if_rendezvous.goal", &g,
				NULL));
	T_CHECK(np_tolerance_new(g, &opt, &t, &err) == -EDEADLK);
	T_CHECK(cycle.n == 4);
	for (size_t i = 0; i < cycle.n; i++)
		for (size_t j = 0; j < i; j++)
			T_CHECK(cycle.node[i] != cycle.node[j]);
	T_CHECK(!!strstr(err.text, "4 operations wait for each other in a "
				   "circle, one of them loggps/deadlock"));
	np_graph_free(g);
}

T_TEST("a deadlock is found where no send waits for its receiver, too")
{
	static const char text[] =
		"num_ranks 2\n"
		"rank 0 { l1: recv 8b from 1 l2: send 8b to 1 l2 requires l1 }\n"
		"rank 1 { l1: recv 8b from 0 l2: send 8b to 0 l2 requires l1 }";
	struct np_cycle cycle;
	const struct np_tolerance_opt opt = {
		.net = { .S = NP_LOGGPS_NO_RENDEZVOUS },
		.cycle = &cycle,
	};
	struct np_tolerance *t;
	struct np_graph *g;

	T_CHECK(!some_goal(text, strlen(text), &g, NULL));
	T_CHECK(np_tolerance_new(g, &opt, &t, NULL) == -EDEADLK);
	T_CHECK(cycle.n == 4 && cycle.node[0] == 0);
	np_graph_free(g);
}

static const struct {
	const char *name;
	enum np_loggps_param x;
	struct np_loggps net;
} nets[] = {
	{ "latency", NP_LOGGPS_L, { 700, 50, 0.5, 800, false } },
	{ "latency, nothing else costs",
	  NP_LOGGPS_L,
	  { 0, 0, 0, NP_LOGGPS_NO_RENDEZVOUS, true } },
	{ "overhead", NP_LOGGPS_o, { 700, 50, 0.5, 800, true } },
	{ "time per byte",
	  NP_LOGGPS_G,
	  { 700, 50, 0.5, NP_LOGGPS_NO_RENDEZVOUS, true } },
	{ "time per byte, all wait for their receivers",
	  NP_LOGGPS_G,
	  { 700, 50, 0.5, 0, false } },
	{ "latency, processors copy",
	  NP_LOGGPS_L,
	  { 700, 50, 0.5, 800, false, .O_ns = 0.4 } },
	{ "overhead, processors copy",
	  NP_LOGGPS_o,
	  { 700, 50, 0.5, NP_LOGGPS_NO_RENDEZVOUS, true, .O_ns = 0.5 } },
	{ "time per byte, processors copy",
	  NP_LOGGPS_G,
	  { 700, 50, 0.5, 800, true, .O_ns = 0.2 } },
};

/*
 * L = 1000, o = 100 and G = 1 for each byte but the first: a message of 101
 * bytes arrives after 1200 ns and ends 100 ns later. It is copied in 50 ns.
 */
#define ONE_MESSAGE(calc) \
	"num_ranks 2\n" \
	"rank 0 { l1: send 101b to 1 l2: calc 10 l2 requires l1 }\n" \
	"rank 1 { l1: calc " calc " l2: recv 101b from 0 l2 requires l1 }"
#define THREE_MESSAGES \
	"num_ranks 2\nrank 0 { l1: send 101b to 1\n" \
	"l2: send 101b to 1 l3: send 101b to 1\n" \
	"l2 requires l1 l3 requires l2 }\n" \
	"rank 1 { recv 101b from 0 recv 101b from 0 recv 101b from 0 }"
#define NEVER NP_LOGGPS_NO_RENDEZVOUS

static const struct {
	const char *name, *text;
	uint64_t S;
	bool one_cpu, overlap;
	double O, want;
} copied[] = {
	{ "bytes that are copied as they arrive take no longer",
	  ONE_MESSAGE("0"), NEVER, false, false, 0.5, 1300 },
	{ "a message that waited is copied", ONE_MESSAGE("5000"), NEVER, false,
	  false, 0.5, 5150 },
	{ "so is one whose receive is posted before its last byte is there",
	  ONE_MESSAGE("1160"), NEVER, false, false, 0.5, 1310 },
	{ "with rendezvous nothing is copied", ONE_MESSAGE("5000"), 100, false,
	  false, 0.5, 5110 },
	{ "a sender goes on when it has copied", THREE_MESSAGES, NEVER, false,
	  false, 0.5, 2 * 150 + 1300 },
	{ "without copies, after its overhead", THREE_MESSAGES, NEVER, false,
	  false, 0, 2 * 100 + 1300 },
	{ "one operation at a time: 200 ns for each message", THREE_MESSAGES,
	  NEVER, true, false, 0.5, 1100 + 3 * 200 },
	{ "or 150 ns, while its bytes arrive", THREE_MESSAGES, NEVER, true,
	  true, 0.5, 2 * 150 + 1300 },
	{ "one operation at a time: the message waits for the processor",
	  ONE_MESSAGE("5000"), NEVER, true, false, 0.5, 5200 },
};

T_TEST("the overhead per byte counts where a processor copies")
{
	T_EACH(row, copied) {
		const struct np_tolerance_opt opt = {
			.net = { 1000, 100, 1, row->S, true, .O_ns = row->O },
			.one_cpu = row->one_cpu,
			.overlap = row->overlap,
		};
		const char *text = row->text;
		struct np_tolerance *t = NULL;
		struct np_runtime r = { 0 };
		struct np_graph *g = NULL;
		double ns = 0;

		if (!some_goal(text, strlen(text), &g, NULL) &&
		    !np_tolerance_new(g, &opt, &t, NULL)) {
			np_tolerance_at(t, 1000, &r);
			np_tolerance_simulate(g, &opt, NULL, &ns, NULL);
		}
		T_ROW(row->name, r.ns == row->want);
		T_ROW(row->name, ns == row->want);
		np_tolerance_free(t);
		np_graph_free(g);
	}
}

/* Tests graphs of several sizes until enough of them were free of deadlocks. */
static size_t each_graph(size_t net,
			 bool (*agree)(const struct np_graph *g,
				       const struct np_tolerance_opt *opt,
				       struct np_tolerance *t, double x))
{
	const struct np_tolerance_opt opt = { .net = nets[net].net,
					      .x = nets[net].x };
	double unit = nets[net].x == NP_LOGGPS_G ? 0.25 : 300;
	size_t n = 0, bad = 0;

	for (uint64_t seed = 0; n < 40 && seed < 4000; seed++) {
		uint32_t ops = 4 + (uint32_t)(seed % 60);
		struct np_graph *g = some_graph(seed, 1 + seed % 5, ops);
		struct np_tolerance *t;
		int rc = np_tolerance_new(g, &opt, &t, NULL);

		if (!rc) {
			n++;
			bad += !agree(g, &opt, t, unit * (double)(seed % 12));
			np_tolerance_free(t);
		} else if (rc != -EDEADLK) {
			bad++;
		}
		np_graph_free(g);
	}
	return n < 40 || bad;
}

static bool as_solver(const struct np_graph *g,
		      const struct np_tolerance_opt *opt,
		      struct np_tolerance *t, double x)
{
	double ns, slope, tie;
	struct np_runtime r;

	some_lp(g, opt, x, &ns, &slope);
	np_tolerance_at(t, x, &r);
	tie = 1e-6 * (1 + r.right);
	/* Left of 0 the solver may return any flatter slope. */
	return t_close(r.ns, ns, 1e-9) && slope <= r.right + tie &&
	       (x == 0 || r.left - tie <= slope);
}

T_TEST("random graphs agree with a linear programming solver")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(nets); i++)
		T_ROW(nets[i].name, !each_graph(i, as_solver));
}

/*
 * Of the times at three x, the middle one is below the line through the others.
 */
static bool is_convex(const struct np_graph *g,
		      const struct np_tolerance_opt *opt,
		      struct np_tolerance *t, double x)
{
	struct np_runtime a, b, c;
	double x3[3] = { x, 1.7 * x + 1, 5 * x + 20 }, ns[3];
	double on_line;

	(void)g, (void)opt;
	np_tolerance_at(t, x3[0], &a);
	np_tolerance_at(t, x3[1], &b);
	np_tolerance_at(t, x3[2], &c);
	np_tolerance_times(t, x3, 3, ns);
	on_line = a.ns + (c.ns - a.ns) * (x3[1] - x3[0]) / (x3[2] - x3[0]);
	return a.ns <= b.ns && b.ns <= c.ns && b.ns <= on_line * (1 + 1e-12) &&
	       a.left <= a.right && a.right <= b.left && b.right <= c.left &&
	       c.ns >= b.ns + b.right * (x3[2] - x3[1]) - 1e-12 * c.ns &&
	       t_close(ns[0], a.ns, 1e-12) && t_close(ns[1], b.ns, 1e-12) &&
	       t_close(ns[2], c.ns, 1e-12);
}

T_TEST("run time is convex and does not fall")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(nets); i++)
		T_ROW(nets[i].name, !each_graph(i, is_convex));
}

/* At the limit T is as long as allowed, and it is longer to its right. */
static bool is_limit(const struct np_graph *g,
		     const struct np_tolerance_opt *opt, struct np_tolerance *t,
		     double x)
{
	struct np_runtime base, first, at, more;

	(void)g, (void)opt;
	np_tolerance_at(t, x, &base);
	np_tolerance_at(t, 0, &first);
	for (double share = 0; share < 3; share += 0.3) {
		double limit = np_tolerance_limit(t, x, share);
		double ns = (1 + share) * base.ns;

		if (limit == INFINITY) {
			np_tolerance_at(t, 1e12, &more);
			if (more.right != 0 || more.ns != base.ns)
				return false;
			continue;
		}
		np_tolerance_at(t, limit, &at);
		np_tolerance_at(t, limit * (1 + 1e-6) + 1e-6, &more);
		if (limit < x * (1 - 1e-12) || !t_close(at.ns, ns, 1e-12) ||
		    more.ns <= ns)
			return false;
		if (first.ns > 0 &&
		    fabs(np_tolerance_limit(t, 0, ns / first.ns - 1) - limit) >
			    1e-9 * (1 + limit))
			return false;
	}
	return true;
}

T_TEST("a limit is the largest value within the run time")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(nets); i++)
		T_ROW(nets[i].name, !each_graph(i, is_limit));
}

/* Between two changes T is linear, and each change changes the slope. */
static bool are_changes(const struct np_graph *g,
			const struct np_tolerance_opt *opt,
			struct np_tolerance *t, double x)
{
	double low = x, high = 40 * x + 100, slope;
	struct np_critical *c = NULL;
	struct np_runtime r;
	size_t n;
	bool ok = !np_tolerance_critical(t, low, high, &c, &n, NULL);

	(void)g, (void)opt;
	np_tolerance_at(t, low, &r);
	slope = r.right;
	for (size_t i = 0; ok && i <= n; i++) {
		double to = i < n ? c[i].x : high;
		struct np_runtime mid;

		np_tolerance_at(t, (low + to) / 2, &mid);
		ok &= low < to && mid.left == slope && mid.right == slope;
		if (i < n) {
			np_tolerance_at(t, to, &r);
			ok &= c[i].slope > slope && to > x && to < high;
			slope = c[i].slope;
			low = to;
		}
	}
	np_tolerance_at(t, high, &r);
	ok &= r.left == slope;
	free(c);
	return ok;
}

T_TEST("every change of the critical path is found")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(nets); i++)
		T_ROW(nets[i].name, !each_graph(i, are_changes));
}

#define MAX_VERTICES 40
#define MAX_ROW 5

/* A compact graph, by vertex. */
struct rows {
	size_t n;
	struct np_edge edge[MAX_VERTICES][MAX_ROW];
	size_t edges[MAX_VERTICES];
};

/* Few lengths and slopes, so that many paths are equal in one or both. */
static void make_rows(struct rows *r, struct np_rng *rng)
{
	r->n = 2 + np_rng_below(rng, MAX_VERTICES - 1);
	r->edges[0] = 0;
	for (size_t v = 1; v < r->n; v++) {
		r->edges[v] = 1 + np_rng_below(rng, MAX_ROW);
		for (size_t i = 0; i < r->edges[v]; i++)
			r->edge[v][i] = (struct np_edge){
				.a = 0.1 * (double)np_rng_below(rng, 4),
				.from = (uint32_t)np_rng_below(rng, v),
				.b = (int32_t)np_rng_below(rng, 3),
			};
	}
}

/* The steepest path, and of several the longest at x = 0. */
static struct np_point far_of(const struct rows *r)
{
	struct np_point far[MAX_VERTICES] = { { 0, 0 } };

	for (size_t v = 1; v < r->n; v++) {
		far[v] = (struct np_point){ -1, -1 };
		for (size_t i = 0; i < r->edges[v]; i++) {
			const struct np_edge *e = &r->edge[v][i];
			struct np_point p = { far[e->from].t + e->a,
					      far[e->from].s + e->b };

			if (p.s > far[v].s ||
			    (p.s == far[v].s && p.t > far[v].t))
				far[v] = p;
		}
	}
	return far[r->n - 1];
}

/* Another order in which no edge leads backwards; the last vertex stays last. */
static void find_order(const struct rows *r, struct np_rng *rng, size_t *order)
{
	bool placed[MAX_VERTICES] = { true };

	order[0] = 0;
	for (size_t k = 1; k < r->n; k++) {
		bool ready;
		size_t v;

		do {
			v = k < r->n - 1 ? 1 + np_rng_below(rng, r->n - 2) :
					   r->n - 1;
			ready = !placed[v];
			for (size_t i = 0; i < r->edges[v]; i++)
				ready &= placed[r->edge[v][i].from];
		} while (!ready);
		placed[v] = true;
		order[k] = v;
	}
}

/* The far end in this order of vertices, with the edges of each reversed. */
static struct np_point far_in_order(const struct rows *r, const size_t *order)
{
	struct np_chain c = { .n = 1 };
	struct np_compact *l = &c.link[0];
	struct np_workspace *room;
	uint32_t place[MAX_VERTICES], n = 0;
	struct np_point far;

	T_CHECK(!np_compact_reserve(l, r->n, r->n * MAX_ROW));
	for (size_t k = 0; k < r->n; k++) {
		size_t v = order[k];

		place[v] = (uint32_t)k;
		l->first[k] = n;
		for (size_t i = r->edges[v]; i--; n++) {
			l->edge[n] = r->edge[v][i];
			l->edge[n].from = place[l->edge[n].from];
		}
	}
	l->n = r->n;
	l->first[l->n] = n;
	room = np_workspace_new(&c);
	T_CHECK(!!room);
	far = np_pass(&c, &(struct np_pass){ .which = NP_ASYMPTOTE }, room);
	np_workspace_free(room);
	np_chain_free(&c);
	return far;
}

T_TEST("the steepest path is the longest of those, in any order of vertices")
{
	struct np_rng *rng = np_rng_new(1, "far");

	for (int i = 0; i < 300; i++) {
		size_t order[MAX_VERTICES];
		struct rows r;
		struct np_point want, got;

		make_rows(&r, rng);
		want = far_of(&r);
		find_order(&r, rng, order);
		got = far_in_order(&r, order);
		T_CHECK(got.s == want.s && got.t == want.t);
	}
	np_rng_free(rng);
}

/* The same program with its ranks added in the opposite order. */
static struct np_graph *backwards(const struct np_graph *g)
{
	struct np_graph *out;
	uint32_t y;

	if (np_graph_new("backwards", np_graph_ranks(g), &out, NULL))
		abort();
	for (uint32_t r = np_graph_ranks(g); r--;) {
		if (np_graph_rank(out, r, NULL, NULL))
			abort();
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++) {
			enum np_dep_kind kind;
			struct np_graph_op op;

			np_graph_op(g, r, i, &op);
			if (np_graph_add(out, &op, NULL, NULL))
				abort();
			for (size_t d = 0; np_graph_dep(g, r, i, d, &y, &kind);
			     d++)
				if (np_graph_depend(out, i, y, kind, NULL))
					abort();
		}
	}
	if (np_graph_finish(out, NULL))
		abort();
	return out;
}

static bool are_same(struct np_tolerance *t, struct np_tolerance *u)
{
	struct np_critical *c, *d;
	bool same = true;
	size_t n, m;

	for (double x = 0; x < 1e6; x = 3 * x + 0.25) {
		struct np_runtime a, b;

		np_tolerance_at(t, x, &a);
		np_tolerance_at(u, x, &b);
		same &= !memcmp(&a, &b, sizeof(a));
	}
	for (double share = 0; share < 3; share += 0.3) {
		double a = np_tolerance_limit(t, 100, share);
		double b = np_tolerance_limit(u, 100, share);

		same &= !memcmp(&a, &b, sizeof(a));
	}
	if (np_tolerance_critical(t, 0, 1e5, &c, &n, NULL) ||
	    np_tolerance_critical(u, 0, 1e5, &d, &m, NULL))
		abort();
	same &= n == m && (!n || !memcmp(c, d, n * sizeof(*c)));
	free(c);
	free(d);
	return same;
}

static bool is_same_backwards(const struct np_graph *g,
			      const struct np_tolerance_opt *opt,
			      struct np_tolerance *t, double x)
{
	struct np_graph *other = backwards(g);
	struct np_tolerance *u;
	bool same = !np_tolerance_new(other, opt, &u, NULL) && are_same(t, u);

	(void)x;
	np_tolerance_free(u);
	np_graph_free(other);
	return same;
}

T_TEST("in any order of ranks: the same to the last bit")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(nets); i++)
		T_ROW(nets[i].name, !each_graph(i, is_same_backwards));
}

/* 2^33 bytes, and more in one chain than an edge of the graph can hold. */
struct answers {
	double ns[23];
	struct np_critical *c;
	size_t n;
};

/* With this many threads, or fewer if memory is short. */
static struct answers answers(const struct np_graph *g, unsigned threads,
			      bool no_memory)
{
	const struct np_tolerance_opt opt = {
		.net = { 700, 50, 0.5, NP_LOGGPS_NO_RENDEZVOUS, false },
		.x = NP_LOGGPS_L,
		.threads = threads,
	};
	struct np_tolerance *t = NULL;
	struct answers a = { .n = 0 };
	double x[23];

	for (size_t i = 0; i < 23; i++)
		x[i] = 100.0 * (double)i * (double)i;
	T_CHECK(!np_tolerance_new(g, &opt, &t, NULL));
	if (no_memory)
		t_alloc_fail(0);
	np_tolerance_times(t, x, 23, a.ns);
	T_CHECK(!no_memory || t_alloc_failed());
	T_CHECK(!np_tolerance_critical(t, 0, 1e6, &a.c, &a.n, NULL));
	np_tolerance_free(t);
	return a;
}

T_TEST("by one thread or by several: the same to the last bit")
{
	size_t n = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct np_graph *g = some_graph(seed, 5, 400);
		struct answers one = answers(g, 1, false);
		struct answers four = answers(g, 4, seed % 2);

		T_CHECK(!memcmp(one.ns, four.ns, sizeof(one.ns)));
		T_CHECK(one.n == four.n &&
			(!one.n ||
			 !memcmp(one.c, four.c, one.n * sizeof(*one.c))));
		n += one.n;
		free(one.c);
		free(four.c);
		np_graph_free(g);
	}
	T_CHECK(n > 40);
}

T_TEST("by registers of two or of four numbers: the same to the last bit")
{
	const double x[NP_PASS_TIMES] = { 0, 100.3, 700, 1e6 / 7 };
	const struct np_tolerance_opt opt = { .net = nets[0].net };
	size_t n = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct np_graph *g = some_graph(seed, 4, 60);
		struct np_tolerance *t;
		double four[NP_PASS_TIMES];
		const double *two;

		if (!np_tolerance_new(g, &opt, &t, NULL)) {
			const struct np_compact *c = &t->c.link[0];

			T_CHECK(t->c.n == 1);
			np_pass_times(&t->c, x, t->room[0], four);
			np_pass_pairs(c, x, t->room[0]->at);
			two = (const double *)(t->room[0]->at + 2 * (c->n - 1));
			T_CHECK(!memcmp(two, four, sizeof(four)));
			np_tolerance_free(t);
			n++;
		}
		np_graph_free(g);
	}
	T_CHECK(n > 10);
}

T_TEST("messages of more than 4 GiB")
{
	static const char text[] =
		"num_ranks 2\n"
		"rank 0 { a: send 8589934592b to 1 b: send 8589934592b to 1\n"
		"b requires a c: recv 4294967295b from 1 tag 1 }\n"
		"rank 1 { a: recv 8589934592b from 0 b: recv 8b from 0\n"
		"c: send 4294967295b to 0 tag 1 c requires b }\n";
	const struct np_tolerance_opt opt = {
		.net = { .L_ns = 1000, .S = NP_LOGGPS_NO_RENDEZVOUS },
		.x = NP_LOGGPS_G,
	};
	struct np_tolerance *t;
	struct np_runtime r;
	struct np_graph *g;

	T_CHECK(!some_goal(text, sizeof(text) - 1, &g, NULL));
	T_CHECK(!np_tolerance_new(g, &opt, &t, NULL));
	np_tolerance_at(t, 0.25, &r);
	T_CHECK(r.right == 8589934592. + 4294967295.);
	T_CHECK(r.ns == 2000 + 0.25 * r.right);
	np_tolerance_free(t);
	np_graph_free(g);
}

T_TEST("impossible parameters are rejected")
{
	static const struct {
		const char *name;
		struct np_loggps net;
	} bad[] = {
		{ "negative latency", { .L_ns = -1 } },
		{ "no number", { .o_ns = NAN } },
		{ "infinite", { .G_ns = INFINITY } },
		{ "more than anything takes", { .L_ns = 1e16 } },
		{ "negative overhead per byte", { .O_ns = -1 } },
	};
	struct np_graph *g = some_graph(1, 2, 9);

	T_EACH(r, bad) {
		const struct np_tolerance_opt opt = { .net = r->net };
		struct np_err err = NP_ERR_INIT;
		struct np_tolerance *t;

		T_ROW(r->name, np_tolerance_new(g, &opt, &t, &err) == -EINVAL &&
				       strstr(err.text, "expected 0"));
	}
	np_graph_free(g);
}
