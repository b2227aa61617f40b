#include "t.h"
#include "np_out.h"

#include <fcntl.h>

static const struct {
	const char *name;
	bool colours;
	const char *in, *want;
} rows[] = {
	{ "lines", false, "a\nb\r100 %\n", "a\nb\r100 %\n" },
	{ "the non-ASCII characters that we print", false,
	  "1 \302\265s \342\226\210\n", "1 \302\265s \342\226\210\n" },
	{ "controls", false, "a\tb\v\033c\177\n", "a?b??c?\n" },
	{ "C1 controls", false, "\302\2332J\n", "?2J\n" },
	{ "turned round", false, "x\342\200\256y\n", "x?y\n" },
	{ "no characters", false, "\377\200\342\202\n", "????\n" },
	{ "colours where there are none", false, "\033[1mx\033[0m\n",
	  "?[1mx?[0m\n" },
	{ "colours", true, "\033[1mx\033[31my\033[0m\n",
	  "\033[1mx\033[31my\033[0m\n" },
	{ "escape sequences other than colours", true,
	  "\033[2J\033]0;x\033[m\033[311m\033\033[1m\n",
	  "?[2J?]0;x?[m?[311m?\033[1m\n" },
	{ "a letter instead of a colour", true,
	  "\033\302\265\033[\342\200\256\n", "?\302\265?[?\n" },
};

/* Written in parts of that many bytes, however that cuts them apart. */
static void check(size_t i, size_t part)
{
	char got[128] = "";
	size_t len = strlen(rows[i].in), n;
	int fd[2];
	FILE *f;

	T_CHECK(!pipe2(fd, O_CLOEXEC));
	f = np_out_open(fd[1], rows[i].colours);
	for (size_t at = 0; at < len; at += n) {
		n = part < len - at ? part : len - at;
		T_ROW(rows[i].name, fwrite(rows[i].in + at, 1, n, f) == n);
		T_ROW(rows[i].name, !fflush(f));
	}
	fclose(f);
	close(fd[1]); /* it was borrowed */
	T_ROW(rows[i].name, read(fd[0], got, sizeof(got) - 1) > 0);
	T_ROW(rows[i].name, !strcmp(got, rows[i].want));
	close(fd[0]);
}

T_TEST("what a program prints is plain, however it prints it")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++)
		for (size_t part = 1; part < 8; part++)
			check(i, part);
}

T_TEST("a full disk is reported")
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	FILE *f = np_out_open(fd, false);

	fputs("x\n", f);
	errno = 0;
	T_CHECK(fflush(f) == EOF && errno == ENOSPC && ferror(f));
	fclose(f);
	close(fd);
}
