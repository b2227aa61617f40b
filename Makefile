# netprof: one make, whole graph. `make help` lists what there is to do.

VERSION := 0.1.0

# On all processors, unless asked for otherwise.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libexecdir ?= $(prefix)/libexec/netprof
mandir ?= $(prefix)/share/man
datadir ?= $(prefix)/share/netprof
sysconfdir ?= /etc/slurm
# SLURM_PREFIX=DIR builds for, tests with and installs into a Slurm that lies
# there, with DIR/include, DIR/lib, DIR/sbin and DIR/bin. With SLURM_OLDER=DIR,
# a Slurm of an earlier release, `make check` also upgrades from that one.
export SLURM_OLDER
ifdef SLURM_PREFIX
export SLURM_PREFIX
export PATH := $(SLURM_PREFIX)/sbin:$(SLURM_PREFIX)/bin:$(PATH)
slurm_plugindir ?= $(SLURM_PREFIX)/lib/slurm
endif
# A cluster's Slurm says where its plugins live; without one, Debian's place.
slurm_plugindir ?= $(or $(firstword $(subst :, ,$(shell scontrol show config \
	2>/dev/null | sed -n 's/^PluginDir *= *//p'))),/usr/lib/$(shell \
	$(CC) -print-multiarch 2>/dev/null)/slurm-wlm)

CFLAGS ?= -O2 -g
BUILD ?= build$(if $(SANITIZE),-sanitize)$(if $(findstring clang,$(CC)),-clang)$(addprefix \
	-,$(notdir $(SLURM_PREFIX)))

pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)
# Without cairo pictures are SVG only.
HAVE_CAIRO := $(call pkg,--exists,cairo && echo yes)
# Without libcurl no metrics server is asked.
HAVE_CURL := $(call pkg,--exists,libcurl && echo yes)
PKGS := json-c gsl ucx libfabric pmix libelf zlib $(if $(HAVE_CAIRO),cairo) \
	$(if $(HAVE_CURL),libcurl)

# Source directories of the library. No two headers have the same name.
LIB_DIRS := $(wildcard predictor/*) $(wildcard profiler/*) plot
# A package of its own, of which the rest includes and links nothing.
ANALYSIS := $(patsubst %/,%,$(wildcard analysis/*/))

BASE_CFLAGS := -std=gnu11 -D_GNU_SOURCE -fPIC -Wall -Wextra \
	-Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers \
	-DNP_VERSION='"$(VERSION)"' -DNP_SYSCONFDIR='"$(sysconfdir)"' \
	-DNP_BINDIR='"$(bindir)"' -DNP_LIBEXECDIR='"$(libexecdir)"' \
	$(if $(HAVE_CAIRO),,-DNP_NO_CAIRO) $(if $(HAVE_CURL),,-DNP_NO_CURL) \
	$(addprefix -I,$(LIB_DIRS)) $(if $(SLURM_PREFIX),-isystem $(SLURM_PREFIX)/include)
# Once, not for each object.
PKG_CFLAGS := $(call pkg,--cflags,$(PKGS))
ALL_CFLAGS = $(BASE_CFLAGS) $(PKG_CFLAGS) $(CFLAGS)
# The plugins are loaded into Slurm's own programs, which have no sanitizer.
SAN := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)

# In each directory, np_*.c is library; the rest are programs and plugins.
LIBRARY := $(filter-out $(if $(HAVE_CAIRO),,plot/np_canvas_cairo.c),$(wildcard \
	$(addsuffix /np_*.c,$(LIB_DIRS))))
SPANK := $(wildcard spank/np_*.c)
JOBSUBMIT := $(wildcard jobsubmit/np_*.c)
# What the plugin itself carries into srun: no json-c, no GSL.
PLUGIN_SRC := spank/spank_netprof.c $(addprefix spank/np_,detach.c launch.c \
	notice.c rendezvous.c script.c tracing.c) \
	profiler/base/np_app.c profiler/base/np_conf.c profiler/base/np_level.c \
	profiler/base/np_loader.c profiler/base/np_log.c \
	profiler/base/np_option.c profiler/base/np_read.c \
	profiler/probe/np_helper_env.c profiler/store/np_saver_proto.c \
	predictor/base/np_text.c
AGENT_SRC := spank/netprof-agent.c spank/np_memory.c spank/np_watch.c \
	profiler/base/np_children.c profiler/probe/np_helper_env.c
CLI := $(wildcard cli/*.c)
UNIT := $(wildcard t/unit/*.c t/unit/*/*.c analysis/*/t/*.c)
# Each stands alone behind its library, so that nothing else links it.
ALONE := $(addprefix profiler/probe/np_,ucx.c ofi.c pmix.c)
# The one that needs libcurl, for the command alone.
HTTP := profiler/history/np_prom.c

objs = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIBS := $(filter-out $(call objs,$(ALONE) $(HTTP)),$(call objs,$(LIBRARY)))
# A library for each part of the analysis; commands of sharing and queueing read
# traces, too.
ANALYSIS_LIBS := $(patsubst %,$(BUILD)/libnetprof-%.a,queueing sharing latency cli) \
	$(BUILD)/libnetprof.a

BIN := $(addprefix $(BUILD)/,netprof netprof-impactb netprof-compressionb)
LIBEXEC := $(addprefix $(BUILD)/,netprof-collector netprof-agent netprof-mpi \
	netprof-saver netprof-release)
PLUGINS := $(addprefix $(BUILD)/,spank_netprof.so job_submit_netprof.so \
	netprof_placement.so)
# What traces MPI programs: what they are given, and a part for each MPI that is
# here; for the processors that it knows.
MPIS := $(if $(call pkg,--exists,ompi-c && echo yes),openmpi) \
	$(if $(call pkg,--exists,mpich && echo yes),mpich)
MPI_SHIM := $(if $(filter x86_64 aarch64,$(shell $(CC) -dumpmachine 2>/dev/null | \
	cut -d- -f1)),$(addprefix $(BUILD)/,libnetprof-mpi.so \
	$(MPIS:%=libnetprof-mpi-%.so)))
MAN := $(wildcard doc/*.[1-9])
# The package netprof-analysis.
ANALYSIS_BIN := $(addprefix $(BUILD)/,netprof-prtt netprof-sharing)
ANALYSIS_LIBEXEC := $(addprefix $(BUILD)/,netprof-analysis libnetprof-delay.so) \
	$(MPI_SHIM)
ANALYSIS_MAN := $(wildcard analysis/*/doc/*.[1-9])

.DEFAULT_GOAL := all
.PHONY: all libraries packages unit check bench validate demo install uninstall clean help FORCE

all: libraries ## build the programs, with the optional libraries that are installed
	@$(MAKE) --no-print-directory shipped
# programs: also what the tests' cluster needs.
.PHONY: programs shipped core
programs: shipped $(BUILD)/quiet_poll.so $(BUILD)/late $(BUILD)/hungfs
shipped: core $(ANALYSIS_BIN) $(ANALYSIS_LIBEXEC)
core: $(BIN) $(LIBEXEC) $(PLUGINS) ## build everything except the package netprof-analysis

libraries: ## name missing libraries, and the features left out without them
	@CC='$(CC)' etc/libraries

packages: ## install what the build and the tests need, on Debian (as root)
	@etc/packages check || etc/packages install

unit: $(BUILD)/unit ## run the unit tests; one suite: make build/unit && build/unit NAME
	$(BUILD)/unit

check: packages ## build, then run every test; one suite: t/check NAME
	@$(MAKE) --no-print-directory programs $(BUILD)/unit fuzz-programs
	@[ -z "$(SLURM_OLDER)" ] || $(MAKE) --no-print-directory programs \
		SLURM_PREFIX=$(SLURM_OLDER) BUILD=build-$(notdir $(SLURM_OLDER))
	@BUILD=$(BUILD) t/check

# Half an hour each; a part of RELEASES alone, RELEASES=trixie.
.PHONY: check-releases
check-releases: ## make check and make demo on Debian 12, 13 and unstable
	@etc/packages install releases
	@t/releases $(RELEASES)

# Some minutes, as all is built anew.
.PHONY: races
races: packages ## placement and passes over graphs under the thread sanitizer
	@$(MAKE) --no-print-directory BUILD=build-thread SANITIZE=thread \
		CFLAGS='-O1 -g' build-thread/unit
	@TSAN_OPTIONS=halt_on_error=1 build-thread/unit shared changes submit \
		worker store_reader placer tolerance

BENCH := $(addprefix $(BUILD)/,bench_predict bench_place bench_submit bench_wide \
	bench_limits bench_qn bench_sharing bench_tolerance bench_simulate bench_hostlist)
bench: packages ## measure what probes and placement cost
	@$(MAKE) --no-print-directory programs $(BENCH)
	@export BUILD=$(BUILD); failed=0; for b in $(BENCH) \
		analysis/latency/t/bench/trace_cost t/bench_store t/bench_history t/bench; do \
		$$b || failed=1; done; exit $$failed

validate: packages ## long measurements on the cluster; one: t/validate NAME
	@etc/packages install validate
	@$(MAKE) --no-print-directory programs $(BUILD)/trace_time
	@BUILD=$(BUILD) t/validate

demo: packages ## show netprof at work on a cluster on this machine
	@$(MAKE) --no-print-directory programs
	@BUILD=$(BUILD) t/demo

# Pages and the sample name directories as they are built in.
PLACES = sed 's|/usr/local/libexec/netprof|$(libexecdir)|g; s|/usr/local/bin|$(bindir)|g'

put_pages = for m in $(1); do to=$(DESTDIR)$(mandir)/man$${m\#\#*.}/$${m\#\#*/}; \
	install -d $${to%/*} && $(PLACES) $$m >$$to && chmod 644 $$to || exit 1; done

.PHONY: install-core install-analysis
install: install-core install-analysis ## install under $(DESTDIR)$(prefix)

install-analysis: $(ANALYSIS_BIN) $(ANALYSIS_LIBEXEC) ## install only the package netprof-analysis
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libexecdir)
	install -m755 $(ANALYSIS_BIN) $(DESTDIR)$(bindir)
	install -m755 $(ANALYSIS_LIBEXEC) $(DESTDIR)$(libexecdir)
	$(call put_pages,$(ANALYSIS_MAN))

install-core: core ## install everything except netprof-analysis
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libexecdir) \
		$(DESTDIR)$(slurm_plugindir) $(DESTDIR)$(sysconfdir)/plugstack.conf.d
	install -m755 $(BIN) $(DESTDIR)$(bindir)
	install -m755 $(LIBEXEC) $(DESTDIR)$(libexecdir)
	install -m755 $(PLUGINS) $(DESTDIR)$(slurm_plugindir)
	$(call put_pages,$(MAN))
	install -D -m644 etc/netprof-completion.bash \
		$(DESTDIR)$(prefix)/share/bash-completion/completions/netprof
	install -D -m644 etc/netprof-grafana.json $(DESTDIR)$(datadir)/grafana.json
	install -d $(DESTDIR)$(datadir)/json-schema
	install -m644 doc/json-schema/*.json $(DESTDIR)$(datadir)/json-schema
	for f in netprof.conf plugstack.conf.d/netprof.conf; do \
		to=$(DESTDIR)$(sysconfdir)/$$f; test -e $$to || \
		{ $(PLACES) etc/$$f >$$to && chmod 644 $$to; } || exit 1; done
	@! { command -v slurmctld || command -v scontrol; } >/dev/null || \
		$(BUILD)/netprof check --versions $(addprefix $(DESTDIR)$(slurm_plugindir)/,\
		spank_netprof.so job_submit_netprof.so) || :

uninstall: ## remove the installed files; keep configuration and store
	rm -f $(patsubst $(BUILD)/%,$(DESTDIR)$(bindir)/%,$(BIN) $(ANALYSIS_BIN)) \
		$(patsubst $(BUILD)/%,$(DESTDIR)$(libexecdir)/%,$(LIBEXEC) $(ANALYSIS_LIBEXEC)) \
		$(patsubst $(BUILD)/%,$(DESTDIR)$(slurm_plugindir)/%,$(PLUGINS)) \
		$(DESTDIR)$(prefix)/share/bash-completion/completions/netprof \
		$(DESTDIR)$(datadir)/grafana.json \
		$(patsubst doc/%,$(DESTDIR)$(datadir)/%,$(wildcard doc/json-schema/*.json)) \
		$(foreach m,$(MAN) $(ANALYSIS_MAN),$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m)))
	-rmdir $(DESTDIR)$(libexecdir) $(DESTDIR)$(datadir)/json-schema \
		$(DESTDIR)$(datadir) 2>/dev/null

REVISION ?= 1
.PHONY: deb rpm check-packages
deb: ## build Debian packages for the installed Slurm, in build-packages
	@etc/packages install build
	@etc/packages install deb
	@etc/make-packages deb $(VERSION) $(REVISION) $(slurm_plugindir) build-packages

rpm: libraries ## build RPMs for the installed Slurm, in build-packages
	@etc/packages install rpm
	@etc/make-packages rpm $(VERSION) $(REVISION) $(slurm_plugindir) build-packages

# Minutes, as all is built for where packages put it.
check-packages: ## install, upgrade, remove and purge packages, in an overlay (as root)
	@etc/packages install deb
	@etc/packages install rpm
	@bash t/packages.sh

clean: ## remove what was built
	rm -rf $(BUILD) build build-sanitize build-clang build-sanitize-clang build-fuzz \
		build-thread build-packages

.PHONY: format
format: ## format the C sources (with clang-format 14)
	@t/format

.PHONY: sandbox
sandbox: all ## open a shell with sample records, for all commands that read them
	@BUILD=$(BUILD) t/sandbox

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t16

# V=1 shows whole commands.
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1) $@")

empty :=
comma := ,
LIBM := -lm
# Slurm's plugins find in the program what libslurm keeps (np_slurm_compat.h).
SLURM := $(if $(SLURM_PREFIX),-L$(SLURM_PREFIX)/lib \
	-Wl$(comma)-rpath$(comma)$(SLURM_PREFIX)/lib) -lslurm -rdynamic
GSL := $(call pkg,--libs,gsl)
JSON := $(call pkg,--libs,json-c)
# Probes run without the user's LD_LIBRARY_PATH, so they look where UCX is now.
UCX := $(foreach word,$(call pkg,--libs,ucx),$(word) \
	$(patsubst -L%,-Wl$(comma)-rpath$(comma)%,$(filter -L%,$(word))))
CLP := $(call pkg,--libs,clp)
PMIX := $(call pkg,--libs,pmix)
ELF := $(call pkg,--libs,libelf)
ZLIB := $(call pkg,--libs,zlib)
CAIRO := $(call pkg,--libs,cairo)
CURL := $(call pkg,--libs,libcurl)
link = $(Q)$(CC) $(ALL_CFLAGS) $(SAN) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(1)

# A release of Slurm may have no more what is called: lazy, to find out by then.
plugin = $(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete,-z,lazy \
	-Wl,--version-script=$(1) -o $@ $(filter %.o %.a,$^) $(2)

$(BUILD)/libnetprof.a: $(LIBS)
	$(call say,AR)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/netprof: $(call objs,$(CLI) $(HTTP)) $(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(JSON) $(GSL) $(ELF) $(ZLIB) $(CAIRO) $(CURL) $(LIBM))

# The commands and what they share, for the analysis and the tests.
$(BUILD)/libnetprof-cli.a: $(call objs,$(filter-out cli/netprof.c,$(CLI)))
$(foreach a,$(ANALYSIS),$(eval $(BUILD)/libnetprof-$(notdir $(a)).a: $(call objs,\
	$(wildcard $(addprefix $(a)/,np_*.c cli_*.c cmd_*.c)))))
$(filter-out $(BUILD)/libnetprof.a,$(ANALYSIS_LIBS)):
	$(call say,AR)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/netprof-analysis: $(BUILD)/analysis/netprof-analysis.o $(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(JSON) $(GSL) $(ELF) $(CAIRO) $(LIBM))

$(addprefix $(BUILD)/netprof-,impactb compressionb): $(BUILD)/netprof-%: \
		$(BUILD)/profiler/probe/netprof-%.o $(call objs,$(ALONE)) \
		$(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(UCX) $(PMIX) $(GSL) $(LIBM) -lpthread)

$(BUILD)/netprof-prtt: $(BUILD)/analysis/latency/netprof-prtt.o
$(BUILD)/netprof-sharing: $(BUILD)/analysis/sharing/netprof-sharing.o
$(addprefix $(BUILD)/netprof-,prtt sharing): $(call objs,$(ALONE)) $(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(UCX) $(PMIX) $(GSL) $(LIBM) -lpthread)

$(BUILD)/netprof-collector: $(BUILD)/spank/netprof-collector.o \
		$(call objs,$(SPANK)) $(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(SLURM) $(JSON) $(GSL) $(LIBM))

# Without libslurm: it runs on every node, all the time.
$(BUILD)/netprof-saver: $(BUILD)/spank/netprof-saver.o \
		$(call objs,$(addprefix spank/np_,detach.c saver_queue.c \
		select_level.c)) \
		$(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(JSON) $(GSL) $(ELF) $(LIBM))

# Started on every node of a launch: with musl that costs a fifth (doc/developer/carrier.md).
MUSL := $(if $(SANITIZE),,$(shell command -v musl-gcc))
$(BUILD)/netprof-agent: $(AGENT_SRC:%.c=$(BUILD)/agent/%.o)
	$(call say,LD)
	$(Q)$(or $(MUSL),$(CC)) $(CFLAGS) $(SAN) $(LDFLAGS) $(if $(MUSL),-static) -o $@ $^

$(BUILD)/netprof-mpi: $(call objs,spank/netprof-mpi.c spank/np_watch.c) \
		$(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(ELF))

$(BUILD)/spank_netprof.so: SAN :=
$(BUILD)/spank_netprof.so: $(PLUGIN_SRC:%.c=$(BUILD)/plugin/%.o) spank/spank_netprof.lds
	$(call say,LD)
	$(call plugin,spank/spank_netprof.lds,$(LIBM))

$(BUILD)/netprof-release: $(BUILD)/jobsubmit/netprof-release.o \
		$(call objs,$(JOBSUBMIT)) $(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(SLURM) $(JSON) $(GSL) $(LIBM))

# What slurmctld loads needs the C library alone.
SHIM_SRC := jobsubmit/job_submit_netprof.c jobsubmit/np_ctl.c \
	profiler/base/np_loader.c predictor/base/np_text.c
$(BUILD)/job_submit_netprof.so: SAN :=
$(BUILD)/job_submit_netprof.so: $(SHIM_SRC:%.c=$(BUILD)/plugin/%.o) \
		jobsubmit/job_submit_netprof.lds
	$(call say,LD)
	$(call plugin,jobsubmit/job_submit_netprof.lds,)

# What that loads, and what it needs of the library, without sanitizer.
CTLD_LIB := $(if $(SANITIZE),$(patsubst $(BUILD)/%,$(BUILD)/plugin/%,$(LIBS)),\
	$(BUILD)/libnetprof.a)
$(BUILD)/netprof_placement.so: SAN :=
$(BUILD)/netprof_placement.so: $(patsubst %.c,$(BUILD)/plugin/%.o,$(JOBSUBMIT) \
		jobsubmit/netprof_placement.c) $(CTLD_LIB) \
		jobsubmit/netprof_placement.lds
	$(call say,LD)
	$(call plugin,jobsubmit/netprof_placement.lds,$(JSON) $(GSL) $(LIBM) -lpthread)

# Loaded into MPI programs, which have no sanitizer. Nothing of an MPI is
# linked: the program has it.
SHIM_SO = $(Q)$(CC) $(BASE_CFLAGS) -Ianalysis/latency $(CFLAGS) -fvisibility=hidden $(1) $(LDFLAGS) \
	-shared -o $@ $(filter %.c,$^)
SHIM_OF_MPI := $(filter-out %_load.c,$(wildcard analysis/latency/shim_*.c)) \
	profiler/store/np_trace_dir.c profiler/store/np_saver_proto.c \
	analysis/latency/np_trace_write.c profiler/base/np_calls.c \
	profiler/base/np_children.c profiler/base/np_log.c
SHIM_HEADERS := $(wildcard analysis/latency/*.h)
# Programs that a traced script starts may have musl, which lacks the functions of
# _FORTIFY_SOURCE, and which ends a program if a function is missing.
$(BUILD)/libnetprof-mpi.so: analysis/latency/shim_load.c $(SHIM_HEADERS) $(BUILD)/flags
	$(call say,LD)
	$(call SHIM_SO,-U_FORTIFY_SOURCE)
$(BUILD)/libnetprof-mpi-openmpi.so: $(SHIM_OF_MPI) $(SHIM_HEADERS) $(BUILD)/flags
	$(call say,LD)
	$(call SHIM_SO,$(call pkg,--cflags,ompi-c))
$(BUILD)/libnetprof-mpi-mpich.so: $(SHIM_OF_MPI) $(SHIM_HEADERS) $(BUILD)/flags
	$(call say,LD)
	$(call SHIM_SO,$(call pkg,--cflags,mpich))

# For the MPI programs of t/cluster; they have no sanitizer either.
$(BUILD)/quiet_poll.so: t/cluster.d/quiet_poll.c $(BUILD)/flags
	$(call say,LD)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) -shared -o $@ $< -ldl

# For t/validate: a traced run as measured, and as its graph says; its placement.
$(BUILD)/trace_time: $(call objs,analysis/latency/t/bench/trace_time.c)
$(BUILD)/trace_place: $(call objs,analysis/latency/t/bench/trace_place.c \
	analysis/latency/t/some_exchange.c)
$(addprefix $(BUILD)/trace_,time place): $(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(GSL) $(LIBM))

# Loaded into programs that have no sanitizer.
$(BUILD)/libnetprof-delay.so: analysis/latency/delay.c analysis/latency/old_glibc.h \
		$(BUILD)/flags
	$(call say,LD)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -fvisibility=hidden $(LDFLAGS) \
		-shared -o $@ $< -ldl $(LIBM)

# The delay line of t/cluster, and a file system that fails as servers do.
$(BUILD)/late $(BUILD)/hungfs: $(BUILD)/%: t/cluster.d/%.c $(BUILD)/flags
	$(call say,LD)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

# Tests let one of these fail (t/unit/alloc.h).
WRAP := -Wl,$(subst $(empty) ,$(comma),$(addprefix --wrap=,malloc calloc \
	realloc reallocarray strdup strndup))
$(BUILD)/unit: $(call objs,$(UNIT) $(SPANK) $(JOBSUBMIT) $(HTTP)) $(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(WRAP) -lcunit $(SLURM) $(JSON) $(GSL) $(CLP) $(ELF) $(ZLIB) $(CAIRO) \
		$(CURL) $(LIBM))

# The cost of predictions, of queueing networks and of played programs.
$(BUILD)/bench_predict: $(call objs,t/bench_predict.c)
$(BUILD)/bench_qn: $(call objs,analysis/queueing/t/bench/bench_qn.c)
$(BUILD)/bench_sharing: $(call objs,analysis/sharing/t/bench/bench_sharing.c)
$(addprefix $(BUILD)/bench_,predict qn sharing): $(BUILD)/t/bench_baseline.o $(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(GSL) $(LIBM))

# The cost of execution graphs, compared with a solver of linear programs.
$(BUILD)/bench_tolerance: $(call objs,analysis/latency/t/bench/bench_tolerance.c \
		analysis/latency/t/some_exchange.c) $(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(CLP) $(GSL) $(LIBM))

# With the driver of t/fuzz/main.c for `make check`; `make fuzz SEC=3600` has
# libFuzzer, and a corpus that grows.
FUZZ := $(patsubst fuzz_%.c,$(BUILD)/fuzz-%,$(notdir $(wildcard t/fuzz/fuzz_*.c \
	analysis/*/t/fuzz/fuzz_*.c)))
FUZZ_MAIN := $(call objs,t/fuzz/main.c)
.SECONDEXPANSION:
$(FUZZ): $(BUILD)/fuzz-%: $$(call objs,$$(wildcard t/fuzz/fuzz_$$*.c \
		analysis/*/t/fuzz/fuzz_$$*.c)) $(FUZZ_MAIN) \
		$(call objs,t/unit/jobsubmit/some_slurm.c $(SPANK) $(JOBSUBMIT) $(HTTP)) \
		$(ANALYSIS_LIBS)
	$(call say,LD)
	$(call link,$(FUZZ_LIB) $(SLURM) $(JSON) $(GSL) $(ZLIB) $(CAIRO) $(CURL) $(LIBM))
.PHONY: fuzz-programs fuzz
fuzz-programs: $(FUZZ)
SEC ?= 10
fuzz: ## run the fuzzers (with clang)
	@$(MAKE) --no-print-directory BUILD=build-fuzz CC=clang FUZZ_MAIN= \
		SANITIZE=address,undefined,fuzzer-no-link \
		FUZZ_LIB=-fsanitize=fuzzer \
		CFLAGS='-O1 -g -fno-sanitize-recover=all' fuzz-programs
	@for f in $(FUZZ:$(BUILD)/fuzz-%=%); do \
		t/fuzz/run --libfuzzer build-fuzz $$f $(SEC) || exit 1; done

# Records for t/data/store; see t/data/README.
$(BUILD)/make-store: $(call objs,t/make-store.c t/unit/store/some_record.c) \
		$(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(JSON) $(GSL) $(LIBM))

.PHONY: fixtures
fixtures: $(BUILD)/make-store
	rm -rf t/data/store
	$(BUILD)/make-store t/data/store

# The cost of decisions and submissions on a large cluster.
$(BUILD)/bench_place: $(call objs,t/bench_place.c t/bench_big.c t/bench_baseline.c) \
		$(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(LIBM))

# The cost of replaying a queue.
$(BUILD)/bench_simulate: $(call objs,t/bench_simulate.c t/bench_big.c) \
		$(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(LIBM))

$(BUILD)/bench_submit: $(call objs,t/bench_submit.c t/bench_ctld.c t/bench_big.c \
		t/bench_baseline.c $(JOBSUBMIT)) $(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(SLURM) $(JSON) $(GSL) $(LIBM))

# What a flagged step of many nodes starts and keeps; what others can make it do.
$(BUILD)/bench_wide $(BUILD)/bench_limits: $(BUILD)/bench_%: $(call objs,t/bench_big.c \
		$(SPANK)) $(BUILD)/t/bench_%.o $(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(SLURM) $(JSON) $(GSL) $(LIBM))

# Host lists, compared with libslurm's.
$(BUILD)/bench_hostlist: $(call objs,t/bench_hostlist.c) $(BUILD)/libnetprof.a
	$(call say,LD)
	$(call link,$(SLURM))

# Where netprof check looks for plugins if Slurm does not answer.
$(BUILD)/cli/cli_slurm.o: CPPFLAGS += -DNP_SLURM_PLUGINDIR='"$(if \
	$(filter command% environment%,$(origin slurm_plugindir)),$(slurm_plugindir):)/usr/lib/$(shell \
	$(CC) -print-multiarch 2>/dev/null)/slurm-wlm:/usr/lib64/slurm:/usr/local/lib/slurm"'

$(BUILD)/analysis/%.o: CPPFLAGS += -Icli $(addprefix -I,$(ANALYSIS))
$(BUILD)/t/%.o $(addsuffix /t/%.o,$(addprefix $(BUILD)/,$(ANALYSIS))): CPPFLAGS += -Icli -Ispank \
	-Ijobsubmit $(addprefix -I,t t/unit $(wildcard t/unit/*/. analysis/*/t/.)) \
	-DT_DATA_DIR='"$(CURDIR)/t/data"'

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(SAN) -MMD -MP -c -o $@ $<

$(BUILD)/plugin/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/agent/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(or $(MUSL),$(CC)) $(BASE_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(SAN) -MMD -MP -c -o $@ $<

$(BUILD)/flags: FORCE # new flags rebuild everything
	@mkdir -p $(@D); echo '$(CC) $(ALL_CFLAGS) $(SAN)' | cmp -s - $@ || \
		echo '$(CC) $(ALL_CFLAGS) $(SAN)' >$@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
