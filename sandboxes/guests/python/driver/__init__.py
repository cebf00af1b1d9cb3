"""What stands between the host and a program in the Python image: messages in, messages out.

`handle` is called by the host with one message and returns one. A message is four bytes of length, a JSON header of that
length, and blobs whose lengths the header lists. The host drives: compile, load, prelude, main, call; or judge, whose text reaches
another instance through `_assay_host.exchange`.

The program shares this interpreter, so nothing here is secret from it and nothing it could change here decides about it: what
leaves this instance is the program's word, and the host or another instance judges that word.
"""

from . import isolation

isolation.own_builtins(globals())

from . import judge, messages, program, warm  # noqa: E402

OPERATIONS = {
    "version": program.version,
    "compile": program.compile_parts,
    "load": program.load,
    "prelude": program.prelude,
    "main": program.main,
    "call": program.call,
    "peer": program.answer_peer,
    "judge": judge.judge,
}


def handle(message):
    header, blobs = messages.read(message)
    if judge.peer.busy:
        # From here on every message comes from the program's instance, which may use what was lent to it and nothing else.
        return judge.peer.answer(header)
    return OPERATIONS[header["op"]](header, blobs)


warm.up(handle)
