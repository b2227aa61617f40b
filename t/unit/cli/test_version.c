/* Versions of Slurm, and programs that are run. */
#include "t.h"
#include "cli_check.h"
#include "np_clock.h"
#include "np_loader.h"

#include <sys/stat.h>

static const struct {
	const char *name, *text;
	uint32_t want; /* 0: none */
	const char *again;
} versions[] = {
	{ "Debian's", "slurm-wlm 22.05.8", 0x160508, "22.05.8" },
	{ "SchedMD's", "slurm 23.11.10\n", 0x170b0a, "23.11.10" },
	{ "in scontrol show config", "SLURM_VERSION           = 24.05.0",
	  0x180500, "24.05.0" },
	{ "a candidate", "slurm 25.05.0-0rc1", 0x190500, "25.05.0" },
	{ "without micro", "slurm 22.05", 0x160500, "22.05.0" },
	{ "at the beginning", "22.05.8", 0x160508, "22.05.8" },
	{ "nothing", "", 0, "" },
	{ "an error", "scontrol: fatal: Could not establish", 0, "" },
	{ "a number", "slurm 22", 0, "" },
	{ "parts that are too large", "slurm 2022.05.8", 0, "" },
	{ "an end with a dot", "slurm 22.05.", 0, "" },
};

T_TEST("versions as Slurm writes them")
{
	T_EACH(r, versions) {
		char buf[NP_LOADER_TEXT];
		uint32_t v = 0;
		bool ok = cli_version_parse(r->text, &v);

		T_ROW(r->name, ok == !!r->want);
		T_ROW(r->name, v == r->want);
		if (ok)
			T_ROW(r->name,
			      !strcmp(r->again, np_loader_text(v, buf)));
	}
}

static const struct {
	const char *name;
	uint32_t built, loader;
	bool fits;
} fits[] = {
	{ "the same", 0x160508, 0x160508, true },
	{ "another micro", 0x160508, 0x160507, true },
	{ "another minor", 0x160508, 0x160608, false },
	{ "another major", 0x170508, 0x160508, false },
};

T_TEST("which plugins a Slurm loads")
{
	T_EACH(r, fits)
		T_ROW(r->name, np_loader_fits(r->built, r->loader) == r->fits);
}

T_TEST("programs are run without a shell")
{
	char buf[16];

	T_CHECK(cli_spawn((char *[]){ "echo", "$HOME;x", NULL }, 60, buf,
			  sizeof(buf)) == 0);
	T_CHECK(!strcmp(buf, "$HOME;x\n"));
	T_CHECK(cli_spawn((char *[]){ "sh", "-c", "exit 3", NULL }, 60, buf,
			  sizeof(buf)) == 3);
	T_CHECK(cli_spawn((char *[]){ "sh", "-c", "kill -9 $$", NULL }, 60, buf,
			  sizeof(buf)) == 128 + 9);
	T_CHECK(cli_spawn((char *[]){ "no-such-program-here", NULL }, 60, buf,
			  sizeof(buf)) == -ENOENT);
	T_ROW("more than fits is cut",
	      cli_spawn((char *[]){ "seq", "100000", NULL }, 60, buf,
			sizeof(buf)) == 0 &&
		      !strcmp(buf, "1\n2\n3\n4\n5\n6\n7\n8"
				   ""));
}

T_TEST("a program that hangs is ended")
{
	static const char *const scripts[] = {
		"sleep 60",
		"exec >&-; sleep 60",
		"sleep 60 & echo x; sleep 60",
	};
	char buf[64];

	for (size_t i = 0; i < NP_ARRAY_SIZE(scripts); i++) {
		double begin = np_mono_sec();

		T_ROW(scripts[i],
		      cli_spawn((char *[]){ "sh", "-c", (char *)scripts[i],
					    NULL },
				0.2, buf, sizeof(buf)) == -ETIMEDOUT);
		T_ROW(scripts[i], np_mono_sec() - begin < 50);
	}
}
