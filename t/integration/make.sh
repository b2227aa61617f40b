# Requirements of `make`. Needs no cluster; also runs alone:
#
#	[BUILD=build] bash t/integration/make.sh
# shellcheck shell=bash

if [ -z "${ROOT-}" ]; then # not from t/check
	. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
	ALONE=yes
fi
PARALLEL=25

# A pkg-config that lacks the packages in WITHOUT; make must stop there.
bare() { # COMMAND...: with nothing but what a build needs
	mkdir -p "$TMPDIR/bin"
	cat >"$TMPDIR/bin/pkg-config" <<-'END'
		#!/bin/sh
		case " $WITHOUT " in *" $2 "*) exit 1 ;; esac
		exec /usr/bin/pkg-config "$@"
	END
	chmod +x "$TMPDIR/bin/pkg-config"
	RC=0
	(cd "$ROOT" && PATH=$TMPDIR/bin:$PATH "$@") >"$TMPDIR/out" 2>&1 || RC=$?
}

test_each_missing_library_is_one_line() {
	WITHOUT='gsl pmix' bare etc/libraries
	equal "exit status" "$RC" 1
	equal lines "$(cat "$TMPDIR/out")" \
"missing: gsl (Debian: libgsl-dev; RHEL and SUSE: gsl-devel)
missing: pmix (Debian: libpmix-dev; RHEL and SUSE: pmix-devel)"
	CC=/nonexistent bare etc/libraries
	grep -q '^missing: a C compiler, /nonexistent' "$TMPDIR/out" ||
		fail "$(cat "$TMPDIR/out")"
}

test_make_does_without_cairo_and_mpi() {
	WITHOUT='cairo ompi-c mpich' bare etc/libraries
	equal "exit status" "$RC" 0
	equal "what is left out" "$(grep -c '^without ' "$TMPDIR/out")" 3
	WITHOUT='cairo ompi-c mpich' bare make BUILD="$TMPDIR/build" -n
	equal "exit status" "$RC" 0
	grep -q -- -DNP_NO_CAIRO "$TMPDIR/out" || fail "no -DNP_NO_CAIRO"
	! grep -E 'canvas_cairo|mpi-openmpi|mpi-mpich|-lcairo' "$TMPDIR/out" ||
		fail "these are built"
	! grep -E 'etc/packages|apt-get|lammps|build/unit' "$TMPDIR/out" ||
		fail "tests are asked for"
}

# The objects of this one file; the others are the same.
test_pictures_without_cairo_are_svg() {
	local flags
	flags=$(cat "$ROOT/${BUILD:-build}/flags")
	# shellcheck disable=SC2086
	(cd "$ROOT" && $flags -DNP_NO_CAIRO -Werror -c plot/np_picture.c \
		-o "$TMPDIR/picture.o") || fail "does not compile"
	! nm "$TMPDIR/picture.o" | grep -E 'np_canvas_(png|pdf)' || fail "needs cairo"
}

test_packages_of_the_build_and_of_the_tests_are_separate() {
	cd "$ROOT" || return
	equal "both" "$(etc/packages list | sort)" \
		"$({ etc/packages list build; etc/packages list test; } | sort)"
	! etc/packages list build | grep -E 'lammps|mariadb|slurmd|cunit' ||
		fail "the build asks for them"
	bare etc/packages check frob
	equal "exit status of an unknown set" "$RC" 2
}

# Without dpkg nothing is installed and nothing fails.
test_a_missing_dpkg_is_no_failure() {
	local p
	mkdir "$TMPDIR/rhel"
	for p in sh sed tr id grep; do
		ln -s "$(command -v $p)" "$TMPDIR/rhel/$p"
	done
	RC=0
	(cd "$ROOT" && PATH=$TMPDIR/rhel etc/packages install test) \
		>"$TMPDIR/out" 2>&1 || RC=$?
	equal "exit status" "$RC" 0
	grep -q '^no dpkg here' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

test_help_says_how_to_run_one_suite() {
	bare make -s help
	grep -q '^check .*t/check NAME' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	grep -q '^unit .*build/unit NAME' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	RC=0
	"$ROOT/${BUILD:-build}/unit" nosuchsuite >"$TMPDIR/out" 2>&1 || RC=$?
	equal "exit status of an unknown suite" "$RC" 2
	grep -q '^unit: no suite "nosuchsuite"; there are: .* qn ' "$TMPDIR/out" ||
		fail "$(cat "$TMPDIR/out")"
}

test_sources_are_laid_out_as_make_format_does() {
	RC=0
	"$ROOT/t/format" check >"$TMPDIR/out" 2>&1 || RC=$?
	[ "$RC" != 3 ] || skip "$(cat "$TMPDIR/out")"
	[ "$RC" = 0 ] || fail "make format would change $(paste -sd' ' "$TMPDIR/out")"
}

[ -z "${ALONE-}" ] || run_alone "${BASH_SOURCE[0]}"
