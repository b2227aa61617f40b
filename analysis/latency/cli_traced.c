/* Applications' traces. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli_graph.h"
#include "cli_traced.h"
#include "np_store.h"

/* A larger trace, or graph, is not read: this takes some seconds. */
#define MAX_BYTES (256u << 20)

#define RECORDS "no trace; \"srun --netprofile-trace\" records one"
#define MEASURES "no LogGPS parameters of this network; \"salloc -N2 netprof " \
	"loggps\" measures them"

double cli_traced_bytes(const char *path)
{
	struct np_trace_files f;
	struct stat st;
	double sum = 0;

	if (stat(path, &st))
		return 0;
	if (!S_ISDIR(st.st_mode))
		return (double)st.st_size;
	if (np_trace_files_find(path, &f, NULL))
		return 0;
	for (uint32_t i = 0; i < f.n; i++)
		if (!stat(f.path[i], &st))
			sum += (double)st.st_size;
	np_trace_files_free(&f);
	return sum;
}

void cli_traced_read(const char *path, const struct np_loggps *net,
		     struct cli_traced *out)
{
	double bytes = cli_traced_bytes(path);
	struct np_graph *g;

	*out = (struct cli_traced){ .why = NP_ERR_INIT };
	if (!net) {
		np_errf(&out->why, -ENODATA, MEASURES);
		return;
	}
	if (bytes > MAX_BYTES) {
		np_errf(&out->why, -E2BIG, "%s: %.0f MB, expected at most %u",
			path, bytes / (1 << 20), MAX_BYTES >> 20);
		return;
	}
	if (cli_graph_load(path, NULL, &g, &out->why))
		return;
	np_response_make(g, net, &out->response, &out->why);
	np_graph_free(g);
}

void cli_traced_give(const struct cli_traced *t, struct np_program *a)
{
	a->response = t->why.text[0] ? NULL : &t->response;
	a->untraced = t->why.text;
}

/* The newest trace of its owner; nobody publishes traces. */
static void of_store(const struct cli_runs *r, struct cli_store *s,
		     const struct np_loggps *net, struct cli_traced *out)
{
	char path[PATH_MAX + 2 * NAME_MAX];
	int rc = -ENOENT;

	*out = (struct cli_traced){ .why = NP_ERR_INIT };
	if (r->owner == NP_STORE_USER)
		rc = np_store_trace(s->store, r->uid, r->runs.app, path,
				    sizeof(path), &out->why);
	if (!rc)
		cli_traced_read(path, net, out);
	else if (!out->why.text[0])
		np_errf(&out->why, rc, RECORDS);
}

int cli_known_trace(struct cli_known *k, struct cli_store *s,
		    const struct np_model *m)
{
	struct np_loggps net;
	bool known;

	if (!(m->needs & NP_NEED_TRACE))
		return 0;
	known = cli_loggps_of(s->store, k->cal.cluster, &net);
	for (size_t i = 0; i < k->n; i++) {
		struct cli_known_app *a = k->app[i];

		a->traced = calloc(1, sizeof(*a->traced));
		if (!a->traced)
			return -ENOMEM;
		of_store(&a->r, s, known ? &net : NULL, a->traced);
		cli_traced_give(a->traced, &a->evidence.program);
	}
	return 0;
}
