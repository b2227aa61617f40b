#include "np_trace_analysis.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_fields.h"
#include "np_read.h"
#include "np_store.h"
#include "np_trace_dir.h"

#define MAX_SCAN 65536	   /* entries of a directory */
#define MAX_TIMES 1e15	   /* run time, relative to that without delay */
#define MAX_ADDED_SEC 1e12 /* latency */
#define N_TIMES ((size_t)NP_RESPONSE_GAPS * NP_RESPONSE_LATENCIES)

/* clang-format off */
static const struct np_fields net_table = NP_FIELDS(np_loggps,
	NP_FIELD(np_loggps, NP_F_REAL, L_ns, NP_LOGGPS_MAX, NP_F_REQUIRED),
	NP_FIELD(np_loggps, NP_F_REAL, o_ns, NP_LOGGPS_MAX, NP_F_REQUIRED),
	NP_FIELD(np_loggps, NP_F_REAL, G_ns, NP_LOGGPS_MAX, NP_F_REQUIRED),
	/* No rendezvous is 0 in the file; the number in memory is too large. */
	NP_FIELD(np_loggps, NP_F_U64, S, NP_JSON_COUNT, 0),
	NP_FIELD(np_loggps, NP_F_BOOL, first_byte_free, 1, 0),
	NP_FIELD(np_loggps, NP_F_REAL, g_ns, NP_LOGGPS_MAX, 0),
	NP_FIELD(np_loggps, NP_F_REAL, O_ns, NP_LOGGPS_MAX, 0),
);

static const struct np_fields threshold_table = NP_FIELDS(np_trace_threshold,
	NP_FIELD(np_trace_threshold, NP_F_REAL, longer, 1000, NP_F_REQUIRED),
	NP_FIELD(np_trace_threshold, NP_F_REAL, added_sec, MAX_ADDED_SEC,
		 NP_F_NAN),
);

static const struct np_fields traced_table = NP_FIELDS(np_trace_analysis,
	{ "schema", NP_F_SCHEMA, .max = NP_TRACE_ANALYSIS_SCHEMA },
	NP_FIELD(np_trace_analysis, NP_F_REAL, date, NP_JSON_DATE,
		 NP_F_REQUIRED),
	NP_FIELD(np_trace_analysis, NP_F_TEXT, netprof_version, NP_JSON_WORD,
		 NP_F_NEVER_NULL),
	NP_FIELD(np_trace_analysis, NP_F_TEXT, why, NP_JSON_PATH,
		 NP_F_NEVER_NULL),
	NP_FIELD(np_trace_analysis, NP_F_REAL, trace_bytes, NP_JSON_COUNT,
		 NP_F_REQUIRED),
	NP_FIELD_OF(np_trace_analysis, NP_F_OBJECT, net, &net_table),
	NP_FIELD_LIST(np_trace_analysis, "zones", threshold, n_thresholds,
		      NP_TRACE_THRESHOLDS, 0, &threshold_table),
	{ "times", NP_F_NUMBERS, offsetof(struct np_trace_analysis, times),
	  N_TIMES, 0, MAX_TIMES,
	  .count = offsetof(struct np_trace_analysis, n_times) },
);
/* clang-format on */

double np_trace_bytes(const char *path)
{
	struct dirent *e;
	struct stat st;
	size_t seen = 0;
	double sum = 0;
	DIR *d;

	if (stat(path, &st))
		return 0;
	if (!S_ISDIR(st.st_mode))
		return (double)st.st_size;
	d = opendir(path);
	while (d && seen++ < MAX_SCAN && (e = readdir(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			sum += (double)st.st_size;
	if (d)
		closedir(d);
	return sum;
}

bool np_trace_analysis_fits(const struct np_trace_analysis *t,
			    double trace_bytes, const struct np_loggps *net)
{
	const struct np_loggps *a = &t->net;

	return t->trace_bytes == trace_bytes && a->L_ns == net->L_ns &&
	       a->o_ns == net->o_ns && a->G_ns == net->G_ns && a->S == net->S &&
	       a->g_ns == net->g_ns && a->O_ns == net->O_ns &&
	       a->first_byte_free == net->first_byte_free;
}

bool np_trace_analysis_response(const struct np_trace_analysis *t,
				struct np_response *out)
{
	if (t->n_times != N_TIMES)
		return false;
	memcpy(out->times, t->times, sizeof(out->times));
	return true;
}

int np_trace_analysis_put(const struct np_trace_analysis *t, char **out,
			  struct np_err *err)
{
	struct np_jput o = { .at = { .where = "the analysis of a trace",
				     .err = err } };
	struct np_trace_analysis stored = *t;

	if (stored.net.S == NP_LOGGPS_NO_RENDEZVOUS)
		stored.net.S = 0;
	return np_fields_print(&o, &stored, &traced_table, out);
}

/* Check what the field table cannot express. */
static int check_lists(const struct np_jat *in,
		       const struct np_trace_analysis *t)
{
	if (t->n_thresholds && t->n_thresholds != NP_TRACE_THRESHOLDS)
		return np_jat_refuse(in, "zones", "3 of them");
	if (t->n_times && t->n_times != N_TIMES)
		return np_jat_refuse(in, "times", "416 numbers");
	for (size_t i = 0; i < t->n_times; i++)
		if (!(t->times[i] > 0) || !isfinite(t->times[i]))
			return np_jat_refuse(in, "times", "numbers above 0");
	return 0;
}

int np_trace_analysis_get(const char *text, size_t len, const char *where,
			  struct np_trace_analysis *out, struct np_err *err)
{
	const struct np_jat in = { .where = where, .err = err };
	struct np_trace_analysis t = { 0 };
	int rc = len > NP_TRACE_ANALYSIS_MAX_BYTES ?
			 np_jat_refuse(&in, "", "64 KiB at most") :
			 np_fields_parse(&in, text, len, &t, &traced_table);

	if (!rc)
		rc = check_lists(&in, &t);
	if (!t.net.S)
		t.net.S = NP_LOGGPS_NO_RENDEZVOUS;
	if (rc)
		np_trace_analysis_free(&t);
	else
		*out = t;
	return rc;
}

void np_trace_analysis_free(struct np_trace_analysis *t)
{
	np_fields_free(t, &traced_table);
	*t = (struct np_trace_analysis){ 0 };
}

/* JOB.STEP.trace to JOB.STEP.curve; -ENOENT: the path has another ending. */
static int curve_path(const char *trace, char *buf, size_t len)
{
	size_t n = strlen(trace), end = strlen(NP_TRACE_SUFFIX);

	if (n <= end || strcmp(trace + n - end, NP_TRACE_SUFFIX))
		return -ENOENT;
	return snprintf(buf, len, "%.*s.curve", (int)(n - end), trace) >=
			       (int)len ?
		     -ENAMETOOLONG :
		     0;
}

int np_trace_analysis_load(const char *trace, uid_t uid,
			   struct np_trace_analysis *out)
{
	char path[PATH_MAX], *text = NULL;
	struct stat st;
	ssize_t len;
	int fd, rc = curve_path(trace, path, sizeof(path));

	if (rc)
		return rc;
	fd = np_read_open(path, O_NOFOLLOW, &st);
	if (fd < 0)
		return fd;
	len = st.st_uid != uid ?
		    -EACCES :
		    np_read_text(fd, NP_TRACE_ANALYSIS_MAX_BYTES + 1, &text);
	close(fd);
	rc = len < 0 ?
		     (int)len :
		     np_trace_analysis_get(text, (size_t)len, path, out, NULL);
	free(text);
	return rc;
}

/* Does the caller own this directory? */
static bool owns_directory(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

bool np_trace_is_own(const char *trace)
{
	char path[PATH_MAX], *slash;

	if (curve_path(trace, path, sizeof(path)) || !owns_directory(trace))
		return false;
	slash = strrchr(path, '/');
	strcpy(slash ? slash : path, slash ? "" : ".");
	return owns_directory(*path ? path : "/");
}

int np_trace_analysis_save(const char *trace, const struct np_trace_analysis *t)
{
	char path[PATH_MAX], *text;
	int rc = curve_path(trace, path, sizeof(path));

	if (!rc && !np_trace_is_own(trace))
		rc = -EACCES;
	if (!rc)
		rc = np_trace_analysis_put(t, &text, NULL);
	if (rc)
		return rc;
	rc = np_file_write_path(path, text, strlen(text), 0640, NULL);
	free(text);
	return rc;
}
