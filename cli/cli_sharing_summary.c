/* netprof sharing --summary: how far the models are from what was measured. */
#include <math.h>
#include <stdio.h>

#include "cli_sharing.h"
#include "cli_text.h"

#define NAME 10
#define COUNT 4
#define NUMBER 11

/* Mean error of a model over all schemes, each transfer counted once. */
struct total {
	double sum;
	size_t n;
};

static void cell(double error)
{
	char text[CLI_NUMBER] = "-";

	if (!isnan(error))
		snprintf(text, sizeof(text), "%.1f %%", 100 * error);
	cli_right(stdout, text, NUMBER);
}

static size_t measured(const struct np_scheme *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += !isnan(s->took_sec[i]);
	return n;
}

static void scheme(const struct cli_sharing *a, size_t k, struct total *all)
{
	const struct np_scheme *s = &a->set->scheme[k];
	char name[4 * NAME];

	printf("%-*s%*zu", NAME, cli_cut(s->name, NAME - 1, name,
					 sizeof(name)), COUNT, measured(s));
	for (size_t m = 0; m < a->net->n; m++) {
		const struct cli_sharing_model *g = cli_sharing_at(a, k, m);
		bool known = !*g->why.text && g->n_measured;

		cell(known ? g->error : NAN);
		if (known) {
			all[m].sum += g->error * (double)g->n_measured;
			all[m].n += g->n_measured;
		}
	}
	putchar('\n');
}

int cli_sharing_summary(const struct cli_sharing *a)
{
	struct total all[CLI_NETWORK_MODELS] = { { 0, 0 } };
	size_t n = 0;

	printf("%s%-*s%*s", cli_colour(CLI_BOLD), NAME, "scheme", COUNT, "n");
	for (size_t m = 0; m < a->net->n; m++)
		cli_right(stdout, a->net->model[m]->name, NUMBER);
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t k = 0; k < a->set->n; k++) {
		scheme(a, k, all);
		n += measured(&a->set->scheme[k]);
	}
	printf("%-*s%*zu", NAME, "all", COUNT, n);
	for (size_t m = 0; m < a->net->n; m++)
		cell(all[m].n ? all[m].sum / (double)all[m].n : NAN);
	putchar('\n');
	return CLI_DONE;
}
