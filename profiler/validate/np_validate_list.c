#include "np_validate_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_level.h"
#include "np_read.h"
#include "np_words.h"

static void free_words(struct np_validate_words *to)
{
	for (size_t i = 0; i < to->n; i++)
		free(to->word[i]);
	free(to->word);
	*to = (struct np_validate_words){ .n = 0 };
}

void np_validate_list_free(struct np_validate_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->program[i].directory);
		free_words(&l->program[i].srun);
		free_words(&l->program[i].run);
		free_words(&l->program[i].longer);
	}
	free(l->program);
	*l = (struct np_validate_list){ .n = 0 };
}

const struct np_validate_words *
np_validate_longer(const struct np_validate_program *p)
{
	return p->longer.n ? &p->longer : &p->run;
}

/* ---- lines ---- */

static void begin(struct np_words *w, struct np_validate_list *l)
{
	const char *name = np_words_at(w, 1);
	struct np_level level;
	struct np_err why;

	if (w->n != 2)
		np_words_fail(w, -EINVAL, "expected program and its name");
	else if (np_app_check(name, &why))
		np_words_fail(w, -EINVAL, "%s", why.text);
	else if (!strcmp(name, "idle") || !np_level_parse(name, &level, NULL))
		np_words_fail(w, -EINVAL, "\"%s\": expected another name, as "
			      "idle and the levels have theirs", name);
	for (size_t i = 0; !w->rc && i < l->n; i++)
		if (!strcmp(l->program[i].name, name))
			np_words_fail(w, -EINVAL, "%s: there is one of that "
				      "name", name);
	if (!w->rc && l->n == NP_VALIDATE_MAX_PROGRAMS)
		np_words_fail(w, -EINVAL, "more than %d programs",
			      NP_VALIDATE_MAX_PROGRAMS);
	if (w->rc)
		return;
	if (np_array_more(&l->program, l->n, sizeof(*l->program))) {
		np_words_no_memory(w);
		return;
	}
	l->program[l->n] = (struct np_validate_program){
		.per_node = 1, .begins_sec = NP_VALIDATE_BEGINS_SEC,
	};
	strcpy(l->program[l->n++].name, name);
}

static void take_words(struct np_words *w, struct np_validate_words *to,
		       size_t most)
{
	if (to->n)
		np_words_fail(w, -EINVAL, "%s: said before", w->word[0]);
	else if (w->n < 2 || w->n - 1 > most)
		np_words_fail(w, -EINVAL, "%s: expected 1 to %zu words",
			      w->word[0], most);
	if (w->rc)
		return;
	to->word = calloc(w->n, sizeof(*to->word));
	while (to->word && to->n < w->n - 1) {
		to->word[to->n] = strdup(w->word[to->n + 1]);
		if (!to->word[to->n])
			break;
		to->n++;
	}
	if (to->n < w->n - 1)
		np_words_no_memory(w);
}

static void take_count(struct np_words *w, uint32_t *to, uint32_t most)
{
	uint64_t n = np_words_count(w, 1, most);

	if (!w->rc && (w->n != 2 || !n))
		np_words_fail(w, -EINVAL, "%s: expected one number, 1 to %u",
			      w->word[0], most);
	*to = (uint32_t)n;
}

static void take_time(struct np_words *w, double *to)
{
	*to = np_words_time(w, 1);
	if (!w->rc && w->n != 2)
		np_words_fail(w, -EINVAL, "%s: expected one time", w->word[0]);
}

static void take_directory(struct np_words *w, struct np_validate_program *p)
{
	const char *path = np_words_at(w, 1);

	if (w->n != 2 || *path != '/' || p->directory) {
		np_words_fail(w, -EINVAL, "directory: expected one, once, from "
			      "the root on");
		return;
	}
	p->directory = strdup(path);
	if (!p->directory)
		np_words_no_memory(w);
}

static void take_line(struct np_words *w, struct np_validate_list *l)
{
	struct np_validate_program *p = l->n ? &l->program[l->n - 1] : NULL;

	if (np_words_is(w, 0, "program"))
		begin(w, l);
	else if (!p)
		np_words_fail(w, -EINVAL, "\"%.40s\": expected program and its "
			      "name first", w->word[0]);
	else if (np_words_is(w, 0, "nodes"))
		take_count(w, &p->nodes, NP_VALIDATE_MAX_NODES);
	else if (np_words_is(w, 0, "per-node"))
		take_count(w, &p->per_node, NP_VALIDATE_MAX_TASKS);
	else if (np_words_is(w, 0, "directory"))
		take_directory(w, p);
	else if (np_words_is(w, 0, "srun"))
		take_words(w, &p->srun, NP_VALIDATE_MAX_OPTIONS);
	else if (np_words_is(w, 0, "run"))
		take_words(w, &p->run, NP_VALIDATE_MAX_WORDS);
	else if (np_words_is(w, 0, "longer"))
		take_words(w, &p->longer, NP_VALIDATE_MAX_WORDS);
	else if (np_words_is(w, 0, "begins"))
		take_time(w, &p->begins_sec);
	else if (np_words_is(w, 0, "takes"))
		take_time(w, &p->takes_sec);
	else
		np_words_fail(w, -EINVAL, "\"%.40s\": expected program, nodes, "
			      "per-node, directory, srun, run, longer, begins "
			      "or takes", w->word[0]);
}

/* What a program cannot do without. */
static void check(struct np_words *w, const struct np_validate_list *l)
{
	if (!l->n)
		np_words_fail(w, -EINVAL, "expected a line with program and its "
			      "name");
	for (size_t i = 0; i < l->n; i++) {
		if (!l->program[i].nodes)
			np_words_fail(w, -EINVAL, "program %s: expected a line "
				      "with nodes", l->program[i].name);
		if (!l->program[i].run.n)
			np_words_fail(w, -EINVAL, "program %s: expected a line "
				      "with run and its command",
				      l->program[i].name);
	}
}

int np_validate_list_parse(const char *text, size_t len, const char *source,
			   struct np_validate_list *out, struct np_err *err)
{
	struct np_validate_list l = { .n = 0 };
	struct np_words w;

	np_words_open(&w, text, len, source, err);
	while (np_words_next(&w))
		take_line(&w, &l);
	check(&w, &l);
	if (w.rc)
		np_validate_list_free(&l);
	else
		*out = l;
	return w.rc;
}

int np_validate_list_read(const char *path, struct np_validate_list *out,
			  struct np_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = np_read_file(path, NP_VALIDATE_MAX_BYTES, &text, &len, err);

	if (!rc)
		rc = np_validate_list_parse(text, len, path, out, err);
	free(text);
	return rc;
}

static void put_words(FILE *f, const char *what,
		      const struct np_validate_words *words)
{
	if (words->n)
		fprintf(f, " %s", what);
	for (size_t i = 0; i < words->n; i++)
		fprintf(f, " %s", words->word[i]);
}

char *np_validate_list_text(const struct np_validate_list *l)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct np_validate_program *p = &l->program[i];

		fprintf(f, "%s%s nodes %u per-node %u", i ? "; " : "",
			p->name, p->nodes, p->per_node);
		if (p->directory)
			fprintf(f, " directory %s", p->directory);
		put_words(f, "srun", &p->srun);
		put_words(f, "run", &p->run);
		put_words(f, "longer", &p->longer);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
