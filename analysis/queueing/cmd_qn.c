/* netprof qn: solves a queueing network from a file. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"
#include "cli_qn.h"
#include "np_quantity.h"

#define MAX_BYTES (1u << 30) /* default of --memory */
#define MAX_STEPS 1e11	     /* several minutes */
#define MAX_ROWS 10000
#define CYCLES 1000000 /* of all simulations for percentiles together */
#define LEAST_CYCLES 5000 /* of each simulation */
#define MAX_KEPT 268435456. /* bytes of all solutions */

struct method {
	const char *name, *how;
	np_qn_method *solve;
};

static const struct method methods[] = {
	/* The first is the default, and falls back to the second. */
	{ "exact", "exact, by mean value analysis", np_qn_mva },
	{ "convolution", "exact, by convolution", np_qn_convolution },
	{ "schweitzer", "approximation of Schweitzer and Bard",
	  np_qn_schweitzer },
	{ "linearizer", "approximation Linearizer", np_qn_linearizer },
};

struct options {
	const struct method *method;
	char *range; /* argument of --customers; NULL: as in the file */
	uint64_t first, last, step;
	size_t class; /* class of the range */
	double bytes;
	double share[CLI_QN_SHARES];
	size_t n_shares;
};

static int take_method(char *text, void *ask, struct np_err *err)
{
	struct options *o = ask;

	for (size_t i = 0; i < NP_ARRAY_SIZE(methods); i++)
		if (!strcmp(text, methods[i].name)) {
			o->method = &methods[i];
			return 0;
		}
	return np_errf(err, -EINVAL, "--method=%.64s: expected exact, "
		       "schweitzer, linearizer or convolution", text);
}

static int take_memory(char *text, void *ask, struct np_err *err)
{
	struct options *o = ask;
	uint64_t bytes;

	if (np_bytes_parse(text, &bytes) || !bytes)
		return np_errf(err, -EINVAL, "--memory=%.64s: expected a size, "
			       "such as 4G", text);
	o->bytes = (double)bytes;
	return 0;
}

/* Parses percentages such as "50,90,99". */
static int take_percentiles(char *text, void *ask, struct np_err *err)
{
	struct options *o = ask;
	char *p = text;

	o->n_shares = 0;
	do {
		char *end;
		double v = strtod(p, &end) / 100;

		if (end == p || (*end && *end != ',') || !(v > 0 && v < 1) ||
		    o->n_shares == CLI_QN_SHARES)
			return np_errf(err, -EINVAL, "--percentile=%.64s: "
				       "expected up to %d numbers between 0 "
				       "and 100, such as 50,90,99", text,
				       CLI_QN_SHARES);
		o->share[o->n_shares++] = v;
		p = end;
	} while (*p++);
	return 0;
}

#define AT(member) offsetof(struct options, member)

static const struct np_option options[] = {
	{ "method", NP_OPTION_TAKE, .take = take_method },
	{ "customers", NP_OPTION_WORD, AT(range) },
	{ "memory", NP_OPTION_TAKE, .take = take_memory },
	{ "percentile", NP_OPTION_TAKE, .take = take_percentiles },
	{ NULL },
};

/* Parses digits up to a character of stop, or the end; advances *text to it. */
static int take_number(char **text, const char *stop, uint64_t *n)
{
	*n = 0;
	if (**text < '0' || **text > '9')
		return -EINVAL;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		*n = *n * 10 + (uint64_t)(**text - '0');
		if (*n > NP_QN_MAX_CUSTOMERS)
			return -ERANGE;
	}
	/* also finds the final NUL */
	return strchr(stop, **text) ? 0 : -EINVAL;
}

/* Parses FIRST[-LAST[:STEP]]. */
static int take_numbers(char *text, struct options *o)
{
	o->step = 1;
	if (take_number(&text, "-", &o->first))
		return -EINVAL;
	o->last = o->first;
	if (*text && (text++, take_number(&text, ":", &o->last)))
		return -EINVAL;
	if (*text && (text++, take_number(&text, "", &o->step)))
		return -EINVAL;
	return o->step && o->last >= o->first ? 0 : -EINVAL;
}

/*
 * Parses [CLASS=]FIRST[-LAST[:STEP]], after the network with its classes is
 * known.
 */
static int take_range(const struct cli_cmd *self, const struct np_qn *net,
		      struct options *o)
{
	char *equals = o->range ? strrchr(o->range, '=') : NULL;
	size_t len = equals ? (size_t)(equals - o->range) : 0;

	while (!equals && o->class + 1 < net->n_classes &&
	       net->class[o->class].arrivals_per_sec > 0)
		o->class++;
	if (!o->range) {
		o->first = o->last = net->class[o->class].customers;
		o->step = 1;
		return 0;
	}
	if (!equals && net->n_classes > 1)
		return cli_usage(self, "--customers=%.64s: expected CLASS=%.64s"
				 ", as there are %zu", o->range, o->range,
				 net->n_classes);
	while (equals && o->class < net->n_classes &&
	       (strncmp(net->class[o->class].name, o->range, len) ||
		net->class[o->class].name[len]))
		o->class++;
	if (o->class == net->n_classes)
		return cli_usage(self, "--customers=%.64s: no such class",
				 o->range);
	if (net->class[o->class].arrivals_per_sec > 0)
		return cli_usage(self, "--customers=%.64s: the class is open",
				 o->range);
	if (take_numbers(equals ? equals + 1 : o->range, o))
		return cli_usage(self, "--customers=%.64s: expected N or "
				 "FIRST-LAST or FIRST-LAST:STEP, up to %d",
				 o->range, NP_QN_MAX_CUSTOMERS);
	return 0;
}

/* Number of populations, if their solutions fit into memory. */
static int count_rows(const struct cli_cmd *self, const struct np_qn *net,
		 const struct options *o, size_t *n)
{
	uint64_t rows = (o->last - o->first) / o->step + 1;
	double each = 24.0 * (double)(net->n_stations + 1) *
		      (double)net->n_classes;

	if (rows > MAX_ROWS || (double)rows * each > MAX_KEPT)
		return cli_usage(self, "--customers=%.64s: %llu populations, "
				 "expected at most %.0f", o->range,
				 (unsigned long long)rows,
				 fmin(MAX_ROWS, MAX_KEPT / each));
	*n = (size_t)rows;
	return 0;
}

static int solve_one(struct cli_qn *q, const struct options *o,
		     struct cli_qn_row *row)
{
	const struct np_qn_cost max = { o->bytes, MAX_STEPS /
						  (double)q->n_rows };
	const struct method *m = o->method;
	struct np_err err = NP_ERR_INIT;
	int rc;

	q->n.class[q->changes].customers = row->customers;
	rc = np_qn_mixed(m->solve, &q->n.net, &max, &row->s, &err);
	if (rc == -ENOTSUP && m == methods) {
		m++;
		rc = np_qn_mixed(m->solve, &q->n.net, &max, &row->s, &err);
	}
	if (rc)
		return cli_fail("%s: %s", q->path, err.text);
	q->how = m->how;
	if (q->n_shares) {
		row->percentile = calloc(q->n_shares * q->n.net.n_classes,
					 sizeof(*row->percentile));
		rc = row->percentile ?
		     np_qn_percentiles(&q->n.net, q->n_rows > CYCLES / LEAST_CYCLES ?
				       LEAST_CYCLES : CYCLES / q->n_rows,
				       q->share, q->n_shares, row->percentile,
				       &err) : -ENOMEM;
		if (rc)
			return cli_fail("%s: %s", q->path, err.text);
	}
	if (np_qn_bounds(&q->n.net, &row->least, &row->most))
		row->most = 0;
	return CLI_DONE;
}

static int solve(const struct cli_cmd *self, struct cli_qn *q,
		 struct options *o, const struct cli_options *all)
{
	size_t n = 0;
	int rc = take_range(self, &q->n.net, o);

	if (!rc)
		rc = count_rows(self, &q->n.net, o, &n);
	if (rc)
		return rc;
	q->changes = o->class;
	q->row = calloc(n, sizeof(*q->row));
	if (!q->row)
		return cli_fail("out of memory");
	q->n_rows = n;
	for (size_t i = 0; !rc && i < n; i++) {
		q->row[i].customers = o->first + i * o->step;
		rc = solve_one(q, o, &q->row[i]);
	}
	if (rc)
		return rc;
	return all->plot ? cli_qn_plot(q, all->plot) :
	       all->format ? cli_qn_data(q, all->format) : cli_qn_text(q);
}

static int run_qn(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_qn q = { 0 };
	struct options ask = { .method = methods, .bytes = MAX_BYTES };
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, &ask, &o);

	if (rc >= 0)
		return rc;
	q.path = o.app;
	q.method = ask.method->name;
	if (np_network_load(q.path, &q.n, &err))
		return cli_fail("%s", err.text);
	memcpy(q.share, ask.share, sizeof(q.share));
	q.n_shares = ask.n_shares;
	rc = solve(self, &q, &ask, &o);
	for (size_t i = 0; i < q.n_rows; i++) {
		np_qn_solution_free(&q.row[i].s);
		free(q.row[i].percentile);
	}
	free(q.row);
	np_network_free(&q.n);
	return rc;
}

const struct cli_cmd cmd_qn = {
	.name = "qn",
	.args = "[OPTION]... FILE",
	.help = "a queueing network",
	.text =
"Throughput, response times, and who is where, of the queueing network in\n"
"FILE, netprof-qn(5).\n\n"
"  --method=M         exact (so without the option): mean value analysis, or\n"
"                     convolution where stations have several servers or are\n"
"                     load-dependent; schweitzer, linearizer: approximations\n"
"                     for many classes and customers; convolution\n"
"  --customers=[CLASS=]N, [CLASS=]FIRST-LAST[:STEP]\n"
"                     other numbers of customers than in FILE\n"
"  --memory=SIZE      may be taken, 1G otherwise; what needs more is refused\n"
"  --percentile=P,... response times that so many percent do not exceed\n"
"  --plot=FILE        a picture instead: .svg, .png or .pdf\n"
"  --json, --parsable the same for programs; --parsable (-P) as in sacct",
	.examples =
"  netprof qn web.json\n"
"  netprof qn --customers=1-21:5 web.json\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT, .own = options,
	.missing = "a file, netprof-qn(5)", .most = 1,
	.run = run_qn,
};
