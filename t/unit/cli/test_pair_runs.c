/* Which nodes netprof validate uses. */
#include "t.h"
#include "cli_pair_runs.h"

static void make_list(struct cli_program_list *l, const char *text)
{
	T_CHECK(!cli_program_list_parse(text, strlen(text), "t", l, NULL));
}

#define MAX_NODES 24

static const struct {
	const char *name, *nodes, *victim, *corunner, *apart;
	uint32_t want; /* nodes of the program */
	int rc;
} places[] = {
	{ "two halves of a leaf, as calibrate has them", "l/a l/b l/c l/d",
	  "a,b", "c,d", "-", 2, 0 },
	{ "the control has its place under the other leaf",
	  "l/a l/b l/c l/d m/e m/f m/g m/h", "a,b", "c,d", "g,h", 2, 0 },
	{ "or all of it, if that is small", "l/a l/b l/c l/d m/e m/f", "a,b",
	  "c,d", "e,f", 2, 0 },
	{ "too few nodes there: no control", "l/a l/b l/c l/d m/e", "a,b",
	  "c,d", "-", 2, 0 },
	{ "a program that does not fit into half a leaf", "l/a l/b l/c l/d",
	  NULL, NULL, NULL, 3, -ENODEV },
	{ "a leaf of two has no halves", "l/a l/b", NULL, NULL, NULL, 1,
	  -ENODEV },
};

static const char *list_of(const char *nodes)
{
	return nodes ? nodes : "-";
}

T_TEST("victims, co-runners and controls have their places")
{
	T_EACH(r, places) {
		char text[256], *save = NULL;
		struct np_cal_node node[MAX_NODES];
		struct np_pairs s = { .n_runs = 0 };
		struct cli_program_list l;
		struct np_err err;
		size_t n = 0;

		make_list(&l, t_text("program p\nnodes %u\n"
				     "run x\n",
				     r->want));
		snprintf(text, sizeof(text), "%s", r->nodes);
		for (char *w = strtok_r(text, " ", &save); w;
		     w = strtok_r(NULL, " ", &save)) {
			char *slash = strchr(w, '/');

			*slash = '\0';
			node[n++] = (struct np_cal_node){ slash + 1, w };
		}
		T_ROW(r->name, cli_pair_place_assign(node, n, &l, &s.place,
						     &err) == r->rc);
		if (!r->rc) {
			T_ROW(r->name, !strcmp(list_of(s.place.victim_nodes),
					       r->victim));
			T_ROW(r->name, !strcmp(list_of(s.place.corunner_nodes),
					       r->corunner));
			T_ROW(r->name,
			      !strcmp(list_of(s.place.apart_nodes), r->apart));
		}
		np_pairs_free(&s);
		cli_program_list_free(&l);
	}
}

T_TEST("a program takes the first nodes of its role")
{
	static const char *const want[] = { "", "n0", "n0,n1", "n0,n1,n2",
					    "n0,n1,n2" };

	for (size_t i = 0; i < NP_ARRAY_SIZE(want); i++) {
		char *got = cli_first_hosts("n0,n1,n2", i);

		T_CHECK(!strcmp(got, want[i]));
		free(got);
	}
}

static const struct {
	const char *name, *apart, *want;
} resumed[] = {
	{ "nodes of controls in this allocation", "n6,n7", "n6,n7" },
	{ "those of an earlier one", NULL, "n8,n9" },
};

T_TEST("the nodes of earlier controls stay in the results")
{
	T_EACH(r, resumed) {
		const struct np_pairs_place here = {
			.leaf = strdup("leaf0"),
			.transport = strdup("tcp"),
			.victim_nodes = strdup("n0,n1"),
			.corunner_nodes = strdup("n2,n3"),
			.apart_nodes = r->apart ? strdup(r->apart) : NULL,
		};
		struct np_pairs done = {
			.place = { .leaf = strdup("leaf0"),
				   .victim_nodes = strdup("n4,n5"),
				   .apart_nodes = strdup("n8,n9") },
		};

		cli_pair_place_replace(&done, &here);
		T_ROW(r->name,
		      !strcmp(done.place.victim_nodes, "n0,n1") &&
			      !strcmp(done.place.corunner_nodes, "n2,n3") &&
			      !strcmp(done.place.transport, "tcp"));
		T_ROW(r->name,
		      done.place.apart_nodes &&
			      !strcmp(done.place.apart_nodes, r->want));
		np_pairs_free(&done);
	}
}

static const struct {
	const char *name, *cluster, *leaf;
	int rc;
} continued[] = {
	{ "the same leaf switch", "np", "leaf0", 0 },
	{ "another one", "np", "leaf1", -EEXIST },
	{ "one of that name on another cluster", "other", "leaf0", -EEXIST },
	{ "results that name no cluster", NULL, "leaf0", 0 },
};

T_TEST("results are continued on the leaf switch where they began")
{
	const struct np_pairs_place here = {
		.cluster = (char *)"np",
		.leaf = (char *)"leaf0",
	};

	T_EACH(r, continued) {
		const struct np_pairs earlier = {
			.n_runs = 1,
			.place = { .cluster = (char *)r->cluster,
				   .leaf = (char *)r->leaf },
		};
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, cli_pair_place_check(&earlier, "list.pairs.json",
						    &here, &err) == r->rc);
		T_ROW(r->name, !r->rc == !err.text[0]);
	}
}
