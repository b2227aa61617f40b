/* The calibration in use; another one means that all is read anew. */
#include "np_catalog_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_SEC 5.0

void np_catalog_uncalibrate(struct np_catalog *c)
{
	if (!c->calibrated)
		return;
	np_predictor_free(c->models);
	np_calibration_free(&c->cal);
	c->models = NULL;
	c->calibrated = false;
}

/* "coupling 0.91" of a scope, or what else is to be said of it. */
static void say_coupling(const struct np_calibration *cal, enum np_scope scope,
			 char *buf, size_t len)
{
	const struct np_mean *k = &cal->fabric->coupling[scope];

	if (!np_mean_known(k))
		snprintf(buf, len, "not measured");
	else if (np_coupling_none(k))
		snprintf(buf, len, "no effect");
	else
		snprintf(buf, len, "%.2f", k->mean);
}

static void describe(struct np_catalog *c)
{
	const char *const *names = np_scope_names;
	time_t t = (time_t)c->cal.date;
	char text[NP_N_SCOPES][32], date[32] = "an unknown date";
	struct tm tm;

	if (c->cal.date > 0 && gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (int i = 0; i < NP_N_SCOPES; i++)
		say_coupling(&c->cal, (enum np_scope)i, text[i],
			     sizeof(text[i]));
	np_errf(&c->fabric, 0, "of %s, cluster %.64s, %zu "
		"levels at scope %.16s; coupling: %s %s, %s %s, %s %s", date,
		c->cal.cluster, c->cal.fabric->n_levels, np_scope_name(c->cal.scope),
		names[0], text[0], names[1], text[1], names[2], text[2]);
}

/* Nothing that was derived from the former one holds. */
static void judge_anew(struct np_catalog *c)
{
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

		np_catalog_drop_evidence(a);
		np_catalog_forget(c, a);
		if (a->there)
			np_catalog_set_to_read(c, a, true);
		else /* read it when it is seen again */
			a->stamp = (struct np_store_stamp){ .dev = 0 };
	}
	c->changed = true;
}

static int load(struct np_catalog *c, struct np_err *err)
{
	static const struct np_predict_opt opt = { .replicates = 0, .seed = 1 };
	struct np_predictor *models;
	struct np_calibration cal;
	int rc = np_fabric_store_load(c->store, c->cluster, NULL, &cal, err);

	if (rc)
		return rc;
	rc = np_predictor_new(cal.fabric, np_model_find(NP_MODEL_DEFAULT, NULL),
			      &opt, &models, err);
	if (rc) {
		np_calibration_free(&cal);
		return rc;
	}
	np_catalog_uncalibrate(c);
	c->cal = cal;
	c->models = models;
	c->calibrated = true;
	np_catalog_say_begin(c, &c->cal_said, NULL);
	if (cal.n_skipped)
		np_catalog_say(cal.skipped.text, c);
	np_catalog_say_end(c);
	describe(c);
	return 0;
}

/* Is there another one than that which is in use, or failed? */
static int look(struct np_catalog *c, double now, bool *other,
		struct np_err *err)
{
	struct np_store_stamp stamp;
	int rc = np_fabric_store_look(c->store, c->cluster, &stamp, err);

	if (rc) {
		c->cal_stamp = (struct np_store_stamp){ .dev = 0 };
		return rc;
	}
	*other = !np_catalog_same_stamp(&stamp, &c->cal_stamp);
	if (*other) {
		c->cal_again = np_store_is_racy(&stamp) ?
			       now + NP_STORE_RACY_SEC : 0;
	} else if (c->cal_again && now >= c->cal_again) {
		*other = true;
		c->cal_again = 0;
	}
	c->cal_stamp = stamp;
	return 0;
}

int np_catalog_calibrate(struct np_catalog *c, struct np_err *err)
{
	double now = np_catalog_now(c);
	bool other = false;
	int rc;

	if (now < c->cal_due)
		goto out;
	c->cal_due = now + LOOK_SEC;
	rc = look(c, now, &other, &c->cal_err);
	if (!rc && !other)
		goto out; /* as it was */
	if (!rc)
		rc = load(c, &c->cal_err);
	if (rc)
		np_catalog_uncalibrate(c);
	else
		judge_anew(c);
	if (rc && rc != -ENOENT && rc != -EINVAL) /* may pass by itself */
		c->cal_stamp = (struct np_store_stamp){ .dev = 0 };
	c->cal_rc = rc;
out:
	return c->cal_rc ? np_errf(err, c->cal_rc, "%s", c->cal_err.text) : 0;
}
