"""The images of the packages: which wheel contains which, and how they are packed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Where a wheel installs packaged images, relative to the environment. The binary looks there.
FOLDER = "share/assay/images"

# Images of the main wheel.
IN_MAIN_WHEEL = ("python", "javascript")

# The other images, and the extras that install them.
PACKAGES = {"python-scientific": "scientific", "cpp": "cpp"}

NAMES = IN_MAIN_WHEEL + tuple(PACKAGES)

# The folder of an image's recipe.
RECIPES = {
    "python": "python",
    "python-scientific": "python",
    "javascript": "javascript",
    "cpp": "cpp",
}


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "assay" / "packages"


def output_of(*command):
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, universal_newlines=True
    )
    if done.returncode:
        words = " ".join(map(str, command))
        sys.exit(f"images.py: `{words}` failed with status {done.returncode}")
    return done.stdout


def pack(image, binary, repository):
    """Builds an image unless it exists, packs it unless the package of this hash exists, and
    returns the folder of the package.
    """
    recipe = repository / "sandboxes/guests" / RECIPES[image] / "build.py"
    guest = output_of(sys.executable, recipe, "--image", image).strip()
    listed = output_of(binary, "images", "--build", image, "--interpreter", guest, "--json")
    (built,) = (one for one in map(json.loads, listed.splitlines()) if one["image"] == image)
    packages = cache() / built["hash"][:16]
    result = packages / image
    if not (result / "package.json").exists():
        partial = packages.with_name(f"{packages.name}.part{os.getpid()}")
        command = ("images", "--pack", image, "--interpreter", guest, "--packages", partial)
        output_of(binary, *command)
        shutil.rmtree(packages, ignore_errors=True)
        os.replace(partial, packages)
    return result
