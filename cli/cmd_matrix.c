/* netprof matrix: every application beside every other. */
#include "cli_matrix.h"

static int matrix(const struct cli_known *k, const struct cli_options *o)
{
	struct cli_matrix m;
	int rc = cli_matrix_make(k, o, &m);

	if (rc >= 0)
		return rc;
	for (size_t i = 0; i < k->n; i++)
		if (k->app[i]->unusable.text[0])
			cli_fail("%s", k->app[i]->unusable.text);
	if (!m.n)
		rc = cli_fail("no application was measured on cluster %s yet: "
			      "sbatch --netprofile=NAME "
			      "--netprofile-calibrate job.sh does that",
			      k->cal.cluster);
	else
		rc = o->plot ? cli_matrix_plot(&m, o->plot) :
		     o->format ? cli_matrix_data(&m, o->format) :
				 cli_matrix_text(&m);
	cli_matrix_free(&m);
	return rc;
}

static int run_matrix(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_known k = { .n = 0 };
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc >= 0)
		return rc;
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = cli_matrix_find(&k, &s, &o);
	if (rc < 0)
		rc = cli_ask_prepare(&k, &s, &o);
	cli_store_close(&s);
	if (rc < 0)
		rc = matrix(&k, &o);
	cli_known_free(&k);
	return rc;
}

const struct cli_cmd cmd_matrix = {
	.name = "matrix",
	.args = "[--json|--csv] [OPTION]... [APP]...",
	.help = "every application beside every other",
	.text =
"Predicts how much longer each application runs beside each other and beside\n"
"another one like itself: rows suffer, columns press.  Without APP: your own\n"
"applications and the published ones that were measured on this fabric.\n\n"
"  --scope=SCOPE   where the other is: node, leaf (as without) or uplink\n"
"  --model=M       another model than " NP_MODEL_DEFAULT "; see netprof accuracy\n"
"  --csv           one pair a line, with its 90 % interval\n"
"  --json          the same for programs\n"
"  --plot=FILE     a picture instead: .svg, .png or .pdf\n"
"  --user=NAME, --published\n"
"                  whose profiles, as for netprof show",
	.examples =
"  netprof matrix fft halo lammps\n"
"  netprof matrix --csv | sort -t, -k4gr | head -n 3\n"
"  netprof matrix --plot=pairs.svg\n",
	.takes = CLI_TAKES_JSON | CLI_TAKES_CSV | CLI_TAKES_USER |
		 CLI_TAKES_MODEL | CLI_TAKES_PLOT,
	.most = CLI_ANY,
	.run = run_matrix,
};
