"""Writes wheels: the one without a binary, derived from that with it, and those of images."""

import base64
import hashlib
import zipfile

import images

NAME = "assay_rewards"
TAG = "py3-none-any"

# Modification time of all files, so that equal content gives equal archives.
TIME = (1980, 1, 1, 0, 0, 0)


def version_of(wheel):
    return wheel.name.split("-")[1]


def without_binary(wheel):
    """Writes the wheel without its binary and images, for all platforms, and returns its path."""
    version = version_of(wheel)
    files = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            is_recorded = name.endswith("/RECORD")
            is_native = ".data/" in name or "/sboms/" in name
            if not is_recorded and not is_native:
                files[name] = archive.read(name)
    information = f"{NAME}-{version}.dist-info"
    files[f"{information}/WHEEL"] = wheel_file()
    return write(wheel.with_name(f"{NAME}-{version}-{TAG}.whl"), information, files)


def of_image(output, extra, version, image, folder, license_text):
    """Writes the wheel of one image and returns its path."""
    name = f"{NAME}_{extra}"
    information = f"{name}-{version}.dist-info"
    files = {
        f"{name}-{version}.data/data/{images.FOLDER}/{image}/{path.name}": path.read_bytes()
        for path in sorted(folder.iterdir())
    }
    files[f"{information}/METADATA"] = (
        "Metadata-Version: 2.4\n"
        f"Name: {name.replace('_', '-')}\n"
        f"Version: {version}\n"
        f"Summary: The image `{image}` of assay-rewards\n"
        "License-Expression: Apache-2.0\n"
        "License-File: LICENSE\n"
        "Requires-Python: >=3.9\n"
        f"Requires-Dist: assay-rewards=={version}\n"
    ).encode()
    files[f"{information}/licenses/LICENSE"] = license_text
    files[f"{information}/WHEEL"] = wheel_file()
    return write(output / f"{name}-{version}-{TAG}.whl", information, files)


def wheel_file():
    lines = ("Wheel-Version: 1.0", "Generator: assay", "Root-Is-Purelib: true", f"Tag: {TAG}")
    return "".join(f"{line}\n" for line in lines).encode()


def write(path, information, files):
    """Writes a wheel with these files and its record."""
    record = f"{information}/RECORD"
    rows = [f"{name},{digest(content)},{len(content)}" for name, content in files.items()]
    files = {**files, record: "\n".join([*rows, f"{record},,", ""]).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return path


def digest(content):
    value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"sha256={value}"
