#include "np_loggps_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_fabric_file.h"

#define SUFFIX ".loggps"

struct best {
	bool across, found;
	struct np_loggps_record r;
};

static bool is_ours(const char *name)
{
	size_t len = strlen(name), end = strlen(SUFFIX);

	return name[0] != '.' && len > end &&
	       !strcmp(name + len - end, SUFFIX);
}

/* Names are in the order of dates. */
static int look(struct np_fabric_search *s, const char *text, size_t len,
		const char *path, struct np_err *err)
{
	struct best *b = s->best;
	struct np_loggps_record r;
	int rc = np_loggps_record_get(text, len, path, &r, err);

	if (rc)
		return rc;
	rc = r.across == b->across;
	if (!rc || (b->found && b->r.date >= r.date)) {
		np_loggps_record_free(&r);
		return rc;
	}
	if (b->found)
		np_loggps_record_free(&b->r);
	b->r = r;
	b->found = true;
	return rc;
}

int np_loggps_store_load(struct np_store *store, const char *cluster,
			 bool across, struct np_loggps_record *out,
			 struct np_err *err)
{
	struct best b = { .across = across };
	struct np_fabric_search s = {
		.store = store, .cluster = cluster,
		.none = "no LogGPS parameters of ",
		.no_use = "no LogGPS parameters can be used",
		.scope = across ? " across leaf switches" : "",
		.is_name = is_ours, .max_bytes = NP_LOGGPS_MAX_BYTES,
		.look = look, .best = &b,
	};
	int rc = np_fabric_search(&s, err);

	if (rc && b.found)
		np_loggps_record_free(&b.r);
	if (rc || !b.found)
		return rc ? rc : np_fabric_none(&s, err);
	*out = b.r;
	return 0;
}

int np_loggps_store_check(struct np_store *s, const char *cluster,
			  struct np_err *err)
{
	struct np_dir d;
	int rc = np_fabric_dir_make(s, cluster, &d, err);

	if (rc)
		return rc;
	if (faccessat(d.fd, ".", W_OK, AT_EACCESS))
		rc = np_errf(err, -errno, "%s: %s; what was measured is "
			     "written by administrators, or into a file by "
			     "--output=FILE", d.path, strerror(errno));
	np_dir_close(&d);
	return rc;
}

int np_loggps_store_save(struct np_store *s, const char *cluster,
			 const struct np_loggps_record *r, struct np_err *err)
{
	char file[NAME_MAX + 1], *text;
	int rc;

	if (np_fabric_file_name(r->date, SUFFIX, file, sizeof(file)))
		return np_errf(err, -EINVAL, "LogGPS parameters: date %g: "
			       "expected seconds since 1970", r->date);
	rc = np_loggps_record_put(r, &text, err);
	if (rc)
		return rc;
	rc = np_fabric_file_write(s, cluster, file, text, err);
	free(text);
	return rc;
}
