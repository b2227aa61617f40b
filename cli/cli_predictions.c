/*
 * Reader of predictions from other sources: `netprof accuracy` scores them, and
 * `netprof simulate --pairs` uses them instead of the models.
 */
#include "cli_predictions.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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
	/* strtod() accepts more: "0x1p3". */
	double v = strtod(text, &end);

	if (end != text && !strpbrk(text, "xX") && (!*end || !strcmp(end, "%")) &&
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

/* What p->pairs has of a pair; no name has blanks in it. */
static size_t pair_key(const char *victim, const char *co,
		       char key[2 * NP_MEASURED_NAME + 2])
{
	return (size_t)sprintf(key, "%.*s %.*s", NP_MEASURED_NAME, victim,
			       NP_MEASURED_NAME, co);
}

/* Parse one line and append it. Each pair may occur only once. */
static void parse_row(struct np_words *w, struct cli_predictions *p)
{
	struct cli_predicted r = { .low = NAN, .high = NAN };
	char key[2 * NP_MEASURED_NAME + 2];
	size_t len;

	if (w->n != 3 && w->n != 5) {
		np_words_fail(w, -EINVAL, "%zu word%s, expected a victim, a "
			      "co-runner, a percentage, and optionally the "
			      "two ends of its interval", w->n,
			      w->n == 1 ? "" : "s");
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
	len = pair_key(r.victim, r.co, key);
	if (np_array_grow(&p->row, p->n, sizeof(*p->row)) ||
	    np_index_add(&p->pairs, key, len) == NP_NO_INDEX)
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
	w.rc = np_kind_check(text, len, NP_KIND_WORDS, source, err);
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
	np_index_free(&p->pairs);
	*p = (struct cli_predictions){ .n = 0 };
}

const struct cli_predicted *
cli_predictions_find(const struct cli_predictions *p, const char *victim,
		     const char *co)
{
	char key[2 * NP_MEASURED_NAME + 2];
	size_t len = pair_key(victim, co, key);
	uint32_t at = np_index_find(&p->pairs, key, len);

	return at == NP_NO_INDEX ? NULL : &p->row[at];
}
