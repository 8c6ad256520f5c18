"""Carries out EasyBuild's recipe as its ConfigureMake block would, without the network.
usage: stand-in.py RECIPE ARCHIVE FOLDER"""
import hashlib, os, subprocess, sys, tarfile

recipe, archive, folder = sys.argv[1], sys.argv[2], sys.argv[3]
values = {"SYSTEM": {"name": "system", "version": "system"}}
exec(compile(open(recipe).read(), recipe, "exec"), values)
template = {"name": values["name"], "version": values["version"], "builddir": folder,
            "installdir": os.path.join(folder, "installed")}
filled = lambda text: text % template
assert [filled(s) for s in values["sources"]] == [os.path.basename(archive)]
assert values["checksums"] == [hashlib.sha256(open(archive, "rb").read()).hexdigest()]
assert values["easyblock"] == "ConfigureMake" and values["skipsteps"] == ["configure"]
os.makedirs(folder, exist_ok=True)
with tarfile.open(archive) as tar:
    tar.extractall(folder)
source = os.path.join(folder, "lapi-" + values["version"])
environment = dict(os.environ)
environment.pop("MAKEFLAGS", None)
prebuild, preinstall = filled(values["prebuildopts"]), filled(values["preinstallopts"])
if "GOCACHE_OF_TEST" in os.environ:
    prebuild += "GOCACHE=" + os.environ["GOCACHE_OF_TEST"] + " "
    preinstall += " GOCACHE=" + os.environ["GOCACHE_OF_TEST"] + " "
for command in (prebuild + "make " + filled(values["buildopts"]),
                preinstall + " make install " + filled(values["installopts"])):
    subprocess.run(["unshare", "-rn", "sh", "-c", command], check=True, env=environment, cwd=source)
for kind, exists in ("files", os.path.isfile), ("dirs", os.path.isdir):
    for path in values["sanity_check_paths"][kind]:
        assert exists(os.path.join(template["installdir"], path)), path
environment["PATH"] = os.path.join(template["installdir"], "bin") + ":" + environment["PATH"]
for command in values["sanity_check_commands"]:
    subprocess.run(command, shell=True, check=True, env=environment)
