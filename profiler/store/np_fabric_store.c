#include "np_fabric_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "np_fabric_file.h"

struct best {
	const char *scope; /* NULL: any */
	bool found;
	struct np_calibration c;
};

/* Is a, looked at later, the better one? */
static bool better(const struct best *b, const struct np_calibration *a)
{
	if (!b->found)
		return true;
	if ((a->scope == NP_SCOPE_LEAF) != (b->c.scope == NP_SCOPE_LEAF))
		return a->scope == NP_SCOPE_LEAF;
	return a->date > b->c.date;
}

static int look(struct np_fabric_search *s, const char *text, size_t len,
		const char *path, struct np_err *err)
{
	struct best *b = s->best;
	struct np_calibration c;
	int rc = np_calibration_parse(text, len, path, &c, err);
	bool wanted;

	if (rc)
		return rc;
	wanted = !b->scope || !strcmp(np_scope_name(c.scope), b->scope);
	rc = wanted && (b->scope || c.scope == NP_SCOPE_LEAF);
	if (!wanted || !better(b, &c)) {
		np_calibration_free(&c);
		return rc;
	}
	if (b->found)
		np_calibration_free(&b->c);
	b->c = c;
	b->c.n_skipped = s->here.n;
	b->c.skipped = s->here.newest;
	b->found = true;
	return rc;
}

static struct np_fabric_search search_for(struct np_store *store,
					  const char *cluster,
					  const char *scope)
{
	return (struct np_fabric_search){
		.store = store, .cluster = cluster,
		.none = "no calibration of ",
		.no_use = "no calibration can be used",
		.scope = scope, .is_name = np_is_run_name,
		.max_bytes = NP_MEASURED_MAX_BYTES, .look = look,
	};
}

int np_fabric_store_load(struct np_store *store, const char *cluster,
			 const char *scope, struct np_calibration *out,
			 struct np_err *err)
{
	struct best b = { .scope = scope };
	char of[64] = "";
	struct np_fabric_search s = search_for(store, cluster, of);
	int rc;

	if (scope)
		snprintf(of, sizeof(of), " at scope %s", scope);
	s.best = &b;
	rc = np_fabric_search(&s, err);
	if (rc && b.found)
		np_calibration_free(&b.c);
	if (rc || !b.found)
		return rc ? rc : np_fabric_none(&s, err);
	*out = b.c;
	return 0;
}

int np_fabric_store_look(struct np_store *s, const char *cluster,
			 struct np_store_stamp *out, struct np_err *err)
{
	struct np_fabric_search any = search_for(s, cluster, "");
	char name[NP_APP_MAX + 1];
	struct np_dir d;
	struct stat st;
	int rc;

	np_fabric_dir_name(cluster, name);
	rc = np_dir_open_fabric(s, name, false, &d, err);
	if (rc == -ENOENT)
		return np_fabric_none(&any, err);
	if (rc)
		return rc;
	if (fstat(d.fd, &st))
		rc = np_errf(err, -errno, "%s: %s", d.path, strerror(errno));
	else
		*out = np_stamp_of(&st);
	np_dir_close(&d);
	return rc;
}

int np_fabric_store_save(struct np_store *s, const char *cluster, double date,
			 const char *json_text, struct np_err *err)
{
	char file[NAME_MAX + 1];
	struct np_calibration c;
	int rc;

	if (np_fabric_file_name(date, ".json", file, sizeof(file)))
		return np_errf(err, -EINVAL, "calibration: date %g: expected "
			       "seconds since 1970", date);
	/* What cannot be read again is better told to its writer. */
	rc = np_calibration_parse(json_text, strlen(json_text), file, &c, err);
	if (rc)
		return rc;
	np_calibration_free(&c);
	return np_fabric_file_write(s, cluster, file, json_text, err);
}
