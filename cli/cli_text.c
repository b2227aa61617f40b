/*
 * Text output of the commands.
 *
 * Widths are in columns of the terminal: in UTF-8 a character may have several
 * bytes, so printf() widths would misalign names. Every character counts as
 * one column. Units and the bars of histograms are ASCII unless the terminal's
 * character set is UTF-8.
 */
#include "cli_text.h"

#include <ctype.h>
#include <langinfo.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "np_option.h"
#include "np_text.h"

#define LINE_BYTES 2048 /* of the longest text that is wrapped */

char *cli_text_buffer(void)
{
	static char text[CLI_TEXTS][CLI_TEXT_BYTES];
	static size_t next;
	char *buf = text[next++ % CLI_TEXTS];

	buf[0] = '\0';
	return buf;
}

const char *cli_text(const char *format, ...)
{
	char *buf = cli_text_buffer();
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf, CLI_TEXT_BYTES, format, ap);
	va_end(ap);
	return buf;
}

/* ---- numbers, dates and users ---- */

#define MIN_EXPONENT 1e7 /* numbers from this one on have an exponent */

/* Format a number with three digits, or with all before the point if more. */
static const char *three_digits(double value)
{
	if (value >= MIN_EXPONENT || isnan(value))
		return cli_text("%.3g", value);
	/* The limits allow for rounding: 9.996 is "10.0", not "10.00". */
	return cli_text("%.*f",
			value < 9.995 ? 2 :
			value < 99.95 ? 1 :
					0,
			value);
}

int cli_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/*
 * The unit of times below a limit. The limits are a little below the next unit,
 * so that rounding does not print 1000 us.
 */
/* clang-format off */
static const struct time_unit {
	double below, sec; /* the limit, and the unit itself, in seconds */
	const char *ascii, *utf8;
} time_units[] = {
	{ 999.5e-9, 1e-9, "ns", "ns" },
	{ 999.5e-6, 1e-6, "us", "\302\265s" },
	{ 999.5e-3, 1e-3, "ms", "ms" },
	{ 599.5, 1, "s", "s" },
	{ 5997, 60, "min", "min" },
	{ INFINITY, 3600, "h", "h" },
};
/* clang-format on */

static const struct time_unit *unit_of(double sec)
{
	const struct time_unit *unit = time_units;

	while (isfinite(unit->below) && sec >= unit->below)
		unit++;
	return unit;
}

const char *cli_sec(double sec)
{
	const struct time_unit *unit = unit_of(sec);

	return sec > 0 ? cli_text("%s %s", three_digits(sec / unit->sec),
				  cli_utf8() ? unit->utf8 : unit->ascii) :
			 "0 s";
}

/* A lower end that two decimals would round to 0 keeps two digits. */
const char *cli_sec_range(double low, double high)
{
	double in_unit = low / unit_of(high)->sec;

	return cli_text("%s to %s",
			in_unit >= 0.01 ? three_digits(in_unit) :
			in_unit > 0	? cli_text("%.2g", in_unit) :
					  "0",
			cli_sec(high));
}

/*
 * Trailing zeros are removed, and then a decimal point without digits after it.
 * A time that two decimals would round to 0 keeps three digits.
 */
const char *cli_setting_sec(double sec)
{
	const char *text = cli_sec(sec), *unit = strchr(text, ' ');
	const char *end = unit;

	if (sec > 0 && sec < 0.005e-9)
		return cli_text("%.3g ns", 1e9 * sec);
	if (!strchr(text, '.') || sec / 3600 >= MIN_EXPONENT)
		return text;
	while (end[-1] == '0')
		end--;
	end -= end[-1] == '.';
	return cli_text("%.*s%s", (int)(end - text), text, unit);
}

/* Powers of two, because message sizes are chosen as such. */
const char *cli_bytes(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	uint64_t unit = 1;
	size_t i = 0;

	/* The limits allow for rounding: no "1024 KiB" and no "10.0 MiB". */
	while (i + 1 < NP_ARRAY_SIZE(units) &&
	       bytes >= 1024 * unit - unit / 2 &&
	       (i || bytes >= 10 * 1024 || bytes % 1024 == 0)) {
		unit *= 1024;
		i++;
	}
	return cli_text("%.*f %s",
			i && bytes < 10 * unit - unit / 20 && bytes % unit ? 1 :
									     0,
			(double)bytes / (double)unit, units[i]);
}

/* Format a rate in the unit in which it is below 1000. */
static const char *format_rate(double rate, int digits)
{
	static const char *const unit[] = { "B/s",  "kB/s", "MB/s", "GB/s",
					    "TB/s", "PB/s", "EB/s" };
	size_t i = 0;

	while (i + 1 < NP_ARRAY_SIZE(unit) && rate >= 999.5) {
		rate /= 1000;
		i++;
	}
	return cli_text("%.*g %s", digits, rate, unit[i]);
}

const char *cli_rate(double bytes_per_sec)
{
	return format_rate(bytes_per_sec, 3);
}

const char *cli_setting_rate(double bytes_per_sec)
{
	return format_rate(bytes_per_sec, 4);
}

double cli_whole_percent(double fraction)
{
	return round(100 * fraction) + 0.0;
}

const char *cli_setting_percent(double fraction)
{
	return cli_text("%.6g %%", 100 * fraction);
}

/* The share of a rare event keeps two digits after the point. */
const char *cli_percent(double share)
{
	double percent = 100 * share;

	if (percent <= 0)
		return "0 %";
	if (percent < 0.005)
		return "<0.01 %";
	if (percent >= MIN_EXPONENT || isnan(percent))
		return cli_text("%.3g %%", percent);
	return cli_text("%.*f %%",
			percent < 0.995 ? 2 :
			percent < 9.95	? 1 :
					  0,
			percent);
}

/* A change that is printed as zero has no sign. */
const char *cli_change(double change)
{
	double percent = 100 * change;

	if (percent >= MIN_EXPONENT || isnan(percent))
		return cli_text("%+.3g %%", percent);
	return cli_text("%+.0f %%", fabs(percent) < 0.5 ? 0.0 : percent);
}

/*
 * Format a local time; "Unknown", as in sacct, for a date that is not set or
 * impossible.
 */
static const char *format_date(const char *format, double date)
{
	time_t t = date > 0 && date < 1e12 ? (time_t)date : 0;
	char *buf = cli_text_buffer();
	struct tm tm;

	return t && localtime_r(&t, &tm) &&
			       strftime(buf, CLI_NUMBER_LEN, format, &tm) ?
		       buf :
		       "Unknown";
}

const char *cli_day(double date)
{
	return format_date("%Y-%m-%d", date);
}

const char *cli_date(double date)
{
	return format_date("%Y-%m-%dT%H:%M:%S", date);
}

const char *cli_plural_s(size_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * The last user is cached, because lists look up one user again and again, and
 * each lookup may go to a directory server.
 */
const char *cli_user(uid_t uid)
{
	static char name[CLI_NUMBER_LEN];
	static uid_t cached_uid; /* of name */
	const struct passwd *pw;

	if (!*name || uid != cached_uid) {
		pw = getpwuid(uid);
		if (pw && strlen(pw->pw_name) < CLI_NUMBER_LEN)
			strcpy(name, pw->pw_name);
		else
			snprintf(name, CLI_NUMBER_LEN, "%u", uid);
		cached_uid = uid;
	}
	return cli_text("%s", name);
}

/* ---- lines and tables ---- */

size_t cli_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++) /* UTF-8 continuation bytes take no column */
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

#define OUTPUT_COLUMNS 80 /* width for which tables and sentences are made */
#define MIN_COLUMNS 40	  /* no table fits into less */
#define MAX_COLUMNS 1000
#define MIN_NAME_COLUMNS 11 /* of a column of names: those of "Application" */

static bool for_file; /* cli_text_for_file() was called */

void cli_text_for_file(void)
{
	for_file = true;
}

int cli_columns(void)
{
	const char *set = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (for_file)
		return CLI_UNLIMITED;
	if (!set || np_whole_parse(set, MAX_COLUMNS, &n) || !n) {
		if (!isatty(STDOUT_FILENO))
			return CLI_UNLIMITED;
		n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col ?
			    OUTPUT_COLUMNS :
			    size.ws_col;
	}
	return n > MIN_COLUMNS ? (int)n : MIN_COLUMNS;
}

int cli_output_columns(void)
{
	int n = cli_columns();

	return n < OUTPUT_COLUMNS ? n : OUTPUT_COLUMNS;
}

int cli_name_column(int width, int n)
{
	int min = width < MIN_NAME_COLUMNS ? width : MIN_NAME_COLUMNS;
	int columns = cli_columns();
	int share = width + (columns - OUTPUT_COLUMNS) / n;

	if (columns == CLI_UNLIMITED)
		return width;
	return share < min ? min : share > 2 * width ? 2 * width : share;
}

int cli_widen(int width, const char *text)
{
	int needed = (int)cli_width(text);

	return needed > width && cli_columns() == CLI_UNLIMITED ? needed :
								  width;
}

/* printf() would pad by bytes, but this pads by columns of the terminal. */
void cli_print_left(FILE *f, const char *text, int width)
{
	int padding;

	if (cli_columns() != CLI_UNLIMITED)
		text = cli_truncate(text, (size_t)width);
	padding = width - (int)cli_width(text);
	fprintf(f, "%s%*s", text, padding > 0 ? padding : 0, "");
}

void cli_print_right(FILE *f, const char *text, int width)
{
	int padding = width - (int)cli_width(text);

	fprintf(f, "%*s%s", padding > 0 ? padding : 0, "", text);
}

void cli_fprint_number(FILE *f, const char *(*format)(double value),
		       double value, int width)
{
	cli_print_right(f, isnan(value) ? "-" : format(value), width);
}

/* The text is cut between characters, never within the bytes of one. */
const char *cli_truncate(const char *text, size_t width)
{
	size_t i = 0, columns = 0;

	if (cli_width(text) <= width)
		return text;
	for (; text[i]; i++) {
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (columns == width)
			break;
	}
	return cli_text("%.*s~", (int)i, text);
}

/* Whether the first word is a unit, as after "15.6 ". */
static bool begins_with_unit(const char *text)
{
	static const char *const units[] = {
		"%",	"ns",	"us",	"\302\265s", "ms",   "s",
		"min",	"h",	"days", "B",	     "KiB",  "MiB",
		"GiB",	"TiB",	"B/s",	"kB/s",	     "MB/s", "GB/s",
		"TB/s", "PB/s", "EB/s", "GHz",
	};
	size_t len = strcspn(text, " ,.;:)");

	for (size_t i = 0; i < NP_ARRAY_SIZE(units); i++)
		if (len == strlen(units[i]) && !strncmp(text, units[i], len))
			return true;
	return false;
}

/*
 * Length of the first word. A number and its unit are one word, and so is an
 * interval such as "(21 to 35)".
 */
static size_t word_len(const char *text)
{
	size_t len = strcspn(text, " ");
	int interval = 0;

	sscanf(text, "(%*f to %*f)%n", &interval);
	if (interval)
		return (size_t)interval + strcspn(text + interval, " ");
	if (len && isdigit((unsigned char)text[len - 1]) && text[len] &&
	    begins_with_unit(text + len + 1))
		len += 1 + strcspn(text + len + 1, " ");
	return len;
}

/*
 * Lines are broken at blanks only, so that a long word, such as a path, stays in
 * one piece.
 */
void cli_wrap_after(FILE *f, const char *text, int indent, size_t column)
{
	size_t limit = (size_t)cli_output_columns();
	bool first = true;

	while (*text) {
		size_t len = word_len(text);
		char word[256];

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (!first && column + 1 + cli_width(word) > limit) {
			fprintf(f, "\n%*s", indent, "");
			column = (size_t)indent;
		} else if (!first) {
			fputc(' ', f);
			column++;
		}
		first = false;
		fprintf(f, "%.*s", (int)len, text);
		column += cli_width(word);
		text += len + strspn(text + len, " ");
	}
	fputc('\n', f);
}

/* NO_COLOR: https://no-color.org */
static bool wants_colour(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return !for_file && isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       term && *term && strcmp(term, "dumb");
}

const char *cli_colour(enum cli_colour colour)
{
	static const char *const codes[] = {
		[CLI_PLAIN] = "\033[0m",  [CLI_BOLD] = "\033[1m",
		[CLI_GREEN] = "\033[32m", [CLI_YELLOW] = "\033[33m",
		[CLI_RED] = "\033[31m",
	};

	return wants_colour() ? codes[colour] : "";
}

/* A bar in UTF-8 has eight times the resolution of one in ASCII. */
void cli_print_bar(FILE *f, double share, int width)
{
	/* Unicode's left blocks of one to seven eighths. */
	static const char *const eighths[] = {
		"",	  "\u258f", "\u258e", "\u258d",
		"\u258c", "\u258b", "\u258a", "\u2589",
	};
	int steps = cli_utf8() ? 8 : 1;
	int n = (int)(share * width * steps + 0.5), column = 0;

	if (share > 0 && !n)
		n = 1; /* a small share stays visible */
	for (; column < n / steps; column++)
		fputs(steps == 8 ? "\u2588" : "#", f);
	if (n % steps) {
		fputs(eighths[n % steps], f);
		column++;
	}
	fprintf(f, "%*s", width - column, "");
}

/* The HTML entity of a character, or NULL if it needs none. */
static const char *entity(char c)
{
	return c == '&'	 ? "&amp;" :
	       c == '<'	 ? "&lt;" :
	       c == '>'	 ? "&gt;" :
	       c == '"'	 ? "&quot;" :
	       c == '\'' ? "&#39;" :
			   NULL;
}

/*
 * np_text_plain_copy() first replaces characters that would hide other text or
 * reverse its direction.
 */
void cli_print_html(FILE *f, const char *text)
{
	char *plain = np_text_plain_copy(text, strlen(text));

	for (const char *c = plain ? plain : "?"; *c; c++)
		if (entity(*c))
			fputs(entity(*c), f);
		else
			putc(*c, f);
	free(plain);
}

void cli_fheading(FILE *f, const char *format, ...)
{
	va_list ap;

	fprintf(f, "\n%s", cli_colour(CLI_BOLD));
	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	fprintf(f, "%s\n", cli_colour(CLI_PLAIN));
}

void cli_appendf(char *buf, size_t len, const char *format, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf + used, len - used, format, ap);
	va_end(ap);
}

void cli_fprintf(FILE *f, enum cli_colour colour, int indent,
		 const char *format, ...)
{
	char line[LINE_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (colour != CLI_PLAIN)
		fputs(cli_colour(colour), f);
	cli_wrap(f, line, indent);
	if (colour != CLI_PLAIN)
		fputs(cli_colour(CLI_PLAIN), f);
}

void cli_flabel(FILE *f, const char *label, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (!*line)
		return;
	fprintf(f, "%s%-*s%s", cli_colour(CLI_BOLD), CLI_LABEL_COLUMNS, label,
		cli_colour(CLI_PLAIN));
	cli_wrap_after(f, line, CLI_LABEL_COLUMNS, CLI_LABEL_COLUMNS);
}
