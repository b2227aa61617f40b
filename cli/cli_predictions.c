/*
 * Reads predictions from other sources. `netprof accuracy` scores them, and
 * `netprof simulate --pairs` uses them instead of the models.
 */
#include "cli_predictions.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_option.h"
#include "np_read.h"
#include "np_words.h"

#define MAX_BYTES (4u << 20) /* of a file */
#define MAX_PERCENT 1e8	     /* of a slowdown; the limit of np_measured.c */

/*
 * Parse word i, "12.5", "12.5%" or "+12.5%", as a fraction. Anything else is an
 * error of words; then the result is NaN.
 */
static double parse_percent(struct np_words *words, size_t i)
{
	const char *text = np_words_at(words, i);
	bool has_plus = text[0] == '+' && text[1] != '-';
	double percent;
	const char *end = np_decimal_parse(text + has_plus, &percent);

	if (end && (!*end || !strcmp(end, "%")) && percent > -100 &&
	    percent <= MAX_PERCENT)
		return percent / 100;
	np_words_fail(words, -EINVAL,
		      "\"%.40s\": expected a percentage above -100, such as "
		      "12.5, at most %.0f",
		      text, MAX_PERCENT);
	return NAN;
}

/* Copy word i, a name. It is an error if it is too long. */
static void parse_name(struct np_words *words, size_t i,
		       char out[NP_MEASURED_NAME + 1])
{
	const char *text = np_words_at(words, i);

	if (strlen(text) > NP_MEASURED_NAME)
		np_words_fail(words, -EINVAL,
			      "\"%.40s...\": expected a name of at most %d "
			      "characters",
			      text, NP_MEASURED_NAME);
	else
		strcpy(out, text);
}

/*
 * Make the key of a pair and return its length. No two pairs share a key,
 * because names contain no blanks and have at most NP_MEASURED_NAME bytes.
 */
static size_t make_pair_key(const char *victim, const char *corunner,
			    char key[2 * NP_MEASURED_NAME + 2])
{
	return (size_t)sprintf(key, "%.*s %.*s", NP_MEASURED_NAME, victim,
			       NP_MEASURED_NAME, corunner);
}

/* Parse one line and append it. It is an error if a pair occurs twice. */
static void parse_row(struct np_words *words, struct cli_predictions *out)
{
	struct cli_predicted row = { .low = NAN,
				     .high = NAN,
				     .line = words->line };
	char key[2 * NP_MEASURED_NAME + 2];
	size_t len;

	if (words->n != 3 && words->n != 5) {
		np_words_fail(words, -EINVAL,
			      "%zu word%s, expected a victim, a co-runner, a "
			      "percentage, and optionally the two ends of its "
			      "interval",
			      words->n, words->n == 1 ? "" : "s");
		return;
	}
	parse_name(words, 0, row.victim);
	parse_name(words, 1, row.corunner);
	row.slowdown = parse_percent(words, 2);
	if (words->n == 5) {
		row.low = parse_percent(words, 3);
		row.high = parse_percent(words, 4);
		if (row.low > row.high)
			np_words_fail(words, -EINVAL,
				      "an interval from %s to %s, expected the "
				      "lower end first",
				      words->word[3], words->word[4]);
	}
	if (!words->rc && cli_predictions_find(out, row.victim, row.corunner))
		np_words_fail(words, -EINVAL, "%s with %s: predicted twice",
			      row.victim, row.corunner);
	if (words->rc)
		return;
	len = make_pair_key(row.victim, row.corunner, key);
	if (np_array_grow(&out->row, out->n, sizeof(*out->row)) ||
	    np_index_add(&out->pairs, key, len) == NP_NO_INDEX)
		np_words_no_memory(words);
	else
		out->row[out->n++] = row;
}

int cli_predictions_parse(const char *text, size_t len, const char *source,
			  struct cli_predictions *out, struct np_err *err)
{
	struct cli_predictions predictions = { .n = 0 };
	struct np_words words;

	np_words_open(&words, text, len, source, err);
	while (np_words_next(&words))
		parse_row(&words, &predictions);
	if (!words.rc && !predictions.n)
		np_words_fail(&words, -EINVAL,
			      "expected a line with a victim, a co-runner and "
			      "a percentage");
	if (words.rc)
		cli_predictions_free(&predictions);
	else
		*out = predictions;
	return words.rc;
}

int cli_predictions_read(const char *path, struct cli_predictions *out,
			 struct np_err *err)
{
	return NP_READ_PARSED(path, MAX_BYTES, cli_predictions_parse, out, err);
}

void cli_predictions_free(struct cli_predictions *predictions)
{
	free(predictions->row);
	np_index_free(&predictions->pairs);
	*predictions = (struct cli_predictions){ .n = 0 };
}

const struct cli_predicted *
cli_predictions_find(const struct cli_predictions *predictions,
		     const char *victim, const char *corunner)
{
	char key[2 * NP_MEASURED_NAME + 2];
	size_t len = make_pair_key(victim, corunner, key);
	uint32_t i = np_index_find(&predictions->pairs, key, len);

	return i == NP_NO_INDEX ? NULL : &predictions->row[i];
}
