# Spack's recipe: put this folder into a repository's packages/. It builds from the archive of
# `make dist`, which has all Go modules in vendor/: no network is needed.
from spack.package import *


class Lapi(MakefilePackage):
    """IBM LAPI and uDAPL 2.0, one-sided communication, on today's Linux."""

    homepage = "https://example.org/lapi"
    url = "https://example.org/lapi/lapi-@VERSION@.tar.xz"

    version("@VERSION@", sha256="@SHA256@")

    variant("openmpi", default=False, description="Build the component for Open MPI")

    depends_on("c", type="build")
    depends_on("go@1.24:", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("rdma-core", type="build")
    depends_on("openmpi@4.1:5.0", when="+openmpi")

    conflicts("platform=darwin", msg="LAPI is for Linux")
    requires("target=x86_64:", "target=aarch64:", "target=ppc64le:", policy="one_of")

    def setup_build_environment(self, env):
        env.set("GOFLAGS", "-mod=vendor")
        env.set("GOPROXY", "off")
        env.set("GOTOOLCHAIN", "local")
        env.set("GOCACHE", join_path(self.stage.path, "go-cache"))

    def _component(self, spec):
        return [] if spec.satisfies("+openmpi") else ["OPENMPI_CC="]

    def build(self, spec, prefix):
        make("build", *self._component(spec))

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}", *self._component(spec))

    def setup_run_environment(self, env):
        env.set("LAPI_PREFIX", self.prefix)
