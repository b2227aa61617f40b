#include "np_calibrate_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_array.h"
#include "np_read.h"
#include "np_store_file.h"

/*
 * Lines, with tabs between the fields:
 *
 *	netprof-calibration 1 BEGUN
 *	SETUP
 *	KEY	SAMPLE alone	SAMPLE beside
 *
 * A sample is "N MEAN M2 MIN MAX", and for latencies " BIN:COUNT ..." more.
 */
#define HEAD "netprof-calibration 1 "
#define MAX_RESULTS 100000
#define MAX_BYTES (64 << 20) /* of a file */

int np_cal_state_init(struct np_cal_state *s, const char *setup, double begun)
{
	*s = (struct np_cal_state){ .setup = strdup(setup), .begun = begun };
	return s->setup ? 0 : -ENOMEM;
}

void np_cal_sample_free(struct np_cal_sample *s)
{
	free(s->bins);
	*s = (struct np_cal_sample){ .bins = NULL };
}

static void result_free(struct np_cal_result *r)
{
	np_cal_sample_free(&r->alone);
	np_cal_sample_free(&r->beside);
}

void np_cal_state_free(struct np_cal_state *s)
{
	for (size_t i = 0; i < s->n; i++)
		result_free(&s->result[i]);
	free(s->result);
	free(s->setup);
	*s = (struct np_cal_state){ .setup = NULL };
}

const struct np_cal_result *np_cal_state_find(const struct np_cal_state *s,
					      const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->result[i].key, key))
			return &s->result[i];
	return NULL;
}

int np_cal_state_add(struct np_cal_state *s, struct np_cal_result *r)
{
	if (np_array_more(&s->result, s->n, sizeof(*s->result))) {
		result_free(r);
		return -ENOMEM;
	}
	s->result[s->n++] = *r;
	return 0;
}

int np_cal_sample_merge(struct np_cal_sample *to,
			const struct np_cal_sample *from)
{
	if (from->bins && !to->bins) {
		to->bins = calloc(NP_HIST_BINS, sizeof(*to->bins));
		if (!to->bins)
			return -ENOMEM;
	}
	for (size_t i = 0; from->bins && i < NP_HIST_BINS; i++)
		to->bins[i] += from->bins[i];
	np_moments_merge(&to->sec, &from->sec);
	return 0;
}

/* ---- writing ---- */

static void put_sample(FILE *f, const struct np_cal_sample *s)
{
	const struct np_moments *m = &s->sec;

	fprintf(f, "\t%" PRIu64 " %.17g %.17g %.17g %.17g", m->n, m->mean,
		m->m2, m->n ? m->min : 0, m->n ? m->max : 0);
	for (size_t i = 0; s->bins && i < NP_HIST_BINS; i++)
		if (s->bins[i])
			fprintf(f, " %zu:%" PRIu64, i, s->bins[i]);
}

char *np_cal_state_format(const struct np_cal_state *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, HEAD "%.3f\n%s\n", s->begun, s->setup);
	for (size_t i = 0; i < s->n; i++) {
		fputs(s->result[i].key, f);
		put_sample(f, &s->result[i].alone);
		put_sample(f, &s->result[i].beside);
		fputc('\n', f);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- reading ---- */

static int take_bins(char *text, struct np_cal_sample *s)
{
	char *save = NULL;
	uint64_t sum = 0;

	s->bins = calloc(NP_HIST_BINS, sizeof(*s->bins));
	if (!s->bins)
		return -ENOMEM;
	for (char *w = strtok_r(text, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		unsigned bin;
		uint64_t count;

		if (sscanf(w, "%u:%" SCNu64, &bin, &count) != 2 ||
		    bin >= NP_HIST_BINS || count > s->sec.n)
			return -EINVAL;
		s->bins[bin] += count;
		sum += count;
	}
	return sum == s->sec.n ? 0 : -EINVAL;
}

static int take_sample(char *text, struct np_cal_sample *s)
{
	struct np_moments *m = &s->sec;
	int used = 0;

	if (!text || sscanf(text, "%" SCNu64 " %lf %lf %lf %lf%n", &m->n,
			    &m->mean, &m->m2, &m->min, &m->max, &used) != 5 ||
	    m->n > UINT32_MAX || (m->n && !np_moments_valid(m)))
		return -EINVAL;
	if (!text[used])
		return 0;
	return take_bins(text + used, s);
}

static int take_line(struct np_cal_state *s, char *line)
{
	struct np_cal_result r = { .key = "" };
	char *save = NULL, *key = strtok_r(line, "\t", &save);
	int rc;

	if (!key || strlen(key) >= sizeof(r.key) || s->n >= MAX_RESULTS)
		return -EINVAL;
	strcpy(r.key, key);
	rc = take_sample(strtok_r(NULL, "\t", &save), &r.alone);
	if (!rc)
		rc = take_sample(strtok_r(NULL, "\t", &save), &r.beside);
	if (!rc && strtok_r(NULL, "\t", &save))
		rc = -EINVAL;
	if (rc) {
		result_free(&r);
		return rc;
	}
	return np_cal_state_add(s, &r);
}

static int take_all(char *copy, struct np_cal_state *s, struct np_err *err)
{
	char *save = NULL, *line = strtok_r(copy, "\n", &save), *end;
	unsigned at = 2;
	int rc = 0;

	if (!line || strncmp(line, HEAD, strlen(HEAD)))
		return np_errf(err, -EINVAL, "line 1: expected \"" HEAD
			       "DATE\"");
	s->begun = strtod(line + strlen(HEAD), &end);
	line = strtok_r(NULL, "\n", &save);
	if (*end || !(s->begun >= 0 && s->begun < 1e12) || !line)
		return np_errf(err, -EINVAL, "line 1 or 2: damaged");
	s->setup = strdup(line);
	if (!s->setup)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && (line = strtok_r(NULL, "\n", &save))) {
		at++;
		rc = take_line(s, line);
	}
	return rc ? np_errf(err, rc, "line %u: %s", at, rc == -EINVAL ?
			    "damaged" : "out of memory") : 0;
}

int np_cal_state_parse(const char *text, struct np_cal_state *out,
		       struct np_err *err)
{
	struct np_cal_state s = { .setup = NULL };
	char *copy = strdup(text);
	int rc = copy ? take_all(copy, &s, err) :
			np_errf(err, -ENOMEM, "out of memory");

	free(copy);
	if (rc)
		np_cal_state_free(&s);
	else
		*out = s;
	return rc;
}

/* ---- on disk ---- */

int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct stat st = { .st_uid = 0 };
	int fd = np_read_open(path, O_NOFOLLOW, &st), rc;
	char *text = NULL;
	ssize_t len;

	if (fd == -ENOENT)
		return fd;
	if (fd == -EINVAL || (fd >= 0 && st.st_uid != 0 &&
			      st.st_uid != geteuid()))
		len = np_errf(err, -EACCES, "%s: expected a file of yours or "
			      "of root; not trusted", path);
	else if (fd >= 0 && st.st_size > MAX_BYTES)
		len = np_errf(err, -EFBIG, "%s: larger than %d MiB", path,
			      MAX_BYTES >> 20);
	else
		len = fd < 0 ? fd : np_read_text(fd, (size_t)st.st_size, &text);
	if (fd >= 0)
		close(fd);
	if (len < 0)
		return len == -EACCES || len == -EFBIG ? (int)len :
		       np_errf(err, (int)len, "%s: %s", path,
			       strerror((int)-len));
	rc = np_cal_state_parse(text, out, &why);
	free(text);
	return rc ? np_errf(err, rc, "%s: %s", path, why.text) : 0;
}

int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err)
{
	char *text = np_cal_state_format(s);
	int rc = text ? np_file_write_path(path, text, strlen(text), 0644, err) :
			np_errf(err, -ENOMEM, "cannot write %s: %s", path,
				strerror(ENOMEM));

	free(text);
	return rc;
}
