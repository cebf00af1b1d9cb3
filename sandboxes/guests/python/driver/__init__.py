"""The driver: connects the host with a program in the Python image.

The host calls `handle` with one message and gets one message back. A message consists of four bytes
with the length of a JSON header, the header, and blobs whose lengths the header lists. The host
requests the operations: compile, load, prelude, main and call; session; or compile_test and judge,
whose test uses a program in another instance through `_assay_host.exchange`.

The program shares this interpreter. It can read and change everything here, so this instance never
decides about the program: everything it sends is treated as output of the program, which the host
or another instance judges.
"""

from . import isolation

isolation.own_builtins(globals())

from . import judge, messages, program, session, warm  # noqa: E402

OPERATIONS = {
    "version": program.version,
    "compile": program.compile_parts,
    "load": program.load,
    "prelude": program.prelude,
    "main": program.main,
    "call": program.call,
    "peer": program.answer_peer,
    "compile_test": judge.compile_test,
    "judge": judge.judge,
    "session": session.call,
}


def handle(message):
    header, blobs = messages.read(message)
    if judge.peer.busy:
        # From here on, every message comes from the program's instance, which may only use what was
        # lent to it.
        return judge.peer.answer(header)
    return OPERATIONS[header["op"]](header, blobs)


warm.up(handle)
