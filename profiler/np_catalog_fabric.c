/* The calibration that the catalog's applications are seen on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "np_catalog_impl.h"

/* Of the cluster's directory; 0: it is not there. */
static struct timespec mtime_of(const struct np_catalog *c,
				const struct np_store *s)
{
	struct timespec none = { 0, 0 };
	struct np_dir d;
	struct stat st;

	if (np_dir_open_fabric(s, c->cluster, false, &d, NULL))
		return none;
	if (!fstat(d.fd, &st))
		none = st.st_mtim;
	np_dir_close(&d);
	return none;
}

static void drop(struct np_catalog *c)
{
	np_predictor_free(c->predictor);
	c->predictor = NULL;
	if (c->calibrated)
		np_calibration_free(&c->cal);
	c->calibrated = false;
}

static int load(struct np_catalog *c, struct np_store *s, struct np_err *err)
{
	const struct np_predict_opt opt = { .replicates = 0 };
	const struct np_model *m = np_model_find(NP_MODEL_DEFAULT, err);
	time_t date;
	struct tm tm;
	char day[32];
	int rc = np_fabric_store_load(s, c->cluster, NULL, &c->cal, err);

	if (rc)
		return rc;
	c->calibrated = true;
	rc = np_predictor_new(c->cal.fabric, m, &opt, &c->predictor, err);
	if (rc) {
		drop(c);
		return rc;
	}
	date = (time_t)c->cal.date;
	strftime(day, sizeof(day), "%Y-%m-%d %H:%M", localtime_r(&date, &tm));
	snprintf(c->fabric, sizeof(c->fabric), "calibrated %s, %zu levels",
		 day, c->cal.fabric->n_levels);
	return 0;
}

int np_catalog_calibrate(struct np_catalog *c, struct np_store *s,
			 bool *changed, struct np_err *err)
{
	struct timespec mtime = mtime_of(c, s);
	int rc;

	if (c->fabric[0] && mtime.tv_sec == c->fabric_mtime.tv_sec &&
	    mtime.tv_nsec == c->fabric_mtime.tv_nsec) {
		if (!c->calibrated)
			*err = c->why;
		return c->calibrated ? 0 : -ENOENT;
	}
	c->fabric_mtime = mtime;
	*changed = true;
	/* The subjects borrow from the calibration. */
	for (size_t i = 0; i < c->n; i++) {
		np_subject_free(&c->listed[i].subject);
		c->listed[i].usable = false;
		if (c->listed[i].profile >= 0)
			np_conflict_forget(c->conflict,
					   (uint32_t)c->listed[i].profile);
	}
	drop(c);
	rc = load(c, s, &c->why);
	if (rc) {
		snprintf(c->fabric, sizeof(c->fabric), "none: %s",
			 c->why.text);
		*err = c->why;
		return rc == -ENOMEM ? rc : -ENOENT;
	}
	for (size_t i = 0; !rc && i < c->n; i++)
		if (c->listed[i].read)
			rc = np_catalog_judge(c, &c->listed[i], changed);
	return rc;
}
