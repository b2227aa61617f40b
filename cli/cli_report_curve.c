/*
 * The curve of an application on the page of `netprof report`: the panel that
 * netprof plot draws, as SVG within HTML.
 */
#include <stdlib.h>
#include <string.h>

#include "cli_html.h"
#include "cli_plot.h"
#include "cli_report.h"
#include "np_picture.h"

/* The next name of a part of the picture, or the end. */
static const char *next_name(const char *svg)
{
	const char *id = strstr(svg, "id=\"c"), *use = strstr(svg, "url(#c");

	if (id && (!use || id < use))
		return id + strlen("id=\"");
	return use ? use + strlen("url(#") : svg + strlen(svg);
}

/*
 * Of a file: the element, without its name space, which HTML knows, and with
 * names that no other picture of the page has.
 */
static void put_inline(FILE *f, const char *svg, const char *app,
		       size_t number)
{
	const char *body = strstr(svg, " version=\"1.1\""), *name;

	if (!body)
		return;
	fputs("<svg role=\"img\" aria-label=\"Slowdown of ", f);
	cli_html(f, app);
	fputs(" beside interference levels\"", f);
	for (; *body; body = name) {
		name = next_name(body + 1);
		fwrite(body, 1, (size_t)(name - body), f);
		if (*name)
			fprintf(f, "a%zu-", number);
	}
}

void cli_report_curve(FILE *f, const struct cli_report *r,
		      const struct cli_part *part)
{
	const struct cli_runs *runs = &part->app->r;
	struct cli_known_app *app = (struct cli_known_app *)part->app;
	struct cli_profile p = { .runs = runs->runs, .profile = part->profile };
	struct np_figure *figure = np_figure_new("");
	struct cli_known alone = r->k;
	char missing[256], *svg = NULL;
	size_t len;

	alone.app = &app;
	alone.n = 1;
	if (figure &&
	    !cli_plot_add(figure, CLI_PLOT_CURVE, &p, &alone, missing,
			  sizeof(missing)) &&
	    !np_picture_make(figure, NP_PICTURE_SVG, &svg, &len, NULL))
		put_inline(f, svg, runs->runs.app,
			   (size_t)(part - r->part));
	free(svg);
	np_figure_free(figure);
}
