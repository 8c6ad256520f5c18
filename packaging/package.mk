# Packages. Included by the top Makefile.
#
# dist       build/lapi-VERSION.tar.xz: the sources with all Go modules; builds without a network
# dist-test  unpacks that, and builds it where there is no network
# rpm        rpm packages, from that archive, in build/rpm
# rpm-test   unpacks and uses them; then CMake, modules, completion and the recipes for Spack and EasyBuild
# deb        Debian's packages, from that archive, in build/deb; lintian looks at them
# debian-test  builds and tries it in another release of Debian: SUITE=trixie
# upgrade-test  packages of 0.1.0, a program compiled with them, the packages of this release: it runs
# deb-test   installs them in a clean Debian, builds and runs programs there, removes them

DIST := $(BUILD)/lapi-$(VERSION).tar.xz

.PHONY: dist dist-test deb deb-test
dist:
	packaging/dist.sh $(DIST) lapi-$(VERSION) $(SOURCE_DATE_EPOCH)

dist-test: dist
	packaging/dist-test.sh $(DIST)

deb: dist
	packaging/deb.sh $(DIST) $(VERSION) $(BUILD)/deb

deb-test: deb
	packaging/deb-test.sh $(BUILD)/deb

.PHONY: upgrade-test
upgrade-test: deb
	packaging/upgrade-test.sh $(BUILD)/deb

# The same sources in another release of Debian, with its Go and compilers: SUITE=trixie.
.PHONY: debian-test
debian-test: dist
	packaging/debian-test.sh $(DIST) $(or $(SUITE),trixie) $(BUILD)/debian-$(or $(SUITE),trixie)

.PHONY: rpm rpm-test
rpm: dist
	packaging/rpm/build.sh $(DIST) $(VERSION) $(BUILD)/rpm

rpm-test: rpm
	packaging/others-test.sh $(DIST) $(VERSION) $(BUILD)/rpm
