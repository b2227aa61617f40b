/* The files of measured pairs in the store. */
#include "np_pairs_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

/*
 * The part of the measurement that belongs to one victim; its texts are
 * borrowed. *pairs: it has a run with another program.
 */
static int part_of(const struct np_pairs *p, const char *victim,
		   struct np_pairs *out, bool *pairs)
{
	*out = (struct np_pairs){
		.name = p->name,
		.date = p->date,
		.place = p->place,
		.program = p->program,
		.n_programs = p->n_programs,
		.run = calloc(p->n_runs + 1, sizeof(*out->run)),
	};
	*pairs = false;
	if (!out->run)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_runs; i++) {
		if (strcmp(p->run[i].victim, victim))
			continue;
		out->run[out->n_runs++] = p->run[i];
		*pairs |= p->run[i].kind == NP_PAIRS_LEAF;
	}
	return 0;
}

/* Write the file into the victim's directory, if there is one. */
static int write_file(struct np_store *s, const char *app, const char *name,
		      const char *text, struct np_err *err)
{
	struct np_dir d;
	int rc = np_dir_open(s, NP_STORE_USER, geteuid(), app, false, &d, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = np_file_write(&d, name, text, strlen(text), 0640, err);
	np_dir_close(&d);
	return rc;
}

int np_pairs_store_save(struct np_store *s, const struct np_pairs *p,
			const char *victim, struct np_err *err)
{
	char name[NAME_MAX + 1], *text = NULL;
	struct np_pairs part;
	bool pairs;
	int rc = np_app_check(victim, err);

	if (rc)
		return rc;
	if (np_store_dated_name(p->n_runs ? p->run[0].start : 0,
				NP_STORE_PAIRS_SUFFIX, name))
		return np_errf(
			err, -EINVAL,
			"measured pairs: expected a first run with a date");
	if (part_of(p, victim, &part, &pairs))
		return np_errf(err, -ENOMEM, "out of memory");
	if (pairs)
		rc = np_pairs_format(&part, &text, err);
	if (pairs && !rc)
		rc = write_file(s, victim, name, text, err);
	free(text);
	free(part.run);
	return rc;
}

/* ---- reading ---- */

/* Read one file; a skipped one is reported. Returns 0, -EINVAL or -ENOMEM. */
static int load_file(const struct np_reader *from, const char *name,
		     struct np_pairs *out)
{
	struct np_err why = NP_ERR_INIT;
	char *text;
	ssize_t len = np_reader_read(from, name, &text);
	int rc;

	if (len < 0)
		return (int)len;
	rc = np_pairs_parse(text, (size_t)len, name, out, &why);
	free(text);
	if (rc && rc != -ENOMEM)
		np_reader_skip(from, "%s: skipped %s", from->dir->path,
			       why.text);
	return !rc || rc == -ENOMEM ? rc : -EINVAL;
}

static bool is_pairs_name(const char *name)
{
	return np_file_has_suffix(name, NP_STORE_PAIRS_SUFFIX);
}

/* Read the files of an open directory. */
static int load_dir(const struct np_reader *from, struct np_pairs **out,
		    size_t *n, struct np_err *err)
{
	char **names;
	size_t n_names;
	int rc = np_dir_names(from->dir, is_pairs_name, &names, &n_names, NULL,
			      err);

	if (rc)
		return rc;
	*out = calloc(NP_PAIRS_STORE_FILES, sizeof(**out));
	rc = *out ? 0 : -ENOMEM;
	for (size_t i = 0;
	     rc != -ENOMEM && i < n_names && i < NP_PAIRS_STORE_FILES; i++) {
		rc = load_file(from, names[i], &(*out)[*n]);
		*n += !rc;
	}
	np_names_free(names, n_names);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : 0;
}

int np_pairs_store_load(struct np_store *s, enum np_store_owner owner,
			uid_t uid, const char *app, np_store_warn_f *warn,
			void *arg, struct np_pairs **out, size_t *n,
			struct np_err *err)
{
	struct np_dir d;
	const struct np_reader from = { &d, NP_PAIRS_MAX_BYTES, warn, arg };
	int rc = np_dir_open(s, owner, uid, app, false, &d, err);

	*out = NULL;
	*n = 0;
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = load_dir(&from, out, n, err);
	np_dir_close(&d);
	while (rc && *n)
		np_pairs_free(&(*out)[--*n]);
	if (rc) {
		free(*out);
		*out = NULL;
	}
	return rc;
}
