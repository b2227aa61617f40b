/* netprof loggps, measuring: a step of its own in the allocation. */
#include "cli_loggps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_alloc.h"
#include "cli_output.h"
#include "np_loggps_run.h"
#include "np_sideenv.h"

struct work {
	const struct cli_loggps_opt *opt;
	struct np_conf conf;
	struct np_store *store; /* NULL with --output */
	struct cli_alloc at;
	struct np_sideenv_network network;
	char **env;
};

static void show_progress(void *arg, uint32_t done, uint32_t blocks)
{
	(void)arg;
	fprintf(stderr, "\r%u of %u blocks", done, blocks);
}

static void end_progress(void)
{
	fprintf(stderr, "\r%24s\r", "");
}

/* Texts of the record are its own. */
static int describe(const struct work *w, const struct np_loggps_seen *seen,
		    struct np_loggps_record *r)
{
	r->date = (double)time(NULL);
	r->across = w->opt->across;
	r->cluster = strdup(w->at.cluster ? w->at.cluster : "");
	r->from = strdup(seen->from);
	r->to = strdup(seen->to);
	r->leaf = strdup(seen->leaf);
	r->transport = strdup(seen->transport);
	r->ucx_version = strdup(seen->version);
	r->netprof_version = strdup(NP_VERSION);
	return r->cluster && r->from && r->to && r->leaf && r->transport &&
	       r->ucx_version && r->netprof_version ? 0 : -ENOMEM;
}

static int measure(struct work *w, struct np_loggps_record *r,
		   struct np_err *err)
{
	const struct cli_loggps_opt *o = w->opt;
	const struct np_loggps_run run = {
		.conf = &w->conf, .job = w->at.job, .env = w->env,
		.nodes = w->at.nodes, .n_nodes = w->at.n_nodes,
		.blocks = o->blocks, .max_bytes = o->max_bytes,
		.max_trip_sec = o->max_trip_sec, .across = o->across,
		.stop = cli_alloc_stop(),
		.progress = isatty(STDERR_FILENO) ? show_progress : NULL,
	};
	struct np_loggps_seen seen;
	int rc = np_loggps_run(&run, &r->fit, &seen, err);

	if (run.progress)
		end_progress();
	if (rc)
		return rc;
	return describe(w, &seen, r) ? np_errf(err, -ENOMEM,
					       "out of memory") : 0;
}

static int write_output(const char *path, const struct np_loggps_record *r,
			struct np_err *err)
{
	char *text;
	int rc = np_loggps_record_put(r, &text, err);

	if (rc)
		return rc;
	rc = cli_write_over(path, text, "", err);
	free(text);
	return rc;
}

static void say_plan(const struct work *w)
{
	const struct cli_loggps_opt *o = w->opt;

	fprintf(stderr, "%u blocks of messages up to %u bytes between two of "
		"%s%s; the result goes to %s\n", o->blocks, o->max_bytes,
		w->at.nodes, o->across ? " under two leaf switches" : "",
		o->output ? o->output : np_store_dir(w->store));
}

static int work(struct work *w, struct np_loggps_record *r,
		struct np_err *err)
{
	const char *output = w->opt->output;
	int rc = np_conf_from_environment(&w->conf, err);

	if (!rc)
		rc = cli_alloc_find(&w->at, "loggps", err);
	if (!rc && w->at.n_nodes < 2)
		rc = np_errf(err, -EINVAL, "one node: expected two or more");
	/* Not to find out when all is measured. */
	if (!rc && !output)
		rc = np_store_open(w->conf.store, &w->store, err);
	if (!rc && !output && !w->opt->dry_run)
		rc = np_loggps_store_check(w->store, w->at.cluster, err);
	if (rc)
		return rc;
	say_plan(w);
	if (w->opt->dry_run)
		return 0;
	np_sideenv_network(&w->conf, &w->network);
	w->env = np_sideenv_make(environ, w->network.more);
	if (!w->env)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = measure(w, r, err);
	if (rc)
		return rc;
	return output ? write_output(output, r, err) :
	       np_loggps_store_save(w->store, w->at.cluster, r, err);
}

int cli_loggps_measure(const struct cli_loggps_opt *o,
		       struct np_loggps_record *r, struct np_err *err)
{
	static struct work w; /* the allocation refers to itself */
	int rc;

	w.opt = o;
	np_conf_init(&w.conf);
	rc = work(&w, r, err);
	np_store_close(w.store);
	free(w.env);
	return rc;
}
