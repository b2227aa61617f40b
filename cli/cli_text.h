/* Numbers, dates and lines for people and for scripts. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CLI_NUMBER 32 /* room for any of these */
#define CLI_COLUMNS 80
#define CLI_LINES 23 /* a screen of 24, less the prompt */

/* "45.1 us", "1.20 ms", "60.0 s", "2.5 h": three digits. */
const char *cli_sec(double sec, char buf[CLI_NUMBER]);
/* The same without zeros at the end, for what somebody chose: "20 ms" */
const char *cli_setting_sec(double sec, char buf[CLI_NUMBER]);
/* "1 KiB", "8.7 MiB", "31 MiB", "100 B" */
const char *cli_bytes(uint64_t bytes, char buf[CLI_NUMBER]);
/* "10 GB/s", "593 MB/s" of bytes per second: three digits. */
const char *cli_rate(double bytes_per_sec, char buf[CLI_NUMBER]);
/* Four, for what somebody chose. */
const char *cli_setting_rate(double bytes_per_sec, char buf[CLI_NUMBER]);
/* "61 %", "0.12 %", "<0.01 %" of a share 0 .. 1 */
const char *cli_percent(double share, char buf[CLI_NUMBER]);
/* "+41 %" of a change -1 .. */
const char *cli_change(double change, char buf[CLI_NUMBER]);
/* Local time: "2024-06-12", and "2024-06-12T14:03:05" as sacct has it. */
const char *cli_day(double date, char buf[CLI_NUMBER]);
const char *cli_date(double date, char buf[CLI_NUMBER]);
/* Name of a user, or the number where there is none. */
const char *cli_user(uid_t uid, char buf[CLI_NUMBER]);

/* Escape sequences, "" unless standard output is a terminal that wants them. */
enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_YELLOW, CLI_RED };
const char *cli_colour(enum cli_colour c);

/* Text in words, wrapped at CLI_COLUMNS; all lines but the first indented. */
void cli_wrap(FILE *f, const char *text, int indent);
/* The same, where the first line begins at that column. */
void cli_wrap_beside(FILE *f, const char *text, int indent, size_t column);

/* cli_wrap() to standard output, in a colour. */
__attribute__((format(printf, 3, 4)))
void cli_say(enum cli_colour colour, int indent, const char *format, ...);

/* Put text behind that in buf of len bytes; what does not fit is cut. */
__attribute__((format(printf, 3, 4)))
void cli_add(char *buf, size_t len, const char *format, ...);

/* Columns that a text takes on the terminal. */
size_t cli_width(const char *text);

/* Text at the left end of width columns, cut to fit as by cli_cut(). */
void cli_left(FILE *f, const char *text, int width);
/* Text at the right end of width columns. */
void cli_right(FILE *f, const char *text, int width);

/* What as() makes of it there, on standard output; "-" of NaN. */
void cli_right_as(const char *(*as)(double v, char buf[CLI_NUMBER]), double v,
		  int width);
void cli_right_sec(double sec, int width);

/* A word cut to at most width columns, "~" at the end if it was. */
const char *cli_cut(const char *text, size_t width, char *buf, size_t len);

/* Is the terminal's character set UTF-8? */
int cli_utf8(void);

/*
 * Text from any source as HTML text, or as the value of an attribute in double
 * quotes: markup is escaped, and characters that would turn or hide other text
 * are replaced (np_text.h).
 */
void cli_html(FILE *f, const char *text);

/* The head of a table: an empty line, and one in bold. */
__attribute__((format(printf, 1, 2)))
void cli_head(const char *format, ...);

/* A bar of share (0 .. 1) of width columns, filled up with blanks. */
void cli_bar(FILE *f, double share, int width);

/* A bold label of CLI_LABEL columns and text wrapped beside it; none of "". */
#define CLI_LABEL 11
__attribute__((format(printf, 3, 4)))
void cli_labelled(FILE *f, const char *label, const char *format, ...);

#endif
