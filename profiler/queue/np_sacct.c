#include "np_sacct.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

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

/* ---- times ---- */

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
#define MAX_PATH 96 /* bytes; longer paths are of no member below */

/* Members of a job in the answer of sacct --json, by their path in it. */
enum member {
	M_ID, M_ARRAY, M_TASK, M_TASKS, M_HET, M_OFFSET, M_USER, M_OWNER,
	M_PARTITION, M_STATE, M_SUBMIT, M_START, M_END, M_SUSPENDED, M_LIMIT,
	M_N_NODES, M_CPUS, M_REQ_CPUS, M_NODES, M_NAME, M_LINE, N_MEMBERS
};

static const char *const members[N_MEMBERS] = {
	[M_ID] = "/job_id", [M_ARRAY] = "/array/job_id",
	[M_TASK] = "/array/task_id", [M_TASKS] = "/array/task",
	[M_HET] = "/het/job_id", [M_OFFSET] = "/het/job_offset",
	[M_USER] = "/user", [M_OWNER] = "/association/user",
	[M_PARTITION] = "/partition", [M_STATE] = "/state/current",
	[M_SUBMIT] = "/time/submission", [M_START] = "/time/start",
	[M_END] = "/time/end", [M_SUSPENDED] = "/time/suspended",
	[M_LIMIT] = "/time/limit", [M_N_NODES] = "/allocation_nodes",
	[M_CPUS] = "/tres/allocated", [M_REQ_CPUS] = "/required/CPUs",
	[M_NODES] = "/nodes", [M_NAME] = "/name", [M_LINE] = "/submit_line",
};

/*
 * What sacct says in its columns, and how that is written: as it is, as a date
 * whose 0 is none, or as a duration in seconds.
 */
static const struct {
	const char *column;
	enum member m, or_else; /* or_else: where m is missing or empty */
	enum { AS_IT_IS, AS_DATE, AS_SECONDS, AS_JOB } as;
} meanings[] = {
	{ "JobID", M_ID, M_ID, AS_JOB },
	{ "JobIDRaw", M_ID, M_ID, AS_IT_IS },
	{ "User", M_USER, M_OWNER, AS_IT_IS },
	{ "Partition", M_PARTITION, M_PARTITION, AS_IT_IS },
	{ "State", M_STATE, M_STATE, AS_IT_IS },
	{ "Submit", M_SUBMIT, M_SUBMIT, AS_DATE },
	{ "Start", M_START, M_START, AS_DATE },
	{ "End", M_END, M_END, AS_DATE },
	{ "Suspended", M_SUSPENDED, M_SUSPENDED, AS_SECONDS },
	{ "NNodes", M_N_NODES, M_N_NODES, AS_IT_IS },
	{ "NCPUS", M_CPUS, M_REQ_CPUS, AS_IT_IS },
	{ "TimelimitRaw", M_LIMIT, M_LIMIT, AS_IT_IS },
	{ "NodeList", M_NODES, M_NODES, AS_IT_IS },
	{ "JobName", M_NAME, M_NAME, AS_IT_IS },
	{ "SubmitLine", M_LINE, M_LINE, AS_IT_IS },
};

/*
 * One member.  Since Slurm 23.02 a number may be an object: {"set": true,
 * "infinite": false, "number": 60}.
 */
struct member_value {
	bool seen, unset, infinite;
	char *text;	 /* a string, or NULL */
	char number[32]; /* if text is NULL */
	char made[64];	 /* what column_value() composes */
};

struct json {
	char *p; /* in the text, whose strings are unescaped in place */
	size_t line;
	const char *why; /* what is wrong, NULL: nothing */
	char path[MAX_PATH];
	struct member_value m[N_MEMBERS];
	/* Of the entry of tres/allocated that is being read. */
	char type[16], count[32];
};

/* -EINVAL, with the first reason. */
static int wrong(struct json *j, const char *why)
{
	if (!j->why)
		j->why = why;
	return -EINVAL;
}

/* The next character that is no white space. */
static char peek(struct json *j)
{
	for (; *j->p && strchr(" \t\r\n", *j->p); j->p++)
		j->line += *j->p == '\n';
	return *j->p;
}

/* Write a character in UTF-8, at most 3 bytes; returns what follows. */
static char *put_utf8(char *to, unsigned c)
{
	if (c >= 0x800) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else if (c >= 0x80) {
		*to++ = (char)(0xc0 | c >> 6);
	}
	*to++ = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
	return to;
}

/* Unescape what follows a backslash at j->p to *to; false: it is no escape. */
static bool unescape(struct json *j, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *at = *j->p ? strchr(from, *j->p) : NULL;
	char digits[5] = "";
	unsigned c;

	if (at) {
		*(*to)++ = into[at - from];
		j->p++;
		return true;
	}
	if (*j->p != 'u' || strspn(j->p + 1, "0123456789abcdefABCDEF") < 4)
		return false;
	memcpy(digits, j->p + 1, 4);
	j->p += 5;
	c = (unsigned)strtoul(digits, NULL, 16);
	/* Neither a NUL nor half of a surrogate pair is a character. */
	*to = put_utf8(*to, c && (c < 0xd800 || c > 0xdfff) ? c : '?');
	return true;
}

/* A string, unescaped in place; NULL with j->why. */
static char *take_string(struct json *j)
{
	char *start = j->p + 1, *to = start;

	for (j->p++; *j->p != '"';) {
		if ((unsigned char)*j->p < ' ') {
			wrong(j, *j->p ? "a control character in a string" :
					 "it ends within a string");
			return NULL;
		}
		if (*j->p != '\\') {
			*to++ = *j->p++;
			continue;
		}
		j->p++;
		if (!unescape(j, &to)) {
			wrong(j, "a bad escape in a string");
			return NULL;
		}
	}
	*to = '\0';
	j->p++;
	return start;
}

/* The member with this path, and in *rest what the path has after it. */
static struct member_value *find_member(struct json *j, const char **rest)
{
	for (int i = 0; i < N_MEMBERS; i++) {
		size_t n = strlen(members[i]);

		if (strncmp(j->path, members[i], n))
			continue;
		*rest = j->path + n;
		if (!**rest || **rest == '/')
			return &j->m[i];
	}
	return NULL;
}

/* A value at j->path: a string, or the text of a number or literal. */
static void take_leaf(struct json *j, char *text, bool is_string)
{
	const char *rest;
	struct member_value *m = find_member(j, &rest);
	bool yes = !strcmp(text, "true");

	if (!m)
		return;
	if (m == &j->m[M_CPUS]) {
		if (!strcmp(rest, "/type"))
			snprintf(j->type, sizeof(j->type), "%s", text);
		else if (!strcmp(rest, "/count"))
			snprintf(j->count, sizeof(j->count), "%s", text);
		return;
	}
	m->seen = true;
	if (!strcmp(rest, "/set"))
		m->unset = !yes;
	else if (!strcmp(rest, "/infinite"))
		m->infinite = yes;
	else if ((*rest && strcmp(rest, "/number")) || m->text || *m->number)
		return; /* the first one of a list counts */
	else if (is_string)
		m->text = text;
	else if (strcmp(text, "null"))
		snprintf(m->number, sizeof(m->number), "%s", text);
}

static int take_value(struct json *j, int depth);

/* The end of an entry of tres/allocated: is it that of processors? */
static void end_entry(struct json *j)
{
	struct member_value *m = &j->m[M_CPUS];

	if (strcmp(j->path, members[M_CPUS]))
		return;
	if (!strcmp(j->type, "cpu")) {
		m->seen = true;
		snprintf(m->number, sizeof(m->number), "%s", j->count);
	}
	j->type[0] = j->count[0] = '\0';
}

/* The key of a member, with its colon. */
static char *take_key(struct json *j)
{
	char *key = peek(j) == '"' ? take_string(j) : NULL;

	if (!key)
		wrong(j, "expected the name of a member");
	else if (peek(j) != ':')
		wrong(j, "expected \":\"");
	else
		j->p++;
	return j->why ? NULL : key;
}

/*
 * Take the members of an object or the elements of an array, each by each().
 * depth: of these.
 */
static int take_each(struct json *j, int depth,
		     int (*each)(struct json *j, int depth))
{
	char close = *j->p == '{' ? '}' : ']';
	int rc = 0;

	if (depth > MAX_DEPTH)
		return wrong(j, "nested too deeply");
	j->p++;
	if (peek(j) == close) {
		j->p++;
		return 0;
	}
	for (;;) {
		rc = each(j, depth);
		if (rc)
			return rc;
		if (peek(j) == close) {
			j->p++;
			return 0;
		}
		if (*j->p != ',')
			return wrong(j, *j->p ? "expected \",\"" :
						"it ends within a list");
		j->p++;
	}
}

/* A member of an object within a job; the path is that of the object. */
static int take_member(struct json *j, int depth)
{
	size_t len = strlen(j->path);
	char *key = take_key(j);
	int rc;

	if (!key)
		return -EINVAL;
	snprintf(j->path + len, sizeof(j->path) - len, "/%s", key);
	rc = take_value(j, depth);
	j->path[len] = '\0';
	return rc;
}

/* A number or a literal, of which only the characters are checked here. */
static int take_word(struct json *j)
{
	static const char some[] = "+-.0123456789"
				   "abcdefghijklmnopqrstuvwxyzE";
	char word[32];
	size_t n = strspn(j->p, some);

	if (!n || n >= sizeof(word))
		return wrong(j, *j->p ? "expected a value" : "it ends there");
	memcpy(word, j->p, n);
	word[n] = '\0';
	j->p += n;
	if (!strchr("-0123456789", *word) && strcmp(word, "true") &&
	    strcmp(word, "false") && strcmp(word, "null"))
		return wrong(j, "expected a value");
	take_leaf(j, word, false);
	return 0;
}

/* Any value; what its path does not make a member is skipped. */
static int take_value(struct json *j, int depth)
{
	const char *rest;
	struct member_value *m;
	char *text;
	int rc;

	switch (peek(j)) {
	case '{':
	case '[':
		m = find_member(j, &rest);
		if (m && !*rest)
			m->seen = true;
		rc = take_each(j, depth + 1, *j->p == '{' ? take_member :
							    take_value);
		end_entry(j);
		return rc;
	case '"':
		text = take_string(j);
		if (text)
			take_leaf(j, text, true);
		return text ? 0 : -EINVAL;
	default:
		return take_word(j);
	}
}

/* The text of a member; "" if it is not set. */
static char *member_text(struct member_value *m)
{
	static char none[1], unlimited[] = "UNLIMITED";

	return m->infinite ? unlimited : m->unset ? none : m->text ? m->text :
	       m->number;
}

/* "12", "12_3", "12_[4-9]" or "12+1", as sacct prints it. */
static char *job_id(struct json *j)
{
	struct member_value *out = &j->m[M_ID];
	char *array = member_text(&j->m[M_ARRAY]);
	char *task = member_text(&j->m[M_TASK]);
	char *tasks = member_text(&j->m[M_TASKS]);
	char *het = member_text(&j->m[M_HET]);
	char *offset = member_text(&j->m[M_OFFSET]);

	if (*array && strcmp(array, "0") && *task)
		snprintf(out->made, sizeof(out->made), "%.31s_%.31s", array,
			 task);
	else if (*array && strcmp(array, "0") && *tasks)
		snprintf(out->made, sizeof(out->made), "%.31s_[%.29s]", array,
			 tasks);
	else if (*het && strcmp(het, "0") && *offset)
		snprintf(out->made, sizeof(out->made), "%.31s+%.31s", het,
			 offset);
	else
		return member_text(out);
	return out->made;
}

/* What a column of sacct says about the job; *has: it is known. */
static char *column_value(struct json *j, const char *column, bool *has)
{
	static char none[1], unknown[] = "Unknown";
	struct member_value *m;
	char *text;
	size_t i = 0;

	while (i < NP_ARRAY_SIZE(meanings) &&
	       strcasecmp(meanings[i].column, column))
		i++;
	*has = false;
	if (i == NP_ARRAY_SIZE(meanings))
		return none;
	m = &j->m[meanings[i].m];
	if (!*member_text(m))
		m = &j->m[meanings[i].or_else];
	*has = m->seen || j->m[meanings[i].m].seen;
	text = member_text(m);
	switch (meanings[i].as) {
	case AS_JOB:
		return job_id(j);
	case AS_DATE:
		return strcmp(text, "0") ? text : unknown;
	case AS_SECONDS:
		snprintf(m->made, sizeof(m->made), "0:%.31s", text);
		return *text ? m->made : text;
	default:
		return text;
	}
}

struct json_reader {
	struct json j; /* must be the first member */
	const char *const *name;
	size_t n_names;
	np_sacct_row_f *row;
	void *arg;
	bool found; /* the list of jobs */
	int rc;	    /* of row() */
};

/* One job of the list. */
static int take_job(struct json *j, int depth)
{
	struct json_reader *r = (struct json_reader *)j;
	char *value[NP_SACCT_MAX_COLUMNS];
	bool has[NP_SACCT_MAX_COLUMNS];
	size_t line;

	if (peek(j) != '{')
		return wrong(j, "expected a job");
	line = j->line;
	memset(j->m, 0, sizeof(j->m));
	if (take_each(j, depth + 1, take_member))
		return -EINVAL;
	for (size_t i = 0; i < r->n_names; i++)
		value[i] = column_value(j, r->name[i], &has[i]);
	r->rc = r->row(r->arg, value, has, line);
	return r->rc;
}

/* A member of the whole answer. */
static int parse_part(struct json *j, int depth)
{
	struct json_reader *r = (struct json_reader *)j;
	char *key = take_key(j);

	if (!key)
		return -EINVAL;
	if (strcmp(key, "jobs") || r->found)
		return take_value(j, depth);
	r->found = true;
	return peek(j) == '[' ? take_each(j, depth + 1, take_job) :
				wrong(j, "expected a list of jobs");
}

bool np_sacct_is_json(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '{';
}

int np_sacct_read_json(char *text, const char *source, const char *const *name,
		       size_t n_names, np_sacct_row_f *row, void *arg,
		       struct np_err *err)
{
	struct json_reader r = {
		.j = { .p = text, .line = 1 },
		.name = name, .n_names = n_names, .row = row, .arg = arg,
	};
	struct json *j = &r.j;
	int rc = peek(j) == '{' ? take_each(j, 1, parse_part) :
				  wrong(j, "expected an object");

	if (r.rc)
		return r.rc;
	if (!rc && peek(j))
		rc = wrong(j, "something follows its end");
	if (rc)
		return np_errf(err, rc, "%s:%zu: not JSON as sacct --json "
			       "prints it: %s", source, j->line, j->why);
	return r.found ? 0 : np_errf(err, -EINVAL, "%s: expected a list "
				     "\"jobs\", as sacct --json prints it",
				     source);
}
