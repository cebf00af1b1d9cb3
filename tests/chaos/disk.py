"""A small file system for the record, in a mount namespace of this process alone, that can be
filled and emptied.
"""

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import tempfile

INSIDE = "--inside"
CHUNK = bytes(1 << 20)


def enter(arguments):
    """Restarts this program where it may mount: as root in a mount namespace, otherwise in a user
    namespace as well.

    Returns only if neither is possible, with the reason.
    """
    reasons = []
    for flags in (["-m"], ["-Urm"]):
        command = ["unshare", *flags, "--"]
        try:
            # Mounting may be refused where unsharing is not.
            with tempfile.TemporaryDirectory() as folder:
                tried = [*command, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
                done = subprocess.run(
                    tried, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
                )
        except OSError as error:
            return str(error)
        if done.returncode == 0:
            os.execvp("unshare", [*command, sys.executable, *arguments, INSIDE])
        reasons.append(f"`unshare {' '.join(flags)}`: {done.stderr.strip()}")
    return "; ".join(reasons)


class Disk:
    """The file system that holds a folder."""

    def __init__(self, folder, mebibytes):
        self.folder, self.ballast = folder, os.path.join(folder, "ballast")
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tmpfs", folder],
            check=True,
        )

    def fill(self):
        """Writes zeros until there is no space left."""
        file = os.open(self.ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = len(CHUNK)
            while size:
                try:
                    os.write(file, CHUNK[:size])
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size = 0 if size == 4096 else 4096
        finally:
            os.close(file)

    def free(self, size=None):
        """Removes the zeros, or the last `size` bytes of them."""
        with contextlib.suppress(FileNotFoundError):
            if size is None:
                os.remove(self.ballast)
            else:
                os.truncate(self.ballast, max(0, os.path.getsize(self.ballast) - size))

    def used(self):
        """Used and total MiB."""
        usage = shutil.disk_usage(self.folder)
        return usage.used >> 20, usage.total >> 20

    def close(self):
        """Unmounts it, so that the folder can be removed."""
        subprocess.run(["umount", "--lazy", self.folder], check=False)
