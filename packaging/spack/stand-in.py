"""Carries out Spack's recipe without Spack: what the recipe may use of it stands here, and the network
is off. usage: stand-in.py PACKAGE.PY ARCHIVE FOLDER"""
import os, subprocess, sys, tarfile, types, hashlib

recipe, archive, folder = sys.argv[1], sys.argv[2], sys.argv[3]
asked = {"version": None, "depends": []}


class Environment:
    def __init__(self, values):
        self.values = values

    def set(self, name, value):
        self.values[name] = str(value)

    prepend_path = set


class Spec:
    def satisfies(self, what):
        return False


class MakefilePackage:
    stage = types.SimpleNamespace(path=folder)
    prefix = os.path.join(folder, "installed")
    spec = Spec()


def version(name, sha256):
    asked["version"] = (name, sha256)


environment = dict(os.environ)
environment.pop("MAKEFLAGS", None)


def make(*arguments):
    subprocess.run(["unshare", "-rn", "make", *arguments], check=True, env=environment, cwd=source)


module = types.ModuleType("spack.package")
module.__dict__.update(
    MakefilePackage=MakefilePackage, version=version, make=make, join_path=os.path.join,
    variant=lambda *a, **k: None, conflicts=lambda *a, **k: None, requires=lambda *a, **k: None,
    depends_on=lambda what, **k: asked["depends"].append(what))
module.__all__ = [n for n in module.__dict__ if not n.startswith("_")]
sys.modules["spack"] = types.ModuleType("spack")
sys.modules["spack.package"] = module

names = {}
exec(compile(open(recipe).read(), recipe, "exec"), names)
package = names["Lapi"]()
name, digest = asked["version"]
assert hashlib.sha256(open(archive, "rb").read()).hexdigest() == digest, "another archive"
assert os.path.basename(archive) == names["Lapi"].url.rsplit("/", 1)[1], "another name"
assert any(d.startswith("go@1.24") for d in asked["depends"])
os.makedirs(folder, exist_ok=True)
with tarfile.open(archive) as tar:
    tar.extractall(folder)
source = os.path.join(folder, "lapi-" + name)
package.setup_build_environment(Environment(environment))
if "GOCACHE_OF_TEST" in os.environ:
    environment["GOCACHE"] = os.environ["GOCACHE_OF_TEST"]
package.build(package.spec, package.prefix)
package.install(package.spec, package.prefix)
said = subprocess.run([os.path.join(package.prefix, "bin", "lapirun"), "--version"], check=True,
                      capture_output=True, text=True).stdout
assert said.split()[-1] == name, said
