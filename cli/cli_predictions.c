/*
 * Reader of predictions from other sources: `netprof accuracy` scores them, and
 * `netprof simulate --pairs` uses them instead of the models.
 */
#include "cli_predictions.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_read.h"
#include "np_words.h"

#define MAX_BYTES (4u << 20) /* size of a file */
#define MAX_PERCENT 1e8 /* largest slowdown that a run can have measured */

/* Parse "12.5" or "12.5%" as a fraction; NaN after an error. */
static double parse_percent(struct np_words *w, size_t i)
{
	const char *text = np_words_at(w, i);
	char *end;
	double v = strtod(text, &end);

	if (end != text && (!*end || !strcmp(end, "%")) &&
	    v > -100 && v <= MAX_PERCENT)
		return v / 100;
	np_words_fail(w, -EINVAL, "\"%.40s\": expected a percentage above "
		      "-100, such as 12.5", text);
	return NAN;
}

/* Copy a name if it is not too long. */
static void parse_name(struct np_words *w, size_t i,
		       char out[NP_MEASURED_NAME + 1])
{
	const char *text = np_words_at(w, i);

	if (strlen(text) > NP_MEASURED_NAME)
		np_words_fail(w, -EINVAL, "\"%.40s...\": expected a name of at "
			      "most %d characters", text, NP_MEASURED_NAME);
	else
		strcpy(out, text);
}

/* Parse one line and append it. Each pair may occur only once. */
static void parse_row(struct np_words *w, struct cli_predictions *p)
{
	struct cli_predicted r = { .low = NAN, .high = NAN };

	if (w->n != 3 && w->n != 5) {
		np_words_fail(w, -EINVAL, "%zu words, expected a victim, a "
			      "co-runner, a percentage, and optionally the "
			      "two ends of its interval", w->n);
		return;
	}
	parse_name(w, 0, r.victim);
	parse_name(w, 1, r.co);
	r.slowdown = parse_percent(w, 2);
	if (w->n == 5) {
		r.low = parse_percent(w, 3);
		r.high = parse_percent(w, 4);
		if (r.low > r.high)
			np_words_fail(w, -EINVAL, "an interval from %s to %s, "
				      "expected the lower end first",
				      w->word[3], w->word[4]);
	}
	if (!w->rc && cli_predictions_find(p, r.victim, r.co))
		np_words_fail(w, -EINVAL, "%s with %s: predicted twice",
			      r.victim, r.co);
	if (w->rc)
		return;
	if (np_array_grow(&p->row, p->n, sizeof(*p->row)))
		np_words_no_memory(w);
	else
		p->row[p->n++] = r;
}

int cli_predictions_parse(const char *text, size_t len, const char *source,
			  struct cli_predictions *out, struct np_err *err)
{
	struct cli_predictions p = { .n = 0 };
	struct np_words w;

	np_words_open(&w, text, len, source, err);
	while (np_words_next(&w))
		parse_row(&w, &p);
	if (!w.rc && !p.n)
		np_words_fail(&w, -EINVAL, "expected a line with a victim, a "
			      "co-runner and a percentage");
	if (w.rc)
		cli_predictions_free(&p);
	else
		*out = p;
	return w.rc;
}

int cli_predictions_read(const char *path, struct cli_predictions *out,
			 struct np_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = np_read_file(path, MAX_BYTES, &text, &len, err);

	if (!rc)
		rc = cli_predictions_parse(text, len, path, out, err);
	free(text);
	return rc;
}

void cli_predictions_free(struct cli_predictions *p)
{
	free(p->row);
	*p = (struct cli_predictions){ .n = 0 };
}

const struct cli_predicted *
cli_predictions_find(const struct cli_predictions *p, const char *victim,
		     const char *co)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->row[i].victim, victim) &&
		    !strcmp(p->row[i].co, co))
			return &p->row[i];
	return NULL;
}
