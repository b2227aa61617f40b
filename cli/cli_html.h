/* Text in a page of HTML. */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include <stdio.h>

/*
 * Text of anybody, as text or as the value of an attribute in double quotes:
 * it is neither markup nor anything that turns or hides other text (np_text.h).
 */
void cli_html(FILE *f, const char *text);

/* printf() of what is put together of such text, up to 2 KiB. */
void cli_html_printf(FILE *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
