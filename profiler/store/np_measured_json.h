/*
 * Reading bounded values out of json-c objects, for np_measured*.c and
 * np_calibration.c alone.
 */
#ifndef NP_MEASURED_JSON_H
#define NP_MEASURED_JSON_H

#include <stdbool.h>

#include <json-c/json.h>

#include "np_measured.h"

/* What is being read, for messages and for memory. */
struct np_mj {
	const char *where;	     /* file */
	struct np_measured_set *set; /* owns what is allocated */
	struct np_err *err;
	double unit_sec; /* latencies times this go into the set */
};

/* A member's path in messages: "level_beside_level[3][2]". */
#define NP_MJ_PATH 160

/* -EINVAL with "FILE: PATH: VALUE, expected WHAT". */
int np_mj_bad(const struct np_mj *j, const char *path, json_object *got,
	      const char *expected);

/* Zeroed memory that lives as long as the set; NULL with err. */
void *np_mj_alloc(const struct np_mj *j, size_t n, size_t size);

/* -EFBIG in place of -ENOMEM where the file wanted too much of it; or rc. */
int np_mj_result(const struct np_mj *j, int rc);

void np_mj_free(struct np_measured_set *s);

/* A finite number between lo and hi. */
int np_mj_number(const struct np_mj *j, json_object *o, const char *path,
		 double lo, double hi, double *out);

/*
 * A name: 1 to NP_MEASURED_NAME bytes, no space, control character or '|'.
 * o is the string, or an object with the member "name".
 */
int np_mj_name(const struct np_mj *j, json_object *o, const char *path,
	       char **out);

/* An array of exactly n elements (any number up to max if n is 0). */
int np_mj_array(const struct np_mj *j, json_object *o, const char *path,
		size_t n, size_t max);

/* null, a number, or { "n", "mean", "sd" }; lo and hi bound the mean. */
int np_mj_mean(const struct np_mj *j, json_object *o, const char *path,
	       double lo, double hi, struct np_mean *out);

/*
 * A rows x cols array of arrays of slowdowns, in out[r * cols + c]; with
 * transposed in out[c * rows + r].
 */
int np_mj_slowdowns(const struct np_mj *j, json_object *o, const char *path,
		    size_t rows, size_t cols, bool transposed,
		    struct np_mean *out);

/* Bin edges into set->bins, times unit_sec. */
int np_mj_edges(const struct np_mj *j, json_object *o, const char *path);

/*
 * One latency set: { "n", "mean", "sd", "min", "max", "counts" or "bins" },
 * whose times end in suffix ("", "_us", "_sec").  o may be NULL or null.
 */
int np_mj_latency(const struct np_mj *j, json_object *o, const char *path,
		  const char *suffix, struct np_latency *out);

/* Index of name among set->app; -EINVAL with err if there is none. */
int np_mj_program(const struct np_mj *j, json_object *o, const char *path,
	      size_t *out);

/*
 * np_measured.c: the object that text[len] is (json_object_put() it), and all
 * that it holds; np_measured_parse() is both.
 */
int np_mj_root(const char *text, size_t len, const char *where,
	       json_object **out, struct np_err *err);
int np_measured_read(json_object *root, const char *where,
		     struct np_measured *out, struct np_err *err);

/* The layouts.  root is an object; the set is empty but for its name. */
int np_measured_read_pairs(const struct np_mj *j, json_object *root);
int np_measured_read_simulated(const struct np_mj *j, json_object *root,
			       json_object *set);

/* np_measured_rows.c: rows of the set from a matrix and a list of groups. */
int np_mj_rows(const struct np_mj *j, json_object *matrix, const char *path,
	       json_object *groups, const char *groups_path);

#endif
