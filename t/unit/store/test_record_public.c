#include "t.h"
#include "np_run_summary.h"
#include "some_record.h"

static void add_concurrent(struct np_record *r, uint32_t job_id,
			   double overlap_sec)
{
	struct np_neighbour *n;

	r->neighbours = realloc(r->neighbours,
				(r->n_neighbours + 1) * sizeof(*r->neighbours));
	n = &r->neighbours[r->n_neighbours++];
	*n = (struct np_neighbour){
		.job_id = job_id,
		.step_id = NP_NO_VALUE,
		.leaf = strdup("leaf0"),
		.nodes = strdup("secret[7-9]"),
		.overlap_sec = overlap_sec,
	};
}

static void set(char **at, const char *text)
{
	free(*at);
	*at = strdup(text);
}

static struct np_record *telling(void)
{
	struct np_record *r = t_some_record(7);
	struct np_leaf_run *leaf = np_record_leaf(r, "leaf0");

	r->uid = 54321;
	set(&r->cluster, "hpc");
	set(&r->fingerprint, "c0ffee");
	set(&r->probe.transport, "tcp/eth0");
	set(&r->nodes, "secret[0-3]");
	set(&r->host, "secret-login");
	set(&r->executable, "/home/secret/bin/lmp");
	set(&leaf->nodes, "secret[0-3]");
	if (!r->level)
		r->level = calloc(1, sizeof(*r->level));
	set(&r->level->name, "c4");
	set(&r->level->scope, "leaf");
	set(&r->level->nodes, "secret[4-5]");
	np_record_note(r, "the probes ended: secret3: no route");
	add_concurrent(r, 987654, 12);
	add_concurrent(r, 987655, 70);
	add_concurrent(r, 987656, 0);
	return r;
}

T_TEST("nothing of other people is in a public record")
{
	static const char *const words[] = {
		"secret", "9876", "54321", "\"nodes\":\"s", "note ",
	};
	struct np_record *r = telling();
	char *text = NULL;

	np_record_make_public(r, 4242);
	T_CHECK(np_record_write(r, "", &text, NULL) == 0);
	for (size_t i = 0; text && i < NP_ARRAY_SIZE(words); i++)
		T_ROW(words[i], !strstr(text, words[i]));
	T_CHECK(text && strstr(text, "\"uid\":4242,"));
	free(text);
	np_record_free(r);
}

T_TEST("what predictions and pages need stays")
{
	struct np_record *r = telling(), *was = telling();

	np_record_make_public(r, 4242);
	T_CHECK(!strcmp(r->executable, "lmp"));
	T_CHECK(!strcmp(r->fingerprint, was->fingerprint) &&
		!strcmp(r->cluster, was->cluster) &&
		!strcmp(r->probe.transport, was->probe.transport));
	T_CHECK(r->job_id == was->job_id && r->step_id == was->step_id &&
		r->start == was->start && r->end == was->end &&
		r->state == was->state && r->exit_code == was->exit_code);
	T_CHECK(r->n_nodes == was->n_nodes && r->n_tasks == was->n_tasks &&
		r->n_leaves == was->n_leaves);
	T_CHECK(np_run_latency(r).n == np_run_latency(was).n);
	T_CHECK(!strcmp(r->level->name, "c4") &&
		!strcmp(r->level->scope, "leaf"));
	T_CHECK(r->n_neighbours == 1 && r->neighbours[0].overlap_sec == 70);
	np_record_make_public(r, 4242); /* once more is no harm */
	T_CHECK(r->n_neighbours == 1 && r->neighbours[0].overlap_sec == 70);
	np_record_free(r);
	np_record_free(was);
}

T_TEST("whether other jobs ran near it stays")
{
	struct np_record *none = np_record_new(), *gone = np_record_new();

	add_concurrent(gone, 1, 0);
	add_concurrent(gone, 2, 0);
	np_record_make_public(none, 0);
	np_record_make_public(gone, 0);
	T_CHECK(!np_run_has_neighbours(none) && !np_run_has_neighbours(gone));
	np_record_free(none);
	np_record_free(gone);
}
