#include "np_sacct.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <json-c/json.h>
#include <json-c/json_pointer.h>

#include "np_option.h"

#define LATEST 1e11 /* the year 5138 */

/* ---- rows ---- */

/* Cut the next field off *line, which becomes NULL after the last one. */
static char *next_field(char **line, const char *delimiter)
{
	char *field = *line, *end = strstr(field, delimiter);

	*line = end ? end + strlen(delimiter) : NULL;
	if (end)
		*end = '\0';
	return field;
}

/* The caller's column of that name, or NP_SACCT_NONE. */
static size_t find_column(const char *const *name, size_t n_names,
			  const char *field)
{
	for (size_t i = 0; i < n_names; i++)
		if (!strcasecmp(name[i], field))
			return i;
	return NP_SACCT_NONE;
}

/* Append a name to a list, unless it has no room for it. */
static void add_name(char *list, size_t size, const char *name)
{
	size_t len = strlen(list);

	if (*name && len + strlen(name) + 3 < size)
		sprintf(list + len, "%s%s", len ? ", " : "", name);
}

void np_sacct_read_head(char *line, const char *delimiter,
			const char *const *name, size_t n_names,
			struct np_sacct_head *out)
{
	*out = (struct np_sacct_head){ .twice = NP_SACCT_NONE };
	while (line && out->n < NP_SACCT_MAX_COLUMNS) {
		const char *field = next_field(&line, delimiter);
		size_t at = find_column(name, n_names, field);

		if (at == NP_SACCT_NONE)
			add_name(out->unused, sizeof(out->unused), field);
		else if (out->has[at])
			out->twice = at;
		else
			out->has[at] = true;
		out->column[out->n++] = at;
	}
	out->more = line != NULL;
}

size_t np_sacct_read_row(char *line, const char *delimiter,
			 const struct np_sacct_head *h, char **value,
			 size_t n_names)
{
	static char none[1];
	size_t n = 0;

	for (size_t i = 0; i < n_names; i++)
		value[i] = none;
	for (; line; n++) {
		char *field = next_field(&line, delimiter);

		if (n < h->n && h->column[n] != NP_SACCT_NONE)
			value[h->column[n]] = field;
	}
	return n;
}

/* ---- numbers and times ---- */

int np_sacct_count(const char *text, uint32_t *n)
{
	static const char units[] = "KMGTP";
	const char *unit;
	double v;
	char *end;

	/* Exclude what strtod() would accept: signs, exponents, "0x". */
	if (!isdigit((unsigned char)*text) || strpbrk(text, "xXeE"))
		return -EINVAL;
	v = strtod(text, &end);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit)
		v = ldexp(v, 10 * (int)(unit - units + 1));
	if (end[unit != NULL] || v > UINT32_MAX)
		return -EINVAL;
	*n = (uint32_t)v;
	return 0;
}

const char *np_sacct_date(const char *text, bool utc, double *date)
{
	struct tm tm = { .tm_isdst = utc ? 0 : -1 };
	const char *end = text + strlen(text);
	uint64_t sec;

	if (!*text || !strcasecmp(text, "Unknown") ||
	    !strcasecmp(text, "None")) {
		*date = NAN;
		return end;
	}
	if (!np_whole_parse(text, (uint64_t)LATEST, &sec)) {
		*date = (double)sec;
		return end;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		return NULL;
	*date = (double)(utc ? timegm(&tm) : mktime(&tm));
	return fabs(*date) < LATEST ? end : NULL;
}

/* Take a part of a duration: digits, the last one with a fraction. */
static bool take_part(const char **p, double *out)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*out = strtod(*p, &end);
	*p = end;
	return *out < LATEST;
}

int np_sacct_duration(const char *text, double *sec)
{
	double part[3] = { 0 }, days = 0;
	const char *p = text;
	size_t n = 0;

	if (!*text) {
		*sec = NAN;
		return 0;
	}
	if (!strcasecmp(text, "UNLIMITED") ||
	    !strcasecmp(text, "Partition_Limit")) {
		*sec = INFINITY;
		return 0;
	}
	/* Exclude what strtod() would accept: signs, exponents, "0x". */
	if (text[strspn(text, "0123456789:-.")] || !take_part(&p, &part[n++]))
		return -EINVAL;
	if (*p == '-') {
		days = part[0];
		p++;
		if (!take_part(&p, &part[0]))
			return -EINVAL;
	}
	for (; *p == ':' && n < 3; n++) {
		p++;
		if (!take_part(&p, &part[n]))
			return -EINVAL;
	}
	if (*p || (days > 0 && n == 1 && part[0] >= 24))
		return -EINVAL;
	*sec = n == 3 ? 3600 * part[0] + 60 * part[1] + part[2] :
	       days > 0 ? 3600 * part[0] + (n == 2 ? 60 * part[1] : 0) :
	       n == 2 ? 60 * part[0] + part[1] : 60 * part[0];
	*sec += 86400 * days;
	return 0;
}

/* ---- JSON ---- */

#define MAX_DEPTH 32
#define ALLOCATED "/tres/allocated"

/*
 * Where sacct --json has what sacct says in its columns: a member of a job, and
 * another one for a job in which the first is missing or empty; and how a
 * column has it: as it is, as a date whose 0 is none, as a duration in seconds,
 * or of the largest step.
 */
static const struct meaning {
	const char *column, *path, *or_else;
	enum { AS_IT_IS, AS_DATE, AS_SECONDS, AS_JOB, AS_TASKS } as;
} meanings[] = {
	{ "JobID", "/job_id", NULL, AS_JOB },
	{ "JobIDRaw", "/job_id" },
	{ "User", "/user", "/association/user" },
	{ "Partition", "/partition" },
	{ "State", "/state/current" },
	{ "Submit", "/time/submission", NULL, AS_DATE },
	{ "Start", "/time/start", NULL, AS_DATE },
	{ "End", "/time/end", NULL, AS_DATE },
	{ "Suspended", "/time/suspended", NULL, AS_SECONDS },
	{ "NNodes", "/allocation_nodes" },
	{ "NCPUS", ALLOCATED, "/required/CPUs" },
	{ "NTasks", "/steps", NULL, AS_TASKS },
	{ "TimelimitRaw", "/time/limit" },
	{ "NodeList", "/nodes" },
	{ "JobName", "/name" },
	{ "WorkDir", "/working_directory" },
	{ "SubmitLine", "/submit_line" },
};

struct json_reader {
	const char *source, *at, *end;
	size_t line;
	struct json_tokener *tok;
	const char *const *name;
	size_t n_names;
	np_sacct_row_f *row;
	void *arg;
	struct np_err *err;
	bool found; /* the list of jobs */
	/* columns of a job that are composed */
	char id[64], suspended[64], tasks[64];
};

static int wrong(const struct json_reader *r, const char *why)
{
	return np_errf(r->err, -EINVAL, "%s:%zu: not JSON as sacct --json "
		       "prints it: %s", r->source, r->line, why);
}

/* The next character that is no white space. */
static char peek(struct json_reader *r)
{
	for (; *r->at && strchr(" \t\r\n", *r->at); r->at++)
		r->line += *r->at == '\n';
	return *r->at;
}

static bool take(struct json_reader *r, char c)
{
	if (peek(r) != c)
		return false;
	r->at++;
	return true;
}

/* Take the next value, NULL for null; json_object_put(*out). */
static int take_value(struct json_reader *r, json_object **out)
{
	enum json_tokener_error why;
	const char *from;

	peek(r);
	from = r->at;
	json_tokener_reset(r->tok);
	*out = json_tokener_parse_ex(r->tok, from, r->end - from > INT_MAX ?
				     INT_MAX : (int)(r->end - from));
	why = json_tokener_get_error(r->tok);
	r->at += json_tokener_get_parse_end(r->tok);
	for (; from < r->at; from++)
		r->line += *from == '\n';
	return why == json_tokener_success ? 0 :
	       wrong(r, why == json_tokener_continue ? "it ends too early" :
			json_tokener_error_desc(why));
}

/* The number of processors in a list of resources; NULL: it has none. */
static json_object *count_of_cpus(json_object *list)
{
	size_t n = json_object_is_type(list, json_type_array) ?
		   json_object_array_length(list) : 0;

	for (size_t i = 0; i < n; i++) {
		json_object *of = json_object_array_get_idx(list, i), *type;

		if (json_object_object_get_ex(of, "type", &type) && type &&
		    !strcmp(json_object_get_string(type), "cpu"))
			return json_object_object_get(of, "count");
	}
	return NULL;
}

/*
 * The text of a member of a job; "" if it is missing or not set.  Of a list the
 * first element counts.  Since Slurm 23.02 a number may be an object: {"set":
 * true, "infinite": false, "number": 60}.
 */
static const char *member_text(json_object *job, const char *path)
{
	json_object *j = NULL, *set;

	json_pointer_get(job, path, &j);
	if (!strcmp(path, ALLOCATED))
		j = count_of_cpus(j);
	else if (json_object_is_type(j, json_type_array))
		j = json_object_array_get_idx(j, 0);
	if (json_object_is_type(j, json_type_object)) {
		if (json_object_get_boolean(json_object_object_get(j,
							"infinite")))
			return "UNLIMITED";
		if (json_object_object_get_ex(j, "set", &set) &&
		    !json_object_get_boolean(set))
			return "";
		j = json_object_object_get(j, "number");
	}
	return j ? json_object_get_string(j) : "";
}

static bool has_member(json_object *job, const char *path)
{
	json_object *j;

	return path && !json_pointer_get(job, path, &j);
}

/* "12", "12_3", "12_[4-9]" or "12+1", as sacct prints it. */
static const char *job_id(struct json_reader *r, json_object *job)
{
	const char *array = member_text(job, "/array/job_id");
	const char *task = member_text(job, "/array/task_id");
	const char *tasks = member_text(job, "/array/task");
	const char *het = member_text(job, "/het/job_id");
	const char *offset = member_text(job, "/het/job_offset");

	if (*array && strcmp(array, "0") && *task)
		snprintf(r->id, sizeof(r->id), "%.31s_%.31s", array, task);
	else if (*array && strcmp(array, "0") && *tasks)
		snprintf(r->id, sizeof(r->id), "%.31s_[%.29s]", array, tasks);
	else if (*het && strcmp(het, "0") && *offset)
		snprintf(r->id, sizeof(r->id), "%.31s+%.31s", het, offset);
	else
		return member_text(job, "/job_id");
	return r->id;
}

/* The tasks of the largest step that is not Slurm's own; "": not known. */
static const char *most_tasks(struct json_reader *r, json_object *job)
{
	static const char *const others[] = { "batch", "extern",
					      "interactive" };
	json_object *steps = NULL;
	uint32_t most = 0, n;

	json_pointer_get(job, "/steps", &steps);
	for (size_t i = 0; json_object_is_type(steps, json_type_array) &&
	     i < json_object_array_length(steps); i++) {
		json_object *step = json_object_array_get_idx(steps, i);
		const char *name = member_text(step, "/step/name");

		if (find_column(others, NP_ARRAY_SIZE(others), name) ==
		    NP_SACCT_NONE &&
		    !np_sacct_count(member_text(step, "/tasks/count"), &n) &&
		    n > most)
			most = n;
	}
	if (!most)
		return "";
	snprintf(r->tasks, sizeof(r->tasks), "%u", most);
	return r->tasks;
}

/* What a column of sacct says about the job; *has: it is known. */
static const char *column_value(struct json_reader *r, json_object *job,
				const char *column, bool *has)
{
	const struct meaning *m = meanings, *end = m + NP_ARRAY_SIZE(meanings);
	const char *text;

	while (m < end && strcasecmp(m->column, column))
		m++;
	*has = m < end && (has_member(job, m->path) ||
			   has_member(job, m->or_else));
	if (m < end && m->as == AS_TASKS)
		return most_tasks(r, job);
	text = m < end ? member_text(job, m->path) : "";
	if (m < end && m->or_else && !*text)
		text = member_text(job, m->or_else);
	if (m == end || !*text)
		return text;
	switch (m->as) {
	case AS_JOB:
		return job_id(r, job);
	case AS_DATE:
		return strcmp(text, "0") ? text : "Unknown";
	case AS_SECONDS:
		snprintf(r->suspended, sizeof(r->suspended), "0:%.31s", text);
		return r->suspended;
	default:
		return text;
	}
}

static int take_job(struct json_reader *r)
{
	char *value[NP_SACCT_MAX_COLUMNS];
	bool has[NP_SACCT_MAX_COLUMNS];
	json_object *job;
	size_t line;
	int rc;

	if (peek(r) != '{')
		return wrong(r, "expected a job");
	line = r->line;
	rc = take_value(r, &job);
	if (rc)
		return rc;
	for (size_t i = 0; i < r->n_names; i++)
		value[i] = (char *)column_value(r, job, r->name[i], &has[i]);
	rc = r->row(r->arg, value, has, line);
	json_object_put(job);
	return rc;
}

/* The list of jobs, of which one is in memory as JSON at a time. */
static int take_jobs(struct json_reader *r)
{
	int rc;

	r->found = true;
	if (!take(r, '['))
		return wrong(r, "expected a list of jobs");
	if (take(r, ']'))
		return 0;
	do
		rc = take_job(r);
	while (!rc && take(r, ','));
	return rc || take(r, ']') ? rc :
	       wrong(r, "expected \",\" or \"]\" after a job");
}

static int take_member(struct json_reader *r)
{
	json_object *j;
	bool jobs;
	int rc;

	if (peek(r) != '"')
		return wrong(r, "expected the name of a member");
	rc = take_value(r, &j);
	if (rc)
		return rc;
	jobs = !r->found && !strcmp(json_object_get_string(j), "jobs");
	json_object_put(j);
	if (!take(r, ':'))
		return wrong(r, "expected \":\"");
	if (jobs)
		return take_jobs(r);
	rc = take_value(r, &j);
	if (!rc)
		json_object_put(j);
	return rc;
}

static int take_answer(struct json_reader *r)
{
	int rc = 0;

	if (!take(r, '{'))
		return wrong(r, "expected an object");
	if (!take(r, '}')) {
		do
			rc = take_member(r);
		while (!rc && take(r, ','));
		if (!rc && !take(r, '}'))
			rc = wrong(r, "expected \",\" or \"}\" after a member");
	}
	if (!rc && peek(r))
		rc = wrong(r, "something follows its end");
	return rc;
}

int np_sacct_read_json(const char *text, const char *source,
		       const char *const *name, size_t n_names,
		       np_sacct_row_f *row, void *arg, struct np_err *err)
{
	struct json_reader r = {
		.source = source, .at = text, .end = text + strlen(text),
		.line = 1, .tok = json_tokener_new_ex(MAX_DEPTH),
		.name = name, .n_names = n_names, .row = row, .arg = arg,
		.err = err,
	};
	int rc;

	if (!r.tok)
		return -ENOMEM;
	rc = take_answer(&r);
	json_tokener_free(r.tok);
	return rc || r.found ? rc :
	       np_errf(err, -EINVAL, "%s: expected a list \"jobs\", as sacct "
		       "--json prints it", source);
}
