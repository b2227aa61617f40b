/*
 * libFuzzer target: `make fuzz`. Whatever sacct prints, or whatever users
 * called their jobs, it is refused with a line or taken; what is taken can be
 * compared, laid next to its neighbours and blamed. The same text as a file of
 * rails is refused with a line or taken, each line with all of its fields.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_acct.h"
#include "np_job_cost.h"

static const char topology[] = "SwitchName=leaf0 Level=0 Nodes=n[0-3]\n"
			       "SwitchName=leaf1 Level=0 Nodes=n[4-7]\n";

static void look(const struct np_acct *h, const struct np_acct_job *j)
{
	struct np_acct_neighbour *neighbour;
	uint32_t like[4];
	size_t any, n;

	for (int same = NP_ACCT_SAME_NAME; same <= NP_ACCT_SAME_COMMAND; same++)
		if (np_acct_comparable(h, j, (enum np_acct_same)same, like, 4,
				       &any) > any)
			abort();
	if (np_acct_neighbours(h, j, &neighbour, &n))
		abort();
	for (size_t i = 0; i < n; i++)
		if (!(neighbour[i].to > neighbour[i].from))
			abort();
	free(neighbour);
}

static void read_rails(const char *text)
{
	struct np_err err = NP_ERR_INIT;
	char *copy = strdup(text);
	struct np_topo t;

	if (!copy)
		abort();
	if (np_rails_parse(copy, "fuzz", &t, &err)) {
		if (!err.text[0])
			abort();
	} else {
		for (size_t i = 0; i < t.n; i++)
			if (!*t.leaf[i].name || !*t.leaf[i].nodes ||
			    !*t.leaf[i].rail || !*t.leaf[i].nic)
				abort();
		np_topo_free(&t);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	char *text = malloc(size + 1);
	struct np_topo t;
	struct np_acct h = { .now = 2e9 };
	struct np_job_cost toll;

	if (!text || np_topo_parse(topology, &t, NULL))
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	read_rails(text);
	if (np_acct_topology(&h, &t, NULL))
		abort();
	if (np_acct_read(&h, text, "fuzz", "|", &err)) {
		if (!err.text[0])
			abort();
	} else if (!np_acct_index(&h)) {
		for (size_t i = 0; i < h.n_jobs && i < 8; i++)
			look(&h, &h.job[i]);
		if (!np_job_cost_make(&h, &toll))
			np_job_cost_free(&toll);
	}
	np_topo_free(&t);
	np_acct_free(&h);
	free(text);
	return 0;
}
