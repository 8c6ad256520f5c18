# Fortran. Included by the top Makefile; everything made goes to build/fortran.
#
# fortran-test lapif.h against C, each subroutine and each kind of handler from programs in fixed
# and free form, profiling; installs the
#               compiler where it is missing, if it may

FORTRAN ?= gfortran

.PHONY: fortran-test

fortran-test: all
	@command -v $(FORTRAN) > /dev/null || scripts/setup.sh gfortran=gfortran
ifdef M32
	@scripts/setup.sh gfortran-m32=gfortran-multilib
endif
	@BUILD=$(BUILD) FORTRAN=$(FORTRAN) CC='$(CC)' M32=$(M32) tests/fortran/run-tests
