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

#define LATEST_SEC 1e11 /* largest date, in the year 5138, or duration */

/* ---- rows ---- */

/* Split the next field off *line, which becomes NULL after the last one. */
static char *next_field(char **line, const char *delimiter)
{
	char *field = *line, *end = strstr(field, delimiter);

	*line = end ? end + strlen(delimiter) : NULL;
	if (end)
		*end = '\0';
	return field;
}

/* The index of a name in the caller's list, or NP_SACCT_NONE. */
static size_t find_name(const char *const *names, size_t n_names,
			const char *name)
{
	for (size_t i = 0; i < n_names; i++)
		if (!strcasecmp(names[i], name))
			return i;
	return NP_SACCT_NONE;
}

/* Append a name to a list of that size; one that does not fit is dropped. */
static void add_name(char *list, size_t size, const char *name)
{
	size_t len = strlen(list);

	if (*name && len + strlen(name) + 3 < size)
		sprintf(list + len, "%s%s", len ? ", " : "", name);
}

void np_sacct_read_head(char *line, const char *delimiter,
			const char *const *names, size_t n_names,
			struct np_sacct_head *out)
{
	*out = (struct np_sacct_head){ .twice = NP_SACCT_NONE };
	while (line && out->n < NP_SACCT_MAX_COLUMNS) {
		const char *field = next_field(&line, delimiter);
		size_t column = find_name(names, n_names, field);

		if (column == NP_SACCT_NONE)
			add_name(out->unused, sizeof(out->unused), field);
		else if (out->has[column])
			out->twice = column;
		else
			out->has[column] = true;
		out->column[out->n++] = column;
	}
	out->more = line != NULL;
}

size_t np_sacct_read_row(char *line, const char *delimiter,
			 const struct np_sacct_head *head, char **value,
			 size_t n_names)
{
	static char empty[1];
	size_t n = 0;

	for (size_t i = 0; i < n_names; i++)
		value[i] = empty;
	for (; line; n++) {
		char *field = next_field(&line, delimiter);

		if (n < head->n && head->column[n] != NP_SACCT_NONE)
			value[head->column[n]] = field;
	}
	return n;
}

/* ---- numbers and times ---- */

int np_sacct_count(const char *text, uint32_t *count)
{
	static const char units[] = "KMGTP";
	const char *unit;
	double value;
	char *end;

	/* Exclude what strtod() would accept: signs, exponents, "0x". */
	if (!isdigit((unsigned char)*text) || strpbrk(text, "xXeE"))
		return -EINVAL;
	value = strtod(text, &end);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit)
		value = ldexp(value, 10 * (int)(unit - units + 1));
	if (end[unit != NULL] || value > UINT32_MAX ||
	    (!unit && value != floor(value)))
		return -EINVAL;
	*count = (uint32_t)value;
	return 0;
}

/* strptime() accepts 30 February, which timegm() takes as 2 March. */
static bool is_in_calendar(const struct tm *tm)
{
	struct tm day = { .tm_year = tm->tm_year,
			  .tm_mon = tm->tm_mon,
			  .tm_mday = tm->tm_mday };

	timegm(&day);
	return day.tm_mday == tm->tm_mday;
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
	if (!np_whole_parse(text, (uint64_t)LATEST_SEC, &sec)) {
		*date = (double)sec;
		return end;
	}
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || !is_in_calendar(&tm))
		return NULL;
	*date = (double)(utc ? timegm(&tm) : mktime(&tm));
	return fabs(*date) < LATEST_SEC ? end : NULL;
}

/* Parse a number of a duration and advance *text; it may have a fraction. */
static bool take_number(const char **text, double *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*out = strtod(*text, &end);
	*text = end;
	return *out < LATEST_SEC;
}

int np_sacct_duration(const char *text, double *sec)
{
	double part[3] = { 0 }, days = 0;
	const char *rest = text;
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
	if (text[strspn(text, "0123456789:-.")] ||
	    !take_number(&rest, &part[n++]))
		return -EINVAL;
	if (*rest == '-') {
		days = part[0];
		rest++;
		if (!take_number(&rest, &part[0]))
			return -EINVAL;
	}
	for (; *rest == ':' && n < 3; n++) {
		rest++;
		if (!take_number(&rest, &part[n]))
			return -EINVAL;
	}
	if (*rest || (days > 0 && n == 1 && part[0] >= 24))
		return -EINVAL;
	/* After days the first number is hours, not minutes. */
	*sec = n == 3	? 3600 * part[0] + 60 * part[1] + part[2] :
	       days > 0 ? 3600 * part[0] + (n == 2 ? 60 * part[1] : 0) :
	       n == 2	? 60 * part[0] + part[1] :
			  60 * part[0];
	*sec += 86400 * days;
	return 0;
}

/* ---- JSON ---- */

#define MAX_DEPTH 32
#define ALLOCATED "/tres/allocated"

/*
 * The column of sacct for each member of a job in sacct --json. The values are
 * converted to the format of the columns, so that callers need only one parser.
 */
static const struct mapping {
	const char *column;
	const char *path;     /* JSON pointer within a job */
	const char *fallback; /* where path is missing or empty; may be NULL */
	enum {
		UNCHANGED,
		DATE,	 /* 0 means unknown */
		SECONDS, /* a duration */
		JOB_ID,	 /* with its array task or offset */
		TASKS,	 /* those of the largest step */
	} format;
} mappings[] = {
	{ "JobID", "/job_id", NULL, JOB_ID },
	{ "JobIDRaw", "/job_id" },
	{ "User", "/user", "/association/user" },
	{ "Partition", "/partition" },
	{ "State", "/state/current" },
	{ "Submit", "/time/submission", NULL, DATE },
	{ "Start", "/time/start", NULL, DATE },
	{ "End", "/time/end", NULL, DATE },
	{ "Suspended", "/time/suspended", NULL, SECONDS },
	{ "NNodes", "/allocation_nodes" },
	{ "NCPUS", ALLOCATED, "/required/CPUs" },
	{ "NTasks", "/steps", NULL, TASKS },
	{ "TimelimitRaw", "/time/limit" },
	{ "NodeList", "/nodes" },
	{ "JobName", "/name" },
	{ "WorkDir", "/working_directory" },
	{ "SubmitLine", "/submit_line" },
};

struct json_reader {
	const char *source;	/* named in messages */
	const char *next, *end; /* of the text that is not parsed yet */
	size_t line;		/* that of next, from 1 */
	struct json_tokener *tokener;
	const char *const *names; /* the caller's columns */
	size_t n_names;
	np_sacct_row_f *row;
	void *arg;
	struct np_err *err;
	bool found_jobs; /* the list of jobs was found */
	/* Buffers for the converted columns of the current job. */
	char id[64], suspended[64], tasks[64];
};

static int syntax_error(const struct json_reader *reader, const char *why)
{
	return np_errf(reader->err, -EINVAL,
		       "%s:%zu: not JSON as sacct --json prints it: %s",
		       reader->source, reader->line, why);
}

/* Skip white space, and return the next character without consuming it. */
static char next_char(struct json_reader *reader)
{
	for (; *reader->next && strchr(" \t\r\n", *reader->next);
	     reader->next++)
		reader->line += *reader->next == '\n';
	return *reader->next;
}

/* Consume the next character if it is this one. */
static bool take_char(struct json_reader *reader, char c)
{
	if (next_char(reader) != c)
		return false;
	reader->next++;
	return true;
}

/* Parse the next value, NULL for null; json_object_put(*out) releases it. */
static int take_value(struct json_reader *reader, json_object **out)
{
	enum json_tokener_error error;
	const char *start;

	next_char(reader);
	start = reader->next;
	json_tokener_reset(reader->tokener);
	*out = json_tokener_parse_ex(reader->tokener, start,
				     reader->end - start > INT_MAX ?
					     INT_MAX :
					     (int)(reader->end - start));
	error = json_tokener_get_error(reader->tokener);
	reader->next += json_tokener_get_parse_end(reader->tokener);
	for (; start < reader->next; start++)
		reader->line += *start == '\n';
	return error == json_tokener_success ?
		       0 :
		       syntax_error(reader,
				    error == json_tokener_continue ?
					    "it ends too early" :
					    json_tokener_error_desc(error));
}

/* The number of processors in a list of resources; NULL: it has none. */
static json_object *cpu_count(json_object *list)
{
	size_t n = json_object_is_type(list, json_type_array) ?
			   json_object_array_length(list) :
			   0;

	for (size_t i = 0; i < n; i++) {
		json_object *resource = json_object_array_get_idx(list, i);
		json_object *type;

		if (json_object_object_get_ex(resource, "type", &type) &&
		    type && !strcmp(json_object_get_string(type), "cpu"))
			return json_object_object_get(resource, "count");
	}
	return NULL;
}

/*
 * The text of a member of a job; "" if it is missing or not set. Of a list,
 * such as the states of a job, it is the first element. Since Slurm 23.02 a
 * number may be an object: {"set": true, "infinite": false, "number": 60}.
 */
static const char *member_text(json_object *job, const char *path)
{
	json_object *value = NULL, *infinite, *set;

	json_pointer_get(job, path, &value);
	if (!strcmp(path, ALLOCATED))
		value = cpu_count(value);
	else if (json_object_is_type(value, json_type_array))
		value = json_object_array_get_idx(value, 0);
	if (json_object_is_type(value, json_type_object)) {
		infinite = json_object_object_get(value, "infinite");
		if (json_object_get_boolean(infinite))
			return "UNLIMITED";
		if (json_object_object_get_ex(value, "set", &set) &&
		    !json_object_get_boolean(set))
			return "";
		value = json_object_object_get(value, "number");
	}
	return value ? json_object_get_string(value) : "";
}

static bool has_member(json_object *job, const char *path)
{
	json_object *value;

	return path && !json_pointer_get(job, path, &value);
}

/* The id as in the column JobID: "12", "12_3", "12_[4-9]" or "12+1". */
static const char *job_id(struct json_reader *reader, json_object *job)
{
	const char *array = member_text(job, "/array/job_id");
	const char *task = member_text(job, "/array/task_id");
	const char *tasks = member_text(job, "/array/task");
	const char *het = member_text(job, "/het/job_id");
	const char *offset = member_text(job, "/het/job_offset");

	if (*array && strcmp(array, "0") && *task)
		snprintf(reader->id, sizeof(reader->id), "%.31s_%.31s", array,
			 task);
	else if (*array && strcmp(array, "0") && *tasks)
		snprintf(reader->id, sizeof(reader->id), "%.31s_[%.29s]", array,
			 tasks);
	else if (*het && strcmp(het, "0") && *offset)
		snprintf(reader->id, sizeof(reader->id), "%.31s+%.31s", het,
			 offset);
	else
		return member_text(job, "/job_id");
	return reader->id;
}

/* The tasks of the largest step that a user started; "": not known. */
static const char *most_tasks(struct json_reader *reader, json_object *job)
{
	static const char *const slurm_steps[] = { "batch", "extern",
						   "interactive" };
	json_object *steps = NULL;
	uint32_t most = 0, n;

	json_pointer_get(job, "/steps", &steps);
	for (size_t i = 0; json_object_is_type(steps, json_type_array) &&
			   i < json_object_array_length(steps);
	     i++) {
		json_object *step = json_object_array_get_idx(steps, i);
		const char *name = member_text(step, "/step/name");

		if (find_name(slurm_steps, NP_ARRAY_SIZE(slurm_steps), name) ==
			    NP_SACCT_NONE &&
		    !np_sacct_count(member_text(step, "/tasks/count"), &n) &&
		    n > most)
			most = n;
	}
	if (!most)
		return "";
	snprintf(reader->tasks, sizeof(reader->tasks), "%u", most);
	return reader->tasks;
}

/* NULL: sacct --json has no such column. */
static const struct mapping *find_mapping(const char *column)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(mappings); i++)
		if (!strcasecmp(mappings[i].column, column))
			return &mappings[i];
	return NULL;
}

/*
 * The value of a job as in that column of sacct. *has: the job has the member,
 * which may be empty.
 */
static const char *column_value(struct json_reader *reader, json_object *job,
				const char *column, bool *has)
{
	const struct mapping *mapping = find_mapping(column);
	const char *text;

	*has = mapping && (has_member(job, mapping->path) ||
			   has_member(job, mapping->fallback));
	if (!mapping)
		return "";
	if (mapping->format == TASKS)
		return most_tasks(reader, job);
	text = member_text(job, mapping->path);
	if (mapping->fallback && !*text)
		text = member_text(job, mapping->fallback);
	if (!*text)
		return text;
	switch (mapping->format) {
	case JOB_ID:
		return job_id(reader, job);
	case DATE:
		return strcmp(text, "0") ? text : "Unknown";
	case SECONDS:
		snprintf(reader->suspended, sizeof(reader->suspended),
			 "0:%.31s", text);
		return reader->suspended;
	default:
		return text;
	}
}

static int take_job(struct json_reader *reader)
{
	char *value[NP_SACCT_MAX_COLUMNS];
	bool has[NP_SACCT_MAX_COLUMNS];
	json_object *job;
	size_t line;
	int rc;

	if (next_char(reader) != '{')
		return syntax_error(reader, "expected a job");
	line = reader->line;
	rc = take_value(reader, &job);
	if (rc)
		return rc;
	for (size_t i = 0; i < reader->n_names; i++)
		value[i] = (char *)column_value(reader, job, reader->names[i],
						&has[i]);
	rc = reader->row(reader->arg, value, has, line);
	json_object_put(job);
	return rc;
}

/* Only one job at a time is in memory as JSON, as the list may be long. */
static int take_jobs(struct json_reader *reader)
{
	int rc;

	reader->found_jobs = true;
	if (!take_char(reader, '['))
		return syntax_error(reader, "expected a list of jobs");
	if (take_char(reader, ']'))
		return 0;
	do
		rc = take_job(reader);
	while (!rc && take_char(reader, ','));
	return rc || take_char(reader, ']') ?
		       rc :
		       syntax_error(reader,
				    "expected \",\" or \"]\" after a job");
}

/* Parse a member of the outermost object; only the first "jobs" is used. */
static int take_member(struct json_reader *reader)
{
	json_object *value;
	bool is_jobs;
	int rc;

	if (next_char(reader) != '"')
		return syntax_error(reader, "expected the name of a member");
	rc = take_value(reader, &value);
	if (rc)
		return rc;
	is_jobs = !reader->found_jobs &&
		  !strcmp(json_object_get_string(value), "jobs");
	json_object_put(value);
	if (!take_char(reader, ':'))
		return syntax_error(reader, "expected \":\"");
	if (is_jobs)
		return take_jobs(reader);
	rc = take_value(reader, &value);
	if (!rc)
		json_object_put(value);
	return rc;
}

static int take_document(struct json_reader *reader)
{
	int rc = 0;

	if (!take_char(reader, '{'))
		return syntax_error(reader, "expected an object");
	if (!take_char(reader, '}')) {
		do
			rc = take_member(reader);
		while (!rc && take_char(reader, ','));
		if (!rc && !take_char(reader, '}'))
			rc = syntax_error(
				reader,
				"expected \",\" or \"}\" after a member");
	}
	if (!rc && next_char(reader))
		rc = syntax_error(reader, "unexpected data after its end");
	return rc;
}

int np_sacct_read_json(const char *text, const char *source,
		       const char *const *names, size_t n_names,
		       np_sacct_row_f *row, void *arg, struct np_err *err)
{
	struct json_reader reader = {
		.source = source,
		.next = text,
		.end = text + strlen(text),
		.line = 1,
		.tokener = json_tokener_new_ex(MAX_DEPTH),
		.names = names,
		.n_names = n_names,
		.row = row,
		.arg = arg,
		.err = err,
	};
	int rc;

	if (!reader.tokener)
		return -ENOMEM;
	rc = take_document(&reader);
	json_tokener_free(reader.tokener);
	return rc || reader.found_jobs ?
		       rc :
		       np_errf(err, -EINVAL,
			       "%s: expected a list \"jobs\", as sacct --json "
			       "prints it",
			       source);
}
