"""Runs a command with a deadline, and measures the memory that it takes."""

import subprocess
import threading

import torch


class Failed(Exception):
    """The command failed or did not end in time."""


def used(options, process):
    """Bytes that a process has taken: of the device, whose other users must be idle, or its own."""
    if options.torch_device != "cpu":
        free, total = torch.cuda.mem_get_info(options.torch_device)
        return total - free
    with open(f"/proc/{process.pid}/status") as status:
        sizes = [line.split()[1] for line in status if line.startswith("VmHWM:")]
    return 1024 * int(sizes[0]) if sizes else 0


def run(command, options, deadline):
    """The output of a command, and its largest use of memory in GiB."""
    before = 0
    if options.torch_device != "cpu":
        torch.cuda.empty_cache()
        before = used(options, None)
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ended, peak = threading.Event(), [0]

    def watch():
        while not ended.wait(0.02):
            try:
                peak[0] = max(peak[0], used(options, process) - before)
            except OSError:  # it ended
                return

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    words = " ".join(map(str, command))
    try:
        output, errors = process.communicate(timeout=deadline.remaining())
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
        raise Failed(f"{words}: out of time; {errors.strip()[-300:]}") from None
    finally:
        ended.set()
        watching.join()
    if process.returncode:
        raise Failed(f"{words}: {errors.strip()[-500:]}")
    return output, peak[0] / 2**30
