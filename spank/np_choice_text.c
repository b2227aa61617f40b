#include "np_choice_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVELS 256
#define MAX_BLOCKS 65536

/*
 * A head, "LEVEL|- COMPLETE N_LEVELS N_BLOCKS SHARE", then a line "NAME LED"
 * for each level and "RUN LEVEL SEC RATE CALLS" for each block.
 */
char *np_choice_print(const struct np_choice *c)
{
	const struct np_course_history *h = &c->history;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "%s %d %zu %zu %.17g\n", c->level[0] ? c->level : "-",
		c->complete, h->n_levels, h->n_blocks, h->share);
	for (size_t i = 0; i < h->n_levels; i++)
		fprintf(f, "%s %d\n", h->name[i], h->is_led[i]);
	for (size_t i = 0; i < h->n_blocks; i++)
		fprintf(f, "%" PRIu32 " %zu %.17g %.17g %.17g\n",
			h->block[i].run, h->block[i].level, h->block[i].sec,
			h->block[i].rate, h->block[i].calls);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *next_line(const char *text)
{
	const char *nl = strchr(text, '\n');

	return nl ? nl + 1 : text + strlen(text);
}

static int parse_levels(const char **text, size_t n,
			struct np_course_history *h)
{
	char name[NP_LEVEL_NAME];
	struct np_level level;
	int led;

	h->name = calloc(n + 1, sizeof(*h->name));
	h->is_led = calloc(n + 1, sizeof(*h->is_led));
	if (!h->name || !h->is_led)
		return -ENOMEM;
	for (; h->n_levels < n; *text = next_line(*text)) {
		if (sscanf(*text, "%63s %d", name, &led) != 2 ||
		    np_level_parse(name, &level, NULL))
			return -EINVAL;
		h->is_led[h->n_levels] = led;
		h->name[h->n_levels] = strdup(name);
		if (!h->name[h->n_levels++])
			return -ENOMEM;
	}
	return 0;
}

static int parse_blocks(const char **text, size_t n,
			struct np_course_history *h)
{
	h->block = calloc(n + 1, sizeof(*h->block));
	if (!h->block)
		return -ENOMEM;
	for (; h->n_blocks < n; *text = next_line(*text)) {
		struct np_block *b = &h->block[h->n_blocks];

		if (sscanf(*text, "%" SCNu32 " %zu %lf %lf %lf", &b->run,
			   &b->level, &b->sec, &b->rate, &b->calls) != 5 ||
		    !(b->level < h->n_levels ||
		      b->level == NP_BLOCKS_NO_LEVEL) ||
		    !(b->sec > 0) || !(b->rate >= 0) || b->calls < 0)
			return -EINVAL;
		h->n_blocks++;
	}
	return 0;
}

int np_choice_parse(const char *text, struct np_choice *out)
{
	struct np_choice c = NP_CHOICE_INIT;
	size_t n_levels, n_blocks;
	struct np_level level;
	int complete, rc = 0;

	*out = c;
	if (sscanf(text, "%63s %d %zu %zu %lf", c.level,
		   &complete, &n_levels, &n_blocks, &c.history.share) != 5 ||
	    n_levels > MAX_LEVELS || n_blocks > MAX_BLOCKS)
		return -EINVAL;
	c.complete = complete;
	if (!strcmp(c.level, "-"))
		c.level[0] = '\0';
	else if (np_level_parse(c.level, &level, NULL))
		return -EINVAL;
	text = next_line(text);
	if (n_levels)
		rc = parse_levels(&text, n_levels, &c.history);
	if (!rc && n_levels)
		rc = parse_blocks(&text, n_blocks, &c.history);
	if (rc)
		np_course_history_free(&c.history);
	else
		*out = c;
	return rc;
}
