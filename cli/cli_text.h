/*
 * Text output: numbers with units, dates, tables, and wrapped lines.
 *
 * Functions that return a text put it into one of CLI_TEXTS buffers, which they
 * use in turn: a text is valid until CLI_TEXTS further ones have been made.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CLI_TEXTS 256
#define CLI_TEXT_BYTES 4096 /* of any text: more is cut off */
#define CLI_NUMBER_LEN 32   /* bytes of any number, date or user below */
#define CLI_LINES 23	    /* a screen of 24 lines, minus the prompt */

/* Format a text. */
__attribute__((format(printf, 1, 2))) const char *cli_text(const char *format,
							   ...);
/* The next buffer, "", for a text that is made piece by piece. */
char *cli_text_buffer(void);

/* ---- numbers, dates and users ---- */

/* "45.1 us", "1.20 ms", "2.50 h": three digits; "0 s" if not above 0. */
const char *cli_sec(double sec);
/* "9.92 to 15.6 min": both ends in the unit of the upper one. */
const char *cli_sec_range(double low, double high);
/* A setting, without trailing zeros: "20 ms" */
const char *cli_setting_sec(double sec);
/* "1 KiB", "8.7 MiB", "31 GiB", "100 B" */
const char *cli_bytes(uint64_t bytes);
/* "10 GB/s", "593 MB/s": three digits. */
const char *cli_rate(double bytes_per_sec);
/* A setting, with four digits. */
const char *cli_setting_rate(double bytes_per_sec);
/* A fraction in whole percent, for "%.0f", which would print -0.3 as "-0". */
double cli_whole_percent(double fraction);
/* A fraction as it was set: "10 %", "12.5 %" */
const char *cli_setting_percent(double fraction);
/* A share 0 .. 1: "61 %", "0.12 %", "<0.01 %" */
const char *cli_percent(double share);
/* A relative change, at least -1: "+41 %" */
const char *cli_change(double change);
/*
 * Local time of a date in seconds since 1970: "2024-06-12", and
 * "2024-06-12T14:03:05" as in sacct; "Unknown" if date is 0 or impossible.
 */
const char *cli_day(double date);
const char *cli_date(double date);
/* The plural ending of a noun: "" for 1, as in "1 run", and otherwise "s". */
const char *cli_plural_s(size_t n);
/* Name of a user, or the number if there is no name that fits. */
const char *cli_user(uid_t uid);

/* ---- lines and tables ---- */

/*
 * Escape sequence of a colour, a literal; "" unless standard output is a
 * terminal with colours and NO_COLOR is not set.
 */
enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_YELLOW, CLI_RED };
const char *cli_colour(enum cli_colour colour);

/*
 * Width of standard output: that in COLUMNS, or else that of the terminal; at
 * least 40. Without COLUMNS, a file or a pipe has no limit: nothing is cut,
 * and a table is not divided.
 */
#define CLI_UNLIMITED 100000
int cli_columns(void);
/*
 * All text printed from now on is for a file: it has no colours and no limit of
 * width, whatever standard output and COLUMNS are.
 */
void cli_text_for_file(void);
/* Width of sentences and figures: that of standard output, at most 80. */
int cli_output_columns(void);
/*
 * Width of a column of names in a table with n such columns. On 80 columns it
 * is `width`. If standard output is wider or narrower, these columns share the
 * difference, up to twice `width`, and no further down than to 11.
 */
int cli_name_column(int width, int n);
/*
 * Width that a column needs after a cell with this text has been added. It
 * grows only if the width of the output is unlimited; otherwise cells are cut.
 */
int cli_widen(int width, const char *text);

/*
 * Print text, wrapped at cli_output_columns(); all lines but the first are
 * indented. A number and its unit stay on one line.
 */
#define cli_wrap(f, text, indent) cli_wrap_after(f, text, indent, 0)
/* The same after a label: the first line begins at that column. */
void cli_wrap_after(FILE *f, const char *text, int indent, size_t column);

/*
 * Print text like cli_wrap(), in a colour. cli_printf() prints to standard
 * output.
 */
__attribute__((format(printf, 4, 5))) void cli_fprintf(FILE *f,
						       enum cli_colour colour,
						       int indent,
						       const char *format, ...);
#define cli_printf(...) cli_fprintf(stdout, __VA_ARGS__)

/* Append text to buf, of len bytes; what does not fit is cut off. */
__attribute__((format(printf, 3, 4))) void cli_appendf(char *buf, size_t len,
						       const char *format, ...);

/* Columns that text takes on the terminal. */
size_t cli_width(const char *text);

/* Print text left-aligned in width columns, cut to fit if output is limited. */
void cli_print_left(FILE *f, const char *text, int width);
/* Print text right-aligned in width columns. */
void cli_print_right(FILE *f, const char *text, int width);

/*
 * Print format(value), right-aligned; "-" if value is NaN. cli_print_number()
 * and cli_print_sec() print to standard output.
 */
void cli_fprint_number(FILE *f, const char *(*format)(double value),
		       double value, int width);
#define cli_print_number(...) cli_fprint_number(stdout, __VA_ARGS__)
#define cli_print_sec(...) cli_print_number(cli_sec, __VA_ARGS__)

/* Cut a word to at most width columns; a cut one ends in "~". */
const char *cli_truncate(const char *text, size_t width);

/* Whether the terminal's character set is UTF-8. */
int cli_utf8(void);

/*
 * Print text from any source as HTML text, or as the value of an attribute in
 * quotes: markup is escaped, and characters that would hide other text or
 * reverse its direction are replaced (np_text.h). For `netprof report`, and
 * exported for the tests.
 */
void cli_print_html(FILE *f, const char *text);

/*
 * Print the heading of a table: an empty line, then a bold one. cli_heading()
 * prints to standard output.
 */
__attribute__((format(printf, 2, 3))) void
cli_fheading(FILE *f, const char *format, ...);
#define cli_heading(...) cli_fheading(stdout, __VA_ARGS__)

/* Print a bar that fills a share (0 to 1) of width columns, then blanks. */
void cli_print_bar(FILE *f, double share, int width);

/*
 * Print a bold label, and text that is wrapped to the right of it; nothing if
 * the text is "". cli_label() prints to standard output.
 */
#define CLI_LABEL_COLUMNS 11
__attribute__((format(printf, 3, 4))) void
cli_flabel(FILE *f, const char *label, const char *format, ...);
#define cli_label(...) cli_flabel(stdout, __VA_ARGS__)

#endif
